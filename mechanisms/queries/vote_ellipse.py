"""Rank votes: Gaussian noise for sums of permutations, the Vote ellipse of Joseph and Yu."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.balls import Exact, Real
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.noise import Noise, Number, SharedNoise, queries_only_form
from dpverdict.mechanisms.core.sensitivity import Maximum, QuadraticSpace, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import Surd, moments


def vote_eigenvalues(d: Number, root: Number) -> tuple[Number, Number]:
    """(a1^2, a2^2) of the Vote ellipse for mu = 1, over any field; ``root`` is sqrt((d + 1)/3).

    With w1 = sqrt(d) (d-1)/2 and w2 = sqrt(d (d^2-1)/12), the lengths of a permutation along the all-ones line and
    across it, a1^2 = w1 (w1 + sqrt(d-1) w2) and a2^2 = w2 (w1 + sqrt(d-1) w2)/sqrt(d-1).
    """
    return d * (d - 1) * (d - 1) * (1 + root) / 4, d * (d - 1) * root * (1 + root) / 4


@final
class VoteEllipse(GaussianMechanism):
    """The sum of rankings, each a permutation of 0..d-1, with optimal Gaussian noise under ADD_OR_REMOVE_ONE.

    Releases f_i + eta + z_i, z_i ~ N(0, a2^2/mu^2), eta ~ N(0, (a1^2 - a2^2)/(d mu^2)) with the eigenvalues of
    `vote_eigenvalues`. Every permutation attains exactly mu. They are one orbit of the symmetric group, so no Gaussian
    mu-GDP mechanism has less noise: the variance of a query is (d-1)^2 (1/2 + sqrt((d+1)/12))^2/mu^2, against
    (d-1) d (2d-1)/(6 mu^2) of independent noise. The number of votes is public knowledge of the release, since
    1^T f = n d (d-1)/2. Both scales are rounded up.

    Args:
        dim: number of candidates d >= 2.
        mu: GDP parameter > 0, exact.

    Attributes:
        independent_scale, shared_scale: standard deviations of z_i and of eta.

    Raises:
        InvalidValue: a parameter out of range.

    Reference: Joseph and Yu 2024, "Some Constructions of Private, Efficient, and Optimal K-Norm and Elliptic Gaussian
        Noise", Vote ellipse.

    >>> round(float(VoteEllipse(dim=3, mu=1).per_query_variance), 5)
    4.64273
    """

    name = "vote-ellipse"
    title = "the sum of rankings, with optimal noise"
    source = "Joseph and Yu 2024, Vote ellipse"
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    noise: SharedNoise
    dim: int
    claim: GaussianDP
    independent_scale: float
    shared_scale: float
    sensitivity: Permutations
    assumptions: tuple[str, ...]
    example = "--dim 3 --mu 1"

    def __init__(self, *, dim: int, mu: Exact) -> None:
        exact_mu = check_positive(mu, "mu")
        self.dim = check_dim(dim)
        if self.dim == 1:
            raise InvalidValue("dim", dim, ">= 2", "a vote on a single candidate says nothing")
        self.claim = GaussianDP(exact_mu)
        along, across = vote_optimum(self.dim)
        self.independent_scale = (across / exact_mu**2).scale_up()
        self.shared_scale = ((along - across) / (self.dim * exact_mu**2)).scale_up()
        self.noise = SharedNoise(dim=self.dim, independent_scale=self.independent_scale, shared_scale=self.shared_scale)
        self.sensitivity = Permutations(dim=self.dim)
        self.assumptions = ("every record is a permutation of 0..d-1",)

    @property
    def independent_variance(self) -> Fraction:
        """The exact variance of each z_i as it is sampled."""
        return Fraction(self.independent_scale) ** 2

    @property
    def shared_variance(self) -> Fraction:
        """The exact variance of eta as it is sampled."""
        return Fraction(self.shared_scale) ** 2

    @property
    def per_query_variance(self) -> Fraction:
        """The variance of a released sum."""
        return self.independent_variance + self.shared_variance

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), every row a permutation of 0..d-1."""
        records = check_array(dataset, self.record_shape, 0.0, float(self.dim - 1))
        wrong = np.any(np.sort(records, axis=1) != np.arange(self.dim), axis=1)
        if np.any(wrong):
            found = f"number {int(np.argmax(wrong))}"
            remedy = "rank every candidate once, the best d-1, the worst 0"
            raise InvalidValue("dataset record", found, f"a permutation of 0..{self.dim - 1}", remedy)
        return records

    def describe(self) -> dict[str, str]:
        """Name, parameters and the two scales of the noise."""
        scales = {"independent scale": repr(self.independent_scale), "shared scale": repr(self.shared_scale)}
        return GaussianMechanism.describe(self) | scales


def vote_optimum(dim: int) -> tuple[Surd, Surd]:
    """The exact eigenvalues of the Vote ellipse for mu = 1: on the all-ones line, and on its complement."""
    along, across = vote_eigenvalues(dim, Surd(Fraction(0), Fraction(1, 3), 3 * (dim + 1)))
    return Surd.of(along), Surd.of(across)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Permutations(QuadraticSpace):
    """Permutations of ``first``..``first`` + dim - 1, one of them added or removed: {+-x}.

    Args:
        dim: number of candidates d.
        first: the lowest rank; 0 unless a variant says otherwise.
    """

    dim: int
    first: int = 0

    def maximise(self, noise: Noise) -> Maximum:
        """Any permutation: noise that treats the coordinates alike cannot tell them apart."""
        record = np.arange(float(self.first), float(self.first + self.dim))
        return Maximum(
            loss=gaussian_loss(self.mu_squared(noise, record)),
            datasets=alone(record),
            description="any permutation",
            justification="the form depends on a record only through its sum and its sum of squares, which all "
            "permutations share",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of adding or removing ``record``."""
        if (
            not isinstance(noise, SharedNoise)
            or noise.count_loading is not None
            or noise.independent_scale == 0
            or replacement is not None
        ):
            raise unsupported(self, noise)
        vz, ve, _ = noise.variances
        return Real.of(queries_only_form(dim=self.dim, vz=vz, ve=ve).at(*moments(record), 0))
