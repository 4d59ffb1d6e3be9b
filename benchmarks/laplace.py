"""The profile of m Laplace coordinates with equal shifts: certified, and by composing dp_accounting's distributions.

Run: OMP_NUM_THREADS=1 python benchmarks/laplace.py

All routes answer the same question in one process and one thread: a lower and an upper bound on delta(1), where the
shift is chosen so that delta(1) is about 1e-6. The peer builds its optimistic and its pessimistic distribution of one
coordinate at each interval and composes it m times; here the loss is built anew for every run, so nothing is kept
between runs. The best of several runs is printed. Errors are relative to the certified endpoints.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dp_accounting.pld import privacy_loss_distribution
from rich.console import Console
from rich.table import Table

from dpverdict.audit.losses.laplace.loss import LaplaceLoss

CASES = (
    (10, "0.10010219105527815"),
    (100, "0.024103655652747438"),
    (1000, "0.007505127833500739"),
    (10_000, "0.0023683103154937155"),
)
INTERVALS = (1e-4, 1e-5)
EPSILON = 1.0

Bounds = tuple[float, float]


def peer(m: int, shift: str, interval: float) -> Bounds:
    """dp_accounting's optimistic and pessimistic distributions, composed m times and read."""
    values = []
    for pessimistic in (False, True):
        one = privacy_loss_distribution.from_laplace_mechanism(
            1 / float(shift),
            value_discretization_interval=interval,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
        )
        values.append(float(one.self_compose(m).get_delta_for_epsilon(EPSILON)))
    return values[0], values[1]


def certified(m: int, shift: str) -> Bounds:
    """Both endpoints from ball arithmetic."""
    enclosure = LaplaceLoss.equal(m, shift).certified_delta(EPSILON)
    return enclosure.lower, enclosure.upper


def best(run: Callable[[], Bounds], repetitions: int) -> tuple[float, Bounds]:
    """The shortest wall-clock time of several runs in milliseconds, and the bounds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        bounds = run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times), bounds


def main() -> None:
    """Measure and print."""
    table = Table(title=f"two-sided bounds on delta({EPSILON:g}), m Laplace coordinates, one epsilon")
    for column in ("m", "route", "ms", "speed", "lower error", "upper error", "relative gap", "gap ratio"):
        table.add_column(column, justify="left" if column == "route" else "right")
    for m, shift in CASES:
        ours, (lower, upper) = best(lambda m=m, shift=shift: certified(m, shift), 5)  # type: ignore[misc]
        gap = (upper - lower) / lower
        for interval in INTERVALS:
            theirs, (low, high) = best(lambda m=m, shift=shift, h=interval: peer(m, shift, h), 3)  # type: ignore[misc]
            name = f"dp_accounting, interval {interval:g}"
            errors = (f"{(low - lower) / lower:+.1e}", f"{(high - upper) / upper:+.1e}")
            wide = (high - low) / lower
            table.add_row(f"{m}", name, f"{theirs:.1f}", "1", *errors, f"{wide:.1e}", "1")
            ratio, tighter = f"{theirs / ours:.1f}", f"{wide / gap:.1e}"
            table.add_row("", "dpverdict, certified", f"{ours:.1f}", ratio, "certain", "certain", f"{gap:.1e}", tighter)
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    main()
