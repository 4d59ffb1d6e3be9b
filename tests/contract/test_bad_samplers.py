"""Samplers that misbehave: `distinguish` and `distinguish_sequentially` answer rightly or say what is wrong.

And what was finished before a mechanism raised is kept in a journal, so that the run need not begin again.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.low_bits import find_float_leak
from dpverdict.audit.distinguishing.search.neighbour_search import search_neighbours
from dpverdict.audit.distinguishing.sequential import SequentialTest, distinguish_sequentially
from dpverdict.audit.trials.journal import Journal, journalled_in
from dpverdict.audit.trials.run import AnyMechanism, batched
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array

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


@pytest.mark.few(7)
@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize(
    "bad",
    [
        lambda: float("nan"),
        lambda: float("inf"),
        lambda: [1.0, 2.0],
        lambda: [[1.0], [1.0, 2.0]],
        lambda: "low",
        lambda: None,
        out_of_noise,
    ],
)
def test_what_happens_in_one_trial_of_a_hundred_on_both_sides_is_no_evidence(
    audit: Audit, bad: Callable[[], object]
) -> None:
    assert not audit(NowAndThen(bad), GaussianDP(1), 3000)


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("bad", [lambda: float("nan"), lambda: [1.0, 2.0], lambda: None, out_of_noise])
def test_what_happens_on_one_side_only_is(audit: Audit, bad: Callable[[], object]) -> None:
    def leaky(data: Array, rng: np.random.Generator) -> object:
        return bad() if data.sum() and rng.random() < 0.7 else 0.0

    assert audit(leaky, GaussianDP(1), 1000)


@pytest.mark.parametrize("audit", AUDITS)
def test_what_fails_always_and_everywhere_alike_is_an_error(audit: Audit) -> None:
    with pytest.raises(MechanismFailure, match=r"raised RuntimeError: out of noise in every trial") as caught:
        audit(lambda data, rng: out_of_noise(), GaussianDP(1), 1000)
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
    @batched
    def empty(data: Array, rng: np.random.Generator, trials: int) -> object:
        return np.zeros((0, 1))

    @batched
    def leaky(data: Array, rng: np.random.Generator, trials: int) -> object:
        return np.zeros((trials, 1 + int(data.sum())))

    with pytest.raises(MechanismFailure, match=r"returned shape \(0, 1\) for 1 trials"):
        audit(empty, GaussianDP(1), 100)
    assert audit(leaky, GaussianDP(1), 1000)


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
    probes = 2 + 6 * (audit is sequential)  # a test that can be resumed draws three probes on each side
    assert whole.calls > 12
    assert again.calls <= probes + 2  # of the whole run's calls, all but the last two were kept


def test_without_a_journal_all_of_it_is_run_again() -> None:
    first, second = Slow(None), Slow(None)
    batch(first, GaussianDP("1.95"), 20_000)
    batch(second, GaussianDP("1.95"), 20_000)
    assert first.calls == second.calls > 6


# Other ways of looking ------------------------------------------------------------------------------------------------


def by_bits(mechanism: AnyMechanism, claim: Guarantee, samples: int) -> bool:
    return find_float_leak(mechanism, PAIR, claim, error_probability=1e-3, samples=samples, seed=1, delta=0.0).refuted


def by_search(mechanism: AnyMechanism, claim: Guarantee, samples: int) -> bool:
    search = search_neighbours(mechanism, claim, dim=1, adjacency=ADD_OR_REMOVE_ONE, samples=samples, seed=1)
    return search.best.statistic > 0.1


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (lambda: float("nan"), "returned NaN or an infinity"),
        (lambda: [1.0, 2.0], "returned 2 numbers after 1"),
        (lambda: "low", "returned text"),
        (out_of_noise, "raised RuntimeError: out of noise"),
    ],
)
def test_low_bits_name_it_and_searches_go_on(bad: Callable[[], object], problem: str) -> None:
    with pytest.raises(MechanismFailure, match=problem):
        by_bits(NowAndThen(bad), GaussianDP(1), 3000)
    assert not by_search(NowAndThen(bad), GaussianDP(1), 3000)


@pytest.mark.parametrize("audit", [*AUDITS, by_bits, by_search])
@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_a_constant_is_no_evidence_and_the_data_are(audit: Audit, claim: Guarantee) -> None:
    assert not audit(lambda data, rng: 7, claim, 1000)
    assert audit(lambda data, rng: data.sum(), claim, 1000)


@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_a_record_that_tells_all_comes_first_in_a_search(claim: Guarantee) -> None:
    def releases(data: Array, rng: np.random.Generator) -> object:
        alone = data[:, 1].sum() if data.sum() == 1 else 0.0  # the record that is its middle entry alone
        return [100 * alone, 0.3 * data.sum() + rng.laplace()]

    search = search_neighbours(releases, claim, dim=3, adjacency=ADD_OR_REMOVE_ONE, samples=6000, seed=1)
    assert search.best.pair.dataset.tolist() == [[0.0, 1.0, 0.0]]


# Categories, and numbers at the ends of a float -----------------------------------------------------------------------


@pytest.mark.parametrize("audit", AUDITS)
def test_a_category_is_told_apart_as_its_number_is(audit: Audit) -> None:
    names = ["low", "middle", "high"]

    def category(data: Array, rng: np.random.Generator) -> str:
        return names[int(data.sum() > 0) + int(rng.random() < 0.1)]

    assert audit(category, PureDP(1), 1000)
    assert audit(lambda data, rng: names.index(category(data, rng)), PureDP(1), 1000)
    assert audit(lambda data, rng: [category(data, rng) == name for name in names], PureDP(1), 1000)


@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e150, 1.7e308])
def test_numbers_of_any_size_are_told_apart_or_not(audit: Audit, size: float) -> None:
    assert not audit(lambda data, rng: size * rng.random(), GaussianDP(1), 1000)
    assert audit(lambda data, rng: size * (data.sum() + 0.01 * rng.random()) / 2, GaussianDP(1), 1000)


@pytest.mark.parametrize("kind", [bool, np.int8, np.float16, np.uint64])
def test_numbers_of_any_kind_are_numbers(kind: type) -> None:
    assert batch(lambda data, rng: kind(data.sum()), GaussianDP(1), 500)


# Interrupted, and out of time -----------------------------------------------------------------------------------------


def test_an_interruption_by_hand_ends_the_audit_and_keeps_what_is_finished(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, former))
    claim, samples = GaussianDP("1.95"), 20_000
    whole = Slow(None)
    expected = batch(whole, claim, samples)

    class Interrupted(Slow):
        def release_many(self, dataset: Array, trials: int, rng: np.random.Generator) -> object:
            try:
                return super().release_many(dataset, trials, rng)
            except RuntimeError:
                signal.raise_signal(signal.SIGINT)  # as Ctrl-C does; one that user code raises by itself is its failure
                raise

    journal = Journal(tmp_path / "journal")
    with journalled_in(journal), pytest.raises(KeyboardInterrupt):
        batch(Interrupted(whole.calls - 1), claim, samples)
    again = Slow(None)
    with journalled_in(journal):
        assert batch(again, claim, samples) == expected
    assert again.calls <= 2 + 2


class Clock:
    """Every trial takes a minute of its time."""

    def __init__(self) -> None:
        self.minutes = 0

    def __call__(self, dataset: Array, rng: np.random.Generator) -> object:
        self.minutes += 1
        return dataset.sum() + 0.2 * rng.normal()


def until(clock: Clock, deadline: int, state: dict[str, object] | None) -> SequentialTest:
    """Fifty pairs more at a time, as long as there is time; what was found is there at any moment."""
    pairs = 50
    while True:
        test = distinguish_sequentially(
            clock, PAIR, GaussianDP(1), error_probability=1e-6, most_samples=pairs, seed=1, state=state
        )
        if test.refuted or clock.minutes >= deadline:
            return test
        state, pairs = test.state, test.samples + 50


def test_a_test_in_sequence_stops_at_a_deadline_and_goes_on_from_there() -> None:
    first = Clock()
    early = until(first, 150, None)
    assert not early.refuted
    assert 100 <= early.samples <= 200
    # Pairs drawn again for training included, and the probes by which a resumed test knows its mechanism again.
    assert first.minutes <= 150 + 2 * 50 + 2 * early.samples + 2 * 20
    late = until(Clock(), 100_000, early.state)
    assert late.refuted
    assert late.stopped_at is not None
    assert late.stopped_at > early.samples
