"""Queries in disjoint groups (Lebeda 2024, section 4): Algorithm 2, and less noise where only the queries are released.

`GroupedGaussian` is Algorithm 2, correlated noise in each group by itself. `OptimalGroupedGaussian` correlates the
noise between groups as well, under replacement. For m groups of d queries and records of [0, 1]^(m x d) with at most
one non-zero row, the covariance

    S = ( d I + (I_m - 2/(m+1) J_m) x 11^T ) / mu^2        (x: Kronecker product, J_m: all ones)

is mu-GDP under REPLACE_ONE for all m and d, with variance (d + (m-1)/(m+1))/mu^2 per query against (d + 1)/mu^2 of
Algorithm 2 of Lebeda (2024). Its eigenvalues are d/mu^2 inside the groups (orthogonal to the group sums), 2d/mu^2 on
contrasts of the groups and 2d/((m+1) mu^2) on the all-ones line: all positive, although the matrix that multiplies
11^T is not positive semidefinite for m >= 2. So the noise is sampled from its three parts:

    noise_(j,i) = s (z_(j,i) - mean_i z_j) + a (y_j - mean y) + b mean y,       z, y independent standard normal,

with s^2 = d/mu^2, a^2 = 2/mu^2 and b^2 = 2/((m+1) mu^2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.balls import Exact, Real, sqrt_up
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import family_scales, root
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, adjacency_name, check_adjacency
from dpverdict.mechanisms.core.noise import (
    GroupedNoise,
    Noise,
    SharedNoise,
    maximise_over_integers,
)
from dpverdict.mechanisms.core.parameters import ADJACENCY, GROUPS, Parameter
from dpverdict.mechanisms.core.sensitivity import Cube, Maximum, QuadraticSpace, ReplacementCube, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import difference_moments

_LEAST = 2.0**-1074  # the smallest positive float64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedCube(QuadraticSpace):
    """Records of [0, 1]^(m x d) with at most one non-zero row, under either relation.

    Args:
        groups: number of rows m.
        dim: queries per row d.
        adjacency: the neighbouring relation.
    """

    groups: int
    dim: int
    adjacency: NeighboringRelation

    def maximise(self, noise: Noise) -> Maximum:
        """The largest of: one row alone, the same row twice, two different rows (which add up)."""
        if not isinstance(noise, GroupedNoise):
            raise unsupported(self, noise)
        m, d, replace = self.groups, self.dim, self.adjacency is REPLACE_ONE
        in_row = Cube(dim=d).maximise(noise.row)
        record = in_row.records()[0]
        if noise.one_eta and m >= 2:
            other = self._in_row(1, record) if replace else None
            return Maximum(
                loss=gaussian_loss(None),
                datasets=alone(self._in_row(0, record), other),
                description="a record of the first group" + (" replaced by one of the second" if replace else ""),
                justification="the difference of two group counts carries no noise",
            )
        if in_row.mu_squared is None or not replace:
            return Maximum(
                loss=gaussian_loss(in_row.mu_squared),
                datasets=alone(self._in_row(0, record), np.zeros((m, d)) if replace else None),
                description=f"in one group, {in_row.description}",
                justification=in_row.justification + "; rows carry independent noise and a record touches one",
            )
        same = ReplacementCube(dim=d).maximise(noise.row)
        within, one = _rational(same.mu_squared), _rational(in_row.mu_squared)
        across = 2 * one if m >= 2 else one
        if within > across or (within == across and d >= 2):
            first, second = same.records()
            assert second is not None
            what, value = same.description, within
            if d == 1:  # a record of 0 would belong to no group: the supremum is approached, and not attained
                second, what = np.full(1, _LEAST), "a record of 1 replaced by one that tends to 0 (a supremum)"
            pair = (self._in_row(0, first), self._in_row(0, second))
        else:
            pair = (self._in_row(0, record), self._in_row(1, record) if m >= 2 else np.zeros((m, d)))
            what, value = f"{in_row.description}, replaced by one in another group", across
        return Maximum(
            loss=gaussian_loss(Real.of(value)),
            datasets=alone(*pair),
            description=f"in one group, {what}",
            justification="the three kinds of replacement (same row; two rows, whose forms add up; one record all "
            f"zero) reach {_six_digits(within)}, {_six_digits(across)} and {_six_digits(one)}; each maximised at its "
            "vertices",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of one neighbour, row by row (forms F10 to F13); None when it is infinite."""
        if not isinstance(noise, GroupedNoise):
            raise unsupported(self, noise)
        row, other = _row_of(record), None if replacement is None else _row_of(replacement)
        if noise.one_eta and self.groups >= 2:
            if row == other:
                raise unsupported(self, noise)
            return None
        if replacement is not None and row == other:
            shared = row or 0
            return ReplacementCube(dim=self.dim).mu_squared(noise.row, record[shared], replacement[shared])
        touched = [(row, record)] if replacement is None else [(row, record), (other, replacement)]
        values = [Cube(dim=self.dim).mu_squared(noise.row, full[i]) for i, full in touched if i is not None]
        if any(value is None for value in values):
            return None
        return Real.of(sum((value.rational for value in values if value and value.rational is not None), Fraction(0)))

    def _in_row(self, row: int, record: Array) -> Array:
        full = np.zeros((self.groups, self.dim))
        full[row] = record
        return full


