"""The sensitivity spaces of streams and of Laplace noise, against dense algebra and against records of every kind."""

import inspect
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq_mat

from dpverdict.audit.exact.decide import certify, source_sha256
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import RandomisedResponseLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    FactorizationCounter,
    LaplaceMechanism,
    TreeCounter,
    parse_guarantee,
)
from dpverdict.mechanisms.core.bounds import AttainedLoss
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise, laplace_score
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.queries.laplace import RealRecords

# streams --------------------------------------------------------------------------------------------------------------


def seen_alone(counter: TreeCounter) -> int:
    """How many of the vertices with item 1 the counts determine: unit vectors in the row space of L, by exact rank."""
    nodes, moved = counter.nodes, counter.embed(np.eye(1, counter.horizon)[0])
    rows = nodes.decode(np.eye(nodes.size)).T
    integers = fmpq_mat(*rows.shape, [int(x) for x in rows.ravel()])
    found = 0
    for vertex in np.flatnonzero(moved):
        unit = np.eye(1, nodes.size, vertex)
        more = np.concatenate([rows, unit])
        found += fmpq_mat(*more.shape, [int(x) for x in more.ravel()]).rank() == integers.rank()
    return found


@pytest.mark.parametrize("arity", [2, 3, 4, 5])
def test_the_counts_show_the_vertices_of_the_first_item_alone_from_its_power_on(arity: int) -> None:
    for horizon in range(1, 30):
        for digits in ("offset", "ordinary"):
            counter = TreeCounter(horizon=horizon, epsilon=1, arity=arity, digits=digits)  # type: ignore[arg-type]
            worst = worst_case(counter)
            full = counter.nodes.alone == counter.height
            assert full == (arity ** (counter.height - 1) <= horizon)
            assert worst.exact == (full or counter.nodes.invertible())
            assert seen_alone(counter) >= counter.nodes.alone
            if worst.exact:
                assert seen_alone(counter) == counter.height
            rate = Fraction(1, counter.height)
            assert worst.loss.law_key == RandomisedResponseLoss(counter.height, rate).law_key
            if not worst.exact and counter.nodes.alone:
                (attained,) = counter.below()
                assert isinstance(attained, AttainedLoss)
                assert attained.loss.law_key == RandomisedResponseLoss(counter.nodes.alone, rate).law_key


def test_a_certificate_of_a_counter_hashes_the_tree_it_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = [
        TreeCounter(horizon=12, epsilon=1, arity=5),
        FactorizationCounter(horizon=12, kind="honaker", noise="laplace", claim="eps=1"),
    ]
    source = inspect.getsource
    for counter, file in zip(counters, ("streams.tree", "streams.factorizations"), strict=True):
        before = source_sha256(counter)

        def changed(module: Any, file: str = file) -> str:
            return source(module) + ("# changed" if module.__name__.endswith(file) else "")

        with monkeypatch.context() as patch:
            patch.setattr(inspect, "getsource", changed)
            assert source_sha256(counter) != before
        assert source_sha256(counter) == before


def test_where_the_worst_case_is_a_bound_what_is_attained_still_refutes() -> None:
    counter = TreeCounter(horizon=20, epsilon=1, arity=5)  # 5^2 > 20: two of three levels are seen
    assert [
        certify(counter, parse_guarantee(claim)).status for claim in ("eps=1", "eps=0.9", "eps=0.67", "eps=0.66")
    ] == [Status.CERTIFIED, Status.INCONCLUSIVE, Status.INCONCLUSIVE, Status.REFUTED]


@pytest.mark.parametrize("kind", ["binary", "honaker", "smooth-binary", "sqrt-toeplitz"])
@pytest.mark.parametrize("horizon", [1, 2, 7, 12, 19])
def test_columns_are_those_of_the_dense_factor(kind: Any, horizon: int) -> None:
    counter = FactorizationCounter(horizon=horizon, kind=kind, noise="laplace", claim="eps=1")
    norms = []
    for item in range(1, horizon + 1):
        dense = np.sort(np.abs(counter.embed(np.eye(1, horizon, item - 1)[0])))
        entries = sorted(float(value) for value, count in counter.factorization.column(item) for _ in range(count))
        np.testing.assert_allclose(dense[dense > 1e-9], entries, rtol=1e-9)
        norms.append(math.fsum(entries))
    assert norms[0] == max(norms)
    assert math.isclose(norms[0], counter.factorization.l1_sensitivity().nearest(), rel_tol=1e-12)
    assert worst_case(counter).exact == (counter.noise.size == horizon)


def test_the_loss_of_an_item_depends_on_its_place_and_its_move() -> None:
    counter = TreeCounter(horizon=12, epsilon=1, arity=5, noise="continuous")
    first, middle = (neighbour_loss(counter, 1.0, 0.0, position=i) for i in (0, 2))
    assert isinstance(first, LaplaceLoss)
    assert isinstance(middle, LaplaceLoss)
    assert (first.total, middle.total) == (1, Fraction(1, 2))  # the middle child of a vertex is in no use
    half = neighbour_loss(counter, 0.25, 0.75)
    assert isinstance(half, LaplaceLoss)
    assert half.total == Fraction(1, 2)
    assert neighbour_loss(counter, 1.0, 1.0).delta(0) == 0.0
    for position in (-1, 12):
        with pytest.raises(InvalidValue, match="position"):
            neighbour_loss(counter, 1.0, 0.0, position=position)


