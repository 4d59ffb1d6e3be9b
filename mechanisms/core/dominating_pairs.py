"""Pairs of output laws that are no Gaussian pair: what the noise is, and by how much neighbours move the statistic.

A sensitivity space over noise that is not Gaussian ends in one of these. They are plain data, in exact numbers; the
privacy loss of each is computed in `dpverdict.audit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

from dpverdict.errors import InvalidValue


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDirectionShift:
    """scale z v against itself moved by ``length``: z ~ N(0, 1), v uniform on the unit sphere of R^dim, dim >= 3.

    Attributes:
        dim: the dimension.
        scale: standard deviation of the radius, exactly.
        squared_length: the squared l2-norm of the move, exactly; > 0.
    """

    dim: int
    scale: Fraction
    squared_length: Fraction

    def __post_init__(self) -> None:
        if not (self.dim >= 3 and self.scale > 0 and self.squared_length > 0):
            raise InvalidValue(
                "shift", self, "of dim >= 3, with a scale and a length > 0", "a shift of 0 costs nothing"
            )

    @property
    def rho(self) -> None:
        """The zCDP parameter is infinite: so is the Renyi divergence of every order >= dim/(dim - 1)."""
        return None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeShift:
    """Independent discrete Gaussians on the integers, each moved by an integer: N_Z(0, v) against N_Z(shift, v).

    N_Z(0, v) has probabilities proportional to exp(-y^2/(2 v)) on the integers.

    Attributes:
        groups: (variance parameter v, absolute integer shift, number of coordinates) of the coordinates that move.
    """

    groups: tuple[tuple[Fraction, int, int], ...]

    def __post_init__(self) -> None:
        if not self.groups or any(v <= 0 or shift < 1 or count < 1 for v, shift, count in self.groups):
            raise InvalidValue("groups", self.groups, "positive throughout", "leave out what does not move")

    @property
    def rho(self) -> Fraction:
        """sum shift^2/(2 v): the Kullback-Leibler divergence, and exactly the zCDP parameter of the pair.

        Canonne, Kamath and Steinke 2020, Proposition 5 (arXiv:2004.00010): the Renyi divergence of order a is at most
        a shift^2/(2 v) in one coordinate, for every a > 1, and independent coordinates add up; for integers a, and for
        the Kullback-Leibler divergence (a = 1), it is equal to it.
        """
        return sum((shift**2 * count / (2 * v) for v, shift, count in self.groups), Fraction(0))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceShift:
    """Independent Laplace variables, each moved: density exp(-|y|)/2 against exp(-|y - shift|)/2, at scale 1.

    Attributes:
        groups: (absolute shift in units of the scale, number of coordinates) of the coordinates that move.
    """

    groups: tuple[tuple[Fraction, int], ...]

    def __post_init__(self) -> None:
        if not self.groups or any(shift <= 0 or count < 1 for shift, count in self.groups):
            raise InvalidValue("groups", self.groups, "positive throughout", "leave out what does not move")

    @property
    def pure(self) -> Fraction:
        """The l1 norm of the shifts: the largest privacy loss, attained with probability 2^-m."""
        return sum((shift * count for shift, count in self.groups), Fraction(0))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseShift:
    """Independent discrete Laplace variables, each moved by one: P(y) proportional to exp(-rate |y|) on the integers.

    The loss of one is rate or -rate: that of randomised response.

    Attributes:
        rate: 1/scale of the noise, exactly.
        count: the number of coordinates that move.
    """

    rate: Fraction
    count: int

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.count >= 1):
            raise InvalidValue("shift", self, "of rate > 0 and count >= 1", "a shift of 0 costs nothing")

    @property
    def pure(self) -> Fraction:
        """count * rate: the largest privacy loss."""
        return self.rate * self.count


Shift: TypeAlias = RandomDirectionShift | LatticeShift | LaplaceShift | ResponseShift
"""A pair of output laws that is no Gaussian pair."""
