"""Guarantees: their text, their domains, and the curves they imply, which are bounds without tolerance."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core import guarantees as guarantee_curves
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    parse_guarantee,
)
from dpverdict.numerics.text import exact_text

parameters = (
    st.fractions(0, 50, max_denominator=10**9) | st.floats(0, 1e3).map(Fraction) | st.floats(0, 1).map(Fraction)
)
small = st.fractions(0, Fraction(999, 1000), max_denominator=10**9) | st.floats(0, 0.999).map(Fraction)
epsilons = st.floats(-60, 60)
BITS = 4000  # more than the logarithm of any exp(-e) here
levels = st.floats(0, 1)

EXAMPLES = [
    GaussianDP("0.5"),
    PureDP(1),
    ApproximateDP(1, "1e-2"),
    ZeroConcentratedDP("0.125"),
    RenyiDP(8, "0.5"),
    GaussianDP(0),
    PureDP(0),
    ApproximateDP(0, "0.25"),
    ZeroConcentratedDP(0),
    RenyiDP(2, 0),
    GaussianDP(10**20),
    PureDP(10**400),
    ZeroConcentratedDP(10**200),
    GaussianDP("1e-400"),
]


# Text -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "guarantee"),
    [
        ("mu=1", GaussianDP(1)),
        (" mu = 1/3 ", GaussianDP(Fraction(1, 3))),
        ("eps=1", PureDP(1)),
        ("epsilon=0.1", PureDP(Fraction(1, 10))),
        ("eps=1, delta=1e-6", ApproximateDP(1, Fraction(1, 10**6))),
        ("delta=1e-6,epsilon=1", ApproximateDP(1, Fraction(1, 10**6))),
        ("eps=1, delta=0", ApproximateDP(1, 0)),
        ("(1, 1e-6)", ApproximateDP(1, Fraction(1, 10**6))),
        ("1/3,0.01", ApproximateDP(Fraction(1, 3), Fraction(1, 100))),
        ("rho=0.5", ZeroConcentratedDP(Fraction(1, 2))),
        ("order=8, epsilon=1", RenyiDP(8, 1)),
        ("alpha=1.5, eps=1", RenyiDP(Fraction(3, 2), 1)),
    ],
)
def test_a_guarantee_is_read_exactly(text, guarantee):
    assert parse_guarantee(text) == guarantee
    assert hash(parse_guarantee(text)) == hash(guarantee)


@pytest.mark.parametrize(
    ("guarantee", "text"),
    [
        (GaussianDP(1), "mu=1"),
        (GaussianDP("0.1"), "mu=0.1"),
        (PureDP(Fraction(2, 3)), "eps=2/3"),
        (ApproximateDP(1, "1e-6"), "eps=1, delta=1e-6"),
        (ZeroConcentratedDP("0.5"), "rho=0.5"),
        (RenyiDP(8, 1), "order=8, eps=1"),
    ],
)
def test_a_guarantee_reads_well(guarantee, text):
    assert guarantee.describe() == text
    assert repr(guarantee) == f"{type(guarantee).__name__}({text})"


@given(parameters, parameters, small)
def test_a_description_is_read_back_exactly(first, second, delta):
    for guarantee in (
        GaussianDP(first),
        PureDP(first),
        ApproximateDP(first, delta),
        ZeroConcentratedDP(first),
        RenyiDP(1 + first + Fraction(1, 7), second),
    ):
        assert parse_guarantee(guarantee.describe()) == guarantee


@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction))
def test_an_exact_text_is_read_back_exactly(value):
    assert Fraction(exact_text(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mu",
        "1",
        "mu=1,",
        "mu=1, delta=0.1",
        "eps=1, eps=2",
        "delta=1e-6",
        "order=2",
        "sigma=1",
        "eps 1",
    ],
)
def test_other_forms_are_refused_with_the_forms_that_are_read(text):
    with pytest.raises(InvalidValue) as caught:
        parse_guarantee(text)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)
    for form in ("mu=1", "eps=1", "eps=1, delta=1e-6", "rho=0.5", "order=8, eps=1"):
        assert form in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mu=-1", "mu"),
        ("mu=nan", "mu"),
        ("mu==1", "mu"),
        ("eps=inf", "epsilon"),
        ("eps=-0.5", "epsilon"),
        ("eps=1, delta=1", "delta"),
        ("eps=1, delta=-1e-9", "delta"),
        ("rho=-1", "rho"),
        ("order=1, eps=1", "order"),
        ("order=0.5, eps=1", "order"),
        ("order=2, eps=-1", "epsilon"),
    ],
)
def test_parameters_out_of_their_domain_are_refused(text, name):
    with pytest.raises(InvalidValue, match=rf"^{name}="):
        parse_guarantee(text)


# Curves ---------------------------------------------------------------------------------------------------------------


def response_profile(epsilon, e):
    """The profile of randomised response, in balls."""
    if epsilon == e:
        return arb(0)
    if abs(epsilon) < e:
        return (ball(e).exp() - ball(epsilon).exp()) / (1 + ball(e).exp())
    return arb(0) if epsilon > 0 else -ball(epsilon).expm1()


@given(epsilons, parameters, small)
def test_the_profile_of_approximate_dp_is_bounded_above_and_closely(epsilon, e, d):
    bound = ApproximateDP(e, d).delta_upper(epsilon)
    with precision(BITS):
        truth = ball(d) + (1 - ball(d)) * response_profile(Fraction(epsilon), e)
        assert arb(bound) >= truth
        # Closely: the parameters are rounded to floats first, and randomised response vanishes at e.
        assert arb(bound) <= truth * (1 + arb(10) ** -14) + ball(e) * arb(10) ** -15 + arb(2) ** -1000


@given(epsilons, parameters)
def test_the_profile_of_pure_dp_is_that_of_randomised_response(epsilon, e):
    with precision(BITS):
        assert arb(PureDP(e).delta_upper(epsilon)) >= response_profile(Fraction(epsilon), e)
    assert PureDP(e).delta_upper(epsilon) == ApproximateDP(e, 0).delta_upper(epsilon)


@given(levels, parameters, small)
def test_the_trade_off_function_of_approximate_dp_is_bounded_below_and_closely(alpha, e, d):
    bound = ApproximateDP(e, d).beta_lower(alpha)
    with precision(300):
        a, rest = ball(alpha), 1 - ball(d)
        truth = max(arb(0), rest - ball(e).exp() * a, (-ball(e)).exp() * (rest - a), key=lambda value: value.mid())
        assert arb(bound) <= truth
        assert arb(bound) >= truth - arb(10) ** -12 * (1 + ball(e))


@given(epsilons, st.floats(1e-6, 20))
def test_the_profile_of_zero_concentrated_dp_is_above_every_gaussian_that_keeps_it(epsilon, rho):
    mu = math.sqrt(2 * rho) * (1 - 1e-15)
    gaussian = GaussianDP(mu).delta_upper(epsilon) * (1 - 3e-12)  # a lower bound on the true profile
    assert ZeroConcentratedDP(rho).delta_upper(epsilon) >= gaussian
    assert RenyiDP(3, 3 * rho).delta_upper(epsilon) >= gaussian


@given(levels, st.floats(1e-6, 20))
def test_the_trade_off_function_of_zero_concentrated_dp_is_below_every_gaussian_that_keeps_it(alpha, rho):
    mu = math.sqrt(2 * rho) * (1 - 1e-15)
    gaussian = GaussianDP(mu).beta_lower(alpha) + 1e-300
    assert ZeroConcentratedDP(rho).beta_lower(alpha) <= gaussian * (1 + 3e-12)
    assert RenyiDP(3, 3 * rho).beta_lower(alpha) <= gaussian * (1 + 3e-12)


@given(st.floats(0, 60), st.floats(1e-9, 1e3), st.floats(0, 20))
def test_the_conversion_from_renyi_is_rounded_up(epsilon, m, divergence):
    bound = guarantee_curves.renyi_upper(np.asarray(epsilon), np.asarray(m), np.asarray(divergence))
    with precision(200):
        order = 1 + arb(m)
        formula = (arb(m) * (arb(divergence) - arb(epsilon))).exp() / order * (1 - 1 / order) ** arb(m)
        assert bound >= 1 or arb(float(bound)) >= formula
        assert arb(float(bound)) <= formula * (1 + arb(10) ** -9) + arb(10) ** -320


def test_the_conversion_from_renyi_bounds_the_positive_part_of_every_loss():
    """max(0, 1 - exp(-x)) <= exp(m x) m^m / (1 + m)^(1 + m) for every real x, which is all that the bound rests on."""
    x = np.linspace(-7, 7, 4001)
    for m in (0.01, 0.3, 1.0, 7.0, 100.0):
        constant = math.exp(m * math.log(m) - (1 + m) * math.log1p(m))
        assert (np.maximum(0, -np.expm1(-x)) <= np.exp(m * x) * constant * (1 + 1e-12)).all()


@pytest.mark.parametrize("guarantee", EXAMPLES, ids=lambda guarantee: repr(guarantee)[:30])
def test_the_curves_have_the_shape_of_curves(guarantee):
    grid = np.concatenate([np.linspace(-8, 8, 401), [-1e308, -1e-300, 0.0, 5e-324, 1e308]])
    grid.sort()
    delta = guarantee.delta_upper(grid)
    assert ((delta >= np.maximum(0, -np.expm1(np.minimum(grid, 0)) * (1 - 1e-15))) & (delta <= 1)).all()
    assert (np.diff(delta) <= 1e-12).all()
    alpha = np.linspace(0, 1, 101)
    beta = guarantee.beta_lower(alpha)
    assert ((beta >= 0) & (beta <= 1 - alpha)).all()
    assert (np.diff(beta) <= 1e-11).all()
    assert isinstance(guarantee.delta_upper(0.5), float)
    assert isinstance(guarantee.beta_lower(0.5), float)
    assert guarantee.delta_upper(np.zeros((2, 3))).shape == (2, 3)
    assert guarantee.delta_upper([0.0, 1.0]).shape == (2,)


@pytest.mark.parametrize("guarantee", EXAMPLES, ids=lambda guarantee: repr(guarantee)[:30])
def test_the_two_curves_do_not_contradict_each_other(guarantee):
    """1 - delta(epsilon) - exp(epsilon) alpha is a lower bound on beta; for a true curve the best of them is beta."""
    alpha = np.linspace(0, 1, 41)
    beta = guarantee.beta_lower(alpha)
    for epsilon in np.linspace(-5, 5, 41):
        line = 1 - guarantee.delta_upper(float(epsilon)) - np.exp(epsilon) * alpha
        assert (beta >= line - 5e-3).all()


@pytest.mark.parametrize("guarantee", EXAMPLES[:5], ids=repr)
def test_arguments_outside_the_domain_are_refused(guarantee):
    for epsilon in (math.nan, math.inf, [0.0, -math.inf]):
        with pytest.raises(InvalidValue, match=r"^epsilon="):
            guarantee.delta_upper(epsilon)
    for alpha in (math.nan, -0.1, [0.5, 1.1]):
        with pytest.raises(InvalidValue, match=r"^alpha="):
            guarantee.beta_lower(alpha)
    first = guarantee.describe().partition("=")[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(guarantee, {"eps": "epsilon"}.get(first, first), 2)


@pytest.mark.parametrize("value", ["1e-9000", "1e-300", "1e150", "1e300", "1e308", "1e400", "1e9000"])
def test_a_parameter_of_any_size_has_curves(value: str) -> None:
    """Beyond every float a bound says nothing, and is still a number on its side."""
    levels = np.linspace(0, 1, 11)
    for claim in (GaussianDP(value), PureDP(value), ZeroConcentratedDP(value), RenyiDP(2, value)):
        lower = claim.beta_lower(levels)
        assert np.all((lower >= 0) & (lower <= 1 - levels)), claim
        assert np.all(np.diff(lower) <= 0), claim
        upper = claim.delta_upper(np.array([0.0, 1.0, 1e300]))
        assert np.all((upper >= 0) & (upper <= 1)), claim
