"""Witnesses: the event, its two probabilities and the inequality it breaks, all recomputed with mpmath."""

import re
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Witness
from dpverdict.audit.exact.witness import tails_by_profile
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Enclosure
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    CorrelatedGaussian,
    EllipticalGaussian,
    GaussianDP,
    GroupedGaussian,
    PureDP,
    RenyiDP,
    StandardGaussian,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.broken.mutant import BrokenMechanism
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.noise import DiagonalNoise
from dpverdict.mechanisms.core.sensitivity import Box

DIGITS = 60
MECHANISMS: list[GaussianMechanism] = [
    StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE),
    CorrelatedGaussian(dim=5, mu="1.3"),
    CorrelatedGaussian(dim=3, mu="0.4", count="withheld"),
    GroupedGaussian(groups=2, dim=3, mu=2, adjacency=REPLACE_ONE),
    EllipticalGaussian(bounds=[1, "0.3", 5], mu="0.8"),
]


def worst_mu(mechanism: GaussianMechanism) -> Any:  # an mpf: mpmath has no types
    loss = worst_case(mechanism).loss
    assert isinstance(loss, GaussianLoss)
    squared = loss.mu_squared.rational
    assert squared is not None
    return mpmath.sqrt(mpmath.mpf(squared.numerator) / squared.denominator)


def refuted(mechanism: GaussianMechanism, claim: Guarantee) -> Witness:
    witness = certify(mechanism, claim).witness
    assert witness is not None
    return witness


def contains(enclosure: Enclosure, value: Any) -> bool:
    return enclosure.contains(Fraction(mpmath.nstr(value, DIGITS - 5)))


def tail(t: Any) -> Any:
    return mpmath.erfc(t / mpmath.sqrt(2)) / 2


def assert_probabilities(witness: Witness, threshold: Any, mu: Any) -> tuple[Any, Any]:
    p, q = tail(threshold - mu), tail(threshold)
    assert contains(witness.probability, p)
    assert contains(witness.neighbour_probability, q)
    stated = re.search(r"s\(y\) >= (\S+),", witness.event)
    assert stated is not None
    assert float(stated[1]) == pytest.approx(float(threshold), rel=1e-15)
    return p, q


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_event_against_gdp_is_more_probable_than_the_claimed_power(mechanism: GaussianMechanism) -> None:
    with mpmath.workdps(DIGITS):
        mu = worst_mu(mechanism)
        claimed = Fraction(mpmath.nstr(mu, 30)) * Fraction(999, 1000)
        p, _ = assert_probabilities(refuted(mechanism, GaussianDP(claimed)), mu / 2, mu)
        assert p > tail(mu / 2 - mpmath.mpf(claimed.numerator) / claimed.denominator)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("epsilon", ["0", "0.5", "3"])
def test_the_event_against_an_approximate_claim_exceeds_its_delta(mechanism: GaussianMechanism, epsilon: str) -> None:
    with mpmath.workdps(DIGITS):
        mu, e = worst_mu(mechanism), mpmath.mpf(epsilon)
        gap = tail(e / mu - mu / 2) - mpmath.exp(e) * tail(e / mu + mu / 2)
        delta = Fraction(mpmath.nstr(gap * (1 - mpmath.mpf(10) ** -30), 50))
        witness = refuted(mechanism, ApproximateDP(epsilon, delta))
        p, q = assert_probabilities(witness, e / mu + mu / 2, mu)
        assert p - mpmath.exp(e) * q > mpmath.mpf(delta.numerator) / delta.denominator
        assert contains(witness.value, gap)
        assert certify(mechanism, ApproximateDP(epsilon, delta * (1 + 2 * Fraction(10) ** -30))).witness is None


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_event_against_a_pure_claim_exceeds_its_ratio(mechanism: GaussianMechanism) -> None:
    with mpmath.workdps(DIGITS):
        mu = worst_mu(mechanism)
        p, q = assert_probabilities(refuted(mechanism, PureDP(5)), 5 / mu + mu / 2, mu)
        assert p > mpmath.exp(5) * q


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("percent", [10, 50, 99])
def test_the_event_against_zcdp_breaks_it_at_the_order_that_is_named(
    mechanism: GaussianMechanism, percent: int
) -> None:
    with mpmath.workdps(DIGITS):
        mu = worst_mu(mechanism)
        rho = Fraction(mpmath.nstr(mu * mu / 2, 30)) * Fraction(percent, 100)
        witness = refuted(mechanism, ZeroConcentratedDP(rho))
        named = re.search(r"at order a = (\d+)", witness.statement)
        assert named is not None
        a = int(named[1])
        p, q = assert_probabilities(witness, a * mu, mu)
        bound = a * (a - 1) * mpmath.mpf(rho.numerator) / rho.denominator
        assert a * mpmath.log(p) + (1 - a) * mpmath.log(q) > bound


