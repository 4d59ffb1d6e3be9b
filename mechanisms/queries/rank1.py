"""R1SMG of Ji and Li (2024), as published: a normal radius in a uniform direction. Its claim is false for dim >= 4."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Exact, Real, ball, exactly, sqrt_up
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, FalseClaimWarning, SumOfRecords
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.sensitivity import Maximum, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import difference_moments, dot_exactly


@final
class Rank1Gaussian(SumOfRecords):
    """The sum of records of l2-norm at most Delta in R^M, plus sigma z v: z ~ N(0, 1), v uniform on the unit sphere.

    Published as (epsilon, delta)-DP with sigma^2 = 2 Delta^2/(epsilon psi), `published_psi`. The claim is FALSE for
    M >= 4, at every epsilon > 0 for all small enough delta, and worse the larger M is; at M = 3 it holds wherever it
    was decided. `certify` decides it for given parameters. The noise shape itself is private at a scale of order
    1/delta: `dpverdict.mechanisms.queries.rank1_scale` finds that scale.

    Args:
        dim: dimension M >= 3.
        epsilon, delta: the claim, both > 0.
        radius: the largest l2-norm Delta of a record, at its exact value; rounded up to float64.
        scale: sigma > 0 to be used in place of the published one, at its exact value; a float64, or rounded up to one.

    Attributes:
        scale: sigma, standard deviation of the radius of the noise. The published one is rounded up.
        mean_squared_error: E|noise|^2 = sigma^2, exactly.

    Warns:
        FalseClaimWarning: dim >= 4 with the published scale.

    Raises:
        InvalidValue: a parameter out of range.

    Reference: Ji and Li 2024, "Less is More: Revisiting the Gaussian Mechanism for Differential Privacy", USENIX
        Security (arXiv:2306.02256). Also refuted by Wei, Bienstock and Polychroniadou (arXiv:2606.08681).

    >>> Rank1Gaussian(dim=3, epsilon=1, delta="1e-3").scale
    2221.441469079183
    """

    name = "rank1-gaussian"
    title = "R1SMG: noise along one line; theorem false"
    source = "Ji and Li 2024 (R1SMG)"
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    claim: ApproximateDP
    dim: int
    radius: float
    scale: float
    noise: RandomDirectionNoise
    sensitivity: Ball
    assumptions: tuple[str, ...]
    example = "--dim 3 --epsilon 1 --delta 0.1"
    seconds_per_thousand: ClassVar[float] = 0.03

    def __init__(
        self, *, dim: int, epsilon: Exact, delta: Exact, radius: Exact = 1, scale: Exact | None = None
    ) -> None:
        self.dim = check_dim(dim)
        if self.dim < 3:
            raise InvalidValue("dim", dim, ">= 3", "the mechanism is not defined in one or two dimensions")
        self.claim = ApproximateDP(check_positive(epsilon, "epsilon"), check_positive(delta, "delta"))
        if self.claim.epsilon > 1 << 1000:
            raise InvalidValue("epsilon", self.claim.epsilon, "at most 2^1000", "choose an epsilon of moderate size")
        self.radius = _float_up(check_positive(radius, "radius"), "radius")
        if scale is None:
            squared, psi = Fraction(self.radius) ** 2, published_psi(self.dim, self.claim.delta)
            self.scale = sqrt_up(Real(lambda: ball(2 * squared / exactly(self.claim.epsilon)) / psi.ball()))
            if self.dim >= 4:
                warnings.warn(
                    f"the claim of R1SMG is false for dim >= 4 (here dim={self.dim}), except at extreme epsilon: "
                    "dpverdict.audit.certify shows the attack, and CorrelatedGaussian or StandardGaussian keep theirs",
                    FalseClaimWarning,
                    stacklevel=2,
                )
        else:
            self.scale = _float_up(check_positive(scale, "scale"), "scale")
        self.noise = RandomDirectionNoise(dim=self.dim, scale=self.scale)
        self.sensitivity = Ball(dim=self.dim, radius=self.radius)
        self.assumptions = (f"every record has l2-norm at most {self.radius!r}",)

    @property
    def mean_squared_error(self) -> Fraction:
        """E|noise|^2 = sigma^2, exactly as it is sampled."""
        return Fraction(self.scale) ** 2

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, M), every row of l2-norm at most the radius (decided exactly)."""
        records = check_array(dataset, self.record_shape, -self.radius, self.radius)
        norms = np.linalg.norm(records, axis=1) if len(records) else np.zeros(0)
        for i in np.flatnonzero(norms > self.radius * (1 - 1e-9)).tolist():
            if dot_exactly(records[i], records[i]) > Fraction(self.radius) ** 2:
                remedy = "scale the record down (a factor 1 - 1e-15 undoes rounding), or build for a larger radius"
                found = f"number {i}, of l2-norm {float(norms[i])!r}"
                raise InvalidValue("dataset record", found, f"of l2-norm at most {self.radius!r}", remedy)
        return records

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, M): the most powerful score.

        With r, rho the distances to the two centres, (rho^2 - r^2)/(2 sigma^2) + (M - 1) log(rho/r).
        """
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)

        def ratio(releases: Array) -> Array:
            r, rho = (np.linalg.norm(releases - centre, axis=1) for centre in (here, there))
            with np.errstate(divide="ignore"):
                values: Array = (rho**2 - r**2) / (2 * self.scale**2) + (self.dim - 1) * (np.log(rho) - np.log(r))
            return values

        return ratio

    def describe(self) -> dict[str, str]:
        """Name, parameters, the radius of the records and the scale of the noise."""
        return AdditiveMechanism.describe(self) | {"radius": repr(self.radius), "scale": repr(self.scale)}


def published_psi(dim: int, delta: Fraction) -> Real:
    """psi = (delta Gamma((M-1)/2)/(sqrt(pi) Gamma(M/2)))^(2/(M-2)), by logarithms: Gamma overflows early.

    Reference: Ji and Li 2024, abstract.
    """

    def evaluate() -> arb:
        logarithm = ball(delta).log() + (arb(dim - 1) / 2).lgamma() - arb.pi().log() / 2 - (arb(dim) / 2).lgamma()
        return (2 * logarithm / (dim - 2)).exp()

    return Real(evaluate)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDirectionNoise:
    """scale z v in R^dim: z ~ N(0, 1) and v uniform on the unit sphere, independent."""

    dim: int
    scale: float

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.dim

    def loss(self, here: Array, there: Array) -> PrivacyLoss:
        """The privacy loss of the noise about two statistics; that of equal laws where nothing moves."""
        _, squared = difference_moments(here, there)
        if squared == 0:
            return identical_laws()
        return SphericalLoss(self.dim, RandomDirectionGaussian(Fraction(self.scale)), Real.of(squared).sqrt())

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (dim,) -> (trials, dim)."""
        direction = rng.standard_normal((trials, self.dim))
        radius = self.scale * rng.standard_normal(trials)
        direction *= (radius / np.linalg.norm(direction, axis=1))[:, None]
        direction += statistic
        return direction

    def covariance(self) -> dict[str, Fraction]:
        """scale^2/dim on every coordinate, and no correlation: the dependence of the coordinates is not linear."""
        return {"query": Fraction(self.scale) ** 2 / self.dim, "query-query": Fraction(0)}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ball:
    """All differences of l2-norm at most ``radius``, under noise whose density is spherical and decreases outwards."""

    dim: int
    radius: float

    def maximise(self, noise: Noise) -> Maximum:
        """The longest difference; its direction does not matter."""
        record = np.zeros(self.dim)
        record[0] = self.radius
        return Maximum(
            loss=self.loss(noise, record),
            datasets=alone(record),
            description=f"a record of l2-norm {self.radius!r}",
            justification="the noise is spherical, and its density decreases with the radius: the hockey-stick "
            "divergence does not decrease with the length of the shift, and is the same in both directions",
        )

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss when ``record`` is added or removed; that of equal laws for the zero record."""
        if not isinstance(noise, RandomDirectionNoise) or replacement is not None:
            raise unsupported(self, noise)
        return noise.loss(record, np.zeros(self.dim))


def _float_up(value: Fraction, name: str) -> float:
    """The smallest float64 >= value > 0."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = np.inf
    if not 2.0**-400 <= nearest <= 2.0**400:
        raise InvalidValue(name, value, "between 2^-400 and 2^400", "choose units of moderate size")
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))
