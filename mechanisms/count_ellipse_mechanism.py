"""Counting queries on records with at most k ones: the least Gaussian noise, and the count where it is free."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

import numpy as np
from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.cube_sensitivity import Cube
from dpverdict.mechanisms.ellipse_optimum import EllipseOptimum, check_nonzero, ellipse_optimum
from dpverdict.mechanisms.exact_sums import moments
from dpverdict.mechanisms.guarantee import GaussianDP
from dpverdict.mechanisms.mechanism import Array, GaussianMechanism, check_array, check_dim, check_positive
from dpverdict.mechanisms.neighbours import NeighbourPair
from dpverdict.mechanisms.noise import Noise, SharedNoise
from dpverdict.mechanisms.quadratic_form import maximise_over_integers
from dpverdict.mechanisms.sensitivity import Maximum, SensitivitySpace, unsupported

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
        self.count_scale = 0.0
        self.sensitivity: SensitivitySpace = Cube(dim=self.dim, nonzero=self.k)
        if count == "released":
            self.count_scale = (1 / (self.optimum.free_count_precision * exact_mu**2)).scale_up()
            self.sensitivity = LevelledCube(dim=self.dim, nonzero=self.k, layer=self.active_layers[0])
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

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

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
class LevelledCube:
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
            mu_squared=Real.of(value),
            records=lambda: (np.where(np.arange(self.dim) < i, 1.0, 0.0), None),
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
