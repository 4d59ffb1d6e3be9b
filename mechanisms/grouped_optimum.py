"""Disjoint groups under replacement, queries only: noise that is correlated between groups as well.

For m groups of d queries and records of [0, 1]^(m x d) with at most one non-zero row, the covariance

    S = ( d I + (I_m - 2/(m+1) J_m) x 11^T ) / mu^2        (x: Kronecker product, J_m: all ones)

is mu-GDP under REPLACE_ONE for all m and d, with variance (d + (m-1)/(m+1))/mu^2 per query against (d + 1)/mu^2 of
Algorithm 2 of Lebeda (2024). Its eigenvalues are d/mu^2 inside the groups (orthogonal to the group sums), 2d/mu^2 on
contrasts of the groups and 2d/((m+1) mu^2) on the all-ones line: all positive, although the matrix that multiplies
11^T is not positive semidefinite for m >= 2. So the noise is sampled from its three parts:

    noise_(j,i) = s (z_(j,i) - mean_i z_j) + a (y_j - mean y) + b mean y,       z, y independent standard normal,

with s^2 = d/mu^2, a^2 = 2/mu^2 and b^2 = 2/((m+1) mu^2).
"""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, sqrt_up
from dpverdict.mechanisms.adjacency import REPLACE_ONE
from dpverdict.mechanisms.grouped_gaussian import check_groups
from dpverdict.mechanisms.guarantee import GaussianDP
from dpverdict.mechanisms.mechanism import Array, GaussianMechanism, check_array, check_dim, check_positive
from dpverdict.mechanisms.nested_noise import NestedNoise, ReplacedRow


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
    source = "Lebeda 2024, section 4, with noise correlated between the groups"
    adjacency: NeighboringRelation = REPLACE_ONE
    groups: int
    dim: int
    claim: GaussianDP
    noise: NestedNoise
    sensitivity: ReplacedRow
    assumptions: tuple[str, ...]

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
