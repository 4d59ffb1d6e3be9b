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
OTHERS = 24
"""Columns that no function reads."""
_OTHERS = "".join(f'''[columns.x{i}]
type = "float"
low = -{i + 1}
high = {i + 1}
''' for i in range(OTHERS))  # fmt: skip
ARRAY = f"""
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
{_OTHERS}"""
FRAME = f"""
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
[columns.sex]
type = "category"
values = ["f", "m"]
[columns.member]
type = "bool"
{_OTHERS}"""
POLARS = FRAME.replace('"pandas"', '"polars"')


# numpy ----------------------------------------------------------------------------------------------------------------


def clipped_sum(x: Any, rng: np.random.Generator) -> Any:
    return np.clip(x[:, 1], 0, 500).sum() + rng.laplace(scale=500)


def histogram(x: Any, rng: np.random.Generator) -> Any:
    return np.histogram(x[:, 0], bins=EDGES)[0] + rng.laplace(scale=1, size=len(EDGES) - 1)


def moments(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, :2] / np.array([120.0, 1000.0])
    return y.sum(axis=0) + rng.laplace(scale=4, size=2), (y.T @ y) + rng.laplace(scale=8, size=(2, 2))


def both_sides(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, 0] / 120
    return y.sum() + rng.laplace(scale=1), (1 - y).sum() + rng.laplace(scale=1)


def clipped_norms(x: Any, rng: np.random.Generator) -> Any:
    y = x[:, 2:]
    y = y / np.maximum(1, np.linalg.norm(y, axis=1, keepdims=True))
    return y.sum(axis=0) + rng.normal(scale=5, size=y.shape[1])


def sampled(x: Any, rng: np.random.Generator) -> Any:
    y = x[rng.random(len(x)) < 0.01]
    return y[:, 0].sum() + rng.normal(scale=240), len(x) + rng.laplace(scale=2)


def both_noises_on_a_sample(x: Any, rng: np.random.Generator) -> Any:
    m = rng.random(len(x)) < 0.05
    return (
        x[m, 0].sum() + rng.normal(scale=240), m.sum() + rng.laplace(scale=2), x[:, 1].sum() + rng.laplace(scale=2000)
    )  # fmt: skip


# pandas ---------------------------------------------------------------------------------------------------------------


def mean_cost(df: Any, rng: np.random.Generator) -> Any:
    cost = df["cost"].fillna(0).clip(0, 1000)
    return (cost.sum() + rng.laplace(scale=2000)) / max(len(df) + rng.laplace(scale=2), 1)


def by_city(df: Any, rng: np.random.Generator) -> Any:
    return df["city"].value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=len(CITIES))


def dearest_city(df: Any, rng: np.random.Generator) -> Any:
    totals = df.assign(paid=df["cost"].fillna(0).clip(0, 1000)).groupby("city", observed=False)["paid"].sum()
    return CITIES[np.argmax(totals.reindex(CITIES, fill_value=0).to_numpy() + rng.gumbel(scale=1000, size=3))]


def exponential_choice(df: Any, rng: np.random.Generator) -> Any:
    counts = np.array([(df["city"] == city).sum() for city in CITIES])
    w = np.exp(0.5 * (counts - np.max(counts)))
    return CITIES[rng.choice(3, p=w / w.sum())]


def members(df: Any, rng: np.random.Generator) -> Any:
    cells = df.groupby(["city", "sex"], observed=False).size()
    import pandas as pd

    cells = cells.reindex(pd.MultiIndex.from_product([CITIES, ["f", "m"]]), fill_value=0)
    old = ((df["age"] > 60) & df["member"]).sum()
    return cells + rng.laplace(scale=2, size=6), old + rng.laplace(scale=2)


# polars ---------------------------------------------------------------------------------------------------------------


def over_sixty(df: Any, rng: np.random.Generator) -> Any:
    import polars as pl

    return df.select((pl.col("age") > 60).sum()).item() + rng.laplace(scale=1)


def lazy_totals(df: Any, rng: np.random.Generator) -> Any:
    import polars as pl

    y = pl.col("cost").fill_null(0).fill_nan(0).clip(0, 1000)
    paid, years = (df.lazy().select(one.sum()).collect().item() for one in (y, pl.col("age")))
    return paid + rng.laplace(scale=2000), years + rng.laplace(scale=240)


