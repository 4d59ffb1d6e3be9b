"""Permute-and-flip: options in random order, each accepted the less likely, the further it is behind the best."""

from __future__ import annotations

from typing import final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact
from dpverdict.checks import check_dim, check_moderate
from dpverdict.mechanisms.finite.selection import ExponentialScores, Selection
from dpverdict.numerics.arrays import Array


@final
class PermuteAndFlip(Selection):
    """Options are taken in random order; option i is accepted with probability exp(rate (u_i - max u)), else the next.

    With records of [0, D]^k, rate = epsilon/(2 D) under REPLACE_ONE and epsilon/D under ADD_OR_REMOVE_ONE. Its law is
    that of the largest score with exponential noise of that rate (Ding, Kifer, Steinke et al. 2021, Theorem 5); so it
    is epsilon-DP, not of bounded range, and at every level delta(level) <= 1 - exp((level - epsilon)/2), attained.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        adjacency: the neighbouring relation of the claim.
        sensitivity: D > 0, exact; rounded up to a float64.
        rate: to be used in place of that of the claim, exact.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: McKenna and Sheldon 2020, Algorithm 1 and Theorem 1 (arXiv:2010.12603).

    >>> from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
    >>> mechanism = PermuteAndFlip(options=2, epsilon=2, adjacency=REPLACE_ONE)
    >>> mechanism.release([[1, 0]], np.random.default_rng(1)).shape
    (1,)
    """

    name = "permute-and-flip"
    title = "an option, by permute and flip"
    source = "McKenna and Sheldon 2020, Theorem 1"
    example = "--options 3 --epsilon 1 --adjacency replace-one"
    noise: ExponentialScores

    def __init__(
        self,
        *,
        options: int,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        sensitivity: Exact = 1,
        rate: Exact | None = None,
    ) -> None:
        claimed = self._set(options, epsilon, adjacency, sensitivity)
        self.noise = ExponentialScores(size=self.dim, rate=claimed if rate is None else check_moderate(rate, "rate"))

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases, by the algorithm as it is printed: shape (trials, 1)."""
        scores = self.embed(dataset)
        accepted_with = np.exp(float(self.noise.rate) * (scores - scores.max()))
        count = check_dim(trials, "trials")
        order = np.argsort(rng.random((count, self.dim)), axis=1)
        accepted = rng.random((count, self.dim)) < accepted_with[order]  # the best is accepted: 1 > U
        first = np.argmax(accepted, axis=1)
        chosen: Array = order[np.arange(count), first][:, None].astype(np.float64)
        return chosen
