"""Composition: the routes, what drops out, and what cannot be composed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.composition import compose, explain_composition
from dpverdict.audit.losses.contour import integral as contour_engine
from dpverdict.audit.losses.contour.loss import RELATIVE_ERROR, ComposedLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, ball, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.roots import as_fraction

MIXED = compose(GaussianLoss("0.5"), LaplaceLoss(["0.3", "0.7"]))


def test_gaussian_losses_compose_to_the_gaussian_loss_with_the_sum_of_squares():
    loss = compose(GaussianLoss("0.3"), GaussianLoss("0.4"))
    assert isinstance(loss, GaussianLoss)
    assert loss.mu_real.rational == Fraction(1, 2)
    many = compose(*[GaussianLoss("0.01")] * 10_000)
    assert many.mu_squared.rational == 1


def test_irrational_squares_are_summed_in_balls():
    root = GaussianLoss.from_squared(Real.of(2).sqrt())
    loss = compose(root, root, GaussianLoss(1))
    with precision(100):
        assert loss.mu_squared.ball().overlaps(1 + 2 * arb(2).sqrt())


def test_laplace_losses_compose_to_one_laplace_loss():
    loss = compose(LaplaceLoss(["0.1"]), LaplaceLoss(["0.2", "0.1"]))
    assert isinstance(loss, LaplaceLoss)
    assert sorted(loss.groups) == [(Fraction(1, 10), 2), (Fraction(1, 5), 1)]


def test_a_disjoint_loss_makes_the_composition_disjoint():
    assert isinstance(compose(MIXED, DisjointLoss(), GaussianLoss(1)), DisjointLoss)


def test_trivial_losses_drop_out_and_nothing_composes_to_equal_laws():
    assert isinstance(compose(GaussianLoss(0), LaplaceLoss(["0.1"])), LaplaceLoss)
    assert isinstance(compose(GaussianLoss(1), LaplaceLoss([0])), GaussianLoss)
    for nothing in (compose(), compose(GaussianLoss(0)), compose(GaussianLoss(0), LaplaceLoss([0]))):
        assert isinstance(nothing, GaussianLoss)
        assert nothing.delta(0) == 0
        assert nothing.delta(-1) == pytest.approx(1 - math.exp(-1), abs=1e-15)


def test_one_loss_composes_to_itself():
    loss = compose(MIXED)
    assert isinstance(loss, ComposedLoss)
    assert loss.delta(1) == MIXED.delta(1)


def test_order_and_grouping_do_not_matter():
    parts = [GaussianLoss("0.2"), LaplaceLoss(["0.3"]), GaussianLoss("0.1"), LaplaceLoss(["0.1", "0.3"])]
    losses = [
        compose(*parts),
        compose(*reversed(parts)),
        compose(compose(parts[0], parts[1]), compose(parts[2], parts[3])),
        compose(compose(compose(*parts[:3])), parts[3]),
    ]
    for epsilon in ("-0.5", "0", "1", "9"):
        balls = [loss._delta_balls([Fraction(epsilon)])[0] for loss in losses]
        assert all(value.overlaps(balls[0]) for value in balls)
    assert len({loss._renyi_balls([2])[0].str(15, radius=False) for loss in losses}) == 1


def test_thousands_of_equal_mechanisms_cost_what_one_costs():
    loss = compose(*[GaussianLoss("0.002"), LaplaceLoss(["0.001"])] * 5000)
    assert loss.laplace.groups == ((Fraction(1, 1000), 5000),)
    assert 0 < loss.certified_delta("0.5").lower < loss.certified_delta("0.5").upper < 1


def test_a_composition_is_never_more_private_than_a_part():
    for epsilon in (-1, 0, "0.5", 1):
        assert MIXED.certified_delta(epsilon).lower > GaussianLoss("0.5").certified_delta(epsilon).upper


def test_the_route_is_told():
    assert "contour" in MIXED.route
    text = MIXED.explain()
    assert "mu = 0.5" in text
    assert "2 distinct shifts" in text
    assert "2 Laplace mechanisms" in repr(MIXED)
    assert explain_composition(MIXED) == text
    for loss, word in ((GaussianLoss(1), "closed form"), (LaplaceLoss([1]), "LaplaceLoss"), (DisjointLoss(), "exact")):
        assert word in explain_composition(compose(loss))
    assert "Foreign" in explain_composition(Foreign())


class Foreign(PrivacyLoss):
    """A loss of a kind that compose knows nothing of."""

    def _refuse(self, *arguments):
        raise AssertionError

    _delta = _log_delta = _epsilon = _beta = _renyi = _refuse
    _delta_balls = _log_delta_balls = _epsilon_balls = _beta_balls = _renyi_balls = _advantage_ball = _refuse


def test_what_cannot_be_composed_is_refused():
    with pytest.raises(InvalidValue, match="privacy losses"):
        compose(GaussianLoss(1), 3)
    with pytest.raises(InvalidValue, match=r"compose\(\*losses\)"):
        compose([GaussianLoss(1)])
    with pytest.raises(InvalidValue, match="has tails"):
        compose(Foreign(), GaussianLoss(1))
    foreign = Foreign()
    assert compose(foreign, GaussianLoss(0)) is foreign
    assert isinstance(compose(foreign, DisjointLoss()), DisjointLoss)


def test_a_composed_loss_has_two_parts_that_are_not_trivial():
    for parts in ((GaussianLoss(0), LaplaceLoss([1])), (GaussianLoss(1), LaplaceLoss([0]))):
        with pytest.raises(InvalidValue, match="not trivial"):
            ComposedLoss(*parts)


@pytest.mark.parametrize("method", ["delta", "log_delta", "epsilon", "beta", "renyi", "certified_delta"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "nothing", None])
def test_bad_arguments_are_refused(method, value):
    with pytest.raises(InvalidValue):
        getattr(MIXED, method)(value)


def test_levels_outside_of_the_unit_interval_are_refused():
    for alphas in ([0.5, 1.5], [math.nan], [-0.1]):
        with pytest.raises(InvalidValue):
            MIXED.beta_bounds(np.array(alphas))


def test_the_ends_of_every_curve():
    assert MIXED.epsilon(0) == math.inf
    assert MIXED.epsilon(1) == 0
    assert MIXED.epsilon(0.9) == 0
    assert MIXED.beta([0, 1]).tolist() == [1, 0]
    lower, upper = MIXED.beta_bounds(np.array([0.0, 1.0]))
    assert upper[0] >= 1
    assert lower[1] == 0
    assert MIXED.beta_bounds(np.empty(0))[0].shape == (0,)
    assert MIXED.delta(np.empty((0, 2))).shape == (0, 2)
    assert len(MIXED.certified_delta(np.empty(0))) == 0
    assert MIXED.delta(-1e6) == 1
    assert MIXED.delta(1e4) == 0
    assert MIXED.log_delta(1e4) < -1e7
    assert MIXED.certified_delta(-(10**6)).contains(1)
    assert MIXED.certified_log_delta(-(10**6)).upper <= 0


def test_the_tails_in_float64_are_as_accurate_as_they_say():
    losses = np.concatenate([np.linspace(-12, 12, 61), [0.0, 0.0, -1.0]])
    tails = MIXED.tails(losses)
    engine = MIXED._engine
    curves = {
        "p_above": lambda x: engine.value(contour_engine.P_ABOVE, x, 60),
        "p_below": lambda x: engine.q_tail(-x, 60),
        "q_above": lambda x: engine.q_tail(x, 60),
        "q_below": lambda x: engine.value(contour_engine.P_ABOVE, -x, 60),
    }
    for name, curve in curves.items():
        for loss, value in zip(losses.tolist(), getattr(tails, name).tolist(), strict=True):
            with precision(80):
                truth = curve(Fraction(loss))
                assert abs(arb(value) - truth) <= truth * arb(tails.relative_error) + arb(10) ** -300


def test_tails_at_bad_losses_are_refused():
    with pytest.raises(InvalidValue):
        MIXED.tails(np.array([0.0, math.nan]))


def test_float64_and_arrays_agree_with_the_enclosures():
    epsilons = np.linspace(-2, 12, 57).reshape(3, 19)
    values = MIXED.delta(epsilons)
    enclosures = MIXED.certified_delta(epsilons.ravel())
    assert values.shape == epsilons.shape
    assert (np.abs(values.ravel() - enclosures.lower) <= RELATIVE_ERROR * enclosures.lower).all()
    few = MIXED.delta(epsilons[0, :9])
    assert (enclosures.lower[:9] <= few).all()
    assert (few <= enclosures.upper[:9]).all()


@pytest.mark.parametrize("delta", ["0.2", "1e-5", "1e-300", "1e-3000"])
def test_epsilon_inverts_the_profile(delta):
    enclosure = MIXED.certified_epsilon(delta)
    low, high = (Fraction(end) for end in (enclosure.lower, enclosure.upper))
    assert high - low <= high / 2**50
    engine = MIXED._engine
    with precision(120):
        assert engine.delta(low, 80) > ball(Fraction(delta)) > engine.delta(high, 80)


@pytest.mark.parametrize("alpha", ["1e-9", "0.1", "0.5", "0.999", "0.999999999999999999999"])
def test_beta_is_its_own_inverse(alpha):
    beta = MIXED._beta_balls([Fraction(alpha)])[0]
    back = [MIXED._beta_balls([as_fraction(end)])[0] for end in (beta.lower(), beta.upper())]
    with precision(200):
        assert back[1] < ball(Fraction(alpha)) * (1 + arb(2) ** -40)
        assert back[0] > ball(Fraction(alpha)) * (1 - arb(2) ** -40)


def test_renyi_divergences_add():
    for order in ("0.3", "0.5", "1", "2", "7.5"):
        gaussian = GaussianLoss("0.5")._renyi_balls([Fraction(order)])[0]
        laplace = LaplaceLoss(["0.3", "0.7"])._renyi_balls([Fraction(order)])[0]
        with precision(80):
            assert MIXED._renyi_balls([Fraction(order)])[0].overlaps(gaussian + laplace)


def test_the_advantage_is_the_profile_at_zero():
    assert MIXED.advantage() == MIXED.delta(0)
    assert MIXED.certified_advantage().contains(MIXED.advantage())


def test_the_bounds_of_the_trade_off_function_enclose_it_within_the_gap():
    alphas = np.linspace(0, 1, 41)
    lower, upper = MIXED.beta_bounds(alphas)
    values = MIXED.certified_beta(alphas)
    assert (lower <= values.lower).all()
    assert (values.upper <= upper).all()
    assert (upper - lower).max() <= 1e-6


def test_a_very_narrow_gaussian_part_is_served_or_refused_but_never_wrong():
    laplace = LaplaceLoss([1])
    narrow = compose(GaussianLoss("0.001"), laplace)
    value = narrow.certified_delta("0.5")
    assert laplace.certified_delta("0.5").upper < value.lower < value.upper < laplace.certified_delta("0.49").lower
    hopeless = compose(GaussianLoss("1e-12"), laplace)
    with pytest.raises(PrecisionExhausted, match="too narrow"):
        hopeless.delta("0.5")


def test_a_contour_beyond_the_budget_is_not_laid(monkeypatch):
    monkeypatch.setattr(contour_engine, "MAX_COST", 100)
    with pytest.raises(PrecisionExhausted):
        compose(GaussianLoss("0.5"), LaplaceLoss(["0.3"])).delta(1)


EXTREME = ["-1e9000", "-1e300", "-1e30", "-1e6", "-800", "0", "1e-300", "800", "1e6", "1e30", "1e300", "1e9000"]
COMPOSED = {
    "Gaussian, Laplace": MIXED,
    "both small": compose(GaussianLoss("0.001"), LaplaceLoss(["1e-4"])),
    "both large": compose(GaussianLoss(30), LaplaceLoss([30])),
    "Laplace": compose(*[LaplaceLoss(["0.5", "1"])] * 20),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", COMPOSED)
def test_probabilities_at_extreme_arguments_are_enclosed_between_0_and_1(name: str) -> None:
    loss = COMPOSED[name]
    sides = [loss.certified_delta(epsilon) for epsilon in EXTREME]
    sides += [loss.certified_beta(alpha) for alpha in ("0", "1e-300", "1e-30", "0.5", "0." + "9" * 30, "1")]
    assert all(0 <= one.lower <= one.upper <= 1 for one in sides)
    deltas = sides[: len(EXTREME)]  # which decreases
    assert all(later.lower <= sooner.upper for sooner, later in itertools.pairwise(deltas))
    assert deltas[0].upper == 1
    assert deltas[-1].lower == 0
