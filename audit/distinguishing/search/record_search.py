"""Neighbours for tables as they are: bounds, missing values, small whole numbers, categories, any number of rows.

A bug of a released library seldom shows at zeros and ones. It shows where a sum leaves the range of its type, where a
value is missing, where a class is met for the first time, where the table is empty or all rows are alike. So every
candidate is a pool of shared rows and one record more, or another record in place of one: pools of several sizes, at
the ends of the domain, all alike or spread; records at the ends, missing, and of each category.

Each candidate is run a few times; the best then share the trials by successive halving. Whatever a run ends in is an
outcome that counts. A candidate that cannot be run at all is put last, and does not end the search. All trials are
thrown away before a claim is tested.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.search.neighbour_search import (
    CandidatePair,
    NeighbourSearch,
    RankedPair,
    distinct_candidates,
)
from dpverdict.audit.scores.portfolio import payoff_of_claim
from dpverdict.audit.trials.run import AnyMechanism
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair, check_adjacency

SIZES: Final = (0, 1, 2, 9, 30)
"""Shared rows of a pool, if the caller names no numbers."""
SCREENED: Final = 6
"""Trials on each side with which every candidate is looked at."""
KEPT: Final = 16
"""Candidates that go on from there."""
ROUNDS: Final = 4
MOST_RECORDS: Final = 16
FEWEST: Final = 20
"""Trials of a candidate in a round, at least."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What one column of a table may hold.

    Attributes:
        low: the least number.
        high: the largest.
        values: the categories, as numbers, for a column that has some; low and high are then not looked at.
        missing: whether NaN may stand for a missing value.
    """

    low: float = 0.0
    high: float = 1.0
    values: tuple[float, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        if not self.values and not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise InvalidValue("bounds", (self.low, self.high), "finite, low <= high", "give the range of the column")

    def ends(self) -> list[float]:
        """The least and the largest value, zero and the middle if they lie between, categories, and NaN."""
        if self.values:
            found = list(self.values)
        else:
            inner = [one for one in (0.0, (self.low + self.high) / 2) if self.low < one < self.high]
            found = [self.high, self.low, *inner]
        return [*found, *([math.nan] if self.missing else [])]


def parse_table(text: str) -> tuple[tuple[Column, ...], str] | None:
    """The columns of a table in words, with its type; None of anything else.

    Columns stand after ``table:``, or ``table[int8]:`` for another type than float64, with commas between them: the
    least and the largest number as 0..100, categories as 0|1|2, and a question mark after either for missing values.

    Raises:
        InvalidValue: a column that is neither.

    >>> parse_table("table[int8]:0..100")
    ((Column(low=0.0, high=100.0, values=(), missing=False),), 'int8')
    """
    kind, colon, columns = text.strip().partition(":")
    if not colon or not kind.startswith("table"):
        return None
    dtype = kind.removeprefix("table").strip("[]") or "float64"
    return tuple(_parse_column(column.strip()) for column in columns.split(",")), dtype


def _parse_column(text: str) -> Column:
    plain, missing = text.removesuffix("?"), text.endswith("?")
    try:
        if "|" in plain:
            return Column(values=tuple(float(one) for one in plain.split("|")), missing=missing)
        low, dots, high = plain.partition("..")
        if dots:
            return Column(low=float(low), high=float(high), missing=missing)
    except ValueError as error:
        if isinstance(error, InvalidValue):
            raise
    remedy = "write 0..100 for numbers, 0|1|2 for categories, and a question mark after them for missing values"
    raise InvalidValue("search", text, "a column of a table", remedy)


def search_records(
    mechanism: AnyMechanism,
    claim: Guarantee | str,
    *,
    columns: Sequence[Column],
    adjacency: NeighboringRelation,
    samples: int,
    seed: int,
    dtype: str = "float64",
    sizes: Sequence[int] = SIZES,
) -> NeighbourSearch:
    """Rank neighbouring tables by how clearly the outcomes on them break the claim.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`; a table is an array of shape (n, columns), or (n,)
            for a single column.
        claim: whose excess is estimated.
        columns: what each column may hold.
        adjacency: the relation of the pairs.
        samples: trials per dataset of the whole search.
        seed: of every random number.
        dtype: of the tables, such as "int8"; only values that it holds exactly are used.
        sizes: numbers of rows that both tables share.

    Raises:
        InvalidValue: an argument out of range, or too few samples for the candidates.
        MechanismFailure: no candidate can be run; the message is that of the first.
    """
    check_adjacency(adjacency)
    kind = np.dtype(dtype)
    if kind.kind not in "iuf" or not columns:
        raise InvalidValue("dtype", dtype, "a type of numbers, of one column or more", "give for example float64")
    alive = distinct_candidates(list(_candidate_pairs(columns, adjacency, kind, sizes)))
    least = len(alive) * SCREENED + ROUNDS * min(KEPT, len(alive)) * FEWEST
    if samples < least:
        requirement = f">= {least} for {len(alive)} candidates"
        raise InvalidValue("samples", samples, requirement, "give more, or fewer sizes")
    payoff, spent, dropped = payoff_of_claim(as_guarantee(claim)), 0, list[CandidatePair]()
    failure: MechanismFailure | None = None
    each = SCREENED
    for number in range(ROUNDS + 1):
        for candidate in alive:
            try:
                candidate.run(mechanism, each, seed, number)
                candidate.judge(payoff, thorough=number >= ROUNDS - 1)
            except MechanismFailure as error:
                failure, candidate.statistic = failure or error, -math.inf
            spent += each
        alive.sort(key=lambda candidate: -candidate.statistic)
        kept = min(KEPT, len(alive)) if number == 0 else max(1, len(alive) // 2)
        if number < ROUNDS:
            alive, dropped = alive[:kept], alive[kept:] + dropped
            each = max(FEWEST, (samples - spent) // ((ROUNDS - number) * len(alive)))
    if alive[0].statistic == -math.inf and failure is not None:
        raise failure
    ranking = tuple(
        RankedPair(pair=one.pair, origin=one.origin, statistic=one.statistic, trials=one.trials)
        for one in (*alive, *dropped)
    )
    return NeighbourSearch(ranking=ranking, samples=spent)


def _candidate_pairs(
    columns: Sequence[Column], adjacency: NeighboringRelation, kind: np.dtype[Any], sizes: Sequence[int]
) -> Iterator[CandidatePair]:
    records = _extreme_records(columns, kind)
    for size in sizes:
        pools = _shared_rows(columns, size)
        for (pool, rows), (name, record) in itertools.product(pools.items(), records.items()):
            origin = f"{name} added to {size} rows, {pool}"
            if adjacency is REPLACE_ONE:
                others = [one for one in records.values() if not np.array_equal(one, record, equal_nan=True)]
                if others:
                    pair = (
                        _table_of_rows([*rows, record], columns, kind),
                        _table_of_rows([*rows, others[0]], columns, kind),
                    )
                    yield CandidatePair(
                        _as_neighbour_pair(pair, adjacency), origin.replace("added to", "instead of another beside")
                    )
            else:
                both = _table_of_rows([*rows, record], columns, kind), _table_of_rows(rows, columns, kind)
                yield CandidatePair(_as_neighbour_pair(both, adjacency), origin)


def _as_neighbour_pair(pair: tuple[NDArray[Any], NDArray[Any]], adjacency: NeighboringRelation) -> NeighbourPair:
    return NeighbourPair(dataset=pair[0], neighbour=pair[1], adjacency=adjacency)


def _table_of_rows(rows: Sequence[Sequence[float]], columns: Sequence[Column], kind: np.dtype[Any]) -> NDArray[Any]:
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns)).astype(kind)
    return table[:, 0].copy() if len(columns) == 1 else table


def _extreme_records(columns: Sequence[Column], kind: np.dtype[Any]) -> dict[str, list[float]]:
    """Records at the ends of the domain: one column at a time, and all of them together."""
    exact = [[value for value in column.ends() if _type_can_hold(kind, value)] for column in columns]
    if not all(exact):
        requirement = f"of columns with a value that {kind} holds"
        raise InvalidValue("dtype", str(kind), requirement, "give another type, or other bounds")
    together = {
        f"a record of {part}": [own[at] for own in exact] for part, at in (("first ends", 0), ("last ends", -1))
    }
    for i, own in enumerate(exact):
        for value in own:
            record = [one[0] for one in exact]
            record[i] = value
            where = "" if len(columns) == 1 else f" in column {i}"
            together[f"a record with {value:g}{where}"] = record
    return dict(list(together.items())[:MOST_RECORDS])


def _type_can_hold(kind: np.dtype[Any], value: float) -> bool:
    if kind.kind == "f":
        return True
    bounds = np.iinfo(kind)
    return value == round(value) and bounds.min <= value <= bounds.max if math.isfinite(value) else False


def _shared_rows(columns: Sequence[Column], size: int) -> dict[str, list[list[float]]]:
    """Shared rows, none with a missing value, and none of the last category of a column."""
    plain = [list(column.values[: max(1, len(column.values) - 1)]) or [column.low, column.high] for column in columns]
    if size == 0:
        return {"none": []}
    return {
        "all the least": [[own[0] for own in plain]] * size,
        "all the largest": [[own[-1] for own in plain]] * size,
        "of every kind": [[own[i % len(own)] for own in plain] for i in range(size)],
    }
