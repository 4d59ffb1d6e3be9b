"""Columns of dates, of either library: compared with a public date or with each other, and their parts."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import FollowedArray, applied, dtype_of, is_rows, no, raw
from dpverdict.audit.tracing.rules.dates import COMPARISONS

_MIRRORED: Final = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
_FUNCTIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {name: getattr(np, name) for name in COMPARISONS}


def of_dates(value: Any) -> bool:
    """Whether a value is a column of dates."""
    return isinstance(value, FollowedArray) and is_rows(value) and value.dtype.kind == "M"


def compared(name: str, one: Any, other: Any, public: Callable[[FollowedArray, Any], datetime.date]) -> FollowedArray:
    """A comparison of a column of dates with another one, or with a public date.

    Args:
        name: of the function of NumPy.
        one, other: of which one is a column of dates.
        public: makes a date of what stands for one in the library; it refuses anything else.
    """
    array: FollowedArray = one if of_dates(one) else other
    if name not in COMPARISONS:
        no(array, f"np.{name} of dates", "compare with public dates, or take a part of them: the year, the month")
    function = _FUNCTIONS[name]
    if isinstance(one, FollowedArray) and isinstance(other, FollowedArray):
        if not (of_dates(one) and of_dates(other)):
            no(array, "dates compared with something else")
        return applied("comparison of dates", [one, other], function(raw(one), raw(other)), name=name, date=None)
    name, at = (name, other) if array is one else (_MIRRORED.get(name, name), one)
    date = public(array, at)
    if getattr(date, "tzinfo", None) is not None or date != date:
        no(array, "dates compared with a time of a zone, or with none", "give a date without a zone")
    value = _FUNCTIONS[name](raw(array), np.datetime64(date))
    return applied("comparison of dates", [array], value, name=name, date=date.isoformat())


def one_of(array: FollowedArray, dates: Sequence[Any], public: Callable[[FollowedArray, Any], Any]) -> FollowedArray:
    """Whether a date is one of public ones."""
    found = [public(array, one) for one in dates]
    if any(getattr(one, "tzinfo", None) is not None or one != one for one in found):
        no(array, "isin of dates with a time of a zone, or with none", "give dates without a zone; for gaps, isna()")
    value = np.isin(raw(array), np.array([np.datetime64(one) for one in found], dtype=raw(array).dtype))
    return applied("isin of dates", [array], value, dates=[one.isoformat() for one in found])


def part(array: FollowedArray, name: str, value: Any) -> FollowedArray:
    """A part of each date, as the library gives it."""
    return applied("part of a date", [array], np.asarray(value), name=name, dtype=dtype_of(value))
