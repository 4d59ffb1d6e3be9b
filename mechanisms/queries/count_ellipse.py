"""Counting queries on records with at most k ones: the least Gaussian noise for every d and k, with its proof.

The Count ellipse of Joseph and Yu is noise shaped for such records, quoted by Lebeda (2024, section 4.1) as JY24;
formulas re-derived from one constraint p u + q w <= 1 with p = k^2/d, q = k (d - k)/d, u and w the precisions along the
all-ones line and on its complement (Cauchy-Schwarz). With R = sqrt((d - 1) k (d - k)), the eigenvalues of the
covariance are a1^2 = k (k + R)/d along the all-ones line and a2^2 = R (k + R)/(d (d - 1)) on its complement, and the
variance of a query is h(d, k) = (k + R)^2/d^2.

The ellipse is private, and optimal, for every k up to `largest_optimal_k`; beyond it the formula is not private, and
`ellipse_optimum` has the optimum. `CountEllipse` releases with either, and with the count where it is free.

The problem: minimise tr(S)/d over covariances S with x^T S^-1 x <= 1 for every binary x with at most k ones (mu = 1,
add/remove). By averaging over permutations, S = along on the line of 1 and across on its complement; a record with j
ones then has

    g(j) = u j^2/d + w j (d - j)/d,      u = 1/along,  w = 1/across,      g(j) <= 1 for j = 0..k.

Lower bound, for any law of x on the admissible records with m1 = E|x|, m2 = E|x|^2 (|x| the number of ones):

    tr(S) >= (tr E[x x^T]^(1/2))^2,  hence  OPT(d, k) >= F(m1, m2)/d,  F = (sqrt(m2/d) + sqrt((d-1)(m1 - m2/d)))^2.

A law on one or two layers closes the gap. This settles the range k > d/2 that Lebeda (2024, section 4.1) leaves open:
the Count ellipse of Joseph and Yu is the optimum for k <= khat(d), about (d + sqrt d)/2, and from there on OPT does not
change, unless d = s^2 + 1 or d = s^2 - 1, where two layers are active. Every optimum is checked when it is made, in the
field of rationals and one square root: private on every layer, and equal to the lower bound. Nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import ClassVar, Literal, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.balls import Exact, Real
from dpverdict.checks import check_array, check_dim, check_positive, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise, Number, SharedNoise, maximise_over_integers
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.core.sensitivity import Cube, Maximum, QuadraticSpace, SensitivitySpace, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import Surd, moments


def eigenvalues(d: int, k: int, root: Callable[[int], Number]) -> tuple[Number, Number]:
    """(a1^2, a2^2) for mu = 1 and d >= 2; ``root(m)`` is sqrt(m) in the field of the answer."""
    r = root((d - 1) * k * (d - k))
    return k * (k + r) / d, r * (k + r) / (d * (d - 1))


def shared_noise_variances(d: int, k: int, root: Callable[[int], Number]) -> tuple[Number, Number]:
    """The same covariance as "independent z plus shared eta": (vz, ve) = (a2^2, (a1^2 - a2^2)/d), for mu = 1."""
    along, across = eigenvalues(d, k, root)
    return across, (along - across) / d


def worst_layer_value(d: int, k: int, most: int, root: Callable[[int], Number]) -> Number | None:
    """max over 0 <= j <= most of u j^2/d + w (j - j^2/d): the true mu^2 for records of up to ``most`` ones.

    None when it is infinite.
    """
    if k == d:
        return None  # a2 = 0: the complement of the all-ones line carries no noise
    along, across = eigenvalues(d, k, root)
    u, w = 1 / along, 1 / across
    # Concave in j, since u <= w with equality at k = 1 alone: the maximum is next to the vertex, or at the end.
    vertex = math.inf if k == 1 else float(w / (w - u)) * d / 2
    near = {max(0, min(most, math.floor(min(vertex, most)) + shift)) for shift in (-1, 0, 1, 2)}
    return _largest_number((u * (j * j) + w * (j * (d - j))) / d for j in sorted(near | {most}))


def largest_optimal_k(d: int) -> int:
    """khat(d): the last k for which the Count ellipse is private, the integer nearest to (d + sqrt d)/2."""
    s = pair_root(d)
    if s is not None:
        return (d + s - 1) // 2  # (d + sqrt d)/2 rounded down
    n = math.isqrt(d)
    t = n if (n - d) % 2 == 0 else n + 1  # the integer of the parity of d with |t - sqrt d| < 1
    return (d + t) // 2


def pair_root(d: int) -> int | None:
    """The s >= 1 with d = s^2 + 1, or the s >= 2 with d = s^2 - 1; None for every other d. Integer decisions only."""
    n = math.isqrt(d)
    if d >= 2 and d == n * n + 1:
        return n
    return n + 1 if d >= 2 and d == (n + 1) ** 2 - 1 else None


def _largest_number(values: Iterable[Number]) -> Number:
    listed = list(values)
    if all(isinstance(value, Fraction | int) for value in listed):
        return max(listed)
    return reduce(arb.max, (arb(0) + value for value in listed))


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


def least_ellipse_variance(dim: int, k: int) -> Real:
    """OPT(d, k): the least per-query variance of a 1-GDP Gaussian mechanism under add/remove; divide by mu^2.

    The variance of the Count ellipse h(d, k) for k <= khat(d), about (d + sqrt d)/2, and constant in k from there on.
    It solves the open problem of Lebeda 2024, section 4.1 (arXiv:2408.06853), and is checked against its lower bound
    whenever it is computed.

    Raises:
        InvalidValue: dim or k out of range.

    >>> least_ellipse_variance(2, 2), least_ellipse_variance(100, 100)
    (Real(4/3), Real(121/4))
    >>> round(least_ellipse_variance(1000, 500).nearest(), 5)
    265.80348
    """
    return ellipse_optimum(dim, k).per_query_variance.real()


def check_nonzero(k: object, dim: int) -> int:
    """k as a whole number from 1 to d.

    Raises:
        InvalidValue: it is not.
    """
    remedy = "give the largest number of non-zero entries of a record, at most dim"
    return check_whole(k, "k", least=1, most=dim, remedy=remedy)


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


Count = Literal["withheld", "released"]


@final
class CountEllipse(GaussianMechanism):
    """d counting queries on records of [0, 1]^d with at most k non-zero entries, with optimal Gaussian noise.

    Releases f_i + eta + z_i with z_i ~ N(0, vz) and one eta ~ N(0, ve) shared by all queries. For k <= khat(d), about
    (d + sqrt d)/2, this is the Count ellipse of Joseph and Yu; beyond it, the optimum that Lebeda (2024, section 4.1)
    leaves open. No Gaussian mechanism that is mu-GDP under ADD_OR_REMOVE_ONE has less noise on average over the
    queries: construction checks the lower bound that proves it (see `ellipse_optimum`). Both scales are rounded up.

    With ``count="released"`` the number of records follows: n - (1^T f)/j gets independent noise N(0, 1/(P mu^2)), j
    the active layer, which costs neither privacy nor accuracy of the queries, and the release holds the estimate of n
    made of it. Not available where two layers are active.

    Args:
        dim: number of queries d >= 1.
        k: the largest number of non-zero entries of a record, 1 <= k <= d.
        mu: GDP parameter > 0, exact (int, float, Fraction or decimal string).
        count: "withheld" (the queries only) or "released" (an estimate of n after them).

    Attributes:
        optimum: the exact optimum for mu = 1, with its certificate.
        active_layers: the numbers of ones at which a record attains mu: one, or two adjacent ones.
        independent_scale, shared_scale: standard deviations of z_i and of eta.
        count_scale: standard deviation of the noise on n - (1^T f)/j; 0 with the count withheld.

    Raises:
        InvalidValue: a parameter out of range, or a count that is not free.

    >>> mechanism = CountEllipse(dim=100, k=100, mu=1)
    >>> mechanism.active_layers, round(float(mechanism.per_query_variance), 12)
    ((55,), 30.25)
    """

    name = "count-ellipse"
    title = "d counts, at most k of a record's not zero"
    source = (
        "Joseph and Yu 2024, Count ellipse, for k <= khat; the optimum left open by Lebeda 2024, section 4.1, beyond"
    )
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    dim: int
    k: int
    claim: GaussianDP
    optimum: EllipseOptimum
    active_layers: tuple[int, ...]
    independent_scale: float
    shared_scale: float
    count_scale: float
    noise: SharedNoise
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("k", "K", "The largest number of non-zero entries of a record.", whole),
        Parameter("count", "released|withheld", "What happens to the number of records."),
    )
    example = "--dim 9 --k 4 --mu 1"

    def __init__(self, *, dim: int, k: int, mu: Exact, count: Count = "withheld") -> None:
        exact_mu = check_positive(mu, "mu")
        self.dim = check_dim(dim)
        self.k = check_nonzero(k, self.dim)
        if count not in ("withheld", "released"):
            raise InvalidValue("count", count, "'withheld' or 'released'", "say what happens to the number of records")
        self.count: Count = count
        self.claim = GaussianDP(exact_mu)
        self.optimum = ellipse_optimum(self.dim, self.k)
        self.active_layers = self.optimum.active_layers
        self.independent_scale = (self.optimum.independent_variance / exact_mu**2).scale_up()
        self.shared_scale = (self.optimum.shared_variance / exact_mu**2).scale_up()
        released = count == "released"
        self.count_scale = (1 / (self.optimum.free_count_precision * exact_mu**2)).scale_up() if released else 0.0
        self.sensitivity: SensitivitySpace = (
            LevelledCube(dim=self.dim, nonzero=self.k, layer=self.active_layers[0])
            if released
            else Cube(dim=self.dim, nonzero=self.k)
        )
        self.noise = SharedNoise(
            dim=self.dim,
            independent_scale=self.independent_scale,
            shared_scale=self.shared_scale,
            count_loading=None if count == "withheld" else 0,
            count_scale=self.count_scale,
        )
        self.assumptions = (
            "every record lies in [0, 1]^d",
            f"every record has at most {self.k} non-zero entries",
        )

    @property
    def independent_variance(self) -> Fraction:
        """vz, the exact variance of each z_i as it is sampled."""
        return Fraction(self.independent_scale) ** 2

    @property
    def shared_variance(self) -> Fraction:
        """ve, the exact variance of eta as it is sampled."""
        return Fraction(self.shared_scale) ** 2

    @property
    def per_query_variance(self) -> Fraction:
        """The variance of a released query, vz + ve: OPT(d, k)/mu^2, up to the rounding of the scales."""
        return self.independent_variance + self.shared_variance

    @property
    def count_variance(self) -> Fraction:
        """The variance of the released estimate of n: that of (1^T f)/j plus that of n - (1^T f)/j.

        Raises:
            InvalidValue: the count is withheld.
        """
        if self.count == "withheld":
            raise InvalidValue("count", self.count, "'released'", "build the mechanism with count='released'")
        d, j = self.dim, self.active_layers[0]
        line = d * (self.independent_variance + d * self.shared_variance)
        return line / j**2 + Fraction(self.count_scale) ** 2

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), entries in [0, 1], at most k of them non-zero per record."""
        records = check_array(dataset, self.record_shape, 0.0, 1.0)
        filled = np.count_nonzero(records, axis=1)
        if np.any(filled > self.k):
            bad = int(np.argmax(filled > self.k))
            found = f"number {bad}, with {filled[bad]} non-zero entries"
            remedy = "drop entries of the record, or build the mechanism for a larger k"
            raise InvalidValue("dataset record", found, f"one with at most k={self.k} non-zero entries", remedy)
        return records

    def statistic(self, records: Array) -> Array:
        """f of shape (d,), followed by n - (1^T f)/j if the count is released."""
        total: Array = records.sum(axis=0)
        if self.count == "withheld":
            return total
        return np.append(total, len(records) - total.sum() / self.active_layers[0])

    def decode(self, noisy: Array) -> Array:
        """The identity; with the count released, (1^T f)/j is added back to the last column."""
        if self.count == "withheld":
            return noisy
        count = noisy[:, -1:] + noisy[:, :-1].sum(axis=1, keepdims=True) / self.active_layers[0]
        return np.concatenate([noisy[:, :-1], count], axis=1)

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """As in `GaussianMechanism`, for the statistic; its weights are then rewritten for the release made of it."""
        p, q = self.embed(pair.dataset), self.embed(pair.neighbour)
        weights = self.noise.solve(p - q)
        offset = float(weights @ (p + q)) / 2
        if self.count == "released":
            weights[:-1] -= weights[-1] / self.active_layers[0]
        return weights, offset

    def describe(self) -> dict[str, str]:
        """Name, parameters, the active layers and the scales of the noise."""
        own = {"k": str(self.k), "count": self.count, "active layers": ", ".join(map(str, self.active_layers))}
        scales = {"independent scale": repr(self.independent_scale), "shared scale": repr(self.shared_scale)}
        return GaussianMechanism.describe(self) | own | scales


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LevelledCube(QuadraticSpace):
    """Differences of (f, n - (1^T f)/layer): {+-(x, 1 - (1^T x)/layer)}, x in [0, 1]^d of at most ``nonzero`` entries.

    Args:
        dim: number of queries d.
        nonzero: at most this many entries of x differ from 0.
        layer: a record with this many ones does not move the last coordinate.
    """

    dim: int
    nonzero: int
    layer: int

    def maximise(self, noise: Noise) -> Maximum:
        """Over the records with i ones, i = 0..nonzero: the form is quadratic in i."""
        form = noise.form() if isinstance(noise, SharedNoise) else None
        if form is None:
            raise unsupported(self, noise)
        step = Fraction(-1, self.layer)  # the last coordinate is 1 + step * i
        a = form.sum_squared + form.cross * step + form.count * step**2
        b = form.square + form.cross + 2 * form.count * step
        i, value = maximise_over_integers(a, b, form.count, self.nonzero)
        return Maximum(
            loss=gaussian_loss(Real.of(value)),
            datasets=lambda: alone(np.where(np.arange(self.dim) < i, 1.0, 0.0))(),
            description=f"a record with {i} of {self.dim} entries at 1 and the others at 0",
            justification="a convex form of an affine image of a cube is largest at a vertex; it depends on a vertex "
            "only through the number of ones, in which it is quadratic, maximised over the integers exactly",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of adding or removing ``record``."""
        form = noise.form() if isinstance(noise, SharedNoise) else None
        if form is None or replacement is not None:
            raise unsupported(self, noise)
        s1, s2 = moments(record)
        return Real.of(form.at(s1, s2, 1 - s1 / self.layer))
