"""Ball arithmetic: real numbers held exactly, or enclosed to any precision.

The project says "certified" only of what comes out of this module: a `Real` is a number that can be enclosed by a ball
at every precision, an `Enclosure` is a pair of endpoints rounded outward. The balls are those of Arb (python-flint).

Two habits of the library underneath are fenced in here, and only here:

* its working precision is global, so it is changed only inside ``with precision(bits)``;
* ``float(ball)`` is the midpoint rounded to nearest and therefore bounds nothing, so `float_down` and `float_up` are
  the only functions of the project that make a bound out of a ball.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import final, overload

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dpverdict.errors import ContradictoryBounds, InvalidValue, PrecisionExhausted

Exact = int | float | Fraction | Decimal | str
"""A number that is taken at its exact value: a float is the dyadic rational it stores, ``"0.1"`` is one tenth."""

MAX_BITS = 1 << 18
"""The largest working precision tried before `PrecisionExhausted` is raised."""

MAX_DECIMAL_EXPONENT = 100_000
"""The largest decimal exponent read from a string: beyond it the exact rational would fill the memory."""


def exactly(value: Exact, *, name: str = "value") -> Fraction:
    """The exact rational that ``value`` denotes.

    Args:
        value: an int, float, Fraction, Decimal, NumPy scalar, or a string such as ``"0.1"``, ``"1e-300"`` or ``"1/3"``.
        name: what the number is called in an error message.

    Raises:
        InvalidValue: NaN, an infinity, a boolean, or anything that is not a number.

    >>> exactly("0.1"), exactly(0.1) == exactly("0.1")
    (Fraction(1, 10), False)
    """
    if isinstance(value, bool | np.bool_):
        raise InvalidValue(name, value, "a number", "a truth value is not a parameter")
    try:
        if isinstance(value, str):
            exponent = value.lower().partition("e")[2]
            if exponent and abs(int(exponent)) > MAX_DECIMAL_EXPONENT:
                remedy = f"use an exponent of at most {MAX_DECIMAL_EXPONENT} in absolute value"
                raise InvalidValue(name, value, "of moderate size", remedy)
            return Fraction(value.strip())
        number: object = value
        if isinstance(number, np.generic) or (isinstance(number, np.ndarray) and number.ndim == 0):
            number = number.item()  # a NumPy integer inside a Fraction would overflow silently
        if isinstance(number, Decimal | Rational | float):
            return Fraction(number)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError) as error:
        if isinstance(error, InvalidValue):
            raise
    remedy = "write it as an int, float, Fraction or a decimal string such as '0.1' or '1e-6'"
    if isinstance(value, str):
        comma = re.fullmatch(r"-?\d+,\d+", value.strip())
        remedy = f"write {value.replace(',', '.')}" if comma else "write a number such as 100, 0.1, 1/3 or 1e-6"
    raise InvalidValue(name, value, "a finite real number", remedy)


@contextmanager
def precision(bits: int) -> Generator[None]:
    """Work with balls of ``bits`` bits inside the block, and with the former precision after it."""
    former = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = former


def ball(value: Exact) -> arb:
    """The ball of an exact number at the current precision: its radius is 0 if the number fits."""
    if isinstance(value, int):
        return arb(value)
    if isinstance(value, float) and math.isfinite(value):
        return arb(value)  # floats convert exactly
    rational = exactly(value)
    return arb(fmpq(rational.numerator, rational.denominator))


def doublings(first: int, last: int) -> Iterator[int]:
    """first, 2 first, 4 first, ... up to ``last``: the working precisions of whatever is tried until it succeeds."""
    while first <= last:
        yield first
        first *= 2


def refine(
    evaluate: Callable[[], arb],
    *,
    bits: int = 53,
    start: int | None = None,
    max_bits: int = MAX_BITS,
    name: str = "value",
    remedy: str = "the value may be exactly 0, or the parameters are too extreme",
) -> arb:
    """Evaluate a ball at growing precision until it is accurate.

    Requires: ``evaluate()`` encloses one fixed real number at whatever the current precision is.
    Ensures: the ball returned encloses that number with a relative accuracy of at least ``bits`` bits, or is exact.

    Args:
        evaluate: computes the ball at the current precision.
        bits: relative accuracy wanted, in bits.
        start: working precision of the first attempt; ``bits + 20`` when not given.
        max_bits: the last precision tried.
        name: what is being computed, for the error message.
        remedy: what to do about it, or why it may be, for the error message.

    Raises:
        PrecisionExhausted: the ball is still too wide at ``max_bits``.
    """
    for working in doublings(bits + 20 if start is None else start, max_bits):
        with precision(working):
            value = evaluate()
        if value.is_exact() or value.rel_accuracy_bits() >= bits:
            return value
    raise PrecisionExhausted(name, max_bits, remedy)


def float_down(value: arb) -> float:
    """The largest float64 that is certainly <= every point of the ball."""
    return _round_down(value.lower())


def float_up(value: arb) -> float:
    """The smallest float64 that is certainly >= every point of the ball."""
    return -_round_down((-value).lower()) + 0.0  # not the negative zero


def _round_down(point: arb) -> float:
    nearest = float(point)
    while arb(nearest) > point:
        nearest = math.nextafter(nearest, -math.inf)
    return nearest


@final
class Real:
    """A real number that can be enclosed by a ball at every precision.

    Either a rational number, held exactly, or a function that evaluates the number as a ball at the current precision
    (a square root, a sum of square roots, the value of a formula).

    >>> Real.of("0.5").rational, Real.of(2).sqrt().rational
    (Fraction(1, 2), None)
    """

    __slots__ = ("_evaluate", "_kept", "rational")
    rational: Fraction | None

    def __init__(self, evaluate: Callable[[], arb], rational: Fraction | None = None) -> None:
        self._evaluate = evaluate
        self._kept: tuple[int, arb] | None = None
        self.rational = rational

    @staticmethod
    def of(value: Exact | Real, *, name: str = "value") -> Real:
        """The exact number that ``value`` denotes (see `exactly`)."""
        if isinstance(value, Real):
            return value
        rational = exactly(value, name=name)
        return Real(lambda: ball(rational), rational)

    def ball(self) -> arb:
        """An enclosure of the number at the current precision."""
        if self._kept is None or self._kept[0] != ctx.prec:
            self._kept = (ctx.prec, self._evaluate())
        return self._kept[1]

    def sqrt(self) -> Real:
        """The square root; rational if the number is the square of a rational number."""
        if self.rational is not None and self.rational >= 0:
            top, bottom = math.isqrt(self.rational.numerator), math.isqrt(self.rational.denominator)
            if (top * top, bottom * bottom) == self.rational.as_integer_ratio():
                return Real.of(Fraction(top, bottom))
        return Real(lambda: self.ball().sqrt())

    def times(self, factor: Fraction) -> Real:
        """factor * the number; rational if the number is, or if the factor is 0."""
        if self.rational is not None:
            return Real.of(factor * self.rational)
        return Real.of(0) if factor == 0 else Real(lambda: ball(factor) * self.ball())

    def nearest(self) -> float:
        """A float64 within one unit in the last place of the number; it bounds nothing."""
        if self.rational is not None:
            return _nearest_float(self.rational)
        return float(refine(self.ball, bits=60))

    def __repr__(self) -> str:
        if self.rational is not None:
            return f"Real({self.rational})"
        try:
            return f"Real({self.nearest()!r}...)"
        except PrecisionExhausted:  # 0, perhaps: a message that shows the number is no place to fail
            with precision(64):
                return f"Real({self.ball()})"


def _nearest_float(rational: Fraction) -> float:
    try:
        return float(rational)
    except OverflowError:
        return math.inf if rational > 0 else -math.inf


def compare(left: Real, right: Real, *, max_bits: int = 1 << 13) -> int | None:
    """The sign of ``left - right``: -1, 0 or 1 when it is certain, None when ``max_bits`` bits do not decide it.

    Two rational numbers are always decided, exactly.
    """
    if left.rational is not None and right.rational is not None:
        return (left.rational > right.rational) - (left.rational < right.rational)
    for bits in doublings(64, max_bits):
        with precision(bits):
            a, b = left.ball(), right.ball()
            if a < b:
                return -1
            if a > b:
                return 1
    return None


def at_most(left: Real, right: Real) -> bool | None:
    """Whether ``left <= right``: True or False when it is certain, None when it is undecided."""
    sign = compare(left, right)
    return None if sign is None else sign <= 0


def sqrt_up(square: Real) -> float:
    """A float64 s with s * s >= square for certain, at most a few units in the last place above the square root.

    This is how a noise scale is rounded away from danger: the float the sampler uses is at least the real scale.

    Raises:
        InvalidValue: the square root is not a positive normal float64.
    """
    scale = square.sqrt().nearest()
    if not (2.0**-1022 <= scale < math.inf):
        raise InvalidValue("scale", scale, "a positive normal float64", "choose parameters of moderate size")
    while at_most(square, Real.of(Fraction(scale) ** 2)) is not True:
        scale = math.nextafter(scale, math.inf)
    return scale


@final
class Enclosure:
    """Two endpoints between which a real number certainly lies.

    The endpoints are dyadic rationals of 53 bits with an unbounded exponent, rounded outward, so an enclosure of
    1e-10000 is as sharp as one of 0.1. ``lower`` and ``upper`` are the same endpoints as float64, rounded outward
    again.

    >>> third = Enclosure.of(Real.of("1/3"))
    >>> third.lower < 1/3 + 1e-15, third.contains("1/3"), third.contains("0.3333")
    (True, True, False)
    """

    __slots__ = ("_lower", "_upper")

    def __init__(self, lower: arb, upper: arb) -> None:
        if not lower <= upper:
            raise InvalidValue("lower", str(lower), f"at most upper={upper}", "give the endpoints in order")
        self._lower = lower
        self._upper = upper

    @staticmethod
    def of_ball(value: arb) -> Enclosure:
        """The endpoints of a ball, rounded outward to 53 bits."""
        with precision(53):
            return Enclosure(value.lower(), value.upper())

    @staticmethod
    def of(number: Real) -> Enclosure:
        """The sharpest enclosure of a number; a single point if it is a dyadic rational of at most 53 bits."""
        if number.rational is not None:
            with precision(73):
                return Enclosure.of_ball(number.ball())
        return Enclosure.of_ball(refine(number.ball))

    @staticmethod
    def hull(first: arb, second: arb) -> Enclosure:
        """The smallest enclosure of everything between two balls, given in increasing order."""
        with precision(53):
            return Enclosure(first.lower(), second.upper())

    @property
    def lower(self) -> float:
        """The largest float64 certainly <= the number."""
        return float_down(self._lower)

    @property
    def upper(self) -> float:
        """The smallest float64 certainly >= the number."""
        return float_up(self._upper)

    def contains(self, value: Exact) -> bool:
        """Whether the exact number ``value`` lies between the endpoints, ends included (decided exactly)."""
        with precision(128):  # almost always enough, and quick where an endpoint is as long as 1e-1000000000
            number = ball(value)
            if number < self._lower or number > self._upper:
                return False
            if self._lower < number < self._upper:
                return True
        return _exact_endpoint(self._lower) <= exactly(value) <= _exact_endpoint(self._upper)

    def show(self, digits: int = 17) -> str:
        """The endpoints in decimal, each rounded outward: ``[0.1269367, 0.1269368]`` at 7 digits."""
        lower = _decimal_text(self._lower, digits, decimal.ROUND_FLOOR)
        upper = _decimal_text(self._upper, digits, decimal.ROUND_CEILING)
        return f"[{lower}, {upper}]"

    def __repr__(self) -> str:
        return f"Enclosure({self.show()})"


@final
class Quantity:
    """A real number known by its name and by the values it can take: every answer with two sides passes here.

    A pair of bounds is given out only if they are in order, no lower one is above ``most`` and no upper one below
    ``least``. Anything else is an error of the computation, and raises `ContradictoryBounds`. Bounds beyond what is
    possible are then replaced by ``least`` and ``most``.

    >>> Quantity("delta", 0, 1).bounds(np.array([-1e-20]), np.array([1.1]))
    (array([0.]), array([1.]))
    """

    __slots__ = ("least", "most", "name")
    least: float
    most: float
    name: str

    def __init__(self, name: str, least: float, most: float) -> None:
        self.name, self.least, self.most = name, least, most

    def bounds(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(lower, upper) of arrays of one shape.

        Raises:
            ContradictoryBounds: bounds that are not in order, NaN, or beyond what is possible.
        """
        wrong = ~((lower <= upper) & (lower <= self.most) & (upper >= self.least))
        if wrong.any():
            raise ContradictoryBounds(self.name, repr(float(lower[wrong].flat[0])), repr(float(upper[wrong].flat[0])))
        return np.maximum(lower, self.least), np.minimum(upper, self.most)

    def ball(self, lower: arb, upper: arb) -> arb:
        """A ball that holds all numbers between the lower end of one ball and the upper end of the other.

        Raises:
            ContradictoryBounds: no possible value is between them.
        """
        below, above = self._ends(lower, upper)
        return below.union(above)

    def enclosure(self, lower: arb, upper: arb | None = None) -> Enclosure:
        """The lower end of one ball and the upper end of the other (or of the same), no further than what is possible.

        Both are rounded outward to 53 bits.

        Raises:
            ContradictoryBounds: no possible value is between them.
        """
        with precision(53):
            return Enclosure(*self._ends(lower, lower if upper is None else upper))

    def _ends(self, lower: arb, upper: arb) -> tuple[arb, arb]:
        below, above, least, most = lower.lower(), upper.upper(), arb(self.least), arb(self.most)
        if not (below <= above and below <= most and above >= least):
            raise ContradictoryBounds(self.name, str(below), str(above))
        return (least if below < least else below), (most if above > most else above)


