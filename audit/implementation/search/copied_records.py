"""Records of a table that a function copies into its outcome: which they are, and whether an outcome holds one.

A synthetic table that now and then holds a record of the real one as it is tells nothing by its means, and everything
by that record. What looks for it is a function of the outcome alone, so that a claim about the outcome is one about
what it finds.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.tables.column import Value, is_missing
from dpverdict.audit.tables.frames import Table, collected, kind_of, length_of, names_of
from dpverdict.audit.tables.rows import Received, finished, record_at
from dpverdict.audit.trials.outcomes.inputs import fresh, held_safe
from dpverdict.audit.trials.run import AnyMechanism, generator, with_generator
from dpverdict.audit.trials.user_code import own_error_state

LEAST_COLUMNS: Final = 2
"""Of an outcome that is taken for records: fewer are equal by chance."""

Key = tuple[tuple[str, str], ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class HoldsRecord:
    """A function, of whose outcome only is seen how many of its records are equal to a given one.

    Attributes:
        function: called with a table and a generator.
        record: by the names of its columns; in an outcome, the columns that both have are compared.
    """

    function: Any
    record: Mapping[str, Value]

    @property
    def name(self) -> str:
        """That of the function."""
        return str(getattr(self.function, "name", None) or getattr(self.function, "__qualname__", "the function"))

    def __call__(self, dataset: Any, rng: np.random.Generator) -> float:
        """How often the record is in one outcome."""
        outcome = with_generator(self.function)(dataset, rng)  # type: ignore[operator]  # see `copied_records`
        return float(sum(_holds(key, self.record) for key in keys_of(outcome, list(self.record))))


def _holds(key: Key, record: Mapping[str, Value]) -> bool:
    return all(_text(record[name]) == text for name, text in key)


def copied_records(
    mechanism: AnyMechanism, table: Table, received: Received, *, runs: int, seed: int
) -> list[tuple[int, int]]:
    """The rows of a table, alone in it, that are met in outcomes as they are: each with the number of outcomes.

    Args:
        mechanism: called once for each outcome.
        table: the real one.
        received: what the function is given.
        runs: outcomes that are looked at.
        seed: of their generators.

    Returns:
        The most often met first; none where outcomes are no tables of at least `LEAST_COLUMNS` of the columns.
    """
    called: Any = with_generator(mechanism)
    if not callable(called):
        return []
    held = held_safe(finished(table, received))
    names = names_of(table) or list(record_at(table, 0))
    rows: dict[Key, list[int]] = {}
    met: Counter[Key] = Counter()
    known: tuple[str, ...] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(runs):
            try:
                with own_error_state():
                    found = set(keys_of(called(fresh(held), generator(seed, "copied records", index)), names))
            except Exception:  # an outcome without records
                continue
            if not found:
                if index > 8 and known is None:
                    return []
                continue
            of_outcome = tuple(name for name, _ in next(iter(found)))
            if known is None:
                known = of_outcome
                for row in range(length_of(table)):
                    record = record_at(table, row)
                    rows.setdefault(tuple((name, _text(record[name])) for name in known), []).append(row)
            if of_outcome == known:
                met.update(key for key in found if key in rows)
    return [(rows[key][0], count) for key, count in met.most_common() if len(rows[key]) == 1]


def keys_of(outcome: Any, names: Sequence[str]) -> list[Key]:
    """The records of an outcome, by the columns that it has in common with a table; none of what is no table."""
    kind = kind_of(outcome)
    shared: list[str]
    columns: list[list[Any]]
    listed = _listed(outcome)
    if listed and all(isinstance(one, Mapping) for one in listed):
        shared = [name for name in names if name in listed[0]]
        columns = [[one.get(name) for one in listed] for name in shared]
    elif kind == "numpy":
        if outcome.ndim != 2 or outcome.shape[1] != len(names):
            return []
        shared, columns = list(names), [outcome[:, i].tolist() for i in range(len(names))]
    elif kind is not None:
        outcome = collected(outcome)
        own = names_of(outcome) or []
        shared = [name for name in names if name in own]
        columns = [
            outcome.iloc[:, own.index(name)].tolist() if kind == "pandas" else outcome.get_column(name).to_list()
            for name in shared
        ]
    else:
        return []
    if len(shared) < LEAST_COLUMNS:
        return []
    texts = [[(name, _text(one)) for one in column] for name, column in zip(shared, columns, strict=True)]
    return list(zip(*texts, strict=True))


def _listed(outcome: Any) -> list[Any]:
    return outcome if isinstance(outcome, list) else []


def _text(value: Any) -> str:
    """One text for entries that are equal: numbers by value, whatever their type."""
    if is_missing(value):
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return repr(float(value)) if abs(value) < 2**53 else repr(int(value)) if value == value // 1 else repr(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).removesuffix("T00:00:00")
    return str(value)
