"""One sampled step: its curves against direct formulas, its tails, its edges, and planted faults of the transform."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue


def densities(s, q):
    """The densities of M and Q at x, for Gaussian noise of standard deviation s, in mpmath."""
    return (
        lambda x: (1 - q) * mpmath.npdf(x, 0, s) + q * mpmath.npdf(x, 1, s),
        lambda x: mpmath.npdf(x, 0, s),
    )


def quadrature(s, q, epsilon, order):
    """The profile of one step of sampled Gaussian noise, from the two densities alone."""
    with mpmath.workdps(30):
        first, second = densities(s, q) if order == "remove" else densities(s, q)[::-1]
        level = mpmath.exp(epsilon) if order == "remove" else mpmath.exp(-epsilon)
        if level <= 1 - q:
            return max(1 - mpmath.exp(epsilon), mpmath.mpf(0)) if order == "remove" else mpmath.mpf(0)
        root = s * s * mpmath.log((level - 1 + q) / q) + mpmath.mpf(1) / 2
        steps = [root + sign * 3 * s * k for k in range(12) for sign in [1 if order == "remove" else -1]]
        ends = sorted({*steps, mpmath.mpf(0), mpmath.mpf(1)} if order == "remove" else {*steps})
        ends = [e for e in ends if (e >= root if order == "remove" else e <= root)]
        return mpmath.quad(lambda x: first(x) - mpmath.exp(epsilon) * second(x), ends)


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("s", "q", "epsilon"), [("1", "0.01", "0.1"), ("0.6", "0.3", "-0.2"), ("2", "0.7", "0.4")])
def test_the_profile_is_that_of_a_quadrature_of_the_densities(s, q, epsilon, order):
    value = getattr(poisson_sampled(GaussianLoss(1 / Fraction(s)), q), order).certified_delta(epsilon)
    with mpmath.workdps(30):
        expected = quadrature(mpmath.mpf(s), mpmath.mpf(q), mpmath.mpf(epsilon), order)
        assert value.lower * (1 - 1e-14) <= expected <= value.upper * (1 + 1e-14)


def test_randomised_response_is_exact():
    """Odds 3, q = 1/2, e^epsilon = 4/3: 1/6 and 1/12, exactly, as far as log 3 and log 4/3 are."""
    with precision(200):
        rate = ball(Fraction(3)).log()
        level = (ball(4) / 3).log()
    loss = RandomisedResponseLoss(1, Fraction(str(float(rate.mid()))))
    both = poisson_sampled(loss, "0.5")
    epsilon = Fraction(str(float(level.mid())))
    assert both.remove.delta(epsilon) == pytest.approx(1 / 6, abs=1e-15)
    assert both.add.delta(epsilon) == pytest.approx(1 / 12, abs=1e-15)


def test_no_loss_is_below_or_above_the_edge():
    both = poisson_sampled(GaussianLoss(1), "0.3")
    edge = -math.log1p(-0.3)
    assert both.add.certified_delta(edge + 1e-9).upper == 0
    assert both.add.delta(edge - 1e-3) >= 0
    assert both.add.epsilon(0) == pytest.approx(edge, rel=1e-15)
    assert both.remove.certified_delta(-edge - 1e-9).contains("0.3") is False
    assert both.remove.delta(-1) == pytest.approx(1 - math.exp(-1), rel=1e-15)


def test_the_largest_loss_of_bounded_noise_is_the_transform_of_its_largest_loss():
    both = poisson_sampled(LaplaceLoss([2]), "0.25")
    assert both.remove.epsilon(0) == pytest.approx(math.log(0.75 + 0.25 * math.exp(2)), rel=1e-15)
    assert both.add.epsilon(0) == pytest.approx(-math.log(0.75 + 0.25 * math.exp(-2)), rel=1e-15)


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("loss", [GaussianLoss(1), LaplaceLoss(["0.7"]), RandomisedResponseLoss(1, "1.1")])
def test_tails_give_the_certified_profile(loss, order):
    step = getattr(poisson_sampled(loss, "0.2"), order)
    losses = np.linspace(-0.4, 0.6, 41)
    t = step.tails(losses)
    for i, l in enumerate(losses.tolist()):
        profile = t.p_above[i] - math.exp(l) * t.q_above[i]
        assert profile == pytest.approx(step.delta(l), abs=4 * t.relative_error + 1e-15)
        assert t.p_above[i] + t.p_below[i] == pytest.approx(1, abs=1e-11)
        above = float(step.p_above(Fraction(l), 60)), float(step.q_above(Fraction(l), 60))
        assert (t.p_above[i], t.q_above[i]) == pytest.approx(above, rel=t.relative_error)


def test_tails_next_to_the_least_loss_come_from_balls():
    step = poisson_sampled(RandomisedResponseLoss(1, 1), "0.25").remove
    edge = math.log1p(-0.25)
    t = step.tails(np.array([edge, math.nextafter(edge, 0), edge + 1e-13]))
    assert t.p_above.tolist() == [1.0, 1.0, 1.0]  # the least loss of randomised response is above that


def test_a_loss_that_tells_apart_with_certainty_does_so_with_probability_q():
    both = poisson_sampled(DisjointLoss(), "0.25")
    assert both.remove.certified_delta(3).contains("0.25")
    assert both.remove.epsilon("0.1") == math.inf
    assert both.remove.epsilon("0.25") == 0


def test_sampling_twice_is_sampling_at_the_product_of_the_rates():
    twice = poisson_sampled(poisson_sampled(GaussianLoss(1), "0.5"), "0.1")
    once = poisson_sampled(GaussianLoss(1), "0.05")
    for epsilon in ("-0.01", "0.02", "0.3"):
        assert twice.remove.delta(epsilon) == pytest.approx(once.remove.delta(epsilon), rel=1e-14)
        assert twice.add.delta(epsilon) == pytest.approx(once.add.delta(epsilon), rel=1e-14)


def test_the_order_reversed_is_the_other_one():
    both = poisson_sampled(GaussianLoss(1), "0.3")
    assert both.remove.reversed().delta("0.2") == both.add.delta("0.2")
    assert both.add.reversed().beta("0.2") == both.remove.beta("0.2")


def test_divergences_of_whole_orders_are_the_binomial_sum():
    value = poisson_sampled(GaussianLoss(1), "0.01").remove.renyi(2)
    assert value == pytest.approx(math.log1p(1e-4 * math.expm1(1)), rel=1e-14)
    with pytest.raises(InvalidValue, match="whole order"):
        poisson_sampled(GaussianLoss(1), "0.01").add.renyi(2)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1), Fraction(3, 2)])
def test_a_rate_at_which_nothing_is_sampled_is_refused(rate):
    with pytest.raises(InvalidValue, match="sampling_probability"):
        SampledStep(GaussianLoss(1), rate, Direction.REMOVE)


def misplaced(self, level):
    """The level with the rate in the place of its inverse: a fault of the transform."""
    return lambda: (ball(level).expm1() * ball(self.sampling_probability)).log1p()


def test_a_planted_fault_of_the_transform_is_found_by_the_quadrature(monkeypatch):
    monkeypatch.setattr(SampledStep, "_place", misplaced)
    with pytest.raises(AssertionError):
        test_the_profile_is_that_of_a_quadrature_of_the_densities("1", "0.01", "0.1", "remove")


def test_profiles_are_as_accurate_as_asked_for():
    step = poisson_sampled(GaussianLoss(1), "0.3").remove
    value = step.profile(Fraction(-3, 10), 400)
    assert isinstance(value, arb)
    assert value.rel_accuracy_bits() >= 400
