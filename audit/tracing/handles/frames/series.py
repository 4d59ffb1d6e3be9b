"""A column of records as a series of pandas, or statistics with public labels."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpverdict.audit.tables.frames import library
from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Labels,
    applied,
    dtype_of,
    fact_of,
    is_rows,
    is_total,
    labelled,
    no,
    public,
    raw,
    remade,
    settled,
)
from dpverdict.audit.tracing.handles.frames.dates import compared, of_dates, one_of, part
from dpverdict.audit.tracing.handles.frames.frame_or_series import INSTEAD, SEE, FrameOrSeries
from dpverdict.audit.tracing.handles.functions import array_of, selected
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import RunTape
from dpverdict.audit.tracing.rules.facts import Rows

pd: Final[Any] = library("pandas", "the table of the schema is a frame of pandas")

_GROUPINGS: Final[dict[str, Any]] = {}
"""What groups of records are made of; `groups` fills it."""


def groupings() -> dict[str, Any]:
    """Where the classes of groups are registered."""
    return _GROUPINGS


class PandasHandle(FrameOrSeries):
    """A frame or a series of pandas."""

    __slots__ = ()
    _dpv_selection = "a mask"
    _dpv_copy = ".copy()"

    def __index__(self) -> int:  # noqa: PLE0305
        self._no("an index that is data", "add noise first")


class FollowedSeries(PandasHandle, np.lib.mixins.NDArrayOperatorsMixin):
    """A column of the records, or a statistic with public labels."""

    __slots__ = ("_dpv_arr", "_dpv_index", "_dpv_tape", "name")
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
        return series_of(array, self._dpv_index, self.name)

    # what is public ---------------------------------------------------------------------------------------------------

    @property
    def index(self) -> Any:
        """The labels of a statistic."""
        if is_total(self._dpv_arr):
            return self._dpv_index
        self._no("the labels of records", "records have no public order")

    @property
    def dtype(self) -> Any:
        """Of the values; pandas keeps whole numbers where no fraction is put in their place."""
        kind = self._dpv_arr.dtype
        number = self._dpv_arr._dpv_number
        step = None if number is None else self._dpv_tape.setting.steps[number]
        put = step is not None and (step.name in ("where", "fill") or (
            step.name == "elementwise" and step.parameters["name"] in ("maximum", "minimum")))  # fmt: skip
        if step is not None and put and kind.kind == "f" and any(
            isinstance(one.fact, Rows) and one.fact.dtype.startswith(("int", "bool")) for one in step.operands
        ):  # fmt: skip
            self._no("the dtype of a column of whole numbers into which fractions may have been put, which is data",
                     "convert it: .astype(float)")  # fmt: skip
        return kind

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
        index = shared_labels(self._dpv_tape, args)
        plain = [unwrapped(one) for one in settled(args)]
        if len(plain) == 2 and not given and any(map(of_dates, plain)):
            one, other = plain
            return series_of(compared(function.__name__, one, other, _as_time), index, self.name)
        return series_of(function(*plain, **given), index, self.name)

    def __array_function__(self, function: Any, types: Any, args: Any, given: Any) -> Any:
        index = shared_labels(self._dpv_tape, args)
        found = function(*unwrapped(settled(args)), **unwrapped(settled(given)))
        if isinstance(found, FollowedArray | Released) and _fits(found, index, self._dpv_arr):
            return series_of(found, index, self.name) if function in (np.clip, np.round) else found  # a plain array
        return found

    def __getitem__(self, key: Any) -> Any:
        key = settled(key)
        if is_rows(self._dpv_arr):
            if isinstance(key, FollowedSeries | FollowedArray):
                shared_labels(self._dpv_tape, [self, key] if isinstance(key, FollowedSeries) else [self])
                return series_of(selected(self._dpv_arr, unwrapped(key)), self._dpv_index, self.name)
            self._no("records that are picked by their label", "use a mask, s[s > 0]")
        place = self._dpv_index.get_indexer_for(list(key) if isinstance(key, list | pd.Index) else [key])
        if (place < 0).any() or (len(place) != 1 and not isinstance(key, list | pd.Index)):
            raise KeyError(key)
        if isinstance(key, list | pd.Index):
            return series_of(self._dpv_arr[place], self._dpv_index[place], self.name)
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
        self._bounds_in_order(lower, upper)
        return self._like(np.clip(self._dpv_arr, lower, upper))

    def fillna(self, value: Any = None, *args: Any, **given: Any) -> Any:
        """A public value in place of missing ones."""
        self._plain_call("fillna", args, given)
        if is_total(self._dpv_arr):
            return self
        value = public(self, value)
        if value is None or not isinstance(value, str | int | float | np.generic):
            self._no("fillna with something else than one value", "fill with a public number")
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
        return series_of(present(self._dpv_arr, [self._dpv_arr]), self._dpv_index, self.name)

    @property
    def dt(self) -> Any:
        """The parts of dates."""
        if not of_dates(self._dpv_arr):
            self._no(".dt of something else than dates without a zone", INSTEAD["dt"])
        return _Parts(self)

    def between(self, left: Any, right: Any, inclusive: str = "both") -> Any:
        """Whether a value lies between two public ones."""
        above = self >= left if inclusive in ("both", "left") else self > left
        return above & (self <= right if inclusive in ("both", "right") else self < right)

    def isin(self, values: Any) -> Any:
        """Whether a value is one of public ones."""
        if of_dates(self._dpv_arr):
            return self._like(one_of(self._dpv_arr, list(public(self, values)), _as_one_time))
        listed = [one.item() if isinstance(one, np.generic) else one for one in public(self, values)]
        found = pd.Series(raw(self._dpv_arr)).isin(listed).to_numpy()
        return self._like(applied("isin", [self._dpv_arr, listed], found))

    def map(self, arg: Any, na_action: Any = None) -> Any:
        """A public dictionary applied to each value."""
        table = arg.to_dict() if isinstance(arg, pd.Series) and not isinstance(arg, Followed) else arg
        if is_total(self._dpv_arr) and callable(table):
            return self.apply(table)
        if type(table) is not dict:
            self._no("map with a function, or a dictionary that makes items, which may do anything with a record",
                     "give a dictionary")  # fmt: skip
        found = pd.Series(raw(self._dpv_arr)).map(table).to_numpy()
        return self._like(applied("map", [self._dpv_arr, table], found, dtype=_dtype(found)))

    def apply(self, func: Any, *args: Any, **given: Any) -> Any:
        """A function of each number of a statistic, such as one that adds noise."""
        if not is_total(self._dpv_arr) or not callable(func):
            self._no(".apply of a series of data", INSTEAD["apply"])
        found = array_of([func(one, *args, **given) for one in self._dpv_arr])
        if found is None:
            self._no("apply of a function that gives no numbers of the statistic", "compute them by themselves")
        return series_of(found, self._dpv_index, self.name)

    def pipe(self, func: Any, *args: Any, **given: Any) -> Any:
        """The function of it."""
        return func(self, *args, **given)

    def agg(self, func: Any = None, *args: Any, **given: Any) -> Any:
        """A statistic by its name."""
        if func not in ("sum", "mean", "count", "size") or args or given:
            self._no("agg by something else than 'sum', 'mean', 'count' or 'size'", "call the method of that name")
        return self.size if func == "size" else getattr(self, func)()

    aggregate = agg

    def replace(self, to_replace: Any = None, value: Any = None, **given: Any) -> Any:
        """Public values in place of others."""
        listed = type(to_replace) is dict and value is None
        table = to_replace if listed else {to_replace: value} if isinstance(to_replace, str | int | float) else None
        fact = fact_of(self._dpv_arr)
        if given or table is None or not isinstance(fact, Rows) or any(
            not isinstance(one, str | int | float) or one != one for one in (*table, *table.values())
        ):  # fmt: skip
            self._no("replace of another kind", "give a dictionary of public values, or use map or where")
        if fact.dtype == "category":
            if fact.values is None:
                self._no("replace of texts that the schema does not list", "use map")
            return self.map({one: table.get(one, one) for one in fact.values})
        if fact.dtype == "bool" or any(isinstance(one, str | bool) for one in (*table, *table.values())):
            self._no("replace of truth values, or of numbers by texts", "use map")
        found: Any = self._dpv_arr
        for old, new in table.items():
            found = np.where(np.equal(self._dpv_arr, old), new, found)
        return self._like(found)

    def astype(self, dtype: Any, *args: Any, **given: Any) -> Any:
        """Another dtype."""
        if isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None:
            return self._in_categories(dtype)
        if isinstance(dtype, pd.CategoricalDtype) or str(dtype) in ("category", "str", "string", "object"):
            labels = self._dpv_arr._dpv_labels
            if labels is not None and labels.intervals:
                self._no("intervals of pd.cut that become text", "give labels")
            whole = isinstance(dtype, pd.CategoricalDtype) or str(dtype) == "category"
            fact = fact_of(self._dpv_arr)
            texts = isinstance(fact, Rows) and fact.dtype == "category" and all(
                isinstance(one, str) for one in fact.values or [None]
            )  # fmt: skip
            if str(dtype) in ("str", "string") and not (texts and isinstance(fact, Rows) and not fact.missing.any()):
                self._no("numbers, or what is missing, that become texts", "compare numbers, and fill the gaps first")
            array = labelled(remade(self._dpv_arr, self._dpv_arr._dpv_number, raw(self._dpv_arr)),
                             labels if whole else None)  # fmt: skip
            return series_of(array, self._dpv_index, self.name)
        if isinstance(dtype, str) and dtype.lower() != dtype:
            self._no(f"a column of the dtype {dtype} of pandas, which raises for some numbers and has gaps of its own",
                     f'write astype("{dtype.lower()}")')  # fmt: skip
        return self._like(self._dpv_arr.astype(np.dtype(dtype)))

    def _in_categories(self, dtype: Any) -> Any:
        """As a column whose values are listed: what is none of them is missing."""
        fact, listed = fact_of(self._dpv_arr), dtype.categories.tolist()
        if not isinstance(fact, Rows) or fact.dtype != "category" or not all(isinstance(one, str) for one in listed):
            self._no("a categorical dtype of something else than texts", "compare with public values")
        found = self.map({one: one for one in listed})
        labels = Labels(tuple(listed), pd.CategoricalIndex(listed, dtype=dtype), False)
        array = remade(found._dpv_arr, found._dpv_arr._dpv_number, raw(found._dpv_arr))
        return series_of(labelled(array, labels), self._dpv_index, self.name)

    def abs(self) -> Any:
        """Absolute values."""
        return self._like(np.abs(self._dpv_arr))

    def round(self, decimals: int = 0) -> Any:
        """Rounded."""
        return self._like(np.round(self._dpv_arr, decimals))

    def where(self, cond: Any, other: Any = np.nan, *args: Any, **given: Any) -> Any:
        """Its own value where a condition holds, else another."""
        self._plain_call("where", args, given)
        shared_labels(self._dpv_tape, [self, cond, other])
        return self._like(np.where(unwrapped(cond), self._dpv_arr, unwrapped(other)))

    def mask(self, cond: Any, other: Any = np.nan, *args: Any, **given: Any) -> Any:
        """Another value where a condition holds."""
        self._plain_call("mask", args, given)
        shared_labels(self._dpv_tape, [self, cond, other])
        return self._like(np.where(unwrapped(cond), unwrapped(other), self._dpv_arr))

    def copy(self, deep: bool = True) -> Any:
        """The same values."""
        if not deep:
            self._no("a copy that shares its values, which may change with it", "write .copy()")
        return series_of(self._dpv_arr.copy(), self._dpv_index, self.name)

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

    def ne(self, other: Any) -> Any:
        """Not equal."""
        return self != other

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
        return series_of(self._dpv_arr, (self._dpv_index, "reset"), self.name)

    def rename(self, name: Any = None, **given: Any) -> Any:
        """Another name."""
        if given or not (name is None or type(name) in (str, int, float)):
            self._no("rename by something else than a new name", "give a text")
        return series_of(self._dpv_arr, self._dpv_index, name)

    def reindex(self, labels: Any, **given: Any) -> Any:
        """Statistics in the order of public labels."""
        if not is_total(self._dpv_arr):
            self._no("records by their labels")
        return self[list(labels)]

    # statistics -------------------------------------------------------------------------------------------------------

    def sum(self, axis: Any = 0, skipna: bool = True, **given: Any) -> Any:
        """The sum of what is present."""
        self._plain_call("sum", (), given)
        return sum_of_present(self._dpv_arr, skipna)

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
        labels = self._dpv_arr._dpv_labels
        counts = _GROUPINGS["counts"](self._dpv_tape, (self._dpv_arr,), None, "value_counts",
                                      known=() if labels is None else (labels,))  # fmt: skip
        return counts if sort or labels is None else counts.in_order()

    def groupby(self, by: Any, observed: Any = None, **given: Any) -> Any:
        """Groups by another column."""
        if type(by) is not FollowedSeries or not is_rows(by._dpv_arr) or any(
            not (key in ("sort", "group_keys", "as_index", "dropna") and value) for key, value in given.items()
        ):  # fmt: skip
            self._no("groupby of something else than a column", "name it: df.groupby('city')['age']")
        shared_labels(self._dpv_tape, [self, by])
        return _GROUPINGS["groups"](self._dpv_tape, (by._dpv_arr,), {self.name: self._dpv_arr}, self.name,
                                    complete=observed is False)  # fmt: skip

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
        self._no(f".{name} of a series of data", INSTEAD.get(name, SEE))


class _Parts:
    """``s.dt`` of a column of dates."""

    def __init__(self, of: FollowedSeries) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        known = {"weekday": "dayofweek", "day_of_week": "dayofweek", "day_of_year": "dayofyear"}.get(name, name)
        if known not in _PARTS:
            self._of._no(f".dt.{name} of dates", INSTEAD["dt"])
        array = self._of._dpv_arr
        return self._of._like(part(array, known, getattr(pd.Series(raw(array)).dt, name).to_numpy()))


_PARTS: Final = ("year", "quarter", "month", "day", "dayofyear", "dayofweek", "hour", "minute", "second")


def _as_time(array: FollowedArray, value: Any) -> Any:
    """What pandas compares a column of dates with: a time, or a text that it reads as one."""
    value = public(array, value)
    if type(value) is str:
        try:
            value = pd.Timestamp(value)
        except ValueError:
            no(array, "dates compared with a text that is no date", "write it as 2024-12-31")
    elif type(value) is np.datetime64:
        value = pd.Timestamp(value)
    if not isinstance(value, datetime.datetime):  # pandas takes no datetime.date
        no(array, "dates compared with something that is no time", 'write "2024-12-31", or pd.Timestamp("2024-12-31")')
    return pd.Timestamp(value)


def _as_one_time(array: FollowedArray, value: Any) -> Any:
    """What pandas finds among dates without a warning: a time alone."""
    if type(value) is str:
        no(array, "isin of dates with texts", 'write isin(pd.to_datetime(["2024-12-31"]))')
    return _as_time(array, value)


class _Places:
    """Coordinates of a statistic by their places."""

    def __init__(self, of: FollowedSeries) -> None:
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice | list):
            return series_of(self._of._dpv_arr[key], self._of._dpv_index[key], self._of.name)
        return self._of._dpv_arr[key]


# small steps ----------------------------------------------------------------------------------------------------------


def series_of(array: Any, index: Any, name: Any) -> Any:
    if isinstance(array, FollowedArray):
        if not is_rows(array) and (array.ndim != 1 or not isinstance(index, pd.Index) or len(index) != len(array)):
            return array
        return FollowedSeries(array, index, name)
    if isinstance(array, Released) and isinstance(index, pd.Index):
        value = array._dpv_value
        if np.ndim(value) == 1 and len(value) == len(index):
            return Released(array._dpv_tape, pd.Series(value, index=index, name=name), array._dpv_pending)
    return array


def plain_label(label: Any) -> Any:
    if isinstance(label, tuple):
        return tuple(plain_label(one) for one in label)
    return label.item() if isinstance(label, np.generic) else label


def _fits(found: Any, index: Any, array: FollowedArray) -> bool:
    return isinstance(found, Released) or is_rows(found) or (isinstance(index, pd.Index) and found.ndim == 1)


def unwrapped(value: Any) -> Any:
    if type(value) is FollowedSeries:
        return value._dpv_arr
    if type(value) in (list, tuple):
        return type(value)(unwrapped(one) for one in value)
    if type(value) is dict:
        return {key: unwrapped(one) for key, one in value.items()}
    if type(value) is pd.Series:
        return value
    return value


def shared_labels(tape: RunTape, values: Sequence[Any]) -> Any:
    """The labels that series have in common."""
    found: Any = None
    for one in values:
        if type(one) is pd.Series:
            tape.refuse("a public series beside data, which are put together by labels", "use its .to_numpy()")
        if hasattr(one, "_dpv_labels_missing"):
            one._dpv_labels_missing()
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


def present(array: FollowedArray, tested: Sequence[FollowedArray], *, known: bool = True) -> FollowedArray:
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


def filled(array: FollowedArray) -> FollowedArray:
    fact = fact_of(array)
    if isinstance(fact, Rows) and fact.missing.any():
        value = np.where(pd.isna(raw(array)), 0, raw(array))
        return applied("fill", [array, np.asarray(0)], value, dtype=dtype_of(value))
    return array


def sum_of_present(array: FollowedArray, skipna: bool) -> Any:
    if is_total(array):
        return np.sum(array)
    return np.sum(filled(array) if skipna else array)
