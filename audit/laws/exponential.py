"""The exponential law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum


@final
@dataclass(frozen=True, slots=True)
class Exponential(Law):
    """The density exp(-z) at z >= 0.

    Moved up by s, it has no mass below s: the loss is infinite with probability 1 - exp(-s), and -s otherwise.
    """

    name = "exponential"
    symmetric = False
    scipy_name: ClassVar[str | None] = "expon"

    def log_weight(self, z: Array) -> Array:
        """-z at z >= 0."""
        return np.where(z >= 0, -1.0 * z, -np.inf)

    def log_total(self) -> float:
        """0."""
        return 0.0

    def distribution(self, z: Array) -> Array:
        """1 - exp(-z) at z >= 0."""
        return -np.expm1(-np.maximum(z, 0.0))

    def survival(self, z: Array) -> Array:
        """exp(-z) at z >= 0, 1 below."""
        return np.exp(-np.maximum(z, 0.0))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """The exponential variates of NumPy."""
        return rng.standard_exponential(shape)

    def as_exponentials(self, *, above: bool) -> Mapping[int, Fraction]:
        """1 - exp(-z) above 0, nothing below."""
        return {0: Fraction(1), -1: Fraction(-1)} if above else {}

    def losses(self, moves: Moves) -> list[PrivacyLoss]:
        """One loss, composed of those of the draws."""
        return [compose(*(one_sided_loss(move) for move, count in moves.items() for _ in range(count)))]

    def law_of_difference(self) -> Laplace:
        """Laplace."""
        return Laplace()


def one_sided_loss(exponent: Fraction) -> FiniteLoss:
    """P falls exponentially from 0 on; Q is P moved up to where P has the mass exp(-exponent), and has none below."""
    kept = ExponentialSum.exp(-exponent)
    return FiniteLoss.of_weights([ExponentialSum.of(1) - kept, kept], [ExponentialSum.of(0), ExponentialSum.of(1)])
