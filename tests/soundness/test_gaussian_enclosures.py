"""Every certified Gaussian number encloses the truth, computed independently in mpmath to 80 digits. No tolerance.

The checks are functions, so that planted faults can be shown to make them fail.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, arb_poly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Real
from dpverdict.errors import PrecisionExhausted
from dpverdict.mechanisms.core import guarantees
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.numerics import gaussian as ball_grid
from dpverdict.numerics import gaussian as gaussian_balls
from dpverdict.numerics import gaussian_formulas

EXAMPLES = settings(max_examples=50, deadline=None)

log_mus = st.floats(-200, 3) | st.floats(-6, 3) | st.floats(-1, 1.5)
# The point epsilon/mu - mu/2: delta is about exp(-t^2/2), down to 1e-106000.
points = st.floats(-60, 60) | st.floats(-3, 3) | st.floats(60, 700) | st.sampled_from([0.0, 1e-30, -1e-30])
levels = st.floats(5e-324, 1, exclude_max=True) | st.floats(0.01, 0.99)


def exact(value):
    """The exact rational value of an mpmath number."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def mp(rational):
    return mpmath.mpf(rational.numerator) / rational.denominator


def digits(mu, epsilon):
    """Enough decimal digits for 150 of them to survive the cancellation between the two terms of the profile."""
    return 160 + 2 * math.ceil(abs(math.log10(mu)) + 2 * math.log10(2 + abs(epsilon / mu)) + 2 * math.log10(2 + mu))


def independent_delta(mu, epsilon):
    """The profile by mpmath's normal distribution function."""
    with mpmath.workdps(digits(mu, epsilon)):
        m, e = mp(mu), mp(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def independent_log_delta(mu, epsilon):
    """The logarithm of the profile, from 1 - delta where delta is close to 1."""
    delta = independent_delta(mu, epsilon)
    with mpmath.workdps(digits(mu, epsilon)):
        if delta < 0.5:
            return mpmath.log(delta)
        m, e = mp(mu), mp(epsilon)
        return mpmath.log1p(-(mpmath.ncdf(e / m - m / 2) + mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)))


def independent_upper_quantile(alpha):
    """The z with upper tail alpha, to about 80 digits: Newton's method on mpmath's distribution function."""
    with mpmath.workdps(110):
        small, sign = (mp(alpha), 1) if alpha <= Fraction(1, 2) else (1 - mp(alpha), -1)
        z = mpmath.mpf(0) if small == 0.5 else mpmath.sqrt(-2 * mpmath.log(2 * small))
        for _ in range(400):
            tail = mpmath.ncdf(-z)
            step = mpmath.log(tail / small) * tail / mpmath.npdf(z)
            z += step
            if abs(step) < mpmath.mpf(10) ** -100:
                break
        return sign * z


def parameters(log_mu, t):
    """Exact mu and epsilon, where epsilon is not a float."""
    mu = Fraction(10.0**log_mu)
    return mu, mu * (Fraction(t) + mu / 2)


# The checks -----------------------------------------------------------------------------------------------------------


def check_profile(mu, epsilon):
    assert GaussianLoss(mu).certified_delta(epsilon).contains(exact(independent_delta(mu, epsilon)))


def check_grid(mu, epsilons):
    enclosures = GaussianLoss(mu).certified_delta(epsilons)
    for epsilon, enclosure in zip(epsilons.tolist(), enclosures, strict=True):
        assert enclosure.contains(exact(independent_delta(mu, Fraction(epsilon))))


def check_smallest_epsilon(mu, delta):
    enclosure = GaussianLoss(mu).certified_epsilon(delta)
    assert exact(independent_delta(mu, Fraction(enclosure.upper))) <= delta
    if enclosure.lower > 0:
        assert exact(independent_delta(mu, Fraction(enclosure.lower))) > delta


def check_trade_off(mu, alpha):
    z = independent_upper_quantile(alpha)
    with mpmath.workdps(110):
        beta = mpmath.ncdf(z - mp(mu))
    assert GaussianLoss(mu).certified_beta(alpha).contains(exact(beta))


def check_implied_profile(mu, epsilons):
    bounds = GaussianDP(mu).delta_upper(epsilons)
    enclosures = GaussianLoss(mu).certified_delta(epsilons)
    assert (bounds >= np.minimum(enclosures.upper, 1.0)).all()


# Random and extreme parameters ----------------------------------------------------------------------------------------


@given(log_mus, points)
@example(-200.0, 0.0)
@example(3.0, -500.0)
@example(0.0, 999.5)
@EXAMPLES
def test_the_profile_is_enclosed(log_mu, t):
    check_profile(*parameters(log_mu, t))


@given(log_mus, points)
@example(3.0, -500.0)
@EXAMPLES
def test_the_logarithm_of_the_profile_is_enclosed(log_mu, t):
    mu, epsilon = parameters(log_mu, t)
    assert GaussianLoss(mu).certified_log_delta(epsilon).contains(exact(independent_log_delta(mu, epsilon)))


