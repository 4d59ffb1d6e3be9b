"""The search finds the record at which a bug shows, on trials of its own, and ranks a right mechanism as harmless."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.search.neighbour_search import search_neighbours
from dpverdict.audit.trials.run import batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.core.guarantees import GaussianDP, PureDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

Array = NDArray[np.float64]
DIM = 8


@batched
def fails_at_five_ones(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Laplace noise for a mean, but a record with five ones moves the answer by 4: nobody tries that one by chance."""
    five = (dataset.sum(axis=1) == 5).any() if len(dataset) else False
    return dataset.mean(axis=1, keepdims=True).sum() + 4.0 * five + rng.laplace(size=(trials, 1))


@batched
def right(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.mean(axis=1).sum() + rng.laplace(size=(trials, 1))


def test_the_one_kind_of_record_that_matters_is_found() -> None:
    """A pair with it is 4 scales apart and any other 1, so a candidate is misjudged with negligible probability."""
    found = search_neighbours(fails_at_five_ones, PureDP(1), dim=DIM, adjacency=ADD_OR_REMOVE_ONE, samples=8000, seed=3)
    assert found.best.pair.record.sum() == 5
    assert found.best.statistic > 0.5
    assert found.samples <= 8000
    assert len({one.pair.dataset.tobytes() for one in found.ranking}) == len(found.ranking)


def test_of_a_right_mechanism_nothing_promises_much() -> None:
    found = search_neighbours(right, PureDP(1), dim=DIM, adjacency=ADD_OR_REMOVE_ONE, samples=8000, seed=3)
    assert found.best.statistic < 0.2  # 8 standard errors above what the claim allows


def test_the_callers_record_and_the_shared_records_are_used() -> None:
    shared = np.zeros((3, DIM))
    mine = np.array([1, 0, 1, 0, 1, 0, 1, 1.0])
    found = search_neighbours(
        fails_at_five_ones,
        PureDP(1),
        dim=DIM,
        adjacency=ADD_OR_REMOVE_ONE,
        samples=8000,
        seed=3,
        others=shared,
        own=[mine],
    )
    assert found.best.pair.dataset.shape == (4, DIM)
    assert found.best.pair.neighbour.shape == (3, DIM)
    assert any(one.origin == "the caller's record 0" for one in found.ranking[:4])


def test_under_replacement_both_datasets_are_as_long() -> None:
    found = search_neighbours(right, PureDP(1), dim=2, adjacency=REPLACE_ONE, samples=4000, seed=1, domain="unit")
    assert all(one.pair.dataset.shape == one.pair.neighbour.shape for one in found.ranking)
    assert any(0 < one.pair.record.max() < 1 for one in found.ranking)


def test_the_same_seed_finds_the_same() -> None:
    runs = [
        search_neighbours(right, PureDP(1), dim=3, adjacency=ADD_OR_REMOVE_ONE, samples=2000, seed=9) for _ in range(2)
    ]
    assert [one.statistic for one in runs[0].ranking] == [one.statistic for one in runs[1].ranking]


@pytest.mark.slow
def test_the_bug_of_the_twice_drawn_noise_needs_a_record_in_the_middle() -> None:
    """mu^2(j) = 1 - ((j - j*)/j*)^2 + 1/(r + 1): above 1 for j = 8..17 of 20, below at 20."""
    mechanism = broken.by_name("M1").make(20, 1)
    found = search_neighbours(mechanism, GaussianDP(1), dim=20, adjacency=ADD_OR_REMOVE_ONE, samples=80_000, seed=0)
    assert 8 <= found.best.pair.record.sum() <= 17


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"dim": 0}, "dim"),
        ({"samples": 100}, "samples"),
        ({"domain": "ternary"}, "domain"),
        ({"others": np.zeros((2, 3))}, "others"),
        ({"own": [np.zeros(3)]}, "own"),
        ({"own": [np.full(DIM, 2.0)]}, "own"),
        ({"adjacency": None}, "adjacency"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(change: dict[str, object], name: str) -> None:
    arguments = {"dim": DIM, "adjacency": ADD_OR_REMOVE_ONE, "samples": 8000, "seed": 1} | change
    with pytest.raises(InvalidValue) as refused:
        search_neighbours(right, PureDP(1), **arguments)  # type: ignore[arg-type]
    assert refused.value.name == name
