"""Samples per dataset for 80 % probability of refutation, and false-alarm rates, of `distinguish`.

    python benchmarks/empirical_core.py [--runs 200] [--cases G1x.9,L1x.9] [--black-box]

Every run is a whole audit at error probability 0.05, exploration included; N80 is interpolated by a probit line in the
logarithm of the number of samples. The bounds on mu and epsilon are not computed: they decide nothing.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpverdict.audit import LaplaceLoss
from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing import row_plan as payoff_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.exchange import ProfileClaim
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, GaussianDP, PureDP
from dpverdict.mechanisms.core.neighbours import NeighbourPair

ERROR = 0.05
PAIR = NeighbourPair(dataset=np.ones((1, 1)), neighbour=np.ones((0, 1)), adjacency=ADD_OR_REMOVE_ONE)
D = 20
Rng = np.random.Generator
Draw = Callable[[int, int, Rng], np.ndarray]
"""1 on the dataset and 0 on the neighbour, trials, generator: to outputs of shape (trials,) or (trials, m)."""


@dataclass
class Case:
    """Outputs of shape (n, m) from whether the record is there, n and a generator; and what is claimed."""

    draw: Callable[[float, int, np.random.Generator], np.ndarray]
    claim: object
    score: Callable[[np.ndarray], np.ndarray] | None
    near: int


class Mechanism:
    """One case as a mechanism, with or without its claimed likelihood ratio."""

    def __init__(self, case: Case) -> None:
        self.case, self.name = case, "case"

    def release_many(self, dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return self.case.draw(float(len(dataset)), trials, rng)


class WhiteBox(Mechanism):
    def likelihood_score(self, pair: NeighbourPair) -> Callable[[np.ndarray], np.ndarray]:
        assert self.case.score is not None
        return self.case.score


def gaussian(s: float, near: int) -> Case:
    return Case(lambda x, n, rng: x + s * rng.normal(size=(n, 1)), GaussianDP(1), lambda y: y[:, 0] - 0.5, near)


def laplace(s: float, near: int) -> Case:
    def score(y: np.ndarray) -> np.ndarray:
        return np.clip(2 * y[:, 0] - 1, -1, 1)

    return Case(lambda x, n, rng: x + rng.laplace(scale=s, size=(n, 1)), PureDP(1), score, near)


LAPLACE_20 = ProfileClaim(LaplaceLoss.equal(D, "0.2236067977499790"), name="the profile of Laplace noise of scale 1")


def laplace_20(s: float, near: int) -> Case:
    v = 1 / math.sqrt(D)

    def score(y: np.ndarray) -> np.ndarray:
        return np.clip(2 * y - v, -v, v).sum(axis=1)

    return Case(lambda x, n, rng: x * v + rng.laplace(scale=s, size=(n, D)), LAPLACE_20, score, near)


def correlated(ones: int, *, shared: bool, half: float, near: int) -> Case:
    """Algorithm 1 of Lebeda 2024 at d = 20 and mu = 1 for a binary record; eta may be drawn twice, or be too small."""
    ve, vz = (math.sqrt(D) + 1) / 4, (D + math.sqrt(D)) / 4
    record = np.array([1.0] * ones + [0.0] * (D - ones))

    def draw(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        eta = half * math.sqrt(ve) * rng.normal(size=n)
        other = eta if shared else half * math.sqrt(ve) * rng.normal(size=n)
        queries = x * record + eta[:, None] + math.sqrt(vz) * rng.normal(size=(n, D))
        return np.column_stack([queries, x + 2 * other])

    return Case(draw, GaussianDP(1), None, near)


CASES = {
    "G1 x .95": gaussian(0.95, 5600),
    "G1 x .9": gaussian(0.9, 1260),
    "G1 x .8": gaussian(0.8, 260),
    "L1 x .9": laplace(0.9, 2050),
    "L1 x .8": laplace(0.8, 430),
    "L20 x .9": laplace_20(0.9, 1350),
    "L20 x .8": laplace_20(0.8, 280),
}
BLACK = {
    "G1 x .95": gaussian(0.95, 7000),
    "G1 x .9": gaussian(0.9, 1700),
    "G1 x .8": gaussian(0.8, 360),
    "L1 x .9": laplace(0.9, 4000),
    "L1 x .8": laplace(0.8, 950),
    "C_ind_k12": correlated(12, shared=False, half=1.0, near=4900),
    "C_half": correlated(20, shared=True, half=0.5, near=1000),
    "L20 x .9": laplace_20(0.9, 8500),
    "L20 x .8": laplace_20(0.8, 2600),
}
NULLS = {
    "G1 x 1": gaussian(1.0, 2000),
    "L1 x 1": laplace(1.0, 2000),
    "L20 x 1": laplace_20(1.0, 2000),
    "C_ok": correlated(20, shared=True, half=1.0, near=2000),
    "C_ind_k20": correlated(20, shared=False, half=1.0, near=2000),
}


def rate(case: Case, black: bool, samples: int, runs: int, seed: int) -> tuple[int, int]:
    mechanism = Mechanism(case) if black or case.score is None else WhiteBox(case)
    refuted = 0
    for run in range(runs):
        refuted += distinguish(
            mechanism,
            PAIR,
            case.claim,
            error_probability=ERROR,
            samples=samples,
            seed=seed + run,  # type: ignore[arg-type]
        ).refuted
    return refuted, runs


def n80(case: Case, black: bool, runs: int, seed: int) -> tuple[float, list[str]]:
    sizes = [int(case.near * f) for f in (0.75, 1.0, 1.3)]
    found = [rate(case, black, n, runs, seed + 10_000 * i) for i, n in enumerate(sizes)]
    probits = [float(stats.norm.ppf((k + 0.5) / (r + 1))) for k, r in found]
    slope, offset = np.polyfit(np.log(sizes), probits, 1)
    at = math.exp((float(stats.norm.ppf(0.8)) - offset) / slope)
    return at, [f"{n}: {k / r:.3f}" for n, (k, r) in zip(sizes, found, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", default="")
    parser.add_argument("--black-box", action="store_true")
    parser.add_argument("--nulls", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    event_rows.mu_lower = event_rows.epsilon_lower = lambda *_, **__: 0.0
    payoff_rows.curve_mu_lower = payoff_rows.symmetric_epsilon_lower = lambda *_: 0.0
    cases = NULLS if chosen.nulls else BLACK if chosen.black_box else CASES
    for name, case in cases.items():
        if chosen.cases and name.replace(" ", "") not in chosen.cases.split(","):
            continue
        start = time.time()
        if chosen.nulls:
            for black in (False, True) if case.score is not None else (True,):
                k, r = rate(case, black, case.near, chosen.runs, chosen.seed)
                p = stats.binomtest(k, r, ERROR, alternative="greater").pvalue
                print(f"{name:10} {'black' if black else 'claimed'}: {k}/{r} refuted (p = {p:.3g})", flush=True)
        else:
            at, points = n80(case, chosen.black_box, chosen.runs, chosen.seed)
            print(f"{name:10} N80 = {at:7.0f}   {'; '.join(points)}   {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
