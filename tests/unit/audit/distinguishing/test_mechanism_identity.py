"""A budget that runs dry is an error, not a leak; outcomes that come and go by chance are neither."""

from collections.abc import Callable

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.mechanism_identity import COMPARED_TRIALS, check_kept_state, first_kinds
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.trials.outcomes.batches import OutcomeRows, rows_of
from dpverdict.audit.trials.run import Sampler
from dpverdict.errors import MechanismFailure
from dpverdict.numerics.arrays import Array

PAIR = np.ones((2, 1)), np.ones((1, 1))


def budget(calls: int) -> Callable[[Array, np.random.Generator], object]:
    """A count whose accountant allows so many calls."""
    left = [calls]

    def release(data: Array, rng: np.random.Generator) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("the budget is spent")
        return len(data) + rng.laplace()

    return release


@pytest.mark.parametrize("calls", [10, 100, 500])
def test_a_budget_that_runs_dry_is_an_error(calls: int) -> None:
    with pytest.raises(MechanismFailure, match="its state changes"):
        distinguish(budget(calls), PAIR, "eps=1", error_probability=1e-6, samples=400, seed=1)


def test_it_is_one_pair_by_pair_too() -> None:
    with pytest.raises(MechanismFailure, match="its state changes"):
        distinguish_sequentially(budget(1000), PAIR, "eps=1", error_probability=1e-6, most_samples=2000, seed=1)


def test_one_that_lasts_is_none() -> None:
    assert not distinguish(budget(10**6), PAIR, "eps=1", error_probability=1e-6, samples=400, seed=1).refuted


def test_a_mechanism_that_often_refuses_on_both_sides_is_no_error() -> None:
    def often(data: Array, rng: np.random.Generator) -> object:
        if rng.random() < 0.93:
            raise ValueError("refused")
        return 1.0

    for seed in range(6):
        test = distinguish_sequentially(often, PAIR, "eps=1", error_probability=1e-6, most_samples=100, seed=seed)
        assert not test.refuted


def test_outcomes_that_come_and_go_by_chance_are_no_state() -> None:
    def now_and_then(data: Array, rng: np.random.Generator) -> object:
        return None if rng.random() < 0.5 else 1.0

    sampler = Sampler.prepare(now_and_then, PAIR[0], where="the dataset", seed=1)
    (batch,) = sampler.batches("first", 50)
    kinds = first_kinds(batch)
    assert len(kinds) == COMPARED_TRIALS
    check_kept_state(sampler, kinds)
    assert isinstance(batch, OutcomeRows)
    assert len(list(rows_of(batch))) == 50
