"""Known-wrong variants of Algorithm 1 and of Lemma 3.6 (see `broken` for the notation)."""

from __future__ import annotations

import math
from fractions import Fraction

from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.mechanisms.broken.mutant import BrokenMechanism, Build, Formula, Mutant, Root, scale, times
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.core.noise import Number, SharedNoise
from dpverdict.mechanisms.core.sensitivity import Cube, ReplacementCube, SensitivitySpace

_PAPER = "Lebeda 2024, Algorithm 1"


def vz(d: int, mu: Number, root: Root) -> Number:
    return (d + root(d)) / (4 * mu * mu)


def ve(d: int, mu: Number, root: Root) -> Number:
    return (root(d) + 1) / (4 * mu * mu)


def zero(d: int, mu: Number, root: Root) -> Number:
    return 0


def algorithm_1(
    name: str,
    *,
    independent: Formula = vz,
    shared: Formula = ve,
    loading: int | None = 2,
    own_count: Formula | None = None,
    low: Fraction = Fraction(0),
    high: Fraction = Fraction(1),
    copies: int = 1,
    nonzero: int | None = None,
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
) -> Build:
    """A builder of Algorithm 1 with the named parts replaced: variances, loading of the count, data, relation."""

    def build(dim: int, mu: Fraction) -> BrokenMechanism:
        noise = SharedNoise(
            dim=dim,
            independent_scale=scale(independent, dim, mu),
            shared_scale=scale(shared, dim, mu),
            count_loading=loading,
            count_scale=0.0 if own_count is None else scale(own_count, dim, mu),
        )
        space: SensitivitySpace = Cube(dim=dim, low=low, high=high, copies=copies, nonzero=nonzero)
        if adjacency is REPLACE_ONE:
            space = ReplacementCube(dim=dim)
        return BrokenMechanism(
            name=f"broken:{name}",
            source=f"known-wrong variant {name}",
            dim=dim,
            claim=GaussianDP(mu),
            adjacency=adjacency,
            noise=noise,
            sensitivity=space,
            low=float(low),
            high=float(high),
        )

    return build


def _queries_only(d: int, root: Root) -> Number:
    """max_j 1 - ((j - j*)/j*)^2 at the integer j nearest to j* = (d + r)/2, found in integers."""
    vertex, j = (d + root(d)) / 2, (d + 1 + math.isqrt(d)) // 2
    return 1 - ((j - vertex) / vertex) ** 2


def _total_variance(d: int, mu: Number, root: Root) -> Number:
    return vz(d, mu, root) + ve(d, mu, root)


def _count_variance(d: int, mu: Number, root: Root) -> Number:
    return 4 * ve(d, mu, root)


def scaled_shared_variance(factor: Fraction = Fraction(1, 2)) -> Mutant:
    """M2: the variance of eta is multiplied by ``factor``."""
    return Mutant(
        name="M2",
        title=f"the variance of eta multiplied by {factor}",
        source=_PAPER,
        formula=f"mu^2 (r + 1/c)/(r + 1), c = {factor}",
        build=algorithm_1("M2", shared=lambda d, mu, root: times(factor, ve(d, mu, root))),
        squared=lambda d, mu, root: mu * mu * (times(factor, root(d)) + 1) / times(factor, root(d) + 1),
    )


def scaled_independent_variance(factor: Fraction | None = None) -> Mutant:
    """M4: the variance of every z_i is multiplied by ``factor``; d/4 in place of (d + r)/4 when not given."""

    if factor is None:
        return Mutant(
            name="M4",
            title="the variance of z_i is d/(4 mu^2)",
            source=_PAPER,
            formula="mu^2 (r + 2)/(r + 1)",
            build=algorithm_1("M4", independent=lambda d, mu, root: d / (4 * mu * mu)),
            squared=lambda d, mu, root: mu * mu * (root(d) + 2) / (root(d) + 1),
        )
    return Mutant(
        name="M4",
        title=f"the variance of z_i multiplied by {factor}",
        source=_PAPER,
        formula=f"mu^2 (r/c + 1)/(r + 1), c = {factor}",
        build=algorithm_1("M4", independent=lambda d, mu, root: times(factor, vz(d, mu, root))),
        squared=lambda d, mu, root: mu * mu * (times(1 / factor, root(d)) + 1) / (root(d) + 1),
    )


