"""One function, followed on datasets of a schema: what it releases, or why it is not covered."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import json
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.handles.arrays import is_noise, settled
from dpverdict.audit.tracing.handles.draws import FollowedGenerator, replaced, replacing
from dpverdict.audit.tracing.handles.released import Followed, Released, plain
from dpverdict.audit.tracing.handles.tables import table_of
from dpverdict.audit.tracing.handles.tape import Release, RunTape, set_current
from dpverdict.audit.tracing.losses.samples import samples_of
from dpverdict.audit.tracing.rules.facts import MIXED, Fact, Total
from dpverdict.audit.tracing.rules.operations import NotCovered, Setting, Step
from dpverdict.audit.tracing.source.generators import (
    is_a_library_generator,
    is_generator,
    not_fresh,
    replaced_functions,
)
from dpverdict.audit.tracing.source.messages import messages_written
from dpverdict.audit.tracing.source.reach import Reached, fingerprint, reach
from dpverdict.audit.tracing.spending import SpentRelease, without_noise
from dpverdict.audit.trials.engines import holds_generator
from dpverdict.audit.trials.run import unseeded, with_generator
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

MOST_RUNS: Final = 20
"""Of a function, for one trace."""
_LARGEST_GLOBAL: Final = 1000
ONE_SIDED: Final = {
    "gumbel": "use np.argmax of it alone",
    "exponential": "subtract a second draw, or use np.argmax of it alone",
    "geometric": "subtract a second draw",
}
"""Laws of noise that protect a choice, and not the number; with what to write instead."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What following a function showed.

    Attributes:
        refused: why it is not covered, with the line; None if it is.
        steps: the operations on data.
        releases: the statistics with their noise, in order.
        runs: how often the function was run.
        read: the names that its code reads beside its table, which are taken for public.
    """

    refused: str | None
    steps: Sequence[Step]
    releases: Sequence[SpentRelease]
    statistics: Sequence[int]
    runs: int
    read: Sequence[str]


def followed(function: Callable[..., Any], schema: TableSchema, *, seed: int = 0) -> Trace:
    """Follow a function on datasets of a schema, along every path that noisy values may choose.

    Args:
        function: called with a table and a generator, or with a table alone.
        schema: of the table.
        seed: of the datasets, of which nothing that is found depends.
    """
    found = reach(function)
    refused = found.refused or _unfit(function, schema, found)
    if refused is not None:
        return _not_covered(refused, 0, found)
    before = {name: fingerprint(value) for name, value in (found.read | found.kept).items()}
    first: RunTape | None = None
    waiting: list[tuple[int, ...]] = [()]
    runs = 0
    while waiting:
        script = waiting.pop()
        if runs >= MOST_RUNS - 1:
            assert first is not None
            return _not_covered(f"{first.decided_at}: noisy values decide so often that not every path can be run: "
                                "use np.where and np.maximum in place of if", runs, found)  # fmt: skip
        tape = _run(function, schema, found, script, sample=_sample(schema, seed, 0))
        runs += 1
        if tape.refused is not None:
            return _not_covered(tape.refused, runs, found)
        if first is None:
            first = tape
        elif (unlike := _unlike(first, tape)) is not None:
            return _not_covered(unlike, runs, found)
        taken = (*script, *([0] * (len(tape.decided) - len(script))))
        waiting += [(*taken[:i], other) for i in range(len(script), len(tape.decided))
                    for other in range(1, tape.decided[i])]  # fmt: skip
    assert first is not None
    other = _run(function, schema, found, (), sample=_sample(schema, seed, 1))
    runs += 1
    if other.refused is not None or (unlike := _unlike(first, other)) is not None:
        return _not_covered(other.refused or f"another dataset was treated otherwise: {unlike}", runs, found)  # pyright: ignore[reportPossiblyUnboundVariable]
    after = {name: fingerprint(value) for name, value in (found.read | found.kept).items()}
    changed = next((name for name in before if before[name] != after[name]), None)
    if changed is not None:
        return _not_covered(f"it changes {changed}, which is kept from one call to the next", runs, found)
    steps = first.setting.steps
    releases = []
    for one in first.releases:
        fact = steps[one.statistic].fact
        assert isinstance(fact, Total)
        noise = first.noise_of(one)
        if noise is not None and noise.law in ONE_SIDED and (one.exposed or not one.chosen or noise.law == "geometric"):
            return _not_covered(f"{one.line}: a statistic with {noise.law} noise is released: {ONE_SIDED[noise.law]}",
                                runs, found)  # fmt: skip
        if noise is not None and noise.law in ONE_SIDED and len(set(noise.scale.ravel().tolist())) > 1:
            return _not_covered(f"{one.line}: the largest of scores with {noise.law} noise of several scales: "
                                "give it one scale", runs, found)  # fmt: skip
        releases.append(SpentRelease(fact, noise, one.chosen and not one.exposed, one.line))
    shown = next((one for one in first.halves if one.exposed), None)
    if shown is not None:
        return _not_covered(f"{shown.line}: a statistic with one-sided noise is shown, before the second draw is "
                            "subtracted", runs, found)  # fmt: skip
    statistics = [one.statistic for one in first.releases]
    samples = samples_of(steps, statistics)
    releases = [dataclasses.replace(one, sample=own) for one, own in zip(releases, samples, strict=True)]
    if without_noise(releases, replace=schema.relation is REPLACE_ONE):
        lines = dict.fromkeys(one.line for one in releases if one.noise is not None and one.noise.law == MIXED)
        return _not_covered(f"{', '.join(lines)}: the same noise is added to several numbers, of which a combination "
                            "then has none: draw noise for each number", runs, found)  # fmt: skip
    return Trace(refused=None, steps=steps, releases=releases, statistics=statistics,
                 runs=runs, read=_names(found))  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Statistics:
    """The releases of a function that is covered, with the values of their statistics on any table.

    Attributes:
        function: that is run.
        found: what it reaches.
        before: what the last run did, with its facts.
    """

    function: Callable[..., Any]
    found: Reached
    before: list[tuple[object, Fact]] = field(default_factory=list)

    @property
    def codes(self) -> Sequence[Any]:
        """Of all functions that it reaches."""
        return self.found.codes

    def on(self, schema: TableSchema, table: Any) -> list[Release] | None:
        """The releases on a table of the schema, where no noisy value decides for "yes"; None if it is not covered."""
        tape = _run(self.function, schema, self.found, (), sample=table, before=self.before)
        self.before[:] = tape.done
        return tape.releases if tape.refused is None else None


def statistics_of(function: Callable[..., Any]) -> Statistics:
    """What measures the statistics of a function."""
    return Statistics(function, reach(function))


def _not_covered(why: str, runs: int, found: Reached) -> Trace:
    return Trace(refused=why, steps=(), releases=(), statistics=(), runs=runs, read=_names(found))


def _names(found: Reached) -> list[str]:
    return sorted(name for name, value in found.read.items() if not callable(value) or name.endswith(".self"))


def _unfit(function: Any, schema: TableSchema, found: Reached) -> str | None:
    """What a function reads that nobody may take for public, or that nobody sees."""
    if not set(np.geterr().values()) <= {"ignore", "warn"}:
        return "errors of NumPy that depend on data (np.seterr): use 'ignore' or 'warn'"
    if schema.user is not None:
        return "a user with several records: bounds on what one record moves say nothing of a user"
    unseen = replaced_functions() or next(filter(None, map(not_fresh, found.generators)), None)
    if unseen is not None:
        return unseen
    for name, value in found.read.items():
        inner = [value, *(vars(value).values() if hasattr(value, "__dict__") and name.endswith(".self") else ())]
        if any(is_generator(one) for one in inner):
            return (f"{name} is a generator that was made outside of the function: nobody sees how it was started; "
                    "take it as a second argument, or write np.random.default_rng() inside")  # fmt: skip
        if hasattr(value, "__next__"):
            return f"{name} is an iterator, which is kept from one call to the next: hand over what is needed"
        of_a_library = isinstance(value, types.BuiltinFunctionType) and is_a_library_generator(value.__self__)
        if type(value) not in _PLAIN and not of_a_library and holds_generator(value):
            return (f"{name} holds a generator that was made outside of the function, or a copy of one: "
                    "take it as a second argument, or write np.random.default_rng() inside")  # fmt: skip
        if isinstance(value, np.ndarray) and value.size > _LARGEST_GLOBAL:
            return f"{name} is a large array outside of the function: if it holds data, hand it over as the table"
        names = [str(one) for one in getattr(value, "columns", ())] if hasattr(value, "columns") else []
        if names and {column.name for column in schema.columns} <= set(names):
            return f"{name} is a table with the columns of the schema: hand it over as an argument"
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        return "a generator or a coroutine: write a plain function"
    return None


def _unlike(one: RunTape, other: RunTape) -> str | None:
    """How what two runs did differs; None if it does not."""
    if len(one.setting.steps) != len(other.setting.steps) or len(one.releases) != len(other.releases):
        return "it does more or other operations in one run than in another"
    for i, (a, b) in enumerate(zip(one.setting.steps, other.setting.steps, strict=True)):
        same = a.name == b.name and a.line == b.line and a.parameters == b.parameters
        if not same or json.dumps(a.fact.to_json(), default=str) != json.dumps(b.fact.to_json(), default=str):
            return f"operation {i} ({a.line}) is another one in another run"
    for r, s in zip(one.releases, other.releases, strict=True):
        same = r.statistic == s.statistic and (r.noise is None) == (s.noise is None)
        both = r.noise is not None and s.noise is not None
        if not same or (both and (r.noise.to_json() != s.noise.to_json() or r.noise.terms != s.noise.terms)):  # type: ignore[union-attr]
            return f"a release ({r.line}) is another one in another run"
        r.exposed, r.chosen = r.exposed or s.exposed, r.chosen or s.chosen
    return None


def _run(function: Callable[..., Any], schema: TableSchema, found: Reached, script: Sequence[int], *,
         sample: Any, before: Sequence[tuple[object, Fact]] = ()) -> RunTape:  # fmt: skip
    setting = Setting(schema.relation is REPLACE_ONE, schema.records)
    tape = RunTape(setting, frozenset(found.files), script, tuple(before))
    takes_generator = _takes_generator(function)
    set_current(tape)
    try:
        written = messages_written(lambda value: _check_outcome(tape, value))
        own = replaced(found.modules, found.generators, [*_of_library(schema), *written])
        with warnings.catch_warnings(), replacing(own):
            warnings.simplefilter("always")
            table = table_of(tape, schema, sample)
            outcome = function(table, FollowedGenerator()) if takes_generator else function(table)
            _check_outcome(tape, outcome)
            del table, outcome
            _must_be_dropped(tape)
    except NotCovered as error:
        tape.refused = tape.refused or str(error)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        tape.refused = tape.refused or f"{_where(error, tape)}: it raises {' '.join(text.split())[:160]}"
    finally:
        set_current(None)
    return tape


def _of_library(schema: TableSchema) -> Sequence[tuple[Any, str, Any]]:
    """The functions of pandas, or of polars, that take frames, where the table is one."""
    if schema.table == "polars":
        from dpverdict.audit.tracing.handles.frames.polars_groups import polars_functions

        return polars_functions()
    if schema.table != "pandas":
        return ()
    from dpverdict.audit.tracing.handles.frames.functions import pandas_functions

    return pandas_functions()


def _must_be_dropped(tape: RunTape) -> None:
    """Refuse a function that hands data to code which keeps them: that code may read them without noise."""
    if any(one() is not None for one in tape.followed):
        gc.collect()
    if any(one() is not None for one in tape.followed):
        tape.refuse("data that are kept after the call, where other code may read them", "keep what was released")


def _where(error: BaseException, tape: RunTape) -> str:
    trace, line = error.__traceback__, "the function"
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in tape.files:
            line = f"line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _takes_generator(function: Callable[..., Any]) -> bool:
    return not isinstance(with_generator(function), unseeded)


def _sample(schema: TableSchema, seed: int, which: int) -> Any:
    """A dataset of the schema, small where the number of records is not public."""
    rng = np.random.default_rng([seed, which])
    size = 7 + 4 * which
    rows = [schema.random_record(rng) for _ in range(size if schema.records is None else min(size, schema.records))]
    made = schema.dataset(rows)
    if schema.records is None or schema.records == len(rows):
        return made
    places = np.arange(schema.records) % len(rows)
    if schema.table == "pandas":
        return made.take(places).reset_index(drop=True)
    return made[places]


# what comes out -------------------------------------------------------------------------------------------------------


def _check_outcome(tape: RunTape, outcome: Any) -> None:
    """Refuse an outcome that holds data without noise, or what nobody can look into."""
    for one in _leaves(tape, outcome, 0):
        value = settled(one)
        if isinstance(value, Released):
            held = plain(value)
            if not isinstance(held, _PLAIN) and type(held) is not np.ndarray:
                _check_outcome(tape, held)
        elif is_noise(value):
            tape.use(value._dpv_noise)
        elif isinstance(value, Followed) or hasattr(value, "_dpv_array"):
            where = _made_at(tape, value)
            what = f"data reach the outcome without noise{where}"
            tape.refused = tape.refused or f"{what}: add noise to it, or leave it out"


def _made_at(tape: RunTape, value: Any) -> str:
    inner = value._dpv_array() if hasattr(value, "_dpv_array") else value
    number = getattr(inner, "_dpv_number", None)
    return "" if number is None else f" ({tape.setting.steps[number].line})"


def _labels(value: Any, name: str) -> Any:
    """The labels of something of pandas as a list, or another thing that it has under a name."""
    found: Any = getattr(value, name, None) if type(value).__module__.partition(".")[0] == "pandas" else None
    return list(found) if hasattr(found, "to_numpy") else None if callable(found) else found


def _beside(tape: RunTape, value: Any, depth: int) -> Iterator[Any]:
    """What an object holds beside its items: attributes, a function that makes items, and what its class holds."""
    kind: Any = type(value)
    if isinstance(value, np.ma.MaskedArray):
        tape.refuse("an outcome that is a masked array, which is not looked into", "return a plain array")
    for one in getattr(value, "__dict__", {}).values():
        yield from _leaves(tape, one, depth + 1)
    factory = getattr(value, "default_factory", None) if isinstance(value, dict) else None
    if isinstance(factory, types.FunctionType):
        tape.refuse("an outcome that makes items by a function", "return a plain dictionary")
    if "<locals>" not in kind.__qualname__:
        return
    for one in vars(kind).values():  # a class that is made in a call may hold what the call holds
        plain_one = getattr(one, "__func__", None) or getattr(one, "fget", None) or one
        if isinstance(plain_one, types.FunctionType):
            for held in [cell.cell_contents for cell in plain_one.__closure__ or ()]:
                if not isinstance(held, type | types.FunctionType | types.ModuleType):
                    yield from _leaves(tape, held, depth + 1)
        elif isinstance(one, Followed | Released | list | tuple | dict | np.ndarray) or hasattr(one, "_dpv_array"):
            yield from _leaves(tape, one, depth + 1)


_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), np.generic)


def _leaves(tape: RunTape, value: Any, depth: int) -> Iterator[Any]:
    if depth > 20:
        tape.refuse("an outcome that is nested deeply", "return a dictionary of noisy values")
    if isinstance(value, Followed | Released) or type(value).__name__ == "Building" or hasattr(value, "_dpv_array"):
        yield value
    elif type(value) in _PLAIN or (isinstance(value, np.generic) and type(value).__module__ == "numpy"):
        return
    elif isinstance(value, dict):
        yield from _beside(tape, value, depth)
        for key, one in value.items():
            yield from _leaves(tape, key, depth + 1)
            yield from _leaves(tape, one, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        yield from _beside(tape, value, depth)
        for one in value:
            yield from _leaves(tape, one, depth + 1)
    elif isinstance(value, np.ndarray):
        yield from _beside(tape, value, depth)
        if value.dtype.hasobject:
            yield from _leaves(tape, np.asarray(value).ravel().tolist(), depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _beside(tape, value, depth)
        for one in dataclasses.fields(value):
            yield from _leaves(tape, getattr(value, one.name), depth + 1)
    elif type(value).__module__.partition(".")[0] in ("pandas", "polars") and hasattr(value, "to_numpy"):
        yield from _leaves(tape, np.asarray(value.to_numpy(), dtype=object).ravel().tolist(), depth + 1)  # pyright: ignore[reportAttributeAccessIssue]
        for name in ("index", "columns", "name", "names", "attrs"):  # of pandas: labels and what is noted beside
            held = _labels(value, name)
            plain_labels = type(held) is list and not any(isinstance(one, Followed | Released) or hasattr(
                one, "_dpv_array") or hasattr(one, "__dict__") for one in held)  # fmt: skip
            if not plain_labels:  # texts, numbers, intervals and dates are not looked into
                yield from _leaves(tape, held, depth + 1)
    else:
        tape.refuse(f"an outcome of type {type(value).__name__}, which is not looked into",
                    "return numbers, arrays, frames, lists or dictionaries")  # fmt: skip
