"""Frames, tables, tensors and sparse matrices of other libraries, as a name and parts that `canonical` takes up.

A library is known by the name of its module, so that none is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

BELOW: Final = "~below"
"""The end of the path of what lies below a mask."""

Read: TypeAlias = "tuple[str, list[tuple[str, Any]] | None]"
"""What is no value (kind, types, labels of rows, categories), and the parts that are; None where they are not known."""


def _of_pandas(value: Any) -> Read:
    kind = type(value).__name__
    if kind == "DataFrame":
        types = ", ".join(_pandas_type(one) for one in value.dtypes)
        labels, parts = _index(value.index)
        columns = [part for i, name in enumerate(value.columns) for part in _column(repr(name), value.iloc[:, i])]
        named = _index_names(value.columns)
        return f"DataFrame[{types}]{labels}{named}", [*columns, *parts, *_attributes(value)]
    if kind == "Series":
        labels, parts = _index(value.index)
        held = [*_column(repr(value.name), value), *parts, *_attributes(value)]
        return f"Series[{_pandas_type(value.dtype)}]{labels}", held
    if kind.endswith("Index"):
        return f"{kind}[{_pandas_type(value.dtype)}]{_index_names(value)}", [("", value.to_numpy())]
    if kind in ("Timestamp", "Timedelta", "Period", "Interval"):
        return kind, [("", str(value))]
    if kind in ("NAType", "NaTType"):
        return kind, []
    if hasattr(value, "to_numpy"):  # an extension array
        return f"{kind}[{_pandas_type(value.dtype)}]", [
            ("", value.to_numpy(dtype=object)),
            *_values_below_mask("", value),
        ]
    return kind, None


def _column(name: str, values: Any) -> list[tuple[str, Any]]:
    """A column, and what lies below its mask."""
    return [(name, values.to_numpy()), *_values_below_mask(name, values.array)]


def _values_below_mask(name: str, array: Any) -> list[tuple[str, Any]]:
    """What lies below the mask of an array of pandas that has one, such as Int64; zeros elsewhere."""
    mask, data = getattr(array, "_mask", None), getattr(array, "_data", None)
    if not isinstance(mask, np.ndarray) or not isinstance(data, np.ndarray) or not mask.any():
        return []
    return [(f"{name}{BELOW}", np.where(mask, data, np.zeros((), data.dtype)))]


def _pandas_type(kind: Any) -> str:
    """The name of a type of columns; that of categories does not name them."""
    categories = getattr(kind, "categories", None)
    return str(kind) if categories is None else f"{kind} {categories.tolist()!r}{' ordered' if kind.ordered else ''}"


def _index(index: Any) -> tuple[str, list[tuple[str, Any]]]:
    """The labels of the rows: a range by its ends, numbers and times as values, others written out."""
    if type(index).__name__ == "RangeIndex":
        return f" {index.start}:{index.stop}:{index.step}{_index_names(index)}", []
    if getattr(index.dtype, "kind", "O") in "iufmM":
        return f" {index.dtype}({len(index)}){_index_names(index)}", [("index", index.to_numpy())]
    return f" {index.tolist()!r}{_index_names(index)}", []


def _index_names(index: Any) -> str:
    """The names of an index, where it has any."""
    names = list(index.names)
    return "" if all(name is None for name in names) else f" named {names!r}"


def _attributes(value: Any) -> list[tuple[str, Any]]:
    return [("attrs", value.attrs)] if value.attrs else []


def _of_polars(value: Any) -> Read:
    kind = type(value).__name__
    if kind == "DataFrame":
        types = ", ".join(str(one) for one in value.dtypes)
        return f"DataFrame[{types}]", [(repr(name), value[name].to_list()) for name in value.columns]
    if kind == "Series":
        return f"Series[{value.dtype}]", [(repr(value.name), value.to_list())]
    return kind, None


def _of_arrow(value: Any) -> Read:
    kind = type(value).__name__
    if kind in ("Table", "RecordBatch"):
        types = ", ".join(str(one) for one in value.schema.types)
        columns = [(repr(name), value.column(i).to_pylist()) for i, name in enumerate(value.schema.names)]
        told = value.schema.metadata
        return f"{kind}[{types}]", [*columns, ("metadata", dict(told))] if told else columns
    if hasattr(value, "to_pylist"):
        return f"array[{value.type}]", [("", value.to_pylist())]
    if hasattr(value, "as_py"):
        return f"scalar[{value.type}]", [("", value.as_py())]
    return kind, None


def _of_torch(value: Any) -> Read:
    if hasattr(value, "detach"):
        held = value.detach().cpu()
        held = held.double() if held.is_floating_point() else held
        return "tensor", [("", held.resolve_conj().resolve_neg().numpy())]
    return type(value).__name__, None


def _of_sparse(value: Any) -> Read:
    if hasattr(value, "toarray"):
        return "sparse", [("", value.toarray())]
    return type(value).__name__, None


READERS: Final[Mapping[str, Callable[[Any], Read]]] = {
    "pandas": _of_pandas,
    "polars": _of_polars,
    "pyarrow": _of_arrow,
    "torch": _of_torch,
    "scipy": _of_sparse,
}
"""By the name of a library, what reads its values."""


def reader_of(value: object) -> Callable[[Any], Read] | None:
    """What reads a value of a library; None of anything else."""
    return READERS.get(type(value).__module__.partition(".")[0])


def is_lazy(value: object) -> bool:
    """Whether a value is a query of polars that has not run, or one of OpenDP that may run once."""
    return type(value).__name__ in ("LazyFrame", "OnceFrame")
