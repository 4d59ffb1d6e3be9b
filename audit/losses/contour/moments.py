"""The moment generating function of a composed privacy loss, in balls and in float64, and where to lay a contour on it.

The losses of independent mechanisms add, so the moment generating function of the composition is a product,

    M(t) = E_P[exp(t L)] = exp(v (u^2 - 1/4) / 2)  prod_i exp(-s_i/2) (cosh(u s_i) + sinh(u s_i)/(2 u)),  u = t + 1/2,

where v is the sum of the squared GDP parameters of the Gaussian factors, and s_i the shift of a Laplace factor in units
of its scale. M is entire and even in u. Evenness is the symmetry of the pair: the law of L under P is the law of -L
under Q, because E_Q[exp(-t L)] = E_P[exp((-1 - t) L)] = M(-1 - t) = M(t).

A contour is planned by float64 estimates of the saddle-point method, with K(t) = log M(t). No estimate enters a bound:
a poor plan costs time or precision, and the ball that `dpverdict.audit.losses.contour.integral` returns shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import final

import numpy as np
from flint import acb, arb, fmpq

from dpverdict.balls import Real, ball
from dpverdict.numerics.arrays import Array


@final
class MomentFunction:
    """M(t) for a Gaussian factor of squared GDP parameter ``variance`` and Laplace factors of the given shifts.

    Args:
        variance: the sum v of the squared GDP parameters, a number >= 0.
        shifts: pairs of a shift s > 0, in units of the scale, and how often it occurs.
    """

    __slots__ = ("_exact", "_float_counts", "_float_shifts", "factors", "shifts", "spread", "total", "variance")
    factors: int
    shifts: tuple[tuple[Fraction, int], ...]
    spread: float
    total: Fraction
    variance: Real

    def __init__(self, variance: Real, shifts: Iterable[tuple[Fraction, int]]) -> None:
        self.variance = variance
        self.shifts = tuple(shifts)
        self._exact = [(fmpq(shift.numerator, shift.denominator), count) for shift, count in self.shifts]
        self.factors = sum(count for _, count in self.shifts)
        self.total = sum((shift * count for shift, count in self.shifts), Fraction(0))
        self._float_shifts = np.array([_nearest(shift) for shift, _ in self.shifts], dtype=np.float64)
        self._float_counts = np.array([count for _, count in self.shifts], dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            # an upper estimate of the standard deviation of the loss
            self.spread = math.sqrt(self.variance.nearest() + float(self._float_counts @ self._float_shifts**2))

    # float64, which only steers ---------------------------------------------------------------------------------------

    def logarithm(self, points: Array) -> Array:
        """log M at real points, in float64."""
        u = np.abs(points + 0.5)
        value = self.variance.nearest() * (u * u - 0.25) / 2
        if not self.shifts:
            return value
        s = self._float_shifts
        twice = 2 * u[:, None]
        fall = np.expm1(-twice * s)
        with np.errstate(divide="ignore", invalid="ignore"):
            ramp = np.where(twice * s > 1e-12, -fall / (2 * twice), s / 2)
        return value + ((u[:, None] - 0.5) * s + np.log1p(fall / 2 + ramp)) @ self._float_counts

    # balls ------------------------------------------------------------------------------------------------------------

    def at(self, t: arb) -> arb:
        """M(t) at a real point."""
        u = t + arb(0.5)
        value = (self.variance.ball() * (u * u - arb(0.25)) / 2).exp()
        for shift, count in self._exact:
            value *= _laplace(u, arb(shift)) ** count
        return value

    def logarithm_at(self, t: arb) -> arb:
        """log M(t) at a real point; it loses few bits as t tends to 0, where it vanishes."""
        u = t + arb(0.5)
        value = self.variance.ball() * t * (t + 1) / 2
        for shift, count in self._exact:
            s = arb(shift)
            value += count * _log_laplace(t, u, s)
        return value

    def mean(self) -> arb:
        """K'(0) = E_P[L], the Kullback-Leibler divergence: v/2 + sum (s + exp(-s) - 1)."""
        value = self.variance.ball() / 2
        for shift, count in self._exact:
            s = arb(shift)
            value += count * (s + (-s).expm1())
        return value

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M(centre + i step (k + 1/2)) for k = 0, ..., number - 1, at the current precision.

        With t on the line and Re t >= -1/2 (M is even about there),

            M_i(t) = exp(t s_i) (t + 1)/(2 t + 1) (1 + t/(t + 1) exp(-s_i (2 t + 1))),

        and exp(-s_i (2 t + 1)) runs through a geometric progression, so that a node costs three complex products for
        every distinct shift. Balls of complex numbers are boxes, which grow when they are turned: powers and products
        are taken in trees, so that the number of turns of any result is logarithmic.
        """
        mirrored = centre < -0.5
        real = -1 - arb(centre) if mirrored else arb(centre)
        height = arb(step) / 2
        nodes = [acb(real, height * (2 * k + 1)) for k in range(number)]
        values = self._gaussian_and_growth(nodes)
        if self.shifts:
            ratios = [t / (t + 1) for t in nodes]
            columns: list[list[acb]] = []
            for shift, count in self._exact:
                s = arb(shift)
                start = (nodes[0] * (-2 * s) - s).exp()
                turn = acb(0, arb(step) * s * -2).exp()
                factors = [
                    1 + ratio * (start * power) for ratio, power in zip(ratios, powers(turn, number), strict=True)
                ]
                columns.append(factors if count == 1 else [factor**count for factor in factors])
            values = [value * product(row) for value, row in zip(values, zip(*columns, strict=True), strict=True)]
        return [value.conjugate() for value in values] if mirrored else values

    def dropped(self, centre: arb, step: arb, height: arb) -> arb:
        """D such that the nodes at w >= height, with weights w^-d, add up to at most D exp(-centre x)/height^d."""
        variance = self.variance.ball()
        decay = -(-variance * step * height).expm1()
        largest = self.at(centre) * (-variance * height * height / 2).exp()
        return step / arb.pi() * largest / decay

    def _gaussian_and_growth(self, nodes: Sequence[acb]) -> list[acb]:
        half, total = self.variance.ball() / 2, ball(self.total)
        values = [(t * (half * (t + 1) + total)).exp() for t in nodes]
        if self.factors:
            values = [value * ((t + 1) / (2 * t + 1)) ** self.factors for value, t in zip(values, nodes, strict=True)]
        return values


def powers(base: acb, number: int) -> list[acb]:
    """1, base, base^2, ..., with a tree of products."""
    result = [acb(1), base]
    for k in range(2, number):
        half = result[k >> 1]
        result.append(result[k - 1] * base if k & 1 else half * half)
    return result[:number]


def product(factors: Sequence[acb]) -> acb:
    """The product of at least one number, with a tree of products."""
    row = list(factors)
    while len(row) > 1:
        paired = [row[i] * row[i + 1] for i in range(0, len(row) - 1, 2)]
        row = [*paired, row[-1]] if len(row) % 2 else paired
    return row[0]


def _laplace(u: arb, s: arb) -> arb:
    """exp(-s/2) (cosh(u s) + sinh(u s)/(2 u)), without cancellation."""
    x = u * s
    if x.is_zero():
        return (-s / 2).exp() * (1 + s / 2)
    return (-s / 2).exp() * (x.cosh() + s * x.sinh() / (2 * x))


def _log_laplace(t: arb, u: arb, s: arb) -> arb:
    """The logarithm, by M_1(t) - 1 = (exp(t s) - 1)(t+1)/(2t+1) + (exp(-s(t+1)) - 1) t/(2t+1) where t is small."""
    if abs(t) < arb(0.25):
        width = 2 * u
        return (((t * s).expm1() * (t + 1) + (-s * (t + 1)).expm1() * t) / width).log1p()
    return _laplace(u, s).log()


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


@final
class Kind(Enum):
    """A function h of x, decreasing or increasing, with the open strip of Re t on which its transform converges.

    The transform is the integral of exp(t x) h(x) over all x: M(t) times the weight.
    """

    PROFILE = ("delta(x)", 0.0, math.inf)
    """E_P[(1 - exp(x - L))_+] = delta(x), weight 1/(t (t + 1))."""
    COMPLEMENT = ("1 - delta(x)", -1.0, 0.0)
    """E_P[min(1, exp(x - L))] = 1 - delta(x), weight -1/(t (t + 1))."""
    UPPER_P = ("P[L > x]", 0.0, math.inf)
    """P[L > x], weight 1/t."""
    UPPER_Q = ("exp(x) Q[L > x]", -1.0, math.inf)
    """E_P[exp(x - L) 1(L > x)] = exp(x) Q[L > x], weight 1/(t + 1)."""

    @property
    def lowest(self) -> float:
        """The left end of the strip."""
        return self.value[1]

    @property
    def highest(self) -> float:
        """The right end of the strip."""
        return self.value[2]

    def log_weight(self, t: Array) -> Array:
        """log of the absolute value of the weight, at real t inside the strip."""
        if self is Kind.UPPER_P:
            return -np.log(np.abs(t))
        if self is Kind.UPPER_Q:
            return -np.log(np.abs(t + 1))
        return -np.log(np.abs(t * (t + 1)))

    @property
    def decay(self) -> int:
        """The power of 1/|t| in the weight, far from the real axis."""
        return 1 if self in (Kind.UPPER_P, Kind.UPPER_Q) else 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContourPlan:
    """A vertical line, equidistant nodes on it, and where the Chernoff bounds of the alias are taken."""

    kind: Kind
    centre: float
    step: float
    number: int
    bits: int
    left: float
    right: float

    def cost(self, moments: MomentFunction) -> float:
        """The time to build the nodes, in multiples of one small product of balls."""
        return self.number * (4 * len(moments.shifts) + 20) * (1 + self.bits / 512)


@final
class Planner:
    """Plans contours for one moment function; K is tabulated on a grid of real points that grows when needed."""

    __slots__ = ("_grid", "_moments", "_table", "_variance")

    def __init__(self, moments: MomentFunction) -> None:
        self._moments = moments
        self._variance = moments.variance.nearest()
        self._grid: Array = np.empty(0)
        self._table: Array = np.empty(0)

    def log_value(self, kind: Kind, x: float) -> float:
        """An estimate of log h(x), at most 0; -inf beyond the range of float64."""
        saddle = self._saddle(kind, x)
        if saddle is None:
            return -math.inf
        _, lowest, curvature = saddle
        return min(lowest - 0.5 * math.log(2 * math.pi * curvature), 0.0)

    def local_spread(self, kind: Kind, x: float) -> float:
        """About the distance from x over which one contour serves well."""
        saddle = self._saddle(kind, x)
        return 0.0 if saddle is None else math.sqrt(saddle[2])

    def plan(self, kind: Kind, points: Array, aims: Array, *, spare: float = math.inf) -> ContourPlan | None:
        """The cheapest contour found for h at all the points, with log absolute errors of about ``aims``.

        A centre away from the saddle may save nodes, at the price of precision: by cancellation, the sum is up to
        exp(spare) times smaller than it is on the best line. None when every contour needs numbers beyond float64.
        """
        reach = float(np.abs(points).max())
        grid, table = self._tabulated(reach)
        if len(grid):
            grid, table = self._with_saddle(kind, float(points.mean()), grid, table)
        inside = (grid > kind.lowest) & (grid < kind.highest)
        centres, at_centres = grid[inside], table[inside]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # log of exp(-c x) M(c) |weight(c)| over the error, at the worst point
            excess = (at_centres[:, None] - centres[:, None] * points - aims).max(axis=1)
            weighted = excess + kind.log_weight(centres)
            few = np.flatnonzero(weighted <= weighted.min() + min(250 + 0.3 * abs(weighted.min()), spare))
            centres, excess, weighted = centres[few], excess[few], weighted[few]
            # The period that makes the Chernoff bound exp(K(tau) - tau x - |c - tau| period) of the alias small.
            chernoff = (table[:, None] - grid[:, None] * points - aims).max(axis=1) + 2
            allowed = (grid >= kind.lowest) & (grid <= kind.highest)
            gap = centres[:, None] - grid
            periods = np.maximum(chernoff, 1.0) / np.abs(gap)
            to_left = np.where((gap > 0) & allowed, periods, np.inf)
            to_right = np.where((gap < 0) & allowed, periods, np.inf)
            left, right = to_left.argmin(axis=1), to_right.argmin(axis=1)
            rows = np.arange(len(centres))
            period = np.maximum(to_left[rows, left], to_right[rows, right])
            # exp(-v w^2/2) w^-decay against the error
            height = np.sqrt(2 * np.maximum(excess + 4, 1.0) / self._variance)
            shortened = excess + 4 - kind.decay * np.log(height) - np.log(self._variance * height / period)
            height = np.sqrt(2 * np.maximum(shortened, 1.0) / self._variance)
            number = np.ceil(height * period / (2 * math.pi)) + 1
            # Large exponents cost bits, and so do high powers of one factor.
            largest = np.abs(at_centres[few]) + (centres + height + 1) * float(np.abs(points).max())
            guard = 24 + np.log2(number) + np.log2(2 + largest) + math.log2(2 + self._moments.factors)
            bits = np.maximum(weighted / math.log(2) + guard, 40)
            cost = number * (1 + bits / 512)
        cost[~np.isfinite(cost)] = np.inf
        i = int(cost.argmin()) if len(cost) else -1
        if i < 0 or not (cost[i] < 1e15 and math.isfinite(period[i])):
            return None
        return ContourPlan(
            kind=kind,
            centre=float(centres[i]),
            step=2 * math.pi / float(period[i]),
            number=int(number[i]),
            bits=int(bits[i]),
            left=float(grid[left[i]]),
            right=float(grid[right[i]]),
        )

    def _saddle(self, kind: Kind, x: float) -> tuple[float, float, float] | None:
        """Where K(c) - c x + log weight(c) is least, its value there and its second derivative."""
        grid, table = self._tabulated(abs(x))
        inside = (grid > kind.lowest) & (grid < kind.highest)
        points, exponents = grid[inside], (table - grid * x)[inside]
        if len(points) < 3:
            return None
        exponents = exponents + kind.log_weight(points)
        while True:
            i = min(max(int(exponents.argmin()), 1), len(points) - 2)
            below, above = points[i] - points[i - 1], points[i + 1] - points[i]
            falls = exponents[i - 1] - exponents[i], exponents[i + 1] - exponents[i]
            if max(falls) < 1 or min(above, below) <= 1e-9 * abs(points[i]):
                break
            points = np.linspace(points[i - 1], points[i + 1], 17)[1:-1]
            exponents = self._moments.logarithm(points) - points * x + kind.log_weight(points)
        slopes = -falls[0] / below, falls[1] / above
        curvature = max(2 * (slopes[1] - slopes[0]) / (below + above), 1e-300)
        return float(points[i]), float(exponents[i]), float(curvature)

    def _with_saddle(self, kind: Kind, x: float, grid: Array, table: Array) -> tuple[Array, Array]:
        """The grid with points about the saddle, on the scale of the saddle, where the grid is too coarse for it."""
        saddle = self._saddle(kind, x)
        if saddle is None or saddle[0] ** 2 * saddle[2] < 1000:
            return grid, table
        near = saddle[0] + np.array([-32, -16, -12, -8, -4, -2, -1, 0, 1, 2, 4, 8, 12, 16, 32]) / math.sqrt(saddle[2])
        near = near[(near > kind.lowest) & (near < kind.highest)]
        joined = np.concatenate([grid, near])
        order = joined.argsort()
        return joined[order], np.concatenate([table, self._moments.logarithm(near)])[order]

    def _tabulated(self, reach: float) -> tuple[Array, Array]:
        """A grid, and K on it: dense near the poles at -1 and 0, geometric away from them."""
        spread, total = self._moments.spread, float(self._moments.total)
        lowest = min(1e-3, 1e-2 / (1 + spread + spread**2 + total + reach))
        highest = 4 * (reach + total + 1) / self._variance + 400 / math.sqrt(self._variance) + 100
        if not math.isfinite(highest):
            return np.empty(0), np.empty(0)
        if not len(self._grid) or self._grid[-1] < highest or self._grid[1] + 1 > 1.001 * lowest:
            steps = 4 * math.ceil(math.log2(2 * highest / lowest)) + 1
            away = lowest * 2.0 ** (np.arange(steps) / 4)
            near = away[away < 0.5]
            self._grid = np.unique(np.concatenate([[-1.0, 0.0], near - 1, -near, away]))
            self._table = self._moments.logarithm(self._grid)
        return self._grid, self._table
