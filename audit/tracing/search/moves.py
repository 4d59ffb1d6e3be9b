"""Neighbouring tables whose one record moves the releases furthest, found by changing one entry of it at a time.

A function that is followed runs at the cost of the run, and its statistics are known before the noise: so how far a
record moves them is seen for hundreds of records. Nothing that is certified rests on it: what is found is measured by
the tap, which does not know of the trace.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.handles.tape import Release
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.rules.facts import MIXED, Terms
from dpverdict.audit.tracing.run import Trace, statistics_of
from dpverdict.audit.tracing.spending import widest_records
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

MOST_RUNS: Final = 4000
MOST_RECORDS: Final = 5000
"""Of a table of which the records are moved: a larger one takes long to make."""
RESTARTS: Final = 8
_MOST_VALUES: Final = 64
_LARGE: Final = 1e6
_POOL: Final = 24
_STEPPING: Final = ("rounded", "converted")
_BENDING: Final = (*_STEPPING, "not steeper", "absolute")
"""Operations by which the records that stay decide how far another one moves a statistic."""
_SEARCHED: Final = 10
"""Values of a column between which steps are looked for."""
_STEPS_FOUND: Final = 4
_IDLE: Final = 2
"""Restarts without a better pair, after which no more are made."""

Row: TypeAlias = "dict[str, Any]"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighbouring tables.

    Attributes:
        rows, neighbour: the records of the two.
        words: how they differ.
        share: how far the releases move, as a share of the bound on it.
    """

    rows: list[Row]
    neighbour: list[Row]
    words: str
    share: float


@final
@dataclass(frozen=True, slots=True)
class _State:
    """Records that both tables have, the one that is added, and the one that it replaces; None where there is none."""

    base: tuple[Row, ...]
    record: Row
    other: Row | None

    def with_entry(self, which: str, name: str, value: Any) -> _State:
        """With another entry of the record, or of the other one."""
        if which == "record" or self.other is None:
            return dataclasses.replace(self, record={**self.record, name: value})
        return dataclasses.replace(self, other={**self.other, name: value})

    def tables(self) -> tuple[list[Row], list[Row]]:
        """The two tables."""
        return [*self.base, self.record], [*self.base, *(() if self.other is None else (self.other,))]


def widest_pairs(
    function: Callable[..., Any], schema: TableSchema, trace: Trace, options: Sequence[Spent], *, seed: int,
    seconds: float, count: int = 3,
) -> list[Pair]:  # fmt: skip
    """The pairs that move the releases furthest, of those that the search came by: the furthest first.

    Args:
        function: that was followed.
        schema: of the table.
        trace: of the function, which is covered.
        options: what one record spends at most.
        seed: of the search.
        seconds: that it may take.
        count: of pairs.
    """
    if schema.records is not None and schema.records > MOST_RECORDS:
        return []
    given = widest_records(trace.releases, replace=schema.relation is REPLACE_ONE)
    until = time.monotonic() + seconds
    found = _Search(function, schema, trace, options, seed=seed, until=until, given=given).run()
    best = sorted(found.items(), key=lambda item: -item[1][0])[:count]
    made = []
    for share, state in (item[1] for item in best):
        rows, neighbour = state.tables()
        words = f"with and without {in_words(state.record)}"
        if state.other is not None:
            words = f"{in_words(state.record)} in place of {in_words(state.other)}"
        elif not neighbour:
            words = f"{in_words(state.record)} alone, and no record"
        made.append(Pair(rows=rows, neighbour=neighbour, words=words, share=share))
    return made


def in_words(record: Mapping[str, Any]) -> str:
    """A record, its first entries."""
    shown = ", ".join(f"{key}={value!r}" for key, value in list(record.items())[:6])
    return f"the record ({shown})"


