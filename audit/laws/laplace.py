"""The Laplace law."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.exact_samplers.random_words import Words, words_of
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True)
class Laplace(Law):
    """The density exp(-|z|)/2.

    A draw moved by s has a loss within [-s, s]. Draws that move by one distance are one group of the loss.

    >>> Laplace().loss("0.5").delta(0)
    0.22119921692859512
    """

    name = "laplace"
    symmetric = True
    scipy_name: ClassVar[str | None] = "laplace"
    numpy_name: ClassVar[str | None] = "laplace"

    def log_weight(self, z: Array) -> Array:
        """-|z|."""
        return -np.abs(z)

    def log_total(self) -> float:
        """log 2."""
        return math.log(2)

    def distribution(self, z: Array) -> Array:
        """exp(z)/2 below 0, 1 - exp(-z)/2 above."""
        return self.survival(-z)

    def survival(self, z: Array) -> Array:
        """1 - exp(z)/2 below 0, exp(-z)/2 above."""
        tail = np.exp(-np.abs(z)) / 2
        return np.where(z < 0, 1 - tail, tail)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """As `draw_from_words`, from the bits of the generator."""
        return self.draw_from_words(words_of(rng), math.prod(shape)).reshape(shape)

    def draw_from_words(self, words: Words, size: int) -> Array:
        """Independent draws from 64-bit words, shape (size,): a sign bit, and minus the logarithm of 53 bits."""
        bits = words(size)
        magnitude = -np.log((np.right_shift(bits, np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53)
        return np.where(np.bitwise_and(bits, np.uint64(1)) == 1, magnitude, -magnitude)

    def as_exponentials(self, *, above: bool) -> Mapping[int, Fraction]:
        """1 - exp(-z)/2 above 0, exp(z)/2 below."""
        return {0: Fraction(1), -1: Fraction(-1, 2)} if above else {1: Fraction(1, 2)}

    def losses(self, moves: Moves) -> list[LaplaceLoss]:
        """One loss, of all moves in groups of one distance."""
        return [LaplaceLoss.grouped(moves.items())]

    def largest_loss(self, moves: Moves) -> Fraction:
        """The l1 length of all moves."""
        return sum((move * count for move, count in moves.items()), Fraction(0))
