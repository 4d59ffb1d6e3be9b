"""The moments E_Q[g(L)^w] of one Poisson-sampled step, g(x) = 1 - q + q exp(x), in balls with every error bounded.

Both orders have their moment generating function here: E_M[exp(t log g)] = E_Q[g^(1+t)] for remove, and
E_Q[exp(-t log g)] = E_Q[g^-t] for add. Write w = W + i v.

**Gaussian noise**, L = u(z) = mu z - mu^2/2 with z standard normal. The trapezoidal rule of step k in z, for v = 0; a
line of v >= 0 is integrated on a shifted line of z, as `dpverdict.audit.sampling.panels` has it. In the strip
|Im z| <= a with a mu <= pi/2, for real u and |y| <= pi/2,

    g(u) cos(y/2) <= |g(u + i y)| <= g(u),

as |g(u + i y)|^2 = g(u)^2 - 2 (1-q) q e^u (1 - cos y), and 4 (1-q) q e^u <= g(u)^2. So the integrand phi(z) g^W has, on
either line, an integral of at most C = exp(a^2/2) S with S = M(W) for W >= 0, and for W < 0 the smaller of
cos(a mu/2)^W M(W) and (1-q)^W, because |g(u + i y)| >= 1 - q, the real part. The alias is at most 2 C r/(1-r),
r = exp(-2 pi a/k). What is left out beyond |z| = Z: g(u)/e^u falls, so for W >= 0, beyond Z > W mu,
g^W <= g(u_Z)^W exp(W mu (z - Z)), and both the sum and the integral of a falling function give
phi(Z) g(u_Z)^W (k + 1/(Z - W mu)); up to there, in pieces from z to z + h, phi(z) g(u_(z+h))^W (h + k); below -Z,
g^W <= g(u_-Z)^W. For W < 0, g^W <= (1-q)^W on both sides. All that holds for |g(u + i y)|^W as well.

**The cut.** |M(W + i v)| for all v >= V: shift the line of integration by i b, 0 < b mu < pi/2. There |g^w| =
|g|^W exp(-v arg g) with arg g > 0, so that

    |M(W + i v)| <= exp(b^2/2) integral of phi(z) |g(u + i b mu)|^W exp(-V arg g(u + i b mu)) dz     for all v >= V.

That is an integral of one positive function, by the same rule: with g+ = g(u + i b mu) and g- its conjugate it is the
integral of phi exp((W/2 + i V/2) log g+ + (W/2 - i V/2) log g-), analytic, and in the strip |Im z| <= a, (a + b) mu <=
pi/2, at most exp(a^2/2) S with the angle (a + b) mu in place of a mu, because arg g(u + i y) grows with y.

**Several moves.** Where the record moves the sum by k mu with probability q p_k, k >= 1, sum of p_k = 1, g is the
mixture 1 - q + q sum over k of p_k exp(k mu z - k^2 mu^2/2). With K the largest k its terms at z + i y lie in the
sector of angles [0, K mu y]: all of the above holds with the angle K mu y in place of mu y, and with K mu in place of
mu where a growth of g is bounded. That arg g grows is (d/dy) arg g = mu Re(sum k T_k/sum T_k) >= 0 for terms T_k in a
quarter plane.

**Laplace noise** of shift s: under Q, L = -s with probability 1/2, s with probability exp(-s)/2, and a density
exp(-(l + s)/2)/4 in between. The density is integrated by the Gauss-Legendre rule, with the error bound
(64/15) B r^(-2n)/(1 - r^-2) on [-1, 1] where the integrand is at most B inside the ellipse of parameter r (Trefethen
2008, Theorem 4.5), s (r - 1/r)/2 <= pi/2. For the cut, in x = log g the density is f = exp(-3l/2 - s/2) g^(W+1)/(4q).
Its logarithm has the derivative -3/2 + (W+1) q e^l/g in l, whose sign changes at most once, from - to +, or never: so f
has a variation of at most f(-s) + f(s), and integrating by parts the density contributes at most 2 (f(-s) + f(s))/v.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import acb, acb_mat, arb, ctx
from numpy.polynomial.legendre import leggauss

from dpverdict.balls import Real, ball, precision
from dpverdict.numerics.arrays import Array

_BOUND_BITS = 96
_REACH = 40.0  # standard deviations, for float64 estimates
_SHIFTS = 18
_COARSER = 3  # times the spacing of the estimates: where shifted lines are only compared
_LARGEST_TILT = 100.0  # of z: moments beyond are not used
_MOST_EXPONENT = 1e13  # times log(1 - q)
_EXPONENTS = 60
_NEGLIGIBLE = 100.0  # as a logarithm
_DEEP = 600.0  # as a logarithm: where a line oscillates least, the integrand may be as far below its largest
_NEXT_TO_NOTHING = 700.0  # as a logarithm
_MOST_KEPT = 64  # moments at exact exponents
_SHORTEST = 2.0**-12  # piece of the line


class StepMoments(ABC):
    """The moments of one step. ``nodes`` are losses log g with ``log_weights`` for estimates in float64."""

    __slots__ = ("_kept", "log_weights", "losses", "rate")
    rate: Fraction
    losses: Array
    log_weights: Array

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._kept: dict[tuple[int, int], arb] = {}

    # float64, which only steers ---------------------------------------------------------------------------------------

    @property
    def largest_exponent(self) -> float:
        """The largest W for which estimates are made."""
        return 1e6

    @property
    def least_exponent(self) -> float:
        """The least W, below 0, for which estimates are made."""
        return -1e4

    def estimates(self, exponents: Array) -> tuple[Array, Array]:
        """log M(W) and the variance of log g under the law tilted by g^W, at W of shape (n,)."""
        table = np.multiply.outer(exponents, self.losses)
        table += self.log_weights
        peak = table.max(axis=1)
        table -= peak[:, None]
        np.maximum(table, -_NEXT_TO_NOTHING, out=table)  # the exponential is slow where it underflows
        weights = np.exp(table, out=table)
        total = weights.sum(axis=1)
        mean = weights @ self.losses / total
        square = weights @ self.losses**2 / total
        return peak + np.log(total), np.maximum(square - mean**2, 1e-300)

    def log_jumps(self, epsilon: float, steps: int, *, of_any: bool) -> float:
        """About log of the probability that few large losses of the order remove add up to epsilon; 0 if unknown."""
        return 0.0

    @abstractmethod
    def points(self, heights: Array) -> Array:
        """About how many points the rule of ``line`` has up to a height, at heights of shape (n,)."""

    @abstractmethod
    def log_cut(self, exponent: float, heights: Array) -> Array:
        """About log of ``cut``/M(W), at heights of shape (n,)."""

    # balls ------------------------------------------------------------------------------------------------------------

    def real(self, exponent: arb) -> arb:
        """M(W) at a real exponent; those of exact numbers are kept."""
        if not exponent.is_exact():
            return self._real(exponent)
        mantissa, power = exponent.man_exp()
        key = int(mantissa), int(power)
        if key not in self._kept:
            while len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self._real(exponent)
        return self._kept[key]

    @abstractmethod
    def _real(self, exponent: arb) -> arb: ...

    @abstractmethod
    def line(self, exponent: arb, step: float, number: int, bits: int) -> list[acb]:
        """M(W + i step (k + 1/2)) for k < number, to about ``bits`` bits relative to M(W)."""

    @abstractmethod
    def cut(self, exponent: arb, height: arb) -> arb:
        """An upper bound of |M(W + i v)| for all v >= height."""


def _log_g(rate: arb, u: arb) -> arb:
    return (rate * u.expm1()).log1p()


def sums_of_exponentials(
    losses: Sequence[arb | acb], weights: Sequence[arb | acb], step: float, number: int
) -> list[acb]:
    """The sum of weights exp(i step (k + 1/2) losses), for k < number: one product of matrices.

    Every entry is one exponential, so that no ball is multiplied by itself again and again.
    """
    columns = math.isqrt(number - 1) + 1
    rows = -(-number // columns)
    eta = arb(step)
    left = [
        [(acb(0, 1) * x * eta * _middle(m * columns)).exp() * w for x, w in zip(losses, weights, strict=True)]
        for m in range(rows)
    ]
    right = [[(acb(0, 1) * x * eta * b).exp() for b in range(columns)] for x in losses]
    table = (acb_mat(left) * acb_mat(right)).entries()
    return list(table[:number])


def _log(probability: Fraction) -> float:
    """Of one that is 0 in float64 as well."""
    return math.log(probability.numerator) - math.log(probability.denominator)


def _middle(k: int) -> arb:
    return arb(2 * k + 1) / 2


@final
class Exponentials:
    """The sum over j of coefficients_j exp(i v exponents_j), which is within ``error`` of N(v) at every v >= 0.

    Attributes:
        exponents: with real parts >= 0, and imaginary parts > 0 that grow with j.
        sizes: the moduli of the coefficients.
        angles, growths: imaginary and real parts of the exponents in float64.
        log_sizes, log_error: logarithms in float64.
        largest: a bound on |N(v)| for real v.
    """

    __slots__ = (
        *("angles", "coefficients", "error", "exponents", "growths"),
        *("largest", "log_error", "log_sizes", "sizes"),
    )
    exponents: list[acb]
    coefficients: list[acb]
    sizes: list[arb]
    error: arb
    angles: Array
    growths: Array
    log_sizes: Array
    log_error: float
    largest: arb

    def __init__(self, exponents: list[acb], coefficients: list[acb], error: arb, largest: arb) -> None:
        self.exponents, self.coefficients, self.error, self.largest = exponents, coefficients, error, largest
        self.sizes = [abs(value) for value in coefficients]
        self.angles = np.array([float(value.imag) for value in exponents])
        self.growths = np.array([float(value.real) for value in exponents])
        self.log_sizes = np.array([float(size.log()) for size in self.sizes])
        self.log_error = float(error.log())


@final
class GaussianMoments(StepMoments):
    """The moments of a sampled Gaussian step, of GDP parameter mu.

    Args:
        mu: the distance of the two laws in standard deviations.
        rate: the probability q that the record takes part.
        moves: how many times as far it moves the sum, k, each with its probability p_k given that it takes part.
    """

    __slots__ = ("_ends", "_kept_moves", "_kept_rate", "_lines", "_moves", "_mu", "_mu_float", "_top", "_z")
    rate: Fraction
    losses: Array
    log_weights: Array

    def __init__(self, mu: Real, rate: Fraction, moves: Sequence[tuple[Fraction, int]] = ((Fraction(1), 1),)) -> None:
        super().__init__(rate)
        self._mu, self._mu_float, self._moves = mu, mu.nearest(), tuple(moves)
        self._lines: list[tuple[float, Array, Array]] | None = None
        self._top = max(k for _, k in moves)
        self._kept_moves: dict[int, list[tuple[arb, arb, arb]]] = {}
        self._kept_rate = (0, arb(0))
        step = min(0.1, 0.4 / self._steepest)
        z = np.arange(-_REACH, _REACH + _LARGEST_TILT, step)
        self._z = z
        self.losses = self._losses_at(z)
        self.log_weights = -z * z / 2 + math.log(step / math.sqrt(2 * math.pi))
        self._ends = -self._inside(-1.0), self._inside(1.0)

    @property
    def largest_exponent(self) -> float:
        """Where the mass tilted by g^W is still inside the grid."""
        return self._ends[1]

    @property
    def least_exponent(self) -> float:
        """The same of W < 0."""
        return self._ends[0]

    @property
    def _steepest(self) -> float:
        """K mu, in float64."""
        return self._top * self._mu_float

    @property
    def _steepest_ball(self) -> arb:
        return self._top * self._mu.ball()

    def _log_moved(self, z: Any) -> Any:
        """log of the sum of p_k exp(k mu z - k^2 mu^2/2) in float64, for real z."""
        m = self._mu_float
        found: Any = np.asarray(z)
        if self._top == 1:
            return m * found - m * m / 2
        return np.logaddexp.reduce([_log(p) + k * m * found - (k * m) ** 2 / 2 for p, k in self._moves], axis=0)

    def _moved(self, z: Any) -> Any:
        """The sum of p_k exp(k mu z - k^2 mu^2/2), less 1, at a ball."""
        total = z * 0
        for p, m, half_square in self._ball_moves():
            total += p * (m * z - half_square).expm1()
        return total

    def _ball_moves(self) -> list[tuple[arb, arb, arb]]:
        """Of every k: p_k, k mu and its square over 2, at the current precision."""
        if ctx.prec not in self._kept_moves:
            mu = self._mu.ball()
            self._kept_moves[ctx.prec] = [(ball(p), k * mu, (k * mu) ** 2 / 2) for p, k in self._moves]
        return self._kept_moves[ctx.prec]

    def _log_ball(self, z: Any) -> Any:
        """log g at a ball, real or complex."""
        if self._kept_rate[0] != ctx.prec:
            self._kept_rate = ctx.prec, ball(self.rate)
        return (self._kept_rate[1] * self._moved(z)).log1p()

    def _losses_at(self, z: Array | float) -> Array:
        """log g at z, in float64."""
        q, u = float(self.rate), self._log_moved(z)
        far = u + math.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(u, 0.0)))
        found: Array = np.where(u > 30, far, np.log1p(q * np.expm1(np.minimum(u, 30.0))))
        return found

    def _inside(self, sign: float) -> float:
        """The largest |W| at which all that counts of g^W is inside the grid; to no more than float64 can add up."""
        exponents = np.geomspace(1.0, _MOST_EXPONENT / -math.log1p(-float(self.rate)), _EXPONENTS)
        first, last = np.searchsorted(self._z, [1 - _REACH, _LARGEST_TILT])
        found = 1.0
        for exponent in exponents.tolist():
            heights = self.log_weights + sign * exponent * self.losses
            mode = int(heights.argmax())
            beyond = np.arange(_LARGEST_TILT, max(sign * exponent * self._steepest, _LARGEST_TILT) + 20, 0.5)
            far = sign * exponent * self._losses_at(beyond) - beyond**2 / 2
            if not first < mode < last or far.max() > heights[mode] - _NEGLIGIBLE:
                break
            found = exponent
        return found

    def log_jumps(self, epsilon: float, steps: int, *, of_any: bool) -> float:
        """The likeliest of 1, 2, 4, ... equal losses: each is that of a z, of density phi(z) and likelihood ratio g.

        The others have about no loss. ``of_any``: whether it counts that they may be those of any of the steps; without
        it, less is told rather than more.
        """
        numbers = np.unique(np.append(2.0 ** np.arange(math.log2(steps)), steps))
        orders = [math.lgamma(n + 1) + math.lgamma(steps - n + 1) for n in numbers.tolist()]
        ways = (math.lgamma(steps + 1) - np.array(orders)) * of_any
        share = epsilon / numbers
        if self._top > 1:
            places = np.interp(share, self.losses, self._z)
        else:
            places = share + np.log1p(-np.expm1(-share) * (1 - float(self.rate)) / float(self.rate))
            places = places / self._mu_float + self._mu_float / 2
        beyond = np.log1p(math.sqrt(2 * math.pi) * np.maximum(places, 0.0))
        return min(float((ways + epsilon - numbers * places**2 / 2 - beyond).max()), 0.0)

    def points(self, heights: Array) -> Array:
        """The exponentials of a line shifted by i b, on some 24 standard deviations, whatever the height."""
        return np.full_like(heights, 24 * 90 / (2 * math.pi * self._widest()))

    def _widest(self) -> float:
        """The largest b by which a line is shifted."""
        return min(1.5 / self._steepest, 3.0)

    def _shifted(self) -> list[tuple[float, Array, Array]]:
        """Some shifts b of the line, and log |g| and arg g on each of them, in float64."""
        if self._lines is None:
            q, m, z = float(self.rate), self._mu_float, self._z[::_COARSER]
            growths = [q * np.exp(np.minimum(_log(p) + k * m * z - (k * m) ** 2 / 2, 600)) for p, k in self._moves]
            self._lines = []
            for b in np.geomspace(0.004, 0.9 * math.pi / 2 / self._steepest, _SHIFTS).tolist():
                real, imaginary = np.full_like(z, 1 - q), np.zeros_like(z)
                for growth, (_, k) in zip(growths, self._moves, strict=True):
                    real += growth * math.cos(b * k * m)
                    imaginary += growth * math.sin(b * k * m)
                self._lines.append((b, np.log(np.hypot(real, imaginary)), np.arctan2(imaginary, real)))
        return self._lines

    def _log_shifted(self, exponent: float, heights: Array) -> Array:
        """log of the bound of every shift, in float64, of shape (shifts, n)."""
        weights, found = self.log_weights[::_COARSER] + math.log(_COARSER), []
        for b, logarithms, angles in self._shifted():
            base = weights + exponent * logarithms + b**2 / 2
            keep = base > base.max() - _DEEP
            table = base[keep] - heights[:, None] * angles[keep]
            peak = table.max(axis=1)
            found.append(peak + np.log(np.exp(table - peak[:, None]).sum(axis=1)))
        return np.array(found)

    def log_cut(self, exponent: float, heights: Array) -> Array:
        own = float(self.estimates(np.array([exponent]))[0][0])
        found: Array = np.minimum(self._log_shifted(exponent, heights).min(axis=0) - own, 0.0)
        return found

    # balls ------------------------------------------------------------------------------------------------------------

    def _reach(self, exponent: arb, spacing: float, bits: float) -> tuple[list[arb], arb]:
        """The points z of the rule, and a bound on what is left out of it, with g^W and the spacing.

        The bound is one for |g|^W on every line shifted by at most pi/2 in u.
        """
        w, m = float(exponent), self._steepest
        tilt, floor = max(w, 0.0), min(w, 0.0) * math.log1p(-float(self.rate))
        aim = float(self.estimates(np.array([w]))[0][0]) - bits * math.log(2)
        last = tilt * m + 1 + math.sqrt(2 * max(floor - aim, 0.0))
        places = np.arange(1.0, last + 40, 0.25)
        above = np.flatnonzero(tilt * self._losses_at(places) + floor - places**2 / 2 > aim)
        low, high = math.sqrt(2 * max(floor - aim, 1.0)), 1.0
        if above.size:  # all of them are far enough where the estimate is too small, as at the largest exponents
            high = float(places[min(above[-1] + 1, len(places) - 1)])
        k, rate = arb(spacing), ball(self.rate)
        points = [k * j for j in range(-math.ceil(low / spacing), math.ceil(high / spacing) + 1)]

        def largest(z: arb) -> arb:
            return (exponent * (self._log_ball(z) if exponent >= 0 else (-rate).log1p())).exp()

        def density(z: arb) -> arb:
            return (-z * z / 2).exp() / (2 * arb.pi()).sqrt()

        rest = density(points[0]) * largest(points[0]) * (k - 1 / points[0])
        begin = points[-1]
        while begin < arb(tilt * m + 1):
            length = max(tilt * m + 1 - float(begin), _SHORTEST)
            most = aim + 2 + float(begin) ** 2 / 2
            while tilt * self._losses_at(float(begin) + length) > most and length > _SHORTEST:
                length /= 2
            rest += density(begin) * largest(begin + length) * (length + k)
            begin += length
        gap = begin - exponent.max(arb(0)) * self._steepest_ball
        rest += density(begin) * largest(begin) * (k + 1 / gap)
        return points, rest.upper() if gap > 0 else arb("inf")

    def _grid(self, exponent: arb, spacing: float, bits: float) -> tuple[list[arb], list[arb], arb]:
        """Losses log g and weights phi(z) k of the rule, and a bound on what is left out of it, with g^W."""
        points, rest = self._reach(exponent, spacing, bits)
        scale = arb(spacing) / (2 * arb.pi()).sqrt()
        losses = [self._log_ball(z) for z in points]
        weights = [scale * (-z * z / 2).exp() for z in points]
        return losses, weights, rest

    def exponentials(self, exponent: arb, bits: int, steps: int) -> Exponentials:
        """N(v) = (1 - q)^-(W + i v) M(W + i v) as a sum of exponentials, to ``bits`` bits relative to M(W), v >= 0.

        The rule of the line shifted by i b, b K mu < pi/2, in the strip of half-width b: see
        `dpverdict.audit.sampling.panels`. The moduli add up to exp(b^2/2) times too much, which is what limits b
        where the sum is raised to the power of ``steps``.
        """
        w, m = float(exponent), self._steepest
        shifts = np.geomspace(0.01, 1.0, 60) * min(self._widest(), math.sqrt(24 / steps))
        need = bits * math.log(2) + 2 * shifts**2 + self._log_slack(w, 2 * shifts * m)
        spacings = 2 * math.pi * shifts / need
        best = int(spacings.argmax())
        b, spacing = arb(float(shifts[best])), float(spacings[best])
        rate = ball(self.rate)
        excess = (b * b / 2).exp()
        points, rest = self._reach(exponent, spacing, bits + 2 + float(excess.log()) / math.log(2))
        scale, odds = arb(spacing) / (2 * arb.pi()).sqrt(), rate / (1 - rate)
        found, coefficients = [], []
        for z in points:
            growth = acb(0)
            for p, move, half_square in self._ball_moves():
                growth += p * acb(move * z - half_square, move * b).exp()
            found.append((growth * odds).log1p())
            coefficients.append(scale * (acb(b * b - z * z, -2 * z * b) / 2 + exponent * found[-1]).exp())
        s = (-2 * arb.pi() * b / arb(spacing)).exp()
        own = self.real(exponent)
        alias = 2 * (2 * b * b).exp() * self._slack(exponent, 2 * b * self._steepest_ball, own) * s / (1 - s)
        unit = (-exponent * (-rate).log1p()).exp()
        error, largest = (alias + rest * excess) * unit, own * unit
        return Exponentials(found, coefficients, error.upper(), largest.upper())

    def _log_slack(self, exponent: float, angles: Array) -> Array:
        """log of the bound of `_slack` over M(W), in float64, at angles of shape (n,)."""
        if exponent >= 0:
            return np.zeros_like(angles)
        least = exponent * math.log1p(-float(self.rate)) - float(self.estimates(np.array([exponent]))[0][0])
        found: Array = exponent * np.log(np.cos(angles / 2))
        return np.where(angles <= math.pi / 2, np.minimum(found, max(least, 0.0)), found)

    def _slack(self, exponent: arb, angle: arb, own: arb) -> arb:
        """A bound on the integral of phi(z) |g(u + i y)|^W for every |y| <= angle < pi, where ``own`` is M(W)."""
        if exponent >= 0:
            return own
        found = (exponent * (angle / 2).cos().log()).exp() * own
        return found.min(self._most(exponent)) if angle <= arb.pi() / 2 else found

    def _most(self, exponent: arb) -> arb:
        """(1 - q)^W, above M(W) for W < 0."""
        return (exponent * (-ball(self.rate)).log1p()).exp()

    def _spacing(self, exponent: float, bits: float, shift: float = 0.0) -> tuple[float, float]:
        """The half-width a of the strip, and the step k that makes the alias 2^-bits of M(W)."""
        m = self._steepest
        widths = np.linspace(0.05, 1.0, 40) * (math.pi / 2 / m * (1 - 1e-9) - shift)
        need = bits * math.log(2) + widths**2 / 2 + self._log_slack(exponent, (widths + shift) * m)
        rates = need / widths
        best = int(rates.argmin())
        return float(widths[best]), 2 * math.pi / float(rates[best])

    def _alias(self, exponent: arb, own: arb, width: float, spacing: float, shift: float = 0.0) -> arb:
        """A bound on the alias, where ``own`` is M(W) or a bound on it."""
        a = arb(width)
        angle = (a + arb(shift)) * self._steepest_ball
        assert angle <= arb.pi() / 2
        growth = (a * a / 2).exp() * self._slack(exponent, angle, own)
        return 2 * growth * (-2 * arb.pi() * a / arb(spacing)).exp() / -(-2 * arb.pi() * a / arb(spacing)).expm1()

    def _sum(self, exponent: arb, bits: float) -> arb:
        width, spacing = self._spacing(float(exponent), bits)
        losses, weights, rest = self._grid(exponent, spacing, bits)
        total = sum((w * (exponent * x).exp() for x, w in zip(losses, weights, strict=True)), start=arb(0))
        total += rest * arb(0, 1)
        relative = self._alias(exponent, arb(1), width, spacing).upper() * arb(0, 1)
        found = total / (1 + relative)  # |sum - M| <= relative M, as M(W) >= 1 for W < 0
        if exponent >= 0:
            return found
        absolute = total + self._alias(exponent, self._most(exponent), width, spacing).upper() * arb(0, 1)
        return absolute if absolute.rad() < found.rad() or not found.is_finite() else found

    def _real(self, exponent: arb) -> arb:
        with precision(_BOUND_BITS):
            return self._sum(exponent, 64)

    def line(self, exponent: arb, step: float, number: int, bits: int) -> list[acb]:
        series = self.exponentials(exponent, bits, 1)
        box = acb(series.error * arb(0, 1), series.error * arb(0, 1))
        values = sums_of_exponentials(series.exponents, series.coefficients, step, number)
        least = (-ball(self.rate)).log1p()
        scale, turn = (exponent * least).exp(), acb(0, least * arb(step))
        return [scale * (turn * _middle(k)).exp() * (value + box) for k, value in enumerate(values)]

    def cut(self, exponent: arb, height: arb) -> arb:
        estimates = self._log_shifted(float(exponent), np.array([float(height)]))[:, 0]
        b = self._shifted()[int(estimates.argmin())][0]
        fall = float(self.estimates(np.array([float(exponent)]))[0][0]) - float(estimates.min())
        bits = 40 + max(fall, 0.0) / math.log(2)  # the alias and the rest are relative to M(W), and the bound far below
        with precision(_BOUND_BITS):
            own = self.real(exponent)
            width, spacing = self._spacing(float(exponent), bits, b)
            points, rest = self._reach(exponent, spacing, bits)
            scale, total = arb(spacing) / (2 * arb.pi()).sqrt(), arb(0)
            for z in points:
                value = self._log_ball(acb(z, arb(b)))
                total += scale * (exponent * value.real - height * value.imag - z * z / 2).exp()
            total += rest + self._alias(exponent, own, width, spacing, b)
            return (total * (arb(b) * arb(b) / 2).exp()).upper().min(own.upper())


@final
class LaplaceMoments(StepMoments):
    """The moments of a sampled Laplace step on one coordinate, of a given shift in units of the scale."""

    __slots__ = ("_shift",)
    rate: Fraction
    losses: Array
    log_weights: Array

    def __init__(self, shift: Fraction, rate: Fraction) -> None:
        super().__init__(rate)
        self._shift = shift
        s, q = float(shift), float(rate)
        x, w = leggauss(80)
        with np.errstate(divide="ignore"):
            self.losses = np.log1p(q * np.expm1(s * np.concatenate([[-1.0, 1.0], x])))
            self.log_weights = np.log(np.concatenate([[0.5, math.exp(-s) / 2], s * w * np.exp(-s * (x + 1) / 2) / 4]))

    @property
    def largest_exponent(self) -> float:
        """Where the rule of the estimates is accurate."""
        return 60 / float(self._shift) / max(float(self.rate), 0.05)

    def points(self, heights: Array) -> Array:
        """The Gauss-Legendre rule for oscillations exp(i v l) on (-s, s)."""
        found: Array = 40 + 2 * heights * float(self._shift)
        return found

    def log_cut(self, exponent: float, heights: Array) -> Array:
        own = float(self.estimates(np.array([exponent]))[0][0])
        s, q = float(self._shift), float(self.rate)
        ends = [math.log1p(q * math.expm1(x)) for x in (-s, s)]
        atoms = math.log(0.5) + float(np.logaddexp(exponent * ends[0], exponent * ends[1] - s))
        sides = [-1.5 * x - s / 2 - math.log(2 * q) + (exponent + 1) * e for x, e in zip((-s, s), ends, strict=True)]
        rest = float(np.logaddexp(sides[0], sides[1]))
        return np.minimum(np.logaddexp(atoms, rest - np.log(heights)) - own, 0.0)

    # balls ------------------------------------------------------------------------------------------------------------

    def _rule(self, exponent: arb, height: float, bits: float) -> tuple[list[arb], list[arb], arb]:
        """Losses log g, weights with g^W in them, and a bound on the error of the rule."""
        s, w = float(self._shift), float(exponent)
        size = float(self.estimates(np.array([w]))[0][0])
        fewest, chosen = 1 << 20, 2.0
        for r in np.geomspace(1.05, 400, 60).tolist():
            y = s * (r - 1 / r) / 2
            if y > math.pi / 2 * (1 - 1e-9):
                break
            log_bound = self._log_inside(w, height, r) - size + bits * math.log(2)
            n = max(math.ceil(max(log_bound + 3, 1) / (2 * math.log(r))), 2)
            if n < fewest:
                fewest, chosen = n, r
        shift, rate, r = ball(self._shift), ball(self.rate), arb(chosen)
        ends = [-shift, shift]
        losses = [_log_g(rate, x) for x in ends]
        weights = [arb(0.5), (-shift).exp() / 2]
        for i in range(fewest):
            root, weight = arb.legendre_p_root(fewest, i, weight=True)
            losses.append(_log_g(rate, shift * root))
            weights.append(shift * weight * (-shift * (root + 1) / 2).exp() / 4)
        weights = [weight * (exponent * x).exp() for x, weight in zip(losses, weights, strict=True)]
        reach, y = shift * (r + 1 / r) / 2, shift * (r - 1 / r) / 2
        assert y <= arb.pi() / 2
        edge = _log_g(rate, reach if exponent >= 0 else -reach)
        inside = shift / 4 * ((reach - shift) / 2).exp() * (exponent * edge).exp() * (arb(height) * y).exp()
        inside *= ((y / 2).cos().log() * exponent.min(arb(0))).exp()
        error = arb(64) / 15 * inside / r ** (2 * fewest) / (1 - 1 / (r * r))
        return losses, weights, error.upper()

    def _log_inside(self, exponent: float, height: float, r: float) -> float:
        s, q = float(self._shift), float(self.rate)
        reach, y = s * (r + 1 / r) / 2, s * (r - 1 / r) / 2
        edge = math.log1p(q * math.expm1(reach if exponent >= 0 else -reach))
        dip = min(exponent, 0.0) * math.log(math.cos(y / 2))
        return (reach - s) / 2 + exponent * edge + height * y + dip + math.log(s)

    def _real(self, exponent: arb) -> arb:
        with precision(_BOUND_BITS):
            _, weights, error = self._rule(exponent, 0.0, 64)
            return sum(weights, start=arb(0)) + error * arb(0, 1)

    def line(self, exponent: arb, step: float, number: int, bits: int) -> list[acb]:
        losses, weights, error = self._rule(exponent, step * number, bits)
        box = acb(error * arb(0, 1), error * arb(0, 1))
        return [value + box for value in sums_of_exponentials(losses, weights, step, number)]

    def cut(self, exponent: arb, height: arb) -> arb:
        with precision(_BOUND_BITS):
            shift, rate = ball(self._shift), ball(self.rate)
            atoms = rest = arb(0)
            for x, mass in ((-shift, arb(0.5)), (shift, (-shift).exp() / 2)):
                loss = _log_g(rate, x)
                atoms += mass * (exponent * loss).exp()
                rest += (-3 * x / 2 - shift / 2 + (exponent + 1) * loss).exp() / (4 * rate)
            return (atoms + 2 * rest / height).upper().min(self.real(exponent).upper())
