"""The privacy curves of N(0,1) against N(mu,1) in float64, vectorised.

`delta`, `log_delta`, `epsilon`, `beta`, `power` and `advantage` take floats or arrays that broadcast together, at their
exact values, and give a float for floats and an array otherwise. Wherever the answer is a normal float64 its relative
error is below `RELATIVE_ERROR`, for mu from 1e-200 to 1e3 and every epsilon; what is below the range of float64 comes
out as 0, and `log_delta` stays accurate there. These values bound nothing: see `dpverdict.mechanisms.gaussian_balls`.

The formulas are in `dpverdict.mechanisms.gaussian_formulas`. The functions named ``..._floats`` take arrays in the
domain and mu > 0 to about 106 bits, for callers whose mu is not a float.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import gaussian_balls, gaussian_formulas
from dpverdict.mechanisms.float_normal import FloatNormal
from dpverdict.mechanisms.float_pairs import Floats, Pair

RELATIVE_ERROR = 1e-12
"""What every function promises. The largest errors measured against the balls, on 25000 random arguments: 4.8e-14 for
delta, 5.0e-15 for its logarithm, 2.5e-14 for beta, 1.4e-15 for the power; on 6000 for epsilon, 1.8e-13."""

TAIL_ERROR = 2e-15
"""What `tails_floats` promises of tails above 1e-300; tests/soundness/test_lattice_pld.py measures it."""

_KIND = FloatNormal()
SMALLEST_MU, LARGEST_MU = 1e-290, 1e15
"""Between them nothing over- or underflows that matters."""


def delta_floats(epsilon: Floats, mu: Pair) -> Floats:
    """The privacy profile, at finite epsilon and mu > 0."""
    # Far from 0 squares overflow and densities underflow, to the limits 0 and 1 that are right there.
    with np.errstate(all="ignore"):
        values: Floats = np.minimum(gaussian_formulas.delta(_KIND, Pair.of(epsilon), mu).value(), 1.0)
    return values


def log_delta_floats(epsilon: Floats, mu: Pair) -> Floats:
    """The natural logarithm of the profile, at finite epsilon and mu > 0; from 1 - delta where delta is above 1/2."""
    with np.errstate(all="ignore"):
        profile = gaussian_formulas.delta(_KIND, Pair.of(epsilon), mu)
        complement = gaussian_formulas.delta_complement(_KIND, Pair.of(epsilon), mu).value()
        values: Floats = np.where(complement < 0.5, np.log1p(-complement), profile.log())
    return values


def beta_floats(alpha: Floats, mu: Pair) -> Floats:
    """The trade-off function, at 0 <= alpha <= 1 and mu > 0."""
    inside = (alpha > 0) & (alpha < 1)
    with np.errstate(all="ignore"):
        values = gaussian_formulas.beta(_KIND, Pair.of(np.where(inside, alpha, 0.5)), mu).value()
    return np.where(inside, values, 1.0 - alpha)


def power_floats(alpha: Floats, mu: Pair) -> Floats:
    """1 - beta(alpha), at 0 <= alpha <= 1 and mu > 0."""
    inside = (alpha > 0) & (alpha < 1)
    with np.errstate(all="ignore"):
        values = gaussian_formulas.power(_KIND, Pair.of(np.where(inside, alpha, 0.5)), mu).value()
    return np.where(inside, values, alpha)


def advantage_floats(mu: Pair) -> Floats:
    """The total variation distance delta(0), for mu > 0."""
    return gaussian_formulas.advantage(_KIND, mu).value()


def tails_floats(epsilon: Floats, mu: Pair) -> tuple[Floats, Floats, Floats, Floats]:
    """P[L > epsilon], P[L <= epsilon], Q[L > epsilon], Q[L <= epsilon], at finite epsilon and mu > 0."""
    with np.errstate(all="ignore"):
        centre, half = Pair.of(epsilon) / mu, _KIND.halve(mu)
        points = centre - half, half - centre, centre + half, Pair(-centre.high, -centre.low) - half
        p_above, p_below, q_above, q_below = (np.minimum(_KIND.tail(point).value(), 1.0) for point in points)
    return p_above, p_below, q_above, q_below


def epsilon_floats(delta: Floats, mu: Pair) -> Floats:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta, at 0 <= delta <= 1 and mu > 0; inf at delta = 0.

    Newton's method on log delta, or on log(1 - delta) where delta is above 1/2: both are concave in epsilon, so it
    converges monotonically from where it starts (see `gaussian_balls.epsilon_ball`). Entries so close to delta(0) that
    rounding errors of delta would be seen in epsilon are done in balls.
    """
    shape = np.broadcast_shapes(delta.shape, mu.high.shape)
    delta, high, low = (np.broadcast_to(part, shape).ravel() for part in (delta, mu.high, mu.low))
    result = np.where(delta > 0, 0.0, np.inf)
    positive = np.flatnonzero((delta > 0) & (delta < 1) & (delta < advantage_floats(Pair(high, low)) * (1 + 1e-13)))
    roots, sharp = _newton(delta[positive], Pair(high[positive], low[positive]))
    for i in np.flatnonzero(~sharp).tolist():
        k = int(positive[i])
        roots[i] = float(gaussian_balls.epsilon_ball(Real.of(float(delta[k])), Real.of(_rational(high[k], low[k]))))
    result[positive] = roots
    return result.reshape(shape)


