"""Tables of the three libraries, column by column: taken apart, and built from records."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tables.column import Column, Value, as_time, is_missing
from dpverdict.errors import InvalidValue
from dpverdict.suggestions import nearest

TableKind: TypeAlias = Literal["numpy", "pandas", "polars"]
TABLES: Final[tuple[TableKind, ...]] = get_args(TableKind)

Record: TypeAlias = "Mapping[str, Value]"
"""One record: its entries by the names of the columns."""

Table: TypeAlias = Any  # an array of NumPy, a frame of pandas or of polars: the two are optional, so no type names them


def library(name: str, purpose: str) -> Any:  # a module that may be missing
    """An optional library.

    Args:
        name: of the module.
        purpose: what it is needed for, for the error.

    Raises:
        InvalidValue: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        remedy = f"pip install {name}, or, in a checkout, all that tables need: pip install '.[tables]'"
        raise InvalidValue("library", name, f"installed: {purpose}", remedy) from None


def parse_kind(text: str) -> TableKind:
    """The library of a name: "numpy", "pandas" or "polars".

    Raises:
        InvalidValue: another name.
    """
    kinds: dict[str, TableKind] = {"numpy": "numpy", "pandas": "pandas", "polars": "polars"}
    if text not in kinds:
        remedy = f"{nearest(str(text), TABLES)}write what the function receives"
        raise InvalidValue("table", text, f"one of {', '.join(TABLES)}", remedy)
    return kinds[text]


def kind_of(table: Table) -> TableKind | None:
    """The library that a table is of; None for anything else. A lazy frame of polars is one of its tables."""
    if isinstance(table, np.ndarray):
        return "numpy"
    home, name = type(table).__module__.partition(".")[0], type(table).__name__
    if home == "pandas" and name == "DataFrame":
        return "pandas"
    return "polars" if home == "polars" and name in ("DataFrame", "LazyFrame") else None


def names_of(table: Table) -> list[str] | None:
    """The names of the columns of a frame; None for an array, whose columns have a position only."""
    if isinstance(table, np.ndarray):
        return None
    if type(table).__name__ == "LazyFrame":
        return list(table.collect_schema().names())
    return [str(name) for name in table.columns]


def collected(table: Table) -> Table:
    """The table itself; of a lazy frame of polars, the frame that it stands for."""
    return table.collect() if type(table).__name__ == "LazyFrame" else table


def length_of(table: Table) -> int:
    """The number of records."""
    return len(collected(table))


