"""Products of discrete Gaussians moved by integers: the exact law of their privacy loss, and sums over its support.

N_Z(0, v) has probabilities proportional to exp(-x^2/(2v)) on the integers. Moved by the integer a, the loss of one
coordinate under P is a^2/(2v) + (a/v) X with X ~ N_Z(0, v); under Q it is the negative of that. The losses of
independent coordinates add up to

    L = rho + h V,     V = sum k_i X_i,     rho = sum a_i^2/(2 v_i),     k_i = (a_i/v_i)/h,

with h such that the k_i are whole numbers without a common divisor: the support of the loss is rho + h Z.

Sums over the support are contour sums, exact up to an aliasing error that is bounded and added to the ball. With
M(z) = E exp(zV), coefficients c_i in [0, 1] and C(z) = sum over i >= 0 of c_i exp(-i z), for any tilt > 0 and N

    sum over i >= 0 of c_i P[V = k + i] = (1/N) sum over j < N of M(z_j) exp(-k z_j) C(z_j) - aliases,

with z_j = tilt + 2 pi i j/N. (The coefficients of an absolutely convergent Fourier series.) The aliases are sums of the
same kind for k + m N with the factor exp(tilt m N), m != 0: for m < 0 each is at most exp(tilt m N), for m > 0 at most
M(t) exp(-t k - (t - tilt) m N) for every t > tilt. Nodes at which |M| is certainly negligible are not computed; their
bound is added to the ball:

    |E exp(zX)| <= exp(v (Re z)^2/2) A(phi),    A(phi) <= 1,
    A(phi) <= exp(-v phi^2/2) (1 + 2 exp(-2 pi v (pi - phi))/(1 - exp(-4 pi^2 v)))

where phi is the distance of Im z from the multiples of 2 pi.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import final

import numpy as np
from flint import acb, arb, ctx

from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array, Integers

_SELF_DUAL = Fraction(4, 25)  # about 1/(2 pi), where the sum and its Poisson dual converge equally fast


@final
@dataclass(frozen=True, slots=True, order=True)
class Coordinates:
    """``count`` coordinates with noise N_Z(0, variance) that move by ``shift`` > 0."""

    variance: Fraction
    shift: int
    count: int

    @property
    def slope(self) -> Fraction:
        """The loss per unit of noise, a/v."""
        return self.shift / self.variance


@final
@dataclass(frozen=True)
class DiscreteGaussians:
    """The law of the loss rho + h V under P; at least one group."""

    groups: tuple[Coordinates, ...]

    @cached_property
    def rho(self) -> Fraction:
        """The mean of the loss: the Kullback-Leibler divergence, and the zCDP parameter."""
        return sum((g.count * g.shift * g.slope / 2 for g in self.groups), Fraction(0))

    @cached_property
    def step(self) -> Fraction:
        """h, the step of the support of the loss."""
        return reduce(_common_divisor, (g.slope for g in self.groups))

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The whole numbers k_i, one for each group."""
        return tuple(int(g.slope / self.step) for g in self.groups)

    @cached_property
    def width(self) -> int:
        """2 rho/h, a whole number: Q[V' >= m] = P[V >= m + width] with L = rho + h V' in both."""
        return int(2 * self.rho / self.step)

    @cached_property
    def variance(self) -> Fraction:
        """sum count v k^2: at least the variance of V, and nearly that unless v is small."""
        return sum((g.count * g.variance * k**2 for g, k in zip(self.groups, self.weights, strict=True)), Fraction(0))

    def moment(self, tilt: arb, turn: Fraction) -> acb:
        """E exp(z V) at z = tilt + 2 pi i turn, at the current precision."""
        value = acb(1)
        for group, weight in zip(self.groups, self.weights, strict=True):
            part = (weight * turn) % 1
            sized = _unscaled(group.variance, weight * tilt, part - (part > Fraction(1, 2)))
            value *= (sized / self._total(group.variance)) ** group.count
        return value

    def _total(self, variance: Fraction) -> acb:
        """The unscaled moment at 0, which every node needs."""
        key = variance, ctx.prec
        if key not in self._totals:
            self._totals[key] = _unscaled(variance, arb(0), Fraction(0))
        return self._totals[key]

    @cached_property
    def _totals(self) -> dict[tuple[Fraction, int], acb]:
        return {}

    def log_moment_float(self, tilt: float) -> float:
        """About log E exp(tilt V); it steers, and proves nothing."""
        total = 0.0
        for group, weight in zip(self.groups, self.weights, strict=True):
            v, x = float(group.variance), weight * tilt
            if v > 0.5:
                total += group.count * v * x * x / 2
            else:
                points = round(v * x) + np.arange(-12, 13)
                exponents = -(points**2) / (2 * v) + x * points
                top = exponents.max()
                mass = np.exp(-(np.arange(-12, 13) ** 2) / (2 * v)).sum()
                total += group.count * float(top + np.log(np.exp(exponents - top).sum() / mass))
        return total

    def renyi(self, order: Fraction) -> arb:
        """The Renyi divergence of order > 0, at the current precision: log E exp((order - 1) L)/(order - 1)."""
        if order == 1:
            return ball(self.rho)
        excess = order - 1
        total = arb(0)
        for group in self.groups:
            total += group.count * log_moment(group.variance, excess * group.slope)
        return ball(self.rho) + total / ball(excess)


