"""Every correct mechanism survives audits that state an error probability of 5 %: no more of them refute than stated.

Every mechanism of the catalogue with the claim it makes and its worst pair, black-box and with the likelihood ratio it
states; the correct relatives of known-wrong variants; and whole audits with a search for neighbours, with a score of
the caller, and in sequence. The number of false alarms is tested exactly: at a rate of 5 % at most, a case is declared
wrong with probability WRONGLY_DECLARED at most, and the 73 of a slow session with less than 1e-4. A case of a quick
session is declared wrong where six of its eight audits refute.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing import row_plan as payoff_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.search.neighbour_search import search_neighbours
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.trials.catalogue import example_of, mechanism_classes
from dpverdict.audit.trials.run import batched
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    CorrelatedGaussian,
    CountEllipse,
    DiscreteCorrelatedGaussian,
    EllipticalGaussian,
    FactorizationCounter,
    GaussianDP,
    GroupedGaussian,
    LaplaceMechanism,
    PureDP,
    Rank1Gaussian,
    StandardGaussian,
    TreeCounter,
    VoteEllipse,
    broken,
)
from dpverdict.mechanisms.core.mechanism import FalseClaimWarning
from dpverdict.mechanisms.queries.grouped import OptimalGroupedGaussian
from dpverdict.numerics.arrays import Array

ERROR = 0.05
RUNS, QUICK_RUNS = 200, 8
WRONGLY_DECLARED = 1e-6
Build = Callable[[], Any]

MECHANISMS: dict[str, Build] = {
    "standard-gaussian": lambda: StandardGaussian(dim=3, mu=1, adjacency=REPLACE_ONE),
    "standard-gaussian, analytic": lambda: StandardGaussian.analytic(
        dim=3, epsilon=1, delta="1e-2", adjacency=ADD_OR_REMOVE_ONE
    ),
    "correlated-gaussian": lambda: CorrelatedGaussian(dim=4, mu=1),
    "correlated-gaussian, withheld": lambda: CorrelatedGaussian(dim=3, mu=1, count="withheld"),
    "correlated-gaussian, estimated": lambda: CorrelatedGaussian(dim=3, mu=1, count="estimated", size_estimate=10),
    "grouped-gaussian, add": lambda: GroupedGaussian(groups=2, dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE),
    "grouped-gaussian, replace": lambda: GroupedGaussian(groups=2, dim=3, mu=1, adjacency=REPLACE_ONE),
    "optimal-grouped-gaussian": lambda: OptimalGroupedGaussian(groups=2, dim=3, mu=1),
    "elliptical-gaussian": lambda: EllipticalGaussian(bounds=[1, 2, 4], mu=1),
    "count-ellipse": lambda: CountEllipse(dim=9, k=4, mu=1),
    "vote-ellipse": lambda: VoteEllipse(dim=4, mu=1),
    "discrete-correlated-gaussian": lambda: DiscreteCorrelatedGaussian(dim=4, rho="0.5"),
    "laplace": lambda: LaplaceMechanism(dim=3, epsilon=1, adjacency=ADD_OR_REMOVE_ONE),
    "laplace, l1": lambda: LaplaceMechanism(dim=3, epsilon=1, adjacency=REPLACE_ONE, norm="l1"),
    "tree-counter": lambda: TreeCounter(horizon=12, epsilon=1, arity=5),
    "tree-counter, continuous": lambda: TreeCounter(horizon=12, epsilon=1, arity=5, noise="continuous"),
    "factorization-counter, laplace": lambda: FactorizationCounter(
        horizon=8, kind="binary", noise="laplace", claim=PureDP(1)
    ),
    "factorization-counter, gaussian": lambda: FactorizationCounter(
        horizon=8, kind="sqrt-toeplitz", noise="gaussian", claim=GaussianDP(1)
    ),
}


def rank1() -> Any:
    """With the delta that is certified for its noise, not the one it was published with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseClaimWarning)
        mechanism = Rank1Gaussian(dim=3, epsilon=1, delta="0.01")
    mechanism.claim = ApproximateDP(1, float(worst_case(mechanism).loss.certified_delta(1.0).upper))
    return mechanism


MECHANISMS["rank1-gaussian"] = rank1
MECHANISMS |= {
    name: partial(example_of, mechanism)
    for name, mechanism in mechanism_classes().items()
    if name not in {known.split(",")[0] for known in MECHANISMS}
}
PRIVATE = [("M1c", 1), ("M13", 1), ("S1", 1), ("M16", 4), ("M15", 3), ("M8b", 3), ("M8", 5), ("D1", 4)]
MECHANISMS |= {f"broken:{name}, d={d}": lambda name=name, d=d: broken.by_name(name).make(d, 1) for name, d in PRIVATE}  # type: ignore[misc]
MECHANISMS |= {
    "broken:T9": lambda: broken.any_by_name("T9").make(12, 1, 5),
    "broken:L2, d=1": lambda: broken.any_by_name("L2").make(1, 1),
    "broken:T3, T=12": lambda: broken.any_by_name("T3").make(12, 1, 5),
}


def test_every_mechanism_of_the_catalogue_is_there() -> None:
    assert {name.split(",")[0] for name in MECHANISMS} >= set(mechanism_classes())


