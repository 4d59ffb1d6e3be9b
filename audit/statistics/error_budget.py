"""The ledger of one error probability: who may spend how much of it, on which trials, fixed before they are drawn.

A claim about neighbours is one hypothesis, however many events, scores, orders and epsilons are looked at: to reject
when any test rejects at its share is wrong with at most the sum of the shares. Everything decided on trials that are
then discarded costs nothing. One trial may serve several tests, but none may use a trial both to be designed and to
decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

from dpverdict.errors import InvalidValue


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRange:
    """The trials first..stop - 1 of a stream, on both datasets."""

    stream: str
    first: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.stop:
            raise InvalidValue("range", (self.first, self.stop), "0 <= first <= stop", "count trials from 0")

    def overlaps(self, other: TrialRange) -> bool:
        """Whether a trial is in both."""
        return self.stream == other.stream and max(self.first, other.first) < min(self.stop, other.stop)

    def describe(self) -> str:
        """For a report."""
        return f"{self.stream} {self.first}..{self.stop - 1}" if self.stop > self.first else "none"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """What one test may spend.

    Attributes:
        name: unique in the budget.
        hypothesis: what is rejected if it rejects.
        share: of the whole error probability that the row may spend, as the level of its test.
        explored: trials that designed it.
        confirmed: fresh trials that decide.
        outcome: None until it is known.
    """

    name: str
    hypothesis: str
    share: float
    explored: tuple[TrialRange, ...]
    confirmed: tuple[TrialRange, ...]
    outcome: str | None = None


@final
@dataclass(slots=True)
class ErrorBudget:
    """One error probability, divided among tests before their trials are drawn.

    >>> budget = ErrorBudget(0.05)
    >>> fresh = TrialRange(stream="confirm", first=0, stop=100)
    >>> budget.enter(BudgetRow(name="a", hypothesis="mu=1", share=0.04, explored=(), confirmed=(fresh,)))
    >>> budget.close("a", "not rejected")
    >>> float(round(budget.left, 10)), budget.is_closed
    (0.01, True)
    """

    total: float
    _rows: dict[str, BudgetRow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.total < 1:
            raise InvalidValue("error_probability", self.total, "in (0, 1)", "state how often a true claim may fall")

    def enter(self, row: BudgetRow) -> None:
        """Add a row before its trials are drawn.

        Raises:
            InvalidValue: a second row of that name, a share that is not positive or not left, an outcome that is known
                already, or a trial that would both design and decide.
        """
        if row.name in self._rows:
            raise InvalidValue("row", row.name, "a new name", "give every test a name of its own")
        if row.outcome is not None:
            raise InvalidValue("outcome", row.outcome, "unknown", "enter a test before its trials are drawn")
        if not row.share > 0 or Fraction(row.share) > self.left:
            raise InvalidValue("share", row.share, f"> 0 and at most {float(self.left)!r}", "give smaller shares")
        for one in row.explored:
            for other in row.confirmed:
                if one.overlaps(other):
                    found = f"{one.describe()} and {other.describe()}"
                    raise InvalidValue("trials", found, "disjoint", "confirm on fresh trials")
        self._rows[row.name] = row

    def close(self, name: str, outcome: str) -> None:
        """Write the outcome of a row, once.

        Raises:
            InvalidValue: no such row, or one that has an outcome.
        """
        row = self._rows.get(name)
        if row is None or row.outcome is not None:
            raise InvalidValue("row", name, "one that is open", "a test has one outcome")
        self._rows[name] = replace(row, outcome=outcome)

    @property
    def left(self) -> Fraction:
        """What no row has been given, exactly."""
        return Fraction(self.total) - sum((Fraction(row.share) for row in self._rows.values()), Fraction(0))

    @property
    def rows(self) -> tuple[BudgetRow, ...]:
        """All rows, in the order in which they were entered."""
        return tuple(self._rows.values())

    @property
    def is_closed(self) -> bool:
        """Whether every row has its outcome."""
        return all(row.outcome is not None for row in self._rows.values())


def divide_error(total: float, weights: dict[str, float]) -> dict[str, float]:
    """Shares proportional to weights, rounded so that their exact sum is at most ``total``.

    Raises:
        InvalidValue: no weight, or one that is not positive.

    >>> sum(divide_error(0.05, {"a": 4.0, "b": 1.0}).values()) <= 0.05
    True
    """
    if not weights or not all(weight > 0 for weight in weights.values()):
        raise InvalidValue("weights", weights, "positive", "leave out a test without a share")
    whole, exact = sum(Fraction(weight) for weight in weights.values()), Fraction(total)
    shares: dict[str, float] = {}
    for name, weight in weights.items():
        wanted = exact * Fraction(weight) / whole
        share = float(wanted)
        while Fraction(share) > wanted:  # each is rounded down
            share = float(Fraction(share) * (1 - Fraction(1, 2**53)))
        shares[name] = share
    return shares
