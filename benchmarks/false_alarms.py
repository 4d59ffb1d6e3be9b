"""How often audits refute mechanisms that keep their claim, kind by kind, held against what is stated.

    python benchmarks/false_alarms.py [--runs 100] [--samples 80,200] [--kinds labels,rare] [--seed 1]

Every mechanism stands on the boundary of its claim on the pair, so a sound auditor refutes at most the stated error,
5 %. The last column is the exact probability that a test at the stated error refutes at least so often. "grown" are the
same mechanisms where every audit explores more, whatever it finds; of "one run" the samples are the canaries.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from empirical_core import ERROR, PAIR, Draw, Rng
from rich.console import Console
from rich.table import Table
from scipy import stats

from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing import exploration
from dpverdict.audit.distinguishing import row_plan as payoff_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.one_run import distinguish_one_run
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially

Audit = Callable[[int, int], bool]
"""Samples and a seed: whether the claim is refuted."""


@dataclass(frozen=True)
class Case:
    kind: str
    name: str
    draw: Draw
    claim: str


def response(k: int, epsilon: float) -> Draw:
    keep = 1 - k / (math.exp(epsilon) + k - 1)
    return lambda x, n, rng: np.where(rng.random(n) < keep, (k // 2 + x) % k, rng.integers(0, k, n)).astype(float)


def geometric(x: int, n: int, rng: Rng) -> np.ndarray:
    return (x + rng.geometric(-math.expm1(-1), n) - rng.geometric(-math.expm1(-1), n)).astype(float)


def permuted(x: int, n: int, rng: Rng) -> np.ndarray:
    """Geometric noise, clipped, under names without order."""
    return np.random.default_rng(0).permutation(41)[np.clip(geometric(x, n, rng), -20, 20).astype(int) + 20] * 1.0


def exponential(x: int, n: int, rng: Rng) -> np.ndarray:
    """Twenty options, of which two change places; their weights differ by e^(1/2) from the others'."""
    weights = np.ones(20)
    weights[3 if x else 7] = math.exp(1)
    return rng.choice(20, size=n, p=weights / weights.sum()).astype(float)


def bits(x: int, n: int, rng: Rng) -> np.ndarray:
    true = np.zeros(8)
    true[x] = 1
    return np.where(rng.random((n, 8)) < 1 / (1 + math.exp(-0.5)), true, 1 - true)


def mixed(x: int, n: int, rng: Rng) -> np.ndarray:
    bit = rng.random(n) < 1 / (1 + math.exp(-0.5))
    return np.stack([np.where(bit, x, 1 - x), x / 2 + rng.laplace(size=n)], axis=1)


def laplace(x: int, n: int, rng: Rng) -> np.ndarray:
    return x + rng.laplace(size=n)


def normal(m: int) -> Draw:
    return lambda x, n, rng: x / math.sqrt(m) + rng.normal(size=(n, m))


def with_probability(rate: float, one: Draw, other: Draw) -> Draw:
    return lambda x, n, rng: np.where(rng.random(n) < rate, one(x, n, rng), other(x, n, rng))


def turned(x: int, n: int, rng: Rng) -> np.ndarray:
    """Two normal numbers of which the sum alone tells, and a third that tells nothing."""
    outputs = rng.normal(size=(n, 3))
    outputs[:, :2] += x / math.sqrt(2)
    return outputs @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]


CASES = [
    Case("labels", "2-ary response", response(2, 1.0), "eps=1"),
    Case("labels", "100-ary response", response(100, 1.0), "eps=1"),
    Case("labels", "5000-ary response", response(5000, 5.0), "eps=5"),
    Case("labels", "geometric noise, permuted", permuted, "eps=1"),
    Case("labels", "exponential mechanism, 20", exponential, "eps=2"),
    Case("labels", "eight bits", bits, "eps=1"),
    Case("integers", "geometric noise", geometric, "eps=1"),
    Case(
        "rare",
        "leak of probability delta",
        with_probability(0.02, lambda x, n, rng: np.full(n, 100.0 + x), lambda x, n, rng: rng.integers(0, 3, n)),
        "eps=0, delta=0.02",
    ),
    Case(
        "rare",
        "new region of probability delta",
        with_probability(0.05, lambda x, n, rng: 50.0 * x + rng.normal(size=n), lambda x, n, rng: rng.laplace(size=n)),
        "eps=0, delta=0.05",
    ),
    Case("atoms", "zero half of the time", with_probability(0.5, lambda x, n, rng: np.zeros(n), laplace), "eps=1"),
    Case("atoms", "clipped to [0, 1]", lambda x, n, rng: np.clip(laplace(x, n, rng), 0, 1), "eps=1"),
    Case("one-sided", "uniform noise", lambda x, n, rng: x + 10 * rng.random(n), "eps=0, delta=0.1"),
    Case("smooth", "Laplace", laplace, "eps=1"),
    Case("smooth", "normal", normal(1), "mu=1"),
    Case("smooth", "normal, (1, .127)", normal(1), "eps=1, delta=0.1269367375066440"),
    Case("small delta", "normal, (4.38, 1e-5)", normal(1), "eps=4.3772, delta=1e-5"),
    Case("moments", "normal, rho", normal(1), "rho=0.5"),
    Case("many numbers", "normal in 5", normal(5), "mu=1"),
    Case("many numbers", "normal in 30", normal(30), "mu=1"),
    Case("many numbers", "normal in 250", normal(250), "mu=1"),
    Case("joint patterns", "a bit beside Laplace", mixed, "eps=1"),
    Case("joint patterns", "turned", turned, "mu=1"),
]