def _row_of(record: Array) -> int | None:
    """The index of the only non-zero row of a grouped record; None when all rows are zero."""
    rows = np.flatnonzero(np.any(record != 0, axis=1))
    return int(rows[0]) if rows.size else None


def _rational(mu_squared: Real | None) -> Fraction:
    """The squared parameter of a row whose form exists: always rational, since the scales are float64."""
    assert mu_squared is not None
    assert mu_squared.rational is not None
    return mu_squared.rational


def _six_digits(value: Fraction) -> str:
    return f"{float(value):.6g}"


@final
class GroupedGaussian(GaussianMechanism):
    """d queries and the count in each of m disjoint groups, one shared eta_j per group.

    Records lie in [0, 1]^(m x d) with at most one non-zero row, the record's group. For every group j the release is
    f_(j,i) + eta_j + z_(j,i) and count_j + 2 eta_j, with

        ADD_OR_REMOVE_ONE:  ve = (sqrt d + 1)/(4 mu^2),   vz = (d + sqrt d)/(4 mu^2)
        REPLACE_ONE:        ve = 1/mu^2,                  vz = d/mu^2.

    Some copies of Algorithm 2 print sqrt(d+1)/(4 mu^2), which is not private, and 4/mu^2, which is private but not the
    constant of its own proof; the constants here are the ones Lemma 4.2 proves. The REPLACE_ONE noise is
    mu/sqrt(2)-GDP under ADD_OR_REMOVE_ONE, so it covers both relations.

    A release is one array: the m rows of d + 1 values one after the other (d queries, then the count); see `rows`.

    Args:
        groups: number of disjoint groups m >= 1.
        dim: queries per group d >= 1.
        mu: GDP parameter > 0, exact.
        adjacency: the neighbouring relation; it decides the noise, so it has no default.

    Attributes:
        independent_scale, shared_scale: standard deviations of z_(j,i) and eta_j, rounded up to float64.

    Raises:
        InvalidValue: a parameter out of range, or no relation given.
    """

    name = "grouped-gaussian"
    title = "d counts in each of m disjoint groups"
    source = "Lebeda 2024, Algorithm 2 and Lemma 4.2 (constants corrected)"
    groups: int
    dim: int
    adjacency: NeighboringRelation
    claim: GaussianDP
    independent_scale: float
    shared_scale: float
    noise: GroupedNoise
    sensitivity: GroupedCube
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        ADJACENCY.otherwise(
            REPLACE_ONE,
            "replace-one was taken, the stricter relation (its noise also covers add-or-remove-one)",
        ),
        GROUPS.otherwise(2, "2 groups were taken"),
    )
    example = "--groups 2 --dim 2 --mu 1"

    def __init__(self, *, groups: int, dim: int, mu: Exact, adjacency: NeighboringRelation) -> None:
        exact_mu = check_positive(mu, "mu")
        self.groups, self.dim = check_dim(groups, "groups"), check_dim(dim)
        self.adjacency = check_adjacency(adjacency)
        self.claim = GaussianDP(exact_mu)
        if self.adjacency is ADD_OR_REMOVE_ONE:
            self.independent_scale, self.shared_scale = family_scales(self.dim, root(self.dim), exact_mu)
        else:
            vz, ve = replacement_variances(self.dim, exact_mu)
            self.independent_scale, self.shared_scale = sqrt_up(Real.of(vz)), sqrt_up(Real.of(ve))
        row = SharedNoise(
            dim=self.dim,
            independent_scale=self.independent_scale,
            shared_scale=self.shared_scale,
            count_loading=2,
        )
        self.noise = GroupedNoise(groups=self.groups, row=row)
        self.sensitivity = GroupedCube(groups=self.groups, dim=self.dim, adjacency=self.adjacency)
        self.assumptions = (
            "every record lies in [0, 1]^(m x d)",
            "every record is non-zero in one group at most",
        )

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(m, d)"""
        return (self.groups, self.dim)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, m, d), entries in [0, 1], at most one non-zero row per record."""
        return check_groups(check_array(dataset, self.record_shape, 0.0, 1.0))

    def statistic(self, records: Array) -> Array:
        """The rows (f_j, count_j) one after the other, shape (m (d + 1),)."""
        return grouped_sums(records)

    def rows(self, release: Array) -> tuple[Array, Array]:
        """One release of shape (m (d + 1),) as (queries of shape (m, d), counts of shape (m,))."""
        table = np.asarray(release).reshape(self.groups, self.dim + 1)
        return table[:, :-1], table[:, -1]

    def describe(self) -> dict[str, str]:
        """Name, parameters and the two scales of the noise."""
        own = {"groups": str(self.groups), "adjacency": adjacency_name(self.adjacency)}
        scales = {"independent scale": repr(self.independent_scale), "shared scale": repr(self.shared_scale)}
        return GaussianMechanism.describe(self) | own | scales


