"""Frames and series of pandas that are followed: they keep the calls of the user's code."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
import operator
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from dpverdict.audit.tables.frames import library
from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Shape,
    applied,
    dtype_of,
    fact_of,
    is_rows,
    is_total,
    known_length,
    length_of,
    public,
    raw,
    settled,
)
from dpverdict.audit.tracing.handles.frame_or_series import FrameOrSeries
from dpverdict.audit.tracing.handles.functions import selected
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.rules.facts import Rows
from dpverdict.audit.tracing.tape import Tape

pd: Final[Any] = library("pandas", "the table of the schema is a frame of pandas")
_COMPARE: Final[dict[Any, Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


class _Frame(FrameOrSeries):
    """A frame or a series of pandas."""

    __slots__ = ()
    _dpv_selection = "a mask"
    _dpv_copy = ".copy()"

    def __index__(self) -> int:  # noqa: PLE0305
        self._no("an index that is data", "add noise first")


class FollowedSeries(_Frame, np.lib.mixins.NDArrayOperatorsMixin):
    """A column of the records, or a statistic with public labels."""

    __slots__ = ("__weakref__", "_dpv_arr", "_dpv_index", "_dpv_tape", "name")
    __array_priority__: float = 1500.0

    def __init__(self, array: FollowedArray, index: Any, name: Any = None) -> None:
        self._dpv_tape, self._dpv_arr, self._dpv_index = array._dpv_tape, array, index
        self.name: Any = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pd.Series

    def _dpv_array(self) -> FollowedArray:
        """The array behind it."""
        return self._dpv_arr

    def _like(self, array: Any) -> Any:
        return _series(array, self._dpv_index, self.name)

    # what is public ---------------------------------------------------------------------------------------------------

    @property
    def index(self) -> Any:
        """The labels of a statistic."""
        if is_total(self._dpv_arr):
            return self._dpv_index
        self._no("the labels of records", "records have no public order")

    @property
    def dtype(self) -> Any:
        """Of the values."""
        return self._dpv_arr.dtype

    @property
    def shape(self) -> Any:
        """Of the values."""
        return self._dpv_arr.shape

    @property
    def size(self) -> Any:
        """How many values there are."""
        return self._dpv_arr.size

    @property
    def values(self) -> FollowedArray:
        """As an array, which is not to be changed in place."""
        self._dpv_arr._dpv_owned = False
        return self._dpv_arr

    def to_numpy(self, dtype: Any = None, copy: bool = False, **given: Any) -> FollowedArray:
        """As an array."""
        if given:
            self._no("to_numpy with other arguments")
        found = self._dpv_arr.copy() if copy else self.values
        return found if dtype is None else found.astype(dtype)

    def __len__(self) -> int:
        return len(self._dpv_arr)

    def _dpv_records(self) -> FollowedArray:
        return self._dpv_arr

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dpv_arr)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Labels with their statistics."""
        return iter([(label, self._dpv_arr[i]) for i, label in enumerate(self.index)])

    # computations -----------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **given: Any) -> Any:
        if given.get("out") is not None or method != "__call__":
            self._no(f"np.{function.__name__} in place", "assign the result to a new name")
        index = _shared(self._dpv_tape, args)
        found = function(*[_unwrapped(one) for one in settled(args)], **given)
        return _series(found, index, self.name)

    def __array_function__(self, function: Any, types: Any, args: Any, given: Any) -> Any:
        index = _shared(self._dpv_tape, args)
        found = function(*_unwrapped(settled(args)), **_unwrapped(settled(given)))
        if isinstance(found, FollowedArray | Released) and _fits(found, index, self._dpv_arr):
            return _series(found, index, self.name) if function in (np.clip, np.where, np.round) else found
        return found

    def __getitem__(self, key: Any) -> Any:
        key = settled(key)
        if is_rows(self._dpv_arr):
            if isinstance(key, FollowedSeries | FollowedArray):
                _shared(self._dpv_tape, [self, key] if isinstance(key, FollowedSeries) else [self])
                return _series(selected(self._dpv_arr, _unwrapped(key)), self._dpv_index, self.name)
            self._no("records that are picked by their label", "use a mask, s[s > 0]")
        place = self._dpv_index.get_indexer_for(list(key) if isinstance(key, list | pd.Index) else [key])
        if (place < 0).any() or (len(place) != 1 and not isinstance(key, list | pd.Index)):
            raise KeyError(key)
        if isinstance(key, list | pd.Index):
            return _series(self._dpv_arr[place], self._dpv_index[place], self.name)
        return self._dpv_arr[int(place[0])]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._no("an item of a series that is set in place", "use .where(condition, other)")

    @property
    def loc(self) -> Any:
        """By a mask, or by public labels."""
        return self

    @property
    def iloc(self) -> Any:
        """By places of a statistic."""
        if is_rows(self._dpv_arr):
            self._no("records that are picked by their position", "use a mask, s[s > 0]")
        return _Places(self)

    def get(self, key: Any, default: Any = None) -> Any:
        """The statistic of a label."""
        return self[key] if key in self.index else default

    def clip(self, lower: Any = None, upper: Any = None, *args: Any, **given: Any) -> Any:
        """Clipped to public numbers."""
        self._plain_call("clip", args, given)
        return self._like(np.clip(self._dpv_arr, lower, upper))

    def fillna(self, value: Any = None, *args: Any, **given: Any) -> Any:
        """A public value in place of missing ones."""
        self._plain_call("fillna", args, given)
        if is_total(self._dpv_arr):
            return self
        value = public(self, value)
        if value is None:
            self._no("fillna with what stands beside it", "fill with a public number")
        found = pd.Series(raw(self._dpv_arr)).fillna(value).to_numpy()
        return self._like(applied("fill", [self._dpv_arr, _fitted(value)], found, dtype=_dtype(found)))

    def isna(self) -> Any:
        """Whether a value is missing."""
        return self._like(applied("is missing", [self._dpv_arr], pd.isna(raw(self._dpv_arr))))

    isnull = isna

    def notna(self) -> Any:
        """Whether a value is present."""
        return ~self.isna()

    notnull = notna

    def dropna(self, *args: Any, **given: Any) -> Any:
        """The records where it is present."""
        self._plain_call("dropna", args, given)
        return _series(_present(self._dpv_arr, [self._dpv_arr]), self._dpv_index, self.name)

    def between(self, left: Any, right: Any, inclusive: str = "both") -> Any:
        """Whether a value lies between two public ones."""
        above = self >= left if inclusive in ("both", "left") else self > left
        return above & (self <= right if inclusive in ("both", "right") else self < right)

    def isin(self, values: Any) -> Any:
        """Whether a value is one of public ones."""
        listed = [one.item() if isinstance(one, np.generic) else one for one in public(self, values)]
        found = pd.Series(raw(self._dpv_arr)).isin(listed).to_numpy()
        return self._like(applied("isin", [self._dpv_arr, listed], found))

    def map(self, arg: Any, na_action: Any = None) -> Any:
        """A public dictionary applied to each value."""
        table = arg.to_dict() if isinstance(arg, pd.Series) and not isinstance(arg, Followed) else arg
        if not isinstance(table, dict):
            self._no("map with a function, which may do anything with a record", "give a dictionary")
        found = pd.Series(raw(self._dpv_arr)).map(table).to_numpy()
        return self._like(applied("map", [self._dpv_arr, table], found, dtype=_dtype(found)))

    def replace(self, to_replace: Any = None, value: Any = None, **given: Any) -> Any:
        """Refused, but for a dictionary that names every category."""
        self._no("replace", "use map with a dictionary of every category")

    def astype(self, dtype: Any, *args: Any, **given: Any) -> Any:
        """Another dtype."""
        if isinstance(dtype, pd.CategoricalDtype) or str(dtype) in ("category", "str", "string", "object"):
            return _series(self._dpv_arr, self._dpv_index, self.name)
        return self._like(self._dpv_arr.astype(np.dtype(str(dtype).lower() if isinstance(dtype, str) else dtype)))

    def abs(self) -> Any:
        """Absolute values."""
        return self._like(np.abs(self._dpv_arr))

    def round(self, decimals: int = 0) -> Any:
        """Rounded."""
        return self._like(np.round(self._dpv_arr, decimals))

    def where(self, cond: Any, other: Any = np.nan, *args: Any, **given: Any) -> Any:
        """Its own value where a condition holds, else another."""
        self._plain_call("where", args, given)
        _shared(self._dpv_tape, [self, cond, other])
        return self._like(np.where(_unwrapped(cond), self._dpv_arr, _unwrapped(other)))

    def mask(self, cond: Any, other: Any = np.nan, *args: Any, **given: Any) -> Any:
        """Another value where a condition holds."""
        self._plain_call("mask", args, given)
        _shared(self._dpv_tape, [self, cond, other])
        return self._like(np.where(_unwrapped(cond), _unwrapped(other), self._dpv_arr))

    def copy(self, *args: Any, **given: Any) -> Any:
        """The same values."""
        return _series(self._dpv_arr.copy(), self._dpv_index, self.name)

    def add(self, other: Any) -> Any:
        """Sum."""
        return self + other

    def sub(self, other: Any) -> Any:
        """Difference."""
        return self - other

    def mul(self, other: Any) -> Any:
        """Product."""
        return self * other

    def div(self, other: Any) -> Any:
        """Quotient."""
        return self / other

    truediv = div

    def eq(self, other: Any) -> Any:
        """Equal."""
        return self == other

    def ge(self, other: Any) -> Any:
        """Not less."""
        return self >= other

    def gt(self, other: Any) -> Any:
        """Greater."""
        return self > other

    def le(self, other: Any) -> Any:
        """Not greater."""
        return self <= other

    def lt(self, other: Any) -> Any:
        """Less."""
        return self < other

    def reset_index(self, drop: bool = False, **given: Any) -> Any:
        """Other labels of the records: they do not stand beside the former ones any more."""
        if not drop or is_total(self._dpv_arr) or given:
            self._no("reset_index that keeps the labels", "write drop=True")
        return _series(self._dpv_arr, (self._dpv_index, "reset"), self.name)

    def rename(self, name: Any = None, **given: Any) -> Any:
        """Another name."""
        return _series(self._dpv_arr, self._dpv_index, name)

    def reindex(self, labels: Any, **given: Any) -> Any:
        """Statistics in the order of public labels."""
        if not is_total(self._dpv_arr):
            self._no("records by their labels")
        return self[list(labels)]

    # statistics -------------------------------------------------------------------------------------------------------

    def sum(self, axis: Any = 0, skipna: bool = True, **given: Any) -> Any:
        """The sum of what is present."""
        self._plain_call("sum", (), given)
        return _sum_of_present(self._dpv_arr, skipna)

    def mean(self, axis: Any = 0, skipna: bool = True, **given: Any) -> Any:
        """The mean, over a public number."""
        self._plain_call("mean", (), given)
        return np.mean(self._dpv_arr)

    def count(self) -> Any:
        """How many values are present."""
        if is_total(self._dpv_arr):
            return len(self)
        value = np.int64(pd.Series(raw(self._dpv_arr)).count())
        return applied("count", [self._dpv_arr], value, each=False, present=True)

    def cumsum(self, *args: Any, **given: Any) -> Any:
        """Of a statistic."""
        return self._like(np.cumsum(self._dpv_arr))

    def value_counts(self, normalize: bool = False, sort: bool = True, ascending: bool = False, bins: Any = None,
                     dropna: bool = True) -> Any:  # fmt: skip
        """Counts, whose labels and order depend on data until they are put into a public order."""
        if normalize or bins is not None or not dropna:
            self._no("value_counts with normalize, bins or missing values", "count, and divide the noisy counts")
        return Grouped(self._dpv_tape, (self._dpv_arr,), None, "value_counts")

    def groupby(self, by: Any, **given: Any) -> Any:
        """Groups by another column."""
        if not isinstance(by, FollowedSeries):
            self._no("groupby of something else than a column")
        _shared(self._dpv_tape, [self, by])
        return Groups(self._dpv_tape, (by._dpv_arr,), {self.name: self._dpv_arr}, self.name)

    def tolist(self) -> Any:
        """Refused."""
        self._no("data that become a list", "add noise first")

    def argmax(self, *args: Any) -> Any:
        """Refused."""
        self._no("the largest of data", "add noise to the scores first")

    def _plain_call(self, name: str, args: Any, given: Mapping[str, Any]) -> None:
        for key, value in given.items():
            if value is not None and not (key in ("axis", "numeric_only", "skipna", "inplace") and not value):
                self._no(f"{name} with {key}=", "leave it out")
        if args:
            self._no(f"{name} with further arguments", "leave them out")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pd.Series, name):
            raise AttributeError(name)
        self._no(f".{name} of a series of data")


