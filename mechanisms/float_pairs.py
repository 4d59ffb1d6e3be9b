"""Compensated float64 arithmetic: arrays of numbers held as the unevaluated sum of two floats, about 106 bits.

Only what the normal tails need: the point epsilon/mu - mu/2 and its square are wanted to more than 53 bits, because a
normal tail multiplies the relative error of the point by the square of the point.

Reference: Dekker 1971, "A floating-point technique for extending the available precision" (product, quotient);
Knuth, The Art of Computer Programming 2, section 4.2.2 (sum).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_SPLITTER = 134217729.0  # 2^27 + 1
_LARGE = 1e150  # products of parts may overflow beyond it; the tail of a normal law at 1e150 is 0 in float64


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and its rounding error, exactly."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _split(a: Floats) -> tuple[Floats, Floats]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded product and its rounding error, exactly if nothing over- or underflows."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def two_square(a: Floats) -> tuple[Floats, Floats]:
    """The rounded square and its rounding error, exactly if nothing over- or underflows."""
    square = a * a
    high, low = _split(a)
    return square, ((high * high - square) + 2.0 * (high * low)) + low * low


@dataclass(frozen=True, slots=True)
class Pair:
    """The numbers high + low, where low is at most about a unit in the last place of high.

    The parts are arrays that broadcast together. A quotient is clipped at 1e200 in absolute value.
    """

    high: Floats
    low: Floats

    @classmethod
    def of(cls, value: Floats) -> Self:
        """Floats, exactly."""
        return cls(value, _ZERO)

    @classmethod
    def nearest(cls, value: Fraction) -> Self:
        """A rational number within the range of float64, to about 106 bits."""
        high = float(value)
        return cls(np.asarray(high), np.asarray(float(value - Fraction(high))))

    def __add__(self, other: Self) -> Self:
        total, error = two_sum(self.high, other.high)
        error = error + (self.low + other.low)
        high = total + error
        return type(self)(high, error - (high - total))

    def __sub__(self, other: Self) -> Self:
        return self + type(self)(-other.high, -other.low)

    def __truediv__(self, other: Self) -> Self:
        quotient = self.high / other.high
        product, error = two_product(quotient, other.high)
        remainder = ((self.high - product) - error) + (self.low - quotient * other.low)
        low = np.where(np.abs(quotient) < _LARGE, remainder / other.high, 0.0)
        return type(self)(np.clip(quotient, -1e200, 1e200), low)


_ZERO: Floats = np.zeros(())
