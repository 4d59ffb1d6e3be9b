"""The two-sample test: it accepts one law, tells means, variances, correlations and shapes apart, and checks its input.

Error probability ERROR per test; the alternatives are far enough for SAMPLES releases to show them for any seed.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.statistics import sampler_tests
from dpverdict.audit.statistics.sampler_tests import check_equal_normal_laws
from dpverdict.errors import InvalidValue

Array = NDArray[np.float64]
Sampler = Callable[[int, np.random.Generator], Array]

ERROR = 1e-9
SAMPLES = 5000
PROJECTIONS = {"first": lambda y: y[:, 0], "sum": lambda y: y.sum(axis=1), "gap": lambda y: y[:, 0] - y[:, 1]}


def normal(mean: float = 0.0, scale: float = 1.0, shared: float = 0.0) -> Sampler:
    def sample(trials: int, rng: np.random.Generator) -> Array:
        return mean + scale * rng.standard_normal((trials, 2)) + shared * rng.standard_normal((trials, 1))

    return sample


def laplace(trials: int, rng: np.random.Generator) -> Array:
    return rng.laplace(scale=math.sqrt(0.5), size=(trials, 2))  # variance 1


def constant(value: float) -> Sampler:
    return lambda trials, rng: np.full((trials, 2), value)


def run(first: Sampler, second: Sampler, seed: int, **options: Any) -> sampler_tests.EqualLawsTest:
    settings: dict[str, Any] = {"samples": SAMPLES, "error_probability": ERROR, "seed": seed} | options
    return check_equal_normal_laws(first, second, PROJECTIONS, **settings)


def test_one_law_is_accepted(seed: int) -> None:
    result = run(normal(), normal(), seed)
    assert not result.rejected
    assert result.tests == 9
    assert result.p_value > ERROR
    assert run(normal(), normal(), seed) == result
    assert run(normal(), normal(), seed + 1) != result


@pytest.mark.parametrize(
    ("other", "where"),
    [
        (normal(mean=0.2), "means"),
        (normal(scale=1.2), "variances"),
        (normal(scale=0.8, shared=0.6), "variances"),  # the same variance of each coordinate, correlated
        (laplace, "distribution"),
        (constant(0.0), "variances"),
    ],
    ids=["mean", "variance", "correlation", "shape", "constant"],
)
def test_another_law_is_rejected_by_the_part_that_differs(other: Sampler, where: str, seed: int) -> None:
    samples = SAMPLES if where != "distribution" else 20_000  # the shapes of equal mean and variance are the closest
    for first, second in ((normal(), other), (other, normal())):
        result = run(first, second, seed, samples=samples)
        assert result.rejected
        assert result.where.endswith(where)


def test_constants_are_equal_or_not() -> None:
    assert not run(constant(1.0), constant(1.0), 0).rejected
    assert run(constant(1.0), constant(2.0), 0).rejected


def test_samples_are_drawn_in_chunks_whose_size_bounds_the_memory(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    drawn: list[int] = []

    def counting(trials: int, rng: np.random.Generator) -> Array:
        drawn.append(trials)
        return normal()(trials, rng)

    monkeypatch.setattr(sampler_tests, "_VECTOR_NUMBERS_AT_ONCE", 100)
    run(counting, normal(), seed, samples=1234)
    assert max(drawn) == 50
    assert sum(drawn) == 1 + 1234  # one more to learn the shape


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"samples": 99}, "samples"),
        ({"error_probability": 0.0}, "error_probability"),
        ({"error_probability": 1.0}, "error_probability"),
        ({"error_probability": math.nan}, "error_probability"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}="):
        run(normal(), normal(), 0, **options)
