"""Two-sided lattice distributions against dp_accounting's, side by side in one process and one thread.

Run: OMP_NUM_THREADS=1 python benchmarks/pld.py

* one Gaussian loss at the default interval 1e-4: building both sides, and how close they are to the certified profile;
* 100 Gaussian losses of mu = 0.1: the optimistic bound at epsilon = 1;
* 1000 Laplace coordinates: both sides at epsilon = 1, at an upper error at most the peer's;
* trade-off curves read from the distributions: where they are on the wrong side of the certified curve.

Time ratios are ours over the peer's. One call builds both of our sides: its time is set against both of theirs, and, in
the row of the optimistic one, against their optimistic one alone. Times are the best of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as peer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.finite.pld import from_pld
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.bounds import compose_on_lattice
from dpverdict.audit.losses.lattice.discretise import aligned_interval

INTERVAL = 1e-4
EPSILONS = np.linspace(0.0, 10.0, 1000)
ALPHAS = np.linspace(1e-4, 1 - 1e-4, 9000)
SHIFT = 0.007505127833500739  # 1000 coordinates of this shift have delta(1) = TRUTH
TRUTH = 1.00000000000000661e-6


def timed(run: Callable[[], Any], repetitions: int) -> tuple[float, Any]:
    """The shortest wall-clock time of several runs in milliseconds, and the last result."""
    times, result = [], None
    for _ in range(repetitions):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times), result


def single(console: Console) -> None:
    """One Gaussian loss."""
    truth = GaussianLoss(1).certified_delta(EPSILONS)
    ours_time, pair = timed(lambda: GaussianLoss(1).to_pld(INTERVAL), 3)
    upper_time, upper = timed(lambda: peer.from_gaussian_mechanism(1.0, value_discretization_interval=INTERVAL), 3)
    lower_time, lower = timed(
        lambda: peer.from_gaussian_mechanism(
            1.0, pessimistic_estimate=False, use_connect_dots=False, value_discretization_interval=INTERVAL
        ),
        3,
    )
    table = Table(title=f"one Gaussian loss, mu = 1, interval {INTERVAL:g}, 1000 epsilons in [0, 10]")
    for column in ("distribution", "ms", "time ratio", "median relative error", "largest", "wrong side"):
        table.add_column(column, justify="left" if column == "distribution" else "right")
    their_time = upper_time + lower_time
    rows = (
        ("dp_accounting pessimistic", f"{upper_time:.0f}", "", upper, 1),
        ("dp_accounting optimistic", f"{lower_time:.0f}", "", lower, -1),
        ("dpverdict pessimistic", f"{ours_time:.0f} for both", f"{ours_time / their_time:.2f}", pair.pessimistic, 1),
        ("dpverdict optimistic", "", f"{ours_time / lower_time:.2f} of one", pair.optimistic, -1),
    )
    for name, elapsed, ratio, pld, side in rows:
        values = pld.get_delta_for_epsilon(EPSILONS)
        wrong = values < truth.upper if side > 0 else values > truth.lower
        errors = np.abs(values / truth.lower - 1)
        table.add_row(name, elapsed, ratio, f"{np.median(errors):.1e}", f"{errors.max():.1e}", f"{wrong.mean():.1%}")
    console.print(table)


def their_optimistic_gaussians() -> float:
    """dp_accounting's optimistic bound on delta(1) of 100 Gaussian losses of mu = 0.1."""
    pld = peer.from_gaussian_mechanism(
        10.0, pessimistic_estimate=False, use_connect_dots=False, value_discretization_interval=INTERVAL
    )
    return float(pld.self_compose(100).get_delta_for_epsilon(1.0))


def our_optimistic_gaussians() -> float:
    """The same from the lattice, with both sides built."""
    return compose_on_lattice([(GaussianLoss("0.1").tails, 100)], INTERVAL).delta_lower(1)


def composed_gaussians(console: Console) -> None:
    """100 Gaussian losses, which are one of mu = 1."""
    truth = GaussianLoss(1).delta(1)

    def inside_their_class() -> float:
        optimistic = GaussianLoss("0.1").to_pld(INTERVAL).optimistic
        return float(optimistic.self_compose(100).get_delta_for_epsilon(1.0))

    their_time, their_value = timed(their_optimistic_gaussians, 3)
    table = Table(title=f"optimistic bound on delta(1): 100 Gaussian losses of mu = 0.1, interval {INTERVAL:g}")
    for column in ("route", "ms", "time ratio", "relative gap", "tighter by"):
        table.add_column(column, justify="left" if column == "route" else "right")
    gap = 1 - their_value / truth
    table.add_row("dp_accounting", f"{their_time:.0f}", "1", f"{gap:.1e}", "1")
    for name, run in (
        ("dpverdict, both sides built", our_optimistic_gaussians),
        ("to_pld, composed by dp_accounting", inside_their_class),
    ):
        elapsed, value = timed(run, 3)
        own = 1 - value / truth
        table.add_row(name, f"{elapsed:.0f}", f"{elapsed / their_time:.2f}", f"{own:.1e}", f"{gap / own:.0f}")
    console.print(table)


