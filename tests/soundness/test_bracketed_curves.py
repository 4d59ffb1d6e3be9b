"""epsilon and beta from a profile between two bounds hold the truth, however wide the bounds are; no tolerance."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.curves import beta_between, epsilon_between
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.laplace.profile import LaplaceRoute
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

EXACT = LaplaceLoss(["0.5", "0.3", "1/7"])
MANY = LaplaceLoss(np.random.default_rng(3).uniform(0.001, 0.02, 24).tolist())


def widened(width, where=0):
    """The profile of `EXACT`, ``width`` wide, and off by ``where`` of that."""

    def enclosed(epsilon):
        with precision(128):
            return EXACT._delta_balls([epsilon])[0] + arb(where * width, width)

    return enclosed


def holds(curve, truth):
    with precision(128):
        return curve.overlaps(truth)


def check(enclosed, level):
    truths = EXACT._epsilon_balls([level])[0], EXACT._beta_balls([level])[0]
    assert holds(epsilon_between(enclosed, level, EXACT.total), truths[0])
    assert holds(beta_between(enclosed, level, EXACT.total), truths[1])


@given(st.fractions(Fraction(1, 10**6), Fraction(999, 1000)), st.sampled_from([1e-12, 1e-7, 1e-3, 0.3]))
@example(Fraction(1, 10**9), 1e-7)
@example(Fraction(1, 2), 2.0)  # bounds that say nothing
@settings(max_examples=3, deadline=None)
def test_the_truth_is_held(level, width):
    check(widened(width), level)
    check(widened(width, 0.99), level)
    check(widened(width, -0.99), level)


@pytest.mark.parametrize("where", [-30, 30])
def test_a_profile_that_does_not_hold_the_truth_is_caught(where):
    with pytest.raises(AssertionError):
        check(widened(1e-3, where), Fraction(1, 10))


def test_the_curves_are_about_as_narrow_as_the_profile():
    with precision(128):
        assert epsilon_between(widened(1e-9), Fraction(1, 10), EXACT.total).rad() < 1e-7
        assert beta_between(widened(1e-9), Fraction(1, 10), EXACT.total).rad() < 1e-6
        assert epsilon_between(widened(1e-9), Fraction(999, 1000), EXACT.total).is_zero()


def test_many_different_shifts_have_every_curve():
    """Against the float64 bounds with their ledger, which share no code with the lattice in balls."""
    assert MANY.route(0) is LaplaceRoute.LATTICE
    other = BoundedLoss([(CustomLoss(one.tails, "Laplace noise"), count) for one, count in MANY.coordinates()])
    assert not other.is_certified
    deltas = np.array([0.01, 1e-6])
    lower, upper = other.epsilon_bounds(deltas)
    epsilons = MANY.certified_epsilon(deltas)
    assert (epsilons.lower <= upper).all()
    assert (lower <= epsilons.upper).all()
    assert (epsilons.upper - epsilons.lower < 1e-4 * epsilons.upper).all()
    alphas = np.array([0.2, 0.97])
    lower, upper = other.beta_bounds(alphas)
    betas = MANY.certified_beta(alphas)
    assert (betas.lower <= upper).all()
    assert (lower <= betas.upper).all()
    assert (betas.upper - betas.lower < 1e-5 * betas.upper).all()
    assert epsilons[0].lower <= MANY.epsilon(0.01) <= epsilons[0].upper
    with pytest.raises(PrecisionExhausted):
        MANY.tails(np.array([0.1]))


def test_the_ends_are_exact_there_too():
    assert MANY.epsilon(0) == pytest.approx(float(MANY.total), rel=1e-15)
    assert MANY.epsilon(1) == 0
    assert MANY.epsilon(0.5) == 0
    assert MANY.beta([0.0, 1.0]).tolist() == [1, 0]
    with precision(128):
        tiny = MANY._beta_balls([Fraction(1, 10**12)])[0]
        assert (-ball(MANY.total)).exp() / 10**12 < 1 - tiny
