"""Curve and symmetric payoffs: the allowed mean with its digits, the sign of the mean under a claim, the worst loss."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

from dpverdict.audit.statistics.payoffs import CurvePayoff, SymmetricPayoff, natural_tau, weighted_profile_upper
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

DIGITS = {1.0: "0.911482689163424", 1.5: "1.62798085354555", 2.0: "2.63712383160433"}


@pytest.mark.parametrize("tau", DIGITS)
def test_the_allowed_mean_of_one_gdp_has_its_digits_and_is_rounded_up(tau: float) -> None:
    def weighted(z: acb, _: bool) -> acb:
        def normal(x: acb) -> acb:
            return (-x / acb(2).sqrt()).erfc() / 2

        return (-z / 2).exp() * (normal(acb(0.5) - z) - z.exp() * normal(-acb(0.5) - z))

    ctx.prec = 80
    try:
        enclosed = acb.integral(weighted, -arb(tau), arb(tau)).real
        assert enclosed.overlaps(arb(DIGITS[tau] + " +/- 1e-14"))
        for cells in (16, 256, 4096):
            allowed = weighted_profile_upper(GaussianDP(1), tau, cells=cells)
            assert arb(allowed) > enclosed
            assert arb(allowed) < enclosed * (1 + arb(10) / cells**2)
    finally:
        ctx.prec = 53


@pytest.mark.parametrize(
    "claim", [GaussianDP(2), PureDP(1), ApproximateDP(1, "0.05"), ZeroConcentratedDP("0.5"), RenyiDP(8, 1)]
)
@pytest.mark.parametrize("tau", [0.3, 2.0])
def test_the_allowed_mean_is_that_of_a_quadrature_of_the_profile(claim: Guarantee, tau: float) -> None:
    breaks = sorted({-tau, -1.0, 0.0, 1.0, tau} & {x for x in (-tau, -1.0, 0.0, 1.0, tau) if abs(x) <= tau})
    integral = mpmath.quad(lambda e: mpmath.exp(-e / 2) * claim.delta_upper(float(e)), breaks)
    assert weighted_profile_upper(claim, tau) == pytest.approx(float(integral), rel=1e-6)


@pytest.mark.parametrize("tau", [0.0, -1.0, 21.0, math.nan])
def test_tau_is_in_its_range(tau: float) -> None:
    with pytest.raises(InvalidValue, match=r"^tau="):
        weighted_profile_upper(GaussianDP(1), tau)


def test_the_natural_tau_is_one_and_a_half_mu() -> None:
    assert natural_tau(GaussianDP(Fraction(2))) == pytest.approx(3)
    assert natural_tau(GaussianDP(0)) == 0.05
    assert natural_tau(PureDP(50)) == 12.0


def means(payoff: CurvePayoff | SymmetricPayoff, p: np.ndarray, q: np.ndarray, scores: np.ndarray) -> float:
    return float(p @ payoff.of_dataset(scores) - q @ payoff.of_neighbour(scores)) - payoff.allowed


def test_randomised_response_stands_on_the_boundary_for_every_score() -> None:
    """At 1-DP, whatever the score: the mean is at most 0, and 0 for the likelihood ratio."""
    p = np.array([1.0, math.exp(-1)]) / (1 + math.exp(-1))
    q = p[::-1]
    curve, symmetric = CurvePayoff.of_claim(PureDP(1), 0.9), SymmetricPayoff(1.0, 0.0, 0.5)
    for payoff in (curve, symmetric):
        for _ in range(200):
            scores = np.random.default_rng(_).normal(size=2) * 3
            assert means(payoff, p, q, scores) <= 1e-12
            assert means(payoff, q, p, scores) <= 1e-12
        assert means(payoff, p, q, np.array([1.0, -1.0])) == pytest.approx(0, abs=1e-6)
    louder = np.array([0.8, 0.2])
    for payoff in (curve, symmetric):
        assert means(payoff, louder, louder[::-1], np.array([1.5, -1.5])) > 0.02


@pytest.mark.parametrize("payoff", [CurvePayoff.of_claim(GaussianDP(1)), SymmetricPayoff(1.0, 0.1, 0.9)])
def test_no_pair_loses_more_than_the_largest_loss(payoff: CurvePayoff | SymmetricPayoff) -> None:
    scores = np.array([-np.inf, -2.0, -0.95, -0.1, 0.0, 0.3, 0.95, 5.0, np.inf])
    worst = payoff.of_dataset(scores).min() - payoff.of_neighbour(scores).max() - payoff.allowed
    assert -payoff.largest_loss <= worst < -0.99 * payoff.largest_loss
    assert np.isfinite(payoff.of_dataset(scores)).all()


def test_the_symmetric_payoff_needs_disjoint_events() -> None:
    with pytest.raises(InvalidValue, match=r"^threshold="):
        SymmetricPayoff(0.0, 0.1, 0.0)


@pytest.mark.parametrize("mu", ["0.1", "0.7", "1", "1.3", "2", "3.1"])
def test_no_rounding_makes_a_payoff_fall_below_the_largest_loss(mu: str) -> None:
    """Scores at both ends, where the payoff is the negative of its largest loss but for rounding."""
    for payoff in (CurvePayoff.of_claim(GaussianDP(mu)), SymmetricPayoff(float(mu), 1e-3, 0.9 * float(mu))):
        ends = np.array([-1e3, 1e3])
        lowest = payoff.of_dataset(ends)[:, None] - payoff.of_neighbour(ends)[None, :] - payoff.allowed
        assert -payoff.largest_loss <= lowest.min() < -payoff.largest_loss * (1 - 1e-9)
