"""What the tables and the panels of a comparison of counters share: the errors, and the grids of T, t and delta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from dpverdict.balls import Exact, Real
from dpverdict.mechanisms.counter_crossover import crossover_delta, log10
from dpverdict.mechanisms.counter_errors import (
    CounterError,
    binary_error,
    honaker_error,
    smooth_error,
    square_root_error,
    tree_error,
)

NAMES: Final = tuple(f"{name}, Gaussian" for name in ("binary", "Honaker", "smooth binary", "square root"))
"""The factorisations, in the order of `errors`."""

MOST_STEPS: Final = 300
"""How many time steps of a long stream are drawn, at most."""


@lru_cache(maxsize=512)
def errors(horizon: int, arity: int | Literal["best"]) -> tuple[CounterError, ...]:
    """The Laplace tree, and the factorisations under Gaussian noise."""
    return (
        tree_error(horizon, arity),
        *(make(horizon, "gaussian") for make in (binary_error, honaker_error, smooth_error)),
        square_root_error(horizon),
    )


def power_horizons(horizon: int, points: int) -> list[int]:
    """About so many powers of two up to the horizon, evenly spaced, and the horizon."""
    last = horizon.bit_length() - 1
    powers = np.linspace(min(3, last), last, points).round()
    return sorted({*(1 << int(power) for power in powers), horizon})


def time_steps(horizon: int) -> list[int]:
    """All steps of a short stream, about 300 of a long one, evenly spaced on a logarithmic scale, with 1 and T."""
    if horizon <= MOST_STEPS:
        return list(range(1, horizon + 1))
    spaced = np.exp(np.linspace(0.0, math.log(horizon), MOST_STEPS)).round()
    return sorted({min(int(t), horizon) for t in spaced} | {horizon})


def smooth_steps(horizon: int) -> list[int]:
    """A tenth of `time_steps`, and all of the first 20: enough of a variance that is smooth in t, and takes longer."""
    steps = time_steps(horizon)
    return sorted({*steps[:20], *steps[::10], horizon})


def delta_powers(tree: CounterError, others: Sequence[CounterError], epsilon: Exact, delta: Exact) -> list[int]:
    """Exponents of ten from above the largest crossover to below the smallest, with the delta of the comparison."""
    crossings = [log10(crossover_delta(tree.mean, other.mean, epsilon)).nearest() for other in others]
    own = log10(Real.of(delta)).nearest()
    top = min(-1, math.ceil(max(*crossings, own)) + 1)
    bottom = max(math.floor(min(*crossings, own)) - 2, -290)
    step = max(1, (top - bottom) // 12)
    return list(range(top, bottom - 1, -step))
