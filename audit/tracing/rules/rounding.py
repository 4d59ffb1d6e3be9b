"""Where rounding counts: what is exactly a whole number, and what of a record is rounded with other records.

Facts hold in exact real arithmetic. A function with steps (floor, a comparison, an integer of a float) makes a whole
step of the last bit of a float. Of a statistic in floats it may take one step more, then, whatever the record is: the
sum of the records that stay is rounded in another order. A number of one record has its steps by itself, unless NumPy
rounds it in an order that depends on how many records there are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.rules.facts import Rows, Total
from dpverdict.audit.tracing.rules.operations import Setting, Step, TracedOperand, refuse

MOST_RECORDS: Final = 2.0**33
"""That sums are taken of: bounds times this number must be within what a sum holds."""
_EXACT: Final = 2.0**53
_KEYS: Final = {"groups": 1, "bincount": 1, "histogram": 1}
"""Operations that count records, or sum weights, with the number of operands that are no weights."""
_IN_BLOCKS: Final = 8
"""Entries of a row from which on NumPy adds them up in an order of its own."""


def whole_numbers(setting: Setting, number: int | None) -> float | None:
    """A bound on the size of a statistic of which every coordinate is a whole number, whatever was rounded.

    Args:
        setting: with the steps of the run.
        number: of the operation that made the statistic.

    Returns:
        The bound; None where it is not known that they are whole.
    """
    sizes: dict[int, float | None] = {}
    for one in _statistics_before(setting, number):
        step = setting.steps[one]
        fact = step.fact
        assert isinstance(fact, Total)
        size = _whole(step, fact, [_size_of(other, sizes) for other in step.operands])
        if np.dtype(fact.dtype).kind in "iu":
            sizes[one] = 2.0**63 if size is None else size
        else:
            sizes[one] = None if size is None or size > _EXACT else size
    return None if number is None else sizes[number]


def _statistics_before(setting: Setting, number: int | None) -> list[int]:
    """The statistics that one is made of, and itself, in order."""
    waiting, found = [number], set[int]()
    while waiting:
        one = waiting.pop()
        if one is not None and one not in found and isinstance(setting.steps[one].fact, Total):
            found.add(one)
            waiting += [other.number for other in setting.steps[one].operands]
    return sorted(found)


def _whole(step: Step, fact: Total, sizes: list[float | None]) -> float | None:
    given, known = step.parameters, [one for one in sizes if one is not None]
    match step.name:
        case "count":
            return MOST_RECORDS
        case "sum" | "groups" | "groups of several columns" | "bincount" | "histogram":
            weights = step.operands[int(given.get("keys", _KEYS.get(step.name, 0))) :]
            if not all(_whole_records(one) for one in weights):
                return None
            ends = np.abs(fact.low).max(initial=0.0), np.abs(fact.high).max(initial=0.0)
            return MOST_RECORDS * max(float(end) for end in ends)
        case _ if len(known) < len(sizes):
            return None
        case "move" if given["name"] in ("add", "subtract"):
            return sum(known)
        case "move" if given["name"] == "multiply":
            return known[0] * known[1]
        case "stack" | "not steeper":
            return max(known)
        case "negative" | "absolute" | "pick" | "rounded" | "converted":
            return known[0]
        case "sum of coordinates" if given["over"] == 1:
            return known[0] * max(map(len, given["groups"]), default=0)
        case "times matrix":
            return known[0] * known[1] * int(np.shape(step.operands[1].value)[-1])
        case _:
            return None


def _size_of(one: TracedOperand, sizes: dict[int, float | None]) -> float | None:
    """A bound on the size of whole numbers, of a statistic or public ones."""
    if one.fact is not None:
        return None if one.number is None else sizes.get(one.number)
    array = np.asarray(one.value)
    if array.dtype.kind not in "biuf" or not np.isfinite(array.astype(np.float64)).all():
        return None
    number = np.abs(array.astype(np.float64))
    return float(number.max(initial=0.0)) if bool((number == np.floor(number)).all()) else None


def _whole_records(one: TracedOperand) -> bool:
    return isinstance(one.fact, Rows) and one.fact.dtype != "category" and np.dtype(one.fact.dtype).kind in "biu"


def must_be_of_one_record(setting: Setting, operands: Any) -> None:
    """Refuse a step of a number that is rounded in an order that depends on how many records there are.

    NumPy computes x @ w row by row in blocks, and x.sum(axis=1) of many columns in one of two orders. So an entry of
    one record may change in its last bit where another record comes, and with it a comparison of every record.
    """
    for one in operands:
        if one.number is not None and _rounded_together(setting, one.number):
            refuse(
                "a comparison, a step or a cell of a product or sum of columns, whose last bit depends on the number "
                "of records",
                "write it out: x[:, 0] * w[0] + x[:, 1] * w[1]",
            )


def _rounded_together(setting: Setting, number: int) -> bool:
    waiting, seen = [number], set[int]()
    while waiting:
        step = setting.steps[waiting.pop()]
        inner = [one.number for one in step.operands if one.number is not None]
        if isinstance(step.fact, Rows) and np.dtype(_dtype(step.fact)).kind == "f" and _in_another_order(step):
            return True
        if isinstance(step.fact, Rows) and np.dtype(_dtype(step.fact)).kind not in "biu":
            waiting += [one for one in inner if one not in seen]  # a step of it was looked at before
            seen.update(inner)
    return False


def _dtype(fact: Rows) -> str:
    return "O" if fact.dtype == "category" else fact.dtype


def _in_another_order(step: Step) -> bool:
    if step.name == "row times matrix":
        return True
    fact = step.operands[0].fact if step.operands else None
    if not isinstance(fact, Rows):
        return False
    if step.name == "row norm":
        return fact.low.size >= _IN_BLOCKS
    summed = step.name == "along the row" and step.parameters["name"] in ("sum", "mean")
    return summed and fact.shape[int(step.parameters["axis"])] >= _IN_BLOCKS
