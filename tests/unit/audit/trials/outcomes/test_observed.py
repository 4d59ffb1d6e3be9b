"""What else of a call is part of its outcome, each with its control; and what no claim may fall by."""

import math
import time
import warnings
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.trials.outcomes import observed as module
from dpverdict.audit.trials.outcomes.canonical import CallTimedOut, outcome_of
from dpverdict.audit.trials.outcomes.observed import observed, parse_observed
from dpverdict.audit.trials.run import Sampler, batched
from dpverdict.errors import InvalidValue, MechanismFailure

ADDED = ([1.0, 1.0], [1.0])
LIMIT = 0.03


def audit(function: Any, samples: int = 100) -> DistinguishingTest:
    return distinguish(function, ADDED, "eps=0.5", error_probability=1e-3, samples=samples, seed=1)


def hangs_on_two(data: Any, rng: np.random.Generator) -> float:
    if len(data) == 2:
        time.sleep(60)
    return float(rng.laplace())


def catches_everything(data: Any, rng: np.random.Generator) -> float:
    for _ in range(len(data) - 1):
        try:
            time.sleep(60)
        except Exception:
            continue
    return float(rng.laplace())


def count(data: Any, rng: np.random.Generator) -> float:
    return len(data) + 2 * float(rng.laplace())


def warns_on_two(data: Any, rng: np.random.Generator) -> float:
    if len(data) == 2:
        warnings.warn("two", stacklevel=1)
    return 0.0


def warns_of_length(data: Any, rng: np.random.Generator) -> float:
    warnings.warn(f"{len(data)} records", stacklevel=1)
    return 0.0


def sign_of_zero(data: Any, rng: np.random.Generator) -> float:
    return -0.0 if len(data) == 2 else 0.0


@pytest.fixture
def under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are quickly over, on a machine that other tests keep busy: a call may come near them."""
    monkeypatch.setattr(module, "CLEAR", 1.0)


@pytest.mark.usefixtures("under_load")
@pytest.mark.parametrize("function", [hangs_on_two, catches_everything])
def test_a_time_out_on_one_side_refutes(function: Any) -> None:
    test = audit(observed(function, timeout=LIMIT))
    assert test.refuted
    assert "timed out" in test.outcomes


@pytest.mark.usefixtures("under_load")
def test_pair_by_pair_too() -> None:
    marked = observed(hangs_on_two, timeout=LIMIT)
    assert distinguish_sequentially(marked, ADDED, "eps=0.5", error_probability=1e-3, most_samples=100, seed=1).refuted


def test_a_call_that_ends_in_time_is_what_it_was() -> None:
    plain, marked = audit(count, 200), audit(observed(count, timeout=60.0, warnings=True), 200)
    assert (plain.p_value, plain.epsilon_lower) == (marked.p_value, marked.epsilon_lower)
    assert not marked.refuted


def test_a_time_out_of_every_trial_on_both_sides_is_an_error_of_the_caller() -> None:
    with pytest.raises(MechanismFailure, match=r"ended in a time-out after 0.01 s in every trial on both datasets"):
        audit(observed(lambda data, rng: time.sleep(60), timeout=0.01))


def test_no_claim_falls_by_a_limit_that_other_calls_come_near() -> None:
    slow = lambda data, rng: time.sleep(60 if len(data) == 2 else 0.015)  # noqa: E731
    with pytest.raises(MechanismFailure, match=r"near the limit of 0\.05 s"):
        audit(observed(slow, timeout=0.05))


def test_an_alarm_is_gone_when_a_call_has_ended() -> None:
    marked = observed(lambda data: 1.0, timeout=0.01)
    prepared = Sampler.prepare(marked, [1.0], where="the dataset", seed=1)
    assert prepared.one_stream is False
    prepared.collect("x", 3)
    time.sleep(0.03)
    with pytest.raises(CallTimedOut):
        observed(lambda data, rng: time.sleep(60), timeout=0.01)([1.0], np.random.default_rng(1))
    time.sleep(0.03)


def test_an_exception_passes_the_alarm() -> None:
    with pytest.raises(ZeroDivisionError):
        observed(lambda data, rng: 1 / 0, timeout=1.0)([1.0], np.random.default_rng(1))


def test_warnings_and_bits_are_outcomes_where_they_are_asked_for() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not audit(warns_on_two).refuted
    found = audit(observed(warns_on_two, warnings=True))
    assert found.refuted
    assert "warned UserWarning" in found.outcomes
    assert audit(observed(warns_of_length, warnings=True)).refuted
    assert not audit(observed(warns_of_length, warnings=True, messages=False)).refuted
    assert not audit(sign_of_zero).refuted
    assert audit(observed(sign_of_zero, bits=True)).refuted
    assert not audit(observed(count, bits=True), 200).refuted


@pytest.mark.filterwarnings("error")
def test_a_filter_of_the_caller_makes_no_outcome_of_a_warning() -> None:
    assert not audit(warns_on_two).refuted


def test_the_payload_of_a_nan_counts_with_its_bits_alone() -> None:
    other = np.frombuffer(np.uint64(0x7FF8000000000001).tobytes(), np.float64)[0]

    def one(data: Any, rng: np.random.Generator) -> object:
        return other if len(data) == 2 else math.nan

    forms = [
        outcome_of(observed(one, bits=bits)(side, np.random.default_rng())) for bits in (False, True) for side in ADDED
    ]
    assert forms[0].same_as(forms[1])
    assert not forms[2].same_as(forms[3])


def test_texts_are_read_and_written() -> None:
    for text in ("timeout=0.5, warnings", "bits, time", "timeout=2.0", "bits, no-messages, no-masked"):
        assert observed(count, **parse_observed(text)).describe() == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "warning",
        "timeout",
        "timeout=x",
        "timeout=nan",
        "bits=1",
        "bits, bits",
        "no-bits",
        "messages",
        "no-messages=1",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^observe="):
        parse_observed(text)


@pytest.mark.parametrize("limit", [0.0, 1e-9, -1.0, math.inf, 1e9])
def test_a_limit_has_its_range(limit: float) -> None:
    with pytest.raises(InvalidValue, match=r"^timeout="):
        observed(count, timeout=limit)


def test_many_trials_at_once_are_not_observed() -> None:
    with pytest.raises(InvalidValue, match="nobody knows which one"):
        observed(batched(lambda data, rng, n: np.zeros(n)), timeout=1.0)


class Model:
    """Nothing of it is public."""

    def __init__(self, weight: float) -> None:
        self._weight = weight

    def predict(self) -> float:
        return self._weight


def trained(noise: float) -> Any:
    return lambda data, rng: Model(len(data) + noise * rng.laplace())


def test_a_value_without_a_form_is_read_by_the_canonical_form_that_is_given() -> None:
    for noise, refuted in ((0.01, True), (1.0, False)):
        read = observed(trained(noise), canonical=Model.predict)
        test = distinguish(read, ([1, 1], [1]), "eps=1", error_probability=1e-6, samples=300, seed=1)
        assert test.refuted is refuted
    assert read.describe().startswith(f"canonical={__name__}:Model.predict (source ")
    with pytest.raises(MechanismFailure, match="canonical="):
        distinguish(trained(1.0), ([1, 1], [1]), "eps=1", error_probability=1e-6, samples=300, seed=1)
    with pytest.raises(InvalidValue, match="which is code"):
        parse_observed(read.describe())
