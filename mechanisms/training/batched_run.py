"""A run on batches that are made at random, and what its privacy goes by: its canary, known batches, its far tail."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import EventBound
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.mixtures.told import CutBatches
from dpverdict.audit.sampling.mixtures.with_replacement import DrawnAgain
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.shuffled import ShuffledBatches, shuffled_batches
from dpverdict.mechanisms.core.bounds import TailEvents
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.training.batches import EPOCHWISE, BatchNoise, BatchSampling
from dpverdict.mechanisms.training.gradients import GradientMechanism
from dpverdict.mechanisms.training.half_spaces import HalfSpaces
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_below

KNOWN_BATCHES: Final = "of known batches"
IN_PLACE_OF_OTHERS: Final[tuple[BatchSampling, ...]] = ("fixed-size", "truncated-poisson", "with-replacement")
"""Ways in which the canary takes the place of another record, or more."""


class BatchedRun(GradientMechanism, StatisticMechanism):
    """T noisy sums of batches of clipped gradients, the batches made in one of `SAMPLINGS`.

    Attributes:
        noise: how the batches are made, and the noise on their sums.
        rate: the sampling probability q.
        sampling: one of `SAMPLINGS`.
        separation: the number b of groups of cyclic Poisson sampling; else 1.
        cut: the Poisson batches that are cut at a size; else None.
        again: the draws of a step, where they are with replacement; else None.
    """

    noise: BatchNoise
    rate: Fraction
    sampling: BatchSampling
    separation: int
    cut: CutBatches | None
    again: DrawnAgain | None

    @property
    def batches(self) -> int:
        """The number of batches of an epoch, without Poisson sampling."""
        return self.noise.batches

    @property
    def epochs(self) -> int:
        """The number of epochs, without Poisson sampling."""
        return self.noise.epochs

    @property
    def known_batches(self) -> GaussianLoss:
        """The privacy loss where it is known in which batches every record takes part."""
        distance = 2 if self.adjacency is REPLACE_ONE or self.sampling in IN_PLACE_OF_OTHERS else 1
        distance *= self.noise.draws or 1
        return GaussianLoss.from_squared(distance**2 * self.taking_part / self.noise_multiplier**2)

    @property
    def taking_part(self) -> int:
        """In how many steps one record takes part at most, or may."""
        if self.sampling == "k-of-t":
            return self.noise.taken
        return self.epochs if self.sampling in EPOCHWISE else -(-self.steps // self.separation)

    def independent(self, multiplier: Fraction) -> AddRemoveLoss:
        """The privacy loss of the canary alone, where every record takes part independently of the others."""
        if self.sampling == "balls-in-bins":
            return random_allocation(noise_multiplier=multiplier, steps=self.batches, epochs=self.epochs)
        return poisson_sampled(GaussianLoss(1 / multiplier), self.rate, self.taking_part)

    @property
    def canary(self) -> Array:
        """The gradient of the canary, which has the clipping norm: shape (1, d)."""
        found: Array = np.eye(1, self.dim) * float_below(self.clipping_norm)
        return found

    def canary_alone(self) -> NeighbourPair:
        """The canary and no other record, and without it or with its opposite in place."""
        return self.canary_among(self.canary[:0])

    def canary_among(self, others: Array) -> NeighbourPair:
        """Other gradients of shape (n, d) with the canary after them, and without it or with its opposite in place."""
        dataset = np.concatenate([others, self.canary])
        neighbour = np.concatenate([others, -self.canary]) if self.adjacency is REPLACE_ONE else others
        return self.neighbours(dataset, neighbour)

    def largest_release(self, epsilon: Fraction) -> EventBound:
        """An event about the largest release of an epoch; of balls in bins all others contribute 0, else -1."""
        if self.sampling == "balls-in-bins":
            return ShuffledBatches(
                noise_multiplier=self.noise_multiplier,
                batches=self.batches,
                epochs=self.epochs,
                relation="add_remove",
                shuffle="fresh",
                others=0,
            ).event(epsilon)
        return shuffled_batches(
            noise_multiplier=self.noise_multiplier,
            batches=self.batches,
            epochs=self.epochs,
            relation=self.adjacency,
            shuffle="fresh" if self.sampling == "shuffle" else "persistent",
            dropped=self.dropped,
        ).event(epsilon)

    @property
    def dropped(self) -> Fraction:
        """The probability that a record is in no batch of an epoch."""
        sizes, records = self.noise.sizes, self.noise.records
        return Fraction(records - sum(sizes), records) if sizes else Fraction(0)

    @property
    def half_spaces(self) -> HalfSpaces:
        """Those of the sum of all steps, or of the first batches of all epochs."""
        cut, shuffled = self.sampling in EPOCHWISE, self.sampling in ("shuffle", "shuffle-once")
        replaced, number = self.adjacency is REPLACE_ONE, self.taking_part
        opposite = shuffled or self.sampling in ("fixed-size", "with-replacement")
        along = "along the canary's gradient in units of the clipping norm"
        which = "all" if self.separation == 1 else "the canary's"
        words = f"the sum over {which} {number} steps of the noisy sums {along}"
        if self.sampling in ("fixed-size", "with-replacement"):
            words += " plus the batch size"
        if cut:
            more = " plus the batch size" if shuffled else ""
            less = " less 1" if shuffled and not replaced else ""
            words = f"the sum over the {number} epochs of the noisy sum of the first batch {along}{more}{less}"
        rate, together = self.rate, self.sampling == "shuffle-once"
        if shuffled and self.noise.sizes:
            rate = Fraction(self.noise.sizes[0], self.noise.records)
        if self.again is not None:
            rate = Fraction(1, self.again.records)
        if self.sampling == "k-of-t":
            words, together = f"the sum over the first {number} steps of the noisy sums {along}", True
            rate = Fraction(1, math.comb(self.steps, number))
        if self.cut is not None:
            rate = self.cut.taking_part
        return HalfSpaces(
            noise_multiplier=self.noise_multiplier,
            number=number,
            rate=rate,
            together=together,
            distance=2 if opposite and (replaced or not shuffled) else 1,
            draws=self.noise.draws or 1,
            below=replaced and not opposite,
            offset=1 if shuffled and not replaced else 0,
            words=words,
        )

    def tail_events(self, pair: NeighbourPair, description: str) -> TailEvents:
        """Those of `half_spaces`, for a pair in words."""
        spaces = self.half_spaces
        return TailEvents(
            pair=pair,
            description=description,
            mu_squared=spaces.mu_squared,
            source=KNOWN_BATCHES,
            against=spaces.against,
        )
