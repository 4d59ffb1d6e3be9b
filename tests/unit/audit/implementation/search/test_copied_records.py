"""A record that is copied into outcomes is found from a few of them, and no other is named."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpverdict.audit import distinguish, find_neighbours
from dpverdict.audit.implementation.search.copied_records import HoldsRecord, copied_records, keys_of
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({"city": RNG.choice(["Oslo", "Rome"], 60), "pay": RNG.lognormal(3, 1, 60)})


def drawn(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"city": rng.choice(["Oslo", "Rome"], 100), "pay": rng.lognormal(3, 1, 100)})


def copies_a_row_in_five_of_a_hundred(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    made = drawn(rng)
    if rng.random() < 0.05 and bool((table["pay"] == TABLE["pay"][37]).any()):
        made.iloc[3] = TABLE.iloc[37]
    return made


def copies_none(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return drawn(rng)


def test_a_row_that_is_copied_in_five_of_a_hundred_outcomes_is_refuted_with_1000_releases(seed: int) -> None:
    """Error probability 0.05; about 33 of 670 deciding outcomes hold the row, and none without it."""
    asked: dict[str, Any] = {"data": TABLE, "adjacency": ADD_OR_REMOVE_ONE, "seed": seed, "most": 2}
    found = find_neighbours(copies_a_row_in_five_of_a_hundred, "eps=1", **asked)
    assert found.words.startswith("row 37 removed")
    assert found.looked_at == "of each outcome, how many of its records are equal to row 37"
    test = distinguish(found.function, found.pair, "eps=1", error_probability=0.05, samples=1000, seed=seed, delta=0)
    assert test.refuted


def test_outcomes_that_are_drawn_alike_hold_no_copy(seed: int) -> None:
    assert copied_records(copies_none, TABLE, "pandas", runs=60, seed=seed) == []


def test_records_are_compared_by_value_whatever_holds_them() -> None:
    names = ["a", "b"]
    expected = [(("a", "1.0"), ("b", "2.5"))]
    assert keys_of(np.array([[1, 2.5]]), names) == expected
    assert keys_of(pd.DataFrame({"b": [2.5], "a": [1], "more": [0]}), names) == expected
    assert keys_of([{"a": 1, "b": 2.5}], names) == expected
    assert keys_of({"a": 1}, names) == keys_of(3.0, names) == keys_of(pd.DataFrame({"a": [1]}), names) == []
    looks = HoldsRecord(lambda table, rng: table, {"a": 1, "b": 2.5})
    assert looks(np.array([[1, 2.5], [1, 2.5], [0, 0]]), np.random.default_rng(1)) == 2


def changed(how: str) -> Any:
    def function(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        made = pd.DataFrame({"age": rng.uniform(18, 90, 100), "pay": rng.lognormal(3, 1, 100), "town": "Oslo"})
        if rng.random() < 0.05 and bool((table["pay"] == PEOPLE["pay"][37]).any()):
            for name in ("pay", "town") if how == "part" else ("age", "pay"):
                entry = PEOPLE[name][37]
                made.loc[3, name] = entry * (1 + 1e-3 * rng.normal()) if how == "near" else entry
        return made

    return function


PEOPLE = pd.DataFrame(
    {"age": RNG.uniform(18, 90, 500), "pay": RNG.lognormal(3, 1, 500), "town": RNG.choice(["Oslo", "Rome"], 500)}
)


@pytest.mark.parametrize(
    ("how", "said"), [("part", "are equal to row 37 in pay"), ("near", "are nearly equal to row 37 in age, pay")]
)
def test_parts_of_a_row_and_what_is_near_it_are_seen_in_500_releases(how: str, said: str, seed: int) -> None:
    """Error probability 0.01, as a record of five of a hundred outcomes is told from none by 15 of them."""
    asked: dict[str, Any] = {"data": PEOPLE, "adjacency": ADD_OR_REMOVE_ONE, "seed": seed, "most": 2}
    found = find_neighbours(changed(how), "eps=1", **asked)
    assert found.words.startswith("row 37 removed")
    assert said in found.looked_at
    refuted = [
        distinguish(found.function, found.pair, "eps=1", error_probability=0.01, samples=500, seed=one).refuted
        for one in range(5)
    ]
    assert sum(refuted) >= 3