def test_a_zcdp_claim_broken_by_too_little_for_one_event_is_refuted_by_the_divergence() -> None:
    witness = refuted(MECHANISMS[0], ZeroConcentratedDP(Fraction(1, 2) - Fraction(1, 10**30)))
    assert "order a =" not in witness.statement
    assert "Renyi divergence of every order a is a mu^2/2" in witness.statement


@pytest.mark.parametrize("order", ["1.5", "2", "32"])
def test_the_event_against_a_renyi_claim_is_at_its_order(order: str) -> None:
    with mpmath.workdps(DIGITS):
        mu = worst_mu(MECHANISMS[1])
        claim = RenyiDP(order, Fraction(mpmath.nstr(mpmath.mpf(order) * mu**2 / 2, 30)) * Fraction(9, 10))
        witness = refuted(MECHANISMS[1], claim)
        assert_probabilities(witness, mpmath.mpf(order) * mu, mu)
        assert contains(witness.value, mpmath.mpf(order) * mu**2 / 2)
        assert witness.bound.contains(claim.epsilon)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_weights_of_the_event_are_those_of_the_likelihood_ratio(mechanism: GaussianMechanism) -> None:
    witness = refuted(mechanism, GaussianDP("0.001"))
    stated = re.findall(r"(-?[\d.e+-]+) on (\d+) coordinate", witness.event)
    listed = np.sort(np.repeat([float(w) for w, _ in stated], [int(n) for _, n in stated]))
    weights, _ = mechanism.likelihood_direction(witness.pair)
    np.testing.assert_allclose(listed, np.sort(weights), rtol=1e-10)


def test_weights_equal_to_12_digits_are_shown_once_and_many_distinct_ones_are_cut_short() -> None:
    equal = refuted(EllipticalGaussian(bounds=range(1, 40), mu=1), GaussianDP("0.5"))
    assert "w = S^-1 (E_P[y] - E_Q[y]) = (0.00128205128205 on 39 coordinates)" in equal.event
    bounds = np.arange(1.0, 40.0)
    mechanism = BrokenMechanism(
        name="isotropic",
        source="test",
        dim=39,
        claim=GaussianDP(1),
        adjacency=REPLACE_ONE,
        noise=DiagonalNoise(scales=np.ones(39)),
        sensitivity=Box(bounds=bounds),
        low=-bounds / 2,
        high=bounds / 2,
    )
    assert "1 on 1 coordinate, 2 on 1 coordinate, " in refuted(mechanism, GaussianDP(1)).event
    assert "... 39 distinct values" in refuted(mechanism, GaussianDP(1)).event


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_event_has_its_probabilities_among_releases(mechanism: GaussianMechanism, seed: int) -> None:
    # Two binomial counts of N releases; each is off by more than 6.5 standard deviations with probability < 1e-10.
    n = 4000
    witness = refuted(mechanism, GaussianDP("0.01"))
    weights, _ = mechanism.likelihood_direction(witness.pair)
    mean_q = mechanism.decode(mechanism.embed(witness.pair.neighbour)[None])[0]
    mu = worst_case(mechanism).loss.mu
    for dataset, enclosure in (
        (witness.pair.dataset, witness.probability),
        (witness.pair.neighbour, witness.neighbour_probability),
    ):
        released = mechanism.release_many(dataset, n, np.random.default_rng([seed, len(dataset)]))
        frequency = np.mean((released - mean_q) @ weights / mu >= mu / 2)
        expected = enclosure.lower
        assert abs(frequency - expected) < 6.5 * np.sqrt(expected * (1 - expected) / n)


@pytest.mark.parametrize("level", ["0", "0.5", "2", "-1"])
@pytest.mark.parametrize("mu", ["0.1", "1", "4"])
def test_the_profile_alone_encloses_both_probabilities_of_a_loss_above_a_level(mu, level):
    """By closed forms; those of a pair with 10 % more noise are not in what encloses these."""
    known = tails_by_profile(GaussianLoss(mu), Fraction(level))
    true = GaussianLoss(mu).certified_tails(level)
    assert all(found.lower <= tail.lower and tail.upper <= found.upper for found, tail in zip(known, true, strict=True))
    if (mu, level) == ("1", "0.5"):
        other = GaussianLoss(Fraction(mu) * 10 / 11).certified_tails(level)
        assert not known[0].lower <= other[0].lower
