"""The hash of the source that an outcome rests on: a check, its claims, and all code of the project that they reach."""

from __future__ import annotations

import hashlib
import inspect
import linecache
from collections.abc import Iterator
from fractions import Fraction
from types import CodeType, FunctionType, ModuleType
from typing import Any

_OWN = "dpverdict"


def source_sha256(*roots: object) -> str:
    """SHA-256 of the sources of the functions and classes reachable from ``roots`` by name.

    Followed are the functions, classes and modules that a function's code mentions, the variables it closes over, and
    what data classes, tuples and mappings hold, within this package and that of the roots; libraries are not followed.
    """
    sources: set[tuple[str, str]] = set()
    own = {_OWN, *(root.__module__.partition(".")[0] for root in roots if isinstance(root, FunctionType))}
    pending = list(roots)
    seen: set[int] = set()
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, FunctionType | type) and not _within(item, own):
            continue  # of a library, also the methods that classes here have from it: they differ between Pythons
        if isinstance(item, FunctionType | type):
            try:
                sources.add((f"{item.__module__}.{item.__qualname__}", _source(item)))
            except (OSError, TypeError):  # made at run time, as a data class's own methods are
                continue
        elif isinstance(item, int | str | float | Fraction):
            sources.add(("value", repr(item)))
        pending.extend(_reached(item, own))
    digest = hashlib.sha256()
    for name, source in sorted(sources):
        digest.update(name.encode() + b"\0" + source.encode() + b"\0")
    return digest.hexdigest()


def _source(item: FunctionType | type) -> str:
    """The source; of a lambda, the lines it stands on, which `inspect` cuts differently from version to version."""
    if not isinstance(item, FunctionType) or item.__name__ != "<lambda>":
        return inspect.getsource(item)
    code = item.__code__
    last = max((end for _, end, _, _ in code.co_positions() if end is not None), default=code.co_firstlineno)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : last]
    return "".join(lines)


def _reached(item: Any, own: set[str]) -> Iterator[object]:  # Any: whatever a name of the code stands for
    if isinstance(item, FunctionType):
        names = set(_names(item.__code__))
        for name in sorted(names):
            found = item.__globals__.get(name)
            if isinstance(found, ModuleType):
                if found.__name__.partition(".")[0] in own:
                    yield from (getattr(found, attribute, None) for attribute in sorted(names))
            elif _within(found, own):
                yield found
        yield from (cell.cell_contents for cell in item.__closure__ or ())
        yield from item.__defaults__ or ()
    elif isinstance(item, type):
        for value in vars(item).values():
            function = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(function, FunctionType):
                yield function
    elif isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, tuple | list):
        yield from item
    elif hasattr(item, "__dataclass_fields__"):
        yield type(item)
        yield from (getattr(item, field) for field in item.__dataclass_fields__)


def _within(found: object, own: set[str]) -> bool:
    kind = found if isinstance(found, FunctionType | type) else type(found)
    if kind is not found and not hasattr(found, "__dataclass_fields__"):
        return False
    return kind.__module__.partition(".")[0] in own


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
