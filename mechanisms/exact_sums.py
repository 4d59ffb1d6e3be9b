"""Sums of many float64 numbers, exactly, at the speed of NumPy.

The squared GDP parameter of a neighbour depends on its record x only through s1 = sum x_i and s2 = sum x_i^2
(Lebeda 2024, section 3). Both are computed here as exact rationals, in O(d) time, so that a certificate for a record of
a million coordinates carries no rounding error of its own.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 16  # numbers handled at once: 2**16 keeps the temporaries in cache and leaves 36 bits per pass
_SPLITTER = 134217729.0  # 2**27 + 1, Veltkamp's constant: splits a float64 into two halves of 26 bits
_TINY = 2.0**-450  # below this the products of halves could underflow


def sum_exactly(numbers: NDArray[np.float64]) -> Fraction:
    """The sum of finite numbers of absolute value at most 2**900, as an exact rational.

    Error-free vector transformation (Rump, Ogita, Oishi 2008, "Accurate floating-point summation I", Algorithm 3.2):
    adding and subtracting a large power of two splits every number into a leading part, whose sum is exact in float64,
    and a remainder, which is exact too. Repeat with the remainders until they are all zero.
    """
    flat = np.ascontiguousarray(numbers, dtype=np.float64).ravel()
    return sum((_sum_block(flat[i : i + _BLOCK].copy()) for i in range(0, flat.size, _BLOCK)), Fraction(0))


def _sum_block(rest: NDArray[np.float64]) -> Fraction:
    total = Fraction(0)
    headroom = math.ceil(math.log2(rest.size + 2))
    while (peak := float(np.max(np.abs(rest)))) != 0.0:
        anchor = math.ldexp(1.0, headroom + math.frexp(peak)[1])
        leading = (rest + anchor) - anchor
        total += Fraction(float(leading.sum()))  # exact: multiples of anchor * 2**-53 whose sum stays below anchor
        rest -= leading
    return total


def dot_exactly(left: NDArray[np.float64], right: NDArray[np.float64]) -> Fraction:
    """The inner product of two arrays of finite numbers of absolute value at most 2**400, as an exact rational."""
    x, y = (np.ascontiguousarray(a, dtype=np.float64).ravel() for a in (left, right))
    total = Fraction(0)
    for i in range(0, x.size, _BLOCK):
        a, b = x[i : i + _BLOCK], y[i : i + _BLOCK]
        tiny = (np.minimum(np.abs(a), np.abs(b)) < _TINY) & (a != 0.0) & (b != 0.0)
        total += sum(
            (Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a[tiny], b[tiny], strict=True)), Fraction(0)
        )
        (a_high, a_low), (b_high, b_low) = _halves(np.where(tiny, 0.0, a)), _halves(b)
        for product in (a_high * b_high, a_high * b_low, a_low * b_high, a_low * b_low):
            total += _sum_block(product)  # each product of 26-bit halves is exact
    return total


def _halves(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x = high + low exactly, each of at most 26 bits (Veltkamp)."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def moments(numbers: NDArray[np.float64]) -> tuple[Fraction, Fraction]:
    """The exact pair (sum x_i, sum x_i^2) of finite numbers of absolute value at most 2**400.

    >>> moments(np.array([0.5, 1.0]))
    (Fraction(3, 2), Fraction(5, 4))
    """
    flat = np.ascontiguousarray(numbers, dtype=np.float64).ravel()
    ones = int(np.count_nonzero(flat == 1.0))
    if ones == np.count_nonzero(flat):  # zeros and ones only
        return Fraction(ones), Fraction(ones)
    return sum_exactly(flat), dot_exactly(flat, flat)
