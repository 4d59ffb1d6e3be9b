"""The certificate of a function, derived again by code that shares none with the project: NumPy for shapes, fractions.

What a run shows is taken from the file: the operations, what each was applied to, the draws. What follows is derived
from it and compared: how far one record moves each result, what all releases spend, and that this is within the claim.
An end of a bound that is exact is compared exactly; of a function such as log1p the stated end has to lie outside of
what mpmath gives, by a few floats at most. What is more than this derives raises `Beyond`, and nothing is said of it.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import itertools
import json
import math
import re
import runpy
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction as F
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np

joint = runpy.run_path(str(Path(__file__).with_name("traced_joint.py")))
INF = math.inf
CLOSE = 16
"""Floats by which the stated end of a function that is no rational one may lie outside of the true one."""
WIDE = 4096
"""Entries from which on ends are stated one float outward even where they are exact."""
MOST_CHOICES = 4096
MOST_MIXED = 48
MOST_CORNERS = 2**10
"""Corners of a box of moves, and numbers with common Gaussian draws, that are looked at one by one."""
MOST_RECORDS = 2.0**33


class Wrong(Exception):
    """What is written does not follow."""


class Beyond(Exception):
    """More than is derived here."""


def need(true: Any, what: str) -> None:
    if not true:
        raise Wrong(what)


# numbers: an entry is (low, high, whether it may be missing)


def down(x: F) -> float:
    try:
        near = float(x)
    except OverflowError:
        near = INF if x > 0 else -INF
    if near == INF:
        return math.nextafter(INF, 0)
    return near if near == -INF or F(near) <= x else math.nextafter(near, -INF)


def up(x: F) -> float:
    return -down(-x) + 0.0


Entry = tuple[float, float, bool]


def finite(*numbers: float) -> bool:
    return all(math.isfinite(one) for one in numbers)


def plus(a: float, b: float, to: Callable[[F], float]) -> float:
    if finite(a, b):
        return to(F(a) + F(b))
    return a + b if not math.isnan(a + b) else INF if to is up else -INF


def times(a: float, b: float, to: Callable[[F], float]) -> float:
    if finite(a, b):
        return to(F(a) * F(b))
    return 0.0 if 0 in (a, b) else a * b


def over(a: float, b: float, to: Callable[[F], float]) -> float:
    if finite(a, b):
        return to(F(a) / F(b))
    if finite(a):
        return math.copysign(0.0, a) * math.copysign(1.0, b)
    return (INF if to is up else -INF) if not finite(b) else a * math.copysign(1.0, b)


def add(a: Entry, b: Entry) -> Entry:
    opposite = (a[1] == INF and b[0] == -INF) or (a[0] == -INF and b[1] == INF)
    return plus(a[0], b[0], down), plus(a[1], b[1], up), a[2] or b[2] or opposite


def minus(a: Entry) -> Entry:
    return -a[1], -a[0], a[2]


def zero_in(a: Entry) -> bool:
    return a[0] <= 0 <= a[1]


def endless(a: Entry) -> bool:
    return not finite(a[0], a[1])


def corners(operate: Any, a: Entry, b: Entry, missing: bool) -> Entry:
    pairs = list(itertools.product(a[:2], b[:2]))
    return min(operate(x, y, down) for x, y in pairs), max(operate(x, y, up) for x, y in pairs), missing


def multiply(a: Entry, b: Entry) -> Entry:
    undefined = (zero_in(a) and endless(b)) or (zero_in(b) and endless(a))
    return corners(times, a, b, a[2] or b[2] or undefined)


def divide(a: Entry, b: Entry) -> Entry:
    missing = a[2] or b[2] or (zero_in(a) and zero_in(b)) or (endless(a) and endless(b))
    if zero_in(b):
        return -INF, INF, missing
    low, high, _ = corners(over, a, b, missing)
    return (min(low, 0.0), max(high, 0.0), missing) if endless(b) else (low, high, missing)


def absolute(a: Entry) -> Entry:
    sizes = sorted((abs(a[0]), abs(a[1])))
    return 0.0 if zero_in(a) else sizes[0], sizes[1], a[2]


def square(a: Entry) -> Entry:
    low, high, missing = absolute(a)
    return times(low, low, down), times(high, high, up), missing


def smaller(a: Entry, b: Entry) -> Entry:
    return min(a[0], b[0]), min(a[1], b[1]), a[2] or b[2]


def larger(a: Entry, b: Entry) -> Entry:
    return max(a[0], b[0]), max(a[1], b[1]), a[2] or b[2]


def ignoring(choose: Callable[[Entry, Entry], Entry]) -> Callable[[Entry, Entry], Entry]:
    def found(a: Entry, b: Entry) -> Entry:
        low, high, _ = choose(a, b)
        for one, other in ((a, b), (b, a)):
            if one[2]:
                low, high = min(low, other[0]), max(high, other[1])
        return low, high, a[2] and b[2]

    return found


def either(a: Entry, b: Entry) -> Entry:
    return min(a[0], b[0]), max(a[1], b[1]), a[2] or b[2]


def stair(function: Callable[[float], float]) -> Callable[[Entry], Entry]:
    def at(x: float) -> float:
        return float(function(x)) if finite(x) else x

    return lambda a: (at(a[0]), at(a[1]), a[2])


def smooth(name: str, least: float = -INF) -> Callable[[Entry], Entry]:
    """A function that never falls, by mpmath."""
    ends = {"exp": (0.0, INF), "expm1": (-1.0, INF), "tanh": (-1.0, 1.0), "arctan": (-math.pi / 2, math.pi / 2)}
    functions = {
        "sqrt": mpmath.sqrt, "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), "exp": mpmath.exp,
        "expm1": mpmath.expm1, "log": mpmath.log, "log2": lambda x: mpmath.log(x) / mpmath.log(2),
        "log10": mpmath.log10, "log1p": mpmath.log1p, "tanh": mpmath.tanh, "arctan": mpmath.atan,
    }  # fmt: skip

    def at(x: float) -> float:
        if not finite(x):
            return ends.get(name, (-INF, INF))[x > 0]
        if (name, x) in (("log", 0.0), ("log2", 0.0), ("log10", 0.0), ("log1p", -1.0)):
            return -INF
        with mpmath.workprec(200):
            value = functions[name](mpmath.mpf(x))
            return float(value) if abs(value) < mpmath.mpf(2) ** 1024 else INF

    return lambda a: (at(max(a[0], least)), at(max(a[1], least)), a[2] or a[0] < least)


def truth(always: bool, never: bool) -> Entry:
    return (1.0 if always else 0.0), (0.0 if never else 1.0), False


def is_true(a: Entry) -> bool:
    return a[0] > 0 and not a[2]


def is_false(a: Entry) -> bool:
    return a[1] <= 0


def less(a: Entry, b: Entry) -> Entry:
    return truth(a[1] < b[0] and not (a[2] or b[2]), a[0] >= b[1])


def at_most(a: Entry, b: Entry) -> Entry:
    return truth(a[1] <= b[0] and not (a[2] or b[2]), a[0] > b[1])


def equal(a: Entry, b: Entry) -> Entry:
    same = a[0] == a[1] == b[0] == b[1] and not (a[2] or b[2]) and finite(a[0])
    return truth(same, a[1] < b[0] or a[0] > b[1])


def opposite(a: Entry) -> Entry:
    return truth(is_false(a), is_true(a))


def conjunction(a: Entry, b: Entry) -> Entry:
    return truth(is_true(a) and is_true(b), is_false(a) or is_false(b))


def disjunction(a: Entry, b: Entry) -> Entry:
    return truth(is_true(a) or is_true(b), is_false(a) and is_false(b))


def is_nan(a: Entry) -> Entry:
    return truth(a[2] and a[0] > a[1], not a[2])


def unknown(*entries: Entry) -> Entry:
    return 0.0, 1.0, False


def wave(function: Callable[[Any], Any], offset: Any) -> Callable[[Entry], Entry]:
    """A sine, by its ends and where it turns in between: at offset + k pi, up for an even k."""

    def found(a: Entry) -> Entry:
        missing = a[2] or endless(a)
        if not finite(a[0], a[1]) or a[0] > a[1] or max(abs(a[0]), abs(a[1])) >= 1e5:
            return -1.0, 1.0, missing
        with mpmath.workprec(200):
            turns = [(mpmath.mpf(end) - offset()) / mpmath.pi for end in a[:2]]
            first, last = int(mpmath.floor(turns[0] - 1e-9)), int(mpmath.floor(turns[1] + 1e-9))
            ends = sorted(float(function(mpmath.mpf(end))) for end in a[:2])
        turning = range(first + 1, last + 1)
        if len(turning) > 1:
            return -1.0, 1.0, missing
        low = -1.0 if any(k % 2 for k in turning) else ends[0]
        high = 1.0 if any(k % 2 == 0 for k in turning) else ends[1]
        return low, high, missing

    return found


SMOOTH = {name: smooth(name, least) for name, least in (
    ("sqrt", 0.0), ("cbrt", -INF), ("exp", -INF), ("expm1", -INF), ("log", 0.0), ("log2", 0.0), ("log10", 0.0),
    ("log1p", -1.0), ("tanh", -INF), ("arctan", -INF))}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Entry]] = {
    **SMOOTH, "add": add, "subtract": lambda a, b: add(a, minus(b)), "multiply": multiply, "true_divide": divide,
    "negative": minus, "positive": lambda a: a, "absolute": absolute, "fabs": absolute, "square": square,
    "minimum": smaller, "maximum": larger, "fmin": ignoring(smaller), "fmax": ignoring(larger),
    "floor": stair(math.floor), "ceil": stair(math.ceil), "rint": stair(lambda x: round(x)),
    "trunc": stair(math.trunc), "sign": lambda a: (float(np.sign(a[0])), float(np.sign(a[1])), a[2]),
    "sin": wave(mpmath.sin, lambda: mpmath.pi / 2), "cos": wave(mpmath.cos, lambda: mpmath.mpf(0)), "less": less,
    "less_equal": at_most, "greater": lambda a, b: less(b, a),
    "greater_equal": lambda a, b: at_most(b, a), "equal": equal, "not_equal": lambda a, b: opposite(equal(a, b)),
    "logical_and": conjunction, "bitwise_and": conjunction, "logical_or": disjunction, "bitwise_or": disjunction,
    "logical_not": opposite, "invert": opposite,
    "isnan": is_nan, **dict.fromkeys(("isfinite", "isinf", "logical_xor", "bitwise_xor"), unknown),
}  # fmt: skip
COMPARING = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
JOINING = ("logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "invert")


class Box:
    """Entries in the shape of an array."""

    def __init__(self, entries: Any, shape: Sequence[int]) -> None:
        self.at = np.empty(tuple(shape), dtype=object)
        flat = list(entries)
        need(len(flat) == self.at.size, "as many entries as the shape has")
        for place, one in zip(np.ndindex(self.at.shape), flat, strict=True):
            self.at[place] = one

    @property
    def shape(self) -> tuple[int, ...]:
        return self.at.shape

    def flat(self) -> list[Entry]:
        return list(self.at.ravel())

    def moved(self, change: Callable[[Any], Any]) -> Box:
        """The same entries in another shape, by what NumPy makes of their places."""
        places = np.asarray(change(np.arange(self.at.size).reshape(self.at.shape)))
        flat = self.flat()
        return Box([flat[i] for i in places.ravel().tolist()], places.shape)


def each(function: Callable[..., Entry], *boxes: Box) -> Box:
    shape = np.broadcast_shapes(*(one.shape for one in boxes))
    flats = [one.moved(lambda a: np.broadcast_to(a, shape)).flat() for one in boxes]
    return Box([function(*entries) for entries in zip(*flats, strict=True)], shape)


def public(value: Any) -> Box:
    """A public number from both sides."""
    array = np.asarray(value)
    need(array.dtype.kind in "biuf", "a public number")
    found = []
    for one in array.ravel().tolist():
        if isinstance(one, float):
            found.append((-INF, INF, True) if math.isnan(one) else (one, one, False))
        else:
            found.append((down(F(int(one))), up(F(int(one))), False))
    return Box(found, array.shape)


# cells of columns


class Cell(NamedTuple):
    values: frozenset[Any] | None
    low: float = -INF
    high: float = INF
    low_in: bool = True
    high_in: bool = True
    missing: bool = False
    others: bool = False


Support = dict[int, Cell]


def lies_in(value: object, cell: Cell) -> bool:
    if value is None:
        return cell.missing
    if cell.values is not None:
        return (value in cell.values) != cell.others
    if not isinstance(value, int | float):
        return True
    return (value > cell.low or (cell.low_in and value == cell.low)) and (
        value < cell.high or (cell.high_in and value == cell.high)
    )


def rest_of(cell: Cell) -> Cell | None:
    if cell.values is not None:
        return cell._replace(others=not cell.others, missing=not cell.missing)
    if cell.high == INF and cell.high_in:
        return Cell(None, -INF, cell.low, True, not cell.low_in, not cell.missing)
    if cell.low == -INF and cell.low_in:
        return Cell(None, cell.high, INF, not cell.high_in, True, not cell.missing)
    return None


def meet(a: Cell, b: Cell) -> Cell:
    missing = a.missing and b.missing
    for one, other in ((a, b), (b, a)):
        if one.values is not None and not one.others:
            return Cell(frozenset(v for v in one.values if lies_in(v, other)), missing=missing)
    if a.values is not None or b.values is not None:
        return a if a.values is None else b
    low, open_low = max((a.low, not a.low_in), (b.low, not b.low_in))
    high, closed = min((a.high, a.high_in), (b.high, b.high_in))
    return Cell(None, low, high, not open_low, closed, missing)


def apart(a: Cell, b: Cell) -> bool:
    met = meet(a, b)
    if met.missing:
        return False
    if met.values is not None:
        return not met.values and not met.others
    return met.low > met.high or (met.low == met.high and not (met.low_in and met.high_in))


def both(a: Support, b: Support) -> Support:
    return {c: meet(a[c], b[c]) if c in a and c in b else a.get(c) or b[c] for c in sorted({*a, *b})}


def cell_of(given: Sequence[Any]) -> Cell:
    values, low, high, *flags = given
    return Cell(None if values is None else frozenset(values), float(low), float(high), *flags)


def written_support(support: Support) -> list[Any]:
    def end(x: float) -> float | str:
        return x if finite(x) else repr(x)

    return [[c, [None if one.values is None else sorted(one.values, key=repr), end(one.low), end(one.high),
                 *one[3:]]] for c, one in sorted(support.items())]  # fmt: skip


# facts


class Rows(NamedTuple):
    box: Box
    dtype: str
    masks: tuple[int, ...] = ()
    values: tuple[Any, ...] | None = None
    support: Support | None = None
    exact: bool = False
    norm: tuple[int, float] | None = None


class Total(NamedTuple):
    box: Box
    supports: tuple[Support, ...]
    dtype: str
    norm: tuple[int, float] | None = None
    up_to_a_shift: bool = False
    weights: bool = False
    normalised: bool = False


Fact = Rows | Total


def kind_of(dtype: str) -> str:
    return "O" if dtype == "category" else np.dtype(dtype).kind


def fits(box: Box, dtype: str) -> Box:
    """The bounds of numbers that their type holds without wrapping around."""
    if kind_of(dtype) in "iu":
        ends = np.iinfo(dtype)
        for low, high, missing in box.flat():
            need(not missing and int(ends.min) <= low and high <= int(ends.max), f"a number that {dtype} holds")
    else:
        need(kind_of(dtype) == "b" or np.dtype(dtype).itemsize >= 4, f"a number that {dtype} holds")
    return box


class Given(NamedTuple):
    """What an operation is applied to: an earlier one, or a public value."""

    number: int | None
    fact: Fact | None
    value: Any


class Derivation:
    """The facts of the operations so far."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.replace = document["relation"] == "replace-one"
        self.records: int | None = document["records"]
        self.steps: list[Mapping[str, Any]] = []
        self.facts: list[Fact] = []
        self.exact: list[list[tuple[F, F]]] = []
        self.columns = columns_of(document)
        self.known: dict[tuple[str, int], Any] = {}

    def given(self, one: Mapping[str, Any]) -> Given:
        if set(one) == {"step"}:
            number = one["step"]
            need(type(number) is int and 0 <= number < len(self.facts), "an operation before this one")
            return Given(number, self.facts[number], None)
        if set(one) == {"mapping"}:
            pairs = one["mapping"]
            need(all(type(pair) is list and len(pair) == 2 for pair in pairs), "a list of pairs")
            need(len({repr(pair[0]) for pair in pairs}) == len(pairs), "keys that differ")
            return Given(None, None, dict(pairs))
        need(set(one) == {"value", "dtype", "list"} and type(one["list"]) is bool, "a public value")
        array = np.asarray(one["value"])
        dtype = "str" if array.dtype.kind == "U" else one["dtype"]
        need(dtype == one["dtype"], "the type of a public value")
        held = array if dtype == "str" else np.array(one["value"], dtype=dtype)
        need(repr(held.tolist()) == repr(one["value"]), "a public value as its type has it")
        if one["list"]:
            need((isinstance(one["value"], list) and str(array.dtype) == dtype) or dtype == "str", "a list of values")
        return Given(None, None, list(one["value"]) if one["list"] else held)

    def step(self, one: Mapping[str, Any]) -> None:
        need(set(one) == {"operation", "operands", "parameters", "fact", "line"}, "the fields of an operation")
        need(isinstance(one["line"], str), "a line")
        name, parameters = one["operation"], one["parameters"]
        if name not in RULES:
            raise Beyond(f"the operation {name!r}")
        rule, keys = RULES[name]
        need(set(parameters) == set(keys.split()), f"the parameters {keys or 'none'} of {name}")
        for key in ("all", "each", "present", "keepdims", "single", "new", "right"):
            need(key not in parameters or type(parameters[key]) is bool, f"{key} is true or false")
        operands = [self.given(operand) for operand in one["operands"]]
        smooth = name in ("elementwise", "clipped by norm") and parameters["name"] in (*SMOOTH, "sin", "cos")
        close = CLOSE if smooth else 0
        found = rule(self, operands, parameters)
        fact = compared(found, one["fact"], max(close, 1 if found.box.at.size > WIDE else 0))
        self.exact.append(exactly(self, name, operands, parameters, fact))
        self.facts.append(fact)
        self.steps.append(one)
        for derive in (whole_sizes, never_rounded, values_of) if isinstance(fact, Total) else (whole_entries,):
            derive(self, len(self.facts) - 1)  # step by step, so that no chain is too long

    def before(self, number: int | None) -> Mapping[str, Any]:
        """The operation of a number, through public indices."""
        step = self.steps[number] if number is not None else {"operation": "", "operands": [], "parameters": {}}
        while step["operation"] == "index" and "step" in step["operands"][0]:
            step = self.steps[step["operands"][0]["step"]]
        return step

    def masked(self, rows: Rows) -> Support:
        """What a record lies in, if the masks select it."""
        found: Support = {}
        for number in rows.masks:
            mask = self.facts[number]
            assert isinstance(mask, Rows)
            if not all(one[0] > 0 for one in mask.box.flat()):
                found = both(found, mask.support or {number: Cell(frozenset([True]))})
        return found

    def selected(self, rows: Rows, box: Box) -> Box:
        """What is added for a record of some that are selected, or are not."""
        masks = [self.facts[number].box.flat() for number in rows.masks]
        if any(all(one[1] <= 0 for one in flat) for flat in masks):
            return each(lambda a: (0.0, 0.0, False), box)
        if all(all(one[0] > 0 for one in flat) for flat in masks):
            return box
        return each(lambda a: (min(a[0], 0.0), max(a[1], 0.0), False), box)


