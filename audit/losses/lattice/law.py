"""A privacy loss on a lattice, held as float64 masses that are taken at their exact values.

The masses of cells of a loss under both laws come from its tails, with bounds on their errors (`masses_between`,
`Cells`). A law made of them stands on one stated side of the loss (`Side`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.losses.domains import TINY, LossTails, Tails
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array


class Side(Enum):
    """Which side of the truth the curves of a discretised pair are on."""

    PESSIMISTIC = "pessimistic"
    """The pair is at least as easy to tell apart: delta from above, beta from below."""
    OPTIMISTIC = "optimistic"
    """The pair is at least as hard to tell apart: delta from below, beta from above."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeLaw:
    """The law under P of a loss that takes the values (lowest + i) * interval and, if at all, infinity.

    The profile of the law is delta(epsilon) = infinity_mass + sum of masses (1 - exp(epsilon - loss)) over the losses
    above epsilon. Two laws are compared by their upper tails: if those of one are nowhere below those of the other,
    neither is its profile, and neither are the tails and the profile of its composition with any third law. So the
    masses need not add up to 1 exactly; what they miss is `p_mass_defect`.

    Attributes:
        interval: the distance of neighbouring losses, an exact rational number > 0.
        lowest: index of the first loss.
        masses: float64, shape (n,), n >= 1, each >= 0.
        infinity_mass: the mass of an infinite loss.
        side: which side of the loss it stands for its curves are on.
    """

    interval: Fraction
    lowest: int
    masses: Array
    infinity_mass: float
    side: Side

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise InvalidValue("interval", str(self.interval), "> 0", "give the distance of neighbouring losses")
        if self.masses.ndim != 1 or self.masses.size == 0:
            raise InvalidValue("masses", f"array of shape {self.masses.shape}", "of shape (n,), n >= 1", "give masses")
        valid = bool((self.masses >= 0).all()) and bool(np.isfinite(self.masses).all())
        if not (valid and 0 <= self.infinity_mass <= 1 + 1e-6):
            raise InvalidValue("masses", "negative or NaN", "finite and >= 0", "give probabilities")

    @property
    def indices(self) -> Array:
        """The losses in units of the interval, as float64 (exact)."""
        return np.arange(self.lowest, self.lowest + self.masses.size, dtype=np.float64)

    @property
    def losses(self) -> Array:
        """The finite losses, rounded to float64."""
        return self.indices * float(self.interval)

    def p_mass_defect(self) -> float:
        """Total mass under P minus 1, rounded."""
        return math.fsum([*self.masses.tolist(), self.infinity_mass, -1.0])

    def q_mass_defect(self) -> float:
        """Total mass sum of masses * exp(-loss) under Q minus 1, rounded.

        A negative defect is mass of Q where P has none, which tells against nobody in delta(epsilon) of P from Q.
        """
        positive = self.masses > 0
        masses = np.exp(np.log(self.masses[positive]) - self.losses[positive])
        return math.fsum([*masses.tolist(), -1.0])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeLedger:
    """What a discretisation did to the masses: nothing is truncated or rounded without an entry here.

    Attributes:
        tail_error: the relative error that the tails promised.
        infinity_mass: pessimistic mass moved to an infinite loss, from above the lattice.
        raised_mass: pessimistic mass moved up to the lowest loss, from below the lattice.
        dropped_mass: optimistic mass moved down to a loss of minus infinity, from below the lattice.
        first_order_mass: optimistic mass that was moved down by a whole interval or more, because no shift of the
            boundaries brought its cell up to its loss (an atom off the lattice).
        p_defects: P-mass minus 1 of the pessimistic and of the optimistic law.
        q_defects: the same of the Q-mass.
    """

    tail_error: float
    infinity_mass: float
    raised_mass: float
    dropped_mass: float
    first_order_mass: float
    p_defects: tuple[float, float]
    q_defects: tuple[float, float]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedLoss:
    """The laws, under P and under Q, of a function of the output: about the loss, rounded to the lattice.

    A lower bound on the profile of any composition follows from the test that rejects where the sum of such functions
    is large (`dpverdict.audit.losses.lattice.bounds.LatticeEvent`). Outcomes below the lattice belong to no event of
    the test, so both laws may miss mass.

    Attributes:
        p: its upper tails are at most those under P.
        q: its upper tails are at least those under Q.
    """

    p: LatticeLaw
    q: LatticeLaw


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LatticePair:
    """Two laws on one lattice that bracket a privacy loss, and the ledger of how they came about.

    ``rounded`` is there where the optimistic law moved a mass down by about an interval: an atom off the lattice.
    """

    pessimistic: LatticeLaw
    optimistic: LatticeLaw
    ledger: LatticeLedger
    rounded: RoundedLoss | None = None


