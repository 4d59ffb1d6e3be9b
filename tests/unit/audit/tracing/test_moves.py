"""Records that move the releases furthest are found, and bounds that comparisons decide hold where they are decided."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.search import moves
from dpverdict.audit.tracing.search.moves import Pair, widest_pairs
from dpverdict.audit.tracing.spending import alternatives

COLUMNS = """
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 120
[columns.city]
type = "category"
values = ["Oslo", "Rome", "Bonn"]
[columns.rate]
type = "float"
low = 0
high = 1
"""
ADDED = TableSchema.from_toml('relation = "add-or-remove-one"' + COLUMNS)
REPLACED = TableSchema.from_toml('relation = "replace-one"\nrecords = 9' + COLUMNS)


def two_masks(df: Any, rng: Any) -> Any:
    twenties = df.age.between(20, 30).sum() + rng.laplace(0, 1)
    return twenties, df.city.eq("Rome").sum() + rng.laplace(0, 1)


def weights_of_cities(df: Any, rng: Any) -> Any:
    return df.city.map({"Rome": 1.0, "Oslo": 2.0, "Bonn": 30.0}).sum() + rng.laplace(0, 3)


def two_conditions(df: Any, rng: Any) -> Any:
    return df.age[(df.city == "Oslo") & (df.age >= 100)].sum() + rng.laplace(0, 110)


def strictly_above(df: Any, rng: Any) -> Any:
    return df.rate.gt(0.3).sum() + df.rate.clip(0.3, 0.9).sum() + rng.laplace(0, 1)


def from_seven_on(df: Any, rng: Any) -> Any:
    return np.maximum((df.city == "Rome").sum(), 7) + rng.laplace(0, 0.5)


def gaussian(df: Any, rng: Any) -> Any:
    return df.age.sum() + rng.normal(0, 60), (df.city == "Bonn").sum() + rng.normal(0, 2)


FUNCTIONS = [two_masks, weights_of_cities, two_conditions, strictly_above, from_seven_on, gaussian]


def furthest(function: Callable[..., Any], schema: TableSchema) -> list[Pair]:
    trace = followed(function, schema)
    assert trace.refused is None
    options = alternatives(trace.releases, replace=schema.records is not None)
    return widest_pairs(function, schema, trace, options, seed=0, seconds=30)


@pytest.mark.parametrize("schema", [ADDED, REPLACED])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_bound_is_attained_by_a_pair(function: Callable[..., Any], schema: TableSchema) -> None:
    best = furthest(function, schema)[0]
    assert best.share == pytest.approx(1.0, abs=1e-12)
    for rows in (best.rows, best.neighbour):
        schema.check(schema.dataset(rows))
    if schema.records is None:
        assert best.rows[:-1] == best.neighbour
    else:
        assert len(best.rows) == len(best.neighbour) == 9
        assert best.rows[:-1] == best.neighbour[:-1]


def test_a_search_among_the_ends_of_columns_alone_is_found_wanting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "_candidates", lambda column, constants: column.extremes()[:2])
    monkeypatch.setattr(moves, "widest_records", lambda releases, *, replace: [])
    assert furthest(two_masks, ADDED)[0].share < 1


def test_a_pair_that_the_search_found_refutes() -> None:
    verdict = certify_function(two_masks, "eps=1", schema=ADDED)
    assert verdict.status is Status.REFUTED
    assert verdict.found_up_to == pytest.approx(2)
    assert verdict.witness is not None
    (record,) = verdict.witness["records"]
    assert 20 <= record["age"] <= 30
    assert record["city"] == "Rome"


DATED = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "pandas"
[columns.day]
type = "date"
low = 2024-01-01
high = 2025-06-30
""")


@pytest.mark.parametrize(
    "counted",
    [
        lambda day: day.dt.month == 10, lambda day: day.dt.weekday == 6, lambda day: day == "2024-05-17",
        lambda day: (day > "2025-05-17") & (day < "2025-05-19"),
    ],
)  # fmt: skip
def test_days_are_searched_for_that_lie_between_the_ends(counted: Callable[..., Any]) -> None:
    def few(df: Any, rng: Any) -> Any:
        return counted(df["day"]).sum() + rng.laplace(0, 0.8)

    verdict = certify_function(few, "eps=1", schema=DATED, search=20)
    assert verdict.status is Status.REFUTED
    assert verdict.found_up_to == pytest.approx(1.25)


def test_draws_that_depend_on_each_other_are_measured() -> None:
    def both(df: Any, rng: Any) -> Any:
        sums = np.stack([df.age.clip(0, 3).sum(), df.rate.clip(0, 1).sum()])
        return sums + rng.multivariate_normal([0, 0], [[4.0, 1.0], [1.0, 1.0]])

    record = furthest(both, ADDED)[0].rows[-1]
    assert record["age"] >= 3  # of the moves (3, 0), with 9 / 3 by the inverse, and (3, 1), with 7 / 3
    assert record["rate"] == 0
    verdict = certify_function(both, "mu=1", schema=ADDED, search=20)
    assert verdict.status is Status.REFUTED
    assert verdict.found_up_to in (pytest.approx(3**0.5), pytest.approx((7 / 3) ** 0.5))


def test_a_bound_that_a_comparison_decides() -> None:
    schema = TableSchema.from_toml(
        'relation = "replace-one"\nrecords = 9\ntable = "pandas"\n[columns.x]\ntype = "float"\nlow = 2\nhigh = 3\n'
    )

    def always(df: Any, rng: Any) -> Any:
        return ((df.x > 1) & ~(df.x > 3)).sum() + (df.x % 4).clip(2, 9).sum() + rng.laplace(0, 1)

    def at_the_end(df: Any, rng: Any) -> Any:
        return (df.x > 2).sum() + (df.x % 3).clip(2, 9).sum() + rng.laplace(0, 1)

    assert certify_function(always, "eps=1", schema=schema, search=0).status is Status.CERTIFIED
    assert certify_function(at_the_end, "eps=1", schema=schema, search=0).status is Status.INCONCLUSIVE


def test_a_comparison_that_rounds_its_constant_is_not_decided() -> None:
    """0.1 is less than every number of the column, and equal to the least one in single precision."""
    least = float(np.float32(0.1))
    assert least > 0.1
    assert not np.float32(least) > 0.1
    text = (
        'relation = "replace-one"\nrecords = 9\ntable = "pandas"\n[columns.x]\ntype = "float"\nlow = {!r}\nhigh = 1\n'
    )
    for dtype, status in (("float32", Status.INCONCLUSIVE), ("float64", Status.CERTIFIED)):
        schema = TableSchema.from_toml(text.format(least) + f'dtype = "{dtype}"\n')
        found = certify_function(lambda df, rng: (df.x > 0.1).sum() + rng.laplace(0, 0.1), "eps=1", schema=schema,
                                 search=0)  # fmt: skip
        assert found.status is status, dtype
