"""Facts: what is known of a value for every pair of neighbouring datasets, and not only for the one at hand.

`Rows`: axis 0 are records, and row i is g(record i) of one function g, with bounds for each entry of g(record).
`Total`: a statistic f. For every dataset D and every record r, f(D with r) - f(D) lies in [low, high], coordinate by
coordinate, so under replacement f(D') - f(D) lies in [low - high, high - low]: from D to D' one record goes and another
comes. A coordinate with a support does not move unless the record lies in it: cells of a histogram, groups, masks.
Under replacement that is all that is said: f(D with r) - t(D) lies in [low, high] for some number t(D) that does not
depend on r, and is f(D with r) for every r outside of the support. Of the records of a box, t is that of all boxes.
`NoiseFact`: draws of one law that nothing has used yet. What was noised is no fact: it is free.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """A set of values of one column: some that are listed, or those of an interval; a missing value is in it or not.

    Attributes:
        values: the values that are listed; None for an interval.
        low, high: the ends of the interval, with whether they belong to it.
        missing: whether a missing value (NaN, None) is in it.
        others: of values that are listed: whether it is every value but these.
    """

    values: frozenset[Any] | None = None
    low: float = -math.inf
    high: float = math.inf
    low_closed: bool = True
    high_closed: bool = True
    missing: bool = False
    others: bool = False

    def holds(self, value: object) -> bool:
        """Whether a value lies in the cell; None stands for a missing one."""
        if value is None:
            return self.missing
        if self.values is not None:
            return (value in self.values) != self.others
        if not isinstance(value, int | float):
            return True  # an interval of numbers says nothing of it
        above = value > self.low or (self.low_closed and value == self.low)
        return above and (value < self.high or (self.high_closed and value == self.high))

    def complement(self) -> Cell | None:
        """Every other value; None where that is no cell."""
        if self.values is not None:
            return replace(self, others=not self.others, missing=not self.missing)
        if self.high == math.inf and self.high_closed:
            closed = not self.low_closed
            return Cell(low=-math.inf, high=self.low, high_closed=closed, missing=not self.missing)
        if self.low == -math.inf and self.low_closed:
            return Cell(low=self.high, high=math.inf, low_closed=not self.high_closed, missing=not self.missing)
        return None

    def meet(self, other: Cell) -> Cell:
        """A cell that holds whatever lies in both; of two kinds of cells it may hold more."""
        missing = self.missing and other.missing
        for one, two in ((self, other), (other, self)):
            if one.values is not None and not one.others:
                return Cell(frozenset(value for value in one.values if two.holds(value)), missing=missing)
        if self.values is not None or other.values is not None:
            return self if self.values is None else other
        low, low_closed = max((self.low, not self.low_closed), (other.low, not other.low_closed))
        high, high_closed = min((self.high, self.high_closed), (other.high, other.high_closed))
        return Cell(low=low, high=high, low_closed=not low_closed, high_closed=high_closed, missing=missing)

    def apart_from(self, other: Cell) -> bool:
        """Whether no value lies in both, for certain."""
        met = self.meet(other)
        if met.missing:
            return False
        if met.values is not None:
            return not met.values and not met.others
        return met.low > met.high or (met.low == met.high and not (met.low_closed and met.high_closed))

    def to_json(self) -> list[Any]:
        """As JSON values."""
        listed = None if self.values is None else sorted(self.values, key=repr)
        return [listed, *map(_number, (self.low, self.high)), self.low_closed, self.high_closed, self.missing,
                self.others]  # fmt: skip

    @staticmethod
    def from_json(given: list[Any]) -> Cell:
        """The same, from JSON values."""
        values, low, high, *flags = given
        return Cell(None if values is None else frozenset(values), float(low), float(high), *map(bool, flags))

    def representatives(self) -> Iterable[object]:
        """Values at which a cell may begin or end."""
        if self.values is not None:
            yield from self.values
        else:
            yield from (end for end in (self.low, self.high) if math.isfinite(end))


Support: TypeAlias = "tuple[tuple[int, Cell], ...]"
"""Cells of columns (by the number of the operation that made the column), in all of which a record has to lie."""

ALWAYS: Final[Support] = ()


def both(one: Support, other: Support) -> Support:
    """Records that lie in both."""
    cells = dict(one)
    for column, cell in other:
        cells[column] = cells[column].meet(cell) if column in cells else cell
    return tuple(sorted(cells.items(), key=lambda part: part[0]))


@final
@dataclass(frozen=True, slots=True)
class Norm:
    """A bound on the l1 or the l2 norm of all entries of g(record), or of a move, together."""

    order: int
    bound: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """An array whose axis 0 are records.

    Attributes:
        masks: the operations whose truth selected the records, in order; none: all records of the table.
        low, high: bounds on each entry of g(record), of the shape of one row; infinite where nothing bounds it, and
            then the entry may be infinite itself.
        missing: which entries may be NaN, or None.
        dtype: of the array.
        values: the values that an entry may have, where they are listed (categories); None otherwise.
        support: of a truth value: it is false unless the record lies in it; None where nothing is known.
        exact: whether the support says when it is true, not only when it is not.
        norm: a bound on all entries of a row together; None where there is none.
    """

    masks: tuple[int, ...]
    low: Floats
    high: Floats
    missing: Flags
    dtype: str
    values: tuple[Any, ...] | None = None
    support: Support | None = None
    exact: bool = False
    norm: Norm | None = None

    kind = "rows"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row."""
        return self.low.shape

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "kind": "rows",
            "masks": list(self.masks),
            "shape": list(self.shape),
            "low": _numbers(self.low),
            "high": _numbers(self.high),
            "missing": self.missing.ravel().tolist(),
            "dtype": self.dtype,
            "values": None if self.values is None else list(self.values),
            "support": None if self.support is None else [[c, cell.to_json()] for c, cell in self.support],
            "exact": self.exact,
            "norm": None if self.norm is None else [self.norm.order, _number(self.norm.bound)],
        }


