"""Half-lines of one number: the bound of the theorem against exact counting, its size, and where it must find what."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpverdict.audit.distinguishing.events import Event, count_event
from dpverdict.audit.statistics import half_lines as module
from dpverdict.audit.statistics.half_lines import check_half_lines, ranks_to_test, tail_upper
from dpverdict.audit.statistics.joint_test import Order


@pytest.mark.parametrize(("n", "m"), [(7, 5), (40, 60)])
def test_of_one_law_the_bound_is_the_share_of_orders_of_the_pooled_outputs(n: int, m: int) -> None:
    # epsilon = delta = 0 and P = Q continuous: every order of the n + m outputs is as likely as any other
    for j in (1, 2, m // 2):
        orders = [math.comb(k + j - 1, k) * math.comb(n - k + m - j, n - k) for k in range(n + 1)]
        for k in range(math.ceil(n * j / (m + 1)) + 1, n + 1):
            exact = sum(orders[k:]) / math.comb(n + m, n)
            assert exact <= tail_upper(k, n, j, m, 0.0, 0.0) <= 1.12 * exact + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 0.05)])
def test_the_bound_is_the_mean_over_the_order_statistic(epsilon: float, delta: float) -> None:
    for j, k in ((1, 12), (4, 30), (16, 80)):

        def density(u: float, j: int = j, k: int = k) -> float:
            allowed = min(1.0, math.exp(epsilon) * u + delta)
            return float(stats.beta.pdf(u, j, 101 - j) * stats.binom.sf(k - 1, 150, allowed))

        exact = integrate.quad(density, 0, 1, limit=500, points=[0.05, 0.2])[0]
        assert exact * (1 - 1e-6) <= tail_upper(k, 150, j, 100, epsilon, delta) <= 1.15 * exact


def test_the_weights_of_four_sum_to_at_most_one() -> None:
    for trials in (30, 1000, 10**6):
        for epsilon, delta in ((0.0, 0.0), (1.0, 1e-5), (5.0, 0.9), (600.0, 0.0)):
            found = ranks_to_test(trials, epsilon, delta)
            assert 4 * sum(weight for _, weight in found) <= 1
            assert max(rank for rank, _ in found) <= trials


def false_alarms(runs: int, seed: int) -> int:
    """How often the p-value is at most one half for Laplace noise, which is on the line in both orders."""
    rng = np.random.default_rng(seed)
    sides = ((1 + rng.laplace(size=60), rng.laplace(size=60)) for _ in range(runs))
    return sum(check_half_lines(*side, epsilon=1.0, delta=0.0).p_value <= 0.5 for side in sides)


def test_tails_that_are_allowed_are_refuted_no_more_often_than_stated_and_without_weights_more_often(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    assert stats.binomtest(false_alarms(60, seed), 60, 0.5, alternative="greater").pvalue >= 1e-6
    monkeypatch.setattr(module, "ranks_to_test", lambda *given: [(rank, 1.0) for rank, _ in ranks_to_test(*given)])
    assert stats.binomtest(false_alarms(60, seed), 60, 0.5, alternative="greater").pvalue < 1e-6


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("turned", [False, True])
def test_a_region_beyond_the_other_side_is_found_in_either_order_and_at_either_end(order: Order, turned: bool) -> None:
    rng = np.random.default_rng(4)
    plain, region = rng.normal(size=500), np.where(rng.random(500) < 0.08, 50.0, rng.normal(size=500))
    p, q = (region, plain) if order is Order.DATASET_FIRST else (plain, region)
    sign = -1.0 if turned is (order is Order.DATASET_FIRST) else 1.0
    found = check_half_lines(sign * p, sign * q, epsilon=1.0, delta=1e-5)
    assert found.p_value < 1e-3
    assert (found.counts.order, found.turned) == (order, turned)
    score = -1.0 if turned else 1.0
    event = Event(order=order, threshold=found.threshold)
    assert count_event(event, score * sign * p, score * sign * q) == found.counts


def test_values_that_repeat_and_infinite_ones() -> None:
    labels = np.repeat([0.0, 1.0], [30, 70]), np.repeat([0.0, 1.0], [95, 5])
    assert check_half_lines(*labels, epsilon=1.0, delta=0.0).p_value < 1e-3
    same = np.full(50, np.inf), np.full(50, np.inf)
    assert check_half_lines(*same, epsilon=0.0, delta=0.0).p_value == 1
    apart = np.full(50, np.inf), np.full(60, -np.inf)
    assert check_half_lines(*apart, epsilon=1.0, delta=0.0).p_value < 1e-3
    assert check_half_lines(*apart, epsilon=1.0, delta=1.0 - 1e-12).p_value == 1
