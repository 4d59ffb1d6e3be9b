"""To and from dp_accounting's privacy loss distributions: what is kept, what is reported, what is refused."""

import math
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.domains import LossTails
from dpverdict.audit.losses.finite.pld import Direction, NegativeMass, PldLoss, from_pld
from dpverdict.audit.losses.lattice.bounds import LatticeBounds, compose_on_lattice
from dpverdict.audit.losses.lattice.discretise import aligned_interval, lattice_pair
from dpverdict.audit.losses.lattice.exchange import law_to_pld, to_pld
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.audit.losses.lattice.power import certified_delta
from dpverdict.errors import InvalidValue

laplace_lattice = runpy.run_path(str(Path(__file__).parents[4] / "soundness" / "laplace_lattice_oracle.py"))[
    "laplace_lattice"
]


def pld_of(masses, *, lowest=0, interval=0.5, infinite=0.0):
    return PrivacyLossDistribution(pld_pmf.DensePLDPmf(interval, lowest, np.array(masses), infinite, True))


RANDOMISED_RESPONSE = pld_of([0.25, 0.0, 0.75], lowest=-1, interval=math.log(3))  # losses -log 3 and log 3


def test_the_round_trip_keeps_every_mass():
    pair = GaussianLoss(1).to_pld(0.01)
    loss = from_pld(pair.pessimistic)
    again = from_pld(law_to_pld(loss.law))
    assert (again.law.masses == loss.law.masses).all()
    assert again.law.lowest == loss.law.lowest
    assert again.law.interval == Fraction(0.01)
    assert loss.audit.side is Side.PESSIMISTIC
    assert from_pld(pair.optimistic).audit.side is Side.OPTIMISTIC


def test_the_distributions_compose_with_dp_accountings_own():
    own = privacy_loss_distribution.from_gaussian_mechanism(1.0, value_discretization_interval=1e-3)
    composed = GaussianLoss(1).to_pld(1e-3).pessimistic.compose(own)
    truth = GaussianLoss.from_squared(2).delta(1)
    assert composed.get_delta_for_epsilon(1.0) == pytest.approx(truth, rel=1e-4)
    twice = GaussianLoss(1).to_pld(1e-3).optimistic.self_compose(2, tail_mass_truncation=0)
    assert truth * (1 - 1e-4) < twice.get_delta_for_epsilon(1.0) < truth


def test_the_default_self_composition_of_an_optimistic_distribution_adds_an_infinite_loss():
    """The hazard that PldPair documents; when this fails the warning can go."""
    optimistic = GaussianLoss("0.01").to_pld(1e-3).optimistic
    assert optimistic.self_compose(2)._pmf_remove._infinity_mass == 1e-15
    assert optimistic.self_compose(2, tail_mass_truncation=0)._pmf_remove._infinity_mass == 0


def test_curves_of_a_small_distribution():
    loss = from_pld(RANDOMISED_RESPONSE)
    a = Fraction(math.log(3))
    for epsilon in (Fraction(0), a / 2, -a / 3):
        value = 0.75 * -math.expm1(float(epsilon - a))
        assert loss.delta(epsilon) == pytest.approx(value + 0, rel=1e-14)
    assert loss.certified_delta(a).upper == 0
    assert loss.delta(5) == 0
    assert loss.delta(-50) == pytest.approx(1, rel=1e-14)
    assert loss.log_delta(5) == -math.inf
    assert loss.advantage() == pytest.approx(0.5, rel=1e-14)
    assert loss.epsilon(0) == pytest.approx(math.log(3))
    assert loss.epsilon(1) == 0
    assert loss.epsilon(0.25) == pytest.approx(math.log(2), rel=1e-14)
    # beta falls along the lines 1 - 3 alpha and (1 - alpha)/3
    np.testing.assert_allclose(loss.beta(np.array([0.0, 0.1, 0.25, 0.5, 1.0])), [1, 0.7, 0.25, 0.5 / 3, 0], atol=1e-15)
    assert loss.renyi(1) == pytest.approx(0.5 * math.log(3), rel=1e-14)
    assert loss.renyi(2) == pytest.approx(math.log(0.75 * 3 + 0.25 / 3), rel=1e-14)
    assert loss.renyi(0.5) == pytest.approx(-2 * math.log(2 * math.sqrt(0.75 * 0.25)), rel=1e-14)
    assert loss.certified_beta("0.1").contains(loss.beta("0.1"))


