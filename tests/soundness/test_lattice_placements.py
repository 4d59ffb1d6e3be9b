"""Losses on points, placed on lattices of any step, offset and tilt, against enumeration of their atoms; no tolerance.

The parts are distributions of dp_accounting on lattices of their own, finite laws between the points, and the same
known by float64 tails only. The truth is a sum over all outcomes of the composition, in balls of many more bits than
those of what is tested.
"""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses import bounded
from dpverdict.audit.losses.bounded import BoundedLoss, whole_laws
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import PldLoss, from_pld
from dpverdict.audit.losses.lattice import whole
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.audit.losses.lattice.whole import WholeComposition, composed_laws
from dpverdict.balls import ball, precision

MORE_BITS = 900


# parts, and the truth -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Part:
    """A loss, and its atoms: the mass under P and the loss of each; None is an infinite one."""

    loss: object
    atoms: tuple

    def losses(self):
        with precision(MORE_BITS):
            for mass, loss in self.atoms:
                yield ball(mass), (loss() if callable(loss) else None if loss is None else ball(loss))


def of_law(law):
    """The loss of a law on a lattice."""
    atoms = [
        (Fraction(mass), (law.lowest + i) * law.interval) for i, mass in enumerate(law.masses.tolist()) if mass > 0
    ]
    return Part(PldLoss(law), (*atoms, (Fraction(law.infinity_mass), None)))


def on_points(interval, lowest, weights):
    """Masses at some points of a lattice, so that those under Q are at most 1; what is missing is at infinity."""
    lowest = max(lowest, -math.floor(32 / interval))  # else float64 holds no 1 less the mass
    with precision(MORE_BITS):
        total = sum((w * (-ball((lowest + i) * interval)).exp() for i, w in enumerate(weights)), start=arb(0))
    unit = 2.0 ** -math.ceil(math.log2(max(float(total.upper()), sum(weights))) + 1e-9)
    masses = np.array([w * unit for w in weights])
    infinite = 1.0 - float(masses.sum())  # exact: multiples of 2^-52 at least
    return of_law(
        LatticeLaw(
            interval=Fraction(interval), lowest=lowest, masses=masses, infinity_mass=infinite, side=Side.PESSIMISTIC
        )
    )


def of_peer(interval, p):
    """dp_accounting's distribution of responses that are true with probability p, on a lattice of its own."""
    logarithms = {0: math.log(p), 1: math.log1p(-p)}
    pld = privacy_loss_distribution.from_two_probability_mass_functions(
        logarithms, {0: logarithms[1], 1: logarithms[0]}, value_discretization_interval=interval
    )
    part = of_law(from_pld(pld).law)
    assert len(part.atoms) < 8  # few, in whatever way they are placed
    return part


def finite(p, q):
    """Between the points of any lattice with a rational step."""
    ratios = [None if b == 0 else (lambda a=a, b=b: ball(a / b).log()) for a, b in zip(p, q, strict=True)]
    return Part(FiniteLoss(p, q), tuple((a, ratio) for a, ratio in zip(p, ratios, strict=True) if a > 0))


def truth(parts, epsilon):
    """delta(epsilon) of the composition: a sum over all of its outcomes."""
    with precision(MORE_BITS):
        total = arb(0)
        atoms = [list(part.losses()) for part, count in parts for _ in range(count)]
        for outcome in itertools.product(*atoms):
            mass = math.prod((m for m, _ in outcome), start=arb(1))
            if any(loss is None for _, loss in outcome):
                total += mass
                continue
            gap = ball(epsilon) - sum((loss for _, loss in outcome), start=arb(0))
            total += mass * (-gap.expm1()).max(arb(0))
        return total


def holds(lower, upper, value):
    """Whether a value is certainly not outside: it is known to many more bits than the bounds."""
    return not (lower > value or upper < value)


def bounds_of(parts, step, tilt, epsilon):
    laws = composed_laws([(whole_laws_now(part.loss, step, tilt), count) for part, count in parts])
    return WholeComposition(laws, step, tilt).bounds(epsilon)


def whole_laws_now(*arguments):
    return bounded.whole_laws(*arguments)  # as it is patched


def is_sound(parts, step, tilt, epsilon):
    lower, upper = bounds_of(parts, step, tilt, epsilon)
    return holds(lower, upper, truth(parts, epsilon))


# the property ---------------------------------------------------------------------------------------------------------

INTERVALS = st.sampled_from([0.25, 0.1, 1 / 3, 0.7, 0.015625, 1e-2, 1.0])
WEIGHTS = st.lists(st.integers(1, 15), min_size=1, max_size=3)
LAWS = st.builds(on_points, INTERVALS, st.integers(-40, 40), WEIGHTS)
PEERS = st.builds(of_peer, st.sampled_from([1e-1, 0.3, 1 / 7, 1.0, 0.25]), st.sampled_from([0.6, 0.75, 0.9]))
FINITE = st.builds(
    lambda a, b: finite([Fraction(a, 16), 1 - Fraction(a, 16)], [Fraction(b, 16), 1 - Fraction(b, 16)]),
    st.integers(1, 15),
    st.integers(0, 15),
)
PARTS = st.lists(st.tuples(st.one_of(LAWS, PEERS, FINITE), st.integers(1, 2)), min_size=1, max_size=3)
RATIOS = st.fractions(Fraction(1, 7), 4, max_denominator=7)
TILTS = st.one_of(st.just(Fraction(0)), st.fractions(0, 30, max_denominator=9))
EPSILONS = st.one_of(st.fractions(0, 12, max_denominator=64), st.sampled_from([Fraction(0), Fraction(1, 10)]))


