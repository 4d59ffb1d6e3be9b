"""The privacy curves of N(0,1) against N(mu,1) in float64, vectorised.

`delta`, `log_delta`, `epsilon`, `beta`, `power` and `advantage` take floats or arrays that broadcast together, at their
exact values, and give a float for floats and an array otherwise. Wherever the answer is a normal float64 its relative
error is below `RELATIVE_ERROR`, for mu from 1e-200 to 1e3 and every epsilon; what is below the range of float64 comes
out as 0, and `log_delta` stays accurate there. These values bound nothing: see `dpverdict.numerics.gaussian`.

The formulas are in `dpverdict.numerics.gaussian_formulas`. The functions named ``..._floats`` take arrays in the
domain and mu > 0 to about 106 bits, for callers whose mu is not a float: as a `DoubleDouble`, the unevaluated sum of
two floats. Compensated arithmetic on these is here as far as the normal tails need it: the point epsilon/mu - mu/2 and
its square are wanted to more than 53 bits, because a normal tail multiplies the relative error of the point by the
square of the point.

The primitives of the normal law (`FloatNormal`) are accurate in the tails and for tiny mu. A value is kept as
exp(exponent) * factor, so that its logarithm is accurate when the value itself underflows. The gap

    Phibar(centre - half) - exp(2 centre half) Phibar(centre + half)

is what the profile is made of. With x, y = (centre -+ half)/sqrt 2 it equals exp(-x^2) (erfcx(x) - erfcx(y))/2. Every
way to evaluate it cancels somewhere; so there are four, each used where it does not:

* far    (x >= 8): the asymptotic series of erfcx, subtracted term by term in closed form;
* narrow (half <= 1/20): the Taylor series of erfcx about the centre, odd derivatives only;
* near   (x < 0): erfc(x)/2 - exp(-x^2) erfcx(y)/2, where erfcx(x) would overflow;
* middle: the difference as it stands.

A negative centre is reduced to a positive one by a sum of positive terms.

Reference: Dekker 1971, "A floating-point technique for extending the available precision" (product, quotient);
Knuth, The Art of Computer Programming 2, section 4.2.2 (sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final, overload

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.numerics import gaussian, gaussian_formulas
from dpverdict.numerics.arrays import Array

_SPLITTER = 134217729.0  # 2^27 + 1
_LARGE = 1e150  # products of parts may overflow beyond it; the tail of a normal law at 1e150 is 0 in float64


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its rounding error, exactly."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _split_float(a: Array) -> tuple[Array, Array]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its rounding error, exactly if nothing over- or underflows."""
    product = a * b
    a_high, a_low = _split_float(a)
    b_high, b_low = _split_float(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def two_square(a: Array) -> tuple[Array, Array]:
    """The rounded square and its rounding error, exactly if nothing over- or underflows."""
    square = a * a
    high, low = _split_float(a)
    return square, ((high * high - square) + 2.0 * (high * low)) + low * low


@dataclass(frozen=True, slots=True)
class DoubleDouble:
    """The numbers high + low, where low is at most about a unit in the last place of high.

    The parts are arrays that broadcast together. A quotient is clipped at 1e200 in absolute value.
    """

    high: Array
    low: Array

    @classmethod
    def of(cls, value: Array) -> Self:
        """Array, exactly."""
        return cls(value, _ZERO)

    @classmethod
    def nearest(cls, value: Fraction) -> Self:
        """A rational number within the range of float64, to about 106 bits."""
        high = float(value)
        return cls(np.asarray(high), np.asarray(float(value - Fraction(high))))

    def __add__(self, other: Self) -> Self:
        total, error = two_sum(self.high, other.high)
        error = error + (self.low + other.low)
        high = total + error
        return type(self)(high, error - (high - total))

    def __sub__(self, other: Self) -> Self:
        return self + type(self)(-other.high, -other.low)

    def __truediv__(self, other: Self) -> Self:
        quotient = self.high / other.high
        product, error = two_product(quotient, other.high)
        remainder = ((self.high - product) - error) + (self.low - quotient * other.low)
        low = np.where(np.abs(quotient) < _LARGE, remainder / other.high, 0.0)
        return type(self)(np.clip(quotient, -1e200, 1e200), low)


_ZERO: Array = np.zeros(())


_SQRT_HALF = math.sqrt(0.5)
_NARROW = 0.05
_FAR = 8.0
_FAR_TERMS = 17  # at x = 8 the first term left out is below 1e-16 of the first
_SMALLEST = 5e-324


@final
@dataclass(frozen=True, slots=True)
class Scaled:
    """The numbers exp(exponent.high + exponent.low) * factor."""

    exponent: DoubleDouble
    factor: Array

    def value(self) -> Array:
        """The numbers as float64."""
        return np.exp(self.exponent.high) * self.factor * (1.0 + self.exponent.low)

    def log(self) -> Array:
        """Their natural logarithms, finite unless the exponent is infinite or the factor 0 with exponent 0."""
        floor = np.where(self.exponent.high < 0, _SMALLEST, 0.0)  # a factor underflows only far below its exponent
        return self.exponent.high + (np.log(np.maximum(self.factor, floor)) + self.exponent.low)


@final
class FloatNormal:
    """The `Arithmetic` of float64 arrays; see `dpverdict.numerics.gaussian_formulas.Arithmetic` for the meanings."""

    def halve(self, x: DoubleDouble) -> DoubleDouble:
        return DoubleDouble(x.high * 0.5, x.low * 0.5)

    def tail(self, t: DoubleDouble) -> Scaled:
        positive = t.high >= 0
        factor = (
            np.where(
                positive, scipy.special.erfcx(np.abs(t.high) * _SQRT_HALF), scipy.special.erfc(t.high * _SQRT_HALF)
            )
            * 0.5
        )
        return Scaled(_choose_pair(positive, _log_bell(t), _ZERO_PAIR), factor)

    def quantile(self, probability: DoubleDouble) -> DoubleDouble:
        """Requires: 0 < probability < 1, and no low part."""
        upper = np.minimum(probability.high, 1.0 - probability.high)
        z = -scipy.special.ndtri(upper)
        # One Newton step in the tail, as a correction: (Phibar(z) - upper) / density(z), scaled by exp(z^2/2).
        bell = _log_bell(DoubleDouble.of(z))
        root = np.exp(-0.5 * bell.high)
        scaled = upper * root * root * (1.0 - bell.low)
        step = (scipy.special.erfcx(z * _SQRT_HALF) * 0.5 - scaled) * math.sqrt(2 * math.pi)
        sign = np.where(probability.high <= 0.5, 1.0, -1.0)
        return DoubleDouble(sign * z, sign * step)

    def central_mass(self, half: DoubleDouble) -> Scaled:
        return Scaled(_ZERO_PAIR, scipy.special.erf(half.high * _SQRT_HALF))

    def tail_gap(self, epsilon: DoubleDouble, centre: DoubleDouble, half: DoubleDouble) -> Scaled:
        forward = _scaled_gap(_absolute_pair(centre), half)
        negative = epsilon.high < 0
        if not negative.any():
            return forward
        size = np.abs(epsilon.high)
        reflected = -np.expm1(-size) + np.exp(-size) * forward.value()
        return Scaled(
            _choose_pair(negative, _ZERO_PAIR, forward.exponent), np.where(negative, reflected, forward.factor)
        )

    def tail_gap_complement(self, epsilon: DoubleDouble, centre: DoubleDouble, half: DoubleDouble) -> Scaled:
        centre, t, y = _points(_absolute_pair(centre), half)
        near = t.high < 0
        sum_of_tails = 0.5 * (scipy.special.erfcx(np.maximum(-t.high, 0.0) * _SQRT_HALF) + scipy.special.erfcx(y))
        exponent = _choose_pair(near, _log_bell(t), _ZERO_PAIR)
        factor = np.where(near, sum_of_tails, 1.0 - _scaled_gap(centre, half).value())
        return Scaled(exponent + DoubleDouble.of(np.minimum(epsilon.high, 0.0)), factor)

    def tilted_tail(self, epsilon: DoubleDouble, centre: DoubleDouble, half: DoubleDouble) -> Scaled:
        _, t, y = _points(centre, half)
        positive = y >= 0
        factor = np.where(positive, scipy.special.erfcx(np.abs(y)), scipy.special.erfc(y)) * 0.5
        return Scaled(_choose_pair(positive, _log_bell(t), epsilon), factor)


_ZERO_PAIR = DoubleDouble.of(np.zeros(()))


def _choose_pair(
    condition: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], first: DoubleDouble, second: DoubleDouble
) -> DoubleDouble:
    return DoubleDouble(np.where(condition, first.high, second.high), np.where(condition, first.low, second.low))


