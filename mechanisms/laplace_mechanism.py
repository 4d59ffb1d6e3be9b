"""The Laplace mechanism on sums, calibrated by the l1 sensitivity, by the l2 sensitivity, or by the exact curve."""

from __future__ import annotations

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
from dpverdict.mechanisms.laplace_calibration import concentrated_scale, l1_scale, theorem_scale
from dpverdict.mechanisms.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.mechanism import Array, check_array, check_dim, check_positive
from dpverdict.mechanisms.neighbours import NeighbourPair
from dpverdict.mechanisms.scales import root


@final
class LaplaceMechanism:
    """f(X) + Laplace noise on every query, with f(X) = sum x_i and records x_i in [0, 1]^d.

    The sensitivities of f are d in l1 and sqrt(d) in l2 under either relation. The scale d/epsilon makes it epsilon-DP,
    tightly. The other constructors claim (epsilon, delta)-DP with less noise: `from_theorem` by Theorem 1.3,
    `from_concentrated` by zero-concentrated DP, `with_scale` by any other argument, such as the exact curve.

    Args:
        dim: number of queries d >= 1.
        epsilon: > 0, exact.
        adjacency: the neighbouring relation of the claim. It does not change the scale here.

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

    def __init__(self, *, dim: int, epsilon: Exact, adjacency: NeighboringRelation) -> None:
        claim = PureDP(check_positive(epsilon, "epsilon"))
        self._set(dim, l1_scale(epsilon, check_dim(dim)), claim, adjacency, "l1 sensitivity")
        self.source = "Andersson, Pagh and Torkamani 2024, Lemma A.2"

    @classmethod
    def from_theorem(
        cls, *, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation
    ) -> LaplaceMechanism:
        """Calibrated by Theorem 1.3: the smaller of the l1 scale and the l2 scale of Lemma 5.4."""
        scale = theorem_scale(epsilon, delta, check_dim(dim), root(dim))
        made = cls.with_scale(
            dim=dim, scale=scale, claim=ApproximateDP(epsilon, delta), adjacency=adjacency, calibration="Theorem 1.3"
        )
        made.source = "Andersson, Pagh and Torkamani 2024, Theorem 1.3"
        return made

    @classmethod
    def from_concentrated(
        cls, *, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation
    ) -> LaplaceMechanism:
        """Calibrated by dim/(2 scale^2)-zCDP, converted at the best order; never above `from_theorem`'s scale."""
        made = cls.with_scale(
            dim=dim,
            scale=concentrated_scale(epsilon, delta, check_dim(dim), dim),
            claim=ApproximateDP(epsilon, delta),
            adjacency=adjacency,
            calibration="zero-concentrated DP, best order",
        )
        made.source = "Bun and Steinke 2016, Proposition 3.3"
        return made

    @classmethod
    def with_scale(
        cls, *, dim: int, scale: float, claim: Guarantee, adjacency: NeighboringRelation, calibration: str
    ) -> LaplaceMechanism:
        """Noise of a given scale, with whatever claim: to be certified, not trusted."""
        mechanism = cls.__new__(cls)
        mechanism._set(dim, scale, claim, adjacency, calibration)
        mechanism.source = "given by the caller"
        return mechanism

    def _set(self, dim: int, scale: float, claim: Guarantee, adjacency: NeighboringRelation, calibration: str) -> None:
        self.dim = check_dim(dim)
        self.noise = LaplaceNoise(size=self.dim, scale=scale)
        self.claim = claim
        self.adjacency = check_adjacency(adjacency)
        self.calibration = calibration
        self.assumptions = ("every record lies in [0, 1]^d", "noise and sums are real numbers, not floats")

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
        """The dataset as float64 of shape (n, d), entries in [0, 1]."""
        return check_array(dataset, self.record_shape, 0.0, 1.0)

    def embed(self, dataset: ArrayLike) -> Array:
        """f(X) = sum x_i, shape (d,)."""
        total: Array = self.check_records(dataset).sum(axis=0)
        return total

    def decode(self, noisy: Array) -> Array:
        """The identity: shape (trials, d)."""
        return noisy

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: shape (d,)."""
        released: Array = self.release_many(dataset, 1, rng)[0]
        return released

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases of one dataset: shape (trials, d)."""
        return self.noise.add(self.embed(dataset), check_dim(trials, "trials"), rng)

    def __call__(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """The same as `release`."""
        return self.release(dataset, rng)

    def laplace_shifts(self, record: ArrayLike, replacement: ArrayLike | None = None) -> tuple[Fraction, ...]:
        """How far a record moves each query, in units of the scale, exactly: |x_j|/scale, or |x_j - x'_j|/scale.

        The privacy loss of the pair is that of independent Laplace variables with these shifts. The all-ones record has
        the largest ones, d times 1/scale, and dominates: the loss of a log-concave law grows with the shift.

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
        """The neighbouring pair with the largest privacy loss: the all-ones record, against nothing or zeros."""
        ones = np.ones((1, self.dim))
        other = np.zeros((1, self.dim)) if self.adjacency is REPLACE_ONE else ones[:0]
        return NeighbourPair(dataset=ones, neighbour=other, adjacency=self.adjacency)

    def variance_over_gaussian(self) -> float:
        """What the Laplace noise costs: its variance over that of the least Gaussian noise with the same claim.

        Raises:
            InvalidValue: the claim is not (epsilon, delta)-DP with delta > 0, which no Gaussian noise would keep.
        """
        if not isinstance(self.claim, ApproximateDP) or self.claim.delta == 0:
            raise InvalidValue(
                "claim", self.claim.describe(), "(epsilon, delta)-DP", "no Gaussian noise keeps this claim"
            )
        gaussian = analytic_scale(self.claim.epsilon, self.claim.delta, root(self.dim))
        return float(self.variance / Fraction(gaussian) ** 2)

    def describe(self) -> dict[str, str]:
        """Name, parameters, and the scale with the way it was found."""
        return {
            "mechanism": self.name,
            "source": self.source,
            "dim": str(self.dim),
            "claim": self.claim.describe(),
            "calibration": self.calibration,
            "scale": repr(self.scale),
            "variance": exact_text(self.variance),
        }

    def __repr__(self) -> str:
        return f"LaplaceMechanism(dim={self.dim}, claim={self.claim.describe()!r}, calibration={self.calibration!r})"
