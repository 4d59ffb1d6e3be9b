"""The Gaussian mechanism with correlated noise, Algorithm 1 of Lebeda (2024), and the embedding behind it.

`CorrelatedGaussian` adds the correlated noise itself; `EmbeddedGaussian` is a second sampler of the same law, through d
+ 1 dimensions. A record x becomes (2x - 1, C), so the sum of the embedded records is g = (2f - n 1, C n), of
l2-sensitivity sqrt(d + C^2) (Lebeda 2024, Lemma 3.2). The standard Gaussian mechanism in R^(d+1) releases g + N(0,
sigma^2 I) with sigma^2 = (d + C^2)/mu^2 (Lemma 3.3); the invertible linear map

    h(f, n) = (2f - n 1, C n),      h^-1(g, m) = ((g + (m/C) 1)/2, m/C)

carries one mechanism into the other (Lemma 3.4; the supplied text prints R^d for the domain, where R^(d+1) is meant).
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, exactly, sqrt_up
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import family_scales, root
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, check_adjacency
from dpverdict.mechanisms.core.noise import Number, SharedNoise
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.core.sensitivity import Cube
from dpverdict.numerics.arrays import Array

Count = Literal["released", "withheld", "estimated"]


@final
class CorrelatedGaussian(GaussianMechanism):
    """d counting queries with half the noise: one shared eta, one z_i per query, and the number of records.

    For records in [0, 1]^d under ADD_OR_REMOVE_ONE, f(X) = sum x_i and n = |X|:

        release  f_i + eta + z_i  (i = 1..d)  and  n + 2 eta,     z_i ~ N(0, vz),  eta ~ N(0, ve),
        vz = (d + C^2)/(4 mu^2),   ve = (d + C^2)/(4 C^2 mu^2).

    With C = d^(1/4) this is Algorithm 1, whose error per query has standard deviation (sqrt d + 1)/(2 mu) against
    sqrt(d)/mu of the standard mechanism; any C > 0 is private (section 3.1). It is exactly mu-GDP: every binary record
    attains mu (Theorem 3.1). Both scales are rounded up to float64.

    Args:
        dim: number of queries d >= 1.
        mu: GDP parameter > 0, exact (int, float, Fraction or decimal string).
        C: scale of the extra coordinate of the embedding, > 0; d^(1/4) when not given.
        count: "released" (Algorithm 1); "withheld" (the queries only: at most mu-GDP, and exactly mu only if d is a
            perfect square, for the default C); "estimated" (Lemma 3.6: the mechanism works on f - n/2 with noise
            N(0, d/(4 mu^2)) alone, and adds half of ``size_estimate``).
        size_estimate: for "estimated" only: an estimate of n obtained WITHOUT looking at this dataset, or paid for
            separately. With n itself in its place the privacy is lost: the true parameter is 2 mu.

    Attributes:
        independent_scale, shared_scale: standard deviations of z_i and of eta (0 with an estimate).
        embedding_constant: independent_scale/shared_scale as an exact rational: the C that the floats realise.

    Raises:
        InvalidValue: a parameter out of range.

    >>> mechanism = CorrelatedGaussian(dim=9, mu=1)
    >>> mechanism.independent_scale ** 2, mechanism.shared_scale
    (3.0000000000000004, 1.0)
    """

    name = "correlated-gaussian"
    title = "d counts with half the noise of the standard one"
    source: str = "Lebeda 2024, Algorithm 1 and Theorem 3.1"
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    dim: int
    claim: GaussianDP
    size_estimate: Fraction | None
    independent_scale: float
    shared_scale: float
    noise: SharedNoise
    sensitivity: Cube
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("C", "X", "Embedding constant; d^(1/4) if not given."),
        Parameter("count", "released|withheld|estimated", "What happens to the number of records."),
        Parameter("size_estimate", "N", "With --count estimated: one made without the data."),
    )
    example = "--dim 3 --mu 1"

    def __init__(
        self,
        *,
        dim: int,
        mu: Exact,
        C: Exact | None = None,
        count: Count = "released",
        size_estimate: Exact | None = None,
    ) -> None:
        exact_mu = check_positive(mu, "mu")
        self.dim = check_dim(dim)
        self.claim = GaussianDP(exact_mu)
        self.count: Count = count
        self.size_estimate = _check_estimate(count, size_estimate)
        if count == "estimated":
            if C is not None:
                raise InvalidValue("C", C, "left out with count='estimated'", "Lemma 3.6 has no embedding constant")
            self.source = "Lebeda 2024, Lemma 3.6"
            self.independent_scale, self.shared_scale = sqrt_up(Real.of(self.dim / (4 * exact_mu**2))), 0.0
            self.noise = SharedNoise(dim=self.dim, independent_scale=self.independent_scale)
            self.sensitivity = Cube(dim=self.dim, offset=Fraction(1, 2))
        else:
            c_squared = root(self.dim) if C is None else Real.of(check_positive(C, "C") ** 2)
            self.independent_scale, self.shared_scale = family_scales(self.dim, c_squared, exact_mu)
            self.noise = SharedNoise(
                dim=self.dim,
                independent_scale=self.independent_scale,
                shared_scale=self.shared_scale,
                count_loading=2 if count == "released" else None,
            )
            self.sensitivity = Cube(dim=self.dim)
        self.assumptions = ("every record lies in [0, 1]^d",) + (
            ("the size estimate does not depend on the dataset",) if count == "estimated" else ()
        )

    @property
    def embedding_constant(self) -> Fraction:
        """The C that the float scales realise, exactly: the ratio of the two standard deviations (section 3.1)."""
        if self.shared_scale == 0.0:
            raise InvalidValue("count", self.count, "'released' or 'withheld'", "an estimate replaces the embedding")
        return Fraction(self.independent_scale) / Fraction(self.shared_scale)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), entries in [0, 1]."""
        return check_array(dataset, self.record_shape, 0.0, 1.0)

    def statistic(self, records: Array) -> Array:
        """(f, n) of shape (d + 1,) with the count released; f of shape (d,) without; f - n/2 with an estimate."""
        total: Array = records.sum(axis=0)
        if self.count == "released":
            return np.append(total, float(len(records)))
        return total if self.count == "withheld" else total - len(records) / 2

    def decode(self, noisy: Array) -> Array:
        """The identity, but for Lemma 3.6: half the size estimate is added to every query."""
        return noisy if self.size_estimate is None else noisy + float(self.size_estimate) / 2

    def describe(self) -> dict[str, str]:
        """Name, parameters and the two scales of the noise."""
        scales = {"independent scale": repr(self.independent_scale), "shared scale": repr(self.shared_scale)}
        return GaussianMechanism.describe(self) | {"count": self.count} | scales


