"""Discrete Gaussian noise of one parameter on every sum, sampled exactly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.laws.discrete_gaussian import DiscreteGaussian
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise:
    """P(z) proportional to exp(-z^2/(2 v)) on the whole numbers, on each coordinate.

    Attributes:
        size: number of coordinates.
        variance: v > 0, exactly; the variance of the law is at most v.
    """

    size: int
    variance: Fraction

    def loss_of_moves(self, moves: Counter[Fraction]) -> PrivacyLoss:
        """The loss where so many coordinates move by these whole numbers; that of equal laws where none does."""
        groups = [(self.variance, int(abs(move)), number) for move, number in moves.items() if move]
        return DiscreteGaussianLoss.from_groups(sorted(groups)) if groups else identical_laws()

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        noisy: Array = DiscreteGaussian(self.variance).draw((trials, self.size), rng) + statistic
        return noisy

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the variance of the law is a value of theta functions, not rational; see ``variance``."""
        return {}
