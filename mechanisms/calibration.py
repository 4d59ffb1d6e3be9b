"""Standard deviations of the Gaussian mechanism, rounded up, so that the floats keep what the formulas promise.

Epsilon, delta and mu are taken at their exact values. A sensitivity is the l2-sensitivity of the statistic: a number,
or a `Real` such as sqrt(d), taken exactly too.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpverdict.balls import Exact, Real, ball, compare, exactly, refine, sqrt_up
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms import gaussian_formulas, gaussian_profile
from dpverdict.mechanisms.ball_normal import BallNormal
from dpverdict.mechanisms.float_pairs import Pair

_KIND = BallNormal()


def gdp_scale(mu: Exact, sensitivity: Exact | Real) -> float:
    """sensitivity/mu, rounded up: the scale at which the Gaussian mechanism is mu-GDP.

    Raises:
        InvalidValue: mu or the sensitivity is not positive.

    Reference: Dong, Roth and Su 2022, Theorem 2.7 (arXiv:1905.02383).

    >>> gdp_scale("0.5", 1)
    2.0
    """
    exact_mu, size = _positive("mu", mu), _positive_real(sensitivity)
    return sqrt_up(_square(size, exact_mu))


def classic_scale(epsilon: Exact, delta: Exact, sensitivity: Exact | Real) -> float:
    """The classic formula sensitivity sqrt(2 ln(1.25/delta))/epsilon, rounded up.

    The value of the formula is returned for every epsilon; it keeps its promise in a bounded domain only. In the
    literature it is proved for epsilon < 1. In fact it gives (epsilon, delta)-DP for every delta in (0, 1) as long as
    epsilon <= 3.7868, and for each delta up to a largest epsilon above that, beyond which it fails: 3.7871 at
    delta = 0.9, 8.4197 at 1e-5, 9.8498 at 1e-10. `analytic_scale` is valid everywhere, and smaller where both are.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        sensitivity: > 0.

    Raises:
        InvalidValue: an argument is out of its domain.

    Reference: Dwork and Roth 2014, Theorem A.1; for the limits, tests/vectors/classic_gaussian_boundary.json.

    >>> classic_scale(1, "1e-5", 1)
    4.84480526260539
    """
    exact_epsilon, exact_delta = _positive("epsilon", epsilon), _probability("delta", delta)
    square = _square(_positive_real(sensitivity), exact_epsilon)
    return sqrt_up(Real(lambda: 2 * ball(Fraction(5, 4) / exact_delta).log() * square.ball()))


def analytic_scale(epsilon: Exact, delta: Exact, sensitivity: Exact | Real) -> float:
    """The least scale at which the Gaussian mechanism is (epsilon, delta)-DP, rounded up to the next float64.

    At the float returned, sigma, ball arithmetic certifies delta_G(epsilon) <= delta for mu = sensitivity/sigma, where
    delta_G is the privacy profile of N(0,1) against N(mu,1); at the float before it, it certifies the contrary.

    Args:
        epsilon: >= 0.
        delta: in (0, 1).
        sensitivity: > 0.

    Raises:
        InvalidValue: an argument is out of its domain.
        PrecisionExhausted: the comparison stays undecided.

    Reference: Balle and Wang 2018, Theorem 8 (arXiv:1805.06530).

    >>> analytic_scale(1, "1e-5", 1)
    3.730631634815942
    """
    exact_epsilon, exact_delta = exactly(epsilon, name="epsilon"), _probability("delta", delta)
    size = _positive_real(sensitivity)
    if exact_epsilon < 0:
        raise InvalidValue("epsilon", epsilon, ">= 0", "give epsilon as a number that is not negative")
    mu = _largest_mu(exact_epsilon, exact_delta)
    if not 1e-285 < mu < 1e14:
        raise InvalidValue("mu", mu, "within [1e-285, 1e14]", "choose epsilon and delta of moderate size")
    nearest = size.nearest() / mu
    if not 1e-290 < nearest < 1e290:
        raise InvalidValue("scale", nearest, "within [1e-290, 1e290]", "choose parameters of moderate size")
    for width in (1e-12, 1e-9, 1e-3, 0.5):  # the float64 answer is almost always within the first
        low, high = nearest * (1 - width), nearest * (1 + width)
        if not _keeps(low, exact_epsilon, exact_delta, size) and _keeps(high, exact_epsilon, exact_delta, size):
            break
    else:
        raise PrecisionExhausted("scale", 53, "choose parameters of moderate size")
    while (middle := low + (high - low) / 2) not in (low, high):
        if _keeps(middle, exact_epsilon, exact_delta, size):
            high = middle
        else:
            low = middle
    return high


def _keeps(scale: float, epsilon: Fraction, delta: Fraction, sensitivity: Real) -> bool:
    """Whether the profile at epsilon is certainly at most delta, or certainly above it, for noise of this scale."""
    profile = Real(lambda: gaussian_formulas.delta(_KIND, ball(epsilon), sensitivity.ball() / ball(scale)))
    sign = compare(profile, Real.of(delta))
    if sign is None:
        raise PrecisionExhausted("the sign of delta_G(epsilon) - delta", 1 << 13, "change delta slightly")
    return sign <= 0


def _largest_mu(epsilon: Fraction, delta: Fraction) -> float:
    """About the largest mu with delta_G(epsilon) <= delta: the profile increases with mu, from 0 to 1.

    A grid of logarithms is refined around the crossing; it works on log delta_G, which does not underflow.
    """
    at, goal = np.asarray(float(epsilon)), float(refine(lambda: ball(delta).log()))
    low, high = math.log(gaussian_profile.SMALLEST_MU), math.log(gaussian_profile.LARGEST_MU)
    while high - low > 1e-14 * max(1.0, abs(low)):
        grid = np.linspace(low, high, 400)
        below = gaussian_profile.log_delta_floats(at, Pair.of(np.exp(grid))) <= goal
        k = int(np.count_nonzero(np.cumprod(below)))
        low, high = float(grid[max(k - 1, 0)]), float(grid[min(k, 399)])
    return math.exp(low)


def _square(size: Real, divisor: Fraction) -> Real:
    """(size/divisor)^2, as a rational number if size is one."""
    if size.rational is not None:
        return Real.of((size.rational / divisor) ** 2)
    return Real(lambda: (size.ball() / ball(divisor)) ** 2)


def _positive(name: str, value: Exact) -> Fraction:
    rational = exactly(value, name=name)
    if rational <= 0:
        raise InvalidValue(name, value, "> 0", f"give {name} as a positive number")
    return rational


def _probability(name: str, value: Exact) -> Fraction:
    rational = exactly(value, name=name)
    if not 0 < rational < 1:
        raise InvalidValue(name, value, "in (0, 1)", f"give {name} as a small positive probability")
    return rational


def _positive_real(sensitivity: Exact | Real) -> Real:
    size = Real.of(sensitivity, name="sensitivity")
    if compare(size, Real.of(0)) != 1:
        raise InvalidValue("sensitivity", sensitivity, "> 0", "give the l2-sensitivity of the statistic")
    return size
