"""The matrix mechanism on gradients: C x + noise, from which all noisy prefix sums of the batches follow.

C is a factorisation of one's own, or one with a name (`dpverdict.mechanisms.streams.strategies`); x are the sums of the
batches, and noise is independent Gaussian noise. What is released determines C x + noise and is determined by it, so

    mu^2 = max over participations and gradients of |C x - C x'|_F^2/s^2,      4 times that if a record is replaced,

s the noise multiplier. The maximum is exact where it is known, and lies between two bounds elsewhere: see
`dpverdict.mechanisms.streams.participation`. It covers gradients that depend on earlier releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.balls import Exact, Real, exactly, sqrt_up
from dpverdict.checks import check_array, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, sampled_above
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.parameters import Parameter, Words, whole
from dpverdict.mechanisms.core.sensitivity import LossBound, Maximum, QuadraticSpace, unsupported
from dpverdict.mechanisms.streams.factorization_counter import NormalNoise
from dpverdict.mechanisms.streams.participation import (
    PARTICIPATIONS,
    Participation,
    ParticipationName,
    Sensitivity,
    sensitivity_of,
)
from dpverdict.mechanisms.streams.strategies import (
    Strategy,
    Toeplitz,
    banded_inverse_square_root,
    buffered,
    check_horizon,
    from_file,
    identity,
    optimised_band,
    square_root,
)
from dpverdict.mechanisms.training.gradients import (
    LARGEST_ENTRY,
    NOISE_MULTIPLIER,
    ON_GRADIENTS,
    STEPS,
    GradientMechanism,
)
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above, float_below
from dpverdict.numerics.text import exact_text

StrategyName: TypeAlias = Literal[
    "identity", "sqrt-toeplitz", "banded-sqrt", "bisr", "bandmf", "blt", "toeplitz", "banded", "matrix"
]
_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "identity": (),
    "sqrt-toeplitz": (),
    "banded-sqrt": ("band",),
    "bisr": ("band",),
    "bandmf": ("band",),
    "blt": ("decays", "weights"),
    "toeplitz": ("coefficients",),
    "banded": ("file",),
    "matrix": ("file",),
}
"""The kinds, and what each is made of."""


def _numbers(name: str, words: Words) -> tuple[str, ...]:
    return tuple(part.strip() for part in words[name].split(","))


def make_strategy(
    kind: StrategyName,
    steps: int,
    *,
    band: int | None = None,
    coefficients: Iterable[Exact] | None = None,
    decays: Iterable[Exact] | None = None,
    weights: Iterable[Exact] | None = None,
    file: str | None = None,
) -> Strategy:
    """The strategy matrix C of a kind; what the kind does not need must be left out.

    Raises:
        InvalidValue: an argument is missing, in excess or out of range.
    """
    if kind not in _NEEDS:
        raise InvalidValue("kind", kind, f"one of {', '.join(_NEEDS)}", "name a factorisation")
    given = {"band": band, "coefficients": coefficients, "decays": decays, "weights": weights, "file": file}
    for name, value in given.items():
        if (value is not None) is not (name in _NEEDS[kind]):
            requirement = f"given with {kind}" if value is None else f"left out with {kind}"
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise InvalidValue(name, shown, requirement, f"{kind} is made of {' and '.join(_NEEDS[kind]) or 'nothing'}")
    if band is not None:
        width = check_whole(band, "band", least=1, remedy="say how many diagonals are not 0")
        makers = {"banded-sqrt": square_root, "bisr": banded_inverse_square_root, "bandmf": optimised_band}
        return makers[kind](check_horizon(steps), min(width, steps))
    if decays is not None and weights is not None:
        return buffered(check_horizon(steps), tuple(decays), tuple(weights))
    if coefficients is not None:
        entries = [exactly(value, name="coefficients") for value in coefficients]
        return Toeplitz(steps, entries, source="given coefficients")
    if file is not None:
        found = from_file(file, banded=kind == "banded")
        if found.horizon != steps:
            raise InvalidValue("steps", steps, f"{found.horizon}, the rows of {file}", "give the number of rows")
        return found
    return identity(steps) if kind == "identity" else square_root(steps)


STRATEGY: Final[tuple[Parameter, ...]] = (
    Parameter("kind", "|".join(_NEEDS), "The strategy matrix C."),
    Parameter("band", "W", "Diagonals of C; of bisr, of its inverse.", whole),
    Parameter("coefficients", "C0,C1,...", "The first column of a Toeplitz matrix.", _numbers),
    Parameter("decays", "X,...", "Decays of a BLT matrix.", _numbers),
    Parameter("weights", "X,...", "Weights of a BLT matrix.", _numbers),
    Parameter("file", "FILE", "The matrix as .npy or .csv."),
    *ON_GRADIENTS,
)
"""Parameters of what a strategy matrix is made of, and of the gradients."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionSpace(QuadraticSpace):
    """The contributions of one record to a run, present or absent, or replaced.

    Attributes:
        strategy: C.
        dim: of one gradient.
        norm: the clipping norm, exactly.
        multiplier: standard deviation of the noise in units of the clipping norm, exactly.
        found: the sensitivity of C x.
        replaced: whether a record is replaced.
    """

    strategy: Strategy
    dim: int
    norm: Fraction
    multiplier: Fraction
    found: Sensitivity
    replaced: bool

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """The contributions of the worst pattern, along one direction."""
        if not isinstance(noise, NormalNoise):
            raise unsupported(self, noise)
        canary = np.zeros((1, self.strategy.horizon, self.dim))
        canary[0, list(self.found.steps), 0] = np.array(self.found.signs) * float_below(self.norm)
        shown = ", ".join(str(step + 1) for step in self.found.steps[:6]) + (
            ", ..." if len(self.found.steps) > 6 else ""
        )
        signs = "" if min(self.found.signs) > 0 else ", with the signs that add up the most"
        description = f"a canary whose gradient has the clipping norm at the steps {shown}{signs}"
        loss, attained = (self._loss(value) for value in (self.found.upper, self.found.lower))

        def datasets() -> tuple[Array, Array]:
            return canary, -canary if self.replaced else canary[:0]

        if self.found.exact:
            return Maximum(loss=loss, datasets=datasets, description=description, justification=self.found.why)
        return LossBound(
            loss=loss, datasets=datasets, description=description, justification=self.found.why, attained=attained
        )

    def _loss(self, squared: Real) -> PrivacyLoss:
        return gaussian_loss(squared.times(4**self.replaced / self.multiplier**2))

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real:
        """|C (g - g')|_F^2/(norm s)^2, of contributions that are clipped; exactly, or as a ball."""
        if not isinstance(noise, NormalNoise) or (replacement is None) is self.replaced:
            raise unsupported(self, noise)
        moved = clipped_steps(record, self.norm)
        if replacement is not None:
            moved = moved - clipped_steps(replacement, self.norm)
        return self.strategy.squared_of(moved).times(1 / (self.norm * self.multiplier) ** 2)