def compared(found: Fact, stated: Mapping[str, Any], close: int) -> Fact:
    """The fact that is stated, if it is the one that follows; its ends may lie outside by so many floats."""

    def number(x: Any) -> float:
        return float(x) if x in ("inf", "-inf") or type(x) is float else math.nan

    def outside(x: float, true: float, far: int, to: float) -> bool:
        for _ in range(far + 1):
            if x == true:
                return True
            true = math.nextafter(true, to)
        return False

    flat = found.box.flat()
    low, high = [number(x) for x in stated["low"]], [number(x) for x in stated["high"]]
    need(len(low) == len(high) == len(flat) and stated["shape"] == list(found.box.shape), "the shape of the fact")
    for a, b, (c, d, _) in zip(low, high, flat, strict=True):
        need(outside(a, c, close, -INF) and outside(b, d, close, INF), f"the bounds: {a}, {b} and not {c}, {d}")
    norm = None if found.norm is None else [found.norm[0], found.norm[1]]
    need(stated["norm"] == norm and repr(stated["norm"]) == repr(norm), "the norm")
    expected: dict[str, Any] = {"dtype": found.dtype, "norm": norm, "shape": list(found.box.shape)}
    if isinstance(found, Rows):
        expected |= {"kind": "rows", "masks": list(found.masks), "missing": [one[2] for one in flat],
                     "values": None if found.values is None else list(found.values), "exact": found.exact,
                     "support": None if found.support is None else written_support(found.support)}  # fmt: skip
    else:
        expected |= {"kind": "total", "supports": [written_support(one) for one in found.supports],
                     "up_to_a_shift": found.up_to_a_shift, "weights": found.weights,
                     "normalised": found.normalised}  # fmt: skip
    need(set(stated) == {*expected, "low", "high"}, "the fields of the fact")
    for name, value in expected.items():
        need(repr(stated[name]) == repr(value), f"{name}: {stated[name]!r} and not {value!r}"[:200])
    return found._replace(box=Box([(a, b, c[2]) for a, b, c in zip(low, high, flat, strict=True)], found.box.shape))


# what rounding to floats does to a step


def once(derive: Callable[[Derivation, int], Any]) -> Callable[[Derivation, int | None], Any]:
    """Derive something of an operation when it is first asked for."""

    def found(d: Derivation, number: int | None) -> Any:
        assert number is not None
        key = (derive.__name__, number)
        if key not in d.known:
            d.known[key] = derive(d, number)
        return d.known[key]

    return found


@once
def whole_sizes(d: Derivation, number: int) -> list[float]:
    """For each coordinate, a bound on its size if it is a whole number exactly; infinite where it may be rounded.

    Of 2^53, nothing is said but that it is whole.
    """
    fact, step = d.facts[number], d.steps[number]
    assert isinstance(fact, Total)
    sizes = {one["step"]: whole_sizes(d, one["step"]) for one in step["operands"]
             if "step" in one and isinstance(d.facts[one["step"]], Total)}  # fmt: skip
    given = [wide_sizes(d, operand, sizes, fact.box.shape) for operand in step["operands"]]
    flat = [sizes.get(x["step"], []) if "step" in x else sizes_of_public(x) for x in step["operands"]]
    unknown = 2.0**53 if kind_of(fact.dtype) in "iu" else INF
    return [size if size <= 2.0**53 else unknown for size in whole_sizes_of(d, step, fact, given, flat)]


def wide_sizes(
    d: Derivation, operand: Mapping[str, Any], sizes: Mapping[int, list[float]], shape: tuple[int, ...]
) -> list[float]:
    """The sizes of an operand, as it is broadcast; none where it is not."""
    if "step" in operand:
        fact = d.facts[operand["step"]]
        own, flat = fact.box.shape if isinstance(fact, Total) else None, sizes.get(operand["step"], [])
    else:
        own, flat = np.shape(operand.get("value")), sizes_of_public(operand)
    try:
        return [] if own is None else np.broadcast_to(np.array(flat).reshape(own), shape).ravel().tolist()
    except ValueError:
        return []


def product_of_sizes(a: float, b: float) -> float:
    return 0.0 if 0 in (a, b) else a * b


def whole_sizes_of(
    d: Derivation, step: Mapping[str, Any], fact: Total, wide: Sequence[list[float]], flat: Sequence[list[float]]
) -> list[float]:
    name, p, count = step["operation"], step["parameters"], fact.box.at.size
    if name in ("count", "sum", "groups", "groups of several columns", "bincount", "histogram", "product of columns"):
        keys = {"sum": 0, "product of columns": 0, "groups of several columns": p.get("keys", 1)}.get(name, 1)
        flags = [whole_entries(d, one["step"]) for one in step["operands"][keys:]] if name != "count" else []
        if name == "product of columns":
            sure = [a and b for a in flags[0] for b in flags[1]]
        elif name == "sum" and not p["all"]:
            sure = flags[0]
        else:
            sure = [all(all(one) for one in flags)] * count
        return [MOST_RECORDS * max(abs(a), abs(b)) if one or a == b == 0 else INF
                for one, (a, b, _) in zip(sure, fact.box.flat(), strict=True)]  # fmt: skip
    if name in ("negative", "absolute", "converted"):
        return wide[0]
    if name == "rounded":
        return [min(one, 2.0**53) for one in wide[0]]
    if name == "not steeper":
        return [max(pair) for pair in zip(*wide, strict=True)]
    if name == "move" and p["name"] == "true_divide" and "step" not in step["operands"][1]:
        divisor = np.broadcast_to(np.asarray(step["operands"][1]["value"], dtype=np.float64), fact.box.shape)
        exact = [F(abs(x)) for x in divisor.ravel().tolist()]  # over 1/2, or another inverse of a power of 2
        halves = [x <= 1 and x.numerator == 1 and x.denominator & (x.denominator - 1) == 0 for x in exact]
        return [product_of_sizes(a, float(1 / x)) if one else 0.0 if a == 0 else INF
                for a, x, one in zip(wide[0], exact, halves, strict=True)]  # fmt: skip
    if name == "move" and p["name"] != "true_divide":
        return [product_of_sizes(a, b) if p["name"] == "multiply" else a + b for a, b in zip(*wide, strict=True)]
    if name == "pick":
        return [flat[0][i] for i in np.array(p["places"]).ravel().tolist()]
    if name == "stack":
        every = list(itertools.chain(*flat))
        return [every[i] for i in p["places"]]
    if name == "sum of coordinates" and p["over"] == 1:
        return [sum(flat[0][i] for i in group) for group in p["groups"]]
    if name == "times matrix":
        width = len(flat[0])
        rows = [flat[1][i : i + width] for i in range(0, len(flat[1]), width)]
        return [sum(itertools.starmap(product_of_sizes, zip(row, flat[0], strict=True))) for row in rows]
    return [INF] * count


@once
def never_rounded(d: Derivation, number: int) -> list[bool]:
    """Which coordinates are whole numbers, or whole numbers that were clipped."""
    fact, step = d.facts[number], d.steps[number]
    assert isinstance(fact, Total)
    name, found = step["operation"], [finite(one) for one in whole_sizes(d, number)]
    if name not in ("not steeper", "negative", "absolute", "pick", "stack"):
        return found
    parts = [never_rounded(d, one["step"]) if "step" in one else [True] * np.size(one["value"])
             for one in step["operands"]]  # fmt: skip
    if name == "not steeper":
        before = np.array(parts[0]).reshape(d.facts[step["operands"][0]["step"]].box.shape)
        own = np.broadcast_to(before, fact.box.shape).ravel().tolist()
    elif name in ("negative", "absolute"):
        own = parts[0]
    else:
        every = list(itertools.chain(*parts))
        own = [every[i] for i in np.array(step["parameters"]["places"]).ravel().tolist()]
    return [a or b for a, b in zip(found, own, strict=True)]