class _Places:
    """Coordinates of a statistic by their places."""

    def __init__(self, of: FollowedSeries) -> None:
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice | list):
            return _series(self._of._dpv_arr[key], self._of._dpv_index[key], self._of.name)
        return self._of._dpv_arr[key]


class FollowedFrame(_Frame):
    """A table of records: columns by their names."""

    __slots__ = ("_dpv_columns", "_dpv_index", "_dpv_owned", "_dpv_shown", "_dpv_tape")

    def __init__(self, tape: Tape, columns: dict[Any, FollowedArray], index: Any, *, owned: bool) -> None:
        object.__setattr__(self, "_dpv_tape", tape)
        object.__setattr__(self, "_dpv_columns", dict(columns))
        object.__setattr__(self, "_dpv_index", index)
        object.__setattr__(self, "_dpv_owned", owned)
        object.__setattr__(self, "_dpv_shown", {})

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pd.DataFrame

    def _first(self) -> FollowedArray:
        if not self._dpv_columns:
            self._no("a frame without columns")
        found: FollowedArray = next(iter(self._dpv_columns.values()))
        return found

    def _with(self, columns: Mapping[Any, FollowedArray]) -> FollowedFrame:
        return FollowedFrame(self._dpv_tape, dict(columns), self._dpv_index, owned=True)

    def _column(self, name: Any) -> FollowedSeries:
        if name not in self._dpv_columns:
            raise KeyError(name)
        found = FollowedSeries(self._dpv_columns[name], self._dpv_index, name)
        self._dpv_shown.setdefault(name, []).append(weakref.ref(found))
        return found

    # what is public ---------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> Any:
        """The names."""
        return pd.Index(list(self._dpv_columns))

    @property
    def shape(self) -> Any:
        """The number of records where it is public, and of columns."""
        array, width = self._first(), len(self._dpv_columns)
        return (length_of(array), width) if known_length(array) else Shape((None, width), array)

    @property
    def index(self) -> Any:
        """Refused."""
        return _Index(self._first())

    @property
    def size(self) -> Any:
        """Refused."""
        self._no("the size of a frame", "use its shape")

    @property
    def empty(self) -> Any:
        """Refused."""
        self._no("whether there are records, which is a branch on data", "release a noisy count")

    def __len__(self) -> int:
        return length_of(self._first())

    def _dpv_records(self) -> FollowedArray:
        return self._first()

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._dpv_columns))

    def __contains__(self, name: Any) -> bool:
        return name in self._dpv_columns

    # columns and records ----------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        key = settled(key)
        if isinstance(key, FollowedSeries | FollowedArray):
            return self._selected(key)
        if isinstance(key, Released):
            self._no("records that are picked by a noisy value", "clip and select by public numbers only")
        if isinstance(key, list | pd.Index):
            return self._with({name: self._column(name)._dpv_arr for name in key})
        if isinstance(key, slice):
            self._no("records that are picked by their position", "use a mask, df[df.age > 0]")
        return self._column(key)

    def _selected(self, key: Any) -> FollowedFrame:
        if isinstance(key, FollowedSeries) and key._dpv_index != self._dpv_index:
            self._no("a mask with other labels than the frame", "make it of columns of this frame")
        mask = _unwrapped(key)
        return self._with({name: selected(one, mask) for name, one in self._dpv_columns.items()})

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self._dpv_owned:
            self._no("a column that is set in the table that was handed over", "write df = df.copy() first, or assign")
        if not isinstance(key, Hashable) or isinstance(key, Followed):
            self._no("records that are changed in place", "use assign and where")
        self._dpv_columns[key] = self._as_column(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._dpv_columns:
            self[name] = value
            return
        self._no(f"an attribute {name} that is set", "use assign or rename")

    def _as_column(self, value: Any) -> FollowedArray:
        value = settled(value)
        if isinstance(value, FollowedSeries):
            if value._dpv_index != self._dpv_index or is_total(value._dpv_arr):
                self._no("a column with other labels than the frame", "make it of columns of this frame")
            return value._dpv_arr
        if isinstance(value, FollowedArray) and is_rows(value):
            return value
        if isinstance(value, Followed | Released) or np.ndim(value) != 0:
            self._no("a column that is not of the records", "use a public number or columns of this frame")
        array = next(one for one in self._dpv_columns.values() if one.dtype.kind in "biuf")
        found: Any = np.where(array == array, value, value)
        assert isinstance(found, FollowedArray)
        return found

    @property
    def loc(self) -> Any:
        """By a mask, and names of columns."""
        return _Located(self)

    @property
    def iloc(self) -> Any:
        """Refused."""
        self._no("records that are picked by their position", "use a mask, df[df.age > 0]")

    def get(self, key: Any, default: Any = None) -> Any:
        """A column by its name."""
        return self[key] if key in self._dpv_columns else default

    def assign(self, **given: Any) -> Any:
        """With further columns."""
        found = self._with(self._dpv_columns)
        for name, value in given.items():
            found[name] = value(found) if callable(value) else value
        return found

    def copy(self, *args: Any, **given: Any) -> Any:
        """The same records."""
        return self._with({name: one.copy() for name, one in self._dpv_columns.items()})

    def drop(self, labels: Any = None, axis: Any = 0, columns: Any = None, **given: Any) -> Any:
        """Without some columns."""
        names = columns if columns is not None else labels if axis in (1, "columns") else None
        if names is None or given:
            self._no("drop of records by their labels", "use a mask")
        gone = [names] if isinstance(names, str) else list(names)
        return self._with({name: one for name, one in self._dpv_columns.items() if name not in gone})

    def rename(self, columns: Any = None, **given: Any) -> Any:
        """With other names."""
        if not isinstance(columns, dict) or given:
            self._no("rename of something else than columns")
        return self._with({columns.get(name, name): one for name, one in self._dpv_columns.items()})

    def dropna(self, subset: Any = None, **given: Any) -> Any:
        """The records where some columns are present."""
        if given:
            self._no(f"dropna with {', '.join(given)}", "leave it out")
        names = list(self._dpv_columns) if subset is None else [subset] if isinstance(subset, str) else list(subset)
        tested = [self._column(name)._dpv_arr for name in names]
        found = {name: _present(one, tested, known=name in names) for name, one in self._dpv_columns.items()}
        return self._with(found)

    def fillna(self, value: Any = None, **given: Any) -> Any:
        """A public value in place of missing ones."""
        if given or value is None:
            self._no("fillna with what stands beside it", "fill with public numbers")
        return self._with({
            name: (self._column(name).fillna(value.get(name) if isinstance(value, dict) else value)._dpv_arr
                   if not isinstance(value, dict) or name in value else one)
            for name, one in self._dpv_columns.items()
        })  # fmt: skip

    def clip(self, lower: Any = None, upper: Any = None, **given: Any) -> Any:
        """Clipped to public numbers, column by column."""
        if given or np.ndim(lower if lower is not None else 0) or np.ndim(upper if upper is not None else 0):
            self._no("clip with bounds for each column", "clip column by column")
        return self._with({name: np.clip(one, lower, upper) for name, one in self._dpv_columns.items()})

    def astype(self, dtype: Any, **given: Any) -> Any:
        """Other dtypes."""
        return self._with({
            name: (self._column(name).astype(dtype.get(name) if isinstance(dtype, dict) else dtype)._dpv_arr
                   if not isinstance(dtype, dict) or name in dtype else one)
            for name, one in self._dpv_columns.items()
        })  # fmt: skip

    def reset_index(self, drop: bool = False, **given: Any) -> Any:
        """Other labels of the records."""
        if not drop or given:
            self._no("reset_index that keeps the labels", "write drop=True")
        return FollowedFrame(self._dpv_tape, self._dpv_columns, (self._dpv_index, "reset"), owned=True)

    def query(self, expr: str, **given: Any) -> Any:
        """The records where comparisons of columns with public numbers hold."""
        if given or not isinstance(expr, str):
            self._no("query with further arguments", "leave them out")
        try:
            tree = ast.parse(expr.strip(), mode="eval").body
        except SyntaxError:
            self._no("query", "write it with a mask: df[(df.age > 10) & (df.city == 'Oslo')]")
        return self._selected(self._asked(tree))

    def _asked(self, node: ast.expr) -> Any:
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.BoolOp(op=op, values=[first, *others]):
                found = self._asked(first)
                for one in others:
                    found = found & self._asked(one) if isinstance(op, ast.And) else found | self._asked(one)
                return found
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return ~self._asked(inner)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value) | float(value))):
                return -value
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._asked(one) for one in (left, *others)]
                parts = [_COMPARE[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)
                         if type(op) in _COMPARE]  # fmt: skip
                if len(parts) == len(ops):
                    found = parts[0]
                    for one in parts[1:]:
                        found = found & one
                    return found
            case ast.Name(id=name) if name in self._dpv_columns:
                return self._column(name)
            case ast.Constant(value=value):
                return value
        self._no("query", "write it with a mask: df[(df.age > 10) & (df.city == 'Oslo')]")

    def to_numpy(self, dtype: Any = None, **given: Any) -> Any:
        """All columns side by side."""
        found = np.column_stack(list(self._dpv_columns.values()))
        return found if dtype is None else found.astype(dtype)

    @property
    def values(self) -> Any:
        """All columns side by side."""
        return self.to_numpy()

    def merge(self, right: Any, how: str = "inner", on: Any = None, **given: Any) -> Any:
        """With a public table that has each key once."""
        if isinstance(right, Followed) or not isinstance(right, pd.DataFrame):
            self._no("merge with something else than a public table", "merge with a public table whose keys differ")
        if given or how not in ("left", "inner") or not isinstance(on, str):
            self._no("merge of another kind than how='left' or 'inner' with on=one column")
        if right[on].duplicated().any() or right.isna().any().any():
            self._no("merge with a table in which a key stands twice, so that a record becomes several")
        found, key = self._with(self._dpv_columns), self._column(on)
        if how == "inner":
            mask = key.isin(right[on].tolist())
            found = found._selected(mask)
            key = found._column(on)
        for name in right.columns:
            if name != on:
                if name in self._dpv_columns:
                    self._no("merge of tables with a column of one name", "rename it first")
                mapping = dict(zip(right[on].tolist(), right[name].tolist(), strict=True))
                found._dpv_columns[name] = key.map(mapping)._dpv_arr
        return FollowedFrame(self._dpv_tape, found._dpv_columns, (self._dpv_index, "merged"), owned=True)

    # statistics -------------------------------------------------------------------------------------------------------

    def _each(self, function: Callable[[FollowedArray], Any], numeric_only: Any) -> Any:
        names = [name for name, one in self._dpv_columns.items() if one.dtype.kind in "biuf"]
        if len(names) < len(self._dpv_columns) and not numeric_only:
            self._no("a statistic of columns of texts", "choose the columns, df[['age', 'income']]")
        parts = np.stack([function(self._dpv_columns[name]) for name in names])  # pyright: ignore[reportUnusedVariable]
        return _series(parts, pd.Index(names), None)

    def sum(self, axis: Any = 0, numeric_only: bool = False, **given: Any) -> Any:
        """Sums of columns, or along each record."""
        if axis in (1, "columns"):
            if any(fact_of(one).missing.any() for one in self._dpv_columns.values() if is_rows(one)):  # type: ignore[union-attr]
                self._no("sums along records with missing values", "fill them first")
            return FollowedSeries(np.sum(self.to_numpy(), axis=1), self._dpv_index)
        return self._each(lambda one: _sum_of_present(one, skipna=True), numeric_only)

    def mean(self, axis: Any = 0, numeric_only: bool = False, **given: Any) -> Any:
        """Means of columns, over a public number."""
        if axis in (1, "columns"):
            return FollowedSeries(np.mean(self.to_numpy(), axis=1), self._dpv_index)
        return self._each(lambda one: np.mean(one), numeric_only)

    def count(self, **given: Any) -> Any:
        """How many values are present in each column."""
        parts = np.stack([self._column(name).count() for name in self._dpv_columns])
        return _series(parts, self.columns, None)

    def groupby(self, by: Any, observed: Any = None, **given: Any) -> Any:
        """Groups by one column, or by several whose values are all known."""
        if isinstance(by, list) and len(by) == 1:
            by = by[0]
        for key, value in given.items():
            if not (key in ("sort", "group_keys", "as_index", "dropna") and value):
                self._no(f"groupby with {key}=", "leave it out")
        keys: tuple[FollowedArray, ...]
        if isinstance(by, FollowedSeries):
            _shared(self._dpv_tape, [self._column(self.columns[0]), by])
            keys = (by._dpv_arr,)
        elif isinstance(by, str):
            keys = (self._column(by)._dpv_arr,)
        elif isinstance(by, list) and by and all(isinstance(one, str) for one in by) and len(set(by)) == len(by):
            keys = tuple(self._column(one)._dpv_arr for one in by)
        else:
            self._no("groupby of something else than columns", "name them: df.groupby(['city', 'sex'])")
        return Groups(self._dpv_tape, keys, self._dpv_columns, None)

    def value_counts(self, *args: Any, **given: Any) -> Any:
        """Refused."""
        self._no("value_counts of a frame", "use that of one column")

    def __getattr__(self, name: str) -> Any:
        if name in self._dpv_columns:
            return self._column(name)
        if name.startswith("_") or not hasattr(pd.DataFrame, name):
            raise AttributeError(name)
        self._no(f".{name} of a frame of data")


