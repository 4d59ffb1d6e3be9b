"""The tree counter as a stream: its noise set, its laws, its statistics, adaptive use, and bad input.

Statistical tests take N trials and ask for |z| < SIX standard errors, two-sided probability 2e-9 each under the normal
approximation; the number of comparisons is in their names. A control with the wrong value must fail the same test.
"""

import copy
import itertools
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes, TreeStream
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

SIX = 6.0
N = 20_000
SYSTEMS = [(make, k) for make in (TreeDigits.offset, TreeDigits.ordinary) for k in range(2, 14)]


def noise_sets(digits: TreeDigits, horizon: int) -> list[frozenset[int]]:
    """Which noise values, numbered as they are drawn, each time step uses."""
    drawn = itertools.count()
    stream = TreeStream(digits, digits.height(horizon), lambda: 1 << next(drawn), 0)
    sums = [int(stream.advance()) for _ in range(horizon)]
    return [frozenset(i for i in range(s.bit_length()) if s >> i & 1) for s in sums]


# the noise of the stream ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "arity"), SYSTEMS)
def test_the_stream_uses_the_noise_sets_of_the_algorithm(make: Any, arity: int) -> None:
    for horizon in (1, 2, 7, 40, 150):
        digits = make(arity)
        height = digits.height(horizon)

        wanted: dict[tuple[int, ...], list[int]] = {}  # the times at which each index is used
        for time in range(1, horizon + 1):
            index, written = [0] * height, digits.encode(time, height)
            for level in reversed(range(height)):
                for _ in range(abs(written[level])):
                    index[level] += 1 if written[level] > 0 else -1
                    wanted.setdefault(tuple(index), []).append(time)
        found: dict[int, list[int]] = {}
        for time, numbers in enumerate(noise_sets(digits, horizon), start=1):
            for number in numbers:
                found.setdefault(number, []).append(time)
        assert sorted(found.values()) == sorted(wanted.values())


@pytest.mark.parametrize(("make", "arity"), SYSTEMS)
def test_every_noise_value_is_used_on_one_interval_of_time(make: Any, arity: int) -> None:
    digits = make(arity)
    horizon = digits.capacity(2 if arity > 4 else 4)
    sets = noise_sets(digits, horizon)
    for i in frozenset().union(*sets):
        times = [t for t, used in enumerate(sets) if i in used]
        assert times == list(range(times[0], times[-1] + 1))
    assert len(frozenset().union(*sets)) == horizon  # at a full horizon there are as many values as items
    assert max(map(len, sets)) == len(sets[-1]) == digits.height(horizon) * digits.largest  # Lemma 4.12


def test_the_live_values_of_the_published_example() -> None:
    counter = TreeCounter(horizon=65160, epsilon=1, arity=19)
    most = 0
    for _ in range(65160):
        counter.add(1)
        most = max(most, counter.live)
    assert most == counter.live == 36


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_a_stream_can_begin_anywhere(noise: str) -> None:
    digits, height = TreeDigits.offset(19), 12
    for time in (0, 1, 5**10, 2**40):
        stream = TreeStream(digits, height, lambda: 1, 0, time=time)
        for later in range(time + 1, time + 400):
            assert stream.advance() == digits.size(later) == stream.live


# the counter ----------------------------------------------------------------------------------------------------------

COUNTERS: list[dict[str, Any]] = [
    {"horizon": 13, "epsilon": 1, "arity": 3},
    {"horizon": 20, "epsilon": "0.7", "arity": 4, "noise": "continuous"},
    {"horizon": 11, "epsilon": 2, "arity": 3, "digits": "ordinary"},
    {"horizon": 62, "epsilon": "1/2", "arity": 5, "digits": "symmetric", "noise": "continuous"},
    {"horizon": 30, "epsilon": 3, "arity": "best"},
]


def stream_of(counter: TreeCounter, rng: np.random.Generator) -> np.ndarray:
    if counter.describe()["noise"] == "continuous":
        return rng.uniform(0, 1, counter.horizon)
    return rng.integers(0, 2, counter.horizon).astype(np.float64)