def _unscaled(variance: Fraction, tilt: arb, turn: Fraction) -> acb:
    """E exp(z X) of X ~ N_Z(0, variance) at z = tilt + 2 pi i turn with |turn| <= 1/2, up to a factor.

    The factor depends on the variance only.
    """
    if variance < _SELF_DUAL:
        return _direct(variance, tilt, turn)
    part = ball(turn)
    z, v = acb(tilt, 2 * arb.pi() * part), ball(variance)
    value: acb = (v * z * z / 2).exp() * _dual(v, z, abs(part))
    return value


def log_moment(variance: Fraction, tilt: Fraction) -> arb:
    """log E exp(tilt X) of X ~ N_Z(0, variance) at a real tilt, at the current precision; at most variance tilt^2/2."""
    if variance < _SELF_DUAL:
        numerator = _direct(variance, ball(tilt), Fraction(0))
        return (numerator / _direct(variance, arb(0), Fraction(0))).real.log()
    v = ball(variance)
    ratio = (_dual(v, acb(ball(tilt)), arb(0)) / _dual(v, acb(0), arb(0))).real
    return ball(variance * tilt**2 / 2) + ratio.log()


def one_sided_tails(variance: Fraction, firsts: Integers) -> Array:
    """P[X >= k] of X ~ N_Z(0, variance) in float64 for whole numbers k >= 1, by summation of all terms above 1e-320.

    The sums run inward from the far end, so their relative error is about sqrt(variance) + 750 roundings.
    """
    v = float(variance)
    masses = np.exp(-(np.arange(math.isqrt(int(1475 * v)) + 3, dtype=np.float64) ** 2) / (2 * v))
    sums = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)
    tails: Array = sums[np.minimum(firsts, sums.size) - 1] / (1 + 2 * sums[0])
    return tails


def _dual(v: arb, z: acb, turn: arb) -> acb:
    """sum over n of exp(v (z + 2 pi i n)^2/2) divided by exp(v z^2/2): Poisson's summation of the moment.

    The terms n and -n make 2 exp(-2 pi^2 v n^2) cos(2 pi n v z), at most 2 exp(-2 pi^2 v (n^2 - 2 n turn)) with turn =
    |Im z|/(2 pi); from one n to the next that falls at least by exp(-4 pi^2 v n) < 1/2 as turn <= 1/2.
    """
    pi = arb.pi()
    rate, negligible = -2 * pi**2 * v, arb(2) ** -(ctx.prec + 4)
    total = acb(1)
    n = 1
    while True:
        bound = 2 * (rate * (n * n - 2 * n * turn)).exp()
        if bound < negligible:
            rest = 2 * bound.upper()
            return total + acb(rest.union(-rest), rest.union(-rest))
        total += 2 * (rate * (n * n)).exp() * (2 * pi * n * v * z).cos()
        n += 1


def _direct(variance: Fraction, tilt: arb, turn: Fraction) -> acb:
    """sum over x of exp(-x^2/(2v) + z x), around the largest terms; what is left out is added to the ball.

    Beyond ``reach`` on either side the terms fall at least by half at every step: the ratio at x is
    exp(-(2x + 1)/(2v) + tilt), decreasing in x, and so on the other side.
    """
    v, pi = ball(variance), arb.pi()
    centre = round(float(variance) * float(tilt))
    reach = 1 + math.isqrt(int(2 * float(variance) * ctx.prec) + 1)
    while True:
        total, largest = acb(0), arb(0)
        for x in range(centre - reach, centre + reach + 1):
            size = (-(arb(x) ** 2) / (2 * v) + tilt * x).exp()
            largest = size if size > largest else largest
            total += size * (2 * pi * ball((x * turn) % 1) * acb(0, 1)).exp()
        high, low = centre + reach, centre - reach
        up = (-arb(2 * high + 1) / (2 * v) + tilt).exp()
        down = (arb(2 * low - 1) / (2 * v) - tilt).exp()
        if up < 0.5 and down < 0.5:
            rest = sum(
                (2 * r * (-(arb(x) ** 2) / (2 * v) + tilt * x).exp() for x, r in ((high, up), (low, down))), arb(0)
            ).upper()
            if rest < largest * arb(2) ** -ctx.prec:
                return total + acb(rest.union(-rest), rest.union(-rest))
        reach *= 2


