"""Exact numbers and times as text that reads well and is read back exactly."""

from __future__ import annotations

import contextlib
import decimal as decimals
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final

from dpverdict.balls import Enclosure, exactly
from dpverdict.errors import InvalidValue

_DIGITS = 1100  # every float64 has at most this many decimal digits
_SHORT = 24


def whole_number(text: str, name: str, *, at_least: int, at_most: int | None = None) -> int:
    """A whole number, also in the form ``1e6``.

    Raises:
        InvalidValue: not a number, not whole, too small or too large.

    >>> whole_number("1e6", "samples", at_least=1)
    1000000
    """
    number = exactly(text, name=name)
    if number.denominator != 1 or number < at_least:
        raise InvalidValue(name, text, f"a whole number >= {at_least}", f"give for example {max(at_least, 100)}")
    if at_most is not None and number > at_most:
        raise InvalidValue(name, text, f"a whole number <= {at_most}", "this is more than can be done or shown")
    return int(number)


def time_stamp(moment: datetime) -> str:
    """A time as a document has it, to the second.

    >>> time_stamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_in_words(moment: datetime | str) -> str:
    """A time, or its `time_stamp`, as a page has it.

    >>> time_in_words("2026-01-02T03:04:05Z")
    '2026-01-02 03:04:05 UTC'
    """
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return read.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plain_text(value: Fraction) -> str:
    """A rational number as ``str`` writes it, of any number of digits: ``3`` or ``-1/3``.

    ``str`` itself refuses whole numbers of more than 4300 digits, as 1e5000 is.

    >>> plain_text(Fraction(-1, 3)), plain_text(Fraction(3)), len(plain_text(Fraction(10) ** 5000))
    ('-1/3', '3', 5001)
    """
    above, below = (f"{Decimal(part):f}" for part in (value.numerator, value.denominator))
    return above if value.denominator == 1 else f"{above}/{below}"


def exact_text(value: Fraction) -> str:
    """A rational number in decimal where that is short, else the shortest exact form; ``Fraction`` reads it back.

    >>> exact_text(Fraction(1, 10)), exact_text(Fraction(1, 10**6)), exact_text(Fraction(2, 3)), exact_text(Fraction(3))
    ('0.1', '1e-6', '2/3', '3')
    """
    ways = []
    with contextlib.suppress(OverflowError):
        ways.append(_plain_exponent(repr(float(value)).removesuffix(".0")))
    context = decimals.Context(prec=_DIGITS, Emin=decimals.MIN_EMIN, Emax=decimals.MAX_EMAX)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not context.flags[decimals.Inexact]:
        ways.append(str(quotient.normalize(context)).lower())
    exact = sorted((way for way in ways if Fraction(way) == value), key=len)
    return exact[0] if exact and len(exact[0]) <= _SHORT else min([*exact, plain_text(value)], key=len)


def short_text(value: Fraction) -> str:
    """A rational number to six digits, as far as a float64 can hold it.

    >>> short_text(Fraction(2, 3)), short_text(Fraction(10) ** 309)
    ('0.666667', '1e+309')
    """
    with contextlib.suppress(OverflowError):
        return rounded_text(float(value))
    return exact_text(value)


def rounded_text(number: float, digits: int = 6) -> str:
    """A float64 to that many digits, with an exponent as `decimal` and people write it.

    >>> rounded_text(1e-6), rounded_text(1 / 3, 3), rounded_text(1e300)
    ('1e-6', '0.333', '1e+300')
    """
    return _plain_exponent(f"{number:.{digits}g}")


_LONG_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+\.\d{6,}(?:e[+-]?\d+)?(?![\w.])")


def with_rounded_numbers(text: str) -> str:
    """A text with its long numbers to six digits, for people: documents have them all.

    >>> with_rounded_numbers("score <= -1.3827947658717772 (p <= 1.4880005524189592e-10)")
    'score <= -1.38279 (p <= 1.488e-10)'
    """
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.6g}", text)


def _plain_exponent(text: str) -> str:
    """The text of a float64 without zeros before its exponent: 1e-06 is 1e-6."""
    return re.sub(r"(e[+-])0+", r"\1", text)


def decimal(number: Fraction, digits: int = 12) -> str:
    """The number in decimal, rounded to nearest: for reading, not for proving.

    >>> decimal(Fraction(1, 3), 4), decimal(Fraction(10) ** 400), decimal(Fraction(1, 2))
    ('0.3333', '1e+400', '0.5')
    """
    return _quotient_text(number, digits, decimals.ROUND_HALF_EVEN)


def at_most(bound: float | Fraction, digits: int = 8) -> str:
    """An upper bound in decimal, rounded up."""
    return (
        str(bound)
        if bound in (math.inf, -math.inf)
        else _quotient_text(Fraction(bound), digits, decimals.ROUND_CEILING)
    )


def at_least(bound: float | Fraction, digits: int = 8) -> str:
    """A lower bound in decimal, rounded down."""
    return (
        str(bound) if bound in (math.inf, -math.inf) else _quotient_text(Fraction(bound), digits, decimals.ROUND_FLOOR)
    )


def _quotient_text(number: Fraction, digits: int, rounding: str) -> str:
    context = decimals.Context(prec=digits, rounding=rounding, Emin=decimals.MIN_EMIN, Emax=decimals.MAX_EMAX)
    quotient = context.divide(decimals.Decimal(number.numerator), decimals.Decimal(number.denominator))
    quotient = quotient.normalize(context)
    return f"{quotient:f}" if -5 < quotient.adjusted() < digits else f"{quotient:e}"


def shown(enclosure: Enclosure, digits: int = 8) -> str:
    """The enclosure for a reader: a single number if its ends are one, else both ends rounded outward."""
    if enclosure.lower == math.inf:
        return "infinite"
    if enclosure.lower == enclosure.upper:  # both are rounded outward, so the number is this float
        return f"{enclosure.lower:.17g} exactly"
    return enclosure.show(digits)
