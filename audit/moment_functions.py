"""The moment generating function of a composed privacy loss, in balls and in float64.

The losses of independent mechanisms add, so the moment generating function of the composition is a product,

    M(t) = E_P[exp(t L)] = exp(v (u^2 - 1/4) / 2)  prod_i exp(-s_i/2) (cosh(u s_i) + sinh(u s_i)/(2 u)),  u = t + 1/2,

where v is the sum of the squared GDP parameters of the Gaussian factors, and s_i the shift of a Laplace factor in units
of its scale. M is entire and even in u. Evenness is the symmetry of the pair: the law of L under P is the law of -L
under Q, because E_Q[exp(-t L)] = E_P[exp((-1 - t) L)] = M(-1 - t) = M(t).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import final

import numpy as np
from flint import acb, arb, fmpq

from dpverdict.audit.loss_domains import Floats
from dpverdict.balls import Real, ball


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

    def logarithm(self, points: Floats) -> Floats:
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
