"""Every refutable variant is refuted from what it releases alone, within a stated number of releases.

The mechanism is given as a plain callable (dataset, rng, trials): no noise law, no likelihood ratio, only the pair. The
claim is refuted at error probability ERROR.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit import event_rows, payoff_rows
from dpverdict.audit.distinguish import distinguish
from dpverdict.audit.laplace_loss import LaplaceLoss
from dpverdict.audit.profile_claim import ProfileClaim
from dpverdict.audit.trials import Array
from dpverdict.audit.worst_case import worst_case
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, GaussianDP, NeighbourPair, PureDP, broken

ERROR = 1e-6
BUDGETS: dict[tuple[str, int, str], int] = {
    ("M1", 3, "1"): 50_000,
    ("M1b", 3, "1"): 10_000,
    ("M1c", 3, "1"): 20_000,
    ("M1d", 3, "1"): 20_000,
    ("M2", 3, "1"): 50_000,
    ("M3", 3, "1"): 300_000,
    ("M4", 3, "1"): 50_000,
    ("M5", 3, "1"): 6_000,
    ("M6", 3, "1"): 1_000,
    ("M6b", 3, "1"): 3_000,
    ("M6c", 3, "1"): 3_000,
    ("M7", 3, "1"): 3_000,
    ("M7ab", 3, "1"): 4_000,
    ("M8", 3, "2"): 3_000,
    ("M8b", 3, "0.5"): 20_000,
    ("M9", 3, "1"): 1_000,
    ("M10", 3, "1"): 6_000,
    ("M11", 3, "1"): 6_000,
    ("M12", 3, "1"): 3_000,
    ("M13", 3, "1"): 80_000,
    ("M14", 3, "1"): 300_000,
    ("M15", 9, "1"): 40_000,
    ("M16", 3, "1"): 80_000,
    ("M17", 3, "1"): 3_000,
    ("S1", 3, "1"): 4_000,
    ("E1", 3, "1"): 3_000,
    ("V1", 3, "1"): 4_000,
    ("V2", 20, "1"): 6_000,
    ("K1", 2, "1"): 6_000,
    ("G1", 3, "1"): 6_000,
}
"""(variant, dimension, claimed mu): releases per dataset, about one and a half times those of the known score."""
QUICK = [case for case, samples in BUDGETS.items() if samples <= 3_000]


def black_box(mechanism: Any) -> Callable[[Array, np.random.Generator, int], object]:
    """The releases of a mechanism, and nothing else."""

    def releases(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return mechanism.release_many(dataset, trials, rng)

    return releases


def refuted(name: str, d: int, mu: str, seed: int) -> bool:
    mechanism = broken.by_name(name).make(d, mu)
    pair = worst_case(mechanism).pair
    return distinguish(
        black_box(mechanism),
        (pair.dataset, pair.neighbour),
        mechanism.claim,
        error_probability=ERROR,
        samples=BUDGETS[name, d, mu],
        seed=seed,
    ).refuted


def test_every_gaussian_variant_has_a_budget() -> None:
    assert {name for name, _, _ in BUDGETS} == {mutant.name for mutant in broken.GAUSSIAN}


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_gross_faults_are_refuted_from_releases_alone(case: tuple[str, int, str], seed: int) -> None:
    assert refuted(*case, seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", BUDGETS, ids=str)
def test_every_variant_is_refuted_from_releases_alone(case: tuple[str, int, str], seed: int) -> None:
    assert refuted(*case, seed)


# Laplace noise in 20 coordinates, too small: no linear score sees it --------------------------------------------------

PAIR = NeighbourPair(dataset=np.ones((1, 1)), neighbour=np.ones((0, 1)), adjacency=ADD_OR_REMOVE_ONE)
PROFILE = ProfileClaim(LaplaceLoss.equal(20, "0.2236067977499790"), name="the profile of Laplace noise of scale 1")


def laplace(scale: float) -> Callable[[Array, np.random.Generator, int], object]:
    def releases(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return len(dataset) / math.sqrt(20) + rng.laplace(scale=scale, size=(trials, 20))

    return releases


def times_refuted(scale: float, samples: int, runs: int, seed: int) -> int:
    return sum(
        distinguish(laplace(scale), PAIR, PROFILE, error_probability=0.05, samples=samples, seed=seed + run).refuted
        for run in range(runs)
    )


def power_is_below(refutations: int, runs: int, power: float) -> bool:
    """Whether it is so beyond doubt."""
    return bool(stats.binomtest(refutations, runs, power, alternative="less").pvalue < 1e-6)


def test_laplace_noise_of_four_fifths_in_20_coordinates_is_refuted_from_4000_releases(seed: int) -> None:
    assert not power_is_below(times_refuted(0.8, 4000, 12, seed), 12, 0.8)


def test_from_a_tenth_of_the_releases_the_same_test_fails(seed: int) -> None:
    assert power_is_below(times_refuted(0.8, 400, 20, seed), 20, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "samples"), [(0.8, 4000), (0.9, 12_000)])
def test_laplace_noise_in_20_coordinates_is_refuted_in_four_of_five_audits(
    scale: float, samples: int, seed: int
) -> None:
    found = times_refuted(scale, samples, 100, seed)
    print(f"scale {scale}: {found} of 100 from {samples} releases")
    assert not power_is_below(found, 100, 0.8)


# Correct mechanisms survive ------------------------------------------------------------------------------------------

CORRECT = [("M1c", 1, "1"), ("M13", 1, "1"), ("S1", 1, "1"), ("M16", 4, "1"), ("M15", 3, "1")]


def alarms(case: tuple[str, int, str], error: float, runs: int, seed: int) -> int:
    mechanism = broken.by_name(case[0]).make(*case[1:])
    assert not broken.by_name(case[0]).refutable(*case[1:])
    pair = worst_case(mechanism).pair
    datasets = pair.dataset, pair.neighbour
    return sum(
        distinguish(
            black_box(mechanism), datasets, mechanism.claim, error_probability=error, samples=600, seed=seed + run
        ).refuted
        for run in range(runs)
    )


@pytest.fixture
def no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They decide nothing and take most of the time."""
    for name in ("mu_lower", "epsilon_lower"):
        monkeypatch.setattr(event_rows, name, lambda *_, **__: 0.0)
    for name in ("curve_mu_lower", "symmetric_epsilon_lower"):
        monkeypatch.setattr(payoff_rows, name, lambda *_: 0.0)


