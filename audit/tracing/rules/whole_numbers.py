"""What is exactly a whole number: counts, and sums of whole numbers, which floats add without rounding.

A function with steps (floor, an integer of a float) makes a whole step of the last bit of a float. Of what is exactly a
whole number there is no such bit: it stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.rules.facts import Flags, Floats, Rows, Total
from dpverdict.audit.tracing.rules.operations import Setting, Step, TracedOperand
from dpverdict.audit.tracing.rules.records import key_from_json
from dpverdict.audit.tracing.rules.rounding import MOST_RECORDS

_EXACT: Final = 2.0**53
_STEPS: Final = ("floor", "ceil", "rint", "trunc", "sign")
_KEEPING: Final = ("add", "subtract", "multiply", "negative", "positive", "absolute", "fabs", "square", "minimum",
                   "maximum", "fmin", "fmax")  # fmt: skip
"""Functions that give whole numbers, and that give whole numbers of whole numbers, in floats too."""
_CLIPPING: Final = ("not steeper", "negative", "absolute", "pick", "stack")
_KEYS: Final = {"groups": 1, "bincount": 1, "histogram": 1}
"""Operations that count records, or sum weights, with the number of operands that are no weights."""


def whole_numbers(setting: Setting, number: int | None) -> Floats:
    """Bounds on the sizes of those coordinates of a statistic that are whole numbers, whatever was rounded.

    Args:
        setting: with the steps of the run.
        number: of the operation that made the statistic.

    Returns:
        A bound for each coordinate, in order; infinite where it is not known that it is whole. Of 2**53, nothing is
        known but that the number is whole: with others it would be rounded.
    """
    setting = setting.of_every_record
    assert number is not None
    for one in made_of(setting, number, Total, "size"):
        step = setting.steps[one]
        fact = step.fact
        assert isinstance(fact, Total)
        size = np.broadcast_to(_whole(setting, step, fact, [_size_of(setting, other) for other in step.operands]),
                               fact.shape).ravel()  # fmt: skip
        unknown = _EXACT if np.dtype(fact.dtype).kind in "iu" else np.inf
        setting.known["size", one] = np.where(size <= _EXACT, size, unknown)
    found: Floats = setting.known["size", number]
    return found


def made_of(setting: Setting, number: int, kind: type[Rows] | type[Total], what: str) -> list[int]:
    """The operations of one kind that one is made of, and itself, of which something is not known yet, in order.

    What is derived of each in this order needs no recursion, however long the chain is.
    """
    waiting, found = [number], set[int]()
    while waiting:
        one = waiting.pop()
        if one not in found and (what, one) not in setting.known and isinstance(setting.steps[one].fact, kind):
            found.add(one)
            waiting += [other.number for other in setting.steps[one].operands if other.number is not None]
    return sorted(found)


def _whole(setting: Setting, step: Step, fact: Total, sizes: list[Floats]) -> Floats:
    """A bound for each coordinate of a statistic, in its shape."""
    given = step.parameters
    shapes = [one.fact.shape if isinstance(one.fact, Total) else np.shape(one.value) for one in step.operands]
    parts = [one.reshape(shape) for one, shape in zip(sizes, shapes, strict=True)]
    match step.name:
        case "count" | "sum" | "groups" | "groups of several columns" | "bincount" | "histogram" | "product of columns":
            weights = step.operands[int(given.get("keys", _KEYS.get(step.name, 0))) :]
            whole = _whole_sums(setting, step, weights) | ((fact.low == 0) & (fact.high == 0))
            size = MOST_RECORDS * np.maximum(np.abs(fact.low), np.abs(fact.high))
            return np.where(whole, size, np.inf)
        case "move" if given["name"] in ("add", "subtract"):
            return parts[0] + parts[1]
        case "move" if given["name"] == "multiply":
            return _times(parts[0], parts[1])
        case "move" if given["name"] == "true_divide" and step.operands[1].fact is None:
            return _times(parts[0], _inverse(step.operands[1].value))
        case "not steeper":
            return np.maximum(parts[0], parts[1])
        case "negative" | "absolute" | "converted":
            return parts[0]
        case "rounded":
            return np.minimum(parts[0], _EXACT)
        case "pick":
            return sizes[0][np.array(given["places"], dtype=np.int64).ravel()].reshape(fact.shape)
        case "stack":
            return np.concatenate(sizes)[np.array(given["places"], dtype=np.int64)].reshape(fact.shape)
        case "sum of coordinates" if given["over"] == 1:
            sums = [sizes[0][np.array(one, dtype=np.int64)].sum() for one in given["groups"]]
            return np.array(sums).reshape(fact.shape)
        case "times matrix":
            factors = sizes[1].reshape(-1, sizes[0].size)
            return np.asarray(_times(factors, sizes[0]).sum(axis=-1).reshape(fact.shape), dtype=np.float64)
        case _:
            return np.full(fact.shape, np.inf)


def _inverse(value: Any) -> Floats:
    """What a division by public numbers multiplies by, where that is a power of 2; infinite elsewhere."""
    number = np.abs(np.asarray(value, dtype=np.float64))
    mantissa, _ = np.frexp(number)
    with np.errstate(divide="ignore"):
        return np.where((mantissa == 0.5) & (number <= 1), 1 / number, np.inf)


def unrounded(setting: Setting, number: int | None) -> Flags:
    """Which coordinates of a statistic are whole numbers, or such as were clipped: nothing of them was rounded.

    Args:
        setting: with the steps of the run.
        number: of the operation that made the statistic.
    """
    setting = setting.of_every_record
    assert number is not None
    for one in made_of(setting, number, Total, "unrounded"):
        setting.known["unrounded", one] = _unrounded(setting, one)
    found: Flags = setting.known["unrounded", number]
    return found


def _unrounded(setting: Setting, number: int) -> Flags:
    step = setting.steps[number]
    whole: Flags = np.isfinite(whole_numbers(setting, number))
    if step.name not in _CLIPPING:
        return whole
    inner = [setting.known["unrounded", one.number] if one.number is not None else np.ones(np.size(one.value), np.bool_)
             for one in step.operands]  # fmt: skip
    if step.name == "not steeper":
        before, fact = step.operands[0].fact, step.fact
        assert isinstance(before, Total)
        assert isinstance(fact, Total)
        return whole | np.broadcast_to(inner[0].reshape(before.shape), fact.shape).ravel()
    places = np.array(step.parameters.get("places", range(whole.size)), dtype=np.int64).ravel()
    return np.asarray(whole | np.concatenate(inner)[places])


def _times(one: Floats, other: Floats) -> Floats:
    """The product of two sizes; 0 times what is not whole is 0."""
    with np.errstate(invalid="ignore"):
        return np.where((one == 0) | (other == 0), 0.0, one * other)


def _whole_sums(setting: Setting, step: Step, weights: Sequence[TracedOperand]) -> Any:
    """Which coordinates of a sum are sums of whole numbers, which floats add exactly."""
    if step.name == "count":
        return True
    flags = [_whole_entries(setting, one) for one in weights]
    if step.name == "product of columns":
        return np.logical_and.outer(*flags)
    if step.name == "sum":
        return flags[0].all() if step.parameters["all"] else flags[0]
    return all(bool(one.all()) for one in flags)


def _size_of(setting: Setting, one: TracedOperand) -> Floats:
    """Bounds on the sizes of whole numbers, of a statistic or public ones; infinite where they are not whole."""
    if one.fact is not None:
        return np.asarray(setting.known.get(("size", one.number), np.full(1, np.inf)))
    array = np.asarray(one.value)
    if array.dtype.kind not in "biuf":
        return np.full(array.size, np.inf)
    number = np.abs(array.astype(np.float64)).ravel()
    return np.where(np.isfinite(number) & (number == np.floor(number)), number, np.inf)


def _whole_entries(setting: Setting, one: TracedOperand) -> Flags:
    """Which entries of records, or public numbers, are whole numbers, whatever their dtype is."""
    if one.number is None:
        return np.isfinite(_size_of(setting, one)).reshape(np.shape(one.value))
    for number in made_of(setting, one.number, Rows, "whole"):
        setting.known["whole", number] = _whole_entries_of(setting, setting.steps[number])
    found: Flags = setting.known["whole", one.number]
    return found


def _whole_entries_of(setting: Setting, step: Step) -> Flags:
    fact = step.fact
    assert isinstance(fact, Rows)
    same = (fact.low == fact.high) & (fact.low == np.floor(fact.low)) & np.isfinite(fact.low) & ~fact.missing
    if fact.dtype == "category" or np.dtype(fact.dtype).kind not in "biuf":
        known: Any = False
    elif np.dtype(fact.dtype).kind in "biu":
        known = True
    else:
        known = same | _of_whole_entries(setting, step, fact)
    return np.broadcast_to(known, fact.shape)


def _of_whole_entries(setting: Setting, step: Step, fact: Rows) -> Any:
    """The same, of a function of the entries of a record that gives whole numbers of whole numbers."""
    name = step.parameters.get("name")
    if step.name == "elementwise" and name in _STEPS:
        return True
    if (step.name == "elementwise" and name in _KEEPING) or step.name in ("where", "fill"):
        values = step.operands[1:] if step.name == "where" else step.operands
        return np.logical_and.reduce([_beside(_whole_entries(setting, one), fact.shape) for one in values])
    if step.name in ("select", "drop missing") or (step.name == "astype" and np.dtype(fact.dtype).itemsize == 8):
        return _whole_entries(setting, step.operands[0])
    if step.name == "index":
        return np.asarray(_whole_entries(setting, step.operands[0])[key_from_json(step.parameters["key"])])
    if step.name == "columns":
        return all(bool(_whole_entries(setting, one).all()) for one in step.operands)
    return False


def _beside(flags: Flags, shape: tuple[int, ...]) -> Flags:
    """Of a public array, as it stands beside one row."""
    return np.broadcast_to(flags[0] if flags.ndim > len(shape) else flags, shape)
