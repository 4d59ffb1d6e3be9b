"""DP-FTRL: noisy prefix sums of clipped gradients by a matrix factorisation, where records return in every epoch.

The factorisation A = L R of the prefix sums over T steps releases L (R x + noise), x the sums of the batches. A record
takes part once in each of E epochs of b = T/E steps. If it takes part at the steps t_1 < ... < t_E with clipped
gradients g_1, ..., g_E, the statistic moves by the sum of R e_(t_k) g_k^T. No entry of R is negative here, so no inner
product of columns is, and the Frobenius norm is largest if all g_k are one vector of the clipping norm:

    mu^2 = max over participations of |R (e_(t_1) + ... + e_(t_E))|^2/s^2,      4 times that if a record is replaced.

* A fixed order of the records ("fixed"): t_k = t_1 + (k - 1) b, one pattern for each t_1. With a Toeplitz R the first
  is the worst, as a later one has the same entries, with some cut off.
* An order of its own in each epoch ("fresh"), known to the adversary: t_k is any step of epoch k. All are compared.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb

from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.balls import Exact, Real, sqrt_up
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, sampled_above
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.core.sensitivity import LossBound, Maximum, QuadraticSpace, unsupported
from dpverdict.mechanisms.streams.factorization_counter import (
    KINDS,
    Factorization,
    FactorizationName,
    NormalNoise,
)
from dpverdict.mechanisms.streams.sensitivity import noisy_sums
from dpverdict.mechanisms.streams.toeplitz import SquareRootToeplitz
from dpverdict.mechanisms.training.gradients import (
    NOISE_MULTIPLIER,
    ON_GRADIENTS,
    STEPS,
    GradientMechanism,
    clipped,
    exact_norm,
)
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above, float_below
from dpverdict.numerics.text import exact_text

Participation: TypeAlias = Literal["fixed", "fresh"]

MOST_STEPS: Final = 1 << 14
"""Steps of a run: every pattern of participation is compared."""
MOST_PATTERNS: Final = 1 << 16
"""Patterns of a fresh order that are compared."""
_BLOCK: Final = 1 << 22


def worst_participation(
    factorization: Factorization, epochs: int, participation: Participation
) -> tuple[tuple[int, ...], Real]:
    """The steps, from 1, of the participation with the largest |R sum e_t|^2, and that number.

    Raises:
        InvalidValue: a fresh order has more than `MOST_PATTERNS` patterns.
    """
    steps = factorization.horizon
    each = steps // epochs
    if participation == "fresh" and each**epochs > MOST_PATTERNS:
        remedy = "take a fixed order, fewer epochs or fewer steps"
        raise InvalidValue("patterns", f"{each}^{epochs}", f"at most {MOST_PATTERNS}", remedy)
    if isinstance(factorization, SquareRootToeplitz):
        return _of_toeplitz(factorization, epochs, participation)
    best: tuple[int, ...] = ()
    largest = -1.0
    for patterns in _blocks(
        _participation_patterns(each, epochs, participation), max(1, _BLOCK // max(steps, factorization.size))
    ):
        streams = np.zeros((len(patterns), steps))
        np.put_along_axis(streams, np.array(patterns), 1.0, axis=1)
        squares = np.square(factorization.embed(streams)).sum(axis=1)  # of whole numbers: exact
        if squares.max() > largest:
            best, largest = patterns[int(squares.argmax())], float(squares.max())
    return tuple(step + 1 for step in best), Real.of(Fraction(largest))


def _participation_patterns(each: int, epochs: int, participation: Participation) -> Iterator[tuple[int, ...]]:
    """Steps from 0, one in each epoch."""
    if participation == "fixed":
        return (tuple(first + k * each for k in range(epochs)) for first in range(each))
    return itertools.product(*(range(k * each, (k + 1) * each) for k in range(epochs)))


def _blocks(patterns: Iterator[tuple[int, ...]], size: int) -> Iterator[list[tuple[int, ...]]]:
    while block := list(itertools.islice(patterns, size)):
        yield block


def _of_toeplitz(
    factorization: SquareRootToeplitz, epochs: int, participation: Participation
) -> tuple[tuple[int, ...], Real]:
    steps = factorization.horizon
    each = steps // epochs
    best = tuple(range(0, steps, each))
    if participation == "fresh" and epochs > 1:
        coefficients = factorization.coefficients()
        gram = [np.cumsum(coefficients[: steps - gap] * coefficients[gap:]) for gap in range(steps)]

        def square(pattern: tuple[int, ...]) -> float:
            pairs = itertools.combinations(pattern, 2)
            own = sum(gram[0][steps - 1 - t] for t in pattern)
            return float(own + 2 * sum(gram[u - t][steps - 1 - u] for t, u in pairs))

        found = {pattern: square(pattern) for pattern in _participation_patterns(each, epochs, participation)}
        best = max(found, key=found.__getitem__)
        least = found[best] * (1 - 1e-9)  # float64 errs by less
        close = [pattern for pattern, value in found.items() if value > least]

        def largest() -> arb:
            values = [_squared_norm(factorization, pattern) for pattern in close]
            return functools.reduce(arb.max, values)

        return tuple(step + 1 for step in best), Real(largest)
    return tuple(step + 1 for step in best), Real(lambda: _squared_norm(factorization, best))


def _squared_norm(factorization: SquareRootToeplitz, pattern: tuple[int, ...]) -> arb:
    """|R sum e_t|^2 at the current precision: a sum of shifted coefficients at every step."""
    steps = factorization.horizon
    entries = [arb(1)]
    for j in range(1, steps):
        entries.append(entries[-1] * (2 * j - 1) / (2 * j))
    total = arb(0)
    for time in range(steps):
        total += sum((entries[time - t] for t in pattern if t <= time), start=arb(0)) ** 2
    return total


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipationSpace(QuadraticSpace):
    """One record of a training run, present or absent in all epochs, or replaced.

    Attributes:
        dim: of one gradient.
        norm: the clipping norm, exactly.
        multiplier: standard deviation of the noise in units of the clipping norm, exactly.
        squared: the largest |R sum e_t|^2.
        steps: the steps at which it is attained, from 1.
        each: the number of steps of an epoch.
        invertible: whether the released sums determine the noisy statistic.
        replaced: whether a record is replaced; otherwise its place stays empty.
    """

    dim: int
    norm: Fraction
    multiplier: Fraction
    squared: Real
    steps: tuple[int, ...]
    each: int
    invertible: bool
    replaced: bool

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """A gradient of the clipping norm at the worst steps: all inner products of columns of R are >= 0."""
        place = self.steps[0] - 1
        canary = np.eye(1, self.dim) * float_below(self.norm)
        rest = np.zeros((place, self.dim))
        without = np.concatenate([rest, -canary]) if self.replaced else rest
        shown = ", ".join(map(str, self.steps[:6])) + (", ..." if len(self.steps) > 6 else "")
        attained = "" if self.invertible else "; the released sums do not determine all noisy nodes: a bound"
        loss = self.loss(noise, canary[0], -canary[0] if self.replaced else None)
        description = f"a canary whose gradient has the clipping norm at the steps {shown}"
        justification = (
            "columns of R have no negative inner products, so equal gradients add up the most, and all "
            f"patterns of participation were compared{attained}"
        )

        def datasets() -> tuple[Array, Array]:
            return np.concatenate([rest, canary]), without

        if self.invertible and self._released_so:
            return Maximum(loss=loss, datasets=datasets, description=description, justification=justification)
        return LossBound(
            loss=loss,
            datasets=datasets,
            description=description,
            justification=justification,
            attained=identical_laws(),
        )

    @property
    def _released_so(self) -> bool:
        """Whether a run on given records, in their order, has the worst pattern: one that repeats in every epoch."""
        return all(u - t == self.each for t, u in itertools.pairwise(self.steps))

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real:
        """That of a record at the worst steps; its norm is rounded up where it is no rational number."""
        if not isinstance(noise, NormalNoise) or (replacement is None) is self.replaced:
            raise unsupported(self, noise)
        moved = clipped(record[None], float(self.norm))[0]
        if replacement is not None:
            moved = moved - clipped(replacement[None], float(self.norm))[0]
        longest = (2 if self.replaced else 1) * self.norm
        length = exact_norm(moved)
        length = longest if length >= Fraction(float_below(longest)) else length
        return self.squared.times((length / (self.norm * self.multiplier)) ** 2)


@final
class DPFTRL(GradientMechanism, AdditiveMechanism):
    """T steps of DP-FTRL on given gradients: all noisy prefix sums of the sums of the batches.

    Record j of a dataset takes part in the step (j mod b) + 1 of every epoch of b steps. The claim is the exact mu of
    the worst participation, rounded up.

    Args:
        noise_multiplier: standard deviation of the noise on R x in units of the clipping norm, > 0, exact.
        steps: the number of steps T, a multiple of the epochs.
        epochs: the number E of epochs; each record takes part once in each.
        kind: the factorisation: "binary", "honaker", "smooth-binary" or "sqrt-toeplitz".
        participation: "fixed" where the order of the records is the same in all epochs, "fresh" where it is not.
        clipping_norm: > 0, exact; what is promised does not depend on it.
        dim: the number of coordinates of a gradient; what is promised does not depend on it.
        adjacency: add-or-remove-one (the place of the record stays empty), or replace-one.

    Raises:
        InvalidValue: an argument out of range.

    Reference: Kairouz et al. 2021 (arXiv:2103.00039), the tree; Denisov, McMahan, Rush, Smith and Thakurta 2022
    (arXiv:2202.08312), factorisations and adaptive streams; Choquette-Choo, McMahan, Rush and Thakurta 2023
    (arXiv:2211.06530), several epochs.

    >>> DPFTRL(noise_multiplier=2, steps=8, epochs=2, kind="sqrt-toeplitz", participation="fixed").worst_steps
    (1, 5)
    """

    name = "dp-ftrl"
    title = "noisy prefix sums of the sums of batches"
    source: str = "Denisov, McMahan, Rush, Smith and Thakurta 2022"
    noise: NormalNoise
    sensitivity: ParticipationSpace
    parameters: ClassVar[tuple[Parameter, ...]] = (
        NOISE_MULTIPLIER,
        STEPS,
        Parameter("epochs", "E", "How often each record takes part, once in every T/E steps.", whole),
        Parameter("kind", "|".join(KINDS), "The factorisation."),
        Parameter("participation", "fixed|fresh", "Whether the order of the records is that of the first epoch."),
        *ON_GRADIENTS,
    )
    example: ClassVar[str] = "--noise-multiplier 2 --steps 8 --epochs 2 --kind sqrt-toeplitz --participation fixed"
    noise_multiplier: Fraction
    clipping_norm: Fraction
    steps: int
    epochs: int
    dim: int
    adjacency: NeighboringRelation
    factorization: Factorization
    worst_steps: tuple[int, ...]
    claim: GaussianDP
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        noise_multiplier: Exact,
        steps: int,
        epochs: int,
        kind: FactorizationName,
        participation: Participation,
        clipping_norm: Exact = 1,
        dim: int = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    ) -> None:
        self._take(
            noise_multiplier=noise_multiplier, clipping_norm=clipping_norm, steps=steps, dim=dim, adjacency=adjacency
        )
        self.epochs = check_whole(epochs, "epochs", least=1, remedy="say how often each record takes part")
        if self.steps % self.epochs or self.steps > MOST_STEPS:
            given = f"{self.steps} steps in {self.epochs} epochs"
            raise InvalidValue("steps", given, f"whole epochs of at most {MOST_STEPS} steps in all", "change one")
        if kind not in KINDS:
            raise InvalidValue("kind", kind, f"one of {', '.join(KINDS)}", "name a factorisation")
        if participation not in ("fixed", "fresh"):
            remedy = "fixed for one order in all epochs, fresh for an order of its own in each"
            raise InvalidValue("participation", participation, "fixed or fresh", remedy)
        self.kind, self.participation = kind, participation
        self.factorization = KINDS[kind](self.steps)
        self.worst_steps, squared = worst_participation(self.factorization, self.epochs, participation)
        deviation, replaced = self.clipping_norm * self.noise_multiplier, self.adjacency is REPLACE_ONE
        self.noise = NormalNoise(size=self.factorization.size * self.dim, scale=float_above(deviation))
        self.sensitivity = ParticipationSpace(
            dim=self.dim,
            norm=self.clipping_norm,
            multiplier=self.noise_multiplier,
            squared=squared,
            steps=self.worst_steps,
            each=self.steps // self.epochs,
            invertible=self.factorization.size == self.steps,
            replaced=replaced,
        )
        self.claim = GaussianDP(Fraction(sqrt_up(squared.times(4**replaced / self.noise_multiplier**2))))
        self.assumptions = (
            "each record takes part in one step of every epoch, chosen independently of its values",
            "every gradient is clipped, and the noise is added before anything else sees the sums",
            *sampled_above(deviation, self.noise.scale),
        )

    def statistic(self, records: Array) -> Array:
        """R x for every coordinate: shape (n, d) -> (size d,)."""
        each = self.steps // self.epochs
        sums = np.zeros((each, self.dim))
        np.add.at(sums, np.arange(len(records)) % each, clipped(records, float(self.clipping_norm)))
        embedded = self.factorization.embed(np.tile(sums, (self.epochs, 1)).T)  # (d, size)
        return np.ascontiguousarray(embedded).ravel()

    def decode(self, noisy: Array) -> Array:
        """All noisy prefix sums: shape (trials, size d) -> (trials, d T), a coordinate after the other."""
        sums = self.factorization.decode(noisy.reshape(-1, self.factorization.size))
        return sums.reshape(len(noisy), self.dim * self.steps)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at prefix sums of shape (trials, d T), if L is square."""
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)
        weights = (here - there) / float(self.noise.variance)
        offset = float(weights @ (here + there)) / 2

        def score(released: Array) -> Array:
            noisy = noisy_sums(self.factorization.embed, self.steps, released.reshape(-1, self.steps))
            found: Array = np.add.reduce(noisy.reshape(len(released), -1) * weights, axis=1) - offset
            return found

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return AdditiveMechanism.describe(self) | {
            "noise multiplier": exact_text(self.noise_multiplier),
            "steps": str(self.steps),
            "epochs": str(self.epochs),
            "factorisation": self.kind,
            "participation": self.participation,
            "clipping norm": exact_text(self.clipping_norm),
        }
