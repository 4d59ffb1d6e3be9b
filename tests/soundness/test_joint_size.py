"""The joint test on two binomials keeps its level at every table size: by enumeration of all tables, without samples.

The size is the largest rejection probability on the boundary p = delta + e^epsilon q of the hypothesis, over a grid of
200 to 400 values of q.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.statistics.joint_test import (
    Counts,
    PValueMethod,
    delta_lower,
    epsilon_lower,
    joint_p_value,
    signed_likelihood_root,
)

LEVEL = 0.05
GRID = [(1.0, 0.127), (1.0, 0.0), (3.0, 1e-5), (0.1, 1e-5), (0.0, 0.383), (-0.5, 0.2)]


def critical_counts(n: int, most: int, rejected: Callable[[Counts], bool]) -> np.ndarray:
    """For each K_Q in 0..most the smallest K_P that is rejected; n + 1 if none is. Rejection is monotone in K_P.

    It is found in steps of 1, 2, 4, .. from that of the K_Q before, which is seldom far, and then by halving.
    """
    found: list[int] = []
    for k_q in range(most + 1):
        low, high, step = -1, n + 1, 1
        at = min(found[-1] if found else n // 2, n)
        while high - low > 1:
            if rejected(Counts(at, n, k_q, n)):
                high = at
            else:
                low = at
            if low >= 0 and high <= n:
                at = (low + high) // 2
            else:
                at, step = min(low + step, n) if high > n else max(high - step, 0), 2 * step
        found.append(high)
    return np.array(found)


def size(n: int, epsilon: float, delta: float, critical: np.ndarray) -> float:
    """The largest rejection probability over the boundary; every K_Q beyond the critical counts is rejected."""
    most = min((1 - delta) * math.exp(-epsilon), 1.0)
    q = np.concatenate(
        [np.linspace(0, most, 200), np.minimum(np.geomspace(0.02 / n, 1, 200), most), [min(1.7 / n, most)]]
    )
    p = np.minimum(delta + math.exp(epsilon) * q, 1.0)
    k_q = np.arange(len(critical))
    tail = np.where(critical <= n, stats.binom.sf(critical[None, :] - 1, n, p[:, None]), 0.0)
    probability = (stats.binom.pmf(k_q[None, :], n, q[:, None]) * tail).sum(axis=1)
    probability += stats.binom.sf(len(critical) - 1, n, q)
    return float(probability[q * n <= len(critical) / 4].max() if len(critical) <= n else probability.max())


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
@pytest.mark.parametrize("n", [12, 20])
def test_the_exact_test_keeps_its_level(n: int, epsilon: float, delta: float) -> None:
    def rejected(counts: Counts) -> bool:
        return joint_p_value(counts, epsilon=epsilon, delta=delta, level=LEVEL) <= LEVEL

    assert size(n, epsilon, delta, critical_counts(n, n, rejected)) <= LEVEL


@pytest.mark.parametrize(("epsilon", "delta"), [(3.0, 1e-5), pytest.param(1.0, 0.0, marks=pytest.mark.slow)])
def test_the_exact_test_keeps_its_level_where_the_expected_count_is_near_two(epsilon: float, delta: float) -> None:
    def rejected(counts: Counts) -> bool:
        return joint_p_value(counts, epsilon=epsilon, delta=delta, level=LEVEL) <= LEVEL

    assert size(1000, epsilon, delta, critical_counts(1000, 9, rejected)) <= LEVEL


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), GRID)
@pytest.mark.parametrize("n", [100, 200])
@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-6])
def test_the_exact_test_keeps_every_level_on_larger_tables(n: int, epsilon: float, delta: float, level: float) -> None:
    def rejected(counts: Counts) -> bool:
        return joint_p_value(counts, epsilon=epsilon, delta=delta, level=level) <= level

    assert size(n, epsilon, delta, critical_counts(n, n, rejected)) <= level


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.127), (3.0, 1e-5)])
def test_two_clopper_pearson_bounds_keep_the_level_and_waste_it(epsilon: float, delta: float) -> None:
    def rejected(counts: Counts) -> bool:
        return (
            joint_p_value(counts, epsilon=epsilon, delta=delta, level=LEVEL, method=PValueMethod.CLOPPER_PEARSON)
            <= LEVEL
        )

    assert size(20, epsilon, delta, critical_counts(20, 20, rejected)) <= LEVEL / 2


def test_the_asymptotic_test_is_caught_where_counts_are_small() -> None:
    """The planted fault: 16.1 % at N = 1000, epsilon = 3, delta = 1e-5, where N q = 1.6."""
    z = float(stats.norm.isf(LEVEL))
    table = signed_likelihood_root(np.arange(1001)[:, None], 1000, np.arange(31)[None, :], 1000, 3.0, 1e-5)
    critical = np.where((table > z).any(axis=0), (table > z).argmax(axis=0), 1001)
    assert size(1000, 3.0, 1e-5, critical) == pytest.approx(0.161, abs=2e-3)
    for count in (0, 3, 49):
        p = [
            joint_p_value(Counts(300, 1000, count, 1000), epsilon=3.0, delta=1e-5, level=LEVEL, method=method)
            for method in (None, PValueMethod.EXACT)
        ]
        assert p[0] == p[1]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 0.1)])
def test_the_bounds_exceed_the_truth_no_more_often_than_stated(epsilon: float, delta: float) -> None:
    """By enumeration: the laws are exactly at (epsilon, delta); the bounds are computed on every table."""
    n = 5
    k = np.arange(n + 1)
    tables = [Counts(int(a), n, int(b), n) for a in k for b in k]
    wrong_epsilon = np.array([epsilon_lower(c, delta=delta, level=LEVEL) > epsilon for c in tables]).reshape(n + 1, -1)
    wrong_delta = np.array([delta_lower(c, epsilon=epsilon, level=LEVEL) > delta for c in tables]).reshape(n + 1, -1)
    for q in np.linspace(0.01, (1 - delta) * math.exp(-epsilon), 25):
        p = min(delta + math.exp(epsilon) * q, 1.0)
        weight = stats.binom.pmf(k, n, p)[:, None] * stats.binom.pmf(k, n, q)[None, :]
        assert (weight * wrong_epsilon).sum() <= LEVEL
        assert (weight * wrong_delta).sum() <= LEVEL
