"""Compositions on a lattice: bounds on both sides of the truth, certified where the tails of all factors are."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy.stats import logistic

from dpverdict.audit.losses import composition
from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.bounded import BoundedLoss, whole_laws
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.composition import compose, explain_composition
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import PldLoss, from_pld
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.custom import CustomLoss, additive_noise_loss
from dpverdict.audit.losses.lattice.discretise import default_interval, spread
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.audit.losses.lattice.whole import WholeComposition, composed_laws
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import ball, precision
from dpverdict.errors import ContradictoryBounds, InvalidValue

EPSILONS = np.array([-3.0, -0.5, 0.0, 0.5, 1.0, 3.0, 10.0, 30.0])
ALPHAS = np.array([0.0, 1e-12, 0.01, 0.3, 0.5, 0.9, 1.0])
TAILS = CustomLoss(GaussianLoss("0.1").tails, "a Gaussian loss, known by its tails in float64 only")
HUNDRED = BoundedLoss([(TAILS, 100)])  # GaussianLoss(1)
WHOLE = BoundedLoss([(GaussianLoss("0.5"), 4)])  # GaussianLoss(1), certified
LOGISTIC = additive_noise_loss(logistic(), 1.0, relative_error=1e-13)


def brackets(loss: BoundedLoss, truth: GaussianLoss) -> bool:
    """Whether the bounds on every curve are on their sides of certified values."""
    sound = True
    for bounds, certified in (
        (loss.delta_bounds(EPSILONS), truth.certified_delta(EPSILONS)),
        (loss.log_delta_bounds(EPSILONS), truth.certified_log_delta(EPSILONS)),
        (loss.beta_bounds(ALPHAS), truth.certified_beta(ALPHAS)),
    ):
        sound &= bool((bounds[0] <= certified.upper).all() and (certified.lower <= bounds[1]).all())
    deltas = np.array([1.0, 0.5, 0.3, 1e-6, 1e-30])
    lower, upper = loss.epsilon_bounds(deltas)
    epsilons = truth.certified_epsilon(deltas)
    return sound and bool((lower <= epsilons.upper).all() and (epsilons.lower <= upper).all())


def test_the_bounds_are_on_both_sides_of_a_composition_that_is_known():
    assert brackets(HUNDRED, GaussianLoss(1))
    assert brackets(BoundedLoss(HUNDRED.factors, 0.01), GaussianLoss(1))


def test_certified_bounds_are_on_both_sides_of_a_composition_that_is_known():
    assert WHOLE.is_certified
    assert "whole numbers" in WHOLE.route
    truth = GaussianLoss(1)
    for epsilon in ("-1", "0", "1", "3"):
        found, own = WHOLE.certified_delta(epsilon), truth.certified_delta(epsilon)
        assert found.lower <= own.upper
        assert own.lower <= found.upper
        assert found.upper - found.lower <= 2e-6 * found.upper
    for delta in ("0.01",):
        found, own = WHOLE.certified_epsilon(delta), truth.certified_epsilon(delta)
        assert found.lower <= own.upper
        assert own.lower <= found.upper
        assert found.upper - found.lower <= 1e-4
    for alpha in ("0.1",):
        found, own = WHOLE.certified_beta(alpha), truth.certified_beta(alpha)
        assert found.lower <= own.upper
        assert own.lower <= found.upper
        assert found.upper - found.lower <= 1e-4
    assert WHOLE.certified_advantage().contains(truth.advantage())
    points = np.array([0.0, 1.0])
    assert (WHOLE.delta_bounds(points)[0] <= truth.certified_delta(points).upper).all()
    assert (truth.certified_log_delta(points).lower <= WHOLE.log_delta_bounds(points)[1]).all()


@pytest.mark.parametrize("mu", ["1.00001", "0.99999"])
def test_another_composition_is_not_bracketed(mu):
    assert not brackets(HUNDRED, GaussianLoss(mu))


def test_the_bracket_is_narrow_and_second_order():
    fine, coarse = (
        upper - lower
        for lower, upper in (HUNDRED.delta_bounds(1.0), BoundedLoss(HUNDRED.factors, 2.0**-10).delta_bounds(1.0))
    )
    assert fine < 1e-6
    assert 12 < coarse / fine < 20
    lower, upper = HUNDRED.beta_bounds(np.linspace(0, 1, 101))
    assert (upper - lower).max() < 1e-6


def test_float_methods_are_the_side_that_claims_less_privacy():
    assert HUNDRED.delta(1) == HUNDRED.delta_bounds(1.0)[1]
    assert HUNDRED.epsilon(1e-6) == HUNDRED.epsilon_bounds(1e-6)[1]
    assert HUNDRED.beta(0.25) == HUNDRED.beta_bounds(0.25)[0]
    assert HUNDRED.log_delta(1) == HUNDRED.log_delta_bounds(1.0)[1]
    assert HUNDRED.advantage() == HUNDRED.delta(0)
    assert HUNDRED.delta([0, 1]).shape == (2,)
    assert HUNDRED.delta("0.1") >= GaussianLoss(1).certified_delta("0.1").lower
    assert HUNDRED.delta(["0.1", "0.3"]).tolist() == [HUNDRED.delta("0.1"), HUNDRED.delta("0.3")]
    assert HUNDRED.delta("0.1") >= HUNDRED.delta(0.1)  # the float is above one tenth
    assert HUNDRED.beta("0.3") <= HUNDRED.beta(0.3)  # the float is below three tenths


def test_nothing_of_the_float_route_is_certified():
    assert not HUNDRED.is_certified
    assert "ball" not in HUNDRED.route
    for ask in (HUNDRED.certified_delta, HUNDRED.certified_log_delta, HUNDRED.certified_epsilon):
        with pytest.raises(InvalidValue, match="can be certified"):
            ask(0.5)
    with pytest.raises(InvalidValue, match="beta_bounds"):
        HUNDRED.certified_beta(0.5)
    with pytest.raises(InvalidValue, match="can be certified"):
        HUNDRED.certified_advantage()


def test_renyi_divergences_add():
    for order in ("0.5", 1, 2, "17.5"):
        ours, truth = WHOLE.certified_renyi(order), GaussianLoss(1).certified_renyi(order)
        assert ours.lower <= truth.upper
        assert truth.lower <= ours.upper
        assert ours.upper <= ours.lower * (1 + 1e-14)
    with pytest.raises(InvalidValue, match="Renyi"):
        compose(LOGISTIC, GaussianLoss(1)).renyi(2)


def test_custom_noise_composes_with_everything():
    loss = compose(GaussianLoss("0.5"), LOGISTIC, LaplaceLoss(["0.25"]), LOGISTIC)
    assert isinstance(loss, BoundedLoss)
    assert sorted(count for _, count in loss.factors) == [1, 1, 2]
    lower, upper = loss.delta_bounds(0.0)
    assert LOGISTIC.delta_upper(0) < lower < upper < 1
    assert upper - lower < 1e-5
    again = compose(
        compose(LOGISTIC, GaussianLoss("0.3")), compose(LaplaceLoss(["0.25"]), LOGISTIC), GaussianLoss("0.4")
    )
    assert isinstance(again, BoundedLoss)
    assert {repr(factor): count for factor, count in again.factors} == {repr(f): c for f, c in loss.factors}
    assert "4 factors, 3 of them distinct" in explain_composition(loss)
    assert isinstance(compose(LOGISTIC, DisjointLoss()), DisjointLoss)
    assert isinstance(compose(LOGISTIC), BoundedLoss)


def test_atoms_of_equal_laplace_losses_are_on_the_lattice():
    laplace = LaplaceLoss.equal(10, "0.3")
    loss = compose(laplace, LOGISTIC)
    assert isinstance(loss, BoundedLoss)
    lower, upper = loss.delta_bounds(1.0)
    assert upper - lower < 1e-5
    alone = BoundedLoss([(laplace, 1)])
    lower, upper = alone.delta_bounds(1.0)
    truth = laplace.certified_delta(1)
    assert lower <= truth.upper
    assert truth.lower <= upper
    assert upper - lower < 1e-5


def test_losses_without_tails_are_refused():
    with pytest.raises(InvalidValue, match="has tails"):
        BoundedLoss([(DisjointLoss(), 1)])
    with pytest.raises(InvalidValue, match="has tails"):
        HUNDRED.tails(np.zeros(1))
    with pytest.raises(InvalidValue, match="factors"):
        BoundedLoss([])


def test_epsilon_at_the_ends():
    assert HUNDRED.epsilon(1) == 0
    assert HUNDRED.epsilon(0) == math.inf
    assert HUNDRED.epsilon_bounds(0.0)[0] > 30


# distributions on one lattice, in ball arithmetic --------------------------------------------------------------------

RESPONSE = PldLoss(
    LatticeLaw(
        interval=Fraction(1, 2),
        lowest=-1,
        masses=np.array([0.25, 0.0, 0.5, 0.0]),
        infinity_mass=0.25,
        side=Side.PESSIMISTIC,
    )
)


def test_distributions_on_one_lattice_are_composed_in_balls():
    pld = from_pld(GaussianLoss(1).to_pld(0.05).pessimistic)
    loss = compose(pld, pld, pld)
    assert isinstance(loss, BoundedLoss)
    assert loss.is_certified
    assert loss.interval == 0.05
    for epsilon in (-1.0, 0.0, 1.05, 5.0):
        value = loss.certified_delta(epsilon)
        lower, upper = loss.delta_bounds(epsilon)
        assert lower <= value.upper
        assert value.lower <= upper
        assert value.lower >= GaussianLoss.from_squared(3).certified_delta(epsilon).lower  # it is pessimistic
    epsilon = loss.certified_epsilon("1e-3")
    assert loss.certified_delta(epsilon.upper).lower <= 1e-3 <= loss.certified_delta(epsilon.lower).upper
    assert "whole numbers" in loss.route


def test_a_distribution_keeps_its_losses_on_finer_and_on_coarser_lattices():
    pld, steps = from_pld(GaussianLoss(1).to_pld(0.05).pessimistic), poisson_sampled(GaussianLoss(1), "0.1", 3).add
    loss = BoundedLoss([(pld, 1), *steps.factors])
    by_contour = compose(pld, steps)
    masses, points = pld.law.masses.tolist(), range(pld.law.lowest, pld.law.lowest + pld.law.masses.size)
    for epsilon in (-1.0, 0.0, 1.0, 4.0):
        parts = [steps.certified_delta(Fraction(epsilon) - i * pld.law.interval) for i in points]
        with precision(200):
            least, most = (
                sum((ball(m) * ball(getattr(one, side)) for m, one in zip(masses, parts, strict=True)), start=arb(0))
                + ball(pld.law.infinity_mass)
                for side in ("lower", "upper")
            )
        for found in (loss.certified_delta(epsilon), by_contour.certified_delta(epsilon)):
            assert found.lower <= most
            assert least <= found.upper
        assert loss.certified_delta(epsilon).upper - loss.certified_delta(epsilon).lower <= 1e-5
    assert max(loss._compositions) > 0


CUSTOM = compose(TAILS, *[poisson_sampled(GaussianLoss(1), "0.01", 1000).remove])
"""A loss known by its tails beside many steps, each with far smaller losses."""


def test_a_custom_loss_beside_many_sampled_steps_is_close():
    truth = compose(GaussianLoss("0.1"), poisson_sampled(GaussianLoss(1), "0.01", 1000).remove)
    epsilons, deltas = np.array([-1.0, 0.0, 1.0, 4.0]), np.array([0.1, 1e-6])
    for bounds, known in (
        (CUSTOM.delta_bounds(epsilons), truth.certified_delta(epsilons)),
        (CUSTOM.epsilon_bounds(deltas), truth.certified_epsilon(deltas)),
    ):
        assert (bounds[0] <= known.upper).all()
        assert (known.lower <= bounds[1]).all()
        assert (bounds[1] - bounds[0] <= 2e-6 * known.upper).all()
    assert not CUSTOM.is_certified


def test_exchanged_sides_of_a_custom_loss_are_found(monkeypatch):
    right = composition._laws_of_tails
    monkeypatch.setattr(composition, "_laws_of_tails", lambda factor: right(factor)[::-1])
    loss = compose(TAILS, poisson_sampled(GaussianLoss(1), "0.01", 1000).remove)
    with pytest.raises(ContradictoryBounds):
        loss.delta_bounds(np.array([1.0]))


@pytest.mark.parametrize("part", [1, Fraction(1, 2), Fraction(1, 3), Fraction(5, 2), 4])
def test_a_distribution_is_bracketed_on_a_lattice_of_any_step(part: Fraction):
    pld = from_pld(GaussianLoss(1).to_pld(0.05).pessimistic)
    interval = pld.law.interval * part
    laws = composed_laws([(whole_laws(pld, interval), 1)])
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2)):
        lower, upper = WholeComposition(laws, interval).bounds(epsilon)
        truth = pld.certified_delta(epsilon)
        assert lower <= truth.upper
        assert truth.lower <= upper


def test_the_profile_ends_at_the_largest_loss_without_a_lattice():
    loss = compose(LaplaceLoss(["0.7"]), poisson_sampled(LaplaceLoss(["0.3"]), "0.05").add)
    assert isinstance(loss, BoundedLoss)
    assert loss.certified_delta(1).upper == 0
    assert loss._compositions == {}


def test_an_infinite_loss_of_one_is_one_of_all():
    loss = compose(RESPONSE, RESPONSE)
    infinite = Fraction(7, 16)
    assert loss.certified_delta(1).contains(infinite)
    assert loss.certified_epsilon("0.43").lower == math.inf
    assert loss.certified_epsilon("0.5").upper <= 1  # two losses of 1/2 are the largest finite one
    assert loss.certified_epsilon(1).upper == 0


def test_distributions_on_two_lattices_are_refused():
    with pytest.raises(InvalidValue, match="the same for all losses"):
        compose(RESPONSE, from_pld(GaussianLoss(1).to_pld(0.05).pessimistic))
    with pytest.raises(InvalidValue, match="the same for all losses"):
        BoundedLoss([(RESPONSE, 1)], 0.1)


def test_masses_that_are_far_from_those_of_a_law_have_no_tails():
    heavy = PldLoss(
        LatticeLaw(interval=Fraction(1), lowest=0, masses=np.array([1.01]), infinity_mass=0.0, side=Side.PESSIMISTIC)
    )
    with pytest.raises(InvalidValue, match="relative_error"):
        heavy.tails(np.array([-1.0]))


# the interval --------------------------------------------------------------------------------------------------------


def test_the_spread_is_about_a_standard_deviation():
    assert spread(GaussianLoss("0.1").tails) in (2.0**-4, 2.0**-3)
    assert spread(GaussianLoss("1e-20").tails) == 2.0**-40
    assert default_interval([(GaussianLoss("0.1").spread(), 100)]) == default_interval(
        [(GaussianLoss("0.1").spread(), 1)]
    )


def test_a_custom_loss_alone_keeps_its_bounds():
    loss = BoundedLoss([(LOGISTIC, 1)])
    assert isinstance(LOGISTIC, CustomLoss)
    lower, upper = loss.delta_bounds(0.25)
    assert lower <= LOGISTIC.delta_upper(0.25)
    assert LOGISTIC.delta_lower(0.25) <= upper


def test_float_methods_are_that_side_of_certified_bounds_too():
    for delta in ("0.01", Fraction(1, 100), 0.01):
        assert WHOLE.epsilon(delta) >= WHOLE.certified_epsilon("0.01").lower
        assert WHOLE.epsilon(delta) == WHOLE.epsilon_bounds(np.array(float(delta)))[1]
    assert WHOLE.advantage() >= GaussianLoss(1).certified_advantage().lower
    both = AddRemoveLoss(remove=GaussianLoss(1), add=WHOLE)
    assert both.delta("1") == both.delta(1) == max(GaussianLoss(1).delta(1), WHOLE.delta(1))


@pytest.mark.parametrize("delta", ["0.002997001", Fraction(2997001, 10**9), 2.0**-10])
def test_the_epsilon_of_bounds_that_end_at_infinity_is_infinite(delta):
    infinite = FiniteLoss(["0.5", "0.499", "0.001"], ["0.499", "0.501", "0"])
    half = FiniteLoss(["1/2", "511/1024", "1/1024"], ["1/2", "1/2", "0"])
    loss = (
        BoundedLoss([(half, 1), (GaussianLoss(1), 1)])
        if isinstance(delta, float)
        else BoundedLoss([(infinite, 3), (LaplaceLoss([1]), 1)])
    )
    found = loss.certified_epsilon(delta)
    assert found.upper == math.inf
    assert found.lower < math.inf
    assert loss.epsilon(delta) == math.inf


def test_a_step_whose_large_losses_are_rare_has_a_lattice_that_can_be_made() -> None:
    """Noise 1/4 at rate 1/20000: the spread of the loss is some 1e-5, and the losses to be spanned some 40."""
    step = poisson_sampled(GaussianLoss(4), "0.00005").remove
    found = BoundedLoss([(step, 300)])
    coarse = BoundedLoss([(step, 300)], found.interval, halvings=0).certified_delta(1)
    assert 0 < coarse.lower <= coarse.upper < 1
    assert coarse.upper - coarse.lower <= 0.05 * coarse.upper