def grouped(coordinates: Sequence[tuple[Fraction, int, int]]) -> tuple[Coordinates, ...]:
    """Groups of equal coordinates in increasing order, from (variance, |shift|, count); those that do not move drop."""
    counts: dict[tuple[Fraction, int], int] = {}
    for variance, shift, count in coordinates:
        if shift and count:
            counts[variance, abs(shift)] = counts.get((variance, abs(shift)), 0) + count
    return tuple(sorted(Coordinates(variance, shift, count) for (variance, shift), count in counts.items()))


def _common_divisor(first: Fraction, second: Fraction) -> Fraction:
    """The largest rational number of which both are whole multiples."""
    denominator = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * denominator), int(second * denominator)), denominator)


MOST_NODES = 200_000
"""The largest number of nodes and of bounds computed for one contour."""

_FEW = 8


@final
@dataclass(frozen=True, slots=True)
class DiscreteContour:
    """The moments of V on one contour, which serve every sum over the support with a saddle point near the tilt.

    Attributes:
        tilt: an exact dyadic number > 0.
        size: the number N of nodes, even.
        bits: the working precision.
        nodes: (j, weight, M(z_j)) for the nodes computed, 0 <= j <= N/2; the weight counts N - j with j.
        omitted: an upper bound on the sum of |M|/N over the nodes omitted.
    """

    law: DiscreteGaussians
    tilt: arb
    size: int
    bits: int
    nodes: tuple[tuple[int, int, acb], ...]
    omitted: arb

    def sum(self, first: int, coefficients: Callable[[acb], acb], further: arb) -> arb:
        """Encloses the sum over i >= 0 of c_i P[V = first + i]; ``coefficients`` is C(z), ``further`` a t > tilt."""
        with precision(self.bits):
            total = arb(0)
            pi = arb.pi()
            for j, weight, moment in self.nodes:
                angle = 2 * pi * j / self.size
                z = acb(self.tilt, angle)
                turned = (-first * j) % self.size  # exp(-first z) with the whole turns taken out
                phase = acb(0, 2 * pi * turned / self.size).exp()
                total += weight * (moment * phase * coefficients(z)).real
            scale = (-first * self.tilt).exp()
            below = (-self.tilt * self.size).exp()
            above = (-(further - self.tilt) * self.size).exp()
            aliases = below / (1 - below)
            aliases += self.law.moment(further, Fraction(0)).real * (-first * further).exp() * above / (1 - above)
            error = (aliases + scale * self.omitted * coefficients(acb(self.tilt)).real).upper()
            return total * scale / self.size + error.union(-error)


def make_contour(law: DiscreteGaussians, tilt: float, size: int, bits: int) -> DiscreteContour:
    """The contour with N = ``size`` (even) nodes at the tilt, at a working precision of ``bits``.

    Raises:
        InvalidValue: the support is so fine that the contour has too many nodes that are not negligible.
    """
    with precision(bits):
        exact_tilt = arb(tilt)
        peak = (ball(law.variance) * exact_tilt**2 / 2).exp()
    kept, omitted = _select(law, size, bits)
    nodes = []
    with precision(bits):
        for j in kept:
            weight = 1 if j in (0, size // 2) else 2
            nodes.append((j, weight, law.moment(exact_tilt, Fraction(j, size))))
        return DiscreteContour(law, exact_tilt, size, bits, tuple(nodes), (omitted * peak).upper())


def _select(law: DiscreteGaussians, size: int, bits: int) -> tuple[list[int], arb]:
    """The nodes to compute, 0 <= j <= N/2, and a bound on the sum of A/N over all the others."""
    kept: list[int] = []
    omitted, negligible = arb(0), arb(2) ** -bits
    ranges, looked = [(0, size // 2)], 0
    with precision(64):
        while ranges:
            low, high = ranges.pop()
            looked += 1
            if looked + len(kept) > MOST_NODES:
                remedy = "use parameters with small denominators (rounding s costs no privacy), or a milder epsilon"
                raise InvalidValue("support of the loss", f"step {law.step}", "coarser", remedy)
            bound = 2 * arb(high - low + 1) / size * _decay(law, size, low, high)
            if bound < negligible * (high - low + 1) / size:
                omitted += bound
            elif high - low < _FEW:
                kept.extend(range(low, high + 1))
            else:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
        return kept, omitted.upper()


def _decay(law: DiscreteGaussians, size: int, low: int, high: int) -> arb:
    """An upper bound on the product of the A at the nodes low..high."""
    exponent = arb(0)
    for group, weight in zip(law.groups, law.weights, strict=True):
        first, last = Fraction(weight * low, size), Fraction(weight * high, size)
        if math.ceil(first) <= math.floor(last):
            continue  # a multiple of a whole turn lies in between: A <= 1
        distance = min(first - math.floor(first), math.ceil(last) - last)
        phi, v = 2 * arb.pi() * ball(distance), ball(group.variance)
        rest = 2 * (-2 * arb.pi() * v * (arb.pi() - phi)).exp() / (1 - (-4 * arb.pi() ** 2 * v).exp())
        single = -v * phi**2 / 2 + rest.log1p()
        if single < 0:
            exponent += group.count * single
    return exponent.exp().upper()
