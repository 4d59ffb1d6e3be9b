# ruff: noqa: E501

"""What is made of pandas' agg, cut, crosstab, pivot_table and merge: no pair is above it, and a wrong rule is found."""

import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.spending import alternatives

HERE = Path(__file__).parent
NUMPY, POLARS = (runpy.run_path(str(HERE / f"{name}.py")) for name in ("test_tracing", "test_tracing_polars"))
SCHEMA = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 9
[columns.pay]
type = "float"
low = 0
high = 5
nullable = true
[columns.city]
type = "category"
values = ["Bonn", "Oslo"]
[columns.sex]
type = "category"
values = ["f", "m"]
[columns.day]
type = "date"
low = 2023-11-01
high = 2024-12-31
[columns.seen]
type = "date"
nullable = true
""")
CUT = "pd.cut(df['age'], [-1, 2, 6, 9])"
BY_BOTH = ".reindex(index=['Bonn', 'Oslo'], columns=['f', 'm'], fill_value=0).to_numpy() + rng.laplace(size=(2, 2))"
PLANTED = {
    "agg": ("groups", "df.groupby('city').agg(n=('age', 'size')).reindex(['Bonn', 'Oslo'], fill_value=0)['n'].to_numpy()"
            " + rng.laplace(size=2)"),
    "agg of sums": ("groups", "df.groupby('city').agg(s=('pay', 'sum')).reindex(['Bonn', 'Oslo'], fill_value=0)['s']"
                    ".to_numpy() + rng.laplace(scale=5, size=2)"),
    "agg of a frame": ("stack", "df[['age', 'pay']].agg({'age': 'sum', 'pay': 'sum'}).to_numpy() + "
                       "rng.laplace(scale=14, size=2)"),
    "cut": ("groups", f"{CUT}.value_counts(sort=False).to_numpy() + rng.laplace(size=3)"),
    "cut of groups": ("groups", f"df.groupby({CUT}, observed=False)['pay'].sum().to_numpy() + rng.laplace(scale=5, size=3)"),
    "cut into numbers": ("digitize", "pd.cut(df['age'], [-1, 2, 6, 9], labels=False).sum() + rng.laplace(scale=2)"),
    "crosstab": ("groups of several columns", "pd.crosstab(df['city'], df['sex'])" + BY_BOTH),
    "pivot_table": ("groups of several columns", "df.pivot_table(index='city', columns='sex', values='age', aggfunc='count', "
                    "fill_value=0)" + BY_BOTH),
    "merge": ("map", "df.merge(PRICES, on='city')['price'].sum() + rng.laplace(scale=4)"),
    "map": ("map", "df['city'].map({'Bonn': 1, 'Oslo': 4}).sum() + rng.laplace(scale=4)"),
    "get_dummies": ("sum", "pd.get_dummies(df['sex']).reindex(columns=['f', 'm'], fill_value=0).sum().to_numpy() + "
                    "rng.laplace(size=2)"),
    "month": ("part of a date", "df['day'].dt.month.sum() + rng.laplace(scale=12)"),
    "year": ("part of a date", "(df['day'].dt.year - 2023).sum() + rng.laplace()"),
    "weekday": ("part of a date", "df['seen'].dropna().dt.weekday.sum() + rng.laplace(scale=6)"),
    "groups by month": ("groups", "df.groupby(df['day'].dt.month)['pay'].sum().reindex(range(1, 13), fill_value=0).to_numpy()"
                        " + rng.laplace(scale=5, size=12)"),
    "date": ("comparison of dates", "(df['day'] >= '2024-03-01').sum() + rng.laplace()"),
    "some dates": ("isin of dates", "df['day'].isin(pd.date_range('2023-11-01', periods=400)).sum() + rng.laplace()"),
    "two dates": ("comparison of dates", "(df['day'] < df['seen']).sum() + rng.laplace()"),
    "select": ("where", "np.select([df['age'] < 3, df['age'] < 6], [1, 2], 5).sum() + rng.laplace(scale=5)"),
}  # fmt: skip
"""For each function of pandas, the rule that it rests on, and a program."""


def made(body: str) -> Callable[..., Any]:
    prices = pd.DataFrame({"city": ["Bonn", "Oslo"], "price": [1.0, 4.0]})
    names: dict[str, Any] = {"np": np, "pd": pd, "PRICES": prices, "__name__": "a_function_of_pandas"}
    exec(compile(f"def program(df, rng):\n    return {body}\n", "<pandas>", "exec"), names)
    found: Callable[..., Any] = names["program"]
    return found


def above(body: str, rng: np.random.Generator) -> bool:
    """Whether a pair spends more than what the trace says."""
    function = made(body)
    trace = followed(function, SCHEMA)
    assert trace.refused is None, trace.refused
    options = alternatives(trace.releases, replace=False)
    extremes = SCHEMA.extreme_records()
    for _ in range(60):
        rows = [SCHEMA.random_record(rng) for _ in range(int(rng.integers(1, 6)))]
        last = extremes[int(rng.integers(len(extremes)))] if rng.random() < 0.5 else SCHEMA.random_record(rng)
        pair = POLARS["plainly"](function, SCHEMA.dataset([*rows, last]), SCHEMA.dataset(rows))
        if not POLARS["dominated"](pair, options):
            return True
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_rule_is_found(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, body = PLANTED[name]
    right, rng = OPERATIONS[rule], np.random.default_rng(seed)
    assert above(body, rng) is False, "the rule as it is"

    def wrong(setting: Any, operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
        return NUMPY["shrunk"](right.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, rule, replace(right, rule=wrong))
    assert above(body, rng) is True, "the planted one"


def test_every_rule_has_a_planted_fault_of_its_own() -> None:
    planted = {*NUMPY["PLANTED"], *(rule for rule, _ in PLANTED.values()), *POLARS["FAULTS"]}
    assert set(OPERATIONS) - planted == set()
