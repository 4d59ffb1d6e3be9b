"""Identities and inequalities for all values of their symbols, decided by SymPy and cross-checked in numbers.

Neither can pass vacuously: an identity must simplify to 0, hold at points where it is evaluated to many digits, and
fail once one side is perturbed; a side that does not depend on the symbols it claims to hold for is refused. What
SymPy cannot bring to 0 is refuted by a point at which the two sides certainly differ, or left undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.evidence import Evidence, Expressions, note
from dpverdict.proofs.checks.outcome import Finding, Method, means_of_proof, universal

Expr = Any
"""A SymPy expression, matrix or number: SymPy ships no types."""
_POINTS = (
    Fraction(7, 3),
    Fraction(13, 11),
    Fraction(29, 5),
    Fraction(3, 7),
    Fraction(101, 17),
    Fraction(2),
    Fraction(5),
)
_DIGITS = 60


@means_of_proof
def identity(
    name: str,
    left: Expr,
    right: Expr,
    *,
    scope: str | None = None,
    domain: str = "",
    cases: int | None = None,
    argued: str = "",
    dropped: Sequence[Expr] = (),
) -> Finding:
    """left = right for all values of the symbols; matrices are compared entry by entry.

    Args:
        name: the condition in a few words.
        left, right: expressions; their symbols carry the assumptions under which the identity is claimed.
        scope: for what it holds; made from the symbols when not given.
        domain: added to the scope, for example "d >= 1".
        cases: how many instances the sides are written out for, where they are not for all values of every parameter.
            Two sides without symbols are one case.
        argued: why it should hold beyond those, in words that nothing checks.
        dropped: the symbols that a limit, an integral or a simplification has removed from both sides, for all of which
            it holds.
    """
    pairs = list(zip(_entries(left), _entries(right), strict=True))
    symbols = sorted(set().union(*(side.free_symbols for pair in pairs for side in pair)), key=str)
    words = scope if scope is not None else _scope(symbols, domain)
    shown = tuple(dict.fromkeys((_text(a), "=", _text(b)) for a, b in pairs))
    words, count, argued = _reaching(words, cases, argued, region=bool(symbols or dropped))

    def found(holds: bool | None, *, margin: str = "", witness: str = "") -> Finding:
        return Finding(
            name=name,
            holds=holds,
            method=Method.SYMBOLIC,
            scope=words,
            margin=margin,
            witness=witness,
            sides=shown,
            cases=count,
            argued=argued,
        )

    for a, b in pairs:
        simplified = _simplified(a - b)
        point = _where_different(a, b, symbols)
        if point is not None:
            note(_apart, a, b, symbols)
            return found(False, witness=point)
        perturbed = b + sympy.Rational(1, 1009) * (1 + sum(symbols, sympy.Integer(0)) ** 2)
        if simplified != 0 or _where_different(a, perturbed, symbols) is None:
            return found(None, witness=f"left over: {simplified}")
    note(_sides, pairs)
    return found(True, margin="0 (identity)")


@means_of_proof
def positive(
    name: str,
    expression: Expr,
    at_least: Mapping[Expr, Any],
    *,
    scope: str | None = None,
    cases: int | None = None,
    argued: str = "",
) -> Finding:
    """expression > 0 for all symbols at or above their lower ends, by positive coefficients.

    Every symbol s is written as its lower end plus t >= 0; if numerator and denominator of the result have no negative
    coefficient in the t's, and their constant ones are positive, nothing is left to prove. It is a sufficient
    condition: where it does not apply, a point of negative value refutes, and otherwise the finding is undecided.

    Args:
        name: the condition in a few words.
        expression: a rational function with rational coefficients in the symbols of ``at_least``.
        at_least: the lower end of the range of every symbol, included (Any: a number of any kind).
        scope: what the ranges mean, which are added to it.
        cases, argued: as in `identity`.

    >>> r = sympy.Symbol("r")
    >>> positive("r^2 + 1 > r", r**2 + 1 - r, {r: 1}).holds, positive("r > 1", r - 1, {r: 1}).witness
    (True, 'r = 1: 0')
    """
    return _by_coefficients(name, expression, at_least, scope, cases, argued, strict=True)


@means_of_proof
def nonnegative(
    name: str,
    expression: Expr,
    at_least: Mapping[Expr, Any],
    *,
    scope: str | None = None,
    cases: int | None = None,
    argued: str = "",
) -> Finding:
    """expression >= 0, decided as in `positive`."""
    return _by_coefficients(name, expression, at_least, scope, cases, argued, strict=False)


def _reaching(scope: str, cases: int | None, argued: str, *, region: bool) -> tuple[str, int | None, str]:
    """Scope, number of cases and argument of a condition. One of numbers alone is one case: what it is said to show
    for all is an argument in words.
    """
    if cases is not None or region:
        return scope, cases, argued
    return ("the numbers that are left", 1, argued or scope) if universal(scope) else (scope, 1, argued)


def _by_coefficients(
    name: str,
    expression: Expr,
    at_least: Mapping[Expr, Any],
    scope: str | None,
    cases: int | None,
    argued: str,
    *,
    strict: bool,
) -> Finding:
    whole = sympy.sympify(expression)

    def enough(value: Expr) -> bool:
        return bool(value > 0) if strict else bool(value >= 0)

    words = ", ".join(f"{s} >= {low}" for s, low in at_least.items() if whole.has(s))
    if scope is not None:  # the region is the one that was decided, whatever the words are
        words = f"{scope} ({words})" if words and words != scope else scope
    words, count, argued = _reaching(words, cases, argued, region=bool(at_least))
    if whole.free_symbols - set(at_least):
        raise InvalidValue("expression", expression, f"in {set(at_least)}", "give the range of every symbol")

    def found(holds: bool | None, *, margin: str = "", witness: str = "") -> Finding:
        return Finding(
            name=name,
            holds=holds,
            method=Method.CERTIFICATE,
            scope=words,
            margin=margin,
            witness=witness,
            sides=((_text(whole), ">" if strict else ">=", "0"),),
            cases=count,
            argued=argued,
        )

    lower = {s: sympy.nsimplify(low) for s, low in at_least.items()}
    steps = {s: sympy.Symbol(f"t_{s}", nonnegative=True) for s in at_least}
    moved = whole.subs({s: lower[s] + steps[s] for s in at_least}, simultaneous=True)
    parts: tuple[Expr, ...] = ()
    try:
        parts = sympy.fraction(sympy.cancel(sympy.together(moved)))
        (top_signs, top), (bottom_signs, bottom) = (_coefficients(part, list(steps.values())) for part in parts)
        decided = top_signs and bottom_signs and bool(bottom > 0) and enough(top)
    except sympy.PolynomialError:  # not a rational function of the symbols
        decided = False
    if decided:
        note(_shifted, whole, lower, steps, parts, strict=strict)
        margin = _shown(whole.subs(lower)) + (" at the lower end" if at_least else "")
        return found(True, margin=margin)
    for step in (Fraction(0), Fraction(1, 7), Fraction(1), Fraction(10), Fraction(1000), Fraction(10**6)):
        point = {s: lower[s] + sympy.Rational(step) for s in at_least}
        value = whole.subs(point)
        if value.is_number and value.is_finite and not enough(value):
            note(_below, whole, point, strict=strict)
            return found(False, witness=_at(point) + _shown(value))
    return found(None, witness="a coefficient is negative")


def _coefficients(part: Expr, variables: Sequence[Expr]) -> tuple[bool, Expr]:
    """(whether no coefficient is negative, the constant one)."""
    expanded = sympy.expand(part)
    if not variables:
        return bool(expanded >= 0), expanded
    made = sympy.Poly(expanded, *variables).as_dict()
    terms = {powers: sympy.radsimp(sympy.expand(value)) for powers, value in made.items()}
    return all(bool(value >= 0) for value in terms.values()), terms.get((0,) * len(variables), sympy.Integer(0))


def _sides(pairs: Sequence[tuple[Expr, Expr]]) -> Evidence:
    """Both sides of an identity, entry by entry."""
    texts = Expressions()
    sides = [[texts.text(a), texts.text(b)] for a, b in pairs]
    return {"kind": "identity", "sides": sides, "variables": texts.variables()}


def _apart(left: Expr, right: Expr, symbols: Sequence[Expr]) -> Evidence:
    """The sides of a false identity, and a point at which they differ."""
    texts = Expressions()
    sides = {"left": texts.text(left), "right": texts.text(right)}
    point = _first_different(left, right, symbols)
    at = {} if point is None else {texts.text(s): str(value) for s, value in point[0].items()}
    return {"kind": "difference", **sides, "variables": texts.variables(), "at": at}


def _shifted(
    whole: Expr, lower: Mapping[Expr, Expr], steps: Mapping[Expr, Expr], parts: Sequence[Expr], *, strict: bool
) -> Evidence:
    """An inequality: the expression, and the quotient without negative coefficients that it is, from its lower ends."""
    texts = Expressions()
    top, bottom = (sympy.expand(part) for part in parts)
    return {
        "kind": "inequality",
        "expression": texts.text(whole),
        "strict": strict,
        "at_least": {texts.text(s): texts.text(low) for s, low in lower.items()},
        "steps": {texts.text(s): texts.text(t) for s, t in steps.items()},
        "numerator": texts.text(top),
        "denominator": texts.text(bottom),
        "variables": texts.variables(),
    }


def _below(whole: Expr, point: Mapping[Expr, Expr], *, strict: bool) -> Evidence:
    """An inequality that fails, and where."""
    texts = Expressions()
    at = {texts.text(s): texts.text(value) for s, value in point.items()}
    return {
        "kind": "failure",
        "expression": texts.text(whole),
        "strict": strict,
        "variables": texts.variables(),
        "at": at,
    }


def _entries(side: Expr) -> list[Expr]:
    made = sympy.sympify(side)
    return list(made) if isinstance(made, sympy.MatrixBase) else [made]


def _simplified(expression: Expr) -> Expr:
    """0 as soon as one of SymPy's ways shows it."""
    for way in (sympy.expand, lambda e: sympy.cancel(sympy.together(e)), sympy.radsimp, sympy.simplify):
        try:
            expression = way(expression)
        except (sympy.PolynomialError, NotImplementedError):
            continue
        if expression == 0:
            return expression
    return expression


