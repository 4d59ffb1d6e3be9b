"""The check of the bijection: it holds for the correct mechanisms and fails for each variant that breaks it."""

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.implementation import embedding as embedding_check
from dpverdict.audit.implementation.embedding import EmbeddingCheck, check_embedding, embedding_applies
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    CorrelatedGaussian,
    EllipticalGaussian,
    GroupedGaussian,
    SharedNoise,
    StandardGaussian,
    broken,
)
from dpverdict.mechanisms.broken import queries as others
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

Array = NDArray[np.float64]

ERROR = 1e-9
SAMPLES = 2000

CORRECT: list[GaussianMechanism] = [
    *(
        CorrelatedGaussian(dim=d, mu=mu, C=c)
        for d, mu, c in [(1, 1, None), (2, "0.3", None), (5, 2, 7), (50, 1, "0.2")]
    ),
    *(
        GroupedGaussian(groups=m, dim=d, mu="0.7", adjacency=a)
        for m, d in [(1, 3), (2, 1), (2, 5), (3, 4)]
        for a in (ADD_OR_REMOVE_ONE, REPLACE_ONE)
    ),
]
BREAKING = [
    *[(name, d, "1") for name in ("M1", "M1b", "M2", "M3", "M4", "M5", "M6", "M6b", "M6c") for d in (1, 2, 4, 10)],
    *[(name, d, "1") for name in ("M1d", "M9", "M10", "M11", "M13") for d in (2, 5, 9)],
    *[("M8", d, "1") for d in (1, 2, 3)],
    *[("M16", d, "1") for d in (2, 3, 5, 8, 10)],
    ("M8b", 3, "0.5"),
    ("M8", 5, "2"),
]
KEEPING = [("M7", 3, "1"), ("M7ab", 2, "0.5"), ("M8b", 4, "1"), ("M17", 5, "1"), ("M16", 4, "1"), ("M16", 9, "2")]
WITHOUT_COUNT = ("M1c", "M12", "M14", "M15", "S1", "E1")


def check(mechanism: GaussianMechanism, seed: int, **options: Any) -> EmbeddingCheck:
    settings: dict[str, Any] = {"samples": SAMPLES, "error_probability": ERROR, "seed": seed} | options
    assert embedding_applies(mechanism)
    return check_embedding(mechanism, **settings)


def exact_failures(result: EmbeddingCheck) -> list[str]:
    return [finding.name for finding in result.findings if not finding.holds]


@pytest.mark.parametrize("mechanism", CORRECT, ids=lambda m: f"{m.name}, {m!r}")
def test_the_bijection_holds_for_the_correct_mechanisms(mechanism: GaussianMechanism, seed: int) -> None:
    result = check(mechanism, seed)
    assert result.holds, result.failures
    methods = [finding.method for finding in result.findings]
    assert methods == ["symbolic"] * 3 + ["exact rational arithmetic"] * 3
    assert (result.sampled.samples, result.sampled.error_probability, result.sampled.seed) == (SAMPLES, ERROR, seed)


@pytest.mark.parametrize(("name", "dim", "mu"), BREAKING)
def test_exact_arithmetic_alone_finds_each_variant_that_breaks_it(name: str, dim: int, mu: str, seed: int) -> None:
    result = check(broken.by_name(name).make(dim, mu), seed, samples=100)
    failures = exact_failures(result)
    assert "sigma meets the claim" in failures
    isotropic = name not in ("M1", "M1b", "M1d", "M6", "M6b", "M6c", "M9")
    assert ("covariances agree for this mechanism" not in failures) == isotropic
    assert not result.holds


@pytest.mark.parametrize(("name", "dim", "mu"), KEEPING)
def test_variants_whose_noise_is_right_keep_it(name: str, dim: int, mu: str, seed: int) -> None:
    assert check(broken.by_name(name).make(dim, mu), seed).holds


def test_the_printed_noise_for_replacement_is_enough_but_is_another_law(seed: int) -> None:
    printed = others.replacement_shared_variance(Fraction(4)).make(3, 1)
    result = check(printed, seed)
    assert exact_failures(result) == []
    assert result.sampled.rejected
    assert not result.holds


def test_the_question_is_asked_of_released_counts_under_gdp_alone() -> None:
    for name in WITHOUT_COUNT:
        assert not embedding_applies(broken.by_name(name).make(5, 1))
    assert not embedding_applies(StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE))
    assert not embedding_applies(EllipticalGaussian(bounds=[1], mu=1))
    assert not embedding_applies(CorrelatedGaussian(dim=2, mu=1, count="withheld"))
    other = CorrelatedGaussian(dim=2, mu=1)
    other.claim = ApproximateDP(1, "1e-6")  # type: ignore[assignment]
    assert not embedding_applies(other)


def test_a_check_is_not_a_truth_value(seed: int) -> None:
    with pytest.raises(TypeError, match="holds"):
        bool(check(CORRECT[0], seed, samples=100))


# planted faults -------------------------------------------------------------------------------------------------------


def test_a_sampler_that_does_not_do_what_it_states_is_found_by_the_two_samplers(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    mechanism = CorrelatedGaussian(dim=3, mu=1)
    honest = SharedNoise.add

    def fresh(self: SharedNoise, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        other = dataclasses.replace(self, count_loading=0, count_scale=2 * self.shared_scale)
        return honest(other, statistic, trials, rng)

    monkeypatch.setattr(SharedNoise, "add", fresh)
    result = check(mechanism, seed)
    assert exact_failures(result) == []
    assert result.sampled.rejected
    assert "first query - count" in result.sampled.detail or "queries - d" in result.sampled.detail


def test_a_sensitivity_that_is_too_large_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    right = embedding_check.squared_sensitivity
    monkeypatch.setattr(embedding_check, "squared_sensitivity", lambda *a: right(*a) * Fraction(1_000_001, 1_000_000))
    assert exact_failures(check(CORRECT[1], seed, samples=100)) == ["sigma meets the claim"]


def test_a_wrong_inverse_is_found_symbolically_and_by_the_round_trip(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(embedding_check, "from_embedding", lambda g, m, c: ((g - m / c) / 2, m / c))
    assert exact_failures(check(CORRECT[1], seed, samples=100)) == ["h has an inverse", "round trip"]


def test_a_wrong_factor_in_the_variances_is_found_symbolically(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    right = embedding_check.family_variances
    monkeypatch.setattr(embedding_check, "family_variances", lambda *a: (right(*a)[0], 4 * right(*a)[1]))
    assert exact_failures(check(CORRECT[1], seed, samples=100)) == ["covariances agree for all d"]


def test_a_wrong_pulled_back_covariance_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    right = embedding_check.pulled_back_covariance
    monkeypatch.setattr(embedding_check, "pulled_back_covariance", lambda s, c: right(s, c) | {"count": s})
    assert exact_failures(check(CORRECT[1], seed, samples=100)) == ["covariances agree for all d"]


def test_a_wrong_image_of_a_record_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    right = embedding_check.to_embedding
    monkeypatch.setattr(embedding_check, "to_embedding", lambda f, n, c: (right(f, n, c)[0] + n, c * n))
    assert "means agree" in exact_failures(check(CORRECT[1], seed, samples=100))
