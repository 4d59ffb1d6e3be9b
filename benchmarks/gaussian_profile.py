"""The Gaussian profile at 1000 epsilons: certified, in float64, and by dp_accounting's privacy loss distribution.

Run: OMP_NUM_THREADS=1 python benchmarks/gaussian_profile.py

All routes answer the same question in one process and one thread: delta at 1000 epsilons from 0 to 10, for mu = 1. The
best of several runs is printed, with the largest relative error against the certified endpoints.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpverdict.audit.losses.closed_form import GaussianLoss

MU = 1.0
EPSILONS = np.linspace(0.0, 10.0, 1000)

Array = NDArray[np.float64]


def peer() -> Array:
    """dp_accounting's loss distribution at its default interval, built and read."""
    pld = privacy_loss_distribution.from_gaussian_mechanism(1 / MU)
    return np.asarray(pld.get_delta_for_epsilon(EPSILONS), dtype=np.float64)


def certified() -> tuple[Array, Array]:
    """Both endpoints of every value, from ball arithmetic."""
    enclosures = GaussianLoss(MU).certified_delta(EPSILONS)
    return enclosures.lower, enclosures.upper


def fast() -> Array:
    """The float64 route."""
    return GaussianLoss(MU).delta(EPSILONS)


def best_time(run: Callable[[], object], repetitions: int) -> float:
    """The shortest wall-clock time of several runs, in milliseconds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def largest_error(values: Array, lower: Array, upper: Array) -> float:
    """The largest relative distance of the values from their certified interval."""
    distance = np.maximum(np.maximum(lower - values, values - upper), 0.0)
    return float((distance / lower).max())


def main() -> None:
    """Measure and print."""
    lower, upper = certified()
    times = {"peer": best_time(peer, 5), "certified": best_time(certified, 20), "fast": best_time(fast, 200)}
    errors = {"peer": largest_error(peer(), lower, upper), "fast": largest_error(fast(), lower, upper)}
    width = float(((upper - lower) / lower).max())
    table = Table(title="delta(epsilon), mu = 1, 1000 epsilons in [0, 10]")
    for column in ("route", "ms", "speed", "largest relative error"):
        table.add_column(column, justify="left" if column == "route" else "right")
    table.add_row("dp_accounting PLD", f"{times['peer']:.1f}", "1", f"{errors['peer']:.1e}")
    speed = f"{times['peer'] / times['certified']:.0f}"
    table.add_row("dpverdict, certified", f"{times['certified']:.2f}", speed, f"certain; width {width:.1e}")
    speed = f"{times['peer'] / times['fast']:.0f}"
    table.add_row("dpverdict, float64", f"{times['fast']:.3f}", speed, f"{errors['fast']:.1e}")
    Console().print(table)


if __name__ == "__main__":
    main()