_ANY_NUMBER = Quantity("value", -math.inf, math.inf)


@final
class Enclosures(Sequence[Enclosure]):
    """An `Enclosure` for every entry of an array of real numbers; ``lower`` and ``upper`` are float64 arrays."""

    __slots__ = ("_balls", "_quantity", "lower", "upper")

    def __init__(self, balls: Sequence[arb], quantity: Quantity = _ANY_NUMBER) -> None:
        self._balls, self._quantity = balls, quantity
        nearest = np.array([float(value) for value in balls], dtype=np.float64)
        if np.isnan(nearest).any():
            raise InvalidValue("balls", "[nan]", "real numbers or infinities", "an undefined value has no enclosure")
        # One step outward of the rounded midpoint covers a ball of 54 accurate bits: half a unit for the rounding, and
        # at most half a unit for the radius. Whatever is wider, subnormal or infinite takes the careful road.
        # So does an exact ball, whose accuracy is reported as 2^63 - 1: its endpoints may be floats themselves.
        accuracy = np.array([value.rel_accuracy_bits() for value in balls], dtype=np.int64)
        sharp = (accuracy >= 54) & (accuracy < 1 << 62) & (np.abs(nearest) >= 2.0**-1000) & np.isfinite(nearest)
        self.lower: NDArray[np.float64] = np.nextafter(nearest, -np.inf)
        self.upper: NDArray[np.float64] = np.nextafter(nearest, np.inf)
        for i in np.flatnonzero(~sharp).tolist():
            self.lower[i], self.upper[i] = float_down(balls[i]), float_up(balls[i])
        self.lower, self.upper = quantity.bounds(self.lower, self.upper)

    def __len__(self) -> int:
        return len(self._balls)

    @overload
    def __getitem__(self, index: int) -> Enclosure: ...
    @overload
    def __getitem__(self, index: slice) -> Enclosures: ...
    def __getitem__(self, index: int | slice) -> Enclosure | Enclosures:
        if isinstance(index, slice):
            return Enclosures(self._balls[index], self._quantity)
        return self._quantity.enclosure(self._balls[index])

    def __repr__(self) -> str:
        return f"Enclosures({len(self)} numbers)"


