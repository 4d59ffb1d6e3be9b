"""The wrong mechanisms of few outcomes have the epsilon that their formulas say, where they are said to."""

import math

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import PureDP
from dpverdict.mechanisms.broken import any_by_name
from dpverdict.mechanisms.broken.selection import ALL, SelectionMutant
from dpverdict.mechanisms.core.bounds import AttainedLoss

APPROACHED = {"X3", "A1", "A2", "A4"}  # with a lead, or a number of queries, that no event here reaches
BOUNDED = {"Q2"}  # the bound of bounded range is above its true epsilon
SHORT = ("X2", "X3", "A1", "A2", "A4", "A5", "A6")  # slow at large d


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_claim_is_refuted_exactly_where_it_is_said_to_be(mutant: SelectionMutant) -> None:
    for dim in range(mutant.least_dim, 5 if mutant.name in SHORT else 10):
        status = certify(mutant.make(dim, 1)).status
        assert (status is Status.REFUTED) == mutant.refutable(dim), dim


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_true_epsilon_is_certified_and_a_little_less_is_refuted(mutant: SelectionMutant) -> None:
    truth = mutant.true_epsilon(4, "1/2")
    made = mutant.make(4, "1/2")
    if math.isinf(truth):
        assert certify(made, PureDP("0.7")).status is Status.REFUTED
        return
    if mutant.name not in BOUNDED:
        assert certify(made, PureDP(truth * (1 + 1e-9))).status is Status.CERTIFIED
    less = truth * (0.7 if mutant.name in APPROACHED else 1 - 1e-4)
    assert certify(made, PureDP(less)).status is Status.REFUTED


def test_the_true_epsilon_of_a_renormalised_count_is_the_largest_over_all_pairs() -> None:
    mutant = any_by_name("Q2")
    assert isinstance(mutant, SelectionMutant)
    for dim in (2, 3, 6):
        made = mutant.make(dim, 1)
        weights = np.exp(-np.abs(np.arange(dim + 1)[:, None] - np.arange(dim + 1)[None]))
        laws = weights / weights.sum(axis=1, keepdims=True)
        largest = max(np.abs(np.log(laws[i] / laws[i + 1])).max() for i in range(dim))
        assert mutant.true_epsilon(dim, 1) == pytest.approx(largest, rel=1e-12)
        (attained,) = made.below()
        assert isinstance(attained, AttainedLoss)
        assert attained.loss.epsilon(0) == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize("name", ["X4", "A3", "Q3"])
def test_the_event_is_released_as_often_as_it_is_said_to_be(name: str, seed: int) -> None:
    made = any_by_name(name).make(3, 1)
    worst = worst_case(made)
    (attained,) = made.below()
    assert isinstance(attained, AttainedLoss)
    loss = attained.loss
    assert isinstance(loss, FiniteLoss)
    n = 100_000
    for side, data in ((0, worst.pair.dataset), (1, worst.pair.neighbour)):
        released = made.release_many(data, n, np.random.default_rng([seed, side]))
        seen = {
            "X4": lambda found: found[:, 0] <= 0,
            "A3": lambda found: (found[:, 0] == 2) & (found[:, 1] <= 0),
            "Q3": lambda found: found[:, 0] < 3,
        }[name](released).mean()
        chance = [float(enclosure.upper) for enclosure in loss.certified_tails(0.5)][side]
        assert abs(seen - chance) <= 6 * math.sqrt(chance * (1 - chance) / n) + 36 / n  # probability 2e-9, six times
        assert 0 <= seen < 1


def test_only_the_pair_that_is_known_has_a_loss() -> None:
    made = any_by_name("X4").make(3, 1)
    assert neighbour_loss(made, [0, 0, 0], [1, 1, 1]).delta(1) > 0
    with pytest.raises(InvalidValue, match="no other loss"):
        neighbour_loss(made, [0, 0, 0], [1, 1, 0])


def test_arguments_out_of_range_are_refused() -> None:
    assert any_by_name("X4").where_refutable() == "all from d = 3"  # type: ignore[union-attr]
    assert any_by_name("X1").where_refutable() == "all"  # type: ignore[union-attr]
    for dim, epsilon in ((0, 1), (1, 1), (2, 0), (True, 1)):
        with pytest.raises(InvalidValue):
            any_by_name("X1").make(dim, epsilon)


@pytest.mark.parametrize("name", ["U1", "U2", "U3"])
def test_twenty_thousand_reports_refute_a_wrong_randomiser(name: str, seed: int) -> None:
    made = any_by_name(name).make(3, 1)
    found = distinguish(made, worst_case(made).pair, made.claim, error_probability=1e-6, samples=20_000, seed=seed)
    assert found.refuted
