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
from typing import Any, Final, TypeAlias, final

import numpy as np
import scipy

from dpverdict.audit.tables.column import Value, is_missing
from dpverdict.audit.tables.frames import Table, collected, kind_of, length_of, names_of
from dpverdict.audit.tables.rows import Received, finished, record_at
from dpverdict.audit.trials.outcomes.inputs import fresh, held_safe
from dpverdict.audit.trials.run import AnyMechanism, generator, with_generator
from dpverdict.audit.trials.user_code import own_error_state

LEAST_COLUMNS: Final = 2
"""Of an outcome that is taken for records: fewer are equal by chance."""

MOST_ENTRIES: Final = 5_000_000
"""Of a table, all of which are held as texts."""
MOST_FEW: Final = 20
"""Numbers of a column that are no measure of nearness."""
NEARER: Final = 0.1
"""So much nearer to a record than to the next one a record of an outcome has to be, to be taken for nearly that."""

Key = tuple[tuple[str, str], ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class HoldsRecord:
    """A function, of whose outcome only is seen how many of its records are equal to a given one.

    Attributes:
        function: called with a table and a generator.
        record: by the names of its columns; in an outcome, the columns that both have are compared.
        columns: that are compared, if not all of them.
    """

    function: Any
    record: Mapping[str, Value]
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """That of the function."""
        return _name_of(self.function)

    def __call__(self, dataset: Any, rng: np.random.Generator) -> float:
        """How often the record is in one outcome."""
        outcome = with_generator(self.function)(dataset, rng)  # type: ignore[operator]  # see `copied_records`
        names = list(self.columns or self.record)
        return float(sum(_holds(key, self.record) for key in keys_of(outcome, names)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class NearRecord:
    """A function, of whose outcome only is seen how many of its records are near a given one.

    Attributes:
        function: called with a table and a generator.
        record: the numbers of the record by the names of their columns.
        scales: of the columns: their standard deviations in the table.
        within: how far a record may be, in every column in its scale.
    """

    function: Any
    record: Mapping[str, float]
    scales: Mapping[str, float]
    within: float

    @property
    def name(self) -> str:
        """That of the function."""
        return _name_of(self.function)

    def __call__(self, dataset: Any, rng: np.random.Generator) -> float:
        """How many records of one outcome are near it."""
        outcome = with_generator(self.function)(dataset, rng)  # type: ignore[operator]  # see `copied_records`
        numbers = numbers_of(outcome, list(self.record))
        if numbers is None:
            return 0.0
        own, scales = (np.array([held[name] for name in self.record]) for held in (self.record, self.scales))
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(np.all(np.abs(numbers - own) <= self.within * scales, axis=1)))


Looks: TypeAlias = "HoldsRecord | NearRecord"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Copied:
    """A record that is met in outcomes.

    Attributes:
        row: of the table.
        count: outcomes that hold it, of those that were looked at.
        look: what looks for it in an outcome.
        words: what it looks for.
    """

    row: int
    count: int
    look: Looks
    words: str


def copied_records(mechanism: AnyMechanism, table: Table, received: Received, *, runs: int, seed: int) -> list[Copied]:
    """The records of a table that are met in outcomes: as they are, by some of their columns, or nearly.

    Each is alone in the table with what is met of it. Of each kind the one that most outcomes hold is given.

    Args:
        mechanism: called once for each outcome.
        table: the real one.
        received: what the function is given.
        runs: outcomes that are looked at.
        seed: of their generators.

    Returns:
        Whole records first; none of a table of more than `MOST_ENTRIES` entries, or where outcomes are no tables of at
        least `LEAST_COLUMNS` of the columns.
    """
    called: Any = with_generator(mechanism)
    if not callable(called):
        return []
    names = names_of(table) or list(record_at(table, 0))
    if length_of(table) * len(names) > MOST_ENTRIES:
        return []
    outcomes = _outcomes(called, held_safe(finished(table, received)), names, runs, seed)
    if not outcomes:
        return []
    shared = [name for name in names if all(name in outcome for outcome in outcomes)]
    if len(shared) < LEAST_COLUMNS:
        return []
    held = {name: [_text(one) for one in _column(table, names, name)] for name in shared}
    found = [
        _whole(called, table, outcomes, held),
        _by_columns(called, table, outcomes, held),
        _nearest(called, table, outcomes, held, names),
    ]
    return [one for one in found if one is not None]


Outcome = dict[str, list[Any]]


def _outcomes(called: Any, held: Any, names: Sequence[str], runs: int, seed: int) -> list[Outcome]:
    found: list[Outcome] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(runs):
            try:
                with own_error_state():
                    columns = columns_of(called(fresh(held), generator(seed, "copied records", index)), names)
            except Exception:  # an outcome without records
                columns = {}
            if columns and all(columns.values()):
                found.append(columns)
            elif index > 8 and not found:
                return []
    return found


def _whole(called: Any, table: Table, outcomes: Sequence[Outcome], held: Mapping[str, list[str]]) -> Copied | None:
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*held.values(), strict=True)):
        rows.setdefault(key, []).append(row)
    met: Counter[tuple[str, ...]] = Counter()
    for outcome in outcomes:
        keys = set(zip(*(map(_text, outcome[name]) for name in held), strict=True))
        met.update(key for key in keys if len(rows.get(key, ())) == 1)
    if not met:
        return None
    key, count = met.most_common(1)[0]
    row = rows[key][0]
    look = HoldsRecord(called, record_at(table, row), tuple(held))
    return Copied(row=row, count=count, look=look, words=f"equal to row {row}")


