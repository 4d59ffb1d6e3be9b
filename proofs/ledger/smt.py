"""Certificates as SMT-LIB 2: every block must be answered ``unsat``, by any solver of nonlinear real arithmetic.

A block denies one piece of evidence. A root is a variable with its power given; a function of another kind (exp, ln) is
a variable of its own in an identity with no other one, which then holds whatever its value is; and a quotient is taken
where its denominator is not 0. What cannot be said so, balls of transcendental functions, is left to the JSON file.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dpverdict.proofs.checks.evidence import SIGNS

_ONE: Final = "1.0"
_CONSTANTS: Final = ("pi", "E")
Term: TypeAlias = tuple[str, str]
"""Top and bottom of a quotient."""
ALONE: Final = ("(reset)", "(set-logic QF_NRA)")
"""The beginning of a block: asked alone, and not one upon another, a solver takes its procedure for polynomials."""
MOST_VALUES: Final = 8
"""Values of one quadratic form that a solver is asked about: each is a sum of d^2 products."""


class NotInSmt(Exception):
    """An expression that the arithmetic of a solver does not have."""


class _Block:
    """One question to the solver: declarations, what is given, and what is denied. A term is a pair (top, bottom)."""

    def __init__(
        self, variables: Mapping[str, str], texts: Iterable[str], moved: Mapping[str, str] | None = None
    ) -> None:
        self._variables = variables
        self._moved = moved or {}
        self._used: dict[str, str] = {}
        self._roots: dict[tuple[str, int], str] = {}
        self._other: dict[str, str] = {}
        self._degrees: dict[str, int] = {}
        for text in texts:
            for name, degree in _roots_of_variables(ast.parse(text, mode="eval")):
                self._degrees[name] = math.lcm(self._degrees.get(name, 1), degree)

    @property
    def opaque(self) -> int:
        """How many variables stand for functions and constants that the solver does not know."""
        return len(self._other)

    def term(self, text: str) -> Term:
        """An expression as SMT-LIB terms."""
        return self._term(ast.parse(text, mode="eval").body)

    def _term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return _number(Fraction(value)), _ONE
            case ast.Name(id=name) if name in self._moved:
                return self.term(self._moved[name])
            case ast.Name(id=name) if name in self._variables:
                return self._power_of(self._root_of_variable(name), self._degrees.get(name, 1)), _ONE
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                top, bottom = self._term(inner)
                return f"(- {top})", bottom
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(left, right)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in (ast.Add, ast.Sub, ast.Mult, ast.Div):
                return _joined(self._term(left), type(sign), self._term(right))
            case ast.Call(func=ast.Name(id="sqrt"), args=[inner]):
                return self._root(inner, 2), _ONE
            case ast.Call(func=ast.Name(id="exp" | "log" | "erf" | "erfc")) | ast.Name(id="pi" | "E"):
                return self._opaque(node), _ONE
            case _:
                pass
        raise NotInSmt(ast.unparse(node))

    def _root_of_variable(self, name: str) -> str:
        """The variable, or its root of the degree that makes every root of it in the block a power."""
        self._used[name] = self._variables[name]
        return f"|{name}|" if self._degrees.get(name, 1) == 1 else f"|root of {name}|"

    @staticmethod
    def _power_of(term: str, times: int) -> str:
        return _ONE if times == 0 else term if times == 1 else f"(* {' '.join([term] * times)})"

    def _power(self, base: ast.expr, exponent: ast.expr) -> Term:
        power = rational(exponent)
        if power is None or abs(power.numerator) > 64 or power.denominator > 16:
            return self._opaque(ast.BinOp(base, ast.Pow(), exponent)), _ONE
        times = abs(power.numerator)
        top, bottom = self._term(base) if power.denominator == 1 else (self._root(base, power.denominator), _ONE)
        made = self._power_of(top, times), self._power_of(bottom, times)
        return made if power >= 0 else (made[1], made[0])

    def _root(self, base: ast.expr, degree: int) -> str:
        if isinstance(base, ast.Name) and base.id in self._degrees and base.id not in self._moved:
            return self._power_of(self._root_of_variable(base.id), self._degrees[base.id] // degree)
        top, bottom = self._term(base)
        key = (f"(= (* {bottom} {self._power_of('{}', degree)}) {top})", degree)
        return self._roots.setdefault(key, f"|root {len(self._roots) + 1}|")

    def _opaque(self, node: ast.expr) -> str:
        if any(isinstance(part, ast.Name) and part.id in self._moved for part in ast.walk(node)):
            raise NotInSmt(ast.unparse(node))
        text = ast.unparse(node)
        return self._other.setdefault(text, f"|{text}|")

    def lines(self, denied: str) -> Iterator[str]:
        """The block that denies a formula."""
        yield from ALONE
        for name, kind in self._used.items():
            symbol = self._root_of_variable(name)
            yield f"(declare-const {symbol} Real)"
            if kind.startswith(("positive", "nonnegative")) or symbol != f"|{name}|":
                yield f"(assert ({'>' if kind.startswith('positive') else '>='} {symbol} 0.0))"
        for name in self._other.values():
            yield f"(declare-const {name} Real)"
        for (formula, _), name in self._roots.items():
            yield f"(declare-const {name} Real)"
            yield f"(assert (>= {name} 0.0))"
            yield f"(assert {formula.replace('{}', name)})"
        yield f"(assert (not {denied}))"
        yield "(check-sat)"


def _joined(left: Term, sign: type[ast.operator], right: Term) -> Term:
    (a, b), (c, d) = left, right
    if sign is ast.Mult:
        return _product(a, c), _product(b, d)
    if sign is ast.Div:
        return _product(a, d), _product(b, c)
    symbol = "+" if sign is ast.Add else "-"
    if b == d:
        return f"({symbol} {a} {c})", b
    return f"({symbol} {_product(a, d)} {_product(c, b)})", _product(b, d)


def _product(left: str, right: str) -> str:
    return right if left == _ONE else left if right == _ONE else f"(* {left} {right})"


def _roots_of_variables(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The variables of which roots are taken, with their degrees."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="sqrt"), args=[ast.Name(id=name)]) if name not in _CONSTANTS:
                yield name, 2
            case ast.BinOp(left=ast.Name(id=name), op=ast.Pow(), right=exponent):
                power = rational(exponent)
                if power is not None and 1 < power.denominator <= 16 and name not in _CONSTANTS:
                    yield name, power.denominator
            case _:
                pass


def smt_of(certificate: Mapping[str, Any]) -> str:  # Any: the values of a JSON object
    """The SMT-LIB file of a certificate, its first line the SHA-256 of the rest; "" if nothing in it can be said so."""
    lines: list[str] = []
    for reading in certificate["readings"]:
        for condition in reading["conditions"]:
            for piece in condition["evidence"]:
                made = list(_blocks(piece))
                if made:
                    words = f"{reading['reading']}: {condition['name']} ({piece['kind']})"
                    lines += [f"; {' '.join(words.split())}", *made, ""]
    if not lines:
        return ""
    named = certificate["statement"]
    text = "\n".join([f"; {named['paper']} {named['number']}: every answer must be unsat", "", *lines])
    return f"; sha256 {hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def _blocks(piece: Mapping[str, Any]) -> Iterator[str]:
    match piece["kind"]:
        case "identity":
            for sides in piece["sides"]:
                yield from _block(piece["variables"], sides, _same, others=1)
        case "inequality":
            yield from _inequality(piece)
        case "comparison" if piece["holds"]:
            pairs = [_pair(piece["left"], sign, piece["right"]) for sign in piece["signs"]]
            yield from _asserted([one for one in pairs if one is not None], "or")
        case "rounding" if piece["holds"]:
            unit = Fraction(1, 2 * 10 ** len(piece["printed"].partition(".")[2]))
            low, high = (_number(Fraction(piece["printed"]) + shift) for shift in (-unit, unit))
            if (ends := _ends(piece["value"])) is not None:
                yield from _asserted([f"(<= {low} {ends[0]})", f"(<= {ends[1]} {high})"], "and")
        case "cases":
            found = [_one(*entry) for _, entries in piece["cases"] for entry in entries]
            yield from _asserted([one for one in found if one is not None], "and")
        case "inverse":
            yield from _asserted(list(_inverse(piece)), "and")
        case "optimum":
            yield from _optimum(piece)
        case _:
            pass


def _block(
    variables: Mapping[str, str],
    texts: Sequence[str],
    denied: Callable[..., str],
    moved: Mapping[str, str] | None = None,
    others: int = 0,
) -> Iterator[str]:
    try:
        block = _Block(variables, texts, moved)
        formula = denied(*(block.term(text) for text in texts))
    except NotInSmt:
        return
    if block.opaque <= others:  # two functions may be related in ways that the solver is not told
        yield from block.lines(formula)


def _same(left: Term, right: Term) -> str:
    return f"(= {_product(left[0], right[1])} {_product(right[0], left[1])})"


def _inequality(piece: Mapping[str, Any]) -> Iterator[str]:
    """First that the quotient is the expression moved to its lower ends, then that its parts are positive."""
    moved = {name: f"({low} + {piece['steps'][name]})" for name, low in piece["at_least"].items()}
    quotient = f"({piece['numerator']})/({piece['denominator']})"
    yield from _block(piece["variables"], [piece["expression"], quotient], _same, moved)
    for part, needed in ((piece["denominator"], ">"), (piece["numerator"], ">" if piece["strict"] else ">=")):
        yield from _block(piece["variables"], [part], lambda term, needed=needed: f"({needed} {term[0]} 0.0)")


def _inverse(piece: Mapping[str, Any]) -> Iterator[str]:
    rows, inverse = ([[_number(_read(x)) for x in row] for row in piece[key]] for key in ("matrix", "inverse"))
    for i, row in enumerate(rows):
        for k in range(len(rows)):
            total = " ".join(f"(* {a} {inverse[j][k]})" for j, a in enumerate(row))
            yield f"(= (+ {total} 0.0) {1 if i == k else 0}.0)"
    for vector, value in piece["values"][:MOST_VALUES]:
        v = [_number(_read(x)) for x in vector]
        terms = (f"(* {a} {inverse[i][k]} {b})" for i, a in enumerate(v) for k, b in enumerate(v))
        yield f"(= (+ {' '.join(terms)} 0.0) {_number(_read(value))})"


def _optimum(piece: Mapping[str, Any]) -> Iterator[str]:
    """Weak duality for one eigenvalue; and that both points keep their constraints and have the value, by the root r.

    A constraint sum_i a_i/s_i <= 1 is multiplied by all s_i, which are positive.
    """
    yield from (*ALONE, "(declare-const s Real)", "(declare-const y Real)", "(assert (> s 0.0))")
    yield from ("(assert (not (>= (+ s (/ (* y y) s)) (* 2.0 y))))", "(check-sat)")

    def term(parts: Sequence[str]) -> str:
        rational, coefficient = (_number(_read(one)) for one in parts)
        return rational if coefficient == "0.0" else f"(+ {rational} (* {coefficient} r))"

    def total(terms: Iterable[str]) -> str:
        return f"(+ 0.0 {' '.join(terms)})"

    weights, primal, dual = ([term(one) for one in piece[key]] for key in ("weights", "primal", "dual"))
    rows = {words: [term(one) for one in row] for words, row in piece["constraints"]}
    multipliers = {words: term(one) for words, one in piece["multipliers"]}
    others = ["(* 1.0 1.0 " + " ".join(s for k, s in enumerate(primal) if k != i) + ")" for i in range(len(primal))]
    value = term(piece["value"])
    asked = [f"(> {s} 0.0)" for s in primal] + [f"(>= {one} 0.0)" for one in multipliers.values()]
    for row in rows.values():
        sides = total(f"(* {a} {rest})" for a, rest in zip(row, others, strict=True))
        asked.append(f"(<= {sides} (* 1.0 1.0 {' '.join(primal)}))")
    for i, (w, y) in enumerate(zip(weights, dual, strict=True)):
        allowed = total(f"(* {one} {rows[words][i]})" for words, one in multipliers.items())
        asked.append(f"(<= (* {w} {y} {y}) {allowed})")
    asked.append(f"(= {value} {total(f'(* {w} {s})' for w, s in zip(weights, primal, strict=True))})")
    twice = total(f"(* 2.0 {w} {y})" for w, y in zip(weights, dual, strict=True))
    asked.append(f"(= {value} (- {twice} {total(multipliers.values())}))")
    yield from (*ALONE, "(declare-const r Real)", "(assert (>= r 0.0))")
    yield f"(assert (= (* r r) {_number(_read(piece['radicand']))}))"
    yield from (f"(assert (not (and {' '.join(asked)})))", "(check-sat)")


def _asserted(formulas: list[str], joined: str) -> Iterator[str]:
    if formulas:
        yield from (*ALONE, f"(assert (not ({joined} {' '.join(formulas)} false)))" if joined == "or" else "")
        if joined == "and":
            yield f"(assert (not (and {' '.join(formulas)} true)))"
        yield "(check-sat)"


def _one(left: object, sign: str, right: object, holds: bool) -> str | None:
    formula = _pair(left, sign, right)
    if formula is None or holds:
        return formula
    return f"(not {formula})" if isinstance(left, str) and isinstance(right, str) else None


def _pair(left: object, sign: str, right: object) -> str | None:
    """A comparison of numbers; of balls, by the ends that decide it; None for what is no number."""
    a, b = _ends(left), _ends(right)
    if a is None or b is None or sign not in SIGNS.values():
        return None
    if sign == "=":
        return f"(and (<= {a[0]} {b[1]}) (<= {b[0]} {a[1]}))" if a[0] != a[1] or b[0] != b[1] else f"(= {a[0]} {b[0]})"
    if sign == "!=":
        return f"(or (< {a[1]} {b[0]}) (< {b[1]} {a[0]}))"
    return f"({sign} {a[1]} {b[0]})" if sign in ("<", "<=") else f"({sign} {a[0]} {b[1]})"


def _ends(value: object) -> tuple[str, str] | None:
    """The ends of a number or a ball as terms."""
    try:
        if isinstance(value, str):
            made = _number(_read(value))
            return made, made
        if isinstance(value, list) and len(value) == 2:
            low, high = (_number(_read(one)) for one in value)
            return low, high
    except (ValueError, OverflowError):
        pass
    return None


def _read(text: str) -> Fraction:
    head, _, power = text.partition("*2**")
    if power and abs(int(power)) > 20_000:
        raise OverflowError("too long for a file")
    return Fraction(head) * Fraction(2) ** int(power or 0)


def _number(value: Fraction) -> str:
    top = f"{abs(value.numerator)}.0"
    made = top if value.denominator == 1 else f"(/ {top} {value.denominator}.0)"
    return f"(- {made})" if value < 0 else made


def rational(node: ast.expr) -> Fraction | None:
    """A constant of whole numbers; None for anything else."""
    match node:
        case ast.Constant(value=int(whole)) if not isinstance(whole, bool):
            return Fraction(whole)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = rational(inner)
            return None if value is None else -value
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            a, b = rational(left), rational(right)
            return None if a is None or not b else a / b
        case _:
            return None
