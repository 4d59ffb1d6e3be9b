"""Datasets of any kind as JSON values and back, bit for bit, for witnesses: nothing is ever unpickled.

What cannot be written so (own classes, mostly) is named by its hash, and who replays the witness gives it again.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import io
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dpverdict.mechanisms.core.records import is_frame, records_of

KINDS: Final = "biufUSmM"
"""Of arrays that are written out: truth values, numbers, short texts and times."""
LONGEST_TEXT: Final = 4096
"""Bytes of one entry of an array."""
MOST_READ: Final = 10**6
"""Entries of a frame whose hash is that of its records as texts."""
_PART: Final = 50_000
"""Entries of a column that are texts at one time."""


class NotStored(ValueError):
    """A value that has no form here."""


def data_hash(data: Any) -> str:
    """SHA-256 of the kind and the records of a dataset; where nobody knows them of its form or its representation.

    A frame of more than `MOST_READ` entries is hashed column by column, as it lies in memory: to read each of its
    entries as text takes minutes and gigabytes.
    """
    if is_frame(data) and data.shape[0] * data.shape[1] > MOST_READ:
        columns = _hash_of_columns(data)
        if columns is not None:
            return columns
    records = records_of(data)
    if records is None:
        try:
            said = repr(stored(data))
        except NotStored:
            said = repr(data)
        records = [said]
    digest = hashlib.sha256(f"{type(data).__module__}.{type(data).__qualname__}".encode())
    for record in records:
        digest.update(f"\0{len(record)}\0{record}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def held_bytes(data: Any) -> int:
    """How much memory the entries of a frame take, an entry that is an object by its address; 0 of anything else."""
    if not is_frame(data):
        return 0
    if type(data).__module__.partition(".")[0] == "polars":
        return int(data.estimated_size())
    return int(data.memory_usage(index=False, deep=False).sum())


def _hash_of_columns(frame: Any) -> str | None:
    """SHA-256 of names, types and entries of the columns, and of the labels of the rows; None where one is unknown."""
    kind = type(frame)
    digest = hashlib.sha256(f"columns of {kind.__module__}.{kind.__qualname__} {frame.shape}".encode())
    polars = kind.__module__.partition(".")[0] == "polars"
    columns = frame.get_columns() if polars else [frame.iloc[:, i] for i in range(frame.shape[1])]
    if not polars and not _is_range(frame.index, len(frame)):
        columns.append(frame.index)
    for column in columns:
        digest.update(f"\0{column.name!r}\0{column.dtype}\0".encode("utf-8", "surrogatepass"))
        numbers = _numbers_of_polars(column) if polars else column.to_numpy() if _has_numbers(column) else None
        if numbers is not None:
            digest.update(np.ascontiguousarray(numbers).view(np.uint8).data)
            continue
        for start in range(0, len(column), _PART):
            texts = records_of(column[start : start + _PART])
            if texts is None:
                return None
            for text in texts:
                digest.update(f"\0{len(text)}\0{text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _has_numbers(column: Any) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufcmM"


def _numbers_of_polars(column: Any) -> Any:
    plain = str(column.dtype).startswith(("Int", "UInt", "Float", "Boolean"))
    return column.to_numpy() if plain and not column.null_count() else None


def written(data: Any) -> dict[str, Any] | None:
    """The form of a dataset, if `loaded` makes the same one of it; else None."""
    try:
        form = stored(data)
        again = loaded(form)
        same = records_of(data) is not None and data_hash(again) == data_hash(data) and stored(again) == form
        return form if same else None
    except (NotStored, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, ImportError):
        return None


def stored(value: Any) -> dict[str, Any]:
    """The form of a value, as JSON values.

    Raises:
        NotStored: a value of a kind that has none.
    """
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    if value is None or kind in (bool, str):
        return {"kind": "plain", "value": value}
    if kind is int:
        return {"kind": "int", "value": str(value)}
    if kind is float:
        return {"kind": "float", "value": value.hex()}
    if kind in (list, tuple):
        return {"kind": kind.__name__, "items": [stored(one) for one in value]}
    if kind is dict:
        return {"kind": "dict", "items": [[stored(key), stored(part)] for key, part in value.items()]}
    if kind is np.ndarray or isinstance(value, np.generic):
        return _array(np.asarray(value), "array" if kind is np.ndarray else "scalar")
    if library == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return _pandas_fields(value)
    if library == "polars" and kind.__name__ == "DataFrame":
        buffer = io.BytesIO()
        value.write_ipc(buffer)
        return {"kind": "polars", "ipc": base64.b64encode(buffer.getvalue()).decode("ascii")}
    if library == "pyarrow" and kind.__name__ == "Table":
        arrow, sink = importlib.import_module("pyarrow"), io.BytesIO()
        with arrow.ipc.new_file(sink, value.schema) as writer:
            writer.write_table(value)
        return {"kind": "pyarrow", "ipc": base64.b64encode(sink.getvalue()).decode("ascii")}
    if library == "torch" and hasattr(value, "detach"):
        return {"kind": "torch", "array": _array(value.detach().cpu().numpy(), "array")}
    raise NotStored(kind.__qualname__)


def loaded(form: Mapping[str, Any]) -> Any:
    """The value of a form. It imports a library of frames or tensors if the form is of one, and runs no other code.

    Raises:
        KeyError, TypeError, ValueError: no form of a value.
        ImportError: the library is not installed.
    """
    match form["kind"]:
        case "plain":
            value = form["value"]
            if value is not None and not isinstance(value, bool | str):
                raise TypeError("a plain value is a text, true, false or null")
            return value
        case "int":
            return int(form["value"])
        case "float":
            return float.fromhex(form["value"])
        case "list":
            return [loaded(one) for one in form["items"]]
        case "tuple":
            return tuple(loaded(one) for one in form["items"])
        case "dict":
            return {loaded(key): loaded(part) for key, part in form["items"]}
        case "array":
            return _of_array(form)
        case "scalar":
            return _of_array(form)[()]
        case "pandas":
            return _of_pandas(form)
        case "polars":
            return importlib.import_module("polars").read_ipc(io.BytesIO(base64.b64decode(form["ipc"])))
        case "pyarrow":
            return importlib.import_module("pyarrow").ipc.open_file(base64.b64decode(form["ipc"])).read_all()
        case "torch":
            return importlib.import_module("torch").from_numpy(_of_array(form["array"]).copy())
        case kind:
            raise ValueError(f"no dataset is of kind {kind!r}")


def _array(values: np.ndarray[Any, Any], kind: str) -> dict[str, Any]:
    if values.dtype.kind == "O":
        items = [stored(one) for one in values.ravel().tolist()]
        return {"kind": kind, "dtype": "|O", "shape": list(values.shape), "items": items}
    if values.dtype.kind not in KINDS or values.dtype.itemsize > LONGEST_TEXT:
        raise NotStored(str(values.dtype))
    data = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
    return {"kind": kind, "dtype": values.dtype.str, "shape": list(values.shape), "data": data}


def _of_array(form: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    shape = [int(length) for length in form["shape"]]
    if form["dtype"] == "|O":
        found = np.empty(math.prod(shape), dtype=object)
        for i, one in enumerate(form["items"]):
            found[i] = loaded(one)
        return found.reshape(shape)
    kind = np.dtype(str(form["dtype"]))
    if kind.kind not in KINDS or kind.itemsize > LONGEST_TEXT:
        raise TypeError(f"an array of type {kind} is not one of a witness")
    return np.frombuffer(base64.b64decode(form["data"]), dtype=kind).reshape(shape).copy()


def _pandas_fields(value: Any) -> dict[str, Any]:
    """Column by column, each with its type as pandas names it, and the labels of the rows."""
    series = type(value).__name__ == "Series"
    columns = [value] if series else [value.iloc[:, i] for i in range(value.shape[1])]
    return {
        "kind": "pandas",
        "series": series,
        "names": [stored(one.name) for one in columns],
        "types": [str(one.dtype) for one in columns],
        "columns": [_column(one) for one in columns],
        "index": None if _is_range(value.index, len(value)) else _column(value.index),
    }


def _is_range(index: Any, length: int) -> bool:
    return type(index).__name__ == "RangeIndex" and (index.start, index.stop, index.step) == (0, length, 1)


def _column(column: Any) -> dict[str, Any]:
    if isinstance(column.dtype, np.dtype):
        return _array(column.to_numpy(), "array")
    held = np.empty(len(column), dtype=object)
    held[:] = [None if one is None or type(one).__name__ in ("NAType", "NaTType") else one for one in column.tolist()]
    return _array(held, "array")


def _of_pandas(form: Mapping[str, Any]) -> Any:
    pandas = importlib.import_module("pandas")
    index = None if form["index"] is None else pandas.Index(_of_array(form["index"]))
    columns = [
        pandas.Series(_of_array(data), dtype=kind, name=loaded(name), index=index)
        for data, kind, name in zip(form["columns"], form["types"], form["names"], strict=True)
    ]
    if form["series"]:
        return columns[0]
    frame = pandas.concat(columns, axis=1) if columns else pandas.DataFrame(index=index)
    frame.columns = pandas.Index([loaded(name) for name in form["names"]])
    return frame
