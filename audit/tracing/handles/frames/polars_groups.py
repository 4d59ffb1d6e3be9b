"""Statistics of polars: a column of them, and groups, whose labels depend on data until they are joined.

A group without records has no row, so which labels occur is data. A left join of a public table of all labels puts them
in a public order, with null where a group has no record; 0 in place of null makes statistics of them.
"""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    applied,
    dtype_of,
    fact_of,
    is_noise,
    is_total,
    of_the_same_records,
    raw,
)
from dpverdict.audit.tracing.handles.frames.frame_or_series import PolarsHandle
from dpverdict.audit.tracing.handles.frames.polars_trees import Columns, Tree, counts_in_32_bits, gaps, in_32_bits, pl
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import RunTape, current
from dpverdict.audit.tracing.rules.facts import Rows

JOIN: Final = 'pl.DataFrame({"city": [...]}).join(counts, on="city", how="left", maintain_order="left").fill_null(0)'
_IN_ORDER: Final = ("left", "left_right")


class PolarsStatistics(PolarsHandle):
    """A column of statistics, in a public order."""

    __slots__ = ("_dpv_arr", "_dpv_tape", "name")
    __array_ufunc__ = None

    def __init__(self, array: FollowedArray, name: str) -> None:
        self._dpv_tape, self._dpv_arr = array._dpv_tape, array
        self.name: str = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pl.Series

    def _dpv_array(self) -> FollowedArray:
        return self._dpv_arr

    def __len__(self) -> int:
        return len(self._dpv_arr)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are."""
        return (len(self),)

    def len(self) -> int:
        """How many there are."""
        return len(self)

    def item(self, index: int | None = None) -> Any:
        """One statistic, as a plain number of Python, which does not wrap around."""
        if index is None and len(self) != 1:
            raise ValueError("can only call '.item()' if the Series is of length 1, or an index is provided")
        return self._dpv_arr[0 if index is None else index]

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int:
            self._no("statistics that are picked otherwise than one by its place", "take .to_numpy() of them")
        return self._dpv_arr[key]

    def to_list(self) -> list[Any]:
        """All of them, as plain numbers of Python."""
        return [self._dpv_arr[i] for i in range(len(self))]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def to_numpy(self, **given: Any) -> Any:
        """As an array; counts in 32 bits, as polars has them."""
        if given:
            self._no("to_numpy with other arguments")
        return counts_in_32_bits(self._dpv_arr) if in_32_bits(self._dpv_arr) else self._dpv_arr

    def alias(self, name: str) -> Any:
        """With another name."""
        return PolarsStatistics(self._dpv_arr, name)

    rename = alias

    def fill_null(self, value: Any = None, **given: Any) -> Any:
        """The same: none of them is null."""
        return self

    fill_nan = fill_null

    def cast(self, dtype: Any, **given: Any) -> Any:
        """As 64-bit numbers."""
        return self._applied(pl.col("s").cast(dtype))

    def _applied(self, expression: Any, other: Any = None) -> Any:
        columns: Columns = {"s": self._dpv_arr} | ({} if other is None else {"other": other})
        found = Tree(self._dpv_tape, columns).of(expression)[1]
        return PolarsStatistics(found, self.name)

    def _calculated(self, method: str, other: Any) -> Any:
        if is_noise(other) and method in ("__add__", "__radd__", "__sub__"):
            found = self._dpv_arr - other if method == "__sub__" else self._dpv_arr + other
            value = pl.Series(self.name, np.broadcast_to(found._dpv_value, (len(self),)).astype(np.float64))
            return Released(self._dpv_tape, value, found._dpv_pending)
        if type(other) is PolarsStatistics:
            return self._applied(getattr(pl.col("s"), method)(pl.col("other")), other._dpv_arr)
        if type(other) not in (int, float):
            self._no("statistics together with something else than noise for each, or a public number",
                     "take .to_numpy() of them")  # fmt: skip
        return self._applied(getattr(pl.col("s"), method)(other))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pl.Series, name):
            raise AttributeError(name)
        self._no(f".{name} of statistics", "add noise first, or take .to_numpy() of them")


def _operator(name: str) -> Callable[..., Any]:
    def method(self: PolarsStatistics, other: Any) -> Any:
        return self._calculated(name, other)

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul"):
    setattr(PolarsStatistics, f"__{_name}__", _operator(f"__{_name}__"))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A statistic of each group: the sum of weights of its records; None for their number."""

    weights: FollowedArray | None


