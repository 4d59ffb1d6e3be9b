"""Merged outcomes on a lattice: dominated, with no mass gained, and steps that cannot serve are refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.spherical import discretise
from dpverdict.audit.losses.spherical.discretise import Atom, on_lattice, symmetric_lattice
from dpverdict.audit.losses.spherical.integral import SphericalProfile
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian
from dpverdict.balls import ball
from dpverdict.errors import InvalidValue

PROFILE = SphericalProfile(3, IsotropicGaussian(1))


def test_an_atom_on_the_lattice_stays_where_it_is() -> None:
    """Randomised response with epsilon = 1, on the lattice of halves."""
    p = ball(1).exp() / (1 + ball(1).exp())
    masses = on_lattice([Atom(-2, -2, 1 - p, p), Atom(2, 2, p, 1 - p)], Fraction(1, 2))
    assert masses.tolist() == pytest.approx([1 - float(p), 0, 0, 0, float(p)], abs=1e-12)


def test_an_atom_off_the_lattice_is_brought_down_and_no_mass_is_gained() -> None:
    p = ball("0.7").exp() / (1 + ball("0.7").exp())
    atoms = [Atom(-2, 0, 1 - p, p), Atom(0, 2, p, 1 - p)]
    masses = on_lattice(atoms, Fraction(1, 2))
    losses = np.arange(-2, 3) / 2
    assert masses.sum() <= 1
    for epsilon in (0.0, 0.3, 0.6):  # its profile is nowhere above that of the atoms
        found = float((masses * np.maximum(0, 1 - np.exp(epsilon - losses))).sum())
        assert found <= max(0.0, float(p) - math.exp(epsilon) * (1 - float(p))) + 1e-12


@pytest.mark.parametrize("interval", [2.0**-2, pytest.param(2.0**-4, marks=pytest.mark.slow)])
def test_both_laws_bracket_the_gaussian(interval: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discretise, "CELLS", 8)
    pair = symmetric_lattice(PROFILE.p_above, PROFILE.q_above, None, interval)
    for epsilon in (0.0, 0.5, 2.0):
        truth = GaussianLoss(1).certified_delta(epsilon)
        assert PldLoss(pair.optimistic).certified_delta(epsilon).upper <= truth.upper
        assert truth.lower <= PldLoss(pair.pessimistic).certified_delta(epsilon).lower


@pytest.mark.parametrize("interval", [0.0, -1.0, math.nan, 1e-12, 100.0])
def test_a_step_that_cannot_serve_is_refused(interval: float) -> None:
    with pytest.raises(InvalidValue, match="interval"):
        symmetric_lattice(PROFILE.p_above, PROFILE.q_above, None, interval)
