"""The numbers that the checks of a paper compare, kept as evidence while a certificate is made.

A check by enumeration says whether something is true of every case, and not which numbers it compared. So its functions
run from code in which every comparison is a call that keeps both sides, as test runners rewrite assertions; the source
is the same, nothing but what is kept changes, and the functions have their own code back afterwards.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

from dpverdict.balls import Real, compare
from dpverdict.proofs.checks.evidence import SIGNS, Evidence, note, real_ends, written

_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {  # Any: whatever a check compares
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED = "_dpverdict_ordered"
_COMPARED = "_dpverdict_compared"


@contextmanager
def kept_comparisons(functions: Iterable[FunctionType]) -> Generator[None]:
    """Run ``functions`` from code that keeps what they compare, inside the block."""
    former: list[tuple[FunctionType, CodeType]] = []
    try:
        for function in functions:
            made = _rewritten(function.__code__.co_filename).get(_key(function.__code__))
            if made is not None and made.co_freevars == function.__code__.co_freevars:
                former.append((function, function.__code__))
                function.__code__ = made
                function.__globals__.update({_ORDERED: _ordered, _COMPARED: _compared})
        yield
    finally:
        for function, code in former:
            function.__code__ = code
        for function, _ in former:
            for name in (_ORDERED, _COMPARED):
                function.__globals__.pop(name, None)


def _compared(signs: tuple[str, ...], *sides: Callable[[], Any]) -> Any:
    """``a < b <= c``, evaluated as Python does; what is compared is kept."""
    left, result = sides[0](), None
    for sign, make in zip(signs, sides[1:], strict=True):
        right = make()
        result = _OPERATORS[sign](left, right)
        if isinstance(result, bool):
            note(_compared_sides, left, sign, right, holds=result)
        if len(signs) > 1 and not result:
            return result
        left = right
    return result


def _ordered(function: Callable[..., Any], *sides: Any) -> Any:
    """What is called `compare`; if it is ours, both numbers are kept, so narrow that their order shows."""
    sign = function(*sides)
    if function is compare and sign is not None:
        note(_ordered_sides, *sides, "=><"[sign])
    return sign


def _compared_sides(left: object, sign: str, right: object, *, holds: bool) -> Evidence:
    return {"kind": "compared", "of": [written(left), sign, written(right), holds]}


def _ordered_sides(left: Real, right: Real, sign: str) -> Evidence:
    a, b = real_ends(left, right)
    return {"kind": "compared", "of": [a, sign, b, True]}


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


@cache
def _rewritten(file: str) -> dict[tuple[str, int], CodeType]:
    """The code of every function of a file, with its comparisons as calls; none where there is no source."""
    try:
        with open(file, encoding="utf-8") as source:
            tree = ast.parse(source.read(), file)
    except (OSError, SyntaxError, ValueError):
        return {}
    flags = sys.modules["__future__"].annotations.compiler_flag if _postponed(tree) else 0
    whole = compile(ast.fix_missing_locations(_Rewriter().visit(tree)), file, "exec", flags, dont_inherit=True)
    found: dict[tuple[str, int], CodeType] = {}
    twice: set[tuple[str, int]] = set()  # several functions without a name on one line: left as they are
    pending = [whole]
    while pending:
        code = pending.pop()
        if _key(code) in found:
            twice.add(_key(code))
        found[_key(code)] = code
        pending += [one for one in code.co_consts if isinstance(one, CodeType)]
    return {key: code for key, code in found.items() if key not in twice}


def _postponed(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.names[0].name == "annotations"
        for node in tree.body
    )


class _Rewriter(ast.NodeTransformer):
    """Comparisons and calls of `compare` as calls that keep both sides; what only steers a loop stays as it is."""

    def visit_While(self, node: ast.While) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.visit(node.iter)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "compare" and len(node.args) == 2 and not node.keywords:
            node.args = [node.func, *node.args]
            node.func = ast.copy_location(ast.Name(_ORDERED, ast.Load()), node.func)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        of_signs = isinstance(node.left, ast.Call) and getattr(node.left.func, "id", "") == "compare"
        self.generic_visit(node)
        names = [SIGNS.get(type(sign)) for sign in node.ops]
        sides = [node.left, *node.comparators]
        moved = any(isinstance(part, ast.NamedExpr | ast.Yield) for side in sides for part in ast.walk(side))
        if of_signs or None in names or moved:
            return node
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        thunks: list[ast.expr] = [ast.Lambda(args=empty, body=side) for side in sides]
        signs = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
        return ast.copy_location(
            ast.Call(func=ast.Name(_COMPARED, ast.Load()), args=[signs, *thunks], keywords=[]), node
        )
