"""Known-wrong variants that are more than Algorithm 1 with a part replaced (see `broken` for the notation).

Algorithm 2, the ellipses, noise correlated between groups, and the discrete Gaussian mechanism. R1SMG is not among
them: its published claim is not one of mu, and `Rank1Gaussian` is itself the wrong mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.balls import Real, sqrt_up
from dpverdict.mechanisms.broken.correlated import algorithm_1, ve, vz, zero
from dpverdict.mechanisms.broken.mutant import BrokenMechanism, Build, Formula, Infinite, Mutant, Root, scale, times
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.core.noise import GroupedNoise, Noise, Number, SharedNoise
from dpverdict.mechanisms.core.sensitivity import Box, Maximum, QuadraticSpace, alone, unsupported
from dpverdict.mechanisms.queries.count_ellipse import (
    CountEllipse,
    LevelledCube,
    ellipse_optimum,
    shared_noise_variances,
    worst_layer_value,
)
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian, LatticeNoise
from dpverdict.mechanisms.queries.elliptical import EllipticalGaussian
from dpverdict.mechanisms.queries.grouped import GroupedCube, NestedNoise, OptimalGroupedGaussian, part_variances
from dpverdict.mechanisms.queries.vote_ellipse import Permutations, VoteEllipse
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import moments


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstEtaNoise:
    """Query i receives eta_i + z_i and the count 2 eta_1, all independent."""

    dim: int
    z_scale: float
    eta_scale: float

    @property
    def size(self) -> int:
        """d + 1."""
        return self.dim + 1

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (d + 1,) -> (trials, d + 1)."""
        etas = self.eta_scale * rng.standard_normal((trials, self.dim))
        queries = etas + self.z_scale * rng.standard_normal((trials, self.dim))
        return np.column_stack([queries, 2.0 * etas[:, 0]]) + statistic

    def solve(self, difference: Array) -> Array:
        """S^-1 v: 2 x 2 on (first query, count), diagonal elsewhere."""
        z, eta = self.z_scale**2, self.eta_scale**2
        first, count = difference[0], difference[-1]
        solution = difference / (z + eta)
        solution[0] = (2.0 * first - count) / (2.0 * z)
        solution[-1] = ((z + eta) * count - 2.0 * eta * first) / (4.0 * eta * z)
        return solution

    def covariance(self) -> dict[str, Fraction]:
        """The distinct non-zero entries of S, exactly."""
        z, eta = Fraction(self.z_scale) ** 2, Fraction(self.eta_scale) ** 2
        return {"query": z + eta, "query-query": Fraction(0), "first query-count": 2 * eta, "count": 4 * eta}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstEtaCube(QuadraticSpace):
    """{+-(x, 1) : x in [0, 1]^d} for `FirstEtaNoise`, whose form singles out the first query."""

    dim: int

    def maximise(self, noise: Noise) -> Maximum:
        """At the all-ones record: the first query's part is the same at 0 and 1, the others increase."""
        record = np.ones(self.dim)
        return Maximum(
            loss=gaussian_loss(self.mu_squared(noise, record)),
            datasets=alone(record),
            description="the all-ones record",
            justification="a convex form on a cube is largest at a vertex; the part of the first query takes the same "
            "value at x_1 = 0 and x_1 = 1, the rest is increasing in every x_i",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """(s2 - x_1^2)/(vz + ve) + (4 ve x_1 (x_1 - 1) + vz + ve)/(4 ve vz), exactly."""
        if not isinstance(noise, FirstEtaNoise) or replacement is not None:
            raise unsupported(self, noise)
        z, eta, first = Fraction(noise.z_scale) ** 2, Fraction(noise.eta_scale) ** 2, Fraction(float(record[0]))
        _, rest = moments(record[1:]) if self.dim > 1 else (Fraction(0), Fraction(0))
        return Real.of(rest / (z + eta) + (4 * eta * first * (first - 1) + z + eta) / (4 * eta * z))


def one_eta_for_all_groups(groups: int = 2) -> Mutant:
    """M9: Algorithm 2 with a single eta shared by all groups."""
    return Mutant(
        name="M9",
        title=f"Algorithm 2 with one eta shared by all {groups} groups",
        source="Lebeda 2024, Algorithm 2",
        formula="infinite",
        build=_grouped_variant("M9", groups, vz, ve, ADD_OR_REMOVE_ONE, one_eta=True),
        squared=None,
    )


def replacement_shared_variance(s: Fraction = Fraction(1, 4), groups: int = 2) -> Mutant:
    """M10: Algorithm 2 under replacement with eta variance s/mu^2; 1 is right, the printed 4 private but wasteful."""
    reach = max(Fraction(1), Fraction(1, 2) + 1 / (2 * s))
    return Mutant(
        name="M10",
        title=f"Algorithm 2 under replacement, eta variance {s}/mu^2 instead of 1/mu^2",
        source="Lebeda 2024, Algorithm 2 line 2",
        formula="mu^2 max(1, 1/2 + 1/(2 s))",
        build=_grouped_variant(
            "M10", groups, lambda d, mu, root: d / (mu * mu), lambda d, mu, root: s / (mu * mu), REPLACE_ONE
        ),
        squared=lambda d, mu, root: reach * mu * mu,
        least_dim=2,
    )


def grouped_under_replacement(groups: int = 2) -> Mutant:
    """M11: Algorithm 2 with add/remove noise where one record is replaced."""

    def squared(d: int, mu: Number, root: Root) -> Number:
        # 4r/(r + 1) >= 2 iff r >= 1, that is always
        return mu * mu * 4 * root(d) / (root(d) + 1)

    return Mutant(
        name="M11",
        title="Algorithm 2 with add/remove noise used under replacement",
        source="Lebeda 2024, Algorithm 2",
        formula="mu^2 max(2, 4 r/(r + 1))",
        build=_grouped_variant("M11", groups, vz, ve, REPLACE_ONE),
        squared=squared,
    )


def _grouped_variant(
    name: str,
    groups: int,
    independent: Formula,
    shared: Formula,
    adjacency: NeighboringRelation,
    one_eta: bool = False,
) -> Build:
    def build(dim: int, mu: Fraction) -> BrokenMechanism:
        row = SharedNoise(
            dim=dim,
            independent_scale=scale(independent, dim, mu),
            shared_scale=scale(shared, dim, mu),
            count_loading=2,
        )
        return BrokenMechanism(
            name=f"broken:{name}",
            source=f"known-wrong variant {name}",
            dim=dim,
            claim=GaussianDP(mu),
            adjacency=adjacency,
            noise=GroupedNoise(groups=groups, row=row, one_eta=one_eta),
            sensitivity=GroupedCube(groups=groups, dim=dim, adjacency=adjacency),
        )

    return build


def ellipse_for_sparser_data(k: int = 2, most: int | None = None) -> Mutant:
    """M14: the Count ellipse for at most k ones, used on records with up to ``most`` ones (all d when not given)."""

    def squared(d: int, mu: Number, root: Root) -> Number:
        return mu * mu * _worst_layer(d, k, d if most is None else most, root)

    return Mutant(
        name="M14",
        title=f"the Count ellipse for k = {k} on records with more ones",
        source="Lebeda 2024, section 4.1 (JY24)",
        formula="mu^2 max_{j <= k'} [u j^2/d + w (j - j^2/d)]",
        build=algorithm_1(
            "M14", independent=_independent_variance(k), shared=_shared_variance(k), loading=None, nonzero=most
        ),
        squared=squared,
        least_dim=k + 1 if most is None else max(k + 1, most),
    )


def ellipse_beyond_its_range(k: int | None = None) -> Mutant:
    """M15: the Count-ellipse formula used at k > khat(d), where it is not private; k = d - 1 when not given."""

    def squared(d: int, mu: Number, root: Root) -> Number:
        at = d - 1 if k is None else k
        return mu * mu * _worst_layer(d, at, at, root)

    def build(dim: int, mu: Fraction) -> StructuredMechanism:
        at = dim - 1 if k is None else k
        return algorithm_1(
            "M15", independent=_independent_variance(at), shared=_shared_variance(at), loading=None, nonzero=at
        )(dim, mu)

    return Mutant(
        name="M15",
        title="the Count-ellipse formula beyond its range of k",
        source="Lebeda 2024, section 4.1 (JY24)",
        formula="mu^2 max_{j <= k} [u j^2/d + w (j - j^2/d)], > mu^2 iff k > khat(d)",
        build=build,
        squared=squared,
        least_dim=2 if k is None else max(2, k),
    )


def _worst_layer(d: int, k: int, most: int, root: Root) -> Number:
    """The worst layer of the Count ellipse for k on records with up to ``most`` ones.

    Raises:
        Infinite: k = d, where the ellipse is flat.
    """
    value = worst_layer_value(d, k, most, root)
    if value is None:
        raise Infinite
    return value


def _independent_variance(k: int) -> Formula:
    """The variance of the independent noise of the Count ellipse for k."""
    return lambda d, mu, root: shared_noise_variances(d, k, root)[0] / (mu * mu)


def _shared_variance(k: int) -> Formula:
    """The variance of the shared noise of the Count ellipse for k."""
    return lambda d, mu, root: shared_noise_variances(d, k, root)[1] / (mu * mu)


def _vote_variant(name: str, dim: int, mu: Fraction, noise: SharedNoise, *, first: int) -> BrokenMechanism:
    return BrokenMechanism(
        name=f"broken:{name}",
        source=f"known-wrong variant {name}",
        dim=dim,
        claim=GaussianDP(mu),
        adjacency=ADD_OR_REMOVE_ONE,
        noise=noise,
        sensitivity=Permutations(dim=dim, first=first),
        low=float(first),
        high=float(first + dim - 1),
    )


def mean_not_put_back(groups: int = 2) -> Mutant:
    """G1: noise correlated between groups whose rows are centred, the variance of their means not being put back."""

    def build(dim: int, mu: Fraction) -> OptimalGroupedGaussian:
        within, between, common = part_variances(groups, dim)
        wrong = OptimalGroupedGaussian(groups=groups, dim=dim, mu=mu)
        wrong.name, wrong.source = "broken:G1", "known-wrong variant G1"
        vars(wrong)["noise"] = NestedNoise(
            groups=groups,
            dim=dim,
            within_scale=sqrt_up(Real.of(within / mu**2)),
            between_scale=sqrt_up(Real.of(between / 2 / mu**2)),
            common_scale=sqrt_up(Real.of(common / 2 / mu**2)),
        )
        return wrong

    return Mutant(
        name="G1",
        title="noise correlated between groups, the means of the rows subtracted and not put back",
        source="Lebeda 2024, section 4",
        formula="2 mu^2",
        build=build,
        squared=lambda d, mu, root: 2 * mu * mu,
    )


def _around_root(dim: int) -> tuple[int, int]:
    low = math.isqrt(dim)
    return low, low + (low * low < dim)


def _m1d_mechanism(dim: int, mu: Fraction) -> BrokenMechanism:
    return BrokenMechanism(
        name="broken:M1d",
        source="known-wrong variant M1d",
        dim=dim,
        claim=GaussianDP(mu),
        adjacency=ADD_OR_REMOVE_ONE,
        noise=FirstEtaNoise(dim=dim, z_scale=scale(vz, dim, mu), eta_scale=scale(ve, dim, mu)),
        sensitivity=FirstEtaCube(dim=dim),
    )


def _e1_mechanism(dim: int, mu: Fraction) -> BrokenMechanism:
    bounds = np.arange(1.0, dim + 1.0)
    return BrokenMechanism(
        name="broken:E1",
        source="known-wrong variant E1",
        dim=dim,
        claim=GaussianDP(mu),
        adjacency=REPLACE_ONE,
        noise=EllipticalGaussian(bounds=bounds / 2, mu=mu).noise,
        sensitivity=Box(bounds=bounds),
        low=-bounds / 2,
        high=bounds / 2,
    )


def _v1_mechanism(dim: int, mu: Fraction) -> BrokenMechanism:
    return _vote_variant("V1", dim, mu, VoteEllipse(dim=dim, mu=mu).noise, first=1)


def _v1_squared(d: int, mu: Number, root: Root) -> Number:
    return mu * mu * (1 + 4 * d / ((d - 1) * (d - 1) * (1 + root(3 * (d + 1)) / 3)))


def _v2_variance(d: int, mu: Number, root: Root) -> Number:
    side = (d - 1) * (1 + root(3 * (d + 1)) / 3) / 2
    return side * side / (mu * mu)


def _v2_mechanism(dim: int, mu: Fraction) -> BrokenMechanism:
    return _vote_variant("V2", dim, mu, SharedNoise(dim=dim, independent_scale=scale(_v2_variance, dim, mu)), first=0)


def _v2_squared(d: int, mu: Number, root: Root) -> Number:
    shape = 1 + root(3 * (d + 1)) / 3
    return mu * mu * (4 * d * (2 * d - 1)) / (6 * (d - 1) * shape * shape)


def _k1_mechanism(dim: int, mu: Fraction) -> CountEllipse:
    wrong = CountEllipse(dim=dim, k=dim, mu=mu)
    wrong.name, wrong.source = "broken:K1", "known-wrong variant K1"
    count_scale = scale(lambda d, mu, root: 1 / (mu * mu), dim, mu)
    vars(wrong).update(
        count="released",
        count_scale=count_scale,
        noise=SharedNoise(
            dim=dim,
            independent_scale=wrong.independent_scale,
            shared_scale=wrong.shared_scale,
            count_loading=0,
            count_scale=count_scale,
        ),
        sensitivity=LevelledCube(dim=dim, nonzero=dim, layer=wrong.active_layers[0]),
    )
    return wrong


def _k1_squared(d: int, mu: Number, root: Root) -> Number:
    best = ellipse_optimum(d, d)
    j = best.active_layers[0]
    worst = max(best.at_layer(i) + Fraction(j - i, j) ** 2 for i in range(d + 1))
    return mu * mu * (times(worst.rational, root(1)) + times(worst.coefficient, root(worst.radicand or 1)))


def _d1_mechanism(dim: int, mu: Fraction) -> DiscreteCorrelatedGaussian:
    low, high = _around_root(dim)
    wrong = DiscreteCorrelatedGaussian(dim=dim, rho=mu**2 / 2, s=low)
    wrong.name, wrong.source = "broken:D1", "known-wrong variant D1"
    count_variance = (dim + high) / (high * mu**2)
    noise = LatticeNoise(dim=dim, query_variance=wrong.query_variance, count_variance=count_variance)
    vars(wrong).update(count_variance=count_variance, noise=noise)
    return wrong


def _d1_squared(d: int, mu: Number, root: Root) -> Number:
    low, high = _around_root(d)
    return times(Fraction(d, d + low) + Fraction(high, d + high), mu * mu)


ALL: tuple[Mutant, ...] = (
    Mutant(
        name="M1d",
        title="a fresh eta_i for every query, the count released as n + 2 eta_1",
        source="Lebeda 2024, Algorithm 1",
        formula="mu^2 (4 (r - 1)/(r + 1) + 1/r)",
        build=_m1d_mechanism,
        squared=lambda d, mu, root: mu * mu * (4 * (root(d) - 1) / (root(d) + 1) + 1 / root(d)),
    ),
    one_eta_for_all_groups(),
    replacement_shared_variance(),
    grouped_under_replacement(),
    ellipse_for_sparser_data(),
    ellipse_beyond_its_range(),
    Mutant(
        name="S1",
        title="standard Gaussian noise for l2-sensitivity 1 instead of sqrt d",
        source="Lebeda 2024, Lemma 2.1",
        formula="d mu^2",
        build=algorithm_1("S1", independent=lambda d, mu, root: 1 / (mu * mu), shared=zero, loading=None),
        squared=lambda d, mu, root: d * mu * mu,
    ),
    Mutant(
        name="E1",
        title="elliptical noise for Delta_j/2 under replacement (Delta_j = j)",
        source="Poulsen 2022, section 2",
        formula="4 mu^2",
        build=_e1_mechanism,
        squared=lambda d, mu, root: 4 * mu * mu,
    ),
    Mutant(
        name="V1",
        title="the Vote ellipse for ranks 0..d-1 on ranks 1..d",
        source="Joseph and Yu 2024, Vote ellipse",
        formula="mu^2 (1 + 4 d/((d - 1)^2 (1 + sqrt((d + 1)/3))))",
        build=_v1_mechanism,
        squared=_v1_squared,
        least_dim=2,
    ),
    Mutant(
        name="V2",
        title="independent noise of the Vote ellipse's variance, without its shape",
        source="Joseph and Yu 2024, Vote ellipse",
        formula="mu^2 2 d (2 d - 1)/(3 (d - 1) (1 + sqrt((d + 1)/3))^2)",
        build=_v2_mechanism,
        squared=_v2_squared,
        least_dim=2,
    ),
    Mutant(
        name="K1",
        title="the optimal ellipse with the count released as if P were 1",
        source="Lebeda 2024, section 4.1 and closing remark",
        formula="mu^2 max_i [g(i) + (1 - i/j)^2], > mu^2 iff d is not a perfect square",
        build=_k1_mechanism,
        squared=_k1_squared,
    ),
    mean_not_put_back(),
    Mutant(
        name="D1",
        title="the lattice mechanism with s = floor(sqrt d) for the queries and ceil(sqrt d) for the count",
        source="Lebeda 2024, Algorithm 1, discrete form",
        formula="mu^2 (d/(d + floor r) + ceil r/(d + ceil r)) = 2 rho",
        build=_d1_mechanism,
        squared=_d1_squared,
    ),
)
"""Those of the other mechanisms on sums of records; functions make those with a parameter."""
