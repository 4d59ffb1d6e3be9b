"""Noise correlated between disjoint groups: certified over the whole space, and cheaper than Algorithm 2."""

import itertools
import math
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.core.sensitivity import Cube
from dpverdict.mechanisms.queries.grouped import (
    GroupedGaussian,
    NestedNoise,
    OptimalGroupedGaussian,
    ReplacedRow,
    part_variances,
)

ERROR = 1e-9
N = 40_000
oracle = runpy.run_path(str(Path(__file__).parents[3] / "exact_covariance.py"))


def squared(loss: object) -> Fraction:
    assert isinstance(loss, GaussianLoss)
    assert loss.mu_squared.rational is not None
    return loss.mu_squared.rational


def vertices(groups: int, dim: int) -> list[np.ndarray]:
    placed = [np.zeros((groups, dim))]
    for group in range(groups):
        for vertex in itertools.product((0.0, 1.0), repeat=dim):
            if any(vertex):
                placed.append(np.zeros((groups, dim)))
                placed[-1][group] = vertex
    return placed


@pytest.mark.parametrize(("groups", "dim"), [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (3, 2), (2, 3)])
def test_the_worst_case_and_every_vertex_equal_dense_rational_algebra(groups: int, dim: int) -> None:
    """The dense covariance has the exact squares of the scales; the sampler's is that up to rounding its means."""
    mechanism = OptimalGroupedGaussian(groups=groups, dim=dim, mu="1.3")
    entries = mechanism.noise.covariance()
    size = range(groups * dim)

    def entry(i: int, j: int) -> Fraction:
        if i == j:
            return entries["query"]
        return entries["query-query in a group" if i // dim == j // dim else "query-query between groups"]

    dense = [[entry(i, j) for j in size] for i in size]
    sampled = oracle["covariance_of_the_sampler"](mechanism.noise)
    assert all(
        abs(float(a - b)) < 1e-14 * dim for x, y in zip(dense, sampled, strict=True) for a, b in zip(x, y, strict=True)
    )
    form = oracle["DenseForm"](dense)
    found = []
    for record, other in itertools.product(vertices(groups, dim), repeat=2):
        value = form.at((record - other).ravel())
        assert squared(neighbour_loss(mechanism, record, other)) == value
        found.append(value)
    worst = worst_case(mechanism)
    assert squared(worst.loss) == max(found)
    assert form.at((worst.pair.dataset - worst.pair.neighbour).ravel()) == max(found)
    assert max(found) <= mechanism.claim.mu**2


scales = st.floats(min_value=0.125, max_value=8)


@settings(max_examples=150)
@given(st.integers(1, 4), st.integers(1, 5), scales, scales, scales)
def test_the_constant_time_maximiser_is_that_of_all_vertices_for_any_scales(
    groups: int, dim: int, within: float, between: float, common: float
) -> None:
    noise = NestedNoise(groups=groups, dim=dim, within_scale=within, between_scale=between, common_scale=common)
    found = [noise.form((t,), dim) for t in range(-dim, dim + 1, 2)] + [noise.form((p,), p) for p in range(dim + 1)]
    if groups >= 2:
        found += [noise.form((p, -q), p + q) for p in range(dim + 1) for q in range(dim + 1)]
    space = ReplacedRow(groups=groups, dim=dim)
    best = space.maximise(noise)
    assert best.mu_squared is not None
    assert best.mu_squared.rational == max(found)
    record, replacement = best.records()
    attained = space.mu_squared(noise, record, replacement)
    assert attained is not None
    assert attained.rational == max(found)


@pytest.mark.parametrize("groups", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("dim", [1, 2, 3, 50])
def test_the_claim_is_certified_with_less_noise_than_algorithm_2(groups: int, dim: int) -> None:
    mechanism = OptimalGroupedGaussian(groups=groups, dim=dim, mu=1)
    certificate = certify(mechanism).require().certificate
    assert certificate is not None
    assert certificate.method == "exact rational arithmetic"
    assert certify(mechanism, GaussianDP("0.999999")).status is Status.REFUTED
    stated = dim + (groups - 1) / (groups + 1)
    assert float(mechanism.per_query_variance) == pytest.approx(stated, rel=1e-14)
    usual = GroupedGaussian(groups=groups, dim=dim, mu=1, adjacency=REPLACE_ONE).noise.covariance()["query"]
    assert mechanism.per_query_variance < usual


def test_a_million_queries_are_certified() -> None:
    assert certify(OptimalGroupedGaussian(groups=7, dim=10**6, mu=1)).status is Status.CERTIFIED


def test_the_covariance_is_the_printed_one_and_positive_definite_for_all_m_and_d() -> None:
    m, d = sympy.symbols("m d", positive=True)
    # d I + (I_m - c J_m) x 11^T with c = 2/(m+1): eigenvalues d inside groups, 2 d on contrasts, d + d (1 - c m) common
    c = 2 / (m + 1)
    common = sympy.factor(d + d * (1 - c * m))
    assert sympy.simplify(common - 2 * d / (m + 1)) == 0
    assert common.is_positive
    for groups, dim in itertools.product(range(1, 6), range(1, 6)):
        within, between, line = part_variances(groups, dim)
        assert (within, dim * between, dim * line) == (dim, 2 * dim, Fraction(2 * dim, groups + 1))
    identity = NestedNoise(groups=3, dim=4, within_scale=1.0, between_scale=0.5, common_scale=0.5)
    assert identity.form((1,), 1) == 1
    assert identity.form((3, -2), 7) == 7


def test_every_replacement_costs_what_the_proof_says() -> None:
    """Two rows: 1 - (1 - p/d)(1 - q/d); one row: 1 for every sign vector."""
    m, d, p, q = sympy.symbols("m d p q", positive=True)
    rows, line = (p**2 + q**2) / d, (p - q) ** 2 / (d * m)
    value = (p + q - rows) / d + (rows - line) / (2 * d) + line * (m + 1) / (2 * d)
    assert sympy.simplify(value - (1 - (1 - p / d) * (1 - q / d))) == 0
    t = sympy.symbols("t", real=True)
    one = (d - t**2 / d) / d + (t**2 / d) * (1 - 1 / m) / (2 * d) + t**2 / (d * m) * (m + 1) / (2 * d)
    assert sympy.simplify(one - 1) == 0


def test_releases_are_unbiased_with_the_stated_covariance(seed: int) -> None:
    mechanism = OptimalGroupedGaussian(groups=3, dim=2, mu="0.7")
    rng = np.random.default_rng(seed)
    records = np.zeros((12, 3, 2))
    records[np.arange(12), rng.integers(0, 3, 12)] = rng.uniform(0, 1, (12, 2))
    truth = records.sum(axis=0).ravel()
    errors = mechanism.release_many(records, N, rng) - truth
    entries = mechanism.noise.covariance()
    directions = {
        (1, 0, 0, 0, 0, 0): entries["query"],
        (1, -1, 0, 0, 0, 0): 2 * (entries["query"] - entries["query-query in a group"]),
        (1, 0, -1, 0, 0, 0): 2 * (entries["query"] - entries["query-query between groups"]),
        (1, 1, 1, 1, 1, 1): 6 * 2 * mechanism.noise.variances[2],
    }
    share = ERROR / (4 * len(directions))
    for direction, variance in directions.items():
        along = errors @ np.array(direction, dtype=float)
        assert abs(along.mean()) < stats.norm.isf(share) * math.sqrt(float(variance) / N)
        assert stats.chi2.ppf(share, N) < (along**2).sum() / float(variance) < stats.chi2.isf(share, N)


def test_sampled_evidence_agrees(seed: int) -> None:
    mechanism = OptimalGroupedGaussian(groups=3, dim=3, mu=2)
    pair = worst_case(mechanism).pair
    kept = distinguish(mechanism, pair, mechanism.claim, error_probability=1e-9, samples=20_000, seed=seed)
    broken = distinguish(mechanism, pair, GaussianDP(1), error_probability=1e-9, samples=20_000, seed=seed)
    assert not kept.refuted
    assert broken.refuted


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"groups": 0, "dim": 1, "mu": 1}, "groups"),
        ({"groups": 2, "dim": 0, "mu": 1}, "dim"),
        ({"groups": 2, "dim": 1, "mu": "nan"}, "mu"),
        ({"groups": 1.5, "dim": 1, "mu": 1}, "groups"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_one_line(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{name}=[^\n]*$"):
        OptimalGroupedGaussian(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_noise_that_is_not_positive_definite_is_refused(scale: float) -> None:
    for name in ("within_scale", "between_scale", "common_scale"):
        others = {"within_scale": 1.0, "between_scale": 1.0, "common_scale": 1.0} | {name: scale}
        with pytest.raises(InvalidValue, match=rf"^{name}="):
            NestedNoise(groups=2, dim=2, **others)


def test_a_record_in_two_groups_and_a_space_of_another_noise_are_refused() -> None:
    mechanism = OptimalGroupedGaussian(groups=2, dim=2, mu=1)
    with pytest.raises(InvalidValue, match="in one group at most"):
        mechanism.release(np.ones((1, 2, 2)), np.random.default_rng(0))
    with pytest.raises(InvalidValue, match="exact maximiser"):
        Cube(dim=4).maximise(mechanism.noise)
    rows = mechanism.rows(mechanism.release(np.zeros((1, 2, 2)), np.random.default_rng(0)))
    assert rows.shape == (2, 2)
