"""Tests of whether a sampler of noise has the law that it should have, each with a stated error probability.

*Against a declared law* (`check_declared_law`). A few linear statistics of the noise are compared by the distance of
distribution functions, which no declared law needs to be normal for. Where a class derives from one whose sampler is
known, the two samplers are compared: for two samples of n each, P(D > t) <= e exp(-n t^2) (Wei and Dudley 2012,
Theorem 1). Where only a covariance S is declared, by solving with it, w . y with w = S^-1 v is N(0, v . w), and
P(D > t) <= 2 exp(-2 n t^2) (Massart 1990). Both hold for every law, continuous or not.

*Of two samplers of normal vectors* (`check_equal_normal_laws`). Two normal laws are equal iff all their linear
statistics have the same mean and variance. A few linear statistics are compared by Student's t (means) and Fisher's F
(variances), whose laws are exact when both samplers are normal with equal parameters, and by the distance of
distribution functions, which notices a law that is not normal.

The level is divided evenly among all tests (Bonferroni), so the declared error probability is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import scipy

from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

Sampler = Callable[[int, np.random.Generator], Array]
"""(trials, rng) -> array of shape (trials, m)."""
Projection = Callable[[Array], Array]
"""Array of shape (trials, m) -> array of shape (trials,), linear."""

_MOST_SAMPLES: Final = 20_000
_FEWEST_SAMPLES: Final = 1_000
_NUMBERS_AT_ONCE: Final = 1 << 22
_VECTOR_NUMBERS_AT_ONCE: Final = 1 << 21
_COORDINATES: Final = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLawTest:
    """The outcome: ``rejected`` with at most ``error_probability`` when the sampler has the declared law.

    Attributes:
        rejected: whether some statistic is farther from its declared law than that probability allows.
        p_value: the smallest p-value times the number of tests, at most 1.
        where: the statistic that gave it.
        tests: the number of tests.
        samples: draws of the sampler.
        error_probability: of rejecting the declared law.
    """

    rejected: bool
    p_value: float
    where: str
    tests: int
    samples: int
    error_probability: float


def check_declared_law(
    noise: Any, declared: type[Any] | None, moved: Array, *, error_probability: float, seed: int
) -> DeclaredLawTest | None:
    """Test the sampler of a noise against its declared law; None where nothing says what that is.

    Args:
        noise: has ``size`` and ``add(statistic, trials, rng)``.
        declared: the class whose ``add`` samples the declared law from the parameters of ``noise``; None if the law is
            declared by ``noise.solve`` alone.
        moved: a direction to look at, shape (size,): the difference of the worst neighbours.
        error_probability: of rejecting a sampler that has the declared law.
        seed: of both samplers.
    """
    rng = np.random.default_rng([seed, 4])
    samples = max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, _NUMBERS_AT_ONCE // noise.size))
    coordinates = sorted({0, noise.size - 1, *rng.integers(0, noise.size, _COORDINATES).tolist()})
    directions = {"the worst difference": moved} if moved.any() else {}
    directions |= {f"coordinate {i}": np.eye(1, noise.size, i)[0] for i in coordinates}
    directions["a random direction"] = rng.standard_normal(noise.size)
    zeros = np.zeros(noise.size)
    p_values: dict[str, float] = {}
    if declared is not None:
        kind = declared
        first = _draw_statistics(lambda n, r: noise.add(zeros.copy(), n, r), directions, samples, [seed, 5])
        second = _draw_statistics(lambda n, r: kind.add(noise, zeros.copy(), n, r), directions, samples, [seed, 6])
        for name in directions:
            distance = _two_sample_distance(first[name], second[name])
            p_values[name] = min(1.0, math.exp(1.0 - samples * distance**2))
    elif hasattr(noise, "solve"):
        weights = {name: np.asarray(noise.solve(v.copy()), dtype=np.float64) for name, v in directions.items()}
        spread = {name: float(weights[name] @ v) for name, v in directions.items()}
        usable = {name: weights[name] for name in directions if 0.0 < spread[name] < math.inf}
        drawn = _draw_statistics(lambda n, r: noise.add(zeros.copy(), n, r), usable, samples, [seed, 5])
        for name, values in drawn.items():
            distance = float(
                scipy.stats.kstest(values / math.sqrt(spread[name]), Gaussian().distribution, method="asymp").statistic
            )
            p_values[name] = min(1.0, 2.0 * math.exp(-2.0 * samples * distance**2))
    if not p_values:
        return None
    where = min(p_values, key=lambda name: p_values[name])
    adjusted = min(1.0, p_values[where] * len(p_values))
    return DeclaredLawTest(
        rejected=adjusted <= error_probability,
        p_value=adjusted,
        where=where,
        tests=len(p_values),
        samples=samples,
        error_probability=error_probability,
    )


def _two_sample_distance(x: Array, y: Array) -> float:
    """The largest distance of two empirical distribution functions, ties included."""
    points = np.sort(np.concatenate([x, y]))
    below = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in (x, y)]
    return float(np.abs(below[0] - below[1]).max())


def _draw_statistics(sampler: Sampler, directions: dict[str, Array], samples: int, seed: list[int]) -> dict[str, Array]:
    """The values of every linear statistic, drawn in chunks so that memory stays bounded."""
    if not directions:
        return {}
    rng = np.random.default_rng(seed)
    table = np.stack(list(directions.values()), axis=1)
    chunk = max(1, _NUMBERS_AT_ONCE // len(table))
    parts = [
        np.asarray(sampler(min(chunk, samples - start), rng), dtype=np.float64) @ table
        for start in range(0, samples, chunk)
    ]
    return dict(zip(directions, np.concatenate(parts).T, strict=True))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EqualLawsTest:
    """The outcome: ``rejected`` with at most the declared probability when the laws are equal.

    Attributes:
        rejected: whether some test rejected at its share of the error probability.
        p_value: the smallest p-value times the number of tests, at most 1.
        where: the statistic and the test that gave it.
        tests: the number of tests.
    """

    rejected: bool
    p_value: float
    where: str
    tests: int


def check_equal_normal_laws(
    first: Sampler,
    second: Sampler,
    projections: Mapping[str, Projection],
    *,
    samples: int,
    error_probability: float,
    seed: int,
) -> EqualLawsTest:
    """Test whether two samplers have the same law, from ``samples`` fresh vectors of each.

    Raises:
        InvalidValue: fewer than 100 samples, or an error probability outside (0, 1).
    """
    if samples < 100:
        raise InvalidValue("samples", samples, "at least 100", "ask for more samples")
    if not 0.0 < error_probability < 1.0:
        raise InvalidValue("error_probability", error_probability, "strictly between 0 and 1", "for example 1e-6")
    left = _project_samples(first, projections, samples, np.random.default_rng([seed, 2]))
    right = _project_samples(second, projections, samples, np.random.default_rng([seed, 3]))
    p_values: dict[str, float] = {}
    for name, x, y in zip(projections, left, right, strict=True):
        p_values[f"{name}: means"] = _equal_means(x, y)
        p_values[f"{name}: variances"] = _variance_ratio(x, y)
        distance = float(scipy.stats.ks_2samp(x, y, method="asymp").statistic)
        p_values[f"{name}: distribution"] = min(1.0, math.exp(1.0 - samples * distance**2))
    where = min(p_values, key=lambda name: p_values[name])
    adjusted = min(1.0, p_values[where] * len(p_values))
    return EqualLawsTest(rejected=adjusted <= error_probability, p_value=adjusted, where=where, tests=len(p_values))


def _equal_means(x: Array, y: Array) -> float:
    """The two-sided p-value of Student's t test; 1 if a sample is constant, which its variance shows already."""
    scale = 1.0 + float(np.max(np.abs(x))) + float(np.max(np.abs(y)))
    if min(np.ptp(x), np.ptp(y)) < 1e-9 * scale:
        return 1.0
    return float(scipy.stats.ttest_ind(x, y).pvalue)


def _variance_ratio(x: Array, y: Array) -> float:
    """The two-sided p-value of Fisher's F test; 0 if exactly one of the two is constant."""
    a, b = float(np.var(x, ddof=1)), float(np.var(y, ddof=1))
    if a == 0.0 or b == 0.0:
        return 1.0 if a == b else 0.0
    law = scipy.stats.f(len(x) - 1, len(y) - 1)
    return min(1.0, 2.0 * float(min(law.cdf(a / b), law.sf(a / b))))


def _project_samples(
    sampler: Sampler, projections: Mapping[str, Projection], samples: int, rng: np.random.Generator
) -> list[Array]:
    """One array of ``samples`` values per projection, drawn in chunks so that memory stays bounded."""
    size = sampler(1, rng).shape[1]
    chunk = max(1, _VECTOR_NUMBERS_AT_ONCE // size)
    parts: list[list[Array]] = [[] for _ in projections]
    for start in range(0, samples, chunk):
        vectors = sampler(min(chunk, samples - start), rng)
        for kept, project in zip(parts, projections.values(), strict=True):
            kept.append(project(vectors))
    return [np.concatenate(kept) for kept in parts]
