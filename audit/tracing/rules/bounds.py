"""Intervals of what an elementwise function gives, rounded outward: numbers are the floats they are, exactly.

Each function takes intervals (low, high, missing) of one shape, `missing` saying where NaN is possible, and gives one.
An infinite end means that nothing bounds the number, and that it may be infinite itself. A number that is missing for
certain has low = inf and high = -inf.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from dpverdict.audit.tracing.rules.facts import Flags, Floats

MOST_EXACT: Final = 4096
"""Numbers that are rounded by exact arithmetic; of more, each is moved to the next float outward."""


class Interval(NamedTuple):
    """Bounds of one shape."""

    low: Floats
    high: Floats
    missing: Flags

    @staticmethod
    def of(low: Any, high: Any, missing: Any = False) -> Interval:
        """Bounds of the shape that all three have together."""
        ends = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64), np.asarray(missing))
        return Interval(ends[0].copy(), ends[1].copy(), ends[2].astype(np.bool_))


def constant(value: Any) -> Interval:
    """A number that is public: its float64 from both sides."""
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        flat = [int(one) for one in array.ravel().tolist()]
        low = np.array([rounded_down(Fraction(one)) for one in flat], dtype=np.float64).reshape(array.shape)
        high = np.array([_up(Fraction(one)) for one in flat], dtype=np.float64).reshape(array.shape)
        return Interval.of(low, high)
    given = array.astype(np.float64)
    return Interval.of(np.where(np.isnan(given), -np.inf, given), np.where(np.isnan(given), np.inf, given),
                       np.isnan(given))  # fmt: skip


def rounded_down(exact: Fraction) -> float:
    """The largest float that is not above a number."""
    try:
        near = float(exact)
    except OverflowError:
        return -np.inf if exact < 0 else float(np.finfo(np.float64).max)
    if not np.isfinite(near):
        return -np.inf if exact < 0 else float(np.finfo(np.float64).max)
    return near if Fraction(near) <= exact else float(np.nextafter(near, -np.inf))


def _up(exact: Fraction) -> float:
    return -rounded_down(-exact)


def directed(operate: Callable[[Any, Any], Any], one: Floats, other: Floats, *, up: bool) -> Floats:
    """one op other, rounded towards +inf if ``up``, else towards -inf; 0 * inf is 0, and inf - inf is the far end."""
    one, other = np.broadcast_arrays(one, other)
    with np.errstate(all="ignore"):
        near = np.asarray(operate(one, other), dtype=np.float64)
    outward = np.inf if up else -np.inf
    near = np.where(np.isnan(near), 0.0 if operate in (np.multiply,) else outward, near)
    finite = np.isfinite(one) & np.isfinite(other)
    if near.size > MOST_EXACT:
        return np.where(finite & np.isfinite(near), np.nextafter(near, outward), near)
    found = near.copy()
    for place in zip(*np.nonzero(finite), strict=True) if near.ndim else ([()] if finite else []):
        a, b = Fraction(float(one[place])), Fraction(float(other[place]))
        if operate is np.true_divide and b == 0:
            continue
        exact = _EXACT[operate](a, b)
        found[place] = _up(exact) if up else rounded_down(exact)
    return found


_EXACT: Final[dict[Any, Callable[[Fraction, Fraction], Fraction]]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.true_divide: lambda a, b: a / b,
}


def add(a: Interval, b: Interval) -> Interval:
    """The sum."""
    opposite = ((a.high == np.inf) & (b.low == -np.inf)) | ((a.low == -np.inf) & (b.high == np.inf))
    low = directed(np.add, a.low, b.low, up=False)
    return Interval.of(low, directed(np.add, a.high, b.high, up=True), a.missing | b.missing | opposite)


def negative(a: Interval) -> Interval:
    """The negative."""
    return Interval.of(-a.high, -a.low, a.missing)


def subtract(a: Interval, b: Interval) -> Interval:
    """The difference."""
    return add(a, negative(b))


def _contains_zero(a: Interval) -> Flags:
    found: Flags = (a.low <= 0) & (a.high >= 0)
    return found


def _unbounded(a: Interval) -> Flags:
    found: Flags = np.isinf(a.low) | np.isinf(a.high)
    return found


def _of_corners(operate: Callable[[Any, Any], Any], a: Interval, b: Interval, missing: Any) -> Interval:
    pairs = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    low = np.minimum.reduce([directed(operate, x, y, up=False) for x, y in pairs])
    high = np.maximum.reduce([directed(operate, x, y, up=True) for x, y in pairs])
    return Interval.of(low, high, missing)


def multiply(a: Interval, b: Interval) -> Interval:
    """The product; 0 times an infinite number is NaN."""
    undefined = (_contains_zero(a) & _unbounded(b)) | (_contains_zero(b) & _unbounded(a))
    return _of_corners(np.multiply, a, b, a.missing | b.missing | undefined)


def divide(a: Interval, b: Interval) -> Interval:
    """The quotient: where the divisor may be 0, nothing bounds it, and 0/0 is NaN."""
    zero = np.broadcast_to(_contains_zero(b), np.broadcast_shapes(a.low.shape, b.low.shape))
    undefined = (zero & _contains_zero(a)) | (_unbounded(a) & _unbounded(b))
    safe = Interval.of(np.where(zero, 1.0, b.low), np.where(zero, 1.0, b.high), b.missing)
    found = _of_corners(np.true_divide, a, safe, a.missing | b.missing | undefined)
    # an infinite divisor gives 0, also where both are infinite and NaN is noted
    low = np.where(_unbounded(b), np.minimum(found.low, 0.0), found.low)
    high = np.where(_unbounded(b), np.maximum(found.high, 0.0), found.high)
    return Interval.of(np.where(zero, -np.inf, low), np.where(zero, np.inf, high), found.missing)


def absolute(a: Interval) -> Interval:
    """The absolute value."""
    low = np.where(_contains_zero(a), 0.0, np.minimum(np.abs(a.low), np.abs(a.high)))
    return Interval.of(low, np.maximum(np.abs(a.low), np.abs(a.high)), a.missing)


def square(a: Interval) -> Interval:
    """The square."""
    size = absolute(a)
    low, high = (
        directed(np.multiply, size.low, size.low, up=False),
        directed(np.multiply, size.high, size.high, up=True),
    )
    return Interval.of(low, high, a.missing)


def minimum(a: Interval, b: Interval) -> Interval:
    """The smaller one; NaN where one is NaN."""
    return Interval.of(np.minimum(a.low, b.low), np.minimum(a.high, b.high), a.missing | b.missing)


def maximum(a: Interval, b: Interval) -> Interval:
    """The larger one; NaN where one is NaN."""
    return Interval.of(np.maximum(a.low, b.low), np.maximum(a.high, b.high), a.missing | b.missing)


def fmin(a: Interval, b: Interval) -> Interval:
    """The smaller one, or the other one where one is NaN."""
    return _or_the_other(minimum(a, b), a, b)


def fmax(a: Interval, b: Interval) -> Interval:
    """The larger one, or the other one where one is NaN."""
    return _or_the_other(maximum(a, b), a, b)


def _or_the_other(found: Interval, a: Interval, b: Interval) -> Interval:
    low = np.where(a.missing, np.minimum(found.low, b.low), found.low)
    high = np.where(a.missing, np.maximum(found.high, b.high), found.high)
    low = np.where(b.missing, np.minimum(low, a.low), low)
    high = np.where(b.missing, np.maximum(high, a.high), high)
    return Interval.of(low, high, a.missing & b.missing)


def hull(a: Interval, b: Interval) -> Interval:
    """Either of the two."""
    return Interval.of(np.minimum(a.low, b.low), np.maximum(a.high, b.high), a.missing | b.missing)


def increasing(
    function: Callable[[Any], Any], *, exact: bool, least: float = -np.inf
) -> Callable[[Interval], Interval]:
    """A function that never falls, NaN below ``least``; widened by four floats on each side unless it is exact."""

    def found(a: Interval) -> Interval:
        with np.errstate(all="ignore"):
            low = np.asarray(function(np.maximum(a.low, least)), dtype=np.float64)
            high = np.asarray(function(np.maximum(a.high, least)), dtype=np.float64)
        for _ in range(0 if exact else 4):
            low = np.where(np.isfinite(low), np.nextafter(low, -np.inf), low)
            high = np.where(np.isfinite(high), np.nextafter(high, np.inf), high)
        return Interval.of(low, high, a.missing | (a.low < least))

    return found


def wave(function: Callable[[Any], Any], offset: float) -> Callable[[Interval], Interval]:
    """Sine and cosine: of its ends where it rises or falls in between; to 1, or from -1, where it turns once.

    It turns at the numbers offset + k pi, at 1 for an even k, which are told apart up to 1e-9. NaN of what is infinite.
    """

    def found(a: Interval) -> Interval:
        with np.errstate(all="ignore"):
            turns = [(end - offset) / np.pi for end in (a.low, a.high)]
            first, last = np.floor(turns[0] - 1e-9), np.floor(turns[1] + 1e-9)
            small = (np.abs(a.low) < 1e5) & (np.abs(a.high) < 1e5) & (a.low <= a.high)
            ends = [np.asarray(function(end), dtype=np.float64) for end in (a.low, a.high)]
            top, bottom = small & (last - first <= 1), small & (last - first <= 1)
            top &= (first == last) | (last % 2 != 0)
            bottom &= (first == last) | (last % 2 == 0)
        low, high = np.minimum(*ends), np.maximum(*ends)
        for _ in range(4):
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        low, high = np.where(bottom, np.maximum(low, -1.0), -1.0), np.where(top, np.minimum(high, 1.0), 1.0)
        return Interval.of(low, high, a.missing | _unbounded(a))

    return found


def truth(a: Interval, *others: Interval) -> Interval:
    """A truth value."""
    shape = np.broadcast_shapes(a.low.shape, *(one.low.shape for one in others))
    return Interval.of(np.zeros(shape), np.ones(shape))


def _of_truths(always: Any, never: Any) -> Interval:
    """A truth value that is true for every record, false for every one, or either."""
    always, never = np.broadcast_arrays(np.asarray(always), np.asarray(never))
    return Interval.of(np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0))


def less(a: Interval, b: Interval) -> Interval:
    """Whether a < b: of two ranges that do not overlap it is known, and false of NaN."""
    return _of_truths((a.high < b.low) & ~(a.missing | b.missing), a.low >= b.high)


def less_equal(a: Interval, b: Interval) -> Interval:
    """Whether a <= b."""
    return _of_truths((a.high <= b.low) & ~(a.missing | b.missing), a.low > b.high)


def equal(a: Interval, b: Interval) -> Interval:
    """Whether a == b, which is false of NaN."""
    same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low) & ~(a.missing | b.missing)
    return _of_truths(same & np.isfinite(a.low), (a.high < b.low) | (a.low > b.high))


def is_nan(a: Interval) -> Interval:
    """Whether a is NaN: of what is never missing it is false, and true of what has no number at all."""
    return _of_truths(a.missing & (a.low > a.high), ~a.missing)


def opposite(a: Interval) -> Interval:
    """Not a, of a truth value."""
    return _of_truths(_false(a), _true(a))


def conjunction(a: Interval, b: Interval) -> Interval:
    """a and b, of truth values."""
    return _of_truths(_true(a) & _true(b), _false(a) | _false(b))


def disjunction(a: Interval, b: Interval) -> Interval:
    """a or b, of truth values."""
    return _of_truths(_true(a) | _true(b), _false(a) & _false(b))


def _true(a: Interval) -> Flags:
    found: Flags = (a.low > 0) & ~a.missing
    return found


def _false(a: Interval) -> Flags:
    found: Flags = a.high <= 0
    return found


_WAVE: Final = "between its ends where it rises or falls, to 1 or from -1 where it turns once; NaN of what is infinite"

ELEMENTWISE: Final[dict[str, tuple[Callable[..., Interval], str]]] = {
    "add": (add, "ends of the sum"),
    "subtract": (subtract, "ends of the difference"),
    "multiply": (multiply, "the largest and the smallest product of ends"),
    "true_divide": (divide, "the largest and the smallest quotient of ends; unbounded where the divisor may be 0"),
    "negative": (negative, "ends exchanged"),
    "positive": (lambda a: a, "the same"),
    "absolute": (absolute, "sizes of the ends; from 0 where 0 lies between"),
    "fabs": (absolute, "as absolute"),
    "square": (square, "squares of the sizes"),
    "minimum": (minimum, "never falls in either; NaN stays NaN"),
    "maximum": (maximum, "never falls in either; NaN stays NaN"),
    "fmin": (fmin, "the other one in place of NaN"),
    "fmax": (fmax, "the other one in place of NaN"),
    "sqrt": (increasing(np.sqrt, exact=False, least=0.0), "never falls; NaN below 0"),
    "cbrt": (increasing(np.cbrt, exact=False), "never falls"),
    "exp": (increasing(np.exp, exact=False), "never falls"),
    "expm1": (increasing(np.expm1, exact=False), "never falls"),
    "log": (increasing(np.log, exact=False, least=0.0), "never falls; NaN below 0"),
    "log2": (increasing(np.log2, exact=False, least=0.0), "never falls; NaN below 0"),
    "log10": (increasing(np.log10, exact=False, least=0.0), "never falls; NaN below 0"),
    "log1p": (increasing(np.log1p, exact=False, least=-1.0), "never falls; NaN below -1"),
    "tanh": (increasing(np.tanh, exact=False), "never falls"),
    "arctan": (increasing(np.arctan, exact=False), "never falls"),
    "floor": (increasing(np.floor, exact=True), "never falls"),
    "ceil": (increasing(np.ceil, exact=True), "never falls"),
    "rint": (increasing(np.rint, exact=True), "never falls"),
    "trunc": (increasing(np.trunc, exact=True), "never falls"),
    "sign": (increasing(np.sign, exact=True), "never falls"),
    "sin": (wave(np.sin, np.pi / 2), _WAVE),
    "cos": (wave(np.cos, 0.0), _WAVE),
    "less": (less, "known where the two ranges do not overlap"),
    "less_equal": (less_equal, "known where the two ranges do not overlap"),
    "greater": (lambda a, b: less(b, a), "known where the two ranges do not overlap"),
    "greater_equal": (lambda a, b: less_equal(b, a), "known where the two ranges do not overlap"),
    "equal": (equal, "false where the two ranges do not overlap"),
    "not_equal": (lambda a, b: opposite(equal(a, b)), "true where the two ranges do not overlap"),
    "logical_and": (conjunction, "known where one is always false, or both always true"),
    "logical_or": (disjunction, "known where one is always true, or both always false"),
    "logical_not": (opposite, "the opposite"),
    "bitwise_and": (conjunction, "as logical_and"),
    "bitwise_or": (disjunction, "as logical_or"),
    "invert": (opposite, "as logical_not"),
    "isnan": (is_nan, "false where nothing is missing"),
    **dict.fromkeys(("isfinite", "isinf", "logical_xor", "bitwise_xor"), (truth, "true or false")),
}  # fmt: skip
"""How each elementwise function of NumPy that is covered carries bounds on, and why that holds."""