def test_an_infinite_loss_has_its_defined_values():
    loss = from_pld(pld_of([0.5, 0.25], infinite=0.25))
    assert loss.delta(100) == 0.25
    assert loss.epsilon(0.1) == math.inf
    assert loss.epsilon(0.25) == 0.5
    assert loss.renyi(2) == math.inf
    assert loss.renyi(1) == math.inf
    assert loss.beta(0) == 0.75
    assert loss.audit.infinity_mass == 0.25


def test_a_loss_of_nothing_but_zero():
    loss = from_pld(pld_of([1.0]))
    assert loss.delta(np.array([0.0, 3.0])).tolist() == [0.0, 0.0]
    assert loss.epsilon(0) == 0
    assert loss.beta(0.25) == 0.75
    pair = GaussianLoss(0).to_pld(0.1)
    assert pair.pessimistic.get_delta_for_epsilon(0.0) <= 1e-14
    assert pair.optimistic.get_delta_for_epsilon(0.0) == 0


def test_the_tails_of_an_imported_distribution_discretise_to_itself():
    loss = from_pld(RANDOMISED_RESPONSE)
    pair = lattice_pair(loss.tails, aligned_interval(math.log(3), 4))
    assert PldLoss(pair.optimistic).delta(0) <= loss.delta(0) <= PldLoss(pair.pessimistic).delta(0)
    assert PldLoss(pair.pessimistic).delta(0) == pytest.approx(0.5, rel=1e-9)


def test_mass_defects_are_reported():
    loss = from_pld(pld_of([0.5, 0.6]))
    assert loss.audit.p_mass_defect == pytest.approx(0.1)
    assert loss.audit.q_mass_defect == pytest.approx(0.5 + 0.6 * math.exp(-0.5) - 1)


def test_negative_masses_are_refused_or_reported():
    bad = pld_of([0.5, -1e-12, 0.5])
    with pytest.raises(InvalidValue, match="negative masses"):
        from_pld(bad)
    loss = from_pld(bad, negative_mass=NegativeMass.SET_TO_ZERO)
    assert loss.audit.negative_mass == -1e-12
    assert (loss.law.masses >= 0).all()


def test_two_directions_are_not_mixed():
    subsampled = privacy_loss_distribution.from_gaussian_mechanism(
        1.0, sampling_prob=0.1, value_discretization_interval=0.01
    )
    with pytest.raises(InvalidValue, match="direction"):
        from_pld(subsampled)
    both = [from_pld(subsampled, direction=direction).delta(1) for direction in Direction]
    assert max(both) == pytest.approx(subsampled.get_delta_for_epsilon(1.0), rel=1e-9)
    assert both[0] != both[1]


@pytest.mark.parametrize("bad", [None, 1.0, pld_pmf.DensePLDPmf(0.1, 0, np.ones(1), 0.0, True)])
def test_what_is_no_distribution_is_refused(bad):
    with pytest.raises(InvalidValue, match="pld"):
        from_pld(bad)


def test_masses_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidValue, match="finite masses"):
        from_pld(pld_of([0.5, math.nan]))


@pytest.mark.parametrize("interval", [0, -1e-3, math.nan, math.inf, 1e-12])
def test_an_interval_that_makes_no_lattice_is_refused(interval):
    with pytest.raises(InvalidValue, match="interval"):
        GaussianLoss(1).to_pld(interval)


def test_a_lattice_that_cannot_span_the_loss_is_refused():
    with pytest.raises(InvalidValue, match="interval"):
        GaussianLoss(1000).to_pld(1e-3)


