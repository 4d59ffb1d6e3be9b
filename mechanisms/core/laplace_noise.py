"""Independent Laplace noise on every coordinate of a statistic: continuous, or discrete and sampled exactly."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.laws.exact_samplers.geometric import check_sampled_rate
from dpverdict.audit.laws.exact_samplers.random_words import Words, words_of
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.roots import float_above


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
        moves = _counted_moves(here, there, self.rate)
        return Laplace().losses(moves)[0] if moves else identical_laws()

    def sample(self, words: Words, size: int) -> Array:
        """Independent values from 64-bit words."""
        return Laplace().draw_from_words(words, size) * float_above(Fraction(self.scale))

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

    Raises:
        InvalidValue: the rate is out of range; the values could then leave 64-bit integers.
    """

    size: int
    rate: Fraction

    def __post_init__(self) -> None:
        check_sampled_rate(self.rate)

    def law(self) -> TwoSidedGeometric:
        """The law of one coordinate."""
        return TwoSidedGeometric(self.rate)

    def loss(self, here: Array, there: Array) -> PrivacyLoss:
        """The privacy loss of the noise about two statistics; that of equal laws where nothing moves.

        Raises:
            InvalidValue: a coordinate moves by something else than 1.
        """
        moves = _counted_moves(here, there, Fraction(1))
        if not moves:
            return identical_laws()
        if set(moves) != {Fraction(1)}:
            remedy = "the loss of discrete Laplace noise is known for moves by 1 only"
            raise InvalidValue("move", str(max(moves)), "1 in every coordinate that moves", remedy)
        return self.law().losses(moves)[0]

    def sample(self, words: Words, size: int) -> Integers:
        """Independent values from 64-bit words."""
        return self.law().draw_from_words(words, size)

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        return self.sample(words_of(rng), trials * self.size).reshape(trials, self.size) + statistic

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the variance 1/(cosh(rate) - 1) is not rational; see `law`."""
        return {}


def _counted_moves(here: Array, there: Array, factor: Fraction) -> Counter[Fraction]:
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
