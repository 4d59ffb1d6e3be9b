"""Learned scores: likelihood ratios they can represent are found, and they are what they describe."""

import json
import math

import numpy as np
import pytest
from scipy import optimize

from dpverdict.audit.scores.learned_scores import (
    SPLINE,
    SplineScore,
    fit_chained_score,
    fit_logistic,
    fit_spline_score,
    scaled_score,
)
from dpverdict.audit.scores.portfolio import rank_scores, tuned_score
from dpverdict.audit.scores.score import LINEAR, CallableScore, Score, fit_linear_score
from dpverdict.audit.scores.trees import fit_tree_score
from dpverdict.audit.statistics.payoffs import CurvePayoff, SymmetricPayoff
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, PureDP

Arrays = tuple[np.ndarray, np.ndarray]


def laplace(n: int, m: int, seed: int = 1) -> Arrays:
    rng = np.random.default_rng(seed)
    shift = 1 / math.sqrt(m)
    return rng.laplace(size=(n, m)) + shift, rng.laplace(size=(n, m))


def test_newton_ends_at_the_optimum() -> None:
    rng = np.random.default_rng(3)
    design, labels = rng.normal(size=(200, 4)), (rng.random(200) < 0.4).astype(float)

    def objective(beta: np.ndarray) -> float:
        logit = beta[0] + design @ beta[1:]
        return float(np.logaddexp(0, logit).sum() - labels @ logit + 0.5 * (beta[1:] ** 2).sum())

    offset, weights = fit_logistic(design, labels)
    best = optimize.minimize(objective, np.zeros(5), tol=1e-10)
    np.testing.assert_allclose([offset, *weights], best.x, atol=1e-3)


def test_separable_labels_have_finite_weights() -> None:
    offset, weights = fit_logistic(np.array([[0.0], [1.0]] * 50), np.array([0.0, 1.0] * 50))
    assert math.isfinite(offset)
    assert 3 < weights[0] < 20


@pytest.mark.parametrize("m", [1, 5])
def test_a_spline_finds_the_kinks_of_laplace(m: int) -> None:
    score = fit_spline_score(*laplace(20_000, m))
    fresh = np.concatenate(laplace(2000, m, seed=2))
    shift = 1 / math.sqrt(m)
    true = np.clip(2 * fresh - shift, -shift, shift).sum(axis=1)
    assert np.corrcoef(score(fresh), true)[0, 1] > 0.97
    assert abs(score(fresh) - true).mean() < 0.12


def test_a_users_score_is_calibrated_whatever_its_scale_and_direction() -> None:
    p, q = laplace(5000, 1)
    user = CallableScore(function=lambda y: -1000 * y[:, 0], name="upside down")
    score = fit_chained_score(user, p, q)
    assert score(np.array([[3.0]]))[0] > 0.7
    assert score(np.array([[-3.0]]))[0] < -0.7


def test_infinite_and_constant_scores_are_served() -> None:
    for values in (np.array([np.inf, -np.inf]), np.array([2.0, 2.0]), np.array([1.0, np.inf])):
        p, q = np.repeat(values, [90, 10]), np.repeat(values, [10, 90])
        score = fit_spline_score(p, q)
        found = score(values[:, np.newaxis])
        assert np.isfinite(found).all()
        assert (found[0] > found[1]) == (values[0] != values[1])


def spline() -> Score:
    return fit_spline_score(*laplace(300, 3))


def chained() -> Score:
    return fit_chained_score(CallableScore(function=lambda y: y[:, 0]), *laplace(300, 3))


def trees() -> Score:
    return fit_tree_score(*laplace(300, 3))


@pytest.mark.parametrize("make", [spline, chained, trees])
def test_a_score_is_deterministic_and_ready_for_json(make: type) -> None:
    first, second = make(), make()
    assert json.dumps(first.describe(), allow_nan=False) == json.dumps(second.describe(), allow_nan=False)
    outputs = np.random.default_rng(5).normal(size=(7, 3))
    np.testing.assert_array_equal(first(outputs), second(outputs))
    assert first(outputs[:0]).shape == (0,)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^outputs="):
        fit_spline_score(np.zeros((5, 201)), np.zeros((5, 201)))
    score = SplineScore(name="s", offset=0.0, knots=(np.zeros(1),), values=(np.zeros(1),))
    with pytest.raises(InvalidValue, match=r"^outputs="):
        score(np.zeros((4, 2)))


def test_a_learned_score_is_scaled_to_the_spread_of_the_claim_and_no_further() -> None:
    rng = np.random.default_rng(5)
    p, q = 2 + rng.normal(size=(4000, 1)), rng.normal(size=(4000, 1))
    linear, spline = fit_linear_score([p], [q]), fit_spline_score(p, q)
    payoff = CurvePayoff.of_claim(GaussianDP(1))
    for score in (linear, spline, fit_chained_score(linear, p, q)):
        small = tuned_score(score, payoff, p, q)
        factor = (small(p) / score(p))[0]
        np.testing.assert_allclose(small(p), factor * score(p), rtol=1e-9, atol=1e-12)
        clipped = [np.clip(score(side), -3 * payoff.tau, 3 * payoff.tau) for side in (p, q)]
        assert factor * np.sqrt((clipped[0].var() + clipped[1].var()) / 2) == pytest.approx(1, rel=1e-5)
        assert tuned_score(score, CurvePayoff.of_claim(GaussianDP(9)), p, q) is score
        sure = tuned_score(score, SymmetricPayoff(1.0, 0.0, 1 - 1e-9), p, q)
        np.testing.assert_allclose(sure(p), score(p) / 0.92, rtol=1e-9)
        assert tuned_score(score, SymmetricPayoff(1.0, 0.1, 0.95), p, q) is score
    assert scaled_score(fit_tree_score(p[:50], q[:50]), 2.0)(p).shape == (4000,)


def test_a_claim_about_gaussian_noise_prefers_the_linear_score_unless_another_is_clearly_better() -> None:
    rng = np.random.default_rng(6)
    p, q = rng.normal(size=500) + 0.5, rng.normal(size=500) - 0.5
    nearly = {LINEAR: 1.1 * p + 0.05 * rng.normal(size=500), SPLINE: p}, {LINEAR: 1.1 * q, SPLINE: q}
    assert rank_scores([LINEAR, SPLINE], nearly, GaussianDP(1))[0] == LINEAR
    clearly = {LINEAR: 0 * p, SPLINE: p}, {LINEAR: 0 * q, SPLINE: q}
    assert rank_scores([LINEAR, SPLINE], clearly, GaussianDP(1)) == [SPLINE, LINEAR]
    slightly = {LINEAR: p + 0.3 * rng.normal(size=500), SPLINE: p}, {LINEAR: q, SPLINE: q}
    assert rank_scores([LINEAR, SPLINE], slightly, PureDP(1))[0] == SPLINE
