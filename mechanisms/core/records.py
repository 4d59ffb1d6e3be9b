"""The records of a dataset of any kind, and how many of them two datasets differ in.

Records are compared by value: numbers by value whatever their type, except that -0.0 differs from 0.0; NaN equals NaN;
texts by code points, mappings without regard to order. Nothing is converted: the datasets stay the user's own objects.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

DEEPEST: Final = 16


def records_of(data: Any) -> list[str] | None:
    """One text per record, equal for equal records; None for a dataset of which nobody here knows the records.

    Records are the elements of a list, tuple, set or array (its first axis), the rows of a frame, table or tensor (its
    first dimension) or of a dictionary of columns of one length, and what an object with a length yields, by iteration
    or by index. A tuple of arrays, frames or tensors of one length, such as (X, y), holds columns: its records are the
    rows of all of them, so that a row of X that changes without its y is one record, and X as a whole is not.
    """
    try:
        return [_text(record, 0) for record in _records(data)]
    except _UnknownError:
        return None


def is_frame(data: Any) -> bool:
    """Whether a dataset is a frame of pandas or polars, of which none is loaded for it."""
    return type(data).__name__ == "DataFrame" and type(data).__module__.partition(".")[0] in ("pandas", "polars")


def record_count(data: Any) -> int | None:
    """How many records a dataset holds; None where `records_of` is None. Those of a frame are counted, not read."""
    if is_frame(data):
        return len(data)
    found = records_of(data)
    return None if found is None else len(found)


def differing(one: list[str], other: list[str]) -> tuple[int, int]:
    """How many records each of two datasets holds that the other does not, counted with repetition, in any order."""
    first, second = Counter(one), Counter(other)
    return (first - second).total(), (second - first).total()


def kinds_differ(one: Any, other: Any) -> str | None:
    """The first column whose type differs between two frames or arrays, in words; None if there is none.

    A library may have promoted it: an integer column becomes one of floats when a value is missing.
    """
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (
            None if one.dtype == other.dtype else f"the type is {one.dtype} on one side and {other.dtype} on the other"
        )
    sides: tuple[Any, Any] = (one, other)
    if all(type(side).__name__ == "LazyFrame" for side in sides):
        sides = (sides[0].head(0).collect(), sides[1].head(0).collect())
    if not all(hasattr(side, "dtypes") and hasattr(side, "columns") for side in sides):
        return None
    types = [dict(zip(map(str, side.columns), map(str, side.dtypes), strict=False)) for side in sides]
    for name in types[0].keys() & types[1].keys():
        if types[0][name] != types[1][name]:
            return f"column {name} is {types[0][name]} on one side and {types[1][name]} on the other"
    return None


def value_text(value: Any) -> str | None:
    """One text for equal values, of plain data, containers and arrays of them; None of anything else."""
    try:
        return _text(value, 0)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """A value that cannot be compared here."""


def _records(data: Any) -> Iterable[Any]:
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        if hasattr(data, "columns"):
            held = [[str(name), *data.iloc[:, i].tolist()] for i, name in enumerate(data.columns)]
            return _rows(held, len(data))
        if hasattr(data, "tolist"):
            return list(data.tolist())
    if library == "polars":
        if type(data).__name__ == "LazyFrame":
            return _records(data.collect())
        if hasattr(data, "columns") and hasattr(data, "get_column"):
            return _rows([[name, *data.get_column(name).to_list()] for name in data.columns], len(data))
        if hasattr(data, "to_list"):
            return list(data.to_list())
    if library == "pyarrow":
        if hasattr(data, "to_pydict"):
            return _rows([[name, *column] for name, column in data.to_pydict().items()], data.num_rows)
        if hasattr(data, "to_pylist"):
            return list(data.to_pylist())
    if library == "torch" and hasattr(data, "detach"):
        return list(data.detach().cpu().numpy()) if data.ndim else _raise_unknown()
    if isinstance(data, np.ndarray):
        return list(data) if data.ndim else _raise_unknown()
    if isinstance(data, Mapping):
        columns = list(data.items())
        lengths = {
            len(column) if isinstance(column, Sized) and not isinstance(column, str) else -1 for _, column in columns
        }
        if len(lengths) != 1 or -1 in lengths:
            return _raise_unknown()
        return _rows([[str(name), *_records(column)] for name, column in sorted(columns, key=str)], lengths.pop())
    if isinstance(data, str | bytes):
        return _raise_unknown()
    if isinstance(data, tuple) and data and all(map(_is_column, data)):
        lengths = {len(column) for column in data}
        if len(lengths) != 1:
            return _raise_unknown()
        return _rows([[str(i), *_records(column)] for i, column in enumerate(data)], lengths.pop())
    if isinstance(data, Sized) and isinstance(data, Iterable):
        return list(data)
    if isinstance(data, Sized) and hasattr(data, "__getitem__"):
        indexed: Any = data
        try:
            return [indexed[i] for i in range(len(data))]
        except Exception:  # an index of another kind
            return _raise_unknown()
    return _raise_unknown()


def _is_column(part: Any) -> bool:
    """Whether a part of a tuple is an array, frame or tensor with records along its first axis."""
    if isinstance(part, np.ndarray):
        return part.ndim > 0
    library = type(part).__module__.partition(".")[0]
    return (
        library in ("pandas", "polars", "pyarrow", "torch") and isinstance(part, Sized) and getattr(part, "ndim", 1) > 0
    )


def _rows(columns: list[list[Any]], length: int) -> list[tuple[tuple[str, Any], ...]]:
    """Records from columns, each of which begins with its name."""
    if not columns:
        return [()] * length
    return [tuple((column[0], column[i + 1]) for column in columns) for i in range(length)]


def _raise_unknown() -> list[Any]:
    raise _UnknownError


def _text(value: Any, depth: int) -> str:
    if depth > DEEPEST:
        raise _UnknownError
    match value:
        case None:
            return "None"
        case bool() | np.bool_():
            return repr(bool(value))
        case enum.Enum():
            return f"{type(value).__qualname__}.{value.name}"
        case int() | np.integer():
            return str(int(value)) if abs(int(value)) < 2**64 else hex(int(value))
        case float() | np.floating():
            number = float(value)
            whole = number.is_integer() and (number != 0 or str(number) == "0.0") and abs(number) < 2**64
            return str(int(number)) if whole else number.hex()  # "nan" of any NaN
        case complex() | np.complexfloating():
            return f"({_text(value.real, depth)}, {_text(value.imag, depth)})j"
        case str():
            return repr(str(value))
        case bytes() | bytearray():
            return repr(bytes(value))
        case Decimal() | Fraction() | datetime.date() | datetime.time() | datetime.timedelta() | uuid.UUID():
            return f"{type(value).__name__}:{value}"
        case np.datetime64() | np.timedelta64():
            return f"{value.dtype}:{value}"
        case np.ndarray():
            inner = ", ".join(_text(one, depth + 1) for one in value.tolist()) if value.ndim else str(value.item())
            return f"[{inner}]"
        case np.void():
            return _text(value.item(), depth + 1)
        case Mapping():
            items = sorted((_text(key, depth + 1), _text(part, depth + 1)) for key, part in value.items())
            return "{" + ", ".join(f"{key}: {part}" for key, part in items) + "}"
        case set() | frozenset():
            return "{" + ", ".join(sorted(_text(one, depth + 1) for one in value)) + "}"
        case list() | tuple():
            return "[" + ", ".join(_text(one, depth + 1) for one in value) + "]"
        case _:
            return _object_text(value, depth)


def _object_text(value: Any, depth: int) -> str:
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "torch"):
        if kind.__name__ in ("NAType", "NaTType"):
            return kind.__name__
        if getattr(value, "ndim", None) == 0:
            return _text(value.item(), depth + 1)
        return "[" + ", ".join(_text(one, depth + 1) for one in _records(value)) + "]"
    fields: Mapping[str, Any] | None = None
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif "__dict__" in dir(value) and not callable(value):
        fields = vars(value)
    if fields is None:
        raise _UnknownError
    return f"{kind.__qualname__}{_text(dict(fields), depth + 1)}"
