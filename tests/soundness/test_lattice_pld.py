"""Lattice laws of Gaussian, Laplace, logistic and custom losses bound the truth on their side, without tolerance."""

import math
import runpy
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import TINY, LossTails
from dpverdict.audit.losses.finite.pld import PldLoss, from_pld
from dpverdict.audit.losses.lattice import discretise as lattice_pld
from dpverdict.audit.losses.lattice import power as lattice_power
from dpverdict.audit.losses.lattice.bounds import LatticeBounds, compose_on_lattice
from dpverdict.audit.losses.lattice.custom import additive_noise_loss
from dpverdict.audit.losses.lattice.discretise import aligned_interval, lattice_pair
from dpverdict.audit.losses.lattice.power import certified_delta
from dpverdict.balls import ball, precision
from dpverdict.numerics.gaussian_floats import TAIL_ERROR

laplace_lattice = runpy.run_path(str(Path(__file__).parent / "laplace_lattice_oracle.py"))["laplace_lattice"]

EPSILONS = np.linspace(0, 10, 1000)  # epsilon = 0 is a lattice point, where both laws nearly touch the truth
ALPHAS = np.linspace(1e-4, 1 - 1e-4, 300)


def dyadic(number):
    """The exact value of an mpmath number."""
    sign, mantissa, exponent, _ = number._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** int(exponent)


def profile_of(law, epsilon):
    """delta(epsilon) of the float masses of a law, summed to 60 digits."""
    with mpmath.workdps(75):
        e, h = (mpmath.mpf(x.numerator) / x.denominator for x in (Fraction(epsilon), law.interval))
        total, step = mpmath.mpf(law.infinity_mass), mpmath.exp(-h)
        decay = mpmath.exp(e - law.lowest * h)
        for i, mass in enumerate(law.masses.tolist(), law.lowest):
            if i * law.interval > epsilon:
                total += mpmath.mpf(mass) * (1 - decay)
            decay *= step
        return dyadic(total)


def check_pair(pair, truth, epsilons):
    """Both laws, at the exact values of their masses, against the profile."""
    for epsilon in epsilons:
        assert profile_of(pair.optimistic, epsilon) <= truth(epsilon) <= profile_of(pair.pessimistic, epsilon)


def gaussian_ends(mu):
    loss = GaussianLoss(mu)

    def check(pair, epsilons):
        truth = loss.certified_delta(epsilons)
        assert (PldLoss(pair.pessimistic).certified_delta(epsilons).lower >= truth.upper).all()
        assert (PldLoss(pair.optimistic).certified_delta(epsilons).upper <= truth.lower).all()

    return check


def laplace_truth(shift):
    """1 - exp((epsilon - shift)/2) between -shift and shift, to 60 digits."""

    def truth(epsilon):
        if epsilon >= shift:
            return Fraction(0)
        with mpmath.workdps(60):
            e, s = (mpmath.mpf(x.numerator) / x.denominator for x in (Fraction(epsilon), Fraction(shift)))
            value = -mpmath.expm1(e) if epsilon <= -shift else -mpmath.expm1((e - s) / 2)
            return dyadic(value)

    return truth


def logistic_truth(shift):
    """The profile of logistic noise: the loss exceeds l below x with exp(-x) = (w - 1)/(e^s - w), w = e^((l + s)/2)."""

    def truth(epsilon):
        with mpmath.workdps(60):
            e, s = mpmath.mpf(epsilon), mpmath.mpf(shift)
            if abs(e) >= s:
                return max(dyadic(-mpmath.expm1(e)), Fraction(0))
            w = mpmath.exp((e + s) / 2)
            odds = (w - 1) / (mpmath.exp(s) - w)
            return dyadic(1 / (1 + odds) - mpmath.exp(e) / (1 + odds * mpmath.exp(s)))

    return truth


# Tails ----------------------------------------------------------------------------------------------------------------


def check_gaussian_tails(mu, losses):
    tails = GaussianLoss(mu).tails(losses)
    with precision(300):
        m, root = ball(mu), arb(2).sqrt()
        for i, loss in enumerate(losses.tolist()):
            z = ball(loss) / m
            points = (z - m / 2, m / 2 - z, z + m / 2, -z - m / 2)
            values = (tails.p_above, tails.p_below, tails.q_above, tails.q_below)
            for point, value in zip(points, values, strict=True):
                true = (point / root).erfc() / 2
                assert abs(ball(float(value[i])) - true) <= TAIL_ERROR * true + TINY


