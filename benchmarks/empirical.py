"""Statistical audits against the published auditors, side by side: the same mechanism, the same number of releases.

    python benchmarks/empirical.py [--parts n80,bound,wall,nulls,floats,sequential] [--cases G1x.9,C_half] [--runs 200]

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
from collections.abc import Callable, Iterator

import numpy as np
from empirical_core import BLACK, CASES, ERROR, NULLS, PAIR, Case, D, Mechanism, WhiteBox, gaussian
from rich.console import Console
from rich.table import Table
from scipy import stats

from dpverdict.audit import event_rows, payoff_rows
from dpverdict.audit.distinguish import distinguish
from dpverdict.audit.float_leak import find_float_leak
from dpverdict.audit.scores import fit_linear_score
from dpverdict.audit.sequential import distinguish_sequentially
from dpverdict.mechanisms.guarantee import ApproximateDP, GaussianDP, PureDP

DELTA_1 = 0.12693673750664395
"""Of 1-GDP at epsilon 1."""
DELTA_20 = 0.114757685742933
"""Of 20 Laplace coordinates of scale 1 whose shifts have square sum 1, at epsilon 1."""
TRUTH = 1.222878992446
"""Epsilon of N(1, 0.9^2) against N(0, 0.9^2) at DELTA_1."""
Bound = Callable[[np.ndarray, np.ndarray, float], float]
"""Scores of both sides and delta to a lower bound on epsilon."""
CONSOLE = Console(width=130)


def peers() -> dict[str, Bound]:
    """Those that are installed."""
    found: dict[str, Bound] = {}
    try:
        from jax_privacy.auditing import CanaryScoreAuditor

        found["jax CP"] = lambda p, q, d: CanaryScoreAuditor(p, q).epsilon_clopper_pearson(ERROR, d)
        found["jax GDP"] = lambda p, q, d: CanaryScoreAuditor(p, q).epsilon_from_gdp(ERROR, d)
    except ImportError:
        pass
    try:
        from privacy_estimates import AttackResults, compute_eps_lo

        def counted(p: np.ndarray, q: np.ndarray, delta: float) -> float:
            half = len(p) // 2
            p_all, q_all = np.sort(p[:half]), np.sort(q[:half])
            thresholds = np.quantile(np.concatenate([p_all, q_all]), np.linspace(0.02, 0.998, 400))
            above, below = half - np.searchsorted(p_all, thresholds), half - np.searchsorted(q_all, thresholds)
            lower = stats.beta.ppf(ERROR / 2, above, half - above + 1)
            upper = stats.beta.ppf(1 - ERROR / 2, below + 1, half - below)
            at = thresholds[np.nanargmax((lower - delta) / upper)]
            tp, fp, n = int((p[half:] >= at).sum()), int((q[half:] >= at).sum()), len(p) - half
            return float(compute_eps_lo(AttackResults(FN=n - tp, FP=fp, TN=n - fp, TP=tp), delta, ERROR, "beta"))

        found["privacy-estimates"] = counted
    except ImportError:
        pass
    return found


def delta_of(case: Case) -> float:
    """At which a peer bounds epsilon; the claim is epsilon = 1 there."""
    return 0.0 if isinstance(case.claim, PureDP) else DELTA_1 if isinstance(case.claim, GaussianDP) else DELTA_20


def bound_of(peer: Bound, case: Case, samples: int, seed: int, delta: float) -> float:
    """What a peer says after so many releases per side."""
    rng = np.random.default_rng(seed)
    p, q = case.draw(1.0, samples, rng), case.draw(0.0, samples, rng)
    if p.shape[1] == 1:
        return peer(p[:, 0], q[:, 0], delta)
    half = samples // 2
    score = fit_linear_score([p[:half]], [q[:half]])
    return peer(score(p[half:]), score(q[half:]), delta)


def n80(refutes: Callable[[int, int], bool], near: float, runs: int, most: float) -> float:
    """Samples for 80 % power: probit line in log N through at least three sizes around it; infinity beyond ``most``."""
    found: dict[int, int] = {}

    def power(size: int) -> float:
        if size not in found:
            found[size] = sum(refutes(size, 1_000_000 * len(found) + run) for run in range(runs))
        return found[size] / runs

    size = near
    while power(math.ceil(size)) < 0.6 and size <= most:
        size *= 1.5
    if size > most:
        return math.inf
    while power(math.ceil(size)) > 0.9 and size > 60:
        size /= 1.5
    for factor in (0.8, 1.0, 1.25):
        power(math.ceil(size * factor))
    near_it = [(n, (k + 0.5) / (runs + 1)) for n, k in found.items() if 0.2 < k / runs < 0.99]
    slope, offset = np.polyfit(np.log([n for n, _ in near_it]), stats.norm.ppf([p for _, p in near_it]), 1)
    return math.exp((float(stats.norm.ppf(0.8)) - offset) / slope)


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
    shown = table("Samples per side for 80 % power", "case", "dpverdict", *found, "best peer / dpverdict")
    for known, cases in ((True, CASES), (False, BLACK)):
        for name, case in cases.items():
            if not wanted(name, chosen):
                continue
            own = n80(ours(case, known), case.near, chosen.runs, 1e6)
            theirs = {}
            for label, peer in found.items():
                if label == "jax GDP" and not isinstance(case.claim, GaussianDP):
                    theirs[label] = math.nan  # it assumes Gaussian DP
                    continue

                def refutes(samples: int, seed: int, peer: Bound = peer, case: Case = case) -> bool:
                    return bound_of(peer, case, samples, seed, delta_of(case)) > 1

                theirs[label] = n80(refutes, 3 * case.near, max(chosen.runs // 2, 20), 100 * case.near)
            ratio = min((n for n in theirs.values() if n > 0), default=math.nan) / own
            cells = [f"{n:,.0f}" if math.isfinite(n) else "n/a" if math.isnan(n) else "none" for n in theirs.values()]
            shown.add_row(f"{name}{', known' if known else ''}", f"{own:,.0f}", *cells, f"{ratio:.1f}")
    CONSOLE.print(shown)


def part_bound(chosen: argparse.Namespace) -> None:
    found = peers()
    runs = min(chosen.runs, 10)
    shown = table(
        "Lower bound on epsilon, G1 x .9, 100 000 samples: 1 - bound/truth", "auditor", "median gap", "seconds"
    )
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
    shown.add_row(label, f"{1 - statistics.median(bounds) / TRUTH:.2%}", f"{seconds:.2f}")


def part_wall(chosen: argparse.Namespace) -> None:
    del chosen
    found = peers()
    shown = table(
        "Seconds for 1 000 000 samples per side, sampling included", "case", "dpverdict, known", "dpverdict", *found
    )
    for name, case in (("1 output", BLACK["G1 x .9"]), (f"{D} outputs", BLACK["L20 x .9"])):
        cells = []
        makes: list[Callable[[], object]] = [
            lambda case=case: ours(case, True)(10**6, 1),
            lambda case=case: ours(case, False)(10**6, 1),
            *(lambda peer=peer, case=case: bound_of(peer, case, 10**6, 1, DELTA_1) for peer in found.values()),
        ]
        for make in makes:
            start = time.perf_counter()
            make()
            cells.append(f"{time.perf_counter() - start:.2f}")
        shown.add_row(name, *cells)
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

            def naive(data: np.ndarray, rng: np.random.Generator, trials: int, noise: str = noise) -> np.ndarray:
                return len(data) + getattr(rng, noise)(size=trials)

            start = time.perf_counter()
            bounds = [
                find_float_leak(
                    naive, PAIR, PureDP(1), error_probability=ERROR, samples=samples, seed=seed
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


def parts(names: str) -> Iterator[Callable[[argparse.Namespace], None]]:
    for name in names.split(","):
        yield PARTS[name]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cases", default="")
    parser.add_argument("--runs", type=int, default=200)
    chosen = parser.parse_args()
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
        CONSOLE.print(f"{name}: {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
