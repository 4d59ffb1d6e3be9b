"""The Gaussian mechanism with correlated noise: Algorithm 1 of Lebeda (2024)."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Literal, final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, exactly, sqrt_up
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.cube_sensitivity import Cube
from dpverdict.mechanisms.guarantee import GaussianDP
from dpverdict.mechanisms.mechanism import Array, GaussianMechanism, check_array, check_dim, check_positive
from dpverdict.mechanisms.noise import SharedNoise
from dpverdict.mechanisms.scales import family_scales, root

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

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

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
        remedy = "pass size_estimate together with count='estimated', and only then"
        raise InvalidValue("size_estimate", size_estimate, f"consistent with count={count!r}", remedy)
    if size_estimate is None:
        return None
    estimate = exactly(size_estimate, name="size_estimate")
    if abs(estimate) > sys.float_info.max:
        raise InvalidValue("size_estimate", size_estimate, "within the range of float64", "give a number of records")
    return estimate
