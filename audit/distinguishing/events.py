"""Events: thresholds on a score that bound mu and epsilon, chosen on exploring trials and counted on confirming ones.

`plan_mu_event` and `plan_epsilon_event` choose the event that promises most; `EventTest.decide` makes its row of the
ledger from fresh trials. The trade-off region counts at thresholds of its own, and is never used to refute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, final

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.distinguishing.result import (
    COMPATIBLE,
    CONTRADICTS,
    CurveRegion,
    Event,
    LedgerRow,
    Role,
)
from dpverdict.audit.statistics.columns import Numbers, read_in_parts
from dpverdict.audit.statistics.joint_test import (
    EXACT_UP_TO,
    Counts,
    Order,
    PValueMethod,
    default_method,
    epsilon_lower,
    joint_p_value,
    mu_lower,
    touching_epsilon,
)
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper, wilson_end
from dpverdict.audit.statistics.small_delta import TwoEvents, choose_two_events
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.roots import bisected, doubled
from dpverdict.numerics.text import rounded_text

Promise = Callable[[ArrayLike, ArrayLike], Array]
"""From a probability p under the first law and q under the second to the privacy parameter that they show."""

CANDIDATES: Final = 200
"""Thresholds tried in each order while exploring."""
REGION_POINTS: Final = 9
SMALLEST_ASYMPTOTIC: Final = 0.01
"""Shares below this are decided exactly, up to a million trials, where the exact p-value takes about a second."""
EXACT_IF_RARE_UP_TO: Final = 1_000_000
MORE: Final = 0.15
"""In epsilon: by how much a score that was fitted to the explored trials must promise more than an earlier one."""
MOST: Final = 0.7
CLEARLY: Final = 1.15
"""Times what the event of the total variation promises: less than this may be the luck of a few exploring trials."""
STRAIGHT: Final = 0.25
"""A line that touches at less than this epsilon is taken for that of epsilon = 0, which the score promises."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedQuantity:
    """A privacy parameter for which an event is chosen. Nothing here needs to be valid: it decides the power alone.

    Attributes:
        promise: what the event alone, without its complement, shows: so its order is the one that tells.
        caution: standard errors by which an explored frequency is mistrusted when the event is chosen. Rare events
            promise as much mu as common ones, so a low caution falls for noisy tails; epsilon is truly larger in the
            tails, so a high caution misses it. The two values below did best in simulations.
    """

    promise: Promise
    caution: float


def mu_quantity() -> BoundedQuantity:
    """The parameter of Gaussian DP."""
    return BoundedQuantity(promise=mu_from_frequencies, caution=3.0)


def epsilon_quantity(delta: float) -> BoundedQuantity:
    """The epsilon of (epsilon, delta)-DP at one delta."""
    return BoundedQuantity(promise=partial(epsilon_from_frequencies, delta=delta), caution=1.0)


def mu_from_frequencies(probability: ArrayLike, other: ArrayLike) -> Array:
    """mu-GDP forces p <= Phi(Phi^-1(q) + mu), so mu >= Phi^-1(p) - Phi^-1(q); a little less."""
    above, below = scipy.special.ndtri(probability), scipy.special.ndtri(other)
    promised: Array = above - below - 2.0**-48 * (np.abs(above) + np.abs(below))
    return promised


def epsilon_from_frequencies(probability: ArrayLike, other: ArrayLike, delta: float) -> Array:
    """(epsilon, delta)-DP forces p <= e^epsilon q + delta, so epsilon >= log((p - delta)/q); a little less."""
    p, q = np.asarray(probability, dtype=np.float64), np.asarray(other, dtype=np.float64)
    with np.errstate(divide="ignore"):
        top, bottom = np.log(np.maximum(p - delta - 2.0**-52, 0)), np.log(q)
    promised: Array = top - bottom - 2.0**-48 * (1 + np.abs(np.maximum(bottom, -700)))
    return promised