def of_members(df: Any, rng: np.random.Generator) -> Any:
    import polars as pl

    return df.filter(pl.col("member") & (pl.col("city") == "Oslo")).height + rng.laplace(scale=1)


FUNCTIONS: Sequence[tuple[Callable[..., Any], str, str]] = [
    (clipped_sum, ARRAY, "eps=1"), (histogram, ARRAY, "eps=1"), (moments, ARRAY, "eps=1"), (both_sides, ARRAY, "eps=1"),
    (clipped_norms, ARRAY, "mu=0.2"), (sampled, ARRAY, "eps=1.1, delta=1e-5"),
    (both_noises_on_a_sample, ARRAY, "eps=1, delta=1e-5"), (mean_cost, FRAME, "eps=1"), (by_city, FRAME, "eps=1"),
    (dearest_city, FRAME, "eps=1"), (exponential_choice, FRAME, "eps=0.5"), (members, FRAME, "eps=1"),
    (over_sixty, POLARS, "eps=1"), (lazy_totals, POLARS, "eps=1"), (of_members, POLARS, "eps=1"),
]  # fmt: skip

SAMPLED = (sampled, both_noises_on_a_sample)


def large_table(schema: TableSchema, rows: int) -> Any:
    """A table of the schema of many rows."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {"age": rng.integers(0, 121, rows), "cost": rng.uniform(0, 1000, rows)}
    others = {f"x{i}": rng.uniform(-i - 1, i + 1, rows) for i in range(OTHERS)}
    if schema.table == "numpy":
        return np.column_stack([*columns.values(), *others.values()])
    columns |= {"city": rng.choice(CITIES, rows), "sex": rng.choice(["f", "m"], rows), "member": rng.random(rows) < 0.5}
    if schema.table == "pandas":
        import pandas as pd

        frame = pd.DataFrame(columns | others)
        return frame.assign(city=pd.Categorical(frame["city"], CITIES), sex=pd.Categorical(frame["sex"], ["f", "m"]))
    import polars as pl

    return pl.DataFrame(columns | others)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How much processor time something takes, and what it gives."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def verdict_of(function: Callable[..., Any], claim: str, schema: TableSchema) -> tuple[str, int, float]:
    """The verdict, the runs and the seconds; of a function that is not followed so, its reason is printed."""
    taken, found = seconds(lambda: certify_function(function, claim, schema=schema, search=0))
    if found.status is not Status.CERTIFIED:
        print(f"{function.__name__}, {claim}: {found.status.name}: {found.reason}", file=sys.stderr)
    return found.status.name, found.runs, taken


def main() -> int:
    """Follow every function."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    functions = [one for one in FUNCTIONS if importlib.util.find_spec(TableSchema.from_toml(one[1]).table)]
    certify_function(clipped_sum, "eps=1", schema=TableSchema.from_toml(ARRAY), search=0)  # imports
    failed, tables = False, dict[str, Any]()
    print(f"{'function':25}{'table':8}{'verdict':11}{'runs':>4}{'seconds':>9}{'of a run':>10}{'public rows':>13}")
    for function, text, claim in functions:
        schema = TableSchema.from_toml(text)
        if schema.table not in tables:
            tables = {schema.table: large_table(schema, rows)}
        own, _ = seconds(lambda: function(tables[schema.table], np.random.default_rng(1)))  # noqa: B023
        status, runs, taken = verdict_of(function, claim, schema)
        failed |= status != Status.CERTIFIED.name or runs > MOST_RUNS or taken - own > MOST_SECONDS
        shown = "-"  # a sample is not followed where records are replaced
        if function not in SAMPLED:
            public = replace(schema, relation=REPLACE_ONE, records=rows)
            status, runs, more = verdict_of(function, "eps=9, delta=1e-5", public)
            failed |= status != Status.CERTIFIED.name or runs > MOST_RUNS or more - own > MOST_SECONDS
            shown = f"{more:.3f}"
        print(
            f"{function.__name__:25}{schema.table:8}{status:11}{runs:4}{taken:9.3f}{own:10.3f}{shown:>13}", flush=True
        )
    print(f"of {OTHERS + 2} columns (numpy) and {OTHERS + 5}; processor time; one run: on {rows} rows; public rows:\n"
          "the verdict where the schema says that there are so many")  # fmt: skip
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
