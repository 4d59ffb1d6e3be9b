"""Exact numbers and times as text that reads well and is read back exactly."""

from __future__ import annotations

import contextlib
import decimal as decimals
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from dpverdict.balls import Enclosure, exactly
from dpverdict.errors import InvalidValue

_DIGITS = 1100  # every float64 has at most this many decimal digits
_SHORT = 24
_Number: TypeAlias = float | Fraction | Decimal


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
    return about(number, digits)


DIGITS: Final = 4
"""That a person reads of a number, where no more are needed to tell it from what it is compared with."""

DETAILED: Final = 8
"""That tables of details and pages have; documents have them all."""

MOST_DIGITS: Final = 20
_MILLION: Final = 10**6
_SMALL: Final = 1e-300


def at_most(bound: _Number | Enclosure, digits: int = DIGITS) -> str:
    """An upper bound in decimal, rounded up: of a number that is enclosed, the upper end.

    The whole part of a number below a million is shown in full.

    >>> from dpverdict.balls import ball
    >>> at_most(1 / 3), at_most(1063, 3), at_most(Enclosure(ball(1 - 2.0**-52), ball(1 - 2.0**-53)))
    ('0.3334', '1063', '1')
    """
    return _on_one_side(_ends(bound)[1], digits, decimals.ROUND_CEILING)


def at_least(bound: _Number | Enclosure, digits: int = DIGITS) -> str:
    """A lower bound in decimal, rounded down: as `at_most`.

    >>> from dpverdict.balls import ball
    >>> at_least(2 / 3), at_least(Enclosure(ball(1 - 2.0**-52), ball(1 - 2.0**-53)))
    ('0.6666', '0.9999')
    """
    return _on_one_side(_ends(bound)[0], digits, decimals.ROUND_FLOOR)


def about(number: _Number | Enclosure, digits: int = DIGITS) -> str:
    """A number rounded to nearest, of an enclosed one its upper end: it is no bound.

    >>> about(2 / 3), about(Fraction(10**6)), about(123456.7)
    ('0.6667', '1e+6', '123457')
    """
    return _on_one_side(_ends(number)[1], digits, decimals.ROUND_HALF_EVEN)


def shown(found: Enclosure, digits: int = DIGITS) -> str:
    """An enclosed number for a reader: one number if both ends are that in these digits, else both, rounded outward.

    >>> from dpverdict.balls import ball
    >>> shown(Enclosure(ball(0.38292492), ball(0.38292493))), shown(Enclosure(ball(0.5), ball(0.625)))
    ('0.3829', '[0.5, 0.625]')
    >>> shown(Enclosure(ball(0.5), ball(0.5)))
    '0.5 exactly'
    """
    lower, upper = _ends(found)
    if lower == math.inf:
        return "infinite"
    near = about(lower, digits)
    if lower == upper and math.isfinite(lower) and Decimal(near) == lower:
        return f"{near} exactly"  # both ends are rounded outward, so the number is this one
    return near if near == about(upper, digits) else f"[{at_least(lower, digits)}, {at_most(upper, digits)}]"


def told_apart(
    found: _Number | Enclosure,
    promised: _Number | Enclosure,
    shown_as: Callable[[_Number, int], str] = at_least,
    digits: int = DIGITS,
) -> tuple[str, str]:
    """What is more than was promised, and what was promised, rounded up, with as many digits as show the difference.

    Args:
        found: what is certainly more than ``promised``; of a number that is enclosed, its lower end is shown.
        promised: a number; one that is enclosed as sharply as float64 numbers can is told in few digits if it has few.
        shown_as: how what was found is rounded: `at_least`, or `about` where the number itself is told.
        digits: the fewest.

    >>> told_apart(1.00004, 1), told_apart(2.5, 1)
    (('1.00004', '1'), ('2.5', '1'))
    """
    lowest = _ends(found)[0]
    if lowest == math.inf:
        return "infinite", _simple(promised) or at_most(promised, digits)
    simple = _simple(promised)
    pair = shown_as(lowest, digits), simple or at_most(promised, digits)
    for some in range(digits, MOST_DIGITS + 1):
        pair = shown_as(lowest, some), simple or at_most(promised, some)
        if math.inf in map(float, pair) or Decimal(pair[0]) > Decimal(pair[1]):
            break
    return pair


def within(found: _Number | Enclosure, promised: _Number | Enclosure, digits: int = DIGITS) -> tuple[str, str]:
    """What is no more than was promised, rounded up, and what was promised, rounded down, where digits show that.

    >>> within(0.03, 0.05), within(1 - 2.0**-53, 1), within(0.123449, 0.123451)
    (('0.03', '0.05'), ('1', '1'), ('0.12345', '0.12345'))
    """
    simple = _simple(promised)
    pair = at_most(found, digits), simple or at_least(promised, digits)
    for some in range(digits, MOST_DIGITS + 1):
        pair = at_most(found, some), simple or at_least(promised, some)
        if math.inf in map(float, pair) or Decimal(pair[0]) <= Decimal(pair[1]):
            break
    return pair


def _ends(number: _Number | Enclosure) -> tuple[_Number, _Number]:
    """Both ends of what is enclosed, to many digits where a float64 has few; the number itself of one that is not."""
    if not isinstance(number, Enclosure):
        return number, number
    ends = number.lower, number.upper
    if min(map(abs, ends)) >= _SMALL:
        return ends
    texts = number.show(2 * MOST_DIGITS).strip("[]").split(", ")  # as a fraction, 1e-100000 has so many digits
    lower, upper = (Decimal(text) if abs(end) < _SMALL else end for end, text in zip(ends, texts, strict=True))
    return lower, upper


def _simple(number: _Number | Enclosure) -> str | None:
    """A number of few digits that lies in an enclosure as sharp as float64 has them, which was rounded outward.

    None of a number that is not enclosed, or not so sharply.
    """
    if not isinstance(number, Enclosure) or not math.isfinite(number.upper) or 0 < abs(number.upper) < _SMALL:
        return None
    near = about(number, DETAILED)
    sharp = number.upper <= math.nextafter(math.nextafter(number.lower, math.inf), math.inf)
    return near if sharp and number.contains(Fraction(near)) else None


def _on_one_side(number: _Number, digits: int, rounding: str) -> str:
    if number in (math.inf, -math.inf):
        return str(number)
    if isinstance(number, Decimal):
        return _in_digits(number, Decimal(1), digits, rounding)
    exact = Fraction(number)
    whole = len(str(int(abs(exact)))) if abs(exact) < _MILLION else 0  # 1063 is not 1.07e+3
    return _in_digits(Decimal(exact.numerator), Decimal(exact.denominator), max(digits, whole), rounding)


def _in_digits(above: Decimal, below: Decimal, digits: int, rounding: str) -> str:
    context = decimals.Context(prec=digits, rounding=rounding, Emin=decimals.MIN_EMIN, Emax=decimals.MAX_EMAX)
    quotient = context.divide(above, below).normalize(context)
    return f"{quotient:f}" if -5 < quotient.adjusted() < digits else f"{quotient:e}"
