"""Every refutable variant is refuted from what it releases alone, within a stated number of releases.

The mechanism is given as a plain callable (dataset, rng, trials): no noise law, no likelihood ratio, only the pair (or,
in one test, not even that). The claim is refuted at error probability ERROR.

How sure that is. ``HALF`` is measured: of the audits of that size at least half refute. The statistic of an audit grows
with the root of the releases, so at four times as many, the budget, its mean is at twice the threshold 4.75 of ERROR,
and an audit misses with probability 1e-6, all 41 together with less than 1e-4; that a quarter of the budget is enough
for half of the audits is tested again on other seeds (slow). With its fixed seed a session is deterministic.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.search.neighbour_search import search_neighbours
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.trials.run import batched
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, ZeroConcentratedDP, broken
from dpverdict.numerics.arrays import Array

ERROR = 1e-6
Case = tuple[str, tuple[Any, ...]]
HALF: dict[Case, int] = {
    ("M1", (3, "1")): 5656,
    ("M1b", (3, "1")): 1414,
    ("M1c", (3, "1")): 2000,
    ("M1d", (3, "1")): 2000,
    ("M2", (3, "1")): 5656,
    ("M3", (3, "1")): 45_000,
    ("M4", (3, "1")): 5656,
    ("M5", (3, "1")): 707,
    ("M6", (3, "1")): 125,
    ("M6b", (3, "1")): 500,
    ("M6c", (3, "1")): 353,
    ("M7", (3, "1")): 353,
    ("M7ab", (3, "1")): 707,
    ("M8", (3, "2")): 176,
    ("M8b", (3, "0.5")): 4000,
    ("M9", (3, "1")): 125,
    ("M10", (3, "1")): 707,
    ("M11", (3, "1")): 707,
    ("M12", (3, "1")): 353,
    ("M13", (3, "1")): 11_314,
    ("M14", (3, "1")): 45_000,
    ("M15", (9, "1")): 4000,
    ("M16", (3, "1")): 11_314,
    ("M17", (3, "1")): 125,
    ("S1", (3, "1")): 500,
    ("E1", (3, "1")): 353,
    ("V1", (3, "1")): 707,
    ("V2", (20, "1")): 1414,
    ("K1", (2, "1")): 1414,
    ("G1", (3, "1")): 1414,
    ("T1", (12, 2, 5)): 707,
    ("T2", (12, 2, 5)): 707,
    ("T3", (5, 2, 5)): 707,
    ("T4", (62, 1, 5)): 1414,
    ("T5", (62, 2, 5)): 4000,
    ("T6", (12, 1, 5)): 125,
    ("T7", (12, 1, 5)): 125,
    ("T8", (12, 1, 5)): 125,
    ("L1", (3, 1)): 500,
    ("L2", (9, 1)): 4000,
    ("D1", (3, "1")): 32_000,
    ("X1", (3, 1)): 2000,
    ("X2", (3, 1)): 500,
    ("X3", (3, 1)): 4000,
    ("X4", (5, 1)): 4000,
    ("A1", (5, 1)): 32_000,
    ("A2", (5, 1)): 16_000,
    ("A5", (5, 1)): 1000,
    ("A6", (5, 1)): 8000,
    ("R1", (3, 1)): 500,
    ("R2", (3, 1)): 500,
    ("Q1", (3, 1)): 125,
    ("Q2", (3, 1)): 8000,
    ("Q3", (3, 1)): 125,
    ("U1", (3, 1)): 500,
    ("U2", (3, 1)): 8000,
    ("U3", (3, 1)): 500,
    ("N1", (4, 2)): 2828,
    ("B1", (3, 1)): 707,
    ("B2", (3, 1)): 125,
    ("B3", (5, 1)): 2000,
    ("B4", (3, "1")): 500,
    ("P1", (5, 1, "0.01")): 2000,
    ("P2", (3, 1, "0.01")): 1000,
    ("P3", (1, 1, "0.005")): 8000,
    ("P4", (1, 1, "0.01")): 125,
    ("P5", (5, 1, "0.01")): 2000,
    ("H1", (10, 1, "0.02")): 1000,
    ("H2", (10, 1, "0.02")): 16_000,
    ("W1", (40, 1, "0.01")): 500,
    ("W2", (40, 1, "0.01")): 5656,
}
"""(variant, parameters): releases per dataset from which half of the audits refute (24 seeds, a grid of ratio 1.4)."""
BUDGETS: dict[Case, int] = {case: 4 * half for case, half in HALF.items()}
"""Releases per dataset within which a variant is refuted."""
QUICK = [case for case, samples in BUDGETS.items() if samples <= 6000]

PRIVATE_BUT_WRONG = {"T9"}
"""Its counts are biased, and exactly as private as claimed: there is nothing to refute."""


RARE = {"A3", "A4", "H3"}
"""Refuted exactly by an event that is too rare for these budgets: its probability is below 1 in 100."""


def black_box(mechanism: Any) -> Callable[[Array, np.random.Generator, int], object]:
    """The releases of a mechanism, and nothing else."""

    @batched
    def releases(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return mechanism.release_many(dataset, trials, rng)

    return releases


def refuted(case: Case, samples: int, seed: int) -> bool:
    mechanism = broken.any_by_name(case[0]).make(*case[1])
    pair = worst_case(mechanism).pair
    return distinguish(
        black_box(mechanism),
        pair,
        mechanism.claim,
        error_probability=ERROR,
        samples=samples,
        seed=seed,
    ).refuted


def test_every_variant_has_a_budget() -> None:
    assert {name for name, _ in BUDGETS} | PRIVATE_BUT_WRONG | RARE == {wrong.name for wrong in broken.ALL}
    assert max(BUDGETS.values()) <= 200_000


@pytest.mark.parametrize("case", list(QUICK)[::3], ids=str)
def test_some_faults_are_refuted_from_releases_alone(case: Case, seed: int) -> None:
    assert refuted(case, BUDGETS[case], seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", BUDGETS, ids=str)
def test_every_variant_is_refuted_from_releases_alone(case: Case, seed: int) -> None:
    assert refuted(case, BUDGETS[case], seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", BUDGETS, ids=str)
def test_a_quarter_of_a_budget_is_enough_for_half_of_the_audits(case: Case, seed: int) -> None:
    found = sum(refuted(case, BUDGETS[case] // 4, seed + 100 + run) for run in range(16))
    print(f"{case}: {found} of 16 from {BUDGETS[case] // 4}")
    assert found >= 6  # of an even chance 10 % are below; of a chance of 1/8, below which the margin is gone, 1 %


def test_a_counter_that_is_private_and_wrong_is_not_refuted(seed: int) -> None:
    assert not refuted(("T9", (12, 1, 5)), 6000, seed)


# The pair is searched, too ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["M6b", "M6c"])
def test_a_fault_that_one_record_shows_is_found_and_refuted(name: str, seed: int) -> None:
    # at the record of zeros and of ones, in this order; the other one is private
    mechanism = broken.by_name(name).make(5, 1)
    releases = black_box(mechanism)
    search = search_neighbours(releases, mechanism.claim, dim=5, adjacency=ADD_OR_REMOVE_ONE, samples=20_000, seed=seed)
    assert distinguish(
        releases, search.best.pair, mechanism.claim, error_probability=ERROR, samples=6000, seed=seed
    ).refuted


# zCDP is a claim about moments -------------------------------------------------------------------------------------


def test_only_the_divergence_tells_of_the_lattice_variant(seed: int) -> None:
    case: Case = ("D1", (3, "1"))
    mechanism = broken.by_name("D1").make(*case[1])
    assert isinstance(mechanism.claim, ZeroConcentratedDP)
    assert certify(mechanism).status is Status.REFUTED
    pair = worst_case(mechanism).pair
    found = distinguish(
        black_box(mechanism),
        pair,
        mechanism.claim,
        error_probability=ERROR,
        samples=BUDGETS[case],
        seed=seed,
    )
    assert {row.what for row in found.ledger if row.is_contradiction} == {"the claimed divergence"}


def test_where_the_lattice_mechanism_is_right_nothing_refutes_it(seed: int) -> None:
    assert not any(refuted(("D1", (4, "1")), 32_000, seed + run) for run in range(2))


@pytest.mark.parametrize(("parameters", "least"), [((3, "2"), 5e6), ((2, "2"), 1e6)])
def test_no_single_event_of_the_lattice_variant_tells_within_a_million_releases(
    parameters: tuple[int, str], least: float
) -> None:
    # Of an event that breaks the curve which rho-zCDP implies, p - e^eps q is at most the true delta and above the
    # implied one; its frequency has variance p(1 - p)/N at least, and p >= delta. (Negative epsilons are the same
    # events in the other order.)
    mechanism = broken.by_name("D1").make(*parameters)
    epsilons = np.linspace(0, 16, 81)
    true = np.asarray(worst_case(mechanism).loss.delta(epsilons))
    gap = true - np.asarray(mechanism.claim.delta_upper(epsilons))
    telling = gap > 0
    assert telling.any()  # so many releases would do
    assert (true[telling] < 0.5).all()
    needed = 4.75**2 * true[telling] * (1 - true[telling]) / gap[telling] ** 2
    print(f"{parameters}: at least {needed.min():.3g} releases")
    assert needed.min() > least
