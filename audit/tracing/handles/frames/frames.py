"""A table of records as a frame of pandas."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
import io
import operator
import sys
import tokenize
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Shape,
    fact_of,
    is_rows,
    is_total,
    known_length,
    length_of,
    of_the_same_records,
    settled,
)
from dpverdict.audit.tracing.handles.frames.frame_or_series import INSTEAD, SEE
from dpverdict.audit.tracing.handles.frames.groups import CrossCounts, Grouped, Groups
from dpverdict.audit.tracing.handles.frames.series import (
    FollowedSeries,
    PandasHandle,
    pd,
    present,
    series_of,
    shared_labels,
    sum_of_present,
    unwrapped,
)
from dpverdict.audit.tracing.handles.functions import selected
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import RunTape

_COMPARE: Final[dict[Any, Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


_OUTSIDE: Final = "dpv_name_outside_"
_READ_AS: Final = {"&": "and", "|": "or"}


def _tree_of(query: str) -> ast.expr:
    """The text of a query as a tree, read as pandas does: & and | bind as ``and`` and ``or`` do.

    Raises:
        SyntaxError: it is none.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(query.strip()).readline))
    except tokenize.TokenError as error:
        raise SyntaxError(query) from error
    words: list[str] = []
    of_the_caller = False  # whether an @ stands before the word
    for one in tokens:
        if one.string == "@" and one.type == tokenize.OP:
            of_the_caller = True
            continue
        word = _READ_AS.get(one.string, one.string) if one.type == tokenize.OP else one.string
        words.append(_OUTSIDE + word if of_the_caller else word)
        of_the_caller = False
    return ast.parse(" ".join(words).strip(), mode="eval").body


