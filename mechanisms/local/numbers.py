"""Reports of a number in [-1, 1] without bias: two values (Duchi), a density in pieces, and a mixture of both."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np

from dpverdict.balls import Exact, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.local.randomizer import LocalRandomizer, Region, Report, chance
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.exponential_sums import ExponentialSum

Pieces: TypeAlias = Literal["duchi", "piecewise", "hybrid"]
PIECES: Final[tuple[Pieces, ...]] = ("duchi", "piecewise", "hybrid")
LEAST_OF_HYBRID: Final = Fraction(61, 100)
"""The epsilon from which the hybrid report takes pieces at all: 0.61, as it is printed."""

_ONE: Final = ExponentialSum.of(1)
_ZERO: Final = ExponentialSum.of(0)


@final
class NumberReport(LocalRandomizer):
    """A number x in [-1, 1], reported without bias; -1 against 1 is the worst pair. With a = exp(epsilon/2):

    * "duchi": one of the two numbers (a^2 + 1)/(a^2 - 1) and its negative, the first with chance
      1/2 + x (a^2 - 1)/(2 (a^2 + 1)).
    * "piecewise": a real number in [-C, C], C = (a + 1)/(a - 1), uniform with chance a/(a + 1) in an interval of length
      C - 1 that begins at l = (C + 1) x/2 - (C - 1)/2, else uniform in what is left.
    * "hybrid": piecewise with chance 1 - 1/a where epsilon > 0.61, else duchi; which one is reported too.

    Args:
        epsilon: > 0, exact.
        pieces: which of them.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Duchi, Jordan and Wainwright 2018; Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu 2019, Algorithms 1 and
    2, section III.C (arXiv:1907.00782).
    """

    name = "number-report"
    title = "one person's number in [-1, 1], without bias"
    source = "Wang, Xiao, Yang and others 2019, Algorithms 1 and 2"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("pieces", "|".join(PIECES), "The law of the report."),)
    example = "--epsilon 1 --pieces hybrid"
    noise: Report
    root: float
    assumptions: tuple[str, ...]
    worst_description: ClassVar[str] = "the number 1 replaced by the number -1"
    why_worst: ClassVar[str] = (
        "the chances of two values, and the overlap of the likely intervals, change with the distance of two numbers; "
        "every report is likeliest, relatively, about the ends"
    )

    def __init__(self, *, epsilon: Exact, pieces: Pieces) -> None:
        budget = self._set_claim(epsilon)
        if pieces not in PIECES:
            raise InvalidValue("pieces", pieces, f"one of {', '.join(PIECES)}", "hybrid has the smallest worst error")
        self.pieces = pieces
        self.assumptions = ("the record is a number in [-1, 1]",)
        self.noise = Report(size=1, draw=self.draw)
        self._root, self._grown = ExponentialSum.exp(budget / 2), ExponentialSum.exp(budget)
        self.root = float(refine(self._root.ball, bits=60))
        share = {"duchi": _ZERO, "piecewise": _ONE, "hybrid": _ONE - ExponentialSum.exp(-budget / 2)}[pieces]
        self._share = _ZERO if pieces == "hybrid" and budget <= LEAST_OF_HYBRID else share

    def _extremes(self) -> tuple[float, float]:
        return 1.0, -1.0

    def check_value(self, value: float) -> None:
        """A number in [-1, 1].

        Raises:
            InvalidValue: another number.
        """
        if not -1 <= value <= 1:
            raise InvalidValue("dataset entry", value, "in [-1, 1]", "scale and clip the number first")

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """The two numbers, and the pieces by which of the two likely intervals hold them.

        The chance of the larger number is ((a^2 + 1) + x (a^2 - 1))/(2 (a^2 + 1)). With lengths times a - 1 and
        densities relative to the unlikely one, each likely interval has length 2, of density a^2, and is shared but for
        D = min(2, a |x - y|); all is 2 (a + 1) long, so that a number has weight 2 a (a + 1) in all.
        """
        grown, root, share = self._grown, self._root, self._share
        found = []
        if share != _ONE:
            rest = (
                _ONE - share
            ) * root  # both kinds by one sum: 2 (a^2 + 1) for the two numbers, 2 a (a + 1) for pieces
            sum_of_two, gap = grown + _ONE, grown - _ONE
            scale = rest * (root + _ONE)
            for name, sign in (("the larger of the two numbers", 1), ("the smaller of the two numbers", -1)):
                p, q = ((sum_of_two + gap.times(sign * value)) * scale for value in (here, there))
                found.append(Region(name, p, q))
        if share.terms:
            moved = root.times(abs(here - there))
            apart = moved if (moved - ExponentialSum.of(2)).sign() < 0 else ExponentialSum.of(2)
            shared = ExponentialSum.of(2) - apart
            scale = share if share == _ONE else share * (grown + _ONE)
            likely, unlikely = grown * apart * scale, apart * scale
            both, none = grown * shared * scale, (root.times(2) - apart) * scale
            found += [
                Region("a number in the likely interval of P's alone", likely, unlikely),
                Region("a number in the likely interval of Q's alone", unlikely, likely),
                Region("a number in both likely intervals", both, both),
                Region("a number in none of the likely intervals", none, none),
            ]
        return found

    def _likely(self, value: float) -> tuple[float, float]:
        """The likely interval of a number."""
        c = self._end
        low = (c + 1) / 2 * value - (c - 1) / 2
        return low, low + c - 1

    @property
    def _end(self) -> float:
        """C, the largest number in pieces."""
        return (self.root + 1) / (self.root - 1)

    @property
    def _larger(self) -> float:
        """The larger of the two numbers of duchi."""
        return (self.root**2 + 1) / (self.root**2 - 1)

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """By the two numbers, or by the likely intervals."""
        number, in_pieces = released[:, 0], released[:, 1] > 0
        first = 0 if self._share == _ONE else 2
        own, other = (
            (number >= low) & (number <= high) for low, high in (self._likely(float(value)) for value in (here, there))
        )
        pieces = np.where(own & ~other, 0, np.where(other & ~own, 1, np.where(own, 2, 3)))
        return np.where(in_pieces, first + pieces, np.where(number > 0, 0, 1))

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """The number, and 1 if it is from pieces, else 0: shape (trials, 2)."""
        x, larger = float(value[0]), self._larger
        up = rng.random(trials) < 0.5 + x / (2 * larger)
        two = np.where(up, larger, -larger)
        c = self._end
        low, high = self._likely(x)
        where = rng.random(trials)
        inside = low + where * (high - low)
        outside = -c + where * (c + 1)  # what is left of [-C, C], of length C + 1, as one interval
        outside = np.where(outside < low, outside, outside + (high - low))
        pieces = np.where(rng.random(trials) < self.root / (self.root + 1), inside, outside)
        taken = rng.random(trials) < chance(self._share, _ONE)
        return np.column_stack([np.where(taken, pieces, two), taken.astype(float)])

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return LocalRandomizer.describe(self) | {"pieces": self.pieces}