@final
@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A statistic, and how far one record moves each of its coordinates.

    Attributes:
        low, high: f(D with r) - f(D) lies between them, for every D and r; of the shape of the statistic.
        supports: for each coordinate, in order, when it moves at all.
        dtype: of the statistic.
        norm: a bound on the whole move; None where there is none.
        up_to_a_shift: whether it is known up to a number that all coordinates have in common and that depends on data.
        weights: of exp of a statistic: the statistic is that in the exponent.
        normalised: of weights: whether they were divided by their sum.
        origin: the setting with the steps of its run, and the number of the step that made it; no part of the fact.
    """

    low: Floats
    high: Floats
    supports: tuple[Support, ...]
    dtype: str
    norm: Norm | None = None
    up_to_a_shift: bool = False
    weights: bool = False
    normalised: bool = False
    origin: tuple[Any, int] | None = field(default=None, repr=False)

    kind = "total"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the statistic."""
        return self.low.shape

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "kind": "total",
            "shape": list(self.shape),
            "low": _numbers(self.low),
            "high": _numbers(self.high),
            "supports": [[[column, cell.to_json()] for column, cell in one] for one in self.supports],
            "dtype": self.dtype,
            "norm": None if self.norm is None else [self.norm.order, _number(self.norm.bound)],
            "up_to_a_shift": self.up_to_a_shift,
            "weights": self.weights,
            "normalised": self.normalised,
        }


Terms: TypeAlias = "tuple[tuple[int, Fraction], ...]"
"""Draws with the factors by which each is multiplied, in the order of the draws: their sum; no factor is 0."""

MIXED: Final = "mixed gaussian"
"""The law of sums of Gaussian draws of which some stand in several numbers, or several in one."""


def in_order(terms: Sequence[Terms]) -> bool:
    """Whether each sum has each of its draws once, in order, with a factor that is not 0."""
    return all(
        all(a[0] < b[0] for a, b in itertools.pairwise(one)) and all(factor for _, factor in one) for one in terms
    )


