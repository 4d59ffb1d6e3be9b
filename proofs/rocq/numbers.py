"""The numbers that a certificate compares, as formulas over the rational numbers of Rocq, which it decides by counting.

A ball is two rational numbers, and a comparison of balls one of those ends that decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from dpverdict.proofs.rocq.terms import NotTranslated

MOST_DIGITS: Final = 15_000
MOST_BITS: Final = 20_000

_DENIED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
_WRITTEN: Final = {"<": "{} < {}", "<=": "{} <= {}", "=": "{} == {}"}


def number(text: object) -> str:
    """A number as Rocq reads it: "7/4" is (7 # 4), and "5*2**-60" is (5 # 2^60).

    Raises:
        NotTranslated: it is none, or too long.
    """
    if not isinstance(text, str) or len(text) > MOST_DIGITS:
        raise NotTranslated("what is no number" if not isinstance(text, str) else "a number that is too long")
    head, _, power = text.partition("*2**")
    try:
        value, bits = Fraction(head), int(power or 0)
    except (ValueError, ZeroDivisionError):
        raise NotTranslated("what is no number") from None
    if abs(bits) > MOST_BITS:
        raise NotTranslated("a number that is too long")
    if bits < 0 and value.denominator == 1:
        return f"({value.numerator} # 2^{-bits})"
    value *= Fraction(2) ** bits
    return f"({value.numerator} # {value.denominator})"


def _ends(value: Any) -> tuple[str, str]:
    low, high = value if isinstance(value, list) and len(value) == 2 else (value, value)
    return number(low), number(high)


def compared(left: Any, sign: str, right: Any, *, holds: bool) -> str:
    """That a comparison of two numbers or balls holds, or does not.

    Raises:
        NotTranslated: it is of other things, or balls that overlap do not say it.
    """
    if type(left) is bool and type(right) is bool and sign in ("=", "!="):
        made = f"{str(left).lower()} = {str(right).lower()}"
        return made if holds is (sign == "=") else f"~ ({made})"
    if isinstance(left, dict) or isinstance(right, dict):
        raise NotTranslated("a comparison of sets or tables")
    if sign not in _DENIED:
        raise NotTranslated(f"the comparison {sign}")
    if not holds:
        sign = _DENIED[sign]
    a, b = _ends(left), _ends(right)
    if sign in (">", ">="):
        a, b, sign = b, a, sign.replace(">", "<")
    if sign == "<" or sign == "<=":
        return _WRITTEN[sign].format(a[1], b[0])
    exact = a[0] == a[1] and b[0] == b[1]
    if sign == "=":
        if not exact:
            raise NotTranslated("an equality that balls do not decide")
        return _WRITTEN["="].format(a[0], b[0])
    if exact:
        return f"~ ({a[0]} == {b[0]})"
    return f"({a[1]} < {b[0]} \\/ {b[1]} < {a[0]})"


def comparison(piece: Mapping[str, Any]) -> str:
    """That one of the signs of a comparison is right, or none.

    Raises:
        NotTranslated: of what `compared` says.
    """
    signs = list(piece["signs"])
    if not piece["holds"]:
        return _joined(" /\\ ", [compared(piece["left"], s, piece["right"], holds=False) for s in signs])
    strict = [f"{s}=" for s in signs if s != "="] if "=" in signs else []
    return _joined(" \\/ ", [compared(piece["left"], s, piece["right"], holds=True) for s in strict or signs])


def rounding(piece: Mapping[str, Any]) -> str:
    """That a printed decimal is within half a unit of its last place, or is not."""
    whole, _, places = piece["printed"].partition(".")
    printed, unit = number(f"{whole}{places}/{10 ** len(places)}"), f"(1 # {2 * 10 ** len(places)})"
    low, high = _ends(piece["value"])
    if piece["holds"]:
        return f"{printed} - {unit} <= {low} /\\ {high} <= {printed} + {unit}"
    return f"{high} < {printed} - {unit} \\/ {printed} + {unit} < {low}"


def _joined(sign: str, formulas: list[str]) -> str:
    if not formulas:
        raise NotTranslated("a comparison without a sign")
    return sign.join(f"({one})" for one in formulas)


def matrix(rows: Any, read: Callable[[object], str] = number) -> str:
    """A list of lists."""
    return "[" + "; ".join(vector(row, read) for row in rows) + "]"


def vector(entries: Any, read: Callable[[object], str] = number) -> str:
    """A list of numbers."""
    return "[" + "; ".join(read(one) for one in entries) + "]"
