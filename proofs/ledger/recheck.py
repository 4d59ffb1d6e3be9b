"""Certificates of statements read again, as `dpverdict check` does: nothing of the checks that wrote them is run.

Expressions are read into SymPy and Arb from the text of the file, by a grammar of their own that runs no code.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import sympy
from flint import arb, fmpq

from dpverdict.balls import ball, exactly, precision
from dpverdict.errors import DpverdictError, in_one_line
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.ledger.certificates import FORMAT, seal
from dpverdict.proofs.verdicts.derivation import checked
from dpverdict.proofs.verdicts.expressions import (
    MOST_CHARACTERS,
    NotAnExpression,
    enclosed_text,
    exact_ends,
    expression_of,
)
from dpverdict.proofs.verdicts.laws import NotDerived

Json: TypeAlias = Mapping[str, Any]
Box: TypeAlias = list[tuple[Fraction, Fraction]]

PROVED, COMPARED, OPEN = "proved from the file", "numbers of the file compared", "not decided by the file"
GRADES: Final = (PROVED, COMPARED, OPEN)
"""What a condition of a certificate is worth, best first."""

MOST_BITS_OF_A_NUMBER: Final = 1 << 21
"""Of a number in an expression: powers of two down to 2^-721420 are written."""
LARGEST_POWER: Final = 64
"""Of what is no rational number."""
LARGEST_ARGUMENT: Final = 10_000
"""Of a function of a number."""
MOST_ROWS: Final = 300
"""Of a matrix."""


class CertificateRefused(DpverdictError):
    """A certificate with something in it that is not true, or that was changed after it was made."""


class _Unreadable(Exception):
    """An expression beyond this grammar: what it says stays open."""


def recheck(document: Json) -> Counter[str]:
    """How many conditions of a statement's certificate have which grade.

    Raises:
        CertificateRefused: a piece of evidence is false, contradicts its finding, or the text is not what was sealed.
    """
    grades: Counter[str] = Counter()
    try:
        if document["format"] != FORMAT:
            raise CertificateRefused(f"the format is {document['format']!r}: give one that says {FORMAT!r}")
        if document["sha256"] != seal(document):
            raise CertificateRefused("the text is not what was sealed: make the certificate again")
        if "verdict" in document:
            proved_line(document)
        elif _kinds(document) & {"law", "value"}:
            raise CertificateRefused("it holds parts of a verdict, and does not say which")
        for reading in document["readings"]:
            for condition in reading["conditions"]:
                grades[_graded(condition)] += 1
    except _UNREADABLE as error:
        raise CertificateRefused(f"it cannot be read: {in_one_line(error)[:200]}") from None
    _refuse_unless(grades.total() > 0, "it has no condition, so it shows nothing")
    return grades


_UNREADABLE: Final = (
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    ArithmeticError,
    RecursionError,
    SyntaxError,
    MemoryError,
)


def _kinds(document: Json) -> set[str]:
    return {p["kind"] for reading in document["readings"] for c in reading["conditions"] for p in c["evidence"]}


def proved_line(document: Json) -> str:
    """What the certificate of a verdict proves, in one line: its conditions are those that follow from its head.

    Raises:
        CertificateRefused: a condition is another, missing, or about something else than the head says.
    """
    try:
        return checked(document).line
    except (NotDerived, NotAnExpression) as problem:
        raise CertificateRefused(str(problem)) from None


def _graded(condition: Json) -> str:
    said = {_says(piece) for piece in condition["evidence"]}
    _refuse_unless(isinstance(condition["holds"], bool | None), f"{condition['name']!r} neither holds nor fails")
    if condition["holds"] is True and False in said:
        raise CertificateRefused(f"{condition['name']!r} is said to hold, and shown to fail")
    if condition["holds"] is False and said == {True}:
        raise CertificateRefused(f"{condition['name']!r} is said to fail, and shown to hold")
    grades = []
    for piece in condition["evidence"]:
        try:
            grades.append(_KINDS[piece["kind"]](piece))
        except _Unreadable:
            grades.append(OPEN)
        except CertificateRefused as problem:
            raise CertificateRefused(f"{condition['name']!r}: {problem}") from None
    return max(grades, key=GRADES.index, default=OPEN)


def _says(piece: Json) -> bool | None:
    """Whether a piece of evidence is for its condition; None for cases, of which a condition may need false ones."""
    if piece["kind"] in ("comparison", "rounding"):
        return bool(piece["holds"])
    return None if piece["kind"] == "cases" else piece["kind"] not in ("difference", "failure", "box failure")


def _refuse_unless(holds: bool, words: str) -> None:
    if not holds:
        raise CertificateRefused(words)


# numbers and comparisons


def read_number(text: str) -> Fraction:
    """ "3", "-7/4", "0.25" or "5*2**-60".

    Raises:
        ValueError: no number, or one too long to be taken at its exact value.
    """
    head, _, power = text.partition("*2**")
    if len(text) > MOST_CHARACTERS or (power and abs(int(power)) > 1 << 20):
        raise ValueError(f"{text:.40} is too long")
    return exactly(head) * Fraction(2) ** int(power or 0)


def _ends(value: Any) -> tuple[Fraction, Fraction] | None:
    try:
        if isinstance(value, str):
            return read_number(value), read_number(value)
        if isinstance(value, list) and len(value) == 2:
            low, high = map(read_number, value)
            _refuse_unless(low <= high, f"a ball from {value[0]} to {value[1]}")
            return low, high
    except (ValueError, TypeError, AttributeError):
        pass
    return None


_ORDERS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _decided(left: Any, sign: str, right: Any) -> bool | None:
    """Whether ``left sign right``; None where the balls overlap, or are no numbers."""
    a, b = _ends(left), _ends(right)
    if a is None or b is None:
        if sign not in ("=", "!=") or type(left) is not type(right):
            return None
        if isinstance(left, dict):
            if "set" not in left or "set" not in right:
                return None
            left, right = (sorted(map(str, side["set"])) for side in (left, right))
        return (left == right) is (sign == "=") if isinstance(left, bool | str | list) else None
    if sign in _ORDERS:
        answers = {_ORDERS[sign](x, y) for x in a for y in b}
        return answers.pop() if len(answers) == 1 else None
    apart = a[1] < b[0] or b[1] < a[0]
    if not apart and not (a[0] == a[1] == b[0] == b[1]):
        return None
    return apart is (sign == "!=")


def _comparison(piece: Json) -> str:
    strict = [sign for sign in piece["signs"] if sign != "="]
    joined = [f"{sign}=" for sign in strict if "=" in piece["signs"]]  # balls that touch at an end may be "<" or "="
    answers = [_decided(piece["left"], sign, piece["right"]) for sign in joined or piece["signs"]]
    right = True in answers if piece["holds"] else set(answers) == {False}
    _refuse_unless(right, f"{piece['left']} {' or '.join(piece['signs'])} {piece['right']}")
    return COMPARED


def _rounding(piece: Json) -> str:
    _refuse_unless(len(piece["printed"]) <= LARGEST_POWER, f"{piece['printed']:.40} is too long to be printed")
    unit = Fraction(1, 2 * 10 ** len(piece["printed"].partition(".")[2]))
    target, value = read_number(piece["printed"]), _ends(piece["value"])
    _refuse_unless(value is not None, f"{piece['value']} is no number")
    low, high = value or (target, target)
    inside, apart = target - unit <= low and high <= target + unit, high < target - unit or target + unit < low
    _refuse_unless(inside if piece["holds"] else apart, f"{piece['printed']} printed for {piece['value']}")
    return COMPARED


def _cases(piece: Json) -> str:
    met = 0
    for case, entries in piece["cases"]:
        for left, sign, right, holds in entries:
            found = _decided(left, sign, right)
            _refuse_unless(found is None or found is holds, f"{case}: {left} {sign} {right} is {found}")
            met += found is not None
    return COMPARED if met else OPEN


def _inverse(piece: Json) -> str:
    rows, inverse = ([[read_number(x) for x in row] for row in piece[key]] for key in ("matrix", "inverse"))
    places = range(len(rows))
    _refuse_unless(0 < len(rows) <= MOST_ROWS, f"a matrix of {len(rows)} rows")
    product = [[sum(rows[i][j] * inverse[j][k] for j in places) for k in places] for i in places]
    _refuse_unless(product == [[int(i == k) for k in places] for i in places], "the inverse is not that of the matrix")
    for vector, value in piece["values"]:
        v = [read_number(x) for x in vector]
        found = sum(v[i] * inverse[i][k] * v[k] for i in places for k in places)
        _refuse_unless(found == read_number(value), f"the form at {vector} is {found}, not {value}")
    return PROVED


def _optimum(piece: Json) -> str:
    """Both points keep their constraints, and have the value that is written: no other primal value is below it."""
    radicand = int(piece["radicand"])

    def read(parts: Sequence[str]) -> Surd:
        rational, coefficient = map(read_number, parts)
        return Surd(rational, coefficient, radicand)

    points = Duality(
        weights=[read(one) for one in piece["weights"]],
        constraints={words: [read(one) for one in row] for words, row in piece["constraints"]},
        primal=[read(one) for one in piece["primal"]],
        dual=[read(one) for one in piece["dual"]],
        multipliers={words: read(one) for words, one in piece["multipliers"]},
    )
    _refuse_unless(points.least() == read(piece["value"]), "the two points do not prove the optimum")
    return PROVED


# expressions


def read_expression(text: str, variables: Mapping[str, str]) -> Any:
    """The SymPy expression that a text denotes, over variables of the given sets; no code is run.

    Raises:
        _Unreadable: it holds what this grammar does not.
    """
    symbols = {name: _symbol(name, kind) for name, kind in variables.items()}

    def read(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return sympy.Integer(value)
            case ast.Name(id=name) if name in symbols:
                return symbols[name]
            case ast.Name(id="pi" | "E" | "oo" as name):
                return getattr(sympy, name)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -read(inner)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
                sides = read(left), read(right)
                if isinstance(sign, ast.Pow):
                    _check_power(*sides)
                made = _OPERATORS[type(sign)](*sides)
                _refuse_unless(_bits(made) <= MOST_BITS_OF_A_NUMBER, "a number of an expression is too long")
                return made
            case ast.Call(func=ast.Name(id=name), args=[*given], keywords=[]) if name in _FUNCTIONS:
                arguments = [read(one) for one in given]
                for one in arguments if name in _GROWING else ():
                    _check_argument(one)
                return getattr(sympy, name)(*arguments)
            case _:
                pass
        raise _Unreadable(ast.unparse(node))

    return read(_tree(text))


def _tree(text: str) -> ast.expr:
    """The expression of a text.

    Raises:
        CertificateRefused: it is too long, or too deep.
        SyntaxError: it is no expression.
    """
    try:
        return expression_of(text)
    except NotAnExpression as problem:
        raise CertificateRefused(str(problem)) from None


def _bits(value: Any) -> int:
    """How long a rational number is; 0 of anything else."""
    return int(max(abs(value.p), value.q)).bit_length() if isinstance(value, sympy.Rational) else 0


def _check_power(base: Any, power: Any) -> None:
    """Refuse a power that nobody can write out, before it is made."""
    if not isinstance(power, sympy.Rational) or base in (0, 1, -1):
        return
    most = MOST_BITS_OF_A_NUMBER // _bits(base) if isinstance(base, sympy.Rational) else LARGEST_POWER
    short = power.q <= LARGEST_ARGUMENT and abs(power.p) <= most * power.q
    _refuse_unless(short, "a power is too long to be written out")


def _check_argument(value: Any) -> None:
    """Refuse a function of a number that is so large that its value cannot be found."""
    if value.is_number:
        near = value if isinstance(value, sympy.Rational) else value.evalf(15, maxn=100)
        small = near.is_comparable is not True or bool(abs(near) <= LARGEST_ARGUMENT)
        _refuse_unless(small, f"a function of a number beyond {LARGEST_ARGUMENT}")


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_NAMES = (
    "sqrt exp log erf erfc sin cos tan asin acos atan sinh cosh tanh Abs Max Min floor ceiling gamma loggamma "
    "factorial binomial harmonic"
)
_FUNCTIONS: Final = frozenset(_NAMES.split())
_GROWING: Final = frozenset(["exp", "sinh", "cosh", "tanh", "gamma", "loggamma", "factorial", "binomial", "harmonic"])
"""Those whose value is far longer than their argument."""


def _symbol(name: str, kind: str) -> Any:
    words = set(kind.split())
    sign = {"positive": True} if "positive" in words else {"nonnegative": True} if "nonnegative" in words else {}
    return sympy.Symbol(name, real=True, **sign, **({"integer": True} if "integer" in words else {}))


def _identity(piece: Json) -> str:
    for left, right in piece["sides"]:
        found = identity("", *(read_expression(side, piece["variables"]) for side in (left, right)))
        _refuse_unless(found.holds is not False, f"{left} is not {right}: {found.witness}")
        if found.holds is None:
            return OPEN
    return PROVED


def _inequality(piece: Json) -> str:
    variables = piece["variables"]
    steps = [read_expression(step, variables) for step in piece["steps"].values()]
    moved = {
        read_expression(name, variables): read_expression(f"({low}) + {piece['steps'][name]}", variables)
        for name, low in piece["at_least"].items()
    }
    parts = [read_expression(piece[key], variables) for key in ("numerator", "denominator")]
    whole = read_expression(piece["expression"], variables).subs(moved, simultaneous=True)
    same = identity("", whole, parts[0] / parts[1])
    _refuse_unless(same.holds is not False, f"the quotient is not the expression: {same.witness}")
    for part, strict in zip(parts, (piece["strict"], True), strict=True):
        terms = sympy.Poly(sympy.expand(part), *steps).as_dict() if steps else {(): sympy.expand(part)}
        signs = {powers: sympy.radsimp(value) for powers, value in terms.items()}
        _refuse_unless(all(bool(value >= 0) for value in signs.values()), "a coefficient is negative")
        constant = signs.get((0,) * len(steps), sympy.Integer(0))
        _refuse_unless(bool(constant > 0) or not strict, "the constant coefficient is 0")
    return PROVED if same.holds else OPEN


def _difference(piece: Json) -> str:
    at = {read_expression(n, piece["variables"]): read_expression(v, {}) for n, v in piece["at"].items()}
    left, right = (read_expression(piece[key], piece["variables"]).subs(at).evalf(60) for key in ("left", "right"))
    apart = abs(left - right) > sympy.Float(10) ** -30 * (1 + abs(left) + abs(right))
    _refuse_unless(bool(apart), f"the sides do not differ at {piece['at']}")
    return PROVED


def _failure(piece: Json) -> str:
    at = {read_expression(n, piece["variables"]): read_expression(v, {}) for n, v in piece["at"].items()}
    value = read_expression(piece["expression"], piece["variables"]).subs(at)
    _refuse_unless(bool(value <= 0 if piece["strict"] else value < 0), f"it does not fail at {piece['at']}")
    return PROVED


# boxes


def _enclosed(node: ast.expr, at: Mapping[str, arb]) -> arb:
    """The ball of an expression at balls of its variables."""
    match node:
        case ast.Constant(value=int(whole)):
            return arb(whole)
        case ast.Name(id=name) if name in at:
            return at[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_enclosed(inner, at)
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _enclosed(base, at) ** power
        case ast.BinOp(
            left=base, op=ast.Pow(), right=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(power)))
        ):
            return arb(1) / _enclosed(base, at) ** power
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            made: arb = _OPERATORS[type(sign)](_enclosed(left, at), _enclosed(right, at))
            return made
        case ast.Call(func=ast.Name(id="ball"), args=[low, high]):
            return _enclosed(low, at).union(_enclosed(high, at))
        case ast.Call(func=ast.Name(id="sqrt" | "exp" | "log" | "erf" | "erfc" | "sin" | "cos" as name), args=[inner]):
            found: arb = getattr(_enclosed(inner, at), name)()
            return found
        case _:
            pass
    raise _Unreadable(ast.unparse(node))


def _boxes(piece: Json) -> str:
    names = list(piece["variables"])
    whole = [(read_number(low), read_number(high)) for low, high in piece["box"]]
    parts = []
    for flat, bound in piece["parts"]:
        sides = [read_number(x) for x in flat]
        parts.append((list(zip(sides[::2], sides[1::2], strict=True)), read_number(bound)))
        _refuse_unless(parts[-1][1] > 0, f"a lower bound of {bound}")
    _refuse_unless(_is_cover(whole, [part for part, _ in parts]), "the parts do not cover the box")
    if piece["expression"] is None:
        return COMPARED
    tree = _tree(piece["expression"])
    left = MOST_HALVINGS
    with precision(96):
        for first, bound in parts:
            middle = _enclosed(tree, {n: ball((a + b) / 2) for n, (a, b) in zip(names, first, strict=True)})
            _refuse_unless(not middle < arb(fmpq(bound.numerator, bound.denominator)), f"below its bound on {first}")
            pending = [first]
            while pending:  # a part that was decided by its centred form is cut again
                part = pending.pop()
                value = _enclosed(tree, {n: ball(a).union(ball(b)) for n, (a, b) in zip(names, part, strict=True)})
                _refuse_unless(not value <= 0, f"it is not positive on {part}")
                if not value > 0:
                    left -= 1
                    if left < 0:
                        return OPEN
                    pending += _halves(part)
    return PROVED


MOST_HALVINGS: Final = 20_000
"""How often the parts of a box are cut again where plain balls do not decide them."""


def _halves(part: Box) -> list[Box]:
    i = max(range(len(part)), key=lambda k: part[k][1] - part[k][0])
    low, high = part[i]
    middle = (low + high) / 2
    return [[*part[:i], (low, middle), *part[i + 1 :]], [*part[:i], (middle, high), *part[i + 1 :]]]


def _is_cover(box: Box, parts: Sequence[Box]) -> bool:
    """Whether the parts are the box cut in two again and again."""
    if len(parts) <= 1:
        return list(parts) == [box]
    for i, (low, high) in enumerate(box):
        middle = (low + high) / 2
        left = [part for part in parts if part[i][1] <= middle]
        right = [part for part in parts if part[i][0] >= middle]
        if left and right and len(left) + len(right) == len(parts):
            halves = (low, middle), (middle, high)
            return all(
                _is_cover([*box[:i], half, *box[i + 1 :]], side)
                for half, side in zip(halves, (left, right), strict=True)
            )
    return False


def _box_failure(piece: Json) -> str:
    value = _ends(piece["value"])
    _refuse_unless(value is not None and value[0] <= 0, "it is positive at the point")
    if piece["expression"] is None or value is None:
        return COMPARED
    at = {name: ball(read_number(x)) for name, x in zip(piece["variables"], piece["at"], strict=True)}
    with precision(96):
        found = _enclosed(_tree(piece["expression"]), at)
    _refuse_unless(not (found > ball(value[1]) or found < ball(value[0])), "it has another value at the point")
    return PROVED if found <= 0 else OPEN


def _value(piece: Json) -> str:
    """The decimals are those of the expression; in a verdict they are derived, and here they are read alone."""
    low, high = (read_number(end) for end in piece["value"])
    with precision(MOST_BITS):
        found = exact_ends(enclosed_text(piece["expression"]))
    _refuse_unless(low <= found[0] and found[1] <= high, f"{piece['expression']} is not {piece['value']}")
    return PROVED


MOST_BITS: Final = 8192
"""Of the value of an expression without variables."""


_KINDS: Final[Mapping[str, Callable[[Json], str]]] = {
    "law": lambda _: PROVED,
    "value": _value,
    "identity": _identity,
    "inequality": _inequality,
    "difference": _difference,
    "failure": _failure,
    "boxes": _boxes,
    "box failure": _box_failure,
    "comparison": _comparison,
    "rounding": _rounding,
    "cases": _cases,
    "inverse": _inverse,
    "optimum": _optimum,
}