def sizes_of_public(one: Mapping[str, Any]) -> list[float]:
    array = np.asarray(one.get("value"))
    if array.dtype.kind not in "biuf":
        return [INF] * array.size
    numbers = [abs(float(x)) for x in array.ravel().tolist()]
    return [x if finite(x) and x == math.floor(x) else INF for x in numbers]


@once
def whole_entries(d: Derivation, number: int) -> list[bool]:
    """Which entries of a record are whole numbers in floats too."""
    fact, step = d.facts[number], d.steps[number]
    if not isinstance(fact, Rows) or kind_of(fact.dtype) not in "biuf":
        return [False] * fact.box.at.size
    if kind_of(fact.dtype) in "biu":
        return [True] * fact.box.at.size
    same = [finite(a, b) and a == b == math.floor(a) and not gap for a, b, gap in fact.box.flat()]
    return [a or b for a, b in zip(same, whole_entries_of(d, step, fact), strict=True)]


def whole_entries_of(d: Derivation, step: Mapping[str, Any], fact: Rows) -> list[bool]:
    operation, name, given = step["operation"], step["parameters"].get("name"), step["operands"]
    none = [False] * fact.box.at.size
    if operation == "elementwise" and name in ("floor", "ceil", "rint", "trunc", "sign"):
        return [True] * fact.box.at.size
    keeping = ("add", "subtract", "multiply", "negative", "positive", "absolute", "fabs", "square", "minimum",
               "maximum", "fmin", "fmax")  # fmt: skip
    if (operation == "elementwise" and name in keeping) or operation in ("where", "fill"):
        found = [True] * fact.box.at.size
        for one in given[1:] if operation == "where" else given:
            if "step" in one:
                own, shape = whole_entries(d, one["step"]), d.facts[one["step"]].box.shape
            else:
                array = np.asarray(one["value"])
                own, shape = [finite(x) for x in sizes_of_public(one)], array.shape
            flags = np.array(own).reshape(shape)
            flags = flags[0] if flags.ndim > len(fact.box.shape) else flags
            wide = np.broadcast_to(flags, fact.box.shape).ravel().tolist()
            found = [a and b for a, b in zip(found, wide, strict=True)]
        return found
    if operation in ("select", "drop missing") or (operation == "astype" and np.dtype(fact.dtype).itemsize == 8):
        return whole_entries(d, given[0]["step"])
    if operation == "index":
        before = np.array(whole_entries(d, given[0]["step"])).reshape(d.facts[given[0]["step"]].box.shape)
        return np.asarray(before[key_of(step["parameters"]["key"])]).ravel().tolist()
    if operation == "columns":
        return [all(all(whole_entries(d, one["step"])) for one in given)] * fact.box.at.size
    return none


@once
def values_of(d: Derivation, number: int) -> list[tuple[float, float]]:
    """Between which numbers each coordinate of a statistic lies, whatever the records are."""
    fact, step = d.facts[number], d.steps[number]
    need(isinstance(fact, Total), "an operation on statistics, of something else")
    assert isinstance(fact, Total)
    name, p, shape = step["operation"], step["parameters"], fact.box.shape
    if name in ("count", "sum", "mean", "groups", "groups of several columns", "bincount", "histogram",
                "product of columns"):  # fmt: skip
        if d.records is None:
            return [(0.0 if a >= 0 else -INF, 0.0 if b <= 0 else INF) for a, b, _ in fact.box.flat()]
        size = public(d.records).flat()[0]
        return [multiply(one, size)[:2] for one in fact.box.flat()]
    parts: list[Box] = []
    for one in step["operands"]:
        if "step" in one:
            inner = d.facts[one["step"]]
            parts.append(Box([(*ends, False) for ends in values_of(d, one["step"])], inner.box.shape))
        else:
            parts.append(public(d.given(one).value))
    flat = parts[0].flat()
    nothing = [(-INF, INF)] * fact.box.at.size
    if name == "move":
        operate = {"add": add, "subtract": lambda a, b: add(a, minus(b)), "multiply": multiply,
                   "true_divide": divide}[p["name"]]  # fmt: skip
        return [one[:2] for one in each(operate, *parts).flat()]
    if name == "negative":
        return [minus(one)[:2] for one in flat]
    if name == "pick":
        return [flat[i][:2] for i in np.array(p["places"]).ravel().tolist()]
    if name == "stack":
        every = [entry for one in parts for entry in one.flat()]
        return [every[i][:2] for i in p["places"]]
    if name == "sum of coordinates" and p["over"] == 1:
        return [functools.reduce(add, (flat[i] for i in group), (0.0, 0.0, False))[:2] for group in p["groups"]]
    if name == "not steeper":
        clip = larger if p["name"] in ("maximum", "fmax") else smaller
        return [one[:2] for one in each(clip, *parts).moved(lambda a: np.broadcast_to(a, shape)).flat()]
    if name == "absolute":
        return [absolute(one)[:2] for one in flat]
    if name in ("rounded", "converted"):
        before = d.facts[step["operands"][0]["step"]]
        if kind_of(before.dtype) == "f" and (name == "rounded" or kind_of(fact.dtype) in "iu"):
            return [(stair(math.floor)((a - 0.25, 0.0, False))[0], stair(math.ceil)((0.0, b + 0.25, False))[1])
                    for a, b, _ in flat]  # fmt: skip
        return [one[:2] for one in flat]
    return nothing


def of_one_record(d: Derivation, operands: Iterable[Given]) -> None:
    """A number of which the last bit does not depend on how many records there are, so that it may have steps."""
    waiting, seen = [one.number for one in operands if one.number is not None], set[int]()
    while waiting:
        number = waiting.pop()
        fact, step = d.facts[number], d.steps[number]
        if number in seen or not isinstance(fact, Rows) or kind_of(fact.dtype) in "biu":
            continue
        seen.add(number)
        inner = [one["step"] for one in step["operands"] if "step" in one]
        waiting += inner
        if kind_of(fact.dtype) != "f" or not inner:
            continue
        before, name, count = d.facts[inner[0]], step["operation"], 0
        need(name != "row times matrix", "a step of a product with a matrix")
        if isinstance(before, Rows) and name == "row norm":
            count = before.box.at.size
        if isinstance(before, Rows) and name == "along the row" and step["parameters"]["name"] in ("sum", "mean"):
            count = before.box.shape[step["parameters"]["axis"]]
        need(count < 8, "a step of a sum of many columns")


# rules for records


def rows_of(operands: Iterable[Given]) -> list[Rows]:
    found = [one.fact for one in operands if isinstance(one.fact, Rows)]
    need(found and all(one.masks == found[0].masks for one in found), "columns of the same records")
    return found


def the_rows(one: Given) -> Rows:
    if not isinstance(one.fact, Rows):
        raise Wrong("records")
    return one.fact


def exactly(d: Derivation, name: str, operands: list[Given], p: Mapping[str, Any], fact: Fact) -> list[tuple[F, F]]:
    """The bounds of a statistic before they were rounded, where it is one sum times public numbers."""
    if not isinstance(fact, Total):
        return []
    ends = [(F(low), F(high)) for low, high, _ in fact.box.flat()]
    found = ends
    numbers = [one.number for one in operands if isinstance(one.fact, Total)]
    before = d.exact[numbers[0]] if len(numbers) == 1 and numbers[0] is not None else []
    if name == "mean":
        rows = the_rows(operands[0])
        size = (d.records or 1) * (rows.box.at.size if p["all"] else 1)
        found = [(F(low) / size, F(high) / size) for low, high, _ in sum_of(d, operands, p).box.flat()]
    elif name == "negative":
        found = [(-high, -low) for low, high in before]
    elif name == "pick":
        found = [before[i] for i in np.array(p["places"]).ravel().tolist()]
    elif name == "move" and before and p["name"] in ("multiply", "true_divide"):
        public_value = next(np.asarray(one.value) for one in operands if one.fact is None)
        if public_value.size == 1 and len(before) == len(ends):
            factor = F(public_value.ravel().tolist()[0])
            factor = factor if p["name"] == "multiply" else 1 / factor
            found = [(min(a * factor, b * factor), max(a * factor, b * factor)) for a, b in before]
    elif name == "move" and len(before) == len(ends):
        minus_it = p["name"] == "subtract" and operands[0].fact is None
        found = [(-b, -a) if minus_it else (a, b) for a, b in before]
    inside = len(found) == len(ends) and all(a <= c and e <= b for (a, b), (c, e) in zip(ends, found, strict=True))
    return found if inside else ends


