"""The tails of a privacy loss under both laws: all that a lattice discretisation needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from dpverdict.audit.loss_domains import Floats
from dpverdict.errors import InvalidValue

TINY = 1e-300
"""Absolute error that every tail may have besides its relative error: what float64 loses by underflow."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LossTails:
    """The probabilities of L > l and of L <= l under P and under Q, at an array of losses l.

    Ensures: an entry v that stands for the real number t has abs(v - t) <= relative_error * t + TINY. Both sides of
    each law are held, because the difference of two close probabilities is taken on the side where they are small.

    Attributes:
        p_above, p_below: P[L > l] and P[L <= l], float64, of the shape of l.
        q_above, q_below: Q[L > l] and Q[L <= l].
        relative_error: what is promised of every entry; it is a statement of whoever made the tails.

    Raises:
        InvalidValue: arrays of different shapes, or entries that are no probabilities.
    """

    p_above: Floats
    p_below: Floats
    q_above: Floats
    q_below: Floats
    relative_error: float

    def __post_init__(self) -> None:
        shape = self.p_above.shape
        for name in ("p_above", "p_below", "q_above", "q_below"):
            values = getattr(self, name)
            if values.shape != shape:
                raise InvalidValue(name, f"array of shape {values.shape}", f"of shape {shape}", "give equal shapes")
            outside = ~((values >= 0) & (values <= 1 + self.relative_error))
            if outside.any():
                raise InvalidValue(name, float(values[outside].flat[0]), "in [0, 1]", "give probabilities")
        if not 0 <= self.relative_error < 1e-3:
            remedy = "state the relative accuracy of the tails, for example 1e-14"
            raise InvalidValue("relative_error", self.relative_error, "in [0, 1e-3)", remedy)


Tails: TypeAlias = Callable[[Floats], LossTails]
"""The method ``tails`` of a privacy loss: finite losses of shape (n,) to `LossTails` of shape (n,)."""


def finite_losses(losses: Floats) -> Floats:
    """The losses as float64.

    Raises:
        InvalidValue: NaN or an infinity.
    """
    array = np.asarray(losses, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        raise InvalidValue("l", float(array[~finite].flat[0]), "finite", "give losses in nats, negative ones included")
    return array
