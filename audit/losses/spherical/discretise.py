"""The lattice laws of a symmetric privacy loss with a density: a pessimistic and an optimistic one, from few tails.

Notation: h the step of the lattice, k_i chosen multiples of it (the knots), (k_i, k_i+1] the cells, with the masses p
under P and q under Q. With x = exp(epsilon), the profile f(x) is convex, of slope -Q[L > epsilon]: the chords between
the knots bound it from above, the tangents at the knots from below, both with an error of second order in the cells.

* *pessimistic*: every cell is split to its two ends, keeping p and q. These are the chords.
* *optimistic*: every cell is merged (the tangents, which meet at the loss log(p/q) of the cell), and brought to the
  lattice by merging a little more (`on_lattice`), which costs at most about the product of h and the cell.

Every number here is a ball, rounded outward once, so both laws bound the loss for certain; how good they are depends on
the knots, which are put where chord and tangents are furthest apart.

Reference: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, section 3 (connect the dots, arXiv:2207.04380).
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from flint import arb

from dpverdict.audit.losses.curves import Curve
from dpverdict.audit.losses.lattice.discretise import MAX_KNOTS, TAIL_MASS
from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticeLedger, LatticePair, Side
from dpverdict.balls import Real, ball, float_down, float_up, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction


class Atom(NamedTuple):
    """The outcomes with losses in (low, high] times the step, as one outcome, with its masses under P and Q."""

    low: int
    high: int
    p: arb
    q: arb


def on_lattice(atoms: list[Atom], step: Fraction) -> Array:
    """The masses under P of a law on the multiples of ``step`` that is dominated by the atoms.

    An atom whose loss log(p/q) is between two multiples is joined by the share s of a neighbour that brings its loss to
    the nearer one, k: with x = exp(k), by a share of the next atom above if the loss is below k,

        p + s p' >= x (q + s q')  if and only if  s (p' - x q') >= x q - p,

    and otherwise of the one below. A share of an outcome is a randomised function of it, so the new pair is at least as
    hard to tell apart. If there is no such share, the loss is lowered to the multiple below.

    Args:
        atoms: by increasing loss, at least one; the last one may have any loss above its ``low``.
        step: the step, > 0.

    Returns:
        Array of shape (last.high - first.low + 1,): the mass at first.low, first.low + 1, ...; every one rounded down.
    """
    joint = [(atom.p, atom.q) for atom in atoms]
    places = [0] * len(atoms)
    for i, atom in enumerate(atoms):
        p, q = joint[i]
        known = q > 0 and p > 0
        loss = (p / q).log() / ball(step) if known else arb(atom.low)
        nearest = min(max(round(as_fraction(loss.mid())) if loss.is_finite() else atom.low, atom.low), atom.high)
        x = ball(nearest * step).exp()
        excess = p - x * q
        lowest = max(math.floor(as_fraction(loss.lower())) if loss.is_finite() else atom.low, atom.low)
        places[i] = min(lowest, atom.high)
        if excess >= 0:
            places[i] = nearest
            share = _exact_share(excess, x * joint[i - 1][1] - joint[i - 1][0]).lower() if i else arb(0)
            if 0 < share <= 1 and places[i - 1] < nearest:
                _move_share(joint, i, i - 1, share)
        elif i + 1 < len(atoms):
            share = _exact_share(-excess, joint[i + 1][0] - x * joint[i + 1][1]).upper()
            if 0 <= share <= 1:
                places[i] = nearest
                _move_share(joint, i, i + 1, share)
    masses = np.zeros(atoms[-1].high - atoms[0].low + 1)
    for place, (p, _) in zip(places, joint, strict=True):
        number = place - atoms[0].low
        total = masses[number] + max(float_down(p), 0.0)
        masses[number] = max(math.nextafter(total, -math.inf), 0.0) if masses[number] else total
    return masses


def _exact_share(wanted: arb, offered: arb) -> arb:
    """The share that gives what is wanted; not finite if nothing is offered for certain."""
    return wanted / offered if offered > 0 else arb("nan")


def _move_share(joint: list[tuple[arb, arb]], to: int, of: int, share: arb) -> None:
    """Move an exact share of one atom to another."""
    (p, q), (p_of, q_of) = joint[to], joint[of]
    joint[to] = p + share * p_of, q + share * q_of
    joint[of] = (1 - share) * p_of, (1 - share) * q_of


CELLS: Final = 112
"""Cells on one side of 0 that are found by halving others; the cost does not depend on the step."""

_BITS: Final = 64
_CLOSE: Final = 1e-4  # a gap of chord and tangents, relative to the profile, that is not worth a knot
_BODY: Final = 0.8  # gaps are weighed by the profile to this power: in the far tail they count a little less
_LEAST: Final = 1e-300  # smaller pessimistic masses of negative losses are raised, lest their Q-mass overflow


def symmetric_lattice(p_tail: Curve, q_tail: Curve, largest: Real | None, interval: float) -> LatticePair:
    """The pessimistic and the optimistic law of the loss.

    Args:
        p_tail, q_tail: P[L > s] and Q[L > s] for s >= 0, where L has under P the law that -L has under Q, no atoms.
        largest: the supremum of L; None if it is infinite.
        interval: the step h, a float64 at its exact value.

    Raises:
        InvalidValue: a step that is not of moderate size, or one so small that most of the loss is off the lattice.
    """
    if not 1e-9 <= interval <= 10:
        raise InvalidValue("interval", interval, "in [1e-9, 10]", "give the distance of neighbouring losses in nats")
    step = Fraction(interval)
    knots = _Knots(p_tail, q_tail, step, _furthest_knot(largest, step))
    knots.refine(CELLS)
    numbers = sorted(knots.tails)
    tails = [knots.tails[number] for number in numbers]
    with precision(2 * _BITS):
        if tails[-1][0] > 0.5:
            remedy = "take a larger interval: the lattice has at most 2^22 points"
            raise InvalidValue("interval", interval, "large enough to span the loss", remedy)
        above = [
            Atom(low, high, p_low - p_high, q_low - q_high)
            for (low, high), ((p_low, q_low), (p_high, q_high)) in zip(pairwise(numbers), pairwise(tails), strict=True)
        ]
        below = [Atom(-atom.high, -atom.low, atom.q, atom.p) for atom in reversed(above)]  # by symmetry
        beyond_p, beyond_q = tails[-1]  # P[L > last] = Q[L <= -last], and the other way round
        pessimistic = _split_to_ends([*below, *above], step, beyond_p, beyond_q)
        both = above[0].p + above[0].q  # the two cells next to 0 as one, whose loss is exactly 0
        centre = Atom(-above[0].high, above[0].high, both, both)
        last = Atom(numbers[-1], numbers[-1], beyond_p, beyond_q)
        masses = on_lattice([*below[:-1], centre, *above[1:], last], step)
        optimistic = LatticeLaw(
            interval=step, lowest=-numbers[-1], masses=masses, infinity_mass=0.0, side=Side.OPTIMISTIC
        )
        dropped = float(beyond_q)
    ledger = LatticeLedger(
        tail_error=0.0,
        infinity_mass=pessimistic.infinity_mass,
        raised_mass=dropped,
        dropped_mass=dropped,
        first_order_mass=0.0,
        p_defects=(pessimistic.p_mass_defect(), optimistic.p_mass_defect()),
        q_defects=(pessimistic.q_mass_defect(), optimistic.q_mass_defect()),
    )
    return LatticePair(pessimistic=pessimistic, optimistic=optimistic, ledger=ledger)


def _furthest_knot(largest: Real | None, step: Fraction) -> int:
    """The last multiple of the step that may be a knot."""
    if largest is None or largest.nearest() / float(step) > MAX_KNOTS // 2:
        return MAX_KNOTS // 2
    return min(math.floor(largest.nearest() / float(step)) + 2, MAX_KNOTS // 2)


class _Knots:
    """Multiples of the step >= 0 with the certified tails there: at first 0, 1, 2, 4, ... to the end of the mass."""

    def __init__(self, p_tail: Curve, q_tail: Curve, step: Fraction, furthest: int) -> None:
        self._curves, self._step = (p_tail, q_tail), step
        self.tails: dict[int, tuple[arb, arb]] = {}
        number = self._add(0)
        while self.tails[number][0] > TAIL_MASS and number < furthest:
            number = self._add(min(2 * number or 1, furthest))

    def refine(self, count: int) -> None:
        """Halve the cell with the largest gap, ``count`` times."""
        numbers = sorted(self.tails)
        cells = [(-self._gap(low, high), low, high) for low, high in pairwise(numbers)]
        heapq.heapify(cells)
        for _ in range(count):
            gap, low, high = heapq.heappop(cells)
            if -gap < _CLOSE:
                return
            middle = self._add((low + high) // 2)
            for half in ((low, middle), (middle, high)):
                heapq.heappush(cells, (-self._gap(*half), *half))

    def _add(self, number: int) -> int:
        self.tails[number] = (self._curves[0](number * self._step, _BITS), self._curves[1](number * self._step, _BITS))
        return number

    def _gap(self, low: int, high: int) -> float:
        """How far chord and tangents are apart at most, weighed; 0 if there is no multiple inside. It only steers."""
        if high - low < 2:
            return 0.0
        (p_low, q_low), (p_high, q_high) = self.tails[low], self.tails[high]
        with precision(2 * _BITS):
            x_low, x_high = ball(low * self._step).exp(), ball(high * self._step).exp()
            f_low, f_high = p_low - x_low * q_low, p_high - x_high * q_high
            meet = (p_low - p_high) / (q_low - q_high)
            chord = f_low + (f_high - f_low) * (meet - x_low) / (x_high - x_low)
            gap = chord - (f_low - q_low * (meet - x_low))
            weighed = gap / chord**_BODY if chord > 0 else arb(0)
        return float(weighed.mid()) if weighed.is_finite() else 0.0


def _split_to_ends(cells: list[Atom], step: Fraction, beyond_p: arb, beyond_q: arb) -> LatticeLaw:
    """Every cell split to its ends, the last one to its lower end and infinity, every mass rounded up."""
    first, last = cells[0].low, cells[-1].high
    infinite = beyond_p - ball(last * step).exp() * beyond_q
    masses = {first: beyond_q}
    for cell in cells:
        width = -(-ball((cell.high - cell.low) * step)).expm1()
        upper = (cell.p - ball(cell.low * step).exp() * cell.q) / width
        masses[cell.low] += cell.p - upper
        masses[cell.high] = upper
    masses[last] += beyond_p - infinite
    floats = np.zeros(last - first + 1)
    raised = arb(0)
    for number, mass in masses.items():  # they are in order
        raised += mass
        if number < 0 and raised < _LEAST:
            continue
        floats[number - first] = max(float_up(raised), 0.0)
        raised = arb(0)
    infinity = min(max(float_up(infinite), 0.0), 1.0)
    return LatticeLaw(interval=step, lowest=first, masses=floats, infinity_mass=infinity, side=Side.PESSIMISTIC)
