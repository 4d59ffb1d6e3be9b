"""Rules for statistics: sums over records, and what keeps a bound on how far one record moves them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tracing.rules import bounds
from dpverdict.audit.tracing.rules.bounds import Interval
from dpverdict.audit.tracing.rules.facts import (
    ALWAYS,
    Cell,
    Fact,
    Floats,
    Norm,
    Rows,
    Support,
    Total,
    both,
    supports_of,
)
from dpverdict.audit.tracing.rules.operations import Setting, TracedOperand, operation, refuse
from dpverdict.audit.tracing.rules.ranges import clipped_nowhere, ranges
from dpverdict.audit.tracing.rules.records import interval_of, the_rows
from dpverdict.audit.tracing.rules.rounding import MOST_RECORDS, must_be_of_one_record
from dpverdict.audit.tracing.rules.whole_numbers import unrounded, whole_numbers

MOST_COORDINATES: Final = 20_000
"""Of a statistic."""

_ROUNDED: Final = Fraction(1, 2)
"""By how much less than this two sums in floats are further apart than the numbers that they stand for."""


def the_total(operand: TracedOperand) -> Total:
    """The fact of a statistic, which is no weight of a choice."""
    fact = operand.fact
    if not isinstance(fact, Total):
        refuse("a statistic together with something else")
    if fact.weights or fact.up_to_a_shift:
        refuse("a score that was made the weight of a choice, used for something else", "use rng.choice(k, p=...)")
    return fact


def summed(setting: Setting, fact: Rows, found: Interval, dtype: str, supports: tuple[Support, ...],
           norm: Norm | None = None) -> Total:  # fmt: skip
    """A sum over records of what lies in an interval."""
    if found.missing.any():
        refuse("a sum of numbers that may be missing (NaN)", "fill them, x.fillna(0), or leave them out, x.dropna()")
    if not (np.isfinite(found.low) & np.isfinite(found.high)).all():
        refuse("a sum of numbers that nothing bounds", "clip them first, or give low and high in the schema")
    kind = np.dtype(dtype)
    if kind.kind == "u" and bool((found.low < 0).any()):
        refuse(f"a sum in {dtype}, which wraps around below 0", "leave dtype= out")
    most = float(np.iinfo(kind).max) if kind.kind in "iu" else float(np.finfo(kind).max) if kind.kind == "f" else 0.0
    largest = float(max(np.abs(found.low).max(initial=0.0), np.abs(found.high).max(initial=0.0)))
    if kind.itemsize < 8 or largest * MOST_RECORDS > most:
        refuse(f"a sum in {dtype}, which overflows or loses records", "clip closer, or convert first: .astype(float)")
    if found.low.size > MOST_COORDINATES:
        refuse(f"a statistic of {found.low.size} coordinates", f"release at most {MOST_COORDINATES} at once")
    low, high = _of_selected(setting, fact, found.low, found.high)
    return Total(low, high, supports, dtype, norm)


def _of_selected(setting: Setting, fact: Rows, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """What a record adds that may be left out: that or 0, or 0 where no record is selected."""
    masks = [setting.rows(number) for number in fact.masks]
    if any(bool((one.high <= 0).all()) for one in masks):
        return np.zeros(low.shape), np.zeros(high.shape)
    if all(bool((one.low > 0).all()) for one in masks):
        return low, high
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def support_of_masks(setting: Setting, fact: Rows) -> Support:
    """What a record lies in, if the masks select it."""
    found: Support = ALWAYS
    for number in fact.masks:
        mask = setting.rows(number)
        if not (mask.low > 0).all():  # else it selects every record
            found = both(found, mask.support or ((number, Cell(frozenset([True]))),))
    return found


@operation("sum", "f(D with r) - f(D) = g(r)", "bounded entries without gaps; float64 or int64")
def sum_of_records(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The sum over the records, of each entry of a row or of all of them."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    if fact.dtype == "category" or np.dtype(fact.dtype).kind not in "biuf":
        refuse("a sum of texts")
    found = interval_of(fact)
    support = both(support_of_masks(setting, fact), fact.support or ALWAYS)
    if fact.support:
        found = Interval.of(np.minimum(found.low, 0), np.maximum(found.high, 0), found.missing)
    if given["all"]:
        entries = [Interval(*(one.ravel()[i] for one in found)) for i in range(found.low.size)]
        whole = entries[0]
        for one in entries[1:]:
            whole = bounds.add(whole, one)
        found = Interval.of(*whole)
        return summed(setting, fact, found, given["dtype"], (support,))
    return summed(setting, fact, found, given["dtype"], supports_of(found.low.shape, support), fact.norm)


@operation("mean", "the sum over a public number of records", "replace-one with records in the schema, no selection")
def mean_of_records(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The mean over the records."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    if setting.records is None or fact.masks:
        refuse("a mean over a number of records that is not public",
               "divide a noisy sum by a noisy count; or state replace-one with records in the schema")  # fmt: skip
    made = sum_of_records(setting, operands, given)
    assert isinstance(made, Total)
    count = setting.records
    if given["all"]:
        count *= int(np.prod(fact.shape, dtype=np.int64))
    norm = None if made.norm is None else Norm(made.norm.order, _quotient_up(made.norm.bound, count))
    found = bounds.divide(Interval.of(made.low, made.high), bounds.constant(count))
    return replace(made, low=found.low, high=found.high, norm=norm)


def _quotient_up(number: float, count: float) -> float:
    return float(bounds.directed(np.true_divide, np.asarray(number), np.asarray(float(count)), up=True))


@operation("count", "f(D with r) - f(D) is 1 for a record that is selected, else 0")
def count(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """How many records there are, of those where an entry is present if that is asked for."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    ones = np.ones(fact.shape if given["each"] else ())
    low, high = _of_selected(setting, fact, ones, ones)
    if given["present"] and fact.missing.any():
        low = np.zeros(ones.shape)
    supports = supports_of(ones.shape, support_of_masks(setting, fact))
    return Total(low, high, supports, "int64")


