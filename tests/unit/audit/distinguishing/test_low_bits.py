"""The search for leaks through rounding finds the known ones with few samples, and nothing in rounded outputs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpverdict.audit.distinguishing.low_bits import (
    WITHOUT_BITS,
    LowBitSet,
    MultiplesOfGrid,
    ValueSet,
    exponents,
    find_float_leak,
    grid_sets,
    lowest_bits,
    set_from_data,
    value_sets,
)
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.audit.trials.run import batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee, PureDP
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

Array = NDArray[np.float64]
PAIR = (np.array([[1.0]]), np.zeros((0, 1)))
ALARM = 1e-6


@batched
def laplace(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum() + rng.laplace(size=(trials, 1))


@batched
def normal(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum() + rng.normal(size=(trials, 1))


@batched
def rounded(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return np.round((dataset.sum() + rng.laplace(size=(trials, 1))) * 2.0**30) / 2.0**30


@batched
def on_a_grid(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Noise on the grid 0.1 Z around an answer that is not on it."""
    return dataset.sum() * 0.37 + 0.1 * rng.integers(-40, 41, size=(trials, 1))


@batched
def few_values(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Noise from a table of 50 numbers, as a sampler with a short table would draw it."""
    table = np.random.default_rng(0).laplace(size=50)
    return dataset.sum() + rng.choice(table, size=(trials, 1))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_lowest_bit_and_the_exponent_are_exact(x: float) -> None:
    bit, exponent = int(lowest_bits(np.array([x]))[0]), int(exponents(np.array([x]))[0])
    if x == 0:
        assert (bit, exponent) == (WITHOUT_BITS, -WITHOUT_BITS)
        return
    numerator, denominator = abs(x).as_integer_ratio()
    assert bit == (numerator & -numerator).bit_length() - denominator.bit_length()
    assert exponent == math.frexp(x)[1]


@pytest.mark.parametrize(
    ("mechanism", "claim", "found"),
    [
        (laplace, PureDP(1), LowBitSet),
        (normal, GaussianDP(1), LowBitSet),
        (on_a_grid, PureDP(1), MultiplesOfGrid | ValueSet),
        (few_values, PureDP(1), ValueSet),
    ],
)
def test_known_leaks_are_found_with_a_thousand_samples(mechanism: object, claim: Guarantee, found: type) -> None:
    leak = find_float_leak(mechanism, PAIR, claim, error_probability=ALARM, samples=1000, seed=1, delta=0.0)  # type: ignore[arg-type]
    assert leak.refuted
    assert isinstance(leak.event, found)
    assert leak.epsilon_lower > 2


def test_the_hand_derived_event_is_found() -> None:
    """f = 1: in (-1/2, 1/2) only multiples of 2^-53; f = 0: finer bits there with probability 0.27."""
    leak = find_float_leak(laplace, PAIR, PureDP(1), error_probability=0.05, samples=4000, seed=2, delta=0.0)
    assert leak.order is Order.NEIGHBOUR_FIRST
    assert isinstance(leak.event, LowBitSet)
    assert leak.event.bit <= -54
    assert leak.counts is not None
    assert leak.counts.second == 0
    assert leak.epsilon_lower > 5


def test_a_leak_of_one_coordinate_among_many_is_found() -> None:
    @batched
    def many(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        outputs = np.round(rng.laplace(size=(trials, 12)) * 2.0**30) / 2.0**30
        outputs[:, 7] = dataset.sum() + rng.laplace(size=trials)
        return outputs

    leak = find_float_leak(many, PAIR, PureDP(1), error_probability=ALARM, samples=2000, seed=1, delta=0.0)
    assert leak.refuted
    assert isinstance(leak.event, LowBitSet)
    assert leak.event.coordinate == 7


def test_algorithm_1_in_float64_leaks() -> None:
    mechanism = CorrelatedGaussian(dim=3, mu=1)
    pair = (np.ones((1, 3)), np.zeros((0, 3)))
    leak = find_float_leak(mechanism, pair, mechanism.claim, error_probability=ALARM, samples=4000, seed=1, delta=0.0)
    assert leak.refuted


@pytest.mark.parametrize("runs", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_rounded_outputs_are_refuted_no_more_often_than_stated(seed: int, runs: int) -> None:
    """Each run has error probability 5 %; so many alarms have probability below 1e-6 together."""
    level = 0.05
    alarms = sum(
        find_float_leak(
            rounded, PAIR, PureDP(1), error_probability=level, samples=400, seed=seed + i, delta=0.0
        ).refuted
        for i in range(runs)
    )
    assert stats.binom.sf(alarms - 1, runs, level) > 1e-6


def test_a_set_that_is_counted_where_it_was_learned_is_an_error_that_shows() -> None:
    """Planted: the numbers seen twice in the learning trials are counted there again, not in fresh trials."""
    coarse = np.round(np.random.default_rng(1).laplace(size=(2, 3000, 1)) * 300) / 300
    (learned,) = value_sets(coarse[0], coarse[1], 0)
    again = [int(learned.contains(side).sum()) for side in coarse]
    fresh = np.round(np.random.default_rng(2).laplace(size=(2, 3000, 1)) * 300) / 300
    honest = [int(learned.contains(side).sum()) for side in fresh]
    assert again[0] > 50
    assert again[1] == 0
    assert abs(honest[0] - honest[1]) < 6 * math.sqrt(sum(honest))


def test_an_honest_grid_is_no_leak() -> None:
    @batched
    def counts(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return dataset.sum() + rng.geometric(0.5, size=(trials, 1)) - rng.geometric(0.5, size=(trials, 1))

    leak = find_float_leak(counts, PAIR, PureDP(1), error_probability=ALARM, samples=2000, seed=1, delta=0.0)
    assert not leak.refuted
    constant = np.ones((20, 1))
    assert grid_sets(constant, 0) == []


def test_arguments_out_of_range() -> None:
    with pytest.raises(InvalidValue, match="delta"):
        find_float_leak(laplace, PAIR, PureDP(1), error_probability=0.1, samples=100, seed=1, delta=1.0)
    with pytest.raises(InvalidValue, match="samples"):
        find_float_leak(laplace, PAIR, PureDP(1), error_probability=0.1, samples=10, seed=1, delta=0.0)


def test_what_is_described_can_be_written_as_json() -> None:

    leak = find_float_leak(few_values, PAIR, PureDP(1), error_probability=ALARM, samples=300, seed=1, delta=0.0)
    assert json.loads(json.dumps(leak.describe(), allow_nan=False))["numbers"] == "float64, bit for bit"


@pytest.mark.parametrize(
    "event",
    [
        LowBitSet(coordinate=1, centre=0.5, exponent=-1, bit=-54),
        MultiplesOfGrid(coordinate=0, offset=0.1, grid=2.0**-8),
        ValueSet(coordinate=0, values=(0.5, -1.25)),
    ],
)
def test_a_set_survives_its_description(event: LowBitSet | MultiplesOfGrid | ValueSet) -> None:
    assert set_from_data(json.loads(json.dumps(event.describe()))) == event


@pytest.mark.parametrize("change", [{"kind": "another"}, {"grid": 0.0}, {"grid": "inf"}])
def test_data_of_no_set_are_refused(change: dict[str, object]) -> None:
    data = MultiplesOfGrid(coordinate=0, offset=0.1, grid=2.0**-8).describe()
    with pytest.raises(ValueError, match=r"kind another|grid"):
        set_from_data({**data, **change})
