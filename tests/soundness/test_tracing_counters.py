"""``collections.Counter`` of a column: what is taken of it is a count in a cell, and nothing else of it is."""

import collections
import itertools
import runpy
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.handles import counters
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.spending import alternatives

HERE = Path(__file__).parent
POLARS = runpy.run_path(str(HERE / "test_tracing_polars.py"))
DERIVATION = runpy.run_path(str(HERE / "test_traced_derivation.py"))
TABLE = """
relation = "{relation}"
table = "{table}"
{records}
[columns.city]
type = "category"
values = ["Oslo", "Rome"]
nullable = {nullable}
[columns.age]
type = "int"
low = 0
high = 3
[columns.day]
type = "date"
low = 2024-01-01
high = 2024-12-31
"""


def schema(table: str = "pandas", *, replace: bool = False) -> TableSchema:
    return TableSchema.from_toml(TABLE.format(
        table=table, relation="replace-one" if replace else "add-or-remove-one",
        records="records = 3" if replace else "", nullable=str(table == "pandas").lower(),
    ))  # fmt: skip


NUMPY = TableSchema.from_toml(
    'relation = "add-or-remove-one"\ntable = "numpy"\n[columns.age]\ntype = "int"\nlow = 0\nhigh = 3\n'
)


def of_cities(df: Any, rng: np.random.Generator) -> Any:
    c = Counter(df["city"])
    return [c["Oslo"] + rng.laplace(), c["Rome"] + rng.laplace(), c["Bonn"] + rng.laplace()]


def of_ages(df: Any, rng: np.random.Generator) -> Any:
    c = collections.Counter(df["age"])
    return [c.get(age, 0) + rng.laplace() for age in range(4)]


def of_some(df: Any, rng: np.random.Generator) -> Any:
    c = Counter(df[df["age"] > 1]["city"])
    return c["Oslo"] + rng.laplace(), c["Rome"] + rng.laplace()


def of_an_array(x: Any, rng: np.random.Generator) -> Any:
    c = Counter(x)
    return np.array([c[age] for age in range(4)]) + rng.laplace(size=4)


def of_one_city_twice(df: Any, rng: np.random.Generator) -> Any:
    c = Counter(df["city"])
    return c["Oslo"] + rng.laplace(), c["Oslo"] + rng.laplace()


CASES: list[tuple[Callable[..., Any], TableSchema, int]] = [
    (of_cities, schema(), 1), (of_cities, schema("polars"), 1), (of_cities, schema(replace=True), 2),
    (of_ages, schema(), 1), (of_ages, schema("polars"), 1), (of_some, schema(), 1), (of_an_array, NUMPY, 1),
    (of_one_city_twice, schema(), 2),
]  # fmt: skip


def options_of(function: Any, of: TableSchema) -> Any:
    trace = followed(function, of)
    assert trace.refused is None, trace.refused
    return alternatives(trace.releases, replace=of.records is not None)


@pytest.mark.parametrize(("function", "of", "spent"), CASES)
def test_counts_of_labels_are_cells(function: Any, of: TableSchema, spent: int) -> None:
    assert max(one.epsilon() or Fraction(0) for one in options_of(function, of)) == spent
    document = DERIVATION["certificate"](function, of, "eps=2")
    assert document is not None
    assert DERIVATION["derived"](document) == "derived"


def above(function: Any, of: TableSchema, rng: np.random.Generator) -> bool:
    options = options_of(function, of)
    for _ in range(40):
        rows, last = [of.random_record(rng) for _ in range(3)], of.random_record(rng)
        pair = POLARS["plainly"](function, of.dataset([*rows, last]), of.dataset(rows))
        if not POLARS["dominated"](pair, options):
            return True
    return False


@pytest.mark.parametrize("function", [of_cities, of_ages, of_some, of_one_city_twice])
def test_what_is_said_of_a_counter_holds_on_pairs(function: Any, seed: int) -> None:
    assert not above(function, schema(), np.random.default_rng(seed))


