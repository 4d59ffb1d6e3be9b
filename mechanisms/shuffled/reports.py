"""Shuffled reports: many people randomise one value each, and the reports are released in random order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.domains import EventBound
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, precision
from dpverdict.checks import check_array, check_positive, check_whole, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, DeltaBound, Dominating, KnownEvent, NearbyPairs
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse
from dpverdict.mechanisms.local.hashing import LocalHashing
from dpverdict.mechanisms.local.randomizer import LARGEST_EPSILON, MOST_VALUES, OPTIONS, LocalRandomizer, Report
from dpverdict.mechanisms.local.subsets import HadamardResponse, SubsetSelection
from dpverdict.mechanisms.local.unary import UnaryEncoding
from dpverdict.mechanisms.shuffled.labels import (
    Event,
    Labels,
    attained_event,
    delta_of_crowd,
    randomizer_labels,
    response_labels,
    response_of_crowd,
    told_regions,
)
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.roots import as_fraction
from dpverdict.numerics.text import exact_text

RandomizerName: TypeAlias = Literal[
    "randomized-response",
    "symmetric-unary-encoding",
    "optimised-unary-encoding",
    "local-hashing",
    "subset-selection",
    "hadamard-response",
]

MOST_PEOPLE: Final = 1 << 24
"""The largest number of people: their values are held in memory, in both datasets of a pair."""

_RANDOMIZERS: Final[dict[RandomizerName, Callable[..., RandomizedResponse | LocalRandomizer]]] = {
    "randomized-response": RandomizedResponse,
    "symmetric-unary-encoding": partial(UnaryEncoding, bits="symmetric"),
    "optimised-unary-encoding": partial(UnaryEncoding, bits="optimised"),
    "local-hashing": LocalHashing,
    "subset-selection": SubsetSelection,
    "hadamard-response": HadamardResponse,
}
RANDOMIZERS: Final[tuple[RandomizerName, ...]] = tuple(_RANDOMIZERS)
_ZERO, _FIRST = Fraction(0), Fraction(1)  # the two values of the one person


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crowd:
    """Everybody else has one value: what is then attained."""

    value: int
    labels: Labels
    description: str


@final
class ShuffledReports(StatisticMechanism):
    """n people randomise a value of 0, ..., k - 1 each, and their reports are released in random order.

    Shuffled responses are their histogram. Neighbours replace the value of one person. From above: the one report hides
    among those of others that are drawn from laws they have in common, see `dpverdict.mechanisms.shuffled.labels`. From
    below: everybody else has one value, a third one or one of the two, and three kinds of reports are counted. For
    responses of k >= 3 values the two differ by terms of lower order in 1/n; for two values, and for other randomisers,
    by a factor that does not vanish.

    Args:
        people: n, from 2 to 2^24.
        randomizer: one of `RANDOMIZERS`; subsets and hashes of the size that is taken if none is given.
        options: k >= 2.
        local_epsilon: that of each report, > 0, exact.
        epsilon, delta: of the claim, exact.

    Attributes:
        randomizer: the name.
        local: the mechanism of one person.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Balle, Bell, Gascon and Nissim 2019 (the crowd: arXiv:1903.02837); Feldman, McMillan and Talwar 2023
    (arXiv:2208.04591); Wang, Peng, Li and others 2024 (by total variation: arXiv:2304.05007).

    >>> from dpverdict.audit import certify
    >>> made = ShuffledReports(people=1000, randomizer="randomized-response", options=4, local_epsilon=1,
    ...                        epsilon="0.118", delta="1e-6")
    >>> certify(made).status.name, certify(made, "eps=0.117, delta=1e-6").status.name
    ('CERTIFIED', 'REFUTED')
    """

    name = "shuffled-reports"
    title = "many randomised reports in random order"
    source = "Wang, Peng, Li and others 2024, with a third label"
    adjacency: NeighboringRelation = REPLACE_ONE
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("people", "N", "The number of people, a report each.", whole, axis="records"),
        Parameter("randomizer", "|".join(RANDOMIZERS), "How each person randomises."),
        OPTIONS,
        Parameter("local_epsilon", "X", "Epsilon of each report."),
        Parameter("epsilon", "X", "Epsilon that is claimed."),
        Parameter("delta", "X", "Delta that is claimed."),
    )
    example = "--people 20 --randomizer randomized-response --options 3 --local-epsilon 1 --epsilon 0.8 --delta 0.01"
    noise: Report
    claim: ApproximateDP
    dim: int
    people: int
    options: int
    local_epsilon: Fraction
    assumptions: tuple[str, ...]
    local: RandomizedResponse | LocalRandomizer

    def __init__(
        self,
        *,
        people: int,
        randomizer: RandomizerName,
        options: int,
        local_epsilon: Exact,
        epsilon: Exact,
        delta: Exact,
    ) -> None:
        self.people = check_whole(people, "people", least=2, most=MOST_PEOPLE, remedy="one report is not shuffled")
        if randomizer not in _RANDOMIZERS:
            remedy = "randomized-response is the usual one"
            raise InvalidValue("randomizer", randomizer, f"one of {', '.join(RANDOMIZERS)}", remedy)
        self.local_epsilon = check_positive(local_epsilon, "local_epsilon")
        if self.local_epsilon > LARGEST_EPSILON:
            remedy = "no noise is left long before"
            raise InvalidValue("local_epsilon", local_epsilon, f"at most {LARGEST_EPSILON}", remedy)
        self.options = check_whole(options, "options", least=2, most=MOST_VALUES, remedy="one value needs no report")
        self.randomizer: RandomizerName = randomizer
        self.local = _RANDOMIZERS[randomizer](options=self.options, epsilon=self.local_epsilon)
        self.claim = ApproximateDP(epsilon=epsilon, delta=delta)
        self.dim = self.people
        self.noise = Report(size=self.people, draw=self._draw)
        self.assumptions = (
            "the record is one of the values",
            "the order of the reports is uniform, and nothing else tells whose a report is",
        )
        self._above: dict[Fraction, arb] = {}
        self._below: dict[Fraction, tuple[_Crowd, Event]] = {}

    # what is known ----------------------------------------------------------------------------------------------------

    def above(self) -> tuple[Above, ...]:
        """At every epsilon the bound of the crowd; and one report alone, which composes."""
        hidden = (
            "the report of the one person and those of the crowd have labels of common laws, whose numbers alone tell; "
            "whoever is not in the crowd is told; the larger the crowd, the less the numbers tell"
        )
        return (
            DeltaBound(at=self.largest_delta, source="", because=hidden, assumptions=(REAL_ARITHMETIC,)),
            Dominating(
                loss=self._local_loss(),
                description="",
                justification="the shuffled reports are made of the one report, and of others that do not depend on it",
            ),
        )

    def _local_loss(self) -> PrivacyLoss:
        return self.local.pair_loss(np.zeros(1), np.ones(1), 0)

    def largest_delta(self, epsilon: Fraction) -> arb | None:
        """An upper bound on delta(epsilon) of every pair; None at epsilon < 0."""
        if epsilon < 0:
            return None
        if epsilon >= self.local_epsilon:
            return arb(0)
        if epsilon not in self._above:
            self._above[epsilon] = delta_of_crowd(self.people, self._hidden(), epsilon)
        return self._above[epsilon]

    def _hidden(self) -> Labels:
        if isinstance(self.local, RandomizedResponse):
            return response_labels(self.options, self.local_epsilon)
        return randomizer_labels(self.local.regions(_ZERO, _FIRST), self.local_epsilon)

    def _crowds(self) -> list[_Crowd]:
        """What everybody else may have: P's value, Q's, or a third one, of which the law of responses is known."""
        if isinstance(self.local, RandomizedResponse):
            values = range(min(3, self.options))
            made = [response_of_crowd(self.options, self.local_epsilon, value) for value in values]
        else:
            regions = self.local.regions(_ZERO, _FIRST)
            values = range(2)
            made = [told_regions(regions, of_q=bool(value)) for value in values]
        whose = ("P's value", "Q's value", "a third value")
        return [
            _Crowd(
                value=value,
                labels=labels,
                description=f"the value 0 replaced by 1, where everybody else has {whose[value]}, {value}",
            )
            for value, labels in zip(values, made, strict=True)
        ]

    def _best(self, epsilon: Fraction) -> tuple[_Crowd, Event]:
        """What attains most at an epsilon from 0 to below the local one."""
        if epsilon not in self._below:
            found = [(crowd, attained_event(self.people, crowd.labels, epsilon)) for crowd in self._crowds()]
            with precision(128):
                self._below[epsilon] = max(found, key=lambda each: each[1].delta().lower())
        return self._below[epsilon]

    def below(self) -> tuple[NearbyPairs]:
        """For every epsilon what everybody else has; the one for the claim is shown, by its event alone."""
        inside = self.claim.epsilon < self.local_epsilon
        crowd, event = self._best(self.claim.epsilon if inside else self.local_epsilon / 2)
        p, q = max(Fraction(0), as_fraction(event.p.lower())), min(Fraction(1), as_fraction(event.q.upper()))
        loss = FiniteLoss.of_weights(
            [ExponentialSum.of(p), ExponentialSum.of(1 - p)],
            [ExponentialSum.of(q), ExponentialSum.of(1 - q)],
            outcomes=(self._words(crowd, event), "any other outcome"),
            assumed=(REAL_ARITHMETIC,),
        )
        shown = AttainedLoss(pair=self._pair(crowd), loss=loss, description=crowd.description)

        def at_level(epsilon: Fraction) -> AttainedLoss | KnownEvent:
            if not 0 <= epsilon < self.local_epsilon:
                return shown
            best = self._best(epsilon)[0]
            return KnownEvent(pair=self._pair(best), description=best.description, event=partial(self._event, best))

        return (NearbyPairs(shown=shown, at_level=at_level),)

    def _event(self, crowd: _Crowd, epsilon: Fraction) -> EventBound:
        """At an epsilon from 0 to below the local one; beyond, that of the nearest of those."""
        level = min(max(epsilon, Fraction(0)), self.local_epsilon * Fraction(999, 1000))
        best, event = self._best(level)
        if best.value != crowd.value:
            event = attained_event(self.people, crowd.labels, level)
        return EventBound(event=self._words(crowd, event), p_ball=event.p, q_ball=event.q)

    def _words(self, crowd: _Crowd, event: Event) -> str:
        """The event: a log-likelihood ratio of the numbers of three kinds of reports."""
        kinds = (
            "reports of 0, of 1 and of others"
            if isinstance(self.local, RandomizedResponse)
            else "reports that are likelier of 0, likelier of 1, and equally likely"
        )
        within = f"{event.fewest} to {event.most} of the first two"
        return f"by the numbers of {kinds}, {within}, the log-likelihood ratio is above {float(event.level):.17g}"

    def _pair(self, crowd: _Crowd) -> NeighbourPair:
        here, there = (np.full((self.people, 1), float(crowd.value)) for _ in range(2))
        here[0], there[0] = 0.0, 1.0
        return self.neighbours(here, there)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """A bound from above: that of the one report, whose order is told."""
        return self.local.pair_loss(record, replacement, position)

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,): a value."""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The values as float64 of shape (m, 1), whole numbers below k."""
        records = check_array(dataset, (1,), 0.0, float(self.options - 1))
        check_whole_entries(records, "number the values from 0")
        return records

    def statistic(self, records: Array) -> Array:
        """The values: shape (n,).

        Raises:
            InvalidValue: not one of each of the n people.
        """
        if len(records) != self.people:
            remedy = "give the value of every person, or another number of people"
            raise InvalidValue("dataset", f"{len(records)} records", f"people={self.people} records", remedy)
        values: Array = records[:, 0]
        return values

    def response_chances(self, values: Array) -> Array:
        """Of every value in float64, the law of its response: shape (n,) -> (n, k)."""
        assert isinstance(self.local, RandomizedResponse)
        grown = np.exp(self.local.noise.log_odds)
        chances: Array = np.where(values[:, None] == np.arange(self.options), grown, 1.0) / (grown + self.options - 1)
        return chances

    def _draw(self, values: Array, trials: int, rng: np.random.Generator) -> Array:
        """Histograms of responses, of shape (trials, k), or reports one after the other, of shape (trials, n m)."""
        if isinstance(self.local, RandomizedResponse):
            found = np.zeros((trials, self.options))
            different, numbers = np.unique(values, return_counts=True)
            for chances, number in zip(self.response_chances(different), numbers.tolist(), strict=True):
                found += rng.multinomial(number, chances, size=trials)
            return found
        reports = np.stack([self.local.draw(values[i : i + 1], trials, rng) for i in range(self.people)], axis=1)
        order = np.argsort(rng.random((trials, self.people)), axis=1)
        return np.take_along_axis(reports, order[:, :, None], axis=1).reshape(trials, -1)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of how many reports are of each kind, where everybody else has one value.

        Where others have several values, their laws are taken for their mean: a score, not the ratio.
        """
        sides = [self.embed(side) for side in (pair.dataset, pair.neighbour)]
        at = int(np.argmax(sides[0] != sides[1]))
        here, there = (float(side[at]) for side in sides)
        others = np.delete(sides[0], at)
        if isinstance(self.local, RandomizedResponse):
            one, other = (self.response_chances(np.array([value]))[0] for value in (here, there))
            crowd = self.response_chances(others).mean(axis=0)
        else:
            regions = self.local.regions(Fraction(here), Fraction(there))
            one, other = np.array([[float(region.p.ball()), float(region.q.ball())] for region in regions]).T
            one, other = one / one.sum(), other / other.sum()
            share = float(np.mean(others == here) + np.mean((others != here) & (others != there)) / 2)
            crowd = share * one + (1 - share) * other

        def kinds(released: Array) -> Array:
            if isinstance(self.local, RandomizedResponse):
                return released
            reports = released.reshape(len(released) * self.people, -1)
            found = self.local.region_of(reports, Fraction(here), Fraction(there)).reshape(-1, self.people)
            counted: Array = (found[:, :, None] == np.arange(len(one))).sum(axis=1).astype(float)
            return counted

        def score(released: Array) -> Array:
            counts = kinds(released)
            ratio: Array = np.log(counts @ (one / crowd)) - np.log(counts @ (other / crowd))
            return ratio

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        given = StructuredMechanism.describe(self) | {
            "people": str(self.people),
            "randomizer": self.randomizer,
            "options": str(self.options),
            "local_epsilon": exact_text(self.local_epsilon),
        }
        del given["dim"]
        return given