class _Index:
    """The labels of records: only their number may be asked for."""

    def __init__(self, of: FollowedArray) -> None:
        self._of = of

    def __len__(self) -> int:
        return length_of(self._of)

    def _dpv_records(self) -> FollowedArray:
        return self._of

    @property
    def size(self) -> Any:
        """How many there are."""
        return self._of.size

    def __getattr__(self, name: str) -> Any:
        self._of._dpv_tape.refuse("the labels of records", "records have no public order")


class _Located:
    """``df.loc``."""

    def __init__(self, of: FollowedFrame) -> None:
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        frame = self._of
        if isinstance(rows, slice):
            if rows != slice(None):
                frame._no("records that are picked by their position", "use a mask")
        elif isinstance(rows, FollowedSeries | FollowedArray):
            frame = frame._selected(rows)
        else:
            frame._no("records that are picked by their label", "use a mask")
        return frame if isinstance(columns, slice) and columns == slice(None) else frame[columns]

    def __setitem__(self, key: Any, value: Any) -> None:
        frame = self._of
        if not (isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str)):
            frame._no("records that are changed in place", "use where: df['x'] = df['x'].where(mask, value)")
        rows, name = key
        if isinstance(rows, slice) and rows == slice(None):
            frame[name] = value
            return
        if not isinstance(rows, FollowedSeries):
            frame._no("records that are changed by their label", "use a mask")
        shown = [one for one in frame._dpv_shown.get(name, ()) if one() is not None and one() is not rows]
        if shown or not frame._dpv_columns[name]._dpv_owned or not frame._dpv_owned:
            frame._no("a column that is changed in place while another name shows it, or in the table handed over",
                      "use where: df['x'] = df['x'].where(mask, value)")  # fmt: skip
        frame[name] = frame._column(name).mask(rows, value)


