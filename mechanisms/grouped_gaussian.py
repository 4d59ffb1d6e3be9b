"""Correlated noise for disjoint groups: Algorithm 2 of Lebeda (2024)."""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, sqrt_up
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE, adjacency_name, check_adjacency
from dpverdict.mechanisms.grouped_sensitivity import GroupedCube
from dpverdict.mechanisms.guarantee import GaussianDP
from dpverdict.mechanisms.mechanism import Array, GaussianMechanism, check_array, check_dim, check_positive
from dpverdict.mechanisms.noise import GroupedNoise, SharedNoise
from dpverdict.mechanisms.scales import family_scales, root


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
