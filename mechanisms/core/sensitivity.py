"""Sensitivity spaces: the set of differences embed(X) - embed(X') over neighbouring datasets (Lebeda 2024, Def. 2.5).

The map v -> v^T S^-1 v is convex, so over a polytope its supremum is attained at a vertex. Each space here knows the
orbits of its vertices under the permutations that the noise does not see, and maximises the form over them exactly, by
rational arithmetic and a bounded number of candidates: O(1) work whatever the dimension. Here are the spaces of records
in a cube, in a ball, and in a box with a bound for each coordinate (Poulsen 2022); under noise that is not
Gaussian a space has privacy losses instead of a quadratic form.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final, runtime_checkable

import numpy as np

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, gaussian_loss
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above
from dpverdict.mechanisms.core.noise import (
    DiagonalNoise,
    Noise,
    SharedNoise,
    maximise_over_integers,
    queries_only_form,
)
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import difference_moments, moments
from dpverdict.numerics.roots import float_below
from dpverdict.numerics.text import exact_text

Datasets = Callable[[], tuple[Array, Array]]
"""Makes two neighbouring datasets. A function, because a record may be long."""


def alone(record: Array, replacement: Array | None = None) -> Datasets:
    """The dataset of one record, and that without it, or with its replacement."""
    return lambda: (record[None], record[None][:0] if replacement is None else replacement[None])


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfSpace:
    loss: PrivacyLoss
    datasets: Datasets
    description: str
    justification: str

    @property
    def mu_squared(self) -> Real | None:
        """The squared GDP parameter of a Gaussian loss; None where it is infinite, and for any other loss."""
        return self.loss.mu_squared if isinstance(self.loss, GaussianLoss) else None

    def records(self) -> tuple[Array, Array | None]:
        """The first record of the dataset, and of its neighbour what replaces it; None where that has no record."""
        dataset, neighbour = self.datasets()
        return dataset[0], neighbour[0] if len(neighbour) else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum(_OfSpace):
    """The largest privacy loss over a sensitivity space, which some neighbours attain.

    Attributes:
        loss: the largest privacy loss.
        datasets: makes neighbouring datasets that attain it.
        description: the worst neighbour in words.
        justification: why nothing is worse.
    """


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LossBound(_OfSpace):
    """A privacy loss that dominates all over a sensitivity space, and is not known to be attained.

    Attributes:
        loss: the dominating privacy loss.
        datasets: makes neighbouring datasets that come near it.
        description: the neighbour in words.
        justification: why no loss is larger.
        attained: a privacy loss that the datasets attain at least; that of equal laws where nothing is known.
        further: closer bounds on some quantities.
    """

    attained: PrivacyLoss
    further: tuple[Above, ...] = ()


class SensitivitySpace(Protocol):
    """A set of differences over which the privacy loss can be maximised exactly, or bounded."""

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """The largest privacy loss over the space, or a bound on it, with neighbouring datasets."""
        ...

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss of one neighbouring pair, exactly; that of equal laws where nothing moves."""
        ...


class QuadraticSpace(ABC):
    """A set of differences under Gaussian noise, where the loss of a difference v is that of mu^2 = v^T S^-1 v."""

    __slots__ = ()

    @abstractmethod
    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of one neighbouring pair; None when it is infinite."""

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The Gaussian loss of that parameter; the disjoint one where it is infinite."""
        return gaussian_loss(self.mu_squared(noise, record, replacement))


@runtime_checkable
class StepSpace(Protocol):
    """A set of differences that depends on when a record comes: the steps of a stream."""

    def at(self, position: int) -> SensitivitySpace:
        """The differences that the record at a position of the dataset makes, the first being 0."""
        ...


