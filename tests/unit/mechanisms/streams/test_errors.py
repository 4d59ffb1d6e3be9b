"""The errors of counters: what a counter says of itself, maxima against enumeration, and crossovers against scales."""

import itertools
import math
from fractions import Fraction

import pytest

from dpverdict.balls import Real, compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import analytic_scale, classic_scale
from dpverdict.mechanisms.streams import errors as counter_errors
from dpverdict.mechanisms.streams.errors import (
    GAUSSIAN,
    CounterError,
    binary_error,
    classic_crossover_delta,
    crossover_delta,
    gaussian_lower_bound,
    gaussian_tree_error,
    honaker_error,
    largest_size,
    published_crossover_delta,
    published_error,
    smooth_error,
    square_root_error,
    tree_error,
)
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.factorizations import own_weight
from dpverdict.mechanisms.streams.tree import TreeDigits
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

SYSTEMS = [
    TreeDigits.ordinary(2),
    TreeDigits.ordinary(5),
    TreeDigits.offset(3),
    TreeDigits.offset(4),
    TreeDigits.offset(7),
    TreeDigits(6, 4),
]


def exact(value: Real) -> Fraction:
    assert value.rational is not None
    return value.rational


def close(value: Real, other: Real | float) -> bool:
    number = other.nearest() if isinstance(other, Real) else other
    return math.isclose(value.nearest(), number, rel_tol=1e-13)


# against the counters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("horizon", "arity"), [(1, 2), (100, 3), (1000, 4), (3429, 19)])
def test_a_tree_has_the_errors_its_counter_states(horizon: int, arity: int) -> None:
    counter, error = TreeCounter(horizon=horizon, epsilon=1, arity=arity), tree_error(horizon, arity)
    assert exact(error.mean) == counter.mean_squared_error()
    values = [counter.variance_at(t) for t in range(1, horizon + 1)]
    assert [exact(error.variance(t)) for t in range(1, horizon + 1)] == values
    assert exact(error.largest) == max(values)


@pytest.mark.parametrize("horizon", [1, 2, 3, 37, 64, 200])
@pytest.mark.parametrize("kind", GAUSSIAN)
def test_a_factorisation_has_the_errors_its_counter_states(kind: str, horizon: int) -> None:
    """mu = 1, for which sigma is the l2 sensitivity: the counter rounds it up to a float64."""
    error = GAUSSIAN[kind](horizon)
    counter = FactorizationCounter(horizon=horizon, kind=kind, noise="gaussian", claim="mu=1")  # type: ignore[arg-type]
    assert close(error.mean, counter.mean_squared_error())
    values = [counter.variance_at(t).nearest() for t in range(1, horizon + 1)]
    assert all(close(error.variance(t), value) for t, value in enumerate(values, 1))
    assert close(error.largest, max(values))


@pytest.mark.parametrize("make", [binary_error, honaker_error, smooth_error])
def test_laplace_noise_on_the_same_nodes(make: object) -> None:
    kind = {binary_error: "binary", honaker_error: "honaker", smooth_error: "smooth-binary"}[make]  # type: ignore[index]
    error: CounterError = make(100, "laplace")  # type: ignore[operator]
    counter = FactorizationCounter(horizon=100, kind=kind, noise="laplace", claim="eps=1")  # type: ignore[arg-type]
    assert close(error.mean, counter.mean_squared_error())
    assert close(error.variance(77), counter.variance_at(77))


# maxima ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_the_largest_size_is_that_of_an_enumeration(system: TreeDigits) -> None:
    best = 0
    for horizon in range(1, 600):
        best = max(best, system.size(horizon))
        assert largest_size(system, horizon) == best


def test_the_largest_weighted_size_is_that_of_an_enumeration() -> None:
    best, bits = Fraction(0), TreeDigits.ordinary(2)
    for horizon in range(1, 600):
        value = sum((own_weight(level) for level in range(10) if horizon >> level & 1), Fraction(0))
        best = max(best, value)
        assert largest_size(bits, horizon, own_weight) == best


