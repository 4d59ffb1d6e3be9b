"""Calibrated scales: certified by the balls at the float returned, and not at the float before it."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Real, at_most, ball, precision, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import analytic_scale, classic_scale, gdp_scale
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal


def profile(scale, epsilon, sensitivity):
    """The ball of delta(epsilon) of Gaussian noise of this exact scale."""
    size = Real.of(sensitivity)
    mu = Real(lambda: size.ball() / ball(scale))
    return refine(lambda: gaussian_formulas.delta(BallNormal(), ball(Fraction(epsilon)), mu.ball()), bits=150)


def check_least(scale, epsilon, delta, sensitivity):
    with precision(400):
        goal = ball(Fraction(delta))
    assert profile(scale, epsilon, sensitivity) < goal
    assert profile(math.nextafter(scale, 0), epsilon, sensitivity) > goal


@given(st.floats(0, 50), st.floats(-280, -0.001), st.floats(1e-3, 1e3))
@settings(max_examples=40, deadline=None)
def test_the_analytic_scale_is_the_least_float_that_is_certified(epsilon, log_delta, sensitivity):
    delta = 10.0**log_delta
    check_least(analytic_scale(epsilon, delta, sensitivity), epsilon, delta, sensitivity)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [
        (1, "1e-5", 1),
        (0, "0.3", 1),
        ("1e-50", "1e-60", 1),
        (1, "1e-4000", 1),
        (1000, "0.999", 7),
        (1, 1 - 2.0**-53, 1),
        ("0.1", "1e-9", Real.of(10).sqrt()),
    ],
)
def test_the_analytic_scale_works_at_extremes(epsilon, delta, sensitivity):
    check_least(analytic_scale(epsilon, delta, sensitivity), epsilon, delta, sensitivity)


def test_the_analytic_scale_agrees_with_the_smallest_epsilon_of_the_loss():
    scale = analytic_scale("0.5", "1e-6", 1)
    assert GaussianLoss(1 / Fraction(scale)).certified_epsilon("1e-6").lower <= 0.5


@given(st.floats(0.01, 20), st.floats(-100, -0.001), st.floats(1e-3, 1e3))
def test_the_classic_scale_is_the_formula_rounded_up(epsilon, log_delta, sensitivity):
    delta = 10.0**log_delta
    scale = classic_scale(epsilon, delta, sensitivity)
    formula = Real(
        lambda: ball(sensitivity) * (2 * ball(Fraction(5, 4) / Fraction(delta)).log()).sqrt() / ball(epsilon)
    )
    assert at_most(formula, Real.of(scale)) is True
    assert at_most(formula, Real.of(scale * (1 - 1e-15))) is False


def test_the_classic_scale_keeps_its_promise_within_its_domain_only():
    for delta in ("1e-10", "1e-5", "0.1", "0.9"):
        scale = classic_scale("3.7868", delta, 1)
        assert profile(scale, "3.7868", 1) < ball(Fraction(delta))
    assert profile(classic_scale("3.788", "0.9", 1), "3.788", 1) > ball(Fraction("0.9"))
    assert profile(classic_scale(10, "1e-5", 1), 10, 1) > ball(Fraction("1e-5"))


def test_the_analytic_scale_is_smaller_where_the_classic_one_is_valid():
    for epsilon in ("0.1", "1", "3"):
        assert analytic_scale(epsilon, "1e-5", 1) < classic_scale(epsilon, "1e-5", 1)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_scale_of_gaussian_dp_is_rounded_up(mu, sensitivity):
    scale = gdp_scale(mu, sensitivity)
    quotient = Fraction(sensitivity) / Fraction(mu)
    assert quotient <= Fraction(scale) <= quotient * (1 + Fraction(1, 2**51))


def test_an_irrational_sensitivity_is_taken_exactly():
    root = Real.of(7).sqrt()
    assert Fraction(gdp_scale("0.5", root)) ** 2 >= 28
    assert Fraction(gdp_scale("0.5", root)) ** 2 <= 28 * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: analytic_scale(-1, "1e-5", 1), "epsilon"),
        (lambda: analytic_scale(math.nan, "1e-5", 1), "epsilon"),
        (lambda: analytic_scale(1, 0, 1), "delta"),
        (lambda: analytic_scale(0, "1e-300", 1), "mu"),
        (lambda: analytic_scale("1e40", "0.5", 1), "mu"),
        (lambda: analytic_scale(1, 1, 1), "delta"),
        (lambda: analytic_scale(1, "1e-5", 0), "sensitivity"),
        (lambda: classic_scale(0, "1e-5", 1), "epsilon"),
        (lambda: classic_scale(1, 1.5, 1), "delta"),
        (lambda: classic_scale(1, "1e-5", math.inf), "sensitivity"),
        (lambda: classic_scale("1e-9000", "1e-5", 1), "scale"),
        (lambda: gdp_scale(0, 1), "mu"),
        (lambda: gdp_scale(-1, 1), "mu"),
        (lambda: gdp_scale(1, -1), "sensitivity"),
    ],
)
def test_bad_arguments_are_refused(call, name):
    with pytest.raises(InvalidValue, match=rf"^{name}="):
        call()
