"""The correlated mechanism in integers from beginning to end, with discrete Gaussian noise that is sampled exactly.

The law is N_Z(0, v), P(y) proportional to exp(-y^2/(2 v)) on the integers, v rational. It has two samplers, neither of
which rounds anything:

* `discrete_gaussian` is the rejection sampler of Canonne, Kamath and Steinke (2020, Algorithms 1 to 3), one sample at a
  time, from any source of uniform integers, the operating system's for a release that counts;
* `DiscreteGaussianTable` inverts the distribution function for many samples at once. A uniform number is drawn bit by
  bit until it lies certainly between two values of the function: 64 bits decide nearly always, and more are drawn when
  they do not. The values are enclosed by balls, so no sample is decided by a rounded number.
"""

from __future__ import annotations

import math
import secrets
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.balls import Exact, ball, precision
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.guarantees import ZeroConcentratedDP
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, SumOfRecords
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.core.sensitivity import Maximum, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import plain_text

UniformBelow: TypeAlias = Callable[[int], int]
"""``below(n)`` is uniform on 0..n-1, exactly and independently of the past: for example `secrets.randbelow`."""

LARGEST_TABLE = 1 << 15
"""The largest standard deviation for which a table is made: some 24 entries per unit of it."""

_GUARD_BITS = 64
_MOST_DOUBLINGS = 6