def test_live_noise_at_a_full_horizon_attains_the_bound_of_lemma_4_12() -> None:
    for k, h in ((3, 5), (19, 4), (4, 3)):
        system = TreeDigits.offset(k)
        assert largest_size(system, system.capacity(h)) == h * (k // 2)


# bounds and orders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [3, 10, 20, 40])
def test_no_factorisation_is_below_the_lower_bound_and_the_square_root_is_the_best_of_these(power: int) -> None:
    horizon = 2**power
    bound = gaussian_lower_bound(horizon)
    errors = {kind: make(horizon).mean for kind, make in GAUSSIAN.items()}
    assert all(compare(bound, error) == -1 for error in errors.values())
    assert all(
        compare(errors["sqrt-toeplitz"], error) == -1 for kind, error in errors.items() if kind != "sqrt-toeplitz"
    )
    assert compare(errors["sqrt-toeplitz"], published_error(horizon)) == (-1 if horizon >= 7 else 1)


def test_the_published_bound_fails_for_the_first_six_horizons_alone() -> None:
    signs = [compare(square_root_error(t).mean, published_error(t)) for t in range(1, 41)]
    assert signs == [1] * 6 + [-1] * 34


def test_the_best_arity_under_gaussian_noise_may_be_even() -> None:
    """At 2^12 arity 6 has a smaller error than 11, the best odd one; no arity up to 64 is better."""
    best = gaussian_tree_error(2**12, "best")
    assert best.name == "tree k=6"
    every = [gaussian_tree_error(2**12, k).mean for k in range(2, 65)]
    assert exact(best.mean) == min(exact(error) for error in every)
    assert exact(best.mean) < exact(gaussian_tree_error(2**12, 11).mean)


def test_the_advantage_over_honaker_where_honaker_is_at_its_best() -> None:
    """Laplace noise, T = 2^power - 1 and the best arity: 4.0456 in the limit, less at every horizon of use."""
    ratios = []
    for power in (10, 20, 30, 60):
        horizon = 2**power - 1
        ratios.append(exact(honaker_error(horizon, "laplace").mean) / exact(tree_error(horizon, "best").mean))
    assert [round(float(ratio), 2) for ratio in ratios[:2]] == [3.41, 3.77]  # the oracle's
    assert all(small < large < 4.0456 for small, large in itertools.pairwise(ratios))


# crossovers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GAUSSIAN)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_calibrated_errors_cross_at_the_crossover(kind: str, epsilon: str) -> None:
    tree, other = tree_error(2**12, "best").mean, GAUSSIAN[kind](2**12).mean
    delta = crossover_delta(tree, other, epsilon).nearest()
    laplace = tree.nearest() / float(epsilon) ** 2
    below, above = (analytic_scale(epsilon, delta * factor, 1) ** 2 * other.nearest() for factor in (0.99, 1.01))
    assert above < laplace < below


def test_the_classic_and_the_published_scale_cross_where_said() -> None:
    tree, root = tree_error(2**10, 13).mean, square_root_error(2**10).mean
    delta = classic_crossover_delta(tree, root).nearest()
    assert classic_scale(1, delta, 1) ** 2 * root.nearest() == pytest.approx(tree.nearest(), rel=1e-12)
    delta = published_crossover_delta(tree, 2**10).nearest()
    published_variance = 4 * (4 / 9 + math.log(math.sqrt(2 / math.pi) / delta))
    bound = published_variance * published_error(2**10).nearest()
    assert bound == pytest.approx(tree.nearest(), rel=1e-12)


def test_a_wrong_power_of_epsilon_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: mu without its factor epsilon does not cross where said, unless epsilon is 1."""
    from dpverdict.mechanisms.streams import errors as counter_crossover

    monkeypatch.setattr(counter_crossover, "check_positive", lambda value, name: Fraction(value) ** 2)
    with pytest.raises(AssertionError):
        test_the_calibrated_errors_cross_at_the_crossover("sqrt-toeplitz", "4")


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "x"])
def test_a_horizon_that_is_none_is_refused(bad: object) -> None:
    for make in (*GAUSSIAN.values(), gaussian_lower_bound, published_error):
        with pytest.raises(InvalidValue, match=r"^horizon="):
            make(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"^horizon="):
        counter_errors.tree_error(bad, 2)  # type: ignore[arg-type]


def test_an_epsilon_out_of_range_is_refused() -> None:
    one = Real.of(1)
    with pytest.raises(InvalidValue, match=r"^epsilon="):
        crossover_delta(one, one, 0)