def choose_event(
    dataset_scores: Array, neighbour_scores: Array, *, trials: int, error_probability: float, quantity: BoundedQuantity
) -> Event:
    """The event that promises the best bound from ``trials`` fresh trials per dataset.

    The promise: both frequencies are first moved ``quantity.caution`` standard errors to the bad side, for what
    exploration does not know, then as far as the confirmation will move them. Both moves are score intervals of
    Wilson, which need no special case at counts of 0 and n.
    """
    above, below = (np.sort(dataset_scores), np.sort(neighbour_scores))
    pooled = np.unique(np.concatenate([above, below]))
    if len(pooled) == 1:
        return Event(order=Order.DATASET_FIRST, threshold=float(pooled[0]))
    cuts = _candidate_thresholds(above, below, pooled)
    lower, upper = pooled[cuts], pooled[cuts + 1]
    # Between two scores that were seen lies the best guess of a boundary; where there is no room, the score itself.
    with np.errstate(invalid="ignore"):
        middle = lower / 2 + upper / 2
    inside = (lower < middle) & (middle < upper)
    at_least, at_most = np.where(inside, middle, upper), np.where(inside, middle, lower)
    z = -float(scipy.special.ndtri(error_probability / 2))
    best: tuple[float, Event] | None = None
    for order, thresholds, frequencies in (
        (Order.DATASET_FIRST, at_least, [1 - np.searchsorted(s, at_least, "left") / len(s) for s in (above, below)]),
        (Order.NEIGHBOUR_FIRST, at_most, [np.searchsorted(s, at_most, "right") / len(s) for s in (below, above)]),
    ):
        p = wilson_end(wilson_end(frequencies[0], len(above), -quantity.caution), trials, -z)
        q = wilson_end(wilson_end(frequencies[1], len(below), quantity.caution), trials, z)
        promised = quantity.promise(p, q)
        i = int(np.argmax(promised))
        if best is None or promised[i] > best[0]:
            best = float(promised[i]), Event(order=order, threshold=float(thresholds[i]))
    assert best is not None
    return best[1]


def predicted_bound(
    event: Event,
    dataset_scores: Array,
    neighbour_scores: Array,
    *,
    trials: int,
    error_probability: float,
    quantity: BoundedQuantity,
) -> float:
    """The bound that one event promises, as `choose_event` reckons it."""
    z = -float(scipy.special.ndtri(error_probability / 2))
    first, first_trials, second, second_trials = count_event(event, dataset_scores, neighbour_scores).four
    p = wilson_end(wilson_end(np.array(first / first_trials), first_trials, -quantity.caution), trials, -z)
    q = wilson_end(wilson_end(np.array(second / second_trials), second_trials, quantity.caution), trials, z)
    return float(quantity.promise(p, q))


def _candidate_thresholds(above: Array, below: Array, pooled: Array) -> NDArray[np.int64]:
    """Indices i for thresholds between the scores i and i + 1: evenly spread, and where the samples part best."""
    spread = np.linspace(0, len(pooled) - 2, CANDIDATES).round().astype(np.int64)
    gap = np.searchsorted(below, pooled, "right") / len(below) - np.searchsorted(above, pooled, "right") / len(above)
    # Below the lowest and above the highest score of each sample, where a count of 0 begins.
    ends = np.searchsorted(pooled, [above[0], below[0], above[-1], below[-1]]) - [1, 1, 0, 0]
    parting = np.array([np.argmax(gap), np.argmin(gap), *ends])
    cuts: NDArray[np.int64] = np.unique(np.clip(np.concatenate([spread, parting]), 0, len(pooled) - 2))
    return cuts


def count_event(event: Event, dataset_scores: Numbers, neighbour_scores: Numbers) -> Counts:
    """How often the event happened on each dataset, that of the law under which it is likely first."""
    first, second = dataset_scores, neighbour_scores
    happened: np.ufunc = np.greater_equal
    if event.order is Order.NEIGHBOUR_FIRST:
        first, second, happened = second, first, np.less_equal
    hits = [
        sum(int(np.count_nonzero(happened(part, event.threshold))) for (part,) in read_in_parts(scores))
        for scores in (first, second)
    ]
    return Counts(hits[0], len(first), hits[1], len(second), event.order)


