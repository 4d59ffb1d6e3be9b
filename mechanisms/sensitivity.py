"""Sensitivity spaces: the set of differences embed(X) - embed(X') over neighbouring datasets (Lebeda 2024, Def. 2.5).

The map v -> v^T S^-1 v is convex, so over a polytope its supremum is attained at a vertex. Each space here knows the
orbits of its vertices under the permutations that the noise does not see, and maximises the form over them exactly, by
rational arithmetic and a bounded number of candidates: O(1) work whatever the dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.noise import Noise
from dpverdict.mechanisms.shift import Shift

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum:
    """The largest squared GDP parameter over a sensitivity space.

    Attributes:
        mu_squared: the exact supremum; None when it is infinite (some difference carries no noise), and for noise that
            is not Gaussian.
        records: makes (record, replacement) of a neighbouring pair that attains it; replacement is None under
            add/remove. A function, because a record may be long.
        description: the worst neighbour in words.
        justification: why nothing is worse.
        shift: for noise that is not Gaussian, the pair of laws that dominates every other; None for Gaussian noise.
        exact: whether some neighbouring pair attains it; False where it is a bound from above only.
        rho_upper: beside a bound, a rho such that every pair is rho-zCDP, exactly.
        attained: beside a bound, the pair of laws that ``records`` make.
        datasets: makes the two datasets where they are more than the one record: the streams of a counter.
    """

    mu_squared: Real | None
    records: Callable[[], tuple[Array, Array | None]]
    description: str
    justification: str
    shift: Shift | None = None
    exact: bool = True
    rho_upper: Fraction | None = None
    attained: Shift | None = None
    datasets: Callable[[], tuple[Array, Array]] | None = None


class SensitivitySpace(Protocol):
    """A set of differences that can be maximised over exactly."""

    def maximise(self, noise: Noise) -> Maximum:
        """The largest squared GDP parameter over the space, with a neighbouring pair that attains it."""
        ...

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of one neighbouring pair; None when it is infinite."""
        ...


@runtime_checkable
class ShiftSpace(Protocol):
    """A set of differences under noise that is not Gaussian."""

    def maximise(self, noise: Noise) -> Maximum:
        """The pair of laws that dominates every other over the space, with a neighbouring pair that attains it."""
        ...

    def shift(self, noise: Noise, record: Array, replacement: Array | None = None) -> Shift | None:
        """The pair of laws of one neighbouring pair; None when the two laws are equal."""
        ...


@runtime_checkable
class StepSpace(Protocol):
    """A set of differences that depends on when a record comes: the steps of a stream."""

    def at(self, position: int) -> SensitivitySpace | ShiftSpace:
        """The differences that the record at a position of the dataset makes, the first being 0."""
        ...


def unsupported(space: object, noise: object) -> InvalidValue:
    """The error of a space asked about a noise law whose form it cannot maximise exactly."""
    pair = f"{type(noise).__name__} over {type(space).__name__}"
    return InvalidValue("noise", pair, "a combination whose exact maximiser is known", "give neighbour pairs instead")
