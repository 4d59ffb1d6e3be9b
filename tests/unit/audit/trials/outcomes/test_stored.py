"""Datasets as JSON values: bit for bit the same after the way there and back, and nothing is ever unpickled."""

import json
import pickle
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.outcomes.stored import data_hash, loaded, stored, written

OBJECTS = [
    [1, 2.5, None, "x", True],
    [{"age": 3, "name": "é"}, {"age": 4, "name": "b"}],
    [float("nan"), -0.0, 1e-320, float("inf")],
    (1, [2, (3,)]),
    {"a": [1, 2], "b": ["x", "y"]},
    np.array([np.nan, 1.0]),
    np.array([b"x", b"yz"]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.array([1, "a", None], dtype=object),
    [2**100, np.int8(3)],
]


@pytest.mark.parametrize("data", OBJECTS, ids=repr)
def test_there_and_back(data: Any) -> None:
    form = written(data)
    assert form is not None
    again = loaded(json.loads(json.dumps(form)))
    assert type(again) is type(data)
    assert data_hash(again) == data_hash(data)
    assert stored(again) == form


def test_frames_come_back_with_their_types_and_labels() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "n": np.array([1, 2], dtype=np.int8),
            "x": [0.1, np.nan],
            "s": ["a", None],
            "c": pandas.Categorical(["u", "v"]),
            "t": pandas.to_datetime(["2020-01-01", "2021-01-01"]),
            "i": pandas.array([1, None], dtype="Int64"),
        },
        index=["r", "s"],
    )
    form = written(frame)
    assert form is not None
    pandas.testing.assert_frame_equal(loaded(json.loads(json.dumps(form))), frame)
    series = pandas.Series([1.5, 2.5], name="v")
    pandas.testing.assert_series_equal(loaded(stored(series)), series)


def test_polars_arrow_and_torch_come_back_where_they_are_installed() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, None], "s": ["x", "y"]})
    assert loaded(stored(frame)).equals(frame)
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": [1, 2]})
    assert loaded(stored(table)).equals(table)
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[1.0, 2.0]])
    assert torch.equal(loaded(stored(tensor)), tensor)


class Own:
    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter([3])


def test_what_has_no_form_is_named_by_its_hash_only() -> None:
    assert written(Own()) is None
    assert written([Own()]) is None
    assert len(data_hash(Own())) == 64


def test_a_form_runs_no_code() -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return print, ("unpickled",)

    planted = pickle.dumps(Evil()).hex()
    for form in ({"kind": "pickle", "value": planted}, {"kind": "array", "dtype": "|O", "shape": [1], "data": planted}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            loaded(form)


def test_other_data_have_another_hash() -> None:
    assert data_hash([1, 2]) != data_hash((1, 2))
    assert data_hash([1, 2]) != data_hash([12])
    assert data_hash([0.0]) != data_hash([-0.0])
