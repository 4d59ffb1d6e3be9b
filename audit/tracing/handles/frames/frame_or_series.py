"""What frames and series have in common, of either library: nothing of them leaves the trace."""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from dpverdict.audit.tracing.handles.released import Followed
from dpverdict.audit.tracing.handles.tape import RunTape

SEE: Final = "what is covered is listed in docs/reference_tracing.md"
INSTEAD: Final = {
    "sample": "a Poisson sample is covered under add-or-remove-one: df[rng.random(len(df)) < 0.1]",
    **dict.fromkeys(["sort_values", "head", "tail", "nlargest", "nsmallest", "rank", "shift", "diff", "pct_change",
                     "rolling", "expanding", "cumcount", "first", "last", "nth"],
                    "records have no order: use a mask, and sums"),
    **dict.fromkeys(["unique", "nunique", "drop_duplicates", "duplicated", "mode", "pivot_table", "pivot", "describe",
                     "stack", "unstack", "melt", "explode", "corr", "cov"],
                    "which values occur is data: count the values of the schema, and add noise"),
    **dict.fromkeys(["apply", "applymap", "agg", "aggregate", "pipe", "transform", "iterrows", "itertuples", "eval"],
                    "write it with whole columns: np.where, clip, map with a dictionary"),
    **dict.fromkeys(["median", "quantile", "min", "max", "idxmax", "idxmin"],
                    "one record may move it far: choose among public candidates by noisy counts"),
    **dict.fromkeys(["var", "std", "sem", "skew", "kurt"],
                    "release noisy sums of x, of x*x and a count, and compute it from these"),
    "join": "write df.merge(table, on='key') with a public table that has each key once",
    "replace": "use map with a dictionary of every category",
    "str": "map the categories of the schema by a dictionary",
    "dt": "compare with public dates, or take the year, quarter, month, day, dayofyear or dayofweek",
    **dict.fromkeys(["resample", "group_by_dynamic", "set_index", "asfreq", "upsample"],
                    "which dates occur is data: count ((df['day'] >= a) & (df['day'] < b)).sum() for public a, b, "
                    "or group by a part, df.groupby(df['day'].dt.month), and reindex by public labels"),
}  # fmt: skip
"""What to write in place of methods that are not covered."""


class FrameOrSeries(Followed):
    """Refuses, by name, whatever would make plain data of it.

    Attributes:
        _dpv_tape: of the run.
        _dpv_selection: what selects records in this library.
        _dpv_copy: what copies a frame in it.
    """

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    _dpv_tape: RunTape
    _dpv_selection: ClassVar[str]
    _dpv_copy: ClassVar[str]

    def _no(self, what: str, remedy: str = SEE) -> NoReturn:
        self._dpv_tape.refuse(what, remedy)

    def _bounds_in_order(self, lower: Any, upper: Any) -> None:
        """Refuse bounds of clip that pandas and NumPy take otherwise: pandas exchanges them, and NaN is none to it."""
        plain = [one for one in (lower, upper) if one is not None and type(one).__module__ in ("builtins", "numpy")]
        other = [one for one in (lower, upper) if one is not None and type(one).__module__.startswith("pandas")]
        if other or any(np.ndim(one) or one != one for one in plain):
            self._no("clip with several bounds, or with NaN", "give one number for each side, or None")
        if len(plain) == 2 and plain[0] > plain[1]:
            self._no("clip with a lower bound above the upper one, which libraries take in different ways",
                     "give the smaller one first")  # fmt: skip

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._no("a branch on data", f"put the test behind the noise, or use {self._dpv_selection}")

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
        self._no("data that are pickled", f"use {self._dpv_copy}")


class PolarsHandle(FrameOrSeries):
    """A frame, a series or groups of polars."""

    __slots__ = ()
    _dpv_selection = "a filter"
    _dpv_copy = ".clone()"
