"""What one run beside another shows of a proposed pair."""

import time
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest

from dpverdict.audit.implementation.search import measured
from dpverdict.audit.implementation.search.code_constants import constants_of
from dpverdict.audit.implementation.search.measured import ANOTHER_FORM, OTHER_STEPS, Measuring
from dpverdict.audit.implementation.search.table_search import FIRST_RELEASES, search_table
from dpverdict.audit.tables.proposals import Proposal, Proposals
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE

TABLE = pd.DataFrame({"city": ["Oslo"] * 6 + ["Rome"] * 5, "age": [30, 40, 50, 60, 70, 80, 35, 45, 55, 65, 75]})
SCHEMA = TableSchema.from_frame(TABLE, relation=ADD_OR_REMOVE_ONE)


def a_draw_for_each_key(df: pd.DataFrame, rng: Any) -> Any:
    return {city: count + rng.laplace(scale=2) for city, count in df.city.value_counts().items()}


def at_one_age_in_one_city(df: pd.DataFrame, rng: Any) -> float:
    chosen = df[(df.city == "Lund") & (df.age > 93)]
    return float(len(df) + rng.laplace(scale=1)) if len(chosen) == 0 else 0.0


def proposals(function: Any) -> list[Proposal]:
    return list(Proposals(TABLE, SCHEMA, constants_of(function)))


def test_another_key_tells_more_than_another_number_of_draws() -> None:
    measuring = Measuring(a_draw_for_each_key, PureDP(1), "pandas", seed=1)
    made = proposals(a_draw_for_each_key)
    measures = [measuring.measure(one, number) for number, one in enumerate(made)]
    new_city = next(number for number, one in enumerate(made) if "something new" in one.words)
    assert measures[new_city].size == ANOTHER_FORM > OTHER_STEPS
    row = next(number for number, one in enumerate(made) if one.words.startswith("row 0 removed"))
    assert measures[row].size < OTHER_STEPS


def test_what_the_code_names_in_two_columns_is_tried_together() -> None:
    made = proposals(at_one_age_in_one_city)
    both = next(number for number, one in enumerate(made) if "city=Lund" in one.words and "age=94" in one.words)
    assert both < 40
    measuring = Measuring(at_one_age_in_one_city, PureDP(1), "pandas", seed=1)
    assert measuring.measure(made[both], both).size >= OTHER_STEPS


def without_end_on_new_cities(df: Any, rng: Any) -> float:
    while "Rome" not in set(df["city"]):
        time.sleep(0.01)
    return float(len(df) + rng.laplace())


def the_first_ten(df: pd.DataFrame, rng: Any) -> dict[str, float]:
    """Without a record of Oslo, one more of Rome is counted: two numbers move by 1. The tap follows no plain number."""
    cities = df["city"].head(10)
    return {city: int((cities == city).sum()) + float(rng.laplace()) for city in ("Oslo", "Rome")}


def test_two_numbers_that_move_tell_more_than_one() -> None:
    measuring = Measuring(the_first_ten, PureDP(1), "pandas", seed=1)
    made = proposals(the_first_ten)
    removed = {one.words[:5]: measuring.measure(one, i).size for i, one in enumerate(made) if " removed" in one.words}
    rows = [size for name, size in removed.items() if name in {f"row {i}" for i in range(6)}]
    others = [size for name, size in removed.items() if name in {f"row {i}" for i in range(6, 10)}]
    assert min(rows) > max(others)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_pair_on_which_the_function_does_not_end_is_left_out_and_named(
    library: Literal["pandas", "polars"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of polars are measured in this process, those of pandas in a copy of it."""
    monkeypatch.setattr(measured, "SHORTEST_LIMIT", 0.2)
    one_in_rome = TABLE.iloc[:7]
    given = one_in_rome if library == "pandas" else pl.from_pandas(one_in_rome)
    schema = TableSchema.from_frame(given, relation=ADD_OR_REMOVE_ONE)
    found = search_table(
        without_end_on_new_cities, PureDP(1), data=given, schema=schema, received=library, seed=1, most=12
    )
    assert found.ended >= 1
    assert "Rome" in found.first_ended
    assert f"as the function did not end in time: {found.first_ended}" in found.describe()
    assert found.measured == 12 - found.ended


def test_of_a_slow_function_there_are_fewer_releases() -> None:
    def slow(df: pd.DataFrame, rng: Any) -> float:
        time.sleep(0.1)
        return float(len(df) + rng.laplace())

    found = search_table(slow, PureDP(1), data=TABLE, schema=SCHEMA, received="pandas", seed=1, seconds=3)
    assert found.releases < FIRST_RELEASES