class Groups(_Frame):
    """``df.groupby(key)``."""

    __slots__ = ("_dpv_columns", "_dpv_keys", "_dpv_name", "_dpv_tape")

    def __init__(
        self, tape: Tape, keys: tuple[FollowedArray, ...], columns: Mapping[Any, FollowedArray], name: Any
    ) -> None:
        self._dpv_tape, self._dpv_keys, self._dpv_columns, self._dpv_name = tape, keys, columns, name

    def __getitem__(self, name: Any) -> Groups:
        if isinstance(name, list) and len(name) == 1:
            self._no("groups of a list of columns", "name one column")
        if not isinstance(name, str) or name not in self._dpv_columns:
            raise KeyError(name)
        return Groups(self._dpv_tape, self._dpv_keys, self._dpv_columns, name)

    def _of(self, what: str) -> FollowedArray:
        if self._dpv_name is None:
            self._no(f"{what} of every column in groups", f"name one column: df.groupby(key)['age'].{what}()")
        return self._dpv_columns[self._dpv_name]

    def size(self) -> Grouped:
        """How many records each group has."""
        return Grouped(self._dpv_tape, self._dpv_keys, None, "size")

    def count(self) -> Grouped:
        """How many present values each group has."""
        array = self._of("count")
        present = applied("is missing", [array], pd.isna(raw(array)))
        return Grouped(self._dpv_tape, self._dpv_keys, np.where(present, 0, 1), "count")

    def sum(self, *args: Any, **given: Any) -> Grouped:
        """The sum of each group."""
        return Grouped(self._dpv_tape, self._dpv_keys, _filled(self._of("sum")), "sum")

    def mean(self, *args: Any, **given: Any) -> NoReturn:
        """Refused."""
        self._no("the mean of each group, which divides by a number that is data",
                 "divide noisy sums by noisy sizes")  # fmt: skip

    def agg(self, how: Any, *args: Any, **given: Any) -> Any:
        """By its name."""
        if how in ("sum", "count", "size") and not args and not given:
            return getattr(self, how)()
        self._no("agg", "use size, count or sum")

    def __iter__(self) -> Any:
        self._no("a loop over the groups of data", "loop over public values: for c in ['Oslo', 'Rome']")

    def __getattr__(self, name: str) -> Any:
        if name in self._dpv_columns:
            return self[name]
        if name.startswith("_"):
            raise AttributeError(name)
        self._no(f".{name} of groups", "use size, count or sum")


