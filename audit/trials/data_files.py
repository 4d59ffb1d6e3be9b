"""Data from files, or from a user's function: tables of records, neighbouring datasets, and columns of scores.

Records are read from .csv, .npy and .npz, pairs from .npz, scores (one number per canary or run) from .npy, .csv and
.parquet.
"""

from __future__ import annotations

import contextlib
import csv
import math
import warnings
import zipfile
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray

from dpverdict.audit.documents.request import names_a_callable
from dpverdict.audit.trials.user_code import guarded
from dpverdict.audit.trials.user_functions import load_named
from dpverdict.errors import InvalidValue, in_one_line
from dpverdict.mechanisms.core.neighbours import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    AnyPair,
    NeighbourPair,
    adjacency_name,
    as_pair,
)
from dpverdict.numerics.arrays import Array
from dpverdict.suggestions import close_to

LARGEST: Final = 2**31
"""Bytes of the numbers of a file, at most, as float64: an audit holds a few copies of them."""

SHARE: Final = 1 / 8
"""Of the memory that is free: so much of it the numbers of a file may take."""

BYTES_PER_CELL: Final = 4
"""A number of 8 bytes takes two characters or more in a .csv file, a digit and a comma."""

TABLE_FORMATS = "a .csv, .npy or .npz file, or module:name"


def read_table(source: str) -> Array:
    """The records of a table, one per row: float64 of shape (n, d), or (n, groups, d) from .npy and .npz.

    Args:
        source: a .csv with a header of column names, a .npy, a .npz with an array ``records``, or ``module:name``
            (``path/file.py:name``): records, or a function that is called without arguments and returns them.

    Raises:
        InvalidValue: a file that is missing, unreadable or corrupt; entries that are not finite numbers; no records.
    """
    kind = Path(source).suffix.lower()
    if names_a_callable(source):
        return _records(_named_value(source, "data", "a function that returns an array of records"), source)
    must_be_a_file(source, "data")
    if kind == ".csv":
        return _records(read_csv(source, "data")[1], source)
    if kind == ".npy":
        array = load_array(source, "data")
        if isinstance(array, dict):
            raise InvalidValue("data", source, "a .npy file of one array", "name the file .npz")
        return _records(array, source)
    if kind == ".npz":
        return _records(_array(_load_npz(source, "data"), "records", source, "data"), source)
    raise InvalidValue("data", source, TABLE_FORMATS, "convert the table, one record per row")


def read_pair(path: str, adjacency: NeighboringRelation | None = None) -> AnyPair:
    """Neighbouring datasets: of a .npz file with the arrays ``dataset`` and ``neighbour``, or of a function.

    The relation of arrays follows from the lengths, which cannot be mistaken for each other: one record less in
    ``neighbour`` is ADD_OR_REMOVE_ONE, equal lengths are REPLACE_ONE. ``module:name`` names (dataset, neighbour), of
    any kind that `as_pair` compares, a pair, or a function that is called without arguments and returns one of them.

    Args:
        path: the .npz file, whose arrays may hold missing values and have any type of numbers, texts or times; or
            ``module:name`` (``path/file.py:name``).
        adjacency: the relation that is expected; None to take the one the lengths say.

    Raises:
        InvalidValue: an unreadable file, a missing array, datasets that are not neighbours or are equal, or neighbours
            under another relation than the expected one.
    """
    if names_a_callable(path):
        made = as_pair(_named_value(path, "neighbours", "a function that returns two datasets"))
        _must_be_under(adjacency, made.adjacency, made.describe())
        return made
    must_be_a_file(path, "neighbours")
    arrays = _load_npz(path, "neighbours")
    dataset, neighbour = (
        _plain_array(_array(arrays, key, path, "neighbours"), key) for key in ("dataset", "neighbour")
    )
    shapes = f"arrays of shapes {dataset.shape} and {neighbour.shape}"
    if min(dataset.ndim, neighbour.ndim) < 1 or len(dataset) - len(neighbour) not in (0, 1):
        requirement = "two datasets of equal length, or the second one record shorter"
        remedy = "change or remove exactly one record, and store the larger dataset as 'dataset'"
        raise InvalidValue("neighbours", shapes, requirement, remedy)
    found = REPLACE_ONE if len(dataset) == len(neighbour) else ADD_OR_REMOVE_ONE
    _must_be_under(adjacency, found, shapes)
    if _bits(dataset) == _bits(neighbour):
        raise InvalidValue("neighbours", shapes, "two different datasets", "change or remove one record")
    return NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=found)