def test_gaussian_counters_are_exactly_mu_gdp_from_the_column_norm() -> None:
    counter = FactorizationCounter(horizon=64, kind="sqrt-toeplitz", noise="gaussian", claim="mu=1")
    assert certify(counter).status is Status.CERTIFIED
    assert certify(counter, parse_guarantee("mu=0.999999")).status is Status.REFUTED
    weights, offset = counter.likelihood_direction(worst_case(counter).pair)
    means = [counter.decode(counter.embed(x)[None])[0] @ weights - offset for x in np.eye(2, 64)]
    assert math.isclose(means[0], 0.5, rel_tol=1e-9)
    laplace = FactorizationCounter(horizon=4, kind="binary", noise="laplace", claim="eps=1")
    with pytest.raises(InvalidValue, match="likelihood_score"):
        laplace.likelihood_direction(worst_case(laplace).pair)


# real records under Laplace noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
def test_no_pair_of_records_exceeds_the_worst(norm: Any, relation: Any, seed: int) -> None:
    mechanism = LaplaceMechanism(dim=4, epsilon=2, adjacency=relation, norm=norm, radius="0.75")
    worst, rng = worst_case(mechanism).loss, np.random.default_rng(seed)
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    for _ in range(15):
        records = rng.exponential(size=(2, 4)) * (1 if norm == "linf" else rng.choice([-1, 1], size=(2, 4)))
        records *= rng.choice([0.0, 1.0], size=(2, 4), p=[0.3, 0.7])
        size = np.linalg.norm(records, order, axis=1, keepdims=True)
        records *= 0.75 * (1 - 1e-12) / np.maximum(size, 1e-9)
        loss = neighbour_loss(mechanism, records[0], records[1] if relation is REPLACE_ONE else None)
        for epsilon in ("0", "0.3", "1.2"):
            assert loss.certified_delta(epsilon).lower <= worst.certified_delta(epsilon).upper


def test_one_coordinate_dominates_every_split_of_the_same_l1_norm() -> None:
    whole = LaplaceLoss(["1.2"])
    for split in (["0.6", "0.6"], ["1", "0.2"], ["0.3"] * 4, ["0.7", "0.3", "0.2"]):
        for epsilon in ("0", "0.1", "0.6", "1.1"):
            assert LaplaceLoss(split).certified_delta(epsilon).upper <= whole.certified_delta(epsilon).lower
    longer = LaplaceLoss(["0.7", "0.7"])  # the order is that of the l1 norm: this one is not dominated
    assert longer.certified_delta("0.6").lower < whole.certified_delta("0.6").upper
    assert longer.certified_delta("1.3").lower > whole.certified_delta("1.3").upper


def test_an_l2_ball_is_decided_from_both_sides() -> None:
    mechanism = LaplaceMechanism.from_concentrated(
        dim=100, epsilon=1, delta="1e-5", adjacency=ADD_OR_REMOVE_ONE, norm="l2"
    )
    statuses = [
        certify(mechanism, parse_guarantee(claim)).status
        for claim in ("eps=1, delta=1e-5", "eps=0.98, delta=1e-5", "eps=0.8, delta=1e-5", "rho=0.031", "rho=0.03")
    ]
    assert statuses == [
        *(Status.CERTIFIED, Status.INCONCLUSIVE, Status.REFUTED, Status.CERTIFIED, Status.REFUTED),
    ]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_records_just_outside_of_a_ball_are_refused_exactly(norm: Any) -> None:
    mechanism = LaplaceMechanism(dim=2, epsilon=1, adjacency=ADD_OR_REMOVE_ONE, norm=norm)
    inside = [0.5, -0.5] if norm == "l1" else [0.6, -0.7999999999999999]
    outside = [0.5, math.nextafter(-0.5, -1)] if norm == "l1" else [0.6, math.nextafter(-0.8, -1)]
    assert mechanism.embed([inside]).shape == (2,)
    with pytest.raises(InvalidValue, match="dataset record"):
        mechanism.embed([inside, outside])
    assert mechanism.embed(np.zeros((0, 2))).tolist() == [0.0, 0.0]


def test_spaces_refuse_other_noise_and_other_relations() -> None:
    space = RealRecords(dim=2, norm="l1", radius=1.0, replaced=False)
    with pytest.raises(InvalidValue, match="noise"):
        space.maximise(SharedNoise(dim=2, independent_scale=1.0))
    with pytest.raises(InvalidValue, match="noise"):
        space.loss(LaplaceNoise(size=2, scale=1.0), np.ones(2), np.zeros(2))
    assert space.loss(LaplaceNoise(size=2, scale=1.0), np.zeros(2)).advantage() == 0
    with pytest.raises(InvalidValue, match="norm"):
        RealRecords(dim=2, norm="l7", radius=1.0, replaced=False)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="radius"):
        RealRecords(dim=2, norm="l1", radius=math.inf, replaced=False)


def test_the_score_of_laplace_noise_keeps_its_atoms_together() -> None:
    here, there = np.array([3.0, 1.0]), np.array([2.0, 1.0])
    values = np.array([[3.0 + 1e-15, 9.0], [1e6 + 0.3, 0.0], [2.0 - 1e-13, 5.0], [2.5, 1.0], [-4.0, 1.0]])
    assert laplace_score(values, here, there, 0.5).tolist() == [0.5, 0.5, -0.5, 0.0, -0.5]
