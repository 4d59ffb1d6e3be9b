"""A loss on a lattice: second order in the interval on both sides, and intervals that cannot serve are refused.

That both laws bound the truth on their side is shown in tests/soundness/test_lattice_pld.py.
"""

import math

import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.discretise import aligned_interval, default_interval, lattice_pair, spread
from dpverdict.errors import InvalidValue


def gap(interval: float) -> float:
    """How far the two laws of 1-GDP are apart at delta(0.3)."""
    pair = lattice_pair(GaussianLoss(1).tails, interval)
    return PldLoss(pair.pessimistic).delta(0.3) - PldLoss(pair.optimistic).delta(0.3)


def test_half_the_interval_is_a_quarter_of_the_gap() -> None:
    coarse, fine = gap(2.0**-4), gap(2.0**-5)
    assert 0 < fine < coarse
    assert coarse / fine == pytest.approx(4, rel=0.2)


def test_the_ledger_says_what_lies_outside() -> None:
    pair = lattice_pair(GaussianLoss(1).tails, 0.1, tail_mass=1e-4)
    assert 0 < pair.ledger.infinity_mass <= 1e-4
    assert 0 < pair.ledger.dropped_mass <= 1e-4
    assert pair.pessimistic.infinity_mass == pair.ledger.infinity_mass
    assert pair.ledger.first_order_mass < 1e-9  # no atoms


def test_an_atom_just_above_a_point_of_the_lattice_costs_nothing_of_first_order() -> None:
    loss = LaplaceLoss.equal(1, 1)
    aligned = aligned_interval(1, 32)
    assert 0 <= 1 - 32 * aligned < 1e-11
    truth = loss.delta(0.51)
    lost = [truth - PldLoss(lattice_pair(loss.tails, h).optimistic).delta(0.51) for h in (aligned, 1 / 32.5)]
    assert 0 <= lost[0] < lost[1] / 10


def test_the_default_interval_is_a_power_of_two_that_follows_the_spread() -> None:
    for mu in (0.01, 1.0, 20.0):
        tails = GaussianLoss(mu).tails
        interval = default_interval([(spread(tails), 3)])
        assert math.frexp(interval)[0] == 0.5
        assert interval <= spread(tails)
        assert spread(tails) == pytest.approx(max(mu, mu * mu / 2), rel=3)


@pytest.mark.parametrize("interval", [0.0, -0.1, 1e-12, 11.0, math.nan, math.inf])
def test_an_interval_that_cannot_serve_is_refused(interval: float) -> None:
    with pytest.raises(InvalidValue, match="interval"):
        lattice_pair(GaussianLoss(1).tails, interval)


def test_a_lattice_too_short_for_the_loss_is_refused() -> None:
    with pytest.raises(InvalidValue, match="interval"):
        lattice_pair(GaussianLoss(1000).tails, 1e-9)
    for tail_mass in (0.0, 0.1):
        with pytest.raises(InvalidValue, match="tail_mass"):
            lattice_pair(GaussianLoss(1).tails, 0.1, tail_mass=tail_mass)