def _by_columns(called: Any, table: Table, outcomes: Sequence[Outcome], held: Mapping[str, list[str]]) -> Copied | None:
    """The record that outcomes share entries of two columns or more with, one of which it has alone."""
    alone: dict[str, dict[str, int]] = {}
    for name, entries in held.items():
        counts = Counter(entries)
        alone[name] = {text: row for row, text in enumerate(entries) if counts[text] == 1 and text}
    met: Counter[tuple[int, tuple[str, ...]]] = Counter()
    for outcome in outcomes:
        texts = {name: list(map(_text, outcome[name])) for name in held}
        seen = set[tuple[int, tuple[str, ...]]]()
        for place in range(len(next(iter(texts.values())))):
            votes = {alone[name][texts[name][place]] for name in held if texts[name][place] in alone[name]}
            for row in votes:
                same = tuple(name for name in held if texts[name][place] == held[name][row])
                if LEAST_COLUMNS <= len(same) < len(held):
                    seen.add((row, same))
        met.update(seen)
    rows: Counter[int] = Counter()
    for (row, _), count in met.items():
        rows[row] += count
    if not rows:
        return None
    row = rows.most_common(1)[0][0]
    # entries of other columns are met with them by chance: what nine of ten outcomes have in common is compared
    sets = {same: count for (one, same), count in met.items() if one == row}
    shares = {name: sum(count for same, count in sets.items() if name in same) for name in held}
    common = tuple(name for name in held if shares[name] >= 0.9 * rows[row])
    if not any(held[name][row] in alone[name] for name in common):
        return None
    look = HoldsRecord(called, record_at(table, row), common)
    words = f"equal to row {row} in {', '.join(common)}"
    return Copied(row=row, count=rows[row], look=look, words=words)