def _absolute_pair(x: DoubleDouble) -> DoubleDouble:
    sign = np.where(x.high < 0, -1.0, 1.0)
    return DoubleDouble(sign * x.high, sign * x.low)


def _log_bell(t: DoubleDouble) -> DoubleDouble:
    """-t^2/2, to about 100 bits; -inf where it overflows."""
    square, error = two_square(t.high)
    low = -(0.5 * error + t.high * t.low)
    return DoubleDouble(-0.5 * square, np.where(np.abs(t.high) < 1e150, low, 0.0))


def _points(centre: DoubleDouble, half: DoubleDouble) -> tuple[DoubleDouble, DoubleDouble, Array]:
    """The centre, the point t = centre - half to 106 bits, and y = (centre + half)/sqrt 2 to 53 bits."""
    return centre, centre - half, (centre.high + half.high) * _SQRT_HALF


def _scaled_gap(centre: DoubleDouble, half: DoubleDouble) -> Scaled:
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
        factor[middle] = 0.5 * (scipy.special.erfcx(x[middle]) - scipy.special.erfcx(y[middle]))
    if near.any():
        bell = np.exp(exponent.high[near])
        factor[near] = 0.5 * (scipy.special.erfc(x[near]) - bell * scipy.special.erfcx(y[near]))
        exponent = _choose_pair(near, _ZERO_PAIR, exponent)
    if narrow.any():
        factor[narrow] = _difference_of_close(a[narrow], b[narrow])
    if far.any():
        factor[far] = _difference_of_far(x[far], y[far], b[far])
    return Scaled(exponent, factor)


