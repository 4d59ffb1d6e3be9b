"""The loss of one moved discrete Gaussian by its atoms: next to all of them, with a bound on the others.

With noise X of law N_Z(0, v), P(x) proportional to exp(-x^2/(2v)), moved by a > 0, the loss is a^2/(2v) + (a/v) x, and
Q(x) is proportional to exp(-(x + a)^2/(2v)), with the same sum Z >= 1 of the weights. For real t,

    P(x) exp(t L(x)) = exp(t (t + 1) a^2/(2v)) exp(-(x - t a)^2/(2v))/Z,

and the sum of exp(-x^2/(2v)) over x >= y > 0, in steps of 1, is at most exp(-y^2/(2v))/(1 - exp(-y/v)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, final

import numpy as np
from flint import acb, arb, arb_poly, ctx

from dpverdict.audit.losses.discrete_gaussian.law import Coordinates, DiscreteGaussians
from dpverdict.audit.losses.finite.atoms import to_the_power
from dpverdict.balls import ball
from dpverdict.numerics.arrays import Array

MOST_VARIANCE: Final = 4096
"""Beyond it the atoms are too many."""


def reach(variance: float, bits: int) -> int:
    """Beyond so many units from the middle, atoms have less than 2^-bits."""
    return math.ceil(math.sqrt(2 * variance * (bits + 8) * math.log(2))) + 4


def beyond(variance: arb, distance: arb) -> arb:
    """An upper bound on the sum of exp(-x^2/(2v)) on both sides, from a distance > 0 on."""
    return 2 * (-distance * distance / (2 * variance)).exp() / -(-distance / variance).expm1()


def atoms_within(group: Coordinates, bits: int) -> tuple[list[tuple[arb, arb]], arb]:
    """Masses under P and losses of the atoms, and what the others have at most under P, and under Q.

    At the current precision; the others have less than about 2^-bits.
    """
    v, a = ball(group.variance), group.shift
    k = reach(float(group.variance), bits)
    weights = [(-arb(x * x) / (2 * v)).exp() for x in range(k + a + 1)]
    rest = beyond(v, arb(k + 1))
    total = weights[0] + 2 * sum(weights[1:], start=arb(0)) + rest * arb(0.5, 0.5)
    drift, slope = arb(a * a) / (2 * v), arb(a) / v
    found = [(weights[abs(x)] / total, drift + slope * x) for x in range(-k - a, k + 1)]
    return found, rest.upper()


def product_atoms(groups: Sequence[Coordinates], bits: int) -> tuple[list[tuple[arb, arb]], arb]:
    """As `atoms_within`, of the sum of all coordinates: equal losses once, in increasing order."""
    law = DiscreteGaussians(tuple(groups))
    masses, others, lowest = arb_poly([1]), arb(0), 0
    for group, weight in zip(law.groups, law.weights, strict=True):
        own, rest = atoms_within(group, bits)
        spaced = [arb(0)] * ((len(own) - 1) * weight + 1)
        spaced[::weight] = [mass for mass, _ in own]
        masses *= arb_poly(spaced) ** group.count
        others += group.count * rest
        lowest -= group.count * weight * (len(own) - 1 + group.shift) // 2  # as many units below as in `atoms_within`
    step, rho = law.step, law.rho
    found = [(mass, ball(rho + (lowest + i) * step)) for i, mass in enumerate(masses.coeffs()) if not mass.is_zero()]
    return found, others


def number_of_atoms(groups: Sequence[Coordinates], bits: int) -> int:
    """At most so many has `product_atoms`."""
    law = DiscreteGaussians(tuple(groups))
    spans = (
        g.count * weight * (2 * reach(float(g.variance), bits) + g.shift)
        for g, weight in zip(law.groups, law.weights, strict=True)
    )
    return 1 + sum(spans)


@final
class DiscretePart:
    """The moments of moved discrete Gaussians, as one contour for all parts of a composition needs them."""

    __slots__ = ("_groups", "_tables", "largest")
    largest: float

    def __init__(self, groups: Sequence[Coordinates]) -> None:
        self._groups = tuple(groups)
        self._tables: dict[tuple[int, int, int], tuple[list[tuple[arb, arb]], arb]] = {}
        self.largest = min(40.0 * math.sqrt(float(g.variance)) / g.shift for g in groups)

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about: that of a normal law."""
        rho = sum(g.count * g.shift**2 / float(g.variance) for g in self._groups) / 2
        found: Array = rho * points * (points + 1)
        return found

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """Nothing: it does not fall."""
        return np.zeros_like(heights)

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """One exponential for every atom and node."""
        return number * sum(2.0 * reach(float(g.variance), int(bits)) for g in self._groups)

    def at(self, t: arb) -> arb:
        """M(t)."""
        total = arb(1)
        for i, group in enumerate(self._groups):
            atoms, error = self._at(i, t)
            total *= (
                sum((mass * (t * loss).exp() for mass, loss in atoms), start=arb(0)) + error * arb(0, 1)
            ) ** group.count
        return total

    def _at(self, i: int, t: arb) -> tuple[list[tuple[arb, arb]], arb]:
        """Atoms about those with the most of P exp(t L), and a bound on what the others have of it."""
        group = self._groups[i]
        v, a = ball(group.variance), group.shift
        moved = round(float(t) * a)
        k = reach(float(group.variance), ctx.prec)
        key = i, moved, ctx.prec
        if key not in self._tables:
            total = _total(group, ctx.prec)
            drift, slope = arb(a * a) / (2 * v), arb(a) / v
            atoms = [
                ((-arb(x * x) / (2 * v)).exp() / total, drift + slope * x) for x in range(moved - k, moved + k + 1)
            ]
            self._tables[key] = atoms, total
        atoms, total = self._tables[key]
        distance = k + 1 - abs(t * a - moved)
        error = (t * (t + 1) * a * a / (2 * v)).exp() * beyond(v, distance) / total
        return atoms, error.upper()

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line."""
        half, c = arb(step) / 2, arb(centre)
        values = [acb(1)] * number
        for i, group in enumerate(self._groups):
            atoms, error = self._at(i, c)
            sizes = [(mass * (c * loss).exp(), loss) for mass, loss in atoms]
            box = acb(error * arb(0, 1), error * arb(0, 1))
            for k in range(number):
                height = half * (2 * k + 1)
                total = box
                for size, loss in sizes:
                    total += size * acb(0, height * loss).exp()
                values[k] *= to_the_power(total, group.count)
        return values

    def beyond(self, centre: arb, height: arb) -> arb:
        """M(c)."""
        return self.at(centre)


def _total(group: Coordinates, bits: int) -> arb:
    """The sum of all weights."""
    v = ball(group.variance)
    k = reach(float(group.variance), bits)
    inside = 1 + 2 * sum(((-arb(x * x) / (2 * v)).exp() for x in range(1, k + 1)), start=arb(0))
    return inside + beyond(v, arb(k + 1)) * arb(0.5, 0.5)
