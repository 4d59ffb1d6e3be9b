"""Columns of a schema from the models that a program has already: of pandera and of pydantic."""

from __future__ import annotations

import datetime
import enum
import types
import typing
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpverdict.audit.tables.column import Column, Value
from dpverdict.audit.tables.frames import library
from dpverdict.errors import InvalidValue


def pandera_columns(model: Any) -> tuple[Column, ...]:
    """The columns of a schema or a model of pandera.

    Types, nullable, and the checks ge, gt, le, lt, in_range, isin and equal_to are read. Other checks narrow what a
    table may hold, so that leaving them out is safe: more tables are covered.

    Args:
        model: a ``DataFrameSchema`` or a subclass of ``DataFrameModel``, for pandas or for polars.

    Raises:
        InvalidValue: neither, a column without a type, of a regular expression, or of a type that no schema knows.
    """
    library("pandera", "the schema is one of pandera")
    schema = model.to_schema() if hasattr(model, "to_schema") else model
    if not hasattr(schema, "columns") or not type(schema).__module__.startswith("pandera"):
        raise InvalidValue("model", model, "a schema or a model of pandera", "give the class or the schema itself")
    found = []
    for name, column in schema.columns.items():
        if getattr(column, "regex", False):
            remedy = "name the columns one by one"
            raise InvalidValue(f"columns.{name}", name, "a name, not a regular expression", remedy)
        if column.dtype is None:
            raise InvalidValue(f"columns.{name}.dtype", None, "given", "give the column of the model a type")
        found.append(_pandera_column(str(name), column))
    return tuple(found)


def _pandera_column(name: str, column: Any) -> Column:
    dtype = str(column.dtype)
    kind = _kind_of_dtype(dtype, name)
    low: object = None
    high: object = None
    values: tuple[Value, ...] = ()
    for check in column.checks:
        said: dict[str, Any] = getattr(check, "statistics", None) or {}
        bottom, top = said.get("min_value"), said.get("max_value")
        match check.name:
            case "greater_than_or_equal_to":
                low = _tighter(low, bottom, max)
            case "greater_than":
                low = _tighter(low, _next(bottom, 1, kind), max)
            case "less_than_or_equal_to":
                high = _tighter(high, top, min)
            case "less_than":
                high = _tighter(high, _next(top, -1, kind), min)
            case "in_range":
                low = _tighter(low, bottom if said.get("include_min", True) else _next(bottom, 1, kind), max)
                high = _tighter(high, top if said.get("include_max", True) else _next(top, -1, kind), min)
            case "isin":
                values = tuple(said["allowed_values"])
            case "equal_to":
                values = (said["value"],)
            case _:
                pass
    categories = getattr(getattr(column.dtype, "type", None), "categories", None)
    if not values and categories is not None:
        values = tuple(categories)
    if kind == "category" and not values:
        kind = "text"
    if values and kind in ("text", "category", "int", "float"):
        kind, low, high = "category", None, None
    usual = dtype in ("int64", "float64", "bool", "str", "object", "datetime64[ns]", "Int64", "Float64", "String")
    return Column(
        name=name,
        type=kind,
        low=_bound(low),
        high=_bound(high),
        values=tuple(_plain(one) for one in values) if kind == "category" else (),
        nullable=bool(column.nullable),
        dtype=None if usual or kind == "text" else dtype,
    )


def _kind_of_dtype(dtype: str, name: str) -> Any:
    small = dtype.lower()
    for start, kind in (
        ("int", "int"),
        ("uint", "int"),
        ("float", "float"),
        ("bool", "bool"),
        ("date", "date"),
        ("categor", "category"),
        ("enum", "category"),
        ("str", "text"),
        ("object", "text"),
    ):
        if small.startswith(start):
            return kind
    requirement = "a number, a text, a date, a category or a truth value"
    raise InvalidValue(f"columns.{name}", dtype, requirement, "leave the column out, or describe it in TOML")


def _tighter(one: object, other: object, choose: Any) -> object:
    return other if one is None else one if other is None else choose(one, other)


def _next(bound: Any, way: int, kind: str) -> Any:
    """The end of an open range, as a closed one: the next integer, and for other numbers the bound itself."""
    if bound is None or kind != "int":
        return bound
    whole = int(np.floor(bound)) if way > 0 else int(np.ceil(bound))
    return whole + way


def _bound(bound: Any) -> Any:
    if hasattr(bound, "to_pydatetime"):  # a time of pandas
        return bound.to_pydatetime()
    if bound is None or isinstance(bound, datetime.date):
        return bound
    if isinstance(bound, float) and np.isinf(bound):
        return None
    return Fraction(bound) if isinstance(bound, int | float | Decimal) else bound


def _plain(value: Any) -> Value:
    found: Value = value.item() if isinstance(value, np.generic) else value
    return found


def pydantic_columns(model: Any) -> tuple[Column, ...]:
    """The columns of a model of pydantic, one record each: a column for every field.

    Read are the types int, float, bool, str, date, datetime, Literal and Enum, each also ``| None``, and the bounds
    ge, gt, le and lt. Other constraints narrow what a record may hold, so that leaving them out is safe.

    Args:
        model: a subclass of ``pydantic.BaseModel``.

    Raises:
        InvalidValue: no model, or a field of another type.
    """
    pydantic = library("pydantic", "the schema is a model of pydantic")
    if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
        raise InvalidValue("model", model, "a subclass of pydantic.BaseModel", "give the class itself")
    fields: dict[str, Any] = model.model_fields  # type: ignore[attr-defined]  # of an optional library
    return tuple(_pydantic_column(field.alias or name, field) for name, field in fields.items())


def _pydantic_column(name: str, field: Any) -> Column:
    annotation, nullable = field.annotation, False
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not types.NoneType]
        nullable = len(parts) < len(typing.get_args(annotation))
        annotation = parts[0] if len(parts) == 1 else annotation
    metadata = list(field.metadata)
    while typing.get_origin(annotation) is typing.Annotated:
        annotation, *extra = typing.get_args(annotation)
        metadata += [part for one in extra for part in getattr(one, "metadata", [one])]
    values: tuple[Value, ...] = ()
    kind: Any = {int: "int", float: "float", bool: "bool", str: "text"}.get(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        kind, values = "category", tuple(typing.get_args(annotation))
    elif isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        kind, values = "category", tuple(one.value for one in annotation)
    elif annotation in (datetime.date, datetime.datetime):
        kind = "date"
    if kind is None:
        requirement = "an int, float, bool, str, date, datetime, Literal or Enum, or one of them | None"
        raise InvalidValue(f"columns.{name}", annotation, requirement, "describe the column in TOML")
    low, high = _pydantic_ends(metadata, kind)
    with_time = annotation is datetime.datetime
    return Column(
        name=name,
        type=kind,
        low=_bound(low),
        high=_bound(high),
        values=values,
        nullable=nullable,
        dtype="datetime64[ns]" if with_time else None,
    )


def _pydantic_ends(metadata: Sequence[Any], kind: str) -> tuple[object, object]:
    low: object = None
    high: object = None
    for one in metadata:
        low = _tighter(low, getattr(one, "ge", None), max)
        low = _tighter(low, _next(getattr(one, "gt", None), 1, kind), max)
        high = _tighter(high, getattr(one, "le", None), min)
        high = _tighter(high, _next(getattr(one, "lt", None), -1, kind), min)
    return low, high