def _exact_endpoint(endpoint: arb) -> Fraction | float:
    """The endpoint as an exact rational, or an infinite float."""
    if not endpoint.is_finite():
        return float(endpoint)
    mantissa, exponent = endpoint.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _decimal_text(endpoint: arb, digits: int, rounding: str) -> str:
    """The endpoint in decimal notation, rounded once, in the direction asked for."""
    context = decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    length = abs(int(endpoint.man_exp()[1])) if endpoint.is_finite() else 0
    if length > _LONGEST:
        return _bound(endpoint, rounding)
    if length > _LONG:
        return f"{context.plus(_decimal_beside(endpoint, digits, rounding)):e}"
    point = _exact_endpoint(endpoint)
    if isinstance(point, float):
        return str(point)
    quotient = context.divide(Decimal(point.numerator), Decimal(point.denominator))
    return f"{quotient.normalize(context):f}" if -5 < quotient.adjusted() < digits else f"{quotient:e}"


_LONG = 1 << 12  # a binary exponent beyond which the exact rational is not written out
_LONGEST = 1 << 53  # and one beyond which not even the decimal exponent is
_FAR_OUT = "1e+2000000000000000"  # less than 2^(2^53)
_NEXT_TO_NOTHING = "1e-2000000000000000"  # more than 2^-(2^53)


def _bound(endpoint: arb, rounding: str) -> str:
    """A short decimal on the side that ``rounding`` asks for, of a number larger than every other or next to 0."""
    tiny, outward = abs(endpoint) < 1, (endpoint > 0) == (rounding == decimal.ROUND_CEILING)
    size = (_NEXT_TO_NOTHING if outward else "0") if tiny else ("inf" if outward else _FAR_OUT)
    return f"-{size}" if endpoint < 0 and size != "0" else size


def _decimal_beside(endpoint: arb, digits: int, rounding: str) -> Decimal:
    """A decimal of 10 digits more on the side that ``rounding`` asks for, of a number far from 1."""
    bits = 4 * digits + 256  # a power of ten with an exponent of k bits costs k of them
    while True:
        with precision(bits):
            tens = math.floor(float((abs(endpoint).log() / arb(10).log()).mid())) - digits - 10
            below = (endpoint / arb(10) ** tens).floor().unique_fmpz()  # a dyadic number so far out is no short decimal
        if below is not None:
            break
        bits *= 2
    whole = int(below) + (rounding == decimal.ROUND_CEILING)
    sign, figures, _ = Decimal(whole).as_tuple()
    return Decimal((sign, figures, tens))