def their_laplace_product() -> tuple[float, float]:
    """dp_accounting's bounds on delta(1) of 1000 Laplace coordinates."""
    interval = 1e-5  # dp_accounting's upper error is then as small as ours
    upper = peer.from_laplace_mechanism(1 / SHIFT, value_discretization_interval=interval).self_compose(1000)
    lower = peer.from_laplace_mechanism(
        1 / SHIFT, pessimistic_estimate=False, use_connect_dots=False, value_discretization_interval=interval
    ).self_compose(1000)
    return float(lower.get_delta_for_epsilon(1.0)), float(upper.get_delta_for_epsilon(1.0))


def our_laplace_product() -> tuple[float, float]:
    """The same from the lattice of 40 cells."""
    bounds = compose_on_lattice([(LaplaceLoss([SHIFT]).tails, 1000)], aligned_interval(SHIFT, 40))
    return bounds.delta_lower(1), bounds.delta_upper(1)


def laplace_product(console: Console) -> None:
    """1000 Laplace coordinates, both sides."""
    their_time, (low, high) = timed(their_laplace_product, 5)
    our_time, (lower, upper) = timed(our_laplace_product, 20)
    table = Table(title="delta(1) of 1000 Laplace coordinates, both sides")
    for column in ("route", "ms", "time ratio", "lower", "upper", "gap tighter by"):
        table.add_column(column, justify="left" if column == "route" else "right")
    ends = f"{low / TRUTH - 1:+.1e}", f"{high / TRUTH - 1:+.1e}"
    table.add_row("dp_accounting, interval 1e-5", f"{their_time:.0f}", "1", *ends, "1")
    ends = f"{lower / TRUTH - 1:+.1e}", f"{upper / TRUTH - 1:+.1e}"
    ratio = f"1/{their_time / our_time:.0f}"
    table.add_row("dpverdict, 40 cells", f"{our_time:.2f}", ratio, *ends, f"{(high - low) / (upper - lower):.0f}")
    console.print(table)


def trade_off(console: Console) -> None:
    """Trade-off curves of one Gaussian loss."""
    truth = GaussianLoss(1).certified_beta(ALPHAS)
    table = Table(title=f"beta at 9000 levels, Gaussian loss mu = 1, interval {INTERVAL:g}")
    for column in ("read from", "ms", "above the truth (should be below) at", "largest excess"):
        table.add_column(column, justify="left" if column == "read from" else "right")
    theirs = peer.from_gaussian_mechanism(1.0, value_discretization_interval=INTERVAL)
    ours = GaussianLoss(1).to_pld(INTERVAL).pessimistic
    routes: list[tuple[str, Callable[[], NDArray[np.float64]]]] = [
        ("dp_accounting, law and mirror image", lambda: mirrored(theirs)),
        ("dpverdict to_pld, law and mirror image", lambda: mirrored(ours)),
        ("dpverdict to_pld, from_pld(...).certified_beta", lambda: from_pld(ours).certified_beta(ALPHAS).upper),
    ]
    for name, run in routes:
        elapsed, values = timed(run, 1)
        excess = float((values - truth.upper).max())
        above = float((values > truth.upper).mean())
        table.add_row(name, f"{elapsed:.0f}", f"{above:.1%}", f"{excess:.1e}")
    composed = compose_on_lattice([(GaussianLoss("0.1").tails, 100)], INTERVAL)
    composed.beta_lower(ALPHAS[:1]), composed.beta_upper(ALPHAS[:1])
    elapsed, (lower, upper) = timed(lambda: (composed.beta_lower(ALPHAS), composed.beta_upper(ALPHAS)), 5)
    wrong = float(((lower > truth.lower) | (upper < truth.upper)).mean())
    gap = float((upper - lower).max())
    table.add_row(f"100 composed, both sides, gap {gap:.0e}", f"{elapsed:.2f}", f"{wrong:.1%}", "-")
    console.print(table)


def mirrored(pld: Any) -> NDArray[np.float64]:  # dp_accounting ships no types
    """P[L <= k] against Q[L > k] = P[L < -k]: the curve as it is commonly read, from one law and its mirror image."""
    pmf = pld._pmf_remove.to_dense_pmf()
    masses = pmf._probs / pmf._probs.sum() * (1 - pmf._infinity_mass)
    below = np.append(0.0, np.cumsum(masses))
    k = np.arange(-pmf._lower_loss - pmf.size, 1 - pmf._lower_loss)
    type_two = below[np.clip(k + 1 - pmf._lower_loss, 0, pmf.size)]
    type_one = below[np.clip(-k - pmf._lower_loss, 0, pmf.size)]
    curve: NDArray[np.float64] = np.interp(ALPHAS, type_one[::-1], type_two[::-1])
    return curve


def main() -> None:
    """Measure and print."""
    console = Console(width=120)
    single(console)
    composed_gaussians(console)
    laplace_product(console)
    trade_off(console)


if __name__ == "__main__":
    main()
