"""Data that stand beside a noisy value when it becomes a plain number: Python may give them out by it, unseen.

    return [raw][: int(noisy > 9)]       a run in which it is not so gives an empty list, and shows no data
    return {True: raw}.get(f"{noisy:.0f}" == "9", 0)

What is done with data through their own operations is seen; what Python does with a list that holds them is not.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import types
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

Holds: TypeAlias = "Callable[[Any], bool]"
_OF_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")


def data_beside(frame: types.FrameType, is_data: Holds, makes_noise: Holds) -> str | None:
    """The name of data that are loaded after the place where a frame is, or that stand in the same statement.

    Args:
        frame: of the code that is followed.
        is_data: whether a value is of the records, or a statistic.
        makes_noise: whether a value is noise, or something that may add it.
    """
    names = {name: value for name, value in frame.f_locals.items() if _holds(value, is_data)}
    if not names:
        return None
    return _loaded_later(frame, names, is_data) or _in_the_statement(frame, names, makes_noise)


def _holds(value: Any, is_data: Holds, depth: int = 6) -> bool:
    """Whether a value is data, or a collection or a function that has some in it."""
    if is_data(value):
        return True
    if depth == 0:
        return False
    kind, inner = type(value), []
    if kind in (list, tuple, set, frozenset):
        inner = list(value)
    elif kind is dict:
        inner = list(value.values())
    elif kind is types.FunctionType:
        inner = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
    return any(_holds(one, is_data, depth - 1) for one in inner)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _loaded_later(frame: types.FrameType, names: dict[str, Any], is_data: Holds) -> str | None:
    """The first of some names that is loaded later, but for an attribute of data, which look at their use."""
    steps = [one for one in dis.get_instructions(frame.f_code) if one.opname not in ("CACHE", "PUSH_NULL")]
    for i, step in enumerate(steps):
        if step.offset <= frame.f_lasti or not step.opname.startswith("LOAD_"):
            continue
        named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        after = steps[i + 1].opname if i + 1 < len(steps) else ""
        if step.opname in (*_OF_ATTRIBUTES, "LOAD_GLOBAL"):
            continue
        found = next((name for name in named if isinstance(name, str) and name in names
                      and not (after in _OF_ATTRIBUTES and is_data(names[name]))), None)  # fmt: skip
        if found is not None:
            return found
    return None


def _in_the_statement(frame: types.FrameType, names: dict[str, Any], makes_noise: Holds) -> str | None:
    """One of some names that stands beside the place in its statement, in a part that adds no noise."""
    places = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, end_line, column, end_column = places
    if line is None or end_line is None or column is None or end_column is None:
        return None
    start, end = (line, column), (end_line, end_column)
    known = {**frame.f_globals, **frame.f_locals}
    for node in _statements(frame.f_code.co_filename):
        if not _covers(node, start, end):
            continue
        for part in _beside(node, start, end):
            inside = [one.id for one in ast.walk(part) if isinstance(one, ast.Name)]
            found = next((name for name in inside if name in names), None)
            if found is None or any(isinstance(one, ast.Attribute) and one.attr == "random" for one in ast.walk(part)):
                continue
            if not any(makes_noise(known[name]) for name in inside if name in known and name not in names):
                return found
    return None


def _beside(node: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> Iterator[ast.AST]:
    """The parts of a statement that stand beside a place in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.keyword | ast.Starred | ast.comprehension):
            if hasattr(child, "lineno") and _covers(child, start, end):
                yield from _beside(child, start, end)
            else:
                yield child


def _covers(node: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> bool:
    place: Any = node
    return (place.lineno, place.col_offset) <= start and end <= (place.end_lineno, place.end_col_offset)


@functools.lru_cache(maxsize=64)
def _statements(file: str) -> tuple[ast.stmt, ...]:
    """The statements of a file that hold no others."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    simple = (ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete)
    return tuple(node for node in ast.walk(tree) if isinstance(node, simple))
