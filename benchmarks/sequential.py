"""Pairs until a refutation: `distinguish_sequentially` against the sequential auditor of the literature, in one run.

    python benchmarks/sequential.py [--parts small,one,nulls] [--runs 100]

The peer: T. Gonzalez, M. Dulce-Rubio, A. Ramdas, M. Ribero, Sequentially Auditing Differential Privacy, NeurIPS 2025,
arXiv:2509.07055. No package of it is published, so `MeanDiscrepancy` is OUR OWN IMPLEMENTATION of what its authors
describe; an error in it would be ours. Everything is at error probability 0.05. A run that does not refute within the
pairs it may draw counts as infinite, and the median of the runs is shown.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from empirical import CONSOLE, DELTA_1, Bound, bound_of, n80, peers, table
from empirical_core import BLACK, CASES, ERROR, NULLS, PAIR, Case, Mechanism, WhiteBox
from scipy import stats

from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee

DELTA = "1e-5"
CELLS = tuple((epsilon, mu) for epsilon in ("0.01", "0.1", "0.3") for mu in (2.0, 1.0, 0.5))
MOST = 5_000
"""Pairs that either auditor may draw for a small epsilon."""


class MeanDiscrepancy:
    """Betting on the maximum mean discrepancy of two streams, the kernel k(a, b) = exp(-(a - b)^2 / 2).

    The witness f is a combination of kernels at the pairs so far. Each pair pays f(x) - f(y) - tau; online gradient
    ascent moves f towards k(x, .) - k(y, .) by 1/(2 sqrt(sum of squared gradients)) and draws it back into a ball; an
    online Newton step chooses the stake in [0, 1/(8 + 4 tau)].

    Args:
        epsilon: of the claim.
        delta: of the claim.
        mended: as described, f stays in the ball of radius 1/2, but tau is what the claim allows in the unit ball,
            sqrt(2) TV by the better of the two constants that are in use: valid, and it gives half of the payoff away.
            Mended (by us, to be fair to the idea), tau is half of that, and the stake goes up to half of what keeps the
            wealth positive.
    """

    def __init__(self, epsilon: float, delta: float, *, mended: bool) -> None:
        small = math.exp(-epsilon)
        variation = (1 + delta * small) * (1 - small) / (1 + small) + small * delta
        self.tau = math.sqrt(2) * variation / (2 if mended else 1)
        self.largest_stake = 1 / (2 * (math.sqrt(0.5) + self.tau)) if mended else 1 / (8 + 4 * self.tau)

    def stop(self, x: np.ndarray, y: np.ndarray) -> float:
        """The pairs it takes to refute, infinity if these do not; both of shape (n,)."""
        coefficients = np.zeros(len(x))
        gradients = norm = log_wealth = stake = 0.0
        squares = 1.0
        for t in range(len(x)):
            to_x, to_y = np.exp(-((x[:t] - x[t]) ** 2) / 2), np.exp(-((y[:t] - x[t]) ** 2) / 2)
            of_x, of_y = np.exp(-((x[:t] - y[t]) ** 2) / 2), np.exp(-((y[:t] - y[t]) ** 2) / 2)
            paid = float(coefficients[:t] @ ((to_x - to_y) - (of_x - of_y)))  # f(x) - f(y), and the inner product
            payoff = paid - self.tau
            log_wealth += math.log1p(stake * payoff)
            if log_wealth >= -math.log(ERROR):
                return t + 1
            slope = -payoff / (1 + stake * payoff)
            squares += slope**2
            stake = min(max(stake - 2 / (2 - math.log(3)) * slope / squares, 0.0), self.largest_stake)
            gradient = 2 - 2 * math.exp(-((x[t] - y[t]) ** 2) / 2)
            gradients += gradient
            step = 1 / (2 * math.sqrt(gradients)) if gradients > 0 else 0.0
            coefficients[t] = step
            norm += 2 * step * paid + step**2 * gradient
            shrink = min(1.0, 1 / (2 * math.sqrt(norm))) if norm > 0 else 1.0
            coefficients[: t + 1] *= shrink
            norm *= shrink**2
        return math.inf


class Shifted:
    """N(mu, 1) with the record, N(0, 1) without it."""

    name = "shifted normal"

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def release_many(self, dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return self.mu * len(dataset) + rng.normal(size=(trials, 1))


def stops(mechanism: object, claim: Guarantee, runs: int, most: int) -> list[float]:
    """Pairs until a refutation, run by run."""
    found = (
        distinguish_sequentially(
            mechanism,  # type: ignore[arg-type]  # every one of these is a mechanism
            PAIR,
            claim,
            error_probability=ERROR,
            most_samples=most,
            seed=seed,
        )
        for seed in range(runs)
    )
    return [test.stopped_at or math.inf for test in found]


def peer_stops(epsilon: str, mu: float, runs: int, *, mended: bool) -> list[float]:
    """The same of the peer."""
    peer, found = MeanDiscrepancy(float(epsilon), float(DELTA), mended=mended), []
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        found.append(peer.stop(rng.normal(mu, 1, MOST), rng.normal(0, 1, MOST)))
    return found


def shown_pairs(pairs: float) -> str:
    """A median, or that it is infinite."""
    return f"{pairs:,.0f}" if math.isfinite(pairs) else f"> {MOST:,}"


def part_small(runs: int) -> None:
    """N(mu, 1) against N(0, 1), of which (epsilon, 1e-5)-DP is claimed; scores are learned."""
    shown = table(
        f"Pairs until (epsilon, {DELTA})-DP of N(mu, 1) against N(0, 1) is refuted: learned score, {runs} runs",
        *("epsilon", "mu", "dpverdict", "MMD, as described", "MMD, mended", "described / dpverdict"),
    )
    ratios = []
    for epsilon, mu in CELLS:
        own = statistics.median(stops(Shifted(mu), ApproximateDP(epsilon, DELTA), runs, MOST))
        described, mended = (statistics.median(peer_stops(epsilon, mu, runs, mended=way)) for way in (False, True))
        ratio = f"{described / own:.1f}" if math.isfinite(described) else f"> {MOST / own:.0f}"
        if math.isfinite(described):
            ratios.append(described / own)
        shown.add_row(epsilon, f"{mu:g}", *(shown_pairs(pairs) for pairs in (own, described, mended)), ratio)
    CONSOLE.print(shown)
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    CONSOLE.print(f"geometric mean of the {len(ratios)} finite ratios: {mean:.1f}; the smallest: {min(ratios):.1f}")


def part_one(runs: int) -> None:
    """At epsilon = 1, where the published method refutes nothing: against the best auditor of a fixed number."""
    found = {label: peer for label, peer in peers().items() if label == "jax GDP"}
    columns = ("dpverdict, known", "dpverdict, learned", *(f"{label}, N80" for label in found))
    shown = table(f"Pairs until a claim of 1-GDP is refuted: median of {runs} runs", "case", *columns, "N80 / median")
    for name in ("G1 x .95", "G1 x .9", "G1 x .8"):
        known, black = CASES[name], BLACK[name]
        own = [
            statistics.median(stops(mechanism, known.claim, runs, 3 * known.near))  # type: ignore[arg-type]
            for mechanism in (WhiteBox(known), Mechanism(black))
        ]
        theirs = []
        for peer in found.values():

            def refutes(samples: int, seed: int, peer: Bound = peer, case: Case = known) -> bool:
                return bound_of(peer, case, samples, seed, DELTA_1) > 1

            theirs.append(n80(refutes, 3 * known.near, runs, 100 * known.near))
        ratios = ", ".join(f"{min(theirs) / pairs:.1f}" for pairs in own) if theirs else "n/a"
        shown.add_row(name, *(f"{pairs:,.0f}" for pairs in (*own, *theirs)), ratios)
    CONSOLE.print(shown)
    pairs = statistics.median(stops(Shifted(1), ApproximateDP(1, DELTA), runs, MOST))
    CONSOLE.print(
        f"N(1, 1) against N(0, 1), claim (1, {DELTA})-DP, learned score: median of {shown_pairs(pairs)} pairs"
    )


def part_nulls(runs: int) -> None:
    """Claims that hold and are tight: how often they are refuted by 3,000 pairs."""
    shown = table(f"False alarms where {ERROR:.0%} are stated, by 3,000 pairs", "case", "refuted", "p if it were right")
    for name, case in NULLS.items():
        if name in ("G1 x 1", "L1 x 1", "C_ok"):
            for known in (True, False) if case.score is not None else (False,):
                mechanism = WhiteBox(case) if known else Mechanism(case)
                alarms = sum(map(math.isfinite, stops(mechanism, case.claim, runs, 3_000)))  # type: ignore[arg-type]
                p = stats.binomtest(alarms, runs, ERROR, alternative="greater").pvalue
                shown.add_row(f"{name}{', known' if known else ''}", f"{alarms}/{runs}", f"{p:.2g}")
    CONSOLE.print(shown)


PARTS: dict[str, Callable[[int], None]] = {"small": part_small, "one": part_one, "nulls": part_nulls}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="small,one")
    parser.add_argument("--runs", type=int, default=100)
    chosen = parser.parse_args()
    for part in chosen.parts.split(","):
        start = time.perf_counter()
        PARTS[part](chosen.runs)
        CONSOLE.print(f"{part}: {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
