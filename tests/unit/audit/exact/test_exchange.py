"""dp_accounting's accountants compose our mechanisms with their own events."""

import math

import dp_accounting
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from dpverdict.audit.exact.exchange import dp_event, loss_event
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.pld import from_pld
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, at_most
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, CorrelatedGaussian, LaplaceMechanism, StandardGaussian

ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


def accountant(relation=ADD_OR_REMOVE):
    return PLDAccountant(relation, value_discretization_interval=1e-3)


@pytest.mark.parametrize(
    "mechanism",
    [CorrelatedGaussian(dim=100, mu="0.7"), StandardGaussian(dim=10, mu="1/3", adjacency=ADD_OR_REMOVE_ONE)],
)
def test_the_multiplier_of_a_gaussian_mechanism_is_the_largest_safe_float(mechanism):
    multiplier = dp_event(mechanism).noise_multiplier
    mu = worst_case(mechanism).loss.mu_real
    assert at_most(Real(lambda: Real.of(multiplier).ball() * mu.ball()), Real.of(1)) in (True, None)
    assert GaussianLoss(1).mu <= 1 / multiplier * float(1 / mu.nearest()) * (1 + 1e-15)
    assert multiplier * mu.nearest() == pytest.approx(1, rel=1e-15)


def test_multipliers_are_rounded_towards_less_noise():
    for denominator in range(3, 60, 7):
        multiplier = loss_event(GaussianLoss(f"{denominator}/10")).noise_multiplier
        assert at_most(Real.of(multiplier), Real.of(f"10/{denominator}")) is True


def test_an_accountant_composes_our_mechanism_with_its_own_event():
    books = accountant()
    books.compose(dp_event(CorrelatedGaussian(dim=100, mu=1)))
    books.compose(dp_accounting.GaussianDpEvent(2.0))
    mu = worst_case(CorrelatedGaussian(dim=100, mu=1)).loss.mu_squared.nearest() + 0.25
    assert books.get_delta(1.0) == pytest.approx(GaussianLoss.from_squared(mu).delta(1), rel=1e-5)
    renyi = RdpAccountant(neighboring_relation=ADD_OR_REMOVE)
    renyi.compose(dp_event(CorrelatedGaussian(dim=100, mu=1)))
    assert renyi.get_delta(1.0) >= GaussianLoss(1).delta(1)


def test_poisson_sampling_of_our_mechanism_is_the_mixture_of_its_worst_pair():
    """delta(1) of the mixture with weight q is q delta(log(1 + (e - 1)/q)) of the loss itself, for removal."""
    q, mechanism = 0.2, CorrelatedGaussian(dim=9, mu=1)
    books = accountant()
    books.compose(dp_accounting.PoissonSampledDpEvent(q, dp_event(mechanism)))
    amplified = q * worst_case(mechanism).loss.delta(math.log1p(math.expm1(1.0) / q))
    assert books.get_delta(1.0) == pytest.approx(amplified, rel=1e-4)
    books.compose(dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(q, dp_event(mechanism)), 3))
    assert amplified < books.get_delta(1.0) < 1


def test_under_replace_one_every_accountant_is_on_the_safe_side():
    mechanism = StandardGaussian(dim=4, mu=1, adjacency=REPLACE_ONE)
    truth = worst_case(mechanism).loss.delta(1)
    for books in (accountant(REPLACE_ONE), RdpAccountant(neighboring_relation=REPLACE_ONE)):
        books.compose(dp_event(mechanism))
        assert books.get_delta(1.0) >= truth * (1 - 1e-9)


def test_laplace_losses_are_compositions_of_laplace_events():
    books = accountant()
    books.compose(loss_event(LaplaceLoss(["0.5", "0.25", "0.25"])))
    truth = LaplaceLoss(["0.5", "0.25", "0.25"]).delta("0.3")
    assert truth <= books.get_delta(0.3) * (1 + 1e-12)
    assert books.get_delta(0.3) == pytest.approx(truth, rel=1e-4)
    assert loss_event(LaplaceLoss(["0.5"])) == dp_accounting.LaplaceDpEvent(2.0)
    assert loss_event(LaplaceLoss([])) == dp_accounting.NoOpDpEvent()


def laplace(dim, relation=ADD_OR_REMOVE_ONE, norm="linf"):
    return LaplaceMechanism(dim=dim, epsilon=1, adjacency=relation, norm=norm)


