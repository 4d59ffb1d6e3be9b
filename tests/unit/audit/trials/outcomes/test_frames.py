"""Values of libraries: what is read as a value, and what is told apart beside it."""

from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.outcomes.canonical import Watched, outcome_of
from dpverdict.audit.trials.outcomes.frames import is_lazy, reader_of
from dpverdict.errors import InvalidValue


def apart(one: object, other: object) -> bool:
    return not outcome_of(one).same_as(outcome_of(other))


def test_frames_and_tables_are_read_by_column() -> None:
    pandas = pytest.importorskip("pandas")
    found = outcome_of(pandas.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]}))
    assert found.signature.startswith("DataFrame[float64, ")
    assert " 0:2:1('a': numbers(2), 'b': [text x 2])" in found.signature
    assert found.symbols[".'a'[1]?"] == "nan"
    assert outcome_of(pandas.Series([1.0], index=["k"])).signature != outcome_of(pandas.Series([1.0])).signature
    assert outcome_of(pandas.NA).signature == "NAType()"


def test_what_lies_below_the_mask_of_a_column_is_part_of_it() -> None:
    pandas = pytest.importorskip("pandas")

    def column(hidden: int) -> Any:
        return pandas.Series(pandas.arrays.IntegerArray(np.array([hidden, 2]), np.array([True, False])))

    for wrapped in (lambda one: one, lambda one: pandas.DataFrame({"a": one}), lambda one: [one.array]):
        assert apart(wrapped(column(3)), wrapped(column(4)))
        left_out = (outcome_of(Watched(wrapped(column(hidden)), (), False, masked=False)) for hidden in (3, 4))
        assert next(left_out).same_as(next(left_out))
    assert apart(
        pandas.DataFrame({"a": [np.ma.masked_array([3.0], True)]}),
        pandas.DataFrame({"a": [np.ma.masked_array([4.0], True)]}),
    )


def test_what_a_frame_says_beside_its_values_is_part_of_it() -> None:
    pandas = pytest.importorskip("pandas")

    def column(categories: list[str], ordered: bool = False) -> Any:
        return pandas.Series(pandas.Categorical(["a"], categories=categories, ordered=ordered))

    assert apart(column(["a"]), column(["a", "b"]))
    assert apart(column(["a"]), column(["a"], ordered=True))
    assert apart(pandas.DataFrame({"x": column(["a"])}), pandas.DataFrame({"x": column(["a", "b"])}))
    frame = pandas.DataFrame({"x": [1.0]})
    noted = frame.copy()
    noted.attrs["records"] = 7
    assert apart(frame, noted)
    assert apart(frame, frame.rename_axis("name"))
    assert not apart(frame, frame.copy())


def test_labels_of_rows_that_are_numbers_are_values() -> None:
    pandas = pytest.importorskip("pandas")
    one, other = (pandas.Series([1.0], index=[label]) for label in (0.25, 0.5))
    assert outcome_of(one).signature == outcome_of(other).signature
    assert outcome_of(one).numbers[".index"].tolist() == [0.25]
    assert apart(one, other)


def test_polars_arrow_and_torch_are_read_where_they_are_installed() -> None:
    polars = pytest.importorskip("polars")
    assert "'a': numbers(1)" in outcome_of(polars.DataFrame({"a": [1.0]})).signature
    with pytest.raises(InvalidValue, match="collect"):
        outcome_of(polars.DataFrame({"a": [1.0]}).lazy())
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": [1.0]})
    assert apart(table, table.replace_schema_metadata({"records": "7"}))
    torch = pytest.importorskip("torch")
    assert outcome_of(torch.ones(2)).signature == "tensor(: numbers(2))"


def test_a_library_is_known_by_the_name_of_its_module() -> None:
    assert reader_of(np.ones(2)) is None
    assert reader_of(type("DataFrame", (), {"__module__": "pandas.core.frame"})()) is not None
    assert is_lazy(type("LazyFrame", (), {})())
    assert not is_lazy(1.0)