def step_of(parts, ratio):
    """That of the first part that is on a lattice, times a ratio; a quarter of it without one."""
    known = [part.loss.law.interval for part, _ in parts if isinstance(part.loss, PldLoss)]
    return (known[0] if known else Fraction(1, 4)) * ratio


@given(PARTS, RATIOS, TILTS, EPSILONS)
@settings(max_examples=60, deadline=None)
def test_bounds_hold_the_truth_on_every_lattice(parts, ratio, tilt, epsilon):
    assert is_sound(parts, step_of(parts, ratio), tilt, epsilon)


@given(PARTS, st.integers(-30, 90))
@settings(max_examples=25, deadline=None)
def test_bounds_hold_the_truth_at_points_of_the_lattice(parts, number):
    step = step_of(parts, Fraction(1))
    assert is_sound(parts, step, Fraction(0), abs(number) * step)


@given(st.lists(st.tuples(FINITE, st.integers(1, 2)), min_size=1, max_size=2), LAWS, st.integers(1, 2), EPSILONS)
@settings(max_examples=25, deadline=None)
def test_what_compose_certifies_holds_the_truth(finite_parts, law, count, epsilon):
    parts = [*finite_parts, (law, count)]
    found = compose(*[part.loss for part, times in parts for _ in range(times)]).certified_delta(epsilon)
    assert holds(ball(found.lower), ball(found.upper), truth(parts, epsilon))


def in_floats(parts, law, epsilon):
    """Bounds of float64 tails of finite laws beside a law on a lattice."""
    factors = [(CustomLoss(part.loss.tails, "a finite law, by its tails"), count) for part, count in parts]
    loss = BoundedLoss([*factors, (law.loss, 1)], float(law.loss.law.interval))
    lower, upper = (float(bound[0]) for bound in loss.delta_bounds(np.array([epsilon])))
    return holds(ball(lower), ball(upper), truth([*parts, (law, 1)], Fraction(epsilon)))


BOTH = st.builds(  # of no infinite loss, in whose place float64 tails would need endless lattices
    lambda a, b: finite([Fraction(a, 16), 1 - Fraction(a, 16)], [Fraction(b, 16), 1 - Fraction(b, 16)]),
    st.integers(1, 15),
    st.integers(1, 15),
)


@given(st.lists(st.tuples(BOTH, st.integers(1, 2)), min_size=1, max_size=2), PEERS, st.floats(0, 6))
@settings(max_examples=25, deadline=None)
def test_bounds_of_custom_losses_hold_the_truth(parts, law, epsilon):
    assert in_floats(parts, law, epsilon)


# planted faults -------------------------------------------------------------------------------------------------------

HALF = on_points(0.25, -2, [3, 1, 4])
ODD = on_points(0.1, 1, [1, 5])
RESPONSE = finite([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
EXAMPLES = [
    ([(HALF, 2)], Fraction(1, 4), Fraction(0), Fraction(1, 2)),
    ([(HALF, 1), (ODD, 2)], Fraction(1, 10), Fraction(3), Fraction(1, 3)),
    ([(HALF, 2), (RESPONSE, 1)], Fraction(1, 8), Fraction(0), Fraction(1)),
    ([(RESPONSE, 2)], Fraction(1, 16), Fraction(2), Fraction(1)),
    ([(HALF, 1)], Fraction(1, 4), Fraction(3), Fraction(0)),
]


def own_numbers(factor, interval, tilt=Fraction(0), above=0.0):
    """The old mistake: a law is placed by the numbers of its own points, whatever the step of the lattice."""
    if not isinstance(factor, PldLoss):
        return whole_laws(factor, interval, tilt)
    law = factor.law
    masses = [(arb(mass), law.lowest + i) for i, mass in enumerate(law.masses.tolist()) if mass > 0]
    return whole.laws_on_points(masses, law.interval, arb(law.infinity_mass), tilt)


def up_as_down(factor, interval, tilt=Fraction(0), above=0.0):
    """Losses rounded down to the lattice where they are to be rounded up."""
    laws = whole_laws(factor, interval, tilt)
    return dataclasses.replace(laws, up=laws.p)


def test_the_examples_of_the_faults_are_sound():
    assert all(is_sound(*example) for example in EXAMPLES)


@pytest.mark.parametrize("fault", [own_numbers, up_as_down])
def test_laws_in_the_wrong_place_are_found(monkeypatch, fault):
    monkeypatch.setattr(bounded, "whole_laws", fault)
    assert not all(is_sound(*example) for example in EXAMPLES)


def test_masses_rounded_to_the_wrong_side_are_found(monkeypatch):
    monkeypatch.setattr(whole, "units_up", whole.units_down)  # by 2^-256 of the mass
    assert not all(is_sound(*example) for example in EXAMPLES)


def test_optimistic_laws_of_custom_losses_in_the_place_of_pessimistic_ones_are_found(monkeypatch):
    example = [(finite([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]), 2)], of_peer(0.3, 0.75), 1.0
    assert in_floats(*example)
    right = bounded.lattice_pair
    monkeypatch.setattr(
        bounded,
        "lattice_pair",
        lambda *arguments: dataclasses.replace(pair := right(*arguments), pessimistic=pair.optimistic),
    )
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        assert in_floats(*example)
