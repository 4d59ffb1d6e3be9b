"""The exact curves of a distribution's own masses: audited first, then summed without rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from flint import arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.atoms import AtomMoments, LatticeMoments
from dpverdict.audit.losses.finite.pld import Direction, NegativeMass, PldLoss, from_pld
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import ball, precision
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


@pytest.mark.parametrize("wrong", [0, 1])
def test_moments_on_a_lattice_are_those_of_its_points(wrong: int) -> None:
    """And not those of a lattice that begins one point further."""
    masses, lowest, interval = np.array([0.1, 0.0, 0.3, 0.2, 0.05]), -2, Fraction(1, 3)

    def atoms() -> list[tuple[arb, arb]]:
        return [(arb(m), ball((lowest + i) * interval)) for i, m in enumerate(masses.tolist()) if m > 0]

    one, other = LatticeMoments(masses, lowest + wrong, interval), AtomMoments(atoms(), atoms)
    with precision(100):
        lines = [moments.on_line(1.5, 0.25, 7) for moments in (one, other)]
        same = [
            bool(one.at(arb(2)).overlaps(other.at(arb(2)))),
            *(bool(a.overlaps(b)) for a, b in zip(*lines, strict=True)),
        ]
        assert all(value.rad() < 1e-25 for line in lines for value in (line[0].real, line[-1].imag))
    assert all(same) is not bool(wrong)
    points = np.array([0.1, 2.0, 40.0])
    np.testing.assert_allclose(one.estimates(points) - points * wrong / 3, other.estimates(points), rtol=1e-12)


def test_a_distribution_beside_sampled_steps_is_a_contour() -> None:
    """One that is made of one loss of 0 changes nothing, and the mass of an infinite loss is one of the composition."""
    steps = poisson_sampled(GaussianLoss(1), "0.01", 100).remove
    nothing = PldLoss(law(lowest=0, masses=np.array([1.0])))
    assert compose(nothing, steps).certified_delta(1).contains(steps.certified_delta(1).lower)
    for infinite in (2.0**-10, 2.0**-400):
        loss = compose(PldLoss(law(lowest=0, masses=np.array([1 - infinite]), infinity_mass=infinite)), steps)
        found, alone = loss.certified_delta(1), steps.certified_delta(1)
        assert found.upper - found.lower <= 1e-15 * found.upper
        exact = Fraction(infinite) + Fraction(1 - infinite) * Fraction(alone.lower)
        assert Fraction(found.lower) <= exact + Fraction(alone.upper) - Fraction(alone.lower)
        assert exact <= Fraction(found.upper)
