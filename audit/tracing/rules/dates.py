"""Rules for columns of dates: their parts are numbers, and a comparison with a date is a truth value."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.rules.bounds import Interval
from dpverdict.audit.tracing.rules.facts import Cell, Fact, Rows, Support
from dpverdict.audit.tracing.rules.operations import Setting, TracedOperand, operation, refuse
from dpverdict.audit.tracing.rules.records import COMPARED, must_fit, the_rows

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
    support = None if given["date"] is None else _support(operands[0], str(given["name"]), [given["date"]])
    return Rows(rows[0].masks, np.zeros(()), np.ones(()), np.zeros((), dtype=np.bool_), "bool", None, support,
                support is not None)  # fmt: skip


@operation("isin of dates", "a function of the entry of one record", "public dates, none of them missing")
def isin_of_dates(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Whether a date is one of some; what is missing is none."""
    (fact,) = the_rows(operands)
    if not is_date(fact) or len(operands) != 1:
        refuse("isin of dates, of something else")
    support = _support(operands[0], "equal", list(given["dates"]))
    return Rows(fact.masks, np.zeros(()), np.ones(()), np.zeros((), dtype=np.bool_), "bool", None, support,
                support is not None)  # fmt: skip


def _support(operand: TracedOperand, name: str, dates: Sequence[str]) -> Support | None:
    """The cell of a column of dates that a comparison picks; None where some date has no exact number."""
    assert isinstance(operand.fact, Rows)
    unit, times = np.datetime_data(operand.fact.dtype)
    numbers = [_exact_number(one, _MICROSECONDS.get(str(unit), 0) * times) for one in dates]
    exact = [one for one in numbers if one is not None]
    if len(exact) < len(numbers) or operand.number is None or operand.fact.shape != ():
        return None
    if name in COMPARED:
        return ((operand.number, COMPARED[name](exact[0])),)
    others = name == "not_equal"  # what is missing is no date, and equals none
    return ((operand.number, Cell(frozenset(exact), missing=others, others=others)),)


_MICROSECONDS: Final = {"D": 86_400_000_000, "s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MOST: Final = 2**52
"""Up to which floats have the numbers half way between whole ones too: cells are looked at there."""


def _exact_number(text: str, unit: int) -> float | None:
    """The microseconds from 1970 to a date, as a whole number of units of its column; None of any other date.

    Libraries round a date to the unit of the column, or a column to that of a date: then a comparison is with another
    date than the one that is written, and no cell is known.
    """
    date = datetime.datetime.fromisoformat(text)
    if date.tzinfo is not None:
        refuse("dates compared with a time of a zone", "give a date without a zone")
    found = (date - _EPOCH) // datetime.timedelta(microseconds=1)
    whole = text in (date.isoformat(), date.date().isoformat())  # no digits after the microseconds
    return float(found) if whole and unit and found % unit == 0 and abs(found) <= _MOST else None
