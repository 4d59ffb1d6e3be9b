"""Above threshold: its bound against exhaustive neighbours, the epsilon that many queries approach, and its errors."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, AboveThreshold, NeighbourPair, PureDP
from dpverdict.mechanisms.finite.law import ScaledNoise, event_law

F = Fraction
LEVELS = ("0", "0.3", "0.8")


def made(queries: int, adjacency: Any = REPLACE_ONE, **others: Any) -> AboveThreshold:
    return AboveThreshold(queries=queries, epsilon=1, adjacency=adjacency, threshold=1, **others)


def loss(mechanism: AboveThreshold, here: Any, there: Any) -> FiniteLoss:
    p, q = mechanism.law(here), mechanism.law(there)
    return FiniteLoss.of_weights(list(p.values()), [q[answers] for answers in p])


def no_neighbours_are_above_the_bound(mechanism: AboveThreshold, wrong: AboveThreshold) -> None:
    monotone = mechanism.adjacency is ADD_OR_REMOVE_ONE
    bound = worst_case(mechanism).loss
    for u in ((0, 0, 0), (0, 1, 3), (4, -2, 1)):
        for moves in itertools.product((0, 1) if monotone else (-1, 1), repeat=3):
            v = [a + b for a, b in zip(u, moves, strict=True)]
            for one, other in ((u, v), (v, u)):
                found = loss(wrong, one, other)
                for level in LEVELS:
                    assert found.certified_delta(level).lower <= bound.certified_delta(level).upper, (u, moves)


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_OR_REMOVE_ONE], ids=["replace", "add"])
def test_the_bound_holds_for_exhaustive_neighbours(adjacency: Any) -> None:
    no_neighbours_are_above_the_bound(made(3, adjacency), made(3, adjacency))


@pytest.mark.slow
def test_the_bound_holds_for_two_positives() -> None:
    no_neighbours_are_above_the_bound(made(3, positives=2), made(3, positives=2))


def test_a_planted_quarter_of_the_noise_breaks_the_bound() -> None:
    with pytest.raises(AssertionError):
        no_neighbours_are_above_the_bound(made(3), made(3, query_scale=1, threshold_scale="0.5"))


@pytest.mark.parametrize(
    ("scales", "limit", "seen"),
    [
        ((2, 4), 1, (0.6146, 0.9489, 0.9987)),
        ((2, 2), F(3, 2), (1.153, 1.483, 1.4998)),
        ((1, 2), 2, (1.276, 1.926, 1.9986)),
    ],
)
def test_epsilon_is_approached_with_the_number_of_queries(scales: Any, limit: Fraction, seen: Any) -> None:
    """Queries (0, ..., 0, 0) against (1, ..., 1, -1) at threshold 0: the log ratio of the event 0...01."""
    threshold, query = (ScaledNoise(Laplace(), 1 / F(scale)) for scale in scales)
    for queries, known in zip((3, 7, 13), seen, strict=True):
        p = event_law(threshold, query, [F(0)] * queries, queries - 1)
        q = event_law(threshold, query, [F(1)] * (queries - 1) + [F(-1)], queries - 1)
        ratio = float(refine(lambda p=p, q=q: (p.ball() / q.ball()).log(), bits=60))  # type: ignore[misc]
        assert ratio == pytest.approx(known, abs=6e-4)
        assert ratio < limit
    mechanism = made(7, threshold_scale=scales[0], query_scale=scales[1])
    assert certify(mechanism, PureDP(limit)).status is Status.CERTIFIED
    assert certify(made(25, threshold_scale=scales[0], query_scale=scales[1]), PureDP(limit * F(9, 10))).status is (
        Status.REFUTED
    )


def test_a_query_without_noise_is_seen_with_certainty() -> None:
    mechanism = made(4, query_scale=0)
    assert isinstance(worst_case(mechanism).loss, DisjointLoss)
    verdict = certify(mechanism, PureDP(50))
    assert verdict.status is Status.REFUTED
    assert verdict.witness is not None
    assert verdict.witness.neighbour_probability.upper == 0


def test_the_event_is_a_sum_of_the_law() -> None:
    mechanism = made(4, positives=2)
    law = mechanism.law([0, 0, 2, 2])
    threshold, query = mechanism.noise.laws()
    assert law[0, 0, 1, 1] == event_law(threshold, query, [F(-1), F(-1), F(1), F(1)], 2)


def test_the_score_is_the_exact_log_likelihood_ratio() -> None:
    mechanism = made(3)
    here, there = np.array([[0.0, 0, 1]]), np.array([[1.0, 1, 0]])
    pair = NeighbourPair(dataset=here, neighbour=there, adjacency=REPLACE_ONE)
    p, q = mechanism.law([0, 0, 1]), mechanism.law([1, 1, 0])
    rows = np.array([[*answers, *[-1] * (3 - len(answers))] for answers in p], dtype=float)
    exact = [float(refine(lambda a=a: (p[a].ball() / q[a].ball()).log(), bits=60)) for a in p]  # type: ignore[misc]
    np.testing.assert_allclose(mechanism.likelihood_score(pair)(rows), exact, rtol=1e-9, atol=1e-9)
    assert neighbour_loss(mechanism, here[0], there[0]).delta(0) == pytest.approx(
        loss(mechanism, [0, 0, 1], [1, 1, 0]).delta(0)
    )


def test_answers_end_after_the_last_positive(seed: int) -> None:
    released = made(6, positives=2).release_many(np.ones((3, 6)), 500, np.random.default_rng(seed))
    for row in released.tolist():
        ended = [i for i, answer in enumerate(row) if answer == 1]
        assert len(ended) <= 2
        assert all(answer == -1 for answer in row[ended[1] + 1 :]) if len(ended) == 2 else -1 not in row


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"queries": 0}, "queries"),
        ({"queries": 2, "positives": 3}, "positives=3"),
        ({"queries": 2, "query_scale": -1}, "query_scale"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        made(**arguments)
    with pytest.raises(InvalidValue, match="2 numbers"):
        made(2).law([0])
