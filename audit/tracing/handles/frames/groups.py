"""Groups of records, whose labels depend on data until they are put in a public order."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    applied,
    dtype_of,
    public,
    raw,
)
from dpverdict.audit.tracing.handles.frames.series import PandasHandle, filled, groupings, pd, plain_label, series_of
from dpverdict.audit.tracing.handles.released import Followed
from dpverdict.audit.tracing.handles.tape import Tape


class Groups(PandasHandle):
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
        return Grouped(self._dpv_tape, self._dpv_keys, filled(self._of("sum")), "sum")

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


class Grouped(PandasHandle):
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
        values = [plain_label(one) for one in labels]
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
            return series_of(total, labels, None)
        total = applied("groups", arrays, found, values=values, dtype=dtype_of(found))
        return series_of(total, pd.Index(values), None)

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

    def _dpv_labels_missing(self) -> NoReturn:
        self._labels()

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


class Unfilled(PandasHandle):
    """Groups in a public order, with NaN where one has no record."""

    __slots__ = ("_dpv_labels", "_dpv_of", "_dpv_tape")

    def __init__(self, of: Grouped, labels: Any) -> None:
        self._dpv_tape, self._dpv_of, self._dpv_labels = of._dpv_tape, of, labels

    def _dpv_labels_missing(self) -> NoReturn:
        self._no("groups that may be missing", "write reindex(labels, fill_value=0)")

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


groupings()["counts"], groupings()["groups"] = Grouped, Groups
