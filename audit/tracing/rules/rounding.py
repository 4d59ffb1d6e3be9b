"""Where rounding counts: what of a record is rounded with other records.

Facts hold in exact real arithmetic. A function with steps (floor, a comparison, an integer of a float) makes a whole
step of the last bit of a float. Of a statistic in floats it may take one step more, then, whatever the record is: the
sum of the records that stay is rounded in another order. A number of one record has its steps by itself, unless NumPy
rounds it in an order that depends on how many records there are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.rules.facts import Rows
from dpverdict.audit.tracing.rules.operations import Setting, Step, refuse

MOST_RECORDS: Final = 2.0**33
"""That sums are taken of: bounds times this number must be within what a sum holds."""
_IN_BLOCKS: Final = 8
"""Entries of a row from which on NumPy adds them up in an order of its own."""


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
