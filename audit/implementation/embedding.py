"""Is the mechanism h^-1 of the standard Gaussian mechanism in R^(d+1)? (Lebeda 2024, Lemma 3.4, checked four ways)

1. Symbolically, for all d: h is invertible, and carries the records and the covariance of Algorithm 1 into those of the
   standard mechanism.
2. In exact arithmetic, for the mechanism at hand: h S h^T = sigma^2 I for its own covariance S, from the distinct
   entries of S alone, and sigma^2 is at least what the claim needs, (d + C^2)/mu^2.
3. By round trips of h on random rational vectors.
4. By a two-sample test between the mechanism and an independent sampler that goes through the embedding.

The first three are exact findings, the fourth is statistical and has a type of its own. A variant that breaks the
bijection, or the scale, fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NoReturn, final

import numpy as np

from dpverdict.audit.statistics.sampler_tests import EqualLawsTest, Projection, check_equal_normal_laws
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.core.noise import GroupedNoise
from dpverdict.mechanisms.queries.correlated import (
    CorrelatedGaussian,
    EmbeddedGaussian,
    from_embedding,
    pulled_back_covariance,
    squared_sensitivity,
    to_embedding,
)
from dpverdict.mechanisms.queries.count_ellipse import CountEllipse
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import rounded_text

TWO_SAMPLES: Final = "two samplers, one law"
"""The name of the statistical check."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingFinding:
    """One thing that was checked exactly.

    Attributes:
        name: what was checked, in a few words.
        holds: whether it holds.
        method: "symbolic" or "exact rational arithmetic".
        detail: the numbers, in one line.
    """

    name: str
    holds: bool
    method: str
    detail: str


MOST_NUMBERS: Final = 1 << 27
"""Of each sampler: seconds of work. What the exact findings leave to the two-sample test is a sampler that errs."""

