"""Expressions of polars: each is a tree, which is read and carried out on columns that are followed.

An expression of polars (``pl.col("age").clip(0, 90).sum()``) holds no data. polars writes it as a tree, and each node
of it that is covered is one operation on followed columns; any other node is refused by its name.

Missing values. A column that is not nullable in the schema holds neither null nor NaN. A nullable column of floats may
hold both, and polars treats them differently (a sum leaves out null and not NaN; NaN is above every number), so nothing
but ``fill_null(value).fill_nan(value)`` is covered of it before they are filled. Whole numbers, truth values,
categories and dates have null alone. What is compared with null is null, and neither true nor false: a condition that
selects records, counts them or stands in ``when`` takes it for false, through ``&`` and ``|`` too, as p & q and p | q
are true exactly where they are with false in place of null. Anywhere else, under ``~`` above all, it is not covered.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import datetime
import io
import itertools
import json
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

from dpverdict.audit.tables.frames import library
from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    applied,
    counted,
    dtype_of,
    fact_of,
    is_rows,
    is_total,
    no,
    raw,
)
from dpverdict.audit.tracing.handles.frames.dates import compared, of_dates, one_of, part
from dpverdict.audit.tracing.handles.frames.frame_or_series import SEE
from dpverdict.audit.tracing.handles.functions import selected
from dpverdict.audit.tracing.handles.released import Followed
from dpverdict.audit.tracing.handles.tape import RunTape
from dpverdict.audit.tracing.rules.facts import Rows
from dpverdict.audit.tracing.rules.statistics import counts_records

pl: Final[Any] = library("polars", "the table of the schema is a frame of polars")
Columns: TypeAlias = "dict[str, FollowedArray]"

BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Plus": np.add, "Minus": np.subtract, "Multiply": np.multiply, "TrueDivide": np.true_divide, "Gt": np.greater,
    "GtEq": np.greater_equal, "Lt": np.less, "LtEq": np.less_equal, "Eq": np.equal, "NotEq": np.not_equal,
    "FloorDivide": np.floor_divide, "Modulus": np.remainder,
    "And": np.bitwise_and, "LogicalAnd": np.bitwise_and, "Or": np.bitwise_or, "LogicalOr": np.bitwise_or,
}  # fmt: skip
"""Binary operations of polars, each with the function of NumPy that does the same where nothing is missing."""
_COMPARISONS: Final = ("Gt", "GtEq", "Lt", "LtEq", "Eq", "NotEq")
_ARITHMETIC: Final = ("Plus", "Minus", "Multiply", "TrueDivide", "FloorDivide", "Modulus")
_OF_STATISTICS: Final = ("Plus", "Minus", "Multiply", "TrueDivide")
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "Abs": np.absolute, "Negate": np.negative, "Floor": np.floor, "Ceil": np.ceil, "Exp": np.exp, "Log1p": np.log1p,
    "Sign": np.sign, "Sqrt": np.sqrt, "Cos": np.cos, "Sin": np.sin, "Tanh": np.tanh,
}  # fmt: skip
"""Functions of one column."""
_KINDS: Final = {"Float64": "float64", "Int64": "int64"}
_PARTS: Final = {
    "Year": "year", "Quarter": "quarter", "Month": "month", "Week": "week", "Day": "day", "OrdinalDay": "dayofyear",
    "WeekDay": "weekday from 1", "Hour": "hour", "Minute": "minute", "Second": "second",
}  # fmt: skip
"""Parts of dates, by the names of nodes."""
_METHODS: Final = {"OrdinalDay": "ordinal_day", "WeekDay": "weekday"}


class Tree:
    """Carries out expressions on the columns of one frame.

    Args:
        tape: of the run.
        columns: of the frame.
    """

    def __init__(self, tape: RunTape, columns: Columns) -> None:
        self._dpv_tape: RunTape = tape
        self.columns: Columns = columns

    def of(self, expression: Any) -> tuple[str, Any]:
        """The name of an expression and what it gives: a column, a statistic or a public value."""
        node = json.loads(expression.meta.serialize(format="json"))
        return str(expression.meta.output_name(raise_if_undetermined=False) or "literal"), self.carried_out(node)

    def carried_out(self, node: Any) -> Any:
        """What a node gives."""
        if node == "Len":
            return counted(self._any())
        if not isinstance(node, dict) or len(node) != 1:
            self._no(str(node)[:40])
        ((kind, inner),) = node.items()
        match kind:
            case "Column":
                if str(inner) not in self.columns:
                    raise KeyError(inner)
                return self.columns[str(inner)]
            case "Alias":
                return self.carried_out(inner[0])
            case "Literal":
                return self._public(node)
            case "Agg":
                ((name, argument),) = inner.items()
                return self._aggregated(str(name), argument)
            case "BinaryExpr":
                return self._binary(str(inner["op"]), self.carried_out(inner["left"]), self.carried_out(inner["right"]))
            case "Ternary":
                return self._ternary(inner)
            case "Cast":
                return self._cast(inner)
            case "Filter":
                return selected(self._rows(self.carried_out(inner["input"])), self.condition(inner["by"]))
            case "Function":
                return self._function(inner["function"], inner["input"])
            case _:
                self._no(str(kind))

    def _no(self, what: str, remedy: str = SEE) -> NoReturn:
        self._dpv_tape.refuse(f"{what} in an expression of polars", remedy)

    def _any(self) -> FollowedArray:
        if not self.columns:
            self._no("a frame without columns")
        return next(iter(self.columns.values()))

    def _public(self, node: Any) -> Any:
        """The value of a node without columns."""
        written = io.BytesIO(json.dumps(node).encode())
        series = pl.select(pl.Expr.deserialize(written, format="json")).to_series()
        if len(series) != 1:
            self._no("a public column")
        value = series.item()
        if value is None:
            self._no("null", "give a number")
        kind = series.dtype.inner if isinstance(series.dtype, pl.List) else series.dtype
        if isinstance(kind, pl.Datetime) and kind.time_unit == "ns":
            self._no("a public time in nanoseconds", "give a datetime.datetime")
        return list(value) if isinstance(value, pl.Series) else value

    def _rows(self, value: Any) -> FollowedArray:
        if not is_rows(value):
            self._no("a statistic, or a public value, where a column is needed")
        found: FollowedArray = value
        return found

    def _whole(self, value: Any) -> Any:
        """A value in which nothing is missing."""
        if is_rows(value) and gaps(value):
            texts = getattr(fact_of(value), "values", None) is not None
            self._no("a nullable column", 'fill it first: .fill_null("missing")' if texts else
                     "fill it first: .fill_null(0), and of floats .fill_null(0).fill_nan(0)")  # fmt: skip
        return value

    def _mask(self, value: Any) -> FollowedArray:
        mask = self._whole(self._rows(value))
        if mask.dtype.kind != "b":
            self._no("a filter that is no truth value")
        found: FollowedArray = mask
        return found

    def condition(self, node: Any) -> FollowedArray:
        """The records for which a node is true, and not false or null."""
        match node:
            case {"Alias": [inner, *_]}:
                return self.condition(inner)
            case {"BinaryExpr": {"op": "And" | "LogicalAnd" | "Or" | "LogicalOr" as op, "left": left, "right": right}}:
                found: FollowedArray = BINARY[op](self.condition(left), self.condition(right))
                return found
            case {"BinaryExpr": {"op": str(op), "left": left, "right": right}} if op in _COMPARISONS:
                return self._true(lambda *sides: self._binary(op, *sides), left, right)
            case {"Function": {"function": {"Boolean": {"IsIn": _} | {"IsBetween": _} as what}, "input": inputs}}:
                return self._true(lambda first, *others: self._truth(what, first, list(others)), *inputs)
            case {"Column": _}:
                return self._mask(self._filled_where_null(self.carried_out(node)))
            case _:
                return self._mask(self.carried_out(node))

    def _true(self, of: Callable[..., Any], *nodes: Any) -> FollowedArray:
        """Where what is made of columns is true; with null in one of them, it is not."""
        values = [self.carried_out(one) for one in nodes]
        found = self._mask(of(*[self._filled_where_null(one) for one in values]))
        for one in values:
            if is_rows(one) and gaps(one):
                found = found & self.present_or_not(one)
        return found

    def _filled_where_null(self, value: Any) -> Any:
        """Any value in place of null, where a column has no NaN beside it; what is not covered stays as it is."""
        fact = fact_of(value) if is_rows(value) and gaps(value) else None
        if not isinstance(fact, Rows) or of_dates(value):
            return value
        if fact.dtype == "category" and fact.values:
            return self._filled(value, fact.values[0])
        return self._filled(value, False if fact.dtype == "bool" else 0) if fact.dtype in ("bool", "int64") else value

    def _binary(self, name: str, left: Any, right: Any) -> Any:
        if name not in BINARY:
            self._no(name)
        left, right = self._whole(left), self._whole(right)
        if of_dates(left) or of_dates(right):
            return compared(BINARY[name].__name__, left, right, _as_date)
        if is_total(left) or is_total(right):
            kinds = {str(one.dtype) for one in (left, right) if isinstance(one, FollowedArray)}
            small = any(is_total(one) and in_32_bits(one) for one in (left, right))
            if name not in _OF_STATISTICS or small or len(kinds) > 1 or not kinds <= set(_KINDS.values()):
                self._no(f"{name} of a statistic, which may wrap around where polars counts in 32 bits",
                         "take .item() of it first, or .cast(pl.Float64)")  # fmt: skip
        elif name in _ARITHMETIC:
            for one in (left, right):
                if np.asarray(raw(one)).dtype.name not in ("int64", "float64"):
                    self._no(f"{name} of something else than 64-bit numbers", ".cast(pl.Float64) or .cast(pl.Int64)")
            if name in ("FloorDivide", "Modulus"):
                self._must_be_whole_and_positive(name, left, right)
        if not isinstance(left, FollowedArray) and not isinstance(right, FollowedArray):
            self._no(f"{name} of public values", "compute it before")
        return BINARY[name](left, right)

    def _must_be_whole_and_positive(self, name: str, left: Any, right: Any) -> None:
        fact = fact_of(left) if isinstance(left, FollowedArray) else None
        known = isinstance(fact, Rows) and fact.dtype == "int64" and fact.low.min() >= 0
        if not known or type(right) is not int or not 0 < right < 2**31:
            self._no(f"{name} of something else than whole numbers from 0 on and a public whole number > 0",
                     "clip it first, and cast it to pl.Int64")  # fmt: skip

    def _aggregated(self, name: str, argument: Any) -> Any:
        if name == "Count":
            array, nulls = self._rows(self.carried_out(argument["input"])), bool(argument["include_nulls"])
            if nulls or not gaps(array):
                return counted(array)
            if array.dtype.kind == "f" and not _whole_numbers(array):
                self._no("count of a nullable column of floats", "fill it first, or count all records: pl.len()")
            value = np.int64(np.count_nonzero(~_missing(raw(array))))
            return applied("count", [array], value, each=False, present=True)
        argument = argument["input"] if isinstance(argument, dict) and set(argument) > {"input"} else argument
        if name == "Sum":
            return np.sum(self.to_be_summed(argument))
        if name == "Mean":
            return np.mean(self._whole(self._rows(self.carried_out(argument))))
        self._no(name.lower(), "sums, counts, and means over a public number of records are covered")

    def to_be_summed(self, node: Any) -> FollowedArray:
        """A column of which the sum is covered, by its node or as it is: where it is null, it adds nothing."""
        if _is_condition(node):
            return self.condition(node)
        array = self._rows(node if isinstance(node, FollowedArray) else self.carried_out(node))
        if array.dtype.kind in "iu" and array.dtype.itemsize == 4:
            self._no("sum of 32-bit whole numbers, which wraps around", ".cast(pl.Int64) first")
        if gaps(array) and (_whole_numbers(array) or array.dtype.kind == "b"):
            array = self._filled(array, 0)
        if gaps(array):
            self._no("sum of a nullable column of floats, which may hold NaN", ".fill_null(0).fill_nan(0) first")
        return array

    def present_or_not(self, array: FollowedArray) -> FollowedArray:
        """Whether an entry is no null."""
        found: FollowedArray = self._truth({"": "IsNotNull"}, array, [])
        return found

    def _ternary(self, inner: Mapping[str, Any]) -> Any:
        filled = _fill_nan_of(inner)
        if filled is not None:
            return self._without_nan(self._rows(self.carried_out(filled)), self.carried_out(inner["falsy"]))
        sides = [self._whole(self.carried_out(inner[one])) for one in ("truthy", "falsy")]
        if any(is_total(one) for one in sides):
            self._no("when on a statistic", "add noise first")
        kinds = {np.asarray(raw(one)).dtype.name for one in sides if isinstance(one, FollowedArray)}
        if not kinds <= {"int64", "float64"}:
            self._no("when of something else than 64-bit numbers", ".cast(pl.Float64) first")
        found = np.where(self.condition(inner["predicate"]), *sides)
        if kinds:
            return found
        written = [io.BytesIO(json.dumps(inner[one]).encode()) for one in ("truthy", "falsy")]
        dtype = str(pl.select(pl.when(True).then(pl.Expr.deserialize(written[0], format="json")).otherwise(
            pl.Expr.deserialize(written[1], format="json"))).to_series().dtype)  # fmt: skip
        if dtype == "Int32":  # two whole numbers alone
            return found.astype(np.int32)
        if dtype not in _KINDS:
            self._no(f"when of numbers in {dtype}", "cast it to pl.Float64 or pl.Int64")
        return found.astype(_KINDS[dtype])

    def _cast(self, inner: Mapping[str, Any]) -> Any:
        kind = inner["dtype"]
        name = kind.get("Literal") if isinstance(kind, dict) else kind
        if name == "Date" and isinstance(inner["expr"], dict) and set(inner["expr"]) <= {"Alias", "Literal"}:
            date = self.carried_out(inner["expr"])
            return date.date() if isinstance(date, datetime.datetime) else date
        if name not in _KINDS:
            self._no(f"cast to {name}", "cast to pl.Float64 or pl.Int64")
        value = self._whole(self.carried_out(inner["expr"]))
        if not isinstance(value, FollowedArray):
            self._no("cast of a public value")
        if of_dates(value):
            self._no("cast of dates", "take a part of them: .dt.year(), .dt.month()")
        return value.astype(_KINDS[name])

    def _function(self, function: Any, inputs: list[Any]) -> Any:
        name, given = (function, {}) if isinstance(function, str) else next(iter(function.items()))
        given = given if isinstance(given, dict) else {"": given}
        first, *others = [self.carried_out(one) for one in inputs]
        if name == "FillNull":
            return self._filled(first, *others) if is_rows(first) else first
        if name == "FillNan":
            return self._without_nan(self._rows(first), *others)
        if name == "Boolean":
            return self._truth(given, first, others)
        if name == "DropNulls":
            return self.present(self._rows(first))
        first, others = self._whole(first), [self._whole(one) for one in others]
        if is_total(first):
            self._no(f"{name} of a statistic", "take .item() of it, and add noise first")
        if name == "TemporalExpr" and given.get("") in _PARTS and of_dates(first) and not others:
            node = str(given[""])
            part_of = getattr(pl.Series(raw(first)).dt, _METHODS.get(node, node.lower()))
            return part(first, _PARTS[node], part_of().to_numpy())
        if name == "Cut" and not others:
            return self._cut(self._rows(first), given)
        if name in ("ReplaceStrict", "Replace") and len(others) >= 2 and not any(map(_followed, others)):
            return self._replaced(str(name), self._rows(first), others, given)
        if name == "Clip" and not any(isinstance(one, FollowedArray) for one in others):
            low = others[0] if given["has_min"] else None
            high = others[-1] if given["has_max"] else None
            bottom, top = (one if one is None else np.asarray(one, first.dtype) for one in (low, high))
            if any(one is not None and (one.ndim or one != one) for one in (bottom, top)):
                self._no("clip with several bounds, or with NaN", "give one number for each side")
            if bottom is not None and top is not None and bottom > top:
                self._no("clip with a lower bound above the upper one", "give the smaller one first")
            return np.clip(first, bottom, top)
        if name == "Pow":
            if given.get("") == "Sqrt":
                return np.sqrt(first)
            if given.get("") == "Generic" and first.dtype == np.float64 and not isinstance(others[0], FollowedArray):
                return np.power(first, others[0])
        if name == "Log" and given.get("", 0) in (np.e, 0) and others in ([], [np.e]):
            return np.log(first.astype(np.float64))
        if name == "Round" and given.get("decimals") == 0 and given.get("mode") == "HalfToEven":
            return np.rint(first)
        if name == "Pow" and first.dtype == np.int64 and type(others[0]) is int and 1 <= others[0] <= 4:
            return np.power(first, others[0])
        name = str(given.get("")) if name == "Trigonometry" else name
        if name in UNARY and not others:
            if first.dtype.name not in ("int64", "float64"):
                self._no(f"{name} of something else than 64-bit numbers", ".cast(pl.Float64) first")
            if first.dtype.kind == "i" and name in ("Floor", "Ceil"):
                return first
            return UNARY[name](first)
        self._no(str(name))

    def _cut(self, array: FollowedArray, given: Mapping[str, Any]) -> FollowedArray:
        """The interval that an entry lies in, by its public label."""
        breaks, labels, closed = [float(one) for one in given["breaks"]], given["labels"], bool(given["left_closed"])
        if given["include_breaks"] or not breaks or not all(map(math.isfinite, breaks)) or any(
            not a < b for a, b in itertools.pairwise(breaks)
        ):  # fmt: skip
            self._no("cut with breaks that do not increase, or that are included", "give public breaks, in order")
        if array.dtype.name not in ("int64", "float64"):
            self._no("cut of something else than 64-bit numbers", ".cast(pl.Float64) first")
        shown = labels
        if labels is None:
            inside = [-math.inf, *breaks] if closed else [*breaks, math.inf]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shown = pl.Series(inside, dtype=pl.Float64).cut(breaks, left_closed=closed).cast(pl.String).to_list()
        if len(shown) != len(breaks) + 1 or len(set(shown)) < len(shown):
            self._no("cut with another number of labels than intervals, or a label twice")
        places: Any = np.digitize(array, breaks, right=not closed)
        mapping = dict(enumerate(shown))
        value = np.array([mapping[int(one)] for one in raw(places).tolist()], dtype=object)
        return applied("map", [places, mapping], value, dtype="category")

    def _replaced(self, name: str, array: FollowedArray, others: list[Any], given: Mapping[str, Any]) -> Any:
        """Public values in place of those that the schema lists, each by its own."""
        old, new = ([one] if not isinstance(one, list) else one for one in others[:2])
        new = new * len(old) if len(new) == 1 else new
        fact, table = fact_of(array), dict(zip(old, new, strict=True))
        kind = given.get("return_dtype")
        kind = kind.get("Literal") if isinstance(kind, dict) else kind
        listed = fact.values if isinstance(fact, Rows) else None
        if listed is None:
            self._no(f"{name} of a column whose values the schema does not list", "use when, then and otherwise")
        if type(others[1]) is int:  # a number that stands alone is in 32 bits
            self._no(f"{name} by one whole number for all, which is in 32 bits", "give lists of old and new values")
        if len(others) > 2 and not isinstance(others[2], list):
            table = {one: table.get(one, others[2]) for one in listed}
        elif name == "Replace":
            table = {one: table.get(one, one) for one in listed}
        if not set(listed) <= set(table):
            self._no("replace_strict without a value that the schema lists, which is an error where it occurs",
                     "give every value, or default=")  # fmt: skip
        results = [table[one] for one in listed]
        texts, whole = (all(type(one) is kind for one in results) for kind in (str, int))
        numbers = all(type(one) in (int, float) for one in results)
        if not (texts or numbers) or kind not in (None, "String" if texts else "Float64", *(("Int64",) * whole)):
            self._no("replaced by something else than texts, or 64-bit numbers", "return_dtype=pl.Int64 or pl.Float64")
        dtype = "category" if texts else "int64" if whole and kind != "Float64" else "float64"
        value = np.array([table[one] for one in raw(array).tolist()], dtype=object if texts else dtype)
        return applied("map", [array, {one: table[one] for one in listed}], value, dtype=dtype)

    def _truth(self, given: Mapping[str, Any], first: Any, others: list[Any]) -> Any:
        kind = given.get("") or next(iter(given))
        more = given.get(kind) if isinstance(given.get(kind), dict) else {}
        if kind in ("IsNull", "IsNotNull"):
            array = self._rows(first)
            if gaps(array) and array.dtype.kind == "f" and not _whole_numbers(array):
                self._no(f"{kind} of a nullable column of floats", "fill it first: .fill_null(0).fill_nan(0)")
            found = applied("is missing", [array], _missing(raw(array)))
            return found if kind == "IsNull" else np.logical_not(found)
        first = self._whole(first)
        if kind == "Not":
            return np.logical_not(self._mask(first))
        if kind == "IsIn" and len(others) == 1 and isinstance(others[0], list):
            values = others[0]
            if of_dates(first):
                return one_of(first, values, _as_date)
            return applied("isin", [self._rows(first), values], np.isin(raw(first), values))
        if kind == "IsBetween" and not any(isinstance(one, FollowedArray) for one in others):
            closed = str(more.get("closed", "Both")) if isinstance(more, dict) else "Both"
            above = self._binary("GtEq" if closed in ("Both", "Left") else "Gt", first, others[0])
            return above & self._binary("LtEq" if closed in ("Both", "Right") else "Lt", first, others[1])
        self._no(str(kind))

    # missing values ---------------------------------------------------------------------------------------------------

    def _filled(self, array: FollowedArray, *values: Any) -> FollowedArray:
        """A public value in place of null."""
        if not values or isinstance(values[0], Followed) or of_dates(array):
            self._no("fill_null with what stands beside it, or of dates", "fill with a public value, or drop_nulls()")
        if not gaps(array):
            return array
        (value,) = values
        fact = fact_of(array)
        whole = _whole_numbers(array) or (isinstance(fact, Rows) and fact.dtype in ("category", "bool"))
        found = np.where(_missing(raw(array)), value, raw(array))
        if isinstance(fact, Rows) and fact.dtype != "category":
            if whole and float(value) != int(value):
                self._no("whole numbers filled with another number")
            found = found.astype(fact.dtype if whole else np.float64)
            return applied("fill" if whole else "fill null", [array, np.asarray(value)], found, dtype=dtype_of(found))
        return applied("fill", [array, value], found, dtype="category")

    def _without_nan(self, array: FollowedArray, value: Any) -> FollowedArray:
        """A public number in place of NaN."""
        if isinstance(value, Followed):
            self._no("fill_nan with what stands beside it", "fill with a public value")
        if not gaps(array):
            return array
        found = np.where(_missing(raw(array)), value, raw(array)).astype(np.float64)
        return applied("fill nan", [array, np.asarray(value, dtype=np.float64)], found, dtype="float64")

    def present(self, array: FollowedArray) -> FollowedArray:
        """The records where a column is no null."""
        if not gaps(array):
            return array
        found = selected(array, self._truth({"": "IsNotNull"}, array, []))
        return applied("drop missing", [found], raw(found))


def _fill_nan_of(inner: Mapping[str, Any]) -> Any:
    """The column of what ``fill_nan`` writes: when it is no NaN, or null, itself; None for another tree."""
    match inner["predicate"]:
        case {"BinaryExpr": {"op": "Or", "left": {"Function": left}, "right": {"Function": right}}}:
            known = left["function"] == {"Boolean": "IsNotNan"} and right["function"] == {"Boolean": "IsNull"}
            return inner["truthy"] if known and left["input"] == right["input"] == [inner["truthy"]] else None
        case _:
            return None


def _is_condition(node: Any) -> bool:
    """Whether a node compares, or joins what compares."""
    match node:
        case {"BinaryExpr": {"op": str(op)}}:
            return op in (*_COMPARISONS, "And", "LogicalAnd", "Or", "LogicalOr")
        case {"Function": {"function": {"Boolean": {"IsIn": _} | {"IsBetween": _}}}}:
            return True
        case _:
            return False


def _followed(value: Any) -> bool:
    return isinstance(value, FollowedArray)


def _as_date(array: FollowedArray, value: Any) -> Any:
    if not isinstance(value, datetime.date):
        no(array, "dates compared with something else", "compare with pl.date(2024, 12, 31), or datetime.date")
    if isinstance(value, datetime.datetime) and str(np.asarray(raw(array)).dtype) == "datetime64[ns]":
        no(array, "nanoseconds compared with a time, which polars rounds to microseconds",
           "compare with pl.date(2024, 12, 31)")  # fmt: skip
    return value


def in_32_bits(array: FollowedArray) -> bool:
    """Whether polars gives a statistic in 32 bits: a count, or a sum of truth values."""
    return counts_records(array._dpv_tape.setting, array._dpv_number)


def counts_in_32_bits(array: FollowedArray) -> FollowedArray:
    """Counts as polars gives them in an array: nothing is computed with them that may wrap around."""
    return applied("in 32 bits", [array], np.asarray(raw(array)).astype(np.uint32))


def gaps(array: Any) -> bool:
    fact = fact_of(array)
    return isinstance(fact, Rows) and bool(fact.missing.any())


def _whole_numbers(array: FollowedArray) -> bool:
    """Whether a column is of whole numbers: with gaps, its values of this run are floats."""
    fact = fact_of(array)
    return isinstance(fact, Rows) and fact.dtype == "int64"


def _missing(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.kind in "fM":
        return np.isnat(array) if array.dtype.kind == "M" else np.isnan(array)
    if array.dtype.kind == "O":
        return np.array([one is None or one != one for one in array.tolist()], dtype=np.bool_)
    return np.zeros(array.shape, dtype=np.bool_)