def _rational(high: np.float64, low: np.float64) -> Fraction:
    return Fraction(float(high)) + Fraction(float(low))


def _newton(delta: Floats, mu: Pair) -> tuple[Floats, NDArray[np.bool_]]:
    """The roots for 0 < delta < 1 (one-dimensional), and which of them are well conditioned."""
    above = delta > 0.5
    goal = np.where(above, np.log1p(-delta), np.log(delta))
    distance = mu.high * np.sqrt(-2.0 * goal)
    middle = 0.5 * mu.high * mu.high
    epsilon = np.where(above, np.maximum(middle - distance, 0.0), middle + distance)
    sharpness = np.zeros_like(delta)
    with np.errstate(all="ignore"):
        for _ in range(100):
            e = Pair.of(epsilon)
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
def delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Floats: ...
def delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Floats:
    """The privacy profile Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu), at any finite epsilon.

    Raises:
        InvalidValue: epsilon is not finite, or mu is not positive and in [1e-290, 1e15].

    Reference: Balle and Wang 2018, Theorem 8 (arXiv:1805.06530).

    >>> round(delta(1.0, 1.0), 14)
    0.12693673750664
    """
    return _curve(delta_floats, _finite("epsilon", epsilon), mu)


@overload
def log_delta(epsilon: float, mu: float) -> float: ...
@overload
def log_delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Floats: ...
def log_delta(epsilon: ArrayLike, mu: ArrayLike) -> float | Floats:
    """The natural logarithm of `delta`, also where delta is far below the range of float64.

    >>> round(log_delta(1000.0, 1.0), 6)
    -499514.859452
    """
    return _curve(log_delta_floats, _finite("epsilon", epsilon), mu)


@overload
def epsilon(delta: float, mu: float) -> float: ...
@overload
def epsilon(delta: ArrayLike, mu: ArrayLike) -> float | Floats: ...
def epsilon(delta: ArrayLike, mu: ArrayLike) -> float | Floats:
    """The smallest epsilon >= 0 at which the profile is at most delta; inf at delta = 0.

    >>> round(epsilon(1e-5, 1.0), 13)
    4.3771780956812
    """
    return _curve(epsilon_floats, _probability("delta", delta), mu)


@overload
def beta(alpha: float, mu: float) -> float: ...
@overload
def beta(alpha: ArrayLike, mu: ArrayLike) -> float | Floats: ...
def beta(alpha: ArrayLike, mu: ArrayLike) -> float | Floats:
    """The trade-off function Phi(Phi^-1(1 - alpha) - mu): the least type II error of a test of level alpha.

    Reference: Dong, Roth and Su 2022, equation (6) (arXiv:1905.02383).

    >>> round(beta(0.05, 1.0), 14)
    0.74048897715856
    """
    return _curve(beta_floats, _probability("alpha", alpha), mu)


@overload
def power(alpha: float, mu: float) -> float: ...
@overload
def power(alpha: ArrayLike, mu: ArrayLike) -> float | Floats: ...
def power(alpha: ArrayLike, mu: ArrayLike) -> float | Floats:
    """1 - beta(alpha), accurate where beta rounds to 1."""
    return _curve(power_floats, _probability("alpha", alpha), mu)


@overload
def advantage(mu: float) -> float: ...
@overload
def advantage(mu: ArrayLike) -> float | Floats: ...
def advantage(mu: ArrayLike) -> float | Floats:
    """The total variation distance delta(0) = 2 Phi(mu/2) - 1."""
    return _curve(lambda _, pair: advantage_floats(pair), np.zeros(()), mu)


def _curve(curve: Callable[[Floats, Pair], Floats], argument: Floats, mu: ArrayLike) -> float | Floats:
    parameter = np.asarray(mu, dtype=np.float64)
    outside = ~((parameter >= SMALLEST_MU) & (parameter <= LARGEST_MU))
    if outside.any():
        remedy = "use GaussianLoss for mu = 0 and for parameters outside this range"
        raise InvalidValue("mu", float(parameter[outside].flat[0]), f"in [{SMALLEST_MU}, {LARGEST_MU}]", remedy)
    values = curve(argument, Pair.of(parameter))
    return float(values) if values.ndim == 0 else values


def _finite(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InvalidValue(name, float(array[~np.isfinite(array)].flat[0]), "finite", f"give {name} as finite numbers")
    return array


def _probability(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    outside = ~((array >= 0) & (array <= 1))
    if outside.any():
        raise InvalidValue(name, float(array[outside].flat[0]), "in [0, 1]", f"give {name} as a probability")
    return array
