"""What bounds the privacy of selection: against exhaustive neighbours, and attained where it is said to be."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    ExponentialMechanism,
    NeighbourPair,
    PermuteAndFlip,
    PureDP,
    ReportNoisyMax,
    parse_guarantee,
)
from dpverdict.mechanisms.core.bounds import NearbyPairs
from dpverdict.mechanisms.finite.selection import Selection

F = Fraction
LEVELS = ("0", "0.25", "0.7")


def made(kind: str, options: int, adjacency: Any = REPLACE_ONE, **others: Any) -> Selection:
    if kind == "exponential":
        return ExponentialMechanism(options=options, epsilon=1, adjacency=adjacency, **others)
    if kind == "permute-and-flip":
        return PermuteAndFlip(options=options, epsilon=1, adjacency=adjacency, **others)
    return ReportNoisyMax(options=options, epsilon=1, adjacency=adjacency, noise="laplace", **others)


KINDS = ("exponential", "permute-and-flip", "report-noisy-max")


def no_neighbours_are_above_the_bound(mechanism: Selection, scores: list[tuple[Fraction, ...]]) -> float:
    """The largest loss seen over all moves by -1, 0 or 1 (or by 0 or 1) of every score."""
    monotone = mechanism.adjacency is ADD_OR_REMOVE_ONE
    bound = worst_case(mechanism).loss
    most = {level: bound.certified_delta(level).upper for level in LEVELS}
    largest = 0.0
    for u in scores:
        here = mechanism.weights(u)
        for moves in itertools.product((0, 1) if monotone else (-1, 0, 1), repeat=len(u)):
            if len(set(moves)) == 1:
                continue
            there = mechanism.weights([a + b for a, b in zip(u, moves, strict=True)])
            for one, other in ((here, there), (there, here)):
                loss = FiniteLoss.of_weights(one, other)
                for level in LEVELS:
                    assert loss.certified_delta(level).lower <= most[level], (u, moves, level)
                largest = max(largest, loss.epsilon(0))
    return largest


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_OR_REMOVE_ONE], ids=["replace", "add"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_holds_for_exhaustive_neighbours(kind: str, adjacency: Any) -> None:
    scores = [(F(0), F(0), F(0)), (F(0), F(1), F(3)), (F(0), F(0), F(30)), (F(1, 2), F(2), F(2))]
    pairs = [(F(0), F(gap)) for gap in (0, 1, 2, 9)]
    largest = max(
        no_neighbours_are_above_the_bound(made(kind, 3, adjacency), scores),
        no_neighbours_are_above_the_bound(made(kind, 2, adjacency), pairs),
    )
    assert 0.9 < largest <= 1 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_OR_REMOVE_ONE], ids=["replace", "add"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_holds_for_many_neighbours(kind: str, adjacency: Any) -> None:
    grid = [F(0), F(1, 2), F(1), F(2), F(5)]
    no_neighbours_are_above_the_bound(made(kind, 3, adjacency), list(itertools.product(grid, repeat=3)))


def test_a_planted_half_of_the_noise_breaks_the_bound() -> None:
    for kind in KINDS:
        mechanism = made(kind, 3)
        wrong: Any = made(kind, 3, **({"rate": 1} if kind != "report-noisy-max" else {"scale": 1}))
        bound = worst_case(mechanism).loss
        loss = FiniteLoss.of_weights(wrong.weights([0, 0, 0]), wrong.weights([1, -1, -1]))
        assert loss.certified_delta("0.7").lower > bound.certified_delta("0.7").upper
        assert certify(wrong).status is Status.REFUTED
        assert certify(wrong, PureDP(2)).status is Status.CERTIFIED


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_OR_REMOVE_ONE], ids=["replace", "add"])
@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("options", [2, 5])
def test_the_bound_is_attained_at_every_level(kind: str, adjacency: Any, options: int) -> None:
    mechanism = made(kind, options, adjacency)
    worst, (family,) = worst_case(mechanism), mechanism.below()
    assert isinstance(family, NearbyPairs)
    for level in ("0", "0.3", "0.9"):
        near = family.at_level(F(level))
        assert near.loss.delta(level) >= worst.loss.delta(level) * (1 - 1e-8)
        pair = near.pair
        assert NeighbourPair(dataset=pair.dataset, neighbour=pair.neighbour, adjacency=pair.adjacency).position() == 0


def test_a_claim_between_what_is_shown_and_what_bounds_is_undecided_and_says_so() -> None:
    mechanism = made("report-noisy-max", 3)
    verdict = certify(mechanism, ApproximateDP("0.5", "0.1"))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    assert "true for epsilon >= 0.7893, false for epsilon <= 0.3745, and between them undecided" in verdict.reason
    assert certify(mechanism, ApproximateDP("0.5", "0.05")).status is Status.REFUTED
    assert certify(mechanism, ApproximateDP("0.5", "0.2213")).status is Status.CERTIFIED


def test_a_refutation_shows_the_pair_it_is_about() -> None:
    verdict = certify(made("exponential", 4), parse_guarantee("eps=0.5, delta=0.0774"))
    assert verdict.status is Status.REFUTED
    witness = verdict.witness
    assert witness is not None
    mechanism = made("exponential", 4)
    p, q = (mechanism.probabilities(data) for data in (witness.pair.dataset, witness.pair.neighbour))
    assert p[0] - np.exp(0.5) * q[0] > 0.0774
    assert witness.event.startswith("the outcome is one of: option 0: ")
    assert witness.probability.lower <= p[0] * (1 + 1e-9)
    assert p[0] * (1 - 1e-9) <= witness.probability.upper


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_in_float64_is_the_exact_one(kind: str) -> None:
    mechanism = made(kind, 4)
    records = np.array([[1.0, 0.25, 0, 0], [1, 1, 0, 0.5], [1, 0, 0, 0]])
    exact = FiniteLoss.of_weights(mechanism.weights(records.sum(axis=0).tolist()), mechanism.weights([0, 0, 0, 0]))
    p, q = mechanism.probabilities(records), np.full(4, 0.25)
    assert exact.delta(0) == pytest.approx(np.maximum(p - q, 0).sum(), rel=1e-12)
    score = mechanism.likelihood_score(
        NeighbourPair(dataset=records, neighbour=np.concatenate([np.zeros((1, 4)), records[1:]]), adjacency=REPLACE_ONE)
    )
    assert score(np.array([[0.0], [3.0]]))[0] > 0


def test_the_loss_of_one_record_is_that_of_its_scores() -> None:
    mechanism = made("exponential", 3)
    loss = neighbour_loss(mechanism, [1, 0, 0], [0, 1, 1])
    direct = FiniteLoss.of_weights(mechanism.weights([1, 0, 0]), mechanism.weights([0, 1, 1]))
    assert loss.delta("0.2") == direct.delta("0.2")
    assert neighbour_loss(mechanism, [1, 1, 1], [0, 0, 0]).delta(0) == 0
    (family,) = mechanism.below()
    assert isinstance(family, NearbyPairs)
    assert family.shown.loss.delta("0.2") > 0


def test_what_is_no_selection_is_refused() -> None:
    for options, message in ((1, "options"), (2.5, "options"), (1 << 17, "options")):
        with pytest.raises(InvalidValue, match=message):
            made("exponential", options)  # type: ignore[arg-type]
    mechanism = made("exponential", 3)
    with pytest.raises(InvalidValue, match="dataset entry"):
        mechanism.release([[0, 0, 2]], np.random.default_rng(1))
    with pytest.raises(InvalidValue, match="3 numbers"):
        mechanism.weights([0, 0])
    with pytest.raises(InvalidValue, match="sensitivity"):
        ExponentialMechanism(options=3, epsilon=1, adjacency=REPLACE_ONE, sensitivity=0)


def test_scores_in_other_units_are_the_same_mechanism() -> None:
    one = ExponentialMechanism(options=2, epsilon=1, adjacency=REPLACE_ONE)
    scaled = ExponentialMechanism(options=2, epsilon=1, adjacency=REPLACE_ONE, sensitivity=8)
    assert scaled.weights([8, 0]) == one.weights([1, 0])
    assert worst_case(scaled).loss.delta("0.5") == worst_case(one).loss.delta("0.5")
