"""Noise on the count of one key, and the chance that a key which a single user has is released."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

import numpy as np
from flint import arb

from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.audit.losses.base import NORMAL_VARIATES, RANDOM_BITS, REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import ball, precision
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.roots import as_fraction

NoiseName: TypeAlias = Literal["laplace", "gaussian", "geometric"]
NOISES: Final[tuple[NoiseName, ...]] = ("laplace", "gaussian", "geometric")

_BITS: Final = 320
_KEPT: Final = 256  # of a probability that is rounded to a rational number, relatively
_NORMAL: Final = BallNormal()
_ONE: Final = ExponentialSum.of(1)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """The chance that a key is released and the chance that it is not, as weights that are divided by their sum."""

    released: ExponentialSum
    withheld: ExponentialSum

    def of_any(self, number: int, *, up: bool) -> Chances:
        """The chance that one of so many keys is released, rounded up or down by a share of 2^-255."""
        if number == 1:
            return self
        with precision(_BITS):
            chance = -(number * self.withheld_ball().log()).expm1()
            found = rounded(chance, up)
        return Chances(released=ExponentialSum.of(found), withheld=ExponentialSum.of(1 - found))

    def loss(self) -> PrivacyLoss:
        """That of a key which one dataset has and the other has not, in the direction from the former."""
        if not self.released.terms:
            return identical_laws()
        return FiniteLoss.of_weights(
            [self.released, self.withheld],
            [ExponentialSum.of(0), _ONE],
            outcomes=("a key is released that the other dataset does not have", "it is not released"),
            assumed=(REAL_ARITHMETIC,),
        )

    def withheld_ball(self) -> arb:
        """Encloses the chance that it is not released, at the working precision."""
        return self.withheld.ball() / (self.withheld + self.released).ball()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNoise:
    """Independent noise on the count of every key that somebody has, and 0 for every other key.

    Attributes:
        size: number of keys.
        name: "laplace", with density exp(-|z|/scale)/(2 scale); "gaussian", of standard deviation ``scale``; or
            "geometric", on the whole numbers, with probabilities proportional to exp(-|z|/scale).
        scale: > 0, exactly.
    """

    size: int
    name: NoiseName
    scale: Fraction

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Noisy counts, and 0 where the count is 0: shape (size,) -> (trials, size)."""
        noise = self.law.draw((trials, self.size), rng) * float(self.unit)
        return np.where(statistic > 0, statistic + noise, 0.0)

    def covariance(self) -> dict[str, Fraction]:
        """Empty: which counts have noise depends on the data."""
        return {}

    @property
    def law(self) -> Law:
        """Of the noise in units of ``unit``."""
        if self.name == "geometric":
            return TwoSidedGeometric(1 / self.scale)
        return Laplace() if self.name == "laplace" else Gaussian()

    @property
    def unit(self) -> Fraction:
        """What the law is multiplied by."""
        return Fraction(1) if self.name == "geometric" else self.scale

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted about the draws."""
        drawn = {"laplace": (), "gaussian": (NORMAL_VARIATES,), "geometric": (RANDOM_BITS,)}[self.name]
        return drawn if self.name == "geometric" else (REAL_ARITHMETIC, *drawn)

    def loss(self, moves: Mapping[Fraction, int]) -> PrivacyLoss:
        """The loss where so many counts move by these distances, all of them released."""
        moved = {distance / self.unit: number for distance, number in moves.items() if number}
        return compose(*self.law.losses(moved)) if moved else identical_laws()

    def chances(self, distance: Fraction) -> tuple[Chances, Chances]:
        """Whether noise is at least ``distance``: two chances, of which the first is certainly not above the truth, and
        the second not below. They are one but for Gaussian noise, where they differ by a share of 2^-255.
        """
        if self.name == "gaussian":
            return self._gaussian_chances(distance / self.scale)
        found = self._laplace_chance(distance / self.scale) if self.name == "laplace" else self._whole(distance)
        return found, found

    def _laplace_chance(self, far: Fraction) -> Chances:
        tail = ExponentialSum.exp(-abs(far)).times(Fraction(1, 2))
        rest = _ONE - tail
        return Chances(released=tail, withheld=rest) if far >= 0 else Chances(released=rest, withheld=tail)

    def _whole(self, distance: Fraction) -> Chances:
        """P(Z >= t) = a^t/(1 + a) at t >= 1, a = exp(-1/scale), by weights whose sum is 1 + a."""
        least = math.ceil(distance)
        whole = _ONE + ExponentialSum.exp(-1 / self.scale)
        if least >= 1:
            tail = ExponentialSum.exp(-least / self.scale)
            return Chances(released=tail, withheld=whole - tail)
        tail = ExponentialSum.exp(-(1 - least) / self.scale)
        return Chances(released=whole - tail, withheld=tail)

    @staticmethod
    def _gaussian_chances(far: Fraction) -> tuple[Chances, Chances]:
        with precision(_BITS):
            small = _NORMAL.tail(ball(abs(far)))
            low, high = (rounded(small, up) for up in (False, True))
        ends = (low, high) if far >= 0 else (1 - high, 1 - low)
        made = [Chances(released=ExponentialSum.of(end), withheld=ExponentialSum.of(1 - end)) for end in ends]
        return made[0], made[1]

    # in float64, for tests of releases --------------------------------------------------------------------------------

    def log_density(self, z: Array) -> Array:
        """Of the noise, but for a constant."""
        unit = float(self.unit)
        return self.law.log_weight(z / unit)

    def withheld(self, distance: Array) -> Array:
        """The chance that noise is below ``distance``, of any shape."""
        if self.name == "geometric":
            return self.law.distribution(np.ceil(distance) - 1)
        return self.law.distribution(distance / float(self.scale))


def rounded(value: arb, up: bool) -> Fraction:
    """A rational number of 256 bits that is certainly not below a probability, or not above it."""
    end = as_fraction(value.upper() if up else value.lower())
    if end <= 0:
        return Fraction(0)
    shift = _KEPT - (end.numerator.bit_length() - end.denominator.bit_length())
    scaled = end * Fraction(2) ** shift
    return Fraction(math.ceil(scaled) if up else math.floor(scaled)) / Fraction(2) ** shift
