"""The two-sided geometric law, or discrete Laplace law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np
from flint import fmpz_poly

from dpverdict.audit.laws.base import Law, Moves
from dpverdict.audit.laws.exact_samplers.geometric import draw_geometric
from dpverdict.audit.laws.exact_samplers.random_words import Words, words_of
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, Real, ball
from dpverdict.checks import check_positive
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.exponential_sums import ExponentialSum

LONGEST_MOVE: Final = 256
"""The longest move whose loss is computed: it takes as many values, and one more."""

MOST_VALUES: Final = 64
"""The largest number of values of the loss of many draws that are multiplied out, less one."""


@final
@dataclass(frozen=True, slots=True)
class TwoSidedGeometric(Law):
    """P(Z = z) = (1 - p)/(1 + p) p^|z| on the whole numbers, p = exp(-rate): the law of the difference of two geometric
    variables.

    A draw moved by s has a loss within [-rate s, rate s]. Moved by 1 it is randomised response: the loss takes these
    two values only.

    Args:
        rate: exact, > 0; 1/rate is the scale of the continuous law that it resembles.

    Raises:
        InvalidValue: the rate is not > 0 and finite.

    >>> TwoSidedGeometric("0.5").draw((5,), np.random.default_rng(0)).shape
    (5,)
    """

    rate: Fraction
    name = "two-sided geometric"
    on_whole_numbers = True
    symmetric = True
    scipy_name: ClassVar[str | None] = "dlaplace"

    def __init__(self, rate: Exact) -> None:
        object.__setattr__(self, "rate", checked_rate(rate))

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Short and long tails."""
        return cls(3), cls("1/3"), cls("0.01")

    @property
    def parameter(self) -> Fraction:
        """The rate."""
        return self.rate

    def log_weight(self, z: Array) -> Array:
        """-rate |z|."""
        return -float(self.rate) * np.abs(z)

    def log_total(self) -> float:
        """-log tanh(rate/2)."""
        return -math.log(math.tanh(float(self.rate) / 2))

    def distribution(self, z: Array) -> Array:
        """p^-z/(1 + p) below 0, 1 - p^(z + 1)/(1 + p) from 0 on."""
        whole = np.floor(z)
        return np.where(whole < 0, self._tail(-whole), 1 - self._tail(whole + 1))

    def survival(self, z: Array) -> Array:
        """p^(z + 1)/(1 + p) from 0 on, 1 - p^-z/(1 + p) below."""
        whole = np.floor(z)
        return np.where(whole < 0, 1 - self._tail(-whole), self._tail(whole + 1))

    def _tail(self, z: Array) -> Array:
        """P(Z >= z) for z >= 1."""
        rate = float(self.rate)
        return np.exp(-rate * np.maximum(z, 0)) / (1 + math.exp(-rate))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Exact draws, from the bits of the generator."""
        return self.draw_from_words(words_of(rng), math.prod(shape)).reshape(shape).astype(np.float64)

    def draw_from_words(self, words: Words, size: int) -> Integers:
        """Independent exact draws from 64-bit words: shape (size,)."""
        return draw_geometric(self.rate, words, size) - draw_geometric(self.rate, words, size)

    def variance(self) -> Real:
        """2p/(1 - p)^2 = 1/(cosh(rate) - 1), a little less than the 2/rate^2 of the continuous law."""
        return Real(lambda: 1 / (2 * (ball(self.rate) / 2).sinh() ** 2))

    def probability(self, value: int) -> Real:
        """P(Z = value)."""
        return Real(lambda: (-ball(self.rate) * abs(value)).exp() * (ball(self.rate) / 2).tanh())

    def losses(self, moves: Moves) -> list[PrivacyLoss]:
        """One loss for each distance: randomised response where it is 1, else a finite law of distance + 1 values."""
        return [self._moved(int(move), count) for move, count in moves.items()]

    def _moved(self, move: int, count: int) -> PrivacyLoss:
        if move == 1:
            return RandomisedResponseLoss(count, self.rate)
        taken = count if count * move <= MOST_VALUES else 1
        weights = self._weights(move, taken)
        loss = FiniteLoss.of_weights(weights, weights[::-1])
        return loss if taken == count else compose_counted([(loss, count)])

    def _weights(self, move: int, count: int) -> list[ExponentialSum]:
        """Of the values rate (count move - 2 x), x = 0, 1, ..., of the loss of ``count`` draws, under P.

        With a = exp(-rate) they are, times (1 + a)^count, the coefficients of z^x in the power of the polynomial
        1 + (a - a^2) z + ... + a^move z^move. It is taken with z = a^size, so that no two terms meet.
        """
        size = count * move + 1
        terms = [0] * (size * move + move + 1)
        for x in range(move + 1):
            terms[size * x + x] = 1
            if 0 < x < move:
                terms[size * x + x + 1] = -1
        power = fmpz_poly(terms) ** count
        return [
            ExponentialSum({-self.rate * x: Fraction(int(power[size * at + x])) for x in range(size)})
            for at in range(size)
        ]

    def refusal(self, shift: Fraction) -> str | None:
        """Beyond `LONGEST_MOVE` it takes too long."""
        return f"a whole number of at most {LONGEST_MOVE}" if shift > LONGEST_MOVE else None

    def largest_loss(self, moves: Moves) -> Fraction:
        """rate times the l1 length of all moves."""
        return self.rate * sum((move * count for move, count in moves.items()), Fraction(0))


def checked_rate(rate: Exact) -> Fraction:
    """A rate as an exact number.

    Raises:
        InvalidValue: it is not > 0 and finite.
    """
    return check_positive(rate, "rate", "give the reciprocal of the scale of the noise")
