"""Pairs of neighbouring datasets: which two arrays are neighbours, and where they differ."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.neighbours import adjacency_name, as_pair, check_adjacency, parse_adjacency

A = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])


@given(st.lists(st.integers(0, 1), min_size=1, max_size=8), st.data())
def test_leaving_out_any_record_makes_a_neighbour(column: list[int], data: st.DataObject) -> None:
    dataset = np.array(column, dtype=np.float64)[:, None]
    i = data.draw(st.integers(0, len(column) - 1))
    pair = NeighbourPair(dataset=dataset, neighbour=np.delete(dataset, i, axis=0), adjacency=ADD_OR_REMOVE_ONE)
    np.testing.assert_array_equal(pair.record, dataset[i])
    np.testing.assert_array_equal(np.delete(dataset, pair.position(), axis=0), pair.neighbour)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=8), st.data())
def test_replacing_any_record_makes_a_neighbour(column: list[int], data: st.DataObject) -> None:
    dataset = np.array(column, dtype=np.float64)[:, None]
    i = data.draw(st.integers(0, len(column) - 1))
    neighbour = dataset.copy()
    neighbour[i] = 0.5
    pair = NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=REPLACE_ONE)
    assert pair.position() == i


@given(st.lists(st.integers(0, 1), min_size=2, max_size=9), st.integers(1, 3), st.data())
def test_all_records_of_one_user_may_be_left_out(column: list[int], q: int, data: st.DataObject) -> None:
    q = min(q, len(column))
    dataset = np.array(column, dtype=np.float64)[:, None]
    i = data.draw(st.integers(0, len(column) - q))
    neighbour = np.concatenate([dataset[:i], dataset[i + q :]])
    pair = NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=ADD_OR_REMOVE_ONE, records_per_user=q)
    assert 0 <= pair.position() <= len(column) - q


def test_a_pair_of_one_record_and_none_says_so() -> None:
    pair = NeighbourPair(dataset=np.ones((1, 20)), neighbour=np.ones((0, 20)), adjacency=ADD_OR_REMOVE_ONE)
    assert pair.describe().startswith("1 against 0 records, add-or-remove-one: [1., 1.")
    assert pair.describe().endswith("(20 values, sum 20)")
    assert "\n" not in pair.describe()
    short = NeighbourPair(dataset=A, neighbour=A[:2], adjacency=ADD_OR_REMOVE_ONE)
    assert short.describe() == "3 against 2 records, add-or-remove-one: [0., 0.]"


@pytest.mark.parametrize(
    ("dataset", "neighbour", "adjacency"),
    [
        (A, A, ADD_OR_REMOVE_ONE),
        (A[:2], A, ADD_OR_REMOVE_ONE),
        (A, A[:1], ADD_OR_REMOVE_ONE),
        (A, A[[1, 0]], ADD_OR_REMOVE_ONE),
        (A, A[:2], REPLACE_ONE),
        (A, 1 - A, REPLACE_ONE),
        (A, A[[1, 0, 2]], REPLACE_ONE),
        (A, A[:2, :1], ADD_OR_REMOVE_ONE),
    ],
)
def test_two_datasets_that_differ_otherwise_are_refused(dataset: Any, neighbour: Any, adjacency: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^neighbours="):
        NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=adjacency)


@pytest.mark.parametrize("bad", [[[1.0]], None, np.float64(1.0), np.array(1.0)])
def test_what_is_no_array_of_records_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^dataset="):
        NeighbourPair(dataset=bad, neighbour=A, adjacency=REPLACE_ONE)
    with pytest.raises(InvalidValue, match=r"^neighbour="):
        NeighbourPair(dataset=A, neighbour=bad, adjacency=REPLACE_ONE)


def test_the_relation_and_the_records_per_user_are_checked() -> None:
    with pytest.raises(InvalidValue, match=r"^adjacency="):
        NeighbourPair(dataset=A, neighbour=A[:2], adjacency="add-or-remove-one")
    with pytest.raises(InvalidValue, match=r"^records_per_user="):
        NeighbourPair(dataset=A, neighbour=A, adjacency=ADD_OR_REMOVE_ONE, records_per_user=0)


def test_relations_are_read_by_name_and_written_back() -> None:
    for relation in (ADD_OR_REMOVE_ONE, REPLACE_ONE):
        name = adjacency_name(relation)
        assert parse_adjacency(name) is parse_adjacency(f" {name.upper().replace('-', '_')} ") is relation
        assert check_adjacency(relation) is relation


@pytest.mark.parametrize("text", ["", "replace", "add-or-remove", "replace_special"])
def test_a_name_of_no_relation_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^adjacency=.* must be one of add-or-remove-one, replace-one: "):
        parse_adjacency(text)


def test_what_is_not_a_number_in_both_datasets_is_no_difference() -> None:
    shared = np.array([[np.nan, 1.0], [0.0, np.nan]])
    pair = NeighbourPair(dataset=shared, neighbour=shared[1:], adjacency=ADD_OR_REMOVE_ONE)
    assert pair.position() == 0
    changed = shared.copy()
    changed[1, 0] = np.nan
    assert as_pair((shared, changed)).position() == 1


def test_two_datasets_are_taken_in_either_order_and_their_lengths_say_the_relation() -> None:
    for datasets in ((A, A[1:]), (A[1:], A)):
        pair = as_pair(datasets)
        assert pair.adjacency is ADD_OR_REMOVE_ONE
        assert np.array_equal(pair.dataset, A)
        assert np.array_equal(pair.neighbour, A[1:])
    other = A.copy()
    other[0] = 1 - other[0]
    assert as_pair((A, other)).adjacency is REPLACE_ONE
    assert as_pair((np.array(["a", "b"]), np.array(["a", "cc"]))).adjacency is REPLACE_ONE
    assert as_pair(pair) is pair


@pytest.mark.parametrize(
    "datasets",
    [
        (A, A[2:]),
        (A, A[[1, 0]]),
        (A, 1 - A),
        (A, A),
        (A, A[:2, :1]),
        (np.float64(1.0), np.float64(2.0)),
        (A, A, A),
        [A, A[1:]],
        A,
        ([[1], [1, 2]], [[3]]),
    ],
)
def test_what_differs_in_more_or_less_than_one_record_is_no_pair(datasets: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^neighbours="):
        as_pair(datasets)
