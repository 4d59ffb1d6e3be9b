"""Frames and series of polars that are followed: an expression is a tree, which is read and carried out on columns.

An expression of polars (``pl.col("age").clip(0, 90).sum()``) holds no data. polars writes it as a tree, and each node
of it that is covered is one operation on followed columns; any other node is refused by its name. A series is a frame
of one column, and its methods are those of expressions.

Missing values. A column that is not nullable in the schema holds neither null nor NaN. A nullable column of floats may
hold both, and polars treats them differently (a sum leaves out null and not NaN; NaN is above every number), so nothing
but ``fill_null(value).fill_nan(value)`` is covered of it before they are filled. Whole numbers, truth values and
categories have null alone.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

import numpy as np

from dpverdict.audit.tables.frames import library
from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Shape,
    applied,
    counted,
    dtype_of,
    fact_of,
    is_rows,
    is_total,
    known_length,
    length_of,
    raw,
)
from dpverdict.audit.tracing.handles.functions import selected
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.rules.facts import Rows
from dpverdict.audit.tracing.rules.operations import refuse
from dpverdict.audit.tracing.tape import Tape

pl: Final[Any] = library("polars", "the table of the schema is a frame of polars")
_SEE: Final = "what is covered is listed in docs/reference_tracing.md"
Columns: TypeAlias = "dict[str, FollowedArray]"

_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Plus": np.add, "Minus": np.subtract, "Multiply": np.multiply, "TrueDivide": np.true_divide, "Gt": np.greater,
    "GtEq": np.greater_equal, "Lt": np.less, "LtEq": np.less_equal, "Eq": np.equal, "NotEq": np.not_equal,
    "And": np.bitwise_and, "LogicalAnd": np.bitwise_and, "Or": np.bitwise_or, "LogicalOr": np.bitwise_or,
}  # fmt: skip
"""Binary operations of polars, each with the function of NumPy that does the same where nothing is missing."""
_ARITHMETIC: Final = ("Plus", "Minus", "Multiply", "TrueDivide")
_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "Abs": np.absolute, "Negate": np.negative, "Floor": np.floor, "Ceil": np.ceil, "Exp": np.exp, "Log1p": np.log1p,
    "Sign": np.sign, "Sqrt": np.sqrt, "Cos": np.cos, "Sin": np.sin, "Tanh": np.tanh,
}  # fmt: skip
"""Functions of one column."""
_KINDS: Final = {"Float64": "float64", "Int64": "int64"}


# trees ----------------------------------------------------------------------------------------------------------------


class Tree:
    """Carries out expressions on the columns of one frame.

    Args:
        tape: of the run.
        columns: of the frame.
    """

    def __init__(self, tape: Tape, columns: Columns) -> None:
        self._dpv_tape: Tape = tape
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
                return selected(self._rows(self.carried_out(inner["input"])), self._mask(self.carried_out(inner["by"])))
            case "Function":
                return self._function(inner["function"], inner["input"])
            case _:
                self._no(str(kind))

    def _no(self, what: str, remedy: str = _SEE) -> NoReturn:
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
        return list(value) if isinstance(value, pl.Series) else value

    def _rows(self, value: Any) -> FollowedArray:
        if not is_rows(value):
            self._no("a statistic, or a public value, where a column is needed")
        found: FollowedArray = value
        return found

    def _whole(self, value: Any) -> Any:
        """A value in which nothing is missing."""
        if is_rows(value) and _gaps(value):
            self._no("a nullable column", "fill it first: .fill_null(0), and of floats .fill_null(0).fill_nan(0)")
        return value

    def _mask(self, value: Any) -> FollowedArray:
        mask = self._whole(self._rows(value))
        if mask.dtype.kind != "b":
            self._no("a filter that is no truth value")
        found: FollowedArray = mask
        return found

    def _binary(self, name: str, left: Any, right: Any) -> Any:
        if name not in _BINARY:
            self._no(name)
        left, right = self._whole(left), self._whole(right)
        if is_total(left) or is_total(right):
            if name not in ("Multiply", "TrueDivide") or not all(
                one.dtype == np.float64 if isinstance(one, FollowedArray) else True for one in (left, right)
            ):
                self._no(f"{name} of a statistic", "take .item() of it first: whole numbers of polars may wrap around")
        elif name in _ARITHMETIC:
            for one in (left, right):
                if np.asarray(raw(one)).dtype.name not in ("int64", "float64"):
                    self._no(f"{name} of something else than 64-bit numbers", ".cast(pl.Float64) or .cast(pl.Int64)")
        if not isinstance(left, FollowedArray) and not isinstance(right, FollowedArray):
            self._no(f"{name} of public values", "compute it before")
        return _BINARY[name](left, right)

    def _aggregated(self, name: str, argument: Any) -> Any:
        if name == "Count":
            array, nulls = self._rows(self.carried_out(argument["input"])), bool(argument["include_nulls"])
            if nulls or not _gaps(array):
                return counted(array)
            if array.dtype.kind == "f" and not _whole_numbers(array):
                self._no("count of a nullable column of floats", "fill it first, or count all records: pl.len()")
            value = np.int64(np.count_nonzero(~_missing(raw(array))))
            return applied("count", [array], value, each=False, present=True)
        argument = argument["input"] if isinstance(argument, dict) and set(argument) > {"input"} else argument
        array = self.carried_out(argument)
        if name == "Sum":
            array = self._rows(array)
            if array.dtype.kind in "iu" and array.dtype.itemsize == 4:
                self._no("sum of 32-bit whole numbers, which wraps around", ".cast(pl.Int64) first")
            if _gaps(array) and (_whole_numbers(array) or array.dtype.kind == "b"):
                array = self._filled(array, 0)
            if not _gaps(array):
                return np.sum(array)
            self._no("sum of a nullable column of floats, which may hold NaN", ".fill_null(0).fill_nan(0) first")
        if name == "Mean":
            return np.mean(self._whole(self._rows(array)))
        self._no(name.lower(), "sums, counts, and means over a public number of records are covered")

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
        return np.where(self._mask(self.carried_out(inner["predicate"])), *sides)

    def _cast(self, inner: Mapping[str, Any]) -> Any:
        kind = inner["dtype"]
        name = kind.get("Literal") if isinstance(kind, dict) else kind
        if name not in _KINDS:
            self._no(f"cast to {name}", "cast to pl.Float64 or pl.Int64")
        value = self._whole(self.carried_out(inner["expr"]))
        if not isinstance(value, FollowedArray):
            self._no("cast of a public value")
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
        if name == "Clip" and not any(isinstance(one, FollowedArray) for one in others):
            low = others[0] if given["has_min"] else None
            high = others[-1] if given["has_max"] else None
            bottom, top = (one if one is None else np.asarray(one, first.dtype) for one in (low, high))
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
        if name in _UNARY and not others:
            if first.dtype.name not in ("int64", "float64"):
                self._no(f"{name} of something else than 64-bit numbers", ".cast(pl.Float64) first")
            if first.dtype.kind == "i" and name in ("Floor", "Ceil"):
                return first
            return _UNARY[name](first)
        self._no(str(name))

    def _truth(self, given: Mapping[str, Any], first: Any, others: list[Any]) -> Any:
        kind = given.get("") or next(iter(given))
        more = given.get(kind) if isinstance(given.get(kind), dict) else {}
        if kind in ("IsNull", "IsNotNull"):
            array = self._rows(first)
            if _gaps(array) and array.dtype.kind == "f" and not _whole_numbers(array):
                self._no(f"{kind} of a nullable column of floats", "fill it first: .fill_null(0).fill_nan(0)")
            found = applied("is missing", [array], _missing(raw(array)))
            return found if kind == "IsNull" else np.logical_not(found)
        first = self._whole(first)
        if kind == "Not":
            return np.logical_not(self._mask(first))
        if kind == "IsIn" and len(others) == 1 and isinstance(others[0], list):
            values = others[0]
            return applied("isin", [self._rows(first), values], np.isin(raw(first), values))
        if kind == "IsBetween" and not any(isinstance(one, FollowedArray) for one in others):
            closed = str(more.get("closed", "Both")) if isinstance(more, dict) else "Both"
            above = first >= others[0] if closed in ("Both", "Left") else first > others[0]
            below = first <= others[1] if closed in ("Both", "Right") else first < others[1]
            return above & below
        self._no(str(kind))

    # missing values ---------------------------------------------------------------------------------------------------

    def _filled(self, array: FollowedArray, *values: Any) -> FollowedArray:
        """A public value in place of null."""
        if not values or isinstance(values[0], Followed):
            self._no("fill_null with what stands beside it", "fill with a public value")
        if not _gaps(array):
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
        if not _gaps(array):
            return array
        found = np.where(_missing(raw(array)), value, raw(array)).astype(np.float64)
        return applied("fill nan", [array, np.asarray(value, dtype=np.float64)], found, dtype="float64")

    def present(self, array: FollowedArray) -> FollowedArray:
        """The records where a column is no null."""
        if not _gaps(array):
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


def _gaps(array: Any) -> bool:
    fact = fact_of(array)
    return isinstance(fact, Rows) and bool(fact.missing.any())


def _whole_numbers(array: FollowedArray) -> bool:
    """Whether a column is of whole numbers: with gaps, its values of this run are floats."""
    fact = fact_of(array)
    return isinstance(fact, Rows) and fact.dtype == "int64"


def _missing(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind == "O":
        return np.array([one is None or one != one for one in array.tolist()], dtype=np.bool_)
    return np.zeros(array.shape, dtype=np.bool_)


# handles --------------------------------------------------------------------------------------------------------------


class _Handle(Followed):
    """What frames and series have in common: nothing of them leaves the trace."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    _dpv_tape: Tape

    def _no(self, what: str, remedy: str = _SEE) -> NoReturn:
        self._dpv_tape.refuse(what, remedy)

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._no("a branch on data", "put the test behind the noise, or use a filter")

    def __float__(self) -> float:
        self._no("data that become a plain number", "add noise first")

    __int__ = __float__

    def __array__(self, *args: Any, **given: Any) -> Any:
        self._no("data that leave the trace as a plain array", "use functions that are covered")

    def __repr__(self) -> str:
        self._no("data that become text", "return or print noisy values only")

    def __format__(self, how: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._no("data that are pickled", "use .clone()")


class PolarsFrame(_Handle):
    """A frame of records, eager or lazy, or of statistics in one row."""

    __slots__ = ("_dpv_columns", "_dpv_lazy", "_dpv_tape")

    def __init__(self, tape: Tape, columns: Mapping[str, Any], *, lazy: bool = False) -> None:
        self._dpv_tape, self._dpv_columns, self._dpv_lazy = tape, dict(columns), lazy

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pl.LazyFrame if self._dpv_lazy else pl.DataFrame

    def _with(self, columns: Mapping[str, Any]) -> PolarsFrame:
        return PolarsFrame(self._dpv_tape, columns, lazy=self._dpv_lazy)

    def _tree(self) -> Tree:
        return Tree(self._dpv_tape, self._dpv_columns)

    def _statistics(self) -> bool:
        return bool(self._dpv_columns) and not any(is_rows(one) for one in self._dpv_columns.values())

    def _evaluated(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        tree = self._tree()
        found: dict[str, Any] = {}
        for one in _flat(given):
            if isinstance(one, str):
                found[one] = tree.carried_out({"Column": one})
                continue
            if isinstance(one, PolarsSeries):
                found[one.name] = one._dpv_arr
                continue
            if not isinstance(one, pl.Expr):
                self._no(f"{type(one).__name__} in place of an expression of polars")
            for part in self._expanded(one):
                name, value = tree.of(part)
                found[name] = value
        for name, one in named.items():
            if isinstance(one, PolarsSeries):
                found[name] = one._dpv_arr
            else:
                expression = one if isinstance(one, pl.Expr) else pl.col(one) if isinstance(one, str) else pl.lit(one)
                found[name] = tree.of(expression)[1]
        return found

    def _expanded(self, expression: Any) -> list[Any]:
        """An expression of several columns, as one of each."""
        if not expression.meta.has_multiple_outputs():
            return [expression]
        written = json.loads(expression.meta.serialize(format="json"))
        chosen = _selected_names(written, list(self._dpv_columns))
        if chosen is None:
            self._no("an expression of several columns", "name the columns one by one")
        found = []
        for name in chosen:
            text = json.dumps(_put_column(written, name)).encode()
            found.append(pl.Expr.deserialize(io.BytesIO(text), format="json"))
        return found

    # columns and records ----------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self._dpv_columns)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self._dpv_columns)

    @property
    def height(self) -> Any:
        """The number of records, which is data under add-or-remove-one."""
        if self._statistics():
            return 1
        array = self._tree()._any()
        return length_of(array) if known_length(array) else counted(array)

    @property
    def shape(self) -> Any:
        """The numbers of records and of columns."""
        if self._statistics():
            return (1, self.width)
        array = self._tree()._any()
        return (length_of(array), self.width) if known_length(array) else Shape((None, self.width), array)

    def __len__(self) -> int:
        return 1 if self._statistics() else length_of(self._tree()._any())

    def _dpv_records(self) -> FollowedArray:
        return self._tree()._any()

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._dpv_columns)

    def __contains__(self, name: object) -> bool:
        return name in self._dpv_columns

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._dpv_columns:
                raise KeyError(key)
            return _series(self._dpv_tape, self._dpv_columns[key], key)
        if isinstance(key, list) and all(isinstance(one, str) for one in key):
            return self._with({name: self._dpv_columns[name] for name in key})
        self._no("records that are picked by their position", "use filter")

    def get_column(self, name: str) -> Any:
        """A column."""
        return self[name]

    def filter(self, *predicates: Any, **constraints: Any) -> Any:
        """The records where everything holds."""
        found = dict(self._dpv_columns)
        masks = self._evaluated_list(predicates)
        masks += [self._tree().of(pl.col(name) == value)[1] for name, value in constraints.items()]
        mask = None
        for one in masks:
            own = self._tree()._mask(one)
            mask = own if mask is None else mask & own
        if mask is None:
            return self
        return self._with({name: selected(one, mask) for name, one in found.items()})

    def _evaluated_list(self, given: tuple[Any, ...]) -> list[Any]:
        return [one._dpv_arr if isinstance(one, PolarsSeries) else self._tree().of(pl.col(one) if isinstance(one, str)
                else one)[1] for one in _flat(given)]  # fmt: skip

    def select(self, *given: Any, **named: Any) -> Any:
        """Columns, or statistics in one row."""
        found = self._evaluated(given, named)
        kinds = {is_rows(one) for one in found.values()}
        if len(kinds) > 1:
            self._no("select of statistics beside columns, so that a record meets all others", "select them apart")
        return self._with(found)

    def with_columns(self, *given: Any, **named: Any) -> Any:
        """With further columns."""
        found = self._evaluated(given, named)
        if any(is_total(one) for one in found.values()):
            self._no("a statistic in a column, so that a record meets all others", "use public numbers")
        whole: dict[str, Any] = {}
        for name, one in found.items():
            if isinstance(one, FollowedArray):
                whole[name] = one
            elif isinstance(one, int | float):
                base = next(a for a in self._dpv_columns.values() if a.dtype.kind in "biuf")
                whole[name] = np.where(np.equal(base, base), one, one)
            else:
                self._no("a column that is not of the records", "use expressions of columns")
        return self._with({**self._dpv_columns, **whole})

    def drop_nulls(self, subset: Any = None) -> Any:
        """The records where some columns are no null."""
        names = self.columns if subset is None else [subset] if isinstance(subset, str) else list(subset)
        found: PolarsFrame = self
        for name in names:
            tree = found._tree()
            array = found._dpv_columns[name]
            if _gaps(array):
                mask = tree._truth({"": "IsNotNull"}, array, [])
                picked = {key: selected(one, mask) for key, one in found._dpv_columns.items()}
                picked[name] = applied("drop missing", [picked[name]], raw(picked[name]))
                found = found._with(picked)
        return found

    def drop(self, *names: Any, **given: Any) -> Any:
        """Without some columns."""
        gone = _flat(names)
        return self._with({name: one for name, one in self._dpv_columns.items() if name not in gone})

    def rename(self, mapping: Any, **given: Any) -> Any:
        """With other names."""
        if not isinstance(mapping, dict):
            self._no("rename by a function")
        return self._with({mapping.get(name, name): one for name, one in self._dpv_columns.items()})

    def fill_null(self, value: Any = None, *args: Any, **given: Any) -> Any:
        """A public value in place of null, in columns of its type."""
        if value is None or args or given:
            self._no("fill_null with what stands beside it", "fill with a public value")
        return self.with_columns(*[pl.col(name).fill_null(value) for name in self._dpv_columns])

    def lazy(self) -> Any:
        """The same, lazily."""
        return PolarsFrame(self._dpv_tape, self._dpv_columns, lazy=True)

    def collect(self, *args: Any, **given: Any) -> Any:
        """The same, eagerly."""
        return PolarsFrame(self._dpv_tape, self._dpv_columns)

    clone = collect

    # statistics -------------------------------------------------------------------------------------------------------

    def sum(self) -> Any:
        """Sums of columns."""
        return self.select(*[pl.col(name).sum() for name in self._dpv_columns])

    def mean(self) -> Any:
        """Means of columns."""
        return self.select(*[pl.col(name).mean() for name in self._dpv_columns])

    def item(self, row: Any = None, column: Any = None) -> Any:
        """A statistic."""
        if not self._statistics():
            self._no("an item of records", "add noise to a statistic of them")
        names = self.columns
        if row in (None, 0) and column is not None:
            return self._dpv_columns[column if isinstance(column, str) else names[column]]
        if row is None and len(names) == 1:
            return self._dpv_columns[names[0]]
        raise ValueError("can only call .item() if the frame is of shape (1, 1)")

    def row(self, index: int = 0, *, named: bool = False, **given: Any) -> Any:
        """The statistics."""
        if not self._statistics() or index not in (0, -1) or given:
            self._no("a row of records", "add noise to a statistic of them")
        return dict(self._dpv_columns) if named else tuple(self._dpv_columns.values())

    def to_dicts(self) -> Any:
        """The statistics."""
        return [self.row(0, named=True)]

    def to_numpy(self, **given: Any) -> Any:
        """All columns side by side; statistics in one row."""
        if given:
            self._no("to_numpy with other arguments")
        values = list(self._dpv_columns.values())
        if self._statistics():
            return np.stack([one.astype(np.float64) for one in values])[None]
        return np.column_stack([self._tree()._whole(one) for one in values])

    def group_by(self, *by: Any, **given: Any) -> Any:
        """Refused."""
        self._no("group_by, whose labels are those that occur in the data",
                 "for each public value: df.filter(pl.col('city') == value).height")  # fmt: skip

    def join(self, *args: Any, **given: Any) -> Any:
        """Refused."""
        self._no("join", "use when/then/otherwise with public values")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pl.LazyFrame if self._dpv_lazy else pl.DataFrame, name):
            raise AttributeError(name)
        self._no(f".{name} of a frame of data")


