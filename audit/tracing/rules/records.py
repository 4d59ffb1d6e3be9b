"""Rules for arrays of records: what is done record by record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.rules import bounds
from dpverdict.audit.tracing.rules.bounds import ELEMENTWISE, Interval
from dpverdict.audit.tracing.rules.facts import Cell, Fact, Norm, Rows, Support, both
from dpverdict.audit.tracing.rules.operations import Setting, Step, TracedOperand, operation, refuse
from dpverdict.audit.tracing.rules.rounding import must_be_of_one_record

_EXACT_FLOATS: Final = 2.0**53
_MOST_LISTED: Final = 1000
"""Whole numbers that are looked up one by one in a dictionary."""
_STAYING: Final = ("maximum", "minimum", "fmax", "fmin", "positive", "sign")
"""Functions that give one of their arguments, or a sign: an integer of a dtype stays one."""
COMPARED: Final[Mapping[str, Callable[[float], Cell]]] = {
    "less": lambda c: Cell(high=c, high_closed=False),
    "less_equal": lambda c: Cell(high=c),
    "greater": lambda c: Cell(low=c, low_closed=False),
    "greater_equal": lambda c: Cell(low=c),
}
"""The cell that a comparison with a public number picks."""
_STEPS: Final = ("floor", "ceil", "rint", "trunc", "sign")
"""Functions that make a whole step of the last bit of a number; comparisons, and truth values of numbers, do too."""
_JOINING: Final = ("logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "invert")
_MIRRORED: Final = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def the_rows(operands: Sequence[TracedOperand]) -> list[Rows]:
    """The facts of operands that are records, which are the same records."""
    found = [one.fact for one in operands if isinstance(one.fact, Rows)]
    if any(one.masks != found[0].masks for one in found):
        refuse("columns of different selections of records together", "select the same records of each")
    return found


def interval_of(fact: Rows) -> Interval:
    """Bounds on an entry; of categories that are no numbers, none."""
    return Interval(fact.low, fact.high, fact.missing)


def public_row(value: Any, dims: int) -> Any:
    """A public value as it stands beside one row of ``dims`` - 1 axes."""
    array = np.asarray(value)
    if array.ndim > dims or (array.ndim == dims and array.shape[0] != 1):
        refuse(
            "a public array with a number for each record, beside records",
            "records have no public position: use a number, or one for each column",
        )
    return array[0] if array.ndim == dims else array


def must_fit(found: Interval, dtype: str) -> Interval:
    """Bounds of an integer that its dtype holds; it would wrap around otherwise."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        low, high = float(found.low.min(initial=0.0)), float(found.high.max(initial=0.0))
        if found.missing.any() or low < int(ends.min) or high > int(ends.max):  # exact: Python compares so
            refuse(f"integers of {dtype} that may wrap around", "clip them first, or convert them: .astype(float)")
    elif kind.kind == "f" and kind.itemsize < 4:
        refuse(f"numbers of {dtype}, which overflow early", "convert them: .astype(float)")
    return found


def as_stored(found: Interval, dtype: str) -> Interval:
    """Bounds of numbers as they are stored: those of single precision are rounded, and rounding never falls."""
    if dtype != "float32":
        return found
    with np.errstate(over="ignore"):
        low, high = (np.asarray(end).astype(np.float32).astype(np.float64) for end in (found.low, found.high))
    return Interval.of(low, high, found.missing)


def _no_single(fact: Rows, what: str) -> None:
    """Refuse what rounds several times where numbers are of single precision."""
    if fact.dtype == "float32":
        refuse(f"{what} of float32, of which each step is rounded", "convert them: .astype(float)")


