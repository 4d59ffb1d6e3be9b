"""Reports of a set of values that is likelier to hold one's own: subset selection, and Hadamard response."""

from __future__ import annotations

import math
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

_ONE: Final = ExponentialSum.of(1)


@final
class SubsetSelection(CategoricalRandomizer):
    """w of the k values; every set with one's own is exp(epsilon) times as likely as any set without it.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        subset: w, from 1 to k - 1; the whole number nearest to k/(exp(epsilon) + 1), at least 1, if left out.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Ye and Barg 2018, section III (arXiv:1702.00610).
    """

    name = "subset-selection"
    title = "a set of values, likelier with one's own"
    source = "Ye and Barg 2018, section III"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        *CategoricalRandomizer.parameters,
        Parameter("subset", "W", "How many values are reported; K/(exp(epsilon) + 1) if not given.", whole),
    )
    example = "--options 6 --epsilon 1"
    subset: int
    included: float

    def __init__(self, *, options: int, epsilon: Exact, subset: int | None = None) -> None:
        budget = self._set(options, epsilon)
        self._grown = ExponentialSum.exp(budget)
        share = self.options / (float(refine(self._grown.ball, bits=60)) + 1)
        taken = max(1, round(share)) if subset is None else subset
        remedy = "a set of all values tells nothing"
        self.subset = check_whole(taken, "subset", least=1, most=self.options - 1, remedy=remedy)
        # by the shares of the sets: w of k hold one's own
        own = self._grown.times(self.subset)
        self.included = chance(own, own + ExponentialSum.of(self.options - self.subset))

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """By which of the two values the set holds. Of C(k, w) sets shares w (k - w)/(k (k - 1)) hold the first alone,
        as many the second alone, w (w - 1)/(k (k - 1)) both, and the others none.
        """
        k, w = self.options, self.subset
        alone, both, none = w * (k - w), w * (w - 1), (k - w) * (k - w - 1)
        grown = self._grown
        return [
            Region("the set holds P's value alone", grown.times(alone), _ONE.times(alone)),
            Region("the set holds Q's value alone", _ONE.times(alone), grown.times(alone)),
            Region("the set holds both values", grown.times(both), grown.times(both)),
            Region("the set holds none of the two", _ONE.times(none), _ONE.times(none)),
        ]

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """By which of the two values the set holds."""
        a, b = released[:, int(here)] > 0, released[:, int(there)] > 0
        return np.where(a & ~b, 0, np.where(b & ~a, 1, np.where(a, 2, 3)))

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """1 for the values of the set, else 0: shape (trials, k)."""
        own = int(value[0])
        with_own = rng.random(trials) < self.included
        order = rng.random((trials, self.options))
        order[:, own] = np.where(with_own, -1.0, 2.0)  # before all others, or after them
        held = np.argsort(order, axis=1)[:, : self.subset]
        found = np.zeros((trials, self.options))
        np.put_along_axis(found, held, 1.0, axis=1)
        return found

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return CategoricalRandomizer.describe(self) | {"subset": str(self.subset)}


@final
class HadamardResponse(CategoricalRandomizer):
    """A number y below K, the least power of two above k, likelier where row v + 1 of the Hadamard matrix is 1.

    The entry of row r and column y is (-1)^(number of ones in r & y). For the value v the numbers with entry 1, half of
    all, are exp(epsilon) times as likely as the others. The rows of two values agree in half of the numbers.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Acharya, Sun and Zhang 2019, section 4 (arXiv:1802.04705).
    """

    name = "hadamard-response"
    title = "a column of a Hadamard matrix, by one's row"
    source = "Acharya, Sun and Zhang 2019, section 4"
    example = "--options 5 --epsilon 1"
    columns: int
    likely: float

    def __init__(self, *, options: int, epsilon: Exact) -> None:
        budget = self._set(options, epsilon, size=1)
        self.columns = 1 << math.ceil(math.log2(self.options + 1))
        self._grown = ExponentialSum.exp(budget)
        self.likely = chance(self._grown, self._grown + _ONE)

    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """By the entries of the two rows: each of four pairs of signs stands in a quarter of the columns."""
        both = self._grown + _ONE
        return [
            Region("a column that is 1 in P's row alone", self._grown, _ONE),
            Region("a column that is 1 in Q's row alone", _ONE, self._grown),
            Region("a column of equal entries", both, both),
        ]

    @staticmethod
    def _entries(value: int, columns: Integers) -> Integers:
        """1 where the entry is 1, 0 where it is -1."""
        shared = columns & (value + 1)
        ones = np.zeros_like(shared)
        while shared.any():
            ones ^= shared & 1
            shared = shared >> 1
        return 1 - ones

    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """By the entries of the two rows."""
        columns = released[:, 0].astype(np.int64)
        a, b = (self._entries(int(value), columns) for value in (here, there))
        return np.where(a > b, 0, np.where(b > a, 1, 2))

    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """Columns: shape (trials, 1). A column and its partner, with one bit of the row changed, have other entries."""
        own = int(value[0])
        columns = rng.integers(self.columns, size=trials)
        partner = columns ^ ((own + 1) & -(own + 1))
        wanted = (rng.random(trials) < self.likely).astype(np.int64)
        right = self._entries(own, columns) == wanted
        return np.where(right, columns, partner).astype(float)[:, None]
