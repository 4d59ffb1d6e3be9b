"""Expressions without variables, in balls: numbers, + - * / **, sqrt, exp, log, erfc."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Final

from flint import arb

from dpverdict.errors import DpverdictError

MOST_CHARACTERS: Final = 20_000
"""Of an expression or a number: twenty times the longest that is written."""
DEEPEST: Final = 100
"""Brackets within brackets, or operations within operations, three times as many as are written."""
LARGEST_EXPONENT: Final = 1 << 21
"""Of two, in an end of a ball that is written out."""


class NotAnExpression(DpverdictError):
    """A text that is none, or is too long or too deep for one."""


def expression_of(text: str) -> ast.expr:
    """The tree of a text that is neither too long nor too deep.

    Raises:
        NotAnExpression: it is.
        SyntaxError: it is no expression of Python.
    """
    if len(text) > MOST_CHARACTERS:
        raise NotAnExpression(f"an expression of {len(text)} characters")
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise NotAnExpression(f"an expression with {deepest} brackets within each other")
    tree = ast.parse(text, mode="eval").body
    frontier: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        frontier = [inner for node in frontier for inner in ast.iter_child_nodes(node)]
        if not frontier:
            return tree
    raise NotAnExpression(f"an expression of more than {DEEPEST} operations within each other")


def enclosed_text(text: str) -> arb:
    """The ball of an expression at the current precision.

    Raises:
        NotAnExpression: the text is none.
    """
    return _enclosed(expression_of(text))


def _enclosed(node: ast.expr) -> arb:
    match node:
        case ast.Constant(value=int(whole)):
            return arb(whole)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_enclosed(inner)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _enclosed(left) + _enclosed(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _enclosed(left) - _enclosed(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _enclosed(left) * _enclosed(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _enclosed(left) / _enclosed(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _enclosed(left) ** power
        case ast.BinOp(
            left=left, op=ast.Pow(), right=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(power)))
        ):
            return arb(1) / _enclosed(left) ** power
        case ast.Call(func=ast.Name(id="sqrt" | "exp" | "log" | "erfc" as name), args=[inner], keywords=[]):
            found: arb = getattr(_enclosed(inner), name)()
            return found
        case _:
            raise NotAnExpression(f"{ast.unparse(node)} is none of numbers, + - * / **, sqrt, exp, log and erfc")


def exact_ends(value: arb) -> tuple[Fraction, Fraction]:
    """The ends of a ball, exactly."""
    ends = []
    for end in (value.lower(), value.upper()):
        mantissa, exponent = map(int, end.man_exp())
        if abs(exponent) > LARGEST_EXPONENT:
            raise NotAnExpression(f"a number with 2^{exponent} in it")
        ends.append(Fraction(mantissa) * Fraction(2) ** exponent)
    return ends[0], ends[1]