class FollowedFrame(PandasHandle):
    """A table of records: columns by their names."""

    __slots__ = ("_dpv_columns", "_dpv_index", "_dpv_owned", "_dpv_shown", "_dpv_tape")

    def __init__(self, tape: RunTape, columns: dict[Any, FollowedArray], index: Any, *, owned: bool) -> None:
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
            self._names_differ(key)
            return self._with({name: self._column(name)._dpv_arr for name in key})
        if isinstance(key, slice):
            self._no("records that are picked by their position", "use a mask, df[df.age > 0]")
        return self._column(key)

    def _selected(self, key: Any) -> FollowedFrame:
        if isinstance(key, FollowedSeries) and key._dpv_index != self._dpv_index:
            self._no("a mask with other labels than the frame", "make it of columns of this frame")
        mask = unwrapped(key)
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
            value = value._dpv_arr
        if isinstance(value, FollowedArray) and is_rows(value):
            if not of_the_same_records([value, self._first()]):
                self._no("a column of other records than the frame, which pandas fills with gaps, or refuses",
                         "select the records of the whole frame: df = df[mask]")  # fmt: skip
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

    def copy(self, deep: bool = True) -> Any:
        """The same records."""
        if not deep:
            self._no("a copy that shares its values, which may change with it", "write .copy()")
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
        self._names_differ([columns.get(name, name) for name in self._dpv_columns])
        return self._with({columns.get(name, name): one for name, one in self._dpv_columns.items()})

    def _names_differ(self, names: Any) -> None:
        if len(set(names)) < len(names):
            self._no("two columns of one name, which pandas gives both at once", "give each a name of its own")

    def dropna(self, subset: Any = None, **given: Any) -> Any:
        """The records where some columns are present."""
        if given:
            self._no(f"dropna with {', '.join(given)}", "leave it out")
        names = list(self._dpv_columns) if subset is None else [subset] if isinstance(subset, str) else list(subset)
        tested = [self._column(name)._dpv_arr for name in names]
        found = {name: present(one, tested, known=name in names) for name, one in self._dpv_columns.items()}
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
        self._bounds_in_order(lower, upper)
        return self._with({name: np.clip(one, lower, upper) for name, one in self._dpv_columns.items()})

    def astype(self, dtype: Any, **given: Any) -> Any:
        """Other dtypes."""
        if any(value is not True and value != "raise" for value in given.values()):
            self._no(f"astype with {', '.join(given)}", "leave it out")
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
        caller = sys._getframe(1)
        named = {**caller.f_globals, **caller.f_locals}
        try:
            tree = _tree_of(expr)
        except SyntaxError:
            self._no("query", "write it with a mask: df[(df.age > 10) & (df.city == 'Oslo')]")
        return self._selected(self._asked(tree, named))

    def _asked(self, node: ast.expr, named: Mapping[str, Any]) -> Any:
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.BoolOp(op=op, values=[first, *others]):
                found = self._asked(first, named)
                for one in others:
                    other = self._asked(one, named)
                    found = found & other if isinstance(op, ast.And) else found | other
                return found
            case ast.UnaryOp(
                op=ast.Not() | ast.Invert(), operand=ast.Compare() | ast.BoolOp() | ast.UnaryOp() as inner
            ):
                return ~self._asked(inner, named)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value) | float(value))):
                return -value
            case ast.Compare(left=left, ops=ops, comparators=others):
                if len(ops) == 1 and isinstance(ops[0], ast.In | ast.NotIn | ast.Eq | ast.NotEq):
                    column, listed = self._asked(left, named), self._asked(others[0], named)
                    if isinstance(column, FollowedSeries) and type(listed) in (list, tuple):
                        found = column.isin(listed)  # == with a list asks the same of pandas
                        return found if isinstance(ops[0], ast.In | ast.Eq) else ~found
                sides = [self._asked(one, named) for one in (left, *others)]
                parts = [_COMPARE[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)
                         if type(op) in _COMPARE]  # fmt: skip
                if len(parts) == len(ops):
                    found = parts[0]
                    for one in parts[1:]:
                        found = found & one
                    return found
            case ast.Name(id=name) if name.startswith(_OUTSIDE) and name.removeprefix(_OUTSIDE) in named:
                return named[name.removeprefix(_OUTSIDE)]
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self._asked(one, named) for one in elements]
            case ast.Name(id=name) if name in self._dpv_columns:
                return self._column(name)
            case ast.Constant(value=value):
                return value
        self._no("query", "write it with a mask: df[(df.age > 10) & (df.city == 'Oslo')]")

    def to_numpy(self, dtype: Any = None, **given: Any) -> Any:
        """All columns side by side."""
        if set(given) - {"copy"}:
            self._no(f"to_numpy with {', '.join(given)}", "leave it out")
        found: Any = np.column_stack(list(self._dpv_columns.values()))
        if dtype is not None:
            return found.astype(dtype)
        if not given.get("copy"):  # of columns of one dtype it is a view
            found._dpv_owned = False
            for one in self._dpv_columns.values():
                one._dpv_owned = False
        return found

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

    def _nothing_else(self, name: str, given: Mapping[str, Any]) -> None:
        for key, value in given.items():
            if not (key == "skipna" and value is True):
                self._no(f"{name} with {key}=", "leave it out")

    def _each(self, function: Callable[[FollowedArray], Any], numeric_only: Any) -> Any:
        names = [name for name, one in self._dpv_columns.items() if one.dtype.kind in "biuf"]
        if len(names) < len(self._dpv_columns) and not numeric_only:
            self._no("a statistic of columns of texts", "choose the columns, df[['age', 'income']]")
        parts = np.stack([function(self._dpv_columns[name]) for name in names])  # pyright: ignore[reportUnusedVariable]
        return series_of(parts, pd.Index(names), None)

    def sum(self, axis: Any = 0, numeric_only: bool = False, **given: Any) -> Any:
        """Sums of columns, or along each record."""
        self._nothing_else("sum", given)
        if axis in (1, "columns"):
            if any(fact_of(one).missing.any() for one in self._dpv_columns.values() if is_rows(one)):  # type: ignore[union-attr]
                self._no("sums along records with missing values", "fill them first")
            return FollowedSeries(np.sum(self.to_numpy(), axis=1), self._dpv_index)
        return self._each(lambda one: sum_of_present(one, skipna=True), numeric_only)

    def mean(self, axis: Any = 0, numeric_only: bool = False, **given: Any) -> Any:
        """Means of columns, over a public number."""
        self._nothing_else("mean", given)
        if axis in (1, "columns"):
            if any(fact_of(one).missing.any() for one in self._dpv_columns.values() if is_rows(one)):  # type: ignore[union-attr]
                self._no("means along records with missing values, which are left out", "fill them first")
            return FollowedSeries(np.mean(self.to_numpy(), axis=1), self._dpv_index)
        return self._each(lambda one: np.mean(one), numeric_only)

    def count(self, **given: Any) -> Any:
        """How many values are present in each column."""
        self._nothing_else("count", given)
        parts = np.stack([self._column(name).count() for name in self._dpv_columns])
        return series_of(parts, self.columns, None)

    def groupby(self, by: Any, observed: Any = None, **given: Any) -> Any:
        """Groups by one column, or by several whose values are all known."""
        if isinstance(by, list) and len(by) == 1:
            by = by[0]
        for key, value in given.items():
            if not (key in ("sort", "group_keys", "as_index", "dropna") and value):
                self._no(f"groupby with {key}=", "leave it out")
        keys: tuple[FollowedArray, ...]
        if isinstance(by, FollowedSeries):
            shared_labels(self._dpv_tape, [self._column(self.columns[0]), by])
            keys = (by._dpv_arr,)
        elif isinstance(by, str):
            keys = (self._column(by)._dpv_arr,)
        elif isinstance(by, list) and by and all(isinstance(one, str) for one in by) and len(set(by)) == len(by):
            keys = tuple(self._column(one)._dpv_arr for one in by)
        else:
            remedy = INSTEAD["resample"] if isinstance(by, pd.Grouper) else "name them: df.groupby(['city', 'sex'])"
            self._no("groupby of something else than columns", remedy)
        return Groups(self._dpv_tape, keys, self._dpv_columns, None, complete=observed is False)

    def value_counts(self, subset: Any = None, *args: Any, **given: Any) -> Any:
        """Counts of combinations of columns, whose labels depend on data until they are put into a public order."""
        names = list(self._dpv_columns) if subset is None else subset
        if args or any(
            not (key in ("sort", "ascending") or (key == "dropna" and value)) for key, value in given.items()
        ):
            self._no("value_counts with normalize or missing values", "count, and divide the noisy counts")
        if not isinstance(names, list) or len(names) < 2 or len(set(names)) < len(names):
            self._no("value_counts of a frame by one column", "use that of the column: df['city'].value_counts()")
        return Grouped(self._dpv_tape, tuple(self._column(one)._dpv_arr for one in names), None, "value_counts")

    def pivot_table(self, values: Any = None, index: Any = None, columns: Any = None, aggfunc: Any = "mean",
                    fill_value: Any = None, **given: Any) -> Any:  # fmt: skip
        """Sums or counts by two columns, whose labels depend on data until they are put into a public order."""
        if given or not all(isinstance(one, str) for one in (index, columns)) or index == columns:
            self._no("pivot_table by something else than two columns, or with further arguments",
                     "use groupby(['city', 'sex']) with reindex")  # fmt: skip
        if aggfunc not in ("sum", "count", "size") or fill_value != 0 or not isinstance(values, str):
            self._no("pivot_table of another kind than aggfunc='sum' or 'count' of one column, with fill_value=0",
                     "release noisy sums and counts, each with fill_value=0, and divide them")  # fmt: skip
        if values in (index, columns):
            self._no("pivot_table of a column by itself", "name another column")
        groups = self.groupby([index, columns])[values]
        return CrossCounts(getattr(groups, aggfunc)())

    def agg(self, func: Any = None, *args: Any, **given: Any) -> Any:
        """Statistics of columns by their names: a dictionary of one for each."""
        if isinstance(func, str) and func in ("sum", "mean", "count") and not args and not given:
            return getattr(self, func)()
        if (
            args
            or given
            or type(func) is not dict
            or not func
            or not all(isinstance(one, str) for one in func.values())
        ):
            self._no("agg of another kind", 'name one statistic for each column: df.agg({"age": "sum"})')
        parts = [self._column(name).agg(how) for name, how in func.items()]
        return series_of(np.stack(parts), pd.Index(list(func)), None)

    aggregate = agg

    def pipe(self, func: Any, *args: Any, **given: Any) -> Any:
        """The function of it."""
        if not callable(func):
            self._no("pipe of another kind", "call the function")
        return func(self, *args, **given)

    def __getattr__(self, name: str) -> Any:
        if name in self._dpv_columns:
            return self._column(name)
        if name.startswith("_") or not hasattr(pd.DataFrame, name):
            raise AttributeError(name)
        self._no(f".{name} of a frame of data", INSTEAD.get(name, SEE))


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
        if isinstance(columns, slice) and columns == slice(None):
            if frame is self._of:  # another frame of the same values
                object.__setattr__(frame, "_dpv_owned", False)
                return FollowedFrame(frame._dpv_tape, frame._dpv_columns, frame._dpv_index, owned=False)
            return frame
        return frame[columns]

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


def frame_of(tape: RunTape, columns: dict[Any, FollowedArray], sample: Any) -> FollowedFrame:
    """The frame that a function is handed."""
    return FollowedFrame(tape, columns, "table", owned=False)
