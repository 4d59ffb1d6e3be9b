"""Cells of dates: a record lies in one side of a comparison, and both checkers know it.

The dates of the table have times, and some are missing. Each way of being wrong about a cell is planted, and found by a
pair of tables that differ by one record and by the checker that shares no code with the project.
"""

import datetime
import itertools
import runpy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.rules import dates
from dpverdict.audit.tracing.rules.facts import Cell, Rows
from dpverdict.audit.tracing.rules.operations import OPERATIONS, Setting, TracedOperand
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.spending import alternatives

HERE = Path(__file__).parent
POLARS = runpy.run_path(str(HERE / "test_tracing_polars.py"))
DERIVATION = runpy.run_path(str(HERE / "test_traced_derivation.py"))
certificate, derived = DERIVATION["certificate"], DERIVATION["derived"]
TABLE = """
relation = "{relation}"
table = "{table}"
{records}
[columns.day]
type = "date"
low = 2024-02-28T00:00:00
high = 2024-03-02T12:00:00
nullable = {nullable}
[columns.pay]
type = "float"
low = 0
high = 5
"""
TIMES = [None, *(datetime.datetime(2024, 2, 28) + datetime.timedelta(hours=6 * i) for i in range(15))]
NOISE = " + rng.laplace()"


def schema(table: str = "pandas", *, nullable: bool = True, replace: bool = False) -> TableSchema:
    return TableSchema.from_toml(TABLE.format(
        table=table, nullable=str(nullable).lower(), relation="replace-one" if replace else "add-or-remove-one",
        records="records = 3" if replace else "",
    ))  # fmt: skip