def test_a_counter_that_counts_half_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = counters.FollowedCounter.__getitem__
    monkeypatch.setattr(counters.FollowedCounter, "__getitem__", lambda self, label: right(self, label) / 2)
    assert above(of_cities, schema(), np.random.default_rng(seed))


REFUSED: dict[str, str] = {
    "dict(c)": "keys", "{**c}": "keys", "c.most_common(1)": "most_common", "len(c)": "len", "'Oslo' in c": "contains",
    "list(c)": "iter", "c.items()": "items", "c.total()": "total", "c.get('Oslo')": "default",
    "c.get('Oslo', 1)": "default",
    "c + Counter('a')": "add", "Counter('a') - c": "rsub", "bool(c)": "bool", "c == {}": "eq", "str(c)": "str",
    "c.update(['Oslo'])": "update", "c.__setitem__('x', 1)": "setitem", "c[np.str_('Oslo')]": "public label",
    "c[None]": "public label", "c[float('nan')]": "public label", "c[df['city']]": "public label", "f'{c}'": "format",
    "pd.Series(c)": "Counter", "Counter(df['age'])['1']": "public label", "Counter(df['age'])[True]": "public label",
    "Counter(df['age'] > 1)[1]": "public label", "Counter(df['day'])": "loop", "Counter(df['city'], a=1)": "loop",
    "Counter(df['city'].tolist())": "list", "isinstance(c, dict)": "class", "sorted(c.values())": "values",
    "Own(df['city'])['Oslo']": "loop",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_all_else_of_a_counter_is_not_covered(text: str) -> None:
    names: dict[str, Any] = {"np": np, "pd": pd, "Counter": Counter, "__name__": "a_function_of_counters"}
    lines = ["c = Counter(df['city'])", f"value = {text}", "return rng.laplace()"]
    if "Own" in text:
        lines = ["class Own(Counter):", "    def __getitem__(self, label): return 0", *lines]
    body = "\n".join("    " + one for one in lines)
    exec(compile(f"def program(df, rng):\n{body}\n", "<counters>", "exec"), names)
    refused = followed(names["program"], schema()).refused
    assert refused is not None
    assert REFUSED[text] in refused


def test_a_counter_of_the_outcome_is_data() -> None:
    refused = followed(lambda df, rng: Counter(df["city"]), schema()).refused
    assert refused is not None
    assert "without noise" in refused


def test_a_counter_of_public_values_is_as_it_was() -> None:
    def program(df: Any, rng: np.random.Generator) -> Any:
        c = Counter("aab")
        size = c["a"] if isinstance(c, Counter) and issubclass(Counter, dict) else 9
        return size * len(df) + rng.laplace(scale=2), str(Counter("a"))

    assert max(one.epsilon() or Fraction(0) for one in options_of(program, schema())) == 1
    assert type(Counter("a")) is collections.Counter


# what is written instead of a resampled column ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("pandas", "df.resample('MS', on='day').size()"), ("pandas", "df.set_index('day').resample('MS').size()"),
        ("pandas", "df.groupby(pd.Grouper(key='day', freq='MS')).size()"),
        ("polars", "df.group_by_dynamic('day', every='1mo').agg()"),
    ],
)  # fmt: skip
def test_what_resamples_names_the_remedy(table: str, text: str) -> None:
    names: dict[str, Any] = {"pd": pd, "__name__": "a_function_that_resamples"}
    exec(compile(f"def program(df, rng):\n    return {text}.to_numpy() + rng.laplace()\n", "<it>", "exec"), names)
    refused = followed(names["program"], schema(table)).refused
    assert refused is not None
    assert "((df['day'] >= a) & (df['day'] < b)).sum()" in refused


def test_the_remedy_costs_what_one_cell_costs() -> None:
    def by_month(df: Any, rng: np.random.Generator) -> Any:
        edges = pd.date_range("2024-01-01", "2025-01-01", freq="MS")
        return [((df["day"] >= a) & (df["day"] < b)).sum() + rng.laplace() for a, b in itertools.pairwise(edges)]

    assert max(one.epsilon() or Fraction(0) for one in options_of(by_month, schema())) == 1
