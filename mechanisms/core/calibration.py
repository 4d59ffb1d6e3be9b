"""Scales of Gaussian and Laplace noise, rounded up, so that the floats keep what the formulas promise.

Epsilon, delta and mu are taken at their exact values, and so are sensitivities, which may be a `Real` such as sqrt(d).
Notation: D1, D2 = the l1 and l2 sensitivities of the statistic; l = scale; ln = natural logarithm.

The Gaussian mechanism is calibrated by its l2 sensitivity, the Laplace mechanism by either. Of Algorithm 1 and its
relatives, with the embedding constant C and B = d + C^2 (Lebeda 2024, Lemma 3.3 and section 3.1):

    independent noise  vz = B / (4 mu^2),      shared noise  ve = B / (4 C^2 mu^2),      count  n + 2 eta.

The pair is mu-GDP iff d/(4 vz) + 1/(4 ve) <= mu^2. Rounding each scale up keeps that inequality, so the floats returned
here never promise more than they hold. `universal_error_bound` is how much error any additive noise must have to be
(epsilon, delta)-DP: a sanity gate that needs no noise law.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from dpverdict.balls import Exact, Real, ball, compare, refine, sqrt_up
from dpverdict.checks import check_dim, check_not_negative, check_positive, check_positive_real, check_probability
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.guarantees import ApproximateDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.noise import Number
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.gaussian_floats import LARGEST_MU, SMALLEST_MU, DoubleDouble, log_delta_floats
from dpverdict.numerics.roots import float_above, float_below, least_float, rounded_up, sized

_KIND = BallNormal()


def gdp_scale(mu: Exact, sensitivity: Exact | Real) -> float:
    """sensitivity/mu, rounded up: the scale at which the Gaussian mechanism is mu-GDP.

    Raises:
        InvalidValue: mu or the sensitivity is not positive.

    Reference: Dong, Roth and Su 2022, Theorem 2.7 (arXiv:1905.02383).

    >>> gdp_scale("0.5", 1)
    2.0
    """
    exact_mu, size = check_positive(mu, "mu"), _checked_l2(sensitivity)
    return sqrt_up(_squared_ratio(size, exact_mu))


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
    exact_epsilon, exact_delta = check_positive(epsilon, "epsilon"), _checked_delta(delta)
    square = _squared_ratio(_checked_l2(sensitivity), exact_epsilon)
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
    remedy = "give epsilon as a number that is not negative"
    exact_epsilon, exact_delta = check_not_negative(epsilon, "epsilon", remedy), _checked_delta(delta)
    size = _checked_l2(sensitivity)
    if exact_epsilon > 1 << 1000:
        raise InvalidValue("epsilon", exact_epsilon, "at most 2^1000", "choose an epsilon of moderate size")
    mu = _largest_mu(exact_epsilon, exact_delta)
    if not 1e-285 < mu < 1e14:
        raise InvalidValue("mu", mu, "within [1e-285, 1e14]", "choose epsilon and delta of moderate size")
    nearest = size.nearest() / mu
    if not 1e-290 < nearest < 1e290:
        raise InvalidValue("scale", nearest, "within [1e-290, 1e290]", "choose parameters of moderate size")
    for width in (1e-12, 1e-9, 1e-3, 0.5):  # the float64 answer is almost always within the first
        low, high = nearest * (1 - width), nearest * (1 + width)
        if not _keeps_claim(low, exact_epsilon, exact_delta, size) and _keeps_claim(
            high, exact_epsilon, exact_delta, size
        ):
            break
    else:
        raise PrecisionExhausted("scale", 53, "choose parameters of moderate size")
    return least_float(lambda scale: _keeps_claim(scale, exact_epsilon, exact_delta, size), high, below=low)


def _keeps_claim(scale: float, epsilon: Fraction, delta: Fraction, sensitivity: Real) -> bool:
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
    low, high = math.log(SMALLEST_MU), math.log(LARGEST_MU)
    while high - low > 1e-14 * max(1.0, abs(low)):
        grid = np.linspace(low, high, 400)
        below = log_delta_floats(at, DoubleDouble.of(np.exp(grid))) <= goal
        k = int(np.count_nonzero(np.cumprod(below)))
        low, high = float(grid[max(k - 1, 0)]), float(grid[min(k, 399)])
    return math.exp(low)


def _squared_ratio(size: Real, divisor: Fraction) -> Real:
    """(size/divisor)^2, as a rational number if size is one."""
    if size.rational is not None:
        return Real.of((size.rational / divisor) ** 2)
    return Real(lambda: (size.ball() / ball(divisor)) ** 2)


def _checked_delta(delta: Exact) -> Fraction:
    return check_probability(delta, "delta", "give delta as a small positive probability")


def _checked_l2(sensitivity: Exact | Real) -> Real:
    return check_positive_real(sensitivity, "sensitivity", "give the l2-sensitivity of the statistic")


_LEAST_DELTA = 1e-301


def l1_scale(epsilon: Exact, l1: Exact | Real) -> float:
    """D1/epsilon, rounded up: the least scale that is epsilon-DP for every statistic of that sensitivity.

    Reference: Dwork, McSherry, Nissim and Smith 2006; Andersson, Pagh and Torkamani 2024, Lemma A.2.

    >>> l1_scale("0.5", 1)
    2.0
    """
    exact, size = check_positive(epsilon, "epsilon"), _checked_sensitivity("l1", l1)
    if size.rational is not None:
        return sized(float_above(size.rational / exact))
    return rounded_up(Real(lambda: size.ball() / ball(exact)))


def l2_scale_real(epsilon: Exact, delta: Exact, l2: Exact | Real) -> Real:
    """D2 (sqrt(ln(1/delta)) + sqrt(ln(1/delta) + epsilon))/(sqrt(2) epsilon), the scale of Lemma 5.4, exactly.

    Reference: Andersson, Pagh and Torkamani 2024, Lemma 5.4 (arXiv:2408.07021v2).
    """
    e, d, size = check_positive(epsilon, "epsilon"), _checked_delta(delta), _checked_sensitivity("l2", l2)
    log = Real(lambda: -ball(d).log())
    return Real(lambda: size.ball() * (log.ball().sqrt() + (log.ball() + ball(e)).sqrt()) / (ball(2).sqrt() * ball(e)))


def theorem_scale_real(epsilon: Exact, delta: Exact, l1: Exact | Real, l2: Exact | Real) -> Real:
    """The smaller of D1/epsilon and `l2_scale_real`: the scale that Theorem 1.3 needs, exactly."""
    e, first = check_positive(epsilon, "epsilon"), _checked_sensitivity("l1", l1)
    rational = first.rational
    pure = Real.of(rational / e) if rational is not None else Real(lambda: first.ball() / ball(e))
    mixed = l2_scale_real(epsilon, delta, l2)
    return pure if compare(pure, mixed) == -1 else mixed


def theorem_scale(epsilon: Exact, delta: Exact, l1: Exact | Real, l2: Exact | Real) -> float:
    """The scale at which Theorem 1.3 gives (epsilon, delta)-DP, rounded up.

    Reference: Andersson, Pagh and Torkamani 2024, Theorem 1.3 (arXiv:2408.07021v2).

    >>> theorem_scale(1, "1e-5", 100, 1), theorem_scale(1, "1e-5", 2, 1)
    (4.900555168628417, 2.0)
    """
    return rounded_up(theorem_scale_real(epsilon, delta, l1, l2))


def theorem_epsilon(scale: Exact, delta: Exact, l1: Exact | Real, l2: Exact | Real) -> Real:
    """min(D1/l, (D2/l)(D2/(2l) + sqrt(2 ln(1/delta)))): the epsilon of Theorem 1.3, exactly.

    Reference: Andersson, Pagh and Torkamani 2024, Theorem 1.3 (arXiv:2408.07021v2).
    """
    width, d = check_positive(scale, "scale"), _checked_delta(delta)
    first, second = _checked_sensitivity("l1", l1), _checked_sensitivity("l2", l2)
    rational = first.rational
    pure = Real.of(rational / width) if rational is not None else Real(lambda: first.ball() / ball(width))

    def mixed() -> arb:
        ratio = second.ball() / ball(width)
        return ratio * (ratio / 2 + (-2 * ball(d).log()).sqrt())

    other = Real(mixed)
    return pure if compare(pure, other) in (-1, None) else other  # equal where both are D1/l: None


def concentrated_scale(epsilon: Exact, delta: Exact, l1: Exact | Real, l2_squared: Exact | Real) -> float:
    """The least scale for which zero-concentrated DP gives (epsilon, delta)-DP, or D1/epsilon if that is smaller.

    Laplace noise of scale l is D2^2/(2 l^2)-zCDP: a coordinate shifted by s l is s-DP, hence s^2/2-zCDP. The conversion
    to (epsilon, delta) takes the best order, so the scale is never above that of Lemma 5.4, and 1.04 to 1.11 times what
    the exact curve needs for small delta.

    Reference: Bun and Steinke 2016, Proposition 3.3 (arXiv:1605.02065); Canonne, Kamath and Steinke 2020, Corollary 13
    (arXiv:2004.00010).

    Raises:
        InvalidValue: an argument is out of its domain, or delta is below 1e-301.

    >>> round(concentrated_scale(1, "1e-5", 100, 1), 3)
    4.045
    """
    e, d, square = (
        check_positive(epsilon, "epsilon"),
        _checked_delta(delta),
        _checked_sensitivity("l2_squared", l2_squared),
    )
    at, goal = float_below(e), float_below(d)
    if goal < _LEAST_DELTA:
        raise InvalidValue(
            "delta", delta, f">= {_LEAST_DELTA} for this calibration", "take Theorem 1.3, which is exact"
        )

    def keeps(scale: float) -> bool:
        quotient = _quotient_up(square, scale)
        return quotient is not None and ZeroConcentratedDP(quotient / 2).delta_upper(at) <= goal

    above = rounded_up(l2_scale_real(e, d, square.sqrt()))
    for _ in range(50):
        if keeps(above):
            break
        above = math.nextafter(
            above * (1 + 1e-12), math.inf
        )  # the float64 bound on delta is a little above the real one
    else:
        raise PrecisionExhausted("scale", 53, "choose parameters of moderate size")
    return min(l1_scale(e, l1), least_float(keeps, above))


def _quotient_up(square: Real, scale: float) -> Fraction | None:
    """D2^2/l^2, or a rational number slightly above it; None if l is too small to divide by."""
    if scale < 2.0**-500:
        return None
    if square.rational is not None:
        return square.rational / Fraction(scale) ** 2
    return Fraction(rounded_up(square)) / Fraction(scale) ** 2


def _checked_sensitivity(name: str, value: Exact | Real) -> Real:
    return check_positive_real(value, name, "give the sensitivity of the statistic")


def family_variances(dim: Number, c_squared: Number, mu: Number) -> tuple[Number, Number]:
    """(vz, ve) = (B/(4 mu^2), B/(4 C^2 mu^2)) with B = d + C^2, over any field; C^2 = sqrt d gives Algorithm 1."""
    b = dim + c_squared
    return b / (4 * mu * mu), b / (4 * c_squared * mu * mu)


def family_scales(dim: int, c_squared: Real, mu: Fraction) -> tuple[float, float]:
    """Float64 standard deviations (of z, of eta), each at least the square root of its variance."""
    if c_squared.rational is not None:
        vz, ve = family_variances(dim, c_squared.rational, mu)
        return sqrt_up(Real.of(vz)), sqrt_up(Real.of(ve))
    vz, ve = (
        Real(lambda: family_variances(dim, c_squared.ball(), ball(mu))[0]),
        Real(lambda: family_variances(dim, c_squared.ball(), ball(mu))[1]),
    )
    return sqrt_up(vz), sqrt_up(ve)


def root(dim: int) -> Real:
    """sqrt(d), exactly."""
    return Real.of(dim).sqrt()


def universal_error_bound(*, dim: int, epsilon: Exact, delta: Exact, sensitivity: Exact) -> Real:
    """(1 - delta) M Delta^2/(2 (1 + e^epsilon)): every (epsilon, delta)-DP noise n in R^M has E|n|^2 at least this.

    The noise is added to a statistic that neighbours may move by Delta u, for every unit vector u. Proof: for u uniform
    on the sphere, E <n, u>^2 = E|n|^2/M, so by Chebyshev P[<n, u> >= Delta/2] and P[<n, u> <= -Delta/2] are each at
    most 2 E|n|^2/(M Delta^2) on average over u. For some u, the half-space between the two centres therefore shows
    delta >= 1 - (1 + e^epsilon) 2 E|n|^2/(M Delta^2).

    Args:
        dim: the dimension M >= 1 of the statistic.
        epsilon, delta: the guarantee.
        sensitivity: the l2-sensitivity Delta > 0, attained in every direction.

    Raises:
        InvalidValue: a parameter out of range.

    >>> round(universal_error_bound(dim=100, epsilon=1, delta="1e-5", sensitivity=1).nearest(), 4)
    13.4469
    """
    guarantee = ApproximateDP(epsilon, delta)
    squares = check_dim(dim) * check_positive(sensitivity, "sensitivity") ** 2
    if guarantee.epsilon == 0:
        return Real.of((1 - guarantee.delta) * squares / 4)
    half = (1 - guarantee.delta) * Fraction(squares) / 2
    return Real(lambda: ball(half) / (1 + ball(guarantee.epsilon).exp()))
