"""The time of a call as a finding, which refutes nothing."""

import time
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation import timing
from dpverdict.audit.implementation.timing import timing_check
from dpverdict.audit.runs.audits import Sampling, audit_callable
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.neighbours import as_pair

ADDED = [1.0, 1.0], [1.0]


def sleeps_on_two(data: Any, rng: np.random.Generator) -> float:
    time.sleep(0.004 * (len(data) == 2))
    return float(rng.laplace())


def test_a_sleep_on_one_side_is_a_finding_and_no_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "CALLS", 150)
    report = audit_callable(
        observed(sleeps_on_two, time=True),
        "eps=1",
        neighbours=as_pair(ADDED),
        sampling=Sampling(samples=100, error_probability=1e-6, seed=1),
        name="sleeps",
    )
    assert report.status is Status.INCONCLUSIVE
    assert report.warning is not None
    assert "the time of a call tells the datasets apart" in report.warning


def test_one_law_of_times_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "CALLS", 100)
    found = timing_check(lambda data, rng: rng.laplace(), [1.0], [2.0], PureDP(1), seed=1)
    assert found.holds is True


def test_a_mechanism_that_ends_the_program_is_not_timed() -> None:
    def ends(data: Any, rng: np.random.Generator) -> float:
        raise SystemExit(0)

    assert timing_check(ends, [1.0], [2.0], PureDP(1), seed=1).holds is None
