"""Claims that the far tail of training breaks: of every mu, rho and pure epsilon, with every way to make batches."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.gdp import gdp_mu
from dpverdict.audit.exact.residual import kept_down_to
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import precision
from dpverdict.mechanisms.core.guarantees import GaussianDP, parse_guarantee
from dpverdict.mechanisms.training.dp_sgd import DPSGD
from dpverdict.mechanisms.training.half_spaces import HalfSpaces

ALONE, REPLACED = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
SCHEMES = [
    ("poisson", ALONE),
    ("balls-in-bins", ALONE),
    ("shuffle", ALONE),
    ("shuffle", REPLACED),
    ("shuffle-once", ALONE),
    ("shuffle-once", REPLACED),
]
OTHERS = [("poisson", REPLACED), ("weighted", REPLACED), ("k-of-t", ALONE)]
"""Whose sums have other means than those of a removed record in some of the batches."""


def run(sampling, adjacency, **changed):
    given = {"noise_multiplier": 1, "rate": "0.1", "steps": 40} | changed
    return DPSGD(**given, sampling=sampling, adjacency=adjacency)


@pytest.mark.few(2)
@pytest.mark.parametrize(("sampling", "adjacency"), [*SCHEMES, *OTHERS])
def test_every_claim_of_mu_rho_and_pure_epsilon_is_decided(sampling, adjacency):
    training = run(sampling, adjacency)
    square = training.half_spaces.mu_squared
    for parts in (Fraction(1, 3), Fraction(9, 10), Fraction(10**6 - 1, 10**6)):
        mu = Fraction(math.isqrt(int(square * 10**16)), 10**8)
        assert certify(training, GaussianDP(mu * parts)).status is Status.REFUTED
        assert certify(training, f"rho={square * parts / 2}").status is Status.REFUTED
    assert certify(training, GaussianDP(mu + Fraction(1, 10**8))).status is Status.CERTIFIED
    assert certify(training, f"rho={square / 2}").status is Status.CERTIFIED
    for epsilon in (1, 1000, 10**6):
        assert certify(training, f"eps={epsilon}").status is Status.REFUTED


def test_the_least_mu_is_decided_where_it_is_rational():
    training = run("poisson", ALONE, steps=25, noise_multiplier="0.7")
    assert certify(training, GaussianDP(Fraction(50, 7))).status is Status.CERTIFIED
    assert certify(training, GaussianDP(Fraction(50, 7) - Fraction(1, 10**9))).status is Status.REFUTED


@pytest.mark.parametrize("claim", ["mu=2", "mu=6.3", "rho=15", "order=40, eps=500", "eps=300"])
@pytest.mark.parametrize(("sampling", "adjacency"), SCHEMES)
def test_the_half_space_breaks_the_claim_by_the_whole_binomial_sum(sampling, adjacency, claim):
    """P(event) and Q(event) anew by mpmath at 60 digits, all numbers of participations counted."""
    training, guarantee = run(sampling, adjacency), parse_guarantee(claim)
    witness = training.half_spaces.against(guarantee)
    spaces = training.half_spaces
    if witness is None:
        kept = {"mu": spaces.mu_squared <= 4 or (claim == "mu=6.3" and spaces.mu_squared <= Fraction("39.69"))}
        assert kept.get(claim[:2], True)
        return
    z = Fraction(witness.event.split(" is above ")[1].partition(";")[0])
    with mpmath.workdps(60):
        n, rate, at = spaces.number, mpmath.mpf(1) / 10, mpmath.mpf(z.numerator) / z.denominator

        def tail_of(count, mean):
            return (
                mpmath.erfc((at - mpmath.mpf(mean) / (spaces.noise_multiplier * mpmath.sqrt(n))) / mpmath.sqrt(2)) / 2
            )

        chances = (
            {n: rate, 0: 1 - rate}
            if spaces.together
            else {k: mpmath.binomial(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)}
        )
        p = sum(chance * tail_of(k, spaces.mean(k)) for k, chance in chances.items())
        q = sum(chance * tail_of(k, spaces.offset * (k - n)) for k, chance in chances.items())
        assert mpmath.log(p) >= _log(witness.probability, 0) - mpmath.mpf("1e-4")
        assert mpmath.log(p) <= _log(witness.probability, 1) + mpmath.mpf("1e-4")
        assert mpmath.log(q) <= _log(witness.neighbour_probability, 1) + mpmath.mpf("1e-4")
        if claim[:2] == "mu":
            mu = mpmath.mpf(str(claim[3:]))
            assert p > mpmath.erfc((at - mu) / mpmath.sqrt(2)) / 2
        elif claim.startswith("eps"):
            assert mpmath.log(p) - mpmath.log(q) > 300
        elif claim.startswith("order"):
            assert (40 * mpmath.log(p) - 39 * mpmath.log(q)) / 39 > 500


def _log(enclosure, side):
    return mpmath.log(mpmath.mpf(enclosure.show(12)[1:-1].split(", ")[side]))


@pytest.mark.parametrize(("sampling", "adjacency"), SCHEMES)
def test_the_sums_have_the_means_that_are_said(sampling, adjacency):
    """2000 releases with next to no noise on the worst neighbours, seed 3: the means m(K) with their frequencies."""
    quiet = run(sampling, adjacency, noise_multiplier="1e-6")
    spaces, pair, rng = quiet.half_spaces, worst_case(quiet).pair, np.random.default_rng(3)

    def sums(dataset):
        y = quiet.release_many(dataset, 2000, rng)
        if sampling == "poisson":
            return y.sum(axis=1).round()
        shift = 1 if sampling.startswith("shuffle") else 0
        first = y.reshape(2000, quiet.epochs, quiet.batches)[:, :, 0]
        return (first + shift - spaces.offset).sum(axis=1).round()

    absent, present = sums(pair.neighbour), sums(pair.dataset)
    assert absent.max() <= 0
    assert spaces.offset or absent.min() == 0
    counts = [spaces.number, 0] if spaces.together else range(spaces.number + 1)
    assert set(present) <= {spaces.mean(k) for k in counts}
    for k in [k for k in counts if k]:
        with precision(64):
            chance = float(spaces.log_weight(k).exp())
        seen = (present == spaces.mean(k)).mean()
        assert abs(seen - chance) < 6 * math.sqrt(chance / 2000) + 1e-9


def test_a_half_space_with_a_wrong_mean_would_break_a_claim_that_is_kept(monkeypatch):
    """The planted fault: an empty place that is taken for a record of gradient 0."""
    training = run("shuffle", ALONE)
    claim = parse_guarantee("mu=2")  # sqrt(4 epochs)/1: kept
    assert certify(training, claim).status is Status.CERTIFIED
    assert training.half_spaces.against(claim) is None
    monkeypatch.setattr(HalfSpaces, "mean", lambda self, count: 2 * count)
    assert training.half_spaces.against(claim) is not None


def test_a_claim_of_mu_is_kept_down_to_the_delta_that_is_said():
    loss, mu = poisson_sampled(GaussianLoss(1), "0.01", 1000), Fraction(1, 2)
    floor = kept_down_to(loss, mu)
    assert 1e-9 < floor < 1e-8
    epsilons = np.linspace(0, 6, 61)
    assert (loss.delta_bounds(epsilons)[1] <= np.maximum(GaussianLoss(mu).delta_bounds(epsilons)[0], floor)).all()
    assert gdp_mu(loss, floor / 2).lower > mu
    assert kept_down_to(loss, Fraction(1)) == pytest.approx(1e-12)
    assert kept_down_to(loss, Fraction(1, 10)) is None  # broken at epsilon = 0 already


def test_a_refuted_mu_comes_with_what_is_kept():
    verdict = certify(run("poisson", ALONE, rate="0.01", steps=1000), "mu=0.5")
    assert "the least mu that is kept is 31.6228" in verdict.witness.statement
    assert "where delta is above 7.56e-9, mu=0.5 holds" in verdict.witness.statement


def test_the_least_mu_falls_with_the_noise_and_doubles_with_a_replacement():
    spaces = run("poisson", ALONE).half_spaces
    assert replace(spaces, noise_multiplier=Fraction(2)).mu_squared == 10
    assert run("shuffle", REPLACED).half_spaces.mu_squared == 16
    assert spaces.against(parse_guarantee("eps=1, delta=1e-5")) is None


def test_a_replaced_record_of_large_batches_has_two_bounds_on_mu_and_not_one():
    """With a rate above 1/2 the far tail shows sqrt(T)/s, and known batches keep 2 sqrt(T)/s."""
    training = DPSGD(noise_multiplier=1, rate="0.75", steps=10, sampling="poisson", adjacency=REPLACED)
    refuted = certify(training, GaussianDP(4))
    assert refuted.status is Status.REFUTED
    assert refuted.witness is not None
    assert "no mu below 3.16228 is kept" in refuted.witness.statement
    assert "least mu" not in refuted.witness.statement
    assert certify(training, GaussianDP("6.4")).status is Status.CERTIFIED
