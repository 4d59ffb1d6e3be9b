"""The rows of one audit: planned on exploring scores, the error shared out, and decided on fresh ones."""

from dataclasses import replace

import numpy as np
import pytest

from dpverdict.audit.distinguishing.row_plan import (
    SMALLEST_ERROR,
    RowPlan,
    broken_inequality,
    combined_p_value,
    decide_rows,
    largest_bound,
    plan_rows,
)
from dpverdict.audit.statistics.error_budget import TrialRange
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP

SEED = 4
ERROR = 1e-6
TRIALS = 4000


def sides(mu: float, trials: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Two scores, of which "good" is the log likelihood ratio of mu-GDP, and "noise" tells nothing."""
    rng = np.random.default_rng(seed)
    return tuple(  # type: ignore[return-value]
        {"good": sign * mu * mu / 2 + mu * rng.normal(size=trials), "noise": rng.normal(size=trials)}
        for sign in (1, -1)
    )


def planned(claim: Guarantee, *, known: str | None = None, level: float | None = None) -> RowPlan:
    return plan_rows(
        claim,
        sides(1.0, 500, SEED),
        error=ERROR,
        level=level,
        order=["good", "noise"],
        known=known,
        trials=TRIALS,
        explored_ranges=(TrialRange(stream="explore", first=0, stop=500),),
        confirmed=TrialRange(stream="confirm", first=0, stop=TRIALS),
    )


@pytest.mark.parametrize(
    "claim",
    [GaussianDP(1), PureDP(1), ApproximateDP(1, "1e-6"), ZeroConcentratedDP("0.5")],
    ids=lambda one: one.describe(),
)
@pytest.mark.parametrize("level", [None, 1e-6])
def test_the_shares_of_all_rows_are_the_error_and_no_more(claim: Guarantee, level: float | None) -> None:
    plan = planned(claim, level=level)
    spent = sum(row.share for row in plan.payoffs) + sum(event.share for event in plan.events)
    assert spent <= ERROR * (1 + 1e-12)
    assert spent > 0.9 * ERROR
    assert plan.scores == {"good", "noise"}
    assert (len(plan.events) == 2) == (level is not None)


def test_a_score_that_was_known_beforehand_leads_whatever_the_order_says() -> None:
    assert planned(GaussianDP(1)).leading == "good"
    assert planned(GaussianDP(1), known="noise").leading == "noise"


def test_a_false_claim_is_contradicted_and_a_true_one_is_not() -> None:
    right, wrong = (decide_rows(planned(GaussianDP(1)), sides(mu, TRIALS, SEED + 1)) for mu in (1.0, 2.0))
    assert combined_p_value(right, ERROR) > ERROR
    assert combined_p_value(wrong, ERROR) <= ERROR
    assert largest_bound(right, "mu_lower") <= 1
    assert 1 < largest_bound(wrong, "mu_lower") < 2
    assert largest_bound(wrong, "epsilon_lower", delta=0.0) == 0.0
    contradicting = next(row for row in wrong if row.p_value is not None and row.p_value <= row.error_share)
    assert "mu=1 implies" in broken_inequality(contradicting, GaussianDP(1))


def test_a_bound_at_a_smaller_delta_is_none_at_the_delta_that_was_asked_for() -> None:
    """Of one mechanism epsilon is 3 at delta 0 and 1 at delta 0.01: whatever is true at 0 is no bound at 0.01."""
    row = decide_rows(planned(PureDP(1), level=0.0), sides(1.0, TRIALS, SEED + 1))[0]
    assert row.delta == 0.0
    assert row.what.startswith("epsilon_lower")
    rows = [replace(row, bound=bound, delta=delta) for bound, delta in ((3.0, 0.0), (1.0, 0.01))]
    assert largest_bound(rows, "epsilon_lower", delta=0.0) == 3.0
    assert largest_bound(rows, "epsilon_lower", delta=0.01) == 1.0
    assert largest_bound(rows, "epsilon_lower", delta=0.02) == 0.0
    assert largest_bound([replace(row, what="mu_lower", delta=None)], "epsilon_lower", delta=0.0) == 0.0


def test_a_plan_decides_once() -> None:
    plan = planned(GaussianDP(1))
    decide_rows(plan, sides(1.0, TRIALS, SEED + 1))
    with pytest.raises(InvalidValue, match="a test has one outcome"):
        decide_rows(plan, sides(1.0, TRIALS, SEED + 2))


def test_p_values_are_combined_by_their_weights() -> None:
    rows = decide_rows(planned(GaussianDP(1)), sides(1.0, TRIALS, SEED + 1))
    half = [replace(row, p_value=0.01, error_share=ERROR / 2) for row in rows[:2]]
    assert combined_p_value(half, ERROR) == pytest.approx(0.02)
    assert combined_p_value([replace(half[0], p_value=0.9)], ERROR) == 1.0
    assert combined_p_value([replace(half[0], p_value=0.0)], ERROR) == SMALLEST_ERROR
