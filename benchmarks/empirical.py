"""Statistical audits against the published auditors, side by side: the same mechanism, the same number of releases.

    python benchmarks/empirical.py --summary                       the block of docs/benchmarks.md, in some five minutes
    python benchmarks/empirical.py [--parts n80,bound,wall,nulls,floats,sequential] [--cases G1x.9,C_half] [--runs 200]

Every number of samples comes from at least ``--runs`` audits at each of four sizes (half as many of a peer); ``+-`` is
one standard error of the simulation.

The peers are jax-privacy (Clopper-Pearson with Bonferroni over thresholds, and its bound from Gaussian DP) and
privacy-estimates (Clopper-Pearson at a threshold chosen on half of the releases); a peer that is not installed is left
out. In one dimension they get the raw output as their score, in more a linear score that is learned on half of the
releases. Everything is at error probability 0.05, exploration included. "known": with the claimed likelihood ratio.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from empirical_core import BLACK, CASES, ERROR, NULLS, PAIR, Case, D, Mechanism, WhiteBox, gaussian
from empirical_peers import DELTA_1, TRUTH, Bound, bound_of, delta_of, peers
from rich.console import Console
from rich.table import Table
from sample_size import Size, n80
from scipy import stats

from dpverdict.audit import batched
from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing import row_plan as payoff_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.low_bits import find_float_leak
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, PureDP

SUMMARY = (
    *("G1 x .95, known", "G1 x .9, known", "G1 x .8, known", "L1 x .9, known", "L1 x .8, known"),
    *("G1 x .9", "G1 x .8", "L1 x .9", "L1 x .8", "C_half"),
)
"""The rows of docs/benchmarks.md; the others take much longer."""
CONSOLE = Console(width=100)


def ours(case: Case, known: bool) -> Callable[[int, int], bool]:
    mechanism = WhiteBox(case) if known else Mechanism(case)

    def refutes(samples: int, seed: int) -> bool:
        return distinguish(mechanism, PAIR, case.claim, error_probability=ERROR, samples=samples, seed=seed).refuted

    return refutes


def table(title: str, *columns: str) -> Table:
    made = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    return made


def part_n80(chosen: argparse.Namespace) -> None:
    found = peers()
    shown = table("Samples per side for 80 % power; the best peer's over ours", "case", "dpverdict", *found, "ratio")
    for known, cases in ((True, CASES), (False, BLACK)):
        for name, case in cases.items():
            label = f"{name}{', known' if known else ''}"
            if not wanted(name, chosen) or (chosen.summary and label not in SUMMARY):
                continue
            # Small audits are quick, so that they are simulated more often.
            own = n80(ours(case, known), case.near, chosen.runs * (3 if case.near < 1000 else 1), 1e6)
            theirs = {}
            for peer_name, peer in found.items():
                if peer_name == "jax GDP" and not isinstance(case.claim, GaussianDP):
                    theirs[peer_name] = Size(math.nan)  # it assumes Gaussian DP
                    continue

                def refutes(samples: int, seed: int, peer: Bound = peer, case: Case = case) -> bool:
                    return bound_of(peer, case, samples, seed, delta_of(case)) > 1

                theirs[peer_name] = n80(refutes, 3.5 * case.near, max(chosen.runs // 2, 20), 100 * case.near)
            best = min(
                theirs.values(),
                key=lambda one: math.inf if math.isnan(one.samples) else one.samples,
                default=Size(math.nan),
            )
            ratio = f"{best.samples / own.samples:.1f} +-{math.hypot(best.error, own.error):.0%}"
            shown.add_row(label, str(own), *map(str, theirs.values()), ratio)
    CONSOLE.print(shown)


def part_bound(chosen: argparse.Namespace) -> None:
    found = peers()
    runs = min(chosen.runs, 40)
    title = f"Lower bound on epsilon, G1 x .9, 100 000 samples: median of 1 - bound/truth, {runs} runs"
    shown = table(title, "auditor", "gap", "above the truth", "seconds")
    case, samples = gaussian(0.9, 0), 100_000
    claim = ApproximateDP(1, repr(DELTA_1))
    for label, mechanism in (("dpverdict, known", WhiteBox(case)), ("dpverdict", Mechanism(case))):
        start = time.perf_counter()
        bounds = [
            distinguish(mechanism, PAIR, claim, error_probability=ERROR, samples=samples, seed=seed).epsilon_lower or 0
            for seed in range(runs)
        ]
        row(shown, label, bounds, start)
    for label, peer in found.items():
        start = time.perf_counter()
        row(shown, label, [bound_of(peer, case, samples, seed, DELTA_1) for seed in range(runs)], start)
    CONSOLE.print(shown)


def row(shown: Table, label: str, bounds: list[float], start: float) -> None:
    seconds = (time.perf_counter() - start) / len(bounds)
    error = 1.25 * statistics.stdev(bounds) / math.sqrt(len(bounds)) / TRUTH  # of the median of normal numbers
    gap = f"{1 - statistics.median(bounds) / TRUTH:.2%} +-{error:.2%}"
    shown.add_row(label, gap, f"{sum(bound > TRUTH for bound in bounds)}/{len(bounds)}", f"{seconds:.2f}")


def part_wall(chosen: argparse.Namespace) -> None:
    """The fastest of a few runs each, one of the program after the other in turn."""
    found = peers()
    title = "Seconds for 1 000 000 samples per side, sampling included"
    shown = table(title, "case", "dpverdict, known", "dpverdict", *found)
    for name, case in (("1 output", BLACK["G1 x .9"]), (f"{D} outputs", BLACK["L20 x .9"])):
        makes: list[Callable[[], object]] = [
            lambda case=case: ours(case, True)(10**6, 1),
            lambda case=case: ours(case, False)(10**6, 1),
            *(lambda peer=peer, case=case: bound_of(peer, case, 10**6, 1, DELTA_1) for peer in found.values()),
        ]
        fastest = [math.inf] * len(makes)
        for _ in range(min(chosen.runs, 3)):
            for i, make in enumerate(makes):
                start = time.perf_counter()
                make()
                fastest[i] = min(fastest[i], time.perf_counter() - start)
        shown.add_row(name, *(f"{seconds:.2f}" for seconds in fastest))
    CONSOLE.print(shown)


def part_nulls(chosen: argparse.Namespace) -> None:
    shown = table(f"False alarms where {ERROR:.0%} are stated", "case", "refuted", "rate", "p if it were right")
    for name, case in NULLS.items():
        if not wanted(name, chosen):
            continue
        for known in (True, False) if case.score is not None else (False,):
            alarms = sum(ours(case, known)(case.near, seed) for seed in range(chosen.runs))
            p = stats.binomtest(alarms, chosen.runs, ERROR, alternative="greater").pvalue
            label = f"{name}{', known' if known else ''}"
            shown.add_row(label, f"{alarms}/{chosen.runs}", f"{alarms / chosen.runs:.1%}", f"{p:.2g}")
    CONSOLE.print(shown)


def part_floats(chosen: argparse.Namespace) -> None:
    shown = table(
        "Naive float64 noise, epsilon = 1 (pure): the bound from low bits", "noise", "samples", "bound", "seconds"
    )
    for noise in ("laplace", "normal"):
        for samples in (300, 1000, 10_000):

            @batched
            def naive(data: np.ndarray, rng: np.random.Generator, trials: int, noise: str = noise) -> np.ndarray:
                return len(data) + getattr(rng, noise)(size=trials)

            start = time.perf_counter()
            bounds = [
                find_float_leak(
                    naive, PAIR, PureDP(1), error_probability=ERROR, samples=samples, seed=seed, delta=0.0
                ).epsilon_lower
                for seed in range(min(chosen.runs, 10))
            ]
            seconds = (time.perf_counter() - start) / len(bounds)
            shown.add_row(noise, f"{samples:,}", f"{statistics.median(bounds):.2f}", f"{seconds:.3f}")
    CONSOLE.print(shown)


def part_sequential(chosen: argparse.Namespace) -> None:
    shown = table(
        "Pairs until a refutation, median (never-stopping runs count as infinite)", "case", "known", "learned"
    )
    runs = min(chosen.runs, 20)
    for name, case in BLACK.items():
        if not wanted(name, chosen):
            continue
        cells = []
        for known in (True, False):
            if known and case.score is None:
                cells.append("n/a")
                continue
            mechanism = WhiteBox(case) if known else Mechanism(case)
            stops = [
                distinguish_sequentially(
                    mechanism, PAIR, case.claim, error_probability=ERROR, most_samples=30 * case.near, seed=seed
                ).stopped_at
                for seed in range(runs)
            ]
            median = statistics.median(math.inf if stop is None else stop for stop in stops)
            cells.append(f"{median:,.0f}")
        shown.add_row(name, *cells)
    CONSOLE.print(shown)


PARTS = {
    "n80": part_n80,
    "bound": part_bound,
    "wall": part_wall,
    "nulls": part_nulls,
    "floats": part_floats,
    "sequential": part_sequential,
}


def wanted(name: str, chosen: argparse.Namespace) -> bool:
    return not chosen.cases or name.replace(" ", "") in chosen.cases.split(",")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cases", default="")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--summary", action="store_true", help="the parts and the cases of docs/benchmarks.md")
    chosen = parser.parse_args()
    if chosen.summary:
        chosen.parts = "n80,bound,wall,floats"
    bounds = {name: getattr(event_rows, name) for name in ("mu_lower", "epsilon_lower")}
    others = {name: getattr(payoff_rows, name) for name in ("curve_mu_lower", "symmetric_epsilon_lower")}
    for name in chosen.parts.split(","):
        # Bounds decide nothing: they are left out where only refutations are counted.
        for module, kept in ((event_rows, bounds), (payoff_rows, others)):
            for attribute, function in kept.items():
                counted = name in ("n80", "nulls")
                setattr(module, attribute, (lambda *_, **__: 0.0) if counted else function)
        start = time.perf_counter()
        PARTS[name](chosen)
        if not chosen.summary:
            CONSOLE.print(f"{name}: {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
