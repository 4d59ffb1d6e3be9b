"""What `LaplaceLoss` says at its edges, and that its curves belong together."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverdict.audit.losses.laplace import loss as laplace_floats
from dpverdict.audit.losses.laplace import profile as laplace_profile
from dpverdict.audit.losses.laplace.loss import MOST_COORDINATES, LaplaceLoss
from dpverdict.audit.losses.laplace.profile import LaplaceProfile, LaplaceRoute
from dpverdict.errors import InvalidValue, PrecisionExhausted

UNEQUAL = LaplaceLoss(["0.5", "0.25", "1"])
MANY = LaplaceLoss.equal(100, "0.03")
LIGHT = LaplaceLoss.equal(300, 1)
LOSSES = [LaplaceLoss.equal(1, "0.7"), LaplaceLoss.equal(2, 3), UNEQUAL, LaplaceLoss.equal(10, "0.1"), MANY, LIGHT]


# construction ---------------------------------------------------------------------------------------------------------


def test_signs_zeros_and_order_do_not_matter():
    loss = LaplaceLoss(["-0.5", 0, Fraction(1, 4), 0.5, "0"])
    assert loss.groups == ((Fraction(1, 4), 1), (Fraction(1, 2), 2))
    assert loss.total == Fraction(5, 4)
    assert LaplaceLoss.equal(3, "-1/3").groups == ((Fraction(1, 3), 3),)


def test_a_float_is_taken_at_its_exact_value():
    assert LaplaceLoss([0.1]).total == Fraction(0.1)
    assert LaplaceLoss(np.array([0.1, 0.1])).groups == ((Fraction(0.1), 2),)


@pytest.mark.parametrize("bad", [[math.nan], [math.inf], ["x"], [None], "0.5", [True], ["1e7"], ["1e-251"]])
def test_bad_shifts_are_refused(bad):
    with pytest.raises(InvalidValue):
        LaplaceLoss(bad)


@pytest.mark.parametrize("m", [0, -1, MOST_COORDINATES + 1, 2.5, "3", True, None, math.nan])
def test_a_bad_number_of_coordinates_is_refused(m):
    with pytest.raises(InvalidValue, match="m="):
        LaplaceLoss.equal(m, 1)


def test_too_many_coordinates_are_refused():
    with pytest.raises(InvalidValue, match="shifts"):
        LaplaceLoss([1] * (MOST_COORDINATES + 1))
    assert LaplaceLoss.equal(np.int64(MOST_COORDINATES), 1).total == MOST_COORDINATES


@pytest.mark.parametrize("loss", [LaplaceLoss([]), LaplaceLoss(["0", 0]), LaplaceLoss.equal(5, 0)])
def test_without_a_shift_the_two_laws_are_the_same(loss):
    assert (loss.total, loss.groups) == (0, ())
    assert loss.delta([0.0, 1.0]).tolist() == [0, 0]
    assert loss.delta(-1) == pytest.approx(-math.expm1(-1), rel=1e-15)
    assert loss.log_delta(0) == -math.inf
    assert loss.epsilon([0.0, 0.5, 1.0]).tolist() == [0, 0, 0]
    assert loss.beta([0.0, 0.25, 1.0]).tolist() == [1, 0.75, 0]
    assert loss.renyi([0.5, 1, 2]).tolist() == [0, 0, 0]
    assert loss.advantage() == 0
    tails = loss.tails(np.array([-1.0, 0.0, 1.0]))
    assert tails.p_above.tolist() == tails.q_above.tolist() == [1, 0, 0]


def test_the_loss_shows_its_shifts():
    assert repr(LaplaceLoss.equal(10, "0.1")) == "LaplaceLoss.equal(10, 0.1)"
    assert repr(UNEQUAL) == "LaplaceLoss(0.25 x 1, 0.5 x 1, 1 x 1)"


# edges of the curves --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_the_profile_is_exactly_0_from_the_total_on(loss):
    for epsilon in (loss.total, loss.total + 1, 1e300):
        assert loss.delta(epsilon) == 0
        enclosure = loss.certified_delta(epsilon)
        assert (enclosure.lower, enclosure.upper) == (0, 0)
        assert loss.log_delta(epsilon) == -math.inf
    assert loss.certified_delta(loss.total - Fraction(1, 10**50)).contains(0) is False


@pytest.mark.parametrize("loss", LOSSES)
def test_the_profile_is_1_minus_exp_epsilon_up_to_minus_the_total(loss):
    epsilon = -float(math.ceil(loss.total))
    assert loss.delta(epsilon) == pytest.approx(-math.expm1(epsilon), rel=1e-15)
    assert loss.delta(-1e300) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_no_slack_costs_the_total_and_full_slack_nothing(loss):
    assert loss.certified_epsilon(0).contains(loss.total)
    assert loss.epsilon(0) == float(loss.total)
    assert loss.epsilon(1) == 0
    assert loss.epsilon(1e-300) <= float(loss.total)


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 1.1])
def test_values_outside_of_the_domain_are_refused(value):
    for method in (UNEQUAL.epsilon, UNEQUAL.certified_beta):
        with pytest.raises(InvalidValue):
            method(value)
    if not 0 <= value <= 2:
        with pytest.raises(InvalidValue):
            UNEQUAL.renyi(value)
    if not math.isfinite(value):
        with pytest.raises(InvalidValue):
            UNEQUAL.delta(value)
        with pytest.raises(InvalidValue):
            UNEQUAL.tails(np.array([value]))


def test_empty_arrays_give_empty_arrays():
    assert UNEQUAL.delta(np.array([])).shape == (0,)
    assert len(UNEQUAL.certified_delta([])) == 0
    assert UNEQUAL.tails(np.array([])).p_above.shape == (0,)


def test_a_profile_below_float64_has_a_logarithm():
    loss = LaplaceLoss.equal(10_000, "0.00237")
    assert loss.delta(20) == 0
    assert -5000 < loss.log_delta(20) < -3000
    assert loss.certified_delta(20).upper > 0


def test_a_profile_close_to_1_has_an_accurate_logarithm():
    assert LaplaceLoss.equal(1, 2000).log_delta(0) == pytest.approx(0, abs=1e-300)
    assert LIGHT.log_delta(0) == pytest.approx(-float(1 - LIGHT.certified_delta(0).lower), abs=1e-12)
    assert LIGHT.log_delta(0) < 0


# known values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0", "0.3", "0.69", "-0.3", "-2"])
def test_one_coordinate_has_the_closed_form(epsilon):
    x = float(epsilon)
    expected = 1 - math.exp((x - 0.7) / 2) if x > -0.7 else 1 - math.exp(x)
    assert LaplaceLoss.equal(1, "0.7").delta(epsilon) == pytest.approx(expected, rel=1e-13)
    assert LaplaceLoss.equal(1, "0.7").route("0.3") is LaplaceRoute.CLOSED_FORM


@pytest.mark.parametrize("order", ["0.1", "0.5", "0.9", "1", "1.0001", "2", "30"])
def test_the_renyi_divergence_is_that_of_the_densities(order):
    """By quadrature of p^r q^(1-r) on the line, with kinks at 0 and at the shift."""
    with mpmath.workdps(30):
        s, r = mpmath.mpf("0.75"), mpmath.mpf(order)
        p, q = (lambda x: mpmath.exp(-abs(x)) / 2), (lambda x: mpmath.exp(-abs(x - s)) / 2)
        ends = [-mpmath.inf, 0, s, mpmath.inf]
        if r == 1:
            value = mpmath.quad(lambda x: p(x) * (abs(x - s) - abs(x)), ends)
        else:
            value = mpmath.log(mpmath.quad(lambda x: p(x) ** r * q(x) ** (1 - r), ends)) / (r - 1)
    loss = LaplaceLoss(["0.75", "0.75", "-0.75"])
    assert loss.renyi(order) == pytest.approx(float(3 * value), rel=1e-12)
    assert loss.certified_renyi(order).lower <= loss.renyi(order) <= loss.certified_renyi(order).upper


@pytest.mark.parametrize("loss", LOSSES)
def test_the_renyi_divergence_grows_to_the_total(loss):
    values = loss.renyi([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 10.0, 1e6])
    assert np.all(np.diff(values) > 0)
    assert values[-1] == pytest.approx(float(loss.total), rel=1e-2)
    assert loss.renyi(2) <= float(sum(count * shift**2 for shift, count in loss.groups))  # at most order mu^2/2


@pytest.mark.parametrize("loss", LOSSES[:4])
def test_quadrature_over_one_more_coordinate_gives_the_next_profile(loss):
    """delta of m coordinates is the mean of delta of the others over the loss of one of them."""
    shift, count = loss.groups[0]
    if count + len(loss.groups) == 2:
        rest = LaplaceLoss([])
    else:
        rest = LaplaceLoss([s for s, c in loss.groups for _ in range(c - (s == shift))])
    s, epsilon = float(shift), 0.31 * float(loss.total)
    points = np.linspace(0, 1, 4001)[:-1] + 1 / 8000  # midpoints
    inner = (np.exp(-s * points) / 2 * rest.delta(epsilon - s + 2 * s * points)).mean() * s
    value = (rest.delta(epsilon - s) + math.exp(-s) * rest.delta(epsilon + s)) / 2 + inner
    assert loss.delta(epsilon) == pytest.approx(value, rel=1e-6)


# the curves belong together -------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", LOSSES)
def test_epsilon_inverts_delta(loss):
    for part in (0.05, 0.4, 0.8):
        epsilon = part * float(loss.total)
        delta = loss.delta(epsilon)
        if 1e-300 < delta < 0.999:
            assert loss.epsilon(delta) == pytest.approx(epsilon, rel=1e-9)
            enclosure = loss.certified_epsilon(delta)
            assert loss.certified_delta(enclosure.lower).upper >= delta >= loss.certified_delta(enclosure.upper).lower


def test_delta_above_the_advantage_needs_no_epsilon():
    assert UNEQUAL.epsilon(UNEQUAL.certified_advantage().upper) == 0
    assert UNEQUAL.advantage() == UNEQUAL.delta(0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", ["1e-9", "0.001", "0.2", "0.5", "0.93"])
def test_the_trade_off_function_touches_its_support_lines_and_is_its_own_inverse(loss, alpha):
    enclosure = loss.certified_beta(alpha)
    assert enclosure.upper - enclosure.lower <= 1e-15 * enclosure.upper
    for epsilon in np.linspace(-1.2, 1.2, 9) * min(float(loss.total), 600.0):
        line = 1 - Fraction(loss.certified_delta(epsilon).upper) - Fraction(math.exp(epsilon)) * Fraction(alpha)
        assert line <= Fraction(enclosure.upper) + Fraction(math.exp(epsilon)) / 2**52
    if enclosure.lower > 1e-12:
        assert loss.beta(enclosure.lower) == pytest.approx(float(alpha), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_trade_off_function_is_straight_at_its_ends(loss):
    m = sum(count for _, count in loss.groups)
    total = float(loss.total)
    if total < 300:
        alpha = math.exp(-total) * 2.0**-m * 0.75
        assert loss.beta(alpha) == pytest.approx(1 - math.exp(total) * alpha, rel=1e-13)
    alpha = 1 - Fraction(1, 2 ** (m + 1))
    assert loss.certified_beta(alpha).contains(0) is False
    with mpmath.workdps(40):
        expected = mpmath.exp(-mpmath.mpf(loss.total.numerator) / loss.total.denominator) * mpmath.mpf(2) ** -(m + 1)
        assert mpmath.almosteq(mpmath.mpf(loss.beta(alpha)), expected, 1e-13) or expected < 1e-300
    assert (loss.beta(0), loss.beta(1)) == (1, 0)


def test_beta_at_the_middle_of_one_coordinate():
    loss = LaplaceLoss.equal(1, 1)
    for alpha in ("0.2", "0.3", "0.45"):
        assert loss.beta(alpha) == pytest.approx(math.exp(-1) / (4 * float(alpha)), rel=1e-15)


# tails ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_the_tails_give_the_profile_and_mirror_each_other(loss):
    total = float(loss.total)
    losses = np.linspace(-1.05, 1.05, 15) * min(total, 300.0)
    tails = loss.tails(losses)
    profile = tails.p_above - np.exp(losses) * tails.q_above
    assert np.all(np.abs(profile - loss.delta(losses)) <= 1e-13 * (1 + np.exp(losses) * tails.q_above))
    assert np.allclose(tails.p_above + tails.p_below, 1, atol=1e-15)
    assert np.allclose(tails.q_above + tails.q_below, 1, atol=1e-15)
    mirrored = loss.tails(-losses)
    off_atoms = np.array([not loss._profile.is_atom(Fraction(abs(float(l)))) for l in losses])
    assert np.allclose(tails.p_above[off_atoms], mirrored.q_below[off_atoms], rtol=1e-13, atol=0)


def test_the_tails_jump_at_the_atoms():
    """Two shifts of 1: atoms at 2 (1/4 under P), 0 (exp(-1)/2) and -2 (exp(-2)/4)."""
    loss = LaplaceLoss.equal(2, 1)
    tails = loss.tails(np.array([2.0, math.nextafter(2.0, 0.0), 0.0, -5e-324, -2.0, math.nextafter(-2.0, -3.0)]))
    assert tails.p_above[0] == 0
    assert tails.p_above[1] == pytest.approx(0.25, rel=1e-13)
    assert tails.p_above[3] - tails.p_above[2] == pytest.approx(math.exp(-1) / 2, rel=1e-13)
    assert tails.q_above[3] - tails.q_above[2] == pytest.approx(math.exp(-1) / 2, rel=1e-13)
    assert tails.p_below[4] == pytest.approx(math.exp(-2) / 4, rel=1e-13)
    assert tails.q_below[4] == pytest.approx(0.25, rel=1e-13)
    assert (tails.p_below[5], tails.q_above[5]) == (0, 1)


# arrays ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [LOSSES[0], LOSSES[1], UNEQUAL, LIGHT])
def test_long_arrays_agree_with_single_values(loss):
    total = min(float(loss.total), 200.0)
    epsilons = np.linspace(-1.1 * total, 1.1 * total, 1501).reshape(19, 79)
    values = loss.delta(epsilons)
    assert values.shape == epsilons.shape
    for epsilon, value in list(zip(epsilons.flat, values.flat, strict=True))[::73]:
        single = loss.delta(float(epsilon))
        assert abs(value - single) <= laplace_floats.RELATIVE_ERROR * single


def test_a_polynomial_across_an_atom_is_not_used(monkeypatch):
    """The check of the interpolation finds a kink even where it is not given the atom."""
    loss = LaplaceLoss.equal(3, 1)
    monkeypatch.setattr(LaplaceProfile, "atoms", lambda _: [3.0])
    epsilons = np.linspace(0, 3, 801)
    values = loss.delta(epsilons)
    singles = np.array([loss.delta(float(epsilon)) for epsilon in epsilons[::10]])
    assert np.all(np.abs(values[::10] - singles) <= laplace_floats.RELATIVE_ERROR * singles)


# routes ---------------------------------------------------------------------------------------------------------------


def test_the_route_is_told():
    assert UNEQUAL.route("0.3") is LaplaceRoute.EXACT_SUM
    assert LIGHT.route(110) is LaplaceRoute.CONTOUR
    assert UNEQUAL.route(5) is LaplaceRoute.CLOSED_FORM
    assert LaplaceLoss.equal(100, 1000).route(0) is LaplaceRoute.CHERNOFF


def test_where_no_route_is_exact_the_enclosure_is_wide_and_says_so(monkeypatch):
    monkeypatch.setattr(laplace_profile, "POINTS", 1 << 12)
    shifts = [Fraction(1, 61 + 2 * i) for i in range(24)]
    loss = LaplaceLoss(shifts)
    assert loss.route("0.2") is LaplaceRoute.LATTICE
    enclosure = loss.certified_delta("0.2")
    assert enclosure.lower < loss.delta("0.2") < enclosure.upper
    assert 1e-12 < (enclosure.upper - enclosure.lower) / enclosure.lower < 1e-2
    below, above = LaplaceLoss.equal(24, min(shifts)), LaplaceLoss.equal(24, max(shifts))
    assert below.certified_delta("0.2").upper < enclosure.lower < enclosure.upper < above.certified_delta("0.2").lower
    negative = loss.certified_delta("-0.2")
    assert negative.lower < loss.delta("-0.2") < negative.upper
    assert loss.certified_log_delta("0.2").lower < loss.log_delta("0.2")
    for curve in (loss.certified_beta, loss.certified_epsilon):
        value = curve("0.01")
        assert 1e-12 < (value.upper - value.lower) / value.upper < 1e-2
    with pytest.raises(PrecisionExhausted):
        loss.tails(np.array([0.1]))


def test_the_profile_grows_with_every_shift():
    values = [LaplaceLoss(["0.5", shift]).certified_delta("0.3") for shift in ("0.1", "0.2", "0.4", "1", "3")]
    assert all(first.upper < second.lower for first, second in itertools.pairwise(values))


@pytest.mark.parametrize("shift", ["0.5", "1/3", "1e-5", "1e-200", "700"])
def test_the_tails_of_one_coordinate_in_closed_form_are_those_of_the_balls(shift):
    """Also at the floats next to its two atoms, of which 1/3 is none."""
    size = float(Fraction(shift))
    ends = [math.nextafter(end, side) for end in (size, -size) for side in (-math.inf, end, math.inf)]
    losses = np.array([*ends, 0.0, *np.linspace(-1.2 * size, 1.2 * size, 12)])
    loss = LaplaceLoss([shift])
    fast, slow = loss.tails(losses), laplace_floats.tails(loss._profile, losses)
    for name in ("p_above", "p_below", "q_above", "q_below"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=fast.relative_error, atol=1e-300)
    assert loss.coordinates()[0][0].groups == loss.groups
