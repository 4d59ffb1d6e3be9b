"""The code that a result rests on: what functions, classes and objects reach by name, for a hash of its source."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Collection, Iterator
from dataclasses import is_dataclass
from fractions import Fraction
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_OWN = "dpverdict"
_VALUES = (int, str, float, Fraction)


def reached(*roots: object, but_not_through: Collection[object] = (), data: bool = False) -> list[object]:
    """The functions, classes, and plain values that ``roots`` reach by name, themselves among them.

    Followed are the functions, classes and modules that a function's code mentions, the variables it closes over, what
    a class inherits and defines, and what objects, tuples and mappings hold, within this package and that of the roots;
    libraries are not followed, and ``but_not_through`` names what is reached but not followed further. A root that is
    an object makes the package of its class one to follow; what a container holds does not. The plain values are those
    that code, containers and data classes hold: what other objects hold may be what they remember of a call, and what
    a cached property remembers is not followed at all, so that what ran before changes nothing.

    With ``data`` the constants of modules that code mentions are followed as well, and containers are among what is
    given: numbers, texts, tuples, what libraries made, and the lists and mappings whose names are in capitals, since
    others are what a module remembers.
    """
    own = {_OWN, *(_package_of(root) for root in roots)}
    found: list[object] = []
    pending = [(root, True) for root in roots]
    kept = dict[int, tuple[object, bool]]()  # the objects with their identities, so that none is used again
    while pending:
        item, told = pending.pop()
        _, was_told = kept.get(id(item), (None, None))
        if was_told or was_told is told:
            continue  # else a number that an object remembers would hide the same number where code holds it
        kept[id(item)] = item, told
        if isinstance(item, FunctionType | type):
            if not _is_in_packages(item, own):
                continue  # of a library, also the methods that classes here have from it: they differ between Pythons
            if was_told is None:
                found.append(item)
        elif told and (isinstance(item, _VALUES) or (data and _is_data(item))):
            found.append(item)
        told = told and (not _is_in_packages(item, own) or isinstance(item, FunctionType | type) or is_dataclass(item))
        if not any(item is one for one in but_not_through):
            pending.extend((one, told) for one in _mentioned_objects(item, own, data))
    return found


def modules_sha256(*roots: object, but_not_through: Collection[object] = ()) -> str:
    """SHA-256 of the source text of every module in which something is defined that the roots reach.

    Whole modules, so that their constants count. Of one that has no source, a notebook or a prompt, the compiled code
    of what is reached in it.
    """
    defined: dict[str, list[FunctionType]] = {}
    for item in reached(*roots, but_not_through=but_not_through):
        if isinstance(item, FunctionType | type):
            functions = defined.setdefault(item.__module__, [])
            if isinstance(item, FunctionType):
                functions.append(item)
    digest = hashlib.sha256()
    for name in sorted(defined):
        digest.update(name.encode() + b"\0" + _text(name, defined[name]).encode() + b"\0")
    return digest.hexdigest()


def _text(name: str, functions: list[FunctionType]) -> str:
    module = sys.modules.get(name)
    try:
        return inspect.getsource(module) if module is not None else ""
    except (OSError, TypeError):
        return "\n".join(sorted({f"{one.__qualname__} {_compiled_text(one.__code__)}" for one in functions}))


def _compiled_text(code: CodeType) -> str:
    constants = (_compiled_text(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts)
    return f"{code.co_code.hex()} {code.co_names} {' '.join(constants)}"


def _package_of(root: object) -> str:
    """The package of a root, whose own code is followed as well."""
    kind = root if isinstance(root, FunctionType | type) else type(root)
    return str(kind.__module__).partition(".")[0] if kind.__module__ != "builtins" else _OWN


def _is_data(item: object) -> bool:
    return isinstance(item, tuple | list | dict | frozenset | set) or type(item).__module__.startswith("sympy.")


def _is_constant(name: str, found: object) -> bool:
    """Whether a name of a module stands for data that is no memory of what ran."""
    if name.startswith("__"):  # ``__file__`` says where this is installed
        return False
    kept = isinstance(found, (*_VALUES, functools.partial)) or _is_data(found)
    return kept and (name.isupper() or not isinstance(found, list | dict | set))


def _mentioned_objects(
    item: Any, own: set[str], data: bool
) -> Iterator[object]:  # Any: whatever a name of the code stands for
    if isinstance(item, FunctionType):
        yield from _mentioned_names(item, own, data)
        yield from (cell.cell_contents for cell in item.__closure__ or ())
        yield from item.__defaults__ or ()
        yield from (item.__kwdefaults__ or {}).values()
    elif isinstance(item, MethodType):
        yield from (item.__func__, item.__self__)
    elif isinstance(item, functools.partial):
        yield from (item.func, item.args, item.keywords)
    elif isinstance(item, functools.cached_property):
        yield item.func
    elif isinstance(item, property):
        yield item.fget
    elif isinstance(item, staticmethod | classmethod):
        yield item.__func__
    elif isinstance(item, type):
        yield from item.__bases__
        yield from (value for value in vars(item).values() if callable(value) or hasattr(value, "__get__"))
    elif isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, tuple | list | frozenset | set):
        yield from item
        if data and _is_in_packages(item, own):  # a tuple with names, whose methods code may call
            yield type(item)
    elif _is_in_packages(item, own):
        yield type(item)
        yield from (value for name, value in getattr(item, "__dict__", {}).items() if not _is_remembered(item, name))
        slots = (name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ()))
        yield from (getattr(item, name, None) for name in slots if not name.startswith("__"))
    elif hasattr(item, "__wrapped__"):  # a cache, or another decorator of the standard library
        yield item.__wrapped__


def _is_remembered(item: object, name: str) -> bool:
    return isinstance(getattr(type(item), name, None), functools.cached_property)


def _mentioned_names(function: FunctionType, own: set[str], data: bool) -> Iterator[object]:
    names = set(_names(function.__code__))
    for name in sorted(names):
        found = function.__globals__.get(name)
        if isinstance(found, ModuleType):
            if found.__name__.partition(".")[0] in own:
                yield from (getattr(found, attribute, None) for attribute in sorted(names))
        elif found is not None and (
            _is_in_packages(found, own) or hasattr(found, "__wrapped__") or (data and _is_constant(name, found))
        ):
            yield found


def _is_in_packages(found: object, own: set[str]) -> bool:
    kind = found if isinstance(found, FunctionType | type) else type(found)
    return str(kind.__module__).partition(".")[0] in own


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