def _where_different(left: Expr, right: Expr, symbols: Sequence[Expr]) -> str | None:
    """A point at which the two sides certainly differ, in words."""
    found = _first_different(left, right, symbols)
    return None if found is None else f"{_at(found[0])}left {_shown(found[1])}, right {_shown(found[2])}"


def _first_different(left: Expr, right: Expr, symbols: Sequence[Expr]) -> tuple[Mapping[Expr, Expr], Expr, Expr] | None:
    """A point at which the two sides certainly differ, by evaluation to many digits, with both, if one was found."""
    for start in range(4):
        point = {
            s: sympy.Integer(2 + start + i) if s.is_integer else sympy.Rational(_POINTS[(start + i) % len(_POINTS)])
            for i, s in enumerate(symbols)
        }
        a, b = (side.subs(point).evalf(_DIGITS) for side in (left, right))
        if not (a.is_number and b.is_number) or a.has(sympy.nan, sympy.zoo):
            continue
        if abs(a - b) > sympy.Float(10) ** (-_DIGITS // 2) * (1 + abs(a) + abs(b)):
            return point, a, b
    return None


def _at(point: Mapping[Expr, Expr]) -> str:
    """The place of a witness: "d = 2, mu = 13/11: "; nothing when there is no symbol."""
    return ", ".join(f"{symbol} = {value}" for symbol, value in point.items()) + (": " if point else "")


def _text(side: Expr) -> str:
    """A side as text: in a word or two where it is longer than a reader can use."""
    size = side.count_ops()
    return str(sympy.sstr(side)) if size <= 200 else f"(an expression of {size} operations, in the certificate)"


def _shown(value: Expr) -> str:
    """A number, in full if it is a short rational, to 6 digits otherwise."""
    exact = value if value.is_Rational else sympy.nsimplify(value, rational=True) if value.is_Float else None
    if exact is not None and exact == value and len(str(exact)) <= 8:
        return str(exact)
    return str(sympy.N(value, 6))


def _scope(symbols: Sequence[Expr], domain: str) -> str:
    above = [str(s) for s in symbols if s.is_positive]
    other = [str(s) for s in symbols if not s.is_positive]
    parts = [f"all {', '.join(above)} > 0"] if above else []
    parts += [f"all {', '.join(other)}"] if other else []
    return ", ".join([*(parts or ["constants"]), *([domain] if domain else [])])