def prefix_sums(strategy: Strategy, noisy: Array) -> Array:
    """From noisy C x, one coordinate after the other, to all prefix sums of x: shape (trials, d T) -> (trials, d T)."""
    sums = np.cumsum(strategy.solve(noisy.reshape(-1, strategy.horizon)), axis=1)
    found: Array = sums.reshape(noisy.shape)
    return found


def clipped_steps(contributions: Array, norm: Fraction) -> Array:
    """Contributions of shape (..., d), those of a larger l2 norm scaled to just below it."""
    most = float_below(norm)
    norms = np.linalg.norm(contributions, axis=-1, keepdims=True)
    found: Array = np.where(
        norms > most, contributions * (most * (1 - 2.0**-48) / np.maximum(norms, most)), contributions
    )
    return found


@final
class MatrixMechanism(GradientMechanism, AdditiveMechanism):
    """T steps of DP-FTRL with a strategy matrix C: all prefix sums of the batches, with noise A C^-1 z.

    A record is what it contributes at every step: T gradients of d numbers, 0 where it takes no part. Each is clipped.
    z has independent normal entries with the noise multiplier times the clipping norm for a standard deviation. The
    claim is the mu of the worst participation (or of a bound on it), rounded up.

    Args:
        noise_multiplier: standard deviation of z in units of the clipping norm, > 0, exact.
        steps: the number of steps T, at most 2^14.
        kind: "identity", "sqrt-toeplitz", "banded-sqrt", "bisr", "bandmf", "blt", "toeplitz", "banded" or "matrix".
        participation: "single", "fixed-epochs", "cyclic" or "min-separation".
        separation: the distance b of the steps of one record, but for a single participation.
        participations: the largest number k of steps of one record under min-separation; ceil(T/b) if not given.
        band: the number of diagonals of C (banded-sqrt, bandmf) or of C^-1 (bisr).
        coefficients: c_0, c_1, ... of a Toeplitz matrix, exact; those that are not given are 0.
        decays, weights: of BLT: c_j = sum_i weight_i decay_i^(j - 1), c_0 = 1.
        file: .npy or .csv: C itself, or, banded, C[t, t], C[t, t - 1], ... in row t.
        clipping_norm: > 0, exact; what is promised does not depend on it.
        dim: the number of coordinates of a gradient; what is promised does not depend on it.
        adjacency: add-or-remove-one, or replace-one (with the same steps).

    Raises:
        InvalidValue: an argument out of range.

    Reference: Denisov, McMahan, Rush, Smith and Thakurta 2022 (arXiv:2202.08312); Choquette-Choo, McMahan, Rush and
    Thakurta 2023 (arXiv:2211.06530); and those of `dpverdict.mechanisms.streams.participation`.

    >>> run = MatrixMechanism(
    ...     noise_multiplier=2, steps=8, kind="bisr", band=3, participation="min-separation", separation=4
    ... )
    >>> [step + 1 for step in run.sensitivity.found.steps], run.sensitivity.found.exact
    ([1, 5], True)
    """

    name = "matrix-mechanism"
    title = "noisy prefix sums by a matrix of your own"
    source: str = "Denisov, McMahan, Rush, Smith and Thakurta 2022"
    noise: NormalNoise
    sensitivity: ContributionSpace
    parameters: ClassVar[tuple[Parameter, ...]] = (
        NOISE_MULTIPLIER,
        STEPS,
        Parameter("participation", "|".join(PARTICIPATIONS), "In which steps a record may take part."),
        Parameter("separation", "B", "The least distance of two steps of one record.", whole),
        Parameter("participations", "K", "The largest number of steps of one record.", whole),
        *STRATEGY,
    )
    example: ClassVar[str] = (
        "--noise-multiplier 2 --steps 8 --kind bisr --band 3 --participation min-separation --separation 4"
    )
    noise_multiplier: Fraction
    clipping_norm: Fraction
    steps: int
    dim: int
    adjacency: NeighboringRelation
    strategy: Strategy
    claim: GaussianDP
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        noise_multiplier: Exact,
        steps: int,
        kind: StrategyName,
        participation: ParticipationName,
        separation: int | None = None,
        participations: int | None = None,
        band: int | None = None,
        coefficients: Iterable[Exact] | None = None,
        decays: Iterable[Exact] | None = None,
        weights: Iterable[Exact] | None = None,
        file: str | None = None,
        clipping_norm: Exact = 1,
        dim: int = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    ) -> None:
        self._take(
            noise_multiplier=noise_multiplier, clipping_norm=clipping_norm, steps=steps, dim=dim, adjacency=adjacency
        )
        self.kind: StrategyName = kind
        self.participation: Participation = Participation.of(
            participation, check_horizon(self.steps), separation=separation, participations=participations
        )
        self.strategy: Strategy = make_strategy(
            kind, self.steps, band=band, coefficients=coefficients, decays=decays, weights=weights, file=file
        )
        found = sensitivity_of(self.strategy, self.participation)
        deviation, replaced = self.clipping_norm * self.noise_multiplier, self.adjacency is REPLACE_ONE
        self.noise = NormalNoise(size=self.steps * self.dim, scale=float_above(deviation))
        self.sensitivity = ContributionSpace(
            strategy=self.strategy,
            dim=self.dim,
            norm=self.clipping_norm,
            multiplier=self.noise_multiplier,
            found=found,
            replaced=replaced,
        )
        self.claim = GaussianDP(Fraction(sqrt_up(found.upper.times(4**replaced / self.noise_multiplier**2))))
        self.assumptions = (
            f"each record takes part {self.participation.describe()}, chosen independently of its values",
            "every gradient is clipped, and the noise is added before anything else sees the sums",
            *sampled_above(deviation, self.noise.scale),
        )

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(T, d)"""
        return (self.steps, self.dim)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The contributions as float64 of shape (n, T, d); they are clipped afterwards.

        Raises:
            InvalidValue: another shape, NaN, or a record that takes part in steps in which it may not.
        """
        records = check_array(dataset, self.record_shape, -LARGEST_ENTRY, LARGEST_ENTRY)
        for place, record in enumerate(records):
            steps = tuple(int(step) for step in np.flatnonzero(record.any(axis=1)))
            if not self.participation.allows(steps):
                requirement = f"one that takes part {self.participation.describe()}"
                raise InvalidValue(f"record {place}", [s + 1 for s in steps[:8]], requirement, "put 0 at other steps")
        return records

    def statistic(self, records: Array) -> Array:
        """C x for every coordinate: shape (n, T, d) -> (d T,)."""
        sums = clipped_steps(records, self.clipping_norm).sum(axis=0)
        return self.strategy.embed(np.ascontiguousarray(sums.T)).ravel()

    def decode(self, noisy: Array) -> Array:
        """All noisy prefix sums: shape (trials, d T) -> (trials, d T), a coordinate after the other."""
        return prefix_sums(self.strategy, noisy)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at prefix sums of shape (trials, d T)."""
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)
        weights = (here - there) / float(self.noise.variance)
        offset = float(weights @ (here + there)) / 2

        def score(released: Array) -> Array:
            increments = np.diff(released.reshape(-1, self.steps), axis=1, prepend=0.0)
            noisy = self.strategy.embed(increments).reshape(len(released), -1)
            found: Array = np.add.reduce(noisy * weights, axis=1) - offset
            return found

        return score

    def squared_errors(self) -> tuple[float, float]:
        """The mean and the largest variance of a prefix sum, over the steps, in float64."""
        squares = self.strategy.row_squares() * float(self.noise.variance)
        return float(squares.mean()), float(squares.max())

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        mean, largest = self.squared_errors()
        return AdditiveMechanism.describe(self) | {
            "noise multiplier": exact_text(self.noise_multiplier),
            "steps": str(self.steps),
            "factorisation": f"{self.kind} ({self.strategy.source})",
            "participation": self.participation.describe(),
            "clipping norm": exact_text(self.clipping_norm),
            "mean and largest squared error": f"{mean:.6g}, {largest:.6g}",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyError:
    """The error of a strategy matrix at mu = 1: divide by mu^2.

    Attributes:
        kind: of the strategy.
        sensitivity: sqrt of the bound from above on the largest |C x - C x'|^2, rounded up.
        exact: whether that is attained.
        mean, largest: variances of prefix sums for noise with that standard deviation, in float64.
    """

    kind: str
    sensitivity: float
    exact: bool
    mean: float
    largest: float


def compare_strategies(strategies: dict[str, Strategy], participation: Participation) -> list[StrategyError]:
    """The errors of several strategies side by side, for one participation and a clipping norm of 1.

    >>> from dpverdict.mechanisms.streams.strategies import identity, square_root
    >>> one = Participation.of("single", 64)
    >>> [round(found.mean, 2) for found in compare_strategies({"I": identity(64), "root": square_root(64)}, one)]
    [32.5, 4.97]
    """
    found = []
    for kind, strategy in strategies.items():
        sensitivity = sensitivity_of(strategy, participation)
        scale, squares = sqrt_up(sensitivity.upper), strategy.row_squares()
        found.append(
            StrategyError(
                kind=kind,
                sensitivity=scale,
                exact=sensitivity.exact,
                mean=scale**2 * math.fsum(squares) / len(squares),
                largest=scale**2 * float(squares.max()),
            )
        )
    return found
