"""The terms of the exact sum for a Laplace loss, their generating functions, and float64 guesses that steer the sum.

Notation: shifts s_g with counts m_g, m coordinates in all, total = sum of m_g s_g; C of the coordinates sit at their
lowest loss; y is a formal variable. With the exponents of a `Kernel`, the generating function behind a tail is

    V_C(y) = lead (1 + y)^(m - C - plus) (1 - y)^(C - minus) = sum over i of V_i y^i,

and the series evaluated at z > 0 is its Borel transform  sum over i of V_i z^i / i!. The size of V_C on a circle bounds
the coefficients. Which tuples of lowest coordinates there are, and with what weights, is listed by `TermSource`.

The guesses say where the saddle points are and how many terms to take; none of them enters a bound. With gap = total -
epsilon > 0 and K(t) = log E_P exp(t L),

    K(t) - epsilon t = t gap + sum over g of m_g log((t + 1 + t exp(-s_g (1 + 2 t))) / (2 t + 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from operator import add
from typing import TypeAlias, final

import numpy as np
import scipy
from flint import arb, fmpq, fmpz_poly

from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.arrays import Array


@final
class Kernel(Enum):
    """Which tail is asked for: the exponents taken from 1 + y and 1 - y, and whether the leading factor is 2 y.

    In the transform variable t of the loss, with y = 1/(2 t + 1), these are 1/(t (t + 1)), 1/t and 1/(t + 1).
    """

    DELTA = (1, 1, 1)
    """delta(epsilon) = P[L > epsilon] - exp(epsilon) Q[L > epsilon]."""
    P_TAIL = (0, 1, 0)
    """P[L > epsilon]."""
    Q_TAIL = (1, 0, 0)
    """exp(epsilon) Q[L > epsilon]."""

    def exponents(self, m: int, lowest: int) -> tuple[int, int]:
        """The exponents of 1 + y and of 1 - y."""
        plus, minus, _ = self.value
        return m - lowest - plus, lowest - minus

    @property
    def leads(self) -> bool:
        """Whether the leading factor is 2 y; otherwise it is 1."""
        return self.value[2] == 1


def rows(kernel: Kernel, m: int, first: int, last: int, length: int) -> Iterator[list[int]]:
    """The first ``length`` coefficients of V_C for C = first, first - 1, ..., last, with last >= 0 and first < m."""
    row = _row(*kernel.exponents(m, first), length - kernel.leads)
    for lowest in range(first, last - 1, -1):
        yield [0, *map(add, row, row)] if kernel.leads else row
        if lowest > last:  # times (1 + y) / (1 - y)
            row = list(accumulate(map(add, row, [0, *row[:-1]])))


def _row(plus: int, minus: int, length: int) -> list[int]:
    """The coefficients of (1 + y)^plus (1 - y)^minus, where minus >= -1."""
    if minus < 0:
        return list(accumulate(_row(plus, 0, length)))
    both = min(plus, minus)
    even = fmpz_poly(_binomials(both, (length + 1) // 2))
    squares = [0] * length
    squares[0::2] = [(-1) ** i * int(even[i]) for i in range((length + 1) // 2)]
    rest = _binomials(plus + minus - 2 * both, length)
    if minus > plus:
        rest[1::2] = [-value for value in rest[1::2]]
    product = fmpz_poly(squares) * fmpz_poly(rest)
    return [int(product[i]) for i in range(length)]


def _binomials(n: int, length: int) -> list[int]:
    """binom(n, i) for i < length."""
    values = [1]
    for i in range(1, length):
        values.append(values[-1] * (n - i + 1) // i if i <= n else 0)
    return values[:length]


def size_on_circle(plus: int, minus: int, radius: arb) -> arb:
    """At least the largest |1 + y|^plus |1 - y|^minus on the circle |y| = radius < 1, for plus >= 0, minus >= -1.

    With c the cosine of the angle, its logarithm is a concave function of c; it is at most its largest value over all
    c, and its value at c = 1 is the largest where the derivative there is not negative.
    """
    at_one = (1 + radius) ** plus * (1 - radius) ** minus
    square = radius * radius
    total = plus + minus
    if minus < 0 or (1 + square) * (plus - minus) >= 2 * radius * total:
        return at_one
    bend = (arb(2 * plus) / total) ** plus * (arb(2 * minus) / total) ** minus
    return ((1 + square) ** total * bend).sqrt()


_HUGE = 1e300
_SMALLEST, _LARGEST = Fraction(1, 10**290), Fraction(10**290)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Saddle:
    """The saddle point t of a tail integral, and the estimate of the logarithm of the tail that it gives."""

    t: float
    log_tail: float


def near(value: Fraction) -> float:
    """A float64 near a positive rational number, kept away from underflow and overflow."""
    if value < _SMALLEST:
        return float(_SMALLEST)
    return float(min(value, _LARGEST))


def saddle(shifts: Array, counts: Array, gap: float, kernel: Kernel) -> Saddle:
    """The saddle point of the integral of exp(K(t) - epsilon t) times the kernel, on t > 0 (t > -1/2 for Q_TAIL)."""

    def exponent(log_distance: Array) -> Array:
        distance = np.exp(log_distance)
        if kernel is Kernel.Q_TAIL:
            t, twice = distance - 0.5, 2.0 * distance
        else:
            t, twice = distance, 2.0 * distance + 1.0
        fall = np.expm1(-shifts[:, None] * twice)
        value = t * gap + counts @ np.log1p(t / twice * fall)
        if kernel is not Kernel.Q_TAIL:
            value -= log_distance
        if kernel is not Kernel.P_TAIL:
            value -= np.log1p(t)
        return np.minimum(value, _HUGE)

    place, value, bend = _lowest_point(exponent, np.linspace(-60.0, 690.0 - max(0.0, math.log(gap)), 96))
    log_tail = value - 0.5 * math.log(2 * math.pi * max(bend, 1.0)) + place
    t = math.exp(place) - (0.5 if kernel is Kernel.Q_TAIL else 0.0)
    return Saddle(t=t, log_tail=min(log_tail, 0.0))


def lower_saddle(shifts: Array, counts: Array, gap: float) -> Saddle:
    """The same for one minus the profile, on -1 < t < 0."""

    def exponent(logit: Array) -> Array:
        t = -1.0 / (1.0 + np.exp(logit))
        twice = 2.0 * t + 1.0
        twice = np.where(np.abs(twice) < 1e-9, 1e-9, twice)
        fall = np.expm1(-shifts[:, None] * twice)
        return np.minimum(t * gap + counts @ np.log1p(t / twice * fall) - np.log(-t * (1.0 + t)), _HUGE)

    place, value, bend = _lowest_point(exponent, np.linspace(-40.0, 40.0, 81))
    t = -1.0 / (1.0 + math.exp(place))
    log_tail = value - 0.5 * math.log(2 * math.pi * max(bend, 1.0)) + math.log(-t * (1.0 + t))
    return Saddle(t=t, log_tail=min(log_tail, 0.0))


def _lowest_point(exponent: Callable[[Array], Array], grid: Array) -> tuple[float, float, float]:
    """About where a convex function is lowest, its value there, and its second derivative."""
    with np.errstate(all="ignore"):
        for _ in range(4):
            values = exponent(grid)
            middle = int(np.nanargmin(values))
            low, high = grid[max(middle - 1, 0)], grid[min(middle + 1, grid.size - 1)]
            grid = np.linspace(low, high, 17)
        place = float(grid[int(np.nanargmin(exponent(grid)))])
        step = 1e-2
        left, centre, right = exponent(np.array([place - step, place, place + step])).tolist()
    return place, centre, (right - 2 * centre + left) / step**2


def radii(m: int, lowest: Array, z: Array) -> Array:
    """About the radius at which size_on_circle(radius) exp(z / radius) is smallest."""
    drift = np.maximum(m - 2.0 * lowest, 1e-9)
    at_one = np.sqrt(z / drift)
    radius = np.where(2.0 * at_one * m <= drift, at_one, np.cbrt(z / m))
    return np.clip(radius, 1e-280, 0.97)


def log_size(m: int, lowest: Array, radius: Array) -> Array:
    """About the logarithm of size_on_circle, with exponents m - C and C."""
    square = radius * radius
    at_one = (m - lowest) * np.log1p(radius) + lowest * np.log1p(-radius)
    bend = 0.5 * (
        m * np.log1p(square)
        + scipy.special.xlogy(m - lowest, 2 * (m - lowest) / m)
        + scipy.special.xlogy(lowest, 2 * lowest / m)
    )
    size: Array = np.where((1 + square) * (m - 2 * lowest) >= 2 * radius * m, at_one, bend)
    return size


def log_binomials(m: int, lowest: Array) -> Array:
    """log binom(m, C)."""
    logarithms: Array = (
        scipy.special.gammaln(m + 1.0) - scipy.special.gammaln(lowest + 1.0) - scipy.special.gammaln(m - lowest + 1.0)
    )
    return logarithms


_FEW_TERMS = 256


def terms_needed(shift: float, terms: ActiveTerms, log_target: float) -> int:
    """How many terms to take, for equal shifts, so that all the others are below exp(log_target) altogether.

    Few are needed of many, so these are looked at in parts.
    """
    m, stop = terms.m, _FEW_TERMS
    while True:
        lowest, z, log_weights = terms.part(0, stop).floats()
        radius = radii(m, lowest, z)
        with np.errstate(all="ignore"):
            size = log_weights + log_size(m, lowest, radius) + z / radius
            log_ratio = np.log(lowest / (m - lowest + 1)) + np.log((1 + radius) / (1 - radius)) + shift / radius
            at_one = (1 + radius**2) * (m - 2 * lowest) >= 2 * radius * m * (1 + 1e-9)
            enough = at_one & (log_ratio < -1e-3) & (size - np.log(-np.expm1(log_ratio)) < log_target)
        enough[0] = False
        found = np.flatnonzero(enough)
        if found.size or stop >= len(terms.lowest):
            return int(found[0]) if found.size else len(terms.lowest)
        stop *= 4


def series_length(m: int, lowest: Array, z: Array, log_weights: Array, log_target: float, *, first: int) -> int:
    """How many coefficients of the series leave less than exp(log_target) altogether, at most m.

    ``first`` is tried first; 0 stands for an estimate.
    """

    def enough(length: int) -> bool:
        return float((tail_radii(m, lowest, z, length)[1] + log_weights).max()) < log_target - math.log(z.size)

    length = max(first or 16 + int(1.5 * min(float(z.max()) * math.sqrt(m), 1e9) ** (2 / 3)), 8)
    if length < m and enough(length):
        while length > 8 and enough(shorter := max(length * 7 // 8, 8)):
            length = shorter
        return length
    while length < m and not enough(length):
        length += max(4, length // 8)
    return min(length, m)


def tail_radii(m: int, lowest: Array, z: Array, length: int) -> tuple[Array, Array]:
    """Radii that make the bound on the terms from ``length`` on small, and the logarithms of these bounds."""
    best_radius = np.full(z.shape, 0.5)
    best = np.full(z.shape, np.inf)
    with np.errstate(all="ignore"):
        for scale in (0.7, 1.0, 1.4):
            drift = (m - 2.0 * lowest) / m
            # the minimum of m drift r + m r^2 / 2 - length log r
            radius = scale * (np.sqrt(drift**2 + 4.0 * length / m) - drift) / 2
            radius = np.clip(np.maximum(radius, 2.0 * z / (length + 1.0)), 1e-280, 0.97)
            bound = log_size(m, lowest, radius) + length * np.log(z / radius) - scipy.special.gammaln(length + 1.0)
            bound = np.where(z < 0.9 * radius * (length + 1), bound, np.inf)
            better = bound < best
            best, best_radius = np.where(better, bound, best), np.where(better, radius, best_radius)
    return best_radius, best


def log_majorant(m: int, lowest: Array, z: Array) -> Array:
    """About the logarithm of the largest partial sum met when a series is evaluated."""
    radius = radii(m, lowest, z)
    with np.errstate(all="ignore"):
        return np.minimum(log_size(m, lowest, radius) + z / radius, _HUGE)


_MOST_TERMS = 100_000

Groups: TypeAlias = tuple[tuple[Fraction, int], ...]
"""Distinct positive shifts with their counts."""


def binomial(m: int, c: int) -> arb:
    """binom(m, c) at the current precision: as a whole number it takes a tenth of a second where m is 100 000."""
    return arb(m + 1).gamma() / (arb(c + 1).gamma() * arb(m - c + 1).gamma())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveTerms:
    """Terms with z > 0, in order of decreasing C: C, z as an integer over ``denominator``, and the weight.

    The weights are None for m equal shifts, where they are binom(m, C) for consecutive C.
    """

    m: int
    lowest: Sequence[int]
    numerators: Sequence[int]
    denominator: int
    chosen_weights: list[int] | None

    def part(self, start: int, stop: int) -> ActiveTerms:
        """Some consecutive terms."""
        return ActiveTerms(
            m=self.m,
            lowest=self.lowest[start:stop],
            numerators=self.numerators[start:stop],
            denominator=self.denominator,
            chosen_weights=None if self.chosen_weights is None else self.chosen_weights[start:stop],
        )

    def points(self) -> list[arb]:
        """Every z as a ball at the current precision."""
        return [arb(fmpq(number, self.denominator)) for number in self.numerators]

    def weights(self) -> list[arb]:
        """Every weight as a ball at the current precision."""
        if self.chosen_weights is not None:
            return [arb(weight) for weight in self.chosen_weights]
        weights = [binomial(self.m, self.lowest[0])]
        for lowest in self.lowest[:-1]:
            weights.append(weights[-1] * lowest / (self.m - lowest + 1))
        return weights

    def floats(self) -> tuple[Array, Array, Array]:
        """C, z and the logarithm of the weight, in float64; they bound nothing."""
        lowest = np.array(self.lowest, dtype=np.float64)
        if isinstance(self.numerators, range) and self.numerators:
            start, step = self.numerators.start / self.denominator, self.numerators.step / self.denominator
            z = start + step * np.arange(len(self.numerators))
        else:
            z = np.array([number / self.denominator for number in self.numerators])
        z = np.maximum(z, 1e-290)
        if self.chosen_weights is None:
            return lowest, z, log_binomials(self.m, lowest)
        return lowest, z, np.array([math.log(weight) for weight in self.chosen_weights])


@final
class TermSource:
    """The terms of the exact sum for one vector of shifts."""

    __slots__ = ("_groups", "_known", "_m", "_tabulated", "shifts_are_equal", "total")
    shifts_are_equal: bool
    total: Fraction

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self.total = sum((shift * count for shift, count in groups), Fraction(0))
        self.shifts_are_equal = len(groups) == 1
        self._m = sum(count for _, count in groups)
        self._known: _Known | None = None
        self._tabulated = False

    def weight(self, offset: Fraction) -> int:
        """How many choices of coordinates have shifts that sum to ``offset``, at most half of the total.

        Raises:
            PrecisionExhausted: there are too many of them.
        """
        if self.shifts_are_equal:
            lowest = offset / self._groups[0][0]
            return math.comb(self._m, int(lowest)) if lowest.denominator == 1 else 0
        known = self._table()
        scaled = offset * known.denominator
        if scaled.denominator != 1:
            return 0
        return sum(weight for place, weight in zip(known.offsets, known.weights, strict=True) if place == scaled)

    def offsets(self, most: int) -> list[Fraction]:
        """The sums of shifts of some coordinates up to half of the total, increasing; none if more than ``most``."""
        if self.shifts_are_equal:
            shift = self._groups[0][0]
            return [shift * c for c in range(self._m // 2 + 1)] if self._m // 2 < most else []
        if math.prod(count + 1 for _, count in self._groups) > _MOST_TERMS:
            return []
        known = self._table()
        found = sorted(set(known.offsets))
        return [Fraction(offset, known.denominator) for offset in found] if len(found) <= most else []

    def active(self, epsilon: Fraction) -> ActiveTerms:
        """The terms at 0 <= epsilon < total.

        Raises:
            PrecisionExhausted: there are too many of them.
        """
        half_gap = (self.total - epsilon) / 2
        if self.shifts_are_equal:
            shift, _ = self._groups[0]
            denominator = math.lcm(half_gap.denominator, shift.denominator)
            top, step = int(half_gap * denominator), int(shift * denominator)
            size = -(-top // step)  # the number of C with top > step C
            return ActiveTerms(
                m=self._m,
                lowest=range(size - 1, -1, -1),
                numerators=range(top - step * (size - 1), top + step, step),
                denominator=denominator,
                chosen_weights=None,
            )
        known = self._table()
        denominator = math.lcm(half_gap.denominator, known.denominator)
        top, step = int(half_gap * denominator), denominator // known.denominator
        chosen = [i for i, offset in enumerate(known.offsets) if top > step * offset]
        return ActiveTerms(
            m=self._m,
            lowest=[known.lowest[i] for i in chosen],
            numerators=[top - step * known.offsets[i] for i in chosen],
            denominator=denominator,
            chosen_weights=[known.weights[i] for i in chosen],
        )

    def _table(self) -> _Known:
        if not self._tabulated:
            self._known = _known(self._groups)
            self._tabulated = True
        if self._known is None:
            raise PrecisionExhausted("the exact sum", _MOST_TERMS, "there are too many distinct shifts")
        return self._known


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """All pairs (C, offset) with their weights: C coordinates at their lowest loss, whose shifts sum to ``offset``.

    The weight is the number of such choices of coordinates. Offsets are integers over ``denominator``; those above half
    of the total are left out, for they belong to epsilon < 0.
    """

    denominator: int
    offsets: list[int]
    lowest: list[int]
    weights: list[int]


def _known(groups: Groups) -> _Known | None:
    """The terms of several groups, equal ones merged, in order of decreasing C; None if there are too many."""
    denominator = math.lcm(*(shift.denominator for shift, _ in groups))
    half = sum(shift * count for shift, count in groups) * denominator / 2
    found = {(0, 0): 1}
    for shift, count in groups:
        step = int(shift * denominator)
        choices = [math.comb(count, c) for c in range(min(count, int(half / step)) + 1)]
        merged: dict[tuple[int, int], int] = {}
        for (lowest, offset), weight in found.items():
            for c, ways in enumerate(choices):
                moved = offset + step * c
                if moved > half:
                    break
                merged[lowest + c, moved] = merged.get((lowest + c, moved), 0) + weight * ways
            if len(merged) > _MOST_TERMS:
                return None
        found = merged
    ordered = sorted(found.items(), reverse=True)
    return _Known(
        denominator=denominator,
        offsets=[key[1] for key, _ in ordered],
        lowest=[key[0] for key, _ in ordered],
        weights=[weight for _, weight in ordered],
    )