def table(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    need(not operands and p["names"], "a table")
    entries, values = [], None
    for i, name in enumerate(p["names"]):
        column = d.columns[name]
        missing = column.get("nullable", False)
        if p["dtype"].startswith("datetime64"):
            low, high = days_of(column)
        elif p["dtype"] == "category":
            low = high = 0.0
            values = tuple(column["values"]) if column["type"] == "category" else None
        else:
            low, high = ends_of(column)
        need(p["low"][i] == repr(low) and p["high"][i] == repr(high), f"the bounds of the column {name}")
        need(p["missing"][i] is missing, f"whether {name} may be missing")
        entries.append((low, high, missing))
    need(len(p["low"]) == len(p["high"]) == len(p["missing"]) == len(p["names"]), "a bound for each column")
    need(p["single"] is (len(entries) == 1), "one column by itself")
    if p["dtype"] != "category" and kind_of(p["dtype"]) != "M":
        columns = [d.columns[name] for name in p["names"]]
        listed = columns[0].get("values") if len(columns) == 1 and columns[0]["type"] == "category" else None
        values = None if p["values"] is None else tuple(listed or ())
    need(p["values"] == (None if values is None else list(values)), "the categories of the schema")
    return Rows(Box(entries, () if p["single"] else (len(entries),)), p["dtype"], (), values)


def days_of(column: Mapping[str, Any]) -> tuple[float, float]:
    """The bounds of dates, in days from the year 1."""
    need(column["type"] == "date", "a column of dates")
    low, high = column.get("low"), column.get("high")
    return (-INF if low is None else float(low.toordinal())), (INF if high is None else float(high.toordinal()))


def part_of_a_date(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, name = the_rows(operands[0]), p["name"]
    low, high, missing = fact.box.flat()[0]
    need(kind_of(fact.dtype) == "M" and not missing and kind_of(p["dtype"]) == "i", "dates of which none is missing")
    if name == "year":
        need(finite(low, high), "dates with bounds")
        ends = [(datetime.date(1, 1, 1) + datetime.timedelta(int(day) - 1)).year for day in (low, high)]
    else:
        tops = {"quarter": 4, "month": 12, "week": 53, "day": 31, "dayofyear": 366, "weekday from 1": 7}
        from_zero = {"dayofweek": 6, "hour": 23, "minute": 59, "second": 59}
        need(name in tops or name in from_zero, "a part of a date")
        ends = [1, tops[name]] if name in tops else [0, from_zero[name]]
    return Rows(fits(Box([(float(ends[0]), float(ends[1]), False)], ()), p["dtype"]), p["dtype"], fact.masks)


def comparison_of_dates(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    rows = [the_rows(one) for one in operands]
    need(all(kind_of(one.dtype) == "M" and one.masks == rows[0].masks for one in rows), "dates of the same records")
    need(len(rows) == (2 if p["date"] is None else 1) and p["name"] in COMPARING, "a comparison of two dates")
    support = None if p["date"] is None else cell_of_dates(operands[0], p["name"], [p["date"]])
    return Rows(Box([(0.0, 1.0, False)], ()), "bool", rows[0].masks, None, support, support is not None)


def isin_of_dates(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    rows = [the_rows(one) for one in operands]
    need(len(rows) == 1 and kind_of(rows[0].dtype) == "M" and type(p["dates"]) is list, "dates")
    support = cell_of_dates(operands[0], "equal", p["dates"])
    return Rows(Box([(0.0, 1.0, False)], ()), "bool", rows[0].masks, None, support, support is not None)


DAY = 24 * 60 * 60 * 10**6
IN_MICROSECONDS = {"datetime64[D]": DAY, "datetime64[s]": 10**6, "datetime64[ms]": 10**3, "datetime64[us]": 1,
                   "datetime64[ns]": 1}  # fmt: skip
DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{6}(?:\d{3})?))?)?", re.ASCII)


def cell_of_dates(column: Given, name: str, dates: Sequence[Any]) -> Support | None:
    """The cell of dates, by their microseconds from 1970, if each is a whole number of units of the column."""
    assert isinstance(column.fact, Rows)
    numbers = []
    for text in dates:
        parts = DATE.fullmatch(text) if type(text) is str else None
        if parts is None:
            raise Wrong("a date without a zone")
        day = datetime.date.fromisoformat(parts[1]).toordinal() - datetime.date(1970, 1, 1).toordinal()
        hours, minutes, seconds = (int(one or 0) for one in parts.group(2, 3, 4))
        need(hours < 24 and minutes < 60 and seconds < 60 and parts[5] != "000000", "a time of the day")
        left = parts[5] or ""
        number = day * DAY + ((hours * 60 + minutes) * 60 + seconds) * 10**6 + int(left[:6] or 0)
        unit = IN_MICROSECONDS.get(column.fact.dtype)
        if unit is None or number % unit or abs(number) > 2**52 or len(left) > 6:
            return None
        numbers.append(float(number))
    if column.fact.box.shape != () or column.number is None:
        return None
    if name in ("less", "less_equal"):
        cell = Cell(None, high=numbers[0], high_in=name == "less_equal")
    elif name in ("greater", "greater_equal"):
        cell = Cell(None, low=numbers[0], low_in=name == "greater_equal")
    else:
        cell = Cell(frozenset(numbers), missing=name == "not_equal", others=name == "not_equal")
    return {column.number: cell}


def ends_of(column: Mapping[str, Any]) -> tuple[float, float]:
    if column["type"] == "bool":
        return 0.0, 1.0
    if column["type"] == "category":
        numbers = [float(one) for one in column["values"] if not isinstance(one, str)]
        return min(numbers), max(numbers)
    low, high = column.get("low"), column.get("high")
    dtype = str(column.get("dtype") or "").strip().lower()
    floats = dtype in ("float16", "float32", "float64")
    if column["type"] == "int":
        least, most = -(2**63), 2**63 - 1
        if floats:
            least, most = (sign * 2 ** (np.finfo(dtype).nmant + 1) for sign in (-1, 1))
        elif dtype:
            least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        low, high = (least if low is None else low), (most if high is None else high)
    numeric = [None if end is None or not isinstance(end, int | Decimal) else F(end) for end in (low, high)]
    if column["type"] == "float":  # a bound is rounded as the entries are
        numeric = [None if end is None else F(float(np.dtype(dtype if floats else "float64").type(float(end))))
                   for end in numeric]  # fmt: skip
    return (-INF if numeric[0] is None else down(numeric[0])), (INF if numeric[1] is None else up(numeric[1]))


def beside(value: Any, axes: int) -> Any:
    """A public array beside one row."""
    array = np.asarray(value)
    need(array.ndim < axes or (array.ndim == axes and array.shape[0] == 1), "a public array beside each record")
    return array[0] if array.ndim == axes else array


def is_number(rows: Rows) -> bool:
    return kind_of(rows.dtype) in "biuf"


def elementwise(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    name, dtype = p["name"], p["dtype"]
    rows = rows_of(operands)
    axes = 1 + len(rows[0].box.shape)
    need(all(1 + len(one.box.shape) == axes for one in rows), "records with as many axes")
    need(name in FUNCTIONS and kind_of(dtype) in "biuf", f"a function that is covered: {name}")
    truths = name in (*COMPARING, "isnan", "isfinite", "isinf", "logical_and", "logical_or", "logical_not",
                      "logical_xor")  # fmt: skip
    need(not truths or dtype == "bool", f"{name} gives truth values")
    need(not name.startswith(("bitwise", "invert")) or dtype == "bool", "truth values joined bit by bit")
    if name in (*COMPARING, *JOINING, "floor", "ceil", "rint", "trunc", "sign"):
        of_one_record(d, operands)
    boxes, decided = [], True
    for one in operands:
        if isinstance(one.fact, Rows):
            texts = one.fact.dtype == "category" and name in (*COMPARING, "isnan")
            need(is_number(one.fact) or texts, f"{name} of numbers")
            boxes.append(one.fact.box)
            decided = decided and one.fact.dtype in (("bool",) if name in JOINING else ("bool", "int64", "float64"))
            continue
        need(one.fact is None, "records and public values")
        value = beside(one.value, axes)
        text = value.dtype.kind in "OSU"
        need(not text or (name in ("equal", "not_equal") and all(isinstance(v, str) for v in np.ravel(value).tolist())),
             "a public value that is compared")  # fmt: skip
        decided = decided and value.dtype.kind in ("b" if name in JOINING else "biuf")
        boxes.append(public(np.zeros(value.shape) if text else value))
    known = dtype != "bool" or (name in (*COMPARING, *JOINING, "isnan") and decided)
    box = each(FUNCTIONS[name] if known else unknown, *boxes)
    if name == "subtract" and operands[0].number == operands[1].number:
        box = each(lambda a, b: b if a[2] or endless(a) else (0.0, 0.0, False), rows[0].box, box)
    if name in ("equal", "not_equal"):
        box = of_categories(name, operands) or box
    support, exact = support_of(d, name, operands, box)
    if dtype == "bool" and all(one[0] > 0 for one in box.flat()):
        support, exact = None, False
    if name not in ("maximum", "minimum", "fmax", "fmin", "positive", "sign"):
        fits(box, dtype)
    return Rows(box, dtype, rows[0].masks, None, support, exact, clipping_norm(d, name, operands))


def of_categories(name: str, operands: list[Given]) -> Box | None:
    """Whether an entry of a category equals a public value, where that is known of all entries, or of none."""
    facts = [one.fact for one in operands if isinstance(one.fact, Rows)]
    values = [np.ravel(one.value).tolist() for one in operands if one.fact is None]
    if len(facts) != 1 or facts[0].values is None or facts[0].box.shape != () or list(map(len, values)) != [1]:
        return None
    same = [one == values[0][0] for one in facts[0].values] + [False] * facts[0].box.flat()[0][2]
    return Box([truth(all(same), not any(same)) if name == "equal" else truth(not any(same), all(same))], ())


def support_of(d: Derivation, name: str, operands: list[Given], box: Box) -> tuple[Support | None, bool]:
    rows = [one for one in operands if isinstance(one.fact, Rows)]
    known = [(one.fact.support, one.fact.exact) for one in rows if isinstance(one.fact, Rows)]
    if name in COMPARING:
        cell = compared_cell(name, operands)
        return (None, False) if cell is None or rows[0].number is None else ({rows[0].number: cell}, True)
    if name in ("bitwise_and", "logical_and", "multiply"):
        supports = [one for one, _ in known if one is not None]
        if not supports:
            return None, False
        if len(supports) == 1:
            return supports[0], False
        exact = all(one for _, one in known) and name != "multiply" and not set(supports[0]) & set(supports[1])
        return both(supports[0], supports[1]), exact
    if name in ("invert", "logical_not"):
        support, exact = known[0]
        if support is not None and exact and len(support) == 1:
            [(column, cell)] = support.items()
            other = rest_of(cell)
            return (None, False) if other is None else ({column: other}, True)
        assert rows[0].number is not None
        return {rows[0].number: Cell(frozenset([False]))}, True
    unary = ("negative", "positive", "absolute", "square", "sqrt", "sign", "floor", "ceil", "rint", "trunc")
    if name in unary or (name == "true_divide" and isinstance(operands[0].fact, Rows)):
        return known[0][0], False
    return None, False


def compared_cell(name: str, operands: list[Given]) -> Cell | None:
    if len(operands) != 2 or sum(one.fact is not None for one in operands) != 1:
        return None
    first = operands[0].fact is not None
    fact, value = (operands[0].fact, operands[1].value) if first else (operands[1].fact, operands[0].value)
    array = np.asarray(value)
    assert fact is not None
    if fact.box.shape != () or array.size != 1 or fact.dtype in ("float16", "float32"):
        return None
    one = array.ravel().tolist()[0]
    if isinstance(one, int | float) and (one != one or abs(one) > 2.0**53):
        return None
    if name in ("equal", "not_equal"):
        return Cell(frozenset([one]), missing=name == "not_equal", others=name == "not_equal")
    if not isinstance(one, int | float):
        return None
    below = (name in ("less", "less_equal")) == first
    end, closed = float(one), name.endswith("equal")
    return Cell(None, high=end, high_in=closed) if below else Cell(None, low=end, low_in=closed)


def clipping_norm(d: Derivation, name: str, operands: list[Given]) -> tuple[int, float] | None:
    """x / max(1, |x|/C) and x * min(1, C/|x|) have a norm of at most C."""
    if name == "negative":
        return the_rows(operands[0]).norm
    if name not in ("true_divide", "multiply") or len(operands) != 2:
        return None
    for x, factor in [(0, 1)] if name == "true_divide" else [(0, 1), (1, 0)]:
        vector = operands[x]
        if operands[factor].number is None or not isinstance(vector.fact, Rows) or len(vector.fact.box.shape) > 1:
            continue
        found = clipped_to(d, d.before(operands[factor].number), vector.number, name == "true_divide")
        if found is not None:
            return found
    return None


def constant_of(d: Derivation, one: Mapping[str, Any]) -> float | None:
    value = None if "step" in one or "mapping" in one else d.given(one).value
    return (
        float(value) if value is not None and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf" else None
    )


def clipped_to(d: Derivation, factor: Any, vector: int | None, divides: bool) -> tuple[int, float] | None:
    extreme = "maximum" if divides else "minimum"
    if factor["operation"] != "elementwise" or factor["parameters"]["name"] != extreme:
        return None
    constants = [constant_of(d, one) for one in factor["operands"] if "step" not in one]
    inner = [one["step"] for one in factor["operands"] if "step" in one]
    if constants != [1.0] or len(inner) != 1:
        return None
    quotient = d.before(inner[0])
    norm: Any = quotient
    bound: float | None = 1.0
    if quotient["operation"] == "elementwise" and quotient["parameters"]["name"] == "true_divide":
        top, bottom = quotient["operands"] if divides else quotient["operands"][::-1]
        bound = constant_of(d, bottom)
        if "step" not in top or bound is None or not bound > 0:
            return None
        norm = d.before(top["step"])
    elif not divides:
        return None
    while norm["operation"] == "elementwise" and norm["parameters"]["name"] in ("maximum", "add"):
        least = [constant_of(d, one) for one in norm["operands"] if "step" not in one]
        larger = [one["step"] for one in norm["operands"] if "step" in one]
        if len(larger) != 1 or len(least) != 1 or least[0] is None or not least[0] >= 0:
            return None
        norm = d.before(larger[0])  # max(n, 1e-12) and n + 1e-12 are larger than n
    if norm["operation"] != "row norm" or norm["operands"][0].get("step") != vector:
        return None
    return int(norm["parameters"]["order"]), bound


def clipped_by_norm(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    made = elementwise(d, operands, p)
    assert isinstance(made, Rows)

    def factor(one: Given) -> bool:
        step = d.before(one.number)
        return step["operation"] == "elementwise" and step["parameters"]["name"] in ("maximum", "minimum")

    vectors = [one.fact for one in operands if isinstance(one.fact, Rows) and one.fact.norm is None and not factor(one)]
    need(vectors, "a vector that is clipped")
    vector = vectors[0]
    if made.norm is None or any(one[2] or endless(one) for one in vector.box.flat()):
        return made
    size = made.norm[1]
    box = each(lambda a: (max(min(a[0], 0.0), -size), min(max(a[1], 0.0), size), False), vector.box)
    return made._replace(box=box)


def row_norm(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    (fact,) = rows_of(operands)
    need(len(fact.box.shape) == 1 and p["order"] in (1, 2) and type(p["order"]) is int, "a norm along the columns")
    with np.errstate(over="ignore"):  # the sum in floats, as it is stated; it has to be above the true one
        stated = float(np.sum(np.array([max(abs(a), abs(b)) for a, b, _ in fact.box.flat()])))
    high = math.nextafter(stated * (1 + 1e-12), INF)
    if finite(high):
        need(sum((F(max(abs(a), abs(b))) for a, b, _ in fact.box.flat()), F(0)) <= F(high), "a bound on the norm")
    entry = (0.0, high, any(one[2] for one in fact.box.flat()))
    return Rows(Box([entry], (1,) if p["keepdims"] else ()), "float64", fact.masks)


def select(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    rows, mask = rows_of(operands)
    need(mask.dtype == "bool" and mask.box.shape == () and not mask.box.flat()[0][2], "a mask of the same records")
    assert operands[1].number is not None
    return rows._replace(masks=(*rows.masks, operands[1].number))


def isin(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, values = the_rows(operands[0]), operands[1].value
    values = values.tolist() if isinstance(values, np.ndarray) else values
    need(all(one is not None and one == one for one in values), "values of which none is missing")
    numeric = all(isinstance(one, bool | int | float) for one in values)
    need(fact.dtype == "category" or numeric, "numbers among numbers")
    need(kind_of(fact.dtype) != "M", "no dates")
    of_one_record(d, operands)
    support = None
    if fact.box.shape == () and operands[0].number is not None:
        support = {operands[0].number: Cell(frozenset(values))}
    box = each(unknown, fact.box)
    if fact.box.shape == ():
        low, high, missing = fact.box.flat()[0]
        numbers = all(type(one) in (int, float) and abs(one) <= 2.0**53 for one in values)
        if fact.dtype in ("int64", "float64") and not missing and numbers:
            inside = any(low <= one <= high for one in values)
            box = Box([truth(inside and low == high, not inside)], ())
        elif fact.values is not None:
            listed = [one in values for one in fact.values] + [False] * missing
            box = Box([truth(all(listed), not any(listed))], ())
    return Rows(box, "bool", fact.masks, None, support, support is not None)


def is_missing(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = the_rows(operands[0])
    support = None
    if fact.box.shape == () and operands[0].number is not None:
        support = {operands[0].number: Cell(frozenset(), missing=True)}
    return Rows(
        each(lambda a: truth(False, not a[2]), fact.box), "bool", fact.masks, None, support, support is not None
    )


def where(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    rows, condition = rows_of(operands), the_rows(operands[0])
    need(condition.dtype == "bool" and len(operands) == 3, "a condition on the same records")
    axes = 1 + max(len(one.box.shape) for one in rows)
    need(all(1 + len(one.box.shape) == axes for one in rows), "records with as many axes")
    sides = []
    for one in operands[1:]:
        need(not isinstance(one.fact, Rows) or is_number(one.fact), "numbers")
        sides.append(one.fact.box if isinstance(one.fact, Rows) else public(beside(one.value, axes)))
    sure = condition.box.flat()[0] if condition.box.shape == () else (0.0, 1.0, False)
    which = (lambda c, a, b: either(a, b)) if sure[0] != sure[1] else (lambda c, a, b: a if sure[1] > 0 else b)
    box = each(which, condition.box, *sides)
    zero = [one.fact is None and not np.any(np.asarray(one.value)) for one in operands[1:]]
    own = [one.fact.support if isinstance(one.fact, Rows) else None for one in operands]
    support: Support | None = None
    if zero[1]:
        known = [one for one in own[:2] if one is not None]
        support = None if not known else known[0] if len(known) == 1 else both(*known)
    elif zero[0] and own[0] is not None and condition.exact and len(own[0]) == 1:
        [(column, cell)] = own[0].items()
        other = rest_of(cell)
        support = None if other is None else {column: other}
    return Rows(fits(box, p["dtype"]), p["dtype"], rows[0].masks, None, support)


def key_of(given: Any) -> Any:
    if type(given) is int:
        return given
    need(isinstance(given, dict), "an index")
    match given:
        case {"tuple": list(parts)} if len(given) == 1:
            return tuple(key_of(one) for one in parts)
        case {"slice": [start, stop, step]} if len(given) == 1:
            need(all(one is None or type(one) is int for one in (start, stop, step)), "a slice")
            return slice(start, stop, step)
        case {"array": list(values), "bool": bool(flags)} if len(given) == 2:
            array = np.array(values, dtype=np.bool_ if flags else np.int64)
            need(repr(array.tolist()) == repr(values), "an index of numbers")
            return array
        case {"new": True} if len(given) == 1:
            return None
        case {"all": True} if len(given) == 1:
            return Ellipsis
        case _:
            raise Wrong("an index")


def index(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, key = the_rows(operands[0]), key_of(p["key"])
    return fact._replace(box=fact.box.moved(lambda a: a[key]), norm=None)


def astype(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, dtype = the_rows(operands[0]), p["dtype"]
    need(is_number(fact) and kind_of(dtype) in "biuf" and str(np.dtype(dtype)) == dtype, "numbers of another type")
    of_one_record(d, operands if kind_of(dtype) != "f" else [])
    if kind_of(dtype) == "b":
        return Rows(each(unknown, fact.box), "bool", fact.masks, None, fact.support)
    box = fact.box
    if kind_of(dtype) in "iu":
        need(not any(one[2] or endless(one) for one in box.flat()), "whole numbers without gaps")
        box = each(stair(math.trunc), box)
    return Rows(fits(box, dtype), dtype, fact.masks, None, fact.support, False,
                fact.norm if kind_of(dtype) == "f" else None)  # fmt: skip


def fill(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, value = the_rows(operands[0]), operands[1].value
    if not is_number(fact):
        need(fact.values is not None and np.asarray(value).dtype.kind in "OSU", "a text in place of a missing one")
        assert fact.values is not None
        value = value.item() if isinstance(value, np.ndarray) else value
        return fact._replace(box=each(lambda a: (a[0], a[1], False), fact.box), values=(*fact.values, value))
    gap = bool(np.isnan(np.asarray(value, dtype=np.float64)).any())
    box = each(lambda a, v: (*either(a, v)[:2], gap) if a[2] else a, fact.box, public(value))
    return Rows(box, p["dtype"], fact.masks, None, None if np.any(np.asarray(value)) else fact.support)


def fill_null(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, value = the_rows(operands[0]), float(operands[1].value)
    need(is_number(fact) and math.isfinite(value) and p["dtype"] == "float64", "a finite number in place of null")
    box = each(lambda a: (min(a[0], value), max(a[1], value), True) if a[2] else a, fact.box)
    return Rows(box, "float64", fact.masks)


def fill_nan(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    assert operands[0].number is not None
    need(d.steps[operands[0].number]["operation"] == "fill null", "NaN filled where null was filled just before")
    need(math.isfinite(float(operands[1].value)), "a finite number in place of NaN")
    return fill(d, operands, p)


def drop_missing(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = the_rows(operands[0])
    assert operands[0].number is not None
    step = d.steps[operands[0].number]
    need(step["operation"] == "select", "a selection")
    column, mask = (one["step"] for one in step["operands"])

    def tests(number: int) -> bool:
        one = d.steps[number]
        name, inner = one["parameters"].get("name"), [part.get("step") for part in one["operands"]]
        if one["operation"] != "elementwise":
            return False
        if name in ("bitwise_and", "logical_and"):
            return any(part is not None and tests(part) for part in inner)
        if name not in ("invert", "logical_not"):
            return False
        tested = d.steps[inner[0]]
        return bool(tested["operation"] == "is missing" and tested["operands"][0].get("step") == column)

    need(tests(mask), "a selection of what is not missing")
    return fact._replace(box=each(lambda a: (a[0], a[1], False), fact.box))


def remainder(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, divisor = the_rows(operands[0]), float(operands[1].value)
    need(is_number(fact) and divisor > 0, "a positive divisor")
    of_one_record(d, operands)

    def entry(a: Entry) -> Entry:
        low, high = 0.0, divisor
        if fact.dtype == "float64" and a[0] >= 0 and a[1] < divisor:
            low, high = a[0], a[1]
        elif fact.dtype == "float64" and fact.box.shape == () and finite(a[0], a[1]):
            periods = [math.floor(F(end) / F(divisor)) for end in a[:2]]
            if periods[0] == periods[1]:
                rest = [F(end) - periods[0] * F(divisor) for end in a[:2]]
                low, high = down(rest[0]), up(rest[1])
        return low, high, (a[2] or endless(a)) and kind_of(fact.dtype) == "f"

    return Rows(fits(each(entry, fact.box), p["dtype"]), p["dtype"], fact.masks)


def mapped(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, found = the_rows(operands[0]), operands[1].value
    need(isinstance(found, dict) and found, "a public dictionary")
    need(all(one is not None and one == one for one in found), "keys of which none is missing")
    need(kind_of(fact.dtype) != "M", "no dates")
    of_one_record(d, operands)
    possible: Iterable[Any] | None = fact.values
    if possible is None and fact.dtype == "int64" and fact.box.shape == ():
        low, high, _ = fact.box.flat()[0]
        possible = range(int(low), int(high) + 1) if 0 <= high - low <= 1000 else None
    gaps = not (possible is not None and all(one in found for one in possible)
                and not any(one[2] for one in fact.box.flat()))  # fmt: skip
    results = list(found.values())
    if fact.values is not None and all(isinstance(one, int | float) for one in results):
        results = [found[one] for one in fact.values if one in found] or results[:1]
    if all(isinstance(one, str) for one in results):
        box = each(lambda a: (0.0, 0.0, gaps), fact.box)
        return Rows(box, "category", fact.masks, tuple(dict.fromkeys(results)))
    need(all(isinstance(one, int | float) and one == one for one in results), "numbers, or texts")
    low, high = min(map(float, results)), max(map(float, results))
    return Rows(each(lambda a: (low, high, gaps), fact.box), p["dtype"], fact.masks)


def digitized(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, edges = the_rows(operands[0]), np.asarray(operands[1].value)
    need(not any(one[2] for one in fact.box.flat()) and (np.diff(edges) > 0).all(), "increasing edges, and no gaps")
    need(kind_of(fact.dtype) != "M", "no dates")
    of_one_record(d, operands)
    edges = edges.astype(np.float64)

    def bin_of(x: float) -> float:
        return float((edges < x).sum() if p["right"] else (edges <= x).sum())

    return Rows(each(lambda a: (bin_of(a[0]), bin_of(a[1]), False), fact.box), "int64", fact.masks)


def along_the_row(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    (fact,) = rows_of(operands)
    axis, name = p["axis"], p["name"]
    need(type(axis) is int and fact.box.shape and is_number(fact), "several columns of numbers")
    function = {"sum": add, "mean": add, "max": larger, "min": smaller}[name]
    count = fact.box.shape[axis]
    parts = [fact.box.moved(lambda a, i=i: np.take(a, i, axis=axis)) for i in range(count)]
    box = parts[0]
    for one in parts[1:]:
        box = each(function, box, one)
    if name == "mean":
        box = each(divide, box, public(count))
    if p["keepdims"]:
        box = box.moved(lambda a: np.expand_dims(a, axis))
    return Rows(fits(box, p["dtype"]), p["dtype"], fact.masks)


def row_times_matrix(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    (fact,) = rows_of(operands)
    matrix = np.asarray(operands[1].value, dtype=np.float64)
    need(len(fact.box.shape) == 1 and matrix.ndim in (1, 2) and matrix.shape[0] == fact.box.shape[0], "a matrix")
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    box = Box([(0.0, 0.0, False)] * wide.shape[1], wide.shape[1:])
    for i, entry in enumerate(fact.box.flat()):
        box = each(add, box, each(multiply, Box([entry], ()), public(wide[i])))
    if matrix.ndim == 1:
        box = box.moved(lambda a: a[0])
    return Rows(fits(box, p["dtype"]), p["dtype"], fact.masks)


def side_by_side(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    rows = rows_of(operands)
    need(len(rows) == len(operands) and all(map(is_number, rows)), "columns of numbers")
    boxes = [one.box.moved(lambda a: np.atleast_1d(a[None] if p["new"] else a)) for one in rows]
    need(all(one.shape[1:] == boxes[0].shape[1:] for one in boxes), "columns of one shape")
    entries = [entry for one in boxes for entry in one.flat()]
    box = Box(entries, (sum(one.shape[0] for one in boxes), *boxes[0].shape[1:]))
    return Rows(fits(box, p["dtype"]), p["dtype"], rows[0].masks)


# rules for statistics


def total(one: Given) -> Total:
    if not isinstance(one.fact, Total) or one.fact.weights or one.fact.up_to_a_shift:
        raise Wrong("a statistic that is no weight")
    return one.fact


def summed(d: Derivation, fact: Rows, box: Box, dtype: str, supports: Iterable[Support], norm: Any = None) -> Total:
    need(not any(one[2] or endless(one) for one in box.flat()), "a sum of numbers that are bounded, without gaps")
    kind = np.dtype(dtype)
    most = float(np.iinfo(kind).max) if kind.kind in "iu" else float(np.finfo(kind).max) if kind.kind == "f" else 0.0
    largest = max((max(abs(a), abs(b)) for a, b, _ in box.flat()), default=0.0)
    need(kind.itemsize >= 8 and largest * MOST_RECORDS <= most, f"a sum that {dtype} holds")
    need(kind.kind != "u" or all(one[0] >= 0 for one in box.flat()), "a sum that does not fall below 0")
    return Total(d.selected(fact, box), tuple(supports), dtype, norm)


def sum_of(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Total:
    fact = the_rows(operands[0])
    need(is_number(fact), "numbers")
    support = both(d.masked(fact), fact.support or {})
    box = fact.box
    if fact.support:
        box = each(lambda a: (min(a[0], 0.0), max(a[1], 0.0), a[2]), box)
    if p["all"]:
        entries = box.flat()
        whole = entries[0]
        for one in entries[1:]:
            whole = add(whole, one)
        return summed(d, fact, Box([whole], ()), p["dtype"], [support])
    return summed(d, fact, box, p["dtype"], [support] * box.at.size, fact.norm)


def mean(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = the_rows(operands[0])
    need(d.records is not None and not fact.masks, "a public number of records")
    assert d.records is not None
    made = sum_of(d, operands, p)
    size = d.records * (fact.box.at.size if p["all"] else 1)
    norm = None if made.norm is None else (made.norm[0], up(F(made.norm[1]) / F(float(size))))
    return made._replace(box=each(divide, made.box, public(size)), norm=norm)


def count(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = the_rows(operands[0])
    shape = fact.box.shape if p["each"] else ()
    size = math.prod(shape)
    box = d.selected(fact, Box([(1.0, 1.0, False)] * size, shape))
    if p["present"] and any(one[2] for one in fact.box.flat()):
        box = each(lambda a: (0.0, a[1], False), box)
    return Total(box, (d.masked(fact),) * size, "int64")


def each_cell(weights: Rows | None, reached: Sequence[bool]) -> Box:
    low, high, missing = 0.0, 1.0, False
    if weights is not None:
        need(weights.box.shape == () and is_number(weights), "one weight for each record")
        low, high, missing = weights.box.flat()[0]
        low, high = min(low, 0.0), max(high, 0.0)
    return Box([(low, high, missing) if one else (0.0, 0.0, missing) for one in reached], (len(reached),))


def reaches(key: Rows, cell: Cell) -> bool:
    """Whether some entry may lie in a cell, by what is known of the column."""
    if key.box.shape != () or key.box.flat()[0][2]:
        return True
    if key.values is not None:
        return any(lies_in(one, cell) for one in key.values)
    if not is_number(key):
        return True
    low, high, _ = key.box.flat()[0]
    if cell.values is not None:
        return any(not isinstance(one, int | float) or one != one or low <= one <= high for one in cell.values)
    below = cell.high < low or (cell.high == low and not cell.high_in)
    above = cell.low > high or (cell.low == high and not cell.low_in)
    return not below and not above


def groups(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    key = the_rows(operands[0])
    need(kind_of(key.dtype) != "M", "no dates")
    rows = rows_of([one for one in operands[:2] if one.fact is not None])
    need(operands[0].number is not None, "a column")
    of_one_record(d, operands[:1])
    assert operands[0].number is not None
    supports = [both(d.masked(key), {operands[0].number: Cell(frozenset([one]))}) for one in p["values"]]
    reached = [reaches(key, Cell(frozenset([one]))) for one in p["values"]]
    return summed(d, key, each_cell(rows[1] if len(rows) > 1 else None, reached), p["dtype"], supports)


def groups_of_several(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    size, rows = p["keys"], rows_of(operands)
    need(type(size) is int and len(rows) == len(operands) and size <= len(rows) <= size + 1, "columns of records")
    need(all(one.box.shape == () and kind_of(one.dtype) != "M" for one in rows[:size]), "one value of each column")
    of_one_record(d, operands[:size])
    supports, reached = [], []
    for label in p["values"]:
        need(len(label) == size, "a value of each column")
        reached.append(all(reaches(key, Cell(frozenset([one]))) for key, one in zip(rows, label, strict=False)))
        support = d.masked(rows[0])
        for one, value in zip(operands, label, strict=False):
            assert one.number is not None
            support = both(support, {one.number: Cell(frozenset([value]))})
        supports.append(support)
    return summed(d, rows[0], each_cell(rows[size] if len(rows) > size else None, reached), p["dtype"], supports)


def bincount(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    key = the_rows(operands[0])
    need(kind_of(key.dtype) in "iu" and key.box.shape == () and type(p["size"]) is int, "a column of whole numbers")
    low, high, missing = key.box.flat()[0]
    need(not missing and low >= 0 and high <= p["size"] - 1, "whole numbers in the cells")
    return groups(d, operands, {**p, "values": list(range(p["size"]))})


def histogram(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    key = the_rows(operands[0])
    need(key.box.shape == () and is_number(key) and not key.box.flat()[0][2] and not endless(key.box.flat()[0]),
         "one bounded number for each record")  # fmt: skip
    of_one_record(d, operands[:1])
    edges = [float(one) for one in p["edges"]]
    need(len(edges) > 1 and all(a < b for a, b in itertools.pairwise(edges)), "edges that increase")
    rows = rows_of([one for one in operands if one.fact is not None])
    assert operands[0].number is not None
    cells = [Cell(None, a, b, high_in=i == len(edges) - 2) for i, (a, b) in enumerate(itertools.pairwise(edges))]
    supports = [both(d.masked(rows[0]), {operands[0].number: cell}) for cell in cells]
    weights = operands[1].fact if len(operands) > 1 else None
    reached = [reaches(key, cell) for cell in cells]
    return summed(d, key, each_cell(weights if isinstance(weights, Rows) else None, reached), p["dtype"], supports)


def product_of_columns(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    one, other = rows_of(operands)
    need(len(one.box.shape) < 2 and len(other.box.shape) < 2 and is_number(one) and is_number(other), "columns")
    same = operands[0].number == operands[1].number
    entries = []
    for i, a in enumerate(one.box.flat()):
        for j, b in enumerate(other.box.flat()):
            entries.append(square(a) if same and i == j else multiply(a, b))
    box = Box(entries, (*one.box.shape, *other.box.shape))
    return summed(d, one, box, p["dtype"], [d.masked(one)] * len(entries))


Part = tuple[float, float, Support]


def parts_of(fact: Total) -> list[Part]:
    return [(a, b, s) for (a, b, _), s in zip(fact.box.flat(), fact.supports, strict=True)]


def of_parts(parts: Sequence[Part], shape: Sequence[int], dtype: str) -> Total:
    return Total(Box([(a, b, False) for a, b, _ in parts], shape), tuple(s for _, _, s in parts), dtype)


def together(parts: Sequence[Part]) -> Part:
    low, high, support = parts[0]
    for a, b, other in parts[1:]:
        if list(other.items()) == list(support.items()):
            low, high = plus(low, a, down), plus(high, b, up)
            continue
        one = (min(low, 0.0), max(high, 0.0)) if support else (low, high)
        two = (min(a, 0.0), max(b, 0.0)) if other else (a, b)
        if len(parts) == 2 and any(c in other and apart(cell, other[c]) for c, cell in support.items()):
            low, high = min(one[0], two[0]), max(one[1], two[1])
        else:
            low, high = plus(one[0], two[0], down), plus(one[1], two[1], up)
        support = {}
    return low, high, support


def sum_of_parts(parts: Sequence[Part]) -> Part:
    moved = [one for one in parts if one[0] or one[1]]
    columns = {next(iter(one[2])) if len(one[2]) == 1 else None for one in parts}
    if len(moved) > 1 and len(columns) == 1 and None not in columns:
        cells = [next(iter(one[2].values())) for one in moved]
        listed = [one.values for one in cells if one.values is not None and not one.others and not one.missing]
        distinct = len(listed) == len(cells) and sum(map(len, listed)) == len(frozenset().union(*listed))
        if distinct or (len(cells) <= 64 and all(apart(a, b) for a, b in itertools.combinations(cells, 2))):
            return min(0.0, *(one[0] for one in moved)), max(0.0, *(one[1] for one in moved)), {}
    return together(moved or parts)


def held(fact: Total) -> Total:
    """A statistic that its type holds."""
    kind = np.dtype(fact.dtype)
    need(not any(map(endless, fact.box.flat())), "a statistic that is bounded")
    need(kind.kind in "if" and kind.itemsize >= 8, "a statistic in float64 or int64")
    largest = max((max(abs(a), abs(b)) for a, b, _ in fact.box.flat()), default=0.0)
    need(kind.kind != "i" or largest * MOST_RECORDS <= float(np.iinfo(kind).max), "a statistic that its type holds")
    return fact


def spread(fact: Total, shape: tuple[int, ...]) -> Total:
    places = np.broadcast_to(np.arange(len(fact.supports)).reshape(fact.box.shape), shape)
    supports = tuple(fact.supports[i] for i in places.ravel().tolist())
    return fact._replace(box=fact.box.moved(lambda a: np.broadcast_to(a, shape)), supports=supports)


def move(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    name = p["name"]
    totals = [total(one) for one in operands if one.fact is not None]
    numbers = [np.asarray(one.value) for one in operands if one.fact is None]
    need(len(operands) == 2 and totals and name in ("add", "subtract", "multiply", "true_divide"), "a move")
    need(all(one.dtype.kind in "biuf" and np.isfinite(one.astype(np.float64)).all() for one in numbers), "numbers")
    whole = np.dtype(p["dtype"]).kind in "iu"
    need(not whole or all((np.abs(one.astype(np.float64)) <= 2.0**53).all() for one in numbers), "numbers up to 2^53")
    if name in ("multiply", "true_divide"):
        need(len(totals) == 1 and (name == "multiply" or operands[0].fact is not None), "times a public number")
        need(name == "multiply" or (numbers[0] != 0).all(), "a divisor that is not 0")
        operate = multiply if name == "multiply" else divide
        box = each(operate, totals[0].box, public(numbers[0]))
        norm = None
        if totals[0].norm is not None and numbers[0].size == 1:
            order, size = totals[0].norm
            norm = (order, operate((size, size, False), absolute(public(numbers[0].reshape(())).flat()[0]))[1])
        return held(Total(box, spread(totals[0], box.shape).supports, p["dtype"], norm))
    shape = np.broadcast_shapes(*(one.fact.box.shape if one.fact is not None else np.shape(one.value)
                                  for one in operands))  # fmt: skip
    wide = [spread(one, shape) for one in totals]
    if name == "subtract" and operands[1].fact is not None:
        wide[-1] = wide[-1]._replace(box=each(minus, wide[-1].box))
    if len(wide) == 1:
        norm = totals[0].norm if totals[0].box.shape == shape else None
        return held(Total(wide[0].box, wide[0].supports, p["dtype"], norm))
    if name == "subtract" and operands[0].number == operands[1].number:
        return of_parts([(0.0, 0.0, {})] * wide[0].box.at.size, shape, p["dtype"])
    joined = [together(pair) for pair in zip(parts_of(wide[0]), parts_of(wide[1]), strict=True)]
    return held(of_parts(joined, shape, p["dtype"]))


def negative(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = total(operands[0])
    return held(fact._replace(box=each(minus, fact.box), dtype=p["dtype"]))


def pick(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = operands[0].fact
    if not isinstance(fact, Total):
        raise Wrong("a statistic")
    flat = np.array(p["places"]).ravel().tolist()
    need(all(type(i) is int and 0 <= i < len(fact.supports) for i in flat), "places of coordinates")
    need(not fact.normalised or sorted(flat) == list(range(len(fact.supports))), "all weights of a choice")
    entries = fact.box.flat()
    return fact._replace(box=Box([entries[i] for i in flat], p["shape"]),
                         supports=tuple(fact.supports[i] for i in flat),
                         norm=fact.norm if len(set(flat)) == len(flat) else None)  # fmt: skip


def stack(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    facts = [one.fact for one in operands if isinstance(one.fact, Total)]
    parts: list[Part] = []
    places = p["places"]
    if (len(facts) == len(operands) and all(one.weights and not one.normalised for one in facts)
            and not any(one.up_to_a_shift for one in facts)):  # fmt: skip
        parts = [part for one in facts for part in parts_of(one)]
        need(all(type(i) is int and 0 <= i < len(parts) for i in places), "places of coordinates")
        return held(of_parts([parts[i] for i in places], p["shape"], p["dtype"]))._replace(weights=True)
    for one in operands:
        if one.fact is None:
            need(np.asarray(one.value).dtype.kind in "biuf", "a public number")
            parts += [(0.0, 0.0, {})] * np.asarray(one.value).size
        else:
            parts += parts_of(total(one))
    need(all(type(i) is int and 0 <= i < len(parts) for i in places), "places of coordinates")
    return held(of_parts([parts[i] for i in places], p["shape"], p["dtype"]))


def sum_along(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    flat = parts_of(total(operands[0]))
    need(all(type(i) is int and 0 <= i < len(flat) for group in p["groups"] for i in group), "places of coordinates")
    need(type(p["over"]) is int and p["over"] > 0, "a number of coordinates")
    made = of_parts([sum_of_parts([flat[i] for i in group]) for group in p["groups"]], p["shape"], p["dtype"])
    if p["over"] != 1:
        made = made._replace(box=each(divide, made.box, public(p["over"])))
    return held(made)


def times_matrix(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    flat = parts_of(held(total(operands[0])))
    parts = []
    for row in np.asarray(operands[1].value, dtype=np.float64):
        need(len(row) == len(flat) and np.isfinite(row).all(), "a number for each coordinate")
        used = [(multiply((a, b, False), (x, x, False)), s) for x, (a, b, s) in zip(row.tolist(), flat, strict=True)
                if x]  # fmt: skip
        parts.append(sum_of_parts([(e[0], e[1], s) for e, s in used]) if used else (0.0, 0.0, {}))
    return held(of_parts(parts, p["shape"], "float64"))


def differences_alone(d: Derivation, support: Support) -> bool:
    """Whether only how far two records are apart counts: one goes and another comes, and each moves the statistic."""
    return d.replace and not support


def not_steeper(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, value = total(operands[0]), np.asarray(operands[1].value, dtype=np.float64)
    need(not np.isnan(value).any() and p["name"] in ("maximum", "minimum", "fmax", "fmin"), "a public bound")
    shape = np.broadcast_shapes(fact.box.shape, value.shape)
    wide = spread(fact, shape)
    sign = 1 if p["name"] in ("maximum", "fmax") else -1
    inner = Box([(*ends, False) for ends in values_of(d, operands[0].number)], fact.box.shape)
    inner = inner.moved(lambda a: np.broadcast_to(a, shape))
    bounds = np.broadcast_to(value, shape).ravel().tolist()
    ends = []
    for move, support, (low, high, _), bound in zip(wide.box.flat(), wide.supports, inner.flat(), bounds, strict=True):
        least, most = (low, high) if sign > 0 else (-high, -low)
        if least >= sign * bound:
            ends.append(move)
        elif most <= sign * bound:
            ends.append((0.0, 0.0, False))
        elif differences_alone(d, support):
            ends.append(move)
        else:
            ends.append((min(move[0], 0.0), max(move[1], 0.0), False))
    norm = fact.norm if shape == fact.box.shape else None
    return held(Total(Box(ends, shape), wide.supports, p["dtype"], norm))


def absolute_of(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact, ends = total(operands[0]), []
    for move, support, (low, high) in zip(fact.box.flat(), fact.supports, values_of(d, operands[0].number),
                                          strict=True):  # fmt: skip
        if low >= 0 or differences_alone(d, support):
            ends.append(move)
        elif high <= 0:
            ends.append(minus(move))
        else:
            far = max(abs(move[0]), abs(move[1]))
            ends.append((-far, far, False))
    return held(fact._replace(box=Box(ends, fact.box.shape)))


def rounded(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = total(operands[0])
    sizes = whole_sizes(d, operands[0].number)
    assert operands[0].number is not None
    same = never_rounded(d, operands[0].number)
    parts: list[Part] = []
    for (low, high, support), size, exact in zip(parts_of(fact), sizes, same, strict=True):
        far = F(0) if exact else F(1, 2)  # two sums that are rounded by less than 1/4 each, for each of two tables
        left = support if exact else {}
        if finite(size):
            parts.append((low, high, support))
            continue
        low, high = (min(low, 0.0), max(high, 0.0)) if support else (low, high)
        if differences_alone(d, left):
            first = math.floor(F(low))
            parts.append((float(first), float(first + math.ceil(F(high) - F(low) + far)), left))
        else:
            least, most = math.floor(F(low) - far), math.ceil(F(high) + far)
            parts.append((float(min(least, 0)), float(max(most, 0)), left))
    norm = fact.norm if all(map(finite, sizes)) else None
    return held(of_parts(parts, fact.box.shape, p["dtype"])._replace(norm=norm))


def converted(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = total(operands[0])
    if kind_of(p["dtype"]) in "iu" and kind_of(fact.dtype) == "f":
        return rounded(d, operands, p)
    return held(fact._replace(dtype=p["dtype"]))


def in_32_bits(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = total(operands[0])
    need(counts(d, operands[0].number), "counts of records")
    return fact._replace(dtype="uint32")


def counts(d: Derivation, number: int | None) -> bool:
    """Whether a statistic is of numbers of records."""
    need(number is not None, "a statistic")
    assert number is not None
    step = d.steps[number]
    before = [one.get("step") for one in step["operands"]]
    if step["operation"] in ("stack", "pick"):
        return all(one is not None and counts(d, one) for one in before)
    weights = {"sum": 0, "groups": 1, "groups of several columns": step["parameters"].get("keys", 0)}
    if step["operation"] not in weights:
        return bool(step["operation"] == "count")
    summed = [d.facts[one] for one in before[weights[step["operation"]] :]]
    return all(isinstance(one, Rows) and one.dtype == "bool" for one in summed)


def from_the_largest(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    need(kind_of(total(operands[0]).dtype) != "u", "scores with a sign")
    return total(operands[0])._replace(up_to_a_shift=True)


def weights(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = operands[0].fact
    if not isinstance(fact, Total) or fact.weights:
        raise Wrong("a score")
    return fact._replace(weights=True)


def normalised_weights(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = operands[0].fact
    if not isinstance(fact, Total) or not fact.weights:
        raise Wrong("weights")
    return fact._replace(normalised=True)


def scaled_scores(d: Derivation, operands: list[Given], p: Mapping[str, Any]) -> Fact:
    fact = operands[0].fact
    if not isinstance(fact, Total):
        raise Wrong("scores")
    made = move(d, [operands[0]._replace(fact=fact._replace(up_to_a_shift=False)), operands[1]], p)
    assert isinstance(made, Total)
    return made._replace(up_to_a_shift=True)


RULES: dict[str, tuple[Callable[..., Fact], str]] = {
    "table": (table, "dtype high low missing names single values"), "elementwise": (elementwise, "dtype name"),
    "clipped by norm": (clipped_by_norm, "dtype name"), "row norm": (row_norm, "keepdims order"),
    "select": (select, ""), "isin": (isin, ""), "is missing": (is_missing, ""), "where": (where, "dtype"),
    "index": (index, "key"), "astype": (astype, "dtype"), "fill": (fill, "dtype"), "fill null": (fill_null, "dtype"),
    "fill nan": (fill_nan, "dtype"), "drop missing": (drop_missing, ""),
    "remainder": (remainder, "dtype"), "map": (mapped, "dtype"), "digitize": (digitized, "right"),
    "part of a date": (part_of_a_date, "dtype name"), "comparison of dates": (comparison_of_dates, "date name"),
    "isin of dates": (isin_of_dates, "dates"),
    "in 32 bits": (in_32_bits, ""),
    "along the row": (along_the_row, "axis dtype keepdims name"), "row times matrix": (row_times_matrix, "dtype"),
    "columns": (side_by_side, "dtype new"), "sum": (sum_of, "all dtype"), "mean": (mean, "all dtype"),
    "count": (count, "each present"), "groups": (groups, "dtype values"),
    "groups of several columns": (groups_of_several, "dtype keys values"), "bincount": (bincount, "dtype size"),
    "histogram": (histogram, "dtype edges"), "product of columns": (product_of_columns, "dtype"),
    "move": (move, "dtype name"), "negative": (negative, "dtype"), "pick": (pick, "places shape"),
    "stack": (stack, "dtype places shape"), "sum of coordinates": (sum_along, "dtype groups over shape"),
    "times matrix": (times_matrix, "shape"), "not steeper": (not_steeper, "dtype name"),
    "absolute": (absolute_of, ""), "rounded": (rounded, "dtype name"), "converted": (converted, "dtype"),
    "from the largest": (from_the_largest, "largest"), "weights": (weights, ""),
    "normalised weights": (normalised_weights, "sum"), "scaled scores": (scaled_scores, "dtype name"),
}  # fmt: skip


# what is spent: the largest loss but for Gaussian noise, and mu^2


LARGEST_ALONE = ("gumbel", "exponential")
"""Laws of which the place of the largest noisy score costs (high - low) / scale, however many scores there are.

Of Gumbel noise it is the exponential mechanism. Of exponential noise: with the other draws fixed, a score is the
largest where its draw is above a number that moves by (high - low) at most, and P(draw > t) = min(1, exp(-t / scale)).
"""


class Element(NamedTuple):
    """One coordinate with its noise."""

    law: str
    rate: F
    low: F
    high: F
    support: Support
    step: int
    place: int


Spent = tuple[F, F]


def cost(one: Element, far: F) -> Spent:
    if one.law == "gaussian":
        return F(0), (far / one.rate) ** 2
    if one.law == "laplace":
        return far / one.rate, F(0)
    return one.rate * math.ceil(far), F(0)


def reach(one: Element, twice: bool) -> F:
    low, high = (min(one.low, F(0)), max(one.high, F(0))) if one.support else (one.low, one.high)
    return high - low if twice else max(-low, high)


def added(costs: Iterable[Spent]) -> Spent:
    found = list(costs)
    return sum((one[0] for one in found), F(0)), sum((one[1] for one in found), F(0))


def front(options: Iterable[Spent]) -> list[Spent]:
    """Those that no other one is above in both."""
    kept: list[Spent] = []
    for one in sorted(set(options), reverse=True):
        if not kept or one[1] > kept[-1][1]:
            kept.append(one)
    return kept


def box_of(elements: Iterable[Element], replace: bool) -> Spent:
    return added(cost(one, reach(one, replace)) for one in elements)


def spent_by(
    document: Mapping[str, Any], facts: Sequence[Fact], exact: Sequence[list[tuple[F, F]]], replace: bool
) -> tuple[list[Spent], Spent, list[Element]]:
    """What a record spends, for each choice of cells that it lies in.

    Returns:
        That; what is known of releases as a whole; and the coordinates of the others.
    """
    fixed, free = [], list[Element]()
    used: set[int] = set()
    mixed: list[Mixed] = []
    for one in document["releases"]:
        need(set(one) == {"statistic", "noise", "only_the_largest", "line"}, "the fields of a release")
        number, noise = one["statistic"], one["noise"]
        need(type(number) is int and 0 <= number < len(facts) and isinstance(one["line"], str), "a statistic")
        need(type(one["only_the_largest"]) is bool, "whether only the largest is used")
        fact = facts[number]
        if not isinstance(fact, Total):
            raise Wrong("a statistic")
        spread_of = max([F(0), *(F(e[1]) for e in fact.box.flat())]) - min([F(0), *(F(e[0]) for e in fact.box.flat())])
        spread_of *= 2 if replace else 1
        need(not fact.up_to_a_shift or noise is None, "a statistic, and not up to a number")
        if noise is not None and noise["law"] == "mixed gaussian":
            mixed += mixed_of(fact, noise, exact[number], replace)
            continue
        if noise is not None and noise["law"] not in (*LARGEST_ALONE, "laplace", "gaussian", "two-sided geometric"):
            raise Beyond(f"noise of the law {str(noise['law'])[:40]}")
        if noise is None:
            need(fact.weights and fact.normalised and not one["only_the_largest"], "a choice by weights")
            fixed.append((spread_of, F(0)))
            continue
        own = elements(fact, noise, exact[number], used, number)
        scales = {float(x) for x in noise["scale"]}
        if noise["law"] in LARGEST_ALONE:
            need(one["only_the_largest"] and len(scales) == 1, "of Gumbel and exponential noise the largest alone")
        if one["only_the_largest"] and len(scales) == 1 and noise["law"] in ("laplace", *LARGEST_ALONE):
            chosen, whole = (spread_of / F(min(scales)), F(0)), box_of(own, replace)
            if own and noise["law"] == "laplace" and whole < chosen:
                free += own
            else:
                fixed.append(chosen)
            continue
        normed = None
        if fact.norm is not None:
            far = F(fact.norm[1]) * (2 if replace else 1) / F(min(scales))
            normed = (F(0), far**2) if noise["law"] == "gaussian" else (far, F(0))
            if noise["law"] not in ("gaussian", "laplace") or (noise["law"] == "laplace" and fact.norm[0] != 1):
                normed = None
        if normed is not None and normed <= box_of(own, replace):
            fixed.append(normed)
        else:
            free += own
    need(not used & {number for one in mixed for number in one.factors}, "draws that are shared by mixed noise alone")
    fixed += [(F(0), largest_square(group)) for group in by_common_draws(mixed)]
    found = [added([*fixed, box_of((one for one in free if not one.support), replace)])]
    for group in connected([one for one in free if one.support]):
        options = front(of_group(group, replace))
        found = front(added(pair) for pair in itertools.product(found, options))
    return found, added(fixed), free


def elements(
    fact: Total, noise: Mapping[str, Any], exact: Sequence[tuple[F, F]], used: set[int], step: int
) -> list[Element]:
    need(set(noise) == {"kind", "law", "parameter", "shape", "numbers", "scale"} and noise["kind"] == "noise", "noise")
    need(not fact.weights and noise["shape"] == list(fact.box.shape), "noise on each coordinate")
    need(all(type(x) is float and x > 0 and finite(x) for x in noise["scale"]), "scales above 0")
    need(len(noise["numbers"]) == len(noise["scale"]) == len(fact.supports), "noise on each coordinate")
    need(all(type(i) is int for i in noise["numbers"]), "numbers of draws")
    fresh = set(noise["numbers"])
    need(len(fresh) == len(noise["numbers"]) and not fresh & used, "draws that are used once")
    used |= fresh
    geometric = noise["law"] == "two-sided geometric"
    need((noise["parameter"] is None) is not geometric, "the rate of geometric noise alone")
    need(not geometric or (kind_of(fact.dtype) in "iu" and type(noise["parameter"]) is float
                           and noise["parameter"] > 0), "whole numbers, and a positive rate")  # fmt: skip
    if noise["law"] in LARGEST_ALONE:
        return []
    made = []
    for place, (scale, (low, high), support) in enumerate(zip(noise["scale"], exact, fact.supports, strict=True)):
        rate = F(noise["parameter"] if geometric else scale)
        made += [Element(noise["law"], rate, low, high, support, step, place)] if low or high else []
    return made


class Mixed(NamedTuple):
    """One released number with a sum of Gaussian draws: their factors, and how far one record moves it at most."""

    factors: Mapping[int, F]
    far: F


def mixed_of(fact: Total, noise: Mapping[str, Any], exact: Sequence[tuple[F, F]], replace: bool) -> list[Mixed]:
    need(set(noise) == {"kind", "law", "parameter", "shape", "terms"} and noise["kind"] == "noise", "noise")
    need(noise["parameter"] is None and noise["shape"] == list(fact.box.shape), "noise on each coordinate")
    need(not fact.weights and len(noise["terms"]) == len(fact.supports), "noise on each coordinate")
    found = []
    for terms, ends, support in zip(noise["terms"], exact, fact.supports, strict=True):
        need(terms and all(len(pair) == 2 and type(pair[0]) is int and type(pair[1]) is str for pair in terms), "draws")
        need(all(a[0] < b[0] for a, b in itertools.pairwise(terms)), "each draw once, in order")
        factors = {number: F(text) for number, text in terms}
        need(all(factors.values()) and [[n, str(x)] for n, x in factors.items()] == terms, "factors in lowest terms")
        low, high = (min(ends[0], F(0)), max(ends[1], F(0))) if support else ends
        found.append(Mixed(factors, high - low if replace else max(-low, high)))
    return found


def by_common_draws(numbers: Sequence[Mixed]) -> list[list[Mixed]]:
    """The released numbers that are connected by draws that they have in common: others are independent of them."""
    left, found = list(numbers), []
    while left:
        group, reached = [left.pop(0)], 0
        while reached < len(group):
            near = [one for one in left if one.factors.keys() & group[reached].factors.keys()]
            left = [one for one in left if not any(one is other for other in near)]
            group += near
            reached += 1
        found.append(group)
    return found


def largest_square(group: Sequence[Mixed]) -> F:
    """The largest v^T C^-1 v over moves |v_i| <= far_i, of the covariance C of the draws of the group.

    Draws are made independent one number after the other (Gram and Schmidt): number i minus the best combination of
    those before it has the variance D_i, so that C = L D L^T and v^T C^-1 v is the sum of (L^-1 v)_i^2 / D_i. It is
    convex, so its largest value is at a corner. Of very many corners, the sum of all |C^-1_ij| far_i far_j bounds it.

    Raises:
        Wrong: some combination of the numbers has no noise.
        Beyond: too many numbers.
    """
    if len(group) > MOST_MIXED:
        raise Beyond("many numbers with common draws")
    inverse: list[list[F]] = []  # the rows of L^-1
    rest: list[dict[int, F]] = []  # of each number, the draws that are independent of those before
    variances: list[F] = []
    for i, one in enumerate(group):
        draws, row = dict(one.factors), [F(int(i == j)) for j in range(len(group))]
        for before, known, variance in zip(rest, inverse, variances, strict=True):
            common = sum((x * one.factors[n] for n, x in before.items() if n in one.factors), F(0)) / variance
            if common:
                for n, x in before.items():
                    draws[n] = draws.get(n, F(0)) - common * x
                row = [a - common * b for a, b in zip(row, known, strict=True)]
        variance = sum((x * x for x in draws.values()), F(0))
        need(variance > 0, "noise on every combination of the numbers")
        inverse.append(row)
        rest.append(draws)
        variances.append(variance)
    moved = [i for i, one in enumerate(group) if one.far]
    columns = [[row[i] * group[i].far for row in inverse] for i in moved]
    if not moved:
        return F(0)
    if 2 ** (len(moved) - 1) > MOST_CORNERS:
        return sum((abs(sum((a * b / d for a, b, d in zip(one, other, variances, strict=True)), F(0)))
                    for one in columns for other in columns), F(0))  # fmt: skip
    most, waiting = F(0), [(1, columns[0])]
    while waiting:
        place, at = waiting.pop()
        if place == len(columns):
            most = max(most, sum((a * a / d for a, d in zip(at, variances, strict=True)), F(0)))
            continue
        for sign in (1, -1):
            waiting.append((place + 1, [a + sign * b for a, b in zip(at, columns[place], strict=True)]))
    return most


def connected(free: Sequence[Element]) -> list[list[Element]]:
    groups: list[tuple[set[int], list[Element]]] = []
    for one in free:
        columns, members = set(one.support), [one]
        apart_from = []
        for known, inner in groups:
            if known & columns:
                columns, members = columns | known, inner + members
            else:
                apart_from.append((known, inner))
        groups = [*apart_from, (columns, members)]
    return [members for _, members in groups]


def of_group(group: Sequence[Element], replace: bool) -> list[Spent]:
    columns = sorted({column for one in group for column in one.support})
    states = [states_of({one.support[c] for one in group if c in one.support}) for c in columns]
    if math.prod(map(len, states)) > MOST_CHOICES:
        return [box_of(group, replace)]
    sets = set()
    for state in itertools.product(*states):
        held_in = dict(zip(columns, state, strict=True))
        sets.add(frozenset(i for i, one in enumerate(group)
                           if all(cell in held_in[c] for c, cell in one.support.items())))  # fmt: skip
    once = {one: added(cost(group[i], reach(group[i], False)) for i in one) for one in sets}
    if not replace:
        return list(once.values())
    twice = {one: added(cost(group[i], reach(group[i], True)) for i in one) for one in sets}
    if sum(map(len, sets)) == len(frozenset().union(*sets)):  # a record lies in one of them
        best: dict[Spent, int] = {}
        for value in once.values():
            best[value] = min(best.get(value, 0) + 1, 2)
        values = [value for value, number in best.items() for _ in range(number)]
        return [*twice.values(), *(added(pair) for pair in itertools.combinations(values, 2))]
    if len(sets) > 64:
        return [box_of(group, True)]
    found = list(twice.values())
    for a, b in itertools.combinations(sets, 2):
        found.append(added(cost(group[i], reach(group[i], i in a and i in b)) for i in a | b))
    return found


def states_of(cells: set[Cell]) -> list[frozenset[Cell]]:
    """Which of the cells of one column a value may lie in, together."""
    listed = {value for cell in cells for value in cell.values or ()}
    ends_of_cells = {end for cell in cells if cell.values is None for end in (cell.low, cell.high) if finite(end)}
    numbers = sorted({float(v) for v in listed if isinstance(v, int | float)} | ends_of_cells)
    between = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    ends = [numbers[0] - 1 - abs(numbers[0]), numbers[-1] + 1 + abs(numbers[-1])] if numbers else [0.0]
    intervals = any(cell.values is None for cell in cells)
    tried = [None, *listed, *numbers, *between, *ends, *([] if intervals else ["\0 another text"])]
    of_values: dict[Any, set[Cell]] = {}
    plain = all(cell.values is not None and not cell.others and not cell.missing for cell in cells)
    if plain:  # many groups
        for cell in cells:
            for value in cell.values or ():
                of_values.setdefault(value, set()).add(cell)
        return [frozenset(), *{frozenset(one) for one in of_values.values()}]
    return list({frozenset(cell for cell in cells if lies_in(value, cell)) for value in tried})


def spent_together(
    document: Mapping[str, Any], columns: Mapping[str, Any], most: Mapping[str, F], fixed: Spent,
    free: Sequence[Element], replace: bool,
) -> dict[str, F]:  # fmt: skip
    """What a record spends in all releases together, by the cases of `traced_joint`, where that is less.

    Raises:
        Beyond: more cases than are looked at.
    """
    ends = {}
    for name, column in columns.items():
        low, high = ends_of(column) if column["type"] in ("int", "float", "bool") else (-INF, INF)
        if finite(low, high) and not column.get("nullable", False):
            ends[name] = (F(low), F(high))
    found = {}
    for part, name in enumerate(most):
        own = [one for one in free if (one.law == "gaussian") == (name == "mu_squared")]
        counted = []
        for one in own:
            low, high = (min(one.low, F(0)), max(one.high, F(0))) if one.support else (one.low, one.high)
            weight = one.rate if one.law == "two-sided geometric" else 1 / one.rate
            counted.append(joint["Coordinate"](one.step, one.place, weight, low, high))
        try:
            size = joint["most_spent"](document, columns, ends, counted, square=bool(part), replace=replace)
        except joint["TooMuch"] as problem:
            raise Beyond(str(problem)) from None
        found[name] = min(most[name], fixed[part] + size)
    return found


# the whole


def columns_of(document: Mapping[str, Any]) -> dict[str, Any]:
    schema = tomllib.loads(document["schema"], parse_float=Decimal)
    need(set(schema) <= {"relation", "table", "records", "user", "columns"}, "the keys of a schema")
    need(schema["relation"] == document["relation"], "the relation of the schema")
    need(document["relation"] in ("replace-one", "add-or-remove-one"), "a neighbouring relation")
    need(schema.get("records") == document["records"], "the number of records of the schema")
    need(type(document["records"]) in (int, type(None)), "a number of records")
    need(not (schema["relation"] != "replace-one" and "records" in schema), "a number of records that is public")
    columns: dict[str, Any] = schema["columns"]
    need(not any(one.get("observed", False) for one in columns.values()), "bounds that are promised")
    return columns


def claim_of(text: str) -> dict[str, F]:
    found = {}
    for part in text.split(", "):
        name, sign, number = part.partition("=")
        need(sign and name not in found, "a claim")
        found[name] = F(number)
    need(set(found) in ({"eps"}, {"eps", "delta"}, {"mu"}, {"rho"}, {"order", "eps"}), "a claim that is known")
    need(all(one >= 0 for one in found.values()), "a claim that is known")
    return found


def keeps(spent: Spent, claim: Mapping[str, F], profile: Callable[[F, F], tuple[F, F]]) -> bool:
    """Whether what is spent is within the claim; `Beyond` where a bound that is simple does not say."""
    pure, square_of_mu = spent
    if "mu" in claim:
        left = claim["mu"] ** 2 - square_of_mu
        return left >= 0 if not pure else simple(left > 0 and within_gaussian(pure, left), False)
    if "rho" in claim:
        return simple(square_of_mu / 2 + min(pure, pure**2 / 2) <= claim["rho"], not pure)
    if "order" in claim:
        most = claim["order"] * square_of_mu / 2 + min(pure, claim["order"] * pure**2 / 2)
        left = claim["eps"] - claim["order"] * square_of_mu / 2
        return simple(most <= claim["eps"] or within_renyi(pure, claim["order"], left), not pure)
    if pure > claim["eps"]:
        return simple(False, "delta" not in claim or not claim["delta"])
    if not square_of_mu:
        return True
    if not claim.get("delta"):
        return False
    low, high = profile(square_of_mu, claim["eps"] - pure)
    if low <= claim["delta"] < high:
        raise Beyond("a delta that is too close")
    return simple(high <= claim["delta"], not pure)


DIGITS = 60
MARGIN = mpmath.mpf(10) ** -40
"""Which what mpmath gives with so many digits has to leave."""


def within_gaussian(pure: F, square: F) -> bool:
    """Whether what is eps-DP is mu-GDP: 2 q(1 / (1 + exp(-eps))) <= mu, of the normal quantile q.

    The trade-off function of eps-DP has its kink at (a, a), a = 1 / (1 + exp(eps)), and is linear on both sides of it:
    it is above that of mu-GDP, which is convex, if it is there.
    """
    with mpmath.workdps(DIGITS):
        eps, mu = (
            mpmath.mpf(pure.numerator) / pure.denominator,
            mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator),
        )
        return bool(mpmath.ncdf(mu / 2) >= 1 / (1 + mpmath.exp(-eps)) + MARGIN)


def within_renyi(pure: F, order: F, most: F) -> bool:
    """Whether what is eps-DP has a Renyi divergence of an order of at most this: that of randomised response."""
    if order <= 1 or most < 0:
        return False
    with mpmath.workdps(DIGITS):
        eps, alpha = (mpmath.mpf(one.numerator) / one.denominator for one in (pure, order))
        moment = (mpmath.exp(alpha * eps) + mpmath.exp((1 - alpha) * eps)) / (1 + mpmath.exp(eps))
        return bool(mpmath.log(moment) / (alpha - 1) + MARGIN <= mpmath.mpf(most.numerator) / most.denominator)


def simple(kept: bool, exact: bool) -> bool:
    if not kept and not exact:
        raise Beyond("this claim about noise of several kinds, or of no Gaussian law")
    return kept


def assumed(document: Mapping[str, Any]) -> list[str]:
    found = ["exact real arithmetic",
             "the draws are independent, and their generator is not started from a known number"]  # fmt: skip
    steps = len(document["steps"])
    found.append(f"numpy {document['versions']['numpy']} does what its documentation says of the {steps} operations")
    if document["records"] is None:
        found.append("a table has fewer than 2^33 records")
    found += ["no warning is turned into an error",
              "every table that is handed over fits the schema, and each record is of another person"]  # fmt: skip
    if document["public"]:
        found.append(f"public: {', '.join(document['public'][:8])}")
    return found


def sentence(document: Mapping[str, Any]) -> str:
    """What is proved: it names the schema, and what a run showed, by their SHA-256."""
    steps = [{name: value for name, value in one.items() if name != "fact"} for one in document["steps"]]
    run = [steps, document["releases"], document["public"], document["versions"]]
    text = json.dumps(run, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    program, schema = (hashlib.sha256(one.encode()).hexdigest() for one in (text, document["schema"]))
    spent = document["spent"]
    return (
        f"{document['claim']} of {document['function']} (program {program}), {document['relation']}, for every table "
        f"of the schema {schema}: a record spends epsilon {spent['epsilon']} and mu^2 {spent['mu_squared']} at most"
    )


def derive(document: Mapping[str, Any], profile: Callable[[F, F], tuple[F, F]]) -> tuple[int, bool]:
    """How many operations follow from those before them, and whether the claim was decided.

    Args:
        document: the certificate of a function.
        profile: the ends of delta(epsilon) of Gaussian noise, of mu^2 and epsilon.

    Raises:
        Wrong: something that does not follow, or a claim that is not kept.
        Beyond: an operation that is not known here.
    """
    fields = {"format", "version", "proved", "function", "claim", "schema", "relation", "records", "public",
              "versions", "steps", "releases", "spent", "assumptions", "sha256"}  # fmt: skip
    need(set(document) | {"sha256"} == fields and document["version"] == 2, "the fields of a certificate")
    need(type(document["version"]) is int, "the fields of a certificate")
    names = [document["function"], *document["public"], *document["versions"].values()]
    need(all(isinstance(one, str) and one for one in names) and set(document["versions"]) == {"numpy"}, "names")
    claim = claim_of(document["claim"])
    derivation = Derivation(document)
    for number, one in enumerate(document["steps"]):
        try:
            derivation.step(one)
        except Wrong as problem:
            raise Wrong(f"step {number}, {one['operation']}: {problem}") from None
    together = document["spent"].get("together", False)
    need(together is False or document["spent"].get("together") is True, "whether all are bounded together")
    written = {name: text for name, text in document["spent"].items() if name != "together"}
    stated = {name: F(text) for name, text in written.items()}
    need({name: str(one) for name, one in stated.items()} == written, "numbers in lowest terms")
    rounded_ends = [
        [(F(low), F(high)) for low, high, _ in fact.box.flat()] if isinstance(fact, Total) else []
        for fact in derivation.facts
    ]
    options: list[Spent] | None = None
    same = False
    for ends in (derivation.exact, rounded_ends):
        found, fixed, free = spent_by(document, derivation.facts, ends, derivation.replace)
        most = {"epsilon": max(one[0] for one in found), "mu_squared": max(one[1] for one in found)}
        options, same = (options, True) if same else (found, stated == most)
    below = set(stated) == set(most) and all(stated[name] <= most[name] for name in most)
    need(same or (together and below), f"what is spent: {document['spent']} and not {most}")
    need(not (together and stated == most), "a bound on all releases together only where it is closer")
    if together:
        try:
            less = spent_together(document, derivation.columns, most, fixed, free, derivation.replace)
        except Beyond:
            less = {}
        options = [(stated["epsilon"], stated["mu_squared"])] if stated == less else None
    need(document["assumptions"] == assumed(document), "what is taken for granted")
    need(document["proved"] == sentence(document), "what is proved")
    if options is None:  # a bound on all releases together may be closer than what is derived here
        return len(derivation.facts), False
    try:
        need(all(keeps(one, claim, profile) for one in options), "a claim that is kept")
    except Beyond:
        return len(derivation.facts), False
    return len(derivation.facts), True
