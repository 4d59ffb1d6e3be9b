"""Repeated randomised response: its curves against enumeration, its atoms, its zCDP parameter, bad input."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.audit.losses.closed_form import RandomisedResponseLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Enclosure, ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import concentrated_delta_upper

CASES = [(1, Fraction(1, 2)), (3, Fraction(1, 3)), (5, Fraction(2)), (8, Fraction(1, 10))]


def enumerated(m: int, rate: Fraction, epsilon: Fraction) -> arb:
    """The hockey-stick divergence, over all 2^m outcomes."""
    total = arb(0)
    with precision(200):
        yes = 1 / (1 + (-ball(rate)).exp())
        for bits in itertools.product((0, 1), repeat=m):
            ones = sum(bits)
            p, q = yes**ones * (1 - yes) ** (m - ones), yes ** (m - ones) * (1 - yes) ** ones
            gain = p - ball(epsilon).exp() * q
            total += gain if rate * (2 * ones - m) > epsilon else 0
    return total


@pytest.mark.parametrize(("m", "rate"), CASES)
def test_the_profile_is_that_of_all_outcomes(m: int, rate: Fraction) -> None:
    loss = RandomisedResponseLoss(m, rate)
    for epsilon in (Fraction(-1), Fraction(0), rate / 2, rate, loss.total * Fraction(99, 100)):
        truth = enumerated(m, rate, epsilon)
        found = loss.certified_delta(epsilon)
        assert not truth < found.lower
        assert not truth > found.upper
        assert abs(loss.delta(epsilon) - float(truth)) <= 1e-14
    assert loss.certified_delta(loss.total).upper == 0
    assert loss.certified_delta(loss.total * Fraction(999, 1000)).lower > 0
    assert Fraction(loss.certified_epsilon(0).lower) <= loss.total <= Fraction(loss.certified_epsilon(0).upper)


def test_the_atoms_are_those_of_discrete_laplace_noise_moved_by_one() -> None:
    rate = Fraction(1, 3)
    law = TwoSidedGeometric(rate)
    above = sum(law.probability(z).nearest() for z in range(-200, 1))  # where P/Q is exp(rate)
    assert math.isclose(RandomisedResponseLoss(1, rate).tails(np.array([0.0])).p_above[0], above, rel_tol=1e-12)
    for z in (-3, 0, 1, 4):
        ratio = math.log(law.probability(z).nearest() / law.probability(z - 1).nearest())
        assert math.isclose(abs(ratio), float(rate), rel_tol=1e-12)
        assert (ratio > 0) == (z <= 0)


def test_an_atom_is_not_above_itself() -> None:
    tails = RandomisedResponseLoss(2, Fraction(1, 2)).tails(np.array([-1.0, 0.0, 1.0]))
    assert tails.p_above[2] == tails.q_above[2] == 0.0
    assert math.isclose(tails.p_above[1], (1 / (1 + math.exp(-0.5))) ** 2, rel_tol=1e-14)
    np.testing.assert_allclose(tails.p_above + tails.p_below, 1.0, rtol=1e-14)


@pytest.mark.parametrize(("m", "rate"), CASES)
def test_the_trade_off_function_is_its_own_inverse_and_meets_its_corners(m: int, rate: Fraction) -> None:
    loss = RandomisedResponseLoss(m, rate)
    for alpha in (0.001, 0.1, 0.3, 0.5, 0.9):
        assert math.isclose(loss.beta(loss.beta(alpha)), alpha, rel_tol=1e-9)
    yes = 1 / (1 + math.exp(-float(rate)))
    corner = (1 - yes) ** m  # reject on the largest loss alone
    assert math.isclose(loss.beta(corner), 1 - yes**m, rel_tol=1e-12)


@pytest.mark.parametrize(
    "loss",
    [
        RandomisedResponseLoss(3, "1/3"),
        RandomisedResponseLoss(2, 4),
        LaplaceLoss.grouped([("1/4", 2), (3, 1)]),
        LaplaceLoss([8]),
    ],
    ids=str,
)
def test_the_zcdp_parameter_is_the_kullback_leibler_divergence(loss: Any) -> None:
    rho = loss.least_rho()
    assert isinstance(rho, Enclosure)
    orders = ("1.000001", "1.01", "1.5", "2", "7", "100")
    quotients = [loss.certified_renyi(order) for order in orders]
    for order, divergence in zip(orders, quotients, strict=True):
        assert Fraction(divergence.lower) <= Fraction(order) * Fraction(rho.upper)
    near = Fraction(quotients[0].lower) / Fraction(orders[0])
    assert near >= Fraction(rho.lower) * (1 - Fraction(1, 10**4))  # no smaller rho would do
    total = sum((a**2 * n for a, n in loss.groups), Fraction(0)) if isinstance(loss, LaplaceLoss) else None
    assert Fraction(rho.upper) < (total if total is not None else loss.rate**2 * loss.times) / 2  # of pure DP


def test_the_bound_by_concentration_is_above_the_curves_and_close_to_the_best() -> None:
    rho, epsilon = Fraction(1, 10), Fraction(1)
    bound = concentrated_delta_upper(rho, epsilon)
    grid = np.exp(np.linspace(-3, 4, 4001))
    entropy = grid * np.log(grid) - (1 + grid) * np.log1p(grid)
    best = float(np.exp(grid * ((1 + grid) * 0.1 - 1) + entropy).min())
    assert math.isclose(float(bound), best, rel_tol=1e-5)
    for m in (1, 4, 30):
        loss = LaplaceLoss.equal(m, Fraction(math.sqrt(0.2 / m) * 0.999999))
        assert loss.certified_delta(epsilon).upper < float(bound)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((-1, 1), "m"), ((1.5, 1), "m"), ((True, 1), "m"), ((10**6, 1), "m"), ((1, 0), "rate"), ((1, "x"), "rate")],
)
def test_bad_input_is_refused(arguments: tuple[Any, Any], name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        RandomisedResponseLoss(*arguments)
    assert caught.value.name == name


def test_no_response_tells_nothing() -> None:
    nothing = RandomisedResponseLoss(0, 1)
    assert nothing.delta([0, 1]).tolist() == [0.0, 0.0]
    assert nothing.epsilon(0) == 0.0
    assert nothing.beta("0.25") == 0.75
    assert nothing.renyi(2) == 0.0


@pytest.mark.parametrize("alpha", ["0.05", "0.5"])
def test_a_response_that_is_next_to_certain_has_a_trade_off(alpha):
    """beta(alpha) = (1 - alpha) exp(-rate), exactly: at a rate of 10^7 no difference of probabilities shows it."""
    found = RandomisedResponseLoss(1, 10**7).certified_beta(alpha)
    with precision(128):
        expected = (1 - ball(alpha)) * (-arb(10**7)).exp()
    assert found.show(8) == Enclosure.of_ball(expected).show(8)
    assert "e-434294" in found.show(8)
