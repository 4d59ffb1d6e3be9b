"""Exploring trials: how many there are, what they choose, and that a score known beforehand keeps its place."""

from dataclasses import replace

import numpy as np
import pytest

from dpverdict.audit.distinguishing.exploration import (
    FEWEST_EXPLORED,
    MOST_BESIDE_KNOWN,
    MOST_EXPLORED,
    choose_scores,
    explored_trials,
    needs_more_exploration,
)
from dpverdict.audit.scores.candidates import ChosenEvent
from dpverdict.audit.scores.score import LinearScore
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.mechanisms.core.guarantees import GaussianDP, PureDP

SEED = 3


@pytest.mark.parametrize("claim", [GaussianDP(1), PureDP(1)])
@pytest.mark.parametrize("outputs", [1, 20])
def test_the_share_of_the_trials_falls_with_their_number(claim: GaussianDP, outputs: int) -> None:
    totals = [100, 1000, 10_000, 100_000, 10**6, 10**8]
    explored = [explored_trials(outputs, claim, total) for total in totals]
    assert explored == sorted(explored)
    shares = [n / total for n, total in zip(explored, totals, strict=True)]
    assert shares[1:] == sorted(shares[1:], reverse=True)
    assert explored[-1] == MOST_EXPLORED
    assert explored_trials(outputs, claim, 10**8, known=True) == MOST_BESIDE_KNOWN
    assert explored_trials(outputs, claim, 10) == FEWEST_EXPLORED


def test_many_outputs_need_more_trials_than_one() -> None:
    assert explored_trials(20, GaussianDP(1), 10_000) > explored_trials(1, GaussianDP(1), 10_000)


def test_a_learned_score_tells_the_sides_apart_on_trials_that_it_has_not_seen() -> None:
    """Two coordinates, of which the first alone moves, by two standard deviations."""
    rng = np.random.default_rng(SEED)

    def sides(n: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.normal(size=(n, 2)) + np.array([2.0, 0.0]), rng.normal(size=(n, 2))

    scores, order = choose_scores(sides(400), sides(100), GaussianDP(1))
    assert order
    assert len(set(order)) == len(order)
    dataset, neighbour = sides(2000)
    best = order[0]
    means = [float(np.mean(scores.unstack(scores(side))[best])) for side in (dataset, neighbour)]
    assert means[0] > means[1]


def test_more_is_explored_where_an_event_leads_in_doubt_or_nothing_leads_yet() -> None:
    score = LinearScore(name="s", weights=np.ones(1), offset=0.0)

    def chosen(z: float, of_payoff: float, share: float) -> ChosenEvent:
        order, line = Order.DATASET_FIRST, (1.0, 0.0)
        return ChosenEvent(score=score, order=order, threshold=0.0, line=line, share=share, z=z, of_payoff=of_payoff)

    pure, curve = PureDP(1), GaussianDP(1)
    assert needs_more_exploration(chosen(1.0, 2.0, 0.8), pure, 10_000)
    assert needs_more_exploration(chosen(1.0, 2.0, 0.8), curve, 10_000)
    assert needs_more_exploration(chosen(-4.0, -1.0, 0.08), pure, 10_000)
    assert not needs_more_exploration(chosen(-4.0, -1.0, 0.08), curve, 10_000)
    assert not needs_more_exploration(chosen(5.0, -1.0, 0.92), pure, 10_000)  # certain
    assert not needs_more_exploration(chosen(1.0, 2.5, 0.08), pure, 10_000)  # the payoff leads
    assert not needs_more_exploration(chosen(-4.0, -1.0, 0.08), pure, 1_000_000)  # rare things were met there already
    assert needs_more_exploration(replace(chosen(1.0, 2.5, 0.08), atoms=True), pure, 10_000)
    assert needs_more_exploration(replace(chosen(5.0, -1.0, 0.92), atoms=True), pure, 10_000)  # few of them were seen
