"""What two frames have in common at their beginning and at their end: the rest is what has to be compared by value.

Neighbouring tables are alike but for a few rows. Reading every record of both as text costs kilobytes a record; rows
that are certainly equal, bit by bit or as one object, need not be read. Where this is not certain, nothing is left out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Same = Callable[[Any, Any], NDArray[np.bool_] | None]


def without_common_rows(one: Any, other: Any) -> tuple[Any, Any, int]:
    """Two frames without the rows at the beginning and at the end that are equal in both, and how many those are.

    Frames of pandas or polars with the same columns of the same types; anything else is given back as it is. What is
    left differs in as many records as the whole, in any order: equal rows are taken away on both sides.
    """
    if type(one) is not type(other) or type(one).__name__ != "DataFrame":
        return one, other, 0
    library = type(one).__module__.partition(".")[0]
    if library == "pandas":
        columns, same, cut = _columns_of_pandas, _same_in_pandas, _cut_from_pandas
    elif library == "polars":
        columns, same, cut = _columns_of_polars, _same_in_polars, _cut_from_polars
    else:
        return one, other, 0
    names = list(one.columns)
    if not names or names != list(other.columns):
        return one, other, 0
    pairs = list(zip(columns(one), columns(other), strict=True))
    if any(left.dtype != right.dtype for left, right in pairs):
        return one, other, 0
    common = min(len(one), len(other))
    first = _equal_rows([(cut(a, 0, common), cut(b, 0, common)) for a, b in pairs], common, same)
    if first is None:
        return one, other, 0
    rest = common - first
    ends = [(cut(a, len(one) - rest, rest), cut(b, len(other) - rest, rest)) for a, b in pairs]
    last = _equal_rows(ends, rest, same, backwards=True) or 0
    return (
        cut(one, first, len(one) - first - last),
        cut(other, first, len(other) - first - last),
        first + last,
    )


def _equal_rows(pairs: list[tuple[Any, Any]], length: int, same: Same, *, backwards: bool = False) -> int | None:
    """How many rows from the beginning, or from the end, are equal in all columns; None if a type is not known."""
    for left, right in pairs:
        equal = same(left, right)
        if equal is None:
            return None
        unequal = np.flatnonzero(~equal)
        if unequal.size:
            length = min(length, int(len(equal) - 1 - unequal[-1] if backwards else unequal[0]))
    return length


def _columns_of_pandas(data: Any) -> list[Any]:
    return [data.iloc[:, i] for i in range(data.shape[1])]


def _columns_of_polars(data: Any) -> list[Any]:
    found: list[Any] = data.get_columns()
    return found


def _cut_from_pandas(data: Any, start: int, length: int) -> Any:
    return data.iloc[start : start + length]


def _cut_from_polars(data: Any, start: int, length: int) -> Any:
    return data.slice(start, length)


def _same_bits(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Of numbers and times: the same bits; so -0.0 is not 0.0, and a NaN is itself."""
    size = left.dtype.itemsize
    kind = np.dtype(f"u{size}") if size in (1, 2, 4, 8) else None
    if kind is None:  # complex or extended numbers
        wide = np.ascontiguousarray(left).view(np.uint8).reshape(len(left), size)
        again = np.ascontiguousarray(right).view(np.uint8).reshape(len(right), size)
        return np.asarray((wide == again).all(axis=1))
    return np.asarray(np.ascontiguousarray(left).view(kind) == np.ascontiguousarray(right).view(kind))


def _same_in_pandas(left: Any, right: Any) -> NDArray[np.bool_] | None:
    kind = left.dtype
    if isinstance(kind, np.dtype):
        if kind.kind in "biufcmM":
            return _same_bits(left.to_numpy(), right.to_numpy())
        if kind.kind == "O":
            return np.fromiter(map(_one_object, left.array, right.array), bool, len(left))
        return None
    if type(kind).__name__ == "CategoricalDtype":
        if not left.cat.categories.equals(right.cat.categories):  # types of another order may be equal
            return None
        return np.asarray(left.cat.codes.to_numpy() == right.cat.codes.to_numpy())
    if type(kind).__name__ == "StringDtype":
        missing, again = left.isna().to_numpy(), right.isna().to_numpy()
        texts, others = left.fillna("").to_numpy(dtype=object), right.fillna("").to_numpy(dtype=object)
        return np.asarray((missing == again) & np.fromiter(map(operator.eq, texts, others), bool, len(left)))
    return None


def _one_object(left: object, right: object) -> bool:
    return left is right or (type(left) is str and type(right) is str and left == right)


def _same_in_polars(left: Any, right: Any) -> NDArray[np.bool_] | None:
    name = str(left.dtype).partition("(")[0]
    if name in ("Float32", "Float64"):
        equal = _same_bits(left.fill_null(0.0).to_numpy(), right.fill_null(0.0).to_numpy())
        return np.asarray(equal & (left.is_null().to_numpy() == right.is_null().to_numpy()))
    if name.startswith(("Int", "UInt")) or name in ("Boolean", "String", "Date", "Datetime", "Duration", "Time"):
        return np.asarray(left.eq_missing(right).to_numpy())
    return None
