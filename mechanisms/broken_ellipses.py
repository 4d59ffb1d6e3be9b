"""Known-wrong variants of the ellipses, of the noise correlated between groups, and of the mechanism on the lattice.

See `broken` for the notation. R1SMG is not among them: its published claim is not one of mu, and `Rank1Gaussian` is
itself the wrong mechanism.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpverdict.balls import Real, sqrt_up
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.broken_mechanism import BrokenMechanism
from dpverdict.mechanisms.count_ellipse_mechanism import CountEllipse, LevelledCube
from dpverdict.mechanisms.discrete_correlated import DiscreteCorrelatedGaussian, LatticeNoise
from dpverdict.mechanisms.ellipse_optimum import ellipse_optimum
from dpverdict.mechanisms.grouped_optimum import OptimalGroupedGaussian, part_variances
from dpverdict.mechanisms.guarantee import GaussianDP
from dpverdict.mechanisms.mutant import Mutant, Root, scale, times
from dpverdict.mechanisms.nested_noise import NestedNoise
from dpverdict.mechanisms.noise import SharedNoise
from dpverdict.mechanisms.quadratic_form import Number
from dpverdict.mechanisms.vote_ellipse import Permutations, VoteEllipse


def ranks_from_one() -> Mutant:
    """V1: the Vote ellipse for ranks 0..d-1, on votes that rank from 1 to d."""

    def build(dim: int, mu: Fraction) -> BrokenMechanism:
        return _vote("V1", dim, mu, VoteEllipse(dim=dim, mu=mu).noise, first=1)

    def squared(d: int, mu: Number, root: Root) -> Number:
        return mu * mu * (1 + 4 * d / ((d - 1) * (d - 1) * (1 + root(3 * (d + 1)) / 3)))

    return Mutant(
        name="V1",
        title="the Vote ellipse for ranks 0..d-1 on ranks 1..d",
        source="Joseph and Yu 2024, Vote ellipse",
        formula="mu^2 (1 + 4 d/((d - 1)^2 (1 + sqrt((d + 1)/3))))",
        build=build,
        squared=squared,
        least_dim=2,
    )


def ellipse_variance_without_its_shape() -> Mutant:
    """V2: independent noise of the variance that the Vote ellipse gives a query."""

    def variance(d: int, mu: Number, root: Root) -> Number:
        side = (d - 1) * (1 + root(3 * (d + 1)) / 3) / 2
        return side * side / (mu * mu)

    def build(dim: int, mu: Fraction) -> BrokenMechanism:
        return _vote("V2", dim, mu, SharedNoise(dim=dim, independent_scale=scale(variance, dim, mu)), first=0)

    def squared(d: int, mu: Number, root: Root) -> Number:
        shape = 1 + root(3 * (d + 1)) / 3
        return mu * mu * (4 * d * (2 * d - 1)) / (6 * (d - 1) * shape * shape)

    return Mutant(
        name="V2",
        title="independent noise of the Vote ellipse's variance, without its shape",
        source="Joseph and Yu 2024, Vote ellipse",
        formula="mu^2 2 d (2 d - 1)/(3 (d - 1) (1 + sqrt((d + 1)/3))^2)",
        build=build,
        squared=squared,
        least_dim=2,
    )


def _vote(name: str, dim: int, mu: Fraction, noise: SharedNoise, *, first: int) -> BrokenMechanism:
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


def count_that_is_not_free() -> Mutant:
    """K1: the optimal ellipse for k = d, with n - (1^T f)/j released under N(0, 1/mu^2) as if that were always free."""

    def build(dim: int, mu: Fraction) -> CountEllipse:
        wrong = CountEllipse(dim=dim, k=dim, mu=mu)
        wrong.name, wrong.source = "broken:K1", "known-wrong variant K1"
        wrong.count, wrong.count_scale = "released", scale(lambda d, mu, root: 1 / (mu * mu), dim, mu)
        wrong.noise = SharedNoise(
            dim=dim,
            independent_scale=wrong.independent_scale,
            shared_scale=wrong.shared_scale,
            count_loading=0,
            count_scale=wrong.count_scale,
        )
        wrong.sensitivity = LevelledCube(dim=dim, nonzero=dim, layer=wrong.active_layers[0])
        return wrong

    def squared(d: int, mu: Number, root: Root) -> Number:
        best = ellipse_optimum(d, d)
        j = best.active_layers[0]
        worst = max(best.at_layer(i) + Fraction(j - i, j) ** 2 for i in range(d + 1))
        return mu * mu * (times(worst.rational, root(1)) + times(worst.coefficient, root(worst.radicand or 1)))

    return Mutant(
        name="K1",
        title="the optimal ellipse with the count released as if P were 1",
        source="Lebeda 2024, section 4.1 and closing remark",
        formula="mu^2 max_i [g(i) + (1 - i/j)^2], > mu^2 iff d is not a perfect square",
        build=build,
        squared=squared,
    )


def mean_not_put_back(groups: int = 2) -> Mutant:
    """G1: noise correlated between groups whose rows are centred, the variance of their means not being put back."""

    def build(dim: int, mu: Fraction) -> OptimalGroupedGaussian:
        within, between, common = part_variances(groups, dim)
        wrong = OptimalGroupedGaussian(groups=groups, dim=dim, mu=mu)
        wrong.name, wrong.source = "broken:G1", "known-wrong variant G1"
        wrong.noise = NestedNoise(
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


def mixed_lattice() -> Mutant:
    """D1: the lattice mechanism with sqrt d rounded down in the queries' noise and up in the count's.

    The claim is one of zCDP, rho = mu^2/2, and the true value is twice the true rho.
    """

    def build(dim: int, mu: Fraction) -> DiscreteCorrelatedGaussian:
        low, high = _around_root(dim)
        wrong = DiscreteCorrelatedGaussian(dim=dim, rho=mu**2 / 2, s=low)
        wrong.name, wrong.source = "broken:D1", "known-wrong variant D1"
        wrong.count_variance = (dim + high) / (high * mu**2)
        wrong.noise = LatticeNoise(dim=dim, query_variance=wrong.query_variance, count_variance=wrong.count_variance)
        return wrong

    def squared(d: int, mu: Number, root: Root) -> Number:
        low, high = _around_root(d)
        return times(Fraction(d, d + low) + Fraction(high, d + high), mu * mu)

    return Mutant(
        name="D1",
        title="the lattice mechanism with s = floor(sqrt d) for the queries and ceil(sqrt d) for the count",
        source="Lebeda 2024, Algorithm 1, discrete form",
        formula="mu^2 (d/(d + floor r) + ceil r/(d + ceil r)) = 2 rho",
        build=build,
        squared=squared,
    )


def _around_root(dim: int) -> tuple[int, int]:
    low = math.isqrt(dim)
    return low, low + (low * low < dim)