@given(st.floats(-8, 2.5), st.lists(st.floats(-37, 37), min_size=1, max_size=20))
@example(0.0, [0.0, -36.0, 36.0])
@settings(max_examples=60, deadline=None)
def test_the_tails_of_the_gaussian_loss_have_the_accuracy_they_promise(log_mu, points):
    mu = 10.0**log_mu
    check_gaussian_tails(mu, mu * (mu / 2 + np.array(points)))


# Single laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "interval"), [(1, 1e-4), (1, 1e-3), (1, 0.05), (0.1, 1e-3), (5, 1e-2), ("1/3", 2e-3)])
def test_both_laws_of_a_gaussian_loss_bound_its_profile(mu, interval):
    pair = lattice_pair(GaussianLoss(mu).tails, interval)
    gaussian_ends(mu)(pair, EPSILONS)
    gaussian_ends(mu)(pair, np.linspace(-6, 0, 200))
    knots = np.arange(-50, 400) * interval
    gaussian_ends(mu)(pair, knots)


def test_dp_accounting_reads_bounds_from_both_distributions():
    pair = GaussianLoss(1).to_pld(1e-4)
    truth = GaussianLoss(1).certified_delta(EPSILONS)
    assert (pair.pessimistic.get_delta_for_epsilon(EPSILONS) >= truth.upper).all()
    assert (pair.optimistic.get_delta_for_epsilon(EPSILONS) <= truth.lower).all()


@given(st.floats(-2.5, 1), st.floats(0.002, 0.3), st.floats(-3, 12))
@settings(max_examples=30, deadline=None)
def test_laws_of_random_gaussian_losses_bound_the_profile(log_mu, coarseness, t):
    mu = 10.0**log_mu
    pair = lattice_pair(GaussianLoss(mu).tails, mu * coarseness)
    gaussian_ends(mu)(pair, mu * (mu / 2 + np.linspace(t, t + 0.5, 7)))


@pytest.mark.parametrize(("shift", "interval"), [(0.5, 1e-3), (0.5, 0.0037), (0.5, 0.00368), (1.0, 0.1), (0.01, 1e-3)])
def test_both_laws_of_laplace_noise_bound_its_profile(shift, interval):
    loss = additive_noise_loss(stats.laplace(), shift, relative_error=1e-14)
    pair = lattice_pair(loss.tails, interval)
    check_pair(pair, laplace_truth(shift), np.linspace(-shift, shift, 40).tolist())


def test_an_aligned_interval_keeps_the_optimistic_law_of_laplace_noise_second_order():
    loss = additive_noise_loss(stats.laplace(), 0.5, relative_error=1e-14)
    pair = lattice_pair(loss.tails, aligned_interval("0.5", 500))
    assert pair.ledger.first_order_mass == 0
    assert lattice_pair(loss.tails, 1e-3).ledger.first_order_mass > 0.4
    check_pair(pair, laplace_truth(0.5), [0.0, 0.25, 0.499])
    gap = PldLoss(pair.pessimistic).delta(0.2) - PldLoss(pair.optimistic).delta(0.2)
    assert 0 < gap < 1e-6


@pytest.mark.parametrize("cells", [2, 10, 60])
def test_the_closed_form_laws_of_laplace_noise_bound_its_profile(cells):
    shift = Fraction("0.7")
    check_pair(laplace_lattice(shift, cells), laplace_truth(shift), [Fraction(k, 50) for k in range(-40, 40)])


@pytest.mark.parametrize("shift", [0.3, 1.0, 4.0])
def test_both_laws_of_logistic_noise_bound_its_profile(shift):
    loss = additive_noise_loss(stats.logistic(), shift, relative_error=1e-14)
    truth = logistic_truth(shift)
    epsilons = np.linspace(-0.99 * shift, 0.99 * shift, 40).tolist()
    check_pair(lattice_pair(loss.tails, 2e-3), truth, epsilons)
    for epsilon in epsilons:
        assert Fraction(loss.delta_lower(epsilon)) <= truth(epsilon) <= Fraction(loss.delta_upper(epsilon))


def test_trade_off_curves_read_from_both_distributions_are_sound_everywhere():
    pair = GaussianLoss(1).to_pld(1e-3)
    truth = GaussianLoss(1).certified_beta(ALPHAS)
    lower, upper = from_pld(pair.pessimistic), from_pld(pair.optimistic)
    assert (lower.certified_beta(ALPHAS).upper <= truth.lower).all()
    assert (upper.certified_beta(ALPHAS).lower >= truth.upper).all()
    assert (upper.beta(ALPHAS) - lower.beta(ALPHAS)).max() < 1e-7


