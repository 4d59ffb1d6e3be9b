"""The table of a schema as a function is handed it: an array or a frame that is followed."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import numpy as np

import dpverdict.audit.tracing.handles.histograms  # noqa: F401  # it registers what it covers  # pyright: ignore[reportUnusedImport]
from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.frames import array_type, common_type
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.handles.arrays import FollowedArray
from dpverdict.audit.tracing.handles.tape import RunTape


def table_of(tape: RunTape, schema: TableSchema, sample: Any) -> Any:
    """The table that a function is called with.

    Args:
        tape: of the run.
        schema: of the table.
        sample: a dataset of the schema, of which the trace has the values.
    """
    if schema.table == "numpy":
        return _array(tape, schema, sample)
    if schema.table == "pandas":
        from dpverdict.audit.tracing.handles.frames.frames import frame_of

        columns = {one.name: _column(tape, one, np.asarray(sample[one.name]), str(sample[one.name].dtype))
                   for one in schema.columns}  # fmt: skip
        return frame_of(tape, columns, sample)
    from dpverdict.audit.tracing.handles.frames.polars_frames import polars_frame_of

    return polars_frame_of(tape, {one.name: _of_polars(tape, one, sample[one.name]) for one in schema.columns})


def _array(tape: RunTape, schema: TableSchema, sample: Any) -> FollowedArray:
    columns = schema.columns
    dtype = array_type(columns[0]) if len(columns) == 1 else common_type(columns)
    if dtype.kind == "O":
        return _column(tape, columns[0], sample, "object")
    if dtype.kind not in "biuf":
        tape.refuse(f"a table of {dtype}", "numbers, truth values and categories are covered")
    ends = [bounds_of(one, dtype) for one in columns]
    given = {
        "names": [one.name for one in columns],
        "low": [repr(low) for low, _, _ in ends],
        "high": [repr(high) for _, high, _ in ends],
        "missing": [missing for _, _, missing in ends],
        "single": len(columns) == 1,
        "dtype": str(dtype),
        "values": None,
    }
    return FollowedArray(tape, tape.apply("table", [], given), sample, owned=False)


def _of_polars(tape: RunTape, column: Column, series: Any) -> FollowedArray:
    """A column of a frame of polars: whole numbers and truth values with null are floats in the trace."""
    values = np.asarray(series.to_numpy())
    numeric = column.type in ("int", "float", "bool") or series.dtype.is_numeric()
    if numeric and values.dtype.kind == "O":  # truth values with null
        values = np.array([np.nan if one is None else float(one) for one in values.tolist()])
    dtype = {"int": "int64", "bool": "bool"}.get(column.type) if column.nullable else None
    if dtype is not None and values.dtype.kind != "f":
        values = values.astype(np.float64)
    dated = values.dtype.kind == "M" and getattr(series.dtype, "time_zone", None) is None
    return _column(tape, column, values if numeric or dated else values.astype(object), "", stated=dtype)


def _column(tape: RunTape, column: Column, values: Any, dtype: str, *, stated: str | None = None) -> FollowedArray:
    """A column by itself, which holds categories too."""
    numeric = values.dtype.kind in "biufM"
    low, high, missing = bounds_of(column, values.dtype) if numeric else (0.0, 0.0, column.nullable)
    listed = list(column.values) if column.type == "category" else None
    given = {
        "names": [column.name],
        "low": [repr(low)],
        "high": [repr(high)],
        "missing": [missing],
        "single": True,
        "dtype": stated or (str(values.dtype) if numeric else "category"),
        "values": listed,
    }
    number = tape.apply("table", [], given)
    if column.type == "date" and values.dtype.kind != "M":
        tape.unread.add(number)
    return FollowedArray(tape, number, values, owned=False)


def bounds_of(column: Column, dtype: np.dtype[Any]) -> tuple[float, float, bool]:
    """The bounds of a column of numbers, as float64 rounded outward, and whether an entry may be missing.

    Of dates they are days, counted from the year 1.
    """
    if dtype.kind == "M":
        low = -math.inf if column.low is None else _day(column.low)
        return low, math.inf if column.high is None else _day(column.high), column.nullable
    if column.type == "bool":
        return 0.0, 1.0, column.nullable
    if column.type == "category":
        numbers = [float(one) for one in column.values if isinstance(one, int | float)]
        return min(numbers), max(numbers), column.nullable
    least, most = column.integer_range if column.type == "int" else (None, None)
    low = _end(column.low, least, down=True)
    high = _end(column.high, most, down=False)
    return low, high, column.nullable


def _day(end: Any) -> float:
    assert isinstance(end, datetime.date)
    return float(end.toordinal())


def _end(bound: Any, other: int | None, *, down: bool) -> float:
    if isinstance(bound, datetime.date) or (bound is None and other is None):
        return -math.inf if down else math.inf
    exact = Fraction(other if bound is None else bound)  # type: ignore[arg-type]  # one of them is given
    near = float(exact)
    if down:
        return near if Fraction(near) <= exact else math.nextafter(near, -math.inf)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
