"""The likelihood-ratio score of a canary in DP-SGD: the best test of one pair, by the way in which batches are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import scipy

from dpverdict.mechanisms.training.batches import EPOCHWISE, BatchNoise
from dpverdict.numerics.arrays import Array

_RAREST: Final = math.log(1e-20)  # of how often a record is drawn, that a score looks at


def canary_score(
    noise: BatchNoise, records: Array, place: int, replacement: Array | None, taking_part: float
) -> Callable[[Array], Array]:
    """The log-likelihood ratio of the records against their neighbour at releases of shape (trials, T d).

    Of records that are not all alike it takes the others for their mean: the most powerful score of the canary's
    game.

    Args:
        noise: how batches are made, and the noise on their sums.
        records: clipped gradients, shape (n, d).
        place: of the canary.
        replacement: of its gradient, shape (d,); None where it is removed.
        taking_part: the probability that a record is in a batch, of batches that are drawn anew in each step.
    """
    canary, others, variance = records[place], np.delete(records, place, axis=0), noise.scale**2
    replaced, fixed = replacement is not None, noise.sampling == "fixed-size"
    there = np.zeros(noise.dim) if replacement is None else replacement
    rest = others.sum(axis=0) * float(noise.rate)

    def log_ratios(noisy: Array, moved: Array, spread: float) -> Array:
        """log of N(moved, spread) against N(0, spread) at points of shape (..., d)."""
        found: Array = (noisy @ moved - moved @ moved / 2) / spread
        return found

    def drawn(released: Array) -> Array:
        own = slice(place % noise.separation, None, noise.separation)
        mean = others.mean(axis=0) if fixed and len(others) else np.zeros(noise.dim)
        size = math.floor(noise.rate * len(records))
        base = size * mean if fixed else rest
        steps = released.reshape(len(released), noise.steps, noise.dim)[:, own] - base
        with np.errstate(divide="ignore"):
            here, away = (
                np.logaddexp(np.log1p(-taking_part), math.log(taking_part) + log_ratios(steps, moved - mean, variance))
                for moved in (canary, there if replaced else mean)
            )
        total: Array = (here - away).sum(axis=1)
        return total

    def allocated(released: Array) -> Array:
        epochs = released.reshape(len(released), noise.epochs, noise.batches, noise.dim) - rest
        here = np.logaddexp.reduce(log_ratios(epochs, canary, variance), axis=2)
        if replaced:
            found = here - np.logaddexp.reduce(log_ratios(epochs, there, variance), axis=2)
        else:
            found = here - math.log(noise.batches)
        total: Array = found.sum(axis=1)
        return total

    def counted(released: Array) -> Array:
        steps = released.reshape(len(released), noise.steps, noise.dim) - rest
        here = _log_mean_of_products(log_ratios(steps, canary, variance), noise.taken)
        found: Array = here - _log_mean_of_products(log_ratios(steps, there, variance), noise.taken)
        return found

    def shuffled(released: Array) -> Array:
        mean = others.mean(axis=0) if len(others) else np.zeros(noise.dim)
        if noise.sizes:
            sizes = np.array(noise.sizes, dtype=float)
        else:
            sizes = np.full(noise.batches, max(len(records), noise.batches) / noise.batches)
        base = sizes[:, None] * mean
        chances = np.log(sizes / (noise.records or sizes.sum()))
        left_out = 1 - sizes.sum() / noise.records if noise.records else 0.0
        epochs = released.reshape(len(released), noise.epochs, noise.batches, noise.dim) - base
        spread = variance
        if noise.sampling == "shuffle-once":
            epochs, spread = epochs.mean(axis=1, keepdims=True), variance / noise.epochs
        ratios = [log_ratios(epochs, moved - mean, spread) + chances for moved in (canary, there)]
        with np.errstate(divide="ignore"):
            here, away = (np.logaddexp(np.logaddexp.reduce(ratio, axis=2), np.log(left_out)) for ratio in ratios)
        total: Array = (here - away).sum(axis=1)
        return total

    def again(released: Array) -> Array:
        mean = others.mean(axis=0) if len(others) else np.zeros(noise.dim)
        steps = released.reshape(len(released), noise.steps, noise.dim) - noise.draws * mean
        times = np.arange(noise.draws + 1)
        chances = scipy.stats.binom.logpmf(times, noise.draws, 1 / noise.records)
        likely = [(k, chance) for k, chance in zip(times.tolist(), chances.tolist(), strict=True) if chance > _RAREST]

        def ratio(move: Array) -> Array:
            total = np.full(steps.shape[:2], -np.inf)
            for k, chance in likely:
                np.logaddexp(total, chance + log_ratios(steps, k * move, variance), out=total)
            return total

        found = ratio(canary - mean)
        if replaced:
            found -= ratio(there - mean)
        scores: Array = found.sum(axis=1)
        return scores

    if noise.sampling == "with-replacement":
        return again
    if noise.sampling == "k-of-t":
        return counted
    if noise.sampling in EPOCHWISE:
        return allocated if noise.sampling == "balls-in-bins" else shuffled
    return drawn


def _log_mean_of_products(logs: Array, taken: int) -> Array:
    """log of the mean, over all sets of so many columns, of the products of exponentials: (trials, T) -> (trials,)."""
    sums = np.full((len(logs), taken + 1), -np.inf)
    sums[:, 0] = 0.0
    for column in logs.T:
        sums[:, 1:] = np.logaddexp(sums[:, 1:], sums[:, :-1] + column[:, None])
    number = math.lgamma(logs.shape[1] + 1) - math.lgamma(taken + 1) - math.lgamma(logs.shape[1] - taken + 1)
    found: Array = sums[:, taken] - number
    return found
