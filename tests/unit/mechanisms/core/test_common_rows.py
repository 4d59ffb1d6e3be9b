"""Rows that two frames have in common are left out of their comparison, and no others."""

from __future__ import annotations

import datetime
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpverdict.mechanisms import ObjectPair
from dpverdict.mechanisms.core.common_rows import without_common_rows
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, as_pair
from dpverdict.mechanisms.core.records import differing, records_of

DAYS = [datetime.date(2026, 1, day) for day in range(1, 4)]


def columns(rng: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    """Few values, so that rows are often equal, with all that compares oddly."""
    return {
        "number": rng.choice([0.0, -0.0, np.nan, 1.5], rows).tolist(),
        "count": rng.integers(0, 2, rows).tolist(),
        "word": [("a", "b", "")[i] for i in rng.integers(0, 3, rows)],
        "kept": (rng.random(rows) < 0.5).tolist(),
        "day": [DAYS[i] for i in rng.integers(0, 3, rows)],
    }


def frames(held: dict[str, list[Any]]) -> list[Any]:
    plain = pd.DataFrame(held)
    typed = plain.astype({"word": "category", "number": "float32"})
    return [plain, typed, plain.astype({"word": "string"}), pl.DataFrame(held)]


def taken(frame: Any, rows: list[int]) -> Any:
    return frame.iloc[rows] if isinstance(frame, pd.DataFrame) else frame[rows]


def test_what_is_left_differs_in_as_many_records_as_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cut = 0
    for _ in range(60):
        rows = int(rng.integers(0, 9))
        for frame in frames(columns(rng, rows)):
            order = [int(i) for i in range(rows) if rng.random() < 0.8]
            if rng.random() < 0.3:
                rng.shuffle(order)
            other = taken(frame, order)
            left, right, common = without_common_rows(frame, other)
            whole = records_of(frame), records_of(other)
            parts = records_of(left), records_of(right)
            assert whole[0] is not None
            assert whole[1] is not None
            assert parts[0] is not None
            assert parts[1] is not None
            assert differing(*parts) == differing(*whole)
            assert (len(parts[0]) + common, len(parts[1]) + common) == (len(whole[0]), len(whole[1]))
            cut += common
    assert cut > 100


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.DataFrame({"x": [0.0, 1.0]}), pd.DataFrame({"x": [-0.0, 1.0]})),
        (pl.DataFrame({"x": [0.0, 1.0]}), pl.DataFrame({"x": [-0.0, 1.0]})),
        (pl.DataFrame({"x": [None, 1.0]}), pl.DataFrame({"x": [0.0, 1.0]})),
        (
            pd.DataFrame({"x": pd.Categorical(["a", "b"], categories=["a", "b"])}),
            pd.DataFrame({"x": pd.Categorical(["b", "b"], categories=["b", "a"])}),
        ),
    ],
    ids=["signed zero", "signed zero of polars", "missing", "categories in another order"],
)
def test_values_that_look_alike_are_not_taken_for_one(one: Any, other: Any) -> None:
    whole = records_of(one), records_of(other)
    assert whole[0] is not None
    assert whole[1] is not None
    assert differing(*whole) == (1, 1)
    assert as_pair((one, other)).adjacency is REPLACE_ONE


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_large_table_is_compared_in_little_memory(make: Any) -> None:
    rows = 20_000
    table = make({f"x{i}": np.arange(rows, dtype=np.float64) + i for i in range(5)})
    rest = taken(table, [*range(7_000), *range(7_001, rows)])
    tracemalloc.start()
    pair = as_pair((table, rest))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(pair, ObjectPair)
    assert pair.describe().startswith("20000 against 19999 records (DataFrame), add-or-remove-one")
    assert peak < 10_000_000  # as text, 20 000 records of 5 numbers are more than this
