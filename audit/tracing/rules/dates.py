"""Rules for columns of dates: their parts are numbers, and a comparison with a date is a truth value."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.rules.bounds import Interval
from dpverdict.audit.tracing.rules.facts import Fact, Rows
from dpverdict.audit.tracing.rules.operations import Setting, TracedOperand, operation, refuse
from dpverdict.audit.tracing.rules.records import must_fit, the_rows

PARTS: Final[Mapping[str, tuple[int, int]]] = {
    "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "day": (1, 31), "dayofyear": (1, 366), "dayofweek": (0, 6),
    "weekday from 1": (1, 7), "hour": (0, 23), "minute": (0, 59), "second": (0, 59),
}  # fmt: skip
"""The parts of a date beside the year, with the least and the largest number of each."""

COMPARISONS: Final = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def is_date(fact: Rows) -> bool:
    """Whether an array is of dates: the bounds of its fact are then days, counted from the year 1."""
    return fact.dtype != "category" and np.dtype(fact.dtype).kind == "M"


@operation("part of a date", "a function of the entry of one record", "no gaps; of the year, dates with bounds")
def part_of_a_date(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The year, or another part of `PARTS`, as a whole number."""
    (fact,) = the_rows(operands)
    name = str(given["name"])
    if not is_date(fact):
        refuse(f"the {name} of something else than dates")
    if fact.missing.any():
        refuse("a part of dates that may be missing", "leave those records out: dropna(), or drop_nulls()")
    if np.dtype(given["dtype"]).kind != "i":
        refuse(f"a part of a date as {given['dtype']}")
    if name == "year":
        if not np.isfinite([fact.low, fact.high]).all():
            refuse("the year of dates that nothing bounds", "give low and high in the schema")
        low, high = (datetime.date.fromordinal(int(end)).year for end in (fact.low, fact.high))
    elif name in PARTS:
        low, high = PARTS[name]
    else:
        refuse(f"the {name} of dates", f"the year is covered, and {', '.join(PARTS)}")
    return Rows(fact.masks, *must_fit(Interval.of(float(low), float(high)), given["dtype"]), given["dtype"])


@operation("comparison of dates", "a function of the entries of one record", "a public date, or two columns")
def comparison_of_dates(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Whether a date is before, at or after another one; what is missing is neither."""
    rows = the_rows(operands)
    if given["name"] not in COMPARISONS or not all(map(is_date, rows)):
        refuse(f"{given['name']} of dates")
    if len(rows) + (given["date"] is not None) != 2 or len(operands) != len(rows):
        refuse("a comparison of dates with something else than one date, or one other column")
    if given["date"] is not None:
        datetime.datetime.fromisoformat(given["date"])
    return Rows(rows[0].masks, np.zeros(()), np.ones(()), np.zeros((), dtype=np.bool_), "bool")