class PolarsGroups(PolarsHandle):
    """``df.group_by(key)``."""

    __slots__ = ("_dpv_columns", "_dpv_keys", "_dpv_tape")

    def __init__(self, tape: RunTape, columns: Columns, keys: Mapping[str, FollowedArray]) -> None:
        self._dpv_tape, self._dpv_columns, self._dpv_keys = tape, columns, dict(keys)

    def len(self, name: str = "len") -> Any:
        """How many records each group has."""
        return self.agg(pl.len().alias(name))

    def agg(self, *given: Any, **named: Any) -> Any:
        """Sums and counts, each by an expression."""
        parts: dict[str, Part] = {}
        listed = [part for one in given for part in (one if isinstance(one, list | tuple) else [one])]
        for one in [*listed, *(value.alias(name) for name, value in named.items() if isinstance(value, pl.Expr))]:
            if not isinstance(one, pl.Expr) or one.meta.has_multiple_outputs():
                self._no("agg by something else than expressions of one column each", 'pl.col("age").sum(), pl.len()')
            name = str(one.meta.output_name())
            if name in parts or name in self._dpv_keys:
                self._no("agg with a name twice", "write .alias")
            parts[name] = self._part(json.loads(one.meta.serialize(format="json")))
        if len(parts) != len(listed) + len(named) or not parts:
            self._no("agg by something else than expressions", 'pl.col("age").sum(), pl.len()')
        return PolarsGrouped(self._dpv_tape, self._dpv_keys, parts)

    def _part(self, node: Any) -> Part:
        tree = Tree(self._dpv_tape, self._dpv_columns)
        match node:
            case {"Alias": [inner, _]}:
                return self._part(inner)
            case "Len":
                return Part(None)
            case {"Agg": {"Sum": inner}}:
                return Part(self._of_each_group(tree.to_be_summed(inner)))
            case {"Agg": {"Count": {"input": inner, "include_nulls": nulls}}}:
                array = self._of_each_group(tree._rows(tree.carried_out(inner)))
                return Part(None if nulls or not gaps(array) else tree.present_or_not(array))
            case _:
                self._no("a statistic of groups of another kind", "use pl.len(), count() and sum(); a mean is a noisy "
                                                                  "sum over a noisy count")  # fmt: skip

    def _of_each_group(self, array: FollowedArray) -> FollowedArray:
        """A column of all records that were grouped: a number of some of them is not that of the group."""
        if not of_the_same_records([*self._dpv_keys.values(), array]):
            self._no("a part of the records within agg",
                     'sum over all: pl.when(mask).then(pl.col("age")).otherwise(0).sum(), or mask.sum()')  # fmt: skip
        return array

    def __iter__(self) -> Any:
        self._no("a loop over the groups of data", "loop over public values: for c in ['Oslo', 'Rome']")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._no(f".{name} of groups", "use .agg with pl.len(), count() and sum(), or .len()")


