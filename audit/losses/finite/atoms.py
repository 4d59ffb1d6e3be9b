"""The moments of a law on finitely many losses, as one contour for all parts of a composition needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

import numpy as np
from flint import acb, arb

from dpverdict.numerics.arrays import Array


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
