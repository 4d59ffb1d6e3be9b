"""The laws of one loss in whole numbers, as `dpverdict.audit.losses.lattice.whole` composes them, by its kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.discrete_gaussian.atoms import MOST_VARIANCE, atoms_within
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.audit.losses.lattice.discretise import lattice_range
from dpverdict.audit.losses.lattice.law import masses_between
from dpverdict.audit.losses.lattice.whole import (
    BITS,
    WholeComposition,
    WholeLaws,
    laws_of_atoms,
    laws_of_tails,
    laws_on_points,
)
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

_BITS: Final = 128
_TAIL_BITS: Final = 80
_LEAST_BITS: Final = 20
_TAIL: Final = 1e-40  # of mass outside the lattice
_FARTHEST: Final = 1e-295
_SHARE: Final = 1e-9  # of the profile, of mass above a lattice that is made for one epsilon
_MOST_CELLS: Final = 1 << 16
_COARSER: Final = 16
_DEPTH: Final = 80.0  # of tilted mass below the lattice, as a logarithm
_POINTS: Final = 4096  # of a law that steers
_EXPONENTS: Final = 200


def whole_laws(
    factor: PrivacyLoss | CustomLoss, interval: Fraction, tilt: Fraction = Fraction(0), above: float = _TAIL
) -> WholeLaws:
    """The three laws of one factor whose tails are certified.

    Args:
        factor: the loss; a vector by its coordinates.
        interval: the step h of the lattice.
        tilt: theta of `dpverdict.audit.losses.lattice.whole`.
        above: about how much mass under P may be above the lattice.
    """
    with precision(BITS + _BITS):
        if isinstance(factor, PldLoss):
            law = factor.law
            losses = range(law.lowest, law.lowest + law.masses.size)
            points = [(arb(mass), i) for i, mass in zip(losses, law.masses.tolist(), strict=True) if mass > 0]
            return laws_on_points(points, law.interval, arb(law.infinity_mass), tilt)
        if isinstance(factor, FiniteLoss):
            return laws_of_atoms(factor.atom_balls(), interval, factor.infinite_mass(BITS + _BITS), tilt)
        if isinstance(factor, DiscreteGaussianLoss) and factor.groups[0].variance <= MOST_VARIANCE:  # one coordinate
            atoms, others = atoms_within(factor.groups[0], BITS - math.floor(min(math.log2(above / _TAIL), 0)))
            return laws_of_atoms(atoms, interval, arb(0), tilt, others=others)
    assert isinstance(factor, PrivacyLoss)  # its tails are certified
    first, last = _range(factor, interval, tilt, above)
    levels = [i * interval for i in range(first, last + 1)]
    if isinstance(factor, LaplaceLoss) and len(factor.groups) == 1 and factor.groups[0][1] == 1:
        with precision(BITS + _BITS):
            return laws_of_tails(*_laplace_tails(factor.groups[0][0], levels), first, interval, tilt)
    return laws_of_tails(*factor.upper_tails(levels, _TAIL_BITS), first, interval, tilt)


def _range(factor: PrivacyLoss, interval: Fraction, tilt: Fraction, above: float) -> tuple[int, int]:
    """The first and the last point of a lattice that leaves next to nothing below, of tilted mass, and above."""
    first, last = lattice_range(factor.tails, float(interval), _TAIL)
    if not tilt:
        return first, last
    last = max(_last(factor, interval, above), last)
    knots = np.linspace(float(first * interval), float(last * interval), _POINTS)
    masses = masses_between(factor.tails(knots)).p
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = np.log(masses) + float(tilt) * knots[1:]
    kept = np.flatnonzero(heights > np.nanmax(heights) - _DEPTH)
    return max(first, math.floor(knots[kept[0]] / float(interval)) - 1), last  # beyond it the loss counts as infinite


def _last(factor: PrivacyLoss, interval: Fraction, above: float) -> int:
    """About the first point with at most so much mass above it: looked for on coarser lattices too, which reach on."""
    step = float(interval)
    while True:
        last = lattice_range(factor.tails, step, above)[1] * step
        if step >= 1 or factor.tails(np.array([last])).p_above[0] <= 2 * above:
            return math.ceil(last / float(interval))
        step *= _COARSER


def _laplace_tails(shift: Fraction, levels: Sequence[Fraction]) -> tuple[list[arb], list[arb]]:
    """P[L > l] = 1 - exp((l - s)/2)/2 and Q[L > l] = exp(-(l + s)/2)/2 for -s <= l < s, at every level l."""
    p, q = [], []
    for level in levels:
        inside = -shift <= level < shift
        outside = arb(1 if level < -shift else 0)
        p.append(1 - ball((level - shift) / 2).exp() / 2 if inside else outside)
        q.append(ball(-(level + shift) / 2).exp() / 2 if inside else outside)
    return p, q


# far in the tail ------------------------------------------------------------------------------------------------------


def tilted_composition(
    parts: Sequence[tuple[PrivacyLoss | CustomLoss, int]], interval: Fraction, epsilon: Fraction
) -> WholeComposition:
    """The composition on a lattice for one epsilon > 0, tilted to where the profile there is made.

    The exponent is that of Chernoff's bound. What is above the lattice is next to nothing of the largest profile of
    a part, which that of the composition is not below. All of it steers: any choice bounds.

    Args:
        parts: losses whose tails are certified, each with the number of times it occurs.
        interval: the step, or a larger one by a power of 2 where the lattice would be too long.
        epsilon: where the profile is asked for.

    Raises:
        InvalidValue: too long a lattice.
        PrecisionExhausted: a part that is not known so far out.
    """
    count = sum(times for _, times in parts)
    known = [(factor, times) for factor, times in parts if isinstance(factor, PrivacyLoss)]
    largest = max((float(factor.profile(epsilon, _LEAST_BITS).lower()) for factor, _ in known), default=0.0)
    above = max(largest * _SHARE / count, _FARTHEST)
    laws = [(*_floats(factor, interval, above), times) for factor, times in known]
    tilt = Fraction(_chernoff(laws, float(epsilon)))
    spans = [0.0]
    for factor, _ in known:
        if not isinstance(factor, PldLoss | FiniteLoss):
            first, last = _range(factor, interval, tilt, above)
            spans.append((last - first) / _MOST_CELLS)
    step = interval * 2 ** max(0, math.ceil(math.log2(max(max(spans), 1.0))))
    return WholeComposition([(whole_laws(factor, step, tilt, above), times) for factor, times in known], step, tilt)


def _floats(factor: PrivacyLoss, interval: Fraction, above: float) -> tuple[Array, Array]:
    """Losses that increase, and about the masses under P there."""
    if isinstance(factor, PldLoss):
        return factor.law.losses, factor.law.masses
    atoms: Sequence[tuple[arb, arb]] = ()
    with precision(_BITS):
        if isinstance(factor, FiniteLoss):
            atoms = factor.atom_balls()
        elif isinstance(factor, DiscreteGaussianLoss) and factor.groups[0].variance <= MOST_VARIANCE:
            atoms, _ = atoms_within(factor.groups[0], BITS - math.floor(min(math.log2(above / _TAIL), 0)))
        if atoms:
            table = np.array(sorted((float(loss), float(mass)) for mass, loss in atoms))
            return table[:, 0], table[:, 1]
    first, last = lattice_range(factor.tails, float(interval), _TAIL)
    if above < _TAIL:
        last = max(_last(factor, interval, above), last)
    knots = np.linspace(float(first * interval), float(last * interval), _POINTS)
    masses = masses_between(factor.tails(knots)).p
    return (knots[1:] + knots[:-1]) / 2, masses


def _chernoff(laws: Sequence[tuple[Array, Array, int]], epsilon: float) -> float:
    """The exponent theta > 0 of the least E exp(theta (L - epsilon)), about."""
    width = max(float(losses[-1] - losses[0]) / losses.size for losses, _, _ in laws)
    widest = max(float(np.abs(losses).max()) for losses, _, _ in laws)
    exponents = np.geomspace(1e-2 / widest, min(100 / width, 1e12), _EXPONENTS)
    total = -exponents * epsilon
    for losses, masses, times in laws:
        inside = masses > 0
        heights = exponents[:, None] * losses[inside] + np.log(masses[inside])
        total += times * np.logaddexp.reduce(heights, axis=1)
    best = float(exponents[int(total.argmin())])
    if not math.isfinite(best):
        raise InvalidValue("epsilon", epsilon, "where the bound of Chernoff is known", "ask for delta_bounds")
    return best
