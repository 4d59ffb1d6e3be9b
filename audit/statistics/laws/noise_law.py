"""Whether a sampler of noise has the law that is declared of it: a test with a stated error probability.

A few linear statistics of the noise are compared by the distance of distribution functions, which no declared law
needs to be normal for. Where a class derives from one whose sampler is known, the two samplers are compared: for two
samples of n each, P(D > t) <= e exp(-n t^2) (Wei and Dudley 2012, Theorem 1). Where only a covariance S is declared,
by solving with it, w . y with w = S^-1 v is N(0, v . w), and P(D > t) <= 2 exp(-2 n t^2) (Massart 1990). Both hold for
every law, continuous or not; the level is divided evenly among the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy

from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.numerics.arrays import Array

_MOST, _FEWEST = 20_000, 1_000
_NUMBERS = 1 << 22
_COORDINATES = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampledLaw:
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


def sampled_law(
    noise: Any, declared: type[Any] | None, moved: Array, *, error_probability: float, seed: int
) -> SampledLaw | None:
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
    samples = max(_FEWEST, min(_MOST, _NUMBERS // noise.size))
    coordinates = sorted({0, noise.size - 1, *rng.integers(0, noise.size, _COORDINATES).tolist()})
    directions = {"the worst difference": moved} if moved.any() else {}
    directions |= {f"coordinate {i}": np.eye(1, noise.size, i)[0] for i in coordinates}
    directions["a random direction"] = rng.standard_normal(noise.size)
    zeros = np.zeros(noise.size)
    p_values: dict[str, float] = {}
    if declared is not None:
        kind = declared
        first = _drawn(lambda n, r: noise.add(zeros.copy(), n, r), directions, samples, [seed, 5])
        second = _drawn(lambda n, r: kind.add(noise, zeros.copy(), n, r), directions, samples, [seed, 6])
        for name in directions:
            distance = _two_sample_distance(first[name], second[name])
            p_values[name] = min(1.0, math.exp(1.0 - samples * distance**2))
    elif hasattr(noise, "solve"):
        weights = {name: np.asarray(noise.solve(v.copy()), dtype=np.float64) for name, v in directions.items()}
        spread = {name: float(weights[name] @ v) for name, v in directions.items()}
        usable = {name: weights[name] for name in directions if 0.0 < spread[name] < math.inf}
        drawn = _drawn(lambda n, r: noise.add(zeros.copy(), n, r), usable, samples, [seed, 5])
        for name, values in drawn.items():
            distance = float(
                scipy.stats.kstest(values / math.sqrt(spread[name]), Gaussian().distribution, method="asymp").statistic
            )
            p_values[name] = min(1.0, 2.0 * math.exp(-2.0 * samples * distance**2))
    if not p_values:
        return None
    where = min(p_values, key=lambda name: p_values[name])
    adjusted = min(1.0, p_values[where] * len(p_values))
    return SampledLaw(
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


def _drawn(
    sampler: Callable[[int, np.random.Generator], Array], directions: dict[str, Array], samples: int, seed: list[int]
) -> dict[str, Array]:
    """The values of every linear statistic, drawn in chunks so that memory stays bounded."""
    if not directions:
        return {}
    rng = np.random.default_rng(seed)
    table = np.stack(list(directions.values()), axis=1)
    chunk = max(1, _NUMBERS // len(table))
    parts = [
        np.asarray(sampler(min(chunk, samples - start), rng), dtype=np.float64) @ table
        for start in range(0, samples, chunk)
    ]
    return dict(zip(directions, np.concatenate(parts).T, strict=True))
