"""Assertions of test suites: what is kept, what is a violation and what it carries, and what cannot be asked."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.trials.run import batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.neighbours import as_pair
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.testing import PrivacyViolation, assert_private, assert_private_at

PAIR = (np.ones((2, 1)), np.ones((1, 1)))


def test_a_violation_carries_its_report() -> None:
    def exact(dataset: np.ndarray, rng: np.random.Generator) -> object:
        return float(dataset.sum())

    with pytest.raises(PrivacyViolation, match="REFUTED") as caught:
        assert_private(exact, "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, samples=500)
    assert caught.value.report.status is Status.REFUTED
    mechanism = CorrelatedGaussian(dim=2, mu=1)
    with pytest.raises(PrivacyViolation):
        assert_private(mechanism, GaussianDP("0.5"), error_probability=1e-6, seed=1, samples=500)


def test_a_callable_needs_a_claim_and_neighbours() -> None:
    with pytest.raises(InvalidValue, match="claim"):
        assert_private(print, neighbours=PAIR, error_probability=1e-6, seed=1)
    with pytest.raises(InvalidValue, match="neighbours"):
        assert_private(print, "eps=1", error_probability=1e-6, seed=1)
    with pytest.raises(InvalidValue, match="neighbours"):
        as_pair((np.zeros((2, 1)), np.ones((2, 1))))


def noisy(scale: float) -> Callable[..., np.ndarray]:
    return batched(lambda dataset, rng, trials: dataset.sum(axis=0) + rng.laplace(scale=scale, size=(trials, 1)))


def test_a_callable_is_run_pair_by_pair_until_its_claim_falls() -> None:
    with pytest.raises(PrivacyViolation, match="refuted after") as caught:
        assert_private(noisy(0.3), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1)
    found = caught.value.report.sequential
    assert found is not None
    assert found.stopped_at is not None
    assert found.samples < 2000
    kept = assert_private(noisy(1), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, samples=2000)
    assert kept.status is Status.INCONCLUSIVE
    assert kept.sequential is not None
    assert kept.test is not None
    assert kept.sequential.samples + kept.test.samples == 2000
    assert kept.sequential.error_probability + kept.test.error_probability <= 1e-6
    few = assert_private(noisy(1), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, samples=100)
    assert few.test is None
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(noisy(0.3), "eps=1", neighbours=PAIR, error_probability=1e-6, seed=1, sequential=False)
    assert caught.value.report.test is not None
    assert caught.value.report.sequential is None


def test_what_no_pair_of_scores_shows_an_event_does() -> None:
    """One bit, 9/10 against 1/2: the curve of 1-GDP as a whole is not exceeded, one point of it is."""

    @batched
    def bit(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return (rng.random((trials, 1)) < (0.9 if len(dataset) == 2 else 0.5)).astype(float)

    with pytest.raises(PrivacyViolation) as caught:
        assert_private(bit, "mu=1", neighbours=PAIR, error_probability=1e-6, seed=1)
    assert caught.value.report.sequential is not None
    assert not caught.value.report.sequential.refuted
    assert caught.value.report.test is not None
    assert caught.value.report.test.refuted


def test_a_mistake_that_one_setting_hides_shows_at_another() -> None:
    """The scale is epsilon, where it ought to be 1/epsilon."""
    common = {"neighbours": PAIR, "error_probability": 1e-6, "seed": 1}
    assert_private(noisy(1), "eps=1", **common)
    with pytest.raises(PrivacyViolation) as caught:
        assert_private_at([1, "1/2"], lambda eps: (noisy(float(Fraction(eps))), f"eps={eps}"), **common)
    assert caught.value.__notes__ == ["at the setting '1/2'"]
    right = assert_private_at([1, 0.5], lambda eps: (noisy(1 / eps), f"eps={eps}"), samples=2000, **common)
    assert [report.claim.describe() for report in right] == ["eps=1", "eps=0.5"]
    for wrong in ([1], [1, 1.0]):
        with pytest.raises(InvalidValue, match="at least two"):
            assert_private_at(wrong, lambda eps: (noisy(1 / eps), f"eps={eps}"), **common)


def forgetful(x: Any, rng: np.random.Generator) -> Any:
    return x.sum(axis=0) + rng.laplace(scale=1, size=3)


def right_noise(x: Any, rng: np.random.Generator) -> Any:
    return x.sum(axis=0) + rng.laplace(scale=3, size=3)


def test_with_the_tap_a_slip_fails_that_few_releases_do_not_show() -> None:
    pair = (np.ones((10, 3)), np.ones((9, 3)))
    few = {"neighbours": pair, "samples": 60, "error_probability": 1e-6, "seed": 1}
    assert assert_private(forgetful, "eps=1", **few).tap is None  # 60 releases show nothing
    with pytest.raises(PrivacyViolation, match="eps 3") as failed:
        assert_private(forgetful, "eps=1", tap=True, **few)
    assert failed.value.report.status.name == "REFUTED"
    assert "release" not in str(failed.value.report.disagreement)
    report = assert_private(right_noise, "eps=1", tap=True, **few)
    assert report.tap is not None
    assert report.tap.status.name == "QUIET"
    assert report.status.name == "INCONCLUSIVE"


def test_with_the_tap_a_mechanism_of_known_structure_is_tapped_on_its_worst_pair() -> None:
    report = assert_private(CorrelatedGaussian(dim=3, mu=1), samples=200, error_probability=1e-6, seed=1, tap=True)
    assert report.tap is not None
    assert report.tap.mu == pytest.approx(1)
