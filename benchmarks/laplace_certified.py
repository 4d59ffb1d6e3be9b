"""Certified delta of m equal Laplace coordinates, from 2 to 100 000 of them and out to 1e-303. No peer has these.

Run: OMP_NUM_THREADS=1 python benchmarks/laplace_certified.py

Every run builds the loss anew, so nothing is kept between runs; the best of several is printed (of one for large m).
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from dpverdict.audit.losses.laplace.loss import LaplaceLoss

SHIFT = 0.007505127833500739  # of 1000 coordinates with delta(1) = 1e-6
LARGE_SCALE = 4.222419644325759  # the scale, over the l2 norm of the shift, of 10 000 coordinates
CASES: list[tuple[int, str | float, str]] = [
    (2, "0.7", "0.5"),
    (3, "0.6", "0.5"),
    (10, "0.10010219105527815", "1"),
    (100, "0.024103655652747438", "1"),
    *((1000, SHIFT, epsilon) for epsilon in ("1", "3", "5", "6", "7", "7.5")),
    (10_000, 1 / (100 * LARGE_SCALE), "1"),
    (100_000, 1 / (math.sqrt(100_000) * LARGE_SCALE), "1"),
]


def best(m: int, shift: str | float, epsilon: str) -> tuple[float, LaplaceLoss]:
    """The shortest time of a certified value in milliseconds, and the loss."""
    times = []
    for _ in range(1 if m > 10_000 else 3):
        start = time.perf_counter()
        loss = LaplaceLoss.equal(m, shift)
        loss.certified_delta(epsilon)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times), loss


def table(console: Console) -> None:
    """Measure and print."""
    rows = Table(title="m equal Laplace coordinates: delta(epsilon), certified")
    for column in ("m", "shift", "epsilon", "delta", "width", "ms"):
        rows.add_column(column, justify="right")
    for m, shift, epsilon in CASES:
        elapsed, loss = best(m, shift, epsilon)
        value = loss.certified_delta(epsilon)
        width = f"{(value.upper - value.lower) / value.upper:.0e}"
        shown = f"{elapsed:.0f}" if elapsed >= 100 else f"{elapsed:.3g}"
        rows.add_row(str(m), f"{float(Fraction(shift)):.6g}", epsilon, f"{value.lower:.10g}", width, shown)
    console.print(rows)


if __name__ == "__main__":
    table(Console(width=100))
