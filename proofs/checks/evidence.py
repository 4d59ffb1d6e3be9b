"""What a finding rests on, written so that another program can check it: both sides, coefficients, boxes, numbers.

Nothing is kept unless somebody records: the means of proof call `note`, which costs one look at a variable otherwise.
Evidence is a JSON object with a ``kind``; its numbers are exact and its expressions are text, so that a reader needs
neither SymPy nor Arb:

* a number is "3", "-7/4" or "5*2**-60"; a ball is a pair of them, its ends rounded outward;
* an expression is arithmetic as Python writes it, over the variables listed beside it with the sets they range over.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import keyword
import linecache
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from types import FunctionType
from typing import Any, Final, TypeAlias, final

import sympy
from flint import arb, ctx, fmpq, fmpz

from dpverdict.balls import Enclosure, Real, doublings, precision
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.outcome import Sides

Evidence: TypeAlias = dict[str, Any]
"""A JSON object (hence Any)."""


@final
class Kept:
    """The evidence that was noted, in order, and how many pieces were not written because there were too many."""

    __slots__ = ("left_out", "most", "pieces")
    left_out: int
    most: int

    def __init__(self, most: int) -> None:
        self.most = most
        self.pieces: list[Evidence] = []
        self.left_out = 0

    def clear(self) -> None:
        """Begin anew."""
        self.pieces, self.left_out = [], 0


_KEPT: ContextVar[Kept | None] = ContextVar("_KEPT", default=None)


@contextmanager
def recorded(most: int = 500) -> Generator[Kept]:
    """Keep the evidence that is noted inside the block, no more than ``most`` pieces."""
    kept = Kept(most)
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def is_recorded() -> bool:
    """Whether evidence is kept, and there is room for more."""
    kept = _KEPT.get()
    return kept is not None and len(kept.pieces) < kept.most


def note(make: Callable[..., Evidence], *given: object, **named: object) -> None:
    """Keep the evidence that ``make(*given, **named)`` writes, if anybody records."""
    kept = _KEPT.get()
    if kept is None:
        return
    if len(kept.pieces) < kept.most:
        kept.pieces.append(make(*given, **named))
    else:
        kept.left_out += 1


@final
class Expressions:
    """SymPy expressions as text: every symbol under a name that is an identifier, and of its own.

    >>> made = Expressions()
    >>> made.text(sympy.sqrt(sympy.Symbol("lambda", positive=True)) / 2), made.variables()
    ('sqrt(lambda_)/2', {'lambda_': 'positive real'})
    """

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}  # Any: SymPy ships no types

    def text(self, expression: object) -> str:
        """The expression as text."""
        made = sympy.sympify(expression)
        for symbol in sorted(made.atoms(sympy.Symbol, sympy.Dummy), key=lambda s: s.sort_key()):
            self._name(symbol)
        plain = {symbol: sympy.Symbol(name) for symbol, name in self._names.items()}
        return str(sympy.sstr(made.xreplace(plain), full_prec=True))

    def variables(self) -> dict[str, str]:
        """The names used so far, and the set each ranges over."""
        return {name: _set(symbol) for symbol, name in self._names.items()}

    def _name(self, symbol: Any) -> None:
        if symbol in self._names:
            return
        plain = re.sub(r"\W+", "_", str(symbol), flags=re.ASCII).strip("_") or "v"
        plain = f"v{plain}" if plain[0].isdigit() else plain
        plain += "_" if keyword.iskeyword(plain) or plain in _RESERVED else ""
        name, used = plain, set(self._names.values())
        while name in used:
            name += "_"
        self._names[symbol] = name


_RESERVED = {"E", "I", "pi", "oo", "zoo", "nan", "Sum", "Max", "Min", "Abs"}


def _set(symbol: Any) -> str:
    kind = "integer" if symbol.is_integer else "real"
    return f"positive {kind}" if symbol.is_positive else f"nonnegative {kind}" if symbol.is_nonnegative else kind


def number(value: Fraction | int) -> str:
    """An exact number: "3", "-7/4", or "5*2**-60" for a dyadic number whose denominator is long."""
    exact = Fraction(value)
    top, bottom = exact.numerator, exact.denominator
    if bottom == 1 and abs(top) < 10**40:
        return str(top)
    if bottom > 10**12 and bottom & (bottom - 1) == 0:
        return f"{top}*2**-{bottom.bit_length() - 1}"
    if bottom == 1 and (zeros := (top & -top).bit_length() - 1) > 64:
        return f"{top >> zeros}*2**{zeros}"
    return str(top) if bottom == 1 else f"{top}/{bottom}"


def dyadic(point: arb) -> str:
    """An exact ball, the end of another, as a number."""
    mantissa, exponent = map(int, point.man_exp())
    if -40 <= exponent <= 0:
        return number(Fraction(mantissa, 2**-exponent))
    return (
        str(mantissa << exponent) if 0 < exponent < 64 else f"{mantissa}*2**{exponent}" if exponent else str(mantissa)
    )


def ends(value: arb, bits: int = 64) -> list[str]:
    """The two ends of a ball, rounded outward."""
    with precision(bits):
        return [dyadic(value.lower()), dyadic(value.upper())]


def written(value: object) -> object | None:
    """A number, a ball, a truth value, a text, or a collection of them, as JSON; None for anything else."""
    match value:
        case None:
            return {"none": True}
        case bool() | str():
            return value
        case int() | Fraction():
            return number(value)
        case float():
            return number(Fraction(value)) if abs(value) < float("inf") else None
        case fmpz():
            return number(int(value))
        case fmpq():
            return number(Fraction(int(value.p), int(value.q)))
        case arb():
            return ends(value, max(64, ctx.prec)) if value.is_finite() else None
        case Real():
            return number(value.rational) if value.rational is not None else None
        case Enclosure():
            return [number(Fraction(value.lower)), number(Fraction(value.upper))]
        case Mapping():
            parts = [written(list(value.keys())), written(list(value.values()))]
            return None if None in parts else {"keys": parts[0], "values": parts[1]}
        case set() | frozenset():
            return _all_written(sorted(value, key=repr), "set")
        case range() | tuple() | list():
            return _all_written(value, "list")
        case Surd():
            return number(value.rational) if value.coefficient == 0 else _irrational(value)
        case sympy.Rational():
            return number(Fraction(int(value.p), int(value.q)))
        case sympy.Expr() if value.is_number:
            return {"expression": sympy.sstr(value)}
        case _:
            item = getattr(value, "item", None)  # a number of NumPy
            return written(item()) if callable(item) and getattr(value, "size", 0) == 1 else None


def _irrational(value: Surd) -> list[str]:
    with precision(128):
        return ends(value.real().ball(), 128)


def _all_written(values: Iterable[object], name: str) -> object | None:
    made = [written(one) for one in values]
    return None if any(one is None for one in made) else {name: made}


def real_ends(left: Real, right: Real) -> tuple[object, object]:
    """Two numbers, as exact numbers or as balls narrow enough to tell them apart (wide ones if nothing does)."""
    if left.rational is not None and right.rational is not None:
        return number(left.rational), number(right.rational)
    for bits in doublings(64, 1 << 13):
        with precision(bits):
            a, b = left.ball(), right.ball()
            if a < b or a > b:
                return ends(a, bits), ends(b, bits)
    with precision(64):
        return ends(left.ball()), ends(right.ball())


_FUNCTIONS = ("sqrt", "exp", "log", "erf", "erfc", "sin", "cos", "atan", "asin", "acos")


@final
class Traced:
    """A ball that remembers how it was computed: so what a function does on a box can be written as an expression.

    Arithmetic with numbers and balls gives another; functions of balls that are not listed here do not exist, and a
    computation that needs them is not traced. A ball from elsewhere, such as that of pi, enters as its two ends.
    """

    __slots__ = ("text", "value")
    text: str
    value: arb

    def __init__(self, value: arb, text: str) -> None:
        self.value, self.text = value, text

    def __add__(self, other: Any) -> Traced:  # Any: any number that a ball takes
        return self._joined("+", other, self.value + _value(other))

    def __radd__(self, other: Any) -> Traced:
        return _traced(other) + self

    def __sub__(self, other: Any) -> Traced:
        return self._joined("-", other, self.value - _value(other))

    def __rsub__(self, other: Any) -> Traced:
        return _traced(other) - self

    def __mul__(self, other: Any) -> Traced:
        return self._joined("*", other, self.value * _value(other))

    def __rmul__(self, other: Any) -> Traced:
        return _traced(other) * self

    def __truediv__(self, other: Any) -> Traced:
        return self._joined("/", other, self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Traced:
        return _traced(other) / self

    def __pow__(self, power: int) -> Traced:
        if not isinstance(power, int):
            raise TypeError("only whole powers are traced")
        return Traced(self.value**power, f"({self.text})**{power}")

    def __neg__(self) -> Traced:
        return Traced(-self.value, f"(-{self.text})")

    def __getattr__(self, name: str) -> Any:  # a function of no arguments
        if name not in _FUNCTIONS:
            raise AttributeError(name)
        return lambda: Traced(getattr(self.value, name)(), f"{name}({self.text})")

    def contains(self, point: arb) -> bool:
        """Whether the ball holds a point: a function may ask on which part of the box it is."""
        return bool(self.value.contains(point))

    def _joined(self, sign: str, other: Any, value: arb) -> Traced:
        return Traced(value, f"({self.text} {sign} {_traced(other).text})")


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Traced) else other


def _traced(other: Any) -> Traced:
    if isinstance(other, Traced):
        return other
    if isinstance(other, int):
        return Traced(arb(other), f"({other})" if other < 0 else str(other))
    if isinstance(other, fmpz | fmpq):
        return Traced(arb(other), f"({other})")
    if isinstance(other, arb):
        low, high = ends(other, 128)
        return Traced(other, f"({low})" if low == high else f"ball({low}, {high})")
    raise TypeError(f"{other!r} is not traced")


def variable(name: str, value: arb) -> Traced:
    """A variable of a box, with the ball of its side."""
    return Traced(value, name)


SIGNS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Eq: "=",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
"""The relations that are evidence, as Python's syntax has them and as they are written."""


