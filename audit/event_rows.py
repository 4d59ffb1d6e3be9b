"""A row of the ledger that decides by the counts of one event, chosen while exploring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverdict.audit.distinguishing_test import COMPATIBLE, CONTRADICTS, Counts, Event, LedgerRow, Order, Role
from dpverdict.audit.events import choose_event, count, epsilon_quantity, mu_quantity, promised_by
from dpverdict.audit.joint_bounds import epsilon_lower, mu_lower, touching_epsilon
from dpverdict.audit.joint_test import EXACT_UP_TO, Method, TwoCounts, default_method, joint_p
from dpverdict.mechanisms.guarantee import Guarantee

Array = NDArray[np.float64]

SMALLEST_ASYMPTOTIC: Final = 0.01
"""Shares below this are decided exactly, up to a million trials, where the exact p-value takes about a second."""
EXACT_IF_RARE_UP_TO: Final = 1_000_000
MOST: Final = 0.7
CLEARLY: Final = 1.15
"""Times what the event of the total variation promises: less than this may be the luck of a few exploring trials."""


STRAIGHT: Final = 0.25
"""A line that touches at less than this epsilon is taken for that of epsilon = 0, which the score promises."""


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
    """

    name: str
    event: Event
    score: str
    share: float
    epsilon: float | None = None
    delta: float | None = None

    def shows_most_of(
        self, mu: Fraction, dataset_scores: Array, neighbour_scores: Array, trials: int, share: float
    ) -> bool:
        """Whether, going by explored scores, a bound at that share reaches `MOST` of the way from mu to the truth."""
        counts = _in_order(self.event, count(self.event, dataset_scores, neighbour_scores))
        above, below = counts.first / counts.first_trials, counts.second / counts.second_trials
        if not (0 < below < 1 and 0 < above < 1):
            return False
        quantiles = special.ndtri(np.array([above, below]))
        spread = np.array([above * (1 - above), below * (1 - below)]) * 2 * math.pi * np.exp(quantiles**2)
        excess = float(quantiles[0] - quantiles[1]) - float(mu)
        return bool(excess + special.ndtri(share) * math.sqrt(spread.sum() / trials) >= MOST * excess > 0)

    def decide(
        self, dataset_scores: Array, neighbour_scores: Array, claim: Guarantee, beyond: float = 0.0
    ) -> LedgerRow:
        """The row after its trials, shape (n,) each.

        Args:
            dataset_scores: of fresh trials.
            neighbour_scores: the same of the neighbour.
            claim: what is tested, at the share of the row.
            beyond: the share of another row that has refuted the claim, to be used again for larger mu; 0 for none.
        """
        counts = count(self.event, dataset_scores, neighbour_scores)
        two = _in_order(self.event, counts)
        method = default_method(two)
        if self.share < SMALLEST_ASYMPTOTIC and EXACT_UP_TO < two.first_trials <= EXACT_IF_RARE_UP_TO:
            method = Method.EXACT
        at: float | None
        if self.epsilon is not None:
            spent = max(self.share, beyond)
            bounding = method if spent == self.share else default_method(two)
            bound = mu_lower(two, epsilon=self.epsilon, level=spent, method=bounding)
            at, allowed, what = self.epsilon, float(claim.delta_upper(self.epsilon)), "mu_lower"
        else:
            assert self.delta is not None
            bound = epsilon_lower(two, delta=self.delta, level=self.share, method=method)
            at, allowed, what = (
                _claimed_epsilon(claim, self.delta),
                self.delta,
                f"epsilon_lower at delta={self.delta:g}",
            )
        # The claim implies the line; it is rejected at the same share as the lines beyond the bound, with which it is
        # nested.
        p = 1.0
        if at is not None and allowed < 1:
            p = joint_p(two, epsilon=at, delta=allowed, level=self.share, method=method)
        first, second = ("P", "Q") if self.event.order is Order.DATASET_FIRST else ("Q", "P")
        event = self.event.describe()
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
            probability_lower=None,
            probability_upper=None,
            bound=bound,
            outcome=CONTRADICTS if p <= self.share else COMPATIBLE,
            score=self.score,
            p_value=p,
            epsilon=at,
            implied=f"{first}({event}) <= exp({at!r}) {second}({event}) + {allowed!r}",
        )


def plan_mu(dataset_scores: Array, neighbour_scores: Array, *, trials: int, share: float, score: str) -> EventTest:
    """The event of the total variation, or one that promises clearly more for mu.

    Where the score is a log-likelihood ratio and the noise Gaussian, {score >= 0} is the best event and epsilon = 0 its
    line. Another event, or this one of laws that are not symmetric, is tested where its line touches the curve that the
    explored counts suggest.
    """
    explored, quantity = (dataset_scores, neighbour_scores), mu_quantity()
    middle = Event(order=Order.DATASET_FIRST, threshold=0.0)
    event = choose_event(*explored, trials=trials, error_probability=share, quantity=quantity)
    most, plain = (
        promised_by(one, *explored, trials=trials, error_probability=share, quantity=quantity)
        for one in (event, middle)
    )
    chosen = middle if plain > 0 and most <= CLEARLY * plain else event
    two = _in_order(chosen, count(chosen, dataset_scores, neighbour_scores))
    p, q = (two.first + 0.5) / (two.first_trials + 1), (two.second + 0.5) / (two.second_trials + 1)
    line = touching_epsilon(p, q)
    if chosen == middle and abs(line) < STRAIGHT:
        line = 0.0
    return EventTest(name="mu", event=chosen, score=score, share=share, epsilon=line)


def plan_epsilon(
    dataset_scores: Array, neighbour_scores: Array, *, trials: int, share: float, score: str, delta: float
) -> EventTest:
    """The event that promises most for epsilon at one delta."""
    quantity = epsilon_quantity(delta)
    event = choose_event(dataset_scores, neighbour_scores, trials=trials, error_probability=share, quantity=quantity)
    return EventTest(name="epsilon", event=event, score=score, share=share, delta=delta)


def _claimed_epsilon(claim: Guarantee, delta: float) -> float | None:
    """An epsilon >= 0 at which the claim allows at most ``delta``, nearly the least one; None beyond 600."""
    low, high = 0.0, 1.0
    if claim.delta_upper(low) <= delta:
        return low
    while claim.delta_upper(high) > delta:
        low, high = high, 2 * high
        if high > 600:
            return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if claim.delta_upper(middle) <= delta else (middle, high)
    return high


def _in_order(event: Event, counts: Counts) -> TwoCounts:
    two = TwoCounts(counts.dataset_count, counts.dataset_trials, counts.neighbour_count, counts.neighbour_trials)
    return two if event.order is Order.DATASET_FIRST else two.swapped
