"""Exact draws of a discrete Gaussian variable, P(y) proportional to exp(-y^2/(2 v)) on the integers.

Many draws of one law come from a table, by inversion; those whose table would be too large come from rejection.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.laws.exact_samplers.random_words import UniformBelow, integers_of
from dpverdict.balls import Exact, ball, precision
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array, Integers

LARGEST_TABLE: Final = 1 << 15
"""The largest standard deviation for which a table is made: some 24 entries per unit of it."""

_GUARD_BITS: Final = 64
_MOST_DOUBLINGS: Final = 6


def draw_discrete_gaussian(variance: Fraction, shape: tuple[int, ...], rng: np.random.Generator) -> Array | Integers:
    """Independent exact draws of the given shape; Python integers where the standard deviation exceeds `LARGEST_TABLE`.

    Args:
        variance: the parameter v > 0.
        shape: of the draws.
        rng: its bits are taken to be uniform and independent.
    """
    if variance <= LARGEST_TABLE**2:
        return table_of(variance).sample(shape, rng)
    below = integers_of(rng)
    drawn = [discrete_gaussian(variance, below) for _ in range(math.prod(shape))]
    return np.array(drawn, dtype=object).reshape(shape)


@lru_cache(maxsize=64)
def table_of(variance: Fraction) -> DiscreteGaussianTable:
    """The table of a law, made once."""
    return DiscreteGaussianTable(variance)


def discrete_gaussian(variance: Exact, below: UniformBelow) -> int:
    """One sample of N_Z(0, variance): a discrete Laplace Y of scale t = floor(sigma) + 1, accepted with probability

        exp(-(|Y| - sigma^2/t)^2/(2 sigma^2)).

    Args:
        variance: the parameter v = sigma^2 > 0, exact; the variance of the law is at most v.
        below: the source of uniform integers.

    Raises:
        InvalidValue: the parameter is not positive.

    Reference: Canonne, Kamath and Steinke 2020, Algorithm 3 (arXiv:2004.00010).
    """
    v = check_positive(variance, "variance", "give the variance parameter as a positive number")
    t = math.isqrt(v.numerator // v.denominator) + 1
    while True:
        y = discrete_laplace(t, below)
        if bernoulli_exp((abs(y) - v / t) ** 2 / (2 * v), below):
            return y


def discrete_laplace(scale: int, below: UniformBelow) -> int:
    """One sample of the law P(y) proportional to exp(-|y|/scale) on the integers, for an integer scale >= 1.

    Reference: Canonne, Kamath and Steinke 2020, Algorithm 2 with s = 1.
    """
    while True:
        u = below(scale)
        if not bernoulli_exp(Fraction(u, scale), below):
            continue
        whole = 0
        while bernoulli_exp(Fraction(1), below):
            whole += 1
        magnitude = u + scale * whole
        negative = below(2) == 1
        if not (negative and magnitude == 0):  # or 0 would be counted twice
            return -magnitude if negative else magnitude


def bernoulli_exp(exponent: Fraction, below: UniformBelow) -> bool:
    """True with probability exp(-exponent) exactly, for a rational exponent >= 0.

    Reference: Canonne, Kamath and Steinke 2020, Algorithm 1 (after von Neumann).
    """
    whole, rest = divmod(exponent, 1)
    for _ in range(int(whole)):
        if not _bernoulli_exp_below_one(Fraction(1), below):
            return False
    return _bernoulli_exp_below_one(rest, below)


def _bernoulli_exp_below_one(exponent: Fraction, below: UniformBelow) -> bool:
    """For an exponent in [0, 1]: the first k at which a coin of probability exponent/k shows tails is odd."""
    k = 1
    while below(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


@final
class DiscreteGaussianTable:
    """Many exact samples of N_Z(0, variance) at once, by inversion.

    Args:
        variance: the parameter v > 0, exact, with sqrt(v) at most `LARGEST_TABLE`.
        word_bits: uniform bits drawn at once, at most 64; fewer make the exact tie-breaking frequent.

    Raises:
        InvalidValue: the parameter is not positive, or too large for a table.
    """

    __slots__ = ("_cuts", "_lowest", "variance", "word_bits")
    variance: Fraction
    word_bits: int

    def __init__(self, variance: Exact, *, word_bits: int = 64) -> None:
        self.variance = check_positive(variance, "variance", "give the variance parameter as a positive number")
        if self.variance > LARGEST_TABLE**2:
            remedy = "sample with discrete_gaussian, which takes no memory"
            raise InvalidValue("variance", self.variance, f"at most {LARGEST_TABLE}^2", remedy)
        self.word_bits = word_bits
        lowest, cuts = _cuts(self.variance, word_bits)
        self._lowest, self._cuts = lowest, np.array(cuts, dtype=np.uint64)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
        """Independent samples; the generator's bits are taken to be uniform."""
        words = rng.integers(0, (1 << self.word_bits) - 1, size=shape, dtype=np.uint64, endpoint=True)
        places = np.searchsorted(self._cuts, words, side="left")
        samples = places.astype(np.int64) + self._lowest
        ties = self._cuts[np.minimum(places, len(self._cuts) - 1)] == words
        for index in zip(*np.nonzero(ties), strict=True):
            samples[index] = self._break_tie(int(words[index]), rng)
        return samples

    def _break_tie(self, word: int, rng: np.random.Generator) -> int:
        """The sample of a uniform number whose first bits are those of ``word``: more bits until they decide."""
        bits = self.word_bits
        while True:
            word = (word << 64) | int(rng.integers(0, (1 << 64) - 1, dtype=np.uint64, endpoint=True))
            bits += 64
            lowest, cuts = _cuts(self.variance, bits)
            place = bisect_left(cuts, word)
            if cuts[place] != word:
                return lowest + place


def _cuts(v: Fraction, bits: int) -> tuple[int, list[int]]:
    """(-k, floor(2^bits P[Y <= y]) for y = -k..k-1), exactly, with k so large that the first is 0.

    A uniform number in [w, w + 1)/2^bits then falls to the smallest y with w < cut(y), if w is none of the cuts.
    """
    reach = math.ceil(math.sqrt(2 * float(v) * math.log(2) * (bits + _GUARD_BITS))) + 2
    for doublings in range(_MOST_DOUBLINGS):
        with precision((bits + 2 * _GUARD_BITS) << doublings):
            left = _left_cuts(v, bits, reach)
        if left is not None:
            # P[Y <= y] = 1 - P[Y <= -y-1], and no value of the distribution function is a multiple of 2^-bits.
            return -reach, left + [(1 << bits) - 1 - cut for cut in reversed(left)]
    raise PrecisionExhausted("distribution function", bits, "a value lies too near a multiple of a power of two")


def _left_cuts(v: Fraction, bits: int, reach: int) -> list[int] | None:
    """floor(2^bits P[Y <= y]) for y = -reach..-1; None if the precision does not decide one of them."""
    rate = -1 / (2 * ball(v))
    weights = [(rate * (y * y)).exp() for y in range(reach + 2)]
    ratio = (rate * (2 * reach + 3)).exp()  # of the weights of reach + 2 and reach + 1; beyond, they fall faster
    tail = (weights.pop() / (1 - ratio)).union(arb(0))
    scale = arb(2) ** bits / (1 + 2 * (sum(weights[1:], arb(0)) + tail))
    cuts, below = [], tail
    for weight in reversed(weights[1:]):
        below = below + weight
        cut = (below * scale).floor().unique_fmpz()
        if cut is None:
            return None
        cuts.append(int(cut))
    return cuts