@pytest.mark.usefixtures("no_bounds")
@pytest.mark.parametrize("case", CORRECT[:3], ids=str)
def test_private_variants_survive_audits(case: tuple[str, int, str], seed: int) -> None:
    assert stats.binomtest(alarms(case, 0.05, 40, seed), 40, 0.05, alternative="greater").pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.usefixtures("no_bounds")
@pytest.mark.parametrize("case", CORRECT, ids=str)
def test_private_variants_survive_200_audits(case: tuple[str, int, str], seed: int) -> None:
    assert stats.binomtest(alarms(case, 0.05, 200, seed), 200, 0.05, alternative="greater").pvalue > 1e-6


@pytest.mark.usefixtures("no_bounds")
def test_an_audit_that_refutes_too_often_would_be_noticed(seed: int) -> None:
    found = sum(
        distinguish(
            lambda data, rng: len(data) + 0.5 * rng.normal(), PAIR, GaussianDP(1), error_probability=0.05, samples=300,
            seed=seed + run,
        ).refuted
        for run in range(20)
    )  # fmt: skip
    assert stats.binomtest(found, 20, 0.05, alternative="greater").pvalue < 1e-6


@pytest.mark.slow
def test_the_laplace_variants_are_refuted_from_releases_alone(seed: int) -> None:
    for name in ("L1", "L2"):
        mechanism = broken.any_by_name(name).make(3, 1)
        assert isinstance(mechanism.claim, PureDP)
        pair = worst_case(mechanism).pair
        datasets = pair.dataset, pair.neighbour
        assert distinguish(
            black_box(mechanism), datasets, mechanism.claim, error_probability=ERROR, samples=40_000, seed=seed
        ).refuted, name