class PolarsGrouped(PolarsHandle):
    """Statistics of groups: which labels there are, and in which order, depends on data."""

    __slots__ = ("_dpv_keys", "_dpv_parts", "_dpv_tape")

    def __init__(self, tape: RunTape, keys: Mapping[str, FollowedArray], parts: Mapping[str, Part]) -> None:
        self._dpv_tape, self._dpv_keys, self._dpv_parts = tape, dict(keys), dict(parts)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pl.DataFrame

    def lazy(self) -> Any:
        """The same."""
        return self

    collect: Callable[..., Any] = lambda self, **given: self
    sort: Callable[..., Any] = lambda self, *by, **given: self  # a join puts them in another order

    def rename(self, mapping: Any, **given: Any) -> Any:
        """With other names."""
        if not isinstance(mapping, dict):
            self._no("rename by a function")
        keys = {mapping.get(name, name): one for name, one in self._dpv_keys.items()}
        parts = {mapping.get(name, name): one for name, one in self._dpv_parts.items()}
        if len(keys.keys() | parts.keys()) < len(self._dpv_keys) + len(self._dpv_parts):
            self._no("rename to a name twice")
        return PolarsGrouped(self._dpv_tape, keys, parts)

    def join(self, other: Any, on: Any = None, how: str = "inner", *, maintain_order: Any = None, **given: Any) -> Any:
        """With all labels of a public table, by how="right"."""
        if how != "right" or given or isinstance(other, Followed):
            self._labels()
        order = {"right": "left", "right_left": "left_right"}.get(str(maintain_order), "none")
        return self.joined_to(other, on, order)

    def joined_to(self, table: Any, on: Any, order: str) -> Any:
        """The statistics of the labels that a public table has, in its order; null where there is no record."""
        names = [on] if isinstance(on, str) else list(on) if isinstance(on, list | tuple) else []
        if not all(isinstance(one, str) for one in names) or set(names) != set(self._dpv_keys):
            self._no("groups that are joined by other columns than those they were made by", JOIN)
        table = table.lazy().collect()
        if set(table.columns) & set(self._dpv_parts) or not set(names) <= set(table.columns):
            self._no("groups joined to a table that lacks a key, or has a column of the same name", JOIN)
        keys = [self._dpv_keys[name] for name in names]
        values = table.select(names).rows()
        plain = all(type(part) in (str, int, bool) for row in values for part in row)
        if len(set(values)) < len(values) or not plain or any(raw(key).dtype.kind == "f" and not _whole(key)
                                                              for key in keys):  # fmt: skip
            self._no("groups joined to a table with a label twice, or with labels that are neither texts nor whole "
                     "numbers", "give a public table that has each label once")  # fmt: skip
        found = {name: _statistic(keys, values, one) for name, one in self._dpv_parts.items()}
        return PolarsAligned(self._dpv_tape, table, found, frozenset(found), ordered=order in _IN_ORDER,
                             names=[*table.columns, *found])  # fmt: skip

    def _labels(self) -> NoReturn:
        self._no("the labels of groups, which are those that occur in the data", JOIN)

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


def _whole(array: FollowedArray) -> bool:
    fact = fact_of(array)
    return isinstance(fact, Rows) and fact.dtype in ("int64", "bool")


def _statistic(keys: Sequence[FollowedArray], values: Sequence[tuple[Any, ...]], part: Part) -> FollowedArray:
    """A statistic of each of some public labels."""
    held = [raw(key).tolist() for key in keys]
    places = {value: i for i, value in enumerate(values)}
    at = np.array([places.get(row, len(values)) for row in zip(*held, strict=True)], dtype=np.int64)
    weights = None if part.weights is None else np.asarray(raw(part.weights))
    found = np.zeros(len(values) + 1, dtype=np.int64 if weights is None or weights.dtype.kind in "biu" else np.float64)
    np.add.at(found, at, 1 if weights is None else weights)
    arrays = [*keys] if part.weights is None else [*keys, part.weights]
    if len(keys) == 1:
        return applied("groups", arrays, found[:-1], values=[one for (one,) in values], dtype=dtype_of(found))
    return applied("groups of several columns", arrays, found[:-1], values=list(values), keys=len(keys),
                   dtype=dtype_of(found))  # fmt: skip


