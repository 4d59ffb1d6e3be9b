"""The score that the tap gives is the log likelihood ratio of the values that moved."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from dpverdict.audit.implementation.tap.likelihood_score import RecordedLikelihoodRatio
from dpverdict.audit.implementation.tap.tapped_runs import tap_runs

PAIR = (np.array([[1.0, 3.0]]), np.array([[0.0, 3.0]]))


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (lambda x, rng: x.sum(axis=0) + rng.laplace(scale=2, size=2), scipy.stats.laplace(scale=2)),
        (lambda x, rng: x.sum(axis=0) - rng.normal(scale=2, size=2), scipy.stats.norm(scale=2)),
        (lambda x, rng: x.sum(axis=0) + rng.gumbel(scale=2, size=2), scipy.stats.gumbel_r(scale=2)),
        (lambda x, rng: x.sum(axis=0) + rng.exponential(2, size=2), scipy.stats.expon(scale=2)),
    ],
)
def test_it_is_the_log_likelihood_ratio_of_what_moved(function: Any, law: Any) -> None:
    score = tap_runs(function, PAIR, "eps=0.1", seed=1).score
    assert isinstance(score, RecordedLikelihoodRatio)
    assert (score.places.tolist(), score.here.tolist(), score.there.tolist()) == ([0], [1.0], [0.0])
    y = np.array([-1.5, 0.25, 1.25, 4.0])
    found = score(np.column_stack([y, np.full(4, 9.0)]))
    here, there = law.logpdf(y - 1), law.logpdf(y)
    both = np.isfinite(here) & np.isfinite(there)
    assert found[both] == pytest.approx(here[both] - there[both])
    assert (found[np.isfinite(there) & ~both] < -1e100).all()


def test_last_bits_of_a_release_are_not_scored(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below both of its centres the ratio of Laplace noise is one number: its event is none of the law."""
    score = tap_runs(lambda x, rng: x.sum() + rng.laplace(scale=0.7), PAIR, "eps=0.1", seed=1).score
    assert score is not None
    rng = np.random.default_rng(seed)
    released = np.array([4.0, 3.0])[:, None] + rng.laplace(scale=0.7, size=(2, 10_000))
    below = released[released < 2.9]

    def values() -> int:
        return len(np.unique(score(below[:, None])))

    assert values() == 1
    monkeypatch.setattr(RecordedLikelihoodRatio, "_step", lambda self: 1e-300)
    assert values() > 1, "the planted one: the ratio as float64 has it"


def test_what_the_outcome_hides_is_scored_by_the_way_it_moved_and_other_outcomes_are_not() -> None:
    way = tap_runs(lambda x, rng: np.round(x.sum(axis=0) * 4 + rng.laplace(size=2)), PAIR, "eps=1", seed=1).score
    assert way is not None
    assert way(np.array([[1.0, 0.0], [0.0, 0.0]])).tolist() == [1.0, 0.0]
    assert tap_runs(lambda x, rng: {"a": x.sum() + rng.laplace()}, PAIR, "eps=0.1", seed=1).score is None
    assert math.isfinite(float(way(np.zeros((1, 2)))[0]))
