"""The numbers and texts that the code of a function names: where it may change its mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, Final

from dpverdict.audit.trials.run import unmarked

MOST_FUNCTIONS: Final = 40
MOST_CONSTANTS: Final = 60
LONGEST_TEXT: Final = 40


def constants_of(mechanism: object) -> list[int | float | str]:
    """The constants of a function, of the functions of its module that it calls, and of plain globals that it reads.

    The names of integer types that it uses are among them.

    Docstrings and names of columns are among the texts: what is no use as an entry does no harm as one.
    """
    found: dict[str, int | float | str] = {}
    waiting: list[Any] = [unmarked(mechanism)]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_FUNCTIONS:
        function = waiting.pop(0)
        if not isinstance(function, FunctionType):
            function = getattr(function, "func", None) or vars(type(function)).get("__call__")
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        kinds = [name for name in _names(function.__code__) if re.fullmatch(r"u?int(8|16|32|64)", name)]
        for value in [*kinds, *_constants(function.__code__)]:
            found.setdefault(repr(value), value)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        for held in [*(function.__globals__.get(name) for name in _names(function.__code__)), *cells]:
            if isinstance(held, FunctionType) and held.__module__ == function.__module__:
                waiting.append(held)
            else:
                for one in _leaves(held):
                    found.setdefault(repr(one), one)
    return list(found.values())[:MOST_CONSTANTS]


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _names(value)


def _constants(code: CodeType) -> Iterator[int | float | str]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _constants(value)
        else:
            yield from _leaves(value)


def _leaves(value: object) -> Iterator[int | float | str]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        for one in list(value)[:MOST_CONSTANTS]:
            yield from _leaves(one)
    elif (isinstance(value, str) and len(value) <= LONGEST_TEXT) or (
        isinstance(value, int | float) and not isinstance(value, bool)
    ):
        yield value
