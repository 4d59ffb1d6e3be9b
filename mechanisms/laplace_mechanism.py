"""The Laplace mechanism on sums, calibrated by the l1 sensitivity, by the l2 sensitivity, or by the exact curve."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import REPLACE_ONE, adjacency_name, check_adjacency
from dpverdict.mechanisms.calibration import analytic_scale
from dpverdict.mechanisms.exact_text import exact_text
from dpverdict.mechanisms.guarantee import ApproximateDP, Guarantee, PureDP
from dpverdict.mechanisms.guarantee_curves import float_above
from dpverdict.mechanisms.laplace_calibration import concentrated_scale, l1_scale, theorem_scale
from dpverdict.mechanisms.laplace_noise import LaplaceNoise, laplace_score
from dpverdict.mechanisms.laplace_sensitivity import Norm, RealRecords
from dpverdict.mechanisms.mechanism import AdditiveMechanism, Array, check_array, check_dim, check_positive
from dpverdict.mechanisms.neighbours import NeighbourPair


@final
class LaplaceMechanism(AdditiveMechanism):
    """f(X) + Laplace noise on every query, with f(X) = sum x_i.

    The records are those of [0, radius]^d, or of R^d with an l1 or l2 norm of at most the radius. With D1 the largest
    l1 norm of a difference, the scale D1/epsilon makes it epsilon-DP, tightly: D1 = d radius under either relation for
    the cube; for the balls the radius, or sqrt(d) times the radius, and twice that under REPLACE_ONE. The other
    constructors claim (epsilon, delta)-DP with less noise: `from_theorem` by Theorem 1.3, `from_concentrated` by
    zero-concentrated DP, `with_scale` by any other argument, such as the exact curve.

    The worst case is known in closed form for the cube and the l1 ball; for the l2 ball it is bounded (`RealRecords`).

    Args:
        dim: number of queries d >= 1.
        epsilon: > 0, exact.
        adjacency: the neighbouring relation of the claim.
        norm: "linf" for records of the cube, "l1" or "l2" for those of a ball.
        radius: > 0, exact; rounded up to a float64.
        scale: of the noise, to be used in place of D1/epsilon, at its exact value; rounded up to a float64.

    Attributes:
        calibration: how the scale was found, in a few words.
        scale: the scale of the noise; its variance is 2 scale^2.

    Raises:
        InvalidValue: an argument is out of range.

    >>> from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE
    >>> pure = LaplaceMechanism(dim=100, epsilon=1, adjacency=ADD_OR_REMOVE_ONE)
    >>> mixed = LaplaceMechanism.from_concentrated(dim=100, epsilon=1, delta="1e-5", adjacency=ADD_OR_REMOVE_ONE)
    >>> pure.scale, round(mixed.scale, 2), mixed.calibration
    (100.0, 40.45, 'zero-concentrated DP, best order')
    """

    name = "laplace"
    source = "Andersson, Pagh and Torkamani 2024, Lemma A.2"
    noise: LaplaceNoise
    sensitivity: RealRecords
    dim: int
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        dim: int,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        norm: Norm = "linf",
        radius: Exact = 1,
        scale: Exact | None = None,
    ) -> None:
        claim = PureDP(check_positive(epsilon, "epsilon"))
        records = _records(dim, norm, radius, adjacency)
        if scale is None:
            self._set(records, l1_scale(epsilon, records.l1()), claim, adjacency, "l1 sensitivity")
        else:
            own = float_above(check_positive(scale, "scale"))
            self._set(records, own, claim, adjacency, "given by the caller")

    @classmethod
    def from_theorem(
        cls,
        *,
        dim: int,
        epsilon: Exact,
        delta: Exact,
        adjacency: NeighboringRelation,
        norm: Norm = "linf",
        radius: Exact = 1,
    ) -> LaplaceMechanism:
        """Calibrated by Theorem 1.3: the smaller of the l1 scale and the l2 scale of Lemma 5.4."""
        records = _records(dim, norm, radius, adjacency)
        made = cls.__new__(cls)
        scale = theorem_scale(epsilon, delta, records.l1(), records.l2())
        made._set(records, scale, ApproximateDP(epsilon, delta), adjacency, "Theorem 1.3")
        made.source = "Andersson, Pagh and Torkamani 2024, Theorem 1.3"
        return made

    @classmethod
    def from_concentrated(
        cls,
        *,
        dim: int,
        epsilon: Exact,
        delta: Exact,
        adjacency: NeighboringRelation,
        norm: Norm = "linf",
        radius: Exact = 1,
    ) -> LaplaceMechanism:
        """Calibrated by D2^2/(2 scale^2)-zCDP, converted at the best order; never above `from_theorem`'s scale."""
        records = _records(dim, norm, radius, adjacency)
        made = cls.__new__(cls)
        scale = concentrated_scale(epsilon, delta, records.l1(), records.l2_squared())
        made._set(records, scale, ApproximateDP(epsilon, delta), adjacency, "zero-concentrated DP, best order")
        made.source = "Bun and Steinke 2016, Proposition 3.3"
        return made

    @classmethod
    def with_scale(
        cls,
        *,
        dim: int,
        scale: float,
        claim: Guarantee,
        adjacency: NeighboringRelation,
        calibration: str,
        norm: Norm = "linf",
        radius: Exact = 1,
    ) -> LaplaceMechanism:
        """Noise of a given scale, with whatever claim: to be certified, not trusted."""
        mechanism = cls.__new__(cls)
        mechanism._set(_records(dim, norm, radius, adjacency), scale, claim, adjacency, calibration)
        mechanism.source = "given by the caller"
        return mechanism

    def _set(
        self, records: RealRecords, scale: float, claim: Guarantee, adjacency: NeighboringRelation, calibration: str
    ) -> None:
        self.dim, self.sensitivity = records.dim, records
        self.noise = LaplaceNoise(size=self.dim, scale=scale)
        self.claim = claim
        self.adjacency = adjacency
        self.calibration = calibration
        radius = exact_text(Fraction(records.radius))
        lies = (
            f"lies in [0, {radius}]^d" if records.norm == "linf" else f"has an {records.norm} norm of at most {radius}"
        )
        self.assumptions = (f"every record {lies}", "noise and sums are real numbers, not floats")

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        return self.noise.scale

    @property
    def variance(self) -> Fraction:
        """The variance of a query, 2 scale^2, exactly."""
        return self.noise.variance

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), every record in the cube or ball (decided exactly)."""
        radius, norm = self.sensitivity.radius, self.sensitivity.norm
        records = check_array(dataset, self.record_shape, 0.0 if norm == "linf" else -radius, radius)
        if norm != "linf":
            order = 1 if norm == "l1" else 2
            for i in np.flatnonzero(np.linalg.norm(records, order, axis=1) > radius * (1 - 1e-9)).tolist():
                if not self.sensitivity.holds(records[i]):
                    remedy = "scale the record down (a factor 1 - 1e-15 undoes rounding), or build for a larger radius"
                    raise InvalidValue("dataset record", f"number {i}", f"of {norm} norm at most {radius!r}", remedy)
        return records

    def statistic(self, records: Array) -> Array:
        """f(X) = sum x_i, shape (d,)."""
        total: Array = records.sum(axis=0)
        return total

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, d): the most powerful score."""
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)
        return lambda releases: laplace_score(releases, here, there, float(self.noise.rate))

    def laplace_shifts(self, record: ArrayLike, replacement: ArrayLike | None = None) -> tuple[Fraction, ...]:
        """How far a record moves each query, in units of the scale, exactly: |x_j|/scale, or |x_j - x'_j|/scale.

        The privacy loss of the pair is that of independent Laplace variables with these shifts.

        Raises:
            InvalidValue: a record of another shape or out of range, or a replacement that does not fit the relation.
        """
        if (replacement is not None) != (self.adjacency is REPLACE_ONE):
            remedy = "pass replacement= under replace-one, and leave it out under add-or-remove-one"
            raise InvalidValue("replacement", replacement, f"consistent with {adjacency_name(self.adjacency)}", remedy)
        one = self.check_records(np.asarray(record)[None])[0].tolist()
        other = (
            [0.0] * self.dim if replacement is None else self.check_records(np.asarray(replacement)[None])[0].tolist()
        )
        return tuple(abs(Fraction(x) - Fraction(y)) * self.noise.rate for x, y in zip(one, other, strict=True))

    def worst_pair(self) -> NeighbourPair:
        """The neighbouring pair with the largest privacy loss; for the l2 ball the one that its bound is held to."""
        record, other = self.sensitivity.maximise(self.noise).records()
        neighbour = record[None][:0] if other is None else other[None]
        return NeighbourPair(dataset=record[None], neighbour=neighbour, adjacency=self.adjacency)

    def variance_over_gaussian(self) -> float:
        """What the Laplace noise costs: its variance over that of the least Gaussian noise with the same claim.

        Raises:
            InvalidValue: the claim is not (epsilon, delta)-DP with delta > 0, which no Gaussian noise would keep.
        """
        if not isinstance(self.claim, ApproximateDP) or self.claim.delta == 0:
            raise InvalidValue(
                "claim", self.claim.describe(), "(epsilon, delta)-DP", "no Gaussian noise keeps this claim"
            )
        gaussian = analytic_scale(self.claim.epsilon, self.claim.delta, self.sensitivity.l2())
        return float(self.variance / Fraction(gaussian) ** 2)

    def describe(self) -> dict[str, str]:
        """Name, parameters, and the scale with the way it was found."""
        records = {"norm": self.sensitivity.norm, "radius": repr(self.sensitivity.radius)}
        own = {"calibration": self.calibration, "scale": repr(self.scale), "variance": exact_text(self.variance)}
        return AdditiveMechanism.describe(self) | records | own

    def __repr__(self) -> str:
        return f"LaplaceMechanism(dim={self.dim}, claim={self.claim.describe()!r}, calibration={self.calibration!r})"


def _records(dim: int, norm: Norm, radius: Exact, adjacency: NeighboringRelation) -> RealRecords:
    replaced = check_adjacency(adjacency) is REPLACE_ONE
    return RealRecords(
        dim=check_dim(dim), norm=norm, radius=float_above(check_positive(radius, "radius")), replaced=replaced
    )
