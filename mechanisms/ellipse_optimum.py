"""The least Gaussian noise for d counting queries when a record has at most k ones, for every d and k, with its proof.

Minimise tr(S)/d over covariances S with x^T S^-1 x <= 1 for every binary x with at most k ones (mu = 1, add/remove). By
averaging over permutations, S = along on the line of 1 and across on its complement; a record with j ones then has

    g(j) = u j^2/d + w j (d - j)/d,      u = 1/along,  w = 1/across,      g(j) <= 1 for j = 0..k.

Lower bound, for any law of x on the admissible records with m1 = E|x|, m2 = E|x|^2 (|x| the number of ones):

    tr(S) >= (tr E[x x^T]^(1/2))^2,  hence  OPT(d, k) >= F(m1, m2)/d,  F = (sqrt(m2/d) + sqrt((d-1)(m1 - m2/d)))^2.

A law on one or two layers closes the gap. This settles the range k > d/2 that Lebeda (2024, section 4.1) leaves open:
the Count ellipse of Joseph and Yu is the optimum for k <= khat(d), about (d + sqrt d)/2, and from there on OPT does not
change, unless d = s^2 + 1 or d = s^2 - 1, where two layers are active. Every optimum is checked when it is made, in the
field of rationals and one square root: private on every layer, and equal to the lower bound. Nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.count_ellipse import eigenvalues, largest_optimal_k, pair_root
from dpverdict.mechanisms.mechanism import check_dim
from dpverdict.mechanisms.quadratic_field import Surd
from dpverdict.mechanisms.quadratic_form import Number


class CertificateFails(ArithmeticError):
    """An ellipse that is not private on some layer, or dearer than its lower bound: it is refused."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EllipseOptimum:
    """An optimal ellipse with the law on layers that proves it optimal, for mu = 1; exact throughout.

    Attributes:
        dim, nonzero: d and k.
        along, across: the eigenvalues of the covariance on the all-ones line and on its complement.
        active_layers: the numbers of ones j with g(j) = 1 that carry the law of the lower bound, one or two adjacent.
        weights: the probability of each, adding up to 1.

    Raises:
        CertificateFails: g(j) > 1 for some j <= k, or the variance exceeds the lower bound of the law.
    """

    dim: int
    nonzero: int
    along: Surd
    across: Surd
    active_layers: tuple[int, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        self._check_primal()
        self._check_dual()

    @property
    def per_query_variance(self) -> Surd:
        """OPT(d, k) = tr(S)/d, vz + ve."""
        return (self.along + (self.dim - 1) * self.across) / self.dim

    @property
    def independent_variance(self) -> Surd:
        """vz, of the noise that every query gets for itself: the eigenvalue on the complement."""
        return self.across

    @property
    def shared_variance(self) -> Surd:
        """ve, of the noise that all queries share: (along - across)/d."""
        return (self.along - self.across) / self.dim

    def at_layer(self, j: int) -> Surd:
        """g(j): the squared GDP parameter of a record with j ones."""
        return (j * j / self.along + j * (self.dim - j) / self.across) / self.dim

    @property
    def free_count_precision(self) -> Surd:
        """P: with j the active layer, n - (1^T f)/j + N(0, 1/P) may be released too, independently, at no cost in mu.

        A record with i ones has g(i) + P (1 - i/j)^2 <= 1 for every i <= k, with equality for some i other than j.

        Raises:
            InvalidValue: two layers are active (d = s^2 + 1 or s^2 - 1 and k > khat), where no count is free.
        """
        if len(self.active_layers) != 1:
            requirement = (
                f"'withheld' for dim={self.dim}, k={self.nonzero}, where two layers are active: no count is free"
            )
            remedy = "withhold the count, or release it with CorrelatedGaussian, whose queries cost little more"
            raise InvalidValue("count", "released", requirement, remedy)
        (j,) = self.active_layers
        slack = [
            (1 - self.at_layer(i)) * Fraction(j * j, (j - i) ** 2)
            for i in (0, j - 1, j + 1)
            if 0 <= i <= self.nonzero and i != j
        ]
        least = slack[0]
        for value in slack[1:]:
            least = value if value < least else least
        return least

    def _check_primal(self) -> None:
        """g is concave (u <= w) and 1 at the active layers, so it is at most 1 everywhere if it is so next to them."""
        first, last = self.active_layers[0], self.active_layers[-1]
        tight = all(self.at_layer(j) == 1 for j in self.active_layers)
        beside = all(self.at_layer(j) <= 1 for j in (first - 1, last + 1) if 0 <= j <= self.nonzero)
        adjacent = last - first == len(self.active_layers) - 1 and first >= 1 and last <= self.nonzero
        if not (self.across > 0 and self.along >= self.across and adjacent and tight and beside):
            raise CertificateFails(f"the ellipse for d={self.dim}, k={self.nonzero} is not private on every layer")

    def _check_dual(self) -> None:
        """tr(S) = (sqrt A + sqrt B)^2 with A = m2/d, B = (d-1)(m1 - m2/d): tr(S) - A - B >= 0, its square is 4 A B."""
        law = list(zip(self.active_layers, self.weights, strict=True))
        m1, m2 = sum((j * p for j, p in law), Fraction(0)), sum((j * j * p for j, p in law), Fraction(0))
        a = m2 / self.dim
        b = (self.dim - 1) * (m1 - a)
        cross = self.per_query_variance * self.dim - a - b
        if not (min(self.weights) >= 0 and sum(self.weights) == 1 and cross >= 0 and cross * cross == 4 * a * b):
            raise CertificateFails(f"the ellipse for d={self.dim}, k={self.nonzero} is not equal to its lower bound")


def ellipse_optimum(dim: int, k: int) -> EllipseOptimum:
    """The optimal ellipse for d queries and records with at most k ones, in O(1) integer operations, checked.

    Args:
        dim: number of queries d >= 1.
        k: the largest number of non-zero entries of a record, 1 <= k <= d.

    Raises:
        InvalidValue: dim or k out of range.

    >>> best = ellipse_optimum(10, 10)
    >>> best.per_query_variance.real(), best.active_layers, best.weights
    (Real(56/13), (6, 7), (Fraction(7, 26), Fraction(19, 26)))
    """
    d = check_dim(dim)
    most = check_nonzero(k, d)
    s, khat = pair_root(d), largest_optimal_k(d)
    if s is not None and most > khat:
        return _two_layers(d, most, s, khat)
    j = min(most, khat)
    along, across = eigenvalues(d, j, Surd.root) if d > 1 else (Surd.of(1), Surd.of(1))
    return EllipseOptimum(dim=d, nonzero=most, along=along, across=across, active_layers=(j,), weights=(Fraction(1),))


def optimum(dim: int, k: int) -> Real:
    """OPT(d, k): the least per-query variance of a 1-GDP Gaussian mechanism under add/remove; divide by mu^2.

    The variance of the Count ellipse h(d, k) for k <= khat(d), about (d + sqrt d)/2, and constant in k from there on.
    It solves the open problem of Lebeda 2024, section 4.1 (arXiv:2408.06853), and is checked against its lower bound
    whenever it is computed.

    Raises:
        InvalidValue: dim or k out of range.

    >>> optimum(2, 2), optimum(100, 100), round(optimum(1000, 500).nearest(), 5)
    (Real(4/3), Real(121/4), 265.80348)
    """
    return ellipse_optimum(dim, k).per_query_variance.real()


def check_nonzero(k: object, dim: int) -> int:
    """k as a whole number from 1 to d.

    Raises:
        InvalidValue: it is not.
    """
    remedy = "give the largest number of non-zero entries of a record"
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= dim:
        raise InvalidValue("k", k, f"a whole number from 1 to dim={dim}", remedy)
    return int(k)


def pair_eigenvalues(d: Number, s: Number) -> tuple[Number, Number]:
    """(along, across) for d = s^2 + 1 or s^2 - 1 and k > khat, over any field: j(j+1)/s and j(j+1)/(d+s), with

    d + s = 2 j + 1.
    """
    both = ((d + s) ** 2 - 1) / 4
    return both / s, both / (d + s)


def _two_layers(d: int, k: int, s: int, j: int) -> EllipseOptimum:
    """d = s^2 + c, c = 1 or -1, and k > j = khat: the ellipse through the layers j and j + 1, T = d + s = 2 j + 1."""
    along, across = pair_eigenvalues(Fraction(d), Fraction(s))
    if d == s * s + 1:
        upper = Fraction(3 * s * s + 3 * s + 2, 4 * (s * s + s + 1))
    else:
        upper = Fraction((s - 1) * (s + 2), 4 * (s * s + s - 1))
    return EllipseOptimum(
        dim=d,
        nonzero=k,
        along=Surd.of(along),
        across=Surd.of(across),
        active_layers=(j, j + 1),
        weights=(1 - upper, upper),
    )
