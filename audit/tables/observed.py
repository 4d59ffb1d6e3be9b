"""What the columns of a table seem to be: their types, and the bounds and categories that were seen, which nobody
promises."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tables.column import Bound, Column, Value, is_missing
from dpverdict.audit.tables.frames import Table, collected, entries, kind_of, length_of, names_of
from dpverdict.errors import InvalidValue

MOST_CATEGORIES: Final = 50
"""Different texts of a column that is taken for one of categories, at most; and each stands there twice on average."""

EXACT: Final = 2**53
"""Every integer up to here is a float64."""

_TEXT_TYPES: Final = ("object", "str", "string", "string[python]", "String")
_USUAL: Final = {
    "int": ("int64", "Int64", *_TEXT_TYPES),
    "float": ("float64", "Float64", *_TEXT_TYPES),
    "bool": ("bool", "boolean", "Boolean", "object"),
    "text": _TEXT_TYPES,
    "category": _TEXT_TYPES,
    "date": ("datetime64[ns]", "Date", *_TEXT_TYPES),
}
"""Types of columns that need not be written down: they are the usual ones, see `frames.build`."""


def observed_columns(table: Table) -> tuple[Column, ...]:
    """The columns of a table as they look, marked as observed where a bound or a category was seen only.

    Args:
        table: an array of shape (n,) or (n, d), or a frame.

    Raises:
        InvalidValue: two columns of one name, a column of several types, or of one that no schema knows.
    """
    if kind_of(table) is None or (isinstance(table, np.ndarray) and table.ndim not in (1, 2)):
        shown = f"{type(table).__module__}.{type(table).__qualname__}"
        shown += f" of shape {table.shape}" if isinstance(table, np.ndarray) else ""
        requirement = "an array of shape (n,) or (n, d), or a frame of pandas or polars"
        raise InvalidValue("table", shown, requirement, "convert it to a frame")
    held = collected(table)
    names = names_of(held)
    if names is None:
        count = 1 if held.ndim == 1 else held.shape[1]
        names = ["value"] if held.ndim == 1 else [f"column{i}" for i in range(count)]
    if not names:
        raise InvalidValue("table", "no columns", "a table of one column or more", "give the table that is released")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidValue("table", name, "the name of one column only", "rename one of the columns")
    return tuple(_observed(held, place, name) for place, name in enumerate(names))


def _observed(table: Table, place: int, name: str) -> Column:
    rows, values = entries(table, place)
    nullable = len(rows) < length_of(table)
    declared = _declared(table, place)
    storage, categories = declared
    kind = values.dtype.kind
    if categories is not None:
        values = np.array(categories, dtype=object)
        kind = "O"
    if kind == "b":
        return _column(name, "bool", nullable, storage)
    if kind in "iu":
        return _numbers(name, "int", values, nullable, storage)
    if kind == "f":
        # a library writes whole numbers with gaps as floats
        whole = nullable and len(values) > 0 and bool((np.isfinite(values) & (values == np.floor(values))).all())
        return _numbers(
            name, "int" if whole and not isinstance(table, np.ndarray) else "float", values, nullable, storage
        )
    if kind == "M":
        return _dates(name, values, nullable, storage)
    if kind in "OUT":
        return _objects(name, rows, values, nullable, storage, categories is not None)
    requirement = "of numbers, texts, dates or truth values"
    raise InvalidValue(f"column {name}", f"a column of {storage}", requirement, "convert it, or leave it out")


def _declared(table: Table, place: int) -> tuple[str, list[Any] | None]:
    """The type of a column as its library calls it, and the categories that the type names."""
    if isinstance(table, np.ndarray):
        return str(table.dtype), None
    if kind_of(table) == "pandas":
        dtype = table.dtypes.iloc[place]
        categories = getattr(dtype, "categories", None)
        return ("category", list(categories)) if categories is not None else (str(dtype), None)
    series = table.to_series(place)
    if type(series.dtype).__name__ in ("Categorical", "Enum"):
        return type(series.dtype).__name__, series.cast(str).drop_nulls().unique().sort().to_list()
    return str(series.dtype), None


def _column(name: str, kind: Any, nullable: bool, storage: str, **more: Any) -> Column:
    """A column; its dtype is written down where it is not the usual one."""
    zone = re.fullmatch(r"Datetime\(time_unit='(\w+)', time_zone=(?:None|'(.*)')\)", storage)  # as polars writes it
    if zone is not None:
        storage = f"datetime[{zone[1]}{f', {zone[2]}' if zone[2] else ''}]"
    usual = storage in _USUAL[kind] or storage.startswith("<U")
    if kind == "int" and nullable and storage == "float64":
        usual = True
    return Column(name=name, type=kind, nullable=nullable, dtype=None if usual else storage, **more)


def _numbers(name: str, kind: str, values: NDArray[Any], nullable: bool, storage: str) -> Column:
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    ends: list[Fraction | None] = [None, None]
    if len(finite):
        ends = [Fraction(one.item()) for one in (finite.min(), finite.max())]
    if len(finite) < len(values):
        ends = [
            None if bool((values == end).any()) else known for end, known in zip((-np.inf, np.inf), ends, strict=True)
        ]
    return _column(name, kind, nullable, storage, low=ends[0], high=ends[1], observed=True)


def _dates(name: str, values: NDArray[Any], nullable: bool, storage: str) -> Column:
    times = values.astype("datetime64[us]")
    if not len(times):
        return _column(name, "date", nullable, storage, observed=True)
    ends: list[Bound] = [one.item() for one in (times.min(), times.max())]
    if bool((times == times.astype("datetime64[D]")).all()):
        ends = [one.date() for one in ends if isinstance(one, datetime.datetime)]
    return _column(name, "date", nullable, storage, low=ends[0], high=ends[1], observed=True)


def _objects(
    name: str, rows: NDArray[np.int64], values: NDArray[Any], nullable: bool, storage: str, declared: bool
) -> Column:
    held = values.tolist()
    kinds: dict[str, int] = {}
    for i, value in enumerate(held):
        kinds.setdefault(_kind_of_value(value), i)
    if len(kinds) > 1 and not kinds.keys() <= {"int", "float"}:
        (one, first), (other, second) = list(kinds.items())[:2]
        places = [int(rows[i]) if i < len(rows) else i for i in (first, second)]
        shown = f"{held[first]!r} in row {places[0]} and {held[second]!r} in row {places[1]}"
        requirement = f"of one type, not of {one} and {other}"
        raise InvalidValue(f"column {name}", shown, requirement, "convert the column, or leave it out of the table")
    kind = next(iter(kinds), "text") if len(kinds) < 2 else "float"
    if kind in ("int", "float") and not declared:
        return _numbers(name, kind, np.array(held, dtype=np.float64 if kind == "float" else None), nullable, storage)
    if kind == "bool":
        return _column(name, "bool", nullable, storage)
    if kind == "date":
        return _dates(name, np.array(held, dtype="datetime64[us]"), nullable, storage)
    if kind not in ("text", "int", "float"):
        requirement = "of numbers, texts, dates or truth values"
        raise InvalidValue(
            f"column {name}", f"{kind} in row {int(rows[0])}", requirement, "convert it, or leave it out"
        )
    different: list[Value] = sorted(set(held))
    if different and (declared or (len(different) <= MOST_CATEGORIES and 2 * len(different) <= len(held))):
        return _column(name, "category", nullable, storage, values=tuple(different), observed=True)
    return _column(name, "text", nullable, "object" if declared else storage)


def _kind_of_value(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating) and not is_missing(value):
        return "float"
    return "date" if isinstance(value, datetime.date) else type(value).__name__


def in_words(columns: tuple[Column, ...], most: int = 12) -> str:
    """What the columns are taken for, in one line.

    >>> in_words((Column(name="age", type="int", low=Fraction(0), high=Fraction(9)),))
    'age: int from 0 to 9'
    """
    shown = [_in_words(column) for column in columns[:most]]
    more = len(columns) - most
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _in_words(column: Column) -> str:
    said = f"{column.name}: {column.type}"
    if column.type == "category":
        listed = ", ".join(map(str, column.values[:4]))
        said += f" of {len(column.values)} ({listed}{', ...' if len(column.values) > 4 else ''})"
    for word, end in (("from", column.low), ("to", column.high)):
        if end is not None:
            said += f" {word} {f'{float(end):.6g}' if isinstance(end, Fraction) else end.isoformat()}"
    return said + (", may be missing" if column.nullable else "")