def discrete_gaussian(variance: Exact, below: UniformBelow) -> int:
    """One sample of N_Z(0, variance): a discrete Laplace Y of scale t = floor(sigma) + 1, accepted with probability

        exp(-(|Y| - sigma^2/t)^2/(2 sigma^2)).

    Args:
        variance: the parameter v = sigma^2 > 0, exact; the variance of the law is at most v.
        below: the source of uniform integers.

    Raises:
        InvalidValue: the parameter is not positive.

    Reference: Canonne, Kamath and Steinke 2020, Algorithm 3 (arXiv:2004.00010).
    """
    v = _checked(variance)
    t = math.isqrt(v.numerator // v.denominator) + 1
    while True:
        y = discrete_laplace(t, below)
        if bernoulli_exp((abs(y) - v / t) ** 2 / (2 * v), below):
            return y


def discrete_laplace(scale: int, below: UniformBelow) -> int:
    """One sample of the law P(y) proportional to exp(-|y|/scale) on the integers, for an integer scale >= 1.

    Reference: Canonne, Kamath and Steinke 2020, Algorithm 2 with s = 1.
    """
    while True:
        u = below(scale)
        if not bernoulli_exp(Fraction(u, scale), below):
            continue
        whole = 0
        while bernoulli_exp(Fraction(1), below):
            whole += 1
        magnitude = u + scale * whole
        negative = below(2) == 1
        if not (negative and magnitude == 0):  # or 0 would be counted twice
            return -magnitude if negative else magnitude


def bernoulli_exp(exponent: Fraction, below: UniformBelow) -> bool:
    """True with probability exp(-exponent) exactly, for a rational exponent >= 0.

    Reference: Canonne, Kamath and Steinke 2020, Algorithm 1 (after von Neumann).
    """
    whole, rest = divmod(exponent, 1)
    for _ in range(int(whole)):
        if not _bernoulli_exp_below_one(Fraction(1), below):
            return False
    return _bernoulli_exp_below_one(rest, below)


def _bernoulli_exp_below_one(exponent: Fraction, below: UniformBelow) -> bool:
    """For an exponent in [0, 1]: the first k at which a coin of probability exponent/k shows tails is odd."""
    k = 1
    while below(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


@final
class DiscreteGaussianTable:
    """Many exact samples of N_Z(0, variance) at once, by inversion.

    Args:
        variance: the parameter v > 0, exact, with sqrt(v) at most `LARGEST_TABLE`.
        word_bits: uniform bits drawn at once, at most 64; fewer make the exact tie-breaking frequent.

    Raises:
        InvalidValue: the parameter is not positive, or too large for a table.
    """

    __slots__ = ("_cuts", "_lowest", "variance", "word_bits")
    variance: Fraction
    word_bits: int

    def __init__(self, variance: Exact, *, word_bits: int = 64) -> None:
        self.variance = _checked(variance)
        if self.variance > LARGEST_TABLE**2:
            remedy = "sample with discrete_gaussian, which takes no memory"
            raise InvalidValue("variance", self.variance, f"at most {LARGEST_TABLE}^2", remedy)
        self.word_bits = word_bits
        lowest, cuts = _cuts(self.variance, word_bits)
        self._lowest, self._cuts = lowest, np.array(cuts, dtype=np.uint64)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent samples; the generator's bits are taken to be uniform."""
        words = rng.integers(0, (1 << self.word_bits) - 1, size=shape, dtype=np.uint64, endpoint=True)
        places = np.searchsorted(self._cuts, words, side="left")
        samples = places.astype(np.int64) + self._lowest
        ties = self._cuts[np.minimum(places, len(self._cuts) - 1)] == words
        for index in zip(*np.nonzero(ties), strict=True):
            samples[index] = self._break_tie(int(words[index]), rng)
        return samples

    def _break_tie(self, word: int, rng: np.random.Generator) -> int:
        """The sample of a uniform number whose first bits are those of ``word``: more bits until they decide."""
        bits = self.word_bits
        while True:
            word = (word << 64) | int(rng.integers(0, (1 << 64) - 1, dtype=np.uint64, endpoint=True))
            bits += 64
            lowest, cuts = _cuts(self.variance, bits)
            place = bisect_left(cuts, word)
            if cuts[place] != word:
                return lowest + place


def _cuts(v: Fraction, bits: int) -> tuple[int, list[int]]:
    """(-k, floor(2^bits P[Y <= y]) for y = -k..k-1), exactly, with k so large that the first is 0.

    A uniform number in [w, w + 1)/2^bits then falls to the smallest y with w < cut(y), if w is none of the cuts.
    """
    reach = math.ceil(math.sqrt(2 * float(v) * math.log(2) * (bits + _GUARD_BITS))) + 2
    for doublings in range(_MOST_DOUBLINGS):
        with precision((bits + 2 * _GUARD_BITS) << doublings):
            left = _left_cuts(v, bits, reach)
        if left is not None:
            # P[Y <= y] = 1 - P[Y <= -y-1], and no value of the distribution function is a multiple of 2^-bits.
            return -reach, left + [(1 << bits) - 1 - cut for cut in reversed(left)]
    raise PrecisionExhausted("distribution function", bits, "a value lies too near a multiple of a power of two")


def _left_cuts(v: Fraction, bits: int, reach: int) -> list[int] | None:
    """floor(2^bits P[Y <= y]) for y = -reach..-1; None if the precision does not decide one of them."""
    rate = -1 / (2 * ball(v))
    weights = [(rate * (y * y)).exp() for y in range(reach + 2)]
    ratio = (rate * (2 * reach + 3)).exp()  # of the weights of reach + 2 and reach + 1; beyond, they fall faster
    tail = (weights.pop() / (1 - ratio)).union(arb(0))
    scale = arb(2) ** bits / (1 + 2 * (sum(weights[1:], arb(0)) + tail))
    cuts, below = [], tail
    for weight in reversed(weights[1:]):
        below = below + weight
        cut = (below * scale).floor().unique_fmpz()
        if cut is None:
            return None
        cuts.append(int(cut))
    return cuts


def _checked(variance: Exact) -> Fraction:
    return check_positive(variance, "variance", "give the variance parameter as a positive number")


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


def _integers_of(rng: np.random.Generator) -> UniformBelow:
    """Uniform integers of any size from the bits of a generator, by rejection."""

    def below(n: int) -> int:
        bits = (n - 1).bit_length()
        while True:
            drawn = int.from_bytes(rng.bytes((bits + 7) // 8)) >> (-bits % 8)
            if drawn < n:
                return drawn

    return below