@operation("table", "a column of the table holds what the schema says")
def table(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A column, or all columns side by side."""
    low, high = (np.array([float(one) for one in given[name]]) for name in ("low", "high"))
    found = Interval.of(low, high, np.array(given["missing"], dtype=np.bool_))
    if given["single"]:
        found = Interval.of(*(one[0] for one in found))
    values = None if given["values"] is None else tuple(given["values"])
    return Rows((), *found, given["dtype"], values)


@operation("elementwise", "g(record) is a function of the entries of the same record; bounds by interval arithmetic")
def elementwise(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """An elementwise function of NumPy."""
    name, dtype = str(given["name"]), str(given["dtype"])
    rows = the_rows(operands)
    dims = 1 + len(rows[0].shape)
    if any(1 + len(one.shape) != dims for one in rows):
        refuse("arrays of records with different numbers of axes", "write column[:, None] to align the records")
    compares = name in ("equal", "not_equal", *COMPARED)
    if compares or name in (*_STEPS, *_JOINING):
        must_be_of_one_record(setting, operands)
    intervals: list[Interval] = []
    for one in operands:
        if isinstance(one.fact, Rows):
            intervals.append(interval_of(one.fact))
            if not _is_number(one.fact) and not (one.fact.dtype == "category" and (compares or name == "isnan")):
                refuse(f"{name} of texts or dates")
        else:
            value = public_row(one.value, dims)
            if np.asarray(value).dtype.kind not in "biufOSU":
                refuse(f"{name} with something that is neither a number nor a text")
            if np.asarray(value).dtype.kind in "OSU":
                if not all(isinstance(one, str) for one in np.ravel(value).tolist()):
                    refuse(f"{name} with something that is neither a number nor a text")
                if name not in ("equal", "not_equal"):
                    refuse(f"{name} of texts")
                value = np.zeros(np.shape(value))
            intervals.append(bounds.constant(value))
    if name.startswith(("bitwise", "invert")) and np.dtype(dtype).kind != "b":
        refuse(f"{name} of integers, bit by bit", "use it of truth values alone")
    rule = ELEMENTWISE[name][0]
    with np.errstate(all="ignore"):
        known = compares or name in _JOINING or name == "isnan"
        decidable = np.dtype(dtype).kind != "b" or (known and _compared_exactly(operands, truths=name in _JOINING))
        found = rule(*intervals) if decidable else bounds.truth(intervals[0], *intervals[1:])
    listed = _of_categories(name, operands) if name in ("equal", "not_equal") else None
    found = found if listed is None else listed
    if np.dtype(dtype).kind not in "biuf":
        refuse(f"{name} that gives {dtype}")
    if np.dtype(dtype).kind == "f" and name not in ("fmax", "fmin"):  # NaN of NaN
        gone = np.logical_or.reduce([
            np.broadcast_to(one.missing & (one.low > one.high), found.low.shape) for one in intervals
        ])  # fmt: skip
        found = Interval(np.where(gone, np.inf, found.low), np.where(gone, -np.inf, found.high), found.missing | gone)
    if name == "subtract" and len(operands) == 2 and operands[0].number == operands[1].number:
        sure = np.isfinite(rows[0].low) & np.isfinite(rows[0].high) & ~rows[0].missing
        found = Interval.of(np.where(sure, 0.0, found.low), np.where(sure, 0.0, found.high), found.missing)
    support, exact = _support(setting, name, operands, found)
    if np.dtype(dtype).kind == "b" and (found.low > 0).all():  # true of every record: no cell says more
        support, exact = None, False
    if name not in _STAYING:
        must_fit(found, dtype)
    return Rows(rows[0].masks, *as_stored(found, dtype), dtype, None, support, exact, _norm(setting, name, operands))


def _is_number(fact: Rows) -> bool:
    return np.dtype(fact.dtype).kind in "biuf" if fact.dtype != "category" else False


def _no_dates(fact: Rows, what: str) -> None:
    if fact.dtype != "category" and not _is_number(fact):
        refuse(f"{what} of dates", "compare with public dates, or take a part of them: the year, the month")


def _compared_exactly(operands: Sequence[TracedOperand], *, truths: bool) -> bool:
    """Whether bounds decide a comparison, or what joins truth values: texts have none, and others round constants."""
    kinds = ("bool",) if truths else ("bool", "int64", "float64")
    return all(
        one.fact.dtype in kinds if isinstance(one.fact, Rows) else
        np.asarray(one.value).dtype.kind in ("b" if truths else "biuf")
        for one in operands
    )  # fmt: skip


def _of_categories(name: str, operands: Sequence[TracedOperand]) -> Interval | None:
    """Whether an entry of a category equals a public value, where that is known of all entries, or of none."""
    facts = [one.fact for one in operands if isinstance(one.fact, Rows)]
    public = [np.ravel(one.value).tolist() for one in operands if one.fact is None]
    if len(facts) != 1 or facts[0].values is None or facts[0].shape != () or len(public) != 1 or len(public[0]) != 1:
        return None
    same = [one == public[0][0] for one in facts[0].values] + [False] * bool(facts[0].missing)
    low, high = float(all(same)), float(any(same))
    return Interval.of(low, high) if name == "equal" else Interval.of(1 - high, 1 - low)


def _support(
    setting: Setting, name: str, operands: Sequence[TracedOperand], found: Interval
) -> tuple[Support | None, bool]:
    """When a value may differ from 0 (false), and whether it is true exactly then."""
    known = [(one.fact.support, one.fact.exact) for one in operands if isinstance(one.fact, Rows)]
    match name:
        case "equal" | "not_equal" | "less" | "less_equal" | "greater" | "greater_equal":
            cell = _cell(name, operands)
            column = next(one.number for one in operands if one.fact is not None)
            return (None, False) if cell is None or column is None else (((column, cell),), True)
        case "bitwise_and" | "logical_and" | "multiply":
            # NaN is true wherever it stands; of a product it stays NaN, and is known to be missing
            joins = name != "multiply"
            facts = [one.fact for one in operands if isinstance(one.fact, Rows)]
            supports = [one.support for one in facts if one.support is not None and not (joins and one.missing.any())]
            if not supports:
                return None, False
            joint = supports[0] if len(supports) == 1 else both(supports[0], supports[1])
            whole = len(supports) == 2 and all(exact for _, exact in known) and joins
            return joint, whole and not {c for c, _ in supports[0]} & {c for c, _ in supports[1]}
        case "invert" | "logical_not":
            support, exact = known[0]
            if support is not None and exact and len(support) == 1:
                other = support[0][1].complement()
                return (None, False) if other is None else (((support[0][0], other),), True)
            number, fact = operands[0].number, operands[0].fact
            assert number is not None
            if not isinstance(fact, Rows) or fact.shape != ():  # a cell is of one column
                return None, False
            return ((number, Cell(frozenset([False]))),), True
        case "negative" | "positive" | "absolute" | "square" | "sqrt" | "sign" | "floor" | "ceil" | "rint" | "trunc":
            return known[0][0], False
        case "true_divide" if isinstance(operands[0].fact, Rows):
            return known[0][0], False
        case _:
            return None, False


def _cell(name: str, operands: Sequence[TracedOperand]) -> Cell | None:
    """The cell of a column that a comparison with a public number, or a public text, picks."""
    if len(operands) != 2 or sum(one.fact is not None for one in operands) != 1:
        return None
    first = isinstance(operands[0].fact, Rows)
    fact, public = (operands[0].fact, operands[1].value) if first else (operands[1].fact, operands[0].value)
    assert isinstance(fact, Rows)
    value: Any = np.asarray(public)
    if fact.shape != () or value.size != 1 or fact.dtype in ("float32", "float16"):  # those round the number first
        return None
    value = value.reshape(-1)[0]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int | float) and abs(value) > _EXACT_FLOATS:
        return None
    if name == "equal":
        return Cell(frozenset([value]))
    if name == "not_equal":
        return Cell(frozenset([value]), missing=True, others=True)
    if not isinstance(value, int | float):
        return None
    return COMPARED[name if first else _MIRRORED[name]](float(value))


def _norm(setting: Setting, name: str, operands: Sequence[TracedOperand]) -> Norm | None:
    """x / maximum(1, |x|/C) and x * minimum(1, C/|x|) have a norm of at most C."""
    if name == "negative":
        return operands[0].fact.norm if isinstance(operands[0].fact, Rows) else None
    if name not in ("true_divide", "multiply") or len(operands) != 2:
        return None
    orders = [(0, 1)] if name == "true_divide" else [(0, 1), (1, 0)]
    for x, factor in orders:
        number, vector = operands[factor].number, operands[x]
        if number is None or not isinstance(vector.fact, Rows):
            continue
        found = _clipping(setting, number, vector.number, divides=name == "true_divide")
        if found is not None and vector.fact.shape[1:] == ():
            return found
    return None


def _clipping(setting: Setting, number: int, vector: int | None, *, divides: bool) -> Norm | None:
    """The norm to which a factor clips a vector."""
    step = setting.steps[number]
    while step.name == "index":
        assert step.operands[0].number is not None
        step = setting.steps[step.operands[0].number]
    if step.name != "elementwise" or step.parameters["name"] != ("maximum" if divides else "minimum"):
        return None
    public = [one.value for one in step.operands if one.fact is None]
    inner = [one.number for one in step.operands if one.number is not None]
    if len(public) != 1 or len(inner) != 1 or np.ndim(public[0]) != 0 or float(public[0]) != 1.0:
        return None
    quotient = setting.steps[inner[0]]
    if quotient.name == "index" and quotient.operands[0].number is not None:
        quotient = setting.steps[quotient.operands[0].number]
    norm, bound = quotient, 1.0  # max(1, |x|) is max(1, |x|/1)
    if quotient.name == "elementwise" and quotient.parameters["name"] == "true_divide":
        top, bottom = quotient.operands if divides else quotient.operands[::-1]
        if top.number is None or bottom.fact is not None or np.ndim(bottom.value) != 0 or not float(bottom.value) > 0:
            return None
        norm, bound = setting.steps[top.number], float(bottom.value)
    elif not divides:
        return None
    while True:
        if norm.name == "index" and norm.operands[0].number is not None:
            norm = setting.steps[norm.operands[0].number]
            continue
        larger = _made_larger(setting, norm)
        if larger is None:
            break
        norm = setting.steps[larger]
    if norm.name != "row norm" or norm.operands[0].number != vector:
        return None
    return Norm(int(norm.parameters["order"]), bound)


def _made_larger(setting: Setting, step: Step) -> int | None:
    """The number of what a step makes larger, or leaves: max(n, 1e-12) or n + 1e-12; None of any other step."""
    if step.name != "elementwise" or step.parameters["name"] not in ("maximum", "add"):
        return None
    public = [one.value for one in step.operands if one.fact is None]
    inner = [one.number for one in step.operands if one.number is not None]
    if len(public) != 1 or len(inner) != 1 or np.ndim(public[0]) != 0 or not float(public[0]) >= 0:
        return None
    return inner[0]


@operation("clipped by norm", "x / max(1, |x|/C) and x * min(1, C/|x|) have a norm of at most C", "finite columns")
def clipped_by_norm(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """What `elementwise` gives, where the norm bounds every entry too, and nothing is divided by 0."""
    made = elementwise(setting, operands, given)
    assert isinstance(made, Rows)
    vector = next(one.fact for one in operands if isinstance(one.fact, Rows) and one.fact.norm is None
                  and not _is_factor(setting, one))  # fmt: skip
    if made.norm is None or vector.missing.any() or not (np.isfinite(vector.low) & np.isfinite(vector.high)).all():
        return made
    size = made.norm.bound
    low, high = np.maximum(np.minimum(vector.low, 0), -size), np.minimum(np.maximum(vector.high, 0), size)
    return replace(made, low=low, high=high, missing=np.zeros(low.shape, dtype=np.bool_))


def _is_factor(setting: Setting, one: TracedOperand) -> bool:
    step = setting.steps[one.number] if one.number is not None else None
    while step is not None and step.name == "index" and step.operands[0].number is not None:
        step = setting.steps[step.operands[0].number]
    return step is not None and step.name == "elementwise" and step.parameters["name"] in ("maximum", "minimum")


@operation("row norm", "a function of the entries of one record", "l1 or l2, along the columns")
def row_norm(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The norm of each row."""
    (fact,) = the_rows(operands)
    if len(fact.shape) != 1:
        refuse("a norm of records with several axes", "reshape them to one row for each record")
    _no_single(fact, "a norm")
    size = bounds.absolute(interval_of(fact))
    with np.errstate(over="ignore"):
        high = float(np.sum(size.high))  # the l1 norm bounds the l2 norm
        high = float(np.nextafter(high * (1 + 1e-12), np.inf))
    shape = (1,) if given["keepdims"] else ()
    return Rows(fact.masks, np.zeros(shape), np.full(shape, high), np.full(shape, bool(fact.missing.any())), "float64")


@operation("select", "a record is in or out by its own entries alone", "a mask of the same records, without gaps")
def select(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The records where a mask is true."""
    rows, mask = the_rows(operands)
    if np.dtype(mask.dtype).kind != "b" or mask.shape != () or mask.missing.any():
        refuse("a selection by something else than one truth value for each record", "compare first: x[x > 0]")
    number = operands[1].number
    assert number is not None
    return replace(rows, masks=(*rows.masks, number))


@operation("sampled", "whether a draw of each record, independent of all else, is below a rate",
           "rng.random(len(x)) < q of all records of x")  # fmt: skip
def sampled(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The mask of a Poisson sample: a truth value that has a random number for each record."""
    (fact,) = the_rows(operands)
    rate = Fraction(given["rate"])
    if setting.replace:
        refuse("a Poisson sample under replace-one, of which no loss is derived", "state add-or-remove-one")
    if not 0 < rate < 1:
        refuse("a sample with a rate that is not between 0 and 1")
    return Rows(fact.masks, np.zeros(()), np.ones(()), np.zeros((), dtype=np.bool_), "bool")


@operation("isin", "a function of the entry of one record", "public values, none of them missing")
def isin(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Whether an entry is one of some values."""
    fact, values = operands[0].fact, operands[1].value
    assert isinstance(fact, Rows)
    if any(one is None or one != one for one in values):
        refuse("isin with a missing value", "use isna()")
    if fact.dtype != "category" and not all(isinstance(one, bool | int | float) for one in values):
        refuse("isin of numbers with texts, which NumPy compares as numbers or as texts, by how many there are",
               "give numbers")  # fmt: skip
    _no_dates(fact, "isin")
    must_be_of_one_record(setting, operands)
    support: Support | None = None
    if fact.shape == () and operands[0].number is not None:
        support = ((operands[0].number, Cell(frozenset(values))),)
    found = bounds.truth(interval_of(fact))
    one_number = fact.shape == () and fact.dtype in ("int64", "float64") and not fact.missing.any()
    if one_number and all(type(one) in (int, float) and abs(one) <= _EXACT_FLOATS for one in values):
        low, high = float(fact.low), float(fact.high)
        inside = any(low <= one <= high for one in values)
        found = Interval.of(float(inside and low == high), float(inside))
    elif fact.values is not None and fact.shape == ():
        listed = [one in values for one in fact.values] + [False] * bool(fact.missing.any())
        found = Interval.of(float(all(listed)), float(any(listed)))
    return Rows(fact.masks, *found, "bool", None, support, support is not None)


@operation("is missing", "a function of the entry of one record")
def is_missing(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Whether an entry is missing."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    support: Support | None = None
    if fact.shape == () and operands[0].number is not None:
        support = ((operands[0].number, Cell(frozenset(), missing=True)),)
    always = fact.missing & ((fact.low > fact.high) | np.bool_(fact.values == ()))
    found = Interval.of(np.where(always, 1.0, 0.0), np.where(fact.missing, 1.0, 0.0))
    return Rows(fact.masks, *found, "bool", None, support, support is not None)


@operation("where", "one of two functions of the same record", "a condition on the same records")
def where(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """where(condition, a, b)."""
    rows = the_rows(operands)
    condition = operands[0].fact
    if not isinstance(condition, Rows) or np.dtype(condition.dtype).kind != "b":
        refuse("where with a condition that is not of the records")
    dims = 1 + max(len(one.shape) for one in rows)
    if any(1 + len(one.shape) != dims for one in rows):
        refuse("arrays of records with different numbers of axes", "write column[:, None] to align the records")
    sides = []
    for one in operands[1:]:
        if isinstance(one.fact, Rows):
            if not _is_number(one.fact):
                refuse("where of texts", "use map")
            sides.append(interval_of(one.fact))
        else:
            value = public_row(one.value, dims)
            if np.asarray(value).dtype.kind not in "biuf":
                refuse("where of texts", "use map")
            sides.append(bounds.constant(value))
    found = bounds.hull(*sides)
    if condition.shape == () and condition.low == condition.high:  # it holds of every record, or of none
        found = Interval.of(*(np.broadcast_to(one, found.low.shape) for one in sides[0 if condition.high > 0 else 1]))
    shape = np.broadcast_shapes(found.low.shape, condition.shape)
    found = Interval.of(*(np.broadcast_to(one, shape) for one in found))
    supports = [one.fact.support if isinstance(one.fact, Rows) else None for one in operands]
    support: Support | None = None
    zero = [one.fact is None and bool(np.all(np.asarray(one.value) == 0)) for one in operands[1:]]
    if zero[1]:
        known = [one for one in supports[:2] if one is not None]
        support = None if not known else known[0] if len(known) == 1 else both(known[0], known[1])
    elif zero[0] and supports[0] is not None and condition.exact and len(supports[0]) == 1:
        other = supports[0][0][1].complement()
        support = None if other is None else ((supports[0][0][0], other),)
    found = as_stored(must_fit(found, given["dtype"]), given["dtype"])
    return Rows(rows[0].masks, *found, given["dtype"], None, support)


@operation("index", "picks entries of the row of each record", "a public index of columns")
def index(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """x[:, key]."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    key = key_from_json(given["key"])
    return replace(fact, low=np.asarray(fact.low[key]), high=np.asarray(fact.high[key]),
                   missing=np.asarray(fact.missing[key]), norm=None)  # fmt: skip


def key_to_json(key: Any) -> Any:
    """A public index as JSON values."""
    if isinstance(key, tuple):
        return {"tuple": [key_to_json(one) for one in key]}
    if isinstance(key, slice):
        return {"slice": [None if one is None else int(one) for one in (key.start, key.stop, key.step)]}
    if key is None:
        return {"new": True}
    if key is Ellipsis:
        return {"all": True}
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return int(key)
    array = np.asarray(key)
    if array.dtype.kind not in "biu":
        refuse("an index that is no number", "index by integers or slices")
    return {"array": array.tolist(), "bool": array.dtype.kind == "b"}


def key_from_json(given: Any) -> Any:
    """The index that `key_to_json` wrote."""
    if isinstance(given, int):
        return given
    if "tuple" in given:
        return tuple(key_from_json(one) for one in given["tuple"])
    if "slice" in given:
        return slice(*given["slice"])
    if "array" in given:
        return np.array(given["array"], dtype=np.bool_ if given["bool"] else np.int64)
    return None if "new" in given else Ellipsis


@operation("astype", "a function of the entry of one record", "integers that fit, without gaps")
def astype(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Another dtype."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    kind = np.dtype(given["dtype"])
    if not _is_number(fact) or kind.kind not in "biuf":
        refuse(f"{fact.dtype} converted to {kind}", "map the categories to numbers first")
    if kind.kind != "f":
        must_be_of_one_record(setting, operands)
    found = interval_of(fact)
    if kind.kind == "b":
        support = None if fact.missing.any() else fact.support  # NaN is true, wherever it stands
        return Rows(fact.masks, *bounds.truth(found), "bool", None, support)
    if kind.kind in "iu":
        if found.missing.any() or not (np.isfinite(found.low) & np.isfinite(found.high)).all():
            refuse("integers made of numbers that may be missing or infinite", "fill and clip them first")
        found = Interval.of(np.trunc(found.low), np.trunc(found.high))
    return Rows(fact.masks, *as_stored(must_fit(found, str(kind)), str(kind)), str(kind), None, fact.support,
                norm=fact.norm if kind == np.float64 else None)  # fmt: skip


@operation("fill", "a function of the entry of one record")
def fill(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A public number in place of what is missing."""
    fact, value = operands[0].fact, operands[1].value
    assert isinstance(fact, Rows)
    if not _is_number(fact):
        label = np.asarray(value)
        if fact.values is None or label.dtype.kind not in "OSU" or label.size != 1:
            refuse("texts filled", "fill them with a text, or leave the missing ones out: dropna()")
        return replace(fact, missing=np.zeros(fact.shape, dtype=np.bool_), values=(*fact.values, label.item()))
    filled = bounds.hull(interval_of(fact), bounds.constant(value))
    low = np.where(fact.missing, filled.low, fact.low)
    high = np.where(fact.missing, filled.high, fact.high)
    gaps = fact.missing & bool(np.any(np.isnan(np.asarray(value, dtype=np.float64))))
    found = Interval.of(low, high, gaps)
    return Rows(fact.masks, *found, given["dtype"], None, fact.support if np.all(np.asarray(value) == 0) else None)


@operation("fill null", "a function of the entry of one record; NaN stays", "a column of floats in polars")
def fill_null(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A public number in place of null, where an entry may be NaN too."""
    fact, value = operands[0].fact, float(operands[1].value)
    assert isinstance(fact, Rows)
    if not _is_number(fact) or not math.isfinite(value):
        refuse("null filled with something that is no finite number")
    filled = bounds.hull(interval_of(fact), bounds.constant(value))
    found = Interval.of(np.where(fact.missing, filled.low, fact.low), np.where(fact.missing, filled.high, fact.high),
                        fact.missing)  # fmt: skip
    return Rows(fact.masks, *found, "float64")


@operation("fill nan", "a function of the entry of one record", "of a column whose null was filled just before")
def fill_nan(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A public number in place of NaN, where no entry is null any more."""
    number = operands[0].number
    assert number is not None
    if setting.steps[number].name != "fill null":
        refuse("fill_nan where null may be left", "write .fill_null(0).fill_nan(0)")
    if not math.isfinite(float(operands[1].value)):
        refuse("NaN filled with something that is no finite number")
    return fill(setting, operands, given)


@operation("drop missing", "records were selected by not being missing there", "a selection by ~isna() of the column")
def drop_missing(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """What is known of a column of records that were selected by not being missing in it."""
    fact, number = operands[0].fact, operands[0].number
    assert isinstance(fact, Rows)
    assert number is not None
    step = setting.steps[number]
    column, mask = (one.number for one in step.operands) if step.name == "select" else (None, None)
    if mask is None or not _tests_for_gaps(setting, mask, column):
        refuse("gaps that are taken for left out")
    return replace(fact, missing=np.zeros(fact.shape, dtype=np.bool_))


def _tests_for_gaps(setting: Setting, mask: int, column: int | None) -> bool:
    """Whether a mask is false wherever a column is missing."""
    step = setting.steps[mask]
    inner = [one.number for one in step.operands]
    if step.name != "elementwise":
        return False
    if step.parameters["name"] in ("bitwise_and", "logical_and"):
        return any(one is not None and _tests_for_gaps(setting, one, column) for one in inner)
    if step.parameters["name"] not in ("invert", "logical_not") or inner[0] is None:
        return False
    tested = setting.steps[inner[0]]
    return tested.name == "is missing" and tested.operands[0].number == column


@operation("remainder", "a function of the entry of one record, from 0 to the divisor", "a public divisor > 0")
def remainder(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """x % divisor, which has the sign of the divisor; NaN of what is infinite."""
    fact, divisor = operands[0].fact, float(operands[1].value)
    assert isinstance(fact, Rows)
    missing = fact.missing | np.isinf(fact.low) | np.isinf(fact.high)
    if not _is_number(fact) or not divisor > 0:
        refuse("a remainder by something else than a positive number")
    must_be_of_one_record(setting, operands)
    least, most = np.zeros(fact.shape), np.full(fact.shape, divisor)
    if fact.dtype == "float64":  # a number from 0 to less than the divisor stays as it is
        stays = (fact.low >= 0) & (fact.high < divisor)
        least, most = np.where(stays, fact.low, least), np.where(stays, fact.high, most)
        if fact.shape == () and np.isfinite(fact.low) and np.isfinite(fact.high) and not stays:
            ends = [Fraction(float(fact.low)), Fraction(float(fact.high))]
            periods = [math.floor(one / Fraction(divisor)) for one in ends]
            if periods[0] == periods[1] and ends[0] <= ends[1]:  # it grows within a period; rounded outward
                rest = [one - periods[0] * Fraction(divisor) for one in ends]
                least, most = np.asarray(bounds.rounded_down(rest[0])), np.asarray(-bounds.rounded_down(-rest[1]))
    found = Interval.of(least, most, missing & (np.dtype(fact.dtype).kind == "f"))
    return Rows(fact.masks, *must_fit(found, given["dtype"]), given["dtype"])


@operation("map", "a function of the entry of one record", "a public dictionary")
def mapped(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A dictionary applied to each entry; what it does not hold is missing."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    table: dict[Any, Any] = dict(operands[1].value)
    if any(key is None or key != key for key in table):
        refuse("map of what is missing", "leave that key out, and fill the gaps: .fillna(0)")
    _no_dates(fact, "map")
    must_be_of_one_record(setting, operands)
    possible = fact.values if fact.values is not None else _whole_numbers_between(fact)
    whole = possible is not None and all(one in table for one in possible) and not fact.missing.any()
    results = list(table.values())
    numbers_alone = bool(results) and all(isinstance(one, int | float) for one in results)
    if fact.values is not None and numbers_alone:
        results = [table[one] for one in fact.values if one in table] or results[:1]
    if all(isinstance(one, str) for one in results):
        kept = tuple(dict.fromkeys(results))
        zeros = np.zeros(fact.shape)
        return Rows(fact.masks, zeros, zeros, np.full(fact.shape, not whole), "category", kept)
    if not all(isinstance(one, int | float) for one in results) or not results:
        refuse("map to values that are neither all numbers nor all texts")
    numbers = [float(one) for one in results]
    if any(math.isnan(one) for one in numbers):
        refuse("map to NaN", "leave those keys out")
    found = Interval.of(np.full(fact.shape, min(numbers)), np.full(fact.shape, max(numbers)), not whole)
    return Rows(fact.masks, *found, given["dtype"])


def _whole_numbers_between(fact: Rows) -> range | None:
    """The values that a column of whole numbers may have; None where it is another column, or they are many."""
    bounded = fact.dtype == "int64" and fact.shape == () and 0 <= float(fact.high - fact.low) <= _MOST_LISTED
    return range(int(fact.low), int(fact.high) + 1) if bounded else None


@operation("digitize", "a function of the entry of one record", "public edges, increasing; no gaps")
def digitized(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """The number of the bin of each entry."""
    fact = operands[0].fact
    assert isinstance(fact, Rows)
    _no_dates(fact, "bins")
    if fact.missing.any():
        refuse("bins of numbers that may be missing", "fill them first")
    must_be_of_one_record(setting, operands)
    edges, right = np.asarray(operands[1].value, dtype=np.float64), bool(given["right"])
    low, high = (np.asarray(np.digitize(end, edges, right)) for end in (fact.low, fact.high))  # it never falls
    return Rows(fact.masks, *Interval.of(low, high), "int64")


@operation("along the row", "a function of the entries of one record", "sum, mean, max, min along the columns")
def along_the_row(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """A sum, mean, maximum or minimum of the entries of each record."""
    (fact,) = the_rows(operands)
    axis, name = int(given["axis"]), str(given["name"])
    if not fact.shape or not _is_number(fact):
        refuse(f"{name} along the rows of one column")
    if name in ("sum", "mean"):
        _no_single(fact, f"a {name}")
    entries = [Interval(*(np.take(one, i, axis=axis) for one in interval_of(fact))) for i in range(fact.shape[axis])]
    joined = {"sum": bounds.add, "mean": bounds.add, "max": bounds.maximum, "min": bounds.minimum}[name]
    found = entries[0]
    for one in entries[1:]:
        found = joined(found, one)
    if name == "mean":
        found = bounds.divide(found, bounds.constant(len(entries)))
    if given["keepdims"]:
        found = Interval.of(*(np.expand_dims(one, axis) for one in found))
    return Rows(fact.masks, *must_fit(found, given["dtype"]), given["dtype"])


@operation("row times matrix", "a function of the entries of one record", "a public matrix or vector")
def row_times_matrix(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """x @ W of public W."""
    (fact,) = the_rows(operands)
    matrix = np.asarray(operands[1].value, dtype=np.float64)
    if len(fact.shape) != 1 or matrix.ndim not in (1, 2) or matrix.shape[0] != fact.shape[0]:
        refuse("a product of records with a public array of that shape")
    _no_single(fact, "a product")
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    found = Interval.of(np.zeros(wide.shape[1]), np.zeros(wide.shape[1]))
    for i in range(wide.shape[0]):
        entry = Interval(*(np.broadcast_to(one[i], wide.shape[1:]) for one in interval_of(fact)))
        found = bounds.add(found, bounds.multiply(entry, bounds.constant(wide[i])))
    if matrix.ndim == 1:
        found = Interval.of(*(one[0] for one in found))
    return Rows(fact.masks, *must_fit(found, given["dtype"]), given["dtype"])


@operation("columns", "the entries of one record side by side", "columns of the same records")
def columns(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
    """Columns side by side, along the first axis of a row."""
    rows = the_rows(operands)
    if len(rows) != len(operands) or not all(_is_number(one) for one in rows):
        refuse("columns beside something else than columns of numbers")
    parts = [interval_of(one) for one in rows]
    if given["new"]:
        parts = [Interval.of(*(entry[None] for entry in one)) for one in parts]
    parts = [Interval.of(*(np.atleast_1d(entry) for entry in one)) for one in parts]
    found = Interval.of(*(np.concatenate([part[i] for part in parts]) for i in range(3)))
    return Rows(rows[0].masks, *as_stored(must_fit(found, given["dtype"]), given["dtype"]), given["dtype"])
