"""Independent Laplace noise on every coordinate of a statistic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.discrete_laplace import DiscreteLaplace, Words, words_of

Array = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """The density exp(-|z|/scale)/(2 scale) on each coordinate, taken as real numbers; variance 2 scale^2.

    A coordinate shifted by s has a privacy loss within [-|s|/scale, |s|/scale].

    Args:
        size: number of coordinates.
        scale: a float64 > 0, taken at its exact value.

    Raises:
        InvalidValue: an argument is out of range.
    """

    size: int
    scale: float

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

    def sample(self, words: Words, size: int) -> Array:
        """Independent values from 64-bit words: a sign bit, and minus the logarithm of 53 bits."""
        bits = words(size)
        magnitude = -np.log((np.right_shift(bits, np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53) * self.scale
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

    def sample(self, words: Words, size: int) -> NDArray[np.int64]:
        """Independent values from 64-bit words."""
        return self.law().sample(words, size)

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        return self.sample(words_of(rng), trials * self.size).reshape(trials, self.size) + statistic

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the variance 1/(cosh(rate) - 1) is not rational; see `law`."""
        return {}


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
