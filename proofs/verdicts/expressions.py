"""Expressions without variables, in balls: numbers, + - * / **, sqrt, exp, log, erfc."""

from __future__ import annotations

import ast
from fractions import Fraction

from flint import arb

from dpverdict.errors import DpverdictError


class NotAnExpression(DpverdictError):
    """A text that is none."""


def enclosed_text(text: str) -> arb:
    """The ball of an expression at the current precision.

    Raises:
        NotAnExpression: the text is none.
    """
    return _enclosed(ast.parse(text, mode="eval").body)


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
        ends.append(Fraction(mantissa) * Fraction(2) ** exponent)
    return ends[0], ends[1]
