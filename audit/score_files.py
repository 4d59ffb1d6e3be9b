"""Columns of numbers from files: .npy, .csv and .parquet, one number per canary or run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.data_files import load_array, must_be_a_file, read_csv, unreadable
from dpverdict.errors import InvalidValue

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
            return _vector(loaded, source, name)
        case ".csv":
            header, rows = read_csv(path, name)
            return np.array(rows, dtype=np.float64).reshape(-1, len(header))[:, _index(header, column, source, name)]
        case ".parquet":
            return _parquet(path, column, source, name)
        case _:
            raise InvalidValue(name, source, FORMATS, "convert the scores, one number per canary or run")


def _vector(loaded: NDArray[np.generic], source: str, name: str) -> NDArray[np.generic]:
    vector = loaded[:, 0] if loaded.ndim == 2 and loaded.shape[1] == 1 else loaded
    if vector.ndim != 1:
        shape = f"array of shape {loaded.shape} ({source})"
        raise InvalidValue(name, shape, "of shape (n,)", "give one number per canary or run")
    return vector


def _index(header: list[str], column: str, source: str, name: str) -> int:
    if column:
        if header.count(column) != 1:
            remedy = f"the columns are {', '.join(header)}"
            raise InvalidValue(name, source, "a file with that column, once", remedy)
        return header.index(column)
    if len(header) != 1:
        remedy = f"choose one of {', '.join(header)}, as {source}#{header[0]}"
        raise InvalidValue(name, source, "a file of one column", remedy)
    return 0


def _parquet(path: str, column: str, source: str, name: str) -> NDArray[np.generic]:
    try:
        from pyarrow import ArrowException, parquet  # pyright: ignore[reportMissingImports]  # an extra
    except ImportError:
        remedy = "pip install 'dpverdict[parquet]', or convert the scores to .npy or .csv"
        raise InvalidValue(name, source, "read with pyarrow installed", remedy) from None
    try:
        table = parquet.read_table(path)
        header = [str(one) for one in table.column_names]
        found = table.column(_index(header, column, source, name))
        if found.null_count:
            raise InvalidValue(name, source, "a column without missing values", "remove or fill them in")
        return np.asarray(found.to_numpy())
    except (OSError, ArrowException) as error:
        raise unreadable(name, path, "a readable .parquet file", error) from None
