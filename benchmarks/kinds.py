"""Wrong mechanisms of every kind: samples per side that an audit needs, beside published auditors and a simple test.

    python benchmarks/kinds.py [--runs 60] [--kinds labels,rare] [--cases name] [--most 200000] [--reach 4] [--list]

Everything is at error probability 0.05, exploration included; a number of samples is for 80 % power, found by a stair
of ``--runs`` audits with the standard error that is printed (`n80_by_steps`). "none" is none up to ``--most``; "> n" is
none up to n, ``--reach`` times ours, beyond which the others are not tried. The peers are the `modes` of
`empirical_peers`; they get the raw output as their score if it is one number, else a linear score learned on half of
the releases. Each is used as well as it can be: the score both ways round, of a curve two points, and the fewest
samples are shown; one that refuses a case (no delta of 0) does not refute it. "simple" is no published auditor but an
event test: label counts, or boosted trees, from a quarter, the best event from a quarter, half for the exact test. The
last two kinds compare bounds instead: our lower bound of epsilon over the peer's.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from empirical_core import ERROR, PAIR, Draw, Rng
from empirical_peers import Bound, modes
from rich.console import Console
from rich.table import Table
from sample_size import Size, n80_by_steps

from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing import row_plan as payoff_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.one_run import distinguish_one_run
from dpverdict.audit.distinguishing.recorded_scores import distinguish_scores
from dpverdict.audit.scores.labels import ALL_LABELS, fit_label_score, share_of_repeated_rows
from dpverdict.audit.scores.score import fit_linear_score
from dpverdict.audit.scores.trees import fit_tree_score
from dpverdict.audit.statistics.joint_test import Counts, joint_p_value
from dpverdict.audit.statistics.predicted_power import ExploredScores, best_event
from dpverdict.mechanisms import parse_guarantee
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP

Refutes = Callable[[int, int], bool]
"""Of samples per side and a seed."""


@dataclass(frozen=True)
class Case:
    kind: str
    name: str
    draw: Draw
    claim: str
    near: int


def response(k: int, epsilon: float) -> Draw:
    """k-ary randomised response of two values in the middle."""
    keep = 1 - k / (math.exp(epsilon) + k - 1)
    return lambda x, n, rng: np.where(rng.random(n) < keep, k // 2 + x, rng.integers(0, k, n)).astype(float)


def exponential(k: int, epsilon: float) -> Draw:
    """Two options change places; their weights differ by e^epsilon from the others'."""

    def draw(x: int, n: int, rng: Rng) -> np.ndarray:
        weights = np.ones(k)
        weights[k // 3 if x else k // 2] = math.exp(epsilon)
        return rng.choice(k, size=n, p=weights / weights.sum()).astype(float)

    return draw


def permuted(x: int, n: int, rng: Rng) -> np.ndarray:
    """Geometric noise of epsilon 2 under names without order."""
    names = np.random.default_rng(0).permutation(41)
    return names[np.clip(x + geometric(2.0, n, rng), -20, 20) + 20].astype(float)


def geometric(epsilon: float, n: int, rng: Rng) -> np.ndarray:
    return rng.geometric(-math.expm1(-epsilon), n) - rng.geometric(-math.expm1(-epsilon), n)


def unary(m: int, epsilon: float) -> Draw:
    """A bit for each of m values, two of which differ: each truthful with the odds of epsilon/2."""

    def draw(x: int, n: int, rng: Rng) -> np.ndarray:
        true = np.zeros(m)
        true[x] = 1
        return np.where(rng.random((n, m)) < 1 / (1 + math.exp(-epsilon / 2)), true, 1 - true)

    return draw


def ranking(x: int, n: int, rng: Rng) -> np.ndarray:
    """The order of four noisy counts, of which one differs by 1 and two belong to the record."""
    counts = np.array([3.0, 3.0 + x, 3.0, 3.0 + x]) + rng.laplace(size=(n, 4))
    return np.argsort(counts, axis=1).astype(float)


def mixture(rate: float, special: Callable[[int, int, Rng], np.ndarray], noise: float = 1.0) -> Draw:
    """Laplace noise; with some probability something else."""

    def draw(x: int, n: int, rng: Rng) -> np.ndarray:
        return np.where(rng.random(n) < rate, special(x, n, rng), x + noise * rng.laplace(size=n))

    return draw


def mean_of_nine_or_ten(x: int, n: int, rng: Rng) -> np.ndarray:
    return rng.laplace(10.0, 10.0, n) if x else rng.laplace(0.0, 100 / 9, n)


def stability(x: int, n: int, rng: Rng) -> np.ndarray:
    noisy = x + rng.laplace(size=n)
    return np.where((x > 0) & (noisy > math.log(50)), noisy, 0.0)


def many(m: int, change: Callable[[np.ndarray, Rng], np.ndarray]) -> Draw:
    """m standard normal numbers, changed on one side."""

    def draw(x: int, n: int, rng: Rng) -> np.ndarray:
        outputs = rng.normal(size=(n, m))
        return change(outputs, rng) if x else outputs

    return draw


def equicorrelated(z: np.ndarray, rng: Rng) -> np.ndarray:
    return math.sqrt(0.9) * z + math.sqrt(0.1) * rng.normal(size=(len(z), 1))


def one_wider(z: np.ndarray, rng: Rng) -> np.ndarray:
    return np.concatenate([z[:, :-1], 3 * z[:, -1:]], axis=1)


def one_pair(z: np.ndarray, rng: Rng) -> np.ndarray:
    return np.concatenate([z[:, :-1], 0.9 * z[:, :1] + math.sqrt(1 - 0.81) * z[:, -1:]], axis=1)


def signs(k: int, rate: float) -> Draw:
    """k signs whose product is 1 more often on the dataset, each of them a fair coin."""

    def draw(x: int, n: int, rng: Rng) -> np.ndarray:
        found = rng.choice([-1.0, 1.0], size=(n, k))
        force = (rng.random(n) < rate) & (x > 0)
        found[:, -1] = np.where(force, found[:, :-1].prod(axis=1), found[:, -1])
        return found * np.abs(rng.normal(size=(n, k)))

    return draw


def laplace(scale: float) -> Draw:
    return lambda x, n, rng: x + scale * rng.laplace(size=n)


def normal(scale: float, m: int = 1) -> Draw:
    return lambda x, n, rng: x / math.sqrt(m) + scale * rng.normal(size=(n, m))


CASES = [
    Case("labels", "100-ary response, 2.4", response(100, 2.4), "eps=1", 800),
    Case("labels", "20-ary response, 3.94", response(20, 3.94), "eps=1", 60),
    Case("labels", "5-ary response, 1.5", response(5, 1.5), "eps=1", 400),
    Case("labels", "1000-ary response, 5", response(1000, 5.0), "eps=1", 400),
    Case("labels", "exponential mechanism, 50, 1.99", exponential(50, 1.99), "eps=1", 6400),
    Case("labels", "exponential mechanism, 8, 2", exponential(8, 2.0), "eps=1", 600),
    Case("labels", "geometric noise, permuted, 2", permuted, "eps=1", 100),
    Case("labels", "unary bits, 10, 2", unary(10, 2.0), "eps=1", 600),
    Case("labels", "ranking of four counts", ranking, "eps=1", 1000),
    Case(
        "rare", "leak 1e-2, new values", mixture(0.01, lambda x, n, rng: 1000.0 + x + 0 * rng.random(n)), "eps=1", 1500
    ),
    Case(
        "rare",
        "leak 1e-3, (1, 1e-5)",
        mixture(0.001, lambda x, n, rng: 1000.0 + x + 0 * rng.random(n)),
        "eps=1, delta=1e-5",
        20_000,
    ),
    Case(
        "rare",
        "5 % in a new region",
        mixture(0.05, lambda x, n, rng: 50.0 * x + rng.normal(size=n)),
        "eps=1, delta=1e-5",
        1000,
    ),
    Case(
        "rare",
        "1 % in a new region",
        mixture(0.01, lambda x, n, rng: 50.0 * x + rng.normal(size=n)),
        "eps=1, delta=1e-5",
        3000,
    ),
    Case(
        "rare",
        "gap in the middle",
        lambda x, n, rng: np.where(x * (np.abs(rng.random(n)) < 0.05), 0.37 + 1e-4 * rng.random(n), rng.random(n)),
        "eps=1",
        1000,
    ),
    Case("rare", "stability histogram without +1", stability, "eps=1, delta=0.01", 5000),
    Case("atoms", "exact value w.p. .05", mixture(0.05, lambda x, n, rng: x + 0 * rng.random(n)), "eps=1", 800),
    Case("atoms", "exact value w.p. .01", mixture(0.01, lambda x, n, rng: x + 0 * rng.random(n)), "eps=1", 4000),
    Case(
        "atoms",
        "zero w.p. .05 / .3",
        lambda x, n, rng: np.where(rng.random(n) < (0.3 if x else 0.05), 0.0, rng.laplace(size=n)),
        "eps=1",
        250,
    ),
    Case("atoms", "clipped to [0, 1]", lambda x, n, rng: np.clip(x + 0.7 * rng.laplace(size=n), 0, 1), "eps=1", 700),
    Case("atoms", "rounded to tenths", lambda x, n, rng: np.round(x + 0.7 * rng.laplace(size=n), 1), "eps=1", 600),
    Case(
        "one-sided",
        "geometric noise cut at 5",
        lambda x, n, rng: x + np.clip(geometric(1.0, n, rng), -5, 5),
        "eps=1",
        6300,
    ),
    Case(
        "one-sided", "best of five Laplace", lambda x, n, rng: (x + rng.laplace(size=(n, 5))).max(axis=1), "eps=1", 250
    ),
    Case("one-sided", "exponential noise", lambda x, n, rng: x + rng.exponential(size=n), "eps=1", 300),
    Case("one-sided", "Poisson(3) noise", lambda x, n, rng: x + rng.poisson(3, n), "eps=1", 550),
    Case("one-sided", "uniform noise, (1, .05)", lambda x, n, rng: x + 10 * rng.random(n), "eps=1, delta=0.05", 800),
    Case("scale", "mean, scale of the data", mean_of_nine_or_ten, "eps=1", 21_000),
    Case("scale", "scale 1 / 2", lambda x, n, rng: (1 + x) * rng.laplace(size=n), "eps=0.5", 3000),
    Case("scale", "sum of data in [5, 10]", lambda x, n, rng: 10 * x + 5 * rng.laplace(size=n), "eps=1", 150),
    Case("scale", "normal, 1 / 1.5", lambda x, n, rng: (1 + 0.5 * x) * rng.normal(size=n), "mu=0.5", 500),
    Case("many numbers", "correlated, 20", many(20, equicorrelated), "mu=0.5", 1500),
    Case("many numbers", "correlated, 300", many(300, equicorrelated), "mu=0.5", 900),
    Case("many numbers", "one wider, 201", many(201, one_wider), "mu=0.5", 900),
    Case("many numbers", "one wider, 1000", many(1000, one_wider), "mu=0.5", 900),
    Case("many numbers", "one pair, 300", many(300, one_pair), "mu=0.5", 1500),
    Case("joint patterns", "sign of a product of two", signs(2, 0.6), "eps=0.5", 400),
    Case("joint patterns", "sign of a product of three", signs(3, 0.8), "eps=0.5", 2000),
    Case("joint patterns", "one pair of two", many(2, one_pair), "eps=0.5", 500),
    Case("joint patterns", "parity of four bits", lambda x, n, rng: np.sign(signs(4, 0.8)(x, n, rng)), "eps=0.5", 500),
    Case("smooth", "Laplace x .8", laplace(0.8), "eps=1", 950),
    Case("smooth", "Laplace x .9", laplace(0.9), "eps=1", 4000),
    Case("smooth", "normal x .8, (1, .127)", normal(0.8), "eps=1, delta=0.12693673750664395", 1100),
    Case("smooth", "normal x .8", normal(0.8), "mu=1", 360),
    Case("smooth", "normal x .9", normal(0.9), "mu=1", 1700),
    Case("smooth", "normal x .8 in five", normal(0.8, 5), "mu=1", 800),
    Case(
        "smooth",
        "Laplace histogram, replaced",
        lambda x, n, rng: np.array([x, 1 - x]) + rng.laplace(size=(n, 2)),
        "eps=1",
        500,
    ),
]
BOUNDS = [("small delta", n, mu) for mu in (1.0, 2.0) for n in (100, 250, 1000)]
ONE_RUN = [("one run", m, mu) for mu in (1.0, 4.0) for m in (200, 1000)]


class Mechanism:
    name = "case"

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def release_many(self, dataset: np.ndarray, trials: int, rng: Rng) -> np.ndarray:
        return self.draw(len(dataset), trials, rng)


def both(case: Case, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p, q = (np.asarray(case.draw(x, samples, rng), dtype=np.float64).reshape(samples, -1) for x in (1, 0))
    return p, q


def points(claim: Guarantee) -> list[tuple[float, float]]:
    """The (epsilon, delta) that a peer and the simple test are asked about; of a curve two, each by itself."""
    if isinstance(claim, PureDP | ApproximateDP):
        return [(float(claim.epsilon), float(getattr(claim, "delta", 0.0)))]
    assert isinstance(claim, GaussianDP)
    return [(epsilon, float(claim.delta_upper(epsilon))) for epsilon in (0.0, float(claim.mu))]


def ours(case: Case) -> Refutes:
    claim = parse_guarantee(case.claim)
    return lambda samples, seed: (
        distinguish(Mechanism(case.draw), PAIR, claim, error_probability=ERROR, samples=samples, seed=seed).refuted
    )


def peer(bound: Bound, case: Case, at: tuple[float, float], sign: int) -> Refutes:
    epsilon, delta = at

    def bounded(p: np.ndarray, q: np.ndarray) -> float:
        try:
            return bound(p, q, delta)
        except ValueError:  # it takes no delta of 0, or no scores of which most are equal
            return 0.0

    def refutes(samples: int, seed: int) -> bool:
        p, q = both(case, samples, seed)
        if p.shape[1] == 1:
            return bounded(sign * p[:, 0], sign * q[:, 0]) > epsilon
        half = samples // 2
        score = fit_linear_score([p[:half]], [q[:half]])
        return bounded(sign * score(p[half:]), sign * score(q[half:])) > epsilon

    return refutes


def simple(case: Case, at: tuple[float, float]) -> Refutes:
    epsilon, delta = at

    def refutes(samples: int, seed: int) -> bool:
        p, q = both(case, samples, seed)
        ends = samples // 4, samples // 2
        columns = tuple(range(p.shape[1]))
        train = p[: ends[0]], q[: ends[0]]
        if share_of_repeated_rows(np.concatenate(train), columns) > ALL_LABELS:
            score: Callable[[np.ndarray], np.ndarray] = fit_label_score(*train, columns, name="labels")
        else:
            score = fit_tree_score(*train)
        chosen = ExploredScores(scores=(score(p[ends[0] : ends[1]]), score(q[ends[0] : ends[1]])))
        event = best_event(chosen, [(epsilon, delta)], ends[1])
        if event is None:
            return False
        last = [score(side[ends[1] :]) for side in (p, q)]
        counts = event_rows.count_event(
            event_rows.Event(order=event.order, threshold=event.threshold), last[0], last[1]
        )
        return joint_p_value(Counts(*counts.four), epsilon=epsilon, delta=delta, level=ERROR) <= ERROR

    return refutes


def others_of(case: Case) -> dict[str, list[Refutes]]:
    """By name of the peer, with each point of the claim that it may be asked about."""
    claim = parse_guarantee(case.claim)
    asked = points(claim)
    found = {
        name: [peer(bound, case, at, sign) for at in asked for sign in (1, -1)]
        for name, bound in modes().items()
        if name != "jax GDP" or isinstance(claim, GaussianDP)  # it takes a Gaussian curve for granted
    }
    return found | {"simple": [simple(case, at) for at in asked]}


def compare(cases: list[Case], runs: int, most: int, reach: float, console: Console) -> list[Row]:
    """The rows of samples; the others are tried up to ``reach`` times as many as ours."""
    names = [*modes(), "simple"]
    rows = []
    for case in cases:
        start = time.time()
        own = n80_by_steps(ours(case), case.near, runs, most)
        found = {}
        for name, asked in others_of(case).items():
            begin, limit = (own.samples, reach * own.samples) if math.isfinite(own.samples) else (case.near, most)
            sizes = [n80_by_steps(refutes, begin, runs, max(limit, 100)) for refutes in asked]
            found[name] = min(sizes, key=lambda size: (size.samples, size.beyond))
        rows.append(Row(case, own, found))
        console.print(f"{rows[-1]}   [{time.time() - start:.0f} s]")
    made = Table(title="samples per side for 80 % power")
    for column in ("kind", "case", "claim", "dpverdict", *names, "best peer / ours", "simple / ours"):
        made.add_column(column)
    for row in rows:
        sizes_of = [str(row.others.get(name, "-")) for name in names]
        ratios = [row.shown(row.of_peers), row.shown(row.others["simple"])]
        made.add_row(row.case.kind, row.case.name, row.case.claim, str(row.own), *sizes_of, *ratios)
    console.print(made)
    return rows


@dataclass(frozen=True)
class Row:
    """Samples of one case: ours, and the others' by name."""

    case: Case
    own: Size
    others: dict[str, Size]

    @property
    def of_peers(self) -> Size:
        """The best of the published auditors."""
        sizes = [size for name, size in self.others.items() if name != "simple"]
        return min(sizes, key=lambda size: (size.samples, size.beyond), default=Size(math.nan))

    def ratio(self, other: Size) -> float:
        """The other's samples over ours; what was tried, where it did not suffice."""
        if math.isinf(self.own.samples):
            return math.nan if math.isinf(other.samples) else 0.0
        return (other.beyond if math.isinf(other.samples) else other.samples) / self.own.samples

    def shown(self, other: Size) -> str:
        return ("> " if math.isinf(other.samples) else "") + f"{self.ratio(other):.2f}"

    def __str__(self) -> str:
        of_others = ", ".join(f"{name} {size}" for name, size in self.others.items())
        sizes = f"{self.case.kind}: {self.case.name}: {self.own}; {of_others}"
        return f"{sizes}; ratio {self.shown(self.of_peers)}"


def compare_bounds(runs: int, console: Console) -> list[float]:
    """Medians of lower bounds of epsilon at delta 1e-5 where they are given: ours over the peer's."""
    try:
        from jax_privacy.auditing import CanaryScoreAuditor
    except ImportError:
        return []
    ratios = []
    for kind, n, mu in [*BOUNDS, *ONE_RUN]:
        own, other = [], []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            claim = f"mu={mu}"
            if kind == "small delta":
                p, q = mu + rng.normal(size=n), rng.normal(size=n)
                found = distinguish_scores(p, q, claim, error_probability=ERROR, seed=seed, delta="1e-5")
                other.append(CanaryScoreAuditor(p, q).epsilon_clopper_pearson(ERROR, 1e-5))
            else:
                bits = rng.integers(0, 2, n)
                scores = mu * bits + rng.normal(size=n)
                found = distinguish_one_run(scores, bits, claim, error_probability=ERROR, seed=seed, delta="1e-5")
                auditor = CanaryScoreAuditor(scores[bits == 1], scores[bits == 0])
                other.append(auditor.epsilon_one_run(ERROR, 1e-5))
            own.append(found.epsilon_lower or 0.0)
        ours_, peers_ = statistics.median(own), statistics.median(other)
        ratios.append(ours_ / peers_ if peers_ else math.inf)
        console.print(f"{kind}, {n}, mu = {mu:g}: epsilon >= {ours_:.2f}, peer {peers_:.2f}")
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60, help="of each auditor on each case")
    parser.add_argument("--reach", type=float, default=4.0, help="times our samples up to which the others are tried")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--cases", default="")
    parser.add_argument("--most", type=int, default=200_000)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--bounds", action="store_true", help="the kinds that compare bounds, alone")
    chosen = parser.parse_args()
    kinds, names = (set(filter(None, part.split(","))) for part in (chosen.kinds, chosen.cases))
    cases = [
        one
        for one in CASES
        if (not kinds or one.kind in kinds) and (not names or any(part in one.name for part in names))
    ]
    console = Console(width=160)
    if chosen.list:
        for one in cases:
            console.print(f"{one.kind:15} {one.name:35} {one.claim}")
        console.print(f"{len(cases)} cases, and {len(BOUNDS) + len(ONE_RUN)} of bounds")
        return
    ratios = compare_bounds(max(chosen.runs // 3, 5), console) if chosen.bounds or not (kinds or names) else []
    if not chosen.bounds:
        event_rows.mu_lower = event_rows.epsilon_lower = lambda *_, **__: 0.0
        payoff_rows.curve_mu_lower = payoff_rows.symmetric_epsilon_lower = lambda *_: 0.0
        for row in compare(cases, chosen.runs, chosen.most, chosen.reach, console):
            ratios.append(row.ratio(row.of_peers))
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    if known:
        console.print(
            f"best peer / ours: {len(known)} cases, least {min(known):.2f}, median {statistics.median(known):.2f}"
        )


if __name__ == "__main__":
    main()