def used_under_replacement(c_squared: Fraction | None = None) -> Mutant:
    """M5: Algorithm 1, or its relative with another C, is used where one record is replaced."""

    def square(d: int, root: Root) -> Number:
        return root(d) if c_squared is None else c_squared

    return Mutant(
        name="M5",
        title="add/remove noise used under replacement",
        source=_PAPER,
        formula="mu^2 4 d/(d + C^2)",
        build=algorithm_1(
            "M5",
            independent=lambda d, mu, root: (d + square(d, root)) / (4 * mu * mu),
            shared=lambda d, mu, root: (d + square(d, root)) / (4 * mu * mu * square(d, root)),
            adjacency=REPLACE_ONE,
        ),
        squared=lambda d, mu, root: mu * mu * 4 * d / (d + square(d, root)),
    )


def unclipped(low: Fraction = Fraction(-1), high: Fraction = Fraction(1), name: str = "M7") -> Mutant:
    """M7: the data lie in [low, high], which contains [0, 1], and are not clipped."""
    reach = max((2 * low - 1) ** 2, (2 * high - 1) ** 2)
    return Mutant(
        name=name,
        title=f"data in [{low}, {high}], not clipped",
        source=_PAPER,
        formula=f"mu^2 ({reach} r + 1)/(r + 1)",
        build=algorithm_1(name, low=low, high=high),
        squared=lambda d, mu, root: mu * mu * (times(reach, root(d)) + 1) / (root(d) + 1),
    )


def several_records_per_user(q: int = 3) -> Mutant:
    """M17: one user contributes q records, and the claim is read per user."""
    return Mutant(
        name="M17",
        title=f"one user contributes {q} records",
        source=_PAPER,
        formula=f"{q * q} mu^2",
        build=algorithm_1("M17", copies=q),
        squared=lambda d, mu, root: q * q * mu * mu,
    )


def _m1_squared(d: int, mu: Number, root: Root) -> Number:
    return mu * mu * (_queries_only(d, root) + 1 / (root(d) + 1))


