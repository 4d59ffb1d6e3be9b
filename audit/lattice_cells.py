"""Masses of cells of a privacy loss under both laws, from its tails, with bounds on their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.loss_tails import TINY, LossTails, Tails

UNIT = 2.0**-52
"""Twice the largest relative error of one float64 operation."""


def upper_tails(values: Floats, relative_error: float) -> Floats:
    """Upper bounds on what the values stand for (see `LossTails`)."""
    return np.minimum(values * (1 + 1.01 * relative_error + UNIT) + TINY, 1.0)


def lower_tails(values: Floats, relative_error: float) -> Floats:
    """Lower bounds on what the values stand for (see `LossTails`)."""
    return np.maximum(values * (1 - 1.01 * relative_error - UNIT) - TINY, 0.0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Masses:
    """P- and Q-masses of cells; the true ones differ by at most the errors."""

    p: Floats
    q: Floats
    p_error: Floats
    q_error: Floats


def masses_between(t: LossTails, shape: tuple[int, ...] | None = None) -> Masses:
    """The masses of the cells between neighbouring losses, or between the two rows when a ``shape`` (2, n) is given."""

    def between(above: Floats, below: Floats) -> tuple[Floats, Floats]:
        if shape is None:
            a0, a1, b0, b1 = above[:-1], above[1:], below[:-1], below[1:]
        else:
            (a0, a1), (b0, b1) = above.reshape(shape), below.reshape(shape)
        return _difference(a0, a1, b0, b1, t.relative_error)

    p, p_error = between(t.p_above, t.p_below)
    q, q_error = between(t.q_above, t.q_below)
    return Masses(p=p, q=q, p_error=p_error, q_error=q_error)


def _difference(a0: Floats, a1: Floats, b0: Floats, b1: Floats, relative_error: float) -> tuple[Floats, Floats]:
    """The mass of (l0, l1], from the side where the tails are small, and a bound on its error."""
    upper = a0 < b1
    mass = np.maximum(np.where(upper, a0 - a1, b1 - b0), 0.0)
    used = np.where(upper, a0 + a1, b1 + b0)
    return mass, (1.01 * relative_error + UNIT) * used + 2 * TINY


@final
class Cells:
    """The cells (b_0, b_1], ..., (b_n, infinity) of given boundaries, some of which may be moved."""

    __slots__ = ("_boundaries", "_tails", "p", "p_error", "q", "q_error", "tails")
    p: Floats
    p_error: Floats
    q: Floats
    q_error: Floats
    tails: LossTails

    def __init__(self, tails: Tails, boundaries: Floats) -> None:
        self._tails = tails
        self._boundaries = boundaries
        self.tails = tails(boundaries)
        self._compute()

    def move(self, boundaries: Floats) -> None:
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
