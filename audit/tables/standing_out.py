"""Which records of a table stand out, and by what: alone in a group, at an end, missing an entry, with a shared key."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.frames import Table, collected, entries, length_of, names_of

FEW: Final = 6
"""Records of each kind that are named in every column."""
LONG: Final = 50_000
"""Records of a table whose memory counts."""
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
MOST_GROUPS: Final = 60
"""Different entries of a column whose groups are looked at together with those of another."""

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StandingOut:
    """A record that stands out.

    Attributes:
        row: of the record, from 0.
        why: in words, such as "the only one with city=Rome".
        columns: by which it does.
    """

    row: int
    why: str
    columns: tuple[str, ...] = ()


@final
class TableLook:
    """A table column by column: which entries are equal, and which are at the ends.

    Attributes:
        columns: of the table.
        length: records.
        codes: of each column, shape (n,): equal numbers for equal entries, -1 for a missing one.
        counts: of each column, how often each of its codes comes.
        values: of each column, the entry of each code.
        gaps: of each column, the rows without an entry.
        rarity: of each record, shape (n,): the sum of 1/count over its entries.
    """

    def __init__(self, table: Table, columns: Sequence[Column]) -> None:
        held = collected(table)
        self.columns: Final[tuple[Column, ...]] = tuple(columns)
        self.length: Final[int] = length_of(held)
        names = names_of(held)
        self.codes: dict[str, Codes] = {}
        self.counts: dict[str, Counts] = {}
        self.values: dict[str, Sequence[Any]] = {}
        self.gaps: dict[str, Counts] = {}
        self._different: dict[str, int] = {}
        self._numbers: dict[str, tuple[Counts, NDArray[Any]]] = {}
        self.rarity: NDArray[np.float64] = np.zeros(self.length)
        every_row = np.arange(self.length)
        for place, column in enumerate(columns):
            rows, found = entries(held, place if names is None else names.index(column.name))
            if len(rows) == self.length:
                rows = every_row  # one array for all columns: of a large table they are most of the memory
            codes = np.full(self.length, -1, dtype=np.int32)
            codes[rows], values = _coded(found)
            self.gaps[column.name] = np.flatnonzero(codes < 0)
            self.codes[column.name], self.values[column.name] = codes, values
            self._different[column.name] = len(values)
            counts = np.bincount(codes[rows], minlength=len(values)).astype(np.int64)
            self.counts[column.name] = counts
            if found.dtype.kind in "iufM":
                self._numbers[column.name] = rows, found
            self.rarity[rows] += 1 / counts[codes[rows]]
            if len(rows) < self.length:
                self.rarity[np.setdiff1d(np.arange(self.length), rows)] += 1 / (self.length - len(rows))

    @property
    def typical(self) -> int:
        """The row of a record with entries that many others have."""
        return int(np.argmin(self.rarity)) if self.length else 0

    def is_key(self, name: str) -> bool:
        """Whether most entries of a column come once."""
        return 2 * self._different[name] > self.length and self.length > 2

    def grouping(self) -> list[str]:
        """The columns whose equal entries make groups."""
        return [one.name for one in self.columns if not self.is_key(one.name) and len(self.values[one.name]) > 1]

    def found(self, sizes: Sequence[int] = ()) -> list[StandingOut]:
        """The records that stand out, each once, the most telling first; kinds of them take turns.

        Args:
            sizes: of groups that the function under audit may ask for, such as a least number of records.
        """
        kinds = [
            self._alone(),
            self._missing(),
            self._ends(),
            self._alone_together(),
            self._of_size(2),
            *(self._of_size(size) for size in sizes if size > 2),
            self._shared_keys(),
            self._signs(),
            self._parts_of_dates(),
            self._ends_of_groups(),
            self._first_and_last(),
            self._twins(),
        ]
        seen: dict[int, StandingOut] = {}
        for one in in_turns(kinds):
            seen.setdefault(one.row, one)
        return list(seen.values())

    def forget(self, kept: str | None) -> None:
        """Let go of what `found` alone needs: of a large table it is most of the memory.

        Args:
            kept: a column that stays as it is although most of its entries come once; None for no such column.
        """
        self._numbers.clear()
        for name in [name for name in self.codes if self.is_key(name) and name != kept]:
            del self.codes[name], self.counts[name]
            if isinstance(self.values[name], np.ndarray):
                self.values[name] = [self.values[name][0], self.values[name][-1]]  # the ends: they are in order

    def others(self, known: set[int]) -> Iterator[StandingOut]:
        """All further records, those with rare entries first."""
        for row in np.argsort(-self.rarity, kind="stable").tolist():
            if row not in known:
                yield StandingOut(row=row, why="a record like others")

    # kinds ------------------------------------------------------------------------------------------------------------

    def _alone(self) -> Iterator[StandingOut]:
        for name in self.grouping():
            yield from self._with_count(name, 1, "the only one with")

    def _of_size(self, size: int) -> Iterator[StandingOut]:
        for name in self.grouping():
            yield from self._with_count(name, size, f"one of {size} with")

    def _with_count(self, name: str, size: int, words: str) -> Iterator[StandingOut]:
        codes = self.codes[name]
        for code in np.flatnonzero(self.counts[name] == size)[:FEW].tolist():
            row = int(np.flatnonzero(codes == code)[0])
            yield StandingOut(row=row, why=f"{words} {name}={shown(self.values[name][code])}", columns=(name,))

    def _missing(self) -> Iterator[StandingOut]:
        for column in self.columns:
            gaps = self.gaps[column.name]
            if len(gaps):
                words = "the only one without" if len(gaps) == 1 else f"one of {len(gaps)} without"
                yield StandingOut(row=int(gaps[0]), why=f"{words} {column.name}", columns=(column.name,))

    def _ends(self) -> Iterator[StandingOut]:
        for name, (rows, found) in self._numbers.items():
            if not len(found):
                continue
            high, low = ("latest", "earliest") if found.dtype.kind == "M" else ("largest", "smallest")
            order = np.argsort(found, kind="stable")
            for at, words in ((-1, high), (0, low), (-2, f"second {high}")):
                if -len(order) <= at < len(order):
                    yield StandingOut(row=int(rows[order[at]]), why=f"the {words} {name}", columns=(name,))

    def _alone_together(self) -> Iterator[StandingOut]:
        small = [name for name in self.grouping() if len(self.values[name]) <= MOST_GROUPS]
        for one, other in itertools.combinations(small, 2):
            both = self.codes[one].astype(np.int64) * (len(self.values[other]) + 1) + self.codes[other]
            both[(self.codes[one] < 0) | (self.codes[other] < 0)] = -1
            groups, first, counts = np.unique(both, return_index=True, return_counts=True)
            for i in np.flatnonzero((counts == 1) & (groups >= 0))[:FEW].tolist():
                row = int(first[i])
                said = ", ".join(f"{name}={shown(self.values[name][self.codes[name][row]])}" for name in (one, other))
                yield StandingOut(row=row, why=f"the only one with {said}", columns=(one, other))

    def _shared_keys(self) -> Iterator[StandingOut]:
        for column in self.columns:
            name = column.name
            if self.is_key(name):
                for code in np.flatnonzero(self.counts[name] > 1)[:FEW].tolist():
                    rows = np.flatnonzero(self.codes[name] == code)
                    why = f"with the same {name} as row {int(rows[0])}"
                    yield StandingOut(row=int(rows[-1]), why=why, columns=(name,))

    def _signs(self) -> Iterator[StandingOut]:
        for name, (rows, found) in self._numbers.items():
            if found.dtype.kind == "M":
                continue
            for words, mask in (("zero", found == 0), ("negative", found < 0), ("positive", found > 0)):
                if 0 < int(mask.sum()) <= FEW:
                    row = int(rows[np.flatnonzero(mask)[0]])
                    yield StandingOut(row=row, why=f"one of {int(mask.sum())} with a {words} {name}", columns=(name,))

    def _parts_of_dates(self) -> Iterator[StandingOut]:
        for name, (rows, found) in self._numbers.items():
            if found.dtype.kind != "M":
                continue
            for part in ("Y", "M", "D"):
                groups, first, counts = np.unique(found.astype(f"datetime64[{part}]"), return_index=True,
                                                  return_counts=True)  # fmt: skip
                if len(groups) * 2 > len(found):
                    break
                for i in np.flatnonzero(counts == 1)[:FEW].tolist():
                    why = f"the only one with {name} in {groups[i]}"
                    yield StandingOut(row=int(rows[first[i]]), why=why, columns=(name,))

    def _ends_of_groups(self) -> Iterator[StandingOut]:
        small = [name for name in self.grouping() if len(self.values[name]) <= FEW]
        for (name, (rows, found)), group in itertools.product(self._numbers.items(), small):
            if name == group or not len(found):
                continue
            codes = self.codes[group][rows]
            for code in range(len(self.values[group])):
                inside = np.flatnonzero(codes == code)
                if len(inside):
                    row = int(rows[inside[np.argmax(found[inside])]])
                    why = f"the largest {name} of {group}={shown(self.values[group][code])}"
                    yield StandingOut(row=row, why=why, columns=(name, group))

    def _first_and_last(self) -> Iterator[StandingOut]:
        if self.length:
            yield StandingOut(row=self.length - 1, why="the last record")
            yield StandingOut(row=0, why="the first record")

    def _twins(self) -> Iterator[StandingOut]:
        if not self.length:
            return
        marks = np.zeros(self.length, dtype=np.uint64)  # of records that are equal they are
        for column in self.columns:
            marks = (marks ^ self.codes[column.name].astype(np.uint64)) * _MULTIPLIER
            marks ^= marks >> np.uint64(29)
        order = np.argsort(marks, kind="stable")
        starts = np.flatnonzero(marks[order][1:] == marks[order][:-1])[:FEW]
        for first, last in ((int(order[i]), int(order[i + 1])) for i in starts.tolist()):
            if all(self.codes[column.name][first] == self.codes[column.name][last] for column in self.columns):
                yield StandingOut(row=last, why=f"equal to row {first}")


def _coded(found: NDArray[Any]) -> tuple[Codes, Sequence[Any]]:
    if found.dtype.kind == "O":
        known: dict[Any, int] = {}
        codes = np.fromiter((known.setdefault(one, len(known)) for one in found.tolist()), np.int32, len(found))
        return codes, list(known)
    values, inverse = np.unique(found, return_inverse=True)
    short: Codes = inverse.ravel().astype(np.int32)
    numbers: Any = values
    if 2 * len(values) > len(found) and len(found) > LONG and found.dtype.kind in "iuf":
        return short, numbers  # a number for nearly every record: as objects they would be much of the memory
    return short, values.tolist() if found.dtype.kind != "M" else list(values)


def in_turns(kinds: Sequence[Iterator[T]]) -> Iterator[T]:
    """The first of every kind, then the second of every kind that has one, and so on.

    >>> list(in_turns([iter("abc"), iter("x")]))
    ['a', 'x', 'b', 'c']
    """
    waiting = [iter(one) for one in kinds]
    while waiting:
        for one in list(waiting):
            found = next(one, None)
            if found is None:
                waiting.remove(one)
            else:
                yield found


def shown(value: object, most: int = 24) -> str:
    """An entry for a sentence: a text as it is, in quotes where it is empty, odd or long."""
    if value is None:
        return "(missing)"
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[s]").item()
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.6g}"
    said = str(value)
    if isinstance(value, str) and (not said.strip() or not said.isprintable() or said != said.strip()):
        said = repr(value)
    return said if len(said) <= most else f"{said[: most - 12]}... ({len(str(value))} characters)"


def record_in_words(record: dict[str, Any], first: Sequence[str] = (), most: int = 4) -> str:
    """A record, the entries that are told first in front.

    >>> record_in_words({"age": 44, "city": "Rome"}, ["city"])
    'city=Rome, age=44'
    """
    names = [*first, *(name for name in record if name not in first)]
    more = len(names) - most
    said = ", ".join(f"{name}={shown(record[name])}" for name in names[:most])
    return f"{said}, and {more} more" if more > 0 else said
