"""The tests of one audit: planned on exploring trials, entered in the ledger, decided on trials that are fresh.

A row decides by a payoff (`PayoffRow`), by the counts of an event (`events.EventTest`), or by those of all half-lines
of a number (`HalfLinesRow`). `plan_rows` divides the error probability among them, `decide_rows` makes their rows of
the ledger, `conclude_audit` the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from dpverdict.audit.distinguishing.events import (
    BoundPlan,
    EventTest,
    event_implied,
    plan_bound_events,
    plan_epsilon_event,
    plan_mu_event,
    region_row,
    region_thresholds,
    trade_off_region,
)
from dpverdict.audit.distinguishing.exploration import Columns, Sides
from dpverdict.audit.distinguishing.result import (
    COMPATIBLE,
    CONTRADICTS,
    DistinguishingTest,
    Event,
    LedgerRow,
    Role,
    StatisticalWitness,
)
from dpverdict.audit.scores.candidates import ChosenEvent, raw_score
from dpverdict.audit.scores.portfolio import payoff_of_claim
from dpverdict.audit.statistics.columns import Numbers, concatenated, first_or_last, read
from dpverdict.audit.statistics.error_budget import BudgetRow, ErrorBudget, TrialRange, divide_error
from dpverdict.audit.statistics.half_lines import MOST_OUTPUTS, check_half_lines
from dpverdict.audit.statistics.means import curve_mu_lower, payoff_test, symmetric_epsilon_lower
from dpverdict.audit.statistics.payoffs import (
    CurvePayoff,
    DivergencePayoff,
    Payoff,
    SymmetricPayoff,
    divergence_upper,
    plan_divergence,
)
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_below
from dpverdict.numerics.text import rounded_text

SMALLEST_ERROR: Final = 1e-90
LEADING_WEIGHT: Final = 0.93
SECOND_WEIGHT: Final = 0.03
EVENT_WEIGHT: Final = 0.02
"""Of the error probability; whatever of these is not needed goes to the leading test."""
HALF_LINES_WEIGHT: Final = 0.08
"""Of the leading weight, where the output is one number and the claim one of a single epsilon: the same whatever is
explored, because the test of half-lines decides on the explored outputs too."""
HALF_LINES: Final = "half-lines"
CHOSEN: Final = "event"
"""The name of the row of the event beside the leading payoff; the two divide the leading weight."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PayoffRow:
    """A payoff on one score, at one share of the error; all fixed before the trials that decide.

    Attributes:
        name: in the budget.
        score: the name of the score.
        payoff: whose mean is at most 0 under the claim.
        claim: what is tested.
        share: of the error probability.
        bounds: whether a bound is wanted too; it costs some twenty tests.
        beyond: whether the bound may exceed the claim; otherwise the share serves an event there, see `decide_rows`.
    """

    name: str
    score: str
    payoff: Payoff
    claim: Guarantee
    share: float
    bounds: bool = True
    beyond: bool = True

    def decide(self, dataset_scores: Numbers, neighbour_scores: Numbers, fresh: int | None = None) -> LedgerRow:
        """The row after its trials, shape (n,) each.

        Args:
            dataset_scores: of the trials that decide.
            neighbour_scores: the same of the neighbour.
            fresh: how many of them, the last ones, were not explored; None for all. What was explored chose by what mu
                is bounded beyond the claim, so only these bound it there.
        """
        scores = dataset_scores, neighbour_scores
        found = payoff_test(self.payoff, *scores, self.share)
        what, bound, implied = "the claimed curve", None, f"mean payoff <= {self.payoff.allowed!r} for the whole curve"
        if isinstance(self.payoff, SymmetricPayoff):
            what = f"epsilon_lower at delta={rounded_text(self.payoff.allowed)}"
            bound = symmetric_epsilon_lower(self.payoff, *scores, self.share) if self.bounds else None
            implied = "mean payoff <= 0 for both orders of the pair together"
        elif isinstance(self.payoff, DivergencePayoff):
            what = "the claimed divergence"
            implied = (
                f"mean payoff <= {self.payoff.allowed!r} for the divergences of order 1 of both orders of the pair"
            )
        elif self.bounds and isinstance(self.payoff, CurvePayoff) and isinstance(self.claim, GaussianDP):
            what, bound = "mu_lower", float_below(self.claim.mu)
            if found.p_value > self.share:
                bound = curve_mu_lower(self.payoff, *scores, self.share)
            elif self.beyond:
                p, q = (first_or_last(side, last=len(side) if fresh is None else fresh) for side in scores)
                bound = max(bound, curve_mu_lower(self.payoff, p, q, self.share))
        return LedgerRow(
            what=what,
            role=Role.TEST,
            method=found.method,
            error_share=self.share,
            bound=bound,
            delta=self.payoff.allowed if isinstance(self.payoff, SymmetricPayoff) else None,
            outcome=CONTRADICTS if found.p_value <= self.share else COMPATIBLE,
            score=self.score,
            p_value=found.p_value,
            payoff=self.payoff.describe() | found.describe(),
            implied=implied,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HalfLinesRow:
    """All half-lines of a number at once, on everything that was drawn: see `check_half_lines`.

    Attributes:
        explored: the outputs of both sides that were explored, shape (n,) each; they decide too.
        claim: what is tested, at one epsilon.
        epsilon: of the line.
        share: of the error probability.
    """

    explored: tuple[Array, Array]
    claim: Guarantee
    epsilon: float
    share: float
    name: str = HALF_LINES

    @property
    def score(self) -> str:
        """The name of the score that is the number itself."""
        return raw_score().name

    def decide(self, dataset_outputs: Numbers, neighbour_outputs: Numbers) -> LedgerRow:
        """The row after its trials: the fresh outputs, shape (n,) each."""
        sides = [
            np.concatenate([before, read(fresh, 0, min(len(fresh), max(MOST_OUTPUTS - len(before), 0)))])
            for before, fresh in zip(self.explored, (dataset_outputs, neighbour_outputs), strict=True)
        ]
        delta = float(self.claim.delta_upper(self.epsilon))
        found = check_half_lines(sides[0], sides[1], epsilon=self.epsilon, delta=delta)
        event = Event(order=found.counts.order, threshold=found.threshold)
        return LedgerRow(
            what="half-lines of the output",
            role=Role.TEST,
            event=event,
            method="every order statistic that was fixed beforehand, in both orders and both ways round, exact; "
            "this one tells most",
            error_share=self.share,
            counts=found.counts,
            outcome=CONTRADICTS if found.p_value <= self.share else COMPATIBLE,
            score=raw_score(turned=found.turned).name,
            p_value=found.p_value,
            epsilon=self.epsilon,
            implied=event_implied(event, self.epsilon, delta),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
    """The rows of one audit, all fixed before the trials that decide.

    Attributes:
        claim: what is tested.
        error: that all rows share.
        leading: the name of the score of the first row.
        payoffs: the rows that decide by a payoff.
        events: those that decide by the counts of an event.
        budget: the ledger, every row entered.
        all_decide: whether the leading row may use the exploring trials too, because its score was known beforehand.
        level: the delta at which epsilon is bounded; None without one.
        bound: the events that bound epsilon at a positive delta, with an error probability of their own.
        half_lines: the test of all half-lines of a number; None where there is none.
    """

    claim: Guarantee
    error: float
    leading: str
    payoffs: tuple[PayoffRow, ...]
    events: tuple[EventTest, ...]
    budget: ErrorBudget
    all_decide: bool
    level: float | None
    bound: BoundPlan | None = None
    half_lines: HalfLinesRow | None = None

    @property
    def scores(self) -> frozenset[str]:
        """The names of the scores that the rows look at."""
        others = [row.score for row in (self.bound, self.half_lines) if row is not None]
        return frozenset([*(row.score for row in self.payoffs), *(row.score for row in self.events), *others])


def plan_rows(
    claim: Guarantee,
    exploring: Sides,
    *,
    error: float,
    level: float | None,
    order: list[str],
    known: str | None,
    chosen: ChosenEvent | None = None,
    trials: int,
    explored_ranges: tuple[TrialRange, ...],
    confirmed: TrialRange,
    all_scored: Sides = ({}, {}),
    single: bool = False,
    numbers: tuple[Array, Array] | None = None,
) -> RowPlan:
    """Divide the error among the leading payoff, an event beside it, a second score, half-lines, and events for bounds.

    A claim about moments has a payoff of its own, which gets as much as the leading one.

    Args:
        claim: what is tested.
        exploring: held-out scores, which choose the events.
        error: the error probability.
        level: the delta at which epsilon is bounded, None for no bound.
        order: the names of the scores, the best first.
        known: the name of the score that was known beforehand, if there is one: it leads.
        chosen: an event that divides the share of the leading payoff with it; None for the payoff alone.
        trials: fresh ones per dataset.
        explored_ranges: the trials that were explored.
        confirmed: the fresh ones.
        all_scored: scores of all that was explored, of those that are hardly fitted to it.
        single: whether an output is one number and no score was given: known before anything is explored. Then
            half-lines have their share, used or not.
        numbers: those that were explored, shape (n,) each; None where other outcomes were met.
    """
    best, payoff = order[0], payoff_of_claim(claim)
    leading = best if known is None else known
    second = next((name for name in order if name != leading), None)
    weights = {"leading": LEADING_WEIGHT, "mu": EVENT_WEIGHT}
    if second is not None:
        weights["second"] = SECOND_WEIGHT
    if level is not None:
        weights["epsilon"] = EVENT_WEIGHT
    divergence = divergence_upper(claim)
    if divergence is not None:
        weights["divergence"] = LEADING_WEIGHT
    if single and isinstance(payoff, SymmetricPayoff):
        weights |= {"leading": LEADING_WEIGHT - HALF_LINES_WEIGHT, HALF_LINES: HALF_LINES_WEIGHT}
    if chosen is not None:
        both = weights["leading"]
        weights |= {"leading": both * (1 - chosen.share), CHOSEN: both * chosen.share}
    shares = divide_error(error, weights)
    explored = exploring[0][best], exploring[1][best]
    of_mu = plan_mu_event(*explored, trials=trials, share=shares["mu"], score=best)
    far = isinstance(claim, GaussianDP) and of_mu.shows_most_of(claim.mu, *explored, trials, shares["leading"])
    elsewhere = bool(level)  # epsilon is bounded by events of its own, see `_plan_bound`; no row needs to search for it
    payoffs = [
        PayoffRow(
            name="leading",
            score=leading,
            payoff=payoff,
            claim=claim,
            share=shares["leading"],
            bounds=not (elsewhere and isinstance(payoff, SymmetricPayoff)),
            beyond=not far,
        )
    ]
    if second is not None:
        share = shares["second"]
        payoffs.append(PayoffRow(name="second", score=second, payoff=payoff, claim=claim, share=share, bounds=False))
    if divergence is not None:
        planned_on = exploring[0][leading], exploring[1][leading]
        moments = plan_divergence(divergence, *planned_on)
        payoffs.append(
            PayoffRow(
                name="divergence", score=leading, payoff=moments, claim=claim, share=shares["divergence"], bounds=False
            )
        )
    events: list[EventTest] = [of_mu]
    if level is not None:
        of_epsilon = plan_epsilon_event(*explored, trials=trials, share=shares["epsilon"], score=best, delta=level)
        events.append(replace(of_epsilon, bounds=not elsewhere))
    if isinstance(claim, PureDP | ApproximateDP):
        events.reverse()  # the quantity that the claim is about comes first
    if chosen is not None:
        # where the claim is about epsilon at the delta that was asked for, the event bounds it; elsewhere mu
        about_epsilon = level is not None and isinstance(payoff, SymmetricPayoff) and level == payoff.allowed
        beside = EventTest(
            name=CHOSEN,
            event=Event(order=chosen.order, threshold=chosen.threshold),
            score=chosen.score.name,
            share=shares[CHOSEN],
            epsilon=None if about_epsilon else chosen.line[0],
            delta=level if about_epsilon else None,
            bounds=chosen.share > 0.5 and not (elsewhere and about_epsilon),
        )
        events.insert(0, beside)
        if chosen.share > 0.5 and known is None:
            leading = chosen.score.name
    lines: HalfLinesRow | None = None
    if numbers is not None and HALF_LINES in shares:
        assert isinstance(payoff, SymmetricPayoff)
        lines = HalfLinesRow(explored=numbers, claim=claim, epsilon=payoff.epsilon, share=shares[HALF_LINES])
    budget = ErrorBudget(error)
    planned: list[PayoffRow | EventTest | HalfLinesRow] = [*payoffs, *events, *([] if lines is None else [lines])]
    for row in planned:
        everything = (known is not None and row.name == "leading") or row is lines
        entered = BudgetRow(
            name=row.name,
            hypothesis=claim.describe(),
            share=row.share,
            explored=() if everything else explored_ranges,
            confirmed=(*explored_ranges, confirmed) if everything else (confirmed,),
        )
        budget.enter(entered)
    return RowPlan(
        claim=claim,
        error=error,
        leading=leading,
        payoffs=tuple(payoffs),
        events=tuple(events),
        budget=budget,
        all_decide=known is not None,
        level=level,
        bound=None if not level else _plan_bound(exploring, all_scored, best, trials=trials, error=error, delta=level),
        half_lines=lines,
    )


def _plan_bound(
    exploring: Sides, all_scored: Sides, best: str, *, trials: int, error: float, delta: float
) -> BoundPlan:
    """The events that bound epsilon: on a score of which all explored values are known, or on the best one."""
    candidates = {name: (all_scored[0][name], all_scored[1][name]) for name in all_scored[0]}
    if best not in candidates:
        candidates[best] = exploring[0][best], exploring[1][best]
    return plan_bound_events(candidates, trials=trials, share=error, delta=delta)


def decide_rows(plan: RowPlan, confirming: Columns, earlier: tuple[Sides, ...] = ()) -> list[LedgerRow]:
    """The rows after their trials.

    The share of a leading payoff that has refuted mu-GDP may serve once more, if that was planned, for a bound on mu by
    an event. For each m the hypothesis "both laws are m-GDP" still has one test at that share: the payoff up to the
    claim; beyond it, whatever was explored, either the payoff or the event, on fresh trials. The hypotheses are nested,
    and a bound above the true m needs a rejection of the one that is true.

    Args:
        plan: of `plan_rows`; its budget is closed here.
        confirming: the fresh scores. The two sides may differ in length: payoffs use as many of both.
        earlier: the exploring scores, for a leading score that was known beforehand.
    """
    rows: list[LedgerRow] = []
    for row in plan.payoffs:
        parts: tuple[Columns, ...] = (*(earlier if plan.all_decide and row.name == "leading" else ()), confirming)
        p, q = (concatenated(*(part[side][row.score] for part in parts)) for side in (0, 1))
        both = min(len(p), len(q))
        fresh = min(len(side[row.score]) for side in confirming)
        rows.append(row.decide(first_or_last(p, first=both), first_or_last(q, first=both), fresh))
        plan.budget.close(row.name, rows[-1].outcome)
    for event in plan.events:
        again = event.name == "mu" and not plan.payoffs[0].beyond and rows[0].is_contradiction
        beyond = plan.payoffs[0].share if again else 0.0
        rows.append(event.decide(confirming[0][event.score], confirming[1][event.score], plan.claim, beyond))
        plan.budget.close(event.name, rows[-1].outcome)
    if plan.half_lines is not None:
        rows.append(plan.half_lines.decide(*(side[plan.half_lines.score] for side in confirming)))
        plan.budget.close(plan.half_lines.name, rows[-1].outcome)
    assert plan.budget.is_closed
    decided = [_with_trial_ranges(row, entered) for row, entered in zip(rows, plan.budget.rows, strict=True)]
    if plan.bound is not None:
        sides = confirming[0][plan.bound.score], confirming[1][plan.bound.score]
        refuted = any(row.is_contradiction for row in rows)
        bound = plan.bound.decide(*sides, plan.claim, refuted=refuted)
        decided.append(replace(bound, explored=decided[-1].explored, confirmed=decided[-1].confirmed))
    return decided


def conclude_audit(
    plan: RowPlan,
    rows: list[LedgerRow],
    *,
    exploring: Sides,
    confirming: Columns,
    shown: str,
    witness: Callable[[LedgerRow], StatisticalWitness],
    mechanism: str,
    samples: int,
    explored: int,
    seed: int,
    grid: float | None,
    one_stream: bool = False,
    outcomes: str = "",
    kind_of_outputs: str = "",
) -> DistinguishingTest:
    """The result of an audit whose rows are decided.

    Args:
        plan: of the rows.
        rows: of `decide_rows`.
        exploring: held-out scores, which choose the thresholds of the trade-off region.
        confirming: the fresh scores, which measure it.
        shown: the name of the score of the region.
        witness: makes a witness of a row that contradicts the claim.
        mechanism: what was run, by name.
        samples: per dataset, everything included.
        explored: of those, the ones that were explored.
        seed: of every random number.
        grid: to which outputs were rounded, see `DistinguishingTest`.
        one_stream: see `DistinguishingTest`.
        outcomes: see `DistinguishingTest`.
        kind_of_outputs: see `DistinguishingTest`.
    """
    broken = [row for row in rows if row.is_contradiction]
    # An event is easier to check than a mean, so it is shown if one suffices.
    chosen = next((row for row in broken if row.event is not None), broken[0]) if broken else None
    region = trade_off_region(
        region_thresholds(exploring[0][shown], exploring[1][shown]),
        confirming[0][shown],
        confirming[1][shown],
        error_probability=plan.error,
    )
    return DistinguishingTest(
        refuted=bool(broken),
        claim=plan.claim,
        mechanism=mechanism,
        error_probability=plan.error,
        samples=samples,
        explored=explored,
        seed=seed,
        score=plan.leading,
        mu_lower=largest_bound(rows, "mu_lower"),
        epsilon_lower=None if plan.level is None else largest_bound(rows, "epsilon_lower", delta=plan.level),
        delta=plan.level,
        p_value=combined_p_value(rows, plan.error),
        witness=None if chosen is None else witness(chosen),
        ledger=(*rows, region_row(region)),
        region=region,
        grid=grid,
        one_stream=one_stream,
        outcomes=outcomes,
        kind_of_outputs=kind_of_outputs,
    )


def largest_bound(rows: list[LedgerRow], what: str, *, delta: float | None = None) -> float:
    """The largest of the bounds on one quantity that share an error; the one that has its own, where there is one.

    Args:
        rows: of a test.
        what: "mu_lower" or "epsilon_lower".
        delta: at which epsilon is bounded. Epsilon falls as delta grows, so a bound at a larger delta holds there too,
            and one at a smaller delta does not.
    """
    found = [
        (row.role, row.bound)
        for row in rows
        if row.bound is not None
        and row.what.partition(" ")[0] == what
        and (delta is None or (row.delta is not None and row.delta >= delta))
    ]
    own = [bound for role, bound in found if role is Role.BOUND]
    return max(own or (bound for _, bound in found), default=0.0)


def combined_p_value(rows: list[LedgerRow], error: float) -> float:
    """The least of the p-values of the rows, each divided by its weight: valid for any dependence between them."""
    found = [row.p_value / (row.error_share / error) for row in rows if row.p_value is not None]
    return min(1.0, max(min(found) * (1 + 1e-12), SMALLEST_ERROR))


def broken_inequality(row: LedgerRow, claim: Guarantee) -> str:
    """The bound that the claim sets and the row breaks, with its numbers."""
    said = f"p <= {row.p_value!r}, at most the share {row.error_share!r} of the error probability"
    return f"{row.outcome}: {claim.describe()} implies {row.implied} ({said})"


def _with_trial_ranges(row: LedgerRow, entered: BudgetRow) -> LedgerRow:
    explored, confirmed = (
        ", ".join(one.describe() for one in ranges) or "none" for ranges in (entered.explored, entered.confirmed)
    )
    return replace(row, explored=explored, confirmed=confirmed)
