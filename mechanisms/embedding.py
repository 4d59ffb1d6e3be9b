"""The (d+1)-dimensional embedding behind Algorithm 1, and the second sampler that goes through it.

A record x becomes (2x - 1, C), so the sum of the embedded records is g = (2f - n 1, C n), of l2-sensitivity
sqrt(d + C^2) (Lebeda 2024, Lemma 3.2). The standard Gaussian mechanism in R^(d+1) releases g + N(0, sigma^2 I) with
sigma^2 = (d + C^2)/mu^2 (Lemma 3.3); the invertible linear map

    h(f, n) = (2f - n 1, C n),      h^-1(g, m) = ((g + (m/C) 1)/2, m/C)

carries one mechanism into the other (Lemma 3.4; the supplied text prints R^d for the domain, where R^(d+1) is meant).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, sqrt_up
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE, REPLACE_ONE, check_adjacency
from dpverdict.mechanisms.guarantee import GaussianDP
from dpverdict.mechanisms.mechanism import Array, check_array, check_dim, check_positive
from dpverdict.mechanisms.quadratic_form import Number
from dpverdict.mechanisms.scales import root


def h(queries: Number, count: Number, c: Number) -> tuple[Number, Number]:
    """h(f, n) = (2f - n, C n), for one query or an array of them, over any field."""
    return 2 * queries - count, c * count


def h_inverse(embedded: Number, last: Number, c: Number) -> tuple[Number, Number]:
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

    def __init__(
        self, *, dim: int, mu: Exact, C: Exact | None = None, adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    ) -> None:
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
        return np.append(*h(records.sum(axis=0), float(len(records)), self.c))

    def decode(self, noisy: Array) -> Array:
        """h^-1 of noisy embedded sums: (trials, d + 1) -> (trials, d + 1), queries first, then the count."""
        queries, count = h_inverse(noisy[:, :-1], noisy[:, -1:], self.c)
        return np.concatenate([queries, count], axis=1)

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: d noisy queries, then the noisy count; shape (d + 1,)."""
        released: Array = self.release_many(dataset, 1, rng)[0]
        return released

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases: shape (trials, d + 1)."""
        noise = self.scale * rng.standard_normal((check_dim(trials, "trials"), self.dim + 1))
        return self.decode(self.embed(dataset) + noise)
