"""Trials are reproducible, extend by whole chunks, and a bad mechanism is named with its problem."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.journal import Journal, journalled_in
from dpverdict.audit.trials.outcomes.batches import OutcomeRows, same_batches
from dpverdict.audit.trials.run import (
    LARGEST_CHUNK,
    AnyMechanism,
    Sampler,
    batched,
    chunk_length,
    generator,
)
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.numerics.arrays import Array

DATASET = np.array([[1.0], [2.0]])


def noisy(dataset: Array, rng: np.random.Generator) -> object:
    """One release of two numbers."""
    return dataset.sum() + rng.normal(size=2)


@batched
def noisy_many(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Many releases of two numbers."""
    return dataset.sum() + rng.normal(size=(trials, 2))


class Noisy:
    name = "noisy object"

    def release_many(self, dataset: Array, trials: int, rng: np.random.Generator) -> object:
        return noisy_many(dataset, rng, trials)


def sampler(mechanism: AnyMechanism, dataset: Array = DATASET, seed: int = 7) -> Sampler:
    return Sampler.prepare(mechanism, dataset, where="the dataset", seed=seed)


@pytest.mark.parametrize("mechanism", [noisy, noisy_many, batched(noisy_many), Noisy()])
def test_trials_depend_on_seed_stream_and_number_only(mechanism: AnyMechanism) -> None:
    first = sampler(mechanism).collect("confirm", 5000)
    again = sampler(mechanism)
    again.collect("other", 10)  # what was run before does not matter
    assert first.shape == (5000, 2)
    assert np.array_equal(first, again.collect("confirm", 5000))
    assert not np.array_equal(first, again.collect("other", 5000))
    assert not np.array_equal(first, sampler(mechanism, seed=8).collect("confirm", 5000))


def test_the_three_ways_to_batch_give_the_same_trials() -> None:
    ways: list[AnyMechanism] = [noisy_many, batched(noisy_many), Noisy()]
    results = [sampler(way).collect("a", 5000) for way in ways]
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("mechanism", [noisy, noisy_many])
def test_more_trials_leave_whole_chunks_as_they_were(mechanism: AnyMechanism) -> None:
    run = sampler(mechanism)
    short, long = run.collect("a", LARGEST_CHUNK + 10), run.collect("a", 2 * LARGEST_CHUNK + 10)
    assert np.array_equal(short[:LARGEST_CHUNK], long[:LARGEST_CHUNK])


def test_chunks_do_not_depend_on_the_order_in_which_they_run() -> None:
    run = sampler(noisy_many)
    whole = run.collect("a", 3 * LARGEST_CHUNK)
    alone = np.asarray(noisy_many(DATASET, generator(7, "a", 2), LARGEST_CHUNK))
    assert np.array_equal(whole[2 * LARGEST_CHUNK :], alone)


def test_scores_are_those_of_the_collected_outputs_and_progress_reaches_the_end() -> None:
    run = sampler(noisy_many)
    seen: list[tuple[int, int]] = []
    scores = run.scores("a", 9000, lambda y: y[:, 0], progress=lambda done, total: seen.append((done, total)))
    assert np.array_equal(scores, run.collect("a", 9000)[:, 0])
    assert seen == [(4096, 9000), (8192, 9000), (9000, 9000)]


def test_streams_are_uncorrelated() -> None:
    # 1e5 pairs of independent normal numbers: |correlation| > 6 / sqrt(n) has a probability of 2e-9.
    run = sampler(batched(lambda dataset, rng, trials: rng.normal(size=trials)))
    streams = [run.collect(name, 100_000)[:, 0] for name in ("explore dataset", "confirm dataset", "confirm neighbour")]
    correlations = np.corrcoef(streams) - np.eye(3)
    assert np.abs(correlations).max() < 6 / 100_000**0.5


def test_memory_is_one_chunk() -> None:
    size = 10**5
    run = sampler(batched(lambda dataset, rng, trials: np.zeros((trials, size))))
    lengths = [len(chunk) for chunk in run.chunks("a", 100)]
    assert lengths == [chunk_length(size), chunk_length(size), 100 - 2 * chunk_length(size)]
    assert max(lengths) * size <= 2**22


@pytest.mark.parametrize(
    ("mechanism", "size"),
    [
        (lambda d, rng: 3, 1),
        (lambda d, rng: np.float32(0.5), 1),
        (lambda d, rng: np.array(True), 1),
        (lambda d, rng: [1, 2, 3], 3),
        (batched(lambda d, rng, trials: np.ones(trials, dtype=np.int8)), 1),
        (batched(lambda d, rng, trials: np.ones((trials, 4), dtype=bool)), 4),
        (lambda d, rng, scale=2.0: rng.normal(scale=scale), 1),
    ],
)
def test_numbers_of_every_kind_become_float64(mechanism: AnyMechanism, size: int) -> None:
    outputs = sampler(mechanism).collect("a", 3)
    assert outputs.shape == (3, size)
    assert outputs.dtype == np.float64


