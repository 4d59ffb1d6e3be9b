"""Between which numbers a statistic lies, whatever the records are: where it is clipped nowhere, or has one sign.

The sum of numbers that are never negative is never negative; and where the number of records is public, a sum lies
between so many times the least and the largest of them. These are bounds on the statistic, and not on how far a record
moves it; infinite where there are none.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tracing.rules import bounds
from dpverdict.audit.tracing.rules.bounds import Interval
from dpverdict.audit.tracing.rules.facts import Floats, Total
from dpverdict.audit.tracing.rules.operations import Setting, Step, TracedOperand
from dpverdict.audit.tracing.rules.whole_numbers import made_of

_SUMS: Final = (
    "count",
    "sum",
    "mean",
    "groups",
    "groups of several columns",
    "bincount",
    "histogram",
    "product of columns",
)
_SMALLER: Final = ("minimum", "fmin")


class Values(NamedTuple):
    """The least and the largest number that each coordinate may be."""

    low: Floats
    high: Floats

    def reshaped(self, shape: tuple[int, ...]) -> Values:
        """The same coordinates in another shape."""
        return Values(self.low.reshape(shape), self.high.reshape(shape))

    def at(self, places: Any) -> Values:
        """Coordinates by their places."""
        return Values(self.low.ravel()[places], self.high.ravel()[places])


def ranges(setting: Setting, number: int | None) -> Values:
    """Bounds on the coordinates of a statistic, of all datasets.

    Args:
        setting: with the steps of the run.
        number: of the operation that made the statistic.
    """
    setting = setting.of_every_record
    assert number is not None
    for one in made_of(setting, number, Total, "range"):
        step = setting.steps[one]
        assert isinstance(step.fact, Total)
        with np.errstate(all="ignore"):
            found = _range(setting, step, step.fact)
        setting.known["range", one] = Values(*(np.where(np.isnan(end), far, end).reshape(step.fact.shape)
                                               for end, far in zip(found, (-np.inf, np.inf), strict=True)))  # fmt: skip
    made: Values = setting.known["range", number]
    return made


def _range(setting: Setting, step: Step, fact: Total) -> Values:
    given = step.parameters
    if step.name in _SUMS:
        return _of_records(setting, fact)
    parts = [_of_operand(setting, one) for one in step.operands]
    match step.name:
        case "move":
            operate = {"add": bounds.add, "subtract": bounds.subtract, "multiply": bounds.multiply,
                       "true_divide": bounds.divide}[given["name"]]  # fmt: skip
            return Values(*operate(*(Interval.of(*one) for one in parts))[:2])
        case "negative":
            return Values(-parts[0].high, -parts[0].low)
        case "pick":
            return parts[0].at(np.array(given["places"], dtype=np.int64).ravel())
        case "stack":
            whole = Values(*(np.concatenate([end.ravel() for end in ends]) for ends in zip(*parts, strict=True)))
            return whole.at(np.array(given["places"], dtype=np.int64))
        case "sum of coordinates" if given["over"] == 1:
            return _sums([parts[0].at(np.array(group, dtype=np.int64)) for group in given["groups"]])
        case "not steeper":
            clip = np.minimum if given["name"] in _SMALLER else np.maximum
            return Values(*(clip(end, parts[1].low) for end in parts[0]))
        case "absolute":
            return Values(*bounds.absolute(Interval.of(*parts[0]))[:2])
        case "rounded" | "converted" if _rounds(step, fact):  # of a sum in floats
            return Values(np.floor(parts[0].low - 0.25), np.ceil(parts[0].high + 0.25))
        case "rounded" | "converted":
            return parts[0]
        case _:
            return Values(np.full(fact.shape, -np.inf), np.full(fact.shape, np.inf))


def _of_records(setting: Setting, fact: Total) -> Values:
    """Of a sum of what each record adds, which lies between the ends of the fact."""
    if setting.records is None:
        return Values(np.where(fact.low >= 0, 0.0, -np.inf), np.where(fact.high <= 0, 0.0, np.inf))
    count = bounds.constant(setting.records)
    return Values(*bounds.multiply(Interval.of(fact.low, fact.high), count)[:2])


def _rounds(step: Step, fact: Total) -> bool:
    before = step.operands[0].fact
    assert isinstance(before, Total)
    kinds = [np.dtype(one.dtype).kind for one in (before, fact)]
    return kinds[0] == "f" and (step.name == "rounded" or kinds[1] in "iu")


def _of_operand(setting: Setting, one: TracedOperand) -> Values:
    if one.fact is not None:
        return ranges(setting, one.number)
    return Values(*bounds.constant(one.value)[:2])


def _sums(groups: list[Values]) -> Values:
    rows: list[Interval] = []
    for group in groups:
        whole = Interval.of(0.0, 0.0)
        for low, high in zip(*group, strict=True):
            whole = bounds.add(whole, Interval.of(low, high))
        rows.append(whole)
    return Values(*(np.array([float(one[i]) for one in rows]) for i in range(2)))


def clipped_nowhere(values: Values, bound: Any, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each coordinate is the same after a maximum or minimum with a number, and whether it is that number.

    Args:
        values: of the statistic, in its shape.
        bound: the public number.
        name: "maximum" or "minimum", or as NumPy calls those that ignore NaN.
    """
    low, high, limit = np.broadcast_arrays(values.low, values.high, np.asarray(bound, dtype=np.float64))
    if name in _SMALLER:
        low, high, limit = -high, -low, -limit
    stays: NDArray[np.bool_] = np.asarray(low >= limit)
    constant: NDArray[np.bool_] = np.asarray(~stays & (high <= limit))
    return stays, constant
