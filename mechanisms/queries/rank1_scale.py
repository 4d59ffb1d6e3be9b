"""The least scale at which the random direction of R1SMG is really (epsilon, delta)-DP, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from flint import arb

from dpverdict.audit.losses.spherical.integral import SphericalQuantity, integrate
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Exact, Real, ball, doublings, precision
from dpverdict.checks import check_dim, check_not_negative, check_positive, check_probability
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.calibration import analytic_scale
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.queries.rank1 import Rank1Gaussian, published_psi
from dpverdict.numerics.roots import Bracket

_BITS: Final = 96
_MAX_BITS: Final = 1 << 12
_WIDTH: Final = 2**58
"""The bracket of a scale is narrowed to this share of it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rank1Calibration:
    """Three mean squared errors E|noise|^2 at one (epsilon, delta), for records of l2-norm at most 1.

    Attributes:
        mechanism: R1SMG at the honest scale; its claim is certified.
        published: the error of the published scale, whose claim is false for dim >= 4.
        honest: the error of the honest scale.
        gaussian: the error of the analytic Gaussian mechanism, which keeps the same guarantee.
    """

    mechanism: Rank1Gaussian
    published: float
    honest: float
    gaussian: float


def calibrate_rank1(*, dim: int, epsilon: Exact, delta: Exact) -> Rank1Calibration:
    """R1SMG at the least scale that is really (epsilon, delta)-DP, and what that costs.

    Args:
        dim: dimension M >= 3.
        epsilon, delta: the guarantee, both > 0.

    Raises:
        InvalidValue: a parameter out of range.

    >>> costs = calibrate_rank1(dim=10, epsilon=1, delta="1e-3")
    >>> round(costs.published, 1), float(f"{costs.honest:.3g}"), round(costs.gaussian, 1)
    (15.6, 1640000.0, 66.3)
    """
    dim, claim = check_dim(dim), ApproximateDP(check_positive(epsilon, "epsilon"), check_positive(delta, "delta"))
    scale = honest_scale(dim=dim, epsilon=claim.epsilon, delta=claim.delta).upper
    mechanism = Rank1Gaussian(dim=dim, epsilon=epsilon, delta=delta, scale=scale)
    return Rank1Calibration(
        mechanism=mechanism,
        published=2 / (float(mechanism.claim.epsilon) * published_psi(mechanism.dim, mechanism.claim.delta).nearest()),
        honest=float(mechanism.mean_squared_error),
        gaussian=mechanism.dim * analytic_scale(epsilon, delta, Real.of(1)) ** 2,
    )


def honest_scale(*, dim: int, epsilon: Exact, delta: Exact) -> Enclosure:
    """Encloses the least sigma at which sigma z v is really (epsilon, delta)-DP, for l2-sensitivity 1.

    delta(epsilon) is certainly above ``delta`` at the lower end and certainly at or below it at the upper end, and it
    does not increase with sigma: so ``upper`` is a scale to use, as it is.

    Args:
        dim: M >= 2.
        epsilon, delta: the guarantee; epsilon >= 0, 0 < delta < 1.

    Raises:
        InvalidValue: an argument out of range.

    >>> honest_scale(dim=3, epsilon=1, delta="1e-3").upper
    385.6877005760884
    """
    level = check_not_negative(epsilon, "epsilon", "give the epsilon of the guarantee")
    failure = check_probability(delta, "delta", "give the delta of the guarantee")
    if check_dim(dim) < 2:
        raise InvalidValue("dim", dim, ">= 2", "give the dimension of the statistic")
    bracket = _bracket_of_scale(dim, level, failure)
    for point in bracket.trials(_BITS):
        if bracket.width * _WIDTH <= bracket.high:
            break
        bracket.narrow(point, *_excess(dim, level, failure, point))
    with precision(_BITS):
        return Enclosure.hull(ball(bracket.low), ball(bracket.high))


def _bracket_of_scale(dim: int, epsilon: Fraction, delta: Fraction) -> Bracket:
    """Two scales with the root between them, found in steps of 4 from 1/delta: the profile falls like 1/sigma."""
    low = high = 1 / delta
    at_low, sign = _excess(dim, epsilon, delta, low)
    at_high = at_low
    while sign > 0:
        low, at_low, high = high, at_high, high * 4
        at_high, sign = _excess(dim, epsilon, delta, high)
        if sign <= 0:
            return Bracket(low=low, high=high, at_low=at_low, at_high=at_high)
    while True:
        high, at_high, low = low, at_low, low / 4
        at_low, sign = _excess(dim, epsilon, delta, low)
        if sign > 0:
            return Bracket(low=low, high=high, at_low=at_low, at_high=at_high)


def _excess(dim: int, epsilon: Fraction, delta: Fraction, scale: Fraction) -> tuple[arb, int]:
    """log(delta(epsilon)/delta) at the scale, with the certain sign of delta(epsilon) - delta; -1 when it is 0."""
    for bits in doublings(_BITS, _MAX_BITS):
        value = integrate(RandomDirectionGaussian(scale), dim, epsilon, SphericalQuantity.PROFILE, bits)
        with precision(bits + 16):
            excess, logarithm = value - ball(delta), (value / ball(delta)).log()
        if excess > 0 or excess <= 0:
            return logarithm, 1 if excess > 0 else -1
    raise PrecisionExhausted("the sign of delta(epsilon) - delta", _MAX_BITS, "change delta a little")
