"""Reports of hashed values: local hashing, and the count-mean sketch."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from dpverdict.balls import Exact, refine
from dpverdict.checks import check_whole
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.local.randomizer import CategoricalRandomizer, Region, chance
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.exponential_sums import ExponentialSum

MOST_HASHES: Final = 1 << 16
_ONE: Final = ExponentialSum.of(1)


@final
class LocalHashing(CategoricalRandomizer):
    """A hash function, drawn anew by each person, and a randomised response of the hash of their value.

    The function takes each value to one of g numbers, uniformly and independently, and is reported as the list of its
    values. The response is the hash with chance exp(epsilon)/(exp(epsilon) + g - 1). Two values that hash to one
    number, with chance 1/g, have equal reports; so delta(level) is (g - 1)/g times that of the response.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        hashes: g >= 2; the whole number nearest to exp(epsilon) + 1 if left out (OLH).

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Wang, Blocki, Li and Jha 2017, section 4.3 (arXiv:1705.04421).
    """

    name = "local-hashing"
    title = "a random hash of one's value, randomised"
    source = "Wang, Blocki, Li and Jha 2017, section 4.3"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *CategoricalRandomizer.parameters,
        Parameter("hashes", "G", "To how many numbers values are hashed; exp(epsilon) + 1 if not given.", whole),
    )
    example = "--options 4 --epsilon 1"
    hashes: int
    truthful: float

    def __init__(self, *, options: int, epsilon: Exact, hashes: int | None = None) -> None:
        budget = self._set(options, epsilon, size=options + 1)
        grown = ExponentialSum.exp(budget)
        best = min(round(float(refine(grown.ball, bits=60))) + 1, MOST_HASHES) if hashes is None else hashes
        self.hashes = check_whole(best, "hashes", least=2, most=MOST_HASHES, remedy="hash to at least two numbers")
        self._truth = grown
        self.truthful = chance(grown, grown + ExponentialSum.of(self.hashes - 1))

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """By what the two values hash to. All weights are times g (exp(epsilon) + g - 1)."""
        g = self.hashes
        same = self._truth + ExponentialSum.of(g - 1)
        truth, lie = self._truth.times(g - 1), ExponentialSum.of(g - 1)
        rest = ExponentialSum.of((g - 2) * (g - 1))
        return [
            Region("the values have different hashes, and that of P's value is reported", truth, lie),
            Region("the values have different hashes, and that of Q's value is reported", lie, truth),
            Region("the values have different hashes, and another number is reported", rest, rest),
            Region("both values have one hash", same, same),
        ]

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """By the reported function and the response."""
        own, other, response = released[:, int(here)], released[:, int(there)], released[:, -1]
        apart = np.where(response == own, 0, np.where(response == other, 1, 2))
        return np.where(own == other, 3, apart)

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """The hashes of all values, and the response: shape (trials, k + 1)."""
        table = rng.integers(self.hashes, size=(trials, self.options))
        own = table[:, int(value[0])]
        lie = (own + rng.integers(1, self.hashes, size=trials)) % self.hashes
        response = np.where(rng.random(trials) < self.truthful, own, lie)
        return np.column_stack([table, response]).astype(float)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return CategoricalRandomizer.describe(self) | {"hashes": str(self.hashes)}


@final
class CountMeanSketch(CategoricalRandomizer):
    """A hash function and m bits, of which the one of the hash of the value is set, each flipped by itself.

    Each bit is flipped with chance 1/(1 + exp(epsilon/2)). The function is drawn with the report, takes each value to
    one of m numbers, uniformly and independently, and is reported as the list of its values; two values that hash to
    one number have equal reports.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        width: m >= 2.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Differential Privacy Team, Apple 2017 (Learning with privacy at scale), Algorithm 3.
    """

    name = "count-mean-sketch"
    title = "the bits of a random hash, each flipped"
    source = "Differential Privacy Team, Apple 2017, Algorithm 3"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *CategoricalRandomizer.parameters,
        Parameter("width", "M", "To how many numbers values are hashed.", whole),
    )
    example = "--options 3 --epsilon 2 --width 4"
    width: int
    kept: float

    def __init__(self, *, options: int, epsilon: Exact, width: int) -> None:
        self.width = check_whole(width, "width", least=2, most=MOST_HASHES, remedy="hash to at least two numbers")
        budget = self._set(options, epsilon, size=options + self.width)
        self._kept = ExponentialSum.exp(budget / 2)
        self.kept = chance(self._kept, self._kept + _ONE)

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """By the bits of the two hashes. All weights are times m (1 + exp(epsilon/2))^2."""
        kept, apart = self._kept, self.width - 1
        grown, both = (kept * kept).times(apart), kept.times(2 * apart)
        lost = ExponentialSum.of(apart)
        same = (_ONE + kept) * (_ONE + kept)
        return [
            Region("the values have different hashes, and the bit of P's alone is 1", grown, lost),
            Region("the values have different hashes, and the bit of Q's alone is 1", lost, grown),
            Region("the values have different hashes, and both bits are 1, or none", both, both),
            Region("both values have one hash", same, same),
        ]

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """By the reported function and the two bits."""
        own, other = (released[:, int(value)].astype(np.int64) for value in (here, there))
        bits, rows = released[:, self.options :] > 0, np.arange(len(released))
        a, b = bits[rows, own], bits[rows, other]
        apart = np.where(a & ~b, 0, np.where(b & ~a, 1, 2))
        return np.where(own == other, 3, apart)

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """The hashes of all values, and the bits: shape (trials, k + m)."""
        table = rng.integers(self.width, size=(trials, self.options))
        bits = np.arange(self.width) == table[:, [int(value[0])]]
        flipped = rng.random((trials, self.width)) >= self.kept
        return np.hstack([table, bits ^ flipped]).astype(float)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return CategoricalRandomizer.describe(self) | {"width": str(self.width)}
