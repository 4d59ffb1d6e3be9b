"""A row of the ledger that decides by the counts of one event, chosen while exploring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.distinguishing_test import COMPATIBLE, CONTRADICTS, Counts, Event, LedgerRow, Order, Role
from dpverdict.audit.events import choose_event, count, epsilon_quantity, mu_quantity
from dpverdict.audit.joint_bounds import epsilon_lower, mu_lower, touching_epsilon
from dpverdict.audit.joint_test import EXACT_UP_TO, Method, TwoCounts, default_method, joint_p
from dpverdict.mechanisms.guarantee import Guarantee

Array = NDArray[np.float64]

SMALLEST_ASYMPTOTIC: Final = 0.01
"""Shares below this are decided exactly, up to a million trials, where the exact p-value takes about a second."""
EXACT_IF_RARE_UP_TO: Final = 1_000_000


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

    def decide(self, dataset_scores: Array, neighbour_scores: Array, claim: Guarantee) -> LedgerRow:
        """The row after its trials, shape (n,) each."""
        counts = count(self.event, dataset_scores, neighbour_scores)
        two = _in_order(self.event, counts)
        method = default_method(two)
        if self.share < SMALLEST_ASYMPTOTIC and EXACT_UP_TO < two.first_trials <= EXACT_IF_RARE_UP_TO:
            method = Method.EXACT
        at: float | None
        if self.epsilon is not None:
            bound = mu_lower(two, epsilon=self.epsilon, level=self.share, method=method)
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
            method=f"joint test of two binomials, {method.value}",
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
    """The event that promises most for mu, tested where its line touches the curve that the explored counts suggest."""
    event = choose_event(
        dataset_scores, neighbour_scores, trials=trials, error_probability=share, quantity=mu_quantity()
    )
    two = _in_order(event, count(event, dataset_scores, neighbour_scores))
    p, q = (two.first + 0.5) / (two.first_trials + 1), (two.second + 0.5) / (two.second_trials + 1)
    return EventTest(name="mu", event=event, score=score, share=share, epsilon=touching_epsilon(p, q))


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