ALL: tuple[Mutant, ...] = (
    Mutant(
        name="M1",
        title="the count is released with a fresh eta' of the same variance",
        source=_PAPER,
        formula="mu^2 (max_j [1 - ((j - j*)/j*)^2] + 1/(r + 1))",
        build=algorithm_1("M1", loading=0, own_count=lambda d, mu, root: 4 * ve(d, mu, root)),
        squared=_m1_squared,
    ),
    Mutant(
        name="M1b",
        title="a fresh eta_i for every query and for the count",
        source=_PAPER,
        formula="mu^2 (4 d + r + 1)/(r + 1)^2",
        build=algorithm_1("M1b", independent=_total_variance, shared=zero, loading=0, own_count=_count_variance),
        squared=lambda d, mu, root: mu * mu * (4 * d + root(d) + 1) / (root(d) + 1) ** 2,
    ),
    Mutant(
        name="M1c",
        title="a fresh eta_i for every query, the count not released",
        source=_PAPER,
        formula="mu^2 4 d/(r + 1)^2",
        build=algorithm_1("M1c", independent=_total_variance, shared=zero, loading=None),
        squared=lambda d, mu, root: mu * mu * 4 * d / (root(d) + 1) ** 2,
    ),
    scaled_shared_variance(),
    Mutant(
        name="M3",
        title="the variance of eta is sqrt(d + 1)/(4 mu^2), as printed",
        source="poster line 1; Lebeda 2024, Algorithm 2 line 2 (supplied texts)",
        formula="mu^2 (r/(r + 1) + 1/sqrt(d + 1))",
        build=algorithm_1("M3", shared=lambda d, mu, root: root(d + 1) / (4 * mu * mu)),
        squared=lambda d, mu, root: mu * mu * (root(d) / (root(d) + 1) + 1 / root(d + 1)),
    ),
    scaled_independent_variance(),
    used_under_replacement(),
    Mutant(
        name="M6",
        title="the count is released exactly",
        source=_PAPER,
        formula="infinite",
        build=algorithm_1("M6", loading=0),
        squared=None,
    ),
    Mutant(
        name="M6b",
        title="the count is released as n + eta",
        source=_PAPER,
        formula="4 mu^2, at the all-zero record",
        build=algorithm_1("M6b", loading=1),
        squared=lambda d, mu, root: 4 * mu * mu,
    ),
    Mutant(
        name="M6c",
        title="the count is released as n - 2 eta",
        source=_PAPER,
        formula="mu^2 (9 r + 1)/(r + 1), at the all-ones record",
        build=algorithm_1("M6c", loading=-2),
        squared=lambda d, mu, root: mu * mu * (9 * root(d) + 1) / (root(d) + 1),
    ),
    unclipped(),
    unclipped(Fraction(0), Fraction(3, 2), name="M7ab"),
    Mutant(
        name="M8",
        title="standard deviations set to the intended variances",
        source=_PAPER,
        formula="8 mu^4/(r + 1)^2: false iff mu > (r + 1)/(2 sqrt 2)",
        build=algorithm_1(
            "M8",
            independent=lambda d, mu, root: vz(d, mu, root) ** 2,
            shared=lambda d, mu, root: ve(d, mu, root) ** 2,
        ),
        squared=lambda d, mu, root: 8 * mu**4 / (root(d) + 1) ** 2,
    ),
    Mutant(
        name="M8b",
        title="variances divided by 4 mu instead of 4 mu^2, as printed",
        source="Lebeda 2024, text before Lemma 4.4 (supplied text)",
        formula="mu: false iff mu < 1",
        build=algorithm_1(
            "M8b",
            independent=lambda d, mu, root: vz(d, mu, root) * mu,
            shared=lambda d, mu, root: ve(d, mu, root) * mu,
        ),
        squared=lambda d, mu, root: mu,
    ),
    Mutant(
        name="M12",
        title="Lemma 3.6 with the true n as the estimate of n",
        source="Lebeda 2024, Lemma 3.6 (its unstated condition)",
        formula="4 mu^2",
        build=algorithm_1("M12", independent=lambda d, mu, root: d / (4 * mu * mu), shared=zero, loading=None),
        squared=lambda d, mu, root: 4 * mu * mu,
    ),
    Mutant(
        name="M13",
        title="C = sqrt d in the embedding, noise variance still d + sqrt d",
        source="Lebeda 2024, section 3.1",
        formula="mu^2 2 r/(r + 1)",
        build=algorithm_1("M13", shared=lambda d, mu, root: (d + root(d)) / (4 * d * mu * mu)),
        squared=lambda d, mu, root: mu * mu * 2 * root(d) / (root(d) + 1),
    ),
    Mutant(
        name="M16",
        title="sqrt d rounded down to s in (d + s)/4 and (s + 1)/4",
        source=_PAPER,
        formula="mu^2 (1 + (d - s^2)/((d + s)(s + 1)))",
        build=algorithm_1(
            "M16",
            independent=lambda d, mu, root: (d + math.isqrt(d)) / (4 * mu * mu),
            shared=lambda d, mu, root: (math.isqrt(d) + 1) / (4 * mu * mu),
        ),
        squared=lambda d, mu, root: (
            mu * mu * (1 + Fraction(d - math.isqrt(d) ** 2, (d + math.isqrt(d)) * (math.isqrt(d) + 1)))
        ),
    ),
    several_records_per_user(),
)
"""Those of Algorithm 1 and of Lemma 3.6; functions make those with a parameter."""
