"""The functions of pandas that take frames and series: what they do with those that are followed."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from dpverdict.audit.tracing.handles.arrays import is_rows, public
from dpverdict.audit.tracing.handles.frames.frame_or_series import FrameOrSeries
from dpverdict.audit.tracing.handles.frames.frames import FollowedFrame
from dpverdict.audit.tracing.handles.frames.groups import CrossCounts, Grouped
from dpverdict.audit.tracing.handles.frames.series import FollowedSeries, pd, shared_labels
from dpverdict.audit.tracing.handles.tape import current

REMEDIES: Final = {
    "get_dummies": "its columns depend on data: write (df['city'] == c) for public c",
    "qcut": "its edges depend on data: use pd.cut with public edges and labels",
    "pivot_table": "its labels depend on data: use groupby(['city', 'sex']) with reindex",
    "concat": "work with the columns of one frame",
    "unique": "the values depend on data: use those of the schema",
    "factorize": "the codes depend on data: use map with a dictionary of every category",
}


def cut(x: Any, bins: Any, right: bool = True, labels: Any = None, **given: Any) -> Any:
    """The interval that an entry lies in, by its public label; missing outside of all."""
    if type(x) is not FollowedSeries or not is_rows(x._dpv_arr):
        _no("pd.cut of something else than a column")
    if any(value not in (False, None, "raise") and key not in ("precision", "ordered")
           for key, value in given.items()):  # fmt: skip
        _no(f"pd.cut with {', '.join(given)}", "leave it out")
    edges = np.asarray(public(x, bins), dtype=np.float64)
    if edges.ndim != 1:
        _no("pd.cut into a number of intervals, whose edges depend on data", "give public edges")
    if labels is None:
        _no("pd.cut without labels", 'give labels=["young", "old"], or labels=False for numbers')
    names = list(range(len(edges) - 1)) if labels is False else list(public(x, labels))
    if len(names) != len(edges) - 1 or len(set(names)) < len(names):
        _no("pd.cut with another number of labels than intervals, or a label twice")
    places: Any = np.digitize(x._dpv_arr, edges, right=bool(right))
    return FollowedSeries(places, x._dpv_index, x.name).map({i + 1: name for i, name in enumerate(names)})


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
    "cut": cut, "crosstab": crosstab, "merge": merge, "isna": isna, "isnull": isna, "notna": notna, "notnull": notna,
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
    return [(pd, name, _act(name, value)) for name, value in own if callable(value) and not isinstance(value, type)]
