"""The test of one run: false alarms, power, ties and bad input."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from dpverdict.audit import distinguish_one_run
from dpverdict.audit.distinguishing.result import Role
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP


def one_run(mu: float, m: int, claim: Guarantee, seed: int, error: float = 0.05) -> Any:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, m)
    return distinguish_one_run(mu * bits + rng.normal(size=m), bits, claim, error_probability=error, seed=seed)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "claim", [PureDP(1), ApproximateDP(1, "1e-3"), GaussianDP(1)], ids=lambda claim: str(claim.describe())
)
def test_false_alarms(claim: Guarantee, seed: int) -> None:
    """At level 0.3, on mechanisms at the boundary that reveal their canaries together or one by one."""
    rng, runs, level, m = np.random.default_rng(seed), 60, 0.3, 60
    refuted = 0
    for i in range(runs):
        bits = rng.integers(0, 2, m)
        if isinstance(claim, GaussianDP):
            scores = bits + rng.normal(size=m)
        else:  # randomised response, and with probability delta the truth
            kept = rng.random(m) < special.expit(1.0)
            scores = np.where(kept, bits, 1 - bits).astype(float)
            if isinstance(claim, ApproximateDP) and rng.random() < float(claim.delta):
                scores = bits.astype(float)
        refuted += distinguish_one_run(scores, bits, claim, error_probability=level, seed=i).refuted
    assert stats.binomtest(refuted, runs, level, alternative="greater").pvalue > 1e-5


def test_power_and_bounds_below_the_truth() -> None:
    found = one_run(2.0, 1000, ApproximateDP(1, "1e-5"), 1)
    assert found.refuted
    assert 2.5 < found.epsilon_lower < 8.0  # mu = 2 is (8.87, 1e-5)-DP
    assert found.witness.row.payoff["correct"] > 0.9 * found.witness.row.payoff["guesses"]
    gaussian = one_run(4.0, 1000, GaussianDP(1), 2)
    assert gaussian.refuted
    assert 1.0 < gaussian.mu_lower < 4.0
    assert not one_run(1.0, 1000, GaussianDP(1), 3).refuted


def bounds_above(level: float, delta: float, runs: int, seed: int) -> int:
    """How often a bound exceeds the truth, 1, of randomised response that tells all with probability delta."""
    rng, above = np.random.default_rng(seed), 0
    for i in range(runs):
        bits = rng.integers(0, 2, 60)
        kept = rng.random(60) < (special.expit(1.0) if rng.random() >= delta else 1.0)
        scores = np.where(kept, bits, 1 - bits).astype(float)
        found = distinguish_one_run(scores, bits, PureDP(9), error_probability=level, seed=i, delta=repr(delta))
        above += found.epsilon_lower > 1
    return above


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_bound_on_epsilon_exceeds_the_truth_no_more_often_than_stated(delta: float, seed: int) -> None:
    above = bounds_above(0.3, delta, 40, seed)
    assert stats.binomtest(above, 40, 0.3, alternative="greater").pvalue > 1e-5


def test_a_bound_at_a_larger_error_would_be_caught(seed: int) -> None:
    above = bounds_above(0.95, 0.0, 40, seed)
    assert stats.binomtest(above, 40, 0.3, alternative="greater").pvalue < 1e-5


def test_mu_is_bounded_with_a_delta_too_and_what_a_gaussian_curve_adds_is_said() -> None:
    """The best of jax-privacy's bounds has the median 7.12 at mu = 4 with 1000 canaries."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2, 1000)
    found = distinguish_one_run(
        4 * bits + rng.normal(size=1000), bits, GaussianDP(1), error_probability=0.05, seed=1, delta="1e-5"
    )
    assert 1.5 < found.mu_lower < 4
    assert found.epsilon_if_gdp > 7.12
    assert 4.5 < found.epsilon_lower < found.epsilon_if_gdp
    assert "if the mechanism is mu-GDP" in found.summary()
    bounds = [row for row in found.ledger if row.role is Role.BOUND]
    assert [row.what.partition(" ")[0] for row in bounds] == ["mu_lower", "epsilon_lower"]
    pure = distinguish_one_run(bits + 0.0, bits, PureDP(9), error_probability=0.05, seed=1, delta="1e-5")
    assert pure.epsilon_if_gdp is None


def test_beside_a_claim_that_stands_no_bound_is_above_it() -> None:
    for i in range(4):
        found = one_run(0.7, 200, GaussianDP("0.3"), i)
        assert found.refuted or found.mu_lower <= 0.3


def test_ties_are_broken_blindly() -> None:
    """Constant scores of a file that lists the included canaries first tell nothing."""
    bits = np.repeat([1, 0], 500)
    for scores in (np.zeros(1000), np.repeat([0.0, 1.0], 500)[np.random.default_rng(5).permutation(1000)]):
        found = distinguish_one_run(scores, bits, PureDP(0), error_probability=1e-3, seed=4)
        assert not found.refuted
    assert distinguish_one_run(bits, bits, PureDP(1), error_probability=1e-6, seed=4).refuted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"included": np.ones(1000)}, "1000 of 1000 included"),
        ({"included": np.full(1000, 0.5)}, "bits of shape"),
        ({"included": np.zeros(999)}, "bits of shape"),
        ({"included": ["yes"] * 1000}, "bits of shape"),
        ({"scores": np.full(1000, np.nan)}, "nan at index 0"),
        ({"scores": np.zeros(5)}, "at least 10 numbers"),
        ({"scores": ["a"] * 1000}, "real numbers"),
        ({"seed": -1}, "seed"),
        ({"error_probability": 0.0}, "error_probability"),
        ({"claim": "mu"}, "claim"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(0)
    good = {
        "scores": rng.normal(size=1000),
        "included": rng.integers(0, 2, 1000),
        "claim": GaussianDP(1),
        "error_probability": 0.05,
        "seed": 1,
    }
    with pytest.raises(InvalidValue, match=message):
        distinguish_one_run(**(good | change))
