"""The expressions of a certificate as terms over the real numbers of Rocq.

Division by 0, the root of a negative number and its logarithm are numbers in Rocq, and none in an expression. So what
an expression needs in order to be defined is collected beside its term, and stands in the lemma as a hypothesis, unless
the signs of the variables show it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Final

from dpverdict.proofs.ledger.smt import rational
from dpverdict.proofs.verdicts.expressions import expression_of

LARGEST_POWER: Final = 200
"""Of a written power: it is multiplied out."""

_RESERVED: Final = frozenset(
    [
        "as",
        "at",
        "by",
        "else",
        "end",
        "exists",
        "fix",
        "for",
        "forall",
        "fun",
        "if",
        "in",
        "let",
        "match",
        "return",
        "then",
        "using",
        "where",
        "with",
        "Set",
        "Prop",
        "Type",
        "R",
        "Q",
        "Z",
        "IZR",
        "PI",
        "sqrt",
        "exp",
        "ln",
        "sin",
        "cos",
        "Rabs",
        "Rmax",
        "Rmin",
        "Rpower",
        "pow",
        "cofix",
        "SProp",
        "struct",
        "True",
        "False",
        "not",
        "eq",
    ]
)
_FUNCTIONS: Final = {"sqrt": "sqrt", "exp": "exp", "log": "ln", "sin": "sin", "cos": "cos", "Abs": "Rabs"}
_OPERATORS: Final[Mapping[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

POSITIVE, NONNEGATIVE, UNKNOWN = 2, 1, 0


class NotTranslated(Exception):
    """What the translation does not have; the message says it."""


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """A name that Rocq takes for each variable, as like it as can be; it never ends in a digit and an underscore."""
    made: dict[str, str] = {}
    for name in names:
        word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        if not re.match(r"[A-Za-z]", word) or word in _RESERVED:
            word = f"v_{word}"
        while word in made.values():
            word += "x"
        made[name] = word
    return made


class Terms:
    """Expressions over variables of given kinds, read into terms, with what they need in order to be defined.

    Attributes:
        names: the identifier of each variable.
        needed: formulas that make everything that was read defined, in the order of reading, without those that the
            signs of the variables show.
        roots: what a root is taken of, inner ones first, and whether its signs show that it is positive.
        functions: the names of the functions that were met.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._kinds = {name: set(kind.split()) for name, kind in variables.items()}
        self.names: dict[str, str] = identifiers(variables)
        self.needed: list[str] = []
        self.roots: dict[str, bool] = {}
        self.functions: set[str] = set()
        self.balls: list[tuple[str, str, str]] = []

    def read(self, text: str) -> str:
        """The term of a text.

        Raises:
            NotTranslated: it holds what has no term here.
        """
        return self._term(expression_of(text))

    def hypotheses(self, names: Iterable[str]) -> list[str]:
        """What the kinds of variables say of them; of an integer that it is at least 1, or 0."""
        made = []
        for name in names:
            kind = self._kinds[name]
            if "positive" in kind:
                made.append(f"1 <= {self.names[name]}" if "integer" in kind else f"0 < {self.names[name]}")
            elif "nonnegative" in kind:
                made.append(f"0 <= {self.names[name]}")
        return made

    def _term(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int(whole)) if not isinstance(whole, bool):
                return str(whole)
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id="pi"):
                return "PI"
            case ast.Name(id="E"):
                return "exp 1"
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return f"(- {self._term(inner)})"
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(left, right)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
                made = f"({self._term(left)} {_OPERATORS[type(sign)]} {self._term(right)})"
                if isinstance(sign, ast.Div):
                    self._need_nonzero(right)
                return made
            case ast.Call(func=ast.Name(id="ball"), args=[low, high], keywords=[]):
                return self._ball(self._term(low), self._term(high))
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
                self.functions.add(name)
                if name == "sqrt":
                    return self._root(inner)
                if name == "log":
                    self._need(inner, "0 < {}", POSITIVE)
                return f"({_FUNCTIONS[name]} {self._term(inner)})"
            case ast.Call(func=ast.Name(id=name)):
                raise NotTranslated(f"the function {name}")
            case _:
                raise NotTranslated(f"{ast.unparse(node):.60}")

    def _ball(self, low: str, high: str) -> str:
        """A number that is known from a ball: any number in it."""
        name = next((name for name, *ends in self.balls if ends == [low, high]), f"ball_{len(self.balls) + 1}")
        if name in self.names.values():
            raise NotTranslated(f"a variable called {name}")
        if not any(name == one for one, *_ in self.balls):
            self.balls.append((name, low, high))
        return name

    def _power(self, base: ast.expr, power: ast.expr) -> str:
        exponent = rational(power)
        if exponent is not None and exponent.denominator in (1, 2):
            if abs(exponent.numerator) > LARGEST_POWER:
                raise NotTranslated(f"a power beyond {LARGEST_POWER}")
            if exponent < 0:
                self._need_nonzero(base)
            whole = self._term(base) if exponent.denominator == 1 else self._root(base)
            made = f"({whole} ^ {abs(exponent.numerator)})"
            return f"(/ {made})" if exponent < 0 else made
        if self.sign(base) != POSITIVE:
            raise NotTranslated("a power with a variable in it, of what may be 0 or negative")
        self.functions.add("Rpower")
        return f"(Rpower {self._term(base)} {self._term(power)})"

    def _root(self, inner: ast.expr) -> str:
        self.functions.add("sqrt")
        self._need(inner, "0 <= {}", NONNEGATIVE)
        made = self._term(inner)
        self.roots.setdefault(made, self.sign(inner) == POSITIVE)
        return f"(sqrt {made})"

    def _need_nonzero(self, node: ast.expr) -> None:
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                self._need_nonzero(left)
                self._need_nonzero(right)
            case ast.BinOp(left=left, op=ast.Div(), right=_):
                self._need_nonzero(left)
            case ast.BinOp(left=left, op=ast.Pow(), right=power) if rational(power) is not None:
                self._need_nonzero(left)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                self._need_nonzero(inner)
            case _:
                self._need(node, "{} <> 0", POSITIVE)

    def _need(self, node: ast.expr, formula: str, sign: int) -> None:
        """Without variables it has to be shown, and is no hypothesis."""
        if self.sign(node) >= sign or not any(isinstance(n, ast.Name) and n.id in self.names for n in ast.walk(node)):
            return
        made = formula.format(self._term(node))
        if made not in self.needed:
            self.needed.append(made)

    def sign(self, node: ast.expr) -> int:
        """What the signs of the variables show of an expression where it is defined."""
        match node:
            case ast.Constant(value=int(whole)):
                return POSITIVE if whole > 0 else NONNEGATIVE if whole == 0 else UNKNOWN
            case ast.Name(id="pi" | "E" as name) if name not in self.names:
                return POSITIVE
            case ast.Name(id=name) if name in self._kinds:
                kind = self._kinds[name]
                return POSITIVE if "positive" in kind else NONNEGATIVE if "nonnegative" in kind else UNKNOWN
            case ast.BinOp(left=ast.Name(id=name), op=ast.Sub(), right=ast.Constant(value=1)):
                return NONNEGATIVE if {"positive", "integer"} <= self._kinds.get(name, set()) else UNKNOWN
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                both = self.sign(left), self.sign(right)
                return max(both) if min(both) else UNKNOWN
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return min(self.sign(left), self.sign(right))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self.sign(left) if self.sign(right) == POSITIVE else UNKNOWN
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                power = rational(right)
                even = power is not None and power >= 0 and power.denominator == 1 and power.numerator % 2 == 0
                return POSITIVE if self.sign(left) == POSITIVE else NONNEGATIVE if even else UNKNOWN
            case ast.Call(func=ast.Name(id="sqrt"), args=[inner]):
                return max(self.sign(inner), NONNEGATIVE)
            case ast.Call(func=ast.Name(id="exp")):
                return POSITIVE
            case _:
                return UNKNOWN
