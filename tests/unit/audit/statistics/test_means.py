"""Tests of means: the textbook statistic, and bounds that never exceed what is rejected."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpverdict.audit.statistics.means import (
    ASYMPTOTIC,
    BETTING,
    SMALLEST_LEVEL,
    PayoffMoments,
    curve_mu_lower,
    mean_test,
    payoff_test,
    symmetric_epsilon_lower,
)
from dpverdict.audit.statistics.payoffs import CurvePayoff, SymmetricPayoff, weighted_profile_upper
from dpverdict.mechanisms.core.guarantees import GaussianDP

SEED = 8


def test_moments_and_statistic_are_the_textbook_ones() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.gamma(2, size=400), rng.normal(size=300)
    found = mean_test(PayoffMoments.of(x), PayoffMoments.of(y), 1.9)
    spread = math.sqrt(x.var(ddof=1) / 400 + y.var(ddof=1) / 300)
    assert found.z == pytest.approx((x.mean() - y.mean() - 1.9) / spread)
    assert mean_test(PayoffMoments.of(np.ones(300)), PayoffMoments.of(np.ones(300)), -1.0).p_value == 1.0
    assert mean_test(PayoffMoments.of(x + 9), PayoffMoments.of(y), 1.9).p_value == SMALLEST_LEVEL


def test_few_pairs_and_small_levels_are_decided_by_betting() -> None:
    """Normal scores one apart keep the curve of 1-GDP exactly: neither way may refute it here."""
    rng = np.random.default_rng(SEED)
    payoff = CurvePayoff(1.5, weighted_profile_upper(GaussianDP(1), 1.5, cells=512))
    x, y = rng.normal(0.5, 1, 4000), rng.normal(-0.5, 1, 4000)
    many, few = payoff_test(payoff, x, y, 0.05), payoff_test(payoff, x[:50], y[:50], 0.05)
    tiny = payoff_test(payoff, x, y, 1e-6)
    assert (many.method, few.method, tiny.method) == (ASYMPTOTIC, BETTING, BETTING)
    assert min(many.p_value, few.p_value, tiny.p_value) > 1e-4
    wide = payoff_test(payoff, 4 * x + 3, 4 * y - 3, 1e-6)
    assert wide.p_value < 1e-6
    assert wide.describe()["trials"] == 4000


def test_bounds_are_below_the_truth_and_say_nothing_where_nothing_is_rejected() -> None:
    """The scores are log likelihood ratios of 2-GDP; the error probability of either bound is 1e-6."""
    rng = np.random.default_rng(SEED)
    x, y = rng.normal(2, 2, 20_000), rng.normal(-2, 2, 20_000)
    payoff = CurvePayoff(1.5, weighted_profile_upper(GaussianDP(1), 1.5, cells=512))
    assert 1 < curve_mu_lower(payoff, x, y, 1e-6) < 2
    assert curve_mu_lower(payoff, x, x, 1e-6) == 0.0
    symmetric = SymmetricPayoff(1.0, 0.0, 1.0)
    truth = 2 * abs(norm.logsf(1, 2, 2) - norm.logsf(1, -2, 2))
    assert 0 < symmetric_epsilon_lower(symmetric, x, y, 1e-6) < truth
    assert symmetric_epsilon_lower(symmetric, x, x, 1e-6) == 0.0


def test_bounds_are_rejected_themselves_and_hardly_more_is() -> None:
    """By the tests that decide: at the bound p is at most the share, a little above it no longer."""
    rng = np.random.default_rng(SEED)
    x, y = rng.normal(2, 2, 3000), rng.normal(-2, 2, 3000)
    for share in (0.05, 1e-3):  # by means, and by betting
        symmetric = SymmetricPayoff(1.0, 0.01, 1.0)
        bound = symmetric_epsilon_lower(symmetric, x, y, share)
        below, above = (payoff_test(SymmetricPayoff(e, 0.01, 1.0), x, y, share) for e in (bound, 1.01 * bound + 0.01))
        assert below.p_value <= share < above.p_value
        allowed = [weighted_profile_upper(GaussianDP(1), 1.5, cells=512)]
        bound = curve_mu_lower(CurvePayoff(1.5, allowed[0]), x, y, share)
        claims = (GaussianDP(Fraction(mu)) for mu in (bound, 1.01 * bound + 0.01))
        allowed = [weighted_profile_upper(claim, 1.5, cells=512) for claim in claims]
        below, above = (payoff_test(CurvePayoff(1.5, one), x, y, share) for one in allowed)
        assert below.p_value <= share < above.p_value
