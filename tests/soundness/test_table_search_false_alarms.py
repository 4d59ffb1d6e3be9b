"""A search of a table for neighbours costs no error probability: right functions are refuted no more often than stated.

Every search measures 40 pairs and leaves one to a test with 400 fresh releases at error probability 0.05. Refutations
of functions that keep their claim are counted; so many that a rate of 0.05 makes with probability 1e-6 fail the test.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpverdict.audit import distinguish, find_neighbours
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE

ERROR = 0.05
CHANCE = 1e-6
Function = Callable[..., Any]


def count(table: Any, rng: np.random.Generator) -> float:
    return len(table) + rng.laplace()


def clipped(table: Any, rng: np.random.Generator) -> float:
    return float(np.clip(table[:, 0], 0, 100).sum() + rng.laplace(scale=100))


def two_numbers(table: Any, rng: np.random.Generator) -> Any:
    return np.array([np.clip(table[:, 0], 0, 100).sum() / 100, (table[:, 1] > 0).sum()]) + rng.laplace(scale=2, size=2)


def known_bins(table: Any, rng: np.random.Generator) -> Any:
    return np.histogram(np.clip(table[:, 0], 0, 100), np.linspace(0, 100, 5))[0] + rng.laplace(size=4)


def twice_the_claim(table: Any, rng: np.random.Generator) -> float:
    return len(table) + rng.laplace(scale=0.3)


def refutations(functions: list[Function], rounds: int, seed: int) -> tuple[int, int]:
    """How many searches there were, and how many of the pairs that they left refuted the claim."""
    rng = np.random.default_rng(seed)
    found = made = 0
    for _ in range(rounds):
        for function in functions:
            table = np.column_stack([rng.integers(18, 90, 60), rng.lognormal(3, 1, 60)])
            own = int(rng.integers(2**31))
            left = find_neighbours(function, "eps=1", data=table, adjacency=ADD_OR_REMOVE_ONE, seed=own, most=40)
            test = distinguish(
                left.function, left.pair, "eps=1", error_probability=ERROR, samples=400, seed=own, delta=0
            )
            found, made = found + test.refuted, made + 1
    return made, found


@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_right_functions_are_refuted_no_more_often_than_stated(rounds: int, seed: int) -> None:
    made, found = refutations([count, clipped, two_numbers, known_bins], rounds, seed)
    assert found <= binom.isf(CHANCE, made, ERROR)


def test_a_wrong_function_is_refuted_by_most_of_its_searches(seed: int) -> None:
    assert refutations([twice_the_claim], 2, seed) == (2, 2)
