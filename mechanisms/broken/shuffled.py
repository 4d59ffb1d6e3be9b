"""Known-wrong releases of shuffled reports, each with a delta that it really has.

Notation: d = the number of people, each with one of `OPTIONS` values; e and c = the epsilon and the delta that are
claimed, under REPLACE_ONE. The people respond with the largest local epsilon e0 with which a bound that is named would
keep the claim. The true delta is that at the epsilon of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_dim, check_positive, check_probability
from dpverdict.mechanisms.core.bounds import WorstPair
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.shuffled.labels import attained_event, delta_of_crowd, response_labels, response_of_crowd
from dpverdict.mechanisms.shuffled.reports import ShuffledReports
from dpverdict.numerics.arrays import Array

OPTIONS: Final = 5
"""The number of values."""

_MOST_LOCAL: Final = 16
_STEPS: Final = 24


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleMutant:
    """A known-wrong release of many reports, with a delta that it has.

    Attributes:
        name: identifier, for example "H1".
        title: what is wrong, in a few words.
        source: where the slip is made.
        formula: the true delta in words of d, e, e0 and c.
        bound: from people, local epsilon and epsilon to the delta that is wrongly believed.
        build: makes the mechanism of people, local epsilon, and the claim.
        delta: a delta at the epsilon of the claim that it has at least, from people, local epsilon and epsilon.
        where: for which numbers of people and claims the claim is false, in words.
    """

    name: str
    title: str
    source: str
    formula: str
    bound: Callable[[int, Fraction, Fraction], arb]
    build: Callable[[int, Fraction, ApproximateDP], StructuredMechanism]
    delta: Callable[[int, Fraction, Fraction], float]
    where: str = "all from d = 2, unless c is near 1"
    least_dim: ClassVar[int] = 2
    parameters: ClassVar[tuple[str, ...]] = ("dim", "epsilon", "delta")

    def local_epsilon(self, dim: int, epsilon: Exact, delta: Exact) -> Fraction:
        """The largest of a grid that seems to keep the claim; e at least, with which any release of reports does."""
        level, share = check_positive(epsilon, "epsilon"), check_probability(delta, "delta", "give that of the claim")
        people = check_dim(dim)
        low, high = level, level + _MOST_LOCAL
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if float(self.bound(people, middle, level)) <= share else (low, middle)
        return low

    def make(self, dim: int, epsilon: Exact, delta: Exact) -> StructuredMechanism:
        """The wrong mechanism for ``dim`` people, claiming ``ApproximateDP(epsilon, delta)``.

        Raises:
            InvalidValue: an argument is out of range.
        """
        local = self.local_epsilon(dim, epsilon, delta)
        wrong = self.build(dim, local, ApproximateDP(epsilon=epsilon, delta=delta))
        wrong.name, wrong.source = f"broken:{self.name}", f"known-wrong variant {self.name}"
        return wrong

    def true_delta(self, dim: int, epsilon: Exact, delta: Exact) -> float:
        """A delta at the epsilon of the claim that it has at least, up to rounding; of H1 its own."""
        return self.delta(dim, self.local_epsilon(dim, epsilon, delta), check_positive(epsilon, "epsilon"))

    def refutable(self, dim: int, epsilon: Exact = 1, delta: Exact = "0.001") -> bool:
        """Whether the claim is false."""
        return self.true_delta(dim, epsilon, delta) > float(Fraction(delta))

    def where_refutable(self) -> str:
        """The numbers of people with which it is, in words."""
        return self.where


def _shuffled(people: int, local: Fraction, claim: ApproximateDP) -> ShuffledReports:
    return ShuffledReports(
        people=people,
        randomizer="randomized-response",
        options=OPTIONS,
        local_epsilon=local,
        epsilon=claim.epsilon,
        delta=claim.delta,
    )


@final
class OrderedReports(StructuredMechanism):
    """The responses of d people, in their order: H1. Each is as private as one response alone, and no more."""

    adjacency: NeighboringRelation = REPLACE_ONE
    dim: int
    claim: ApproximateDP
    assumptions: tuple[str, ...]

    def __init__(self, people: int, local: Fraction, claim: ApproximateDP) -> None:
        self.dim, self.claim = people, claim
        self._shuffled = _shuffled(people, local, claim)
        self.assumptions = ("the record is one of the values",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The values as float64 of shape (d, 1), whole numbers."""
        return self._shuffled.check_records(dataset)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """The responses of everybody: shape (trials, d)."""
        chances = self._shuffled.response_chances(self._shuffled.embed(dataset)).cumsum(axis=1)
        uniform = rng.random((trials, self.dim))
        values: Array = np.minimum((uniform[:, :, None] > chances).sum(axis=2), OPTIONS - 1).astype(float)
        return values

    def _worst(self) -> WorstPair:
        here, there = np.zeros((self.dim, 1)), np.zeros((self.dim, 1))
        there[0] = 1.0
        return WorstPair(
            loss=self.pair_loss(here[0], there[0], 0),
            pair=self.neighbours(here, there),
            description="the value 0 replaced by the value 1",
            justification="the responses are independent, and it is known whose each is",
        )

    def above(self) -> tuple[WorstPair]:
        """Any two values of one person."""
        return (self._worst(),)

    def below(self) -> tuple[WorstPair]:
        """The same pair."""
        return (self._worst(),)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """That of one response."""
        return self._shuffled.pair_loss(record, replacement, position)


def _crowd(people: int, local: Fraction, epsilon: Fraction) -> arb:
    return delta_of_crowd(people, response_labels(OPTIONS, local), epsilon) if epsilon < local else arb(0)


def _two_labels(people: int, local: Fraction, epsilon: Fraction) -> arb:
    """What is believed where the numbers of reports of P's value and of Q's are taken for all there is."""
    if epsilon >= local:
        return arb(0)
    return attained_event(people, response_of_crowd(OPTIONS, local, 2), epsilon).delta()


def _attained(people: int, local: Fraction, epsilon: Fraction) -> float:
    """The most of three pairs."""
    if epsilon >= local:
        return 0.0
    return max(
        float(attained_event(people, response_of_crowd(OPTIONS, local, value), epsilon).delta()) for value in range(3)
    )


def _of_one(people: int, local: Fraction, epsilon: Fraction) -> float:
    grown = math.exp(local)
    return max(0.0, (grown - math.exp(epsilon)) / (grown + OPTIONS - 1))


ALL: tuple[ShuffleMutant, ...] = (
    ShuffleMutant(
        name="H1",
        title="reports that keep their order, with the epsilon of shuffled ones",
        source="a shuffler that does not shuffle",
        formula="(exp(e0) - exp(e))/(exp(e0) + 4)",
        bound=_crowd,
        build=OrderedReports,
        delta=_of_one,
    ),
    ShuffleMutant(
        name="H2",
        title="shuffled reports of d people, each counted twice",
        source="both directions of replacing one counted as people",
        formula="at least what counts of three kinds of reports attain",
        bound=lambda people, local, epsilon: _crowd(2 * people, local, epsilon),
        build=_shuffled,
        delta=_attained,
    ),
    ShuffleMutant(
        name="H3",
        title="shuffled reports, bounded by how many are of two labels alone",
        source="the reduction of Wang, Peng, Li and others 2024 (arXiv:2304.05007), as in its public code",
        formula="at least what counts of three kinds of reports attain",
        bound=_two_labels,
        build=_shuffled,
        delta=_attained,
        where="few people, or a small c: d up to 5 at e = 1/2 and c = 0.001",
    ),
)
"""The known-wrong releases of shuffled reports."""
