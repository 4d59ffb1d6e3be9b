"""What training with Gaussian noise promises under each way to make batches."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from dpverdict.audit.batches.claim import BatchClaim
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.shuffled import shuffled_batches

Interval: TypeAlias = tuple[float, float]
"""The ends between which an epsilon certainly lies."""

LONGEST_SHUFFLED: Final = 10_000
"""Epochs from which on no event of shuffled batches is computed."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Steps with Gaussian noise on sums of clipped gradients, under add-or-remove-one.

    Every epsilon lies between two ends, both by ball arithmetic: a pair of neighbours has at least the lower one, every
    pair has at most the upper one.

    Attributes:
        noise_multiplier: standard deviation in units of the clipping norm.
        steps: T.
        delta: of the epsilon.
    """

    noise_multiplier: Fraction
    steps: int
    delta: Fraction

    def poisson(self, rate: Fraction) -> Interval:
        """Epsilon where every batch has the record with this probability, independently of all else."""
        if rate == 0:
            return 0.0, 0.0
        return self._of(poisson_sampled(GaussianLoss(1 / self.noise_multiplier), min(rate, Fraction(1)), self.steps))

    def known(self, times: int) -> Interval:
        """Epsilon where the record is in so many batches, and which these are is known."""
        return self._of(GaussianLoss.from_squared(Fraction(times) / self.noise_multiplier**2))

    def balls_in_bins(self, bins: int) -> Interval:
        """Epsilon of whole epochs, the last one completed."""
        epochs = -(-self.steps // bins)
        return self._of(random_allocation(noise_multiplier=self.noise_multiplier, steps=bins, epochs=epochs))

    def shuffled(self, batches: int) -> Interval:
        """What an event attains, and what known batches do not exceed, over whole epochs, the last one completed."""
        epochs = -(-self.steps // batches)
        if epochs > LONGEST_SHUFFLED:
            return 0.0, self.known(epochs)[1]
        found = shuffled_batches(
            noise_multiplier=self.noise_multiplier,
            batches=batches,
            epochs=epochs,
            relation="add_remove",
            shuffle="fresh",
        )
        return found.lower_epsilon(self.delta), found.upper_epsilon(self.delta)

    def claimed(self, claim: BatchClaim, records: int) -> Interval:
        """Ends of epsilon under a claim."""
        if claim.making == "poisson":
            return self.poisson(claim.rate)
        if claim.making == "balls-in-bins":
            return self.balls_in_bins(claim.bins)
        if claim.making == "shuffle":
            return self.shuffled(-(-records // claim.size))
        return self.fixed_size(Fraction(claim.size, records))

    def fixed_size(self, rate: Fraction) -> Interval:
        """Epsilon of batches that are drawn anew without replacement, of which a record is a part of the larger data.

        The record takes the place of another one, so that it moves a sum by up to 2, see
        `dpverdict.audit.sampling.mixtures.fixed_size`; the pair is attained, and the two ends are one.
        """
        if rate == 1:
            return self.known(self.steps)
        return self._of(poisson_sampled(GaussianLoss(2 / self.noise_multiplier), rate, self.steps))

    def _of(self, loss: PrivacyLoss) -> Interval:
        found = loss.certified_epsilon(self.delta)
        return found.lower, found.upper
