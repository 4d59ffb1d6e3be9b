"""A schema: what it says of tables, what it refuses, and the tables and records that it makes."""

import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

TOP = 'relation = "add-or-remove-one"\ntable = "pandas"\n'
PATIENTS = """
[columns.age]
type = "int"
low = 0
high = 120
nullable = true
[columns.city]
type = "category"
values = ["Oslo", "Rome"]
[columns.weight]
type = "float"
low = 0.1
observed = true
[columns.seen]
type = "date"
low = 2020-01-01
[columns.note]
type = "text"
[columns.smoker]
type = "bool"
"""


def numbers(*names: str, **more: object) -> TableSchema:
    """A schema of an array of bounded integers."""
    columns = tuple(Column(name=name, type="int", low=Fraction(0), high=Fraction(9), **more) for name in names)  # type: ignore[arg-type]
    return TableSchema(relation=ADD_OR_REMOVE_ONE, table="numpy", columns=columns)


def test_a_file_says_what_a_table_may_hold(tmp_path: Path) -> None:
    path = tmp_path / "patients.toml"
    path.write_text(TOP + PATIENTS)
    schema = TableSchema.from_toml(path)
    assert schema.relation is ADD_OR_REMOVE_ONE
    assert [column.name for column in schema.columns] == ["age", "city", "weight", "seen", "note", "smoker"]
    assert schema.column("age").high == 120
    assert schema.column("weight").low == Fraction(0.1)  # the float64 that the entries are read as
    assert schema.column("seen").low == datetime.date(2020, 1, 1)
    assert schema.column("city").values == ("Oslo", "Rome")
    assert schema.observed == ("weight",)


@pytest.mark.parametrize("table", ["pandas", "polars"])
def test_records_that_a_schema_makes_fit_it(table: str) -> None:
    pytest.importorskip(table)
    schema = TableSchema.from_toml(TOP.replace("pandas", table) + PATIENTS)
    rng = np.random.default_rng(1)
    for rows in ([], schema.extreme_records(), [schema.random_record(rng) for _ in range(300)]):
        made = schema.dataset(rows)
        assert len(made) == len(rows)
        schema.check(made)
        assert list(map(str, made.dtypes)) == list(map(str, schema.dataset([]).dtypes))


def test_an_array_has_a_column_for_each_of_the_schema() -> None:
    assert numbers("a").dataset([{"a": 3}, {"a": 9}]).tolist() == [3, 9]
    two = numbers("a", "b").dataset([{"a": 3, "b": 4}])
    assert (two.shape, two.dtype, two.tolist()) == ((1, 2), np.int64, [[3, 4]])
    assert numbers("a", "b", nullable=True).dataset([{"a": None, "b": 1}]).dtype == np.float64
    assert numbers("a", "b").dataset([]).shape == (0, 2)
    small = numbers("a", dtype="int8")
    assert small.dataset([{"a": 1}]).dtype == np.int8


