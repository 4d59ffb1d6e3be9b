"""The Gumbel law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import scipy

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.lattice.custom import additive_noise_loss
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True)
class Gumbel(Law):
    """P(Z <= z) = exp(-exp(-z)).

    The loss of a move is known between two float64 numbers, in both orders, which differ.
    """

    name = "gumbel"
    symmetric = False
    scipy_name: ClassVar[str | None] = "gumbel_r"
    numpy_name: ClassVar[str | None] = "gumbel"

    def log_weight(self, z: Array) -> Array:
        """-z - exp(-z)."""
        return -z - np.exp(-z)

    def log_total(self) -> float:
        """0."""
        return 0.0

    def distribution(self, z: Array) -> Array:
        """exp(-exp(-z))."""
        with np.errstate(over="ignore"):
            return np.exp(-np.exp(-z))

    def survival(self, z: Array) -> Array:
        """1 - exp(-exp(-z))."""
        with np.errstate(over="ignore"):
            return -np.expm1(-np.exp(-z))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """The Gumbel variates of NumPy."""
        return rng.gumbel(size=shape)

    def losses(self, moves: Moves) -> list[PrivacyLoss]:
        """One loss a draw."""
        return [_loss_of_move(float(move)) for move, count in moves.items() for _ in range(count)]


def _loss_of_move(shift: float) -> PrivacyLoss:
    """Both orders: the noise against itself moved up, and its mirror image."""
    orders = [
        compose(additive_noise_loss(law(), shift, relative_error=1e-12))
        for law in (scipy.stats.gumbel_r, scipy.stats.gumbel_l)
    ]
    return AddRemoveLoss(remove=orders[0], add=orders[1])
