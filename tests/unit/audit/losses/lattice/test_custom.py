"""Losses from a user's own noise: what is accepted, and what is recognised as no privacy loss."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.lattice.bounds import compose_on_lattice
from dpverdict.audit.losses.lattice.custom import additive_noise_loss, loss_from_cdfs
from dpverdict.errors import InvalidValue

P = (lambda l: ndtr(0.5 - l), lambda l: ndtr(l - 0.5))
Q = (lambda l: ndtr(-0.5 - l), lambda l: ndtr(l + 0.5))
RANGE = {"relative_error": 1e-12, "lowest": -8.0, "highest": 8.0}


def ripple(l):
    """A monotone law with the right tails and a wrong density: 5 % off, in waves."""
    return 1e-3 * np.sin(50 * l) * P[0](l) * P[1](l)


def test_distribution_functions_of_a_gaussian_loss_give_its_profile():
    loss = loss_from_cdfs(p=P, q=Q, **RANGE)
    for epsilon in (-3, 0, "0.5", 4):
        truth = GaussianLoss(1).certified_delta(epsilon)
        assert loss.delta_lower(epsilon) <= truth.lower <= truth.upper <= loss.delta_upper(epsilon)
    pair = loss.to_pld(1e-3)
    truth = GaussianLoss(1).certified_delta(1)
    assert pair.optimistic.get_delta_for_epsilon(1.0) <= truth.lower
    assert pair.pessimistic.get_delta_for_epsilon(1.0) >= truth.upper


@pytest.mark.parametrize("noise", [stats.norm(), stats.logistic(), stats.gennorm(1.5), stats.laplace()])
def test_additive_noise_composes_on_the_lattice(noise):
    loss = additive_noise_loss(noise, 0.5, relative_error=1e-11)
    bounds = compose_on_lattice([(loss.tails, 10)], 0.01)
    assert 0 < bounds.delta_lower(1) <= bounds.delta_upper(1)
    assert bounds.delta_upper(1) / bounds.delta_lower(1) - 1 < (0.5 if noise.dist.name == "laplace" else 0.05)


def test_additive_gaussian_noise_is_the_gaussian_loss():
    loss = additive_noise_loss(stats.norm(scale=2), 1.0, relative_error=1e-12)
    for epsilon in (0, 1, 3):
        truth = GaussianLoss("0.5").certified_delta(epsilon)
        assert loss.delta_lower(epsilon) <= truth.lower <= truth.upper <= loss.delta_upper(epsilon)


def test_a_bounded_loss_has_no_mass_beyond_its_ends():
    loss = additive_noise_loss(stats.logistic(), 1.0, relative_error=1e-14)
    tails = loss.tails(np.array([-1.5, -1.0, 1.0, 1.5]))
    assert tails.p_above.tolist()[2:] == [0.0, 0.0]
    assert tails.q_below.tolist()[:1] == [0.0]
    assert loss.delta_upper(2) <= 1e-290


@pytest.mark.parametrize("noise", [stats.t(3), stats.cauchy(), stats.gennorm(0.5)])
def test_noise_whose_loss_is_not_monotone_is_refused(noise):
    with pytest.raises(InvalidValue, match="noise"):
        additive_noise_loss(noise, 1.0, relative_error=1e-12)


@pytest.mark.parametrize("shift", [0, -1, math.nan, math.inf])
def test_a_shift_is_a_positive_number(shift):
    with pytest.raises(InvalidValue, match="shift"):
        additive_noise_loss(stats.norm(), shift, relative_error=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "problem"),
    [
        (Q, P, "ratio"),  # the order
        (P, P, "ratio"),
        ((lambda l: ndtr(0.6 - l), lambda l: ndtr(l - 0.6)), Q, "ratio"),  # another mean
        ((P[1], P[0]), Q, "monotone"),
        ((P[0], lambda l: 0.9 * P[1](l)), Q, "mass"),
        ((lambda l: 1.5 * P[0](l), P[1]), Q, r"\[0, 1\]"),
        ((lambda l: P[0](l) * math.nan, P[1]), Q, "numbers"),
        ((lambda l: 0.5, P[1]), Q, "shape"),
        ((lambda l: P[0](l) + ripple(l), lambda l: P[1](l) - ripple(l)), Q, "ratio"),
    ],
)
def test_functions_that_are_no_privacy_loss_are_refused(p, q, problem):
    with pytest.raises(InvalidValue, match=problem):
        loss_from_cdfs(p=p, q=q, **RANGE)


def test_a_density_that_does_not_fit_the_distribution_is_refused():
    class Mismatched:
        cdf, sf = stats.norm().cdf, stats.norm().sf
        logpdf = stats.norm(scale=1.1).logpdf

    with pytest.raises(InvalidValue, match="ratio"):
        additive_noise_loss(Mismatched(), 1.0, relative_error=1e-12)


@pytest.mark.parametrize(("lowest", "highest"), [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf)])
def test_the_range_of_a_loss_is_an_interval(lowest, highest):
    with pytest.raises(InvalidValue, match="lowest"):
        loss_from_cdfs(p=P, q=Q, relative_error=1e-12, lowest=lowest, highest=highest)


def test_the_profile_at_what_is_no_number_is_refused():
    loss = loss_from_cdfs(p=P, q=Q, **RANGE)
    with pytest.raises(InvalidValue, match="epsilon"):
        loss.delta_upper(math.nan)
