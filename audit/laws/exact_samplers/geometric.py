"""Exact draws of a geometric variable, P(G = g) = (1 - p) p^g from 0 on with p = exp(-rate).

The base-B digits of G are independent, each geometric and cut off at B. A digit is drawn by inversion: it is the number
of points of its distribution function at or below a uniform real number U, of which 64 bits are read first. Where those
do not decide (a probability of about 2^-52), further bits are read, and the comparison is made in ball arithmetic. So
the law is the stated one exactly, whatever real number p is; no float is used.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.laws.exact_samplers.random_words import LARGEST_WORD, Words
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Integers

BASE: Final = 4096
"""B."""

SMALLEST_RATE: Final = Fraction(1, 1 << 40)
"""The smallest rate that is sampled: the values of a smaller one could leave 64-bit integers."""

_BITS: Final = 192  # of the balls that place the points of a table


def draw_geometric(rate: Fraction, words: Words, size: int) -> Integers:
    """Independent exact draws: shape (size,).

    Args:
        rate: > 0.
        words: the source of uniform words.
        size: how many draws.

    Raises:
        InvalidValue: the rate is below `SMALLEST_RATE`.
    """
    check_sampled_rate(rate)
    total = np.zeros(size, dtype=np.int64)
    for level, digit in enumerate(digits_of(rate)):
        total += digit.draw(words, size) * BASE**level
    return total


def check_sampled_rate(rate: Fraction) -> None:
    """Refuse a rate below `SMALLEST_RATE`.

    Raises:
        InvalidValue: it is.
    """
    if rate < SMALLEST_RATE:
        raise InvalidValue("rate", rate, ">= 2^-40", "use continuous noise for scales beyond 2^40")


@final
class GeometricDigit:
    """A geometric variable of the given rate, conditioned to be below ``bound`` if there is one."""

    __slots__ = ("_bound", "_points", "_rate")

    def __init__(self, rate: Fraction, bound: int | None) -> None:
        self._rate, self._bound = rate, bound
        points = []
        for j in range(1, BASE if bound is None else bound):
            points.append(self._floor_of_point(j))
            if points[-1] == LARGEST_WORD:
                break
        self._points = np.array(points, dtype=np.uint64)  # floor(2^64 P(digit < j)) for j = 1, 2, ...

    def _mass(self) -> arb:
        """The probability that the unconditioned variable is below the bound."""
        return arb(1) if self._bound is None else -(-ball(self._rate * self._bound)).expm1()

    def _floor_of_point(self, j: int) -> int:
        if self._rate * j > 64:  # the point is within 2^-92 of 1: only a digit without a bound reaches so far
            return LARGEST_WORD
        bits = _BITS
        while True:
            with precision(bits):
                floor = (-(-ball(self._rate * j)).expm1() / self._mass() * (arb(2) ** 64)).floor().unique_fmpz()
            if floor is not None:
                return int(floor)
            bits *= 2

    def draw(self, words: Words, size: int) -> Integers:
        """Independent digits: shape (size,)."""
        if self._bound == 1:
            return np.zeros(size, dtype=np.int64)
        uniform = words(size)
        digits = np.searchsorted(self._points, uniform, side="left")
        undecided = self._points[np.minimum(digits, len(self._points) - 1)] == uniform
        for i in np.flatnonzero(undecided).tolist():
            digits[i] = self._decide(int(uniform[i]), words)
        return digits.astype(np.int64, copy=False)

    def _decide(self, uniform: int, words: Words) -> int:
        """The digit for a uniform number that begins with these 64 bits, reading on until it is certain."""
        bits = 64
        while True:
            uniform, bits = uniform << 64 | int(words(1)[0]), bits + 64
            with precision(2 * bits):
                low, high = (self._digit_at(uniform, bits), self._digit_at(uniform + 1, bits))
                first = low.floor().unique_fmpz()
                if first is not None and high < arb(first) + 1:
                    return int(first)

    def _digit_at(self, numerator: int, bits: int) -> arb:
        """The real number whose floor is the digit at the uniform number numerator / 2^bits."""
        beyond = 1 - self._mass() * ball(Fraction(numerator, 1 << bits))
        return -beyond.log() / ball(self._rate)


@lru_cache(maxsize=64)
def digits_of(rate: Fraction) -> tuple[GeometricDigit, ...]:
    """The laws of the digits of a geometric variable, lowest first; the highest has no bound."""
    digits: list[GeometricDigit] = []
    while rate * BASE < 45:  # exp(-45) < 2^-64: a table of BASE points reaches into the last 64-bit cell
        digits.append(GeometricDigit(rate, BASE))
        rate *= BASE
    return (*digits, GeometricDigit(rate, None))
