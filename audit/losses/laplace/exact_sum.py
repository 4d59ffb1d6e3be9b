"""The exact finite sum for the tails of a Laplace loss, in balls, with everything that is left out charged to them.

Shifts s_g with counts m_g, m coordinates in all; the tuple c = (c_g) says how many coordinates of each group are at
their lowest loss, C = sum of c_g, and for epsilon >= 0

    z_c  = (total - epsilon)/2 - sum over g of s_g c_g,
    tail = 2^-m exp((epsilon - total)/2)  sum over c with z_c > 0 of  prod binom(m_g, c_g)  B_C(z_c),

where B_C(z) = sum of V_i z^i/i! is the Borel transform of the generating function V_C of
`dpverdict.audit.losses.laplace.terms`. This is the contour integral of the moment generating function, expanded in c
and closed at its pole t = -1/2; equivalently, it is the sum over numbers of interior coordinates with the sums over the
pieces of the Irwin-Hall densities carried out. The B_C are polynomials of balls, and kept from one epsilon to the next.

Two things are left out, and bounded by Cauchy's estimate on a circle of radius r < 1, |V_i| <= size(r) / r^i: the
coefficients from ``length`` on, and (for equal shifts) the terms with the smallest C, whose weights binom(m, C) are
tiny: |B_C(z)| <= size(r) exp(z/r), and the ratio of the bounds of consecutive terms is at most the first one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import final

import numpy as np
from flint import arb, arb_poly, fmpz_poly

from dpverdict.audit.losses.laplace.terms import (
    ActiveTerms,
    Groups,
    Kernel,
    TermSource,
    binomial,
    log_majorant,
    near,
    radii,
    rows,
    saddle,
    series_length,
    size_on_circle,
    tail_radii,
    terms_needed,
)
from dpverdict.balls import MAX_BITS, ball, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.arrays import Array

_MOST_KEPT = 300_000  # coefficients; about 30 MB


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    first: int
    last: int
    length: int
    bits: int
    series: list[arb_poly]  # for C = first, first - 1, ..., last

    def part(self, first: int, last: int) -> tuple[arb, Iterator[arb_poly]]:
        """The common factor and the series for C = first, ..., last."""
        return _series_scale(self.length), iter(self.series[self.first - first : self.first - last + 1])

    def serves(self, first: int, last: int, length: int, bits: int) -> bool:
        """Whether the table can stand for one that was asked for, and is not much longer or more precise."""
        range_serves = self.last <= last and first <= self.first
        return range_serves and length <= self.length <= 2 * length + 32 and bits <= self.bits <= 2 * bits


@final
class SeriesTables:
    """The series of all C in a range, for each kernel: computed when asked for, kept if they are few."""

    __slots__ = ("_kept", "_m")

    def __init__(self, m: int) -> None:
        self._m = m
        self._kept: dict[Kernel, _Table] = {}

    def descending(
        self, kernel: Kernel, first: int, last: int, length: int, bits: int
    ) -> tuple[arb, Iterator[arb_poly]]:
        """The first ``length`` terms (or more) of B_C at ``bits`` bits, for C = first, first - 1, ..., last.

        Returns:
            A common factor, and the series divided by it, one after the other.
        """
        table = self._kept.get(kernel)
        if table is not None and table.serves(first, last, length, bits):
            return table.part(first, last)
        if (first - last + 1) * length > _MOST_KEPT:
            return _series_scale(length), _scaled_series(kernel, self._m, first, last, length, bits)
        highest, lowest = first, last
        if table is not None:  # another epsilon: take more than it needs, for those that follow
            length = min(length + length // 8, max(self._m, length))
            spare = max(0, min((first - last) // 4, _MOST_KEPT // length - (first - last + 1)))
            highest, lowest = min(first + spare, max((self._m - 1) // 2, first)), max(last - spare, 0)
        series = list(_scaled_series(kernel, self._m, highest, lowest, length, bits))
        table = _Table(first=highest, last=lowest, length=length, bits=bits, series=series)
        self._kept[kernel] = table
        return table.part(first, last)


def _series_scale(length: int) -> arb:
    return 1 / arb(length - 1).fac()


def _scaled_series(kernel: Kernel, m: int, first: int, last: int, length: int, bits: int) -> Iterator[arb_poly]:
    """The series times (length - 1)!, so that their coefficients V_i (length - 1)! / i! are integers."""
    factors = list(accumulate(range(length - 1, 0, -1), mul, initial=1))[::-1]
    for row in rows(kernel, m, first, last, length):
        with precision(bits):
            series = arb_poly(fmpz_poly(list(map(mul, factors, row))))
        yield series


_BOUND_BITS = 64
_MOST_WORK = 40_000_000  # coefficients of one sum
_MOST_ATTEMPTS = 12
_LOG2 = math.log(2.0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What one attempt sums."""

    terms: ActiveTerms
    left: ActiveTerms  # the terms with the smallest C, which are bounded
    lowest: Array
    z: Array
    length: int
    bits: int


