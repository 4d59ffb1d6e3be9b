"""What the tap finds is tested on fresh releases, by the score that it gives; what is quiet is not tested."""

import json
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.implementation.tap.confirmation import Confirmation, tap_and_confirm
from dpverdict.audit.implementation.tap.tap_request import TapReport
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus

PAIR = (np.ones((4, 2)), np.ones((3, 2)))
ASKED: dict[str, Any] = {"seed": 1, "error_probability": 1e-6}


def noisy(scale: float) -> Any:
    return lambda x, rng: x.sum(axis=0) + rng.laplace(scale=scale, size=2)


def test_a_refutation_is_confirmed_by_releases_and_what_is_quiet_is_not_tested() -> None:
    verdict, fresh = tap_and_confirm(noisy(0.25), PAIR, "eps=1", samples=400, **ASKED)
    assert verdict.status is TapStatus.REFUTED
    assert fresh is not None
    assert fresh.refuted
    assert "400 fresh releases on each dataset by the likelihood ratio of the 2 values" in fresh.text()
    wrong = TapReport(verdict=verdict, confirmation=fresh)
    assert TapReport.from_dict(json.loads(json.dumps(wrong.to_dict()))) == wrong
    right, none = tap_and_confirm(noisy(2), PAIR, "eps=1", samples=400, **ASKED)
    assert none is None
    assert (wrong.exit_code, TapReport(verdict=right, confirmation=None).exit_code) == (1, 3)


def among_many(x: Any, rng: Any) -> Any:
    """Sixty numbers, of which the neighbour moves two, too far for their noise."""
    query = np.zeros(60)
    query[[7, 40]] = x.sum(axis=0)
    return query + rng.laplace(scale=np.where(np.arange(60) % 2, 1.1, 0.9), size=60)


@pytest.mark.slow
def test_the_score_of_the_tap_needs_fewer_releases_than_a_learned_one() -> None:
    by_score, learned = [], []
    for seed in range(8):
        asked = {**ASKED, "seed": seed, "samples": 600}
        _, fresh = tap_and_confirm(among_many, PAIR, "eps=1", **asked)
        assert fresh is not None
        by_score.append(fresh.refuted)
        learned.append(distinguish(among_many, PAIR, "eps=1", delta=0, **asked).refuted)
    assert sum(by_score) > sum(learned)


def test_a_bound_without_a_limit_goes_through_json() -> None:
    one = Confirmation(samples=9, error_probability=0.1, refuted=True, epsilon_lower=float("inf"), score="")
    assert Confirmation.from_dict(json.loads(json.dumps(one.to_dict()))) == one
