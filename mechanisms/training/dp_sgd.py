"""DP-SGD: noisy sums of clipped gradients, on batches that are sampled in one of three ways."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, check_adjacency
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import exact_text

BatchSampling: TypeAlias = Literal["poisson", "shuffle", "shuffle-once"]
SAMPLINGS: Final[tuple[BatchSampling, ...]] = ("poisson", "shuffle", "shuffle-once")


def read_sampling(text: str) -> BatchSampling:
    """How batches are made, as it is written.

    Raises:
        InvalidValue: none of `SAMPLINGS`.
    """
    for known in SAMPLINGS:
        if text == known:
            return known
    raise InvalidValue("sampling", text, f"one of {', '.join(SAMPLINGS)}", "say how batches are made")


@final
class DPSGD:
    """T steps of DP-SGD on given gradients: each releases the sum of a batch of clipped gradients, with Gaussian noise.

    The gradients are those of one fixed model (a learning rate of 0): the game of a canary, whose privacy that of
    training is at least. Every record takes part in a step with probability q, independently ("poisson"); or the
    records are permuted and cut into 1/q batches, anew in each epoch ("shuffle") or once ("shuffle-once").

    Args:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, exact.
        rate: the sampling probability q in (0, 1], exact; the inverse of a whole number if batches are shuffled.
        steps: the number of steps T >= 1; whole epochs if batches are shuffled.
        sampling: "poisson", "shuffle" or "shuffle-once".
        clipping_norm: > 0, exact; what is promised does not depend on it.
        adjacency: the neighbouring relation; replace-one is not proved for Poisson sampling, and refused.

    Raises:
        InvalidValue: an argument out of range.

    Reference: Abadi et al. 2016, Algorithm 1 (arXiv:1607.00133).

    >>> training = DPSGD(noise_multiplier=1, rate="0.01", steps=200, sampling="shuffle")
    >>> training.batches, training.epochs
    (100, 2)
    """

    name = "dp-sgd"
    source = "Abadi et al. 2016, Algorithm 1"

    def __init__(
        self,
        *,
        noise_multiplier: Exact,
        rate: Exact,
        steps: int,
        sampling: BatchSampling,
        clipping_norm: Exact = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    ) -> None:
        self.noise_multiplier = check_positive(noise_multiplier, "noise_multiplier")
        self.clipping_norm = check_positive(clipping_norm, "clipping_norm")
        self.rate, self.adjacency = exactly(rate, name="rate"), check_adjacency(adjacency)
        self.steps = check_whole(steps, "steps", least=1, remedy="say how often the model is updated")
        if not 0 < self.rate <= 1:
            raise InvalidValue("rate", rate, "in (0, 1]", "give the expected part of the records in a batch")
        self.sampling = read_sampling(sampling)
        if sampling == "poisson" and self.adjacency is not ADD_OR_REMOVE_ONE:
            remedy = "claim add-or-remove-one; under replace-one no dominating pair is proved here"
            raise InvalidValue("adjacency", adjacency, "add-or-remove-one with Poisson sampling", remedy)
        if sampling != "poisson" and (self.rate.numerator != 1 or self.steps % self.rate.denominator):
            given = f"rate {exact_text(self.rate)}, {self.steps} steps"
            remedy = "give a rate of 1/batches, and a multiple of so many steps"
            raise InvalidValue("rate and steps", given, "whole batches and whole epochs", remedy)

    @property
    def batches(self) -> int:
        """The number of batches of an epoch, where they are shuffled."""
        return self.rate.denominator

    @property
    def epochs(self) -> int:
        """The number of epochs, where batches are shuffled."""
        return self.steps // self.batches

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """The noisy sums of one run: gradients of shape (n, d) to shape (T d,)."""
        gradients = np.asarray(dataset, dtype=np.float64)
        if gradients.ndim != 2 or not np.isfinite(gradients).all():
            remedy = "give one gradient for each record"
            raise InvalidValue("dataset", f"shape {gradients.shape}", "finite numbers of shape (n, d)", remedy)
        bound = float(self.clipping_norm)
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients * np.minimum(1.0, bound / np.maximum(norms, 1e-300))
        scale = bound * float(self.noise_multiplier)
        sums = np.stack([clipped[batch].sum(axis=0) for batch in self._batches(len(clipped), rng)])
        return (sums + scale * rng.standard_normal(sums.shape)).ravel()

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent runs: shape (trials, T d)."""
        return np.stack([self.release(dataset, rng) for _ in range(trials)])

    def _batches(self, number: int, rng: np.random.Generator) -> list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """Which records are in the batch of each step: arrays of bool, shape (n,)."""
        if self.sampling == "poisson":
            return [rng.random(number) < float(self.rate) for _ in range(self.steps)]
        found = []
        order = rng.permutation(max(number, self.batches))
        for epoch in range(self.epochs):
            if epoch and self.sampling == "shuffle":
                order = rng.permutation(len(order))
            places = np.argsort(order)[:number] % self.batches
            found += [places == batch for batch in range(self.batches)]
        return found

    def describe(self) -> str:
        """The run in one line."""
        how = {"poisson": "Poisson sampling", "shuffle": "shuffled batches", "shuffle-once": "batches shuffled once"}
        rate: Fraction = self.rate
        return (
            f"{self.steps} steps with noise multiplier {exact_text(self.noise_multiplier)}, {how[self.sampling]}, "
            f"rate {exact_text(rate)}"
        )
