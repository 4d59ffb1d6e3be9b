"""The correlated mechanism in integers from beginning to end, with discrete Gaussian noise that is sampled exactly."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.laws.discrete_gaussian import DiscreteGaussian
from dpverdict.audit.laws.exact_samplers.discrete_gaussian import discrete_gaussian
from dpverdict.audit.laws.exact_samplers.random_words import UniformBelow
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ZeroConcentratedDP
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, SumOfRecords
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.core.sensitivity import Maximum, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import plain_text

DENOMINATOR = 8
"""Of the default s: the nearest such rational to sqrt d adds at most 1/(16 * 8^2 s mu^2) to the variance of a query."""


@final
class DiscreteCorrelatedGaussian(SumOfRecords):
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
    title = "the same on whole numbers, for rho-zCDP"
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
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("s", "X", "Square of the embedding constant; near sqrt d if not given."),
    )
    example = "--dim 3 --rho 0.5"

    def __init__(self, *, dim: int, rho: Exact, s: Exact | None = None) -> None:
        self.dim = check_dim(dim)
        self.claim = ZeroConcentratedDP(check_positive(rho, "rho"))
        self.s = near_root(self.dim) if s is None else check_positive(s, "s")
        if max(self.s.numerator, self.s.denominator) > 1 << 62:
            remedy = "round it: s near sqrt(d) is a matter of accuracy alone"
            raise InvalidValue("s", self.s, "a fraction of two numbers up to 2^62", remedy)
        together = (self.dim + self.s) / (2 * self.claim.rho)
        self.query_variance, self.count_variance = together, together / self.s
        for variance in (self.query_variance, self.count_variance):
            if not Fraction(1, 1 << 1000) <= variance <= 1 << 1000:
                remedy = "choose rho and s of moderate size"
                raise InvalidValue("variance of the noise", variance, "between 2^-1000 and 2^1000", remedy)
        self.noise = LatticeNoise(dim=self.dim, query_variance=self.query_variance, count_variance=self.count_variance)
        self.sensitivity = SignedUnits(dim=self.dim)
        self.assumptions = ("every record lies in {0, 1}^d",)

    @property
    def per_query_variance_upper(self) -> Fraction:
        """(query_variance + count_variance)/4: at least the variance of a released query, by very little.

        The variance of N_Z(0, v) is at most v; it falls short by 2e-7 at v = 1, and by 2e-15 at v = 2.
        """
        return (self.query_variance + self.count_variance) / 4

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
        own = {"s": plain_text(self.s), "query variance": plain_text(self.query_variance)}
        return AdditiveMechanism.describe(self) | own | {"count variance": plain_text(self.count_variance)}


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

    def loss(self, here: Array, there: Array) -> PrivacyLoss:
        """The privacy loss of the noise about two statistics; that of equal laws where nothing moves.

        Raises:
            InvalidValue: a coordinate moves by no integer, and so off the lattice.
        """
        groups: Counter[tuple[Fraction, Fraction]] = Counter()
        for i, (x, y) in enumerate(zip(here.tolist(), there.tolist(), strict=True)):
            groups[self.query_variance if i < self.dim else self.count_variance, abs(Fraction(x) - Fraction(y))] += 1
        moved = {(v, shift): count for (v, shift), count in groups.items() if shift}
        for _, shift in moved:
            if shift.denominator != 1:
                raise InvalidValue("move", float(shift), "a whole number", "keep the statistic on the integers")
        if not moved:
            return identical_laws()
        return DiscreteGaussianLoss.from_groups(sorted((v, int(m), count) for (v, m), count in moved.items()))

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the variances are values of theta functions, not rational; see the parameters."""
        return {}

    def _sample(self, variance: Fraction, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return DiscreteGaussian(variance).draw(shape, rng)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUnits:
    """One record of {0, 1}^d added or removed: (2 f - n, n) moves by (2 x - 1, 1), by 1 or -1 in every coordinate."""

    dim: int

    def maximise(self, noise: Noise) -> Maximum:
        """Any record: the noise is symmetric, so all of them make the same pair of laws up to reflection."""
        record = np.ones(self.dim)
        return Maximum(
            loss=self.loss(noise, record),
            datasets=alone(record),
            description="any record",
            justification="every record moves every coordinate by 1 or -1, and the noise is symmetric and independent",
        )

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss when ``record`` is added or removed: the same for every record."""
        if not isinstance(noise, LatticeNoise) or replacement is not None:
            raise unsupported(self, noise)
        if noise.query_variance == noise.count_variance:
            return DiscreteGaussianLoss.from_groups([(noise.query_variance, 1, self.dim + 1)])
        return DiscreteGaussianLoss.from_groups([(noise.query_variance, 1, self.dim), (noise.count_variance, 1, 1)])