def region_thresholds(dataset_scores: Array, neighbour_scores: Array) -> Array:
    """The deciles of the exploring scores of both datasets, without repetition."""
    pooled = np.sort(np.concatenate([dataset_scores, neighbour_scores]))
    ranks = np.arange(1, REGION_POINTS + 1) * len(pooled) // (REGION_POINTS + 1)
    thresholds: Array = np.unique(pooled[ranks])
    return thresholds


def trade_off_region(
    thresholds: Array, dataset_scores: Numbers, neighbour_scores: Numbers, *, error_probability: float
) -> CurveRegion:
    """Rectangles for (alpha, beta) at thresholds that were fixed beforehand, all at once except with the error."""
    share = error_probability / (4 * len(thresholds))
    alarms, misses = (
        len(neighbour_scores) - _counts_below(neighbour_scores, thresholds),
        _counts_below(dataset_scores, thresholds),
    )
    return CurveRegion(
        thresholds=thresholds,
        alpha_lower=proportion_lower(alarms, len(neighbour_scores), share),
        alpha_upper=proportion_upper(alarms, len(neighbour_scores), share),
        beta_lower=proportion_lower(misses, len(dataset_scores), share),
        beta_upper=proportion_upper(misses, len(dataset_scores), share),
        error_probability=error_probability,
    )


def _counts_below(scores: Numbers, thresholds: Array) -> Integers:
    """How many scores are below each threshold."""
    counts = np.zeros(len(thresholds), dtype=np.int64)
    for (part,) in read_in_parts(scores):
        counts += np.searchsorted(np.sort(part), thresholds, "left")
    return counts


