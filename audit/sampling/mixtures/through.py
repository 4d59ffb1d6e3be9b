"""A record that is replaced, through the data without it: a bound by the losses of removing and of adding it.

For laws P, Q and R with and without the record and with its replacement, and any split of epsilon, at every event E

    P(E) <= delta_PQ(a) + e^a Q(E) <= delta_PQ(a) + e^a delta_QR(epsilon - a) + e^epsilon R(E),

so that delta_PR(epsilon) <= delta_PQ(a) + e^a delta_QR(epsilon - a). At the same epsilon twice that is group privacy,
(2 epsilon, (1 + e^epsilon) delta); a is taken where about the least comes out, by the two profiles at some points.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.balls import ball, precision
from dpverdict.numerics.arrays import Array

_BITS: Final = 128
_POINTS: Final = 16
_LESS: Final = Fraction(31, 32)  # of an epsilon, at which the bound is looked at too
_SPLITS: Final = 257
_LEAST: Final = Fraction(1, 10**10)
_TINY: Final = 1e-300
_FARTHEST: Final = 200.0


@final
@dataclass(frozen=True, kw_only=True)
class ThroughAbsent:
    """Bounds on delta(epsilon) of replacing a record.

    Attributes:
        loss: that dominates removing any record, and adding any.
    """

    loss: AddRemoveLoss

    def delta_at_most(self, epsilon: Fraction) -> arb | None:
        """A ball whose upper end delta(epsilon) does not exceed; None for epsilon < 0.

        The split is steered in float64, so that a smaller epsilon may have the smaller bound: delta does not grow.
        """
        if epsilon < 0:
            return None
        bounds = [self._at(epsilon), self._at(epsilon * _LESS)]
        with precision(_BITS):
            return arb.min(*bounds)

    def _at(self, epsilon: Fraction) -> arb:
        a = Fraction(self._split(float(epsilon)))
        removed, added = self.loss.remove._delta_balls([a])[0], self.loss.add._delta_balls([epsilon - a])[0]  # pyright: ignore[reportPrivateUsage]
        with precision(_BITS):
            return (removed + ball(a).exp() * added).min(arb(1))

    def _split(self, epsilon: float) -> float:
        """About the best a in [0, epsilon]."""
        places, removed, added = self._profiles
        a = np.linspace(0.0, epsilon, _SPLITS)
        logs = np.logaddexp(np.interp(a, places, removed), a + np.interp(epsilon - a, places, added))
        return float(a[int(logs.argmin())])

    @cached_property
    def _profiles(self) -> tuple[Array, Array, Array]:
        """Some epsilons, with log delta of removing and of adding, in float64: they steer."""
        farthest = min(float(self.loss.certified_epsilon(_LEAST).upper), _FARTHEST)
        places = np.linspace(0.0, farthest, _POINTS)
        columns = [np.log(np.maximum(one.delta(places), _TINY)) for one in (self.loss.remove, self.loss.add)]
        return places, columns[0], columns[1]


def blocks_of_steps(steps: int, taken: int) -> list[tuple[int, int]]:
    """Blocks of which a record takes part in one step each, of lengths as equal as can be: (length, number).

    A record in k of T steps, all subsets being equally likely, is one that is put into k blocks, which are drawn first,
    and then into one step of each. So it tells no more than k epochs of random allocation (Feldman and Shenfeld 2025,
    arXiv:2502.08202, of floor(T/k) steps each; the lengths may differ, as a random partition is alike for all steps).
    """
    length, longer = divmod(steps, taken)
    return [(size, number) for size, number in ((length, taken - longer), (length + 1, longer)) if number]
