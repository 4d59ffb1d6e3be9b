"""The exact curves of a distribution's own masses: audited first, then summed without rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.finite.pld import Direction, NegativeMass, PldLoss, from_pld
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.errors import InvalidValue


def law(**changes: object) -> LatticeLaw:
    """Randomised response with epsilon = 1/2, on the lattice of halves."""
    p = 1 / (1 + math.exp(-0.5))
    fields = {"interval": Fraction(1, 2), "lowest": -1, "masses": np.array([1 - p, 0.0, p]), "infinity_mass": 0.0}
    return LatticeLaw(**{**fields, "side": Side.PESSIMISTIC, **changes})  # type: ignore[arg-type]


def test_the_curves_are_those_of_the_masses() -> None:
    loss = PldLoss(law())
    p = 1 / (1 + math.exp(-0.5))
    assert loss.delta(0) == pytest.approx(2 * p - 1)
    assert loss.delta(0.5) == 0.0
    assert loss.delta(0.25) == pytest.approx(p * (1 - math.exp(-0.25)))
    assert loss.epsilon(0) == 0.5
    assert loss.certified_delta("1/4").upper - loss.certified_delta("1/4").lower < 1e-15
    assert (loss.beta(0), loss.beta(1)) == pytest.approx((1, 0))


def test_an_infinite_loss_is_never_paid_for() -> None:
    loss = PldLoss(law(masses=np.array([0.4, 0.0, 0.5]), infinity_mass=0.1))
    assert loss.delta(1000) == 0.1
    assert loss.epsilon(0.05) == math.inf
    assert loss.audit.infinity_mass == 0.1


def test_what_is_wrong_with_the_masses_is_said() -> None:
    audit = PldLoss(law(masses=np.array([0.5, 0.0, 0.501]))).audit
    assert audit.p_mass_defect == pytest.approx(1e-3)
    assert audit.side is Side.PESSIMISTIC
    with pytest.raises(InvalidValue):
        PldLoss(law(masses=np.array([0.5, 0.0, 0.51]))).tails(np.array([0.0]))


def test_a_distribution_of_the_library_is_read_with_its_masses() -> None:
    pld = privacy_loss_distribution.from_gaussian_mechanism(1.0, value_discretization_interval=0.01)
    loss = from_pld(pld)
    truth = GaussianLoss(1)
    assert loss.delta(1.0) == pytest.approx(truth.delta(1.0), rel=1e-3)
    assert loss.audit.side is Side.PESSIMISTIC
    np.testing.assert_allclose(loss.tails(np.array([0.0])).p_above, truth.tails(np.array([0.0])).p_above, rtol=0.02)
    assert loss.as_pair().pessimistic.interval == loss.as_pair().optimistic.interval


def test_a_distribution_of_two_directions_needs_one_to_be_named() -> None:
    pld = privacy_loss_distribution.from_gaussian_mechanism(1.0, sampling_prob=0.1, value_discretization_interval=0.01)
    with pytest.raises(InvalidValue, match="direction"):
        from_pld(pld)
    deltas = {which: from_pld(pld, direction=which).delta(0.1) for which in Direction}
    assert len(set(deltas.values())) == len(Direction)
    assert NegativeMass.REFUSE in NegativeMass
