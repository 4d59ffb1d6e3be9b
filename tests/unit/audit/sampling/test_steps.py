"""Many sampled steps: limits that have a closed form, quadrature for two steps, all curves, and what is refused."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses import curves
from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling import steps
from dpverdict.audit.sampling.moments import GaussianMoments
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.steps import SampledSteps
from dpverdict.errors import InvalidValue, PrecisionExhausted


def two_steps(s, q, epsilon, order):
    """E[delta_1(epsilon - L)] over the loss L of one step, by mpmath, split where the inner profile changes."""
    s, q, epsilon = (mpmath.mpf(x) for x in (s, q, epsilon))

    def g(x):
        return 1 - q + q * mpmath.exp(x / s**2 - 1 / (2 * s**2))

    def tail(x):
        return mpmath.ncdf(-x)

    def inner(level):
        growth = mpmath.exp(level if order == "remove" else -level)
        if growth <= 1 - q:
            return 1 - mpmath.exp(level) if order == "remove" else mpmath.mpf(0)
        root = s * s * mpmath.log((growth - 1 + q) / q) + mpmath.mpf(1) / 2
        if order == "remove":
            return (1 - q) * tail(root / s) + q * tail((root - 1) / s) - mpmath.exp(level) * tail(root / s)
        sampled = (1 - q) * tail(-root / s) + q * tail(-(root - 1) / s)
        return tail(-root / s) - mpmath.exp(level) * sampled

    def integrand(x):
        if order == "remove":
            density = (1 - q) * mpmath.npdf(x, 0, s) + q * mpmath.npdf(x, 1, s)
            return density * inner(epsilon - mpmath.log(g(x)))
        return mpmath.npdf(x, 0, s) * inner(epsilon + mpmath.log(g(x)))

    edge = mpmath.exp(epsilon if order == "remove" else -epsilon) / (1 - q)
    split = s * s * mpmath.log((edge - 1 + q) / q) + mpmath.mpf(1) / 2
    ends = sorted({split, *(split + k * s for k in (-20, -14, -9, -6, -4, -2, -1, 1, 3, 6, 10, 16))})
    return mpmath.quad(integrand, ends)


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("s", "q", "epsilon"), [("2", "0.3", "0.1"), ("3", "0.2", "0.05")])
def test_two_steps_have_the_profile_of_a_quadrature(s, q, epsilon, order):
    loss = getattr(poisson_sampled(GaussianLoss(1 / Fraction(s)), q, 2), order)
    assert isinstance(loss, SampledSteps)
    value = loss.certified_delta(epsilon)
    with mpmath.workdps(20):
        truth = two_steps(s, q, epsilon, order)
        assert value.lower * (1 - 1e-12) <= truth <= value.upper * (1 + 1e-12)


def test_without_sampling_the_steps_are_one_gaussian_release():
    """q = 1 - 1e-15: the loss is that of sqrt(T) mu, but for some 1e-13."""
    loss = poisson_sampled(GaussianLoss("0.1"), 1 - Fraction(1, 10**15), 100)
    assert loss.remove.delta(1) == pytest.approx(GaussianLoss(1).delta(1), rel=1e-12)


@pytest.fixture
def contour_of_two(monkeypatch):
    """Two steps by the contour of more steps: no pair is one for the integral of two."""
    monkeypatch.setattr(steps, "GaussianLoss", LaplaceLoss)


@pytest.mark.parametrize("order", ["remove", "add"])
def test_the_contour_gives_two_steps_as_well(contour_of_two, order):
    test_two_steps_have_the_profile_of_a_quadrature("2", "0.3", "0.1", order)


def test_a_planted_fault_of_the_transform_is_found_by_the_quadrature(contour_of_two, monkeypatch):
    right = GaussianMoments.__init__

    def wrong(self, mu, rate):
        right(self, mu, rate * Fraction(1001, 1000))

    monkeypatch.setattr(GaussianMoments, "__init__", wrong)
    with pytest.raises(AssertionError):
        test_two_steps_have_the_profile_of_a_quadrature("2", "0.3", "0.1", "remove")


def test_a_cut_that_is_not_charged_is_found(contour_of_two, monkeypatch):
    """Nodes that end far too early, with the bound of what is dropped planted to be 0."""
    monkeypatch.setattr(SampledSteps, "_number", lambda *_: 3)
    loss = poisson_sampled(GaussianLoss("0.5"), "0.3", 2).remove
    plan = loss._plan(0.1, 60)
    assert plan.number == 3
    monkeypatch.setattr(GaussianMoments, "cut", lambda *_: arb(0))
    value = loss.certified_delta("0.1")
    with mpmath.workdps(20):
        assert not value.lower * (1 - 1e-12) <= two_steps("2", "0.3", "0.1", "remove") <= value.upper * (1 + 1e-12)


@pytest.fixture(scope="module")
def many():
    return poisson_sampled(GaussianLoss(1), "0.01", 1000)


def test_epsilon_inverts_the_profile(many):
    """Between 1.8282 and 1.8283 at 1e-5, as published to 4 decimals."""
    for loss in (many.remove, many.add):
        level = loss.certified_epsilon("1e-5")
        assert loss.certified_delta(level.lower).upper >= 1e-5 >= loss.certified_delta(level.upper).lower
    assert 1.8282 < many.epsilon("1e-5") < 1.8283
    assert many.remove.epsilon(0) == math.inf
    assert many.add.epsilon(0) == pytest.approx(-1000 * math.log1p(-0.01), rel=1e-15)


def test_negative_epsilons_are_those_of_the_other_order(many):
    for epsilon in ("0.1", "1"):
        reflected = -math.expm1(-float(epsilon)) + math.exp(-float(epsilon)) * many.add.delta(epsilon)
        assert many.remove.delta("-" + epsilon) == pytest.approx(reflected, rel=1e-14)


def test_beyond_the_edge_there_is_no_loss_of_the_order_add():
    loss = poisson_sampled(GaussianLoss("0.5"), "0.1", 5).add
    assert loss.certified_delta(-5 * math.log1p(-0.1) + 1e-9).upper == 0


def test_the_trade_off_function_is_above_every_line(many):
    value = many.remove.certified_beta("0.05")
    for epsilon in ("0.1", "0.5", "1", "1.5"):
        line = 1 - many.remove.delta(epsilon) - math.exp(float(epsilon)) * 0.05
        assert line <= value.upper
    assert value.upper - value.lower < 1e-9


def test_divergences_are_those_of_the_steps(many):
    one = poisson_sampled(GaussianLoss(1), "0.01").remove
    assert many.remove.renyi(4) == pytest.approx(1000 * one.renyi(4), rel=1e-13)
    with pytest.raises(InvalidValue, match="order"):
        many.remove.renyi(1)


@pytest.mark.parametrize(("interval", "number"), [(2.0**-5, 400), pytest.param(2.0**-10, 400, marks=pytest.mark.slow)])
def test_lattice_and_contour_agree(interval, number):
    loss = poisson_sampled(LaplaceLoss([1]), "0.1", number)
    for order in (loss.remove, loss.add):
        lower, upper = BoundedLoss(order.factors, interval).delta_bounds(np.array([0.5, 2.0]))
        value = order.delta(np.array([0.5, 2.0]))
        assert (lower <= value).all()
        assert (value <= upper).all()


def test_a_composition_takes_the_steps_apart(many):
    both = compose(many, poisson_sampled(GaussianLoss("0.5"), "0.02", 500))
    assert both.is_certified
    assert [count for _, count in both.remove.factors] == [1000, 500]


@pytest.mark.parametrize(
    ("interval", "width"), [(2.0**-8, 1e-2), pytest.param(None, 1e-5, marks=pytest.mark.slow)], ids=str
)
def test_the_lattice_and_the_contour_of_few_steps_agree(interval, width):
    step = poisson_sampled(GaussianLoss(2), "0.1").remove
    value = poisson_sampled(GaussianLoss(2), "0.1", 3).remove.certified_delta("0.05")
    lower, upper = BoundedLoss([(step, 3)], interval).delta_bounds(np.array([0.05]))
    assert lower[0] <= value.lower <= value.upper <= upper[0]
    assert upper[0] - lower[0] < width * upper[0]


@pytest.mark.parametrize(("s", "q", "number"), [("1", "0.01", 12), ("0.5", "0.01", 50)])
def test_little_sampling_or_noise_is_certified_whatever_the_number_of_steps(s, q, number):
    loss = poisson_sampled(GaussianLoss(1 / Fraction(s)), q, number)
    value = loss.certified_delta("0.25")
    assert value.upper - value.lower <= 1e-15 * value.upper
    lower, upper = BoundedLoss(loss.remove.factors, 2.0**-5).delta_bounds(np.array([0.25]))
    assert lower[0] <= value.upper
    assert value.lower <= upper[0]


def test_next_to_its_end_the_loss_is_below_chernoffs_bound():
    loss = poisson_sampled(GaussianLoss(2), "0.1", 4).add  # which ends at 0.42144
    value = loss.certified_delta("0.42")
    assert 0 <= value.lower <= value.upper <= 1e-4
    assert loss.certified_delta("0.4215").upper == 0
    reflected = loss.reversed().certified_delta("-0.42")  # 1 - exp(-0.42) and a little
    assert 1 - math.exp(-0.42) - 1e-12 <= reflected.lower <= reflected.upper <= 1 - math.exp(-0.42) + 1e-4


def test_the_larger_epsilon_of_both_orders_needs_only_one(many):
    for delta in ("1e-6", "0.05"):
        both = [order.certified_epsilon(delta) for order in (many.remove, many.add)]
        assert many.certified_epsilon(delta).lower == max(value.lower for value in both)


@pytest.mark.slow
def test_noise_beyond_the_moments_is_bracketed_on_a_lattice():
    loss = poisson_sampled(GaussianLoss(25), "0.1", 3)
    assert loss.is_certified
    found = loss.certified_delta(1)
    assert found.contains(1 - Fraction("0.9") ** 3)  # to 30 digits: with so little noise a sampled record is seen
    assert found.upper - found.lower < 1e-6 * found.upper


def test_numbers_of_any_size_have_a_value(many):
    assert many.certified_delta("1e400").upper < 1e-300
    assert many.certified_delta("-1e400").lower >= 1 - 1e-15
    assert many.remove.tails is not None
    with pytest.raises(InvalidValue, match="takes the steps apart"):
        many.remove.tails(np.zeros(1))


def test_an_epsilon_that_is_not_known_to_be_large_enough_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no line has enough bits, the upper end has to be an epsilon at which the profile is certainly small."""
    run = poisson_sampled(GaussianLoss(1), "0.3", 30).remove
    assert isinstance(run, SampledSteps)

    def refuse(*arguments: object, **named: object) -> arb:
        raise PrecisionExhausted("epsilon", 53, "planted")

    monkeypatch.setattr(curves, "epsilon_ball", refuse)
    known = run.certified_epsilon("1e-5")
    assert 1 < known.lower <= known.upper < known.lower * (1 + 1e-9)
    monkeypatch.setattr(curves, "first_within", lambda at_most, level: Fraction(1, 100))
    found = run.certified_epsilon("1e-5")
    assert (found.lower, found.upper) == (0, math.inf)
    with pytest.raises(PrecisionExhausted):
        run.epsilon("1e-5")


