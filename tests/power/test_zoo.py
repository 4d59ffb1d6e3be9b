"""Every known-wrong variant is refuted where it is wrong, with its true privacy, and nowhere else.

Exactly: the worst case is the closed form, and `certify` refutes if and only if the closed form exceeds the claim.
Empirically: `distinguish` refutes at d = 3 from the numbers of releases in the table, at error probability ERROR, and
refutes neither the correct mechanisms nor the variants where they are private.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.balls import Real, compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    EllipticalGaussian,
    GaussianDP,
    GroupedGaussian,
    StandardGaussian,
    broken,
)
from dpverdict.mechanisms.broken.mutant import Mutant
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

DIMS = (1, 2, 3, 5, 9, 20, 100)
MUS = ("0.5", "1", "2")
ERROR = 1e-6

PRIVATE: dict[str, set[tuple[int, str]]] = {
    "M1c": {(1, mu) for mu in MUS},
    "M1d": {(1, mu) for mu in MUS},
    "M8": {(d, "0.5") for d in DIMS} | {(d, "1") for d in DIMS if d > 3} | {(d, "2") for d in DIMS if d > 20},
    "M8b": {(d, mu) for d in DIMS for mu in ("1", "2")},
    "M13": {(1, mu) for mu in MUS},
    "M15": {(d, mu) for d in (2, 3) for mu in MUS},
    "M16": {(d, mu) for d in (1, 9, 100) for mu in MUS},
    "S1": {(1, mu) for mu in MUS},
    "V2": {(2, mu) for mu in MUS},
    "K1": {(d, mu) for d in (1, 9, 100) for mu in MUS},
}
"""Where a variant exists and is private all the same; everywhere else it is refutable."""

EVERYWHERE = [
    pytest.param(
        *(mutant, d, mu),
        id=f"{mutant.name}, d={d}, mu={mu}",
        marks=() if mu == "1" or d == 3 else pytest.mark.slow,  # each number with the others as they are most often
    )
    for mutant, d, mu in itertools.product(broken.GAUSSIAN, DIMS, MUS)
    if d >= mutant.least_dim
]


def gaussian(name: str) -> Mutant:
    (found,) = (mutant for mutant in broken.GAUSSIAN if mutant.name == name)
    return found


# exactly --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mutant", "d", "mu"), EVERYWHERE)
def test_the_worst_case_is_the_closed_form_and_the_verdict_follows_it(mutant: Mutant, d: int, mu: str) -> None:
    mechanism = mutant.make(d, mu)
    worst, true = worst_case(mechanism), mutant.true_mu(d, mu)
    if math.isinf(true):
        assert isinstance(worst.loss, DisjointLoss)
    else:
        assert math.isclose(worst.loss.mu, true, rel_tol=1e-12)
    assert mutant.refutable(d, mu) == ((d, mu) not in PRIVATE.get(mutant.name, set()))
    verdict = certify(mechanism)
    assert verdict.status is (Status.REFUTED if mutant.refutable(d, mu) else Status.CERTIFIED)
    assert verdict.claim == GaussianDP(mu)


@pytest.mark.parametrize(("mutant", "d", "mu"), [p for p in EVERYWHERE if p.values[1] in (1, 3, 20)])
def test_the_event_of_each_refutation_breaks_the_claim_by_hand(mutant: Mutant, d: int, mu: str) -> None:
    mechanism = mutant.make(d, mu)
    witness = certify(mechanism).witness
    if witness is None:
        assert not mutant.refutable(d, mu)
        return
    pair = witness.pair
    assert pair.adjacency is mechanism.adjacency
    mean_p, mean_q = (mechanism.decode(mechanism.embed(x)[None])[0] for x in (pair.dataset, pair.neighbour))
    weights, offset = mechanism.likelihood_direction(pair)
    if math.isinf(mutant.true_mu(d, mu)):
        noise = mechanism.noise.add(np.zeros(mechanism.noise.size), 50, np.random.default_rng(0))
        assert np.abs(noise @ weights).max() < 1e-12  # the combination carries no noise
        assert weights @ mean_p != pytest.approx(weights @ mean_q)
        return
    with mpmath.workdps(40):
        squared = mutant.true_mu_squared(d, mu)
        assert squared is not None
        true = mpmath.sqrt(mpmath.mpf(squared.nearest()))
        p, q, claimed = mpmath.ncdf(true / 2), mpmath.ncdf(-true / 2), mpmath.mpf(mu)
        assert p > mpmath.ncdf(-true / 2 + claimed)  # what mu-GDP allows when Q(event) = q
        assert abs(witness.probability.lower - p) < 1e-12
        assert abs(witness.neighbour_probability.lower - q) < 1e-12
    # The score that defines the event is N(-mu^2/2, mu^2) under Q and N(mu^2/2, mu^2) under P.
    square = float(true) ** 2
    np.testing.assert_allclose(
        [weights @ mean_p - offset, weights @ mean_q - offset], [square / 2, -square / 2], rtol=1e-9
    )


@pytest.mark.parametrize("mutant", broken.GAUSSIAN, ids=lambda m: m.name)
def test_every_variant_is_refutable_somewhere_and_described(mutant: Mutant) -> None:
    assert any(mutant.refutable(d, mu) for d in DIMS for mu in MUS)
    assert mutant.title
    assert mutant.formula
    assert mutant.source
    assert broken.by_name(mutant.name.lower()) is mutant
    mechanism = mutant.make(max(3, mutant.least_dim), 1)
    assert mechanism.name == f"broken:{mutant.name}"
    assert mechanism.describe()["claim"] == "mu=1"


def test_names_are_unique_and_an_unknown_one_is_refused() -> None:
    names = [mutant.name for mutant in broken.ALL]
    assert len(set(names)) == len(names)
    assert set(PRIVATE) <= set(names)
    with pytest.raises(InvalidValue, match=r"^variant='broken:M99' must be a known-wrong one: ") as error:
        broken.by_name("M99")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("mutant", broken.GAUSSIAN, ids=lambda m: m.name)
def test_a_variant_is_not_made_of_impossible_parameters(mutant: Mutant) -> None:
    impossible: list[tuple[Any, Any, str]] = [(0, 1, "dim"), (1.5, 1, "dim"), (5, 0, "mu"), (5, "x", "mu")]
    for dim, mu, name in impossible:
        for build in (mutant.make, mutant.true_mu if mutant.squared else mutant.make):
            with pytest.raises(InvalidValue, match=f"^{name}="):
                build(dim, mu)
    if mutant.least_dim > 1:
        assert not mutant.refutable(1, 1)
        with pytest.raises(InvalidValue, match=f"for {mutant.name}"):
            mutant.make(1, 1)


@pytest.mark.parametrize("d", [2, 5])
def test_variants_that_only_the_all_zero_or_all_ones_record_shows(d: int) -> None:
    zero, ones = np.zeros(d), np.ones(d)
    halved, opposite = gaussian("M6b").make(d, 1), gaussian("M6c").make(d, 1)
    assert neighbour_loss(halved, zero).mu == worst_case(halved).loss.mu > neighbour_loss(halved, ones).mu
    assert neighbour_loss(opposite, ones).mu == worst_case(opposite).loss.mu > neighbour_loss(opposite, zero).mu


def test_variants_of_one_true_value_at_squares_coincide_there() -> None:
    values = [gaussian(name).true_mu_squared(16, 1) for name in ("M1", "M2", "M4")]
    assert [value.rational for value in values if value] == [Fraction(6, 5)] * 3


# empirically ----------------------------------------------------------------------------------------------------------

# (variant, dimension, claimed mu): releases per dataset. With mu' the true value, 22/(mu' - mu) squared is enough for
# the bounds to separate and for the counts to fluctuate by 4.7 standard deviations besides.
RELEASES: dict[tuple[str, int, str], int] = {
    ("M1", 3, "1"): 30_000,
    ("M1b", 3, "1"): 6_000,
    ("M1c", 3, "1"): 12_000,
    ("M1d", 3, "1"): 12_000,
    ("M2", 3, "1"): 30_000,
    ("M3", 3, "1"): 200_000,
    ("M3", 2, "1"): 120_000,
    ("M4", 3, "1"): 30_000,
    ("M5", 3, "1"): 3_000,
    ("M6", 3, "1"): 100,
    ("M6b", 3, "1"): 1_000,
    ("M6c", 3, "1"): 1_000,
    ("M7", 3, "1"): 1_000,
    ("M7ab", 3, "1"): 2_000,
    ("M8", 3, "2"): 1_000,
    ("M8b", 3, "0.5"): 12_000,
    ("M9", 3, "1"): 100,
    ("M10", 3, "1"): 3_000,
    ("M11", 3, "1"): 3_000,
    ("M12", 3, "1"): 1_000,
    ("M13", 3, "1"): 50_000,
    ("M14", 3, "1"): 200_000,
    ("M15", 9, "1"): 20_000,
    ("M16", 3, "1"): 50_000,
    ("M16", 2, "1"): 120_000,
    ("M17", 3, "1"): 1_000,
    ("S1", 3, "1"): 2_000,
    ("E1", 3, "1"): 1_000,
    ("V1", 3, "1"): 2_000,
    ("V2", 20, "1"): 3_000,
    ("K1", 2, "1"): 3_000,
    ("G1", 3, "1"): 3_000,
}
EXPENSIVE: dict[tuple[str, int, str], int] = {
    ("M8", 3, "1"): 600_000,
    ("M3", 9, "1"): 500_000,
    ("M15", 5, "1"): 3_000_000,
    ("M16", 5, "1"): 1_500_000,
    ("M14", 4, "1"): 200_000,
}


def refuted_empirically(mechanism: GaussianMechanism, samples: int, seed: int) -> bool:
    pair = worst_case(mechanism).pair
    claim = mechanism.claim
    result = distinguish(mechanism, pair, claim, error_probability=ERROR, samples=samples, seed=seed)
    return result.refuted


def test_every_variant_has_a_number_of_releases() -> None:
    assert {name for name, _, _ in RELEASES} == {mutant.name for mutant in broken.GAUSSIAN}


@pytest.mark.parametrize(("case", "samples"), RELEASES.items(), ids=str)
def test_releases_alone_refute_each_variant(case: tuple[str, int, str], samples: int, seed: int) -> None:
    name, d, mu = case
    mutant = gaussian(name)
    assert mutant.refutable(d, mu)
    assert math.isinf(mutant.true_mu(d, mu)) or samples >= (22 / (mutant.true_mu(d, mu) - float(mu))) ** 2
    assert refuted_empirically(mutant.make(d, mu), samples, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "samples"), EXPENSIVE.items(), ids=str)
def test_more_releases_refute_the_closest_variants(case: tuple[str, int, str], samples: int, seed: int) -> None:
    name, d, mu = case
    assert refuted_empirically(gaussian(name).make(d, mu), samples, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "samples"), RELEASES.items(), ids=str)
def test_releases_alone_refute_each_variant_from_any_seed(case: tuple[str, int, str], samples: int, seed: int) -> None:
    name, d, mu = case
    mechanism = gaussian(name).make(d, mu)
    assert all(refuted_empirically(mechanism, samples, seed + shift) for shift in range(1, 21))


HONEST: list[GaussianMechanism] = [
    StandardGaussian(dim=3, mu=1, adjacency=REPLACE_ONE),
    CorrelatedGaussian(dim=3, mu=1),
    CorrelatedGaussian(dim=2, mu=1, count="withheld"),
    CorrelatedGaussian(dim=3, mu=1, count="estimated", size_estimate=10),
    GroupedGaussian(groups=2, dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE),
    GroupedGaussian(groups=2, dim=3, mu=1, adjacency=REPLACE_ONE),
    EllipticalGaussian(bounds=[1, 2, 4], mu=1),
    *(gaussian(name).make(d, mu) for name, d, mu in [("M1c", 1, 1), ("M1d", 1, 1), ("M13", 1, 1), ("S1", 1, 1)]),
    *(gaussian(name).make(d, mu) for name, d, mu in [("M16", 4, 1), ("M15", 3, 1), ("M8b", 3, 1), ("M8", 5, 1)]),
]


@pytest.mark.parametrize("mechanism", HONEST, ids=lambda m: f"{m.name}, {m!r}")
def test_releases_do_not_refute_what_is_private(mechanism: GaussianMechanism, seed: int) -> None:
    assert not refuted_empirically(mechanism, 50_000, seed)


def test_a_closed_form_that_is_off_by_a_millionth_would_be_noticed() -> None:
    for mutant in broken.GAUSSIAN:
        d = max(3, mutant.least_dim)
        squared = mutant.true_mu_squared(d, 1)
        if squared is not None:
            attained = worst_case(mutant.make(d, 1)).loss.mu
            assert not math.isclose(attained, mutant.true_mu(d, 1) * (1 + 1e-6), rel_tol=1e-12)
            assert compare(squared, Real.of(Fraction(attained) ** 2 * (1 + Fraction(1, 10**12)))) == -1
