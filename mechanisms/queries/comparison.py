"""The variances of the mechanisms for counting queries, side by side: the numbers behind two figures of Lebeda (2024).

All are for mu = 1 under add/remove: divide by mu^2. They are float64, each the nearest to its exact value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.balls import Exact, Real, ball
from dpverdict.checks import check_dim, check_positive
from dpverdict.mechanisms.core.calibration import family_variances, root
from dpverdict.mechanisms.queries.count_ellipse import check_nonzero, least_ellipse_variance
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DensityComparison:
    """Per-query variances for d queries on records with at most k non-zero entries (Figure 3), arrays over k.

    Attributes:
        dim: d.
        k: the bounds k, shape (m,).
        standard: k, of independent noise for the l2-sensitivity sqrt k.
        count_ellipse: h(d, k) of Joseph and Yu for k <= d/2, the range of their paper; NaN beyond.
        correlated: (sqrt d + 1)^2/4 of Algorithm 1, which does not depend on k and releases the count as well.
        optimum: OPT(d, k), the least of any Gaussian mechanism.
        excess: correlated - optimum, without the cancellation of the two; below 1/(4d) for k > (d + sqrt d)/2.
    """

    dim: int
    k: NDArray[np.int64]
    standard: Array
    count_ellipse: Array
    correlated: Array
    optimum: Array
    excess: Array

    def relative(self) -> dict[str, Array]:
        """Each variance divided by that of the standard mechanism, as on the left of the figure."""
        names = ("standard", "count_ellipse", "correlated", "optimum")
        return {name: getattr(self, name) / self.standard for name in names}


def compare_ellipses(dim: int, k: int | Iterable[int] | None = None) -> DensityComparison:
    """Figure 3 of Lebeda (2024), with the optimum added.

    Args:
        dim: number of queries d >= 1; the figure has 1000.
        k: one bound or several, each from 1 to d; all of 1..d when not given.

    Raises:
        InvalidValue: dim or a k out of range.

    >>> figure = compare_ellipses(1000, [500, 1000])
    >>> figure.count_ellipse.round(5).tolist(), figure.optimum.round(5).tolist(), figure.correlated.round(5).tolist()
    ([265.80348, nan], [265.80348, 266.06135], [266.06139, 266.06139])
    """
    d = check_dim(dim)
    bounds = range(1, d + 1) if k is None else [k] if isinstance(k, int | np.integer) else list(k)
    checked = np.array([check_nonzero(bound, d) for bound in bounds], dtype=np.int64)
    optima = [least_ellipse_variance(d, bound) for bound in checked.tolist()]
    least, correlated = np.array([value.nearest() for value in optima]), query_variance(d, root(d))
    return DensityComparison(
        dim=d,
        k=checked,
        standard=checked.astype(np.float64),
        count_ellipse=np.where(2 * checked <= d, least, math.nan),  # there the Count ellipse is the optimum
        correlated=np.full(checked.size, correlated.nearest()),
        optimum=least,
        excess=np.array([_difference(correlated, value) for value in optima]),
    )


def _difference(left: Real, right: Real) -> float:
    """left - right, to nearest; two of the numbers compared here are equal only if both are rational (d a square)."""
    if left.rational is not None and right.rational is not None:
        return float(left.rational - right.rational)
    return Real(lambda: left.ball() - right.ball()).nearest()


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConstantComparison:
    """The variances of Algorithm 1 with embedding constant C (Figure 2), arrays over C.

    Attributes:
        dim: d.
        constants: the constants C, shape (m,).
        query: (d + C^2 + d/C^2 + 1)/4, of a query.
        count: d/C^2 + 1, of the number of records.
    """

    dim: int
    constants: Array
    query: Array
    count: Array


def compare_constants(dim: int, constants: Iterable[Exact]) -> ConstantComparison:
    """Figure 2 of Lebeda (2024): what the embedding constant C trades between the queries and the count.

    Args:
        dim: number of queries d >= 1; the figure has 10000.
        constants: values of C > 0, each taken exactly; C = d^(1/4) is best for the queries.

    Raises:
        InvalidValue: dim or a constant out of range.

    >>> figure = compare_constants(10000, [10, 100])
    >>> figure.query.tolist(), figure.count.tolist()
    ([2550.25, 5000.5], [101.0, 2.0])
    """
    d = check_dim(dim)
    squares = [check_positive(constant, "constants") ** 2 for constant in constants]
    return ConstantComparison(
        dim=d,
        constants=np.array([Real.of(square).sqrt().nearest() for square in squares]),
        query=np.array([query_variance(d, Real.of(square)).nearest() for square in squares]),
        count=np.array([Real.of(d / square + 1).nearest() for square in squares]),
    )


def query_variance(dim: int, c_squared: Real) -> Real:
    """vz + ve of Algorithm 1 at C^2, for mu = 1: (d + C^2 + d/C^2 + 1)/4 (Lebeda 2024, Lemma 3.5)."""
    if c_squared.rational is not None:
        return Real.of(sum(family_variances(dim, c_squared.rational, 1)))
    return Real(lambda: sum(family_variances(dim, c_squared.ball(), 1), ball(0)))