UNIT = 2.0**-52
"""Twice the largest relative error of one float64 operation."""


def upper_tails(values: Array, relative_error: float) -> Array:
    """Upper bounds on what the values stand for (see `LossTails`)."""
    return np.minimum(values * (1 + 1.01 * relative_error + UNIT) + TINY, 1.0)


def lower_tails(values: Array, relative_error: float) -> Array:
    """Lower bounds on what the values stand for (see `LossTails`)."""
    return np.maximum(values * (1 - 1.01 * relative_error - UNIT) - TINY, 0.0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Masses:
    """P- and Q-masses of cells; the true ones differ by at most the errors."""

    p: Array
    q: Array
    p_error: Array
    q_error: Array


def masses_between(t: LossTails, shape: tuple[int, ...] | None = None) -> Masses:
    """The masses of the cells between neighbouring losses, or between the two rows when a ``shape`` (2, n) is given."""

    def between(above: Array, below: Array) -> tuple[Array, Array]:
        if shape is None:
            a0, a1, b0, b1 = above[:-1], above[1:], below[:-1], below[1:]
        else:
            (a0, a1), (b0, b1) = above.reshape(shape), below.reshape(shape)
        return _difference(a0, a1, b0, b1, t.relative_error)

    p, p_error = between(t.p_above, t.p_below)
    q, q_error = between(t.q_above, t.q_below)
    return Masses(p=p, q=q, p_error=p_error, q_error=q_error)


def _difference(a0: Array, a1: Array, b0: Array, b1: Array, relative_error: float) -> tuple[Array, Array]:
    """The mass of (l0, l1], from the side where the tails are small, and a bound on its error."""
    upper = a0 < b1
    mass = np.maximum(np.where(upper, a0 - a1, b1 - b0), 0.0)
    used = np.where(upper, a0 + a1, b1 + b0)
    return mass, (1.01 * relative_error + UNIT) * used + 2 * TINY


@final
class Cells:
    """The cells (b_0, b_1], ..., (b_n, infinity) of given boundaries, some of which may be moved."""

    __slots__ = ("_boundaries", "_tails", "p", "p_error", "q", "q_error", "tails")
    p: Array
    p_error: Array
    q: Array
    q_error: Array
    tails: LossTails

    def __init__(self, tails: Tails, boundaries: Array) -> None:
        self._tails = tails
        self._boundaries = boundaries
        self.tails = tails(boundaries)
        self._compute()

    def move(self, boundaries: Array) -> None:
        """Replace the boundaries; the tails are computed again only where they changed."""
        changed = boundaries != self._boundaries
        fresh = self._tails(boundaries[changed])
        parts = {}
        for name in ("p_above", "p_below", "q_above", "q_below"):
            values = getattr(self.tails, name).copy()
            values[changed] = getattr(fresh, name)
            parts[name] = values
        error = max(self.tails.relative_error, fresh.relative_error)
        self.tails = LossTails(**parts, relative_error=error)
        self._boundaries = boundaries
        self._compute()

    def _compute(self) -> None:
        t = self.tails
        inner = masses_between(t)
        unit = 1.01 * t.relative_error + UNIT
        self.p = np.append(inner.p, t.p_above[-1])
        self.q = np.append(inner.q, t.q_above[-1])
        self.p_error = np.append(inner.p_error, unit * t.p_above[-1] + TINY)
        self.q_error = np.append(inner.q_error, unit * t.q_above[-1] + TINY)
