"""The hash of the source that an outcome rests on: a check, its claims, and all code of the project that they reach."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import linecache
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import FunctionType
from typing import Any

import sympy

from dpverdict.numerics.sources import reached


def source_sha256(check: object, *claims: object) -> str:
    """SHA-256 of the sources of the functions and classes that a check and its claims reach by name, and of the values
    they hold, the constants of their modules among them. A claim that is a number of a library does not make that
    library one to follow: it would hash what the library has computed so far. Names in capitals are constants, lists
    and mappings included: what a module remembers or registers goes under small letters, or into functools.cache, so
    that the hash does not depend on what ran before.
    """
    sources: set[tuple[str, str]] = set()
    for item in reached(check, claims, data=True):
        if isinstance(item, FunctionType | type):
            with contextlib.suppress(OSError, TypeError):  # made at run time, as a data class's own methods are
                sources.add((f"{item.__module__}.{item.__qualname__}", _source(item)))
        else:
            sources.add(("value", _shape(item)))
    digest = hashlib.sha256()
    for name, source in sorted(sources):
        digest.update(name.encode() + b"\0" + source.encode() + b"\0")
    return digest.hexdigest()


def _shape(item: Any) -> str:  # Any: whatever code holds; SymPy ships no types
    """A value with what it holds, in order, the same in every process."""
    if isinstance(item, sympy.Basic | sympy.MatrixBase):
        return "" if item.has(sympy.Dummy) else str(sympy.srepr(item))
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_shape(key)}: {_shape(value)}" for key, value in item.items()) + "}"
    if isinstance(item, tuple | list):
        return f"{type(item).__name__}({', '.join(map(_shape, item))})"
    if isinstance(item, frozenset | set):
        return f"{{{', '.join(sorted(map(_shape, item)))}}}"
    if isinstance(item, FunctionType | type):
        return f"{item.__module__}.{item.__qualname__}"
    if isinstance(item, int | str | float | Fraction | None):
        return repr(item)
    if is_dataclass(item):
        return f"{type(item).__name__}({', '.join(_shape(getattr(item, field.name)) for field in fields(item))})"
    return type(item).__qualname__


def _source(item: FunctionType | type) -> str:
    """The source, decorators included; of a lambda, the lines it stands on.

    Raises:
        OSError: there is none.
    """
    if isinstance(item, type):
        lines, classes, _ = _parsed(inspect.getsourcefile(item) or "")
        first, last = classes.get(item.__qualname__, (0, 0))
    else:
        first = item.__code__.co_firstlineno
        lines, _, functions = _parsed(item.__code__.co_filename)
        ends = (end for _, end, _, _ in item.__code__.co_positions() if end is not None)
        last = functions.get(first) or max(ends, default=first)
    if not 0 < first <= last <= len(lines):
        raise OSError(f"no source of {item.__qualname__}")
    return "".join(lines[first - 1 : last])


@functools.cache
def _parsed(file: str) -> tuple[list[str], dict[str, tuple[int, int]], dict[int, int]]:
    """The lines of a file, the first and the last line of each class by name, and the last of each function by its
    first, decorators included: `inspect` reads the whole file anew for every one of them.
    """
    lines = linecache.getlines(file)
    classes: dict[str, tuple[int, int]] = {}
    functions: dict[int, int] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = prefix
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                first = min((one.lineno for one in child.decorator_list), default=child.lineno)
                last = child.end_lineno or child.lineno
                if isinstance(child, ast.ClassDef):
                    classes[prefix + child.name] = first, last
                    inside = f"{prefix}{child.name}."
                else:
                    functions[first] = last
                    inside = f"{prefix}{child.name}.<locals>."
            walk(child, inside)

    walk(ast.parse("".join(lines)), "")
    return lines, classes, functions
