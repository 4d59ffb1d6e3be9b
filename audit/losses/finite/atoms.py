"""The moments of a law on finitely many losses, or on a lattice, as one contour for a composition needs them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Protocol, final

import numpy as np
from flint import acb, acb_mat, arb

from dpverdict.balls import ball
from dpverdict.numerics.arrays import Array

_NEXT_TO_NOTHING: Final = -700.0  # as a logarithm: the exponential is slow where it underflows


class AtomBalls(Protocol):
    """Masses and losses, at the current precision."""

    def __call__(self) -> Sequence[tuple[arb, arb]]:
        """One pair for every atom."""
        ...


@final
class AtomMoments:
    """The moments of a law on finitely many losses.

    Args:
        atoms: P-mass and loss of every atom with a finite loss, for estimates.
        exact: a function that encloses the same at the current precision.
    """

    __slots__ = ("_atoms", "_log_masses", "_losses", "largest")
    largest: float

    def __init__(self, atoms: Sequence[tuple[arb, arb]], exact: AtomBalls) -> None:
        self._atoms = exact
        self._log_masses = np.array([float(mass.log()) for mass, _ in atoms])
        self._losses = np.array([float(loss) for _, loss in atoms])
        self.largest = 1e5 / max(float(np.abs(self._losses).max(initial=0.0)), 1e-3)

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        heights = self._log_masses + points[:, None] * self._losses
        peak = heights.max(axis=1)
        found: Array = peak + np.log(np.exp(heights - peak[:, None]).sum(axis=1))
        return found

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """Nothing: it does not fall."""
        return np.zeros_like(heights)

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """One exponential for every atom and node."""
        return number * self._losses.size

    def at(self, t: arb) -> arb:
        """M(t)."""
        return sum((mass * (t * loss).exp() for mass, loss in self._atoms()), start=arb(0))

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line: powers of one turn for every atom, begun anew so often that they stay narrow."""
        values = [acb(0)] * number
        half = arb(step) / 2
        for mass, loss in self._atoms():
            start = mass * (arb(centre) * loss).exp()
            for k in range(number):
                values[k] += start * acb(0, half * (2 * k + 1) * loss).exp()
        return values

    def beyond(self, centre: arb, height: arb) -> arb:
        """M(c)."""
        return self.at(centre)


@final
class LatticeMoments:
    """The moments of a law on points of a lattice: M(t) is a polynomial in exp(h t).

    Args:
        masses: float64 at their exact values, shape (n,); one of them is > 0.
        lowest: the number of the first point.
        interval: h.
    """

    __slots__ = ("_estimated", "_interval", "_lowest", "_masses", "largest")
    largest: float

    def __init__(self, masses: Array, lowest: int, interval: Fraction) -> None:
        self._masses, self._lowest, self._interval = masses, lowest, interval
        there = np.flatnonzero(masses)
        losses = (there + lowest) * float(interval)
        self._estimated = np.log(masses[there]), losses
        self.largest = 1e5 / max(float(np.abs(losses).max()), 1e-3)

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        logarithms, losses = self._estimated
        heights = np.multiply.outer(points, losses)
        heights += logarithms
        peak = heights.max(axis=1)
        heights -= peak[:, None]
        found: Array = peak + np.log(np.exp(np.maximum(heights, _NEXT_TO_NOTHING)).sum(axis=1))
        return found

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """Nothing: it does not fall."""
        return np.zeros_like(heights)

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """Two exponentials for every node and row of a square of masses, and products of balls."""
        return number * (2 * math.sqrt(self._masses.size) + self._masses.size / 16)

    def at(self, t: arb) -> arb:
        """M(t)."""
        turn, total = (t * ball(self._interval)).exp(), arb(0)
        for mass in self._masses[::-1].tolist():
            total = total * turn + mass
        return total * (t * ball(self._lowest * self._interval)).exp()

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line: rows of masses times powers of exp(h t), each of them one exponential."""
        columns = math.isqrt(self._masses.size - 1) + 1
        rows = -(-self._masses.size // columns)
        masses = np.concatenate([self._masses, np.zeros(rows * columns - self._masses.size)]).reshape(rows, columns)
        h, half = ball(self._interval), arb(step) / 2
        nodes = [acb(arb(centre), half * (2 * k + 1)) for k in range(number)]
        powers = acb_mat([[(h * b * t).exp() for t in nodes] for b in range(columns)])
        sums = (acb_mat(masses.tolist()) * powers).entries()
        return [
            sum(
                (sums[a * number + k] * (h * (self._lowest + a * columns) * t).exp() for a in range(rows)), start=acb(0)
            )
            for k, t in enumerate(nodes)
        ]

    def beyond(self, centre: arb, height: arb) -> arb:
        """M(c)."""
        return self.at(centre)


def to_the_power(base: acb, exponent: int) -> acb:
    """By repeated squaring: the power of python-flint takes milliseconds where the exponent is large."""
    result: acb | None = None
    while True:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if not exponent:
            assert result is not None  # the exponent was at least 1
            return result
        base = base * base