def test_extreme_records_hold_every_corner_and_every_category() -> None:
    schema = TableSchema.from_toml(TOP + PATIENTS)
    records = schema.extreme_records()
    assert records == schema.extreme_records()
    assert {record["city"] for record in records} == {"Oslo", "Rome"}
    assert {record["age"] for record in records} == {0, 1, 120, None}
    corners = {(record["a"], record["b"]) for record in numbers("a", "b").extreme_records()}
    assert {(0, 0), (0, 9), (9, 0), (9, 9)} <= corners


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "relation must be given"),
        (
            'relation = "add-or-remove"\ntable = "numpy"\n[columns]',
            "relation='add-or-remove' must be one of add-or-remove-one, replace-one: did",
        ),
        ('relation = "replace-one"\ntable = "panda"\n[columns.a]\ntype = "int"', "did you mean pandas?"),
        ('relation = "replace-one"\ntabel = "pandas"', "tabel='pandas' must be a key of a schema: did you mean table?"),
        ('relation = "replace-one"\ntable = "pandas"', "columns must be given"),
        (TOP + 'records = 4\n[columns.a]\ntype = "int"', "records=4 must be left out under add-or-remove-one"),
        (TOP + 'user = "b"\n[columns.a]\ntype = "int"', "user='b' must be one of the columns a"),
        (TOP + '[columns.a]\ntype = "int"\n[columns.a]\ntype = "int"', "twice"),
        (TOP + '[columns.a]\ntype = "integer"', "columns.a.type='integer' must be one of int, float"),
        (TOP + '[columns.a]\ntype = "int"\nhihg = 3', "columns.a.hihg=3 must be a key of a column: did you mean high?"),
        (TOP + '[columns.a]\ntype = "int"\nlow = 4\nhigh = 3', "columns.a.low='4' must be <= high = 3"),
        (TOP + '[columns.a]\ntype = "int"\nlow = 0.5', "a whole number"),
        (TOP + '[columns.a]\ntype = "float"\nlow = nan', "NaN is no bound"),
        (TOP + '[columns.a]\ntype = "float"\nlow = -inf', "leave it out where there is no bound"),
        (TOP + '[columns.a]\ntype = "float"\nhigh = 1e400', "1e+400 must be between -1.79769e+308 and"),
        (TOP + '[columns.a]\ntype = "float"\nhigh = "3"', "columns.a.high='3' must be a number"),
        (TOP + '[columns.a]\ntype = "int"\nhigh = 200\ndtype = "int8"', "between -128 and 127, the ends of int8"),
        (TOP + '[columns.a]\ntype = "int"\ndtype = "int9"', "did you mean int8"),
        (TOP + '[columns.a]\ntype = "text"\nlow = 1', "left out of a column of type text"),
        (TOP + '[columns.a]\ntype = "category"', "columns.a.values must be given for a category"),
        (TOP + '[columns.a]\ntype = "category"\nvalues = ["x", "y", "x"]', "different from each other"),
        (TOP + '[columns.a]\ntype = "category"\nvalues = ["x", 1]', "texts only or numbers only"),
        (TOP + '[columns.a]\ntype = "int"\nvalues = [1]', "left out of a column of type int"),
        (TOP + '[columns.a]\ntype = "date"\nlow = "2020-01-01"', "without quotes"),
        (TOP + '[columns.a]\ntype = "date"\nlow = 2021-01-01\nhigh = 2020-01-01', "must be <= high = 2020-01-01"),
        (TOP + '[columns.a]\ntype = "int"\nnullable = 1', "columns.a.nullable=1 must be true or false"),
        (TOP + "[columns]\na = 3", "columns.a=3 must be a table"),
        (TOP + '[columns.a\ntype = "int"', "a TOML file"),
    ],
)
def test_what_is_no_schema_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the whole path of a temporary folder is longer than a message shows
    path = Path("s.toml")
    path.write_text(text)
    with pytest.raises(InvalidValue) as caught:
        TableSchema.from_toml(path)
    assert said in str(caught.value)
    assert "s.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="dpverdict schema TABLE"):
        TableSchema.from_toml(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidValue, match="UTF-8"):
        TableSchema.from_toml(tmp_path / "bad.toml")


def test_an_array_does_not_hold_texts_beside_numbers_nor_integers_that_it_rounds() -> None:
    a = Column(name="a", type="float")
    with pytest.raises(InvalidValue, match="a column of numbers"):
        TableSchema(
            relation=REPLACE_ONE, table="numpy", columns=(a, Column(name="b", type="category", values=("x", "y")))
        )
    with pytest.raises(InvalidValue, match="does not hold every integer"):
        TableSchema(
            relation=REPLACE_ONE, table="numpy", columns=(a, Column(name="b", type="int", high=Fraction(2**60)))
        )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"age": [4, 130], "city": ["Oslo", "Rome"]}, "row 1, column age=130 must be at most 120"),
        ({"age": [4, 5], "city": ["Oslo", "Rom"]}, "row 1, column city='Rom' must be one of the 2 categories"),
        ({"age": [4, 5.5], "city": ["Oslo", "Rome"]}, "row 1, column age=5.5 must be a whole number"),
        ({"age": [4, None], "city": ["Oslo", None]}, "row 1, column city='(missing)' must be present"),
        ({"age": [4, "5"], "city": ["Oslo", "Rome"]}, "row 1, column age='5' must be a whole number"),
        ({"age": [4, 5], "town": ["Oslo", "Rome"]}, "column='town' must be one of the schema"),
        ({"age": [4, 5]}, "column='city' must be in the table"),
    ],
)
def test_the_first_entry_that_does_not_fit_is_named(rows: dict[str, list[object]], said: str) -> None:
    pandas = pytest.importorskip("pandas")
    text = PATIENTS.partition("[columns.weight]")[0]
    schema = TableSchema.from_toml(TOP + text)
    with pytest.raises(InvalidValue) as caught:
        schema.check(pandas.DataFrame(rows))
    assert said in str(caught.value)


def test_two_columns_of_one_name_and_a_table_of_another_library_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    schema = TableSchema.from_toml(TOP + '[columns.a]\ntype = "int"\n')
    with pytest.raises(InvalidValue, match="one column only"):
        schema.check(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InvalidValue, match="a frame of pandas"):
        schema.check(np.array([1, 2]))


def test_the_stated_number_of_records_is_checked() -> None:
    column = Column(name="a", type="int")
    schema = TableSchema(relation=REPLACE_ONE, table="numpy", columns=(column,), records=3)
    schema.check(np.arange(3))
    with pytest.raises(InvalidValue, match="the 3 records"):
        schema.check(np.arange(4))


def test_a_record_with_other_entries_is_refused() -> None:
    with pytest.raises(InvalidValue, match="with exactly the entries a, b"):
        numbers("a", "b").dataset([{"a": 1, "c": 2}])