class Grouped(_Frame):
    """Statistics of groups, whose labels depend on data until they are put in a public order."""

    __slots__ = ("_dpv_keys", "_dpv_tape", "_dpv_weights", "_dpv_what")

    def __init__(self, tape: Tape, keys: tuple[FollowedArray, ...], weights: Any, what: str) -> None:
        self._dpv_tape, self._dpv_keys, self._dpv_weights, self._dpv_what = tape, keys, weights, what

    def reindex(self, labels: Any = None, *, index: Any = None, fill_value: Any = None, **given: Any) -> Any:
        """In the order of public labels, with 0 where a group has no record."""
        labels = public(self, labels if labels is not None else index)
        if given or isinstance(labels, Followed):
            self._no("reindex of another kind", "reindex(values, fill_value=0)")
        if fill_value is None:
            return Unfilled(self, labels if isinstance(labels, pd.MultiIndex) else list(labels))
        if fill_value != 0:
            self._no("reindex with another fill_value than 0")
        several = len(self._dpv_keys) > 1
        if several != isinstance(labels, pd.MultiIndex) or (several and labels.nlevels != len(self._dpv_keys)):
            self._no("reindex with labels of another number of columns",
                     "of several columns: pd.MultiIndex.from_product([['Oslo', 'Rome'], ['f', 'm']])")  # fmt: skip
        values = [_plain_label(one) for one in labels]
        if len(set(values)) < len(values):
            self._no("reindex with a label twice")
        weights = self._dpv_weights
        keys = [pd.Series(raw(one)) for one in self._dpv_keys]
        counted = pd.Series(np.ones(len(keys[0]), dtype=np.int64) if weights is None else raw(weights))
        order = labels if several else values
        found = counted.groupby(keys if several else keys[0]).sum().reindex(order, fill_value=0).to_numpy()
        arrays = [*self._dpv_keys] if weights is None else [*self._dpv_keys, weights]
        if several:
            total = applied("groups of several columns", arrays, found, values=values, keys=len(keys),
                            dtype=dtype_of(found))  # fmt: skip
            return _series(total, labels, None)
        total = applied("groups", arrays, found, values=values, dtype=dtype_of(found))
        return _series(total, pd.Index(values), None)

    def get(self, key: Any, default: Any = None) -> Any:
        """The statistic of one public label, 0 where it has no record."""
        if default != 0:
            self._no("get without 0 for a group that has no record", "write counts.get(label, 0)")
        if len(self._dpv_keys) > 1:
            self._no("get of a group by several columns", "reindex them first")
        return self.reindex([key], fill_value=0)._dpv_arr[0]

    def sum(self) -> Any:
        """Refused."""
        self._no("the sum over groups that depend on data", "reindex them first")

    def sort_index(self, *args: Any, **given: Any) -> Any:
        """The same: the labels still depend on data."""
        return self

    def _labels(self) -> NoReturn:
        self._no("the labels of groups, which are those that occur in the data",
                 f".{self._dpv_what}().reindex(public_labels, fill_value=0)")  # fmt: skip

    def __array_ufunc__(self, *args: Any, **given: Any) -> Any:
        self._labels()

    def __array_function__(self, *args: Any, **given: Any) -> Any:
        self._labels()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._labels()

    def __getitem__(self, key: Any) -> Any:
        self._labels()

    def __iter__(self) -> Any:
        self._labels()

    def __len__(self) -> int:  # noqa: PLE0303
        self._labels()

    def __add__(self, other: Any) -> Any:
        self._labels()

    __radd__: Callable[..., Any] = __add__
    __sub__: Callable[..., Any] = __add__
    __rsub__: Callable[..., Any] = __add__
    __mul__: Callable[..., Any] = __add__
    __rmul__: Callable[..., Any] = __add__
    __truediv__: Callable[..., Any] = __add__


