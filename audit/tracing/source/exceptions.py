"""Exceptions that code catches: whether one is raised may depend on a noisy value, and a run shows one path only.

    try:
        return math.log(noisy)          it raises where the noisy value is negative,
    except ValueError:
        return x.sum()                  and then data are released: no run with another noise shows it

So a handler is followed only where it raises again, and a ``with`` block only where its context manager is known to
let exceptions pass.
"""

from __future__ import annotations

import ast
import contextlib
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Blocks: TypeAlias = "Sequence[ast.Try | ast.TryStar | ast.With]"
_REMEDY: Final = "ask before, by np.where or an if on noisy values"


def caught(code: types.CodeType, names: Mapping[str, Any], among: Blocks | None) -> str | None:
    """Where a code object catches exceptions, so that what it does next is not seen; None where it does not.

    Args:
        code: of a function, without those within it.
        names: what its names stand for.
        among: the `blocks` of its file.
    """
    if among is None:
        return "code that may catch an exception, and of which no text is at hand" if code.co_exceptiontable else None
    lines = {line for _, _, line in code.co_lines() if line is not None}
    for node in among:
        if node.body[0].lineno not in lines:
            continue
        if isinstance(node, ast.With):
            unknown = next((item for item in node.items if not _lets_pass(item.context_expr, names)), None)
            if unknown is not None:
                what = ast.unparse(unknown.context_expr)
                return f"line {node.lineno}: with {what}, which may catch an exception: {_REMEDY}"
        elif any(_leaves(handler.body) for handler in node.handlers) or _jumps(node.finalbody):
            return f"line {node.lineno}: an exception that is caught, so that a noisy value may decide: {_REMEDY}"
    return None


def blocks(tree: ast.Module) -> Blocks | None:
    """The statements of a file that may catch an exception; None where there is no text."""
    if not tree.body:
        return None
    return [node for node in ast.walk(tree) if isinstance(node, ast.Try | ast.TryStar | ast.With)]


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a handler may end otherwise than by raising."""
    return not isinstance(body[-1], ast.Raise) or _jumps(body)


def _jumps(body: list[ast.stmt]) -> bool:
    """Whether statements may leave a block, which drops the exception that is under way."""
    return any(isinstance(node, ast.Return | ast.Break | ast.Continue) for one in body for node in ast.walk(one))


def _lets_pass(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a context manager is one of those that catch nothing."""
    if not isinstance(node, ast.Call):
        return False
    parts: list[str] = []
    function = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    found = names.get(function.id) if isinstance(function, ast.Name) else None
    for part in reversed(parts):
        found = getattr(found, part, None)
    kinds: list[Any] = [np.errstate, warnings.catch_warnings, contextlib.nullcontext]
    if isinstance(found, type):
        known = any(found is kind for kind in kinds)
        return known and not (found is warnings.catch_warnings and (node.args or node.keywords))  # it may record them
    return str(getattr(found, "__module__", "")).partition(".")[0] == "pandas" and parts[:1] == ["option_context"]
