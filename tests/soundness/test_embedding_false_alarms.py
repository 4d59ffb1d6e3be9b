"""The two-sample test of the embedding rejects equal laws no more often than it states: exact binomial tests.

Each of RUNS independent checks of a correct mechanism may reject with probability NOMINAL at most. The number of
rejections is compared with the upper quantile of Bin(RUNS, NOMINAL) at LEVEL, so a test function raises a false alarm
of its own with probability LEVEL at most. Control: a law that is off by a little is rejected far more often.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverdict.audit.implementation.embedding import check_embedding
from dpverdict.audit.statistics.sampler_tests import check_equal_normal_laws
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, CorrelatedGaussian, GroupedGaussian
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

Array = NDArray[np.float64]

NOMINAL = 0.05
LEVEL = 1e-7

MECHANISMS: dict[str, Callable[[], GaussianMechanism]] = {
    "correlated": lambda: CorrelatedGaussian(dim=3, mu=1),
    "one query": lambda: CorrelatedGaussian(dim=1, mu="0.5", C=2),
    "grouped": lambda: GroupedGaussian(groups=2, dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE),
    "grouped, replace": lambda: GroupedGaussian(groups=2, dim=3, mu=2, adjacency=REPLACE_ONE),
}


def assert_within_the_stated_rate(rejections: int, runs: int) -> None:
    p_value = stats.binomtest(rejections, runs, NOMINAL, alternative="greater").pvalue
    assert p_value > LEVEL, f"{rejections} rejections of equal laws in {runs} tests at {NOMINAL}"


def rejections(mechanism: GaussianMechanism, runs: int, samples: int, seed: int) -> int:
    checks = (
        check_embedding(mechanism, samples=samples, error_probability=NOMINAL, seed=seed + i) for i in range(runs)
    )
    return sum(check.sampled.rejected for check in checks)


def normal_runs(runs: int, samples: int, seed: int, scale: float = 1.0) -> int:
    """Rejections of N(0, I) against N(0, scale^2 I) in the plane."""
    projections = {"first": lambda y: y[:, 0], "gap": lambda y: y[:, 0] - y[:, 1]}

    def sampler(deviation: float) -> Callable[[int, np.random.Generator], Array]:
        return lambda trials, rng: deviation * rng.standard_normal((trials, 2))

    results = (
        check_equal_normal_laws(
            sampler(1.0), sampler(scale), projections, samples=samples, error_probability=NOMINAL, seed=seed + i
        )
        for i in range(runs)
    )
    return sum(result.rejected for result in results)


@pytest.mark.parametrize("name", MECHANISMS)
def test_correct_mechanisms_are_rejected_no_more_often_than_stated(name: str, seed: int) -> None:
    assert_within_the_stated_rate(rejections(MECHANISMS[name](), 25, 100, seed), 25)


def test_equal_laws_are_rejected_no_more_often_than_stated(seed: int) -> None:
    assert_within_the_stated_rate(normal_runs(300, 100, seed), 300)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [100, 3000])
def test_equal_laws_are_rejected_no_more_often_than_stated_in_many_runs(samples: int, seed: int) -> None:
    assert_within_the_stated_rate(normal_runs(5000, samples, seed), 5000)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_correct_mechanisms_are_rejected_no_more_often_than_stated_in_many_runs(name: str, seed: int) -> None:
    assert_within_the_stated_rate(rejections(MECHANISMS[name](), 500, 1000, seed), 500)


def test_a_law_that_is_off_is_rejected_in_most_runs(seed: int) -> None:
    # 20 % of the standard deviation at 1000 releases: the F test alone misses it with probability below 1e-6.
    runs = 40
    rejected = normal_runs(runs, 1000, seed, scale=1.2)
    assert rejected == runs
    with pytest.raises(AssertionError, match="rejections of equal laws"):
        assert_within_the_stated_rate(rejected, runs)
