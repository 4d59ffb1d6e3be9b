"""Releases and exact privacy parameters of a million queries: what they cost beside drawing the noise itself.

Run: OMP_NUM_THREADS=1 python benchmarks/mechanisms.py

A release needs d + 1 normal variates, so the time to draw and add them with NumPy is the yardstick, in the same process
and thread. The exact worst case and the exact parameter of a random record are timed alone. Best of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.mechanisms import CorrelatedGaussian

DIM = 10**6
REPETITIONS = 15

Array = NDArray[np.float64]


def best_time(run: Callable[[], object], repetitions: int = REPETITIONS) -> float:
    """The shortest wall-clock time of several runs, in milliseconds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(1)
    mechanism = CorrelatedGaussian(dim=DIM, mu=1)
    dataset = rng.random((1, DIM))
    statistic, record = mechanism.embed(dataset), dataset[0]

    def draw_and_add() -> Array:
        total: Array = statistic + mechanism.independent_scale * rng.standard_normal(DIM + 1)
        return total

    yardstick = best_time(draw_and_add)
    rows = {
        "draw d + 1 normals and add them (NumPy)": yardstick,
        "add the noise of Algorithm 1": best_time(lambda: mechanism.noise.add(statistic, 1, rng)),
        "release of one record (checks and sums included)": best_time(lambda: mechanism.release(dataset, rng)),
        "worst_case": best_time(lambda: worst_case(mechanism)),
        "neighbour_loss of a random record": best_time(lambda: neighbour_loss(mechanism, record)),
        "neighbour_loss of a binary record": best_time(lambda: neighbour_loss(mechanism, np.round(record))),
    }
    table = Table(title=f"correlated-gaussian, d = {DIM}, best of {REPETITIONS}")
    for column in ("what", "ms", "ratio"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for what, milliseconds in rows.items():
        table.add_row(what, f"{milliseconds:.1f}", f"{milliseconds / yardstick:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
