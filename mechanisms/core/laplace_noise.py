"""Independent Laplace noise on every coordinate of a statistic: continuous, or discrete and sampled exactly.

The discrete law on the integers is P(z) = (1 - p)/(1 + p) p^|z| with p = exp(-rate). It is the law of G - G' for two
independent geometric variables, P(G = g) = (1 - p) p^g, and the base-B digits of G are independent, each geometric and
cut off at B. A digit is drawn by inversion: it is the number of points of its distribution function at or below a
uniform real number U, of which 64 bits are read first. Where those do not decide (a probability of about 2^-52),
further bits are read, and the comparison is made in ball arithmetic. So the law is the stated one exactly, whatever
real number p is; no float is used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import RandomisedResponseLoss, identical_laws
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, Real, ball, precision
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.roots import float_above

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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """The density exp(-|z|/scale)/(2 scale) on each coordinate, taken as real numbers; variance 2 scale^2.

    A coordinate shifted by s has a privacy loss within [-|s|/scale, |s|/scale].

    Args:
        size: number of coordinates.
        scale: > 0, taken at its exact value. A Fraction is the law that is analysed; it is sampled with the least
            float64 that is not below it, which tells less.

    Raises:
        InvalidValue: an argument is out of range.
    """

    size: int
    scale: float | Fraction

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidValue("size", self.size, ">= 1", "give the number of coordinates")
        if not 0 < self.scale < math.inf:
            raise InvalidValue("scale", self.scale, "finite and > 0", "give the scale of the noise")

    @property
    def rate(self) -> Fraction:
        """1/scale: the privacy loss of a unit shift."""
        return 1 / Fraction(self.scale)

    @property
    def variance(self) -> Fraction:
        """2 scale^2, the exact variance of a coordinate."""
        return 2 * Fraction(self.scale) ** 2

    def loss(self, here: Array, there: Array) -> PrivacyLoss:
        """The privacy loss of the noise about two statistics; that of equal laws where nothing moves."""
        counts = _moves(here, there, self.rate)
        return LaplaceLoss.grouped(counts.items()) if counts else identical_laws()

    def sample(self, words: Words, size: int) -> Array:
        """Independent values from 64-bit words: a sign bit, and minus the logarithm of 53 bits."""
        bits = words(size)
        magnitude = -np.log((np.right_shift(bits, np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53)
        magnitude *= float_above(Fraction(self.scale))
        return np.where(np.bitwise_and(bits, np.uint64(1)) == 1, magnitude, -magnitude)

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        return self.sample(words_of(rng), trials * self.size).reshape(trials, self.size) + statistic

    def covariance(self) -> dict[str, Fraction]:
        """The distinct entries of the covariance, exactly; all covariances are 0."""
        return {"variance": self.variance}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise:
    """Integer noise P(z) proportional to exp(-rate |z|) on each coordinate, sampled exactly.

    The privacy loss of a coordinate shifted by 1 takes the values -rate and rate only: it is randomised response.

    Args:
        size: number of coordinates.
        rate: exact, >= 2^-40.
    """

    size: int
    rate: Fraction

    def law(self) -> DiscreteLaplace:
        """The law of one coordinate."""
        return DiscreteLaplace(self.rate)

    def loss(self, here: Array, there: Array) -> PrivacyLoss:
        """The privacy loss of the noise about two statistics; that of equal laws where nothing moves.

        Raises:
            InvalidValue: a coordinate moves by something else than 1.
        """
        counts = _moves(here, there, Fraction(1))
        if not counts:
            return identical_laws()
        if set(counts) != {Fraction(1)}:
            remedy = "the loss of discrete Laplace noise is known for moves by 1 only"
            raise InvalidValue("move", str(max(counts)), "1 in every coordinate that moves", remedy)
        return RandomisedResponseLoss(counts[Fraction(1)], self.rate)

    def sample(self, words: Words, size: int) -> NDArray[np.int64]:
        """Independent values from 64-bit words."""
        return self.law().sample(words, size)

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        return self.sample(words_of(rng), trials * self.size).reshape(trials, self.size) + statistic

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the variance 1/(cosh(rate) - 1) is not rational; see `law`."""
        return {}


def _moves(here: Array, there: Array, factor: Fraction) -> Counter[Fraction]:
    """factor times the absolute differences that are not 0, exactly, with the number of coordinates of each."""
    counts: Counter[Fraction] = Counter()
    for (x, y), count in Counter(zip(here.tolist(), there.tolist(), strict=True)).items():
        counts[abs(Fraction(x) - Fraction(y)) * factor] += count
    del counts[Fraction(0)]
    return counts


_SNAP = 2.0**-30


def laplace_score(values: Array, here: Array, there: Array, rate: float) -> Array:
    """rate times the sum of |v - there| - |v - here| over the coordinates: shape (trials, size) -> (trials,).

    It is the log-likelihood ratio of noise about ``here`` (P) against noise about ``there`` (Q). Where v is beyond
    both, the term is exactly +-|here - there|: rounding in v would spread these atoms, differently for P and for Q, and
    the score would show how floats are added instead of the law of the noise.
    """
    moved = np.flatnonzero(here != there)
    close, far = here[moved], there[moved]
    values = values[:, moved]
    terms = np.abs(values - far) - np.abs(values - close)
    reach = np.abs(close - far)
    slack = _SNAP * reach + 2.0**-44 * np.abs(values)
    snapped = np.where(np.abs(terms) >= reach - slack, np.copysign(reach, terms), terms)
    scores: Array = rate * np.add.reduce(snapped, axis=1)
    return scores
