"""A symmetric privacy loss with a density, between two laws on a lattice, from few certified tails.

Notation: h the step of the lattice, k_i chosen multiples of it (the knots), (k_i, k_i+1] the cells, with the masses p
under P and q under Q. As in `lattice_pld`, a cell is split to its two ends (pessimistic), or merged and its loss
log(p/q) lowered to a multiple of h (optimistic). Every number here is a ball, rounded outward once, so both laws bound
the loss for certain; how good they are depends on the knots, which only a guess at the tails chooses.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from flint import arb

from dpverdict.audit.lattice_law import LatticeLaw, LatticeLedger, LatticePair, RoundedLoss, Side
from dpverdict.audit.lattice_pld import MAX_KNOTS, TAIL_MASS
from dpverdict.audit.profile_curves import Curve
from dpverdict.audit.root_bracket import as_fraction
from dpverdict.audit.tail_guess import TailGuess
from dpverdict.balls import ball, float_down, float_up, precision
from dpverdict.errors import InvalidValue

CELLS: Final = 96
"""Cells on one side of 0, about so many for each of three rules (`_knots`); the cost does not depend on the step."""

_BITS: Final = 80
_FAR: Final = 40  # knots beyond those, where the mass falls to TAIL_MASS


class _Cell(NamedTuple):
    """A cell (low, high] in steps of the lattice, with its masses."""

    low: int
    high: int
    p: arb
    q: arb


def symmetric_lattice(p_tail: Curve, q_tail: Curve, guess: TailGuess, interval: float) -> LatticePair:
    """The pessimistic and the optimistic law of the loss, and its rounding to the lattice under both laws.

    The optimistic law is first order in the step and the rounded loss, which compositions use, second order.

    Args:
        p_tail, q_tail: P[L > s] and Q[L > s] for s >= 0, where L has under P the law that -L has under Q, no atoms.
        guess: of the same curves.
        interval: the step h, a float64 at its exact value.

    Raises:
        InvalidValue: a step that is not of moderate size, or one so small that most of the loss is off the lattice.
    """
    if not 1e-9 <= interval <= 10:
        raise InvalidValue("interval", interval, "in [1e-9, 10]", "give the distance of neighbouring losses in nats")
    step = Fraction(interval)
    knots = _knots(guess, interval)
    tails = [(p_tail(number * step, _BITS), q_tail(number * step, _BITS)) for number in knots]
    with precision(2 * _BITS):
        if tails[-1][0] > 0.5:
            remedy = "take a larger interval: the lattice has at most 2^22 points"
            raise InvalidValue("interval", interval, "large enough to span the loss", remedy)
        above = [
            _Cell(low, high, p_low - p_high, q_low - q_high)
            for low, high, (p_low, q_low), (p_high, q_high) in zip(knots, knots[1:], tails, tails[1:], strict=False)
        ]
        below = [_Cell(-cell.high, -cell.low, cell.q, cell.p) for cell in reversed(above)]  # by symmetry
        cells = [*below, *above]
        beyond_p, beyond_q = tails[-1]  # P[L > last] = Q[L <= -last], and the other way round
        pessimistic = _split(cells, step, infinite=beyond_p, raised=beyond_q)
        rounded, optimistic = _merge(cells, step)
        dropped = float(beyond_q)
    ledger = LatticeLedger(
        tail_error=0.0,
        infinity_mass=pessimistic.infinity_mass,
        raised_mass=dropped,
        dropped_mass=dropped,
        first_order_mass=float(optimistic.masses.sum()),
        p_defects=(pessimistic.p_mass_defect(), optimistic.p_mass_defect()),
        q_defects=(pessimistic.q_mass_defect(), optimistic.q_mass_defect()),
    )
    return LatticePair(pessimistic=pessimistic, optimistic=optimistic, ledger=ledger, rounded=rounded)


def _knots(guess: TailGuess, interval: float) -> list[int]:
    """Multiples of the step from 0 on: dense where the square roots of the tails fall, and nowhere far apart."""
    shares = 1 - np.arange(1, CELLS) / CELLS
    places = [guess.p_place(2 * math.log(share), interval) for share in shares]
    places += [guess.q_place(2 * math.log(share), interval) for share in shares]
    last = -2 * math.log(CELLS)
    places += [guess.p_place(last + (math.log(TAIL_MASS) - last) * i / _FAR, interval) for i in range(_FAR + 1)]
    places += np.linspace(0, guess.p_place(last, interval), CELLS).tolist()
    furthest = MAX_KNOTS // 2
    numbers = {min(max(round(place / interval), 0), furthest) for place in places}
    return sorted({0, 1, *numbers, min(max(numbers) + 1, furthest)})


def _split(cells: list[_Cell], step: Fraction, *, infinite: arb, raised: arb) -> LatticeLaw:
    """Every cell split to its ends, every mass rounded up."""
    first = cells[0].low
    masses = {first: raised}
    for cell in cells:
        width = -(-ball((cell.high - cell.low) * step)).expm1()
        upper = (cell.p - ball(cell.low * step).exp() * cell.q) / width
        masses[cell.low] += cell.p - upper
        masses[cell.high] = upper
    floats = np.zeros(cells[-1].high - first + 1)
    for number, mass in masses.items():
        floats[number - first] = max(float_up(mass), 0.0)
    return LatticeLaw(
        interval=step, lowest=first, masses=floats, infinity_mass=float_up(infinite), side=Side.PESSIMISTIC
    )


def _merge(cells: list[_Cell], step: Fraction) -> tuple[RoundedLoss, LatticeLaw]:
    """Every cell merged: its masses at the multiple of the step next to its loss, and at the one certainly below."""
    first, size = cells[0].low, cells[-1].high - cells[0].low + 1
    of_p, of_q, lowered = np.zeros(size), np.zeros(size), np.zeros(size)
    for cell in cells:
        p, q = max(float_down(cell.p), 0.0), max(float_up(cell.q), 0.0)
        loss = (cell.p / cell.q).log() / ball(step)
        known = loss.is_finite()
        nearest = round(as_fraction(loss.mid())) if known else cell.low
        lower = math.floor(as_fraction(loss.lower())) if known else cell.low
        place = min(max(nearest, cell.low), cell.high) - first
        of_p[place] = _down(of_p[place] + p)
        of_q[place] = _up(of_q[place] + q)
        place = max(lower, cell.low) - first  # the loss is above the lower end of its cell, whatever the ball says
        lowered[place] = _down(lowered[place] + p)
    rounded = RoundedLoss(
        p=LatticeLaw(interval=step, lowest=first, masses=of_p, infinity_mass=0.0, side=Side.OPTIMISTIC),
        q=LatticeLaw(interval=step, lowest=first, masses=of_q, infinity_mass=0.0, side=Side.PESSIMISTIC),
    )
    return rounded, LatticeLaw(interval=step, lowest=first, masses=lowered, infinity_mass=0.0, side=Side.OPTIMISTIC)


def _down(total: float) -> float:
    """Below a sum of two floats that was rounded to nearest."""
    return max(math.nextafter(total, -math.inf), 0.0) if total else 0.0


def _up(total: float) -> float:
    return math.nextafter(total, math.inf)
