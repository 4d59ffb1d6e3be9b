"""Which numbers are audited: float64 as they are, or real numbers, of which only a rounded value is looked at."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.result import DOUBLE_MODE
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.trials.run import Sampler, batched, check_grid
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import PureDP

Array = NDArray[np.float64]
PAIR = (np.array([[1.0]]), np.zeros((0, 1)))
GRID = 2.0**-20


@batched
def leaky(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Laplace noise whose low bits are the data: multiples of 2^-20 for one dataset, halfway between for the other."""
    noise = np.rint(rng.laplace(size=(trials, 1)) / GRID) * GRID
    return dataset.sum() + noise + (GRID / 8 if len(dataset) else 0.0)


def low_bits(outputs: Array) -> Array:
    """A score that a rounding leaves without a difference."""
    return (np.abs(outputs[:, 0] / GRID % 1 - 1 / 8) < 1e-3).astype(np.float64)


def test_a_leak_in_the_low_bits_counts_for_doubles_and_not_for_reals() -> None:
    found = [
        distinguish(leaky, PAIR, PureDP(1), error_probability=1e-9, samples=2000, seed=1, score=low_bits, grid=grid)
        for grid in (0.0, GRID)
    ]
    assert [test.refuted for test in found] == [True, False]
    assert [test.grid for test in found] == [0.0, GRID]
    assert found[0].mode == DOUBLE_MODE
    assert repr(GRID) in found[1].mode
    assert found[1].mode.startswith("real")


def test_the_sequential_test_says_which_too() -> None:
    test = distinguish_sequentially(
        leaky, PAIR, PureDP(1), error_probability=1e-9, most_samples=500, seed=1, grid=GRID, score=low_bits
    )
    assert test.grid == GRID
    assert test.mode.startswith("real")
    assert not test.refuted
    with pytest.raises(InvalidValue):  # the state is of a test of rounded outputs
        distinguish_sequentially(
            leaky, PAIR, PureDP(1), error_probability=1e-9, most_samples=600, seed=1, score=low_bits, state=test.state
        )


def test_outputs_are_rounded_exactly() -> None:
    sampler = Sampler.prepare(leaky, PAIR[0], where="the dataset", seed=1, grid=0.25)
    outputs = sampler.collect("a", 1000)
    assert np.array_equal(outputs * 4, np.rint(outputs * 4))
    plain = Sampler.prepare(leaky, PAIR[0], where="the dataset", seed=1).collect("a", 1000)
    assert np.abs(outputs - plain).max() <= 0.125


@pytest.mark.parametrize("grid", [0.3, -0.5, float("nan"), float("inf"), 2.0**-600])
def test_a_grid_is_a_power_of_two(grid: float) -> None:
    with pytest.raises(InvalidValue, match="grid"):
        check_grid(grid)