class Growing:
    """Returns one number more each time."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, dataset: Array, rng: np.random.Generator) -> object:
        self.calls += 1
        return np.zeros(self.calls)


class BrokenLater:
    """Fine in the trial that is thrown away, and not after it."""

    def __init__(self, value: object) -> None:
        self.values = iter([1.0])
        self.value = value

    def __call__(self, dataset: Array, rng: np.random.Generator) -> object:
        return next(self.values, self.value)


def fail(dataset: Array, rng: np.random.Generator) -> Array:
    raise RuntimeError("no noise left")


def change_the_data(dataset: Array, rng: np.random.Generator) -> float:
    dataset[0] = 0.0
    return 1.0


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        (fail, "raised RuntimeError: no noise left on the dataset"),
        (change_the_data, "raised ValueError"),
        (lambda: 1.0, "raised TypeError"),
        (lambda d, rng: "secret", "returned text"),
        (lambda d, rng: None, "returned None"),
        (lambda d, rng: 1j, "returned complex"),
        (lambda d, rng: ["a", "b"], r"returned \[text x 2\]"),
        (lambda d, rng: [[1.0], [1.0, 2.0]], r"returned \[numbers\(1\), numbers\(2\)\]"),
        (lambda d, rng: np.ma.masked_array([1.0], [True]), "returned masked"),
        (lambda d, rng: float("nan"), "returned NaN or an infinity"),
        (lambda d, rng: [0.0, -np.inf], "returned NaN or an infinity"),
        (lambda d, rng: np.zeros((1, 2)), r"returned numbers\(1, 2\)"),
        (lambda d, rng: [], r"returned \[\]"),
        (Growing(), "returned 2 numbers after 1"),
        (BrokenLater(float("nan")), "returned NaN or an infinity"),
        (BrokenLater("text"), "returned text"),
        (batched(lambda d, rng, trials: np.zeros((trials + 1, 2))), r"returned shape \(2, 2\) for 1 trials"),
        (batched(lambda d, rng, trials: np.zeros((trials, trials))), r"returned shape \(4, 4\) for 4 trials"),
        (batched(lambda d, rng, trials: np.zeros((trials, 0))), "without numbers"),
        (batched(lambda d, rng, trials: np.full(trials, np.nan)), "returned NaN or an infinity"),
    ],
)
def test_a_bad_mechanism_is_named_with_its_problem(mechanism: AnyMechanism, problem: str) -> None:
    with pytest.raises(MechanismFailure, match=problem) as caught:
        sampler(mechanism).collect("a", 4)
    assert "\n" not in str(caught.value)
    assert "the dataset" in str(caught.value)


def test_an_exception_is_an_outcome_that_counts() -> None:
    def now_and_then(dataset: Array, rng: np.random.Generator) -> object:
        return fail(dataset, rng) if rng.random() < 0.5 else 1.0

    (batch,) = sampler(now_and_then).batches("a", 100)
    assert isinstance(batch, OutcomeRows)
    assert len(batch) == 100
    raised = [row for row in batch.rows if row.raised]
    assert 20 < len(raised) < 80
    assert {row.signature for row in raised} == {"raised builtins.RuntimeError in test_run.py, fail"}
    assert raised[0].note == "RuntimeError: no noise left"


def test_what_ends_the_program_is_no_outcome() -> None:
    def ends(dataset: Array, rng: np.random.Generator) -> object:
        raise SystemExit(0)

    with pytest.raises(MechanismFailure, match="raised SystemExit"):
        sampler(ends)


def test_a_function_of_the_dataset_alone_is_called_with_it_alone() -> None:
    assert sampler(lambda d: d.sum()).collect("a", 3).shape == (3, 1)
    assert sampler(lambda d, scale=2.0: scale).collect("a", 2).tolist() == [[2.0], [2.0]]
    assert sampler(lambda d, rng=None: rng.random()).collect("a", 2).shape == (2, 1)
    with pytest.raises(InvalidValue, match="@batched"):
        sampler(lambda d, rng, many: 1.0)


def test_a_batch_may_be_a_list_of_outcomes_of_any_kind() -> None:
    run = sampler(batched(lambda d, rng, trials: ["low" if rng.random() < 0.5 else None for _ in range(trials)]))
    (batch,) = run.batches("a", 50)
    assert isinstance(batch, OutcomeRows)
    assert {row.signature for row in batch.rows} == {"text", "None"}


def test_a_journal_keeps_outcomes_of_any_kind(tmp_path: Path) -> None:
    def mixed(dataset: Array, rng: np.random.Generator) -> object:
        return [None, float("nan"), {"a": 2**70}][rng.integers(3)]

    with journalled_in(Journal(tmp_path / "journal")):
        (made,), (kept,) = (list(sampler(mixed).batches("a", 20)) for _ in range(2))
    assert same_batches(made, kept)


def test_the_records_of_the_caller_stay_writeable() -> None:
    records = DATASET.copy()
    sampler(noisy, dataset=records)
    records[0] = 5.0


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None, 2**128])
def test_a_seed_is_a_whole_number(seed: int) -> None:
    with pytest.raises(InvalidValue, match=r"^seed="):
        check_seed(seed)


def test_something_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^mechanism="):
        sampler(3)  # type: ignore[arg-type]  # what is tested


def test_nothing_is_guessed_from_the_name_of_a_parameter() -> None:
    def several(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return dataset.sum() + rng.normal(size=trials)

    with pytest.raises(InvalidValue, match=r"not \(dataset, rng, trials\): mark .* by @batched"):
        sampler(several)
    assert sampler(batched(several)).collect("x", 3).shape == (3, 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda d, trials=3: np.full(2, trials),
        lambda d, rng, trials=3: np.full(2, trials),
        partial(lambda d, rng, trials: np.full(2, trials), trials=3),
    ],
    ids=["with a default", "after the generator", "fixed by partial"],
)
def test_a_parameter_called_trials_may_mean_something_else(function: Any) -> None:
    assert sampler(function).collect("x", 2).tolist() == [[3, 3], [3, 3]]
