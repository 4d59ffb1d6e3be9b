"""Noise in three parts, inside groups, between them and common to all, and the worst replacement under it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.exact_sums import dot_exactly, moments
from dpverdict.mechanisms.noise import Noise
from dpverdict.mechanisms.quadratic_form import maximise_over_integers
from dpverdict.mechanisms.sensitivity import Array, Maximum, unsupported


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NestedNoise:
    """Query i of group j receives s (z_(j,i) - mean_i z_j) + a (y_j - mean y) + b mean y, z and y standard normal.

    Its covariance has the eigenvalue s^2 inside the groups, d a^2 on contrasts of the groups and d b^2 on the
    all-ones line: it is positive definite because the scales are positive.

    Args:
        groups, dim: m rows of d coordinates.
        within_scale, between_scale, common_scale: s, a and b.

    Raises:
        InvalidValue: a scale that is not finite and > 0, or groups or dim below 1.
    """

    groups: int
    dim: int
    within_scale: float
    between_scale: float
    common_scale: float

    def __post_init__(self) -> None:
        if self.groups < 1 or self.dim < 1:
            raise InvalidValue("groups, dim", (self.groups, self.dim), ">= 1", "give the numbers of groups and queries")
        for name in ("within_scale", "between_scale", "common_scale"):
            if not 0 < getattr(self, name) < math.inf:
                raise InvalidValue(name, getattr(self, name), "finite and > 0", "give a standard deviation")

    @property
    def size(self) -> int:
        """Number of coordinates: m d."""
        return self.groups * self.dim

    @property
    def variances(self) -> tuple[Fraction, Fraction, Fraction]:
        """The exact (s^2, a^2, b^2)."""
        s, a, b = (Fraction(scale) ** 2 for scale in (self.within_scale, self.between_scale, self.common_scale))
        return s, a, b

    def form(self, sums: tuple[int | Fraction, ...], squares: int | Fraction) -> Fraction:
        """v^T S^-1 v, exactly, of a difference v whose rows have the sums given; ``squares`` is the sum of all v_i^2.

        Rows that are not given have the sum 0.
        """
        (s, a, b), d = self.variances, self.dim
        rows = sum((Fraction(t) ** 2 for t in sums), Fraction(0)) / d  # squared lengths along the rows' all-ones lines
        line = Fraction(sum(sums)) ** 2 / (d * self.groups)  # and along the line of all of them
        return (squares - rows) / s + (rows - line) / (d * a) + line / (d * b)

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        inside = rng.standard_normal((trials, self.groups, self.dim))
        inside -= inside.mean(axis=2, keepdims=True)
        inside *= self.within_scale
        rows = rng.standard_normal((trials, self.groups, 1))
        common = rows.mean(axis=1, keepdims=True)
        inside += self.between_scale * (rows - common) + self.common_scale * common
        noisy: Array = inside.reshape(trials, -1) + statistic
        return noisy

    def solve(self, difference: Array) -> Array:
        """S^-1 v in float64, shape (size,)."""
        rows = difference.reshape(self.groups, self.dim)
        means = rows.mean(axis=1, keepdims=True)
        overall = float(means.mean())
        s, a, b = (float(v) for v in self.variances)
        solution: Array = (rows - means) / s + (means - overall) / (self.dim * a)
        solution += overall / (self.dim * b)
        return solution.ravel()

    def covariance(self) -> dict[str, Fraction]:
        """The distinct entries of S, exactly, by what they relate."""
        (s, a, b), m, d = self.variances, self.groups, self.dim
        across = (b - a) / m
        return {
            "query": s * (1 - Fraction(1, d)) + a + across,
            "query-query in a group": -s / d + a + across,
            "query-query between groups": across,
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedRow:
    """Records of [0, 1]^(m x d) with at most one non-zero row, one of them replaced; no count is released."""

    groups: int
    dim: int

    def maximise(self, noise: Noise) -> Maximum:
        """The largest of: a sign vector in one row, p ones in one row and q minus ones in another."""
        if not isinstance(noise, NestedNoise):
            raise unsupported(self, noise)
        d, m = self.dim, self.groups
        # One row: all signs equal, or as balanced as they can be; the form is linear in the square of their sum.
        same = {t: noise.form((t,), d) for t in (d, d % 2)}
        total = max(same, key=lambda t: same[t])
        plus = (d + total) // 2
        best, pair = same[total], (self._row(0, plus), self._row(0, d, start=plus))
        words = f"a record with {plus} ones in one group replaced by one with its other {d - plus}"
        if m >= 2:
            p, q, value = _largest_two_rows(noise)
            if value > best:
                best, pair = value, (self._row(0, p), self._row(1, q))
                words = f"a record with {p} ones in one group replaced by one with {q} in another"
        return Maximum(
            mu_squared=Real.of(best),
            records=lambda: pair,
            description=words,
            justification="the differences are [-1, 1]^d in one row, or [0, 1]^d and [-1, 0]^d in two; a convex form "
            "is largest at their vertices, of which it sees the two numbers of ones; all candidates compared exactly",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of replacing ``record`` by ``replacement``."""
        if not isinstance(noise, NestedNoise) or replacement is None:
            raise unsupported(self, noise)
        pairs = [(row, other) for row, other in zip(record, replacement, strict=True) if np.any(row) or np.any(other)]
        parts = [_difference_moments(row, other) for row, other in pairs]
        return Real.of(noise.form(tuple(s1 for s1, _ in parts), sum((s2 for _, s2 in parts), Fraction(0))))

    def _row(self, row: int, stop: int, *, start: int = 0) -> Array:
        """The record with ones at ``start``..``stop`` - 1 of a row and zeros elsewhere."""
        record = np.zeros((self.groups, self.dim))
        record[row, start:stop] = 1.0
        return record


def _difference_moments(row: Array, other: Array) -> tuple[Fraction, Fraction]:
    """The exact sum and sum of squares of ``row - other``."""
    (s1, s2), (r1, r2) = moments(row), moments(other)
    return s1 - r1, s2 - 2 * dot_exactly(row, other) + r2


def _largest_two_rows(noise: NestedNoise) -> tuple[int, int, Fraction]:
    """The (p, q) in 0..d with the largest form of p ones in one row and q minus ones in another, exactly, in O(1).

    The form is alpha (p + q) + beta (p^2 + q^2) + gamma (p - q)^2. At a fixed sum it is linear in (p - q)^2, so its
    maximum has q = 0, or p = d, or p - q in {0, 1}; along each of these it is a parabola.
    """
    d = noise.dim

    def at(p: int, q: int) -> Fraction:
        return noise.form((p, -q), p + q)

    def along(path: Callable[[int], tuple[int, int]], last: int) -> tuple[int, int, Fraction]:
        first, second, third = (at(*path(i)) for i in range(3))  # the parabola through three points, all of its values
        a = (third - 2 * second + first) / 2
        i, value = maximise_over_integers(a, second - first - a, first, last)
        return (*path(i), value)

    return max(
        along(lambda i: (i, 0), d),
        along(lambda i: (d, i), d),
        along(lambda i: (i, i), d),
        along(lambda i: (i + 1, i), d - 1),
        key=lambda found: found[2],
    )