def _difference_of_close(a: Array, b: Array) -> Array:
    """(erfcx(a - b) - erfcx(a + b))/2 by the odd derivatives E_j of erfcx at a, up to b^9, without exp(2ab - b^2).

    Reads E_0 = erfcx, E_1 = 2 a E_0 - 2/sqrt(pi), E_(j+2) = 2 (j+1) E_j + 2 a E_(j+1).
    """
    even = scipy.special.erfcx(a)
    odd = 2.0 * a * even - 2.0 / math.sqrt(math.pi)
    power = b.copy()
    total: Array = power * odd
    for j in (1, 3, 5, 7):
        even = 2.0 * j * even + 2.0 * a * odd
        odd = 2.0 * (j + 1) * odd + 2.0 * a * even
        power = power * (b * b / ((j + 1) * (j + 2)))
        total = total + power * odd
    return -total


def _difference_of_far(x: Array, y: Array, b: Array) -> Array:
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
    scaled: Array = b * u * v * total / math.sqrt(math.pi)
    return scaled


RELATIVE_ERROR = 1e-12
"""What every function promises. The largest errors measured against the balls, on 25000 random arguments: 4.8e-14 for
delta, 5.0e-15 for its logarithm, 2.5e-14 for beta, 1.4e-15 for the power; on 6000 for epsilon, 1.8e-13."""

TAIL_ERROR = 2e-15
"""What `tails_floats` promises of tails above 1e-300; tests/soundness/test_lattice_pld.py measures it."""

_KIND = FloatNormal()
SMALLEST_MU, LARGEST_MU = 1e-290, 1e15
"""Between them nothing over- or underflows that matters."""


def delta_floats(epsilon: Array, mu: DoubleDouble) -> Array:
    """The privacy profile, at finite epsilon and mu > 0."""
    # Far from 0 squares overflow and densities underflow, to the limits 0 and 1 that are right there.
    with np.errstate(all="ignore"):
        values: Array = np.minimum(gaussian_formulas.delta(_KIND, DoubleDouble.of(epsilon), mu).value(), 1.0)
    return values


def log_delta_floats(epsilon: Array, mu: DoubleDouble) -> Array:
    """The natural logarithm of the profile, at finite epsilon and mu > 0; from 1 - delta where delta is above 1/2."""
    with np.errstate(all="ignore"):
        profile = gaussian_formulas.delta(_KIND, DoubleDouble.of(epsilon), mu)
        complement = gaussian_formulas.delta_complement(_KIND, DoubleDouble.of(epsilon), mu).value()
        values: Array = np.where(complement < 0.5, np.log1p(-complement), profile.log())
    return values


