"""Samplers that misbehave: `distinguish` and `distinguish_sequentially` answer rightly or say what is wrong.

And what was finished before a mechanism raised is kept in a journal, so that the run need not begin again.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.distinguish import distinguish
from dpverdict.audit.journal import Journal, journalled_in
from dpverdict.audit.sequential import distinguish_sequentially
from dpverdict.audit.trials import AnyMechanism, Array
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.guarantee import ApproximateDP, GaussianDP, Guarantee, PureDP

PAIR = (np.ones((1, 1)), np.zeros((1, 1)))
CLAIMS = [GaussianDP(1), PureDP(1), ApproximateDP(1, "0.01")]
Audit = Callable[[AnyMechanism, Guarantee, int], bool]


def batch(mechanism: AnyMechanism, claim: Guarantee, samples: int) -> bool:
    return distinguish(mechanism, PAIR, claim, error_probability=1e-3, samples=samples, seed=1).refuted


def sequential(mechanism: AnyMechanism, claim: Guarantee, samples: int) -> bool:
    found = distinguish_sequentially(mechanism, PAIR, claim, error_probability=1e-3, most_samples=samples, seed=1)
    return found.refuted


AUDITS = [batch, sequential]


class NowAndThen:
    """Misbehaves in about one trial of a hundred."""

    def __init__(self, bad: Callable[[], object]) -> None:
        self.bad = bad

    def __call__(self, dataset: Array, rng: np.random.Generator) -> object:
        return self.bad() if rng.random() < 0.01 else dataset.sum() + rng.normal()


def out_of_noise() -> object:
    raise RuntimeError("out of noise")


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (lambda: float("nan"), "returned NaN or an infinity"),
        (lambda: float("inf"), "returned NaN or an infinity"),
        (lambda: [1.0, 2.0], "returned 2 numbers after 1"),
        (lambda: [[1.0], [1.0, 2.0]], "not an array of one shape"),
        (lambda: "low", "returned str"),
        (lambda: None, "returned NoneType"),
        (out_of_noise, "raised RuntimeError: out of noise"),
    ],
)
def test_what_happens_in_one_trial_of_a_hundred_is_named(audit: Audit, bad: Callable[[], object], problem: str) -> None:
    with pytest.raises(MechanismFailure, match=problem) as caught:
        audit(NowAndThen(bad), GaussianDP(1), 3000)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_the_same_constant_on_both_sides_refutes_nothing(audit: Audit, claim: Guarantee) -> None:
    assert not audit(lambda data, rng: 7, claim, 1000)
    assert not audit(lambda data, rng: [7, 0, -1e300], claim, 1000)


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_the_data_themselves_are_refuted(audit: Audit, claim: Guarantee) -> None:
    assert audit(lambda data, rng: data.sum(), claim, 1000)
    assert audit(lambda data, rng: [5.0, 1e-300 * data.sum()], claim, 1000)


def response(truth: float) -> AnyMechanism:
    """Two values only: every score is full of ties."""
    return lambda data, rng: data.sum() if rng.random() < truth else 1 - data.sum()


@pytest.mark.parametrize("audit", AUDITS)
def test_ties_are_no_evidence_and_hide_none(audit: Audit) -> None:
    assert not audit(response(0.73), PureDP(1), 2000)  # log(0.73/0.27) = 0.995
    assert audit(response(0.9), PureDP(1), 2000)


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("samples", [1, 0, -5, 49])
def test_too_few_samples_are_refused(audit: Audit, samples: int) -> None:
    with pytest.raises(InvalidValue, match=r"samples=.* must be a whole number >= 50"):
        audit(lambda data, rng: data.sum() + rng.normal(), GaussianDP(1), samples)


@pytest.mark.parametrize("audit", AUDITS)
def test_an_empty_batch_and_another_shape_per_dataset_are_named(audit: Audit) -> None:
    def empty(data: Array, rng: np.random.Generator, trials: int) -> object:
        return np.zeros((0, 1))

    def leaky(data: Array, rng: np.random.Generator, trials: int) -> object:
        return np.zeros((trials, 1 + int(data.sum())))

    with pytest.raises(MechanismFailure, match=r"returned shape \(0, 1\) for 1 trials"):
        audit(empty, GaussianDP(1), 100)
    with pytest.raises(MechanismFailure, match="2 numbers on the dataset and 1 on the neighbour"):
        audit(leaky, GaussianDP(1), 100)


# A minute each: what is finished is kept ------------------------------------------------------------------------------


class Slow:
    """Counts its calls, and raises at one of them."""

    name = "slow"

    def __init__(self, fails_at: int | None) -> None:
        self.calls, self.fails_at = 0, fails_at

    def release_many(self, dataset: Array, trials: int, rng: np.random.Generator) -> object:
        self.calls += 1
        if self.calls == self.fails_at:
            raise RuntimeError("the machine went to sleep")
        return dataset.sum() + 0.5 * rng.normal(size=trials)


@pytest.mark.parametrize("audit", AUDITS)
def test_chunks_finished_before_a_failure_are_not_run_again(audit: Audit, tmp_path: Path) -> None:
    claim, samples = GaussianDP("1.95"), 20_000
    whole = Slow(None)
    expected = audit(whole, claim, samples)
    failing = Slow(whole.calls - 1)
    journal = Journal(tmp_path / "journal")
    with journalled_in(journal), pytest.raises(MechanismFailure, match="went to sleep"):
        audit(failing, claim, samples)
    again = Slow(None)
    with journalled_in(journal):
        assert audit(again, claim, samples) == expected
    probes = 2
    assert whole.calls > 6
    assert again.calls <= probes + 2  # of the whole run's calls, all but the last two were kept


def test_without_a_journal_all_of_it_is_run_again() -> None:
    first, second = Slow(None), Slow(None)
    batch(first, GaussianDP("1.95"), 20_000)
    batch(second, GaussianDP("1.95"), 20_000)
    assert first.calls == second.calls > 6
