"""What every mechanism here is: embed, add noise, decode.

    dataset --embed--> statistic --+ noise--> noisy statistic --decode--> release

A mechanism states its statistic, its noise and its sensitivity space once; its exact privacy, its worst neighbour, the
likelihood ratio and the report are derived from those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.checks import check_dim
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.mechanisms.core.noise import GaussianNoise, Noise
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.core.sensitivity import PairSpace, SensitivitySpace
from dpverdict.numerics.arrays import Array


class FalseClaimWarning(UserWarning):
    """A mechanism was built as published, and its published claim is known to be false."""


@runtime_checkable
class Mechanism(Protocol):
    """Anything that can be run on a dataset once, or many times independently."""

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: an array of shape (m,)."""
        ...

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases: shape (trials, m)."""
        ...


class AdditiveMechanism(ABC):
    """A statistic with noise of known law, a claim, and the space of differences the claim speaks of.

    Attributes:
        name: what the mechanism is called on the command line.
        source: paper and statement number.
        dim: number of queries (coordinates) d.
        claim: the guarantee the mechanism is published with.
        adjacency: the neighbouring relation of the claim.
        noise: the law of what is added to the statistic.
        sensitivity: the set of differences of the statistic over neighbouring datasets.
        assumptions: what a certificate takes for granted about the data.
        parameters: the arguments of the constructors in words, but for those that are `SHARED` and no different here.
        calibrations: the class methods that make it for an epsilon and a delta, without the "from_" of their names.
        example: the options of a small one, as on the command line: what holds for every mechanism is tested on it.
    """

    name: str
    source: str
    dim: int
    claim: Guarantee
    adjacency: NeighboringRelation
    noise: Noise
    sensitivity: SensitivitySpace | PairSpace
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    calibrations: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""

    @property
    @abstractmethod
    def record_shape(self) -> tuple[int, ...]:
        """The shape of one record."""

    @abstractmethod
    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, *record_shape).

        Raises:
            InvalidValue: another shape, NaN, or an entry out of range.
        """

    @abstractmethod
    def statistic(self, records: Array) -> Array:
        """The statistic of checked records: (n, *record_shape) -> (noise.size,)."""

    def embed(self, dataset: ArrayLike) -> Array:
        """The statistic of a dataset, before noise: shape (noise.size,)."""
        return self.statistic(self.check_records(dataset))

    def decode(self, noisy: Array) -> Array:
        """From noisy statistics to releases: shape (trials, noise.size) -> (trials, m); the identity here."""
        return noisy

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: shape (m,)."""
        released: Array = self.release_many(dataset, 1, rng)[0]
        return released

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases of one dataset: shape (trials, m)."""
        return self.decode(self.noise.add(self.embed(dataset), check_dim(trials, "trials"), rng))

    def __call__(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """The same as `release`."""
        return self.release(dataset, rng)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return {"mechanism": self.name, "source": self.source, "dim": str(self.dim), "claim": self.claim.describe()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, claim={self.claim.describe()!r})"


class GaussianMechanism(AdditiveMechanism):
    """An additive mechanism whose noise is Gaussian: every pair of neighbours is exactly mu-GDP apart, for some mu."""

    noise: GaussianNoise
    sensitivity: SensitivitySpace

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c such that w . y - c is the log-likelihood ratio of P against Q at the release y.

        w = S^-1 (m_P - m_Q) and c = w . (m_P + m_Q)/2, by the Neyman-Pearson lemma the most powerful score.
        """
        mean_p, mean_q = self.decode(np.stack([self.embed(pair.dataset), self.embed(pair.neighbour)]))
        weights = self.noise.solve(mean_p - mean_q)
        return weights, float(weights @ (mean_p + mean_q)) / 2


@runtime_checkable
class HasLikelihoodRatio(Protocol):
    """A mechanism that knows the log-likelihood ratio of its outputs."""

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c: the log-likelihood ratio of P against Q at the output y is w . y - c."""
        ...


@runtime_checkable
class HasLikelihoodScore(Protocol):
    """A mechanism whose log-likelihood ratio is not linear in its outputs."""

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q: outputs of shape (trials, m) to shape (trials,)."""
        ...
