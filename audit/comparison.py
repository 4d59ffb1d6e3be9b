"""The inequality that decides a claim about a Gaussian pair: what the pair attains against what the claim allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpverdict.audit.gaussian_loss import GaussianLoss
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms import gaussian_formulas
from dpverdict.mechanisms.ball_normal import BallNormal
from dpverdict.mechanisms.exact_text import short_text
from dpverdict.mechanisms.guarantee import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``attained <= allowed`` is the claim, said of one neighbouring pair.

    Attributes:
        quantity: what is compared, in the field's notation.
        attained: its value for the pair.
        allowed: the largest value the claim permits.
    """

    quantity: str
    attained: Real
    allowed: Real


def comparison_of(claim: Guarantee, loss: GaussianLoss) -> Comparison:
    """The inequality that a claim makes about the worst pair, in the quantity where it is simplest."""
    square = loss.mu_squared
    match claim:
        case GaussianDP():
            return Comparison(quantity="mu^2", attained=square, allowed=Real.of(claim.mu**2))
        case ZeroConcentratedDP():
            return Comparison(
                quantity="rho = mu^2/2", attained=_times(square, Fraction(1, 2)), allowed=Real.of(claim.rho)
            )
        case RenyiDP():
            attained = _times(square, claim.order / 2)
            return Comparison(
                quantity=f"Renyi divergence of order {claim.order} = order mu^2/2",
                attained=attained,
                allowed=Real.of(claim.epsilon),
            )
        case ApproximateDP():
            return _profile(claim.epsilon, claim.delta, loss)
        case PureDP():
            return _profile(claim.epsilon, Fraction(0), loss)
        case _:
            raise InvalidValue("claim", claim, "a guarantee of this package", "write for example GaussianDP(1)")


def _profile(epsilon: Fraction, delta: Fraction, loss: GaussianLoss) -> Comparison:
    at = Real.of(epsilon)
    attained = Real.of(0)
    if loss.mu_squared.rational != 0:
        attained = Real(lambda: gaussian_formulas.delta(BallNormal(), at.ball(), loss.mu_real.ball()))
    return Comparison(quantity=f"delta({short_text(epsilon)})", attained=attained, allowed=Real.of(delta))


def _times(number: Real, factor: Fraction) -> Real:
    if number.rational is not None:
        return Real.of(number.rational * factor)
    return Real(lambda: number.ball() * ball(factor))


def both_sides(comparison: Comparison) -> str:
    """The two sides in decimal, with enough digits to tell them apart where 17 do, and at least 6."""
    left, right = _enclosed(comparison.attained), _enclosed(comparison.allowed)
    larger = max(abs(left.upper), abs(right.upper))
    gap = abs(left.upper - right.upper) / larger if 0.0 < larger < math.inf else 1.0
    digits = 17 if gap == 0.0 else min(17, max(6, 3 - math.floor(math.log10(gap))))
    return f"attained {left.show(digits)}, allowed {right.show(digits)}"


def _enclosed(number: Real) -> Enclosure:
    """The sharpest enclosure; the one at 8192 bits of a number that no precision determines."""
    try:
        return Enclosure.of(number)
    except PrecisionExhausted:
        with precision(1 << 13):
            return Enclosure.of_ball(number.ball())
