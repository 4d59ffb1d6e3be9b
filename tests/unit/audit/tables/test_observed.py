"""What a table looks like: types, and bounds and categories that were seen; schemas of it, of pandera and pydantic."""

import datetime
import enum
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from dpverdict.audit.tables.observed import in_words
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

COLUMNS: dict[str, list[object]] = {
    "age": [3, 90, 41, 17],
    "children": [1, None, 0, 2],
    "income": [0.5, -3.25, 1e9, 7.0],
    "city": ["Oslo", "Rome", "Oslo", "Rome"],
    "note": ["a", "b", "c", None],
    "seen": [datetime.datetime(2020, 1, day) for day in (1, 9, 3, 4)],
    "smoker": [True, False, True, True],
}


def frame(library: str) -> Any:
    return pytest.importorskip(library).DataFrame(COLUMNS)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_columns_of_a_frame_are_told_apart_and_marked_as_observed(library: str) -> None:
    table = frame(library)
    schema = TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)
    assert [column.type for column in schema.columns] == ["int", "int", "float", "category", "text", "date", "bool"]
    age, children, income, city, note, seen, _ = schema.columns
    assert (age.low, age.high, age.nullable) == (3, 90, False)
    assert (children.low, children.high, children.nullable) == (0, 2, True)
    assert (income.low, income.high) == (Fraction(-13, 4), 10**9)
    assert city.values == ("Oslo", "Rome")
    assert note.nullable
    assert str(seen.low)[:10] == "2020-01-01"
    assert schema.observed == ("age", "children", "income", "city", "seen")
    assert schema.records is None
    assert "city: category of 2 (Oslo, Rome)" in in_words(schema.columns)
    schema.check(table)
    schema.check(schema.dataset(schema.extreme_records()))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_schema_is_written_and_read_back_as_it_was(library: str) -> None:
    schema = TableSchema.from_frame(frame(library), relation=REPLACE_ONE, user="note")
    assert schema.records == 4
    text = schema.to_toml("a title")
    assert TableSchema.from_toml(text) == schema
    assert text.startswith("# a title\n")
    assert "Bounds are a promise, not an observation" in text
    assert text.count("observed = true\n") == 5


def test_names_and_texts_of_any_kind_survive_the_file() -> None:
    pandas = pytest.importorskip("pandas")
    odd = 'a "b".c\\\x7f\u00e9'
    table = pandas.DataFrame({odd: [odd, odd, "x", "x"], "x y": [1, 2, 3, 4]})
    schema = TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)
    assert TableSchema.from_toml(schema.to_toml()) == schema


def test_small_types_categories_and_zones_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "small": pandas.array([1, 2], dtype="Int8"),
            "group": pandas.Categorical(["x", "x"], categories=["x", "y"]),
            "at": pandas.to_datetime(["2020-01-01T10:00", "2020-01-02"], format="ISO8601", utc=True),
        }
    )
    schema = TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)
    assert [column.dtype for column in schema.columns] == ["Int8", "category", "datetime64[ns, UTC]"]
    assert schema.column("group").values == ("x", "y")
    schema.check(table)
    built = schema.dataset(schema.extreme_records())
    assert list(map(str, built.dtypes)) == list(map(str, table.dtypes))


def test_arrays_have_columns_by_their_place_and_infinity_is_no_bound() -> None:
    schema = TableSchema.from_frame(np.array([[1.0, np.inf], [2.0, np.nan]]), relation=ADD_OR_REMOVE_ONE)
    assert [column.name for column in schema.columns] == ["column0", "column1"]
    assert (schema.column("column1").high, schema.column("column1").nullable) == (None, True)
    one = TableSchema.from_frame(np.array([1, 2], dtype=np.int8), relation=ADD_OR_REMOVE_ONE)
    assert (one.columns[0].name, one.columns[0].dtype) == ("value", "int8")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1, "x"]}, "column a=\"1 in row 0 and 'x' in row 1\" must be of one type, not of int and text"),
        ({"a": [[1], [2]]}, "must be of numbers, texts, dates or truth values"),
        ({"a": [1 + 2j, 3j]}, "must be of numbers, texts, dates or truth values"),
        ({}, "a table of one column or more"),
    ],
)
def test_columns_that_no_schema_knows_are_refused(columns: dict[str, list[object]], said: str) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidValue) as caught:
        TableSchema.from_frame(pandas.DataFrame(columns), relation=ADD_OR_REMOVE_ONE)
    assert said in str(caught.value)


def test_a_list_and_a_cube_are_no_tables() -> None:
    for table in ([1, 2], np.zeros((2, 2, 2))):
        with pytest.raises(InvalidValue, match="a frame of pandas or polars"):
            TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)


def test_a_schema_of_pandera_is_one_of_ours() -> None:
    pandera = pytest.importorskip("pandera.pandas")
    model = pandera.DataFrameSchema(
        {
            "age": pandera.Column(int, [pandera.Check.ge(0), pandera.Check.lt(121)]),
            "city": pandera.Column(str, pandera.Check.isin(["Oslo", "Rome"]), nullable=True),
            "weight": pandera.Column(float, pandera.Check.in_range(0, 300.5)),
            "name": pandera.Column(str, pandera.Check.str_length(1, 9)),
            "small": pandera.Column("int8"),
        }
    )
    schema = TableSchema.from_pandera(model, relation=ADD_OR_REMOVE_ONE)
    age, city, weight, name, small = schema.columns
    assert (age.type, age.low, age.high) == ("int", 0, 120)
    assert (city.type, city.values, city.nullable) == ("category", ("Oslo", "Rome"), True)
    assert (weight.low, weight.high) == (0, Fraction(601, 2))
    assert (name.type, small.dtype) == ("text", "int8")
    assert schema.observed == ()
    with pytest.raises(InvalidValue, match="a schema or a model of pandera"):
        TableSchema.from_pandera(3, relation=ADD_OR_REMOVE_ONE)


def test_a_model_of_pydantic_is_one_record() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Size(enum.Enum):
        SMALL = "s"
        LARGE = "l"

    Patient = pydantic.create_model(
        "Patient",
        age=(Annotated[int, pydantic.Field(ge=0, le=120)], ...),
        city=(Literal["Oslo", "Rome"], ...),
        weight=(Annotated[float, pydantic.Field(gt=0)] | None, None),
        size=(Size, ...),
        born=(datetime.date, ...),
    )
    schema = TableSchema.from_pydantic(Patient, relation=ADD_OR_REMOVE_ONE, table="polars")
    assert [column.type for column in schema.columns] == ["int", "category", "float", "category", "date"]
    assert (schema.column("age").low, schema.column("age").high) == (0, 120)
    assert (schema.column("weight").low, schema.column("weight").nullable) == (0, True)
    assert schema.column("size").values == ("s", "l")
    with pytest.raises(InvalidValue, match=r"columns\.tags"):
        TableSchema.from_pydantic(pydantic.create_model("Bad", tags=(list[str], ...)), relation=ADD_OR_REMOVE_ONE)


def test_whole_numbers_that_numpy_cannot_hold_get_one_clear_line() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"n": [2**90, 3]}, schema={"n": polars.Int128})
    with pytest.raises(InvalidValue, match=r"the column 'n'='Int128' must be of whole numbers of at most 64 bits"):
        TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)
