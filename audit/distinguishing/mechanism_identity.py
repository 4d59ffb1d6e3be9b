"""Whether the mechanism at the end of a test, or at its resumption, is the one of the beginning.

A budget that runs dry or a cache that fills makes later trials other than earlier ones, and then the side that is run
later differs whatever the data are. So a few trials are run again at the end: where their kinds (an exception, a
length, the keys) are not those of the beginning, there is no test and no refutation.

A state that is kept to go on later is evidence about one mechanism. What another one inherits of it is error: a
corrected mechanism could fall by the bets that were won against the wrong one. So the state holds the parts of its
mechanism (`fingerprint`) and a `Probe` of its outcomes, and `check_same_mechanism` refuses any other.

The parts. A function is its byte code with the values it closes over, its defaults, and the globals that it names; an
object is its class with its attributes; a partial application is its function with its arguments. What they refer to is
followed in turn. Of an installed library the version stands for the code; of a generator of random numbers its kind
alone, because its state moves with every call. What cannot be looked into (a file that is read, the memory of a
compiled object) is not seen there: that is what the outcomes of the probe are for.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import importlib.metadata
import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.statistics.proportions import unequal_halves_p_value
from dpverdict.audit.trials.engines import GENERATORS, is_installed, names_used
from dpverdict.audit.trials.outcomes.batches import Batch, OutcomeRows, rows_of
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.outcomes.stored import NotStored, stored
from dpverdict.audit.trials.run import AnyMechanism, BatchedMechanism, Sampler, batched, generator, unseeded
from dpverdict.errors import InvalidValue, MechanismFailure

COMPARED_TRIALS: Final = 20
"""Trials on each side that are run again at the end, and as many first ones they are compared with."""
LEVEL: Final = 1e-6
"""Probability at most with which independent trials of one law are taken for others."""
PROBED_TRIALS: Final = 16
"""Trials on each side whose outcomes a kept state remembers."""
OPTIONS: Final = ("timeout", "warnings", "bits", "canonical")
"""Of `observed`."""
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_OF_EVERY_CLASS: Final = frozenset(
    [
        *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate__", "__annotate_func__"),
        *("__annotations_cache__", "__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"),
        *("__match_args__", "__parameters__", "__orig_bases__", "__type_params__"),
    ]
)
_LONGEST: Final = 16
"""Hexadecimal digits of a hash that are kept."""


def first_kinds(batch: Batch) -> list[str]:
    """The kinds of the first outcomes of a side."""
    rows = rows_of(batch)
    return [row.signature for row, _ in zip(rows, range(COMPARED_TRIALS), strict=False)]


def check_kept_state(sampler: Sampler, earlier: Sequence[str]) -> None:
    """Run as many trials again as ``earlier`` has kinds, and compare.

    Raises:
        MechanismFailure: their kinds are not those of draws of one law.
    """
    if sampler.strict or isinstance(sampler.mechanism, BatchedMechanism) or not earlier:
        return
    batches = list(sampler.batches(f"again {sampler.where}", len(earlier)))
    later = [kind for batch in batches for kind in first_kinds(batch)]
    counts = Counter(earlier), Counter(later)
    kinds = counts[0].keys() | counts[1].keys()
    for kind in sorted(kinds):
        before, after = counts[0][kind], counts[1][kind]
        unequal = unequal_halves_p_value(before, len(earlier), before + after, len(earlier) + len(later))
        if min(unequal, _only_at_first_p(kind, [*earlier, *later])) <= LEVEL / (2 * len(kinds)):
            problem = f"ended in '{kind}' {before} of {len(earlier)} times at first, and {after} of {len(later)} later"
            remedy = "keep nothing between calls: make budgets, caches and counters anew in each call"
            raise MechanismFailure(sampler.name, f"{problem}, on {sampler.where}: its state changes", remedy)


def check_time_outs(p: Sampler, q: Sampler) -> None:
    """Of a claim that falls: were calls timed out whose time the load of the machine decides?

    Raises:
        MechanismFailure: a call was timed out, and another one came near the limit.
    """
    one, other = p.mechanism, q.mechanism
    near = one.near_limit(other) if isinstance(one, observed) and isinstance(other, observed) else None
    if near is not None:
        raise MechanismFailure(p.name, near, "give a limit of ten times the slowest call that finishes by itself")


def _only_at_first_p(kind: str, kinds: Sequence[str]) -> float:
    """The probability that all draws of one kind come before all others, if they do; else 1."""
    count = kinds.count(kind)
    return 1 / math.comb(len(kinds), count) if all(one == kind for one in kinds[:count]) else 1.0


@final
@dataclass(frozen=True, slots=True)
class Probe:
    """How a mechanism is known again.

    Attributes:
        parts: what it is made of, see `fingerprint`.
        moving: names of parts that running it changes, such as a counter of its calls: they are not compared.
        outcomes: the hashes of the first outcomes on each side, from streams of their own; empty where the generator
            that is passed in does not decide them, so that they cannot be drawn again.
    """

    parts: Mapping[str, str]
    moving: tuple[str, ...]
    outcomes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self) | {"parts": dict(self.parts), "moving": list(self.moving), "outcomes": list(self.outcomes)}


def make_probe(mechanism: AnyMechanism, parts: Mapping[str, str], sides: Sequence[Sampler]) -> Probe:
    """The probe of a mechanism at the beginning of a test.

    Args:
        mechanism: what is run.
        parts: its fingerprint before it ran at all.
        sides: the mechanism on the dataset and on the neighbour.
    """
    outcomes = tuple(_hash_of_outcomes(side, PROBED_TRIALS) for side in sides)
    # The first two are drawn again: a second full round would be dear where a trial is a training run.
    governed = all(_hash_of_outcomes(side, 2) == _hash_of_outcomes(side, 2) for side in sides)
    after = fingerprint(mechanism)
    moving = tuple(sorted(name for name in parts.keys() | after.keys() if parts.get(name) != after.get(name)))
    return Probe(parts=parts, moving=moving, outcomes=outcomes if governed else ())


def check_same_mechanism(kept: object, parts: Mapping[str, str], sides: Sequence[Sampler]) -> Probe:
    """The probe of a state, if the mechanism is the one that it is of.

    Args:
        kept: as `Probe.to_dict` wrote it.
        parts: the fingerprint of the mechanism that is to go on.
        sides: that mechanism on both datasets.

    Raises:
        InvalidValue: another part, or another outcome, or no probe.
    """
    remedy = "start a new test: what was bet against one mechanism is no evidence about another"
    match kept:
        case {"parts": dict(before), "moving": list(moving), "outcomes": list(outcomes)}:
            probe = Probe(parts=before, moving=tuple(moving), outcomes=tuple(outcomes))
        case _:
            raise InvalidValue("state", "without a probe", "what an earlier test returned", "start a new test")
    for name in sorted((before.keys() | parts.keys()) - set(moving)):
        if before.get(name) != parts.get(name):
            raise InvalidValue("state", f"made with a mechanism that has another {name}", "of this mechanism", remedy)
    if probe.outcomes and list(probe.outcomes) != [_hash_of_outcomes(side, PROBED_TRIALS) for side in sides]:
        raise InvalidValue("state", "made with a mechanism that gives other releases", "of this mechanism", remedy)
    return probe


def _hash_of_outcomes(side: Sampler, trials: int) -> str:
    """The hash of a few outcomes, always those of the same generator."""
    found = side.few(trials, generator(side.seed, f"probe of a state, {side.where}", trials))
    data = found.packed() if isinstance(found, OutcomeRows) else found
    return hashlib.sha256(f"{data.dtype} {data.shape} ".encode() + data.tobytes()).hexdigest()


def fingerprint(mechanism: AnyMechanism) -> dict[str, str]:
    """The parts of a mechanism by name, such as "closure scale of noisy", each with its hash.

    >>> def noisy(scale):
    ...     return lambda data, rng: data.sum() + rng.normal(scale=scale)
    >>> one, other = fingerprint(noisy(1.0)), fingerprint(noisy(2.0))
    >>> [name for name in one if one[name] != other[name]]
    ['closure scale of noisy.<locals>.<lambda>']
    """
    return {name: _Hasher().of(part).hex()[:_LONGEST] for name, part in _parts_of_value(mechanism)}


def _parts_of_value(value: object) -> Iterator[tuple[str, object]]:
    """What a value is made of, by name."""
    if isinstance(value, batched | unseeded | observed):
        yield "kind", type(value)
        yield from (("option " + name, one) for name, one in _own_attributes(value).items() if name in OPTIONS)
        yield from _parts_of_value(value.function)
    elif isinstance(value, functools.partial):
        yield from _parts_of_value(value.func)
        yield from ((f"argument {place}", one) for place, one in enumerate(value.args))
        yield from ((f"argument {name}", one) for name, one in value.keywords.items())
    elif isinstance(value, MethodType):
        yield from _parts_of_value(value.__func__)
        yield from _parts_of_value(value.__self__)
    elif isinstance(value, FunctionType):
        yield from ((f"{name} of {value.__qualname__}", part) for name, part in _parts_of_function(value))
    elif isinstance(value, type) or not hasattr(value, "__dict__"):
        yield f"{type(value).__qualname__}", value
    else:
        kind = type(value)
        yield f"class {kind.__qualname__}", kind
        with contextlib.suppress(OSError, TypeError):  # of this package too, whose version is the same for weeks
            yield f"source of {kind.__qualname__}", inspect.getsource(kind)
        yield from ((f"attribute {name} of {kind.__qualname__}", one) for name, one in _own_attributes(value).items())


def _parts_of_function(function: FunctionType) -> Iterator[tuple[str, object]]:
    yield "code", function.__code__
    yield "defaults", (function.__defaults__, function.__kwdefaults__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"closure {name}", cell.cell_contents
        except ValueError:  # a name that is not bound yet
            yield f"closure {name}", None
    used = sorted(set(names_used(function.__code__)))
    for name in used:
        if name in function.__globals__:
            one = function.__globals__[name]
            yield f"global {name}", one
            if isinstance(one, ModuleType) and not is_installed(one):
                yield from ((f"{name}.{inner}", getattr(one, inner)) for inner in used if hasattr(one, inner))
    yield from ((f"attribute {name}", one) for name, one in vars(function).items() if name != "__wrapped__")


def _own_attributes(value: object) -> dict[str, object]:
    """The attributes of an object, without those that a cached property has filled in."""
    kind = type(value)
    found = {
        name: getattr(value, name)
        for base in kind.__mro__
        for name in _slot_names(base)
        if name not in ("__dict__", "__weakref__") and hasattr(value, name)
    }
    found |= vars(value) if hasattr(value, "__dict__") else {}
    lazy = {
        name for base in kind.__mro__ for name, one in vars(base).items() if isinstance(one, functools.cached_property)
    }
    return {str(name): one for name, one in found.items() if name not in lazy}


def _slot_names(base: type) -> list[str]:
    """The names of the slots of a class, as they are kept."""
    named = base.__dict__.get("__slots__", ())
    names = [named] if isinstance(named, str) else list(named)
    return [
        f"_{base.__name__.lstrip('_')}{one}" if one.startswith("__") and not one.endswith("__") else one
        for one in names
    ]


@lru_cache(maxsize=256)
def _version_of_module(name: str) -> str:
    """The version of what a module belongs to: its distribution, or this interpreter."""
    top = name.partition(".")[0]
    said = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(said, str):
        return f"{top} {said}"
    try:
        return f"{top} {importlib.metadata.version(top)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{top} with Python {sys.version_info.major}.{sys.version_info.minor}"


class _Hasher:
    """Hashes of values of any kind; what is met again is named by its place, so that circles end."""

    def __init__(self) -> None:
        self._met: dict[int, tuple[object, int]] = {}  # the object is held, so that no other gets its address

    def of(self, value: Any) -> bytes:  # of any type
        """The hash of a value."""
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if value is None or kind in (bool, int, str, bytes, complex):
            return self._joined(name, repr(value))
        if kind is float:
            return self._joined(name, value.hex())
        if kind is tuple:  # equal ones may be one object or two
            return self._joined(name, *map(self.of, value))
        if isinstance(value, CodeType):
            return self._code(value)
        if id(value) in self._met:
            return self._joined("again", str(self._met[id(value)][1]))
        self._met[id(value)] = value, len(self._met)
        return self._of(value, name)

    def _of(self, value: Any, name: str) -> bytes:
        kind = type(value)
        if isinstance(value, enum.Enum):
            return self._joined(name, value.name)
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            return self._joined(name, str(value.dtype), repr(value.shape), np.ascontiguousarray(value).tobytes())
        if kind is list or isinstance(value, np.ndarray):
            return self._joined(name, *map(self.of, value))
        if isinstance(value, set | frozenset):
            return self._joined(name, *sorted(map(self.of, value)))
        if isinstance(value, Mapping) and kind in (dict, MappingProxyType):
            return self._joined(name, *(self.of(one) for pair in value.items() for one in pair))
        if isinstance(value, GENERATORS):
            return self._joined("generator", name)
        if isinstance(value, ModuleType):
            return self._joined(
                "module", value.__name__, _version_of_module(value.__name__) if is_installed(value) else ""
            )
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, BuiltinFunctionType | np.ufunc | GetSetDescriptorType | MemberDescriptorType):
            own = getattr(value, "__self__", None)
            bound = () if own is None or isinstance(own, ModuleType) else (self.of(own),)
            return self._joined(name, str(getattr(value, "__qualname__", value)), *bound)
        if isinstance(value, functools.partial):
            return self._joined(name, *map(self.of, (value.func, value.args, value.keywords)))
        if isinstance(value, MethodType):
            return self._joined(name, self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, property):
            return self._joined(name, *map(self.of, (value.fget, value.fset, value.fdel)))
        if isinstance(value, classmethod | staticmethod):
            return self._joined(name, self.of(value.__func__))
        if isinstance(value, functools.cached_property):
            return self._joined(name, self.of(value.func))
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # such as a function with a cache: what is cached moves
            return self._joined(name, self.of(wrapped))
        return self._object(value, name)

    def _object(self, value: Any, name: str) -> bytes:
        """An object by its class and its attributes; one without any by its data, or by what it says of itself."""
        try:
            return self._joined(name, repr(stored(value)))
        except (NotStored, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, ImportError):
            pass
        parts = [self.of(type(value))]
        attributes = _own_attributes(value)
        for key in sorted(attributes):
            parts += [key.encode(), self.of(attributes[key])]
        if hasattr(value, "__array__"):
            try:
                parts.append(self.of(np.asarray(value)))
            except Exception:  # an array on a device, say
                parts.append(b"")
        elif not attributes and is_installed(sys.modules.get(type(value).__module__)):
            said = repr(value)
            parts.append(b"" if _ADDRESS.search(said) else said.encode())
        elif isinstance(value, dict | list | tuple):  # a class made of one of these
            items: list[object] = list(value.items()) if isinstance(value, dict) else list(value)
            parts += [self.of(one) for one in items]
        return self._joined(name, *parts)

    def _code(self, code: CodeType) -> bytes:
        said = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount)
        more = (code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        return self._joined("code", code.co_code, repr(said), repr(more), *map(self.of, code.co_consts))

    def _function(self, function: FunctionType) -> bytes:
        if is_installed(sys.modules.get(function.__module__)):
            inside: list[object] = [cell.cell_contents for cell in function.__closure__ or () if _cell_contents(cell)]
            said = function.__module__, function.__qualname__, _version_of_module(function.__module__)
            return self._joined("function", *said, *map(self.of, inside))
        return self._joined(
            "function", *(one for name, part in _parts_of_function(function) for one in (name, self.of(part)))
        )

    def _class(self, kind: type) -> bytes:
        said = f"{kind.__module__}.{kind.__qualname__}"
        if is_installed(sys.modules.get(kind.__module__)):
            return self._joined("class", said, _version_of_module(kind.__module__))
        own = {name: one for name, one in vars(kind).items() if name not in _OF_EVERY_CLASS}
        lines = [part for name in sorted(own) for part in (name, self.of(own[name]))]
        return self._joined("class", said, *lines, *map(self.of, kind.__bases__))

    def _joined(self, *parts: str | bytes) -> bytes:
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.digest()


def _cell_contents(cell: Any) -> bool:  # the type of cells has a name in type checkers only
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