@pytest.mark.parametrize("tail_mass", [0, -1, math.nan, 0.5])
def test_the_truncated_mass_is_a_small_probability(tail_mass):
    with pytest.raises(InvalidValue, match="tail_mass"):
        to_pld(GaussianLoss(1).tails, 0.01, tail_mass=tail_mass)


def test_a_loss_without_tails_says_so():
    with pytest.raises(InvalidValue, match="tails"):
        DisjointLoss().to_pld(0.01)


def test_tails_at_what_is_no_loss_are_refused():
    with pytest.raises(InvalidValue, match="l="):
        GaussianLoss(1).tails(np.array([0.0, math.nan]))


def test_tails_that_are_no_probabilities_are_refused():
    half, wrong = np.array([0.5]), np.array([1.5])
    with pytest.raises(InvalidValue, match="p_above"):
        LossTails(p_above=wrong, p_below=half, q_above=half, q_below=half, relative_error=0.0)
    with pytest.raises(InvalidValue, match="relative_error"):
        LossTails(p_above=half, p_below=half, q_above=half, q_below=half, relative_error=0.5)
    with pytest.raises(InvalidValue, match="shape"):
        LossTails(p_above=half, p_below=np.ones(2), q_above=half, q_below=half, relative_error=0.0)


def test_an_interval_that_is_no_float_cannot_be_exported():
    with pytest.raises(InvalidValue, match="float64"):
        law_to_pld(laplace_lattice("0.1", 2).pessimistic)


def test_compositions_need_losses_counts_and_one_lattice():
    pair, other = laplace_lattice("0.1", 2), laplace_lattice("0.3", 2)
    with pytest.raises(InvalidValue, match="pairs"):
        LatticeBounds([])
    with pytest.raises(InvalidValue, match="pairs"):
        compose_on_lattice([], 0.1)
    with pytest.raises(InvalidValue, match="count"):
        LatticeBounds([(pair, 0)])
    with pytest.raises(InvalidValue, match="interval"):
        LatticeBounds([(pair, 1), (other, 1)])
    with pytest.raises(InvalidValue, match="points"):
        certified_delta([(pair, 10**6)], 1)
    with pytest.raises(InvalidValue, match="shift"):
        laplace_lattice(0, 2)
    with pytest.raises(InvalidValue, match="cells"):
        laplace_lattice(1, 3)
    with pytest.raises(InvalidValue, match="atom"):
        aligned_interval(-1, 3)


def test_extreme_arguments_of_a_composition_have_defined_values():
    bounds = LatticeBounds([(laplace_lattice("0.5", 10), 4)])
    assert bounds.delta_upper(2) == bounds.delta_lower(2) == 0  # the pure epsilon
    assert bounds.delta_upper("1e9") == 0
    assert bounds.log_delta_upper(3) == -math.inf
    assert bounds.delta_lower(-30) == pytest.approx(1, rel=1e-12)
    assert bounds.delta_upper(-30) <= 1
    assert bounds.epsilon_upper(1) == 0
    assert bounds.epsilon_lower(0) <= 2 <= bounds.epsilon_upper(0)
    assert bounds.epsilon_lower("1e-400") <= 2 <= bounds.epsilon_upper("1e-400") <= 2.0000001
    assert bounds.beta_upper(np.array([0.0, 1.0])).tolist() == [1.0, 0.0]
    assert bounds.beta_lower(np.array([1.0])).tolist() == [0.0]
    assert "certified" not in bounds.method
    for bad in (math.nan, math.inf):
        with pytest.raises(InvalidValue, match="epsilon"):
            bounds.delta_upper(bad)
    with pytest.raises(InvalidValue, match="alpha"):
        bounds.beta_lower(np.array([2.0]))
    with pytest.raises(InvalidValue, match="delta"):
        bounds.epsilon_upper(-1)


@pytest.mark.parametrize("masses", [[], [-0.1], [math.nan]])
def test_a_law_is_made_of_masses(masses):
    with pytest.raises(InvalidValue, match="masses"):
        LatticeLaw(interval=Fraction(1), lowest=0, masses=np.array(masses), infinity_mass=0.0, side=Side.OPTIMISTIC)
