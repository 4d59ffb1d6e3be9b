"""The lattice laws of spherical noise bound its certified profile on both sides, however few knots they rest on.

The default tests use few knots: that costs tightness, never soundness. The slow ones use as many as a user gets.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.pld import from_pld
from dpverdict.audit.losses.spherical import discretise
from dpverdict.audit.losses.spherical.integral import SphericalProfile
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
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
    pytest.param(3, IsotropicGaussian(1), id="gaussian-3", marks=SLOW),
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
    monkeypatch.setattr(discretise, "CELLS", FEW)


@pytest.mark.usefixtures("few_knots")
@pytest.mark.parametrize(("dim", "law"), CASES)
def test_few_knots_bound_the_profile(dim, law):
    bounds_the_profile(SphericalLoss(dim, law))


@SLOW
@pytest.mark.parametrize(("dim", "law"), CASES)
def test_the_knots_of_a_user_bound_the_profile_closely(dim, law):
    loss = SphericalLoss(dim, law)
    lower, upper = bounds_the_profile(loss)
    for epsilon in (0.3, 1.5, 5.0):
        truth = loss.delta(epsilon)
        assert upper.delta(epsilon) <= 1.02 * truth
        assert lower.delta(epsilon) >= 0.985 * truth


@SLOW
@pytest.mark.usefixtures("few_knots")
def test_the_isotropic_gaussian_bounds_its_closed_form_alone_and_composed(monkeypatch):
    monkeypatch.setattr(discretise, "TAIL_MASS", 1e-9)  # far tails are the slow ones
    spherical, plain = SphericalLoss(3, IsotropicGaussian(1)), GaussianLoss(1)
    pair = spherical.to_pld(STEP)
    composed = compose(spherical, plain)
    assert isinstance(composed, BoundedLoss)
    composed = BoundedLoss(composed.factors, STEP)
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
    split = discretise._split_to_ends
    monkeypatch.setattr(discretise, "TAIL_MASS", 1e-4)
    monkeypatch.setattr(
        discretise,
        "_split_to_ends",
        lambda cells, step, beyond_p, beyond_q: split(cells, step, 0 * beyond_p, beyond_q),
    )
    with pytest.raises(AssertionError):
        bounds_the_profile(SphericalLoss(3, RandomDirectionGaussian(2)))


@pytest.mark.usefixtures("few_knots")
def test_a_loss_raised_for_nothing_is_caught(monkeypatch):
    """Planted: merged outcomes are moved up to the lattice without the share of a neighbour that pays for it."""
    monkeypatch.setattr(discretise, "_move_share", lambda joint, to, of, share: None)
    with pytest.raises(AssertionError):
        bounds_the_profile(SphericalLoss(3, RandomDirectionGaussian(2)))


def test_merged_outcomes_move_to_the_nearer_multiple_and_lose_no_mass():
    """By hand, multiples of 1: a loss above the nearer one takes a share of what is below, else of what is above."""
    atoms = [
        discretise.Atom(0, 1, arb("0.2"), arb("0.1")),
        discretise.Atom(1, 2, arb("0.6"), arb("0.2")),
    ]
    masses = discretise.on_lattice(atoms, Fraction(1))
    assert (0.1 * math.e - 0.2) / (0.6 - 0.2 * math.e) > 1  # the first, log 2, asks too much of log 3: lowered to 0
    share = (0.6 - 0.2 * math.e) / (0.1 * math.e - 0.2)  # of the first, now at 0, for the second
    assert masses == pytest.approx([0.2 * (1 - share), 0.6 + 0.2 * share, 0.0])
    atoms[1] = discretise.Atom(1, 3, arb("0.7"), arb("0.05"))
    masses = discretise.on_lattice(atoms, Fraction(1))
    share = (0.1 * math.e - 0.2) / (0.7 - 0.05 * math.e)
    assert masses == pytest.approx([0.0, 0.2 + 0.7 * share, 0.7 * (1 - share), 0.0])