def replacement_variances(dim: int, mu: Fraction) -> tuple[Fraction, Fraction]:
    """(vz, ve) = (d/mu^2, 1/mu^2): the embedding with C = sqrt d, whose sensitivity under replacement is 2 sqrt d."""
    return dim / mu**2, 1 / mu**2


def check_groups(records: Array) -> Array:
    """Grouped records, each with at most one non-zero row.

    Raises:
        InvalidValue: a record that is non-zero in two groups.
    """
    touched = np.count_nonzero(np.any(records != 0.0, axis=2), axis=1)
    if np.any(touched > 1):
        bad = int(np.flatnonzero(touched > 1)[0])
        remedy = "the groups are disjoint: put each record into one of them"
        raise InvalidValue("dataset record", f"number {bad}, in {touched[bad]} groups", "in one group at most", remedy)
    return records


def grouped_sums(records: Array) -> Array:
    """Row sums and row counts of grouped records: (n, m, d) -> (m (d + 1),)."""
    counts = np.any(records != 0.0, axis=2).sum(axis=0)
    return np.column_stack([records.sum(axis=0), counts.astype(np.float64)]).ravel()


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

    def mu_squared(self, here: Array, there: Array) -> Real:
        """v^T S^-1 v for v = here - there, exactly."""
        rows, others = (side.reshape(self.groups, self.dim) for side in (here, there))
        pairs = [(row, other) for row, other in zip(rows, others, strict=True) if np.any(row != other)]
        parts = [difference_moments(row, other) for row, other in pairs]
        return Real.of(self.form(tuple(s1 for s1, _ in parts), sum((s2 for _, s2 in parts), Fraction(0))))

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
class ReplacedRow(QuadraticSpace):
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
            loss=gaussian_loss(Real.of(best)),
            datasets=alone(*pair),
            description=words,
            justification="the differences are [-1, 1]^d in one row, or [0, 1]^d and [-1, 0]^d in two; a convex form "
            "is largest at their vertices, of which it sees the two numbers of ones; all candidates compared exactly",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of replacing ``record`` by ``replacement``."""
        if not isinstance(noise, NestedNoise) or replacement is None:
            raise unsupported(self, noise)
        return noise.mu_squared(record, replacement)

    def _row(self, row: int, stop: int, *, start: int = 0) -> Array:
        """The record with ones at ``start``..``stop`` - 1 of a row and zeros elsewhere."""
        record = np.zeros((self.groups, self.dim))
        record[row, start:stop] = 1.0
        return record


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


@final
class OptimalGroupedGaussian(GaussianMechanism):
    """d queries in each of m disjoint groups under REPLACE_ONE, with less noise than Algorithm 2; counts are withheld.

    The noise is the best Gaussian noise for d = 1, and, by numerical optimisation, for even d and for odd d with
    (m+1)^2 <= 4 (d+1); for other d it is within 0.1 of it per query, at mu = 1, where that was computed.

    A release is one array: the m rows of d values one after the other.

    Args:
        groups: number of disjoint groups m >= 1.
        dim: queries per group d >= 1.
        mu: GDP parameter > 0, exact.

    Attributes:
        noise: its three scales, rounded up to float64.

    Raises:
        InvalidValue: a parameter out of range.

    >>> float(OptimalGroupedGaussian(groups=3, dim=4, mu=1).per_query_variance), 4 + 2 / 4
    (4.5, 4.5)
    """

    name = "optimal-grouped-gaussian"
    title = "the same with less noise, counts withheld"
    source = "Lebeda 2024, section 4, with noise correlated between the groups"
    adjacency: NeighboringRelation = REPLACE_ONE
    groups: int
    dim: int
    claim: GaussianDP
    noise: NestedNoise
    sensitivity: ReplacedRow
    assumptions: tuple[str, ...]
    example = "--groups 2 --dim 2 --mu 1"

    def __init__(self, *, groups: int, dim: int, mu: Exact) -> None:
        exact_mu = check_positive(mu, "mu")
        self.groups, self.dim = check_dim(groups, "groups"), check_dim(dim)
        self.claim = GaussianDP(exact_mu)
        within, between, common = (variance / exact_mu**2 for variance in part_variances(self.groups, self.dim))
        self.noise = NestedNoise(
            groups=self.groups,
            dim=self.dim,
            within_scale=sqrt_up(Real.of(within)),
            between_scale=sqrt_up(Real.of(between)),
            common_scale=sqrt_up(Real.of(common)),
        )
        self.sensitivity = ReplacedRow(groups=self.groups, dim=self.dim)
        self.assumptions = (
            "every record lies in [0, 1]^(m x d)",
            "every record is non-zero in one group at most",
        )

    @property
    def per_query_variance(self) -> Fraction:
        """The exact variance of a released query as it is sampled; (d + (m-1)/(m+1))/mu^2 up to rounding."""
        return self.noise.covariance()["query"]

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(m, d)"""
        return (self.groups, self.dim)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, m, d), entries in [0, 1], at most one non-zero row per record."""
        return check_groups(check_array(dataset, self.record_shape, 0.0, 1.0))

    def statistic(self, records: Array) -> Array:
        """The rows of f one after the other, shape (m d,)."""
        total: Array = records.sum(axis=0).ravel()
        return total

    def rows(self, release: Array) -> Array:
        """One release of shape (m d,) as rows, shape (m, d)."""
        return np.asarray(release).reshape(self.groups, self.dim)

    def describe(self) -> dict[str, str]:
        """Name, parameters and the three scales of the noise."""
        scales = {name: repr(getattr(self.noise, name)) for name in ("within_scale", "between_scale", "common_scale")}
        return GaussianMechanism.describe(self) | {"groups": str(self.groups)} | scales


def part_variances(groups: int, dim: int) -> tuple[Fraction, Fraction, Fraction]:
    """(s^2, a^2, b^2) of the three parts for mu = 1."""
    return Fraction(dim), Fraction(2), Fraction(2, groups + 1)