def entries(table: Table, place: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The entries of a column that are present, and in which rows they are.

    Args:
        table: an array, or a frame that is not lazy.
        place: of the column, from 0.

    Returns:
        The rows, from 0, of shape (k,), and the k entries: of their own type where NumPy has it, else objects. Times
        with a zone are given in UTC.

    Raises:
        InvalidValue: whole numbers of 128 bits, of which NumPy has none.
    """
    found: NDArray[Any]
    if isinstance(table, np.ndarray):
        column = table if table.ndim == 1 else table[:, place]
        missing = _missing(column)
        return np.flatnonzero(~missing), column[~missing]
    if kind_of(table) == "polars":
        series = table.to_series(place)
        gone: Any = series.is_null()
        if series.dtype.is_float():
            gone = gone | series.is_nan().fill_null(True)
        present = series.filter(~gone)
        if str(series.dtype) in ("Int128", "UInt128"):
            requirement, remedy = "of whole numbers of at most 64 bits", "write them as texts, or with a decimal point"
            raise InvalidValue(f"the column {series.name!r}", str(series.dtype), requirement, remedy)
        found = present.to_numpy() if not present.dtype.is_nested() else np.array([None] * len(present), dtype=object)
        return np.flatnonzero(~gone.to_numpy()), found
    series = table.iloc[:, place]
    missing = series.isna().to_numpy()
    present = series[~missing] if missing.any() else series
    if getattr(series.dtype, "tz", None) is not None:
        found = present.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    else:
        plain = getattr(series.dtype, "numpy_dtype", None)  # of a nullable column
        found = np.asarray(present) if plain is None else present.to_numpy(dtype=plain)
    return np.flatnonzero(~missing), found


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind in "fmM":
        missing: NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else np.isnat(column)
        return missing
    if column.dtype.kind == "O":
        return np.fromiter((is_missing(one) for one in column), dtype=bool, count=len(column))
    return np.zeros(len(column), dtype=bool)


def build(kind: TableKind, columns: Sequence[Column], rows: Sequence[Record]) -> Table:
    """A table of the records, with the types that the columns have; also of no records.

    For NumPy: of one column the shape (n,), of several (n, d) in their order, of the type that holds them all (float64
    for numbers of several types; a missing number is NaN).

    Raises:
        InvalidValue: a record without an entry for a column, or with one that is in no column, or an entry that the
            type of its column cannot hold.
    """
    names = [column.name for column in columns]
    for i, row in enumerate(rows):
        if set(row) != set(names):
            differing = sorted(map(str, set(row) ^ set(names)))
            requirement = f"with exactly the entries {', '.join(names[:10])}"
            raise InvalidValue(f"rows[{i}]", differing, requirement, "these are missing or too many")
    held = {column.name: [_given(row[column.name], column) for row in rows] for column in columns}
    if kind == "numpy":
        return _array(columns, held)
    if kind == "pandas":
        pandas = library("pandas", "the table of the schema is a frame of pandas")
        made = {column.name: _pandas_series(pandas, column, held[column.name]) for column in columns}
        return pandas.DataFrame(made, columns=names, index=pandas.RangeIndex(len(rows)))
    polars = library("polars", "the table of the schema is a frame of polars")
    return polars.DataFrame([_polars_series(polars, column, held[column.name]) for column in columns])


def _given(value: Value, column: Column) -> Value:
    """An entry as Python has it: a missing one is None, a day in a column of times is the time at its beginning."""
    if is_missing(value):
        return None
    if column.holds_times and isinstance(value, datetime.date):
        return as_time(value)
    given: object = value
    return given.item() if isinstance(given, np.generic) else value


def _unfit(column: Column, kind: str, error: Exception) -> InvalidValue:
    requirement = f"of entries that {kind} can hold"
    remedy = f"correct the entries or the dtype ({type(error).__name__}: {error})"[:160]
    return InvalidValue(f"columns.{column.name}", column.dtype or column.type, requirement, remedy)


def array_type(column: Column) -> np.dtype[Any]:
    """The type of a column alone in an array of NumPy."""
    if column.storage in ("", "object", "str", "string", "category", "categorical", "enum", "boolean"):
        if column.type == "date":
            return np.dtype("datetime64[us]" if column.holds_times else "datetime64[D]")
        if column.type in ("int", "float", "bool"):
            usual = {"int": "int64", "float": "float64", "bool": "bool"}[column.type]
            return np.dtype("float64" if column.nullable else usual)
        if column.type == "category" and not isinstance(column.values[0], str):
            whole = all(isinstance(one, int) for one in column.values)
            return np.dtype("int64" if whole and not column.nullable else "float64")
        return np.dtype(object)
    if column.type == "date":
        return np.dtype("datetime64[D]" if column.storage == "date" else "datetime64[us]")
    found = np.dtype(column.storage)
    return np.dtype("float64") if column.nullable and found.kind != "f" else found


def _array(columns: Sequence[Column], held: Mapping[str, list[Value]]) -> NDArray[Any]:
    arrays = []
    for column in columns:
        kind = array_type(column)
        gap: object = np.nan if kind.kind == "f" else np.datetime64("NaT") if kind.kind == "M" else None
        filled = [gap if one is None else one for one in held[column.name]]
        try:
            arrays.append(np.array(filled, dtype=kind))
        except (TypeError, ValueError, OverflowError) as error:
            raise _unfit(column, str(kind), error) from None
    if len(arrays) == 1:
        return arrays[0]
    shared = common_type(columns)
    return np.stack([one.astype(shared) for one in arrays], axis=1)


def common_type(columns: Sequence[Column]) -> np.dtype[Any]:
    """The type of an array of several columns: theirs if they agree, else float64 for numbers."""
    kinds = {array_type(column) for column in columns}
    return kinds.pop() if len(kinds) == 1 else np.dtype("float64")


def _pandas_series(pandas: Any, column: Column, values: list[Value]) -> Any:
    kind = _pandas_type(pandas, column)
    try:
        if column.type == "date" and str(kind) != "object":
            times = pandas.to_datetime(pandas.Series(values, dtype=object), utc="," in str(kind))
            return times.astype(kind)
        return pandas.Series(values, dtype=kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unfit(column, f"pandas as {kind}", error) from None


def _pandas_type(pandas: Any, column: Column) -> Any:
    """The type of a column in a frame of pandas."""
    if column.storage in ("category", "categorical", "enum"):
        return pandas.CategoricalDtype(list(column.values))
    if column.type == "date" and column.storage != "object":
        named = column.dtype is not None and "[" in column.dtype and column.storage == "datetime64"
        return column.dtype if named else "datetime64[ns]"
    return _usual_pandas(pandas, column) if column.dtype is None else column.dtype


def _usual_pandas(pandas: Any, column: Column) -> str:
    """The type that pandas gives a column when it reads one: numbers with gaps are floats."""
    if column.type in ("int", "float"):
        return "float64" if column.nullable or column.type == "float" else "int64"
    if column.type == "bool":
        return "boolean" if column.nullable else "bool"
    if column.type == "category" and not isinstance(column.values[0], str):
        whole = all(isinstance(one, int) for one in column.values)
        return "int64" if whole and not column.nullable else "float64"
    return "object" if int(pandas.__version__.partition(".")[0]) < 3 else "str"


def _polars_series(polars: Any, column: Column, values: list[Value]) -> Any:
    try:
        return polars.Series(column.name, values, dtype=_polars_type(polars, column), strict=True)
    except Exception as error:  # polars raises its own
        raise _unfit(column, "polars", error) from None


def _polars_type(polars: Any, column: Column) -> Any:
    storage = column.storage
    if storage in ("category", "categorical"):
        return polars.Categorical
    if storage == "enum":
        return polars.Enum([str(one) for one in column.values])
    if column.type == "date":
        if storage == "date" or not column.holds_times:
            return polars.Date
        zone = (column.dtype or "").partition(",")[2].strip(" ]")
        return polars.Datetime("us", zone or None)
    if storage in ("", "object", "str", "string", "boolean", "bool"):
        usual = {"int": "Int64", "float": "Float64", "bool": "Boolean", "text": "String", "category": "String"}
        if column.type == "category" and not isinstance(column.values[0], str):
            return polars.Int64 if all(isinstance(one, int) for one in column.values) else polars.Float64
        return getattr(polars, usual[column.type])
    family = storage.rstrip("0123456789")
    return getattr(polars, {"int": "Int", "uint": "UInt", "float": "Float"}[family] + storage[len(family) :])


def to_array(table: Table, columns: Sequence[Column] | None = None) -> NDArray[Any]:
    """A frame as an array: of one column the shape (n,), of several (n, d), of the type that holds all of them.

    Args:
        table: a frame.
        columns: of the schema whose types the array has; None for those of the frame.

    Raises:
        InvalidValue: several columns that are not all numbers.
    """
    names = names_of(table) or []
    order = [column.name for column in columns] if columns is not None else names
    arrays: list[NDArray[Any]] = []
    for place in (names.index(name) for name in order):
        rows, values = entries(table, place)
        if len(rows) < length_of(table):
            gap: object = np.datetime64("NaT") if values.dtype.kind == "M" else np.nan
            kind = np.dtype(np.float64) if values.dtype.kind in "biuf" else values.dtype
            filled = np.full(length_of(table), gap if kind.kind in "fM" else None, dtype=kind)
            filled[rows] = values
            values = filled
        arrays.append(values)
    if columns is not None:
        arrays = [one.astype(array_type(column)) for one, column in zip(arrays, columns, strict=True)]
    if len(arrays) == 1:
        return arrays[0]
    kinds = {one.dtype for one in arrays}
    for name, one in zip(order, arrays, strict=True):
        if len(kinds) > 1 and one.dtype.kind not in "biuf":
            requirement = "of numbers, as an array holds one type"
            remedy = "let the function take a frame of pandas or polars, or leave the column out"
            raise InvalidValue(f"column {name}", f"a column of {one.dtype}", requirement, remedy)
    return np.stack([one.astype(kinds.copy().pop() if len(kinds) == 1 else np.float64) for one in arrays], axis=1)


def with_dates(table: Table, column: Column) -> Table:
    """The frame with a column of texts as one of dates; any other column as it is.

    Raises:
        InvalidValue: the first text that is no date.
    """
    place = (names_of(table) or []).index(column.name)
    rows, values = entries(table, place)
    if values.dtype.kind not in "OUT" or not any(isinstance(one, str) for one in values[:1]):
        return table
    times = np.empty(length_of(table), dtype="datetime64[us]")
    times[:] = np.datetime64("NaT")
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        try:
            times[row] = np.datetime64(as_time(datetime.datetime.fromisoformat(value)))
        except (TypeError, ValueError):
            remedy = "write it as 2024-12-31 or 2024-12-31T23:59:00"
            raise InvalidValue(f"row {row}, column {column.name}", value, "a date", remedy) from None
    if kind_of(table) == "pandas":
        return table.assign(**{column.name: times})
    polars = library("polars", "the table is a frame of polars")
    return table.with_columns(polars.Series(column.name, times))


def with_types(table: Table, columns: Sequence[Column]) -> Table:
    """The frame with the types that the columns of a schema have; its entries fit them.

    Raises:
        InvalidValue: a column whose entries the type cannot hold.
    """
    of_pandas = kind_of(table) == "pandas"
    module = library("pandas" if of_pandas else "polars", "the table is a frame of it")
    for column in columns:
        kind = _pandas_type(module, column) if of_pandas else _polars_type(module, column)
        try:
            if of_pandas:
                table = table.assign(**{column.name: table[column.name].astype(kind)})
            else:
                table = table.with_columns(table.get_column(column.name).cast(kind))
        except Exception as error:  # polars raises its own
            raise _unfit(column, str(kind), error) from None
    return table
