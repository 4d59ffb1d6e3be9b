"""The lattice laws of spherical noise bound its certified profile on both sides, however few knots they rest on.

The default tests use few knots: that costs tightness, never soundness. The slow ones use as many as a user gets.
"""

import math

import numpy as np
import pytest

from dpverdict.audit import spherical_lattice, tail_guess
from dpverdict.audit.bounded_loss import BoundedLoss
from dpverdict.audit.composition import compose
from dpverdict.audit.gaussian_loss import GaussianLoss
from dpverdict.audit.pld_exchange import from_pld
from dpverdict.audit.radial_gaussian import IsotropicGaussian
from dpverdict.audit.radial_laplace import IsotropicLaplace
from dpverdict.audit.radial_random_direction import RandomDirectionGaussian
from dpverdict.audit.spherical_loss import SphericalLoss
from dpverdict.audit.spherical_profile import SphericalProfile
from dpverdict.balls import Real

EPSILONS = (0.0, 0.3, 1.0, 40.0)
STEP = 2.0**-5
FEW = 4

SLOW = pytest.mark.slow
CASES = [
    pytest.param(3, RandomDirectionGaussian(2), id="direction-3"),
    pytest.param(4, RandomDirectionGaussian(5), id="direction-4", marks=SLOW),
    pytest.param(10, RandomDirectionGaussian(5), id="direction-10", marks=SLOW),
    pytest.param(100, RandomDirectionGaussian("1.6"), id="direction-100", marks=SLOW),
    pytest.param(1000, RandomDirectionGaussian("1.4"), id="direction-1000", marks=SLOW),
    pytest.param(3, IsotropicLaplace(1), id="laplace-3"),
    pytest.param(10, IsotropicLaplace("0.1"), id="laplace-10", marks=SLOW),
    pytest.param(3, IsotropicGaussian(1), id="gaussian-3"),
    pytest.param(10, IsotropicGaussian("0.7"), id="gaussian-10", marks=SLOW),
]


def bounds_the_profile(loss, step=STEP):
    """Both laws, as dp_accounting holds them, against the certified profile; no tolerance."""
    pair = loss.to_pld(step)
    lower, upper = from_pld(pair.optimistic), from_pld(pair.pessimistic)
    for epsilon in EPSILONS:
        truth = loss.certified_delta(epsilon)
        assert lower.certified_delta(epsilon).lower <= truth.upper
        assert truth.lower <= upper.certified_delta(epsilon).upper
    masses = [math.fsum([*law.law.masses.tolist(), law.law.infinity_mass]) for law in (lower, upper)]
    assert masses[0] <= 1 <= masses[1] <= 1 + 1e-9
    return lower, upper


@pytest.fixture
def few_knots(monkeypatch):
    monkeypatch.setattr(spherical_lattice, "CELLS", FEW)
    monkeypatch.setattr(spherical_lattice, "_FAR", FEW)
    monkeypatch.setattr(tail_guess, "_DEGREE", FEW)


@pytest.mark.usefixtures("few_knots")
@pytest.mark.parametrize(("dim", "law"), CASES)
def test_few_knots_bound_the_profile(dim, law):
    bounds_the_profile(SphericalLoss(dim, law))


@SLOW
@pytest.mark.parametrize(("dim", "law"), CASES)
def test_the_knots_of_a_user_bound_the_profile_closely(dim, law):
    loss = SphericalLoss(dim, law)
    lower, upper = bounds_the_profile(loss)
    for epsilon in (0.0, 0.3):
        assert upper.delta(epsilon) <= 1.01 * loss.delta(epsilon) + 1e-9
        assert lower.delta(epsilon) >= 0.9 * loss.delta(epsilon)


@pytest.mark.usefixtures("few_knots")
def test_the_isotropic_gaussian_bounds_its_closed_form_alone_and_composed():
    spherical, plain = SphericalLoss(3, IsotropicGaussian(1)), GaussianLoss(1)
    pair = spherical.to_pld(STEP)
    composed = compose(spherical, plain)
    assert isinstance(composed, BoundedLoss)
    low, high = composed.delta_bounds(np.array(EPSILONS))
    both = GaussianLoss(Real.of(2).sqrt())
    for i, epsilon in enumerate(EPSILONS):
        assert from_pld(pair.optimistic).certified_delta(epsilon).lower <= plain.certified_delta(epsilon).upper
        assert plain.certified_delta(epsilon).lower <= from_pld(pair.pessimistic).certified_delta(epsilon).upper
        assert low[i] <= both.certified_delta(epsilon).upper
        assert both.certified_delta(epsilon).lower <= high[i]


@pytest.mark.usefixtures("few_knots")
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_wrong_tail_is_caught(monkeypatch, factor):
    """Planted: the tails of the knots a tenth too small or too large; the certified profile is left alone."""
    for name in ("p_above", "q_above"):
        true = getattr(SphericalProfile, name)
        monkeypatch.setattr(SphericalProfile, name, lambda self, loss, bits, true=true: true(self, loss, bits) * factor)
    with pytest.raises(AssertionError):
        bounds_the_profile(SphericalLoss(3, RandomDirectionGaussian(2)))


@pytest.mark.usefixtures("few_knots")
def test_a_far_tail_that_is_dropped_is_caught(monkeypatch):
    """Planted: the mass beyond the last knot, which a law cut at a loss of about 9 needs, forgotten."""
    split = spherical_lattice._split
    monkeypatch.setattr(spherical_lattice, "TAIL_MASS", 1e-4)
    monkeypatch.setattr(
        spherical_lattice,
        "_split",
        lambda cells, step, *, infinite, raised: split(cells, step, infinite=0 * infinite, raised=raised),
    )
    with pytest.raises(AssertionError):
        bounds_the_profile(SphericalLoss(3, RandomDirectionGaussian(2)))
