"""Bounds of a sequential test: below the truth as often as stated, at the claim when it is refuted, and resumable."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.sequential import SequentialTest, distinguish_sequentially
from dpverdict.audit.statistics import betting as sequential_bounds
from dpverdict.audit.trials.run import batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverdict.numerics.arrays import Array

PAIR = (np.ones((1, 1)), np.zeros((1, 1)))


@batched
def gaussian(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Exactly 1-GDP on the pair."""
    return dataset.sum() + rng.normal(size=trials)


@batched
def laplace(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Exactly 2-DP on the pair."""
    return dataset.sum() + rng.laplace(scale=0.5, size=trials)


def run(mechanism: object, claim: Guarantee, **change: object) -> SequentialTest:
    arguments: dict[str, object] = {"error_probability": 0.05, "most_samples": 3000, "seed": 3} | change
    return distinguish_sequentially(mechanism, PAIR, claim, **arguments)  # type: ignore[arg-type]  # as given


def test_a_claim_of_mu_bounds_mu_and_one_of_epsilon_bounds_epsilon() -> None:
    test = run(gaussian, GaussianDP("1.3"))
    assert (test.refuted, test.epsilon_lower) == (False, None)
    assert test.mu_lower is not None
    assert 0.6 < test.mu_lower < 1
    test = run(laplace, PureDP(1))
    assert (test.refuted, test.mu_lower) == (True, None)
    assert test.epsilon_lower is not None
    assert 1 <= test.epsilon_lower < 2
    assert run(laplace, ApproximateDP(1, "0.01")).epsilon_lower is not None
    test = run(gaussian, ZeroConcentratedDP("0.5"), most_samples=400)
    assert (test.mu_lower, test.epsilon_lower) == (None, None)


def test_a_refutation_and_its_bound_agree() -> None:
    refuted, not_refuted = run(gaussian, GaussianDP("0.5")), run(gaussian, GaussianDP(2))
    assert refuted.refuted
    assert not not_refuted.refuted
    assert (refuted.mu_lower or 0) >= 0.5
    assert (not_refuted.mu_lower or 0) < 2


def test_bounds_go_on_where_they_stopped() -> None:
    whole = run(gaussian, GaussianDP("1.2"), most_samples=2048)
    part = run(gaussian, GaussianDP("1.2"), most_samples=1024)
    state = json.loads(json.dumps(part.state, allow_nan=False))
    resumed = run(gaussian, GaussianDP("1.2"), most_samples=2048, state=state)
    assert resumed.mu_lower == whole.mu_lower
    assert resumed.state == whole.state
    with pytest.raises(InvalidValue, match=r"^state="):
        run(gaussian, GaussianDP("1.2"), most_samples=2048, state=state | {"bounds": []})


def wrong_bounds(runs: int, seed: int) -> int:
    """How many bounds exceed the true mu of 1, which is a value of the grid of this claim."""
    tests = (
        run(gaussian, GaussianDP("1.25"), error_probability=0.2, most_samples=1000, seed=seed + i) for i in range(runs)
    )
    return sum((test.mu_lower or 0.0) >= 1 for test in tests)


def test_a_bound_exceeds_the_truth_no_more_often_than_stated(seed: int) -> None:
    assert stats.binomtest(wrong_bounds(20, seed), 20, 0.2, alternative="greater").pvalue >= 1e-6


def test_a_grid_that_allows_too_little_is_caught(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    def half(claim: GaussianDP, tau: float) -> float:
        return original(claim, tau) / 2

    original = sequential_bounds.weighted_profile_upper
    monkeypatch.setattr(sequential_bounds, "weighted_profile_upper", half)
    assert stats.binomtest(wrong_bounds(20, seed), 20, 0.2, alternative="greater").pvalue < 1e-6


def test_values_are_rounded_down_and_hold_the_claim() -> None:
    for twentieth, rung in zip(
        sequential_bounds.TWENTIETHS,
        sequential_bounds._grid_points(GaussianDP("0.1"), sequential_bounds.CurvePayoff.of_claim(GaussianDP("0.1")))[1],
        strict=True,
    ):
        assert rung.value <= 0.1 * twentieth / 20 * (1 + 1e-15)
        assert math.isclose(rung.value, 0.1 * twentieth / 20, rel_tol=1e-15)