def real_pair(pair: AnyPair) -> NeighbourPair:
    """A pair for a mechanism of known structure: float64 arrays of finite numbers.

    Raises:
        InvalidValue: datasets of anything else.
    """
    dataset, neighbour = (_numbers(getattr(pair, name), name) for name in ("dataset", "neighbour"))
    return NeighbourPair(
        dataset=dataset, neighbour=neighbour, adjacency=pair.adjacency, records_per_user=pair.records_per_user
    )


def _must_be_under(expected: NeighboringRelation | None, found: NeighboringRelation, said: str) -> None:
    if expected is not None and expected is not found:
        requirement = f"{adjacency_name(expected)} neighbours, as --adjacency says"
        remedy = f"use --adjacency {adjacency_name(found)}, or another pair"
        raise InvalidValue("neighbours", said, requirement, remedy)


def _plain_array(array: NDArray[np.generic], name: str) -> NDArray[Any]:
    """An array as it is, if it is one of numbers, texts or times."""
    if array.dtype.kind not in "biufUSmM":
        requirement = "an array of numbers, texts or times"
        raise InvalidValue(name, f"array of {array.dtype}", requirement, "store one array of each type")
    return array


def _bits(array: NDArray[np.generic]) -> tuple[object, ...]:
    """What tells arrays apart, bit by bit."""
    return array.shape, array.dtype.str, array.tobytes()


def _named_value(source: str, name: str, requirement: str) -> Any:
    """What a function that ``source`` names returns; or, if it names no function, what it names."""
    found = load_named(source, name=name)
    if not callable(found):
        return found

    def failure(said: str) -> InvalidValue:
        return InvalidValue(name, source, requirement, f"it fails with {said}")

    return guarded(found, failure)


def must_be_a_file(path: str, name: str) -> None:
    """Raise unless the path is one of a file."""
    if Path(path).is_dir():
        raise InvalidValue(name, path, "a file, not a folder", "give the path of the file itself")
    if not Path(path).exists():
        raise InvalidValue(name, path, "a file that exists", f"there is no {Path(path).absolute()}")
    if not Path(path).is_file():
        raise InvalidValue(name, path, "a file, not a device or a pipe", "write the numbers to a file first")


def must_fit(size: int, path: str, name: str) -> None:
    """Raise unless so many bytes of numbers are within `LARGEST` and their `SHARE` of the memory that is free."""
    free = free_memory()
    most = LARGEST if free is None else min(LARGEST, int(SHARE * free))
    if size > most:
        requirement = f"of numbers that take at most {most / 2**20:.0f} MiB here, not {size / 2**20:.0f}"
        raise InvalidValue(name, path, requirement, "audit fewer records or columns, or a machine with more memory")


def free_memory() -> int | None:
    """Bytes that can be had without swapping, here and within the limits of this process; None where nobody says."""
    known: list[int] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        known += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    with contextlib.suppress(OSError, ValueError):  # of a container; "max" is no number
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        known.append(max(0, limit - int(Path("/sys/fs/cgroup/memory.current").read_text())))
    with contextlib.suppress(ImportError):
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            soft, _ = resource.getrlimit(kind)
            known += [soft] if soft != resource.RLIM_INFINITY else []
    return min(known, default=None)