def test_masses_are_kept_to_rounding():
    for mu, interval in ((1, 1e-2), (1, 1e-3), (1, 1e-4), (0.1, 1e-4)):
        ledger = lattice_pair(GaussianLoss(mu).tails, interval).ledger
        assert all(abs(defect) < 2e-15 for defect in ledger.p_defects)
        assert -1e-14 / interval <= ledger.q_defects[0] <= 2e-15  # less of Q, never more
        assert -2e-15 <= ledger.q_defects[1] <= interval**2  # losses are lowered, so Q has more


# Compositions ---------------------------------------------------------------------------------------------------------


def check_composed_gaussians(interval=1e-3):
    bounds = compose_on_lattice([(GaussianLoss("0.1").tails, 64), (GaussianLoss("0.2").tails, 9)], interval)
    for epsilon in (-2, 0, "0.5", 1, 3, 6):
        truth = GaussianLoss(1).certified_delta(epsilon)
        assert bounds.delta_lower(epsilon) <= truth.lower
        assert bounds.delta_upper(epsilon) >= truth.upper
    truth = GaussianLoss(1).certified_beta(ALPHAS)
    assert (bounds.beta_lower(ALPHAS) <= truth.lower).all()
    assert (bounds.beta_upper(ALPHAS) >= truth.upper).all()
    smallest = GaussianLoss(1).certified_epsilon("1e-6")
    assert bounds.epsilon_lower("1e-6") <= smallest.lower
    assert bounds.epsilon_upper("1e-6") >= smallest.upper
    return bounds


def test_composed_gaussian_losses_are_bracketed_closely():
    bounds = check_composed_gaussians()
    assert bounds.delta_upper(1) / bounds.delta_lower(1) - 1 < 1e-4
    assert (bounds.beta_upper(ALPHAS) - bounds.beta_lower(ALPHAS)).max() < 1e-5
    assert bounds.epsilon_upper("1e-6") - bounds.epsilon_lower("1e-6") < 1e-4


LAPLACE_PRODUCTS = [
    (2, "0.7", 400, "0.5", "0.218905514263328", "1e-15"),
    (10, 0.10010219105527815, 400, 1, "1.00000000000131e-6", "1e-20"),
    (100, 0.024103655652747438, 40, 1, "1.00000000000119e-6", "1e-20"),
    (1000, 0.007505127833500739, 40, 1, "1.00000000000000661e-6", "1e-23"),
    (1000, 0.007505127833500739, 40, 3, "4.20809803831612e-39", "1e-53"),
    (1000, 0.007505127833500739, 40, 7, "4.83243e-241", "1e-246"),
]


@pytest.mark.parametrize(("m", "shift", "cells", "epsilon", "truth", "unit"), LAPLACE_PRODUCTS)
def test_products_of_laplace_coordinates_are_bracketed(m, shift, cells, epsilon, truth, unit):
    """Oracle values of exact sums; ``unit`` is one unit in their last printed digit."""
    bounds = LatticeBounds([(laplace_lattice(shift, cells), m)])
    lower, upper = bounds.delta_lower(epsilon), bounds.delta_upper(epsilon)
    assert Fraction(lower) <= Fraction(truth) + Fraction(unit)
    assert Fraction(upper) >= Fraction(truth) - Fraction(unit)
    assert upper / lower - 1 < 2e-3


@pytest.mark.parametrize("epsilon", ["-0.5", "0", "0.3", "1", "1.9", "1.99", "2", "3"])
def test_the_fft_and_the_strict_route_agree_within_the_ledger(epsilon):
    pairs = [(laplace_lattice("0.1", 10), 10), (laplace_lattice("0.2", 20), 5)]
    bounds, strict = LatticeBounds(pairs), certified_delta(pairs, epsilon)
    assert bounds.delta_lower(epsilon) <= strict.lower
    assert bounds.delta_upper(epsilon) >= strict.upper
    if strict.upper > 0 and epsilon != "1.99":
        assert bounds.delta_upper(epsilon) <= strict.upper * (1 + 1e-9)


def test_the_strict_route_encloses_the_oracle():
    pairs = [(laplace_lattice("0.1", 10), 10), (laplace_lattice("0.2", 20), 5)]
    assert certified_delta(pairs, 1).contains(Fraction("0.008519332448568580241865154120685522373825"))