@pytest.mark.slow
def test_where_no_line_reaches_the_slopes_an_event_on_a_lattice_shows_delta(monkeypatch):
    """Its two probabilities show a little less than delta, which is known here; those of one step more show more."""

    def refuse(*_):
        raise PrecisionExhausted("the integral", 58, "use a lattice")

    level = Fraction(3)
    losses = {number: poisson_sampled(GaussianLoss(1), "1/50", number).remove for number in (50, 51)}
    true = losses[50].certified_delta(level)
    assert losses[50].known_event(level) is None
    monkeypatch.setattr(SampledSteps, "q_above", refuse)
    shown = losses[50].known_event(level).delta_lower(level)
    assert 0.999 * true.lower < shown <= true.upper
    assert not losses[51].known_event(level).delta_lower(level) <= true.upper


def test_rare_steps_of_little_noise_are_known_by_the_other_order():
    """Where the line of remove would be too long; a profile of one step more is not the same."""
    known, more = (poisson_sampled(GaussianLoss("3.98"), "5.18e-5", number) for number in (6231, 6232))
    lattice = BoundedLoss([(known.remove.step, 6231)], halvings=0)
    for level in (0, "0.5"):
        close, wide = known.remove.certified_delta(level), lattice.certified_delta(level)
        assert close.upper - close.lower < 1e-9 * close.upper
        assert wide.lower <= close.upper
        assert close.lower <= wide.upper
        assert more.remove.certified_delta(level).lower > close.upper
    assert known.add.certified_delta(0).contains(known.remove.certified_delta(0).lower)


