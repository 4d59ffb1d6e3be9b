"""Discrete Laplace noise on the integers, sampled exactly from random bits.

P(z) = (1 - p)/(1 + p) p^|z| with p = exp(-rate). It is the law of G - G' for two independent geometric variables,
P(G = g) = (1 - p) p^g, and the base-B digits of G are independent, each geometric and cut off at B. A digit is drawn
by inversion: it is the number of points of its distribution function at or below a uniform real number U, of which 64
bits are read first. Where those do not decide (a probability of about 2^-52), further bits are read, and the comparison
is made in ball arithmetic. So the law is the stated one exactly, whatever real number p is; no float is used.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverdict.balls import Exact, Real, ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.mechanism import check_positive

Integers = NDArray[np.int64]
Words = Callable[[int], NDArray[np.uint64]]
"""Gives n uniform 64-bit words."""

BASE = 4096
SMALLEST_RATE = Fraction(1, 1 << 40)
_LAST = (1 << 64) - 1
_BITS = 192  # of the balls that place the points of a table


def words_of(rng: np.random.Generator) -> Words:
    """Uniform 64-bit words from a NumPy generator."""
    return lambda n: rng.integers(0, _LAST, n, dtype=np.uint64, endpoint=True)


@final
class DiscreteLaplace:
    """The law P(z) proportional to exp(-rate |z|) on the integers.

    A value shifted by an integer s has a privacy loss within [-rate |s|, rate |s|].

    Args:
        rate: exact, in [2^-40, infinity); 1/rate is the scale of the continuous law that it resembles.

    Raises:
        InvalidValue: the rate is out of range; the values could then leave 64-bit integers.

    >>> DiscreteLaplace("0.5").sample(words_of(np.random.default_rng(0)), 5).dtype
    dtype('int64')
    """

    __slots__ = ("_digits", "rate")
    rate: Fraction

    def __init__(self, rate: Exact) -> None:
        self.rate = check_positive(rate, "rate")
        if self.rate < SMALLEST_RATE:
            raise InvalidValue("rate", rate, ">= 2^-40", "use continuous noise for scales beyond 2^40")
        self._digits = _digits(self.rate)

    def sample(self, words: Words, size: int) -> Integers:
        """Independent values: shape (size,)."""
        return self._geometric(words, size) - self._geometric(words, size)

    def variance(self) -> Real:
        """2p/(1 - p)^2 = 1/(cosh(rate) - 1), a little less than the 2/rate^2 of continuous noise."""
        return Real(lambda: 1 / (2 * (ball(self.rate) / 2).sinh() ** 2))

    def probability(self, value: int) -> Real:
        """P(value)."""
        return Real(lambda: (-ball(self.rate) * abs(value)).exp() * (ball(self.rate) / 2).tanh())

    def _geometric(self, words: Words, size: int) -> Integers:
        total = np.zeros(size, dtype=np.int64)
        for level, digit in enumerate(self._digits):
            total += digit.sample(words, size) * BASE**level
        return total


@final
class _Digit:
    """A geometric variable of the given rate, conditioned to be below ``bound`` if there is one."""

    __slots__ = ("_bound", "_points", "_rate")

    def __init__(self, rate: Fraction, bound: int | None) -> None:
        self._rate, self._bound = rate, bound
        points = []
        for j in range(1, BASE if bound is None else bound):
            points.append(self._floor_of_point(j))
            if points[-1] == _LAST:
                break
        self._points = np.array(points, dtype=np.uint64)  # floor(2^64 P(digit < j)) for j = 1, 2, ...

    def _mass(self) -> arb:
        """The probability that the unconditioned variable is below the bound."""
        return arb(1) if self._bound is None else -(-ball(self._rate * self._bound)).expm1()

    def _floor_of_point(self, j: int) -> int:
        if self._rate * j > 64:  # the point is within 2^-92 of 1: only a digit without a bound reaches so far
            return _LAST
        bits = _BITS
        while True:
            with precision(bits):
                floor = (-(-ball(self._rate * j)).expm1() / self._mass() * (arb(2) ** 64)).floor().unique_fmpz()
            if floor is not None:
                return int(floor)
            bits *= 2

    def sample(self, words: Words, size: int) -> Integers:
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
                low, high = (self._at(uniform, bits), self._at(uniform + 1, bits))
                first = low.floor().unique_fmpz()
                if first is not None and high < arb(first) + 1:
                    return int(first)

    def _at(self, numerator: int, bits: int) -> arb:
        """The real number whose floor is the digit at the uniform number numerator / 2^bits."""
        beyond = 1 - self._mass() * ball(Fraction(numerator, 1 << bits))
        return -beyond.log() / ball(self._rate)


@lru_cache(maxsize=64)
def _digits(rate: Fraction) -> tuple[_Digit, ...]:
    """The laws of the digits of a geometric variable, lowest first; the highest has no bound."""
    digits: list[_Digit] = []
    while rate * BASE < 45:  # exp(-45) < 2^-64: a table of BASE points reaches into the last 64-bit cell
        digits.append(_Digit(rate, BASE))
        rate *= BASE
    return (*digits, _Digit(rate, None))
