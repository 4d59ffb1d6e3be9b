"""A two-sample test of whether two samplers of multivariate normal vectors have the same law.

Two normal laws are equal iff all their linear statistics have the same mean and variance. A few linear statistics are
compared by Student's t (means) and Fisher's F (variances), whose laws are exact when both samplers are normal with
equal parameters, and by the Kolmogorov-Smirnov distance, which notices a law that is not normal and has the
distribution-free bound P(D > t) <= e exp(-n t^2) for two samples of n >= 4 each (Wei and Dudley 2012, Theorem 1). The
level is divided evenly among all tests (Bonferroni), so the declared error probability is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

Sampler = Callable[[int, np.random.Generator], Array]
"""(trials, rng) -> array of shape (trials, m)."""
Projection = Callable[[Array], Array]
"""Array of shape (trials, m) -> array of shape (trials,), linear."""

_CHUNK = 1 << 21  # numbers held at once


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SameLaw:
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


def same_normal_law(
    first: Sampler,
    second: Sampler,
    projections: Mapping[str, Projection],
    *,
    samples: int,
    error_probability: float,
    seed: int,
) -> SameLaw:
    """Test whether two samplers have the same law, from ``samples`` fresh vectors of each.

    Raises:
        InvalidValue: fewer than 100 samples, or an error probability outside (0, 1).
    """
    if samples < 100:
        raise InvalidValue("samples", samples, "at least 100", "ask for more samples")
    if not 0.0 < error_probability < 1.0:
        raise InvalidValue("error_probability", error_probability, "strictly between 0 and 1", "for example 1e-6")
    left = _statistics(first, projections, samples, np.random.default_rng([seed, 2]))
    right = _statistics(second, projections, samples, np.random.default_rng([seed, 3]))
    p_values: dict[str, float] = {}
    for name, x, y in zip(projections, left, right, strict=True):
        p_values[f"{name}: means"] = _equal_means(x, y)
        p_values[f"{name}: variances"] = _variance_ratio(x, y)
        distance = float(scipy.stats.ks_2samp(x, y, method="asymp").statistic)
        p_values[f"{name}: distribution"] = min(1.0, math.exp(1.0 - samples * distance**2))
    where = min(p_values, key=lambda name: p_values[name])
    adjusted = min(1.0, p_values[where] * len(p_values))
    return SameLaw(rejected=adjusted <= error_probability, p_value=adjusted, where=where, tests=len(p_values))


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


def _statistics(
    sampler: Sampler, projections: Mapping[str, Projection], samples: int, rng: np.random.Generator
) -> list[Array]:
    """One array of ``samples`` values per projection, drawn in chunks so that memory stays bounded."""
    size = sampler(1, rng).shape[1]
    chunk = max(1, _CHUNK // size)
    parts: list[list[Array]] = [[] for _ in projections]
    for start in range(0, samples, chunk):
        vectors = sampler(min(chunk, samples - start), rng)
        for kept, project in zip(parts, projections.values(), strict=True):
            kept.append(project(vectors))
    return [np.concatenate(kept) for kept in parts]