@given(log_mus, st.floats(-30, 30), st.floats(0.01, 30), st.integers(20, 60))
@settings(max_examples=25, deadline=None)
def test_the_profile_on_a_dense_grid_is_enclosed(log_mu, t, width, number):
    mu = 10.0**log_mu
    start = mu * (t + mu / 2)
    check_grid(Fraction(mu), np.linspace(start, start + width * mu / 10, number))


def test_dense_grids_do_use_expansions():
    epsilons = np.linspace(0, 10, 1000)
    assert len(ball_grid.profile(epsilons, Real.of(1), 54)) > 900
    check_grid(Fraction(1), epsilons[::5])


@given(log_mus, st.floats(-10_000, -0.001) | st.floats(-30, -0.001))
@EXAMPLES
def test_the_ends_of_the_smallest_epsilon_have_the_right_signs(log_mu, log_delta):
    delta = Fraction(f"1e{math.floor(log_delta)}") * Fraction(10.0 ** (log_delta % 1))
    check_smallest_epsilon(Fraction(10.0**log_mu), delta)


@given(st.floats(-6, 1), st.floats(1e-100, 1e-3) | st.floats(1e-16, 1e-12))
@EXAMPLES
def test_the_smallest_epsilon_is_enclosed_where_delta_is_close_to_the_advantage(log_mu, shortfall):
    mu = Fraction(10.0**log_mu)
    advantage = exact(independent_delta(mu, Fraction(0)))
    check_smallest_epsilon(mu, advantage * (1 - Fraction(shortfall)))


@given(log_mus, levels)
@example(2.0, 1e-300)
@example(-200.0, 0.25)
@EXAMPLES
def test_the_trade_off_function_is_enclosed(log_mu, alpha):
    check_trade_off(Fraction(10.0**log_mu), Fraction(alpha))


@given(st.floats(-250, 6), st.floats(-45, 45))
@settings(max_examples=60, deadline=None)
def test_the_profile_implied_by_gaussian_dp_is_an_upper_bound(log_mu, t):
    mu = 10.0**log_mu
    check_implied_profile(Fraction(mu), mu * (np.linspace(t, t + 1, 10) + mu / 2))


@given(st.floats(-250, 6), levels)
@EXAMPLES
def test_the_trade_off_function_implied_by_gaussian_dp_is_a_lower_bound(log_mu, alpha):
    mu = Fraction(10.0**log_mu)
    bound = GaussianDP(mu).beta_lower(alpha)
    assert Fraction(bound) <= Fraction(GaussianLoss(mu).certified_beta(alpha).lower)


# Planted faults: each must be seen by a check on fixed parameters ----------------------------------------------------


def run_the_checks():
    for mu, t in ((1.0, 0.5), (1e-9, 3.0), (0.3, 20.0), (40.0, -1.0)):
        check_profile(*parameters(math.log10(mu), t))
    check_grid(Fraction(1), np.linspace(1, 2, 40))
    for mu, delta in ((1, "1e-5"), (2, "0.5")):
        check_smallest_epsilon(Fraction(mu), Fraction(delta))
    check_trade_off(Fraction(1), Fraction("0.05"))
    check_implied_profile(Fraction(1), np.linspace(0, 30, 1000))


def test_the_checks_pass_without_a_fault():
    run_the_checks()


def wrong_half(kind, epsilon, mu):
    return kind.tail_gap(epsilon, epsilon / mu, kind.halve(mu) + kind.halve(mu) * arb(2) ** -45)


def wrong_factor(kind, epsilon, mu):
    return kind.tail_gap(epsilon, epsilon / mu, kind.halve(mu)) * (1 - arb(2) ** -50)


def wrong_trade_off(kind, alpha, mu):
    return kind.tail(mu * (1 + arb(2) ** -48) - kind.quantile(alpha))


def expansion_without_remainder(low, high, mu):
    centre, polynomial = EXPANSION(low, high, mu)
    return centre, arb_poly([polynomial[k] for k in range(12)])


EXPANSION = ball_grid._profile_expansion


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (gaussian_formulas, "delta", wrong_half),
        (gaussian_formulas, "delta", wrong_factor),
        (gaussian_formulas, "beta", wrong_trade_off),
        (ball_grid, "_profile_expansion", expansion_without_remainder),
        (guarantees, "RELATIVE_ERROR", 0.0),  # what the implied profile adds to a float64 value
    ],
)
def test_a_planted_fault_is_found(monkeypatch, module, name, fault):
    monkeypatch.setattr(module, name, fault)
    with pytest.raises(AssertionError):
        run_the_checks()


def test_a_wrong_root_is_never_returned(monkeypatch):
    monkeypatch.setattr(gaussian_balls, "_newton_epsilon", lambda delta, mu: arb(4.4))
    with pytest.raises(PrecisionExhausted):
        GaussianLoss(1).certified_epsilon("1e-5")
