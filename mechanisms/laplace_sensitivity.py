"""Sensitivity spaces of real records under independent Laplace noise: a cube, an l1 ball and an l2 ball.

Three facts. (1) A log-concave law against itself moved further tells more, coordinate by coordinate, so enlarging any
|a_j| of the shift vector a enlarges the loss. (2) Of all shift vectors with the same l1 norm, the one on a single
coordinate dominates: a chain of moves, one coordinate at a time, has a trade-off function of at least the composition
f(1 - g) of those of its links, and for moves of one log-concave law along one line, where half-lines are the best
tests, this is an equality: F(F^-1(1 - alpha) - a - b). (3) Lap(1) moved by s is s-DP, hence s^2/2-zCDP.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, final

import numpy as np

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.exact_sums import dot_exactly, sum_exactly
from dpverdict.mechanisms.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.noise import Noise
from dpverdict.mechanisms.sensitivity import Array, Maximum, unsupported
from dpverdict.mechanisms.shift import LaplaceShift

Norm: TypeAlias = Literal["linf", "l1", "l2"]
NORMS: tuple[Norm, ...] = ("linf", "l1", "l2")
_BITS = 192


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RealRecords:
    """Records of [0, radius]^d ("linf"), or of R^d with an l1 or l2 norm of at most ``radius``.

    Args:
        dim: number of queries d.
        norm: which.
        radius: a float64 > 0, taken at its exact value.
        replaced: whether a record is replaced by another; otherwise one is added or removed.
    """

    dim: int
    norm: Norm
    radius: float
    replaced: bool

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            remedy = "linf for records of a cube, else the norm that is bounded"
            raise InvalidValue("norm", self.norm, f"one of {', '.join(NORMS)}", remedy)
        if not 2.0**-400 <= self.radius <= 2.0**400:
            raise InvalidValue("radius", self.radius, "between 2^-400 and 2^400", "choose units of moderate size")

    @property
    def reach(self) -> Fraction:
        """The largest norm of a difference: twice the radius between two records of a ball."""
        return Fraction(self.radius) * (2 if self.replaced and self.norm != "linf" else 1)

    def l1(self) -> Real:
        """The largest l1 norm of a difference, exactly."""
        match self.norm:
            case "linf":
                return Real.of(self.dim * self.reach)
            case "l1":
                return Real.of(self.reach)
            case _:
                return _times_root(self.reach, self.dim)

    def l2(self) -> Real:
        """The largest l2 norm of a difference, exactly."""
        return _times_root(self.reach, self.dim) if self.norm == "linf" else Real.of(self.reach)

    def l2_squared(self) -> Fraction:
        """The square of `l2`."""
        return self.reach**2 * (self.dim if self.norm == "linf" else 1)

    def holds(self, record: Array) -> bool:
        """Whether a record is one of these, decided exactly."""
        if self.norm == "linf":
            return bool(np.all((record >= 0) & (record <= self.radius)))
        if self.norm == "l1":
            return sum_exactly(np.abs(record)) <= Fraction(self.radius)
        return dot_exactly(record, record) <= Fraction(self.radius) ** 2

    def maximise(self, noise: Noise) -> Maximum:
        """The longest difference of a cube or an l1 ball; for an l2 ball a bound, with the pair of equal entries."""
        if not isinstance(noise, LaplaceNoise):
            raise unsupported(self, noise)
        record = self.worst_record()
        other = (np.zeros(self.dim) if self.norm == "linf" else -record) if self.replaced else None
        attained = self.shift(noise, record, other)
        if self.norm != "l2" or self.dim == 1:
            why = (
                "every shift is the largest at once"
                if self.norm == "linf"
                else "of one l1 norm, one coordinate tells most"
            )
            return Maximum(
                mu_squared=None,
                records=lambda: (record, other),
                description=f"a record with all {self.dim} entries at {self.radius!r}"
                if self.norm == "linf"
                else f"a record with one entry at {self.radius!r} and no other",
                justification=f"{why}, and the loss of log-concave noise grows with every shift",
                shift=attained,
            )
        return Maximum(
            mu_squared=None,
            records=lambda: (record, other),
            description=f"a record of l2 norm {self.radius!r} with {self.dim} equal entries",
            justification="of one l1 norm, a shift on a single coordinate tells most: the loss shown is that of one of "
            "norm sqrt(d) times the l2 radius, a bound; every pair is also zCDP by its l2 norm",
            shift=LaplaceShift(groups=((_root_above(self.dim) * self.reach * noise.rate, 1),)),
            exact=False,
            rho_upper=self.reach**2 * noise.rate**2 / 2,
            attained=attained,
        )

    def worst_record(self) -> Array:
        """All ones times the radius; one entry at the radius; or equal entries, rounded down into the l2 ball."""
        if self.norm == "linf":
            return np.full(self.dim, self.radius)
        if self.norm == "l1":
            return np.where(np.arange(self.dim) == 0, self.radius, 0.0)
        entry = self.radius / math.sqrt(self.dim)
        while self.dim * Fraction(entry) ** 2 > Fraction(self.radius) ** 2:
            entry = math.nextafter(entry, 0.0)
        return np.full(self.dim, entry)

    def shift(self, noise: Noise, record: Array, replacement: Array | None = None) -> LaplaceShift | None:
        """The pair of laws when a record is added, removed or replaced; None where nothing moves."""
        if not isinstance(noise, LaplaceNoise) or (replacement is None) is self.replaced:
            raise unsupported(self, noise)
        other = np.zeros(self.dim) if replacement is None else replacement
        pairs = Counter(zip(record.tolist(), other.tolist(), strict=True))
        counts: Counter[Fraction] = Counter()
        for (x, y), count in pairs.items():
            counts[abs(Fraction(x) - Fraction(y)) * noise.rate] += count
        del counts[Fraction(0)]
        return LaplaceShift(groups=tuple(sorted(counts.items()))) if counts else None


def _times_root(factor: Fraction, dim: int) -> Real:
    root = Real.of(dim).sqrt()
    if root.rational is not None:
        return Real.of(factor * root.rational)
    return Real(lambda: ball(factor) * root.ball())


def _root_above(dim: int) -> Fraction:
    """sqrt(d), rounded up to 192 bits after the point; exactly, if it is whole."""
    below = math.isqrt(dim << 2 * _BITS)
    return Fraction(below + (below * below < dim << 2 * _BITS), 1 << _BITS)