def region_row(region: CurveRegion) -> LedgerRow:
    """The region in the ledger, beside the rows of the test."""
    return LedgerRow(
        what="trade-off region",
        role=Role.DESCRIPTIVE,
        method=f"{4 * len(region.thresholds)} one-sided Clopper-Pearson bounds, equal shares",
        error_share=region.error_probability,
        outcome=Role.DESCRIPTIVE.value,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EventTest:
    """One event and the line p = delta + e^epsilon q on which it is tested, fixed before the trials that decide.

    Attributes:
        name: in the budget; "mu" bounds mu, "epsilon" bounds epsilon at ``delta``.
        event: a threshold on a score.
        score: the name of that score.
        share: of the error probability.
        epsilon: of the line, for a bound on mu.
        delta: of the line, for a bound on epsilon.
        bounds: whether a bound is wanted too.
    """

    name: str
    event: Event
    score: str
    share: float
    epsilon: float | None = None
    delta: float | None = None
    bounds: bool = True

    def shows_most_of(
        self, mu: Fraction, dataset_scores: Array, neighbour_scores: Array, trials: int, share: float
    ) -> bool:
        """Whether, going by explored scores, a bound at that share reaches `MOST` of the way from mu to the truth."""
        counts = count_event(self.event, dataset_scores, neighbour_scores)
        above, below = counts.first / counts.first_trials, counts.second / counts.second_trials
        if not (0 < below < 1 and 0 < above < 1):
            return False
        quantiles = scipy.special.ndtri(np.array([above, below]))
        spread = np.array([above * (1 - above), below * (1 - below)]) * 2 * math.pi * np.exp(quantiles**2)
        excess = float(quantiles[0] - quantiles[1]) - float(min(mu, Fraction(1 << 64)))  # the quantiles are within 40
        return bool(excess + scipy.special.ndtri(share) * math.sqrt(spread.sum() / trials) >= MOST * excess > 0)

    def decide(
        self, dataset_scores: Numbers, neighbour_scores: Numbers, claim: Guarantee, beyond: float = 0.0
    ) -> LedgerRow:
        """The row after its trials, shape (n,) each.

        Args:
            dataset_scores: of fresh trials.
            neighbour_scores: the same of the neighbour.
            claim: what is tested, at the share of the row.
            beyond: the share of another row that has refuted the claim, to be used again for larger mu; 0 for none.
        """
        counts = count_event(self.event, dataset_scores, neighbour_scores)
        method = default_method(counts)
        if self.share < SMALLEST_ASYMPTOTIC and EXACT_UP_TO < counts.first_trials <= EXACT_IF_RARE_UP_TO:
            method = PValueMethod.EXACT
        at: float | None
        bound: float | None = None
        if self.epsilon is not None:
            spent = max(self.share, beyond)
            bounding = method if spent == self.share else default_method(counts)
            if self.bounds:
                bound = mu_lower(counts, epsilon=self.epsilon, level=spent, method=bounding)
            at, allowed, what = self.epsilon, float(claim.delta_upper(self.epsilon)), "mu_lower"
        else:
            assert self.delta is not None
            if self.bounds:
                bound = epsilon_lower(counts, delta=self.delta, level=self.share, method=method)
            at, allowed, what = (
                claimed_epsilon(claim, self.delta),
                self.delta,
                f"epsilon_lower at delta={rounded_text(self.delta)}",
            )
        # The claim implies the line; it is rejected at the same share as the lines beyond the bound, with which it is
        # nested.
        p = 1.0
        if at is not None and allowed < 1:
            p = joint_p_value(counts, epsilon=at, delta=allowed, level=self.share, method=method)
        return LedgerRow(
            what=what,
            role=Role.TEST,
            event=self.event,
            method=f"joint test of two binomials, {method.value}"
            + (
                f"; the bound, beyond the refuted claim, at the share {beyond:g} of the row that refuted it"
                if beyond
                else ""
            ),
            error_share=self.share,
            counts=counts,
            bound=bound,
            delta=self.delta if self.epsilon is None else None,
            outcome=CONTRADICTS if p <= self.share else COMPATIBLE,
            score=self.score,
            p_value=p,
            epsilon=at,
            implied=event_implied(self.event, at, allowed),
        )


def event_implied(event: Event, epsilon: float | None, delta: float) -> str:
    """What the claim implies of one event, in words."""
    first, second = ("P", "Q") if event.order is Order.DATASET_FIRST else ("Q", "P")
    said = event.describe()
    return f"{first}({said}) <= exp({epsilon!r}) {second}({said}) + {delta!r}"


def plan_mu_event(
    dataset_scores: Array, neighbour_scores: Array, *, trials: int, share: float, score: str
) -> EventTest:
    """The event of the total variation, or one that promises clearly more for mu.

    Where the score is a log-likelihood ratio and the noise Gaussian, {score >= 0} is the best event and epsilon = 0 its
    line. Another event, or this one of laws that are not symmetric, is tested where its line touches the curve that the
    explored counts suggest.
    """
    explored, quantity = (dataset_scores, neighbour_scores), mu_quantity()
    middle = Event(order=Order.DATASET_FIRST, threshold=0.0)
    event = choose_event(*explored, trials=trials, error_probability=share, quantity=quantity)
    most, plain = (
        predicted_bound(one, *explored, trials=trials, error_probability=share, quantity=quantity)
        for one in (event, middle)
    )
    chosen = middle if plain > 0 and most <= CLEARLY * plain else event
    counts = count_event(chosen, dataset_scores, neighbour_scores)
    p, q = (counts.first + 0.5) / (counts.first_trials + 1), (counts.second + 0.5) / (counts.second_trials + 1)
    line = touching_epsilon(p, q)
    if chosen == middle and abs(line) < STRAIGHT:
        line = 0.0
    return EventTest(name="mu", event=chosen, score=score, share=share, epsilon=line)


def plan_epsilon_event(
    dataset_scores: Array, neighbour_scores: Array, *, trials: int, share: float, score: str, delta: float
) -> EventTest:
    """The event that promises most for epsilon at one delta."""
    quantity = epsilon_quantity(delta)
    event = choose_event(dataset_scores, neighbour_scores, trials=trials, error_probability=share, quantity=quantity)
    return EventTest(name="epsilon", event=event, score=score, share=share, delta=delta)


def capped_at_claim(epsilon_lower: float, claim: Guarantee, delta: float) -> float:
    """A bound on epsilon at delta, lowered to what is claimed: beside a claim that was not refuted it is no more."""
    allowed = claimed_epsilon(claim, delta)
    return epsilon_lower if allowed is None else min(epsilon_lower, allowed)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPlan:
    """Two events on one score that bound epsilon at one delta, with an error probability of their own.

    Attributes:
        events: fixed before the trials that are counted.
        score: the name of the score.
        share: the error probability of the bound.
        delta: at which epsilon is bounded.
    """

    events: TwoEvents
    score: str
    share: float
    delta: float

    def decide(
        self, dataset_scores: Numbers, neighbour_scores: Numbers, claim: Guarantee, *, refuted: bool
    ) -> LedgerRow:
        """The row after its trials, shape (n,) each; no bound is above a claim that was not refuted."""
        counts = self.events.count(dataset_scores, neighbour_scores)
        bound = counts.epsilon_lower(self.delta, self.share)
        if not refuted:
            bound = capped_at_claim(bound, claim, self.delta)
        above, below = self.events.above, self.events.below
        if above is not None:
            event = Event(order=Order.DATASET_FIRST, threshold=above)
            shown = Counts(counts.a_on_p, counts.of_p, counts.a_on_q, counts.of_q, event.order)
        else:
            assert below is not None
            event = Event(order=Order.NEIGHBOUR_FIRST, threshold=below)
            shown = Counts(counts.b_on_q, counts.of_q, counts.b_on_p, counts.of_p, event.order)
        said = ""
        if above is not None and below is not None:
            said = f", both orders at once: score <= {below!r} {counts.b_on_q} times on the neighbour and "
            said += f"{counts.b_on_p} on the dataset"
        exactly = PValueMethod.EXACT if counts.is_exact else PValueMethod.ASYMPTOTIC
        return LedgerRow(
            what=f"epsilon_lower at delta={rounded_text(self.delta)}",
            role=Role.BOUND,
            event=event,
            method=f"joint test of binomials, {exactly.value}{said}",
            error_share=self.share,
            counts=shown,
            bound=bound,
            delta=self.delta,
            outcome=Role.BOUND.value,
            score=self.score,
        )


def plan_bound_events(
    candidates: Mapping[str, tuple[Array, Array]], *, trials: int, share: float, delta: float
) -> BoundPlan:
    """The two events that promise most for epsilon at one delta, on one of a few scores.

    Args:
        candidates: explored scores of both sides by name; a later one has to promise clearly more.
        trials: fresh ones per side.
        share: the error probability of the bound.
        delta: at which epsilon is bounded.
    """
    best: tuple[float, TwoEvents, str] | None = None
    for name, sides in candidates.items():
        events, promised = choose_two_events(*sides, trials=trials, delta=delta, level=share)
        if best is None or promised > best[0] + MORE:
            best = promised, events, name
    assert best is not None
    return BoundPlan(events=best[1], score=best[2], share=share, delta=delta)


def claimed_epsilon(claim: Guarantee, delta: float, *, most: float = 600.0) -> float | None:
    """An epsilon >= 0 at which the claim allows at most ``delta``, nearly the least one; None beyond ``most``."""

    def too_small(epsilon: float) -> bool:
        return bool(claim.delta_upper(epsilon) > delta)

    if not too_small(0.0):
        return 0.0
    low, high = doubled(too_small, 0.0, 1.0, most=most)
    return None if high > most else bisected(too_small, low, high, steps=60)[1]
