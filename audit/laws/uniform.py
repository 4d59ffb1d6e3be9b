"""The uniform law on [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True)
class Uniform(Law):
    """The density 1 on [0, 1]: moved by s < 1, the loss is infinite with probability s, and 0 otherwise."""

    name = "uniform"
    symmetric = False
    scipy_name: ClassVar[str | None] = "uniform"

    def log_weight(self, z: Array) -> Array:
        """0 on [0, 1]."""
        return np.where((z >= 0) & (z <= 1), 0.0, -np.inf)

    def log_total(self) -> float:
        """0."""
        return 0.0

    def distribution(self, z: Array) -> Array:
        """z on [0, 1]."""
        return np.clip(z, 0.0, 1.0)

    def survival(self, z: Array) -> Array:
        """1 - z on [0, 1]."""
        return 1.0 - np.clip(z, 0.0, 1.0)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """The uniform variates of NumPy."""
        return rng.random(shape)

    def losses(self, moves: Moves) -> list[PrivacyLoss]:
        """One loss, composed of those of the draws."""
        flat = [FiniteLoss([r, 1 - r, 0], [0, 1 - r, r]) for r, count in moves.items() for _ in range(count)]
        return [compose(*flat)]

    def why_disjoint(self, shift: Fraction) -> str | None:
        """A move by the whole width or more."""
        return "uniform noise was moved by its whole width" if shift >= 1 else None