@pytest.fixture(autouse=True)
def no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They decide nothing and take most of the time."""
    for name in ("mu_lower", "epsilon_lower"):
        monkeypatch.setattr(event_rows, name, lambda *_, **__: 0.0)
    for name in ("curve_mu_lower", "symmetric_epsilon_lower"):
        monkeypatch.setattr(payoff_rows, name, lambda *_: 0.0)


def black_box(mechanism: Any) -> Callable[[Array, np.random.Generator, int], object]:
    """The releases of a mechanism, and nothing else."""

    @batched
    def releases(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return mechanism.release_many(dataset, trials, rng)

    return releases


Audit = Callable[[int], bool]


def from_releases(mechanism: Any, samples: int) -> Audit:
    """Scores are learned and events are chosen, the whole portfolio."""
    pair, releases = worst_case(mechanism).pair, black_box(mechanism)

    def audit(seed: int) -> bool:
        return distinguish(releases, pair, mechanism.claim, error_probability=ERROR, samples=samples, seed=seed).refuted

    return audit


def with_the_law(mechanism: Any, samples: int) -> Audit:
    """The likelihood ratio that the mechanism states comes first, learned scores come after."""
    pair = worst_case(mechanism).pair

    def audit(seed: int) -> bool:
        return distinguish(
            mechanism, pair, mechanism.claim, error_probability=ERROR, samples=samples, seed=seed
        ).refuted

    return audit


def in_sequence(mechanism: Any, samples: int) -> Audit:
    """It may stop at any time."""
    pair, releases = worst_case(mechanism).pair, black_box(mechanism)

    def audit(seed: int) -> bool:
        return distinguish_sequentially(
            releases, pair, mechanism.claim, error_probability=ERROR, most_samples=samples, seed=seed
        ).refuted

    return audit


def with_a_search(mechanism: Any, samples: int) -> Audit:
    """The pair that promises most of many is tested, on fresh releases."""
    releases = black_box(mechanism)

    def audit(seed: int) -> bool:
        search = search_neighbours(
            releases, mechanism.claim, dim=mechanism.dim, adjacency=mechanism.adjacency, samples=3000, seed=seed
        )
        return distinguish(
            releases, search.best.pair, mechanism.claim, error_probability=ERROR, samples=samples, seed=seed
        ).refuted

    return audit


def with_a_score_of_the_caller(mechanism: Any, samples: int) -> Audit:
    """One that knows the pair, on a scale of its own."""
    pair, releases = worst_case(mechanism).pair, black_box(mechanism)
    score = mechanism.likelihood_score(pair) if hasattr(mechanism, "likelihood_score") else None
    if score is None:
        weights, offset = mechanism.likelihood_direction(pair)

        def score(outputs: Array) -> Array:
            return 7 - 100 * (outputs @ weights - offset)

    def audit(seed: int) -> bool:
        return distinguish(
            releases, pair, mechanism.claim, error_probability=ERROR, samples=samples, seed=seed, score=score
        ).refuted

    return audit


CASES: list[tuple[Callable[[Any, int], Audit], str, int]] = [
    *((from_releases, name, 600) for name in MECHANISMS),
    *((with_the_law, name, 600) for name in MECHANISMS),
    *((in_sequence, name, 1500) for name in ("correlated-gaussian", "laplace", "tree-counter", "rank1-gaussian")),
    *((with_a_search, name, 600) for name in ("correlated-gaussian", "standard-gaussian", "broken:M8b, d=3")),
    *((with_a_score_of_the_caller, name, 600) for name in ("correlated-gaussian", "laplace", "tree-counter")),
    (from_releases, "correlated-gaussian", 6000),
    (from_releases, "laplace", 6000),
    (from_releases, "laplace", 60),
]
CHEAP = [
    (from_releases, "standard-gaussian", 600),
    (from_releases, "laplace", 600),
    (from_releases, "tree-counter", 300),
    (with_the_law, "grouped-gaussian, replace", 600),
    (with_a_search, "correlated-gaussian", 300),
    (with_a_score_of_the_caller, "correlated-gaussian", 300),
]


def alarms(audit: Audit, runs: int, seed: int) -> int:
    """How many of ``runs`` audits, each with a seed of its own, refute."""
    return sum(audit(int(one)) for one in np.random.SeedSequence(seed).generate_state(runs, np.uint64))


def is_above(found: int, runs: int) -> bool:
    """Whether the rate is above ERROR beyond doubt."""
    return bool(stats.binomtest(found, runs, ERROR, alternative="greater").pvalue < WRONGLY_DECLARED)


def name_of(case: object) -> str:
    return getattr(case, "__name__", str(case))


@pytest.mark.parametrize(("way", "name", "samples"), CHEAP, ids=name_of)
def test_correct_mechanisms_survive_a_few_audits(
    way: Callable[[Any, int], Audit], name: str, samples: int, seed: int
) -> None:
    assert not is_above(alarms(way(MECHANISMS[name](), samples), QUICK_RUNS, seed), QUICK_RUNS)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "name", "samples"), CASES, ids=name_of)
def test_correct_mechanisms_survive_200_audits(
    way: Callable[[Any, int], Audit], name: str, samples: int, seed: int
) -> None:
    found = alarms(way(MECHANISMS[name](), samples), RUNS, seed)
    print(f"{way.__name__} | {name} | {samples} | {found} of {RUNS}")
    assert not is_above(found, RUNS)


def test_a_mechanism_that_claims_a_little_too_much_would_be_noticed(seed: int) -> None:
    wrong = CorrelatedGaussian(dim=4, mu=1)
    wrong.claim = GaussianDP("0.8")
    assert is_above(alarms(with_the_law(wrong, 600), QUICK_RUNS, seed), QUICK_RUNS)
