"""Factorisations of the prefix sums against dense matrices, and the counters made of them.

Statistical tests take N streams and ask for |z| < SIX standard errors, two-sided probability 2e-9 each.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from dpverdict.balls import Enclosure, ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, RenyiDP
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter, NormalNoise
from dpverdict.mechanisms.streams.toeplitz import LONGEST, SquareRootToeplitz, coefficient, squared_sum

SIX = 6.0
N = 3000


@pytest.mark.parametrize("horizon", [1, 2, 3, 30, 200])
def test_the_closed_forms_of_the_square_root_are_exact(horizon: int) -> None:
    coefficients = [Fraction(1)]
    for j in range(1, horizon + 1):
        coefficients.append(coefficients[-1] * (2 * j - 1) / (2 * j))
    sums = list(itertools.accumulate(f * f for f in coefficients))
    root = SquareRootToeplitz(horizon)
    with precision(200):
        assert abs(coefficient(horizon) - ball(coefficients[horizon])) < ball("1e-50")
        assert abs(squared_sum(horizon) - ball(sums[horizon])) < ball("1e-50")
        for value, exact in (
            (root.l1_sensitivity(), sum(coefficients[:horizon])),
            (root.l2_sensitivity_squared(), sums[horizon - 1]),
            (root.mean_row_squared(), sum(sums[:horizon]) / horizon),
        ):
            assert value.ball().contains(ball(exact).mid()) or abs(value.ball() - ball(exact)) < ball("1e-50")
    assert np.allclose(root.coefficients(), [float(f) for f in coefficients[:horizon]], rtol=1e-13)


COUNTERS = [
    ("binary", "laplace", "eps=1"),
    ("honaker", "laplace", "eps=0.3"),
    ("honaker", "gaussian", "mu=0.7"),
    ("smooth-binary", "laplace", "eps=1, delta=1e-6"),
    ("smooth-binary", "gaussian", "rho=0.1"),
    ("sqrt-toeplitz", "gaussian", "eps=1, delta=1e-9"),
    ("sqrt-toeplitz", "laplace", "rho=0.5"),
]


@pytest.mark.parametrize(("kind", "noise", "claim"), COUNTERS)
@pytest.mark.parametrize("road", ["release_many", "embedding", "add"])
def test_counts_are_unbiased_with_the_stated_variances(kind: Any, noise: Any, claim: str, road: str, seed: int) -> None:
    rng, horizon = np.random.default_rng([seed, 7]), 21
    counter = FactorizationCounter(horizon=horizon, kind=kind, noise=noise, claim=claim)
    stream = rng.uniform(0, 1, horizon)
    if road == "release_many":
        counts = counter.release_many(stream, N, rng)
    elif road == "embedding":
        counts = counter.decode(counter.noise.add(counter.embed(stream), N, rng))
    else:
        made = (FactorizationCounter(horizon=horizon, kind=kind, noise=noise, claim=claim, rng=rng) for _ in range(120))
        counts = np.array([[each.add(x) for x in stream.tolist()] for each in made])
    error = counts - np.cumsum(stream)
    variances = np.array([counter.variance_at(t).nearest() for t in range(1, horizon + 1)])
    assert (np.abs(error.mean(axis=0)) < SIX * np.sqrt(variances / len(error))).all()
    squares = (error**2).mean(axis=0) / variances
    assert (np.abs(squares - 1) < SIX * (5 / len(error)) ** 0.5).all()
    assert np.isclose(variances.mean(), counter.mean_squared_error().nearest(), rtol=1e-12)
    if road == "release_many":
        assert (np.abs(squares - 2) > SIX * (5 / N) ** 0.5).all()


def test_the_scale_is_the_least_that_the_sensitivity_allows() -> None:
    def scale(noise: Any, claim: str, kind: Any = "binary") -> float:
        return FactorizationCounter(horizon=1000, kind=kind, noise=noise, claim=claim).noise.scale

    assert scale("laplace", "eps=1/2") == 20
    assert Fraction(scale("gaussian", "mu=2")) ** 2 >= Fraction(10, 4)
    assert scale("gaussian", "mu=2") == pytest.approx(10**0.5 / 2, rel=1e-15)
    assert scale("gaussian", "rho=2") == scale("laplace", "rho=2") == pytest.approx((10 / 4) ** 0.5, rel=1e-15)
    assert scale("gaussian", "eps=1, delta=1e-6") == pytest.approx(4.22468 * 10**0.5, rel=1e-5)
    assert scale("laplace", "eps=1, delta=1e-6") == 10  # the l1 scale is the smaller one
    root = Enclosure.of(SquareRootToeplitz(1000).l2_sensitivity_squared())
    assert Fraction(scale("gaussian", "mu=1", "sqrt-toeplitz")) ** 2 >= Fraction(root.lower)


def test_memory_of_the_streams() -> None:
    most: dict[str, int] = {}
    for kind in ("binary", "honaker", "smooth-binary"):
        counter = FactorizationCounter(horizon=4000, kind=kind, noise="gaussian", claim="mu=1")  # type: ignore[arg-type]
        most[kind] = 0
        for _ in range(4000):
            counter.add(1)
            most[kind] = max(most[kind], counter.live)
    assert most == {"binary": 11, "honaker": 11, "smooth-binary": 8}


def test_equal_seeds_give_equal_streams() -> None:
    def run(seed: int) -> list[float]:
        rng = np.random.default_rng(seed)
        counter = FactorizationCounter(horizon=50, kind="honaker", noise="gaussian", claim="mu=1", rng=rng)
        return [counter.add(0.5) for _ in range(50)]

    assert run(1) == run(1) != run(2)


GOOD: dict[str, Any] = {"horizon": 8, "kind": "binary", "noise": "laplace", "claim": "eps=1"}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 1.5}, "horizon"),
        ({"kind": "ternary"}, "kind"),
        ({"kind": "sqrt-toeplitz", "horizon": LONGEST + 1}, "horizon"),
        ({"noise": "uniform"}, "noise"),
        ({"noise": None}, "noise"),
        ({"claim": "mu=1"}, "claim"),
        ({"claim": RenyiDP(2, 1)}, "claim"),
        ({"claim": "rho=0"}, "rho"),
        ({"claim": "x"}, "claim"),
        ({"noise": "gaussian"}, "claim"),
        ({"noise": "gaussian", "claim": GaussianDP(0)}, "mu"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        FactorizationCounter(**(GOOD | change))
    assert caught.value.name == name


def test_bad_items_and_times_are_refused_and_change_nothing() -> None:
    steady, disturbed = (FactorizationCounter(**GOOD, rng=np.random.default_rng(0)) for _ in range(2))
    for item in (0.0, 1, 0.25, True, 1, 1, 0, 0.5):
        for bad in (1.5, -0.1, float("nan"), float("inf"), None, "1"):
            with pytest.raises(InvalidValue, match="item"):
                disturbed.add(bad)  # type: ignore[arg-type]
        assert disturbed.add(item) == steady.add(item)
    with pytest.raises(InvalidValue, match="horizon"):
        disturbed.add(1)
    for time in (0, 9):
        with pytest.raises(InvalidValue, match="time"):
            disturbed.variance_at(time)
    for stream in (np.ones(9), [2.0], [], [float("nan")]):
        with pytest.raises(InvalidValue):
            disturbed.release(stream, np.random.default_rng(0))


def test_normal_noise_from_words_has_the_normal_law(seed: int) -> None:
    make: Callable[..., NormalNoise] = NormalNoise
    values = make(size=1, scale=2.0).add(np.zeros(1), 50_000, np.random.default_rng(seed))[:, 0]
    assert kstest(values / 2.0, "norm").pvalue > 1e-9
    assert kstest(values / 2.3, "norm").pvalue < 1e-9
