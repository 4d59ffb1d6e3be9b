"""Continual counting by a factorisation A = L R of the prefix-sum matrix: release L (R x + noise)."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.laws.exact_samplers.random_words import Words, words_of
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.balls import Real, sqrt_up
from dpverdict.checks import check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import analytic_scale, concentrated_scale, l1_scale
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    as_guarantee,
)
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.mechanisms.streams.counter import Counter, NoiseStream
from dpverdict.mechanisms.streams.factorizations import BinaryTree, Honaker, SmoothBinary
from dpverdict.mechanisms.streams.sensitivity import Column, GaussianStep, LaplaceStep, noisy_sums, vertex_score
from dpverdict.mechanisms.streams.state import (
    KEY_BYTES,
    UNIT,
    NoiseSource,
    check_item,
    check_stream,
    check_unit_interval,
)
from dpverdict.mechanisms.streams.toeplitz import SquareRootToeplitz
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import difference_moments

FactorizationName = Literal["binary", "honaker", "smooth-binary", "sqrt-toeplitz"]


class Factorization(Protocol):
    """A = L R for the prefix sums of T items, where L y up to time t needs only R x up to time t."""

    horizon: int
    source: str

    @property
    def size(self) -> int:
        """The number of rows of R."""
        ...

    def l1_sensitivity(self) -> Real:
        """The largest l1 norm of a column of R."""
        ...

    def l2_sensitivity_squared(self) -> Real:
        """The largest squared l2 norm of a column of R."""
        ...

    def column(self, item: int) -> Column:
        """The entries of R e_i, 1 <= i <= T; entry by entry, in some order, none exceeds R e_1."""
        ...

    def row_squared(self, time: int) -> Real:
        """The squared l2 norm of row t of L: the variance at t, for noise of variance 1."""
        ...

    def mean_row_squared(self) -> Real:
        """The mean of `row_squared` over t = 1..T."""
        ...

    def embed(self, streams: Array) -> Array:
        """R x: shape (n, T) -> (n, size)."""
        ...

    def decode(self, noisy: Array) -> Array:
        """L y: shape (n, size) -> (n, T)."""
        ...

    def stream(self, draw: Callable[[], float]) -> NoiseStream:
        """The noise of L z, with z from ``draw``."""
        ...


KINDS: dict[str, Callable[[int], Factorization]] = {
    "binary": BinaryTree,
    "honaker": Honaker,
    "smooth-binary": SmoothBinary,
    "sqrt-toeplitz": SquareRootToeplitz,
}
"""The factorisations by name."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NormalNoise:
    """Independent normal noise of one scale."""

    size: int
    scale: float

    @property
    def variance(self) -> Fraction:
        """scale^2, exactly."""
        return Fraction(self.scale) ** 2

    def mu_squared(self, here: Array, there: Array) -> Real:
        """|here - there|^2/scale^2, exactly."""
        return Real.of(difference_moments(here, there)[1] / self.variance)

    def sample(self, words: Words, size: int) -> Array:
        """Independent values from 64-bit words."""
        return Gaussian().draw_from_words(words, size) * self.scale

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the statistic: shape (size,) -> (trials, size)."""
        return self.sample(words_of(rng), trials * self.size).reshape(trials, self.size) + statistic

    def covariance(self) -> dict[str, Fraction]:
        """The distinct entries of the covariance, exactly; all covariances are 0."""
        return {"variance": self.variance}


@final
class FactorizationCounter(Counter):
    """Noisy prefix sums of a stream of items in [0, 1], by a factorisation: what a `TreeCounter` is compared with.

    The claim is for streams that differ in one item, by at most 1. Under Laplace noise it is PureDP, ApproximateDP or
    ZeroConcentratedDP; under Gaussian noise GaussianDP, ApproximateDP or ZeroConcentratedDP. The scale is the least
    that the exact sensitivity allows, rounded up: D1/epsilon, the best zero-concentrated conversion, D2/mu, or the
    exact Gaussian curve.

    Args:
        horizon: the largest number of items T.
        kind: "binary", "honaker", "smooth-binary" or "sqrt-toeplitz".
        noise: "laplace" or "gaussian".
        claim: the guarantee to be kept, or its text.
        rng: where the 32-byte key of the noise is drawn from; the operating system if it is not given.

    Raises:
        InvalidValue: an argument is out of range, or the noise cannot keep such a claim.

    >>> counter = FactorizationCounter(horizon=1023, kind="binary", noise="laplace", claim="eps=1")
    >>> counter.mean_squared_error()
    Real(1024000/1023)
    """

    name = "factorization-counter"
    title = "prefix sums by a factorisation"
    source: str = "Andersson, Pagh and Torkamani 2024, Table 1"
    adjacency: NeighboringRelation = REPLACE_ONE
    assumptions: tuple[str, ...] = ("every item lies in [0, 1]", "noise and counts are real numbers, not floats")
    noise: LaplaceNoise | NormalNoise
    dim: int
    factorization: Factorization
    claim: Guarantee
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("kind", "binary|honaker|smooth-binary|sqrt-toeplitz", "The factorisation."),
        Parameter("noise", "laplace|gaussian", "The law of the noise."),
    )
    example = "--horizon 8 --kind binary --noise laplace --epsilon 1"
    horizon: int

    def __init__(
        self,
        *,
        horizon: int,
        kind: FactorizationName,
        noise: Literal["laplace", "gaussian"],
        claim: Guarantee | str,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.horizon = self.dim = check_dim(horizon, "horizon")
        if kind not in KINDS:
            raise InvalidValue("kind", kind, f"one of {', '.join(KINDS)}", "trees with subtraction are TreeCounter's")
        self.kind: FactorizationName = kind
        self.factorization = KINDS[kind](self.horizon)
        self.claim = as_guarantee(claim)
        scale = _least_scale(noise, self.claim, self.factorization)
        law = LaplaceNoise if noise == "laplace" else NormalNoise
        self.noise = law(size=self.factorization.size, scale=scale)
        self.source = self.factorization.source
        invertible = self.factorization.size == self.horizon  # A = L R is, so both factors are if they are square
        self.sensitivity: LaplaceStep | GaussianStep = (
            LaplaceStep(horizon=self.horizon, column=self.factorization.column, invertible=invertible)
            if noise == "laplace"
            else GaussianStep(horizon=self.horizon, squared=self._column_squared, invertible=invertible)
        )
        self._time, self._count = 0, 0  # the count in units of 1/UNIT
        key = secrets.token_bytes(KEY_BYTES) if rng is None else rng.bytes(KEY_BYTES)
        source = NoiseSource(lambda words, size: self.noise.sample(words, size).tolist(), key)
        self._stream = self.factorization.stream(source.draw)

    def add(self, item: float) -> float:
        """Take the next item and release the noisy sum so far.

        Raises:
            InvalidValue: the item is not in [0, 1], or the horizon is past; the counter is as it was.
        """
        checked = check_item(item, whole=False)
        self._may_add()
        noise = self._stream.advance()
        self._time += 1
        self._count += checked
        return self._count / UNIT + noise

    def check_records(self, dataset: ArrayLike) -> Array:
        """The stream as float64 of shape (n,), 1 <= n <= T, items in [0, 1]."""
        stream = check_stream(dataset, self.horizon)
        check_unit_interval(stream)
        return stream

    def statistic(self, records: Array) -> Array:
        """R x of a stream padded with zeros: shape (noise.size,)."""
        sums: Array = self.factorization.embed(self.padded(records))[0]
        return sums

    def decode(self, noisy: Array) -> Array:
        """L y: shape (trials, noise.size) -> (trials, T)."""
        return self.factorization.decode(noisy)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at counts of shape (trials, n), if L is square; else a good score."""
        embed, horizon = self.factorization.embed, self.horizon
        if isinstance(self.noise, LaplaceNoise):
            return vertex_score(embed, horizon, float(self.noise.rate), self.embed, pair)
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)
        weights = (here - there) / float(self.noise.variance)
        offset = float(weights @ (here + there)) / 2
        return lambda counts: np.add.reduce(noisy_sums(embed, horizon, counts) * weights, axis=1) - offset

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c such that w . y - c is the `likelihood_score` of the counts y, under Gaussian noise.

        O(T^2) work: the score of every unit vector.

        Raises:
            InvalidValue: Laplace noise, whose likelihood ratio is not linear.
        """
        if isinstance(self.noise, LaplaceNoise):
            raise InvalidValue("noise", "laplace", "'gaussian'", "the likelihood ratio is likelihood_score")
        score, step = self.likelihood_score(pair), 256
        offset = -float(score(np.zeros((1, self.horizon)))[0])
        parts = []
        for start in range(0, self.horizon, step):
            units = np.eye(min(step, self.horizon - start), self.horizon, start)
            parts.append(score(units) + offset)
        return np.concatenate(parts), offset

    def _column_squared(self, item: int) -> Real:
        """The squared l2 norm of R e_i, exactly."""
        if item == 1:
            return self.factorization.l2_sensitivity_squared()
        return Real.of(sum((entry**2 * count for entry, count in self.factorization.column(item)), Fraction(0)))

    def mean_squared_error(self) -> Real:
        """The mean over t = 1..T of the variance of the count, exactly, for the float64 scale in use."""
        return self.factorization.mean_row_squared().times(self.noise.variance)

    def variance_at(self, time: int) -> Real:
        """The variance of the count at a time, exactly, for the float64 scale in use.

        Raises:
            InvalidValue: the time is not in 1..T.
        """
        return self.factorization.row_squared(self._checked_time(time)).times(self.noise.variance)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return AdditiveMechanism.describe(self) | {
            "horizon": str(self.horizon),
            "kind": self.kind,
            "noise": self.noise_kind,
            "scale": repr(self.noise.scale),
        }

    @property
    def noise_kind(self) -> Literal["laplace", "gaussian"]:
        """The law of the noise, by name."""
        return "laplace" if isinstance(self.noise, LaplaceNoise) else "gaussian"

    def arguments(self) -> dict[str, object]:
        """What the constructor was given, but for ``rng``."""
        return {"horizon": self.horizon, "kind": self.kind, "noise": self.noise_kind, "claim": self.claim}

    def __repr__(self) -> str:
        return f"FactorizationCounter(horizon={self.horizon}, kind={self.kind!r}, claim={self.claim.describe()!r})"


def _least_scale(noise: object, claim: Guarantee, factorization: Factorization) -> float:
    """The least float64 scale at which the noise keeps the claim, by the calibration of that pair."""
    l2_squared = factorization.l2_sensitivity_squared()
    match noise, claim:
        case (("laplace" | "gaussian"), ZeroConcentratedDP(rho=rho)):
            return sqrt_up(l2_squared.times(1 / (2 * check_positive(rho, "rho"))))  # D2^2/(2 scale^2) for both laws
        case "laplace", PureDP(epsilon=epsilon):
            return l1_scale(epsilon, factorization.l1_sensitivity())
        case "laplace", ApproximateDP(epsilon=epsilon, delta=delta):
            return concentrated_scale(epsilon, delta, factorization.l1_sensitivity(), l2_squared)
        case "gaussian", GaussianDP(mu=mu):
            return sqrt_up(l2_squared.times(1 / check_positive(mu, "mu") ** 2))
        case "gaussian", ApproximateDP(epsilon=epsilon, delta=delta):
            return analytic_scale(epsilon, delta, l2_squared.sqrt())
        case (("laplace" | "gaussian"), _):
            remedy = "take eps=, or eps= and delta=, or rho= for Laplace; mu=, eps= and delta=, or rho= for Gaussian"
            raise InvalidValue("claim", claim.describe(), f"one that {noise} noise can keep", remedy)
        case _:
            remedy = "Laplace noise keeps pure DP, Gaussian noise GDP"
            raise InvalidValue("noise", noise, "'laplace' or 'gaussian'", remedy)