def check_without_a_tilt(monkeypatch):
    """Without a tilt the error of the FFT is larger than the value: then the ledger must say so."""
    pairs = [(laplace_lattice(0.007505127833500739, 10), 1000)]
    tilted, epsilons = LatticeBounds(pairs), (2.0, 2.05, 2.1, 3.0)
    ends = [(tilted.delta_lower(epsilon), tilted.delta_upper(epsilon)) for epsilon in epsilons]
    monkeypatch.setattr(lattice_power.Steering, "step_for", lambda self, target: 0.0)
    flat = LatticeBounds(pairs)
    for epsilon, (lower, upper) in zip(epsilons, ends, strict=True):
        assert 0 < lower <= flat.delta_upper(epsilon)
        assert flat.delta_lower(epsilon) <= upper


def test_rounding_of_the_transform_never_makes_a_bound_wrong(monkeypatch):
    check_without_a_tilt(monkeypatch)


# Planted faults -------------------------------------------------------------------------------------------------------


def run_the_checks():
    gaussian_ends(1)(lattice_pair(GaussianLoss(1).tails, 0.01), EPSILONS[::20])
    laplace = additive_noise_loss(stats.laplace(), 0.5, relative_error=1e-14)
    check_pair(lattice_pair(laplace.tails, 0.00368), laplace_truth(0.5), np.linspace(-0.4, 0.4999, 12).tolist())
    check_composed_gaussians(0.01)


def test_the_checks_pass_without_a_fault():
    run_the_checks()


def no_validity(cells, knots):
    return np.zeros_like(knots)


def rounding_up(excess, knots, interval):
    return np.minimum(np.arange(excess.size) + 1, excess.size - 1)


def without_mass_at_the_upper_end(t, shape=None):
    masses = MASSES(t, shape)
    return type(masses)(p=masses.p * 0, q=masses.q, p_error=masses.p_error * 0, q_error=masses.q_error)


MASSES = lattice_pld.masses_between


@pytest.mark.parametrize(
    ("name", "fault"),
    [("_excess", no_validity), ("_levels", rounding_up), ("masses_between", without_mass_at_the_upper_end)],
)
def test_a_planted_fault_of_the_discretisation_is_found(monkeypatch, name, fault):
    monkeypatch.setattr(lattice_pld, name, fault)
    with pytest.raises(AssertionError):
        run_the_checks()


def test_boundaries_that_are_not_shifted_cost_an_order_but_stay_sound(monkeypatch):
    shifted = lattice_pair(GaussianLoss(1).tails, 1e-3)
    monkeypatch.setattr(lattice_pld, "_shifts", lambda tails, knots, interval: np.zeros_like(knots))
    monkeypatch.setattr(lattice_pld, "_BUMPS", -1)
    pair = lattice_pair(GaussianLoss(1).tails, 1e-3)
    gaussian_ends(1)(pair, EPSILONS[::20])
    gaps = [GaussianLoss(1).delta(1) - PldLoss(p.optimistic).delta(1) for p in (shifted, pair)]
    assert gaps[1] > 100 * gaps[0] > 0


def test_tails_that_lie_are_found():
    def lying(losses):
        t = GaussianLoss(1).tails(losses)
        return LossTails(
            p_above=t.p_above * (1 - 1e-6),
            p_below=t.p_below,
            q_above=t.q_above,
            q_below=t.q_below,
            relative_error=t.relative_error,
        )

    with pytest.raises(AssertionError):
        gaussian_ends(1)(lattice_pair(lying, 1e-3), EPSILONS)


def test_a_ledger_without_the_transform_is_found(monkeypatch):
    power = lattice_power._power
    monkeypatch.setattr(lattice_power, "_power", lambda parts, step, size: (power(parts, step, size)[0] + 1e-17, 0.0))
    with pytest.raises(AssertionError):
        check_without_a_tilt(monkeypatch)


def test_a_tail_error_that_is_too_small_is_found(monkeypatch):
    monkeypatch.setitem(globals(), "TAIL_ERROR", 0.0)
    with pytest.raises(AssertionError):
        check_gaussian_tails(1.0, np.linspace(-5, 5, 50))


def test_infinite_masses_are_charged_to_the_upper_bound_only():
    pairs = [(lattice_pair(GaussianLoss(1).tails, 0.01, tail_mass=1e-6), 3)]
    bounds = LatticeBounds(pairs)
    infinite = pairs[0][0].ledger.infinity_mass
    assert 1e-8 < infinite < 1e-6
    truth = GaussianLoss.from_squared(3).certified_delta(12)
    assert bounds.delta_lower(12) <= truth.lower <= truth.upper <= bounds.delta_upper(12)
    assert math.isclose(bounds.ledgers(40)[0].truncation, 1.0)
    assert bounds.delta_upper(40) >= infinite
    assert bounds.delta_lower(40) == 0