_FEWEST: Final = 10_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTest:
    """The two-sample test between the mechanism and a sampler that goes through the embedding: statistical evidence.

    Attributes:
        law: what the test says.
        error_probability: with which it rejects two equal laws, at most.
        samples: releases drawn from each sampler.
        seed: the seed they were drawn with.
    """

    law: EqualLawsTest
    error_probability: float
    samples: int
    seed: int

    @property
    def rejected(self) -> bool:
        """Whether the two laws differ, unless the test erred."""
        return self.law.rejected

    @property
    def detail(self) -> str:
        """The numbers, in one line."""
        law = self.law
        p_value = rounded_text(law.p_value, 3)
        return f"p-value {p_value} ({law.where}) over {law.tests} tests, {self.samples} releases each"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingCheck:
    """Whether a mechanism is h^-1 of the standard Gaussian mechanism in R^(d+1).

    Attributes:
        findings: what was checked exactly, in order.
        sampled: the statistical test.
    """

    findings: tuple[EmbeddingFinding, ...]
    sampled: EmbeddingTest

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the checks that failed, the statistical one last."""
        exact = tuple(finding.name for finding in self.findings if not finding.holds)
        return (*exact, TWO_SAMPLES) if self.sampled.rejected else exact

    @property
    def holds(self) -> bool:
        """Whether every exact finding holds and the statistical test does not reject."""
        return not self.failures

    def __bool__(self) -> NoReturn:
        raise TypeError("compare check.holds, or read check.findings and check.sampled")


def embedding_applies(mechanism: GaussianMechanism) -> bool:
    """Whether the mechanism releases queries and a count per group, so that the bijection is a question about it."""
    if isinstance(mechanism, CountEllipse):  # its count is another statistic than n + 2 eta
        return False
    return isinstance(mechanism.claim, GaussianDP) and "count" in mechanism.noise.covariance()


def check_embedding(
    mechanism: GaussianMechanism, *, samples: int, error_probability: float, seed: int
) -> EmbeddingCheck:
    """Check the bijection for a mechanism with a released count.

    Args:
        mechanism: `CorrelatedGaussian` with the count released, `GroupedGaussian`, or a variant of them.
        samples: releases per sampler for the two-sample test, at least 100; of releases of many numbers only as many
            are drawn as hold `MOST_NUMBERS` numbers, and no fewer than 10 000: its `EmbeddingTest.samples` says how
            many.
        error_probability: of the two-sample test.
        seed: of the two-sample test.

    Requires: ``embedding_applies(mechanism)``.
    """
    findings = (*_check_symbolically(), *_check_exactly(mechanism), _check_round_trip(mechanism.dim, seed))
    drawn = min(samples, max(_FEWEST, MOST_NUMBERS // (mechanism.dim + 1)))
    return EmbeddingCheck(findings=findings, sampled=_compare_samplers(mechanism, drawn, error_probability, seed))


def _check_symbolically() -> tuple[EmbeddingFinding, ...]:
    """For all d: any two queries i != j and the count span the whole pattern, so 3 x 3 matrices decide for every d."""
    import sympy  # slow to import, and needed here only

    c, d, mu = sympy.symbols("C d mu", positive=True)
    f, n, x = sympy.symbols("f n x", real=True)
    back = from_embedding(*to_embedding(f, n, c), c)
    invertible = all(sympy.simplify(a - b) == 0 for a, b in zip(back, (f, n), strict=True))
    embedded = [sympy.expand(a - b) for a, b in zip(to_embedding(x, 1, c), (2 * x - 1, c), strict=True)]
    vz, ve = family_variances(d, c**2, mu)
    covariance = sympy.Matrix([[vz + ve, ve, 2 * ve], [ve, vz + ve, 2 * ve], [2 * ve, 2 * ve, 4 * ve]])
    matrix = sympy.Matrix([[2, 0, -1], [0, 2, -1], [0, 0, c]])
    residue = (matrix * covariance * matrix.T - (d + c**2) / mu**2 * sympy.eye(3)).applyfunc(sympy.simplify)
    pulled = pulled_back_covariance((d + c**2) / mu**2, c)
    entries = {"query": vz + ve, "query-query": ve, "query-count": 2 * ve, "count": 4 * ve}
    same = all(sympy.simplify(pulled[name] - entries[name]) == 0 for name in entries)
    return (
        EmbeddingFinding(
            name="h has an inverse", holds=bool(invertible), method="symbolic", detail="h^-1(h(f, n)) = (f, n)"
        ),
        EmbeddingFinding(
            name="means agree",
            holds=embedded == [0, 0],
            method="symbolic",
            detail="h carries a record (x, 1) into (2x - 1, C), so sums into sums",
        ),
        EmbeddingFinding(
            name="covariances agree for all d",
            holds=residue == sympy.zeros(3, 3) and same,
            method="symbolic",
            detail="h S h^T = (d + C^2)/mu^2 I for vz = (d + C^2)/(4 mu^2), ve = vz/C^2, any C > 0",
        ),
    )


def _check_exactly(mechanism: GaussianMechanism) -> tuple[EmbeddingFinding, ...]:
    """h S h^T from the distinct entries of S, in rationals; then sigma^2 against the claim."""
    entries = mechanism.noise.covariance()
    query, shared, cross, count = (
        entries.get(k, Fraction(0)) for k in ("query", "query-query", "query-count", "count")
    )
    own = 4 * query - 4 * cross + count
    between = 4 * shared - 4 * cross + count
    mixed = 2 * cross - count
    stray = [name for name in entries if name not in ("query", "query-query", "query-count", "count") and entries[name]]
    isotropic = between == 0 and mixed == 0 and not stray and count > 0
    detail = f"variance of 2f_i - n: {float(own):.12g}; its covariances: {float(between):.3g}, {float(mixed):.3g}"
    findings = [
        EmbeddingFinding(
            name="covariances agree for this mechanism",
            holds=isotropic,
            method="exact rational arithmetic",
            detail=detail + (f"; also correlated: {', '.join(stray)}" if stray else ""),
        )
    ]
    assert isinstance(mechanism.claim, GaussianDP)  # embedding_applies
    if isotropic:
        c_squared = own / count
        needed = _squared_sensitivity(mechanism, c_squared) / mechanism.claim.mu**2
        holds, detail = (
            own >= needed,
            f"sigma^2 = {float(own):.17g}, needed {float(needed):.17g}, C^2 = {float(c_squared):.17g}",
        )
    else:
        holds, detail = False, "the noise is not isotropic in the embedding, so it has no single sigma"
    scale = EmbeddingFinding(
        name="sigma meets the claim", holds=holds, method="exact rational arithmetic", detail=detail
    )
    return (*findings, scale)


def _squared_sensitivity(mechanism: GaussianMechanism, c_squared: Fraction) -> Fraction:
    """Of the embedded sums, under the mechanism's relation; one group under replacement leaves the count as it is."""
    if mechanism.adjacency is REPLACE_ONE and not isinstance(mechanism.noise, GroupedNoise):
        return Fraction(4 * mechanism.dim)
    return Fraction(squared_sensitivity(mechanism.dim, c_squared, mechanism.adjacency))


