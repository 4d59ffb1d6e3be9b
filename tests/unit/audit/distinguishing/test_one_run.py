"""The one-run bound against a linear program and explicit mechanisms; false alarms, power and bad input of the test."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special, stats
from scipy.optimize import linprog

from dpverdict.audit import distinguish_one_run
from dpverdict.audit.statistics.one_run_bound import tail, tail_curve, tail_one_epsilon
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP


def most_wins(epsilons: list[float], deltas: list[float], v: int, r: int, m: int) -> float:
    """The largest P(W >= v) over all laws of the number of right guesses that the points of a curve allow, by a linear
    program with the positive parts of both kinds of guess as variables: exact up to the solver."""
    n, k = r + 1, len(epsilons)
    size = n + 2 * r * k
    rows, right = [], []
    for e, (epsilon, delta) in enumerate(zip(epsilons, deltas, strict=True)):
        start, x = n + 2 * r * e, math.exp(epsilon)
        for w in range(r):
            gained, lost = np.zeros(size), np.zeros(size)
            gained[w + 1], gained[w], gained[start + w] = w + 1, -x * (r - w), -1
            lost[w], lost[w + 1], lost[start + r + w] = r - w, -x * (w + 1), -1
            rows += [gained, lost]
            right += [0.0, 0.0]
        together = np.zeros(size)
        together[start : start + 2 * r] = 1
        rows.append(together)
        right.append(m * delta)
    gain = np.zeros(size)
    gain[v:n] = -1
    found = linprog(gain, np.array(rows), right, (np.arange(size) < n)[np.newaxis].astype(float), [1])
    return -float(found.fun)


@pytest.mark.parametrize("delta", [0.0, 0.001, 0.05])
@pytest.mark.parametrize(("m", "r"), [(1, 1), (3, 3), (6, 6), (9, 4)])
def test_one_point_of_the_curve_gives_the_largest_win(m: int, r: int, delta: float) -> None:
    for v in range(1, r + 1):
        bound = float(tail_one_epsilon(np.array([1.0]), np.array([delta]), v, r, m)[0])
        assert bound == pytest.approx(most_wins([1.0], [delta], v, r, m), rel=1e-5)


def test_pure_privacy_is_the_binomial_tail_of_randomised_response() -> None:
    for v, r, epsilon in ((30, 40, 0.5), (700, 1000, 0.3)):
        exact = float(stats.binom.sf(v - 1, r, special.expit(epsilon)))
        bound = tail(PureDP(Fraction(epsilon)), correct=v, guesses=r, canaries=r + 7)
        assert exact <= bound <= exact * (1 + 1e-6)


def test_whole_curve_is_above_the_program_and_below_one_point_where_all_guesses_must_be_right() -> None:
    claim = GaussianDP(1)
    epsilons = np.linspace(-4, 4, 161)
    deltas = np.asarray(claim.delta_upper(epsilons))
    best = most_wins(
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0], list(claim.delta_upper(np.array([0.0, 0.5, 1, 1.5, 2, 3]))), 5, 5, 8
    )
    curve = tail_curve(epsilons, deltas, 5, 5, 8)
    one = float(tail_one_epsilon(epsilons[80:], deltas[80:], 5, 5, 8).min())
    assert 0.3 < curve < one
    assert curve < best * 1.001  # the program knows six points only


@pytest.mark.parametrize("m", [10, 1000, 20_000])
@pytest.mark.parametrize("mu", [0.5, 1.0, 4.0])
def test_bound_is_never_below_independent_gaussian_canaries(m: int, mu: float) -> None:
    """Their number of right guesses is binomial; at 20000 the probabilities underflow, which once gave a bound of 0."""
    claim = GaussianDP(Fraction(mu))
    accuracy = float(special.ndtr(mu / 2))
    for v in sorted({int(m * accuracy) + 1, int(m * (1 + 3 * accuracy) / 4), m}):
        assert tail(claim, correct=v, guesses=m, canaries=m) >= float(stats.binom.sf(v - 1, m, accuracy))


def test_bound_holds_for_a_mechanism_that_tells_all_or_nothing() -> None:
    """With probability delta it releases all bits: (0, delta)-DP, and the guesses are right together."""
    m, delta = 12, 0.05
    win = delta + (1 - delta) * 2.0**-m
    bound = tail(ApproximateDP(0, "0.05"), correct=m, guesses=m, canaries=m)
    assert win <= bound <= win * (1 + 1e-5)


def test_published_tail_is_broken_below_the_mean_by_an_explicit_mechanism() -> None:
    m, v, epsilon, delta = 3, 1, 1.0, 0.05
    p = special.expit(epsilon)
    below = [float(stats.binom.pmf(v - i, m, p)) for i in range(1, v + 1)]
    published = float(stats.binom.sf(v - 1, m, p)) + 2 * m * delta * max(np.cumsum(below) / np.arange(1, v + 1))
    assert most_wins([epsilon], [delta], v, m, m) > published + 0.01


def one_run(mu: float, m: int, claim: Guarantee, seed: int, error: float = 0.05) -> Any:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, m)
    return distinguish_one_run(mu * bits + rng.normal(size=m), bits, claim, error_probability=error, seed=seed)


@pytest.mark.parametrize(
    "claim", [PureDP(1), ApproximateDP(1, "1e-3"), GaussianDP(1)], ids=lambda claim: str(claim.describe())
)
def test_false_alarms(claim: Guarantee, seed: int) -> None:
    """At level 0.3, on mechanisms at the boundary that reveal their canaries together or one by one."""
    rng, runs, level, m = np.random.default_rng(seed), 150, 0.3, 60
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
    assert found.witness.row.payoff["correct"] > 800
    gaussian = one_run(4.0, 1000, GaussianDP(1), 2)
    assert gaussian.refuted
    assert 1.0 < gaussian.mu_lower < 4.0
    assert not one_run(1.0, 1000, GaussianDP(1), 3).refuted


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
        ({"claim": "mu=1"}, "claim"),
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