def streamed(options: dict[str, Any], stream: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Releases by `add`, one counter per trial."""
    out = np.empty((trials, len(stream)))
    items = stream.tolist()
    for i in range(trials):
        counter = TreeCounter(**options, rng=rng)
        out[i] = [counter.add(item) for item in items]
    return out


def spread(counter: TreeCounter) -> float:
    """A bound on the relative standard deviation of the square of a count's noise.

    Its kurtosis is at most that of one value: 6 for continuous noise, 6 + 1/variance for discrete noise.
    """
    unit = 2 * (counter.height / counter.claim.epsilon) ** 2 * Fraction(counter.variance_ratio().nearest())
    return float(5 + 1 / unit) ** 0.5


@pytest.mark.parametrize("options", COUNTERS, ids=str)
@pytest.mark.parametrize("road", ["release_many", "embedding", "add"])
def test_counts_are_unbiased_with_the_stated_variances(options: dict[str, Any], road: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    counter = TreeCounter(**options)
    stream = stream_of(counter, rng)
    if road == "release_many":
        counts = counter.release_many(stream, N, rng)
    elif road == "embedding":
        counts = counter.decode(counter.noise.add(counter.embed(stream), N, rng))
    else:
        counts = streamed(options, stream, 600, rng)
    noise = counts - np.cumsum(stream)
    n, ratio = len(noise), counter.variance_ratio().nearest()
    variances = np.array([float(counter.variance_at(t)) for t in range(1, counter.horizon + 1)]) * ratio
    assert (np.abs(noise.mean(axis=0)) < SIX * np.sqrt(variances / n)).all()
    assert (np.abs((noise**2).mean(axis=0) - variances) < SIX * variances * spread(counter) / n**0.5).all()
    mean = float(counter.mean_squared_error()) * ratio
    assert np.isclose(variances.mean(), mean, rtol=1e-12)
    if road == "release_many":  # the control: three tenths more variance is not theirs
        assert (np.abs((noise**2).mean(axis=0) / variances - 1.3) > SIX * spread(counter) / n**0.5).any()


@pytest.mark.parametrize("options", COUNTERS, ids=str)
def test_covariances_of_counts_are_those_of_the_shared_vertices(options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    counter = TreeCounter(**options)
    noise = counter.release_many(np.zeros(counter.horizon), N, rng)
    left = counter.nodes.decode(np.eye(counter.nodes.size)).T
    unit = float(2 * (counter.height / counter.claim.epsilon) ** 2) * counter.variance_ratio().nearest()
    exact = left @ left.T * unit
    found = noise.T @ noise / N
    sizes = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    tolerance = SIX * sizes * spread(counter) / N**0.5  # a product varies no more than the squares do
    assert (np.abs(found - exact) < tolerance).all()
    assert (np.abs(found - exact * 0.7) > tolerance).any()


def test_continuous_noise_has_the_laplace_law(seed: int) -> None:
    counter = TreeCounter(horizon=1, epsilon="1/3", arity=3, noise="continuous")
    values = counter.release_many([0.0], N, np.random.default_rng(seed))[:, 0] / 3
    grid = np.linspace(-4, 4, 33)
    exact = laplace.cdf(grid)
    found = (values[:, None] <= grid).mean(axis=0)
    assert (np.abs(found - exact) < SIX * np.sqrt(exact * (1 - exact) / N)).all()


def test_discrete_counts_are_integers_and_stay_exact() -> None:
    counter = TreeCounter(horizon=2**40, epsilon="1e-9", arity=19)
    assert all(type(counter.add(bit)) is int for bit in (1, 0, True, np.int64(1), np.float64(0), np.bool_(True)))
    many = TreeCounter(horizon=40, epsilon=1, arity=3).release_many(np.ones(40), 3, np.random.default_rng(0))
    assert np.array_equal(many, np.rint(many))


def test_continuous_counts_do_not_lose_small_items() -> None:
    counter = TreeCounter(horizon=2**20, epsilon=1, arity=19, noise="continuous")
    for item in (5e-324, 1.0, 2.0**-60, np.float32(0.5)):
        counter.add(item)
    assert Fraction(counter._count, 1 << 1074) == Fraction(5e-324) + Fraction(3, 2) + Fraction(1, 2**60)


def test_items_may_depend_on_earlier_counts(seed: int) -> None:
    """With each item chosen from the last count, the noise still has the stated law."""
    rng = np.random.default_rng([seed, 3])
    errors = []
    for _ in range(2000):
        counter, true, count = TreeCounter(horizon=13, epsilon=1, arity=3, rng=rng), 0, 0.0
        for _ in range(13):
            item = int(count % 2)
            true, count = true + item, counter.add(item)
        errors.append(count - true)
    variance = float(counter.variance_at(13)) * counter.variance_ratio().nearest()
    assert abs(np.mean(errors)) < SIX * (variance / 2000) ** 0.5
    assert abs(np.mean(np.square(errors)) / variance - 1) < SIX * (5 / 2000) ** 0.5


def test_equal_seeds_give_equal_streams_and_fresh_counters_do_not() -> None:
    def run(rng: np.random.Generator | None) -> list[float]:
        counter = TreeCounter(horizon=2000, epsilon=1, arity=5, rng=rng)
        return [counter.add(1) for _ in range(2000)]

    assert run(np.random.default_rng(3)) == run(np.random.default_rng(3))
    assert run(None) != run(None)


def test_a_stream_that_has_begun_cannot_be_copied_and_a_new_one_gets_its_own_noise() -> None:
    for counter in (
        TreeCounter(horizon=500, epsilon=1, arity=5),
        FactorizationCounter(horizon=500, kind="honaker", noise="laplace", claim="eps=1"),
    ):
        twins = [copy.deepcopy(counter), pickle.loads(pickle.dumps(counter)), copy.copy(counter), counter]
        assert len({repr(twin) for twin in twins}) == 1
        streams = [tuple(twin.add(1) for _ in range(100)) for twin in twins]  # type: ignore[attr-defined]
        assert len(set(streams)) == 4
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="share their noise"):
                attempt(counter)


def test_the_same_batch_follows_from_the_same_seed_whatever_comes_after() -> None:
    counter = TreeCounter(horizon=50, epsilon=1, arity=4)
    first = counter.release_many(np.ones(50), 4, np.random.default_rng(1))
    assert np.array_equal(first, counter.release_many(np.ones(50), 4, np.random.default_rng(1)))
    assert np.array_equal(
        counter.release(np.ones(50), np.random.default_rng(2)), counter(np.ones(50), np.random.default_rng(2))
    )
    shorter = counter.release_many(np.ones((20, 1)), 4, np.random.default_rng(1))
    assert np.array_equal(shorter, first[:, :20])


# privacy --------------------------------------------------------------------------------------------------------------


def test_the_claim_and_the_shifts_that_prove_it() -> None:
    for options in COUNTERS:
        counter = TreeCounter(**options)
        assert counter.claim == PureDP(options["epsilon"])
        assert counter.adjacency is REPLACE_ONE
        shifts = [counter.laplace_shifts(item) for item in range(1, counter.horizon + 1)]
        assert max(map(len, shifts)) == len(shifts[0]) == counter.height
        worst = max(sum(each, Fraction(0)) for each in shifts)
        if isinstance(counter.noise, DiscreteLaplaceNoise):
            assert worst == counter.claim.epsilon  # exactly, and not a little more
        else:
            assert counter.claim.epsilon * (1 - Fraction(1, 2**50)) < worst <= counter.claim.epsilon


def test_the_profile_of_the_discrete_counter_is_randomised_response_by_enumeration() -> None:
    """At a full horizon, the hockey-stick divergence of the counts, summed over a box of noisy vertices."""
    counter = TreeCounter(horizon=4, epsilon=2, arity=3)
    assert counter.nodes.invertible()
    law, rate = counter.noise.law(), float(counter.noise.rate)  # type: ignore[union-attr]
    box = np.arange(-30, 31)
    mass = np.array([law.probability(int(z)).nearest() for z in box])
    for item in range(1, 5):
        m = len(counter.laplace_shifts(item))
        moved = np.array([law.probability(int(z) - 1).nearest() for z in box])
        grids_p = np.ix_(*[mass] * m)
        grids_q = np.ix_(*[moved] * m)
        p, q = np.prod(np.broadcast_arrays(*grids_p), axis=0), np.prod(np.broadcast_arrays(*grids_q), axis=0)
        up = 1 / (1 + np.exp(-rate))
        losses = np.array([(2 * j - m) * rate for j in range(m + 1)])
        weights = np.array(
            [float(np.prod(range(m - j + 1, m + 1)) / max(np.prod(range(1, j + 1)), 1)) for j in range(m + 1)]
        )
        heads = weights * up ** np.arange(m + 1) * (1 - up) ** (m - np.arange(m + 1))
        for epsilon in (0.0, 0.5, 1.5, 2.0):
            exact = float((heads * np.maximum(0, -np.expm1(epsilon - losses))).sum())
            assert abs(np.maximum(p - np.exp(epsilon) * q, 0).sum() - exact) < 1e-9


# bad input ------------------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"horizon": 10, "epsilon": 1, "arity": 3}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        *(({"horizon": value}, "horizon") for value in (0, -1, 2.5, "7", None, True, float("inf"))),
        *(({"epsilon": value}, "epsilon") for value in (0, -1, float("nan"), float("inf"), None, True, "one")),
        *(({"arity": value}, "arity") for value in (1, 0, -3, 2.0, "worst", None, True)),
        ({"arity": 4, "digits": "symmetric"}, "arity"),
        ({"digits": "roman"}, "digits"),
        ({"digits": None}, "digits"),
        ({"noise": "gaussian"}, "noise"),
        ({"noise": None}, "noise"),
        ({"epsilon": "1e-30"}, "rate"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        TreeCounter(**(GOOD | change))
    assert caught.value.name == name


BAD_ITEMS = [2, -1, 0.5, float("nan"), float("inf"), -float("inf"), None, "1", [1], np.array([1, 0]), 1j, 10**400]


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_a_bad_item_is_refused_and_the_counter_is_as_it_was(noise: Any) -> None:
    steady, disturbed = (TreeCounter(**GOOD, noise=noise, rng=np.random.default_rng(4)) for _ in range(2))
    for item in [1, 0, 1, 1, 0, 1, 0, 0, 1, 1]:
        for bad in BAD_ITEMS:
            if noise == "continuous" and isinstance(bad, float) and 0 <= bad <= 1:
                continue
            with pytest.raises(InvalidValue) as caught:
                disturbed.add(bad)  # type: ignore[arg-type]
            assert caught.value.name == "item"
        assert disturbed.add(item) == steady.add(item)
    for _ in range(2):
        with pytest.raises(InvalidValue, match="time=11 must be <= the horizon 10: start a new counter"):
            disturbed.add(1)
    assert disturbed.time == 10


@pytest.mark.parametrize(
    "stream",
    [[], np.ones(11), np.ones((2, 3)), [0.5], [2], [-1], [float("nan")], ["1"], [None], 1, np.ones((3, 2)), [1j]],
    ids=str,
)
def test_a_bad_stream_is_refused(stream: Any) -> None:
    counter = TreeCounter(**GOOD)
    for call in (lambda: counter.release_many(stream, 2, np.random.default_rng(0)), lambda: counter.embed(stream)):
        with pytest.raises(InvalidValue):
            call()


def test_times_and_trials_out_of_range_are_refused() -> None:
    counter = TreeCounter(**GOOD)
    for time in (0, 11, -1, 1.0, True):
        for call in (counter.variance_at, counter.laplace_shifts):
            with pytest.raises(InvalidValue):
                call(time)  # type: ignore[operator]
    with pytest.raises(InvalidValue, match="trials"):
        counter.release_many(np.ones(10), 0, np.random.default_rng(0))


def test_long_horizons_cost_nothing_to_set_up() -> None:
    for power in (10, 20, 30, 40):
        counter = TreeCounter(horizon=2**power, epsilon="0.1", arity="best")
        assert counter.variance_at(2**power) > 0
        counter.add(1)
        assert counter.live == 1
        assert TreeNodes(counter.nodes.digits, 2**power).height == counter.height


def test_the_description_names_the_parameters() -> None:
    described = TreeCounter(horizon=3429, epsilon=1, arity=19).describe()
    assert described["claim"] == "eps=1"
    assert described["mean squared error"] == "32490/127"
    assert "Algorithm 2" in described["source"]
    assert "Algorithm 1" in TreeCounter(horizon=9, epsilon=1, arity=3, digits="ordinary").source
