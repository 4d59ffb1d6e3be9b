"""Lower bounds from a test on the lattice are below certified profiles, wherever the atoms are; no tolerance."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice import bounds as lattice_event
from dpverdict.audit.losses.lattice import discretise as lattice_pld
from dpverdict.audit.losses.lattice.bounds import LatticeBounds, LatticeEvent, compose_on_lattice
from dpverdict.audit.losses.lattice.discretise import lattice_pair
from dpverdict.balls import ball, precision
from dpverdict.errors import ContradictoryBounds

ALPHAS = np.array([0.0, 1e-9, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.999, 1.0])
SHIFTS = ["1/3", "0.7", "0.123456", "1/7"]


def below(lower, truth, epsilon):
    return lower <= truth.certified_delta(epsilon).upper


def event_of(shifts, interval):
    return LatticeEvent([(lattice_pair(LaplaceLoss([s]).tails, interval), 1) for s in shifts])


def check_brackets(shifts, interval, truth):
    bounds = compose_on_lattice([(LaplaceLoss([s]).tails, 1) for s in shifts], interval)
    total = float(truth.total)
    for part in (-1.1, -0.4, 0.0, 0.17, 0.5, 0.83, 0.99, 1.01):
        enclosure = truth.certified_delta(part * total)
        assert bounds.delta_lower(part * total) <= enclosure.upper
        assert enclosure.lower <= bounds.delta_upper(part * total)
    betas = truth.certified_beta(ALPHAS)
    assert (bounds.beta_lower(ALPHAS) <= betas.upper).all()
    assert (betas.lower <= bounds.beta_upper(ALPHAS)).all()


@given(
    st.lists(st.fractions(Fraction(1, 50), 3, max_denominator=997), min_size=1, max_size=4),
    st.floats(0.003, 0.4),
)
@example([Fraction(1, 3)], 1 / 3)  # the float is just below the atom
@example([Fraction(1, 2), Fraction(1, 2)], 0.5)
@settings(max_examples=20, deadline=None)
def test_atoms_anywhere_are_bracketed(shifts, interval):
    check_brackets(shifts, interval, LaplaceLoss(shifts))


def test_the_bracket_is_second_order_for_atoms_off_the_lattice():
    losses = [(LaplaceLoss([shift]), 1) for shift in SHIFTS]
    widths = []
    for interval in (2.0**-6, 2.0**-8, 2.0**-10):
        lower, upper = BoundedLoss(losses, interval).delta_bounds(np.array([0.3]))
        widths.append(float(upper[0] - lower[0]) / interval**2)
    assert max(widths) < 1
    alone = [dataclasses.replace(lattice_pair(loss.tails, 2.0**-10), rounded=None) for loss, _ in losses]
    lower = LatticeBounds([(pair, 1) for pair in alone]).delta_lower(0.3)  # first order, without the test
    assert LaplaceLoss(SHIFTS).delta(0.3) - lower > 100 * widths[-1] * 2.0**-20


def test_compositions_with_a_gaussian_part_are_bracketed_and_narrow():
    gaussian, laplace = GaussianLoss("0.3"), LaplaceLoss(SHIFTS)
    truth, loss = compose(gaussian, laplace), BoundedLoss([(gaussian, 1), (laplace, 1)])
    points = np.array([-1.0, 0.0, 0.4, 1.5, 3.0])
    lower, upper = loss.delta_bounds(points)
    certified = truth.certified_delta(points)
    assert (lower <= certified.upper).all()
    assert (certified.lower <= upper).all()
    assert ((upper - lower) / upper).max() < 1e-3
    betas = truth.certified_beta(ALPHAS[1:-1])
    low, high = loss.beta_bounds(ALPHAS[1:-1])
    assert (low <= betas.upper).all()
    assert (betas.lower <= high).all()
    assert (high - low).max() < 1e-5
    deltas = np.array([0.3, 1e-3, 1e-9])
    low, high = loss.epsilon_bounds(deltas)
    epsilons = truth.certified_epsilon(deltas)
    assert (low <= epsilons.upper).all()
    assert (epsilons.lower <= high).all()
    assert (high - low < 1e-3 * high).all()


def test_the_tilted_test_is_sharp_far_out():
    """1000 coordinates at delta about 1e-39: every factor has an atom off the lattice."""
    loss = LaplaceLoss.equal(1000, "0.0075")
    bounds = compose_on_lattice([(LaplaceLoss(["0.0075"]).tails, 1000)], 2.0**-11)
    lower, truth = bounds.log_delta_lower(3), loss.certified_log_delta(3)
    assert truth.lower - 0.02 < lower <= truth.upper
    assert truth.lower < -80


@pytest.mark.parametrize("interval", [0.1, 0.02, 0.003])
def test_no_law_on_the_lattice_is_second_order_for_an_atom_off_it(interval):
    """The inequality of `lattice_pld`, for the optimistic law it makes."""
    loss = LaplaceLoss(["1/3"])
    law = PldLoss(lattice_pair(loss.tails, interval).optimistic)
    knot = Fraction(interval) * (Fraction(1, 3) // Fraction(interval))
    with precision(128):
        x0, atom, x1 = (ball(point).exp() for point in (knot, Fraction(1, 3), knot + Fraction(interval)))
        w = (atom - x0) / (x1 - x0)
        gaps = [
            loss._delta_balls([point])[0] - law._delta_balls([point])[0] for point in (knot, knot + Fraction(interval))
        ]
        assert (1 - w) * gaps[0] + w * gaps[1] >= w * (1 - w) / (2 * atom) * (x1 - x0)


# planted faults -------------------------------------------------------------------------------------------------------


def test_a_lighter_neighbour_is_caught(monkeypatch):
    original = lattice_pld._rounded

    def lighter(*arguments):
        laws = original(*arguments)
        return dataclasses.replace(laws, q=dataclasses.replace(laws.q, masses=laws.q.masses * 0.9999))

    assert below(np.exp(event_of(SHIFTS, 2.0**-10).log_delta_lower(Fraction(0))), LaplaceLoss(SHIFTS), 0)
    monkeypatch.setattr(lattice_pld, "_rounded", lighter)
    assert not below(np.exp(event_of(SHIFTS, 2.0**-10).log_delta_lower(Fraction(0))), LaplaceLoss(SHIFTS), 0)
    with pytest.raises((AssertionError, ContradictoryBounds)):
        check_brackets(SHIFTS, 2.0**-10, LaplaceLoss(SHIFTS))


def test_a_threshold_that_is_off_by_one_step_is_caught(monkeypatch):
    original = lattice_event.index_offset
    event, truth = event_of(SHIFTS, 2.0**-8), LaplaceLoss(SHIFTS)
    assert below(np.exp(event.log_delta_lower(Fraction(1, 2))), truth, "0.5")
    monkeypatch.setattr(lattice_event, "index_offset", lambda first, h, e: original(first, h, e) + float(h))
    assert not below(np.exp(event.log_delta_lower(Fraction(1, 2))), truth, "0.5")
