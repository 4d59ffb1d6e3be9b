"""The Gaussian law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
import scipy

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.exact_samplers.random_words import Words
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True)
class Gaussian(Law):
    """The density exp(-z^2/2)/sqrt(2 pi).

    Moves add up in l2: draws moved by s_1, s_2, ... are exactly mu-GDP apart with mu^2 = s_1^2 + s_2^2 + ... (Dong,
    Roth and Su 2022, arXiv:1905.02383).

    >>> Gaussian().loss("0.5").delta(0)
    0.1974126513658473
    """

    name = "gaussian"
    symmetric = True
    spherical = True
    scipy_name: ClassVar[str | None] = "norm"
    numpy_name: ClassVar[str | None] = "normal"

    def log_weight(self, z: Array) -> Array:
        """-z^2/2."""
        return -(z**2) / 2

    def log_total(self) -> float:
        """log sqrt(2 pi)."""
        return math.log(2 * math.pi) / 2

    def distribution(self, z: Array) -> Array:
        """P(Z <= z)."""
        return np.asarray(scipy.special.ndtr(z))

    def survival(self, z: Array) -> Array:
        """P(Z > z)."""
        return np.asarray(scipy.special.ndtr(-z))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """The normal variates of NumPy."""
        return rng.standard_normal(shape)

    def draw_from_words(self, words: Words, size: int) -> Array:
        """Independent draws from 64-bit words, shape (size,), by inversion at 53 bits."""
        bits = np.right_shift(words(size), np.uint64(11)).astype(np.float64)
        values: Array = scipy.special.ndtri((bits + 0.5) * 2.0**-53)
        return values

    def losses(self, moves: Moves) -> list[GaussianLoss]:
        """One loss, of the l2 length of all moves."""
        return [GaussianLoss.from_squared(_squared_length(moves))]

    def rho(self, moves: Moves) -> Fraction:
        """Half the squared l2 length."""
        return _squared_length(moves) / 2


def _squared_length(moves: Moves) -> Fraction:
    return sum((move**2 * count for move, count in moves.items()), Fraction(0))
