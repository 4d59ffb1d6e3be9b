"""Rows out of, into and in place of those of a table; which records stand out; and the neighbours that are proposed."""

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.proposals import HELD, Proposals
from dpverdict.audit.tables.rows import exchanged, finished, joined, made, received_by, record_at, taken, without
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tables.standing_out import TableLook, record_in_words, shown
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, ObjectPair

FRAME = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Oslo"], "age": [31, 58, 44, 31]})
TABLES = [FRAME, pl.from_pandas(FRAME), FRAME[["age"]].to_numpy()]


@pytest.mark.parametrize("table", TABLES, ids=["pandas", "polars", "numpy"])
def test_records_are_taken_out_added_and_exchanged_and_the_types_stay(table: Any) -> None:
    ages = [record_at(one, 0) for one in (table,)]
    assert 31 in ages[0].values()
    columns = TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE).columns
    fewer, more = without(table, [1]), joined(table, taken(table, [1, 1]))
    assert (len(fewer), len(more), len(taken(table, []))) == (3, 6, 0)
    put = exchanged(table, 0, made(table, columns, [{one.name: record_at(table, 1)[one.name] for one in columns}]))
    assert record_at(put, 0) == record_at(table, 1)
    for one in (fewer, more, put):
        assert type(one) is type(table)
        assert str(getattr(one, "dtypes", one)) == str(getattr(table, "dtypes", one))


def test_an_index_that_counts_the_rows_counts_them_again_and_another_is_kept() -> None:
    assert without(FRAME, [0]).index.tolist() == [0, 1, 2]
    assert without(FRAME.set_axis(list("abcd")), [0]).index.tolist() == ["b", "c", "d"]


def test_what_a_function_takes_is_read_off_its_annotation() -> None:
    def frame(table: pd.DataFrame, rng: object) -> None: ...
    def lazy(table: pl.LazyFrame) -> None: ...
    def array(table: npt.NDArray[np.float64]) -> None: ...
    def written(table: "list[dict[str, object]]") -> None: ...
    def plain(table, rng): ...  # type: ignore[no-untyped-def]

    assert [received_by(one) for one in (frame, lazy, array, written, plain, len)] == [
        "pandas", "lazy polars", "numpy", "records", None, None
    ]  # fmt: skip
    assert finished(FRAME, "records")[1] == {"city": "Rome", "age": 58}


def test_what_a_type_does_not_hold_is_refused() -> None:
    columns = TableSchema.from_frame(FRAME, relation=ADD_OR_REMOVE_ONE).columns
    with pytest.raises(InvalidValue):
        made(FRAME, columns, [{"city": "Oslo", "age": None}])
    coded = FRAME.astype({"city": pd.CategoricalDtype(["Oslo", "Rome", "Bonn"])})
    columns = TableSchema.from_frame(coded, relation=ADD_OR_REMOVE_ONE).columns
    assert record_at(made(coded, columns, [{"city": "Bonn", "age": 3}]), 0) == {"city": "Bonn", "age": 3}
    with pytest.raises(InvalidValue, match="categories"):
        made(coded, columns, [{"city": "Lima", "age": 3}])


def test_the_only_one_the_largest_the_missing_and_the_shared_key_stand_out() -> None:
    frame = pd.DataFrame(
        {"id": [1, 2, 3, 4, 5, 6, 6], "city": ["a"] * 6 + ["b"], "pay": [5.0, 7.0, np.nan, 5.0, 900.0, 5.0, 5.0]}
    )
    found = TableLook(frame, TableSchema.from_frame(frame, relation=ADD_OR_REMOVE_ONE).columns).found()
    said = {one.row: one.why for one in found}
    assert said[6] == "the only one with city=b"
    assert said[2] == "the only one without pay"
    assert said[4] in ("the largest pay", "the only one with city=a, pay=900")
    frame = frame.drop(columns=["pay"])
    found = TableLook(frame, TableSchema.from_frame(frame, relation=ADD_OR_REMOVE_ONE).columns).found()
    assert {one.row: one.why for one in found}[0] == "the smallest id"


@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
@pytest.mark.parametrize("table", TABLES, ids=["pandas", "polars", "numpy"])
def test_every_proposal_is_a_pair_of_neighbours(table: Any, relation: Any) -> None:
    schema = TableSchema.from_frame(table, relation=relation)
    count = 0
    for one in islice(Proposals(table, schema, [100, "Bonn", "int8"]), 150):
        larger, smaller = one.pair()
        if larger.shape == smaller.shape and str(larger) == str(smaller):
            continue  # a record replaced by an equal one
        ObjectPair(dataset=larger, neighbour=smaller, adjacency=relation)  # which compares the records
        count += 1
    assert count > 20


def test_all_records_of_a_user_are_left_out_together() -> None:
    schema = TableSchema.from_frame(FRAME, relation=ADD_OR_REMOVE_ONE, user="city")
    first = next(iter(Proposals(FRAME, schema)))
    assert (first.records, first.distance) == (3, HELD)
    assert first.words.startswith("all 3 records of city=Oslo removed")
    larger, smaller = first.pair()
    assert smaller["city"].tolist() == ["Rome"]
    ObjectPair(dataset=larger, neighbour=smaller, adjacency=ADD_OR_REMOVE_ONE, records_per_user=3)


def test_bounds_of_a_schema_are_not_left() -> None:
    schema = TableSchema(
        relation=ADD_OR_REMOVE_ONE,
        table="pandas",
        columns=(
            Column(name="city", type="category", values=("Oslo", "Rome", "Bonn")),
            Column(name="age", type="int", low=0, high=120),  # type: ignore[arg-type]  # exact
        ),
    )
    for one in Proposals(FRAME, schema, [500, "Lima"]):
        larger, _ = one.pair()
        schema.check(larger)


def test_entries_are_shown_short() -> None:
    assert [shown(one) for one in (None, 2.5, "", "x" * 100, np.datetime64("2024-03-01"))] == [
        "(missing)", "2.5", "''", "x" * 12 + "... (100 characters)", "2024-03-01"
    ]  # fmt: skip
    assert record_in_words({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, ["e"]) == "e=5, a=1, b=2, c=3, and 1 more"


@pytest.mark.parametrize("largest", [39.19, 7.0])
def test_a_sum_of_parts_of_numbers_is_next_to_where_it_wraps(largest: float) -> None:
    """The entry need not be whole: the sum of the table is within the integer, and that of its neighbour beyond."""
    table = pd.DataFrame({"amount": np.linspace(1.5, largest, 20)})
    schema = TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)
    proposals = [one for one in Proposals(table, schema, [10000, "int32"]) if one.kind == "wrapping amount"]
    wrapping = 0
    for one in proposals:
        larger, smaller = (pair["amount"].to_numpy() * 10000 for pair in one.pair())
        wrapping += smaller.sum() <= 2**31 - 1 < larger.sum()
    assert wrapping