def _nearest(
    called: Any, table: Table, outcomes: Sequence[Outcome], held: Mapping[str, list[str]], names: Sequence[str]
) -> Copied | None:
    """The record that records of outcomes are much nearer to than to any other."""
    numbers = {name: _floats(_column(table, names, name)) for name in held}
    used = [name for name, own in numbers.items() if own is not None and len(set(own.tolist())) > MOST_FEW]
    if len(used) < LEAST_COLUMNS or len(held[used[0]]) < 3:
        return None
    real = np.stack([np.nan_to_num(numbers[name]) for name in used], axis=1)
    scales = np.maximum(np.std(real, axis=0), 1e-300)
    tree = scipy.spatial.cKDTree(real / scales)
    met: Counter[int] = Counter()
    far: dict[int, list[float]] = {}
    for outcome in outcomes:
        made = [_floats(outcome[name]) for name in used]
        if any(one is None for one in made):
            return None
        points = np.nan_to_num(np.stack(made, axis=1)) / scales
        distances, rows = tree.query(points, k=2, p=np.inf)
        near = distances[:, 0] < NEARER * distances[:, 1]
        for row in set(rows[near, 0].tolist()):
            met[row] += 1
            far.setdefault(row, []).append(float(distances[near & (rows[:, 0] == row), 0].min()))
    if not met:
        return None
    row, count = met.most_common(1)[0]
    record = dict(zip(used, real[row].tolist(), strict=True))
    within = float(np.quantile(far[row], 0.9)) * (1 + 1e-9)
    look = NearRecord(called, record, dict(zip(used, scales.tolist(), strict=True)), within)
    return Copied(row=row, count=count, look=look, words=f"nearly equal to row {row} in {', '.join(used)}")


def _name_of(function: Any) -> str:
    return str(getattr(function, "name", None) or getattr(function, "__qualname__", "the function"))


def _holds(key: Key, record: Mapping[str, Value]) -> bool:
    return all(_text(record[name]) == text for name, text in key)


def _column(table: Table, names: Sequence[str], name: str) -> list[Any]:
    if isinstance(table, np.ndarray):
        return list((table if table.ndim == 1 else table[:, list(names).index(name)]).tolist())
    return columns_of(table, [name], least=1)[name]


def _floats(values: Sequence[Any]) -> Any:
    """Numbers as float64, a missing one as NaN; None of what are no numbers."""
    if not all(is_missing(one) or (isinstance(one, int | float | np.number) and not isinstance(one, bool))
               for one in values):  # fmt: skip
        return None
    return np.array([np.nan if is_missing(one) else float(one) for one in values])


def numbers_of(outcome: Any, names: Sequence[str]) -> Any:
    """The numbers of the records of an outcome in these columns, shape (records, columns); None if it lacks one."""
    columns = columns_of(outcome, names)
    made = [_floats(columns[name]) for name in names if name in columns]
    if len(made) < len(names) or any(one is None for one in made):
        return None
    return np.stack(made, axis=1)


def keys_of(outcome: Any, names: Sequence[str]) -> list[Key]:
    """The records of an outcome, by the columns that it has in common with a table; none of what is no table."""
    columns = columns_of(outcome, names)
    texts = [[(name, _text(one)) for one in column] for name, column in columns.items()]
    return list(zip(*texts, strict=True))


def columns_of(outcome: Any, names: Sequence[str], least: int = LEAST_COLUMNS) -> dict[str, list[Any]]:
    """The columns that an outcome has in common with a table; none of what is no table or has fewer than ``least``."""
    kind = kind_of(outcome)
    found: dict[str, list[Any]]
    listed = _listed(outcome)
    if listed and all(isinstance(one, Mapping) for one in listed):
        found = {name: [one.get(name) for one in listed] for name in names if name in listed[0]}
    elif kind == "numpy":
        if outcome.ndim != 2 or outcome.shape[1] < len(names):
            return {}
        places = [_place_of(name, at) for at, name in enumerate(names)]
        if max(places) >= outcome.shape[1]:
            return {}
        found = {name: outcome[:, place].tolist() for name, place in zip(names, places, strict=True)}
    elif kind is not None:
        outcome = collected(outcome)
        own = names_of(outcome) or []
        found = {
            name: outcome.iloc[:, own.index(name)].tolist() if kind == "pandas" else outcome.get_column(name).to_list()
            for name in names
            if name in own
        }
    else:
        return {}
    return found if len(found) >= least else {}


def _place_of(name: str, at: int) -> int:
    """The column of an array: as `column_names` calls it, or in the order of the names."""
    return int(name.removeprefix("column")) if name.startswith("column") and name[6:].isdigit() else at


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