class Unfilled(_Frame):
    """Groups in a public order, with NaN where one has no record."""

    __slots__ = ("_dpv_labels", "_dpv_of", "_dpv_tape")

    def __init__(self, of: Grouped, labels: Any) -> None:
        self._dpv_tape, self._dpv_of, self._dpv_labels = of._dpv_tape, of, labels

    def fillna(self, value: Any) -> Any:
        """0 where a group has no record."""
        if value != 0:
            self._no("groups without records filled with another number than 0")
        return self._dpv_of.reindex(self._dpv_labels, fill_value=0)

    def __array_ufunc__(self, *args: Any, **given: Any) -> Any:
        self._no("groups that may be missing", "write reindex(labels, fill_value=0)")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._no("groups that may be missing", "write reindex(labels, fill_value=0)")


# small steps ----------------------------------------------------------------------------------------------------------


def frame_of(tape: Tape, columns: dict[Any, FollowedArray], sample: Any) -> FollowedFrame:
    """The frame that a function is handed."""
    return FollowedFrame(tape, columns, "table", owned=False)


def _series(array: Any, index: Any, name: Any) -> Any:
    if isinstance(array, FollowedArray):
        if not is_rows(array) and (array.ndim != 1 or not isinstance(index, pd.Index) or len(index) != len(array)):
            return array
        return FollowedSeries(array, index, name)
    if isinstance(array, Released) and isinstance(index, pd.Index):
        value = array._dpv_value
        if np.ndim(value) == 1 and len(value) == len(index):
            return Released(array._dpv_tape, pd.Series(value, index=index, name=name), array._dpv_pending)
    return array