def beta_floats(alpha: Array, mu: DoubleDouble) -> Array:
    """The trade-off function, at 0 <= alpha <= 1 and mu > 0."""
    inside = (alpha > 0) & (alpha < 1)
    with np.errstate(all="ignore"):
        values = gaussian_formulas.beta(_KIND, DoubleDouble.of(np.where(inside, alpha, 0.5)), mu).value()
    return np.where(inside, values, 1.0 - alpha)


def power_floats(alpha: Array, mu: DoubleDouble) -> Array:
    """1 - beta(alpha), at 0 <= alpha <= 1 and mu > 0."""
    inside = (alpha > 0) & (alpha < 1)
    with np.errstate(all="ignore"):
        values = gaussian_formulas.power(_KIND, DoubleDouble.of(np.where(inside, alpha, 0.5)), mu).value()
    return np.where(inside, values, alpha)


def advantage_floats(mu: DoubleDouble) -> Array:
    """The total variation distance delta(0), for mu > 0."""
    return gaussian_formulas.advantage(_KIND, mu).value()


def tails_floats(epsilon: Array, mu: DoubleDouble) -> tuple[Array, Array, Array, Array]:
    """P[L > epsilon], P[L <= epsilon], Q[L > epsilon], Q[L <= epsilon], at finite epsilon and mu > 0."""
    with np.errstate(all="ignore"):
        centre, half = DoubleDouble.of(epsilon) / mu, _KIND.halve(mu)
        points = centre - half, half - centre, centre + half, DoubleDouble(-centre.high, -centre.low) - half
        p_above, p_below, q_above, q_below = (np.minimum(_KIND.tail(point).value(), 1.0) for point in points)
    return p_above, p_below, q_above, q_below


