"""What a mechanism is made of, as hashes: its code and every value that its code can see, so that a change shows.

A function is its byte code with the values it closes over, its defaults, and the globals that it names; an object is
its class with its attributes; a partial application is its function with its arguments. What they refer to is followed
in turn. Of an installed library the version stands for the code; of a generator of random numbers its kind alone,
because its state moves with every call. What cannot be looked into (a file that is read, the memory of a compiled
object) is not seen here: see `dpverdict.audit.distinguishing.kept_state.Probe`.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import importlib.metadata
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
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
from typing import Any, Final

import numpy as np

from dpverdict.audit.trials.engines import GENERATORS, is_installed, names_used
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.outcomes.stored import NotStored, stored
from dpverdict.audit.trials.run import AnyMechanism, batched, unseeded

OPTIONS: Final = ("timeout", "warnings", "bits")
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


def fingerprint(mechanism: AnyMechanism) -> dict[str, str]:
    """The parts of a mechanism by name, such as "closure scale of noisy", each with its hash.

    >>> def noisy(scale):
    ...     return lambda data, rng: data.sum() + rng.normal(scale=scale)
    >>> one, other = fingerprint(noisy(1.0)), fingerprint(noisy(2.0))
    >>> [name for name in one if one[name] != other[name]]
    ['closure scale of noisy.<locals>.<lambda>']
    """
    return {name: _Hashes().of(part).hex()[:_LONGEST] for name, part in _parts(mechanism)}


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """What a value is made of, by name."""
    if isinstance(value, batched | unseeded | observed):
        yield "kind", type(value)
        yield from (("option " + name, one) for name, one in _attributes(value).items() if name in OPTIONS)
        yield from _parts(value.function)
    elif isinstance(value, functools.partial):
        yield from _parts(value.func)
        yield from ((f"argument {place}", one) for place, one in enumerate(value.args))
        yield from ((f"argument {name}", one) for name, one in value.keywords.items())
    elif isinstance(value, MethodType):
        yield from _parts(value.__func__)
        yield from _parts(value.__self__)
    elif isinstance(value, FunctionType):
        yield from ((f"{name} of {value.__qualname__}", part) for name, part in _parts_of_function(value))
    elif isinstance(value, type) or not hasattr(value, "__dict__"):
        yield f"{type(value).__qualname__}", value
    else:
        kind = type(value)
        yield f"class {kind.__qualname__}", kind
        with contextlib.suppress(OSError, TypeError):  # of this package too, whose version is the same for weeks
            yield f"source of {kind.__qualname__}", inspect.getsource(kind)
        yield from ((f"attribute {name} of {kind.__qualname__}", one) for name, one in _attributes(value).items())


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


def _attributes(value: object) -> dict[str, object]:
    """The attributes of an object, without those that a cached property has filled in."""
    kind = type(value)
    found = {
        name: getattr(value, name)
        for base in kind.__mro__
        for name in _slots(base)
        if name not in ("__dict__", "__weakref__") and hasattr(value, name)
    }
    found |= vars(value) if hasattr(value, "__dict__") else {}
    lazy = {
        name for base in kind.__mro__ for name, one in vars(base).items() if isinstance(one, functools.cached_property)
    }
    return {str(name): one for name, one in found.items() if name not in lazy}


def _slots(base: type) -> list[str]:
    """The names of the slots of a class, as they are kept."""
    named = base.__dict__.get("__slots__", ())
    names = [named] if isinstance(named, str) else list(named)
    return [
        f"_{base.__name__.lstrip('_')}{one}" if one.startswith("__") and not one.endswith("__") else one
        for one in names
    ]


@lru_cache(maxsize=256)
def _version(name: str) -> str:
    """The version of what a module belongs to: its distribution, or this interpreter."""
    top = name.partition(".")[0]
    said = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(said, str):
        return f"{top} {said}"
    try:
        return f"{top} {importlib.metadata.version(top)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{top} with Python {sys.version_info.major}.{sys.version_info.minor}"


class _Hashes:
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
            return self._joined("module", value.__name__, _version(value.__name__) if is_installed(value) else "")
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
        attributes = _attributes(value)
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
            inside: list[object] = [cell.cell_contents for cell in function.__closure__ or () if _bound(cell)]
            said = function.__module__, function.__qualname__, _version(function.__module__)
            return self._joined("function", *said, *map(self.of, inside))
        return self._joined(
            "function", *(one for name, part in _parts_of_function(function) for one in (name, self.of(part)))
        )

    def _class(self, kind: type) -> bytes:
        said = f"{kind.__module__}.{kind.__qualname__}"
        if is_installed(sys.modules.get(kind.__module__)):
            return self._joined("class", said, _version(kind.__module__))
        own = {name: one for name, one in vars(kind).items() if name not in _OF_EVERY_CLASS}
        lines = [part for name in sorted(own) for part in (name, self.of(own[name]))]
        return self._joined("class", said, *lines, *map(self.of, kind.__bases__))

    def _joined(self, *parts: str | bytes) -> bytes:
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.digest()


def _bound(cell: Any) -> bool:  # the type of cells has a name in type checkers only
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