def _flat(values: Any) -> list[Any]:
    found: list[Any] = []
    for one in values:
        found += list(one) if isinstance(one, list | tuple) else [one]
    return found


def _selected_names(node: Any, names: list[str]) -> list[str] | None:
    """The columns of the one selector of a tree; None where there are several, or another one."""
    found: list[list[str]] = []

    def walk(inner: Any) -> None:
        if isinstance(inner, dict):
            for key, value in inner.items():
                if key == "Selector":
                    if value == "Wildcard":
                        found.append(names)
                    elif isinstance(value, dict) and "ByName" in value:
                        found.append([str(one) for one in value["ByName"]["names"]])
                    else:
                        refuse("a selector of polars", "name the columns")
                else:
                    walk(value)
        elif isinstance(inner, list):
            for value in inner:
                walk(value)

    walk(node)
    return found[0] if len(found) == 1 else None


def _put_column(node: Any, name: str) -> Any:
    if isinstance(node, dict):
        return {"Column": name} if "Selector" in node else {key: _put_column(one, name) for key, one in node.items()}
    return [_put_column(one, name) for one in node] if isinstance(node, list) else node


class PolarsSeries(_Handle):
    """A column of records: its methods are those of expressions."""

    __slots__ = ("_dpv_arr", "_dpv_tape", "name")
    __array_ufunc__ = None

    def __init__(self, tape: Tape, array: FollowedArray, name: str) -> None:
        self._dpv_tape, self._dpv_arr = tape, array
        self.name: str = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pl.Series

    def _dpv_array(self) -> FollowedArray:
        return self._dpv_arr

    def _dpv_records(self) -> FollowedArray:
        return self._dpv_arr

    def __len__(self) -> int:
        return length_of(self._dpv_arr)

    def len(self) -> Any:
        """The number of records."""
        return length_of(self._dpv_arr) if known_length(self._dpv_arr) else counted(self._dpv_arr)

    def to_numpy(self, **given: Any) -> Any:
        """As an array."""
        if given:
            self._no("to_numpy with other arguments")
        self._dpv_arr._dpv_owned = False
        return Tree(self._dpv_tape, {})._whole(self._dpv_arr)

    def filter(self, predicate: Any) -> Any:
        """The records where a mask holds."""
        if type(predicate) is not PolarsSeries:
            self._no("a filter that is no series of truth values")
        return _series(self._dpv_tape, selected(self._dpv_arr, Tree(self._dpv_tape, {})._mask(predicate._dpv_arr)),
                       self.name)  # fmt: skip

    def alias(self, name: str) -> Any:
        """With another name."""
        return PolarsSeries(self._dpv_tape, self._dpv_arr, name)

    def _apply(self, method: str, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        columns: Columns = {"self": self._dpv_arr}

        def put(value: Any) -> Any:
            if type(value) is PolarsSeries:
                columns[f"other {len(columns)}"] = value._dpv_arr
                return pl.col(f"other {len(columns) - 1}")
            if isinstance(value, Followed | Released):
                self._no("data together with a statistic or a noisy value", "use public numbers only")
            return value

        expression = getattr(pl.col("self"), method)(*map(put, args), **{key: put(one) for key, one in given.items()})
        if not isinstance(expression, pl.Expr):
            self._no(f".{method} of a series of data")
        return _series(self._dpv_tape, Tree(self._dpv_tape, columns).of(expression)[1], self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pl.Series, name):
            raise AttributeError(name)
        if not hasattr(pl.Expr, name):
            self._no(f".{name} of a series of data")
        return lambda *args, **given: self._apply(name, args, given)

    def __iter__(self) -> Iterator[Any]:
        self._no("a loop over records", "write it with whole columns")

    def __getitem__(self, key: Any) -> Any:
        self._no("records that are picked by their position", "use filter")


def _operator(name: str) -> Callable[..., Any]:
    def method(self: PolarsSeries, *others: Any) -> Any:
        return self._apply(name, others, {})

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "radd", "rsub", "rmul",
              "rtruediv", "rand", "ror", "lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "abs"):  # fmt: skip
    setattr(PolarsSeries, f"__{_name}__", _operator(f"__{_name}__"))


def _series(tape: Tape, array: Any, name: str) -> Any:
    return PolarsSeries(tape, array, name) if is_rows(array) else array


def polars_frame_of(tape: Tape, columns: Mapping[str, FollowedArray]) -> PolarsFrame:
    """The frame that a function is handed."""
    return PolarsFrame(tape, columns)


COVERED: Final = (
    *_BINARY, *_UNARY, "Clip", "Cast", "Ternary", "Filter", "FillNull", "FillNan", "DropNulls", "IsIn", "IsBetween",
    "IsNull", "IsNotNull", "Not", "Pow", "Log", "Round", "Sum", "Mean", "Count", "Len",
)  # fmt: skip
"""The nodes of an expression that are covered."""