def sides_of(function: object) -> Sides:
    """What a function of one case asks, read off its source: the sides of every comparison that it joins by "and"."""
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, FunctionType):
        return ()
    code = function.__code__
    columns = [start for _, _, start, _ in code.co_positions() if start is not None]
    for line, column, body in _lambdas(code.co_filename):
        if line == code.co_firstlineno and column in columns:
            parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
            return tuple(_compared(part) for part in parts)
    if function.__name__ == "<lambda>":
        return ()
    words = " ".join((function.__doc__ or function.__name__).split())
    return ((words, "", ""),)


def _compared(part: ast.expr) -> tuple[str, str, str]:
    if isinstance(part, ast.Compare) and len(part.ops) == 1 and type(part.ops[0]) in SIGNS:
        return ast.unparse(part.left), SIGNS[type(part.ops[0])], ast.unparse(part.comparators[0])
    return ast.unparse(part), "", ""


@functools.cache
def _lambdas(file: str) -> list[tuple[int, int, ast.expr]]:
    """First line of every lambda of a file, the column at which what it returns begins, and that expression."""
    found: list[tuple[int, int, ast.expr]] = []
    with contextlib.suppress(SyntaxError):  # of a file that changed after it was read
        for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
            if isinstance(node, ast.Lambda):
                found.append((node.lineno, node.body.col_offset, node.body))
    return found
