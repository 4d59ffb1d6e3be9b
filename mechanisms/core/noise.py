"""Gaussian noise with structure: what is added to the statistic, and the squared GDP parameter of a difference.

A covariance is described by the few standard deviations that generate it, so that sampling, the likelihood ratio and
the exact squared GDP parameter all cost O(d); a d x d matrix is never formed. The standard deviations are float64 and
are taken at their exact values everywhere: the number the sampler uses is the number that is certified.

Fact (Lebeda 2024, used throughout). N(a, S) against N(b, S) with v = a - b is exactly mu-GDP apart with
mu^2 = v^T S^-1 v. Where S treats all queries alike, and v = (x, t) holds the queries' difference x in R^d and the
count's difference t,

    mu^2 = square * s2 + sum_squared * s1^2 + cross * s1 * t + count * t^2,     s1 = sum x_i,  s2 = sum x_i^2,

so a record of any length costs O(1) once its two moments are known. The formulas are written once, over any field:
`Fraction` for certificates, balls for irrational parameters, float64, SymPy symbols for proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import difference_moments
from dpverdict.numerics.roots import float_above

# An element of any field: Fraction, flint.arb, float or sympy.Expr. No static type covers the four.
Number = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricForm:
    """mu^2 of a difference (x, t): ``square * s2 + sum_squared * s1^2 + cross * s1 * t + count * t^2``."""

    square: Number
    sum_squared: Number
    cross: Number
    count: Number

    def at(self, s1: Number, s2: Number, t: Number) -> Number:
        """The value at a difference with moments s1 = sum x_i, s2 = sum x_i^2 and count difference t."""
        return self.square * s2 + self.sum_squared * s1 * s1 + self.cross * s1 * t + self.count * t * t


def shared_noise_form(*, dim: Number, vz: Number, ve: Number, loading: Number, vw: Number) -> SymmetricForm:
    """The form of queries ``eta + z_i`` released with the count ``loading * eta + w``.

    Args:
        dim: number of queries d.
        vz: variance of each z_i, > 0.
        ve: variance of the shared eta, >= 0.
        loading: multiple of eta in the count: 2 in Algorithm 1.
        vw: variance of the count's own noise w: 0 in Algorithm 1.

    Derivation: S is vz on the complement of the all-ones line, and on span(1, count) the 2 x 2 system
    (vz + d ve) p + loading ve q = s1 / d,  d loading ve p + (loading^2 ve + vw) q = t, whose determinant is
    vz loading^2 ve + vw (vz + d ve). With loading = 2, vw = 0 this is form F1: (s2 - s1 t + d t^2/4)/vz + t^2/(4 ve).

    Requires: that determinant is not 0 (otherwise the count is released exactly, and mu is infinite).
    """
    own = loading * loading * ve + vw
    line = vz + dim * ve
    determinant = vz * loading * loading * ve + vw * line
    return SymmetricForm(
        square=1 / vz,
        sum_squared=(own / determinant - 1 / vz) / dim,
        cross=-2 * loading * ve / determinant,
        count=line / determinant,
    )


def queries_only_form(*, dim: Number, vz: Number, ve: Number) -> SymmetricForm:
    """The form of queries ``eta + z_i`` when no count is released (form F2): (s2 - s1^2 ve/(vz + d ve))/vz."""
    zero = 0 * vz
    return SymmetricForm(square=1 / vz, sum_squared=-ve / (vz * (vz + dim * ve)), cross=zero, count=zero)


def maximise_over_integers(a: Fraction, b: Fraction, c: Fraction, last: int) -> tuple[int, Fraction]:
    """The largest maximiser j of a j^2 + b j + c over the integers 0 <= j <= last, with the maximum; exact.

    The maximum of a parabola over an interval of integers sits at an end, or next to the vertex -b/(2a) when a < 0.
    """
    candidates = {0, last}
    if a < 0:
        vertex = -b / (2 * a)
        below = vertex.numerator // vertex.denominator
        candidates |= {j for j in (below, below + 1) if 0 <= j <= last}
    best = max(sorted(candidates, reverse=True), key=lambda j: a * j * j + b * j + c)
    return best, a * best * best + b * best + c


class Noise(Protocol):
    """A law with mean 0 that is added to a statistic."""

    @property
    def size(self) -> int:
        """Number of coordinates of the statistic it is added to."""
        ...

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        ...

    def covariance(self) -> dict[str, Fraction]:
        """The distinct entries of the covariance, exactly, by what they relate; empty if they are not rational."""
        ...


class GaussianNoise(Noise, Protocol):
    """A Gaussian law with mean 0 and a covariance S of known structure."""

    def solve(self, difference: Array) -> Array:
        """S^-1 v in float64, shape (size,); a direction without noise when S is singular."""
        ...


@runtime_checkable
class ExactForm(Protocol):
    """A Gaussian law that knows exactly what any move costs."""

    def mu_squared(self, here: Array, there: Array) -> Real | None:
        """v^T S^-1 v for v = here - there, the squared GDP parameter of the two noisy statistics, exactly.

        None when it is infinite: v is then seen without noise.
        """
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNoise:
    """Query i receives ``eta + z_i``; the count, if released, receives ``count_loading * eta + w``.

    All of z_1..z_d, eta, w are independent and normal with mean 0. Algorithm 1 (Lebeda 2024) is count_loading = 2,
    w = 0; independent noise is shared_scale = 0.

    Args:
        dim: number of queries d.
        independent_scale: standard deviation of each z_i. A Fraction is the law that is analysed; it is sampled with
            the least float64 that is not below it, which is the same law with further noise added.
        shared_scale: standard deviation of eta.
        count_loading: multiple of eta in the count; None when no count is released.
        count_scale: standard deviation of w.

    Raises:
        InvalidValue: a scale that is not finite and >= 0, dim below 1, or an independent scale of 0 where the exact
            forms do not cover it (with a count, or for a single query).
    """

    dim: int
    independent_scale: float | Fraction
    shared_scale: float = 0.0
    count_loading: int | None = None
    count_scale: float = 0.0

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise InvalidValue("dim", self.dim, ">= 1", "give the number of queries")
        for name in ("independent_scale", "shared_scale", "count_scale"):
            scale = getattr(self, name)
            if not 0 <= scale < math.inf:
                raise InvalidValue(name, scale, "finite and >= 0", "give a standard deviation")
        if self.independent_scale == 0 and (self.dim == 1 or self.count_loading is not None):
            remedy = "only two queries or more, without a count, may do without noise of their own"
            raise InvalidValue("independent_scale", self.independent_scale, "> 0", remedy)

    @property
    def size(self) -> int:
        """Number of coordinates: d, and one more with the count."""
        return self.dim + (self.count_loading is not None)

    @property
    def variances(self) -> tuple[Fraction, Fraction, Fraction]:
        """The exact variances (vz, ve, vw) of z_i, eta and w."""
        vz, ve, vw = (Fraction(s) ** 2 for s in (self.independent_scale, self.shared_scale, self.count_scale))
        return vz, ve, vw

    def form(self) -> SymmetricForm | None:
        """The exact quadratic form of S^-1; None when S is singular (some difference is then visible without noise)."""
        vz, ve, vw = self.variances
        if vz == 0:
            return None
        if self.count_loading is None:
            return queries_only_form(dim=self.dim, vz=vz, ve=ve)
        if vz * self.count_loading**2 * ve + vw * (vz + self.dim * ve) == 0:
            return None
        return shared_noise_form(dim=self.dim, vz=vz, ve=ve, loading=self.count_loading, vw=vw)

    def mu_squared(self, here: Array, there: Array) -> Real | None:
        """v^T S^-1 v for v = here - there, exactly; None when it is infinite."""
        moved = Fraction(0)
        if self.count_loading is not None:
            moved = Fraction(float(here[self.dim])) - Fraction(float(there[self.dim]))
        return self.mu_squared_of(*difference_moments(here[: self.dim], there[: self.dim]), moved)

    def mu_squared_of(self, s1: Fraction, s2: Fraction, t: Number, copies: int = 1) -> Real | None:
        """mu^2 of ``copies`` times the difference (x, t) with moments s1, s2; None when it is infinite."""
        d, (vz, ve, _) = self.dim, self.variances
        form = self.form()
        if form is not None:
            return Real.of(copies**2 * form.at(s1, s2, t))
        if vz == 0:  # only the all-ones line carries noise
            if s2 == 0 and t == 0:
                return Real.of(0)
            on_line = s2 * d == s1 * s1 and ve > 0 and self.count_loading is None
            return Real.of(copies**2 * s1 * s1 / (d * d * ve)) if on_line else None
        if t != 0:
            return None  # the count moves, and carries no noise
        return Real.of(copies**2 * queries_only_form(dim=d, vz=vz, ve=ve).at(s1, s2, 0))

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        noisy = rng.standard_normal((trials, self.size))
        queries = noisy[:, : self.dim]
        queries *= float_above(Fraction(self.independent_scale))
        if self.shared_scale or self.count_loading is not None:
            eta = self.shared_scale * rng.standard_normal(trials)
            queries += eta[:, None]
            if self.count_loading is not None:
                noisy[:, self.dim] *= self.count_scale
                noisy[:, self.dim] += self.count_loading * eta
        noisy += statistic
        return noisy

    def solve(self, difference: Array) -> Array:
        """S^-1 v in float64: the direction of the likelihood ratio, shape (size,). Its use is to score, not to certify.

        When S is singular and v is visible without noise, the direction returned carries none.
        """
        vz, ve, vw = (float(v) for v in self.variances)
        x, d = difference[: self.dim], self.dim
        mean = float(x.mean())
        if vz == 0:  # queries differ by no noise at all: eta cancels between the two furthest apart
            direction = np.zeros(d) if np.ptp(x) else np.full(d, mean / (d * ve) if ve else mean)
            direction[np.argmax(x)] += float(np.ptp(x) > 0)
            direction[np.argmin(x)] -= float(np.ptp(x) > 0)
            return direction
        queries_only: Array = (x - mean) / vz + mean / (vz + d * ve)
        if self.count_loading is None:
            return queries_only
        t, k = float(difference[d]), self.count_loading
        own, line = k * k * ve + vw, vz + d * ve
        determinant = vz * k * k * ve + vw * line
        if determinant == 0:  # the count carries no noise: it says all there is to say, unless it does not move
            return np.append(queries_only if t == 0 else np.zeros(d), np.sign(t))
        on_line = (mean * own - k * ve * t) / determinant
        return np.append((x - mean) / vz + on_line, (line * t - d * k * ve * mean) / determinant)

    def covariance(self) -> dict[str, Fraction]:
        """The distinct entries of S, exactly, by what they relate."""
        vz, ve, vw = self.variances
        entries = {"query": vz + ve, "query-query": ve}
        if self.count_loading is not None:
            entries |= {"query-count": self.count_loading * ve, "count": self.count_loading**2 * ve + vw}
        return entries


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedNoise:
    """An independent copy of ``row`` on each of ``groups`` disjoint groups (Algorithm 2 of Lebeda 2024).

    With ``one_eta`` (a known-wrong variant) all rows share a single eta.

    Raises:
        InvalidValue: fewer than one group, or one eta for rows that are not those of Algorithm 2.
    """

    groups: int
    row: SharedNoise
    one_eta: bool = False

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise InvalidValue("groups", self.groups, ">= 1", "give the number of disjoint groups")
        if self.one_eta and (self.row.count_loading != 2 or self.row.count_scale):
            raise InvalidValue("row", self.row, "noise with the count 2 eta", "use count_loading=2, count_scale=0")

    @property
    def size(self) -> int:
        """Number of coordinates: the rows one after the other."""
        return self.groups * self.row.size

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        shape = (self.groups, self.row.size)
        noisy = self.row.add(np.zeros(self.row.size), trials * self.groups, rng).reshape(trials, *shape)
        if self.one_eta:
            first = noisy[:, :1, -1] / 2.0  # the eta of the first row, from its count 2 eta
            own = noisy[:, :, -1] / 2.0
            noisy[:, :, :-1] += (first - own)[:, :, None]
            noisy[:, :, -1] = 2.0 * first
        return noisy.reshape(trials, -1) + statistic

    def mu_squared(self, here: Array, there: Array) -> Real | None:
        """v^T S^-1 v for v = here - there, exactly: the rows add up; None when it is infinite.

        Raises:
            InvalidValue: one eta is shared by rows whose counts move alike.
        """
        rows, others = (side.reshape(self.groups, self.row.size) for side in (here, there))
        if self.one_eta and self.groups >= 2:
            counts = [
                Fraction(x) - Fraction(y) for x, y in zip(rows[:, -1].tolist(), others[:, -1].tolist(), strict=True)
            ]
            if len(set(counts)) == 1:
                remedy = "no exact form is known where no count moves against another"
                raise InvalidValue("one_eta", True, "False", remedy)
            return None
        values = [self.row.mu_squared(row, other) for row, other in zip(rows, others, strict=True)]
        finite = [value.rational for value in values if value is not None and value.rational is not None]
        return Real.of(sum(finite, Fraction(0))) if len(finite) == len(values) else None

    def solve(self, difference: Array) -> Array:
        """S^-1 v row by row in float64, shape (size,); a noiseless contrast of two counts when eta is shared."""
        rows = difference.reshape(self.groups, self.row.size)
        if self.one_eta:
            contrast = np.zeros_like(rows)
            contrast[np.argmax(rows[:, -1]), -1] += 1.0
            contrast[np.argmin(rows[:, -1]), -1] -= 1.0
            return contrast.ravel()
        return np.concatenate([self.row.solve(row) for row in rows])

    def covariance(self) -> dict[str, Fraction]:
        """The distinct entries of one row's covariance, exactly; between rows they are 0 unless ``one_eta``."""
        entries = self.row.covariance()
        if self.one_eta:
            entries |= {"between rows": self.row.variances[1]}
        return entries


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DiagonalNoise:
    """Independent normal noise of standard deviation ``scales[j]`` on coordinate j; scale 0 releases it exactly."""

    scales: Array

    def __post_init__(self) -> None:
        if not (np.all(np.isfinite(self.scales)) and np.all(self.scales >= 0)):
            raise InvalidValue("scales", self.scales, "finite and >= 0", "give one standard deviation per coordinate")

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.scales.size

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        noisy = rng.standard_normal((trials, self.size))
        noisy *= self.scales
        noisy += statistic
        return noisy

    def mu_squared(self, here: Array, there: Array) -> Real | None:
        """sum v_j^2 / sigma_j^2 for v = here - there: a ball beyond 256 distinct terms; None if infinite."""
        if bool(np.any((self.scales == 0) & (here != there))):
            return None
        kept = here != there
        distinct = _distinct_columns(np.stack([here[kept], there[kept], self.scales[kept]]))
        if len(distinct) <= 256:
            exact = (n * ((Fraction(x) - Fraction(y)) / Fraction(s)) ** 2 for x, y, s, n in distinct)
            return Real.of(sum(exact, Fraction(0)))
        return Real(lambda: sum((n * ((ball(x) - ball(y)) / ball(s)) ** 2 for x, y, s, n in distinct), ball(0)))

    def solve(self, difference: Array) -> Array:
        """S^-1 v in float64, shape (size,); a noiseless coordinate that differs takes all the weight."""
        exposed = (self.scales == 0) & (difference != 0)
        if exposed.any():
            return np.where(exposed, np.sign(difference), 0.0)
        weights: Array = difference / np.where(self.scales == 0, 1.0, self.scales) ** 2
        return weights

    def covariance(self) -> dict[str, Fraction]:
        """The smallest and the largest variance, exactly; all covariances are 0."""
        low, high = Fraction(float(self.scales.min())) ** 2, Fraction(float(self.scales.max())) ** 2
        return {"smallest variance": low, "largest variance": high}


def _distinct_columns(columns: Array) -> list[tuple[float, float, float, int]]:
    """The distinct columns of a table of three rows, each with how often it occurs."""
    if not columns.size:
        return []
    columns = columns[:, np.lexsort(columns)]
    starts = np.flatnonzero(np.append(True, np.any(columns[:, 1:] != columns[:, :-1], axis=0)))
    counts = np.diff(starts, append=columns.shape[1])
    return list(zip(*columns[:, starts].tolist(), counts.tolist(), strict=True))
