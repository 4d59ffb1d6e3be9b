"""What the noise shape of R1SMG costs when its guarantee is to be true: the least scale, certified, and its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from dpverdict.audit.radial_random_direction import RandomDirectionGaussian
from dpverdict.audit.spherical_integral import Quantity, integrate
from dpverdict.balls import Exact, Real, at_most
from dpverdict.mechanisms.calibration import analytic_scale
from dpverdict.mechanisms.guarantee import ApproximateDP
from dpverdict.mechanisms.mechanism import check_dim, check_positive
from dpverdict.mechanisms.rank1_gaussian import Rank1Gaussian, published_psi

_BITS: Final = 80
_STEPS: Final = 60
_CLOSE: Final = 1e-9  # of the logarithm of delta: one more step of the secant goes far below rounding


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
    scale = honest_scale(dim=dim, epsilon=epsilon, delta=delta)
    mechanism = Rank1Gaussian(dim=dim, epsilon=epsilon, delta=delta, scale=scale)
    return Rank1Calibration(
        mechanism=mechanism,
        published=2 / (float(mechanism.claim.epsilon) * published_psi(mechanism.dim, mechanism.claim.delta).nearest()),
        honest=float(mechanism.mean_squared_error),
        gaussian=mechanism.dim * analytic_scale(epsilon, delta, Real.of(1)) ** 2,
    )


def honest_scale(*, dim: int, epsilon: Exact, delta: Exact) -> float:
    """A float64 sigma at which z v is certainly (epsilon, delta)-DP for shifts of length 1, just above the least.

    delta(epsilon) does not increase with sigma, and falls like 1/sigma: a secant iteration in the logarithms finds the
    scale, and balls confirm it.

    Raises:
        InvalidValue: a parameter out of range.
    """
    claim = ApproximateDP(check_positive(epsilon, "epsilon"), check_positive(delta, "delta"))
    m = Rank1Gaussian(dim=check_dim(dim), epsilon=claim.epsilon, delta=claim.delta, scale=1).dim

    def profile(scale: float) -> Real:
        law = RandomDirectionGaussian(scale)
        return Real(lambda: integrate(law, m, claim.epsilon, Quantity.PROFILE, _BITS))

    def excess(log_scale: float) -> float:
        return math.log(profile(math.exp(log_scale)).nearest()) - math.log(claim.delta)

    before, at = -math.log(claim.delta) - 0.5, -math.log(claim.delta)
    value_before, value = excess(before), excess(at)
    for _ in range(_STEPS):
        slope = min((value - value_before) / (at - before), -0.1)
        before, value_before, at = at, value, at - max(-2.0, min(2.0, value / slope))
        if abs(value_before) < _CLOSE:
            break
        value = excess(at)
    scale, step_up = math.exp(at), 2.0**-50
    while at_most(profile(scale), Real.of(claim.delta)) is not True:
        scale, step_up = scale * (1 + step_up), step_up * 2
    return scale
