"""Exact numbers as text that reads well and is read back exactly."""

from __future__ import annotations

import contextlib
import decimal
from decimal import Decimal
from fractions import Fraction

_DIGITS = 1100  # every float64 has at most this many decimal digits
_SHORT = 24


def exact_text(value: Fraction) -> str:
    """A rational number in decimal where that is short, else the shortest exact form; ``Fraction`` reads it back.

    >>> exact_text(Fraction(1, 10)), exact_text(Fraction(1, 10**6)), exact_text(Fraction(2, 3)), exact_text(Fraction(3))
    ('0.1', '1e-06', '2/3', '3')
    """
    ways = []
    with contextlib.suppress(OverflowError):
        ways.append(repr(float(value)).removesuffix(".0"))
    context = decimal.Context(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not context.flags[decimal.Inexact]:
        ways.append(str(quotient.normalize(context)).lower())
    exact = sorted((way for way in ways if Fraction(way) == value), key=len)
    return exact[0] if exact and len(exact[0]) <= _SHORT else min([*exact, str(value)], key=len)


def short_text(value: Fraction) -> str:
    """A rational number to six digits, as far as a float64 can hold it.

    >>> short_text(Fraction(2, 3)), short_text(Fraction(10) ** 309)
    ('0.666667', '1e+309')
    """
    with contextlib.suppress(OverflowError):
        return f"{float(value):g}"
    return exact_text(value)