class Mechanism:
    name = "correct"

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def release_many(self, dataset: np.ndarray, trials: int, rng: Rng) -> np.ndarray:
        return self.draw(len(dataset), trials, rng)


def audit(case: Case) -> Audit:
    return lambda samples, seed: (
        distinguish(Mechanism(case.draw), PAIR, case.claim, error_probability=ERROR, samples=samples, seed=seed).refuted
    )


def grown(case: Case) -> Audit:
    def refutes(samples: int, seed: int) -> bool:
        kept = exploration.DOUBTFUL, exploration.ENOUGH, exploration.EVENT_LEADS
        exploration.DOUBTFUL, exploration.ENOUGH, exploration.EVENT_LEADS = -math.inf, math.inf, 0.0  # type: ignore[misc]
        try:
            return audit(case)(samples, seed)
        finally:
            exploration.DOUBTFUL, exploration.ENOUGH, exploration.EVENT_LEADS = kept  # type: ignore[misc]

    return refutes


def one_by_one(case: Case) -> Audit:
    return lambda samples, seed: (
        distinguish_sequentially(
            Mechanism(case.draw), PAIR, case.claim, error_probability=ERROR, most_samples=samples, seed=seed
        ).refuted
    )


def one_run(claim: str, noise: Callable[[int, Rng], np.ndarray]) -> Audit:
    def refutes(samples: int, seed: int) -> bool:
        rng = np.random.default_rng(seed)
        inside = rng.integers(0, 2, samples)
        scores = inside + noise(samples, rng)
        return distinguish_one_run(scores, inside, claim, error_probability=ERROR, seed=seed).refuted

    return refutes


def audits() -> list[tuple[str, str, Audit]]:
    found = [(case.kind, case.name, audit(case)) for case in CASES]
    found += [("grown", case.name, grown(case)) for case in CASES if case.kind != "many numbers"]
    found += [("sequential", case.name, one_by_one(case)) for case in CASES if case.kind in ("labels", "smooth")]
    found.append(("one run", "Laplace", one_run("eps=1", lambda n, rng: rng.laplace(size=n))))
    found.append(("one run", "normal", one_run("mu=1", lambda n, rng: rng.normal(size=n))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100, help="of each mechanism at each size")
    parser.add_argument("--samples", default="80,200")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    kinds, sizes = set(filter(None, chosen.kinds.split(","))), [int(size) for size in chosen.samples.split(",")]
    # Bounds decide nothing and take most of the time.
    event_rows.mu_lower = event_rows.epsilon_lower = lambda *_, **__: 0.0  # type: ignore[assignment]
    payoff_rows.curve_mu_lower = payoff_rows.symmetric_epsilon_lower = lambda *_: 0.0  # type: ignore[assignment]

    console, counts = Console(width=120), defaultdict[str, list[int]](lambda: [0, 0])
    made = Table(title=f"refuted at {ERROR:.0%}, claims that hold")
    for column in ("kind", "mechanism", *(f"{size} samples" for size in sizes), "p if the error is as stated"):
        made.add_column(column)

    def p_of(alarms: int, of: int) -> str:
        return f"{stats.binomtest(alarms, of, ERROR, alternative='greater').pvalue:.2g}"

    for i, (kind, name, refutes) in enumerate(audits()):
        if kinds and kind not in kinds:
            continue
        alarms = []
        for size in sizes:
            seeds = np.random.SeedSequence([chosen.seed, i, size]).generate_state(chosen.runs, np.uint64)
            alarms.append(sum(refutes(size, int(seed)) for seed in seeds))
        of = chosen.runs * len(sizes)
        for group in (kind, "all"):
            counts[group][0] += sum(alarms)
            counts[group][1] += of
        shown = kind, name, *(f"{alarm}/{chosen.runs}" for alarm in alarms), p_of(sum(alarms), of)
        made.add_row(*shown)
        console.print(*shown)
    console.print(made)
    for group, (alarm, of) in counts.items():
        console.print(f"{group}: {alarm} of {of} audits refuted, {alarm / of:.2%}; p = {p_of(alarm, of)}")


if __name__ == "__main__":
    main()
