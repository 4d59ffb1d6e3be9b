"""A bracket of the root of a decreasing function, shrunk by certain signs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from dpverdict.balls import Real, ball, compare, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted

_STEP_BITS = 60


@final
@dataclass(slots=True, kw_only=True)
class Bracket:
    """Two rational points low < high with f(low) > 0 >= f(high), for a decreasing function f.

    ``at_low`` and ``at_high`` are balls of f there; they only steer, so they may be infinite.
    """

    low: Fraction
    high: Fraction
    at_low: arb
    at_high: arb

    @property
    def width(self) -> Fraction:
        """high - low."""
        return self.high - self.low

    def trials(self, bits: int) -> Iterator[Fraction]:
        """Points to try, one after the other; the caller narrows the bracket after each of them.

        A secant step, a secant step of double length from the better end (it crosses the root when the function is
        nearly straight, so that both ends move), and the middle whenever these two did not halve the bracket.

        Reference: Alefeld, Potra and Shi 1995 (doi:10.1145/210089.210111), section 2.
        """
        while True:
            before = self.width
            yield self._secant(1, bits)
            yield self._secant(2, bits)
            if 2 * self.width > before:
                yield (self.low + self.high) / 2

    def narrow(self, point: Fraction, value: arb, sign: int) -> None:
        """Put ``point`` in the place of the end on its side of the root: ``sign`` is that of f there."""
        if sign > 0:
            self.low, self.at_low = point, value
        else:
            self.high, self.at_high = point, value

    def _secant(self, length: int, bits: int) -> Fraction:
        middle = (self.low + self.high) / 2
        if not (self.at_low.is_finite() and self.at_high.is_finite()):
            return middle
        with precision(bits):
            low, high = ball(self.low), ball(self.high)
            at_low, at_high = self.at_low.mid(), self.at_high.mid()
            from_low = abs(at_low) < abs(at_high)
            end, value = (low, at_low) if from_low else (high, at_high)
            point = (end - length * value * (high - low) / (at_high - at_low)).mid()
        if not point.is_finite():
            return middle
        trial = as_fraction(point)
        least = max(abs(self.low), abs(self.high)) / 2**_STEP_BITS
        if not self.low < trial < self.high or (length == 2 and abs(trial - middle) > self.width / 2):
            return middle
        if self.width <= 2 * least:
            return middle
        inside: Fraction = min(max(trial, self.low + least), self.high - least)
        return inside


def as_fraction(point: arb) -> Fraction:
    """The exact value of a ball of radius 0."""
    parts = point.man_exp()
    mantissa, exponent = int(parts[0]), int(parts[1])
    if exponent >= 0:
        return Fraction(mantissa << exponent)
    return Fraction(mantissa, 1 << -exponent)


def float_above(value: Fraction) -> float:
    """The smallest float64 >= value; inf beyond the largest."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -1.7976931348623157e308
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """The largest float64 <= value; -inf beyond the largest in absolute value."""
    return -float_above(-value)


def least_float(keeps: Callable[[float], bool], above: float, *, below: float = 0.0) -> float:
    """The least float64 in (below, above] with the property, found by bisection; at every value returned it holds.

    Requires: the property holds at ``above``. If it is not monotone, some switching point is returned.
    """
    low, high = below, above
    while (middle := low + (high - low) / 2) not in (low, high):
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def doubled(holds: Callable[[float], bool], low: float, high: float, *, most: float) -> tuple[float, float]:
    """The bracket (low, high), moved up by doubling ``high`` until the property fails there or it reaches ``most``."""
    while high < most and holds(high):
        low, high = high, 2 * high
    return low, high


def bisected(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    *,
    steps: int = 1100,
    close: Callable[[float, float], bool] = lambda low, high: False,
    middle: Callable[[float, float], float] = lambda low, high: (low + high) / 2,
) -> tuple[float, float]:
    """A bracket of the point up to which a property holds, halved until its ends are close, at most ``steps`` times.

    Args:
        holds: asked in between only. If it is not monotone, some switching point is bracketed.
        low: where it holds, or the caller does not care.
        high: where it does not, or the caller does not care.
        steps: halvings; the default is enough for any two float64.
        close: whether (low, high) is narrow enough.
        middle: where to ask next.
    """
    for _ in range(steps):
        if close(low, high):
            break
        at = middle(low, high)
        low, high = (at, high) if holds(at) else (low, at)
    return low, high


def rounded_up(number: Real) -> float:
    """A float64 certainly >= a positive number, and at most a few units in the last place above it.

    Raises:
        InvalidValue: the number is beyond the normal float64.
        PrecisionExhausted: the comparison stays undecided.
    """
    if number.rational is not None:
        return sized(float_above(number.rational))
    scale = sized(number.nearest())
    while (sign := compare(number, Real.of(scale))) != -1:
        if sign is None:
            raise PrecisionExhausted("scale", 1 << 13, "change a parameter slightly")
        scale = math.nextafter(scale, math.inf)
    return scale


def sized(scale: float) -> float:
    """The scale, if it is a positive normal float64.

    Raises:
        InvalidValue: it underflows or overflows.
    """
    if not 2.0**-1022 <= scale < math.inf:
        raise InvalidValue("scale", scale, "a positive normal float64", "choose parameters of moderate size")
    return scale
