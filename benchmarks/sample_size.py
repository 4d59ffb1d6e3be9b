"""Samples for 80 % power, by simulation, with the standard error of the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Size:
    """Samples for 80 % power, and one standard error of its logarithm; NaN without a number."""

    samples: float
    error: float = math.nan

    beyond: float = math.nan
    """The largest size that was tried, where the samples are infinite."""

    def __str__(self) -> str:
        if math.isnan(self.samples):
            return "n/a"
        if math.isfinite(self.samples):
            return f"{self.samples:,.0f} +-{self.error:.0%}"
        return "none" if math.isnan(self.beyond) else f"> {self.beyond:,.0f}"


def n80(refutes: Callable[[int, int], bool], near: float, runs: int, most: float) -> Size:
    """A weighted probit line in log N through four sizes around a first guess; infinite beyond ``most``."""
    found: dict[int, tuple[int, int]] = {}

    def power(size: int, runs: int) -> float:
        hits, tried = found.get(size, (0, 0))
        seed = 1_000_000 * (len(found) + 1)
        if tried < runs:
            hits += sum(refutes(size, seed + run) for run in range(tried, runs))
            found[size] = hits, runs
        return found[size][0] / found[size][1]

    pilot, size = max(runs // 8, 20), near
    while power(math.ceil(size), pilot) < 0.6 and size <= most:
        size *= 1.5
    if size > most:
        return Size(math.inf)
    while power(math.ceil(size), pilot) > 0.92 and size > 60:
        size /= 1.3
    # By the slope of a normal approximation: log N moves the quantile by about half of its sum with the level's.
    at = size * math.exp((0.84 - float(stats.norm.ppf(min(max(power(math.ceil(size), pilot), 0.4), 0.95)))) / 1.25)
    for factor in (0.75, 0.9, 1.1, 1.3):
        power(max(math.ceil(at * factor), 50), runs)
    sizes = np.log([n for n, (_, tried) in found.items() if tried == runs])
    rates = np.array([(k + 0.5) / (tried + 1) for k, tried in found.values() if tried == runs])
    probits = stats.norm.ppf(rates)
    weights = stats.norm.pdf(probits) / np.sqrt(rates * (1 - rates) / runs)  # 1 over the standard error of a probit
    design = np.column_stack([np.ones_like(sizes), sizes]) * weights[:, None]
    (offset, slope), *_ = np.linalg.lstsq(design, probits * weights, rcond=None)
    solved = (float(stats.norm.ppf(0.8)) - offset) / slope
    gradient = np.array([1.0, solved]) / slope
    return Size(math.exp(solved), math.sqrt(gradient @ np.linalg.inv(design.T @ design) @ gradient))


FEWEST: Final = 50
"""The least size that is tried."""
UP: Final = 4
"""Times as far up after a miss as down after a hit: a stair that comes to rest where four of five are hits."""
FIRST_STEP: Final = 0.5
LAST_STEP: Final = 0.08
SLOPES: Final = (0.7, 1.0, 1.4, 2.0)
"""Of the quantile of the power in the logarithm of the size; sqrt(N) through 80 % at 5 % has 1.24."""
GIVEN_UP: Final = 6
"""Misses at the largest size, without a hit there, after which nothing more is tried."""


def n80_by_steps(refutes: Callable[[int, int], bool], near: float, runs: int, most: float) -> Size:
    """The same by a stair: after a hit a smaller size, after a miss a larger one; then the likeliest probit line.

    Every run is at a size near the one that is sought, so that a quarter of the runs of `n80` tells as much.

    Args:
        refutes: of a size and a seed.
        near: where the stair begins.
        runs: in all; those of the first half of the reversals only find the region.
        most: the largest size; infinite where `GIVEN_UP` runs miss there, or the line passes 80 % beyond it.
    """
    at, step, before = math.log(min(max(near, FEWEST), most)), FIRST_STEP, None
    tried: list[tuple[float, bool]] = []
    while len(tried) < runs:
        size = min(max(round(math.exp(at)), FEWEST), math.floor(most))
        hit = refutes(size, 1_000_000 + len(tried))
        tried.append((math.log(size), hit))
        at_most = [one for x, one in tried if x >= math.log(math.floor(most)) - 1e-9]
        if len(at_most) >= GIVEN_UP and not any(at_most):
            return Size(math.inf, beyond=most)
        if before is not None and hit != before:
            step = max(step / 1.4, LAST_STEP)
        before = hit
        at = min(max(at + (-step if hit else UP * step) / 2, math.log(FEWEST)), math.log(most))
    sizes, hits = np.array([x for x, _ in tried]), np.array([hit for _, hit in tried])
    centres = np.linspace(math.log(FEWEST) - 1, math.log(most) + 1, 2001)
    best = (-math.inf, 0.0, 0.0)
    for slope in SLOPES:
        power = stats.norm.cdf(slope * (sizes - centres[:, None]) + stats.norm.ppf(0.8))
        power = 0.01 + 0.98 * power  # a chance hit or miss far from the line does not move it
        likelihood = np.log(np.where(hits, power, 1 - power)).sum(axis=1)
        i = int(likelihood.argmax())
        weights = np.exp(likelihood - likelihood[i])
        spread = math.sqrt(float(np.average((centres - centres[i]) ** 2, weights=weights)))
        best = max(best, (float(likelihood[i]), float(centres[i]), spread))
    samples = math.exp(best[1])
    return Size(math.inf, beyond=most) if samples > most else Size(max(samples, FEWEST), best[2])
