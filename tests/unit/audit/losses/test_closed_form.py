"""The Gaussian privacy loss and the disjoint one: exact parameters, domains, limits, errors."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue


def test_a_float_parameter_is_not_the_decimal_it_looks_like():
    decimal, binary = GaussianLoss("0.1"), GaussianLoss(0.1)
    assert decimal.mu == binary.mu == 0.1
    assert decimal.mu_real.rational == Fraction(1, 10) != binary.mu_real.rational
    epsilon = "0.3"
    assert repr(decimal.certified_delta(epsilon)) != repr(binary.certified_delta(epsilon))


def test_a_squared_parameter_stays_exact():
    loss = GaussianLoss.from_squared(2)
    assert loss.mu == math.sqrt(2)
    assert loss.mu_squared.rational == 2
    assert loss.zcdp() == 1.0
    assert loss.certified_renyi(3).contains(3)
    assert (loss.certified_renyi(3).lower, loss.certified_renyi(3).upper) == (3.0, 3.0)
    assert GaussianLoss.from_squared("0.25").mu_real.rational == Fraction(1, 2)


def test_an_irrational_square_is_accepted():
    loss = GaussianLoss.from_squared(Real.of(2).sqrt())
    assert repr(loss) == "GaussianLoss(mu=1.189207115002721...)"
    assert loss.mu == pytest.approx(2**0.25, rel=1e-15)
    assert loss.delta(np.array([1.0]))[0] == pytest.approx(loss.delta("1.0"), rel=1e-13)


def test_fractions_decimals_and_strings_are_all_exact():
    loss = GaussianLoss(1)
    values = {loss.delta(number) for number in ("0.1", Fraction(1, 10), Decimal("0.1"))}
    assert len(values) == 1
    assert loss.delta(["0.1", "0.3"]).tolist() == [loss.delta("0.1"), loss.delta("0.3")]
    assert loss.delta([0, 1, 2]).tolist() == loss.delta(np.array([0.0, 1.0, 2.0])).tolist()
    assert loss.delta(np.array([0, 1, 2])).tolist() == loss.delta(np.array([0.0, 1.0, 2.0])).tolist()


def test_large_integers_of_an_array_are_not_rounded():
    large = 2**53 + 1
    enclosures = GaussianLoss(1).certified_renyi(np.array([2 * large]))
    assert enclosures[0].contains(large)
    assert not GaussianLoss(1).certified_renyi(2.0 * large).contains(large)


def test_an_exact_delta_next_to_the_advantage_is_not_rounded():
    loss = GaussianLoss(1)
    truth = Fraction("2.011837987316650371547604e-14")
    assert abs(Fraction(loss.epsilon("0.38292492254802")) / truth - 1) < Fraction(1, 10**12)
    enclosure = loss.certified_epsilon(0.38292492254802)  # the float
    assert abs(Fraction(loss.epsilon(0.38292492254802)) / Fraction(enclosure.lower) - 1) < Fraction(1, 10**12)


def test_arrays_keep_their_shape_and_scalars_are_floats():
    loss = GaussianLoss(1)
    grid = np.linspace(-1, 3, 6).reshape(2, 3)
    assert loss.delta(grid).shape == loss.log_delta(grid).shape == (2, 3)
    assert loss.epsilon(np.full((2, 2), 0.1)).shape == (2, 2)
    assert isinstance(loss.delta(1), float)
    assert isinstance(loss.delta(np.float64(1)), float)
    assert isinstance(loss.delta(np.array(1.0)), float)
    assert loss.delta(1) == loss.delta(np.array([1.0]))[0]
    assert len(loss.certified_delta([])) == 0


def test_certified_arrays_agree_with_certified_numbers():
    loss = GaussianLoss("0.7")
    epsilons = np.linspace(-1, 4, 60)
    many = loss.certified_delta(epsilons)
    for i, epsilon in enumerate(epsilons.tolist()):
        one = loss.certified_delta(epsilon)
        assert many[i].lower <= one.upper
        assert one.lower <= many[i].upper
    assert np.all(many.lower <= many.upper)
    assert np.all(many.upper - many.lower <= 2**-51 * many.upper)


@pytest.mark.parametrize(("epsilon", "order"), [(-5, Fraction(1, 2)), (0, 1), (3, 2)])
def test_a_gaussian_of_mu_zero_is_no_loss(epsilon, order):
    loss = GaussianLoss(0)
    truth = max(0.0, -math.expm1(epsilon))
    assert loss.delta(epsilon) == pytest.approx(truth, rel=1e-15)
    enclosure = loss.certified_delta(epsilon)
    assert enclosure.lower <= truth <= math.nextafter(enclosure.upper, 1)
    assert loss.renyi(order) == 0.0
    assert (loss.mu, loss.zcdp(), loss.advantage()) == (0.0, 0.0, 0.0)


def test_the_curves_of_mu_zero_have_their_limits():
    loss = GaussianLoss("0")
    assert loss.epsilon([0, 0.5, 1]).tolist() == [0.0, 0.0, 0.0]
    assert loss.certified_epsilon(0).upper == 0.0
    assert loss.beta([0, 0.25, 1]).tolist() == [1.0, 0.75, 0.0]
    assert loss.certified_beta("0.3").contains("0.7")
    assert loss.log_delta(0) == -math.inf
    assert loss.log_delta(-1) == pytest.approx(math.log(-math.expm1(-1)), rel=1e-15)


def test_the_ends_of_the_domains_are_exact():
    loss = GaussianLoss(1)
    assert loss.epsilon([0, 1]).tolist() == [math.inf, 0.0]
    assert (loss.certified_epsilon(0).lower, loss.certified_epsilon(0).upper) == (math.inf, math.inf)
    assert loss.certified_epsilon(1).contains(0)
    assert loss.beta([0, 1]).tolist() == [1.0, 0.0]
    assert (loss.certified_beta(0).lower, loss.certified_beta(0).upper) == (1.0, 1.0)
    assert (loss.certified_beta(1).lower, loss.certified_beta(1).upper) == (0.0, 0.0)


def test_the_profile_of_negative_epsilon_is_the_mirrored_one():
    loss = GaussianLoss(1)
    assert loss.delta(-2) == pytest.approx(1 - math.exp(-2) * (1 - loss.delta(2)), rel=1e-14)


def test_the_divergence_of_order_one_is_the_mean_loss():
    loss = GaussianLoss(3)
    assert loss.renyi(1) == loss.zcdp() == 4.5
    assert loss.renyi([1, 3]).tolist() == [4.5, 13.5]
    assert loss.certified_renyi("0.1").contains("0.45")


@pytest.mark.parametrize("mu", ["1e-200", "1e-50", 1000, "1e-310", "1e-400"])
def test_extreme_parameters_work_everywhere(mu):
    loss = GaussianLoss(mu)
    assert 0 <= loss.advantage() <= 1
    assert loss.certified_advantage().lower <= loss.advantage() <= loss.certified_advantage().upper
    delta = Fraction("1e-10000")
    enclosure = loss.certified_epsilon(delta)
    assert Fraction(enclosure.lower) <= Fraction(enclosure.upper)
    assert enclosure.upper > 0 or Fraction(mu) < Fraction("1e-300")
    assert loss.log_delta(0) == pytest.approx(float(loss.certified_log_delta(0).lower), rel=1e-12)
    assert loss.delta(np.array([0.0]))[0] == loss.delta(0)


@pytest.mark.parametrize("mu", [math.nan, math.inf, -math.inf, -1, "-1e-300", "x", None, True, Real.of(-1)])
def test_a_parameter_that_is_no_gdp_parameter_is_refused(mu):
    with pytest.raises(InvalidValue, match=r"^mu="):
        GaussianLoss(mu)
    if not isinstance(mu, Real):
        with pytest.raises(InvalidValue, match=r"^mu_squared="):
            GaussianLoss.from_squared(mu)


@pytest.mark.parametrize("loss", [GaussianLoss(1), DisjointLoss()], ids=repr)
@pytest.mark.parametrize(
    ("method", "argument", "name"),
    [
        ("delta", math.nan, "epsilon"),
        ("delta", math.inf, "epsilon"),
        ("delta", [0.0, -math.inf], "epsilon"),
        ("delta", np.array([0.0, math.nan]), "epsilon"),
        ("delta", None, "epsilon"),
        ("log_delta", "nan", "epsilon"),
        ("epsilon", 1.5, "delta"),
        ("epsilon", "-1e-400", "delta"),
        ("beta", np.array([0.5, 1.0000001]), "alpha"),
        ("renyi", 0, "order"),
        ("renyi", np.array([-1.0]), "order"),
    ],
)
def test_arguments_outside_the_domain_are_refused_by_both_roads(loss, method, argument, name):
    for road in (method, f"certified_{method}"):
        with pytest.raises(InvalidValue, match=rf"^{name}="):
            getattr(loss, road)(argument)


def test_certified_tables_are_refused():
    with pytest.raises(InvalidValue, match="one-dimensional"):
        GaussianLoss(1).certified_delta(np.zeros((2, 2)))


def test_the_exact_parameter_is_shown():
    assert repr(GaussianLoss("0.1")) == "GaussianLoss(mu=0.1)"
    assert repr(GaussianLoss(Fraction(1, 3))) == "GaussianLoss(mu=1/3)"
    assert repr(GaussianLoss.from_squared("0.5")) == "GaussianLoss(mu=sqrt(0.5))"


def test_disjoint_laws_are_told_apart_with_certainty():
    loss = DisjointLoss()
    assert isinstance(loss, PrivacyLoss)
    assert loss.mu == math.inf
    assert loss.delta([-1, 0, 1e300]).tolist() == [1.0, 1.0, 1.0]
    assert loss.log_delta(5) == 0.0
    assert loss.epsilon([0, 0.5, 1]).tolist() == [math.inf, math.inf, 0.0]
    assert loss.beta([0, 0.5]).tolist() == [0.0, 0.0]
    assert loss.renyi("0.5") == math.inf
    assert loss.advantage() == 1.0
    assert loss.certified_delta(3).contains(1)
    assert loss.certified_epsilon(["0.5", "1"]).lower.tolist() == [math.inf, 0.0]
    assert loss.certified_renyi(2).lower == math.inf
    assert loss.certified_advantage().contains(1)
    assert repr(loss) == "DisjointLoss()"


def test_the_profile_is_enclosed_far_out() -> None:
    loss = GaussianLoss(1)
    for epsilon in ("1e7", "1e10", "1e20"):
        with mpmath.workdps(80):
            e, half = mpmath.mpf(epsilon), mpmath.mpf("0.5")
            truth = mpmath.log(mpmath.ncdf(half - e) - mpmath.exp(e) * mpmath.ncdf(-half - e))
            assert loss.certified_log_delta(epsilon).contains(Decimal(mpmath.nstr(truth, 60)))
            assert not loss.certified_log_delta(epsilon).contains(Decimal(mpmath.nstr(truth * (1 + 1e-15), 60)))
    assert (loss.certified_delta(1e308).lower, loss.certified_delta(1e308).upper) == (0, 5e-324)
