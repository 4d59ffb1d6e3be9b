"""A bound on mu beyond a claim that is refuted exceeds the truth no more often than stated.

The share of the test that refuted is spent again there, on one test for every mu. A rate is declared too high when an
exact binomial test gives it less than WRONGLY_DECLARED.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.statistics.joint_test import Counts, PValueMethod, mu_lower
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair

WRONGLY_DECLARED = 1e-6
ERROR = 0.5
PAIR = NeighbourPair(dataset=np.ones((1, 1)), neighbour=np.zeros((0, 1)), adjacency=ADD_OR_REMOVE_ONE)


class Quieter:
    """Exactly mu-GDP on the pair, with the likelihood ratio of 1-GDP."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def release_many(self, dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(dataset.sum() + rng.normal(size=trials) / self.mu)


class Known(Quieter):
    def likelihood_score(self, pair: NeighbourPair) -> Callable[[np.ndarray], np.ndarray]:
        return lambda y: y[:, 0] - 0.5


def exceeding(mechanism: Quieter, samples: int, runs: int, seed: int) -> int:
    """How many of the bounds are above the true mu."""
    seeds = np.random.SeedSequence(seed).generate_state(runs, np.uint64)
    return sum(
        distinguish(mechanism, PAIR, GaussianDP(1), error_probability=ERROR, samples=samples, seed=int(one)).mu_lower
        > mechanism.mu
        for one in seeds
    )


def is_above(found: int, runs: int) -> bool:
    """Whether the rate is above the stated error probability beyond doubt."""
    return bool(stats.binomtest(found, runs, ERROR, alternative="greater").pvalue < WRONGLY_DECLARED)


@pytest.mark.parametrize("mechanism", [Known(1.1), Quieter(1.5)])
def test_a_bound_on_mu_beyond_the_claim_exceeds_the_truth_no_more_often_than_stated(
    mechanism: Quieter, seed: int
) -> None:
    assert not is_above(exceeding(mechanism, 2000, 40, seed), 40)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [Known(1.05), Known(1.1), Known(1.5), Quieter(1.05), Quieter(1.1), Quieter(1.5)])
@pytest.mark.parametrize("samples", [500, 2000, 5000])
def test_a_bound_on_mu_beyond_the_claim_exceeds_the_truth_no_more_often_than_stated_in_many_audits(
    mechanism: Quieter, samples: int, seed: int
) -> None:
    assert not is_above(exceeding(mechanism, samples, 300, seed), 300)


def test_a_bound_that_is_a_quarter_too_large_is_caught(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    def greedy(counts: Counts, *, epsilon: float, level: float, method: PValueMethod) -> float:
        return 1.25 * mu_lower(counts, epsilon=epsilon, level=level, method=method)

    monkeypatch.setattr(event_rows, "mu_lower", greedy)
    assert is_above(exceeding(Known(1.5), 2000, 40, seed), 40)
