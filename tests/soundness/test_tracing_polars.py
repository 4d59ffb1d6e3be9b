"""Functions of polars: what is certified holds on pairs, what is not covered is refused, wrong rules are found."""

import datetime
import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.handles.frames import polars_trees
from dpverdict.audit.tracing.rules.covered import OPERATIONS
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.spending import alternatives

HERE = Path(__file__).parent
PROGRAMS = runpy.run_path(str(HERE / "tracing_programs.py"))
Zero, Measured, dominated, shrunk = PROGRAMS["Zero"], PROGRAMS["Measured"], PROGRAMS["dominated"], (
    runpy.run_path(str(HERE / "test_tracing.py"))["shrunk"]
)  # fmt: skip
SCHEMA = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "polars"
[columns.age]
type = "int"
low = 0
high = 120
[columns.income]
type = "float"
low = 0
high = 1e6
[columns.rate]
type = "float"
low = -1
high = 1
nullable = true
[columns.visits]
type = "int"
low = 0
high = 5
nullable = true
[columns.ok]
type = "bool"
[columns.city]
type = "category"
values = ["Oslo", "Rome"]
[columns.sex]
type = "category"
values = ["f", "m"]
nullable = true
[columns.day]
type = "date"
low = 2023-11-01
high = 2024-12-31
[columns.seen]
type = "date"
low = 2024-01-01
high = 2024-12-31
nullable = true
""")
CITIES = "pl.DataFrame({'city': ['Rome', 'Oslo']})"
LEFT = "on='city', how='left', maintain_order='left'"
BOTH = "pl.DataFrame({'city': ['Oslo', 'Oslo', 'Rome', 'Rome'], 'sex': ['f', 'm', 'f', 'm']})"
BY_CITY = "df.group_by('city')"

RIGHT = {
    "df.select(pl.col('age').clip(0, 90).sum()).item() + rng.laplace(scale=90)": "eps=1",
    "df['age'].clip(0, 90).sum() + rng.laplace(scale=90)": "eps=1",
    "df.lazy().filter(pl.col('age') > 18).select(pl.len()).collect().item() + rng.laplace()": "eps=1",
    "df.filter(pl.col('age') > 18, pl.col('ok')).height + rng.laplace()": "eps=1",
    "df.filter(city='Oslo').height + rng.laplace()": "eps=1",
    "[df.filter(pl.col('city') == c).height + rng.laplace() for c in ['Oslo', 'Rome']]": "eps=1",
    "df.with_columns(z=pl.when(pl.col('age') > 30).then(pl.col('income').clip(0, 9)).otherwise(0.0))"
    ".select(pl.col('z').sum()).item() + rng.normal(0, 9)": "mu=1",
    "df.select(pl.col('rate').fill_null(0).fill_nan(0).sum()).item() + rng.laplace()": "eps=1",
    "df['visits'].sum() + rng.laplace(scale=5)": "eps=1",
    "df.select(pl.col('visits').count()).item() + rng.laplace()": "eps=1",
    "df['visits'].fill_null(7).sum() + rng.laplace(scale=7)": "eps=1",
    "df.drop_nulls('visits').filter(pl.col('visits') > 2).height + rng.laplace()": "eps=1",
    "(df['age'] > 40).sum() + rng.laplace()": "eps=1",
    "df.select((pl.col('ok') & pl.col('city').is_in(['Oslo'])).sum()).item() + rng.laplace()": "eps=1",
    "df.select(pl.col('age').is_between(20, 30, closed='left').sum()).item() + rng.laplace()": "eps=1",
    "df.select(pl.col('age', 'income').clip(0, 10).sum()).to_numpy() + rng.laplace(scale=20, size=(1, 2))": "eps=1",
    "df['age'].to_numpy().clip(0, 90).sum() + rng.laplace(scale=90)": "eps=1",
    "(df['age'].cast(pl.Float64) * df['income'].clip(0, 1)).sum() + rng.laplace(scale=120)": "eps=1",
    "df.select(pl.col('income').log1p().sum()).item() + rng.laplace(scale=14)": "eps=1",
    "df.select((-pl.col('age').cast(pl.Float64).sqrt()).sum()).item() + rng.laplace(scale=11)": "eps=1",
    "df.select((pl.col('age') / 2 - 30).abs().floor().sum()).item() + rng.laplace(scale=30)": "eps=1",
    "len(df) + rng.laplace()": "eps=1",
    f"{CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(0)['len'].to_numpy() + rng.laplace(size=2)": "eps=1",
    f"{CITIES}.join({BY_CITY}.agg(s=pl.col('income').clip(0, 9).sum()), {LEFT}).fill_null(0)['s'] + "
    "rng.laplace(scale=9, size=2)": "eps=1",
    f"{CITIES}.join({BY_CITY}.agg(n=pl.col('visits').count()), {LEFT}).fill_null(0)['n'].to_list()[1] + "
    "rng.laplace()": "eps=1",
    f"{CITIES}.join({BY_CITY}.agg((pl.col('age') > 30).sum().alias('n')), {LEFT}).with_columns(n=pl.col('n')"
    ".fill_null(0).cast(pl.Float64) * 2)['n'].to_numpy() + rng.laplace(scale=2, size=2)": "eps=1",
    f"{CITIES}.join(df.lazy().group_by('city').agg(n=pl.len()).collect(), on='city', how='left').fill_null(0)"
    ".sort('city')['n'].to_numpy() + rng.laplace(size=2)": "eps=1",
    f"{BOTH}.join(df.group_by('city', 'sex').agg(pl.len()), on=['city', 'sex'], how='left', maintain_order='left')"
    ".fill_null(0)['len'].to_numpy() + rng.laplace(size=4)": "eps=1",
    f"{CITIES}.join(df['city'].value_counts(), {LEFT}).fill_null(0)['count'].to_numpy() + rng.laplace(size=2)": "eps=1",
    f"df['city'].value_counts(name='n').join({CITIES}, on='city', how='right', maintain_order='right')"
    ".fill_null(0)['n'].to_numpy() + rng.laplace(size=2)": "eps=1",
    "pl.DataFrame({'visits': list(range(6))}).join(df.group_by('visits').len('n'), on='visits', how='left', "
    "maintain_order='left').fill_null(0)['n'].to_numpy() + rng.laplace(size=6)": "eps=1",
    "df.select((pl.col('age') > 50).sum().alias('a'), (pl.col('age') <= 50).sum().alias('b')).to_numpy()[0] + "
    "rng.laplace(scale=2, size=2)": "eps=1",
    "df.select(n=pl.len(), s=pl.col('age').sum())['n'].item() + rng.laplace()": "eps=1",
    "df.select(pl.len().cast(pl.Float64) - 5).item() + rng.laplace()": "eps=1",
    "df.select(pl.col('age').sum() * 2 - 7).item() + rng.laplace(scale=240)": "eps=1",
    "[(df['age'].cut([18, 40], labels=['a', 'b', 'c']) == one).sum() + rng.laplace() for one in 'abc']": "eps=1",
    "(df['age'].cut([18, 40]) == '(18, 40]').sum() + rng.laplace()": "eps=1",
    "(df['income'].cut([1.0, 5e5], left_closed=True) == '[1, 500000)').sum() + rng.laplace()": "eps=1",
    "df['city'].replace_strict({'Oslo': 1, 'Rome': 4}).sum() + rng.laplace(scale=4)": "eps=1",
    "df['city'].replace_strict({'Oslo': 2.5}, default=1.0).sum() + rng.laplace(scale=2.5)": "eps=1",
    "(df['city'].replace({'Oslo': 'here'}) == 'here').sum() + rng.laplace()": "eps=1",
    "df.select((pl.col('age') // 10).sum()).item() + rng.laplace(scale=12)": "eps=1",
    "df.select((pl.col('age') % 7).sum()).item() + rng.laplace(scale=7)": "eps=1",
    "df.filter(pl.col('day') >= pl.date(2024, 3, 1)).height + rng.laplace()": "eps=1",
    "df.filter(pl.col('day').is_between(pl.date(2024, 3, 1), pl.date(2024, 6, 1))).height + rng.laplace()": "eps=1",
    "df.drop_nulls('seen').filter(pl.col('seen') > pl.col('day')).height + rng.laplace()": "eps=1",
    "df.select(pl.col('day').dt.month().sum()).item() + rng.laplace(scale=12)": "eps=1",
    "df.select(pl.col('day').dt.weekday().sum()).item() + rng.laplace(scale=7)": "eps=1",
    "df.select((pl.col('day').dt.year().cast(pl.Int64) - 2023).sum()).item() + rng.laplace()": "eps=1",
    "df.drop_nulls('seen').select(pl.col('seen').dt.ordinal_day().sum()).item() + rng.laplace(scale=366)": "eps=1",
    "pl.DataFrame({'m': list(range(1, 13))}, schema={'m': pl.Int8}).join("
    "df.group_by(m=pl.col('day').dt.month()).len(), on='m', how='left', maintain_order='left').fill_null(0)['len']"
    ".to_numpy() + rng.laplace(size=12)": "eps=1",
}
REFUSED = {
    "df.group_by('city').agg(pl.len())": "labels of groups, which are those that occur",
    "df.group_by('city').agg(pl.len())['len'].to_numpy() + rng.laplace(size=2)": "which are those that occur",
    "df['city'].value_counts()['count'].to_numpy() + rng.laplace(size=2)": "which are those that occur",
    "[n + rng.laplace() for city, n in df.group_by('city').len().iter_rows()]": "which are those that occur",
    "{k: g.height + rng.laplace() for k, g in df.group_by('city')}": "a loop over the groups",
    f"{CITIES}.join({BY_CITY}.len(), on='city')['len'].to_numpy() + rng.laplace(size=2)": "from the left",
    f"{CITIES}.join({BY_CITY}.len(), {LEFT})['len'].to_numpy() + rng.laplace(size=2)": "null where there is no record",
    f"{CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(5)['len'].to_numpy() + rng.laplace(size=2)": "than 0",
    f"{CITIES}.join({BY_CITY}.len(), on='city', how='left').fill_null(0)['len'].to_numpy() + rng.laplace(size=2)":
        "leaves the order of rows open",
    f"{CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(0).sort('len')['len'].to_numpy() + rng.laplace(size=2)":
        "sorted by data",
    f"pl.DataFrame({{'city': ['Oslo', 'Oslo']}}).join({BY_CITY}.len(), {LEFT}).fill_null(0)['len'].to_numpy() + "
    "rng.laplace(size=2)": "a label twice",
    f"{CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(0)['len'].to_numpy() - 5 + rng.laplace(size=2)": "uint32",
    f"{CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(0).with_columns(pl.col('len') - 5)['len'].to_numpy() + "
    "rng.laplace(size=2)": "wrap around",
    f"({CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(0)['len'] - 5).to_numpy() + rng.laplace(size=2)": "wrap around",
    f"{CITIES}.join({BY_CITY}.agg(pl.col('age').mean()), {LEFT}).fill_null(0)['age'].to_numpy() + rng.laplace(size=2)":
        "a mean is a noisy sum over a noisy count",
    f"{CITIES}.join({BY_CITY}.agg(pl.col('rate').sum()), {LEFT}).fill_null(0)['rate'].to_numpy() + rng.laplace(size=2)":
        "may hold NaN",
    "df['age'].qcut(4).value_counts()['count'].to_numpy() + rng.laplace(size=4)": "QCut",
    "df['city'].replace_strict({'Oslo': 1}).sum() + rng.laplace()": "an error where it occurs",
    "df['city'].replace_strict({'Oslo': 1, 'Rome': 2}, return_dtype=pl.Int8).sum() + rng.laplace()": "64-bit",
    "df.select((pl.col('day').dt.month() * 100).sum()).item() + rng.laplace(scale=1200)": "64-bit numbers",
    "df.select((pl.col('seen').dt.month()).sum()).item() + rng.laplace(scale=12)": "nullable column",
    "df.select(pl.col('day').max()).item()": "max",
    "df.select((pl.col('day') - pl.col('seen')).dt.total_days().sum()).item()": "nullable column",
    "df.select(pl.col('rate').fill_null(0).sum()).item() + rng.laplace()": "may hold NaN",
    "df.select(pl.col('rate').fill_nan(0).fill_null(0).sum()).item() + rng.laplace()": "null may be left",
    "df.select((pl.col('rate') > 0).sum()).item() + rng.laplace()": "nullable column",
    "df.select(pl.col('age').map_elements(abs, return_dtype=pl.Int64).sum()).item() + rng.laplace()": "Anonymous",
    "df.select(pl.col('age').sum().over('city')).item() + rng.laplace()": "Over",
    "df.select(pl.col('age').max()).item() + rng.laplace(scale=120)": "max",
    "df.select(pl.col('age') - pl.col('age').mean()).sum().item() + rng.laplace(scale=120)": "not public",
    "df.with_columns(n=pl.len()).select(pl.col('n').sum()).item() + rng.laplace()": "a record meets all others",
    "df.select(pl.len() - 5).item() + rng.laplace()": "wrap",
    "df.sort('age')['age'].clip(0, 9).sum() + rng.laplace(scale=9)": "sort",
    "df['age'][0] + rng.laplace(scale=120)": "position",
    "df['age'].to_list()": "to_list",
    "df['age'].clip(0, 9).cast(pl.Int8).sum() + rng.laplace(scale=9)": "cast to Int8",
    "df.select(pl.col('age').sum()).item()": "without noise",
    "df.select(pl.col('income').sum() * 2.0 + pl.col('age').sum()).item() + rng.laplace(scale=1e7)": "wrap",
}  # fmt: skip


DAYS = [datetime.date(2023, 11, 1) + datetime.timedelta(days=i) for i in range(400)]


def made(body: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": np, "pl": pl, "DAYS": DAYS, "__name__": "a_function_of_polars"}
    exec(compile(f"def program(df, rng):\n    return {body}\n", "<polars>", "exec"), names)
    found: Callable[..., Any] = names["program"]
    return found


def plainly(function: Callable[..., Any], one: Any, other: Any) -> Any:
    """What a pair spends, from two plain runs without noise."""
    found = Measured()
    zeros = [Zero(), Zero()]
    outcomes = [function(table, rng) for table, rng in zip((one, other), zeros, strict=True)]
    here, there = (np.ravel(np.asarray(one, dtype=np.float64)) for one in outcomes)
    scales = np.concatenate([np.ravel(scale) for _, scale in zeros[0].draws])
    moved = np.maximum(np.abs(here - there) - 1e-9 * (1 + np.abs(here)), 0.0) / scales
    if zeros[0].draws[0][0] == "gaussian":
        found.gaussian = float(np.sum(moved**2))
    else:
        found.laplace = sorted((float(one) for one in moved if one > 0), reverse=True)
    return found


def above(body: str, rng: np.random.Generator, pairs: int = 32) -> bool:
    """Whether a pair is above what the trace says."""
    function = made(body)
    trace = followed(function, SCHEMA)
    assert trace.refused is None, trace.refused
    options = alternatives(trace.releases, replace=False)
    extremes = list(SCHEMA.extreme_records())
    for i in range(pairs):
        base = [SCHEMA.random_record(rng) for _ in range(i % 4)]
        record = extremes[int(rng.integers(len(extremes)))] if i % 2 else SCHEMA.random_record(rng)
        tables = [SCHEMA.dataset([*base, record]), SCHEMA.dataset(base)]
        if i % 3 == 0:  # what is missing may be NaN as well as null
            tables = [one.with_columns(pl.col("rate").fill_null(float("nan"))) for one in tables]
        if not dominated(plainly(function, *tables), options):
            return True
    return False


@pytest.mark.filterwarnings("ignore:`cut` is deprecated")
@pytest.mark.parametrize("body", RIGHT)
def test_what_is_certified_holds_on_pairs(body: str, seed: int) -> None:
    verdict = certify_function(made(body), RIGHT[body], schema=SCHEMA, search=0)
    assert verdict.status is Status.CERTIFIED, verdict.text()
    assert not above(body, np.random.default_rng(seed))
    assert "derived again" in check_certificate(json.loads(json.dumps(verdict.certificate)))


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_covered_says_why(body: str) -> None:
    trace = followed(made(body), SCHEMA)
    assert trace.refused is not None
    assert REFUSED[body] in trace.refused


FAULTS = {
    "table": "df['age'].sum() + rng.laplace(scale=120)",
    "fill null": "df['rate'].fill_null(9).fill_nan(0).sum() + rng.laplace(scale=9)",
    "fill nan": "df['rate'].fill_null(0).fill_nan(9).sum() + rng.laplace(scale=9)",
    "fill": "df['visits'].fill_null(7).sum() + rng.laplace(scale=7)",
    "is missing": "df.select(pl.col('visits').is_null().sum()).item() + rng.laplace()",
    "drop missing": "df['visits'].drop_nulls().sum() + rng.laplace(scale=5)",
    "in 32 bits": f"{CITIES}.join({BY_CITY}.len(), {LEFT}).fill_null(0)['len'].to_numpy() + rng.laplace(size=2)",
    "groups": f"{CITIES}.join({BY_CITY}.agg(pl.col('age').sum()), {LEFT}).fill_null(0)['age'] + "
    "rng.laplace(scale=120, size=2)",
    "groups of several columns": f"{BOTH}.join(df.group_by('city', 'sex').len(), on=['city', 'sex'], how='left', "
    "maintain_order='left').fill_null(0)['len'] + rng.laplace(size=4)",
    "map": "df['city'].replace_strict({'Oslo': 1, 'Rome': 4}).sum() + rng.laplace(scale=4)",
    "part of a date": "df.select(pl.col('day').dt.month().sum()).item() + rng.laplace(scale=12)",
    "isin of dates": "df.select(pl.col('day').is_in(DAYS).sum()).item() + rng.laplace()",
    "comparison of dates": "df.select((pl.col('day') >= pl.date(2024, 3, 1)).sum()).item() + rng.laplace()",
}


@pytest.mark.filterwarnings("ignore:`cut` is deprecated")
@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_rule_is_found(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not above(FAULTS[name], np.random.default_rng(seed))
    right = OPERATIONS[name]

    def wrong(setting: Any, operands: Sequence[Any], given: Mapping[str, Any]) -> Any:
        return shrunk(right.rule(setting, operands, given))

    monkeypatch.setitem(OPERATIONS, name, replace(right, rule=wrong))
    assert above(FAULTS[name], np.random.default_rng(seed), pairs=400)


@pytest.mark.parametrize("name", ["Minus", "Multiply"])
def test_a_node_that_is_read_as_another_is_found(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"(df['age'] {'-' if name == 'Minus' else '*'} 100).sum() + rng.laplace(scale=100)"
    assert not above(body, np.random.default_rng(seed))
    monkeypatch.setitem(polars_trees.BINARY, name, lambda one, other: np.true_divide(one, 1000.0))
    assert above(body, np.random.default_rng(seed))
