"""Counting queries with optimal noise: certified, tight, and sampled as stated; and the comparison with others.

Statistical tests: N releases or samples, an error probability of at most ERROR for each test function.
"""

import itertools
import math
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.implementation.embedding import embedding_applies
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.queries.count_ellipse import (
    CountEllipse,
    largest_optimal_k,
    least_ellipse_variance,
    pair_root,
)

ERROR = 1e-9
N = 40_000
oracle = runpy.run_path(str(Path(__file__).parents[3] / "exact_covariance.py"))


def squared(loss: object) -> Fraction:
    assert isinstance(loss, GaussianLoss)
    assert loss.mu_squared.rational is not None
    return loss.mu_squared.rational


def every_small() -> list[CountEllipse]:
    made = [CountEllipse(dim=d, k=k, mu="0.7") for d in range(1, 6) for k in range(1, d + 1)]
    free = [(d, k) for d in range(1, 6) for k in range(1, d + 1) if pair_root(d) is None or k <= largest_optimal_k(d)]
    return made + [CountEllipse(dim=d, k=k, mu="1.3", count="released") for d, k in free]


@pytest.mark.parametrize("mechanism", every_small(), ids=lambda m: f"{m!r}, k={m.k}, {m.count}")
def test_the_worst_case_is_that_of_dense_rational_algebra_over_every_record(mechanism: CountEllipse) -> None:
    dense = oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
    found = []
    for vertex in itertools.product((0.0, 1.0), repeat=mechanism.dim):
        record = np.array(vertex)
        if record.sum() > mechanism.k:
            continue
        moved = mechanism.embed(record[None]) - mechanism.embed(np.zeros((0, mechanism.dim)))
        if mechanism.count == "released":  # 1 - |x|/j, which float64 may round
            exact = [Fraction(float(v)) for v in moved[:-1]] + [
                1 - Fraction(int(record.sum()), mechanism.active_layers[0])
            ]
            assert float(exact[-1]) == pytest.approx(float(moved[-1]), abs=1e-15)
            value = mechanism.sensitivity.mu_squared(mechanism.noise, record)
            assert value is not None
            assert squared(neighbour_loss(mechanism, record)) == value.rational
            found.append(value.rational)
        else:
            assert squared(neighbour_loss(mechanism, record)) == dense.at(moved)
            found.append(dense.at(moved))
    assert squared(worst_case(mechanism).loss) == max(found)
    assert max(found) <= mechanism.claim.mu**2
    assert float(max(found) / mechanism.claim.mu**2) == pytest.approx(1, abs=1e-14)  # and not far below: it is tight


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7, 9, 10, 33, 100, 1000])
def test_the_claim_is_certified_by_rational_arithmetic_and_a_stronger_one_refuted(d: int) -> None:
    for k in sorted({1, max(1, d // 2), largest_optimal_k(d), d}):
        mechanism = CountEllipse(dim=d, k=k, mu="0.3")
        verdict = certify(mechanism).require()
        assert verdict.certificate is not None
        assert verdict.certificate.method == "exact rational arithmetic"
        assert certify(mechanism, GaussianDP("0.2999999")).status is Status.REFUTED
        stated = least_ellipse_variance(d, k).nearest() / 0.09
        assert float(mechanism.per_query_variance) == pytest.approx(stated, rel=1e-14)
        assert mechanism.per_query_variance == mechanism.independent_variance + mechanism.shared_variance
        if pair_root(d) is None or k <= largest_optimal_k(d):
            with_count = CountEllipse(dim=d, k=k, mu="0.3", count="released")
            assert certify(with_count).require().certificate is not None
            assert with_count.per_query_variance == mechanism.per_query_variance


def test_at_a_perfect_square_the_released_count_has_the_precision_of_algorithm_1() -> None:
    for s in range(1, 12):
        mechanism = CountEllipse(dim=s * s, k=s * s, mu=1, count="released")
        assert float(mechanism.count_variance) == pytest.approx(s + 1, rel=1e-13)


@pytest.mark.parametrize(("d", "variance"), [(6, 7.883), (7, 4.582), (11, 5.347), (1000, 33.248)])
def test_known_variances_of_the_free_count(d: int, variance: float) -> None:
    assert float(CountEllipse(dim=d, k=d, mu=1, count="released").count_variance) == pytest.approx(variance, abs=5e-4)


@pytest.mark.parametrize(
    ("d", "k", "count"), [(4, 2, "released"), (5, 5, "withheld"), (6, 6, "released"), (3, 1, "withheld")]
)
def test_releases_are_unbiased_with_the_stated_variances(d: int, k: int, count: str, seed: int) -> None:
    mechanism = CountEllipse(dim=d, k=k, mu="0.8", count=count)  # type: ignore[arg-type]
    rng = np.random.default_rng([seed, d, k])
    records = np.zeros((9, d))
    for row in records:
        row[rng.permutation(d)[:k]] = rng.uniform(0, 1, k)
    released = mechanism.release_many(records, N, rng)
    truth = records.sum(axis=0)
    variances = np.full(d, float(mechanism.per_query_variance))
    if count == "released":
        truth, variances = np.append(truth, 9.0), np.append(variances, float(mechanism.count_variance))
    share = ERROR / (4 * len(truth))
    z = np.abs(released.mean(axis=0) - truth) / np.sqrt(variances / N)
    assert np.all(z < stats.norm.isf(share))
    ratio = ((released - truth) ** 2).sum(axis=0) / variances
    assert np.all(ratio > stats.chi2.ppf(share, N))
    assert np.all(ratio < stats.chi2.isf(share, N))
    # the variance of a sum of queries tells the shared noise from the independent one
    total = ((released[:, :d] - truth[:d]).sum(axis=1) ** 2).sum()
    line = d * float(mechanism.independent_variance) + d * d * float(mechanism.shared_variance)
    assert stats.chi2.ppf(share, N) < total / line < stats.chi2.isf(share, N)


def test_the_likelihood_ratio_of_a_release_with_the_count_has_the_law_it_should(seed: int) -> None:
    """N(mu^2/2, mu^2) on the dataset and N(-mu^2/2, mu^2) on the neighbour."""
    mechanism = CountEllipse(dim=6, k=6, mu=2, count="released")
    pair = worst_case(mechanism).pair
    weights, offset = mechanism.likelihood_direction(pair)
    mu = worst_case(mechanism).loss.advantage()  # 2 Phi(mu/2) - 1
    mu = 2 * stats.norm.ppf((mu + 1) / 2)
    rng = np.random.default_rng(seed)
    for dataset, mean in ((pair.dataset, mu**2 / 2), (pair.neighbour, -(mu**2) / 2)):
        scores = mechanism.release_many(dataset, N, rng) @ weights - offset
        assert abs(scores.mean() - mean) < stats.norm.isf(ERROR / 8) * mu / math.sqrt(N)
        spread = ((scores - mean) ** 2).sum() / mu**2
        assert stats.chi2.ppf(ERROR / 8, N) < spread < stats.chi2.isf(ERROR / 8, N)


def test_sampled_evidence_agrees(seed: int) -> None:
    mechanism = CountEllipse(dim=7, k=4, mu=2)
    pair = worst_case(mechanism).pair
    kept = distinguish(mechanism, pair, mechanism.claim, error_probability=1e-9, samples=20_000, seed=seed)
    broken = distinguish(mechanism, pair, GaussianDP(1), error_probability=1e-9, samples=20_000, seed=seed)
    assert not kept.refuted
    assert broken.refuted


def test_the_bijection_of_algorithm_1_is_no_question_about_its_count() -> None:
    assert not embedding_applies(CountEllipse(dim=6, k=6, mu=1, count="released"))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"dim": 0, "k": 1, "mu": 1}, "dim"),
        ({"dim": 3, "k": 0, "mu": 1}, "k"),
        ({"dim": 3, "k": 4, "mu": 1}, "k"),
        ({"dim": 3, "k": 1.0, "mu": 1}, "k"),
        ({"dim": 3, "k": 2, "mu": 0}, "mu"),
        ({"dim": 3, "k": 2, "mu": float("nan")}, "mu"),
        ({"dim": 3, "k": 2, "mu": "inf"}, "mu"),
        ({"dim": 3, "k": 2, "mu": 1, "count": "maybe"}, "count"),
        ({"dim": 5, "k": 5, "mu": 1, "count": "released"}, "count"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_one_line(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{name}=[^\n]*$") as refused:
        CountEllipse(**arguments)  # type: ignore[arg-type]
    assert refused.value.name == name


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([[1.0, 1.0, 1.0, 0.0]], "at most k=2 non-zero entries"),
        ([[0.0, 0.0, 0.0, 1e-300], [0.1, 0.1, 0.1, 0.0]], "number 1, with 3 non-zero"),
        ([[1.0, 1.5, 0.0, 0.0]], "in \\[0.0, 1.0\\]"),
        ([[1.0, 0.0]], "of shape"),
        ([[float("nan"), 0.0, 0.0, 0.0]], "dataset entry=nan"),
    ],
)
def test_records_that_break_the_promise_are_refused(records: list[list[float]], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        CountEllipse(dim=4, k=2, mu=1).release(records, np.random.default_rng(0))


def test_the_variance_of_a_withheld_count_is_not_a_number() -> None:
    with pytest.raises(InvalidValue, match=r"^count='withheld' must be 'released'"):
        _ = CountEllipse(dim=4, k=2, mu=1).count_variance
