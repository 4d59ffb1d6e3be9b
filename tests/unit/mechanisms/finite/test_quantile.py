"""Quantiles on an interval: no pair tells more than the bounded range, some pair attains it, and the law is sampled."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverdict.audit import Status, certify
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.finite.quantile import IntervalQuantile
from dpverdict.numerics.arrays import Array

SHARES = st.integers(1, 19).map(lambda n: Fraction(n, 20))
RELATIONS = st.sampled_from((ADD_OR_REMOVE_ONE, REPLACE_ONE))
LEVELS = st.integers(0, 39).map(lambda n: Fraction(n, 40))


def made(share: Fraction, relation: Any, rate: Any = None) -> IntervalQuantile:
    return IntervalQuantile(quantile=share, low=0, high=8, epsilon=1, adjacency=relation, rate=rate)


@given(SHARES, RELATIONS, LEVELS, st.lists(st.integers(0, 8), max_size=6), st.integers(0, 8), st.integers(0, 8))
@settings(deadline=None)
def test_no_pair_tells_more_than_the_range_of_its_losses(
    share: Fraction, relation: Any, level: Fraction, others: list[int], one: int, other: int
) -> None:
    mechanism = made(share, relation)
    rest = np.array(others, dtype=float).reshape(-1, 1)
    here = np.vstack([[[float(one)]], rest])
    there = np.vstack([[[float(other)]], rest]) if relation is REPLACE_ONE else rest
    allowed = BoundedRangeLoss(1).certified_delta(level).upper
    for pair in ((here, there), (there, here)):
        assert mechanism._loss(*pair).certified_delta(level).lower <= allowed


@given(SHARES, RELATIONS, LEVELS)
@settings(deadline=None)
def test_at_every_epsilon_some_pair_attains_the_range(share: Fraction, relation: Any, level: Fraction) -> None:
    mechanism = made(share, relation)
    found = mechanism._nearby(level)
    pair = found.pair
    again = mechanism._loss(pair.dataset, pair.neighbour).certified_delta(level)
    assert found.loss.certified_delta(level).lower == again.lower
    exact = BoundedRangeLoss(1).certified_delta(level)
    assert exact.lower * (1 - 1e-12) <= again.lower <= exact.upper


@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
def test_a_rate_that_is_too_large_is_refuted(relation: Any) -> None:
    right = made(Fraction(1, 4), relation)
    assert certify(right).status is Status.CERTIFIED
    assert (
        certify(made(Fraction(1, 4), relation, rate=right.rate * Fraction(1000001, 1000000))).status is Status.REFUTED
    )


def test_the_median_costs_half_of_an_extreme_quantile_where_a_record_is_added() -> None:
    assert made(Fraction(1, 2), ADD_OR_REMOVE_ONE).move == 1
    assert made(Fraction(1, 20), ADD_OR_REMOVE_ONE).move == Fraction(19, 10)
    assert made(Fraction(1, 20), REPLACE_ONE).move == 2


def by_hand(mechanism: IntervalQuantile, values: Array, at: float) -> float:
    """The distribution function, by a sum over a fine grid of the density that the docstring states."""
    grid = np.linspace(mechanism.low, mechanism.high, 400_001)
    middle = (grid[1:] + grid[:-1]) / 2
    rank = (values[:, None] < middle[None]).sum(axis=0)
    weights = np.exp(-float(mechanism.rate) * np.abs(rank - float(mechanism.quantile) * values.size))
    return float(weights[middle < at].sum() / weights.sum())


def test_releases_have_the_law_of_the_density(seed: int) -> None:
    mechanism = made(Fraction(1, 4), ADD_OR_REMOVE_ONE, rate=1)
    values = np.array([0.5, 1.0, 1.0, 3.0, 7.5, 9.0])
    released = mechanism.release_many(values[:, None], 20_000, np.random.default_rng(seed))[:, 0]
    for at in (0.25, 1.0, 2.0, 5.0):
        expected = by_hand(mechanism, np.clip(values, 0, 8), at)
        assert stats.binomtest(int((released < at).sum()), released.size, expected).pvalue > 1e-9


def test_the_score_is_the_ratio_of_the_laws() -> None:
    mechanism = made(Fraction(1, 4), REPLACE_ONE)
    pair = worst_case(mechanism).pair
    score = mechanism.likelihood_score(pair)(np.array([[0.01], [7.99]]))
    assert score.max() - score.min() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quantile": 1}, "quantile=1 must be"),
        ({"quantile": "1e-9"}, "at least 1/65536 from 0 and 1"),
        ({"high": 0}, "high=0 must be above low=0"),
        ({"high": "0.1"}, "low and high"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"quantile": "1/2", "low": 0, "high": 8, "epsilon": 1, "adjacency": REPLACE_ONE}
    with pytest.raises(InvalidValue, match=message):
        IntervalQuantile(**(given | wrong))
