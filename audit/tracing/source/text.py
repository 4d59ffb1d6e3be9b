"""The text of the files of a function, as a tree."""

from __future__ import annotations

import ast
import functools
import linecache


def tree_of(filename: str) -> ast.Module:
    """The tree of a file; an empty one where it cannot be read."""
    return _parsed("".join(linecache.getlines(filename)))


@functools.lru_cache(maxsize=32)
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])
