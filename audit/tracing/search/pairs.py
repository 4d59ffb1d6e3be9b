"""Pairs of neighbouring tables at the ends of a schema, measured until one breaks the claim."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.implementation.tap.confirmation import Confirmation, confirm
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
from dpverdict.audit.implementation.tap.tapped_runs import tap
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.search.moves import Pair, in_words, tamed
from dpverdict.audit.tracing.source.reach import reach
from dpverdict.audit.tracing.verdict import EXACTLY
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

MOST_PAIRS: Final = 24
FRESH: Final = 4000
"""Releases on each table, to confirm what the tap finds."""
UNSEEN: Final = 1000
"""The same of a pair that the tap cannot follow."""
ERROR: Final = 1e-6
"""Of refuting a claim that holds by the fresh releases, for all pairs together."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """What the search found.

    Attributes:
        witness: the two tables, and how the pair was measured; None if no pair breaks the claim.
        reason: in words.
        largest: the largest loss of a pair that was measured exactly; None if none was.
        pairs: how many were measured.
        tables: the two tables of the witness; None if there is none.
    """

    witness: Mapping[str, Any] | None = None
    reason: str = ""
    largest: float | None = None
    pairs: int = 0
    tables: tuple[Any, Any] | None = None


def find_pair(
    function: Callable[..., Any], schema: TableSchema, claim: Guarantee, *, seed: int, seconds: float,
    first: Sequence[Pair] = (), error: float = ERROR,
) -> Broken:  # fmt: skip
    """Measure pairs, those given first, until one breaks the claim or the time is over.

    Args:
        function, schema, claim, seed: see `certify_function`.
        seconds: for all of them.
        first: pairs that are measured before the others.
        error: of refuting a claim that holds by fresh releases, for all pairs together.
    """
    until = time.monotonic() + seconds
    largest: float | None = None
    count = 0
    usual = list(itertools.islice(_pairs(schema, seed), 2 * MOST_PAIRS))
    given = [(one.rows, one.neighbour, one.words) for one in first]
    for rows, other, words in [*given, *usual[:8], *_at_thresholds(function, schema), *usual[8:]]:
        if time.monotonic() > until or count >= MOST_PAIRS or seconds <= 0:
            break
        tables = _table(schema, rows), _table(schema, other)
        count += 1
        try:
            found = tap(function, tables, claim, seed=seed, seconds=max(5.0, seconds))
        except (DpverdictError, Warning):
            continue
        if found.exact and found.epsilon is not None:
            size = found.mu if found.mu is not None and not np.isfinite(found.epsilon) else found.epsilon
            largest = size if largest is None else max(largest, size)
        if found.status is TapStatus.QUIET:
            continue
        unseen = found.status is TapStatus.NOT_COVERED
        fresh = (_tested if unseen else partial(_confirmed, found))(function, tables, claim, seed + count, error)
        shown = fresh is not None and fresh.refuted
        if found.status is TapStatus.REFUTED or shown:
            how = EXACTLY if found.status is TapStatus.REFUTED else "fresh releases"
            said = found.reason if found.status is TapStatus.REFUTED or fresh is None else (
                fresh.text() if unseen else f"{found.reason}; {fresh.text()}"
            )  # fmt: skip
            witness = {
                "relation": "replace-one" if schema.relation is REPLACE_ONE else "add-or-remove-one",
                "records": _json(rows),
                "neighbour": _json(other),
                "claim": claim.describe(),
                "measured_by": how,
                "reason": found.reason,
                "fresh": None if fresh is None else fresh.to_dict(),
                "seed": seed,
                "error_probability": error / MOST_PAIRS,
                "samples": UNSEEN if unseen else FRESH,
                "words": [words, *(() if fresh is None else (fresh.text(),))],
            }
            return Broken(witness=witness, reason=said, largest=largest, pairs=count, tables=tables)
    return Broken(largest=largest, pairs=count)


def _confirmed(
    found: Any, function: Any, tables: Any, claim: Guarantee, seed: int, error: float
) -> Confirmation | None:
    """What fresh releases show; None where they are not compared."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the user's function
            return confirm(found, function, tables, claim, seed=seed, error_probability=error / MOST_PAIRS,
                           samples=FRESH)  # fmt: skip
    except DpverdictError:
        return None


def _tested(function: Any, tables: Any, claim: Guarantee, seed: int, error: float) -> Confirmation | None:
    """What releases show of a pair that the tap cannot follow; None where they are not compared."""
    share = error / MOST_PAIRS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the user's function
            test = distinguish(function, tables, claim, error_probability=share, samples=UNSEEN, seed=seed, delta=0)
    except DpverdictError:
        return None
    return Confirmation(samples=UNSEEN, error_probability=share, refuted=test.refuted,
                        epsilon_lower=test.epsilon_lower, score="")  # fmt: skip


def _json(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: str(one) if not isinstance(one, int | float | str | bool | type(None)) else one
             for key, one in row.items()} for row in rows[:1000]]  # fmt: skip


def _table(schema: TableSchema, rows: list[dict[str, Any]]) -> Any:
    return schema.dataset(rows)


def _pairs(schema: TableSchema, seed: int) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]], str]]:
    """Tables with an extreme record, and the same without it, or with its opposite in its place."""
    rng = np.random.default_rng(seed)
    extremes = [_tamed(one) for one in schema.extreme_records()]
    replace = schema.relation is REPLACE_ONE
    size = schema.records if schema.records is not None else 6
    bases = [[_tamed(schema.random_record(rng)) for _ in range(min(size, 60))] for _ in range(2)]
    bases.append([extremes[-1]] * min(size, 60))
    bases.append([extremes[0]] * min(size, 60))
    nothing: list[dict[str, Any]] = []
    alone = [([one], nothing, f"{in_words(one)} alone, and no record") for one in extremes[:4]]
    for i, record in enumerate(extremes[: MOST_PAIRS * 2]):
        base = bases[i % 2]
        if replace:
            whole = [base[k % len(base)] for k in range(size - 1)]
            for other in (extremes[1 if i != 1 else 0], extremes[(i + 1) % len(extremes)], extremes[-1]):
                if other != record:
                    yield [*whole, record], [*whole, other], f"{in_words(record)} in place of {in_words(other)}"
        else:
            yield [*base, record], base, f"with and without {in_words(record)}"
            if i < 4:
                same = bases[2 + i % 2]
                yield [*same, record], same, f"with and without {in_words(record)}"
            if i == min(2, len(extremes) - 1):  # what is done with no record at all is often done without noise
                yield from alone[:2]
    if not replace:
        yield from alone[2:]


def _at_thresholds(
    function: Any, schema: TableSchema
) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]], str]]:
    """As many equal records as a small number in the function's code, and one less."""
    if schema.relation is REPLACE_ONE:
        return
    constants = [one for code in reach(function).codes for one in code.co_consts]
    sizes = sorted({one for one in constants if type(one) is int and 3 <= one <= 200})[:3]
    for size in sizes:
        for i, record in enumerate([_tamed(one) for one in schema.extreme_records()[:4]]):
            yield [record] * size, [record] * (size - 1), f"{size} times, or once less, {in_words(record)}"
            if i < 2:  # "n > 5" turns between 5 and 6
                yield [record] * (size + 1), [record] * size, f"{size + 1} times, or once less, {in_words(record)}"


def _tamed(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tamed(one) for key, one in record.items()}