def tamed(value: Any) -> Any:
    """A huge number, where nothing bounds a column, made a large one: sums stay finite."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > 1e12:
        return type(value)(math.copysign(_LARGE, value))
    return value


@final
class _Search:
    """One search, and what it knows."""

    def __init__(
        self, function: Any, schema: TableSchema, trace: Trace, options: Sequence[Spent], *, seed: int, until: float,
        given: Sequence[Sequence[Mapping[str, Any]]],
    ) -> None:  # fmt: skip
        self.schema, self.rng, self.until = schema, np.random.default_rng(seed), until
        self.measure = statistics_of(function)
        self.largest = [one.only_the_largest for one in trace.releases]
        self.mixed = [one.noise is not None and one.noise.law == MIXED for one in trace.releases]
        self.laplace = max((float(_pure(one)) for one in options), default=0.0)
        self.gaussian = max((float(one.gaussian) for one in options), default=0.0)
        self.target = max((self._share(float(_pure(one)), float(one.gaussian)) for one in options), default=0.0)
        self.bends = any(step.name in _BENDING for step in trace.steps)
        self.steps = 2 * any(step.name in _STEPPING for step in trace.steps)
        self.tried: set[str] = set()
        used = {name for step in trace.steps if step.name == "table" for name in step.parameters["names"]}
        constants = list(_constants(trace, self.measure.codes))
        self.values = {one.name: _candidates(one, constants) for one in schema.columns if one.name in used}
        self.fixed = {one.name: tamed(one.extremes()[0]) for one in schema.columns if one.name not in used}
        whole = sorted({int(one) for one in constants if isinstance(one, int | float) and one in range(3, 201)})
        self.counts = (1, 2, 6, 40, *whole[:3])
        self.runs = 0
        self._given = [self._of(one) for one in given]
        self.known: dict[str, list[Release] | None] = {}
        self.seen: dict[str, tuple[float, _State]] = {}

    def run(self) -> dict[str, tuple[float, _State]]:
        """Restarts of a search entry by entry, until the bound is reached or the time is over."""
        if not self.values or not self.target:
            return self.seen
        for start in self._given:
            for base in ((), *(((start.record,) * size) for size in self.counts)) if start.other is None else (
                start.base,
            ):  # fmt: skip
                self._size(dataclasses.replace(start, base=base))
            if self._over():
                return self.seen
            self._climb(start)
            self._at_steps()
            self._rebased(start)
        self._beside_itself()
        best_so_far, idle = 0.0, 0
        for number in range(RESTARTS):
            pool = [self._start(number) for _ in range(_POOL if number else _POOL // 2)]
            best = max(((self._size(one), i) for i, one in enumerate(pool)), default=(-1.0, 0))
            state = self._climb(pool[best[1]])
            found = self._size(self._climb(self._rebased(state)))
            self._beside_itself()
            self._at_steps()
            idle = 0 if found > best_so_far else idle + 1
            best_so_far = max(best_so_far, found)
            if self._over() or idle > _IDLE:
                break
        return self.seen

    def _over(self) -> bool:
        reached = max((one[0] for one in self.seen.values()), default=0.0) >= self.target * (1 - 1e-13)
        return reached or self.runs >= MOST_RUNS or time.monotonic() > self.until

    def _of(self, records: Sequence[Mapping[str, Any]]) -> _State:
        """A state with records of which some entries are known."""
        whole: list[Row] = []
        for known in records:
            row = self._record()
            for one in self.schema.columns:
                value = known.get(one.name, row[one.name])
                if isinstance(value, float) and one.type in ("int", "bool"):
                    value = bool(value) if one.type == "bool" else round(value)
                if value is not None and one.type == "bool":
                    value = bool(value)
                if (value is None and one.nullable) or (value is not None and one.misfit(value) is None):
                    row[one.name] = value
            whole.append(row)
        start = self._start(0)
        return _State(start.base, whole[0], whole[1] if len(whole) > 1 else None)

    # states -----------------------------------------------------------------------------------------------------------

    def _record(self) -> Row:
        picked = {name: values[int(self.rng.integers(len(values)))] for name, values in self.values.items()}
        return {one.name: picked.get(one.name, self.fixed.get(one.name)) for one in self.schema.columns}

    def _start(self, number: int) -> _State:
        replace = self.schema.relation is REPLACE_ONE
        size = (self.schema.records or 6) - 1 if replace else (0, 5)[number % 2]
        few = [self._record() for _ in range(min(size, 40))]
        base = tuple(itertools.islice(itertools.cycle(few), size)) if few else ()
        return _State(base, self._record(), self._record() if replace else None)

    def _climb(self, state: _State) -> _State:
        """Change one entry at a time to what moves the releases furthest, as long as that helps."""
        size, improved = self._size(state), True
        while improved and not self._over():
            improved = False
            for which, name in itertools.product(("record", "other"), self.values):
                record: Row | None = getattr(state, which)
                if record is None:
                    continue
                for value in self.values[name]:
                    if value == record[name] and type(value) is type(record[name]):
                        continue
                    tried = state.with_entry(which, name, value)
                    if (found := self._size(tried)) > size:
                        state, size, improved = tried, found, True
                    if self._over():
                        return state
        return state

    def _rebased(self, state: _State) -> _State:
        """The same record beside other ones: a clipped or rounded statistic is moved at some of its values only."""
        if self._over():
            return state
        counts = self.counts if state.other is None else (len(state.base),)
        tried = [state, dataclasses.replace(state, base=())] if state.other is None else [state]
        for one in (state.record, *(self._record() for _ in range(5))):
            for count in counts:
                tried.append(dataclasses.replace(state, base=(one,) * count))
                tried.append(dataclasses.replace(state, base=(one,) * count, record=one))
        return max(tried, key=self._size)

    def _best(self) -> _State | None:
        """The state that moves the releases furthest, of those that were not gone on with yet."""
        if not self.seen or self._over():
            return None
        _, state = max(self.seen.values(), key=lambda one: one[0])
        key = repr(state)
        if key in self.tried:
            return None
        self.tried.add(key)
        return state

    def _beside_itself(self) -> None:
        """Go on from a record in place of itself, of which one entry is changed after the other."""
        state = self._best()
        if state is None:
            return
        if state.other is not None:
            for record in (state.record, state.other):
                same = dataclasses.replace(state, record=record, other=dict(record))
                for name in self.values:
                    options = [same.with_entry("other", name, one) for one in self.values[name]]
                    self._climb(max(options, key=self._size))
        if self.bends:
            self._climb_base(state)

    def _climb_base(self, state: _State) -> _State:
        """Change one entry of the records that stay, of all of them or of the first, as long as that helps."""
        bases = [state.base]
        if state.other is None:
            bases += [(row,) * count for row in (state.record, *state.base[:1], self._record()) for count in (1, 2)]
        elif state.base:
            bases += [(row,) * len(state.base) for row in (state.base[0], state.record, state.other)]
        state = max((dataclasses.replace(state, base=one) for one in bases), key=self._size)
        size, improved = self._size(state), True
        while improved and not self._over():
            improved = False
            for name, value in [(name, one) for name, values in self.values.items() for one in values]:
                for count in {1, len(state.base)} if state.base else ():
                    moved = tuple({**row, name: value} for row in state.base[:count])
                    tried = dataclasses.replace(state, base=(*moved, *state.base[count:]))
                    if (found := self._size(tried)) > size:
                        state, size, improved = tried, found, True
                if self._over():
                    return state
        return self._climb(state)

    def _at_steps(self) -> None:
        """Go on with records that stay just before a step of a release: what comes may then take one step more."""
        if not self.steps or not self.seen or self._over():
            return
        self.steps -= 1
        _, state = max(self.seen.values(), key=lambda one: one[0])
        if state.other is None:
            state = dataclasses.replace(state, base=(state.record,))
        for column in self.schema.columns:
            if column.name in self.values and column.type == "float" and state.base:
                steps = list(self._steps(state, column.name))
                fitting = [one for one in steps if column.misfit(one) is None and one not in self.values[column.name]]
                self.values[column.name] = [*self.values[column.name], *fitting]
        if not self._over():
            self._climb_base(state)

    def _steps(self, state: _State, name: str) -> Iterator[float]:
        """Entries of the records that stay on both sides of each step."""

        def at(value: float) -> list[float]:
            base = tuple({**row, name: value} for row in state.base)
            found = self._releases(dataclasses.replace(state, base=base).tables()[1])
            return [] if found is None else np.concatenate([np.ravel(one.value) for one in found]).tolist()

        numbers = sorted({float(one) for one in self.values[name] if isinstance(one, int | float)})
        grid = sorted({*numbers[:: max(1, len(numbers) // _SEARCHED)], *numbers[-1:]})
        between = list(itertools.pairwise(grid))
        count = 0
        for low, high in sorted(between, key=lambda one: abs(one[0] + one[1])):  # small ones are rounded away
            for place, (a, b) in enumerate(zip(at(low), at(high), strict=False)):
                below, above = low, high
                near = low + (high - low) * 1e-6
                if a == b or self._over() or count >= _STEPS_FOUND or at(near)[place : place + 1] != [a]:
                    continue  # what grows takes no step
                for _ in range(64):
                    middle = below / 2 + above / 2
                    if not below < middle < above:
                        break
                    below, above = (middle, above) if at(middle)[place : place + 1] == [a] else (below, middle)
                count += 1
                yield from (below, above)

    # how far a record moves the releases ------------------------------------------------------------------------------

    def _share(self, laplace: float, gaussian: float) -> float:
        return (laplace / self.laplace if self.laplace else 0.0) + (gaussian / self.gaussian if self.gaussian else 0.0)

    def _size(self, state: _State) -> float:
        """Of the move, as a share of its bound; -1 where it cannot be measured."""
        rows, neighbour = state.tables()
        here, there = self._releases(rows), self._releases(neighbour)
        if here is None or there is None or not len(here) == len(there) == len(self.largest):
            return -1.0
        laplace = gaussian = 0.0
        mixed: list[tuple[Terms, float]] = []
        for a, b, largest, common in zip(here, there, self.largest, self.mixed, strict=True):
            if common and a.noise is not None and a.noise.terms is not None:
                mixed += zip(a.noise.terms, np.ravel(a.value - b.value).tolist(), strict=True)
                continue
            one, other = _moved(a, b, largest=largest)
            laplace, gaussian = laplace + one, gaussian + other
        gaussian += _moved_together(mixed)
        size = self._share(laplace, gaussian)
        if not math.isfinite(size):
            return -1.0
        key = repr(round(size, 9))
        if size > 0 and (key not in self.seen or self.seen[key][0] < size):
            self.seen[key] = (size, state)
        return size

    def _releases(self, rows: list[Row]) -> list[Release] | None:
        key = repr(rows)
        if key not in self.known:
            self.runs += 1
            try:
                self.known[key] = self.measure.on(self.schema, self.schema.dataset(rows))
            except DpverdictError:
                self.known[key] = None
        return self.known[key]


def _pure(spent: Spent) -> Any:
    return dataclasses.replace(spent, gaussian=type(spent.gaussian)(0)).epsilon()  # within what all spend together


def _moved(one: Release, other: Release, *, largest: bool) -> tuple[float, float]:
    """What a release spends on a pair: the pure part, and the square of the Gaussian one."""
    with np.errstate(all="ignore"):
        noise = one.noise
        move = (one.value - other.value) if noise is not None else np.log(one.value) - np.log(other.value)
        if noise is None or largest:
            if noise is not None:
                move = move / noise.scale
            return float(np.max(move) - np.min(move)) if move.size else 0.0, 0.0
        if noise.law == "gaussian":
            return 0.0, float(np.sum((move / noise.scale) ** 2))
        rate = float(noise.parameter or 0.0) if noise.law == "two-sided geometric" else 1 / noise.scale
        return float(np.sum(np.abs(move) * rate)), 0.0


def _moved_together(moves: Sequence[tuple[Terms, float]]) -> float:
    """The square of mu of numbers whose Gaussian noise is made of common draws."""
    if not moves:
        return 0.0
    places = {number: i for i, number in enumerate(sorted({one for terms, _ in moves for one, _ in terms}))}
    factors = np.zeros((len(moves), len(places)))
    for row, (terms, _) in zip(factors, moves, strict=True):
        for number, factor in terms:
            row[places[number]] += float(factor)
    move = np.array([far for _, far in moves])
    try:
        return float(move @ np.linalg.solve(factors @ factors.T, move))
    except np.linalg.LinAlgError:
        return math.inf


# the values of entries ------------------------------------------------------------------------------------------------


def _constants(trace: Trace, codes: Iterable[Any]) -> Iterator[object]:
    """Numbers and texts that the operations, or the code, name."""
    for step in trace.steps:
        if step.name != "table":
            for one in step.operands:
                if one.number is None:
                    yield from _leaves(one.value)
            yield from _leaves({key: value for key, value in step.parameters.items() if key not in ("dtype", "name")})
            if step.parameters.get("name") in ("sin", "cos"):  # where they turn
                yield from (k * math.pi / 2 for k in range(-4, 5))
    for code in codes:
        yield from _leaves(list(code.co_consts))


def _days(ends: Sequence[Any], constants: Sequence[object]) -> Iterator[datetime.date]:
    """Days that are named, those beside them, a week of days, and a day of each of the next months."""
    for text in constants:
        if isinstance(text, str):
            with contextlib.suppress(ValueError):
                named = datetime.datetime.fromisoformat(text)
                yield from (named + datetime.timedelta(days=step) for step in (0, -1, 1))
    first = next((one for one in ends if isinstance(one, datetime.date)), datetime.date(2024, 1, 1))
    yield from (first + datetime.timedelta(days=step) for step in (*range(7), *range(30, 390, 30)))


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from _leaves([*value, *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for one in list(value)[:_MOST_VALUES]:
            yield from _leaves(one)
    elif isinstance(value, np.ndarray):
        yield from _leaves(value.ravel()[:_MOST_VALUES].tolist())
    elif isinstance(value, np.generic):
        yield from _leaves(value.item())
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        yield value


def _candidates(column: Column, constants: Sequence[object]) -> list[Any]:
    """Entries at which a statistic may begin or cease to move: ends, categories, the constants and their neighbours."""
    found = [tamed(one) for one in column.extremes()]
    if column.type in ("int", "float"):
        named = sorted({float(one) for one in constants if isinstance(one, int | float) and abs(one) <= _LARGE})
        near = [*named, *(one + step for one in named for step in (1.0, -1.0))]
        if column.type == "float":
            near += [math.nextafter(one, end) for one in named for end in (math.inf, -math.inf)]
            near += [-one for one in named] + [a / 2 + b / 2 for a, b in itertools.pairwise(named)]
            found += near
        else:
            found += [int(whole) for one in near for whole in (math.floor(one), math.ceil(one))]
    elif column.type == "text":
        found += [one for one in constants if isinstance(one, str)]
    elif column.type == "date":
        found += list(_days(found, constants))
    fitting = [one for one in found if one is None or column.misfit(one) is None]
    unique = list({(type(one), repr(one)): one for one in fitting}.values())
    return unique[:_MOST_VALUES] or [column.extremes()[0]]
