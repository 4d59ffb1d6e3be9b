"""Columns give what the whole array gives, bit for bit, and do not stay in memory."""

import math

import numpy as np
import pytest

from dpverdict.audit.statistics import columns
from dpverdict.audit.statistics.betting import Bettor, betting_p_value
from dpverdict.audit.statistics.columns import (
    MOST_IN_MEMORY,
    ROWS_PER_PART,
    NumberColumn,
    concatenated,
    first_or_last,
    pairwise_sum,
    read_in_parts,
)


def filled(values: np.ndarray, step: int) -> NumberColumn:
    column = NumberColumn()
    for at in range(0, len(values), step):
        column.extend(values[at : at + step])
    return column


@pytest.mark.parametrize(
    "length", [0, 1, 7, 129, ROWS_PER_PART, ROWS_PER_PART + 1, MOST_IN_MEMORY + 3, 3 * MOST_IN_MEMORY + 5000]
)
def test_a_column_holds_what_was_put_in(length: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=length)
    column = filled(values, 4096)
    assert len(column) == length
    whole = [part for (part,) in read_in_parts(column)]
    assert np.array_equal(np.concatenate([np.empty(0), *whole]), values)
    assert all(len(part) <= ROWS_PER_PART for part in whole)
    for start, stop in ((0, min(length, 5)), (length // 3, length // 2), (max(0, length - 7000), length)):
        assert np.array_equal(column.read(start, stop), values[start:stop])
    last = first_or_last(column, last=length // 4)
    assert np.array_equal(
        np.concatenate([np.empty(0), *(p for (p,) in read_in_parts(last))]), values[length - length // 4 :]
    )
    both = concatenated(values, column)
    assert len(both) == 2 * length


def test_a_long_column_is_not_held() -> None:
    column = filled(np.arange(3.0 * MOST_IN_MEMORY), 4096)
    assert sum(len(part) for part in column._held) <= MOST_IN_MEMORY


@pytest.mark.parametrize("length", [0, 1, 8, 1000, ROWS_PER_PART - 1, ROWS_PER_PART + 1, 200_003, 1_000_003])
def test_a_sum_has_the_rounding_of_the_whole_array(length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=length) * np.exp(5 * rng.normal(size=length))
    assert pairwise_sum(length, lambda start, stop: values[start:stop]) == float(values.sum())


def test_how_payoffs_are_divided_changes_no_bit(seed: int) -> None:
    payoffs = np.random.default_rng(seed).uniform(-1, 1.2, size=10_000)
    _, path = Bettor(largest_loss=1.0).bet(payoffs)
    p = min(1.0, math.exp(-float(path.max()) + 1e-12))
    for step in (1, 7, 4096, 10_000):
        assert betting_p_value((payoffs[at : at + step] for at in range(0, 10_000, step)), 1.0) == p


def test_a_part_that_is_dropped_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(2.0 * MOST_IN_MEMORY)
    monkeypatch.setattr(columns, "MOST_IN_MEMORY", 10)
    column = filled(values, 1000)
    assert column._file is not None
    column._file.seek(0)
    column._file.truncate(800)
    with pytest.raises(ValueError, match="ended early"):
        list(read_in_parts(column))
