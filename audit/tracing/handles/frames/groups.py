"""Groups of records, whose labels depend on data until they are put in a public order."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Labels,
    applied,
    dtype_of,
    is_noise,
    of_the_same_records,
    public,
    raw,
)
from dpverdict.audit.tracing.handles.frames.series import (
    FollowedSeries,
    PandasHandle,
    filled,
    groupings,
    pd,
    plain_label,
    series_of,
)
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import RunTape


class Groups(PandasHandle):
    """``df.groupby(key)``."""

    __slots__ = ("_dpv_columns", "_dpv_complete", "_dpv_keys", "_dpv_name", "_dpv_tape")

    def __init__(
        self, tape: RunTape, keys: tuple[FollowedArray, ...], columns: Mapping[Any, FollowedArray], name: Any, *,
        complete: bool = False,
    ) -> None:  # fmt: skip
        self._dpv_tape, self._dpv_keys, self._dpv_columns, self._dpv_name = tape, keys, columns, name
        if not of_the_same_records([*keys, *columns.values()]):  # the index would choose among the records
            self._no("groups by a column of other records", "select the records first: df[mask].groupby('city')")
        self._dpv_complete = complete  # observed=False: of a categorical dtype, groups without records are there too

    def __getitem__(self, name: Any) -> Groups:
        if isinstance(name, list) and len(name) == 1:
            self._no("groups of a list of columns", "name one column")
        if not isinstance(name, str) or name not in self._dpv_columns:
            raise KeyError(name)
        return Groups(self._dpv_tape, self._dpv_keys, self._dpv_columns, name, complete=self._dpv_complete)

    def _made(self, weights: Any, what: str) -> Any:
        """The statistic, with its labels where all of them are public."""
        known = [one._dpv_labels for one in self._dpv_keys if one._dpv_labels is not None]
        if not self._dpv_complete or len(known) < len(self._dpv_keys):
            return Grouped(self._dpv_tape, self._dpv_keys, weights, what)
        return Grouped(self._dpv_tape, self._dpv_keys, weights, what, known=tuple(known)).in_order()

    def _of(self, what: str) -> FollowedArray:
        if self._dpv_name is None:
            self._no(f"{what} of every column in groups", f"name one column: df.groupby(key)['age'].{what}()")
        return self._dpv_columns[self._dpv_name]

    def size(self) -> Any:
        """How many records each group has."""
        return self._made(None, "size")

    def count(self) -> Any:
        """How many present values each group has."""
        array = self._of("count")
        present = applied("is missing", [array], pd.isna(raw(array)))
        return self._made(np.where(present, 0, 1), "count")

    def sum(self, *args: Any, **given: Any) -> Any:
        """The sum of each group."""
        for key, value in given.items():
            if args or not (key == "numeric_only" or (key == "min_count" and value == 0)):
                self._no(f"sum of groups with {key}=", "leave it out")
        if args:
            self._no("sum of groups with further arguments", "leave them out")
        return self._made(filled(self._of("sum")), "sum")

    def transform(self, *args: Any, **given: Any) -> NoReturn:
        """Refused."""
        self._no(
            "transform of groups, which puts a statistic of all records beside each of them",
            "release noisy sums and sizes of the groups; a function of one record needs no groups: x.clip(0, 10)",
        )

    def mean(self, *args: Any, **given: Any) -> NoReturn:
        """Refused."""
        self._no("the mean of each group, which divides by a number that is data",
                 "divide noisy sums by noisy sizes")  # fmt: skip

    def agg(self, how: Any = None, *args: Any, **given: Any) -> Any:
        """By the names of statistics: of one column, of columns by a dictionary, or named as n=("age", "count")."""
        if args or (how is not None and given):
            self._no("agg with further arguments", "use size, count or sum")
        if isinstance(how, str):
            return self._named(self._dpv_name, how)
        asked: dict[Any, tuple[Any, Any]] = {}
        if isinstance(how, list) and self._dpv_name is not None:
            asked = {one: (self._dpv_name, one) for one in how}
        elif isinstance(how, dict) and self._dpv_name is None:
            asked = {name: (name, one) for name, one in how.items()}
        elif how is None and all(isinstance(one, tuple) and len(one) == 2 for one in given.values()):
            asked = dict(given)
        if not asked:
            self._no("agg of another kind", 'name each: agg(n=("age", "count"), s=("age", "sum"))')
        parts = {name: self._named(column, one) for name, (column, one) in asked.items()}
        whole = all(isinstance(one, FollowedSeries) for one in parts.values())
        return TotalsTable(self._dpv_tape, parts) if whole else GroupedTable(self._dpv_tape, parts)

    aggregate = agg

    def _named(self, column: Any, how: Any) -> Any:
        if how not in ("sum", "count", "size"):
            self._no(f"agg by {how}", "use size, count or sum; a mean is a noisy sum over a noisy count")
        own = self if column is None or column == self._dpv_name else self[column]
        return getattr(own, how)()

    def __iter__(self) -> Any:
        self._no("a loop over the groups of data", "loop over public values: for c in ['Oslo', 'Rome']")

    def __getattr__(self, name: str) -> Any:
        if name in self._dpv_columns:
            return self[name]
        if name.startswith("_"):
            raise AttributeError(name)
        self._no(f".{name} of groups", "use size, count or sum, and compute from the noisy values")


class Grouped(PandasHandle):
    """Statistics of groups, whose labels depend on data until they are put in a public order."""

    __slots__ = ("_dpv_keys", "_dpv_known", "_dpv_tape", "_dpv_weights", "_dpv_what")

    def __init__(
        self, tape: RunTape, keys: tuple[FollowedArray, ...], weights: Any, what: str, *,
        known: tuple[Labels, ...] = (),
    ) -> None:  # fmt: skip
        self._dpv_tape, self._dpv_keys, self._dpv_weights, self._dpv_what = tape, keys, weights, what
        self._dpv_known = known

    def in_order(self) -> Any:
        """In the public order of a categorical dtype, which has groups without records too."""
        if len(self._dpv_known) == 1:
            return self.reindex(self._dpv_known[0].index, fill_value=0)
        return self.reindex(pd.MultiIndex.from_product([one.index for one in self._dpv_known]), fill_value=0)

    def reindex(self, labels: Any = None, *, index: Any = None, fill_value: Any = None, **given: Any) -> Any:
        """In the order of public labels, with 0 where a group has no record."""
        labels = public(self, labels if labels is not None else index)
        if given or isinstance(labels, Followed):
            self._no("reindex of another kind", "reindex(values, fill_value=0)")
        if fill_value is None:
            return Unfilled(self, labels if isinstance(labels, pd.MultiIndex) else list(labels))
        shown = labels
        if fill_value != 0:
            self._no("reindex with another fill_value than 0")
        several = len(self._dpv_keys) > 1
        if several != isinstance(labels, pd.MultiIndex) or (several and labels.nlevels != len(self._dpv_keys)):
            self._no("reindex with labels of another number of columns",
                     "of several columns: pd.MultiIndex.from_product([['Oslo', 'Rome'], ['f', 'm']])")  # fmt: skip
        values = [self._named(one) for one in labels]
        if len(set(values)) < len(values):
            self._no("reindex with a label twice")
        weights = self._dpv_weights
        keys = [pd.Series(raw(one)) for one in self._dpv_keys]
        counted = pd.Series(np.ones(len(keys[0]), dtype=np.int64) if weights is None else raw(weights))
        order = pd.MultiIndex.from_tuples(values) if several else values
        found = counted.groupby(keys if several else keys[0]).sum().reindex(order, fill_value=0).to_numpy()
        arrays = [*self._dpv_keys] if weights is None else [*self._dpv_keys, weights]
        if several:
            total = applied("groups of several columns", arrays, found, values=values, keys=len(keys),
                            dtype=dtype_of(found))  # fmt: skip
            return series_of(total, labels, None)
        total = applied("groups", arrays, found, values=values, dtype=dtype_of(found))
        return series_of(total, shown if isinstance(shown, pd.Index) else pd.Index(list(shown)), None)

    def _named(self, label: Any) -> Any:
        """A label that is asked for, as the trace has it."""
        parts = label if len(self._dpv_keys) > 1 and isinstance(label, tuple) else (label,)
        found = [plain_label(part) if key._dpv_labels is None else key._dpv_labels.named(key, plain_label(part))
                 for key, part in zip(self._dpv_keys, parts, strict=True)]  # fmt: skip
        return tuple(found) if len(self._dpv_keys) > 1 else found[0]

    def get(self, key: Any, default: Any = None) -> Any:
        """The statistic of one public label, 0 where it has no record."""
        if default != 0:
            self._no("get without 0 for a group that has no record", "write counts.get(label, 0)")
        if len(self._dpv_keys) > 1:
            self._no("get of a group by several columns", "reindex them first")
        return self.reindex([key], fill_value=0)._dpv_arr[0]

    def to_dict(self, *args: Any, **given: Any) -> Any:
        """Only ``get(label, 0)`` may be asked of it."""
        return CountsByLabel(self)

    def unstack(self, *args: Any, fill_value: Any = None, **given: Any) -> Any:
        """The second key across, whose labels are put in a public order next."""
        if args or given or fill_value != 0 or len(self._dpv_keys) != 2:
            self._no(
                "unstack of another kind", "of two keys: .unstack(fill_value=0).reindex(index=, columns=, fill_value=0)"
            )
        return CrossCounts(self)

    def sum(self) -> Any:
        """Refused."""
        self._no("the sum over groups that depend on data", "reindex them first")

    def sort_index(self, *args: Any, **given: Any) -> Any:
        """In the order of a categorical dtype; else the same, whose labels still depend on data."""
        return self.in_order() if self._dpv_known and not args and not given else self

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


class CountsByLabel(PandasHandle):
    """Statistics of groups in a dictionary: which labels are in it depends on data."""

    __slots__ = ("_dpv_of", "_dpv_tape")

    def __init__(self, of: Grouped) -> None:
        self._dpv_tape, self._dpv_of = of._dpv_tape, of

    def get(self, key: Any, default: Any = None) -> Any:
        """The statistic of one public label, 0 where it has no record."""
        return self._dpv_of.get(public(self, key), default)

    def _which(self, *args: Any) -> NoReturn:
        self._no("which labels occur in the data", "write counts.get(label, 0) for public labels")

    __getitem__: Callable[..., NoReturn] = _which
    __contains__: Callable[..., NoReturn] = _which
    __iter__: Callable[..., NoReturn] = _which
    __len__: Callable[..., NoReturn] = _which
    keys: Callable[..., NoReturn] = _which
    items: Callable[..., NoReturn] = _which
    values: Callable[..., NoReturn] = _which

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._which()


class GroupedTable(PandasHandle):
    """Several statistics of groups, side by side, whose labels depend on data until they are put in a public order."""

    __slots__ = ("_dpv_parts", "_dpv_tape")

    def __init__(self, tape: RunTape, parts: Mapping[Any, Grouped]) -> None:
        self._dpv_tape, self._dpv_parts = tape, dict(parts)

    def reindex(self, labels: Any = None, *, index: Any = None, fill_value: Any = None, **given: Any) -> Any:
        """In the order of public labels, with 0 where a group has no record."""
        if fill_value is None:
            self._labels()
        return TotalsTable(self._dpv_tape, {
            name: one.reindex(labels, index=index, fill_value=fill_value, **given)
            for name, one in self._dpv_parts.items()
        })  # fmt: skip

    def _dpv_labels_missing(self) -> NoReturn:
        self._labels()

    def _labels(self) -> NoReturn:
        self._no("the labels of groups, which are those that occur in the data", "write .reindex(labels, fill_value=0)")

    def __array_ufunc__(self, *args: Any, **given: Any) -> Any:
        self._labels()

    __array_function__ = __array_ufunc__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._labels()

    def __getitem__(self, key: Any) -> Any:
        self._labels()

    def __len__(self) -> int:  # noqa: PLE0303
        self._labels()

    def __iter__(self) -> Any:
        self._labels()


class CrossCounts(GroupedTable):
    """Counts by two columns, whose labels depend on data until they are put in a public order."""

    __slots__ = ("_dpv_counts",)

    def __init__(self, counts: Grouped) -> None:
        super().__init__(counts._dpv_tape, {})
        self._dpv_counts = counts

    def reindex(self, labels: Any = None, *, index: Any = None, columns: Any = None, fill_value: Any = None,
                **given: Any) -> Any:  # fmt: skip
        """In the order of public labels of both columns, with 0 where there is no record."""
        if index is None or columns is None or labels is not None or fill_value is None or given:
            self._no("counts by two columns in an order that depends on data",
                     "pd.crosstab(a, b).reindex(index=[...], columns=[...], fill_value=0)")  # fmt: skip
        down, across = list(public(self, index)), list(public(self, columns))
        whole = self._dpv_counts.reindex(pd.MultiIndex.from_product([down, across]), fill_value=fill_value)._dpv_arr
        width = len(across)
        return TotalsTable(self._dpv_tape, {
            name: series_of(whole[np.arange(i, len(down) * width, width)], pd.Index(down), name)
            for i, name in enumerate(across)
        })  # fmt: skip


class TotalsTable(PandasHandle):
    """Statistics with public labels, in columns: each is a series, and all together an array."""

    __slots__ = ("_dpv_parts", "_dpv_tape")
    __array_priority__: float = 1600.0

    def __init__(self, tape: RunTape, parts: Mapping[Any, Any]) -> None:
        self._dpv_tape, self._dpv_parts = tape, dict(parts)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str | int) or key not in self._dpv_parts:
            self._no("columns of statistics that are picked in another way than one by its name", "write table['n']")
        return self._dpv_parts[key]

    def to_numpy(self, *args: Any, **given: Any) -> Any:
        """All statistics as one array, a row for each label."""
        if args or given:
            self._no("to_numpy with other arguments")
        return np.stack([one._dpv_arr for one in self._dpv_parts.values()], axis=1)

    @property
    def values(self) -> Any:
        """The same."""
        return self.to_numpy()

    @property
    def index(self) -> Any:
        """The public labels."""
        return next(iter(self._dpv_parts.values())).index

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        return pd.Index(list(self._dpv_parts))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of labels, and of columns."""
        return len(self.index), len(self._dpv_parts)

    def __len__(self) -> int:
        return len(self.index)

    def __add__(self, noise: Any) -> Any:
        if not is_noise(noise) or noise.shape != self.shape:
            self._no("a table of statistics plus something else than noise for each", "rng.laplace(size=table.shape)")
        found = self.to_numpy() + noise
        value = pd.DataFrame(found._dpv_value, index=self.index, columns=self.columns)
        return Released(self._dpv_tape, value, found._dpv_pending)

    __radd__ = __add__

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **given: Any) -> Any:
        if function is np.add and method == "__call__" and not given and len(args) == 2:
            return self + (args[1] if args[0] is self else args[0])
        self._no(f"np.{function.__name__} of a table of statistics", "take its columns, or .to_numpy()")

    def __array_function__(self, function: Any, types: Any, args: Any, given: Any) -> Any:
        self._no(f"np.{function.__name__} of a table of statistics", "take its columns, or .to_numpy()")

    def __getattr__(self, name: str) -> Any:
        if name in self._dpv_parts:
            return self._dpv_parts[name]
        if name.startswith("_"):
            raise AttributeError(name)
        self._no(f".{name} of a table of statistics", "take its columns, or .to_numpy()")


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


groupings().update(counts=Grouped, groups=Groups)