class PolarsAligned(PolarsHandle):
    """A public table with statistics of its rows; some of them are null where a group has no record."""

    __slots__ = ("_dpv_found", "_dpv_names", "_dpv_ordered", "_dpv_public", "_dpv_tape", "_dpv_unfilled")

    def __init__(
        self, tape: RunTape, table: Any, found: Mapping[str, FollowedArray], unfilled: frozenset[str], *,
        ordered: bool, names: Sequence[str],
    ) -> None:  # fmt: skip
        self._dpv_tape, self._dpv_public, self._dpv_found = tape, table, dict(found)
        self._dpv_unfilled, self._dpv_ordered, self._dpv_names = unfilled, ordered, list(names)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return pl.DataFrame

    def _like(self, *, table: Any = None, found: Mapping[str, FollowedArray] | None = None, unfilled: Any = None,
              ordered: bool | None = None, names: Sequence[str] | None = None) -> PolarsAligned:  # fmt: skip
        names = self._dpv_names if names is None else names
        found = self._dpv_found if found is None else found
        for name in names:
            if name not in found and name not in self._dpv_public.columns:
                raise KeyError(name)
        return PolarsAligned(
            self._dpv_tape, self._dpv_public if table is None else table, found,
            self._dpv_unfilled if unfilled is None else frozenset(unfilled),
            ordered=self._dpv_ordered if ordered is None else ordered, names=names,
        )  # fmt: skip

    def lazy(self) -> Any:
        """The same."""
        return self

    collect: Callable[..., Any] = lambda self, **given: self

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self._dpv_names)

    @property
    def height(self) -> int:
        """The number of rows, which is public."""
        return int(self._dpv_public.height)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self.height, len(self.columns)

    def __len__(self) -> int:
        return self.height

    def fill_null(self, value: Any = None, *args: Any, **given: Any) -> Any:
        """0 where a group has no record."""
        gaps_elsewhere = any(one.null_count() for one in self._dpv_public)
        if type(value) not in (int, float) or value != 0 or args or given or gaps_elsewhere:
            self._no("groups without records filled with something else than 0", "write fill_null(0)")
        return self._like(unfilled=())

    def with_columns(self, *given: Any, **named: Any) -> Any:
        """With further statistics, and 0 in place of null."""
        found, unfilled = dict(self._dpv_found), set(self._dpv_unfilled)
        listed = [part for one in given for part in (one if isinstance(one, list | tuple) else [one])]
        for one in [*listed, *(value.alias(name) for name, value in named.items() if isinstance(value, pl.Expr))]:
            if not isinstance(one, pl.Expr) or one.meta.has_multiple_outputs():
                self._no("statistics by an expression of several columns", "name the columns one by one")
            name = str(one.meta.output_name())
            node = self._filled(json.loads(one.meta.serialize(format="json")))
            value = Tree(self._dpv_tape, self._dpv_found).carried_out(node)
            if not is_total(value) or name in self._dpv_public.columns:
                self._no("a column of groups that is no statistic", "compute it from the noisy values")
            found[name] = value
            unfilled.discard(name)
        if any(not isinstance(value, pl.Expr) for value in named.values()):
            self._no("a column of groups that is no statistic", "compute it from the noisy values")
        return self._like(found=found, unfilled=unfilled, names=list(dict.fromkeys([*self._dpv_names, *found])))

    def _filled(self, node: Any) -> Any:
        """An expression without fill_null(0) of a statistic; refused where one may be null."""
        match node:
            case {"Function": {"function": "FillNull", "input": [{"Column": name}, {"Literal": _} as literal]}}:
                value = pl.select(pl.Expr.deserialize(io.BytesIO(json.dumps(literal).encode()), format="json")).item()
                if value != 0:
                    self._no("groups without records filled with another number than 0")
                return {"Column": name}
            case {"Column": name} if name in self._dpv_unfilled:
                self._null()
            case dict():
                return {key: self._filled(one) for key, one in node.items()}
            case list():
                return [self._filled(one) for one in node]
            case _:
                return node

    def _null(self) -> NoReturn:
        self._no("groups that are null where there is no record", "write .fill_null(0)")

    def select(self, *given: Any, **named: Any) -> Any:
        """Some columns."""
        listed = [part for one in given for part in (one if isinstance(one, list | tuple) else [one])]
        if any(not isinstance(one, str | pl.Expr) for one in listed):
            self._no("columns that are not named one by one", 'write table.select("city", "n")')
        computed = [one for one in listed if not isinstance(one, str)]
        made = self.with_columns(*computed, **named) if computed or named else self
        names = [one if isinstance(one, str) else str(one.meta.output_name()) for one in listed]
        return made._like(names=[*names, *named])

    def drop(self, *names: Any, **given: Any) -> Any:
        """Without some columns."""
        return self._like(names=[one for one in self._dpv_names if one not in names])

    def sort(self, *by: Any, **given: Any) -> Any:
        """In the order of public columns; of all that make its rows differ, so that no two are in an open order."""
        names = [part for one in by for part in (one if isinstance(one, list | tuple) else [one])]
        if not names or any(one not in self._dpv_public.columns for one in names) or set(given) - {"descending"}:
            self._no("rows that are sorted by data", "sort by the columns of the public table")
        if self._dpv_public.select(names).is_duplicated().any():
            self._no("rows that are sorted by columns which do not tell them apart", "sort by every key")
        order = self._dpv_public.with_row_index("dpv place").sort(names, **given)
        places = order["dpv place"].to_numpy().astype(np.int64)
        found = {name: one[places] for name, one in self._dpv_found.items()}
        return self._like(table=order.drop("dpv place"), found=found, ordered=True)

    # what is taken out ------------------------------------------------------------------------------------------------

    def _in_order(self) -> None:
        if not self._dpv_ordered:
            self._no("a join of which polars leaves the order of rows open",
                     'write maintain_order="left", or sort by the keys')  # fmt: skip

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            self._no("statistics that are picked otherwise than by the name of a column", 'write table["n"]')
        if key not in self._dpv_names:
            raise KeyError(key)
        self._in_order()
        if key in self._dpv_unfilled:
            self._null()
        if key in self._dpv_found:
            return PolarsStatistics(self._dpv_found[key], key)
        return self._dpv_public[key]

    def get_column(self, name: str) -> Any:
        """A column."""
        return self[name]

    def iter_rows(self, *, named: bool = False, **given: Any) -> Iterator[Any]:
        """Row by row."""
        if given:
            self._no("rows with other arguments")
        whole = {name: list(self[name]) for name in self.columns}
        rows = [tuple(one[i] for one in whole.values()) for i in range(self.height)]
        return iter([dict(zip(whole, one, strict=True)) for one in rows] if named else rows)

    def rows(self, *, named: bool = False, **given: Any) -> list[Any]:
        """Row by row."""
        return list(self.iter_rows(named=named, **given))

    def to_dicts(self) -> list[Any]:
        """Row by row."""
        return self.rows(named=True)

    def to_numpy(self, **given: Any) -> Any:
        """All columns side by side, where all are statistics."""
        if given:
            self._no("to_numpy with other arguments")
        self._no("to_numpy of statistics with their labels", 'take one column: table["n"].to_numpy()')

    def __iter__(self) -> Iterator[Any]:
        return iter([self[name] for name in self.columns])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pl.DataFrame, name):
            raise AttributeError(name)
        self._no(f".{name} of statistics of groups", 'take one column: table["n"]')


def polars_functions() -> list[tuple[Any, str, Any]]:
    """What is replaced while a run is followed: a public table that is joined with groups."""
    return [(kind, "join", _joining(vars(kind)["join"])) for kind in (pl.DataFrame, pl.LazyFrame)]


def _joining(original: Callable[..., Any]) -> Callable[..., Any]:
    def join(self: Any, other: Any, on: Any = None, how: str = "inner", **given: Any) -> Any:
        tape = current()
        if tape is None or not isinstance(other, Followed):
            return original(self, other, on, how, **given)
        if type(other) is not PolarsGrouped:
            tape.refuse("a public table joined with data", "join the data with the public table: df.join(table, ...)")
        if how != "left" or set(given) - {"maintain_order", "coalesce"} or not given.get("coalesce", True):
            tape.refuse("groups joined otherwise than from the left", JOIN)
        return other.joined_to(self, on, str(given.get("maintain_order")))

    return join