def made(*statistics: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": np, "pd": pd, "pl": pl, "datetime": datetime, "__name__": "a_function_of_dates"}
    body = ", ".join(one + NOISE for one in statistics)
    exec(compile(f"def program(df, rng):\n    d = df['day']\n    return [{body}]\n", "<dates>", "exec"), names)
    found: Callable[..., Any] = names["program"]
    return found


def epsilon(function: Any, of: TableSchema) -> Fraction:
    trace = followed(function, of)
    assert trace.refused is None, trace.refused
    found = [one.epsilon() for one in alternatives(trace.releases, replace=of.records is not None)]
    return max(one for one in found if one is not None)


def above(function: Any, of: TableSchema) -> bool:
    """Whether a pair with a date at, between or beside those that are compared spends more than the trace says."""
    options = alternatives(followed(function, of).releases, replace=False)
    rows = [{"day": TIMES[1], "pay": 1.0}]
    return any(
        not POLARS["dominated"](
            POLARS["plainly"](function, of.dataset([*rows, {"day": one, "pay": 2.0}]), of.dataset(rows)), options
        )
        for one in TIMES
    )


SPLIT = {
    "before and not before": ("(d < '2024-03-01').sum()", "(~(d < '2024-03-01')).sum()"),
    "before and from there on": ("(d < '2024-03-01').sum()", "(d >= '2024-03-01').sum()"),
    "up to a time and after it": ("(d <= pd.Timestamp('2024-03-01 06:00')).sum()",
                                  "(pd.Timestamp('2024-03-01 06:00') < d).sum()"),
    "one day and all others": ("(d == '2024-03-01').sum()", "(d != '2024-03-01').sum()"),
    "between and around": ("d.between('2024-02-29', '2024-03-01').sum()", "(d < '2024-02-29').sum()",
                           "(d > '2024-03-01').sum()"),
    "some and not these": ("d.isin(pd.to_datetime(['2024-03-01', '2024-03-02'])).sum()",
                           "(~d.isin(pd.to_datetime(['2024-03-02', '2024-03-01']))).sum()"),
    "missing and some date": ("d.isna().sum()", "(d < '2024-03-01').sum()", "(d >= '2024-03-01').sum()"),
    "masks": ("len(df[d < '2024-03-01'])", "df[d >= '2024-03-01']['pay'].clip(0, 1).sum()"),
    "parts": ("(d.dropna().dt.month == 2).sum()", "(d.dropna().dt.month == 3).sum()"),
    "years": ("(d.dropna().dt.year == 2023).sum()", "(d.dropna().dt.year == 2024).sum()"),
}  # fmt: skip
"""Statistics of which a record moves one alone."""


@pytest.mark.parametrize("name", SPLIT)
def test_a_record_lies_in_one_side(name: str) -> None:
    function = made(*SPLIT[name])
    assert epsilon(function, schema()) == 1
    assert epsilon(function, schema(replace=True)) == 2
    assert not above(function, schema())
    for replace in (False, True):
        document = certificate(function, schema(replace=replace), "eps=2")
        assert document is not None
        assert derived(document) == "derived"


OF_POLARS = {
    "before and not before": ("df.filter(pl.col('day') < pl.date(2024, 3, 1)).height",
                              "df.filter(~(pl.col('day') < pl.date(2024, 3, 1))).height"),
    "a time": ("df.filter(pl.col('day') < datetime.datetime(2024, 3, 1, 6)).height",
               "df.filter(pl.col('day') >= datetime.datetime(2024, 3, 1, 6)).height"),
    "between": ("df.filter(pl.col('day').is_between(pl.date(2024, 2, 29), pl.date(2024, 3, 1), closed='left')).height",
                "df.filter(pl.col('day') == pl.date(2024, 3, 1)).height"),
    "some and not these": ("df.filter(pl.col('day').is_in([datetime.datetime(2024, 3, 1)])).height",
                           "df.filter(~pl.col('day').is_in([datetime.datetime(2024, 3, 1)])).height"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_POLARS)
def test_a_record_of_polars_lies_in_one_side(name: str) -> None:
    function, of = made(*OF_POLARS[name]), schema("polars", nullable=False)
    assert epsilon(function, of) == 1
    document = certificate(function, of, "eps=2")
    assert document is not None
    assert derived(document) == "derived"


BOTH = {
    "up to a date and from it on": ("(d <= '2024-03-01').sum()", "(d >= '2024-03-01').sum()"),
    "after a day, and up to a time of it": ("(d > '2024-03-01').sum()", "(d <= '2024-03-01 12:00').sum()"),
    "another day, or none": ("(d != '2024-03-01').sum()", "d.isna().sum()"),
    "not before, or none": ("(~(d < '2024-03-01')).sum()", "d.isna().sum()"),
    "some, and one of them": ("d.isin(pd.to_datetime(['2024-03-02', '2024-03-01'])).sum()",
                              "(d == '2024-03-01').sum()"),
}  # fmt: skip
"""Statistics of which some record moves two."""


@pytest.mark.parametrize("name", BOTH)
def test_a_record_on_both_sides_counts_twice(name: str) -> None:
    function = made(*BOTH[name])
    assert epsilon(function, schema()) == 2
    assert not above(function, schema())


def wrong_end(name: str, right: Any) -> Any:
    return {**right, "greater_equal": lambda c: Cell(low=c, low_closed=False)}


RIGHT_NUMBER, RIGHT_SUPPORT = dates._exact_number, dates._support  # pyright: ignore[reportPrivateUsage]


def without_missing(operand: Any, name: str, given: Any) -> Any:
    found = RIGHT_SUPPORT(operand, name, given)
    return None if found is None else tuple((n, Cell(c.values, c.low, c.high, c.low_closed, c.high_closed, False,
                                                     c.others)) for n, c in found)  # fmt: skip


def never_missing(operand: Any, name: str, given: Any) -> Any:
    """As if what is missing were before every date."""
    found = RIGHT_SUPPORT(operand, name, given)
    return None if found is None else tuple((n, Cell(c.values, c.low, c.high, c.low_closed, c.high_closed,
                                                     name == "less", c.others)) for n, c in found)  # fmt: skip


FAULTS: dict[str, tuple[str, Any, str]] = {
    "an end that belongs to it": (
        "COMPARED", wrong_end("greater_equal", dates.COMPARED), "up to a date and from it on",
    ),
    "times taken for days": (
        "_exact_number", lambda text, unit: RIGHT_NUMBER(text[:10], unit), "after a day, and up to a time of it",
    ),
    "not equal, and not missing": ("_support", without_missing, "another day, or none"),
    "missing, and before": ("_support", never_missing, "not before, or none"),
    "the first of some": (
        "_support", lambda operand, name, given: RIGHT_SUPPORT(operand, name, given[:1]), "some, and one of them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_cell_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong, program = FAULTS[fault]
    function = made(*BOTH[program])
    monkeypatch.setattr(dates, name, wrong)
    assert above(function, schema())
    document = certificate(function, schema(), "eps=2")
    assert document is not None
    assert derived(document) == "refused"


# which dates have a number --------------------------------------------------------------------------------------------


def cell_of(dtype: str, name: str, date: str) -> Any:
    rows = Rows((), np.zeros(()), np.ones(()), np.zeros((), dtype=np.bool_), dtype)
    rule = OPERATIONS["comparison of dates"].rule
    fact: Any = rule(Setting(False, None), [TracedOperand(0, rows)], {"name": name, "date": date})
    return fact.support


@pytest.mark.parametrize(
    ("dtype", "date", "known"),
    [
        ("datetime64[D]", "2024-03-01", True), ("datetime64[D]", "2024-03-01T12:00:00", False),
        ("datetime64[s]", "2024-03-01T12:00:00", True), ("datetime64[s]", "2024-03-01T12:00:00.500000", False),
        ("datetime64[ms]", "2024-03-01T12:00:00.500000", True), ("datetime64[ms]", "2024-03-01T12:00:00.000001", False),
        ("datetime64[us]", "2024-03-01T12:00:00.000001", True), ("datetime64[ns]", "2024-03-01T12:00:00.000001", True),
        ("datetime64[ns]", "2024-03-01T12:00:00.000001500", False), ("datetime64[us]", "1500-01-01", False),
    ],
)  # fmt: skip
def test_a_cell_is_known_of_dates_in_units_of_the_column(dtype: str, date: str, *, known: bool) -> None:
    for name in ("less", "equal", "not_equal", "greater_equal"):
        assert (cell_of(dtype, name, date) is not None) is known


def test_polars_rounds_a_date_to_the_unit_of_the_column() -> None:
    """The reason for it: in milliseconds, the date 2024-03-01 is from its next microsecond on, and up to itself."""
    day = datetime.datetime(2024, 3, 1)
    column = pl.DataFrame({"d": pl.Series([day]).cast(pl.Datetime("ms"))})
    after = day + datetime.timedelta(microseconds=1)
    assert column.select(a=pl.col("d") >= after, b=pl.col("d") <= day).row(0) == (True, True)
    assert cell_of("datetime64[ms]", "greater_equal", after.isoformat()) is None


def test_numbers_of_dates_are_in_the_order_of_the_dates() -> None:
    texts = [
        "1900-01-01",
        "1969-12-31T23:59:59.999999",
        "1970-01-01",
        "2024-02-29T12:00:00",
        "2024-03-01",
        "2100-01-01",
    ]
    numbers = [RIGHT_NUMBER(one, 1) for one in texts]
    assert None not in numbers
    assert all(a < b for a, b in itertools.pairwise(numbers))
    there = DERIVATION["there"]
    for text, number in zip(texts, numbers, strict=True):
        rows = there["Rows"](there["Box"]([(0.0, 1.0, False)], ()), "datetime64[us]")
        ((_, cell),) = there["cell_of_dates"](there["Given"](0, rows, None), "equal", [text]).items()
        assert cell.values == {number}


@pytest.mark.parametrize("text", ["2024-3-1", "2024-03-01T00:00:00+00:00", "2024-03-01 12:00", "20240301", 5])
def test_the_other_checker_reads_dates_in_one_form_alone(text: Any) -> None:
    there = DERIVATION["there"]
    rows = there["Rows"](there["Box"]([(0.0, 1.0, False)], ()), "datetime64[us]")
    with pytest.raises(there["Wrong"]):
        there["cell_of_dates"](there["Given"](0, rows, None), "equal", [text])


# what is not read -----------------------------------------------------------------------------------------------------

ZONED = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "pandas"
[columns.day]
type = "date"
dtype = "datetime64[ns, UTC]"
low = 2024-02-28T00:00:00
high = 2024-03-02T12:00:00
""")


@pytest.mark.parametrize(
    "statistics",
    [
        ("(d == '2024-03-01').sum()", "(d == '2024-3-1').sum()"),  # one date, by two texts
        ("d.isin(['2024-03-01']).sum()",),
        ("len(df[df[d.notna()]['day'] == '2024-03-01'])",),
    ],
)
def test_dates_of_a_zone_are_not_taken_for_texts(statistics: tuple[str, ...]) -> None:
    refused = followed(made(*statistics), ZONED).refused
    assert refused is not None
    assert "a zone" in refused
    assert "tz_localize(None)" in refused


def test_records_with_dates_of_a_zone_are_counted() -> None:
    assert epsilon(made("d.notna().sum()", "len(df)"), ZONED) == 2
    assert followed(made("(d == pd.Timestamp('2024-03-01', tz='UTC')).sum()"), schema()).refused is not None
    refused = followed(made("d.isin(['2024-03-01']).sum()"), schema()).refused
    assert refused is not None
    assert "pd.to_datetime" in refused
