"""The sensitivity space of coordinates with bounds of their own (Poulsen 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.noise import DiagonalNoise, Noise
from dpverdict.mechanisms.sensitivity import Array, Maximum, unsupported


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """One record of the box prod [-bound_j/2, bound_j/2] replaced: differences in prod [-bound_j, bound_j]."""

    bounds: Array

    def __post_init__(self) -> None:
        if not (np.all(np.isfinite(self.bounds)) and np.all(self.bounds >= 0)):
            raise InvalidValue("bounds", self.bounds, "finite and >= 0", "give one sensitivity per coordinate")

    def maximise(self, noise: Noise) -> Maximum:
        """At the corners, which all attain sum bound_j^2 / sigma_j^2 (Poulsen 2022; any diagonal covariance)."""
        if not isinstance(noise, DiagonalNoise):
            raise unsupported(self, noise)
        return Maximum(
            mu_squared=self.mu_squared(noise, self.bounds / 2, -self.bounds / 2),
            records=lambda: (self.bounds / 2, -self.bounds / 2),
            description="a corner of the box replaced by the opposite corner",
            justification="a diagonal form is increasing in every |v_j|, so every corner attains the supremum",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """sum (x_j - x'_j)^2 / sigma_j^2: exact up to 256 distinct terms, a ball beyond; None when it is infinite."""
        if not isinstance(noise, DiagonalNoise) or replacement is None:
            raise unsupported(self, noise)
        if bool(np.any((noise.scales == 0) & (record != replacement))):
            return None
        kept = noise.scales > 0
        distinct = _distinct(np.stack([record[kept], replacement[kept], noise.scales[kept]]))
        if len(distinct) <= 256:
            exact = (n * ((Fraction(x) - Fraction(y)) / Fraction(s)) ** 2 for x, y, s, n in distinct)
            return Real.of(sum(exact, Fraction(0)))
        return Real(lambda: sum((n * ((ball(x) - ball(y)) / ball(s)) ** 2 for x, y, s, n in distinct), ball(0)))


def _distinct(columns: Array) -> list[tuple[float, float, float, int]]:
    """The distinct columns of a table of three rows, each with how often it occurs."""
    if not columns.size:
        return []
    columns = columns[:, np.lexsort(columns)]
    starts = np.flatnonzero(np.append(True, np.any(columns[:, 1:] != columns[:, :-1], axis=0)))
    counts = np.diff(starts, append=columns.shape[1])
    return list(zip(*columns[:, starts].tolist(), counts.tolist(), strict=True))
