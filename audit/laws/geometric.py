"""The geometric law from 0 on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.exact_samplers.geometric import draw_geometric
from dpverdict.audit.laws.exact_samplers.random_words import words_of
from dpverdict.audit.laws.exponential import one_sided_loss
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric, checked_rate
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.balls import Exact
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True)
class Geometric(Law):
    """P(Z = z) = (1 - p) p^z at the whole numbers z >= 0, p = exp(-rate).

    Moved up by s, it has no mass below s: the loss is infinite with probability 1 - p^s, and -rate s otherwise.

    Args:
        rate: exact, > 0.

    Raises:
        InvalidValue: the rate is not > 0 and finite.
    """

    rate: Fraction
    name = "geometric"
    on_whole_numbers = True
    symmetric = False
    scipy_name: ClassVar[str | None] = "geom"
    scipy_origin = 1

    def __init__(self, rate: Exact) -> None:
        object.__setattr__(self, "rate", checked_rate(rate))

    @classmethod
    def of_scipy(cls, *shapes: float) -> Self | None:
        """Of the probability of success 1 - p; None where it is 1, and there is no noise."""
        (success,) = shapes
        return cls(-math.log1p(-success)) if 0 < success < 1 else None

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Short and long tails."""
        return cls(3), cls("1/3"), cls("0.01")

    @property
    def parameter(self) -> Fraction:
        """The rate."""
        return self.rate

    def log_weight(self, z: Array) -> Array:
        """-rate z at z >= 0."""
        return np.where(z >= 0, -float(self.rate) * z, -np.inf)

    def log_total(self) -> float:
        """-log(1 - p)."""
        return -math.log(-math.expm1(-float(self.rate)))

    def distribution(self, z: Array) -> Array:
        """1 - p^(z + 1)."""
        found: Array = -np.expm1(-float(self.rate) * np.maximum(np.floor(z) + 1, 0.0))
        return found

    def survival(self, z: Array) -> Array:
        """p^(z + 1)."""
        found: Array = np.exp(-float(self.rate) * np.maximum(np.floor(z) + 1, 0.0))
        return found

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Exact draws, from the bits of the generator."""
        return draw_geometric(self.rate, words_of(rng), math.prod(shape)).reshape(shape).astype(np.float64)

    def losses(self, moves: Moves) -> list[PrivacyLoss]:
        """One loss, composed of those of the draws."""
        parts = (one_sided_loss(self.rate * move) for move, count in moves.items() for _ in range(count))
        return [compose(*parts)]

    def law_of_difference(self) -> TwoSidedGeometric:
        """Two-sided geometric, of the same rate."""
        return TwoSidedGeometric(self.rate)
