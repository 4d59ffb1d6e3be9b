"""Samples for 80 % power, by simulation, with the standard error of the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Size:
    """Samples for 80 % power, and one standard error of its logarithm; NaN without a number."""

    samples: float
    error: float = math.nan

    def __str__(self) -> str:
        if math.isnan(self.samples):
            return "n/a"
        return f"{self.samples:,.0f} +-{self.error:.0%}" if math.isfinite(self.samples) else "none"


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
