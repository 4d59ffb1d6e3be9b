"""Neighbouring tables that a function may fail on: of a real table, of what its columns may hold, and of small tables.

From the real table: each record left out, those that stand out first. From the columns: records at the ends of what
they may hold, added. From small tables: none, one record, one group, and sums next to where an integer wraps. Under
replace-one the number of records is public, so that all tables are as long as the real one. With a user column, all
records of one user are left out or added together.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeGuard, final

import numpy as np

from dpverdict.audit.tables.column import EXTREME_TEXTS, Column, Value, as_time
from dpverdict.audit.tables.frames import Table, length_of
from dpverdict.audit.tables.rows import exchanged, joined, made, record_at, taken, without
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tables.standing_out import StandingOut, TableLook, in_turns, record_in_words
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

HELD, OF_COLUMNS, SMALL, BEYOND = range(4)
"""How far a pair is from the real table: only its records; entries that the columns may hold; a small table; entries
beyond those that were seen, where no schema says what there may be. Of pairs that tell as much the nearest is shown."""

LONGEST_WRAPPING: Final = 300_000
"""Records of a table whose sum is next to where an integer wraps."""
FAR: Final = 1000
"""How many times the largest number seen a number beyond it is."""
MOST_ADDED: Final = 120
MOST_GROUPS: Final = 12
MOST_WITHOUT: Final = 200
"""Records without an entry that are a table."""
MOST_NAMED: Final = 8

Record = dict[str, Any]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Base:
    """A table of which several neighbours are tried.

    Attributes:
        words: what it is.
        table: the records.
    """

    words: str
    table: Table


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """A neighbour of a table.

    Attributes:
        base: the table.
        kind: of the change, so that kinds can take turns.
        words: the difference: "row 17 removed: city=Rome, the only one with city=Rome".
        distance: from the real table, see `HELD`.
        changed: makes the neighbour of the table.
        grows: whether the neighbour is the larger one.
        records: by how many records of one user they differ.
    """

    base: Base
    kind: str
    words: str
    distance: int
    changed: Callable[[Table], Table] = field(repr=False)
    grows: bool
    records: int = 1

    def pair(self) -> tuple[Table, Table]:
        """The two tables, the larger one first."""
        other = self.changed(self.base.table)
        return (other, self.base.table) if self.grows else (self.base.table, other)


@final
class Proposals:
    """The proposals for a table, in the order in which they promise most; kinds take turns.

    Args:
        table: the real one, an array or a frame.
        schema: of it: what the columns may hold, the relation and the user column.
        constants: numbers and texts that the code of the function names.
    """

    def __init__(self, table: Table, schema: TableSchema, constants: Sequence[object] = ()) -> None:
        self.table: Final[Table] = table
        self.schema: Final[TableSchema] = schema
        self.columns: Final[tuple[Column, ...]] = schema.columns
        self.look: Final[TableLook] = TableLook(table, self.columns)
        self.numbers: Final[list[float]] = sorted({float(one) for one in constants if _is_number(one)}, key=abs)[:24]
        names = [column.name for column in self.columns]
        self.texts: Final[list[str]] = [one for one in constants if isinstance(one, str) and one not in names][:24]
        sizes = [int(one) for one in self.numbers if one == int(one) and 2 < one <= 1000]
        self.standing: Final[list[StandingOut]] = self.look.found(sizes[:6])
        self.look.forget(schema.user)
        self.real: Final[Base] = Base(words="the table", table=table)
        self.sizes: Final[list[int]] = sizes
        self.replace: Final[bool] = schema.relation is REPLACE_ONE

    def __iter__(self) -> Iterator[Proposal]:
        kinds: list[Iterator[Proposal]]
        if self.schema.user is not None:
            kinds = [self._users_removed(), self._users_added()]
        elif self.replace:
            kinds = [self._replaced(), self._replaced_by_ends(), self._uniform_replaced()]
        else:
            small = self._of_small_tables()  # of which there are most: they take two turns
            kinds = [self._removed(), self._added(), small, self._wrapping(), small, self._repeated()]
        yield from in_turns(kinds)
        if self.schema.user is None:
            yield from self._rest()

    # of the real table ------------------------------------------------------------------------------------------------

    def _removed(self) -> Iterator[Proposal]:
        for one in self.standing:
            yield self._without(one)

    def _without(self, one: StandingOut) -> Proposal:
        said = record_in_words(self._record(one.row), one.columns)
        words = f"row {one.row} removed: {said}; {one.why}"
        return Proposal(base=self.real, kind=f"removed, {_kind(one.why)}", words=words, distance=HELD,
                        changed=_leaving_out([one.row]), grows=False)  # fmt: skip

    def _rest(self) -> Iterator[Proposal]:
        for one in self.look.others({one.row for one in self.standing}):
            if self.replace:
                yield from self._exchanged(one, self._typical(), HELD, "a typical record")
            else:
                yield self._without(one)

    def _repeated(self) -> Iterator[Proposal]:
        for one in [*self.standing[:8], StandingOut(row=self.look.typical, why="a typical record")]:
            if self.look.length:
                said = record_in_words(self._record(one.row), one.columns)
                words = f"row {one.row} added again: {said}; {one.why}"
                yield Proposal(base=self.real, kind="added again", words=words, distance=HELD,
                               changed=_adding(taken(self.table, [one.row])), grows=True)  # fmt: skip

    # of what the columns may hold -------------------------------------------------------------------------------------

    def _added(self) -> Iterator[Proposal]:
        for record, first, why, distance in in_turns([self._records(), self._named_together()]):
            table = self._made([record])
            if table is not None:
                yield self._with(self.real, table, record, first, why, distance)

    def _with(
        self, base: Base, table: Table, record: Record, first: Sequence[str], why: str, distance: int
    ) -> Proposal:
        said = f"a record added to {base.words}: {record_in_words(record, first)}{f'; {why}' if why else ''}"
        return Proposal(base=base, kind=f"added, {base.words}, {why}", words=said, distance=distance,
                        changed=_adding(table), grows=True)  # fmt: skip

    def _record(self, row: int) -> Record:
        return record_at(self.table, row, self.columns)

    def _typical(self) -> Record:
        if self.look.length:
            return self._record(self.look.typical)
        return {column.name: column.extremes()[0] for column in self.columns}

    def _records(self) -> Iterator[tuple[Record, list[str], str, int]]:
        """Records with one entry, or all numbers, at an end of what the columns may hold."""
        typical, count = self._typical(), 0
        values = {column.name: list(self._entries(column)) for column in self.columns}
        for at in range(max(map(len, values.values()), default=0)):
            for name, own in values.items():
                if at < len(own) and count < MOST_ADDED:
                    value, why, distance = own[at]
                    count += 1
                    yield {**typical, name: value}, [name], why, distance
        numbers = [column for column in self.columns if column.type in ("int", "float")]
        if len(numbers) > 1:
            for end in (0, 1):
                ends = {column.name: self._ends(column)[end] for column in numbers}
                yield {**typical, **ends}, list(ends), "all numbers at an end of what was seen", OF_COLUMNS
        yield from self._new_everywhere(typical)
        for name in self.look.grouping()[:4]:
            column = self.schema.column(name)
            for value in self.look.values[name][:MOST_GROUPS]:
                for other in numbers[:4]:
                    if other.name != name:
                        entry = {name: _native(value, column), other.name: self._ends(other)[0]}
                        yield {**typical, **entry}, list(entry), "a number at an end within a group", OF_COLUMNS

    def _new_everywhere(self, typical: Record) -> Iterator[tuple[Record, list[str], str, int]]:
        """Records with an entry that nobody has in every column; then in those only that may hold one."""
        for most in (OF_COLUMNS, BEYOND):
            new: Record = {}
            for column in self.columns:
                known = self.look.values[column.name]
                fitting = (one for one, _, distance in self._entries(column) if distance <= most and one is not None)
                value = next((one for one in fitting if one not in known), None)
                if value is not None:
                    new[column.name] = value
            if len(new) > 1:
                yield {**typical, **new}, list(new), "entries that nobody has", most

    def _named_together(self) -> Iterator[tuple[Record, list[str], str, int]]:
        """Records with entries in two columns that the code names, or numbers next to those that it names."""
        typical = self._typical()
        named: dict[str, list[tuple[Value, bool]]] = {}
        for column in self.columns:
            entries: list[Value] = []
            if column.type in ("category", "text"):
                entries = [one for one in self.texts if column.observed or column.misfit(one) is None]
            elif column.type in ("int", "float"):
                kind: Any = int if column.type == "int" else float
                entries = [kind(one + step) for one in self.numbers[:-7:-1] for step in (1, -1)
                           if column.type == "float" or one == int(one)]  # fmt: skip
            elif column.type == "bool":
                entries = [True, False]
            fitting = [(one, column.misfit(one) is None) for one in entries]
            named[column.name] = [pair for pair in fitting if pair[1] or column.observed][:MOST_NAMED]
        texts = [column.name for column in self.columns if column.type in ("category", "text")]
        pairs = [(one, other) for one in texts for other in named if other != one]

        def made_of(one: str, other: str) -> Iterator[tuple[Record, list[str], str, int]]:
            for (x, fits), (y, also) in itertools.product(named[one], named[other]):
                distance = OF_COLUMNS if fits and also else BEYOND
                yield {**typical, one: x, other: y}, [one, other], "entries that the code names", distance

        yield from itertools.islice(in_turns([made_of(*pair) for pair in pairs]), MOST_ADDED)

    def _ends(self, column: Column) -> tuple[Value, Value]:
        found = column.extremes()
        return found[0], found[1] if len(found) > 1 else found[0]

    def _entries(self, column: Column) -> Iterator[tuple[Value, str, int]]:
        """What a column may hold that tells: entries, why, and how far that is from the table."""
        seen = column.observed or column.type == "text"
        for value in self._ends(column) if column.type in ("int", "float", "date") else column.extremes()[:MOST_GROUPS]:
            if column.type != "text" and value is not None:
                yield value, "an end of what was seen" if seen else "an end of what the schema allows", OF_COLUMNS
        if column.nullable:
            yield None, "a missing entry", OF_COLUMNS
        beyond = [one for one in self._beyond(column) if seen or column.misfit(one) is None]
        for value in beyond:
            if column.type in ("int", "float") and column.low is not None and column.high is not None:
                within = column.misfit(value) is None
            else:
                within = not column.observed
            yield (
                value,
                "within the bounds" if within else "no such entry in the table",
                OF_COLUMNS if within else BEYOND,
            )

    def _beyond(self, column: Column) -> Iterator[Value]:
        match column.type:
            case "int" | "float":
                kind: Any = int if column.type == "int" else float
                least, most = column.integer_range if column.type == "int" else (-math.inf, math.inf)
                largest = max(
                    abs(float(end)) if isinstance(end, Fraction) else 1.0 for end in (column.low, column.high)
                )
                near = [one + step for one in self.numbers for step in (0, 1)]
                for value in (FAR * largest, -FAR * largest, 0, -1, 1, *near[:16], 1e12, -1e12):
                    if least <= value <= most and (column.type == "float" or value == int(value)):
                        yield kind(value)
                if column.type == "int":
                    yield from (most, least)
            case "text":
                yield from (*self.texts, "somebody new", *EXTREME_TEXTS)
            case "category":
                if column.observed and isinstance(column.values[0], str):
                    yield from (*(one for one in self.texts if one not in column.values), "something new", "")
                elif column.observed:
                    yield int(max(float(one) for one in column.values if _is_number(one)) + 1)
            case "date":
                days = [datetime.date(year, 1, 1) for year in (1900, 1970, 2000, 2038, 2100)]
                for text in self.texts:
                    with contextlib.suppress(ValueError):
                        days.insert(0, datetime.datetime.fromisoformat(text).date())
                yield from (as_time(day) if column.holds_times else day for day in days)
            case "bool":
                return

    def _made(self, records: Sequence[Record]) -> Table | None:
        """A table of records; None where the types of the table do not hold them."""
        with contextlib.suppress(DpverdictError):
            return made(self.table, self.columns, records)
        return None

    # small tables -----------------------------------------------------------------------------------------------------

    def _small(self) -> Iterator[Base]:
        n = self.look.length
        yield Base(words="the empty table", table=taken(self.table, []))
        if n:
            yield Base(words="a table of one typical record", table=taken(self.table, [self.look.typical]))
        for size in self.sizes[:3]:
            if n:
                rows = [self.look.typical] * (size - 1)
                yield Base(words=f"a table of {len(rows)} typical records", table=taken(self.table, rows))
        for one in self.standing[:2]:
            yield Base(words=f"a table of row {one.row} alone", table=taken(self.table, [one.row]))
        if n > 1:
            yield Base(words="a table of two typical records", table=taken(self.table, [self.look.typical] * 2))
        for column in self.columns:
            gaps = self.look.gaps[column.name][:MOST_WITHOUT]
            if len(gaps):
                yield Base(words=f"a table of {len(gaps)} records without {column.name}", table=taken(self.table, gaps))
        for name in self.look.grouping()[:4]:
            counts = self.look.counts[name]
            for code in {int(np.argmin(counts)), int(np.argmax(counts))}:
                group = np.flatnonzero(self.look.codes[name] == code)[:40]
                value = self.look.values[name][code]
                yield Base(words=f"a table of {len(group)} records with {record_in_words({name: value})} only",
                           table=taken(self.table, group))  # fmt: skip

    def _of_small_tables(self) -> Iterator[Proposal]:
        n = self.look.length
        rows = [self.look.typical, *(one.row for one in self.standing[:6])] if n else []
        ends = [one for one in self._records() if one[3] <= OF_COLUMNS][:24]
        beyond = [one for one in self._records() if one[3] == BEYOND][:8]
        grouping = self.look.grouping()
        made_up = [*ends, *beyond, *itertools.islice(self._named_together(), 16)]
        records = sorted(made_up, key=lambda one: one[1][0] not in grouping)  # a group that is empty, first

        def own_added_to(base: Base) -> Iterator[Proposal]:
            for row in rows:
                said = f"row {row} of yours added to {base.words}: {record_in_words(self._record(row))}"
                yield Proposal(base=base, kind=f"added, {base.words}", words=said, distance=SMALL,
                               changed=_adding(taken(self.table, [row])), grows=True)  # fmt: skip

        def made_added_to(base: Base) -> Iterator[Proposal]:
            for record, first, why, distance in records:
                table = self._made([record])
                if table is not None:
                    yield self._with(base, table, record, first, why, max(SMALL, distance))

        first, second, *others = [in_turns([own_added_to(base), made_added_to(base)]) for base in self._small()]
        yield from in_turns([first, second, in_turns(others)])

    def _wrapping(self) -> Iterator[Proposal]:
        """Tables whose sum, or number of records, is just below where an integer of some size wraps.

        The types that the code names come first. What is summed may be a multiple of an entry: cents, for example.
        """
        kinds = [f"{sign}{bits}" for bits in (32, 16, 8, 64) for sign in ("int", "uint")]
        named = [kind for kind in kinds if kind in self.texts]
        others = [kind for kind in kinds if kind not in named and (not named or kind.startswith("int"))]
        for kind in [*named, *others]:
            limit = int(np.iinfo(kind).max)
            words = f"next to the end of {kind}"
            if limit <= LONGEST_WRAPPING and self.look.length:
                one = taken(self.table, [self.look.typical])
                base = Base(words=f"a table of {limit} typical records, {words}", table=taken(one, [0] * limit))
                yield Proposal(base=base, kind="wrapping number", words=f"a record added to {base.words}",
                               distance=SMALL, changed=_adding(one), grows=True)  # fmt: skip
            for column in self.columns:
                if column.type in ("int", "float"):
                    yield from self._sum_next_to(limit, words, column, named=kind in named)

    def _sum_next_to(self, limit: int, words: str, column: Column, *, named: bool) -> Iterator[Proposal]:
        large = [one for one in self.numbers[::-1] if one > 1 and column.misfit(one) is None]
        values = [column.extremes()[0], *(large[:3] if named else large[:1])]
        times = [1, *(int(one) for one in self.numbers if one == int(one) and 1 < one <= 10**6)][: 4 if named else 1]
        tried: set[tuple[float, int]] = set()
        for factor, value in itertools.product(times, values):
            if not _is_number(value) or not 1 <= value <= limit:
                continue
            entry: Any = int(value)  # whole, so that the sum is as far from the limit if each entry is made an integer
            if column.type == "float":
                entry = float(entry) if column.misfit(float(entry)) is None else float(value)
            count = int(limit // (entry * factor))
            if not 1 <= count <= LONGEST_WRAPPING or (float(entry), count) in tried:
                continue
            tried.add((float(entry), count))
            table = self._made([{**self._typical(), column.name: entry}])
            if table is not None:
                sums = f"a sum {words}" if factor == 1 else f"a sum that is {words} {factor} times"
                base = Base(words=f"a table of {count} records with {column.name}={entry:g}, {sums}",
                            table=taken(table, [0] * count))  # fmt: skip
                said = f"one such record added to {base.words}"
                yield Proposal(base=base, kind=f"wrapping {column.name}", words=said, distance=SMALL,
                               changed=_adding(table), grows=True)  # fmt: skip

    # replace-one ------------------------------------------------------------------------------------------------------

    def _replaced(self) -> Iterator[Proposal]:
        if self.look.length < 2:
            return
        typical = self._typical()
        for one in self.standing:
            yield from self._exchanged(one, typical, HELD, "a typical record")
            other = next((two for two in self.standing if two.row != one.row), None)
            if other is not None:
                yield from self._exchanged(one, self._record(other.row), HELD, f"row {other.row}")

    def _replaced_by_ends(self) -> Iterator[Proposal]:
        places = [*self.standing[:3], StandingOut(row=self.look.typical, why="a typical record")]
        for record, _, why, distance in self._records():
            for one in places[-2:]:
                yield from self._exchanged(one, record, distance, why)

    def _uniform_replaced(self) -> Iterator[Proposal]:
        n = self.look.length
        if not n:
            return
        records = [
            (self._typical(), "typical records"),
            *((one[0], one[2]) for one in self._records() if one[3] <= OF_COLUMNS),
        ]
        for record, why in records[:24]:
            table = self._made([record])
            if table is None:
                continue
            base = Base(words=f"a table of {n} records alike ({record_in_words(record)})", table=taken(table, [0] * n))
            for other, _, _, distance in [*self._records()][:24]:
                put = self._made([other])
                if put is not None and other != record:
                    said = f"a record of {base.words} replaced by {record_in_words(other)}"
                    yield Proposal(base=base, kind=f"replaced alike, {why}", words=said, distance=max(SMALL, distance),
                                   changed=_exchanging(n - 1, put), grows=False)  # fmt: skip

    def _exchanged(self, one: StandingOut, record: Record, distance: int, why: str) -> Iterator[Proposal]:
        put = self._made([record])
        if put is None:
            return
        said = record_in_words(self._record(one.row), one.columns)
        words = f"row {one.row} ({said}; {one.why}) replaced by {record_in_words(record)} ({why})"
        yield Proposal(base=self.real, kind=f"replaced, {_kind(one.why)}, {why}", words=words, distance=distance,
                        changed=_exchanging(one.row, put), grows=False)  # fmt: skip

    # users ------------------------------------------------------------------------------------------------------------

    def _users_removed(self) -> Iterator[Proposal]:
        name = str(self.schema.user)
        codes, counts = self.look.codes[name], self.look.counts[name]
        order: dict[int, str] = {}
        for code in np.argsort(-counts, kind="stable")[:4].tolist():
            order.setdefault(code, f"{counts[code]} records, more than most users have")
        for one in self.standing:
            code = int(codes[one.row])
            if code >= 0:
                order.setdefault(code, f"row {one.row} is {one.why}")
        for code in range(len(counts)):
            order.setdefault(code, "a user like others")
        for code, why in order.items():
            rows = np.flatnonzero(codes == code)
            said = f"all {len(rows)} records of {record_in_words({name: self.look.values[name][code]})}"
            if not self.replace:
                words = f"{said} removed; {why}"
                yield Proposal(base=self.real, kind=f"user removed, {_kind(why)}", words=words, distance=HELD,
                               changed=_leaving_out(rows), grows=False, records=len(rows))  # fmt: skip
                continue
            typical = {**self._typical(), name: self._record(int(rows[0]))[name]}
            put = self._made([typical] * len(rows))
            if put is not None:
                words = f"{said} replaced by typical ones; {why}"
                yield Proposal(base=self.real, kind=f"user replaced, {_kind(why)}", words=words, distance=HELD,
                               changed=_exchanging_all(rows, put), grows=False, records=len(rows))  # fmt: skip

    def _users_added(self) -> Iterator[Proposal]:
        name = str(self.schema.user)
        if self.replace:
            return
        new = self._new_user(self.schema.column(name))
        empty = Base(words="the empty table", table=taken(self.table, []))
        for count in (1, 10, 100):
            for record, first, why, distance in self._records():
                if name not in first:
                    table = self._made([{**record, name: new}] * count)
                    if table is not None:
                        said = f"a user with {count} records added to"
                        told = f"{record_in_words(record, first)}; {why}"
                        for base in (self.real, empty):
                            kind, words = f"user added, {count}, {base.words}", f"{said} {base.words}: {told}"
                            far = max(distance, HELD if base is self.real else SMALL)
                            yield Proposal(base=base, kind=kind, words=words, distance=far, changed=_adding(table),
                                           grows=True, records=count)  # fmt: skip

    def _new_user(self, column: Column) -> Value:
        known = self.look.values[column.name]
        if column.type == "int" or (column.type == "category" and len(known) and _is_number(known[0])):
            return int(max(map(float, known), default=0)) + 1
        if column.type == "category" and not column.observed:
            return next((one for one in column.values if one not in known), column.values[-1])
        return "somebody new"


def _kind(why: str) -> str:
    return " ".join(word for word in why.split() if word.isalpha() and "=" not in word)[:24]


def _native(value: Any, column: Column) -> Value:
    found: Value = value.item() if isinstance(value, np.generic) else value
    return found


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**63


def _adding(table: Table) -> Callable[[Table], Table]:
    return lambda base: joined(base, table)


def _exchanging(row: int, table: Table) -> Callable[[Table], Table]:
    return lambda base: exchanged(base, row, table)


def _leaving_out(rows: Any) -> Callable[[Table], Table]:
    return lambda base: without(base, rows)


def _exchanging_all(rows: Any, table: Table) -> Callable[[Table], Table]:
    def changed(base: Table) -> Table:
        order = np.arange(length_of(base))
        order[rows] = length_of(base) + np.arange(len(rows))
        return taken(joined(base, table), order)

    return changed
