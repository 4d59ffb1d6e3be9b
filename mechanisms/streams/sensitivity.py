"""The sensitivity space of a stream: one step changes, and with it every sum that the item is in.

A counter releases L (R x + noise) for a factorisation A = L R of the prefix sums. When item i changes by v, the
statistic R x changes by v R e_i. The counts show all of R x + noise if L is invertible: then what is derived here is
attained. If L has more columns than rows, the counts are a function of R x + noise that forgets something, and it
bounds them from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import RandomisedResponseLoss, identical_laws
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise, LaplaceNoise, laplace_score
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.sensitivity import Datasets, LossBound, Maximum, QuadraticSpace, unsupported
from dpverdict.numerics.arrays import Array

Column = tuple[tuple[Fraction, int], ...]
"""The distinct absolute values of the non-zero entries of R e_i, each with the number of entries that have it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceStep:
    """One item of a stream replaced by another in [0, 1], under independent Laplace noise on R x.

    Args:
        horizon: the number of steps T.
        column: from i in 1..T to the entries of R e_i; entry by entry, in some order, none exceeds R e_1.
        invertible: whether L is.
        alone: how many of the sums with the first item are each shown by a count alone, with its own noise and no
            other; if all are, the loss of the first item is attained whether L is invertible or not.
        item: the step that changes, 1..T; the first one is the worst.
    """

    horizon: int
    column: Callable[[int], Column]
    invertible: bool
    alone: int = 0
    item: int = 1

    def at(self, position: int) -> LaplaceStep:
        """The differences that the item at a position makes, the first being 0."""
        return replace(self, item=_step_of_position(position, self.horizon))

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """The first item, changed from 0 to 1: it is in the most sums, and a longer move in any coordinate tells more.

        Of two independent coordinates with log-concave noise, the pair with the shorter moves follows from the pair
        with the longer ones by a random function of the outcomes, coordinate by coordinate.
        """
        one, zero = np.ones(()), np.zeros(())
        shown = self.alone if self.item == 1 else 0
        exact = self.invertible or shown == sum(count for _, count in self.column(self.item))
        part = replace(self, column=lambda _: ((Fraction(1), shown),))
        return _largest_or_bound(
            loss=self.loss(noise, one, zero),
            attained=None if exact else part.loss(noise, one, zero) if shown else identical_laws(),
            datasets=lambda: _neighbouring_streams(self.horizon, self.item),
            description=_description(self.item),
            justification=_justification("the loss of log-concave noise grows with every shift", exact),
        )

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss of R x + noise when the item changes from ``record`` to ``replacement``."""
        if replacement is None:
            raise unsupported(self, noise)
        moved = abs(Fraction(float(record)) - Fraction(float(replacement)))
        if moved == 0:
            return identical_laws()
        column = self.column(self.item)
        if isinstance(noise, DiscreteLaplaceNoise) and moved == 1 and all(entry == 1 for entry, _ in column):
            return RandomisedResponseLoss(sum(count for _, count in column), noise.rate)
        if isinstance(noise, LaplaceNoise):
            return LaplaceLoss.grouped([(moved * entry * noise.rate, count) for entry, count in column])
        raise unsupported(self, noise)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianStep(QuadraticSpace):
    """One item of a stream replaced by another in [0, 1], under independent Gaussian noise on R x.

    Args:
        horizon: the number of steps T.
        squared: from i in 1..T to the squared l2 norm of R e_i; that of R e_1 is the largest.
        invertible: whether L is.
        item: the step that changes, 1..T; the first one is the worst.
    """

    horizon: int
    squared: Callable[[int], Real]
    invertible: bool
    item: int = 1

    def at(self, position: int) -> GaussianStep:
        """The differences that the item at a position makes, the first being 0."""
        return replace(self, item=_step_of_position(position, self.horizon))

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """The first item, changed from 0 to 1: its column of R has the largest l2 norm."""
        one, zero = np.ones(()), np.zeros(())
        return _largest_or_bound(
            loss=self.loss(noise, one, zero),
            attained=None if self.invertible else identical_laws(),
            datasets=lambda: _neighbouring_streams(self.horizon, self.item),
            description=_description(self.item),
            justification=_justification("no column of R is longer than the first", self.invertible),
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """|R e_i|^2 v^2/sigma^2 when the item changes by v."""
        variance = getattr(noise, "variance", None)
        if replacement is None or not isinstance(variance, Fraction) or isinstance(noise, LaplaceNoise):
            raise unsupported(self, noise)
        moved = Fraction(float(record)) - Fraction(float(replacement))
        return self.squared(self.item).times(moved**2 / variance)


def _largest_or_bound(
    *, loss: PrivacyLoss, attained: PrivacyLoss | None, datasets: Datasets, description: str, justification: str
) -> Maximum | LossBound:
    """The largest loss, or a bound where less is attained: None stands for all of it."""
    if attained is None:
        return Maximum(loss=loss, datasets=datasets, description=description, justification=justification)
    return LossBound(
        loss=loss, datasets=datasets, description=description, justification=justification, attained=attained
    )


def _description(item: int) -> str:
    return f"item number {item} of the stream changed from 0 to 1"


def _justification(why: str, exact: bool) -> str:
    common = f"the first item is in the most sums, and {why}; "
    if exact:
        return common + "the counts determine the noisy sums with that item, so the loss is attained"
    return common + "the counts are a function of the noisy sums that does not determine them, so the loss is a bound"


def _neighbouring_streams(horizon: int, item: int) -> tuple[Array, Array]:
    without = np.zeros(horizon)
    having = without.copy()
    having[item - 1] = 1.0
    return having, without


def _step_of_position(position: int, horizon: int) -> int:
    if not 0 <= position < horizon:
        raise InvalidValue("position", position, f"in 0..{horizon - 1}", "count the items of the stream from 0")
    return position + 1


def vertex_score(
    embed: Callable[[Array], Array],
    horizon: int,
    rate: float,
    statistic: Callable[[Array], Array],
    pair: NeighbourPair,
) -> Callable[[Array], Array]:
    """rate times the sum of |v - E_Q[v]| - |v - E_P[v]|, with v = R (increments of the counts), which L takes to them.

    Args:
        embed: R, on streams of shape (trials, horizon).
        horizon: T; shorter counts are padded by repeating the last one.
        rate: 1/scale of the Laplace noise.
        statistic: R x of a dataset.
        pair: the datasets of P and Q.
    """
    here, there = statistic(pair.dataset), statistic(pair.neighbour)
    return lambda counts: laplace_score(noisy_sums(embed, horizon, counts), here, there, rate)


def noisy_sums(embed: Callable[[Array], Array], horizon: int, counts: Array) -> Array:
    """R (increments of the counts): shape (trials, n) -> (trials, size). L of it are the counts, since A = L R."""
    increments = np.diff(counts, axis=1, prepend=0.0)
    padded = np.zeros((len(counts), horizon))
    padded[:, : counts.shape[1]] = increments
    return embed(padded)