@operation("groups", "a record is in one group by its own entry, so only that coordinate moves", "known groups")
def groups(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A count, or a sum, for each of some public values of one column: bincount, groupby, value_counts."""
    key = operands[0].fact
    assert isinstance(key, Rows)
    _no_dates(key)
    rows = the_rows([one for one in operands[:2] if one.fact is not None])
    must_be_of_one_record(setting, operands[:1])
    cells = [Cell(frozenset([one])) for one in given["values"]]
    number = operands[0].number
    assert number is not None
    found = _each_cell(rows[1] if len(rows) > 1 else None, [_reached(key, cell) for cell in cells])
    outside = support_of_masks(setting, key)
    supports = tuple(both(outside, ((number, cell),)) for cell in cells)
    return summed(setting, key, found, given["dtype"], supports)


@operation("groups of several columns", "a record is in one group by its own entries", "known groups")
def groups_of_several(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A count, or a sum, for each of some public combinations of values of several columns."""
    size = int(given["keys"])
    rows = the_rows(operands)
    keys = rows[:size]
    numbers = [one.number for one in operands[:size]]
    if len(rows) != len(operands) or not size <= len(rows) <= size + 1 or any(one.shape != () for one in keys):
        refuse("groups by something else than columns of the same records")
    for key in keys:
        _no_dates(key)
    must_be_of_one_record(setting, operands[:size])
    if any(len(one) != size for one in given["values"]):
        refuse("groups with labels of another number of columns")
    reached = [all(_reached(key, Cell(frozenset([value]))) for key, value in zip(keys, label, strict=True))
               for label in given["values"]]  # fmt: skip
    found = _each_cell(rows[size] if len(rows) > size else None, reached)
    outside = support_of_masks(setting, keys[0])
    supports = []
    for label in given["values"]:
        support = outside
        for number, value in zip(numbers, label, strict=True):
            assert number is not None
            support = both(support, ((number, Cell(frozenset([value]))),))
        supports.append(support)
    return summed(setting, keys[0], found, given["dtype"], tuple(supports))


def _each_cell(weights: Rows | None, reached: Sequence[bool]) -> Interval:
    """What a record adds to its cell; nothing to a cell that no record reaches."""
    low, high, missing = np.zeros(()), np.ones(()), False
    if weights is not None:
        if weights.shape != () or weights.dtype == "category" or np.dtype(weights.dtype).kind not in "biuf":
            refuse("weights that are not one number for each record")
        low, high = np.minimum(weights.low, 0.0), np.maximum(weights.high, 0.0)
        missing = bool(weights.missing)
    some = np.array(reached, dtype=np.bool_)
    return Interval.of(np.where(some, low, 0.0), np.where(some, high, 0.0), missing)


def _reached(key: Rows, cell: Cell) -> bool:
    """Whether an entry of a column may lie in a cell, by the bounds or the categories of the column."""
    if key.missing.any() or key.shape != ():
        return True
    if key.dtype == "category" or key.values is not None:
        return key.values is None or any(cell.holds(one) for one in key.values)
    if np.dtype(key.dtype).kind not in "biuf":
        return True
    low, high = float(key.low), float(key.high)
    if cell.values is not None:
        numbers = [one for one in cell.values if isinstance(one, int | float) and one == one]
        return len(numbers) < len(cell.values) or any(low <= one <= high for one in numbers)
    return not cell.apart_from(Cell(low=low, high=high))


def _are_numbers(fact: Rows) -> bool:
    return fact.dtype != "category" and np.dtype(fact.dtype).kind in "biuf"


def _no_dates(key: Rows) -> None:
    if key.dtype != "category" and not _are_numbers(key):
        refuse("groups or bins of dates", "group by a part of them, the year or the month, or count a mask")


@operation("bincount", "a record is in one cell", "integers from 0 to minlength - 1, by type or clip")
def bincount(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """np.bincount."""
    key = operands[0].fact
    size = int(given["size"])
    assert isinstance(key, Rows)
    if np.dtype(key.dtype).kind not in "iu" or key.shape != () or key.missing.any():
        refuse("bincount of something else than a column of integers", "convert it: .astype(int)")
    if float(key.low) < 0 or float(key.high) > size - 1:
        refuse("bincount with a number of cells that depends on data",
               f"clip to 0 .. minlength - 1 (it may be from {float(key.low):g} to {float(key.high):g})")  # fmt: skip
    return groups(setting, operands, {**given, "values": list(range(size))})


@operation("histogram", "a record is in one bin", "public edges, or a number of bins with a range; no gaps")
def histogram(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """np.histogram."""
    key = operands[0].fact
    assert isinstance(key, Rows)
    _no_dates(key)
    if key.shape != () or key.dtype == "category" or key.missing.any():
        refuse("a histogram of numbers that may be missing, or of several columns", "fill them, or take one column")
    if np.isinf(key.low) or np.isinf(key.high):
        refuse("a histogram of numbers that may be infinite", "clip them first, or give low and high in the schema")
    must_be_of_one_record(setting, operands[:1])
    edges = [float(one) for one in given["edges"]]
    if len(edges) < 2 or any(not a < b for a, b in itertools.pairwise(edges)):
        refuse("a histogram with edges that do not increase")
    number = operands[0].number
    assert number is not None
    last = len(edges) - 2
    cells = [Cell(low=edges[i], high=edges[i + 1], high_closed=i == last) for i in range(last + 1)]
    weights = operands[1].fact if len(operands) > 1 else None
    rows = the_rows([one for one in operands if one.fact is not None])
    found = _each_cell(weights if isinstance(weights, Rows) else None, [_reached(key, cell) for cell in cells])
    outside = support_of_masks(setting, rows[0])
    supports = tuple(both(outside, ((number, cell),)) for cell in cells)
    return summed(setting, key, found, given["dtype"], supports)


@operation("product of columns", "the sum over records of products of the entries of each", "bounded columns")
def product_of_columns(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """x.T @ y."""
    one, other = the_rows(operands)
    if len(one.shape) > 1 or len(other.shape) > 1 or not all(_are_numbers(part) for part in (one, other)):
        refuse("a product of records with several axes")
    left, right = interval_of(one), interval_of(other)
    if operands[0].number == operands[1].number and one.shape == ():
        found = bounds.square(left)
    else:
        shape = (*one.shape, *other.shape)
        wide = Interval.of(*(np.broadcast_to(a.reshape((*one.shape, *([1] * len(other.shape)))), shape) for a in left))
        found = bounds.multiply(wide, Interval.of(*(np.broadcast_to(b, shape) for b in right)))
        if operands[0].number == operands[1].number:  # the diagonal is of squares
            own = bounds.square(left)
            for i in range(one.shape[0]):  # pyright: ignore[reportGeneralTypeIssues]
                for part, square in zip(found, own, strict=True):
                    part[i, i] = square[i]
    return summed(setting, one, found, given["dtype"], supports_of(found.low.shape, support_of_masks(setting, one)))


# what keeps a bound ---------------------------------------------------------------------------------------------------


def _interval(fact: Total) -> Interval:
    return Interval.of(fact.low, fact.high)


def _with_nothing(low: Any, high: Any, support: Support) -> tuple[Any, Any]:
    """Bounds of a coordinate that a record may not move at all."""
    return (min(low, 0.0), max(high, 0.0)) if support else (low, high)


def _apart(one: Support, other: Support) -> bool:
    cells = dict(other)
    return any(column in cells and cell.apart_from(cells[column]) for column, cell in one)


def together(parts: Sequence[tuple[float, float, Support]]) -> tuple[float, float, Support]:
    """Bounds of a sum of coordinates; of two that no record moves both, the one or the other counts."""
    low, high, support = parts[0]
    for next_low, next_high, next_support in parts[1:]:
        if next_support == support:
            low, high = _sum(low, next_low, up=False), _sum(high, next_high, up=True)
            continue
        one, other = _with_nothing(low, high, support), _with_nothing(next_low, next_high, next_support)
        if len(parts) == 2 and _apart(support, next_support):
            low, high = min(one[0], other[0]), max(one[1], other[1])
        else:
            low, high = _sum(one[0], other[0], up=False), _sum(one[1], other[1], up=True)
        support = ALWAYS
    return low, high, support


def _sum(one: float, other: float, *, up: bool) -> float:
    near = one + other
    exact = Fraction(one) + Fraction(other)
    if up:
        return near if Fraction(near) >= exact else float(np.nextafter(near, np.inf))
    return near if Fraction(near) <= exact else float(np.nextafter(near, -np.inf))


def sum_of_coordinates(parts: Sequence[tuple[float, float, Support]]) -> tuple[float, float, Support]:
    """As `together`, where all coordinates are cells of one column, of which a record moves one."""
    columns = {one[2][0][0] if len(one[2]) == 1 else None for one in parts}
    moved = [one for one in parts if one[0] or one[1]]
    if len(moved) > 1 and len(columns) == 1 and None not in columns:
        cells = [one[2][0][1] for one in moved]
        listed = [cell.values for cell in cells if cell.values is not None and not cell.others and not cell.missing]
        distinct = len(listed) == len(cells) and sum(map(len, listed)) == len(frozenset().union(*listed))
        if distinct or (len(cells) <= 64 and all(a.apart_from(b) for i, a in enumerate(cells) for b in cells[:i])):
            return min(0.0, *(one[0] for one in moved)), max(0.0, *(one[1] for one in moved)), ALWAYS
    return together(moved or parts)


@operation("move", "public numbers do not move, and moves add up", "plus, minus, times or over a public number")
def move(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """+, -, * and / of statistics and public values."""
    name = str(given["name"])
    totals = [the_total(one) for one in operands if one.fact is not None]
    if name in ("multiply", "true_divide"):
        if len(totals) > 1 or (name == "true_divide" and operands[0].fact is None):
            refuse("a product or quotient of statistics, of which no bound is known",
                   "add noise to each, and combine the noisy values")  # fmt: skip
        public = next(one.value for one in operands if one.fact is None)
        factor = np.asarray(public)
        if np.dtype(given["dtype"]).kind in "iu" and np.any(np.abs(factor.astype(np.float64)) > 2.0**53):
            refuse("an integer statistic times a number that large", "convert it: .astype(float)")
        if factor.dtype.kind not in "biuf" or not np.isfinite(factor.astype(np.float64)).all():
            refuse("a statistic times something that is no finite number")
        if name == "true_divide" and np.any(factor == 0):
            refuse("a statistic over 0")
        operate = bounds.multiply if name == "multiply" else bounds.divide
        (fact,) = totals
        found = operate(_interval(fact), bounds.constant(factor))
        norm = None
        if fact.norm is not None and factor.size == 1:
            size = Interval.of(fact.norm.bound, fact.norm.bound)
            scaled = operate(size, bounds.absolute(bounds.constant(factor.reshape(()))))
            norm = Norm(fact.norm.order, float(scaled.high))
        supports = broadcast_supports(fact, found.low.shape)
        return _fits(Total(found.low, found.high, supports, given["dtype"], norm))
    signs = [1, -1 if name == "subtract" else 1]
    shape = np.broadcast_shapes(*(one.fact.shape if isinstance(one.fact, Total) else np.shape(one.value)
                                  for one in operands))  # fmt: skip
    parts: list[tuple[Floats, Floats, tuple[Support, ...]]] = []
    for sign, one in zip(signs, operands, strict=False):
        if isinstance(one.fact, Total):
            low, high = (np.broadcast_to(end, shape) for end in (one.fact.low, one.fact.high))
            if sign < 0:
                low, high = -high, -low
            parts.append((low, high, broadcast_supports(one.fact, shape)))
        elif (
            np.asarray(one.value).dtype.kind not in "biuf"
            or not np.isfinite(np.asarray(one.value, dtype=np.float64)).all()
        ):
            refuse("a statistic and something that is no finite number")
    whole = [np.asarray(one.value, dtype=np.float64) for one in operands if one.fact is None]
    if np.dtype(given["dtype"]).kind in "iu" and any(np.any(np.abs(one) > 2.0**53) for one in whole):
        refuse("an integer statistic and a number that large", "convert it: .astype(float)")
    if len(parts) == 1:
        norm = totals[0].norm if totals[0].shape == shape else None
        return _fits(Total(np.array(parts[0][0]), np.array(parts[0][1]), parts[0][2], given["dtype"], norm))
    if name == "subtract" and operands[0].number == operands[1].number:  # a statistic and itself
        return _of_parts([(0.0, 0.0, ALWAYS)] * len(parts[0][2]), shape, given["dtype"])
    joined = [together([(float(a), float(b), s), (float(c), float(d), t)]) for a, b, s, c, d, t in
              zip(parts[0][0].ravel(), parts[0][1].ravel(), parts[0][2],
                  parts[1][0].ravel(), parts[1][1].ravel(), parts[1][2], strict=True)]  # fmt: skip
    return _fits(_of_parts(joined, shape, given["dtype"]))


def _fits(fact: Total) -> Total:
    if not (np.isfinite(fact.low) & np.isfinite(fact.high)).all():
        refuse("a statistic that moves without bound")
    kind = np.dtype(fact.dtype)
    if kind.kind in "iuf" and kind.itemsize < 8:
        refuse(f"a statistic in {kind}, which overflows or loses records", "convert it: .astype(float)")
    largest = float(max(np.abs(fact.low).max(initial=0.0), np.abs(fact.high).max(initial=0.0)))
    if kind.kind == "i" and largest * MOST_RECORDS > float(np.iinfo(kind).max):
        refuse(f"a statistic in {kind}, which may wrap around", "convert it: .astype(float)")
    if kind == np.dtype("uint64"):
        refuse("a statistic in uint64, which wraps around below 0", "convert it: .astype(float)")
    if kind.kind == "b":
        refuse("a statistic made a truth value")
    return fact


def broadcast_supports(fact: Total, shape: tuple[int, ...]) -> tuple[Support, ...]:
    """The supports of a statistic that is broadcast."""
    if fact.shape == shape:
        return fact.supports
    places = np.broadcast_to(np.arange(len(fact.supports)).reshape(fact.shape), shape)
    return tuple(fact.supports[i] for i in places.ravel().tolist())


def _of_parts(parts: Sequence[tuple[float, float, Support]], shape: tuple[int, ...], dtype: str) -> Total:
    low = np.array([one[0] for one in parts], dtype=np.float64).reshape(shape)
    high = np.array([one[1] for one in parts], dtype=np.float64).reshape(shape)
    return Total(low, high, tuple(one[2] for one in parts), dtype)


def coordinates(fact: Total) -> list[tuple[float, float, Support]]:
    """Each coordinate, in order."""
    return list(zip(fact.low.ravel().tolist(), fact.high.ravel().tolist(), fact.supports, strict=True))


@operation("negative", "moves the other way")
def negative(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """-f."""
    fact = the_total(operands[0])
    return _fits(replace(fact, low=-fact.high, high=-fact.low, dtype=given["dtype"]))


@operation("pick", "coordinates in another order or shape, or some of them", "a public index")
def pick(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Coordinates by their places."""
    fact = operands[0].fact
    assert isinstance(fact, Total)
    places = np.array(given["places"], dtype=np.int64).reshape(tuple(given["shape"]))
    whole = sorted(places.ravel().tolist()) == list(range(len(fact.supports)))
    flat = places.ravel().tolist()
    if fact.normalised and not whole:
        refuse("some of the weights of a choice")
    return replace(
        fact,
        low=np.asarray(fact.low.ravel()[places]),
        high=np.asarray(fact.high.ravel()[places]),
        supports=tuple(fact.supports[i] for i in flat),
        norm=fact.norm if len(set(flat)) == len(flat) else None,
    )


@operation("stack", "coordinates of several statistics side by side")
def stack(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Statistics and public numbers in one array."""
    parts: list[tuple[float, float, Support]] = []
    facts = [one.fact for one in operands if isinstance(one.fact, Total)]
    weights = len(facts) == len(operands) and all(fact.weights and not fact.normalised for fact in facts)
    if weights and not any(fact.up_to_a_shift for fact in facts):  # each is exp of a score of its own
        parts = [part for fact in facts for part in coordinates(fact)]
        scores = _of_parts([parts[i] for i in given["places"]], tuple(given["shape"]), given["dtype"])
        return replace(_fits(scores), weights=True)
    for one in operands:
        if one.fact is None:
            value = np.asarray(one.value)
            if value.dtype.kind not in "biuf":
                refuse("a statistic beside something that is no number")
            parts += [(0.0, 0.0, ALWAYS)] * value.size
        else:
            parts += coordinates(the_total(one))
    places = given["places"]
    return _fits(_of_parts([parts[i] for i in places], tuple(given["shape"]), given["dtype"]))


@operation("sum of coordinates", "moves add up; of cells of one column, a record moves one")
def sum_along(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A sum over axes, a mean over axes, or a cumulative sum."""
    fact = the_total(operands[0])
    flat = coordinates(fact)
    rows = [sum_of_coordinates([flat[i] for i in group]) for group in given["groups"]]
    made = _of_parts(rows, tuple(given["shape"]), given["dtype"])
    if given["over"] != 1:
        found = bounds.divide(_interval(made), bounds.constant(int(given["over"])))
        made = replace(made, low=found.low, high=found.high)
    return _fits(made)


@operation("times matrix", "moves times public numbers add up", "a public matrix")
def times_matrix(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A linear map of the coordinates, given as one row of factors for each new coordinate."""
    fact = _fits(the_total(operands[0]))
    flat = coordinates(fact)
    factors = np.asarray(operands[1].value, dtype=np.float64)
    if not np.isfinite(factors).all():
        refuse("a statistic times something that is no finite number")
    parts = []
    for row in factors:
        used = np.flatnonzero(row)
        found = bounds.multiply(
            Interval.of([flat[i][0] for i in used], [flat[i][1] for i in used]), bounds.constant(row[used])
        )
        moved = [(float(found.low[k]), float(found.high[k]), flat[i][2]) for k, i in enumerate(used)]
        parts.append(sum_of_coordinates(moved) if moved else (0.0, 0.0, ALWAYS))
    return _fits(_of_parts(parts, tuple(given["shape"]), "float64"))


@operation("not steeper", "max, min and clip with public numbers never fall, and never move further; where they clip "
           "every value or none, the statistic stands still or stays", "public bounds")  # fmt: skip
def not_steeper(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """maximum, minimum and clip: of one coordinate and a public number."""
    fact = the_total(operands[0])
    shape = np.broadcast_shapes(fact.shape, np.shape(operands[1].value))
    if np.isnan(np.asarray(operands[1].value, dtype=np.float64)).any():
        refuse("a statistic clipped to NaN")
    values = ranges(setting, operands[0].number).reshaped(fact.shape)
    stays, constant = clipped_nowhere(values, operands[1].value, str(given["name"]))
    supports = broadcast_supports(fact, shape)
    low, high = (np.broadcast_to(end, shape) for end in (fact.low, fact.high))
    kept = np.broadcast_to(stays, shape) | _up_to_a_number(setting, supports, shape)
    low, high = np.where(kept, low, np.minimum(low, 0.0)), np.where(kept, high, np.maximum(high, 0.0))
    norm = fact.norm if shape == fact.shape else None
    return _fits(Total(np.where(constant, 0.0, low), np.where(constant, 0.0, high), supports, given["dtype"], norm))


def _up_to_a_number(setting: Setting, supports: Sequence[Support], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Of which coordinates only the differences between records count, so that a function that never moves further
    keeps their bounds: under replacement, of those that every record moves.

    Of two boxes, one for each record, the number that they have in common has to be the same, and so is no help.
    """
    if not setting.replace or setting.unboxed is not None:
        return np.zeros(shape, dtype=np.bool_)
    return np.array([not one for one in supports], dtype=np.bool_).reshape(shape)


@operation("absolute", "never moves further than its argument; of what is never negative, the same", "")
def absolute(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """|f|."""
    fact = the_total(operands[0])
    values = ranges(setting, operands[0].number).reshaped(fact.shape)
    size = np.maximum(np.abs(fact.low), np.abs(fact.high))
    kept = (values.low >= 0) | _up_to_a_number(setting, fact.supports, fact.shape)
    turned = ~kept & (values.high <= 0)
    low, high = np.where(kept, fact.low, -size), np.where(kept, fact.high, size)
    return _fits(replace(fact, low=np.where(turned, -fact.high, low), high=np.where(turned, -fact.low, high)))


@operation("rounded", "a whole number stays; else it moves to the next whole number at most, and by one more where "
           "floats are rounded across it", "floor, ceil or trunc")  # fmt: skip
def rounded(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """floor(f + d) - floor(f) lies between floor(d) and ceil(d); the same holds of ceil; trunc, of 0 too.

    Of f in floats, both sums are rounded, each by less than 1/4: their difference lies between d - 1/2 and d + 1/2. So
    do those of records that do not move f at all, for what is summed beside them is rounded in another order. Of whole
    numbers that were clipped to some number there is no rounding.
    """
    fact = the_total(operands[0])
    whole = np.isfinite(whole_numbers(setting, operands[0].number))
    exact = unrounded(setting, operands[0].number)
    supports = [one if same else ALWAYS for one, same in zip(fact.supports, exact, strict=True)]
    apart = _up_to_a_number(setting, supports, fact.shape).ravel()
    parts = [one if stays else _rounded((*_with_nothing(*one[:2], one[2]), support), apart=bool(free),
                                        far=Fraction(0) if same else _ROUNDED)
             for one, support, stays, same, free in
             zip(coordinates(fact), supports, whole, exact, apart, strict=True)]  # fmt: skip
    return replace(_fits(_of_parts(parts, fact.shape, given["dtype"])), norm=fact.norm if whole.all() else None)


def _rounded(part: tuple[float, float, Support], *, apart: bool, far: Fraction) -> tuple[float, float, Support]:
    """Of one coordinate that is no whole number; of some, only how far two records are apart counts."""
    low, high, support = Fraction(part[0]), Fraction(part[1]), part[2]
    if apart:
        return float(math.floor(low)), float(math.floor(low) + math.ceil(high - low + far)), support
    return float(min(math.floor(low - far), 0)), float(max(math.ceil(high + far), 0)), support


@operation("converted", "the same number in another dtype", "float64, or an integer as int64")
def converted(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """astype."""
    fact = the_total(operands[0])
    kind = np.dtype(given["dtype"])
    if kind.kind in "iu" and np.dtype(fact.dtype).kind == "f":
        return rounded(setting, operands, given)
    return _fits(replace(fact, dtype=str(kind)))


@operation("in 32 bits", "polars counts fewer than 2^32 records, and gives the number in 32 bits",
           "counts, and sums of truth values")  # fmt: skip
def in_32_bits(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The same counts, of a dtype with which nothing is computed that gives it again."""
    fact = the_total(operands[0])
    if not counts_records(setting, operands[0].number):
        refuse("a statistic in 32 bits that is no count", "cast it: .cast(pl.Float64)")
    return replace(fact, dtype="uint32")


def counts_records(setting: Setting, number: int | None) -> bool:
    """Whether each coordinate is how many records there are of some kind."""
    if number is None:
        return False
    step = setting.steps[number]
    match step.name:
        case "count":
            return True
        case "sum":
            fact = step.operands[0].fact
            return isinstance(fact, Rows) and fact.dtype == "bool"
        case "groups" | "groups of several columns":
            weights = [one.fact for one in step.operands[int(step.parameters.get("keys", 1)) :]]
            return all(isinstance(one, Rows) and one.dtype == "bool" for one in weights)
        case "stack" | "pick":
            return all(counts_records(setting, one.number) for one in step.operands)
        case _:
            return False


# the exponential mechanism --------------------------------------------------------------------------------------------


@operation("from the largest", "the same number is taken from every score: the choice does not see it", "one vector")
def from_the_largest(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """scores - scores.max(), known up to a common shift."""
    fact = the_total(operands[0])
    if np.dtype(fact.dtype).kind == "u":
        refuse("the largest of scores without a sign, from which it is taken", "convert them: .astype(float)")
    return replace(fact, up_to_a_shift=True)


@operation("weights", "exp of a score, of which the quotients count")
def weights(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """exp(scores): the fact is that of the scores."""
    fact = operands[0].fact
    assert isinstance(fact, Total)
    if fact.weights:
        refuse("exp of exp of a statistic")
    return replace(fact, weights=True)


@operation("normalised weights", "divided by their sum, which the choice does not see", "all weights of one vector")
def normalised_weights(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """w / w.sum()."""
    fact = operands[0].fact
    assert isinstance(fact, Total)
    return replace(fact, normalised=True)


@operation("scaled scores", "scores known up to a shift, times a public number")
def scaled_scores(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Times or over a public number, of scores from which their largest was taken."""
    fact = operands[0].fact
    assert isinstance(fact, Total)
    plain = replace(fact, up_to_a_shift=False)
    made = move(setting, [TracedOperand(operands[0].number, plain), operands[1]], given)
    assert isinstance(made, Total)
    return replace(made, up_to_a_shift=True)