def _check_estimate(count: str, size_estimate: Exact | None) -> Fraction | None:
    if count not in ("released", "withheld", "estimated"):
        raise InvalidValue("count", count, "'released', 'withheld' or 'estimated'", "say what happens to the count")
    if (count == "estimated") != (size_estimate is not None):
        remedy = "give --size-estimate together with --count estimated, and only then"
        raise InvalidValue("size_estimate", size_estimate, f"consistent with count={count!r}", remedy)
    if size_estimate is None:
        return None
    estimate = exactly(size_estimate, name="size_estimate")
    if abs(estimate) > sys.float_info.max:
        raise InvalidValue("size_estimate", size_estimate, "within the range of float64", "give a number of records")
    return estimate


def to_embedding(queries: Number, count: Number, c: Number) -> tuple[Number, Number]:
    """h(f, n) = (2f - n, C n), for one query or an array of them, over any field."""
    return 2 * queries - count, c * count


def from_embedding(embedded: Number, last: Number, c: Number) -> tuple[Number, Number]:
    """h^-1(g, m) = ((g + m/C)/2, m/C), for one coordinate or an array of them, over any field."""
    return (embedded + last / c) / 2, last / c


def pulled_back_covariance(sigma_squared: Number, c: Number) -> dict[str, Number]:
    """The distinct entries of h^-1 (sigma^2 I) h^-T, over any field (Corollary 3.1 for C = d^(1/4)).

    Row i of h^-1 is (e_i/2, 1/(2C)) for a query and (0, 1/C) for the count.
    """
    own, shared = sigma_squared / 4, sigma_squared / (4 * c * c)
    return {"query": own + shared, "query-query": shared, "query-count": 2 * shared, "count": 4 * shared}


