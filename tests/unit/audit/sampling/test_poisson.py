"""Poisson sampling of any loss: arguments, orders, steps, and compositions that keep the orders apart."""

from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import from_pld
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.roots import as_fraction


def test_no_sampling_and_no_record_are_the_mechanism_and_nothing():
    assert poisson_sampled(GaussianLoss(1), 1).remove.delta(1) == GaussianLoss(1).delta(1)
    assert poisson_sampled(GaussianLoss(1), 0).delta(0) == 0
    assert poisson_sampled(LaplaceLoss([]), "0.5", 10).delta(0) == 0


@pytest.mark.parametrize("rate", ["-0.1", "1.1", float("nan"), "a", None, True])
def test_a_rate_that_is_no_probability_is_refused(rate):
    with pytest.raises(InvalidValue, match="sampling_probability"):
        poisson_sampled(GaussianLoss(1), rate)


@pytest.mark.parametrize("steps", [0, -1, 1.5, True])
def test_a_number_of_steps_that_is_none_is_refused(steps):
    with pytest.raises(InvalidValue, match="steps"):
        poisson_sampled(GaussianLoss(1), "0.1", steps)


def test_numbers_are_exact_in_any_notation():
    values = {poisson_sampled(GaussianLoss(1), rate).remove.delta("0.1") for rate in ("0.25", 0.25, "1/4")}
    assert len(values) == 1


def test_the_curves_of_both_orders_are_the_worse_ones():
    both = poisson_sampled(GaussianLoss(1), "0.3")
    assert both.delta("0.1") == max(both.remove.delta("0.1"), both.add.delta("0.1"))
    assert both.beta("0.1") == min(both.remove.beta("0.1"), both.add.beta("0.1"))
    assert both.epsilon("0.01") == max(both.remove.epsilon("0.01"), both.add.epsilon("0.01"))
    assert both.certified_advantage().contains("0.5") is False


def test_an_unsymmetric_loss_is_refused_in_one_order_and_taken_in_two():
    one = from_pld(GaussianLoss(1).to_pld(0.05).pessimistic)
    with pytest.raises(InvalidValue, match="both orders"):
        poisson_sampled(one, "0.1")
    both = poisson_sampled(AddRemoveLoss(remove=one, add=one), "0.1")
    true = poisson_sampled(GaussianLoss(1), "0.1").remove.delta("0.05")
    assert both.remove.delta("0.05") == pytest.approx(true, rel=1e-2)


def test_the_order_add_is_the_worse_one_after_two_steps_exactly():
    """Odds 3, q = 1/2: at e^epsilon = 4/3 remove has 1/6, 1/6, 7/24, 65/192 after 1 to 4 steps, add 1/12, 11/48, ...

    The laws are rational, and epsilon is enclosed between rational numbers, at which the profile is enclosed.
    """
    response = FiniteLoss(["3/4", "1/4"], ["1/4", "3/4"])
    with precision(200):
        level = (ball(4) / 3).log()
        around = [as_fraction(end) for end in (level.lower(), level.upper())]
    for steps, remove, add in [
        (1, "1/6", "1/12"),
        (2, "1/6", "11/48"),
        (3, "7/24", "49/192"),
        (4, "65/192", "247/768"),
    ]:
        both = poisson_sampled(response, "1/2", steps)
        for loss, value in ((both.remove, remove), (both.add, add)):
            high, low = (loss.certified_delta(epsilon) for epsilon in around)
            assert low.lower <= Fraction(value) <= high.upper
            assert high.upper - low.lower < 1e-15


def test_a_composition_keeps_the_orders_apart():
    sampled = poisson_sampled(FiniteLoss(["3/4", "1/4"], ["1/4", "3/4"]), "0.5")
    both = compose(sampled, sampled)
    assert isinstance(both, AddRemoveLoss)
    assert both.add.certified_delta("0.28").lower > both.remove.certified_delta("0.28").upper
    assert both.certified_delta("0.28").lower == both.add.certified_delta("0.28").lower


def test_a_sampled_finite_law_is_the_step_of_any_loss():
    law = FiniteLoss(["0.5", "0.3", "0.2"], ["0.1", "0.5", "0.4"])
    for order, pair in ((Direction.REMOVE, law), (Direction.ADD, law.reversed())):
        step = SampledStep(pair, Fraction(1, 4), order)
        exact = getattr(poisson_sampled(law, "0.25"), order.value)
        for epsilon in ("-0.2", "-0.05", 0, "0.1", "0.2", "0.6"):
            assert step.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-15)
            assert step.tails(np.array([float(epsilon)])).p_above == pytest.approx(
                exact.tails(np.array([float(epsilon)])).p_above, rel=1e-14
            )
        assert step.beta("0.3") == pytest.approx(exact.beta("0.3"), rel=1e-14)
        assert step.epsilon("0.05") == pytest.approx(exact.epsilon("0.05"), rel=1e-14)


def test_a_composition_with_an_unsampled_loss_has_both_orders():
    both = compose(poisson_sampled(GaussianLoss(1), "0.1"), GaussianLoss("0.5"))
    lower, upper = both.delta_bounds(np.array([0.5]))
    fewer, more = GaussianLoss("0.5"), compose(GaussianLoss(1), GaussianLoss("0.5"))
    assert fewer.delta(0.5) < lower[0] <= upper[0] < more.delta(0.5)


def test_many_steps_of_any_loss_have_bounds_that_fit_those_of_few():
    one, many = (poisson_sampled(GaussianLoss(1), "0.2", steps).remove for steps in (1, 4))
    lower, upper = many.delta_bounds(np.array([0.1]))
    assert one.delta(0.1) < lower[0] <= upper[0] < 4 * one.delta(0.1 / 4)
