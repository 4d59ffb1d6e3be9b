"""The ledger of the error probability: it spends no more than it has, and no trial both designs and decides."""

from fractions import Fraction
from typing import Any

import pytest

from dpverdict.audit.statistics.error_budget import BudgetRow, ErrorBudget, TrialRange, divide_error
from dpverdict.errors import InvalidValue


def rows(stream: str, first: int, stop: int) -> tuple[TrialRange, ...]:
    return (TrialRange(stream=stream, first=first, stop=stop),)


def row(name: str = "a", share: float = 0.01, **change: Any) -> BudgetRow:
    usual: dict[str, Any] = {
        "hypothesis": "mu=1",
        "explored": rows("explore", 0, 50),
        "confirmed": rows("confirm", 0, 100),
    }
    return BudgetRow(name=name, share=share, **(usual | change))


def test_rows_are_entered_before_and_closed_after() -> None:
    budget = ErrorBudget(0.05)
    budget.enter(row("a", 0.04))
    budget.enter(row("b", 0.01))
    assert 0 <= budget.left <= Fraction(1, 10**17)
    assert not budget.is_closed
    budget.close("b", "rejected")
    budget.close("a", "not rejected")
    assert budget.is_closed
    assert [r.outcome for r in budget.rows] == ["not rejected", "rejected"]


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        (row("b", 0.03), "share"),
        (row("b", 0.0), "share"),
        (row("a", 0.001), "row"),
        (row("b", outcome="rejected"), "outcome"),
        (row("b", explored=rows("confirm", 99, 120)), "trials"),
    ],
)
def test_planted_faults_are_refused(planted: BudgetRow, name: str) -> None:
    budget = ErrorBudget(0.04)
    budget.enter(row("a", 0.02))
    with pytest.raises(InvalidValue, match=f"^{name}="):
        budget.enter(planted)


def test_an_outcome_is_written_once_and_for_a_row_that_exists() -> None:
    budget = ErrorBudget(0.04)
    budget.enter(row("a", 0.02))
    budget.close("a", "rejected")
    for name in ("a", "b"):
        with pytest.raises(InvalidValue, match=r"^row="):
            budget.close(name, "not rejected")


def test_ranges_that_touch_do_not_overlap() -> None:
    first, second = rows("s", 0, 10) + rows("s", 10, 20)
    assert not first.overlaps(second)
    assert first.overlaps(TrialRange(stream="s", first=9, stop=11))
    assert not first.overlaps(TrialRange(stream="t", first=0, stop=10))
    with pytest.raises(InvalidValue, match=r"^range="):
        rows("s", 3, 2)


@pytest.mark.parametrize("total", [0.05, 0.3, 1e-6, 0.1 + 0.2, 1e-90])
@pytest.mark.parametrize("weights", [{"a": 1.0}, {"a": 0.8, "b": 0.2}, {"a": 0.8, "b": 0.1, "c": 0.05, "d": 0.05}])
def test_shares_never_exceed_the_error_probability(total: float, weights: dict[str, float]) -> None:
    shares = divide_error(total, weights)
    spent = sum(map(Fraction, shares.values()))
    assert Fraction(total) * (1 - Fraction(1, 2**50)) <= spent <= Fraction(total)
    assert all(share > 0 for share in shares.values())


@pytest.mark.parametrize("weights", [{}, {"a": 0.0}, {"a": -1.0, "b": 2.0}])
def test_weights_are_positive(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=r"^weights="):
        divide_error(0.05, weights)
