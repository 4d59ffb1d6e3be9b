"""Whether a table is one of a schema: the first entry that is not, with its column and its row."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tables.column import Column, as_time, bound_text
from dpverdict.audit.tables.frames import (
    Table,
    TableKind,
    collected,
    entries,
    kind_of,
    length_of,
    names_of,
    with_dates,
    with_types,
)
from dpverdict.errors import InvalidValue
from dpverdict.suggestions import nearest


def must_fit_schema(table: Table, kind: TableKind, columns: Sequence[Column], records: int | None) -> None:
    """Raise unless a table has the columns of a schema, and every entry is one that its column may hold.

    Raises:
        InvalidValue: the first that does not fit: column, row (from 0), value, requirement, remedy.
    """
    if kind_of(table) != kind:
        given = f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
        requirement = f"{'an array of NumPy' if kind == 'numpy' else f'a frame of {kind}'}, as the schema has it"
        raise InvalidValue("table", given, requirement, 'convert it, or change table = "..." in the schema')
    held = collected(table)
    places = _places(held, columns)
    if records is not None and length_of(held) != records:
        requirement = f"of the {records} records that the schema states"
        raise InvalidValue("table", f"{length_of(held)} records", requirement, "correct records in the schema")
    for column in columns:
        rows, values = entries(held, places[column.name])
        if not column.nullable and len(rows) < length_of(held):
            gaps = np.setdiff1d(np.arange(length_of(held)), rows, assume_unique=True)
            raise _misfit(column, int(gaps[0]), None, "present: the column is not nullable")
        found = _first_misfit(column, values)
        if found is not None:
            i, requirement = found
            raise _misfit(column, int(rows[i]), values[i], requirement)


def _misfit(column: Column, row: int, value: object, requirement: str) -> InvalidValue:
    shown = value.item() if isinstance(value, np.generic) else value
    if value is None:
        shown = "(missing)"
    remedy = "set nullable = true in the schema, or fill it in" if value is None else "correct the entry, or the schema"
    return InvalidValue(f"row {row}, column {column.name}", shown, requirement, remedy)


def _places(table: Table, columns: Sequence[Column]) -> dict[str, int]:
    """Where the columns of the schema are in a table."""
    known, names = [column.name for column in columns], names_of(table)
    if names is None:
        width = 1 if table.ndim == 1 else table.shape[1] if table.ndim == 2 else -1
        if width != len(known) or (table.ndim == 2 and len(known) == 1):
            requirement = "of shape (n,)" if len(known) == 1 else f"of shape (n, {len(known)}), a column for each"
            remedy = f"reshape it; the schema has {', '.join(known[:10])}"
            raise InvalidValue("table", f"array of shape {table.shape}", requirement, remedy)
        return {name: i for i, name in enumerate(known)}
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidValue("table", name, "the name of one column only", "rename one of the columns")
        if name not in known:
            remedy = f"{nearest(name, known)}add [columns.{name}] to the schema, or leave the column out of the table"
            raise InvalidValue("column", name, "one of the schema", remedy)
    for name in known:
        if name not in names:
            remedy = f"{nearest(name, names)}the table has {', '.join(names[:20])}"
            raise InvalidValue("column", name, "in the table, as the schema has it", remedy)
    return {name: names.index(name) for name in known}


def _first_misfit(column: Column, values: NDArray[Any]) -> tuple[int, str] | None:
    """The first entry that a column may not hold, and what it must be; None if all fit."""
    if values.dtype.kind in "iuf" and column.type in ("int", "float"):
        bad = _numbers_outside(column, values)
    elif values.dtype.kind == "M" and column.type == "date":
        bad = _times_outside(column, values)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            below = column.low is not None and bool(values[first] < _time64(column.low))
            end = column.low if below else column.high
            assert end is not None
            return first, f"{'at least' if below else 'at most'} {bound_text(end)}"
        return None
    elif values.dtype.kind == "b" and column.type == "bool":
        return None
    else:
        return _first_misfit_of_objects(column, values)
    if not bad.any():
        return None
    first = int(np.flatnonzero(bad)[0])
    requirement = column.misfit(values[first].item())
    assert requirement is not None
    return first, requirement


def _numbers_outside(column: Column, values: NDArray[Any]) -> NDArray[np.bool_]:
    bad = np.zeros(len(values), dtype=bool)
    if column.type == "int" and values.dtype.kind == "f":
        bad |= ~np.isfinite(values) | (values != np.floor(values))
    low, high = (_comparable(end, values) for end in (column.low, column.high))
    if low is not None:
        bad |= values < low
    if high is not None:
        bad |= values > high
    return bad


def _comparable(bound: object, values: NDArray[Any]) -> float | int | None:
    """A bound as a number that NumPy compares exactly with the entries; None where there is none."""
    if bound is None:
        return None
    assert isinstance(bound, Fraction)
    return int(bound) if values.dtype.kind in "iu" and bound.denominator == 1 else float(bound)


def _times_outside(column: Column, values: NDArray[Any]) -> NDArray[np.bool_]:
    bad = np.zeros(len(values), dtype=bool)
    if column.low is not None:
        bad |= values < _time64(column.low)
    if column.high is not None:
        bad |= values > _time64(column.high)
    return bad


def _time64(bound: object) -> np.datetime64:
    assert isinstance(bound, datetime.date)
    time = as_time(bound)
    return np.datetime64(time if time.tzinfo is None else time.astimezone(datetime.UTC).replace(tzinfo=None))


def _first_misfit_of_objects(column: Column, values: NDArray[Any]) -> tuple[int, str] | None:
    fitting: set[tuple[type, object]] = set()  # most entries repeat
    for i, value in enumerate(values.tolist()):
        try:
            if (type(value), value) in fitting:
                continue
        except TypeError:  # not hashable: a list, for example
            return i, f"one value of type {column.type}"
        requirement = column.misfit(value)
        if requirement is not None:
            return i, requirement
        if len(fitting) < 2**16:
            fitting.add((type(value), value))
    return None


def conform(table: Table, columns: Sequence[Column]) -> Table:
    """A frame that was read from a file, with the types and the order of a schema, once it has been seen to fit.

    Texts that are dates become dates.

    Raises:
        InvalidValue: the first entry that does not fit.
    """
    _places(table, columns)
    table = table[[column.name for column in columns]]
    for column in columns:
        if column.type == "date":
            table = with_dates(table, column)
    kind = kind_of(table)
    assert kind is not None
    must_fit_schema(table, kind, columns, None)
    return with_types(table, columns)