def epsilon_floats(delta: Array, mu: DoubleDouble) -> Array:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta, at 0 <= delta <= 1 and mu > 0; inf at delta = 0.

    Newton's method on log delta, or on log(1 - delta) where delta is above 1/2: both are concave in epsilon, so it
    converges monotonically from where it starts (see `gaussian.epsilon_ball`). Entries so close to delta(0) that
    rounding errors of delta would be seen in epsilon are done in balls.
    """
    shape = np.broadcast_shapes(delta.shape, mu.high.shape)
    delta, high, low = (np.broadcast_to(part, shape).ravel() for part in (delta, mu.high, mu.low))
    result = np.where(delta > 0, 0.0, np.inf)
    positive = np.flatnonzero(
        (delta > 0) & (delta < 1) & (delta < advantage_floats(DoubleDouble(high, low)) * (1 + 1e-13))
    )
    roots, sharp = _newton_roots(delta[positive], DoubleDouble(high[positive], low[positive]))
    for i in np.flatnonzero(~sharp).tolist():
        k = int(positive[i])
        roots[i] = float(gaussian.epsilon_ball(Real.of(float(delta[k])), Real.of(_rational(high[k], low[k]))))
    result[positive] = roots
    return result.reshape(shape)


def _rational(high: np.float64, low: np.float64) -> Fraction:
    return Fraction(float(high)) + Fraction(float(low))


def _newton_roots(delta: Array, mu: DoubleDouble) -> tuple[Array, NDArray[np.bool_]]:
    """The roots for 0 < delta < 1 (one-dimensional), and which of them are well conditioned."""
    above = delta > 0.5
    goal = np.where(above, np.log1p(-delta), np.log(delta))
    distance = mu.high * np.sqrt(-2.0 * goal)
    middle = 0.5 * mu.high * mu.high
    epsilon = np.where(above, np.maximum(middle - distance, 0.0), middle + distance)
    sharpness = np.zeros_like(delta)
    with np.errstate(all="ignore"):
        for _ in range(100):
            e = DoubleDouble.of(epsilon)
            profile = gaussian_formulas.delta(_KIND, e, mu)
            complement = gaussian_formulas.delta_complement(_KIND, e, mu)
            value = np.where(above, complement.log(), profile.log())
            slope = np.exp(gaussian_formulas.descent(_KIND, e, mu).log() - value)  # of value, in absolute value
            residual = np.where(above, goal - value, value - goal)
            step = residual / slope
            epsilon = np.maximum(epsilon + step, 0.0)
            sharpness = epsilon * slope
            if np.all((np.abs(step) <= 1e-9 * epsilon) | (np.abs(residual) <= 1e-13 * np.maximum(1.0, -goal))):
                break
    return epsilon, (sharpness > 0.25) & np.isfinite(epsilon)


@overload
def delta(epsilon: float, mu: float) -> float: ...
@overload
def delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Array: ...
def delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Array:
    """The privacy profile Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu), at any finite epsilon.

    Raises:
        InvalidValue: epsilon is not finite, or mu is not positive and in [1e-290, 1e15].

    Reference: Balle and Wang 2018, Theorem 8 (arXiv:1805.06530).

    >>> round(delta(1.0, 1.0), 14)
    0.12693673750664
    """
    return _curve(delta_floats, _checked_finite("epsilon", epsilon), mu)


@overload
def log_delta(epsilon: float, mu: float) -> float: ...
@overload
def log_delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Array: ...
def log_delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Array:
    """The natural logarithm of `delta`, also where delta is far below the range of float64.

    >>> round(log_delta(1000.0, 1.0), 6)
    -499514.859452
    """
    return _curve(log_delta_floats, _checked_finite("epsilon", epsilon), mu)


@overload
def epsilon(delta: float, mu: float) -> float: ...
@overload
def epsilon(delta: ArrayLike, mu: ArrayLike) -> float | Array: ...
def epsilon(delta: ArrayLike, mu: ArrayLike) -> float | Array:
    """The smallest epsilon >= 0 at which the profile is at most delta; inf at delta = 0.

    >>> round(epsilon(1e-5, 1.0), 13)
    4.3771780956812
    """
    return _curve(epsilon_floats, _checked_probability("delta", delta), mu)


@overload
def beta(alpha: float, mu: float) -> float: ...
@overload
def beta(alpha: ArrayLike, mu: ArrayLike) -> float | Array: ...
def beta(alpha: ArrayLike, mu: ArrayLike) -> float | Array:
    """The trade-off function Phi(Phi^-1(1 - alpha) - mu): the least type II error of a test of level alpha.

    Reference: Dong, Roth and Su 2022, equation (6) (arXiv:1905.02383).

    >>> round(beta(0.05, 1.0), 14)
    0.74048897715856
    """
    return _curve(beta_floats, _checked_probability("alpha", alpha), mu)


@overload
def power(alpha: float, mu: float) -> float: ...
@overload
def power(alpha: ArrayLike, mu: ArrayLike) -> float | Array: ...
def power(alpha: ArrayLike, mu: ArrayLike) -> float | Array:
    """1 - beta(alpha), accurate where beta rounds to 1."""
    return _curve(power_floats, _checked_probability("alpha", alpha), mu)


@overload
def advantage(mu: float) -> float: ...
@overload
def advantage(mu: ArrayLike) -> float | Array: ...
def advantage(mu: ArrayLike) -> float | Array:
    """The total variation distance delta(0) = 2 Phi(mu/2) - 1."""
    return _curve(lambda _, pair: advantage_floats(pair), np.zeros(()), mu)


def _curve(curve: Callable[[Array, DoubleDouble], Array], argument: Array, mu: ArrayLike) -> float | Array:
    parameter = np.asarray(mu, dtype=np.float64)
    outside = ~((parameter >= SMALLEST_MU) & (parameter <= LARGEST_MU))
    if outside.any():
        remedy = "use GaussianLoss for mu = 0 and for parameters outside this range"
        raise InvalidValue("mu", float(parameter[outside].flat[0]), f"in [{SMALLEST_MU}, {LARGEST_MU}]", remedy)
    values = curve(argument, DoubleDouble.of(parameter))
    return float(values) if values.ndim == 0 else values


def _checked_finite(name: str, values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InvalidValue(name, float(array[~np.isfinite(array)].flat[0]), "finite", f"give {name} as finite numbers")
    return array


def _checked_probability(name: str, values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    outside = ~((array >= 0) & (array <= 1))
    if outside.any():
        raise InvalidValue(name, float(array[outside].flat[0]), "in [0, 1]", f"give {name} as a probability")
    return array
