"""Tilted laws near one epsilon, kept for its neighbours, and sums over their windows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.lattice_power import ROUNDING, Parts, Steering, TiltedLaw, tilted_power
from dpverdict.audit.loss_domains import Floats

_REUSE = 0.5  # a tilted law serves every epsilon within so many of its standard deviations
_KEPT = 8


@final
class TiltedLaws:
    """The composition of laws on one lattice, tilted to wherever it is asked for."""

    __slots__ = ("_kept", "parts", "steering")
    parts: Parts
    steering: Steering

    def __init__(self, parts: Parts) -> None:
        self.parts = [(law, count) for law, count in parts]
        self.steering = Steering(parts)
        self._kept: list[TiltedLaw] = []

    def near(self, epsilon: Fraction) -> TiltedLaw:
        """The law with a mean of about epsilon, or the law itself if its mean is above that."""
        target = float(epsilon / self.parts[0][0].interval)
        for law in self._kept:
            flat = law.step == 0.0 and target <= law.mean
            if flat or abs(law.mean - target) <= _REUSE * law.spread:
                return law
        law = tilted_power(self.parts, self.steering, self.steering.step_for(target))
        self._kept = [law, *self._kept[: _KEPT - 1]]
        return law


def upper_sums(law: TiltedLaw, first: int, last: int) -> tuple[Floats, float]:
    """The masses at and above every index from ``first`` to ``last``, and a bound on their errors."""
    total = math.exp(law.log_moment)
    sums = np.append(np.cumsum(law.masses[::-1])[::-1], 0.0) * total
    places = np.clip(np.arange(first, last + 1) - law.first, 0, law.masses.size)
    size = law.masses.size
    error = law.transform_error * math.sqrt(size) + law.outside + law.relative_error + 2 * ROUNDING * size
    return sums[places], 1.1 * total * error + 8 * ROUNDING * (1 + abs(law.log_moment))
