"""What it costs to follow a function: how often it is run, and the seconds of a verdict, beside one run on many rows.

    python benchmarks/traced_functions.py --rows 1000000

A function is followed on made-up tables of its schema, never on a table of the user's, so a verdict takes as long for a
table of ten rows as for one of a million. For each function: whether it is certified, how often it was run for that,
the seconds of the verdict (without the search of pairs, which a certified function does not need), those of one run on
a table of that many rows, and those of a verdict on a schema that says that there are so many records. Exit code 1 if
a function is not certified, is run more than 20 times, or takes more than 5 s beyond its own time.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

MOST_RUNS, MOST_SECONDS = 20, 5.0
CITIES = ["Bonn", "Oslo", "Rome"]
EDGES = np.arange(0.0, 121.0, 10.0)
ARRAY = """
relation = "add-or-remove-one"
table = "numpy"
[columns.age]
type = "float"
low = 0
high = 120
[columns.cost]
type = "float"
low = 0
high = 1000
"""
FRAME = """
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 120
[columns.cost]
type = "float"
nullable = true
[columns.city]
type = "category"
values = ["Bonn", "Oslo", "Rome"]
"""


def clipped_sum(x: Any, rng: np.random.Generator) -> Any:
    return np.clip(x[:, 1], 0, 500).sum() + rng.laplace(scale=500)


def histogram(x: Any, rng: np.random.Generator) -> Any:
    return np.histogram(x[:, 0], bins=EDGES)[0] + rng.laplace(scale=1, size=len(EDGES) - 1)


def moments(x: Any, rng: np.random.Generator) -> Any:
    y = x / np.array([120.0, 1000.0])
    return y.sum(axis=0) + rng.laplace(scale=4, size=2), (y.T @ y) + rng.laplace(scale=8, size=(2, 2))


def both_sides(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, 0] / 120
    return y.sum() + rng.laplace(scale=1), (1 - y).sum() + rng.laplace(scale=1)


def mean_cost(df: Any, rng: np.random.Generator) -> Any:
    cost = df["cost"].fillna(0).clip(0, 1000)
    return (cost.sum() + rng.laplace(scale=2000)) / max(len(df) + rng.laplace(scale=2), 1)


def by_city(df: Any, rng: np.random.Generator) -> Any:
    return df["city"].value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=len(CITIES))


def dearest_city(df: Any, rng: np.random.Generator) -> Any:
    totals = df.assign(paid=df["cost"].fillna(0).clip(0, 1000)).groupby("city", observed=False)["paid"].sum()
    return CITIES[np.argmax(totals.reindex(CITIES, fill_value=0).to_numpy() + rng.gumbel(scale=1000, size=3))]


def over_sixty(df: Any, rng: np.random.Generator) -> Any:
    import polars as pl

    return df.select((pl.col("age") > 60).sum()).item() + rng.laplace(scale=1)


FUNCTIONS: Sequence[tuple[Callable[..., Any], str]] = [
    (clipped_sum, ARRAY), (histogram, ARRAY), (moments, ARRAY), (both_sides, ARRAY), (mean_cost, FRAME),
    (by_city, FRAME), (dearest_city, FRAME), (over_sixty, FRAME.replace('"pandas"', '"polars"')),
]  # fmt: skip


def large_table(schema: TableSchema, rows: int) -> Any:
    """A table of the schema of many rows."""
    rng = np.random.default_rng(1)
    age, cost = rng.integers(0, 121, rows), rng.uniform(0, 1000, rows)
    if schema.table == "numpy":
        return np.column_stack([age, cost])
    columns = {"age": age, "cost": cost, "city": rng.choice(CITIES, rows)}
    if schema.table == "pandas":
        import pandas as pd

        frame = pd.DataFrame(columns)
        return frame.assign(city=pd.Categorical(frame["city"], categories=CITIES))
    import polars as pl

    return pl.DataFrame(columns)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long something takes, and what it gives."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main() -> int:
    """Follow every function."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    functions = [one for one in FUNCTIONS if importlib.util.find_spec(TableSchema.from_toml(one[1]).table)]
    certify_function(clipped_sum, "eps=1", schema=TableSchema.from_toml(ARRAY), search=0)  # imports
    failed = False
    print(f"{'function':14}{'table':8}{'verdict':14}{'runs':>5}{'seconds':>9}{'of a run':>10}{'public rows':>13}")
    for function, text in functions:
        schema = TableSchema.from_toml(text)
        public = replace(schema, relation=REPLACE_ONE, records=rows)
        table = large_table(schema, rows)
        own, _ = seconds(lambda: function(table, np.random.default_rng(1)))  # noqa: B023
        taken, found = seconds(lambda: certify_function(function, "eps=1", schema=schema, search=0))  # noqa: B023
        more, other = seconds(lambda: certify_function(function, "eps=4", schema=public, search=0))  # noqa: B023
        print(f"{function.__name__:14}{schema.table:8}{found.status.name:14}{found.runs:5}{taken:9.3f}{own:10.3f}"
              f"{more:13.3f}")  # fmt: skip
        right = found.status is other.status is Status.CERTIFIED and max(found.runs, other.runs) <= MOST_RUNS
        failed |= not right or max(taken, more) - own > MOST_SECONDS
    print(f"one run: on {rows} rows; public rows: seconds of the verdict where the schema says that there are so many")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
