"""Scales of the Laplace mechanism from the l1 or the l2 sensitivity, rounded up, so that the floats keep the promise.

Epsilon, delta and sensitivities are taken at their exact values; a sensitivity may be a `Real` such as sqrt(d).

Notation: D1, D2 = the l1 and l2 sensitivities of the statistic; l = scale; ln = natural logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpverdict.balls import Exact, Real, ball, compare, exactly
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.guarantee import ZeroConcentratedDP
from dpverdict.mechanisms.guarantee_curves import float_above, float_below
from dpverdict.mechanisms.mechanism import check_positive

_LEAST_DELTA = 1e-301


def l1_scale(epsilon: Exact, l1: Exact | Real) -> float:
    """D1/epsilon, rounded up: the least scale that is epsilon-DP for every statistic of that sensitivity.

    Reference: Dwork, McSherry, Nissim and Smith 2006; Andersson, Pagh and Torkamani 2024, Lemma A.2.

    >>> l1_scale("0.5", 1)
    2.0
    """
    exact, size = check_positive(epsilon, "epsilon"), _sensitivity("l1", l1)
    if size.rational is not None:
        return _sized(float_above(size.rational / exact))
    return rounded_up(Real(lambda: size.ball() / ball(exact)))


def l2_scale_real(epsilon: Exact, delta: Exact, l2: Exact | Real) -> Real:
    """D2 (sqrt(ln(1/delta)) + sqrt(ln(1/delta) + epsilon))/(sqrt(2) epsilon), the scale of Lemma 5.4, exactly.

    Reference: Andersson, Pagh and Torkamani 2024, Lemma 5.4 (arXiv:2408.07021v2).
    """
    e, d, size = check_positive(epsilon, "epsilon"), _probability("delta", delta), _sensitivity("l2", l2)
    log = Real(lambda: -ball(d).log())
    return Real(lambda: size.ball() * (log.ball().sqrt() + (log.ball() + ball(e)).sqrt()) / (ball(2).sqrt() * ball(e)))


def theorem_scale_real(epsilon: Exact, delta: Exact, l1: Exact | Real, l2: Exact | Real) -> Real:
    """The smaller of D1/epsilon and `l2_scale_real`: the scale that Theorem 1.3 needs, exactly."""
    e, first = check_positive(epsilon, "epsilon"), _sensitivity("l1", l1)
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
    width, d = check_positive(scale, "scale"), _probability("delta", delta)
    first, second = _sensitivity("l1", l1), _sensitivity("l2", l2)
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
        _probability("delta", delta),
        _sensitivity("l2_squared", l2_squared),
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


def least_float(keeps: Callable[[float], bool], above: float) -> float:
    """The least float64 in (0, above] with the property, found by bisection; at every value returned it holds.

    Requires: the property holds at ``above``. If it is not monotone, some switching point is returned.
    """
    low, high = 0.0, above
    while (middle := low + (high - low) / 2) not in (low, high):
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def rounded_up(number: Real) -> float:
    """A float64 certainly >= a positive number, and at most a few units in the last place above it.

    Raises:
        InvalidValue: the number is beyond the normal float64.
        PrecisionExhausted: the comparison stays undecided.
    """
    if number.rational is not None:
        return _sized(float_above(number.rational))
    scale = _sized(number.nearest())
    while (sign := compare(number, Real.of(scale))) != -1:
        if sign is None:
            raise PrecisionExhausted("scale", 1 << 13, "change a parameter slightly")
        scale = math.nextafter(scale, math.inf)
    return scale


def _quotient_up(square: Real, scale: float) -> Fraction | None:
    """D2^2/l^2, or a rational number slightly above it; None if l is too small to divide by."""
    if scale < 2.0**-500:
        return None
    if square.rational is not None:
        return square.rational / Fraction(scale) ** 2
    return Fraction(rounded_up(square)) / Fraction(scale) ** 2


def _sized(scale: float) -> float:
    if not 2.0**-1022 <= scale < math.inf:
        raise InvalidValue("scale", scale, "a positive normal float64", "choose parameters of moderate size")
    return scale


def _probability(name: str, value: Exact) -> Fraction:
    rational = exactly(value, name=name)
    if not 0 < rational < 1:
        raise InvalidValue(name, value, "in (0, 1)", f"give {name} as a small positive probability")
    return rational


def _sensitivity(name: str, value: Exact | Real) -> Real:
    size = Real.of(value, name=name)
    if compare(size, Real.of(0)) != 1:
        raise InvalidValue(name, value, "> 0", "give the sensitivity of the statistic")
    return size
