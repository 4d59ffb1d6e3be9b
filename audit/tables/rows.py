"""Records taken out of a table, added to it and exchanged, for every kind of table that a function takes.

A table keeps its types. A frame of pandas whose index only counts its rows is numbered anew, as a file without that
record would be; any other index is kept.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tables.column import Column, Value, is_missing
from dpverdict.audit.tables.frames import Record, Table, build, kind_of, length_of, library, names_of
from dpverdict.errors import InvalidValue

Received: TypeAlias = Literal["numpy", "pandas", "polars", "lazy polars", "records"]
"""What a function is given: an array, a frame, a lazy frame of polars, or a list with a dictionary for each record."""

RECEIVED: Final[tuple[Received, ...]] = get_args(Received)


def received_by(function: object) -> Received | None:
    """What the first parameter of a function is annotated as; None without an annotation that says it.

    >>> def counted(table: "pl.DataFrame", rng): ...
    >>> received_by(counted)
    'polars'
    """
    try:
        parameters = list(inspect.signature(typing.cast(Any, function)).parameters.values())
    except (TypeError, ValueError):
        return None
    given = parameters[0].annotation if parameters else inspect.Parameter.empty
    if given is inspect.Parameter.empty:
        return None
    if isinstance(given, str):  # as it is written: names are looked up in the module of the function
        names = getattr(inspect.unwrap(typing.cast(Any, function)), "__globals__", {})
        head = names.get(given.partition(".")[0].partition("[")[0].strip())
        home = getattr(head, "__module__", None) if isinstance(head, type) else getattr(head, "__name__", None)
        said = f"{home or ''}.{given}"
    else:
        said = str(given) if typing.get_origin(given) is not None else f"{given.__module__}.{given.__qualname__}"
    small = said.lower()
    if "lazyframe" in small:
        return "lazy polars"
    if "dataframe" in small:
        return "polars" if "polars" in small or "pl.dataframe" in small else "pandas"
    if "ndarray" in small or "arraylike" in small:
        return "numpy"
    if any(word in small for word in ("list[", "sequence[", "iterable[")) and ("dict" in small or "mapping" in small):
        return "records"
    return None


def finished(table: Table, received: Received) -> Table:
    """The table as the function is given it; it is searched as a frame or an array."""
    if received == "lazy polars":
        return table.lazy()
    if received == "records":
        return as_records(table)
    return table


def as_records(table: Table) -> list[dict[str, Value]]:
    """A frame of pandas as a list with a dictionary for each record; a missing entry is None."""
    names = names_of(table) or []
    columns = [[_plain(one) for one in table.iloc[:, place].tolist()] for place in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Value:
    found: Value = None if is_missing(value) else value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    return found


def column_names(array: NDArray[Any]) -> list[str]:
    """What the columns of an array are called: value, or column0, column1, ..."""
    return ["value"] if array.ndim == 1 else [f"column{i}" for i in range(array.shape[1])]


def record_at(table: Table, row: int, columns: Sequence[Column] = ()) -> dict[str, Value]:
    """The entries of a record by the names of the columns.

    Args:
        table: an array or a frame.
        row: of the record, from 0.
        columns: those of an array, which has no names itself; without them they are value, or column0, column1, ...
    """
    if isinstance(table, np.ndarray):
        entries = [table[row]] if table.ndim == 1 else list(table[row])
        names = [column.name for column in columns] or column_names(table)
    elif kind_of(table) == "polars":
        names, entries = list(table.columns), list(table.row(row))
    else:
        names = [str(name) for name in table.columns]
        entries = [table.iloc[row, place] for place in range(len(names))]
    return {name: _native(one) for name, one in zip(names, entries, strict=True)}


def _native(value: Any) -> Value:
    if hasattr(value, "to_pydatetime") and not is_missing(value):
        found: Value = value.to_pydatetime()
        return found
    found = value.item() if isinstance(value, np.generic) else value
    return None if is_missing(found) else found


def taken(table: Table, rows: Sequence[int] | NDArray[np.int64]) -> Table:
    """The records in these rows, in this order, again as often as they are named."""
    places = np.asarray(rows, dtype=np.int64)
    if isinstance(table, np.ndarray):
        return table[places]
    if kind_of(table) == "polars":
        return table[places.tolist()]
    return _numbered(table.iloc[places], table)


def without(table: Table, rows: Sequence[int] | NDArray[np.int64]) -> Table:
    """All other records."""
    kept = np.ones(length_of(table), dtype=bool)
    kept[np.asarray(rows, dtype=np.int64)] = False
    if isinstance(table, np.ndarray):
        return table[kept]
    if kind_of(table) == "polars":
        return table.filter(kept)
    return _numbered(table[kept], table)


def joined(table: Table, *others: Table) -> Table:
    """The records of several tables of the same types one after another."""
    if isinstance(table, np.ndarray):
        return np.concatenate([table, *others])
    if kind_of(table) == "polars":
        return library("polars", "the table is a frame of it").concat([table, *others])
    pandas = library("pandas", "the table is a frame of it")
    return _numbered(pandas.concat([table, *others]), table)


def exchanged(table: Table, row: int, other: Table) -> Table:
    """The table with the one record of another in place of that in a row."""
    n = length_of(table)
    return joined(taken(table, range(row)), other, taken(table, range(row + 1, n)))


def made(like: Table, columns: Sequence[Column], records: Sequence[Record]) -> Table:
    """A table of the records with the types of another.

    Raises:
        InvalidValue: an entry that the types do not hold.
    """
    kind = kind_of(like)
    assert kind is not None
    table = build(kind, columns, records)
    try:
        with np.errstate(all="raise"):
            if isinstance(like, np.ndarray):
                typed = table.astype(like.dtype, casting="unsafe") if table.dtype != like.dtype else table
                return typed.reshape(len(typed), *like.shape[1:])
            if kind == "polars":
                return table.cast(dict(like.schema))
            typed = table.astype(dict(like.dtypes.items()))
    except Exception as error:  # each library raises its own
        raise InvalidValue("record", list(records)[:1], "of the types of the table", str(error)[:120]) from None
    typed.columns = like.columns
    gaps = {name: sum(is_missing(one[str(name)]) for one in records) for name in like.columns}
    gone = [name for name, count in gaps.items() if int(typed[name].isna().sum()) != count]
    if gone:
        raise InvalidValue("record", gone, "of categories that the column has", "leave the category out")
    return typed


def _numbered(table: Table, like: Table) -> Table:
    pandas = library("pandas", "the table is a frame of it")
    plain = isinstance(like.index, pandas.RangeIndex) and like.index.start == 0 and like.index.step == 1
    if not plain:
        return table
    numbered = table.copy(deep=False)  # of a table made here: to reset the index would copy all of it again
    numbered.index = pandas.RangeIndex(len(table))
    return numbered