def squared_sensitivity(dim: Number, c_squared: Number, adjacency: NeighboringRelation) -> Number:
    """The squared l2-sensitivity of the embedded sums: d + C^2, or max(4 d, 2 (d + C^2)) for groups under REPLACE_ONE.

    Under add/remove d + C^2 - ||x^||^2 = 4 sum x_i (1 - x_i) >= 0 (Lemma 3.2). Under replacement two records of one
    group differ by at most 4 d, records of two groups by the sum of both squares (Lemma 4.2).
    """
    once = dim + c_squared
    return max(4 * dim, 2 * once) if adjacency is REPLACE_ONE else once


@final
class EmbeddedGaussian:
    """The second sampler of Algorithm 1: the standard Gaussian mechanism in R^(d+1), decoded by h^-1.

    It shares no sampling code with `CorrelatedGaussian`, against which it is compared.

    Args:
        dim: number of queries d >= 1.
        mu: GDP parameter > 0, exact.
        C: scale of the extra coordinate, > 0; when not given, the float64 next to d^(1/4), or to sqrt d for groups
            under REPLACE_ONE.
        adjacency: ADD_OR_REMOVE_ONE for Algorithm 1 and for the rows of Algorithm 2; REPLACE_ONE for the rows of
            Algorithm 2 under replacement.

    Attributes:
        c: the float64 C, exactly as it is used.
        scale: sigma = Delta/mu rounded up to float64, Delta^2 as in `squared_sensitivity`.
    """

    dim: int
    claim: GaussianDP
    c: float
    scale: float

    def __init__(self, *, dim: int, mu: Exact, C: Exact | None = None, adjacency: NeighboringRelation) -> None:
        check_adjacency(adjacency)
        self.dim = check_dim(dim)
        self.claim = GaussianDP(check_positive(mu, "mu"))
        default = root(self.dim) if adjacency is REPLACE_ONE else root(self.dim).sqrt()
        self.c = (default if C is None else Real.of(check_positive(C, "C"))).nearest()
        if not 0.0 < self.c < math.inf:
            raise InvalidValue("C", C, "a positive float64", "choose a constant of moderate size")
        self.scale = sqrt_up(
            Real.of(squared_sensitivity(self.dim, Fraction(self.c) ** 2, adjacency) / self.claim.mu**2)
        )

    def embed(self, dataset: ArrayLike) -> Array:
        """g(X) = (2f - n, C n), shape (d + 1,)."""
        records = check_array(dataset, (self.dim,), 0.0, 1.0)
        return np.append(*to_embedding(records.sum(axis=0), float(len(records)), self.c))

    def decode(self, noisy: Array) -> Array:
        """h^-1 of noisy embedded sums: (trials, d + 1) -> (trials, d + 1), queries first, then the count."""
        queries, count = from_embedding(noisy[:, :-1], noisy[:, -1:], self.c)
        return np.concatenate([queries, count], axis=1)

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: d noisy queries, then the noisy count; shape (d + 1,)."""
        released: Array = self.release_many(dataset, 1, rng)[0]
        return released

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases: shape (trials, d + 1)."""
        noise = self.scale * rng.standard_normal((check_dim(trials, "trials"), self.dim + 1))
        return self.decode(self.embed(dataset) + noise)
