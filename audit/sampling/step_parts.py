"""One Poisson-sampled step as a part of a composition: its moments, as one contour for all parts needs them."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import acb, arb, ctx

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.moments import GaussianMoments, LaplaceMoments, StepMoments
from dpverdict.numerics.arrays import Array

MOMENTS: Final = (1e-3, 20)
"""The sizes of a step, mu or the Laplace shift, between which moments are integrated."""


@final
class SampledPart:
    """M(t) of one step in one order: the moment of exponent 1 + t of remove, or -t of add."""

    __slots__ = ("_is_remove", "_moments", "largest")
    largest: float

    def __init__(self, moments: StepMoments, order: Direction) -> None:
        self._moments, self._is_remove = moments, order is Direction.REMOVE
        self.largest = max(moments.largest_exponent - 1, 1.0) if self._is_remove else -moments.least_exponent

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        return self._moments.estimates(1 + points if self._is_remove else -points)[0]

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of ``beyond``/M(c)."""
        return self._moments.log_cut(1 + centre if self._is_remove else -centre, heights)

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """Nodes times the points of the rule."""
        return number * float(self._moments.points(np.array([height]))[0])

    def _exponent(self, t: arb) -> arb:
        return 1 + t if self._is_remove else -t

    def at(self, t: arb) -> arb:
        """M(t)."""
        return arb(1) if t.is_zero() else self._moments.real(self._exponent(t))

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line."""
        found = self._moments.line(self._exponent(arb(centre)), step, number, ctx.prec - 16)
        return found if self._is_remove else [value.conjugate() for value in found]

    def beyond(self, centre: arb, height: arb) -> arb:
        """The bound of a shifted line of integration."""
        return self._moments.cut(self._exponent(centre), height)


def step_moments(pair: PrivacyLoss, q: Fraction) -> StepMoments | None:
    """The moments of one step, where they are known: of Gaussian noise, and of Laplace noise on one coordinate."""
    if isinstance(pair, GaussianLoss) and MOMENTS[0] <= pair.mu <= MOMENTS[1]:
        return GaussianMoments(pair.mu_real, q)
    if isinstance(pair, LaplaceLoss) and len(pair.groups) == 1 and pair.groups[0][1] == 1:
        shift = pair.groups[0][0]
        return LaplaceMoments(shift, q) if MOMENTS[0] <= shift <= MOMENTS[1] else None
    return None