def read_csv(
    path: str, name: str, chosen: Callable[[list[str]], Sequence[int]] | None = None
) -> tuple[list[str], Array]:
    """The column names of a .csv file, and the numbers under them: shape (rows, columns).

    Args:
        path: of the file.
        name: of the parameter, for the error.
        chosen: the places of the columns that are read, of all names; all are read if it is not given.

    Raises:
        InvalidValue: an unreadable file, no header, rows of different lengths, or an entry that is not a number.
    """
    must_fit(BYTES_PER_CELL * Path(path).stat().st_size, path, name)
    header: list[str] = []
    places: Sequence[int] = ()
    numbers = array("d")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if row and not header:
                    header = _csv_header(row, path, name)
                    places = range(len(header)) if chosen is None else chosen(header)
                elif row:
                    numbers.extend(_csv_record(row, header, places, reader.line_num, name))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(name, path, "a readable .csv file in UTF-8", error) from None
    if not header:
        raise InvalidValue(name, path, "a table with a header and records", "the file is empty")
    return [header[place] for place in places], np.array(numbers).reshape(-1, len(places))


def _csv_header(row: list[str], path: str, name: str) -> list[str]:
    if all(_number(cell) is not None for cell in row):
        requirement = "a table whose first line holds the column names"
        raise InvalidValue(name, path, requirement, "add a header: a first record would be taken for one")
    return row


def _csv_record(row: list[str], header: list[str], places: Sequence[int], line: int, name: str) -> list[float]:
    if len(row) != len(header):
        requirement = f"{len(header)} entries in line {line}, as the header has it"
        raise InvalidValue(name, f"{len(row)} entries", requirement, "complete the row")
    record = []
    for place in places:
        column, cell = header[place], row[place]
        number = _number(cell)
        if number is None:
            remedy = "encode the column as numbers, or leave it out of the table"
            raise InvalidValue(name, cell, f"a number in line {line}, column {column}", remedy)
        record.append(number)
    return record


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def load_array(path: str, name: str) -> NDArray[np.generic] | dict[str, NDArray[np.generic]]:
    """What NumPy reads from a file, without executing pickled code: an array, or the arrays of a .npz by name."""
    try:
        must_fit(_announced_bytes(path), path, name)
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a header that an old Python wrote
            loaded = np.load(file, allow_pickle=False)
            return {key: loaded[key] for key in loaded} if isinstance(loaded, Mapping) else np.asarray(loaded)
    except InvalidValue:
        raise
    except Exception as error:  # NumPy and zipfile raise a dozen kinds on damaged files
        raise unreadable(name, path, f"a readable {Path(path).suffix} file of numbers", error) from None


def _announced_bytes(path: str) -> int:
    """The bytes that the arrays of a .npy or .npz file will take as float64, as their headers say."""
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            return _announced_by(file)
    total = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with archive.open(member) as file:
                    total += _announced_by(file)
            else:
                total += member.file_size
    return total


def _announced_by(file: IO[bytes]) -> int:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise ValueError(f"the format {version} is not one of numbers")
        shape, _, kind = readers[version](file)
    if any(size < 0 for size in shape):
        raise ValueError(f"there is no shape {shape}")
    return math.prod(shape) * max(kind.itemsize, 8)


def _load_npz(path: str, name: str) -> dict[str, NDArray[np.generic]]:
    loaded = load_array(path, name)
    if not isinstance(loaded, dict):
        raise InvalidValue(name, path, "a .npz file with named arrays", "write it with numpy.savez")
    return loaded


def _array(arrays: dict[str, NDArray[np.generic]], key: str, path: str, name: str) -> NDArray[np.generic]:
    if key not in arrays:
        held = "it holds " + (", ".join(sorted(arrays)) or "no array")
        raise InvalidValue(name, path, f"a .npz file with the array {key!r}", f"write it with numpy.savez; {held}")
    return arrays[key]


def _records(table: object, source: str) -> Array:
    records = _numbers(table, "data")
    if records.ndim < 2 or 0 in records.shape:
        shape = f"array of shape {records.shape} ({source})"
        raise InvalidValue("data", shape, "one or more records in rows, of one or more columns", "reshape the table")
    return records


