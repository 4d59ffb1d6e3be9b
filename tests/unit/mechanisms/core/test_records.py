"""Records of datasets of any kind, and in how many of them two datasets differ."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, ObjectPair, as_pair
from dpverdict.mechanisms.core.records import differing, kinds_differ, records_of


@dataclass
class Person:
    age: int


class Crowd:
    """Has a length, and gives its members."""

    def __init__(self, *ages: int) -> None:
        self.members = [Person(age) for age in ages]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Any:
        return iter(self.members)


class Indexed:
    """Has a length, and gives its members by index alone, as datasets of torch do."""

    def __init__(self, *ages: int) -> None:
        self.members = ages

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, i: int) -> tuple[int, str]:
        return self.members[i], "label"


X, Y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])


class Opaque:
    """Nobody knows what is in it."""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3], [3, 1], (1, 0)),
        ([1, 1], [1], (1, 0)),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], (0, 0)),
        ([1], [1.0], (0, 0)),
        ([1], [True], (1, 1)),
        ([0.0], [-0.0], (1, 1)),
        ([float("nan")], [float("nan")], (0, 0)),
        ([None], [float("nan")], (1, 1)),
        (["1"], [1], (1, 1)),
        (np.ones((3, 2)), np.ones((2, 2)), (1, 0)),
        ({"a": [1, 2], "b": ["x", "y"]}, {"a": [1], "b": ["x"]}, (1, 0)),
        (Crowd(3, 4), Crowd(3, 5), (1, 1)),
        ({1, 2}, {2}, (1, 0)),
        ((X, Y), (X[:2], Y[:2]), (1, 0)),
        ((X, Y), (X + np.array([[0], [0], [1]]), Y * [1, 1, 0]), (1, 1)),
        ((X, Y), (X + 1, Y), (3, 3)),
        (Indexed(1, 2), Indexed(1), (1, 0)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_how_many_records_differ(one: object, other: object, expected: tuple[int, int]) -> None:
    found = records_of(one), records_of(other)
    assert found[0] is not None
    assert found[1] is not None
    assert differing(found[0], found[1]) == expected


@pytest.mark.parametrize(
    "data",
    [3, "text", Opaque(), [lambda: 1], {"a": [1], "b": [1, 2]}, None, (X, Y[:2])],
    ids=lambda one: type(one).__name__,
)
def test_of_some_objects_nobody_knows_the_records(data: object) -> None:
    assert records_of(data) is None


def test_the_relation_is_read_off_and_the_larger_dataset_comes_first() -> None:
    pair = as_pair(([{"a": 1}], [{"a": 1}, {"a": 2}]))
    assert isinstance(pair, ObjectPair)
    assert pair.adjacency is ADD_OR_REMOVE_ONE
    assert pair.dataset == [{"a": 1}, {"a": 2}]
    assert pair.compared
    assert "2 against 1 records (list)" in pair.describe()
    assert as_pair((Crowd(1, 2), Crowd(2, 3))).adjacency is REPLACE_ONE


@pytest.mark.parametrize("datasets", [([1, 2], [1, 2]), ([1, 2], [2, 1]), ([1, 2, 3], [1]), ([1, 2], [3, 4])])
def test_what_is_no_pair_is_refused_with_the_number_of_records(datasets: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^neighbours="):
        as_pair(datasets)


def test_a_relation_between_objects_nobody_can_compare_is_stated() -> None:
    with pytest.raises(InvalidValue, match="ObjectPair"):
        as_pair((Opaque(), Opaque()))
    pair = ObjectPair(dataset=Opaque(), neighbour=Opaque(), adjacency=REPLACE_ONE)
    assert not pair.compared
    assert "as stated" in pair.describe()
    with pytest.raises(InvalidValue, match="neighbours"):
        ObjectPair(dataset=[1, 2, 3], neighbour=[1], adjacency=ADD_OR_REMOVE_ONE)
    ObjectPair(dataset=[1, 2, 3], neighbour=[1], adjacency=ADD_OR_REMOVE_ONE, records_per_user=2)
    with pytest.raises(InvalidValue, match="neighbours"):
        ObjectPair(dataset=[1, 2], neighbour=[1, 3], adjacency=ADD_OR_REMOVE_ONE)


def test_frames_are_compared_by_row_and_a_promoted_column_is_told() -> None:
    pandas = pytest.importorskip("pandas")
    whole = pandas.DataFrame({"a": [1, 2], "s": ["x", "y"]})
    pair = as_pair((whole, whole.iloc[1:]))
    assert pair.adjacency is ADD_OR_REMOVE_ONE
    missing = pandas.DataFrame({"a": [1, np.nan], "s": ["x", "y"]})
    assert "column a is int64 on one side and float64 on the other" in as_pair((whole, missing)).describe()
    assert kinds_differ(np.ones(2), np.ones(2, dtype=int)) is not None


def test_other_frames_and_tensors_are_compared_where_they_are_installed() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2]})
    assert records_of(frame.lazy()) == records_of(frame)
    assert as_pair((frame, frame.head(1))).adjacency is ADD_OR_REMOVE_ONE
    torch = pytest.importorskip("torch")
    assert as_pair((torch.ones(3, 2), torch.ones(2, 2))).adjacency is ADD_OR_REMOVE_ONE
