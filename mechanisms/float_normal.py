"""The primitives of the normal law in float64, vectorised, accurate in the tails and for tiny mu.

A value is kept as exp(exponent) * factor, so that its logarithm is accurate when the value itself underflows. The gap

    Phibar(centre - half) - exp(2 centre half) Phibar(centre + half)

is what the profile is made of. With x, y = (centre -+ half)/sqrt 2 it equals exp(-x^2) (erfcx(x) - erfcx(y))/2. Every
way to evaluate it cancels somewhere; so there are four, each used where it does not:

* far    (x >= 8): the asymptotic series of erfcx, subtracted term by term in closed form;
* narrow (half <= 1/20): the Taylor series of erfcx about the centre, odd derivatives only;
* near   (x < 0): erfc(x)/2 - exp(-x^2) erfcx(y)/2, where erfcx(x) would overflow;
* middle: the difference as it stands.

A negative centre is reduced to a positive one by a sum of positive terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import erf, erfc, erfcx, ndtri

from dpverdict.mechanisms.float_pairs import Floats, Pair, two_square

_SQRT_HALF = math.sqrt(0.5)
_NARROW = 0.05
_FAR = 8.0
_FAR_TERMS = 17  # at x = 8 the first term left out is below 1e-16 of the first
_SMALLEST = 5e-324


@final
@dataclass(frozen=True, slots=True)
class Scaled:
    """The numbers exp(exponent.high + exponent.low) * factor."""

    exponent: Pair
    factor: Floats

    def value(self) -> Floats:
        """The numbers as float64."""
        return np.exp(self.exponent.high) * self.factor * (1.0 + self.exponent.low)

    def log(self) -> Floats:
        """Their natural logarithms, finite unless the exponent is infinite or the factor 0 with exponent 0."""
        floor = np.where(self.exponent.high < 0, _SMALLEST, 0.0)  # a factor underflows only far below its exponent
        return self.exponent.high + (np.log(np.maximum(self.factor, floor)) + self.exponent.low)


@final
class FloatNormal:
    """The `Arithmetic` of float64 arrays; see `dpverdict.mechanisms.gaussian_formulas.Arithmetic` for the meanings."""

    def halve(self, x: Pair) -> Pair:
        return Pair(x.high * 0.5, x.low * 0.5)

    def tail(self, t: Pair) -> Scaled:
        positive = t.high >= 0
        factor = np.where(positive, erfcx(np.abs(t.high) * _SQRT_HALF), erfc(t.high * _SQRT_HALF)) * 0.5
        return Scaled(_where(positive, _log_bell(t), _ZERO), factor)

    def quantile(self, probability: Pair) -> Pair:
        """Requires: 0 < probability < 1, and no low part."""
        upper = np.minimum(probability.high, 1.0 - probability.high)
        z = -ndtri(upper)
        # One Newton step in the tail, as a correction: (Phibar(z) - upper) / density(z), scaled by exp(z^2/2).
        bell = _log_bell(Pair.of(z))
        root = np.exp(-0.5 * bell.high)
        scaled = upper * root * root * (1.0 - bell.low)
        step = (erfcx(z * _SQRT_HALF) * 0.5 - scaled) * math.sqrt(2 * math.pi)
        sign = np.where(probability.high <= 0.5, 1.0, -1.0)
        return Pair(sign * z, sign * step)

    def central_mass(self, half: Pair) -> Scaled:
        return Scaled(_ZERO, erf(half.high * _SQRT_HALF))

    def tail_gap(self, epsilon: Pair, centre: Pair, half: Pair) -> Scaled:
        forward = _gap(_absolute(centre), half)
        negative = epsilon.high < 0
        if not negative.any():
            return forward
        size = np.abs(epsilon.high)
        reflected = -np.expm1(-size) + np.exp(-size) * forward.value()
        return Scaled(_where(negative, _ZERO, forward.exponent), np.where(negative, reflected, forward.factor))

    def tail_gap_complement(self, epsilon: Pair, centre: Pair, half: Pair) -> Scaled:
        centre, t, y = _points(_absolute(centre), half)
        near = t.high < 0
        sum_of_tails = 0.5 * (erfcx(np.maximum(-t.high, 0.0) * _SQRT_HALF) + erfcx(y))
        exponent = _where(near, _log_bell(t), _ZERO)
        factor = np.where(near, sum_of_tails, 1.0 - _gap(centre, half).value())
        return Scaled(exponent + Pair.of(np.minimum(epsilon.high, 0.0)), factor)

    def tilted_tail(self, epsilon: Pair, centre: Pair, half: Pair) -> Scaled:
        _, t, y = _points(centre, half)
        positive = y >= 0
        factor = np.where(positive, erfcx(np.abs(y)), erfc(y)) * 0.5
        return Scaled(_where(positive, _log_bell(t), epsilon), factor)


_ZERO = Pair.of(np.zeros(()))


def _where(condition: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], first: Pair, second: Pair) -> Pair:
    return Pair(np.where(condition, first.high, second.high), np.where(condition, first.low, second.low))


def _absolute(x: Pair) -> Pair:
    sign = np.where(x.high < 0, -1.0, 1.0)
    return Pair(sign * x.high, sign * x.low)


def _log_bell(t: Pair) -> Pair:
    """-t^2/2, to about 100 bits; -inf where it overflows."""
    square, error = two_square(t.high)
    low = -(0.5 * error + t.high * t.low)
    return Pair(-0.5 * square, np.where(np.abs(t.high) < 1e150, low, 0.0))


def _points(centre: Pair, half: Pair) -> tuple[Pair, Pair, Floats]:
    """The centre, the point t = centre - half to 106 bits, and y = (centre + half)/sqrt 2 to 53 bits."""
    return centre, centre - half, (centre.high + half.high) * _SQRT_HALF


def _gap(centre: Pair, half: Pair) -> Scaled:
    """The gap for centre >= 0."""
    centre, t, y = _points(centre, half)
    x = t.high * _SQRT_HALF
    exponent = _log_bell(t)
    far = x >= _FAR
    narrow = ~far & (half.high <= _NARROW)
    near = ~far & ~narrow & (x < 0)
    middle = ~(far | narrow | near)
    a, b = np.broadcast_to(centre.high * _SQRT_HALF, x.shape), np.broadcast_to(half.high * _SQRT_HALF, x.shape)
    factor = np.empty(x.shape)
    if middle.any():
        factor[middle] = 0.5 * (erfcx(x[middle]) - erfcx(y[middle]))
    if near.any():
        bell = np.exp(exponent.high[near])
        factor[near] = 0.5 * (erfc(x[near]) - bell * erfcx(y[near]))
        exponent = _where(near, _ZERO, exponent)
    if narrow.any():
        factor[narrow] = _narrow(a[narrow], b[narrow])
    if far.any():
        factor[far] = _far(x[far], y[far], b[far])
    return Scaled(exponent, factor)


def _narrow(a: Floats, b: Floats) -> Floats:
    """(erfcx(a - b) - erfcx(a + b))/2 by the odd derivatives E_j of erfcx at a, up to b^9, without exp(2ab - b^2).

    Reads E_0 = erfcx, E_1 = 2 a E_0 - 2/sqrt(pi), E_(j+2) = 2 (j+1) E_j + 2 a E_(j+1).
    """
    even = erfcx(a)
    odd = 2.0 * a * even - 2.0 / math.sqrt(math.pi)
    power = b.copy()
    total: Floats = power * odd
    for j in (1, 3, 5, 7):
        even = 2.0 * j * even + 2.0 * a * odd
        odd = 2.0 * (j + 1) * odd + 2.0 * a * even
        power = power * (b * b / ((j + 1) * (j + 2)))
        total = total + power * odd
    return -total


def _far(x: Floats, y: Floats, b: Floats) -> Floats:
    """(erfcx(x) - erfcx(y))/2 by the asymptotic series, where y - x = 2 b.

    erfcx(x) sqrt(pi) = sum over k of (-1)^k (2k-1)!! / 2^k u^(2k+1), u = 1/x; with v = 1/y the differences
    u^(2k+1) - v^(2k+1) are (u - v) times the positive numbers d_k below.
    """
    u, v = 1.0 / x, 1.0 / y
    difference = np.ones_like(x)
    growth = v * (u + v)
    coefficient = 1.0
    total = difference
    for k in range(1, _FAR_TERMS):
        difference = u * u * difference + growth
        growth = growth * (v * v)
        coefficient *= -(2 * k - 1) / 2
        total = total + coefficient * difference
    scaled: Floats = b * u * v * total / math.sqrt(math.pi)
    return scaled
