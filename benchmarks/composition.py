"""The composition of 100 Gaussian and 100 Laplace mechanisms: certified, and by the peers.

Run: OMP_NUM_THREADS=1 python benchmarks/composition.py        (pip install riskcal prv-accountant for all the rows)

Noise multipliers are uniform on [30, 100], Laplace scales uniform on [40, 120], sensitivity 1; the inputs are those of
numpy's default_rng(7). All routes run in one process and one thread; the best of several runs is printed, everything
from the mechanisms to the answer included. Two questions: delta at three epsilons, and the trade-off function at 10 000
levels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss

try:
    from riskcal.analysis import get_beta_from_pld
except ImportError:
    get_beta_from_pld = None
try:
    import prv_accountant
except ImportError:
    prv_accountant = None

RNG = np.random.default_rng(7)
MULTIPLIERS = RNG.uniform(30, 100, 100)
SCALES = RNG.uniform(40, 120, 100)
EPSILONS = (0.5, 1.0, 1.5)
LEVELS = np.linspace(1e-4, 1 - 1e-4, 10_000)
INTERVAL = 1e-4

Array = NDArray[np.float64]
T = TypeVar("T")


def composition() -> ComposedLoss:
    """The composition, from the inputs at their exact values."""
    gaussians = [GaussianLoss(1 / Fraction(multiplier)) for multiplier in MULTIPLIERS]
    laplaces = [LaplaceLoss([1 / Fraction(scale)]) for scale in SCALES]
    loss = compose(*gaussians, *laplaces)
    assert isinstance(loss, ComposedLoss)
    return loss


def distribution() -> privacy_loss_distribution.PrivacyLossDistribution:
    """dp_accounting's loss distribution at its default interval, composed one by one."""
    create = privacy_loss_distribution
    total = create.identity(value_discretization_interval=INTERVAL)
    for multiplier in MULTIPLIERS:
        total = total.compose(create.from_gaussian_mechanism(multiplier, value_discretization_interval=INTERVAL))
    for scale in SCALES:
        total = total.compose(create.from_laplace_mechanism(scale, value_discretization_interval=INTERVAL))
    return total


def prv_bounds() -> list[tuple[float, float, float]]:
    """The lower bound, the estimate and the upper bound of prv_accountant for each epsilon."""
    gaussians = [prv_accountant.GaussianMechanism(multiplier) for multiplier in MULTIPLIERS]
    laplaces = [prv_accountant.LaplaceMechanism(1 / scale) for scale in SCALES]
    accountant = prv_accountant.PRVAccountant(
        prvs=[*gaussians, *laplaces], max_self_compositions=[1] * 200, eps_error=0.1, delta_error=1e-10
    )
    return [accountant.compute_delta(epsilon, [1] * 200) for epsilon in EPSILONS]


def timed(run: Callable[[], T], repetitions: int) -> tuple[float, T]:
    """The shortest wall-clock time of several runs in milliseconds, and the last result."""
    times, result = [], None
    for _ in range(repetitions):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    assert result is not None or repetitions > 0
    return 1e3 * min(times), result  # type: ignore[return-value]  # at least one run


def profile_table(console: Console) -> privacy_loss_distribution.PrivacyLossDistribution:
    """delta at the epsilons; gives back the peer's distribution."""
    peer_time, peer = timed(distribution, 3)
    table = Table(title="delta(epsilon), 100 Gaussian and 100 Laplace mechanisms")
    for column in ("route", "epsilon", "ms", "speed", "lower - 1", "upper - 1"):
        table.add_column(column, justify="left" if column == "route" else "right")
    truths = {}
    for epsilon in EPSILONS:
        elapsed, enclosure = timed(lambda at=epsilon: composition().certified_delta(at), 10)
        truths[epsilon] = middle = (enclosure.lower + enclosure.upper) / 2
        ends = [f"{end / middle - 1:+.1e}" for end in (enclosure.lower, enclosure.upper)]
        table.add_row("dpverdict, certified", f"{epsilon}", f"{elapsed:.1f}", f"{peer_time / elapsed:.0f}", *ends)
    elapsed, _ = timed(lambda: composition().certified_delta(list(EPSILONS)), 10)
    table.add_row("dpverdict, certified", "all three", f"{elapsed:.1f}", f"{peer_time / elapsed:.0f}", "", "")
    for epsilon in EPSILONS:
        error = peer.get_delta_for_epsilon(epsilon) / truths[epsilon] - 1
        table.add_row("dp_accounting PLD", f"{epsilon}", f"{peer_time:.0f}", "1", "", f"{error:+.1e}")
    if prv_accountant is not None:
        elapsed, bounds = timed(prv_bounds, 1)
        for epsilon, (lower, _, upper) in zip(EPSILONS, bounds, strict=True):
            ends = [f"{end / truths[epsilon] - 1:+.1e}" for end in (lower, upper)]
            speed = f"{peer_time / elapsed:.2f}"
            table.add_row("prv_accountant, eps_error 0.1", f"{epsilon}", f"{elapsed:.0f}", speed, *ends)
    console.print(table)
    return peer


def trade_off_table(console: Console, peer: privacy_loss_distribution.PrivacyLossDistribution) -> None:
    """beta at the levels, from what is already composed."""
    loss = composition()
    build_time, _ = timed(lambda: composition().beta_bounds(LEVELS), 5)
    elapsed, (lower, upper) = timed(lambda: loss.beta_bounds(LEVELS), 20)
    table = Table(title="beta(alpha) at 10 000 levels, from a composition already made")
    for column in ("route", "ms", "gap, or distance from it", "levels where beta is above the truth"):
        table.add_column(column, justify="left" if column == "route" else "right")
    table.add_row("dpverdict, both sides", f"{elapsed:.2f}", f"{(upper - lower).max():.1e}", "none, certainly")
    table.add_row("dpverdict, with composing", f"{build_time:.1f}", "", "")
    if get_beta_from_pld is not None:
        elapsed, values = timed(lambda: get_beta_from_pld(peer, LEVELS), 20)
        gap = np.maximum(np.maximum(lower - values, values - upper), 0).max()
        table.add_row("riskcal, from the PLD", f"{elapsed:.2f}", f"{gap:.1e}", f"{(values > upper).mean():.0%} or more")
    console.print(table)


def main() -> None:
    """Measure and print."""
    console = Console()
    trade_off_table(console, profile_table(console))


if __name__ == "__main__":
    main()
