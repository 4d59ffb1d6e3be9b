"""The production form of the correlated mechanism: integers from beginning to end, sampled exactly."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike, NDArray

from dpverdict.balls import Exact
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.discrete_gaussian import (
    LARGEST_TABLE,
    DiscreteGaussianTable,
    UniformBelow,
    discrete_gaussian,
)
from dpverdict.mechanisms.guarantee import ZeroConcentratedDP
from dpverdict.mechanisms.mechanism import AdditiveMechanism, Array, check_array, check_dim, check_positive
from dpverdict.mechanisms.neighbours import NeighbourPair
from dpverdict.mechanisms.noise import Noise
from dpverdict.mechanisms.sensitivity import Maximum, unsupported
from dpverdict.mechanisms.shift import LatticeShift

DENOMINATOR = 8
"""Of the default s: the nearest such rational to sqrt d adds at most 1/(16 * 8^2 s mu^2) to the variance of a query."""


@final
class DiscreteCorrelatedGaussian(AdditiveMechanism):
    """Algorithm 1 of Lebeda (2024) on the integer lattice: d counting queries and the count, rho-zCDP.

    For records in {0, 1}^d under ADD_OR_REMOVE_ONE, with mu^2 = 2 rho and any rational s > 0, the integers

        g_i = 2 f_i - n + N_Z(0, (d + s)/mu^2),  i = 1..d,     and     N = n + N_Z(0, (d + s)/(s mu^2))

    are released; the analyst reads f_i = (g_i + N)/2 and n = N. The discrete Gaussians are sampled exactly and every
    sum is one of integers, so nothing of the proof is lost to floating point, which leaks in the naive form of
    Algorithm 1. Each coordinate moves by 1, and d/((d + s)/mu^2) + 1/((d + s)/(s mu^2)) = mu^2 for EVERY rational s:
    the release is exactly rho-zCDP, and the choice of s near sqrt d is one of accuracy alone. It is not mu-GDP: its
    profile lies above that of N(0, 1) against N(mu, 1) at some epsilon. Publish rho, or the exact profile.

    Args:
        dim: number of queries d >= 1.
        rho: the zCDP parameter > 0, exact (int, float, Fraction or decimal string).
        s: the square of the embedding constant C, exact, > 0; near sqrt d when not given (see `DENOMINATOR`).

    Attributes:
        s: the s in use.
        query_variance, count_variance: the parameters of the two discrete Gaussians, exactly.

    Raises:
        InvalidValue: a parameter out of range.

    >>> mechanism = DiscreteCorrelatedGaussian(dim=9, rho="0.5")
    >>> mechanism.s, mechanism.query_variance, mechanism.count_variance
    (Fraction(3, 1), Fraction(12, 1), Fraction(4, 1))
    """

    name = "discrete-correlated-gaussian"
    source = "Lebeda 2024, Algorithm 1, with the discrete Gaussian of Canonne, Kamath and Steinke 2020"
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    claim: ZeroConcentratedDP
    noise: LatticeNoise
    dim: int
    s: Fraction
    query_variance: Fraction
    count_variance: Fraction
    sensitivity: SignedUnits
    assumptions: tuple[str, ...]

    def __init__(self, *, dim: int, rho: Exact, s: Exact | None = None) -> None:
        self.dim = check_dim(dim)
        self.claim = ZeroConcentratedDP(check_positive(rho, "rho"))
        self.s = near_root(self.dim) if s is None else check_positive(s, "s")
        together = (self.dim + self.s) / (2 * self.claim.rho)
        self.query_variance, self.count_variance = together, together / self.s
        self.noise = LatticeNoise(dim=self.dim, query_variance=self.query_variance, count_variance=self.count_variance)
        self.sensitivity = SignedUnits(dim=self.dim)
        self.assumptions = ("every record lies in {0, 1}^d",)

    @property
    def per_query_variance_upper(self) -> Fraction:
        """(query_variance + count_variance)/4: at least the variance of a released query, by very little.

        The variance of N_Z(0, v) is at most v; it falls short by 2e-7 at v = 1, and by 2e-15 at v = 2.
        """
        return (self.query_variance + self.count_variance) / 4

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), entries 0 or 1."""
        records = check_array(dataset, self.record_shape, 0.0, 1.0)
        inside = (records == 0.0) | (records == 1.0)
        if not inside.all():
            remedy = "encode the attributes as 0 and 1: this mechanism lives on the integers"
            raise InvalidValue("dataset entry", float(records[~inside][0]), "0 or 1", remedy)
        return records

    def statistic(self, records: Array) -> Array:
        """(2 f - n, n): d + 1 integers, shape (d + 1,)."""
        return np.append(2.0 * records.sum(axis=0) - len(records), float(len(records)))

    def release_integers(self, dataset: ArrayLike, below: UniformBelow = secrets.randbelow) -> list[int]:
        """The release itself, (g_1, ..., g_d, N), in integers from beginning to end.

        Args:
            dataset: records of {0, 1}^d, shape (n, d).
            below: the source of randomness; that of the operating system unless another is given.
        """
        embedded = [int(value) for value in self.embed(dataset)]
        variances = [self.query_variance] * self.dim + [self.count_variance]
        return [value + discrete_gaussian(v, below) for value, v in zip(embedded, variances, strict=True)]

    def read_integers(self, integers: list[int]) -> tuple[list[Fraction], int]:
        """What the analyst makes of a release of integers: the estimates of f, multiples of 1/2, and that of n."""
        *queries, count = integers
        return [Fraction(g + count, 2) for g in queries], count

    def decode(self, noisy: Array) -> Array:
        """From (g, N) to ((g + N)/2, N), in float64, after the noise: shape (trials, d + 1)."""
        count = noisy[:, -1:]
        return np.concatenate([(noisy[:, :-1] + count) / 2, count], axis=1)

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c such that w . y - c is the log-likelihood ratio of P against Q at the release y.

        On the integers log p/q = sum (a_i - b_i) (2 y_i - a_i - b_i)/(2 v_i), a and b the centres of the two laws.
        """
        p, q = self.embed(pair.dataset), self.embed(pair.neighbour)
        weights = (p - q) / self.noise.parameters()
        offset = float(weights @ (p + q)) / 2
        return np.append(2 * weights[:-1], weights[-1] - weights[:-1].sum()), offset

    def describe(self) -> dict[str, str]:
        """Name, parameters, s and the parameters of the two discrete Gaussians."""
        own = {"s": str(self.s), "query variance": str(self.query_variance)}
        return AdditiveMechanism.describe(self) | own | {"count variance": str(self.count_variance)}


def near_root(dim: int) -> Fraction:
    """The multiple of 1/8 nearest to sqrt(d), exactly sqrt(d) if d is a perfect square, found in integers."""
    doubled = math.isqrt(4 * dim * DENOMINATOR**2)
    return Fraction((doubled + 1) // 2, DENOMINATOR)


@final
@dataclass(frozen=True, kw_only=True)
class LatticeNoise:
    """Independent N_Z(0, query_variance) on d coordinates and N_Z(0, count_variance) on the last."""

    dim: int
    query_variance: Fraction
    count_variance: Fraction

    @property
    def size(self) -> int:
        """d + 1."""
        return self.dim + 1

    def parameters(self) -> Array:
        """The parameter v of every coordinate, rounded to float64; shape (d + 1,)."""
        return np.append(np.full(self.dim, float(self.query_variance)), float(self.count_variance))

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (d + 1,) -> (trials, d + 1), of integers.

        The samples and the sums are exact; a float64 holds every integer up to 2^53.
        """
        noisy = np.empty((trials, self.size))
        noisy[:, : self.dim] = self._sample(self.query_variance, (trials, self.dim), rng)
        noisy[:, self.dim] = self._sample(self.count_variance, (trials,), rng)
        noisy += statistic
        return noisy

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the variances are values of theta functions, not rational; see the parameters."""
        return {}

    def _sample(self, variance: Fraction, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.generic]:
        if variance <= LARGEST_TABLE**2:
            return self._tables[variance].sample(shape, rng)
        below = _integers_of(rng)
        return np.array([discrete_gaussian(variance, below) for _ in range(math.prod(shape))], dtype=object).reshape(
            shape
        )

    @cached_property
    def _tables(self) -> dict[Fraction, DiscreteGaussianTable]:
        wanted = {v for v in (self.query_variance, self.count_variance) if v <= LARGEST_TABLE**2}
        return {v: DiscreteGaussianTable(v) for v in wanted}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUnits:
    """One record of {0, 1}^d added or removed: (2 f - n, n) moves by (2 x - 1, 1), by 1 or -1 in every coordinate."""

    dim: int

    def maximise(self, noise: Noise) -> Maximum:
        """Any record: the noise is symmetric, so all of them make the same pair of laws up to reflection."""
        record = np.ones(self.dim)
        return Maximum(
            mu_squared=None,
            records=lambda: (record, None),
            description="any record",
            justification="every record moves every coordinate by 1 or -1, and the noise is symmetric and independent",
            shift=self.shift(noise, record),
        )

    def shift(self, noise: Noise, record: Array, replacement: Array | None = None) -> LatticeShift:
        """The pair of laws when ``record`` is added or removed: the same for every record."""
        if not isinstance(noise, LatticeNoise) or replacement is not None:
            raise unsupported(self, noise)
        if noise.query_variance == noise.count_variance:
            return LatticeShift(groups=((noise.query_variance, 1, self.dim + 1),))
        return LatticeShift(groups=((noise.query_variance, 1, self.dim), (noise.count_variance, 1, 1)))


def _integers_of(rng: np.random.Generator) -> UniformBelow:
    """Uniform integers of any size from the bits of a generator, by rejection."""

    def below(n: int) -> int:
        bits = (n - 1).bit_length()
        while True:
            drawn = int.from_bytes(rng.bytes((bits + 7) // 8)) >> (-bits % 8)
            if drawn < n:
                return drawn

    return below