def _plain_label(label: Any) -> Any:
    if isinstance(label, tuple):
        return tuple(_plain_label(one) for one in label)
    return label.item() if isinstance(label, np.generic) else label


def _fits(found: Any, index: Any, array: FollowedArray) -> bool:
    return isinstance(found, Released) or is_rows(found) or (isinstance(index, pd.Index) and found.ndim == 1)


def _unwrapped(value: Any) -> Any:
    if type(value) is FollowedSeries:
        return value._dpv_arr
    if type(value) in (list, tuple):
        return type(value)(_unwrapped(one) for one in value)
    if type(value) is dict:
        return {key: _unwrapped(one) for key, one in value.items()}
    if type(value) is pd.Series:
        return value
    return value


def _shared(tape: Tape, values: Sequence[Any]) -> Any:
    """The labels that series have in common."""
    found: Any = None
    for one in values:
        if type(one) is pd.Series:
            tape.refuse("a public series beside data, which are put together by labels", "use its .to_numpy()")
        if type(one) in (Grouped, Unfilled):
            one._labels() if type(one) is Grouped else one._no("groups that may be missing")
        if type(one) is Released and isinstance(one._dpv_value, pd.Series):
            continue
        if type(one) is not FollowedSeries:
            continue
        if found is None:
            found = one._dpv_index
        same = found.equals(one._dpv_index) if isinstance(found, pd.Index) and isinstance(one._dpv_index, pd.Index) else (  # noqa: E501
            type(found) is type(one._dpv_index) and found == one._dpv_index
        )  # fmt: skip
        if not same:
            tape.refuse("series with different labels together, which pandas puts in a common order",
                        "use columns of one frame, or .to_numpy()")  # fmt: skip
    return found