@pytest.mark.parametrize(
    "loss",
    [
        poisson_sampled(GaussianLoss(1), "0.01", 1000),
        poisson_sampled(GaussianLoss("0.5"), "0.001", 100_000),
        compose(poisson_sampled(GaussianLoss(1), "0.01", 100), poisson_sampled(GaussianLoss("0.5"), "0.05", 200)),
        GaussianLoss(1),
    ],
)
@pytest.mark.parametrize("digits", [2, 4, 9])
def test_epsilon_to_fewer_digits_holds_all_of_them(loss, digits):
    for delta in ("1e-5", "0.001"):
        few, all_of_them = loss.enclosed_epsilon(delta, digits), loss.certified_epsilon(delta)
        assert few.lower <= all_of_them.lower <= all_of_them.upper <= few.upper
        assert few.upper - few.lower <= 10.0**-digits * few.upper
        assert loss.certified_delta(few.upper).lower <= float(delta)
    assert loss.enclosed_epsilon(1, digits).upper == 0


def test_a_worse_order_add_is_not_passed_over():
    """Of the largest loss: remove has none here, and add one above it."""
    steps = poisson_sampled(GaussianLoss(1), "0.5", 3)
    other = AddRemoveLoss(remove=poisson_sampled(GaussianLoss(1), "0.4", 3).remove, add=steps.remove)
    for digits in (3, 12):
        few, known = other.enclosed_epsilon("0.01", digits), steps.remove.certified_epsilon("0.01")
        assert few.lower <= known.upper
        assert known.lower <= few.upper
    assert other.certified_epsilon("0.01").contains(steps.remove.certified_epsilon("0.01").lower)


@pytest.mark.parametrize("mu", ["0.25", "0.5", "2"])
def test_rare_steps_are_estimated_so_that_a_line_is_found(mu):
    """A size that is estimated too large would ask for lines of too few bits, again and again."""
    loss = poisson_sampled(GaussianLoss(mu), "5.18e-5", 6231).remove
    for level in ("0.002", "0.02"):
        found = loss.profile(Fraction(level), 30)
        assert found.rel_accuracy_bits() >= 30
