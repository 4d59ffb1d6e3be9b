"""Frames and series of polars that are followed; a series is a frame of one column, with the methods of expressions."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Shape,
    applied,
    counted,
    fact_of,
    is_rows,
    is_total,
    known_length,
    length_of,
    of_the_same_records,
    raw,
)
from dpverdict.audit.tracing.handles.frames.frame_or_series import INSTEAD, SEE, PolarsHandle
from dpverdict.audit.tracing.handles.frames.polars_groups import Part, PolarsGrouped, PolarsGroups, PolarsStatistics
from dpverdict.audit.tracing.handles.frames.polars_trees import (
    BINARY,
    UNARY,
    Columns,
    Tree,
    counts_in_32_bits,
    gaps,
    in_32_bits,
    pl,
)
from dpverdict.audit.tracing.handles.functions import selected
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import RunTape
from dpverdict.audit.tracing.rules.operations import refuse


class PolarsFrame(PolarsHandle):
    """A frame of records, eager or lazy, or of statistics in one row."""

    __slots__ = ("_dpv_columns", "_dpv_lazy", "_dpv_tape")

    def __init__(self, tape: RunTape, columns: Mapping[str, Any], *, lazy: bool = False) -> None:
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
        if not of_the_same_records([one for one in found.values() if is_rows(one)]):
            self._no("columns of different selections of records together, which polars refuses by their lengths",
                     "select the same records of each: df.filter(...)")  # fmt: skip
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
            if is_total(self._dpv_columns[key]):
                made: Any = np.atleast_1d(self._dpv_columns[key])
                return PolarsStatistics(made, key)
            return _series(self._dpv_tape, self._dpv_columns[key], key)
        if isinstance(key, list) and all(isinstance(one, str) for one in key):
            return self._with({name: self._dpv_columns[name] for name in key})
        self._no("records that are picked by their position", "use filter")

    def get_column(self, name: str) -> Any:
        """A column."""
        return self[name]

    def filter(self, *predicates: Any, **constraints: Any) -> Any:
        """The records where everything holds."""
        mask = None
        for one in (*_flat(predicates), *(pl.col(name) == value for name, value in constraints.items())):
            own = self._condition(one)
            mask = own if mask is None else mask & own
        if mask is None:
            return self
        return self._with({name: selected(one, mask) for name, one in self._dpv_columns.items()})

    def _condition(self, given: Any) -> Any:
        tree = self._tree()
        if isinstance(given, PolarsSeries | FollowedArray):
            return tree._mask(given._dpv_arr if isinstance(given, PolarsSeries) else given)
        expression = pl.col(given) if isinstance(given, str) else given
        return tree.condition(json.loads(expression.meta.serialize(format="json")))

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
        own = self._tree()._any()
        for name, one in found.items():
            if isinstance(one, FollowedArray):
                if is_rows(own) and is_rows(one) and not of_the_same_records([own, one]):
                    self._no("a column of other records than the frame, which polars refuses by its length",
                             "select the records of the whole frame: df.filter(...)")  # fmt: skip
                whole[name] = one
            elif isinstance(one, int | float):
                base = next(a for a in self._dpv_columns.values() if a.dtype.kind in "biuf")
                whole[name] = np.where(np.equal(base, base), one, one)
                if isinstance(one, int):  # as polars has a number that stands alone
                    whole[name] = whole[name].astype(np.int32)
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
            if gaps(array):
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
            if all(in_32_bits(one) for one in values):
                counts: Any = np.stack(values)[None]
                return counts_in_32_bits(counts)
            return np.stack([one.astype(np.float64) for one in values])[None]
        return np.column_stack([self._tree()._whole(one) for one in values])

    def group_by(self, *by: Any, maintain_order: bool = False, **given: Any) -> Any:
        """Groups by columns, whose labels depend on data until they are joined to a public table."""
        keys: dict[str, FollowedArray] = {}
        for name, one in self._evaluated(by, given).items():
            if not is_rows(one):
                self._no("groups by something else than columns", 'name them: df.group_by("city", "sex")')
            keys[name] = one
        if not keys:
            self._no("groups by no column", 'name them: df.group_by("city", "sex")')
        return PolarsGroups(self._dpv_tape, self._dpv_columns, keys)

    def join(self, other: Any, on: Any = None, how: str = "inner", **given: Any) -> Any:
        """With a public table that has each key once, and every key that the schema states."""
        if isinstance(other, Followed) or not isinstance(other, pl.DataFrame | pl.LazyFrame):
            self._no("join with something else than a public table", "join a public table whose keys differ")
        if given or how not in ("left", "inner") or not isinstance(on, str):
            self._no("join of another kind than how='left' or 'inner' with on=one column")
        table = other.lazy().collect()
        keys, more = table[on].to_list(), [name for name in table.columns if name != on]
        key = self._dpv_columns[on]
        known = fact_of(key).values  # type: ignore[union-attr]
        if len(set(keys)) < len(keys) or any(table[name].null_count() for name in table.columns):
            self._no("join with a table in which a key stands twice, or values are missing",
                     "give a public table that has each key once")  # fmt: skip
        if known is None or fact_of(key).missing.any() or not set(known) <= set(keys):  # type: ignore[union-attr]
            self._no("join by a column of which a record may have a key that the table lacks",
                     "give a table with every value of the category, or use when/then/otherwise")  # fmt: skip
        if any(name in self._dpv_columns for name in more):
            self._no("join of tables with a column of one name", "rename it first")
        found = dict(self._dpv_columns)
        for name in more:
            mapping = dict(zip(keys, table[name].to_list(), strict=True))
            if table[name].dtype not in (pl.Int64, pl.Float64, pl.String, pl.Boolean):
                self._no("join with a table of numbers that are not in 64 bits", ".cast(pl.Int64) or .cast(pl.Float64)")
            values = np.array([mapping[one] for one in raw(key).tolist()])
            kind = str(values.dtype) if values.dtype.kind in "biuf" else "category"
            found[name] = applied("map", [key, mapping], values if kind != "category" else values.astype(object),
                                  dtype=kind)  # fmt: skip
        return self._with(found)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pl.LazyFrame if self._dpv_lazy else pl.DataFrame, name):
            raise AttributeError(name)
        self._no(f".{name} of a frame of data", INSTEAD.get(name, SEE))


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


class PolarsSeries(PolarsHandle):
    """A column of records: its methods are those of expressions."""

    __slots__ = ("_dpv_arr", "_dpv_tape", "name")
    __array_ufunc__ = None

    def __init__(self, tape: RunTape, array: FollowedArray, name: str) -> None:
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

    @property
    def dt(self) -> Any:
        """The parts of dates."""
        return _Parts(self)

    def value_counts(self, *, sort: bool = False, parallel: bool = False, name: str | None = None,
                     normalize: bool = False) -> Any:  # fmt: skip
        """How often each value occurs: which do depends on data, until they are joined to a public table."""
        if normalize:
            self._no("value_counts with normalize", "count, and divide the noisy counts")
        return PolarsGrouped(self._dpv_tape, {self.name: self._dpv_arr}, {name or "count": Part(None)})

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


class _Parts:
    """``s.dt`` of a column of dates: its methods are those of expressions."""

    def __init__(self, of: PolarsSeries) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pl.col("self").dt, name):
            raise AttributeError(name)
        tree = Tree(self._of._dpv_tape, {"self": self._of._dpv_arr})
        return lambda *args, **given: _series(self._of._dpv_tape, tree.of(
            getattr(pl.col("self").dt, name)(*args, **given))[1], self._of.name)  # fmt: skip


def _operator(name: str) -> Callable[..., Any]:
    def method(self: PolarsSeries, *others: Any) -> Any:
        return self._apply(name, others, {})

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "radd", "rsub", "rmul",
              "rtruediv", "rand", "ror", "lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "abs"):  # fmt: skip
    setattr(PolarsSeries, f"__{_name}__", _operator(f"__{_name}__"))


def _series(tape: RunTape, array: Any, name: str) -> Any:
    return PolarsSeries(tape, array, name) if is_rows(array) else array


def polars_frame_of(tape: RunTape, columns: Mapping[str, FollowedArray]) -> PolarsFrame:
    """The frame that a function is handed."""
    return PolarsFrame(tape, columns)


COVERED: Final = (
    *BINARY, *UNARY, "Clip", "Cast", "Ternary", "Filter", "FillNull", "FillNan", "DropNulls", "IsIn", "IsBetween",
    "IsNull", "IsNotNull", "Not", "Pow", "Log", "Round", "Sum", "Mean", "Count", "Len", "Cut", "ReplaceStrict",
    "Replace", "TemporalExpr",
)  # fmt: skip
"""The nodes of an expression that are covered."""
