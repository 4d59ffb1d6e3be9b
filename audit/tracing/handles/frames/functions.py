"""The functions of pandas that take frames and series: what they do with those that are followed."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    Labels,
    fact_of,
    is_rows,
    labelled,
    public,
    raw,
    remade,
    settled,
)
from dpverdict.audit.tracing.handles.frames.frame_or_series import FrameOrSeries
from dpverdict.audit.tracing.handles.frames.frames import FollowedFrame
from dpverdict.audit.tracing.handles.frames.groups import CrossCounts, Grouped
from dpverdict.audit.tracing.handles.frames.series import FollowedSeries, PandasHandle, pd, shared_labels
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import current
from dpverdict.audit.tracing.rules.facts import Rows

REMEDIES: Final = {
    "qcut": "its edges depend on data: use pd.cut with public edges and labels",
    "concat": "work with the columns of one frame",
    "unique": "the values depend on data: use those of the schema",
    "factorize": "the codes depend on data: use map with a dictionary of every category",
}


def cut(x: Any, bins: Any, right: bool = True, labels: Any = None, **given: Any) -> Any:
    """The interval that an entry lies in, by its public label; missing outside of all."""
    if type(x) is not FollowedSeries or not is_rows(x._dpv_arr):
        _no("pd.cut of something else than a column")
    if any(value not in (False, None, "raise") and key not in ("precision", "ordered", "include_lowest")
           for key, value in given.items()):  # fmt: skip
        _no(f"pd.cut with {', '.join(given)}", "leave it out")
    column: Any = x
    bins = settled(public(column, bins))
    if isinstance(bins, pd.IntervalIndex) or np.ndim(bins) != 1:
        _no("pd.cut into a number of intervals, whose edges depend on data", "give public edges")
    edges = np.asarray(bins, dtype=np.float64)
    names = None if labels is None or labels is False else list(public(column, labels))
    index: Any = None
    if labels is not False:  # pandas rounds the edges that it shows
        index = pd.cut(pd.Series([], dtype=float), bins, right=right, labels=labels, **given).cat.categories
        index = pd.CategoricalIndex(index, categories=index, ordered=bool(given.get("ordered", True)))
    values = [str(one) for one in index] if names is None and labels is None else names
    count = len(edges) - 1
    if values is not None and (len(values) != count or len(set(values)) < count):
        _no("pd.cut with another number of labels than intervals, or a label twice")
    places: Any = np.digitize(column._dpv_arr, edges, right=bool(right))
    if given.get("include_lowest") and right:
        places = np.where(np.equal(column._dpv_arr, edges[0]), 1, places)
    fact = fact_of(places)
    if values is None and isinstance(fact, Rows) and fact.low >= 1 and fact.high <= count:  # each lies in an interval
        return FollowedSeries(np.subtract(places, 1), column._dpv_index, column.name)
    named = dict(enumerate(range(count) if values is None else values, start=1))
    found = FollowedSeries(places, column._dpv_index, column.name).map(named)
    if values is None:
        return found
    array = remade(found._dpv_arr, found._dpv_arr._dpv_number, raw(found._dpv_arr))
    return FollowedSeries(labelled(array, Labels(tuple(values), index, names is None)), column._dpv_index, column.name)


def pivot_table(data: Any, *args: Any, **given: Any) -> Any:
    """That of the frame."""
    if type(data) is not FollowedFrame:
        _no("pd.pivot_table of something else than a frame")
    return data.pivot_table(*args, **given)


def get_dummies(data: Any, *args: Any, **given: Any) -> Any:
    """A column for each value that occurs, until they are put in a public order."""
    if args or given or type(data) is not FollowedSeries or not is_rows(data._dpv_arr):
        _no("pd.get_dummies of another kind", "write (df['city'] == c) for public c")
    return Dummies(data)


class Dummies(PandasHandle):
    """A column of truth values for each value that occurs in the data."""

    __slots__ = ("_dpv_of", "_dpv_tape")

    def __init__(self, of: FollowedSeries) -> None:
        self._dpv_tape, self._dpv_of = of._dpv_tape, of

    def reindex(self, labels: Any = None, *, columns: Any = None, fill_value: Any = None, **given: Any) -> Any:
        """A column for each of some public values, with 0 where it does not occur."""
        listed = None if columns is None else list(public(self, columns))
        if labels is not None or listed is None or given or fill_value != 0 or len(set(listed)) < len(listed):
            self._no("columns that depend on data", "write .reindex(columns=[...], fill_value=0)")
        found: dict[Any, Any] = {one: (self._dpv_of == one)._dpv_arr for one in listed}
        return FollowedFrame(self._dpv_tape, found, self._dpv_of._dpv_index, owned=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._no(
            "the columns of get_dummies, which are the values that occur", "write .reindex(columns=[...], fill_value=0)"
        )


def crosstab(index: Any, columns: Any, *args: Any, **given: Any) -> Any:
    """Counts by two columns."""
    if args or given or type(index) is not FollowedSeries or type(columns) is not FollowedSeries:
        _no("pd.crosstab of something else than two columns",
            "pd.crosstab(df['city'], df['sex']).reindex(index=[...], columns=[...], fill_value=0)")  # fmt: skip
    down: Any = index
    across: Any = columns
    shared_labels(down._dpv_tape, [down, across])
    return CrossCounts(Grouped(down._dpv_tape, (down._dpv_arr, across._dpv_arr), None, "crosstab"))


def merge(left: Any, right: Any, *args: Any, **given: Any) -> Any:
    """That of the frame."""
    if type(left) is not FollowedFrame:
        _no("pd.merge of a public table with data", "write df.merge(table, on='key')")
    return left.merge(right, *args, **given)


def isna(obj: Any) -> Any:
    """Whether an entry is missing."""
    if type(obj) is not FollowedSeries:
        _no("pd.isna of something else than a column", "take one column")
    return obj.isna()


def notna(obj: Any) -> Any:
    """Whether an entry is present."""
    return ~isna(obj)


_OWN: Final[dict[str, Callable[..., Any]]] = {
    "cut": cut, "crosstab": crosstab,
    "pivot_table": pivot_table, "get_dummies": get_dummies,
    "merge": merge, "isna": isna, "isnull": isna, "notna": notna, "notnull": notna,
}  # fmt: skip


def _no(what: str, remedy: str = "") -> NoReturn:
    tape = current()
    assert tape is not None
    tape.refuse(what, remedy)


def _act(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def act(*args: Any, **given: Any) -> Any:
        if current() is not None:
            data = [one for one in (*args, *given.values()) if isinstance(one, FrameOrSeries)]
            data += [part for one in args if type(one) in (list, tuple) for part in one
                     if isinstance(part, FrameOrSeries)]  # fmt: skip
            if data and name in _OWN:
                return _OWN[name](*args, **given)
            if data:
                _no(f"pd.{name} of data", REMEDIES.get(name, "what is covered is listed in "
                                                                "docs/reference_tracing.md"))  # fmt: skip
        return original(*args, **given)

    return act


def pandas_functions() -> list[tuple[Any, str, Any]]:
    """What is replaced while a run is followed: the functions of pandas, by what tells of data."""
    names = [name for name in dir(pd) if not name.startswith("_") and not name.startswith("read_")]
    own = [(name, getattr(pd, name)) for name in names]
    found = [(pd, name, _act(name, value)) for name, value in own if callable(value) and not isinstance(value, type)]
    types = [name for name in dir(pd.api.types) if name.startswith("is_") and not name.endswith("_dtype")]
    return found + [(pd.api.types, name, _about(name, getattr(pd.api.types, name))) for name in types]


def _about(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A question about the class of a value, which is not answered of what is followed."""

    def about(value: Any, *args: Any, **given: Any) -> Any:
        tape = current()
        if tape is not None and (isinstance(value, Followed | Released) or hasattr(value, "_dpv_array")):
            _no(f"pd.api.types.{name} of data", "ask for its dtype")
        return original(value, *args, **given)

    return about