def added(one: Terms, other: Terms, times: Fraction = Fraction(1)) -> Terms:
    """The sum of two sums of draws, of the other one times a number."""
    found = dict(one)
    for number, factor in other:
        found[number] = found.get(number, Fraction(0)) + factor * times
    return tuple(sorted((number, factor) for number, factor in found.items() if factor))


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoiseFact:
    """Draws of one law: independent ones that are used once, or sums of Gaussian ones.

    Attributes:
        law: "laplace", "gaussian", "two-sided geometric", "gumbel" or "exponential", with the parameter of the
            geometric one; or `MIXED`.
        numbers: which draws these are, of the shape of the array; of several, the first.
        scale: by which each is multiplied; of the same shape; of mixed ones, the standard deviation, to be shown.
        terms: of Gaussian noise, the draws that each coordinate is the sum of, in order, with their exact factors;
            None where nothing is known but the scale.
    """

    law: str
    parameter: float | None
    numbers: NDArray[np.int64]
    scale: Floats
    terms: tuple[Terms, ...] | None = None

    kind = "noise"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.scale.shape

    @property
    def draws(self) -> list[int]:
        """The numbers of all draws, each as often as it occurs."""
        if self.terms is None:
            found: list[int] = self.numbers.ravel().tolist()
            return found
        return [number for one in self.terms for number, _ in one]

    def picked(self, places: NDArray[np.int64]) -> NoiseFact:
        """Coordinates by their places, in the shape of these; some may occur several times."""
        flat = places.ravel().tolist()
        terms = None if self.terms is None else tuple(self.terms[i] for i in flat)
        return NoiseFact(self.law, self.parameter, np.asarray(self.numbers.ravel()[places]),
                     np.asarray(self.scale.ravel()[places]), terms)  # fmt: skip

    def broadcast(self, shape: tuple[int, ...]) -> NoiseFact:
        """The same draws for every place along new axes; one draw alone in any shape."""
        if self.scale.size == 1:
            return self.picked(np.zeros(shape, dtype=np.int64))
        return self.picked(np.broadcast_to(np.arange(self.scale.size).reshape(self.shape), shape))

    def mixed(self) -> NoiseFact:
        """The same, as sums of draws."""
        assert self.terms is not None
        spread = [float(sum((factor * factor for _, factor in one), Fraction(0))) ** 0.5 for one in self.terms]
        return NoiseFact(MIXED, None, self.numbers, np.array(spread).reshape(self.shape), self.terms)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        head = {"kind": "noise", "law": self.law, "parameter": self.parameter, "shape": list(self.shape)}
        if self.law == MIXED:
            assert self.terms is not None
            return {**head, "terms": [[[number, str(factor)] for number, factor in one] for one in self.terms]}
        return {**head, "numbers": self.numbers.ravel().tolist(), "scale": _numbers(self.scale)}


def sums_of_draws(terms: Sequence[Terms], shape: tuple[int, ...]) -> NoiseFact:
    """Gaussian noise that is a sum of draws in each coordinate; where each is one draw, with its scale."""
    first = np.array([one[0][0] if one else -1 for one in terms], dtype=np.int64).reshape(shape)
    spread = [abs(float(one[0][1])) if len(one) == 1 else
              float(sum((factor * factor for _, factor in one), Fraction(0))) ** 0.5 for one in terms]  # fmt: skip
    return NoiseFact("gaussian", None, first, np.array(spread).reshape(shape), tuple(terms))


Fact: TypeAlias = Rows | Total | NoiseFact


def supports_of(shape: tuple[int, ...], support: Support = ALWAYS) -> tuple[Support, ...]:
    """The same support for each coordinate."""
    return (support,) * math.prod(shape)


def fact_from_json(given: dict[str, Any]) -> Fact:
    """A fact from what its `to_json` gave."""
    shape = tuple(given["shape"])

    def floats(name: str) -> Floats:
        return np.array([float(one) for one in given[name]], dtype=np.float64).reshape(shape)

    def support(parts: list[Any]) -> Support:
        return tuple((int(column), Cell.from_json(cell)) for column, cell in parts)

    if given["kind"] == "noise":
        if given["law"] == MIXED:
            terms = tuple(tuple((int(n), Fraction(factor)) for n, factor in one) for one in given["terms"])
            return sums_of_draws(terms, shape).mixed()
        numbers = np.array(given["numbers"], dtype=np.int64).reshape(shape)
        return NoiseFact(given["law"], given["parameter"], numbers, floats("scale"))
    norm = None if given["norm"] is None else Norm(int(given["norm"][0]), float(given["norm"][1]))
    if given["kind"] == "total":
        supports = tuple(support(one) for one in given["supports"])
        return Total(floats("low"), floats("high"), supports, given["dtype"], norm, bool(given["up_to_a_shift"]),
                     bool(given["weights"]), bool(given["normalised"]))  # fmt: skip
    missing = np.array(given["missing"], dtype=np.bool_).reshape(shape)
    values = None if given["values"] is None else tuple(given["values"])
    own = None if given["support"] is None else support(given["support"])
    return Rows(tuple(given["masks"]), floats("low"), floats("high"), missing, given["dtype"], values, own,
                bool(given["exact"]), norm)  # fmt: skip


def _number(value: float) -> float | str:
    """A number as JSON has it; an infinite one as text."""
    return value if math.isfinite(value) else repr(value)


def _numbers(values: Floats) -> list[float | str]:
    return [_number(one) for one in values.ravel().tolist()]
