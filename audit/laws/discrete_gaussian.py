"""The discrete Gaussian law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Self, final

import numpy as np

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.exact_samplers.discrete_gaussian import draw_discrete_gaussian
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

_SMALL: Final = 0.5  # below this parameter the sum over the whole numbers converges faster than its Poisson dual
_REACH: Final = 39  # standard deviations, beyond which no float64 tail is above 0
_LARGEST: Final = 1 << 15


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Law):
    """P(Z = z) proportional to exp(-z^2/(2 v)) on the whole numbers.

    Args:
        variance_parameter: v > 0, exact; the variance of the law is at most v.

    Raises:
        InvalidValue: v is not > 0 and finite.

    Reference: Canonne, Kamath and Steinke 2020 (arXiv:2004.00010).
    """

    variance_parameter: Fraction
    name = "discrete gaussian"
    on_whole_numbers = True
    symmetric = True

    def __init__(self, variance_parameter: Exact) -> None:
        v = check_positive(variance_parameter, "variance_parameter", "give v of exp(-z^2/(2 v)) as a positive number")
        object.__setattr__(self, "variance_parameter", v)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """A law on next to no values, and wide ones."""
        return cls("0.1"), cls("2.5"), cls(400)

    @property
    def parameter(self) -> Fraction:
        """v."""
        return self.variance_parameter

    def log_weight(self, z: Array) -> Array:
        """-z^2/(2 v)."""
        return -(z**2) / (2 * float(self.variance_parameter))

    def log_total(self) -> float:
        """The logarithm of the theta function at v, by its sum or by the Poisson dual of it."""
        v = float(self.variance_parameter)
        if v < _SMALL:
            return math.log1p(2 * math.fsum(math.exp(-(z**2) / (2 * v)) for z in range(1, 40)))
        dual = 2 * math.fsum(math.exp(-2 * math.pi**2 * v * m**2) for m in range(1, 10))
        return math.log(2 * math.pi * v) / 2 + math.log1p(dual)

    def distribution(self, z: Array) -> Array:
        """P(Z <= z), by the sum of the probabilities.

        Raises:
            InvalidValue: sqrt(v) is above 2^15, so that the sum has too many terms.
        """
        return self.survival(-np.floor(z) - 1)

    def survival(self, z: Array) -> Array:
        """P(Z > z), by the sum of the probabilities.

        Raises:
            InvalidValue: sqrt(v) is above 2^15, so that the sum has too many terms.
        """
        tails = _upper_tails(self.variance_parameter)
        reach = len(tails) // 2 - 1
        return tails[np.clip(np.floor(z), -reach - 1, reach).astype(np.int64) + reach + 1]

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Exact draws, from the bits of the generator."""
        return np.asarray(draw_discrete_gaussian(self.variance_parameter, shape, rng), dtype=np.float64)

    def losses(self, moves: Moves) -> list[PrivacyLoss]:
        """One loss, of all moves."""
        groups = [(self.variance_parameter, int(move), count) for move, count in moves.items()]
        return [DiscreteGaussianLoss.from_groups(groups)]

    def rho(self, moves: Moves) -> Fraction:
        """The squared l2 length of all moves over 2 v: that of the continuous law of variance v."""
        square = sum((move**2 * count for move, count in moves.items()), Fraction(0))
        return square / (2 * self.variance_parameter)


@lru_cache(maxsize=4)
def _upper_tails(variance: Fraction) -> Array:
    """P(Z > z) at z = -reach - 1, ..., reach, where the reach is so large that the last one is 0 in float64."""
    if variance > _LARGEST**2:
        raise InvalidValue("variance_parameter", variance, f"at most {_LARGEST}^2", "sum over fewer whole numbers")
    law = DiscreteGaussian(variance)
    reach = math.ceil(_REACH * math.sqrt(variance)) + 2
    weights = np.exp(law.log_density(np.arange(-reach, reach + 1.0)))
    above = np.cumsum(weights[reach + 1 :][::-1])[::-1]  # P(Z >= 1), ..., P(Z >= reach), small ones first
    return np.concatenate([[1.0], (1 - above)[::-1], above, [0.0]])