def test_a_laplace_mechanism_has_the_events_of_its_coordinates():
    assert dp_event(laplace(1)) == dp_accounting.LaplaceDpEvent(1.0)
    assert dp_event(laplace(4)) == dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(4.0), 4)
    assert dp_event(laplace(3, norm="l1")) == dp_accounting.LaplaceDpEvent(1.0)  # one coordinate is the worst
    bound = laplace(4, norm="l2")
    assert not worst_case(bound).exact
    assert dp_event(bound).noise_multiplier == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("dim", [1, 4])
def test_an_accountant_finds_the_profile_of_a_laplace_mechanism(dim):
    books = accountant()
    books.compose(dp_event(laplace(dim)))
    truth = worst_case(laplace(dim)).loss.delta("0.3")
    assert truth <= books.get_delta(0.3) * (1 + 1e-12)
    assert books.get_delta(0.3) == pytest.approx(truth, rel=1e-4)
    books.compose(dp_event(CorrelatedGaussian(dim=9, mu="0.5")))
    truth = compose(worst_case(laplace(dim)).loss, GaussianLoss("0.5")).delta("0.3")
    assert truth * (1 - 1e-9) <= books.get_delta(0.3) <= truth * (1 + 1e-4)


def test_poisson_sampling_of_a_laplace_mechanism_is_the_mixture_of_its_worst_pair():
    q, epsilon = 0.2, 0.1
    books = accountant()
    books.compose(dp_accounting.PoissonSampledDpEvent(q, dp_event(laplace(1))))
    amplified = q * LaplaceLoss([1]).delta(math.log1p(math.expm1(epsilon) / q))
    assert amplified > 0
    assert books.get_delta(epsilon) == pytest.approx(amplified, rel=1e-3)
    books = accountant()
    with pytest.raises(dp_accounting.UnsupportedEventError):  # and not a composition of sampled coordinates
        books.compose(dp_accounting.PoissonSampledDpEvent(q, dp_event(laplace(4))))


def test_under_replace_one_a_laplace_event_is_safe_or_refused():
    mechanism = laplace(2, REPLACE_ONE)
    renyi = RdpAccountant(neighboring_relation=REPLACE_ONE)
    renyi.compose(dp_event(mechanism))
    assert renyi.get_delta(0.3) >= worst_case(mechanism).loss.delta("0.3")
    with pytest.raises(dp_accounting.UnsupportedEventError):
        accountant(REPLACE_ONE).compose(dp_event(mechanism))


def test_a_composition_is_the_composition_of_the_events():
    loss = compose(GaussianLoss("0.5"), LaplaceLoss(["0.25", "0.25"]))
    expected = [
        dp_accounting.GaussianDpEvent(2.0),
        dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(4.0), 2),
    ]
    assert loss_event(loss) == dp_accounting.ComposedDpEvent(expected)
    thrice = BoundedLoss([(GaussianLoss("0.5"), 3)])
    assert loss_event(thrice) == dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(2.0), 3)
    with pytest.raises(InvalidValue, match="pessimistic"):
        loss_event(compose(DiscreteGaussianLoss(1, 1, 1), GaussianLoss(1)))


def test_a_loss_without_an_event_composes_by_its_pessimistic_distribution():
    lattice = DiscreteGaussianLoss(2, "3/2", "0.5")
    with pytest.raises(InvalidValue, match="pessimistic"):
        loss_event(lattice)
    own = privacy_loss_distribution.from_gaussian_mechanism(2.0, value_discretization_interval=1e-3)
    both = lattice.to_pld(1e-3).pessimistic.compose(own)
    lower, upper = compose(lattice, GaussianLoss("0.5")).delta_bounds(1.0)
    assert lower * (1 - 1e-9) <= both.get_delta_for_epsilon(1.0) <= upper * (1 + 1e-4)


def test_extreme_losses_have_their_events():
    assert loss_event(GaussianLoss(0)) == dp_accounting.NoOpDpEvent()
    assert loss_event(DisjointLoss()) == dp_accounting.NonPrivateDpEvent()
    assert loss_event(GaussianLoss("1e-320")).noise_multiplier == 1.7976931348623157e308
    assert loss_event(GaussianLoss("1e-3")).noise_multiplier == 1000.0


def test_what_has_no_event_is_refused():
    with pytest.raises(InvalidValue, match="to_pld"):
        loss_event(from_pld(GaussianLoss(1).to_pld(0.1).pessimistic))
    with pytest.raises(InvalidValue, match="mechanism"):
        dp_event(lambda dataset, rng: dataset)
