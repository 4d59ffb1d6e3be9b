"""What every law of noise states about itself, so that a new law is one new file and one line of the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Self, TypeAlias

import numpy as np

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

Moves: TypeAlias = Mapping[Fraction, int]
"""How many independent draws are moved by each distance; every distance and every count is > 0."""


class Law(ABC):
    """A law of noise Z of unit scale, on the real numbers or on the whole numbers.

    Noise of scale s is s Z. A law compares by its class and its parameter.

    Attributes:
        name: what reports and documents call it.
        on_whole_numbers: whether Z is a whole number; otherwise it is real and has a density.
        symmetric: whether -Z has the law of Z.
        spherical: whether independent draws of it have a joint law that no rotation changes. Of a move of many draws
            only the l2 length counts then.
        scipy_name: of the same law in `scipy.stats`; None if it is not there.
        scipy_origin: what SciPy's variable is where Z is 0.
        numpy_name: of the method ``(loc, scale, size)`` of `numpy.random.Generator` that draws loc + scale Z; None if
            there is none of these arguments.
    """

    __slots__ = ()
    name: ClassVar[str]
    on_whole_numbers: ClassVar[bool] = False
    symmetric: ClassVar[bool]
    spherical: ClassVar[bool] = False
    scipy_name: ClassVar[str | None] = None
    scipy_origin: ClassVar[int] = 0
    numpy_name: ClassVar[str | None] = None

    @property
    def parameter(self) -> Fraction | None:
        """What the law takes besides a scale, exactly; None if it takes nothing."""
        return None

    def describe(self) -> str:
        """Its name, with the parameter if it has one."""
        return self.name if self.parameter is None else f"{self.name} ({float(self.parameter):.4g})"

    @classmethod
    def of_scipy(cls, *shapes: float) -> Self | None:
        """The law that `scipy.stats` has under `scipy_name` with these shape parameters; None if it is degenerate."""
        return cls(*shapes)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Instances over which tests/contract/test_laws.py runs; of a law with a parameter, small and large ones."""
        return (cls(),)

    # the density, the tails, the draws --------------------------------------------------------------------------------

    @abstractmethod
    def log_weight(self, z: Array) -> Array:
        """log f(z) up to a constant, in float64 and of any shape; -inf outside of the support.

        Of a law on the whole numbers, f is its probability, and z is taken to be whole.
        """

    @abstractmethod
    def log_total(self) -> float:
        """The logarithm of the integral, or of the sum over the whole numbers, of exp(log_weight)."""

    def log_density(self, z: Array) -> Array:
        """log f(z) in float64, of any shape; -inf outside of the support."""
        with np.errstate(over="ignore"):
            found = np.asarray(self.log_weight(z) - self.log_total(), dtype=np.float64)
        return np.where(z == np.round(z), found, -np.inf) if self.on_whole_numbers else found

    @abstractmethod
    def distribution(self, z: Array) -> Array:
        """P(Z <= z) in float64, of any shape; accurate where it is small."""

    @abstractmethod
    def survival(self, z: Array) -> Array:
        """P(Z > z) in float64, of any shape; accurate where it is small."""

    @abstractmethod
    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Independent draws, as float64 of the given shape; whole numbers are exact up to 2^53."""

    def as_exponentials(self, *, above: bool) -> Mapping[int, Fraction] | None:
        """The distribution function on one side of 0, exactly, if it is a sum of exponentials there.

        Returns:
            {r: c_r} with P(Z <= z) = sum c_r exp(r z) at all z > 0 if ``above``, else at all z < 0; None where it is no
            such sum. The law has a density then, which is the derivative.
        """
        del above
        return None

    # the privacy loss -------------------------------------------------------------------------------------------------

    def loss(self, shift: Exact) -> PrivacyLoss:
        """The privacy loss of Z and Z + shift, of which delta(epsilon) is the larger of both orders at epsilon >= 0.

        Args:
            shift: the distance in units of the scale, exact; > 0.

        Raises:
            InvalidValue: the shift is not > 0, or `refusal` says why its loss is not computed.
        """
        move = exactly(shift, name="shift")
        if move <= 0:
            raise InvalidValue("shift", shift, "> 0", "give the distance; a law that does not move costs nothing")
        if self.why_disjoint(move) is not None:
            return DisjointLoss()
        refused = self.refusal(move)
        if refused is not None:
            raise InvalidValue("shift", shift, f"one whose loss is computed: {refused}", "use `largest_loss`")
        return compose(*self.losses({move: 1}))

    @abstractmethod
    def losses(self, moves: Moves) -> Sequence[PrivacyLoss]:
        """The losses of independent parts of which all draws together consist, each draw moved by its distance.

        Their composition is the loss of all draws. This method says how a law composes: Gaussian moves are one move of
        their l2 length, Laplace moves are grouped by their distance.

        Args:
            moves: for none of them `why_disjoint` or `refusal` gives a reason.
        """

    def why_disjoint(self, shift: Fraction) -> str | None:
        """Why a draw and the same moved by ``shift`` > 0 never agree; None if they can."""
        if self.on_whole_numbers and shift.denominator != 1:
            return "a whole number was moved by a fraction: the values tell the datasets apart"
        return None

    def refusal(self, shift: Fraction) -> str | None:
        """Why the loss of a move by ``shift`` > 0 is not computed; None if it is."""
        del shift
        return None

    def largest_loss(self, moves: Moves) -> Fraction | None:
        """The supremum of the loss of all draws together, exactly; None where it is infinite.

        It is linear: as many times larger as the distances and the counts are.
        """
        del moves
        return None

    def rho(self, moves: Moves) -> Fraction | None:
        """The least rho with D_a(P||Q) <= rho a at every order a > 1, exactly; None where no closed form is known."""
        del moves
        return None

    def law_of_difference(self) -> Law | None:
        """The law of Z - Z' with Z' independent and of the same law, where it is one of these laws; else None."""
        return None