def _fitted(value: Any) -> Any:
    return value if isinstance(value, str) else np.asarray(value)


def _dtype(values: Any) -> str:
    kind = np.asarray(values).dtype
    return str(kind) if kind.kind in "biuf" else "category"


def _present(array: FollowedArray, tested: Sequence[FollowedArray], *, known: bool = True) -> FollowedArray:
    """The records where some columns are present."""
    found = array
    masks = []
    for one in tested:
        fact = fact_of(one)
        assert isinstance(fact, Rows)
        if fact.missing.any() or fact.dtype == "category":
            masks.append(~applied("is missing", [one], pd.isna(raw(one))))
    if not masks:
        return array
    mask = masks[0]
    for one in masks[1:]:
        mask = mask & one
    found = selected(array, mask)
    own = fact_of(array)
    gaps = known and isinstance(own, Rows) and own.missing.any() and any(one is array for one in tested)
    return applied("drop missing", [found], raw(found)) if gaps else found


def _filled(array: FollowedArray) -> FollowedArray:
    fact = fact_of(array)
    if isinstance(fact, Rows) and fact.missing.any():
        value = np.where(pd.isna(raw(array)), 0, raw(array))
        return applied("fill", [array, np.asarray(0)], value, dtype=dtype_of(value))
    return array


def _sum_of_present(array: FollowedArray, skipna: bool) -> Any:
    if is_total(array):
        return np.sum(array)
    return np.sum(_filled(array) if skipna else array)