def _numbers(table: object, name: str) -> Array:
    """A float64 array of finite numbers."""
    try:
        array = np.asarray(table)
    except (TypeError, ValueError):
        raise InvalidValue(name, table, "an array of numbers", "give every record the same length") from None
    if array.dtype.kind not in "biuf":
        raise InvalidValue(name, f"array of {array.dtype}", "an array of numbers", "encode the attributes as numbers")
    records = array.astype(np.float64)
    finite = np.isfinite(records)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        value = f"{records[where]} at index {where[0] if len(where) == 1 else where}"
        raise InvalidValue(name, value, "a finite number", "remove or fill in the missing values before the audit")
    return records


def unreadable(name: str, path: str, requirement: str, error: Exception) -> InvalidValue:
    """The error for a file that cannot be read, with the reason."""
    return InvalidValue(name, path, requirement, f"reading it fails with {in_one_line(error)[:120]}")


FORMATS = "a .npy, .csv or .parquet file"


def read_column(source: str, name: str) -> NDArray[np.generic]:
    """The numbers of a file, in its order: shape (n,).

    Args:
        source: a .npy with one array of shape (n,) or (n, 1); a .csv with a header and one column, or a .parquet with
            one column. A column of several is chosen by ``file.csv#column``.
        name: of the parameter, for the error.

    Raises:
        InvalidValue: a file that is missing, unreadable or corrupt, of another format, or of more than one column; a
            .parquet without pyarrow.
    """
    path, _, column = source.partition("#")
    must_be_a_file(path, name)
    match Path(path).suffix.lower():
        case ".npy":
            if column:
                raise InvalidValue(name, source, "a file without #column", "a .npy file holds one array")
            loaded = load_array(path, name)
            if isinstance(loaded, dict):
                raise InvalidValue(name, source, "a .npy file of one array", "save one array with numpy.save")
            return _as_vector(loaded, source, name)
        case ".csv":
            _, rows = read_csv(path, name, lambda header: [_index(header, column, source, name)])
            return rows[:, 0]
        case ".parquet":
            return _read_parquet(path, column, source, name)
        case _:
            raise InvalidValue(name, source, FORMATS, "convert the scores, one number per canary or run")


def _as_vector(loaded: NDArray[np.generic], source: str, name: str) -> NDArray[np.generic]:
    vector = loaded[:, 0] if loaded.ndim == 2 and loaded.shape[1] == 1 else loaded
    if vector.ndim != 1:
        shape = f"array of shape {loaded.shape} ({source})"
        raise InvalidValue(name, shape, "of shape (n,)", "give one number per canary or run")
    return vector


def _index(header: list[str], column: str, source: str, name: str) -> int:
    if column:
        if header.count(column) != 1:
            remedy = f"the columns are {', '.join(header)}"
            close = close_to(column, header)
            if close and column not in header:
                remedy += f": did you mean {source.removesuffix(column)}{close[0]}?"
            raise InvalidValue(name, source, "a file with that column, once", remedy)
        return header.index(column)
    if not header:
        raise InvalidValue(name, source, "a file of one column", "it has none")
    if len(header) != 1:
        remedy = f"choose one of {', '.join(header)}, as {source}#{header[0]}"
        raise InvalidValue(name, source, "a file of one column", remedy)
    return 0


def _read_parquet(path: str, column: str, source: str, name: str) -> NDArray[np.generic]:
    try:
        from pyarrow import parquet, types  # pyright: ignore[reportMissingImports]  # an extra
    except ImportError:
        remedy = "pip install pyarrow, or convert the scores to .npy or .csv"
        raise InvalidValue(name, source, "read with pyarrow installed", remedy) from None
    try:
        file = parquet.ParquetFile(path)
        header = [str(one) for one in file.schema_arrow.names]
        chosen = _index(header, column, source, name)
        kind = file.schema_arrow.types[chosen]
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise InvalidValue(name, source, f"a column of numbers, not of {kind}", "encode it as numbers")
        must_fit(8 * file.metadata.num_rows, path, name)
        found = file.read(columns=[header[chosen]]).column(0)
        if found.null_count:
            raise InvalidValue(name, source, "a column without missing values", "remove or fill them in")
        return np.asarray(found.to_numpy())
    except InvalidValue:
        raise
    except Exception as error:  # of pyarrow, a dozen kinds on damaged files
        raise unreadable(name, path, "a readable .parquet file", error) from None