@final
class LaplaceSum:
    """The exact sum for one vector of shifts; series are kept between epsilons."""

    __slots__ = ("_counts", "_length", "_m", "_series", "_shifts", "_source")

    def __init__(self, groups: Groups) -> None:
        self._source = TermSource(groups)
        self._m = sum(count for _, count in groups)
        self._length = 0  # of the last sum: the first guess for the next
        self._series = SeriesTables(self._m)
        self._shifts = np.array([near(shift) for shift, _ in groups])
        self._counts = np.array([float(count) for _, count in groups])

    def tail(self, kernel: Kernel, epsilon: Fraction, bits: int) -> arb:
        """The tail at 0 <= epsilon < total, to ``bits`` bits.

        Raises:
            PrecisionExhausted: there are too many terms, or the working precision grew beyond its limit.
        """
        terms = self._source.active(epsilon)
        gap = self._source.total - epsilon
        guess = saddle(self._shifts, self._counts, near(gap), kernel)
        log_sum = guess.log_tail + self._m * _LOG2 + near(gap) / 2
        extra = 0
        for _ in range(_MOST_ATTEMPTS):
            plan = self._plan(terms, log_sum, bits, extra)
            if plan.bits > MAX_BITS:
                break
            with precision(_BOUND_BITS):
                left_out = self._left_out(kernel, plan)
            with precision(plan.bits):
                value = self._sum(kernel, plan) + arb(0, left_out)
                value = value * arb(0.5) ** self._m * (-ball(gap / 2)).exp()
            missing = bits - value.rel_accuracy_bits()
            if missing <= 0:
                return value
            missing = min(missing, 4 * plan.bits)
            log_sum -= 2 * missing
            extra += missing + 16
        raise PrecisionExhausted("the tail of the Laplace loss", MAX_BITS, "the parameters are too extreme")

    def has_atom(self, offset: Fraction) -> bool:
        """Whether the shifts of some coordinates sum to ``offset``, at most half of the total."""
        return self._source.weight(offset) > 0

    def weight(self, offset: Fraction) -> arb:
        """How many choices of coordinates have shifts that sum to ``offset``, at most half of the total."""
        return arb(self._source.weight(offset))

    def offsets(self, most: int) -> list[Fraction]:
        """The sums of shifts up to half of the total, increasing; none if there are more than ``most``."""
        return self._source.offsets(most)

    def _plan(self, terms: ActiveTerms, log_sum: float, bits: int, extra: int) -> _Plan:
        """Which terms to take, given about the logarithm of the sum; nothing here enters a bound."""
        m = self._m
        log_target = log_sum - (bits + 8) * _LOG2
        taken = len(terms.lowest)
        if self._source.shifts_are_equal:
            taken = terms_needed(float(self._shifts[0]), terms, log_target)
        lowest, z, log_weights = terms.part(0, taken).floats()
        length = series_length(m, lowest, z, log_weights, log_target, first=self._length)
        self._length = length
        if length * taken > _MOST_WORK:
            raise PrecisionExhausted("the exact sum", length * taken, "it has too many terms")
        peak = float((log_weights + log_majorant(m, lowest, z)).max())
        working = bits + 32 + extra + max(0, math.ceil(min((peak - log_sum) / _LOG2, MAX_BITS + 1.0)))
        return _Plan(
            terms=terms.part(0, taken),
            left=terms.part(taken, len(terms.lowest)),
            lowest=lowest,
            z=z,
            length=length,
            bits=working - working % -64,
        )

    def _sum(self, kernel: Kernel, plan: _Plan) -> arb:
        lowest, weights, points = plan.terms.lowest, plan.terms.weights(), plan.terms.points()
        last = lowest[-1]
        # A series that is complete is a polynomial, but for C = 0.
        apart = last == 0 and plan.length == self._m and kernel is not Kernel.Q_TAIL
        total = arb(0)
        if apart:
            total += weights[-1] * _top_term(kernel, self._m, points[-1], plan.bits)
            if len(lowest) == 1:
                return total
            last = lowest[-2]
        scale, series = self._series.descending(kernel, lowest[0], last, plan.length, plan.bits)
        current, polynomial, scaled = lowest[0], next(series), arb(0)
        for i in range(len(lowest) - apart):
            while current > lowest[i]:
                current, polynomial = current - 1, next(series)
            scaled += polynomial(points[i]) * weights[i]
        return total + scaled * scale

    def _left_out(self, kernel: Kernel, plan: _Plan) -> arb:
        """An upper bound on everything that `_sum` leaves out."""
        m, length = self._m, plan.length
        bound = self._smallest_terms(kernel, plan.left) if plan.left.lowest else arb(0)
        if length == m:
            return bound.upper()
        circles = tail_radii(m, plan.lowest, plan.z, length)[0].tolist()
        factorial = arb(length).fac()
        terms, leads = plan.terms, kernel.leads
        plus, minus = kernel.exponents(m, 0)
        for circle, lowest, weight, z in zip(circles, terms.lowest, terms.weights(), terms.points(), strict=True):
            radius = arb(circle)
            step = z / radius
            ratio = step / (length + 1)
            if not ratio < 1:
                return arb("inf")
            size = size_on_circle(plus - lowest, minus + lowest, radius) * (2 * radius if leads else 1)
            bound += weight * size * step**length / (factorial * (1 - ratio))
        return bound.upper()

    def _smallest_terms(self, kernel: Kernel, left: ActiveTerms) -> arb:
        """A bound on the terms with C <= the largest C in ``left``, for equal shifts."""
        m, c, z = self._m, left.lowest[0], left.part(0, 1).points()[0]
        radius = arb(float(radii(m, np.array([float(c)]), np.array([float(z)]))[0]))
        plus, minus = kernel.exponents(m, c)
        ratio = arb(c) / (m - c + 1) * (1 + radius) / (1 - radius) * (ball(self._source.total / m) / radius).exp()
        straight = (1 + radius * radius) * (plus - minus) >= 2 * radius * (plus + minus)
        if not (straight and ratio < 1):
            return arb("inf")
        size = (1 + radius) ** plus * (1 - radius) ** minus * (2 * radius if kernel.leads else 1)
        return binomial(m, c) * size * (z / radius).exp() / (1 - ratio)


def _top_term(kernel: Kernel, m: int, z: arb, bits: int) -> arb:
    """B_0(z) for the kernels with a pole at y = 1: V_i = 2^m for i >= m."""
    row = next(rows(kernel, m, 0, 0, m))
    full = 1 << m
    if z > 4 * m + bits:
        rest, power = arb(0), arb(1)
        for i, value in enumerate(row):
            rest += power * (full - value)
            power = power * z / (i + 1)
        return full * z.exp() - rest
    total, power = arb(0), arb(1)
    i = 0
    while True:
        value = row[i] if i < m else full
        total += power * value
        i += 1
        power = power * z / i
        if i >= m and z < i and power * full < total * arb(2) ** -bits:
            rest = power * full / (1 - z / (i + 1))
            return total + arb(0, rest.upper())
