"""Payoffs and bets keep their level where the claim is tight; what would break them is planted and caught.

A rate is declared too high when an exact binomial test of the number of rejections gives it less than WRONGLY_DECLARED,
so that a sound test fails here in less than one session of ten thousand, all cases together.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.statistics.betting import Bettor, betting_p_value
from dpverdict.audit.statistics.means import PayoffMoments, mean_test, payoff_test
from dpverdict.audit.statistics.payoffs import CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.mechanisms.core.guarantees import GaussianDP, PureDP

WRONGLY_DECLARED = 1e-6
LEVEL = 0.05

CURVE = CurvePayoff.of_claim(GaussianDP(1))
SYMMETRIC = SymmetricPayoff(1.0, float(GaussianDP(1).delta_upper(1.0)), 1.0)
PURE = SymmetricPayoff(1.0, 0.0, 1.0 - 1e-9)

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def gaussian(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Likelihood ratios of N(1, 1) against N(0, 1), of both sides: on the boundary of GaussianDP(1)."""
    return rng.normal(size=n) + 0.5, rng.normal(size=n) - 0.5


def laplace(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Likelihood ratios of Laplace(1, 1) against Laplace(0, 1), clipped: on the boundary of PureDP(1)."""
    x, y = rng.laplace(size=n) + 1, rng.laplace(size=n)
    return np.clip(2 * x - 1, -1, 1), np.clip(2 * y - 1, -1, 1)


def is_above(rejections: int, runs: int) -> bool:
    """Whether the rate is above the level beyond doubt."""
    return bool(stats.binomtest(rejections, runs, LEVEL, alternative="greater").pvalue < WRONGLY_DECLARED)


def rejections(payoff: Payoff, draw: Draw, n: int, runs: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    rejected = 0
    for _ in range(runs):
        p, q = draw(rng, n)
        x, y = PayoffMoments.of(payoff.of_dataset(p)), PayoffMoments.of(payoff.of_neighbour(q))
        rejected += mean_test(x, y, payoff.allowed).p_value <= LEVEL
    return rejected


CASES = [(CURVE, gaussian), (SYMMETRIC, gaussian), (PURE, laplace), (CurvePayoff.of_claim(PureDP(1)), laplace)]


@pytest.mark.parametrize(("payoff", "draw"), CASES)
@pytest.mark.parametrize("n", [200, 1000])
def test_the_mean_test_keeps_its_level(payoff: Payoff, draw: Draw, n: int, seed: int) -> None:
    assert not is_above(rejections(payoff, draw, n, 2000, seed), 2000)


@pytest.mark.slow
@pytest.mark.parametrize(("payoff", "draw"), CASES)
@pytest.mark.parametrize("n", [200, 300, 1000, 5000])
def test_the_mean_test_keeps_its_level_in_many_runs(payoff: Payoff, draw: Draw, n: int, seed: int) -> None:
    runs = 20_000
    found = rejections(payoff, draw, n, runs, seed)
    print(f"{payoff.describe()}, {n} trials: {found / runs:.4f}")
    assert not is_above(found, runs)
    assert found / runs <= 0.055


def few_pairs_rejected(payoff: Payoff, draw: Draw, n: int, runs: int, seed: int) -> int:
    """With the choice of the method: few rare events, or much skewness, are left to betting."""
    rng = np.random.default_rng(seed)
    return sum(payoff_test(payoff, *draw(rng, n), LEVEL).p_value <= LEVEL for _ in range(runs))


@pytest.mark.parametrize(("payoff", "draw"), CASES)
def test_a_payoff_keeps_its_level_with_a_hundred_pairs(payoff: Payoff, draw: Draw, seed: int) -> None:
    assert not is_above(few_pairs_rejected(payoff, draw, 100, 2000, seed), 2000)


@pytest.mark.slow
@pytest.mark.parametrize(("payoff", "draw"), CASES)
@pytest.mark.parametrize("n", [99, 100, 150])
def test_a_payoff_keeps_its_level_with_few_pairs_in_many_runs(payoff: Payoff, draw: Draw, n: int, seed: int) -> None:
    runs = 20_000
    found = few_pairs_rejected(payoff, draw, n, runs, seed)
    print(f"{payoff.describe()}, {n} trials: {found / runs:.4f}")
    assert not is_above(found, runs)
    assert found / runs <= 0.055


def test_without_the_skewness_and_with_few_trials_the_test_is_caught(seed: int) -> None:
    """The planted fault: the plain z at 60 trials rejects in 7 % of the runs."""
    rng, runs = np.random.default_rng(seed), 8000
    p, q = gaussian(rng, 60 * runs)
    x, y = CURVE.of_dataset(p).reshape(runs, 60), CURVE.of_neighbour(q).reshape(runs, 60)
    spread = np.sqrt((x.var(axis=1, ddof=1) + y.var(axis=1, ddof=1)) / 60)
    z = (x.mean(axis=1) - y.mean(axis=1) - CURVE.allowed) / spread
    assert is_above(int((z > stats.norm.isf(LEVEL)).sum()), runs)


def test_an_allowed_mean_that_is_too_small_is_caught(seed: int) -> None:
    """The planted fault: the profile at negative epsilon is left out of the allowed mean."""
    half = CurvePayoff(CURVE.tau, CURVE.allowed * 0.97)
    assert is_above(rejections(half, gaussian, 1000, 500, seed), 500)


# Betting --------------------------------------------------------------------------------------------------------------


def payoffs(payoff: Payoff, draw: Draw, rng: np.random.Generator, n: int) -> np.ndarray:
    p, q = draw(rng, n)
    return payoff.of_dataset(p) - payoff.of_neighbour(q) - payoff.allowed


@pytest.mark.parametrize(("payoff", "draw"), CASES)
def test_bets_are_seldom_won_at_any_time(payoff: Payoff, draw: Draw, seed: int) -> None:
    rng, runs = np.random.default_rng(seed), 600
    won = sum(betting_p_value([payoffs(payoff, draw, rng, 4000)], payoff.largest_loss) <= LEVEL for _ in range(runs))
    assert not is_above(won, runs)


@pytest.mark.slow
@pytest.mark.parametrize(("payoff", "draw"), CASES)
def test_bets_are_seldom_won_by_20000_pairs(payoff: Payoff, draw: Draw, seed: int) -> None:
    rng, runs = np.random.default_rng(seed), 4000
    won = sum(betting_p_value([payoffs(payoff, draw, rng, 20_000)], payoff.largest_loss) <= LEVEL for _ in range(runs))
    print(f"{payoff.describe()}: {won / runs:.4f}")
    assert not is_above(won, runs)


def test_bets_are_won_at_every_number_of_pairs_where_the_claim_is_false(seed: int) -> None:
    def quieter(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = 1 + 0.8 * rng.normal(size=n), 0.8 * rng.normal(size=n)
        return x - 0.5, y - 0.5

    rng = np.random.default_rng(seed)
    won = [betting_p_value([payoffs(CURVE, quieter, rng, 2000)], CURVE.largest_loss) <= LEVEL for _ in range(50)]
    assert sum(won) >= 45  # each fails with a probability below 1e-3


def planted_score_trained_on_the_pair(rng: np.random.Generator) -> bool:
    """Bets on each pair with the sign of the score that suits this very pair."""
    p, q = gaussian(rng, 2000)
    flip = np.where(CURVE.of_dataset(p) - CURVE.of_neighbour(q) > CURVE.of_dataset(-p) - CURVE.of_neighbour(-q), 1, -1)
    own = CURVE.of_dataset(flip * p) - CURVE.of_neighbour(flip * q) - CURVE.allowed
    return betting_p_value([own], CURVE.largest_loss) <= LEVEL


def planted_negative_bets(rng: np.random.Generator) -> bool:
    """Bets against the payoff too: wins when the mechanism is more private than claimed."""
    p, q = rng.normal(size=2000) + 0.4, rng.normal(size=2000) - 0.4
    own = CURVE.of_dataset(p) - CURVE.of_neighbour(q) - CURVE.allowed
    total, squares, log_wealth, most = 0.0, 10.0, 0.0, 0.0
    for payoff in own:
        log_wealth += np.log1p(np.clip(total / squares, -0.05, 0.05) * payoff)
        most = max(most, log_wealth)
        total, squares = total + payoff, squares + payoff**2
    return most >= -np.log(LEVEL)


def planted_restart_after_a_loss(rng: np.random.Generator) -> bool:
    """Starts again at wealth 1 after every 300 pairs, until one start is lucky."""
    own = payoffs(CURVE, gaussian, rng, 12_000).reshape(40, 300)
    return any(betting_p_value([block], CURVE.largest_loss) <= LEVEL for block in own)


def planted_present_payoff_in_the_bet(rng: np.random.Generator) -> bool:
    """The bet on a pair depends on that pair."""
    own = payoffs(CURVE, gaussian, rng, 400)
    bets = np.where(own > 0, 1 / (2 * CURVE.largest_loss), 0)
    return bool(np.log1p(bets * own).sum() >= -np.log(LEVEL))


@pytest.mark.parametrize(
    "planted",
    [
        planted_score_trained_on_the_pair,
        planted_negative_bets,
        planted_restart_after_a_loss,
        planted_present_payoff_in_the_bet,
    ],
)
def test_planted_faults_of_a_bettor_are_caught(planted: Callable[[np.random.Generator], bool], seed: int) -> None:
    rng, runs = np.random.default_rng(seed), 300
    assert is_above(sum(planted(rng) for _ in range(runs)), runs)


def test_a_payoff_below_the_largest_loss_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^payoffs="):
        Bettor(largest_loss=1.0).bet(np.array([0.5, -1.01]))
