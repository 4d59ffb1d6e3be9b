"""Known-wrong releases of shuffled reports, each with a delta that it really has.

Notation: d = the number of people, each with one of `OPTIONS` values; e and c = the epsilon and the delta that are
claimed, under REPLACE_ONE. The people respond with the largest local epsilon e0 with which a bound that is named would
keep the claim. The true delta is that at the epsilon of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.mechanisms.broken.mutant import DeltaMutant
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


Bound: TypeAlias = Callable[[int, Fraction, Fraction], arb]
"""From people, local epsilon and epsilon to the delta that is wrongly believed."""


def local_epsilon(bound: Bound, people: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest of a grid that seems to keep the claim; e at least, with which any release of reports does."""
    low, high = epsilon, epsilon + _MOST_LOCAL
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(bound(people, middle, epsilon)) <= delta else (low, middle)
    return low


def _variant(
    *,
    name: str,
    title: str,
    source: str,
    formula: str,
    bound: Bound,
    build: Callable[[int, Fraction, ApproximateDP], StructuredMechanism],
    true: Callable[[int, Fraction, Fraction], float],
    where: str = "all from d = 2, unless c is near 1",
) -> DeltaMutant:
    """Reports of the local epsilon with which a bound would keep the claim.

    Args:
        name, title, source, formula, where: see `DeltaMutant`.
        bound: what is wrongly believed.
        build: makes the mechanism of people, local epsilon, and the claim.
        true: a delta that it has, from people, local epsilon and epsilon.
    """
    return DeltaMutant(
        name=name,
        title=title,
        source=source,
        formula=formula,
        build=lambda people, epsilon, delta: build(
            people, local_epsilon(bound, people, epsilon, delta), ApproximateDP(epsilon=epsilon, delta=delta)
        ),
        delta=lambda people, epsilon, delta: true(people, local_epsilon(bound, people, epsilon, delta), epsilon),
        where=where,
        least_dim=2,
    )


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


ALL: tuple[DeltaMutant, ...] = (
    _variant(
        name="H1",
        title="reports that keep their order, with the epsilon of shuffled ones",
        source="a shuffler that does not shuffle",
        formula="(exp(e0) - exp(e))/(exp(e0) + 4)",
        bound=_crowd,
        build=OrderedReports,
        true=_of_one,
    ),
    _variant(
        name="H2",
        title="shuffled reports of d people, each counted twice",
        source="both directions of replacing one counted as people",
        formula="at least what counts of three kinds of reports attain",
        bound=lambda people, local, epsilon: _crowd(2 * people, local, epsilon),
        build=_shuffled,
        true=_attained,
    ),
    _variant(
        name="H3",
        title="shuffled reports, bounded by how many are of two labels alone",
        source="the reduction of Wang, Peng, Li and others 2024 (arXiv:2304.05007), as in its public code",
        formula="at least what counts of three kinds of reports attain",
        bound=_two_labels,
        build=_shuffled,
        true=_attained,
        where="few people, or a small c: d up to 5 at e = 1/2 and c = 0.001",
    ),
)
"""The known-wrong releases of shuffled reports."""