def _check_round_trip(dim: int, seed: int) -> EmbeddingFinding:
    rng = np.random.default_rng([seed, 1])
    numbers = [Fraction(int(k), 1024) for k in rng.integers(-(2**40), 2**40, size=min(dim, 1000) + 1)]
    c = Fraction(int(rng.integers(1, 2**30)), 2**20)
    queries, count = numbers[:-1], numbers[-1]
    backs = [from_embedding(*to_embedding(f, count, c), c) == (f, count) for f in queries]
    return EmbeddingFinding(
        name="round trip",
        holds=all(backs),
        method="exact rational arithmetic",
        detail=f"h^-1(h(f, n)) = (f, n) on {len(backs)} random rational queries",
    )


def _compare_samplers(mechanism: GaussianMechanism, samples: int, error_probability: float, seed: int) -> EmbeddingTest:
    assert isinstance(mechanism.claim, GaussianDP)  # embedding_applies
    constant = mechanism.embedding_constant if isinstance(mechanism, CorrelatedGaussian) else None
    grouped = isinstance(mechanism.noise, GroupedNoise)
    groups = mechanism.noise.groups if isinstance(mechanism.noise, GroupedNoise) else 1
    relation = mechanism.adjacency if grouped else ADD_OR_REMOVE_ONE
    second = EmbeddedGaussian(dim=mechanism.dim, mu=mechanism.claim.mu, C=constant, adjacency=relation)
    # Two records, so that means are compared too: all ones and a half, in the first group.
    row = np.stack([np.ones(mechanism.dim), np.full(mechanism.dim, 0.5)])
    records = row
    if grouped:
        records = np.zeros((2, groups, mechanism.dim))
        records[:, 0] = row

    def direct(trials: int, rng: np.random.Generator) -> Array:
        return mechanism.release_many(records, trials, rng)

    def through_embedding(trials: int, rng: np.random.Generator) -> Array:
        rows = [second.release_many(row[: 2 if j == 0 else 0], trials, rng) for j in range(groups)]
        return np.concatenate(rows, axis=1)

    law = check_equal_normal_laws(
        direct,
        through_embedding,
        _linear_statistics(mechanism.dim, groups),
        samples=samples,
        error_probability=error_probability,
        seed=seed,
    )
    return EmbeddingTest(law=law, error_probability=error_probability, samples=samples, seed=seed)


def _linear_statistics(dim: int, groups: int) -> dict[str, Projection]:
    """Linear statistics whose variances determine the covariance within a row (d queries, a count) and between rows."""
    n = dim
    chosen: dict[str, Projection] = {
        "first query": lambda y: y[:, 0],
        "last query": lambda y: y[:, dim - 1],
        "count": lambda y: y[:, n],
        "sum of queries": lambda y: y[:, :dim].sum(axis=1),
        "2 x first query - count": lambda y: 2 * y[:, 0] - y[:, n],
        "2 x sum of queries - d x count": lambda y: 2 * y[:, :dim].sum(axis=1) - dim * y[:, n],
    }
    if dim >= 2:
        chosen["first query - last query"] = lambda y: y[:, 0] - y[:, dim - 1]
    if groups >= 2:
        chosen["count of group 1 - count of group 2"] = lambda y: y[:, n] - y[:, 2 * dim + 1]
        chosen["count of group 1 + count of group 2"] = lambda y: y[:, n] + y[:, 2 * dim + 1]
    return chosen
