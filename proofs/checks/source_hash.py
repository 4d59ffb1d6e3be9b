"""The hash of the source that an outcome rests on: a check, its claims, and all code of the project that they reach."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import linecache
from types import FunctionType

from dpverdict.numerics.sources import reached


def source_sha256(*roots: object) -> str:
    """SHA-256 of the sources of the functions and classes that ``roots`` reach by name, and of the values they hold."""
    sources: set[tuple[str, str]] = set()
    for item in reached(*roots):
        if isinstance(item, FunctionType | type):
            with contextlib.suppress(OSError, TypeError):  # made at run time, as a data class's own methods are
                sources.add((f"{item.__module__}.{item.__qualname__}", _source(item)))
        else:
            sources.add(("value", repr(item)))
    digest = hashlib.sha256()
    for name, source in sorted(sources):
        digest.update(name.encode() + b"\0" + source.encode() + b"\0")
    return digest.hexdigest()


@functools.cache  # many statements reach the same code, and to cut it out of its file takes milliseconds
def _source(item: FunctionType | type) -> str:
    """The source; of a lambda, the lines it stands on, which `inspect` cuts differently from version to version."""
    if not isinstance(item, FunctionType) or item.__name__ != "<lambda>":
        return inspect.getsource(item)
    code = item.__code__
    last = max((end for _, end, _, _ in code.co_positions() if end is not None), default=code.co_firstlineno)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : last]
    return "".join(lines)
