"""What every counter does: it ends at its horizon, its copies have noise of their own, and batches are unbiased."""

import copy
import pickle

import numpy as np
import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.counter import Counter
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

HORIZON = 5


def tree(seed: int = 1) -> Counter:
    return TreeCounter(horizon=HORIZON, epsilon=1, arity=3, rng=np.random.default_rng(seed))


def factorised(seed: int = 1) -> Counter:
    rng = np.random.default_rng(seed)
    return FactorizationCounter(horizon=HORIZON, kind="honaker", noise="gaussian", claim="mu=1", rng=rng)


MAKERS = pytest.mark.parametrize("make", [tree, factorised])


@MAKERS
def test_a_counter_ends_at_its_horizon(make) -> None:
    counter = make()
    for step in range(HORIZON):
        assert counter.time == step
        assert np.isfinite(counter.add(1))
        assert counter.live >= 1
    with pytest.raises(InvalidValue, match="start a new counter"):
        counter.add(1)
    assert counter.time == HORIZON


@MAKERS
def test_a_counter_that_has_begun_is_not_copied_and_a_new_one_gets_noise_of_its_own(make) -> None:
    counter = make()
    other = copy.copy(counter)
    assert type(other) is type(counter)
    assert other.arguments() == counter.arguments()
    assert counter.add(1) == make().add(1)  # the same seed, the same noise
    firsts = {copy.copy(make()).add(1) for _ in range(30)} | {other.add(1)}
    assert len(firsts) > 1  # whole numbers of the tree: all 31 equal with probability below 1e-9
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="share their noise"):
            duplicate(counter)


@MAKERS
def test_a_short_stream_is_padded_to_the_horizon(make) -> None:
    assert make().padded(np.array([1.0, 2.0])).tolist() == [[1, 2, 0, 0, 0]]
    assert make().record_shape == ()


@MAKERS
def test_many_releases_are_the_prefix_sums_with_noise_around_them(make, seed: int) -> None:
    """A mean of 4000 counts lies within six of its standard errors: wrong with probability 2e-9 for each count."""
    trials = 4000
    counts = make().release_many([1, 0, 1], trials, np.random.default_rng(seed))
    assert counts.shape == (trials, 3)
    error = counts.std(axis=0) / np.sqrt(trials)
    assert (np.abs(counts.mean(axis=0) - [1, 1, 2]) < 6 * error).all()
    assert (np.abs(counts.mean(axis=0) - [2, 2, 3]) > 6 * error).all()


@MAKERS
@pytest.mark.parametrize("trials", [0, -1, 1.5, True])
def test_a_number_of_trials_is_a_positive_whole_number(make, trials: object) -> None:
    with pytest.raises(InvalidValue, match="trials"):
        make().release_many([1], trials, np.random.default_rng(1))