def unsupported(space: object, noise: object) -> InvalidValue:
    """The error of a space asked about a noise law whose form it cannot maximise exactly."""
    pair = f"{type(noise).__name__} over {type(space).__name__}"
    return InvalidValue("noise", pair, "a combination whose exact maximiser is known", "give neighbour pairs instead")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cube(QuadraticSpace):
    """One record of [low, high]^d added or removed, with the count moving by one: {+-(x, 1)}.

    Args:
        dim: number of queries d.
        low, high: the range of every entry of a record; [0, 1] unless a variant says otherwise.
        nonzero: at most this many entries of x differ from 0 (needs low = 0); None for no such bound.
        copies: one user holds this many records, so the space is scaled by it.
        offset: subtracted from every entry before noise is added: 1/2 when the mechanism works on f - n/2.
    """

    dim: int
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    nonzero: int | None = None
    copies: int = 1
    offset: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidValue("high", self.high, f"> low={self.low}", "give the range of an entry")
        if self.copies < 1:
            raise InvalidValue("copies", self.copies, ">= 1", "give the number of records of one user")
        if self.nonzero is not None and (self.low != 0 or not 1 <= self.nonzero <= self.dim):
            raise InvalidValue("nonzero", self.nonzero, "from 1 to dim, with low = 0", "leave it out for no such bound")

    def maximise(self, noise: Noise) -> Maximum:
        """Over the vertices with j entries at ``high`` and d - j at ``low``: a parabola in the integer j."""
        if not isinstance(noise, SharedNoise):
            raise unsupported(self, noise)
        form, d, last = noise.form(), self.dim, self.dim if self.nonzero is None else self.nonzero
        if form is None:
            one = min(1, last) if noise.independent_scale == 0 else 0
            return Maximum(
                loss=gaussian_loss(None),
                datasets=lambda: self._datasets(one),
                description="any record" if noise.independent_scale else "a record with a single one",
                justification="the covariance is singular in a direction in which neighbours differ",
            )
        low, high = self.low - self.offset, self.high - self.offset
        step, gap = high - low, high**2 - low**2
        s1, s2 = low * d, low**2 * d  # moments at j = 0; each entry moved to high adds step, and gap
        a = form.sum_squared * step**2
        b = form.square * gap + 2 * form.sum_squared * s1 * step + form.cross * step
        j, value = maximise_over_integers(a, b, form.at(s1, s2, 1), last)
        return Maximum(
            loss=gaussian_loss(Real.of(value * self.copies**2)),
            datasets=lambda: self._datasets(j),
            description=f"a record with {j} of {d} entries at {self.high} and the others at {self.low}"
            + (f", held {self.copies} times by one user" if self.copies > 1 else ""),
            justification="a convex form on a cube is largest at a vertex; it depends on a vertex only through the "
            "number of entries at the upper end, in which it is quadratic, maximised over the integers exactly",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of adding or removing ``record``; None when it is infinite."""
        if not isinstance(noise, SharedNoise) or replacement is not None:
            raise unsupported(self, noise)
        s1, s2 = moments(record)
        shifted = s1 - self.offset * self.dim, s2 - 2 * self.offset * s1 + self.offset**2 * self.dim
        return noise.mu_squared_of(*shifted, 1, self.copies)

    def _datasets(self, j: int) -> tuple[Array, Array]:
        """The records of one user, all at one vertex, and none."""
        held = np.repeat(self._vertex(j)[None], self.copies, axis=0)
        return held, held[:0]

    def _vertex(self, j: int) -> Array:
        return np.where(np.arange(self.dim) < j, float(self.high), float(self.low))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementCube(QuadraticSpace):
    """One record of [0, 1]^d replaced by another, the count unchanged: {(x - x', 0)} = [-1, 1]^d x {0}."""

    dim: int

    def maximise(self, noise: Noise) -> Maximum:
        """Over the sign vectors v in {-1, 1}^d, whose form is square * d + sum_squared * (sum v)^2."""
        if not isinstance(noise, SharedNoise):
            raise unsupported(self, noise)
        d, (vz, ve, _) = self.dim, noise.variances
        # The count does not move, so only the queries' covariance matters unless eta can be read off the count:
        # aligned signs maximise (sum v)^2, alternating signs minimise it, and the sign of its coefficient decides.
        form = noise.form() or (queries_only_form(dim=d, vz=vz, ve=ve) if vz else None)
        ones = d if form is not None and form.sum_squared > 0 else (d + 1) // 2
        record = np.where(np.arange(d) < ones, 1.0, 0.0)
        if form is None:
            record = np.eye(1, d)[0]
        replacement = np.zeros(d) if form is None else 1.0 - record
        return Maximum(
            loss=gaussian_loss(self.mu_squared(noise, record, replacement)),
            datasets=alone(record, replacement),
            description=f"a record with {int(record.sum())} ones of {d} replaced by its complement",
            justification="a convex form on [-1, 1]^d is largest at a sign vector, where it depends on the sum alone",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of replacing ``record`` by ``replacement``; None when it is infinite."""
        if not isinstance(noise, SharedNoise) or replacement is None:
            raise unsupported(self, noise)
        return noise.mu_squared_of(*difference_moments(record, replacement), 0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NormBall(QuadraticSpace):
    """One record of l2-norm at most ``radius`` added or removed; ``replaced``, one replaced by another.

    A radius that is no float64 is taken exactly; the record that is shown as the worst is then the float64 below it.
    """

    dim: int
    radius: float | Fraction
    replaced: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.radius < math.inf:
            raise InvalidValue("radius", self.radius, "finite and > 0", "give the largest l2-norm of a record")

    @property
    def reach(self) -> Fraction:
        """The largest l2-norm of a difference."""
        return Fraction(self.radius) * (2 if self.replaced else 1)

    def maximise(self, noise: Noise) -> Maximum:
        """Independent noise of one scale: every point of the sphere attains radius^2 / sigma^2."""
        variance, radius = self._variance(noise), Fraction(self.radius)
        record = np.zeros(self.dim)
        record[0] = float_below(radius)
        shown = f"a record of l2-norm {exact_text(radius) if isinstance(self.radius, Fraction) else repr(self.radius)}"
        return Maximum(
            loss=gaussian_loss(None if variance == 0 else Real.of(self.reach**2 / variance)),
            datasets=alone(record, 0.0 - record if self.replaced else None),
            description=f"{shown} replaced by its opposite" if self.replaced else shown,
            justification="the form is the squared l2-norm over sigma^2, largest on the sphere",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter ||x - x'||^2 / sigma^2, x' = 0 where ``record`` is added or removed."""
        self._variance(noise)
        if (replacement is not None) is not self.replaced or not isinstance(noise, SharedNoise):
            raise unsupported(self, noise)
        other = np.zeros(self.dim) if replacement is None else replacement
        return noise.mu_squared_of(*difference_moments(record, other), 0)

    def _variance(self, noise: Noise) -> Fraction:
        """That of independent noise of one scale."""
        if not isinstance(noise, SharedNoise) or noise.shared_scale or noise.size != noise.dim:
            raise unsupported(self, noise)
        return noise.variances[0]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box(QuadraticSpace):
    """One record of the box prod [-bound_j/2, bound_j/2] replaced: differences in prod [-bound_j, bound_j]."""

    bounds: Array

    def __post_init__(self) -> None:
        if not (np.all(np.isfinite(self.bounds)) and np.all(self.bounds >= 0)):
            raise InvalidValue("bounds", self.bounds, "finite and >= 0", "give one sensitivity per coordinate")

    def maximise(self, noise: Noise) -> Maximum:
        """At the corners, which all attain sum bound_j^2 / sigma_j^2 (Poulsen 2022; any diagonal covariance)."""
        if not isinstance(noise, DiagonalNoise):
            raise unsupported(self, noise)
        return Maximum(
            loss=gaussian_loss(self.mu_squared(noise, self.bounds / 2, -self.bounds / 2)),
            datasets=alone(self.bounds / 2, -self.bounds / 2),
            description="a corner of the box replaced by the opposite corner",
            justification="a diagonal form is increasing in every |v_j|, so every corner attains the supremum",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """sum (x_j - x'_j)^2 / sigma_j^2: exact up to 256 distinct terms, a ball beyond; None when it is infinite."""
        if not isinstance(noise, DiagonalNoise) or replacement is None:
            raise unsupported(self, noise)
        return noise.mu_squared(record, replacement)
