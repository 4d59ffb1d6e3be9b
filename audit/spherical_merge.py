"""Merged outcomes, brought to the losses of a lattice by merging a little more: an optimistic law in balls."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb

from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.root_bracket import as_fraction
from dpverdict.balls import ball, float_down


class Atom(NamedTuple):
    """The outcomes with losses in (low, high] times the step, as one outcome, with its masses under P and Q."""

    low: int
    high: int
    p: arb
    q: arb


def on_lattice(atoms: list[Atom], step: Fraction) -> Floats:
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
            share = _share(excess, x * joint[i - 1][1] - joint[i - 1][0]).lower() if i else arb(0)
            if 0 < share <= 1 and places[i - 1] < nearest:
                _join(joint, i, i - 1, share)
        elif i + 1 < len(atoms):
            share = _share(-excess, joint[i + 1][0] - x * joint[i + 1][1]).upper()
            if 0 <= share <= 1:
                places[i] = nearest
                _join(joint, i, i + 1, share)
    masses = np.zeros(atoms[-1].high - atoms[0].low + 1)
    for place, (p, _) in zip(places, joint, strict=True):
        number = place - atoms[0].low
        total = masses[number] + max(float_down(p), 0.0)
        masses[number] = max(math.nextafter(total, -math.inf), 0.0) if masses[number] else total
    return masses


def _share(wanted: arb, offered: arb) -> arb:
    """The share that gives what is wanted; not finite if nothing is offered for certain."""
    return wanted / offered if offered > 0 else arb("nan")


def _join(joint: list[tuple[arb, arb]], to: int, of: int, share: arb) -> None:
    """Move an exact share of one atom to another."""
    (p, q), (p_of, q_of) = joint[to], joint[of]
    joint[to] = p + share * p_of, q + share * q_of
    joint[of] = (1 - share) * p_of, (1 - share) * q_of
