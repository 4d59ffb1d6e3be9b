"""Tables from files: CSV, Parquet, Feather, JSON lines and Excel, read by the library whose frame a function takes.

What a library would repair in silence is refused in one line here: two columns of one name, rows of different lengths,
cells of other kinds than the rest of their column, bytes that are no UTF-8, a file that the memory does not hold.
"""

from __future__ import annotations

import contextlib
import csv
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.fit import conform
from dpverdict.audit.tables.frames import Table, TableKind, entries, library, names_of, to_array, with_dates
from dpverdict.audit.trials.data_files import BYTES_PER_CELL, load_array, must_be_a_file, must_fit, unreadable
from dpverdict.errors import InvalidValue

FORMATS: Final[dict[str, str]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".jsonl": "json",
    ".ndjson": "json",
    ".xlsx": "excel",
    ".npy": "array",
    ".npz": "array",
}
"""Files of tables by how their names end."""

MOSTLY: Final = 0.75
"""A text column of a .csv file in which so many entries are numbers is one of numbers with something wrong in it."""

_BYTES_OF_A_CELL: Final = 8
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?")


def reads(path: str) -> bool:
    """Whether a path ends as one of a table does."""
    return Path(path).suffix.lower() in FORMATS


def read_frame(path: str, kind: TableKind, columns: Sequence[Column] | None = None, *, name: str = "data") -> Table:
    """A table of a file, one record a row.

    Args:
        path: of the file; its name ends in one of `FORMATS`. An array of NumPy (.npy; .npz with an array ``records``,
            or with one array) stays what it is.
        kind: of the table that is wanted. As an array, a table of one column has the shape (n,), else (n, d).
        columns: of the schema, if there is one: the table must fit it, and has its types. Otherwise whole numbers,
            numbers, truth values, dates (as 2024-12-31) and texts are told apart by how they look.
        name: of the parameter, for the errors.

    Raises:
        InvalidValue: a file that is missing, empty or of another format, or what the head of this module names; with a
            schema, the first entry that does not fit it.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        requirement = f"a file of a table: {', '.join(FORMATS)}"
        raise InvalidValue(name, path, requirement, "write the table in one of these formats, one record a row")
    must_be_a_file(path, name)
    if Path(path).stat().st_size == 0:
        raise InvalidValue(name, path, "a table with a header and records", "the file is empty")
    form = FORMATS[suffix]
    if form == "array":
        return _array_of_file(path, name)
    reader = "polars" if kind == "polars" and form != "excel" else "pandas"
    module = library(reader, f"{Path(path).name} is read with it")
    if form != "csv":
        library(*_NEEDS[form]) if reader == "pandas" and form in _NEEDS else None
        _must_fit_memory(path, form, name)
    if form == "excel":
        _must_be_a_workbook(path, name)
    if form == "json":
        _must_be_objects(path, name)
    table = _READERS[form, reader](module, path, columns, name)
    if kind == "polars" and reader == "pandas":
        table = library("polars", "the function takes a frame of polars").from_pandas(table)
    if form == "json" and columns is None:
        _no_spoilt_numbers(table, name)
    names = names_of(table)
    if not names:
        raise InvalidValue(name, path, "a table of one column or more", "the file holds none")
    for i, one in enumerate(names):
        if one in names[:i]:
            raise InvalidValue(name, f"{one} ({path})", "the name of one column only", "rename one of the columns")
    if columns is not None:
        table = conform(table, columns)
    elif form in ("csv", "json"):
        table = _with_dates(table)
    return to_array(table, columns) if kind == "numpy" else table


_NEEDS: Final = {
    "parquet": ("pyarrow", "pandas reads Parquet with it"),
    "feather": ("pyarrow", "pandas reads Feather with it"),
    "excel": ("openpyxl", "pandas reads Excel with it"),
}


def _array_of_file(path: str, name: str) -> Table:
    loaded = load_array(path, name)
    if isinstance(loaded, dict):
        if "records" not in loaded and len(loaded) != 1:
            held = ", ".join(sorted(loaded)) or "none"
            requirement = "a .npz file with the array 'records', or with one array"
            raise InvalidValue(name, path, requirement, f"write it with numpy.savez; it holds {held}")
        loaded = loaded.get("records", next(iter(loaded.values())))
    if loaded.ndim == 0:
        raise InvalidValue(name, path, "an array with records along its first axis", "reshape it")
    return loaded


def _must_fit_memory(path: str, form: str, name: str) -> None:
    """Raise unless a table fits in the memory, as far as its file says how large it is."""
    size = BYTES_PER_CELL * Path(path).stat().st_size
    if form == "parquet":
        parquet = library("pyarrow", "Parquet is read with it") and __import__("pyarrow.parquet").parquet
        try:
            said = parquet.read_metadata(path)
        except Exception as error:  # pyarrow raises its own
            raise unreadable(name, path, "a readable Parquet file", error) from None
        size = max(_BYTES_OF_A_CELL * said.num_rows * said.num_columns, Path(path).stat().st_size)
    must_fit(size, path, name)


_COMPOUND_FILE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
"""How a workbook begins that is encrypted, or of Excel before 2007."""


def _must_be_a_workbook(path: str, name: str) -> None:
    """Raise unless a file is a workbook with one sheet, in words about the file and not about its reader."""
    with open(path, "rb") as file:
        begin = file.read(len(_COMPOUND_FILE))
    if begin == _COMPOUND_FILE:
        requirement = "an .xlsx workbook without a password"
        raise InvalidValue(name, path, requirement, "it is encrypted, or an old .xls file: save it anew as .xlsx")
    remedy = "its content is something else: save it as .xlsx from a spreadsheet, or rename it as what it is"
    try:
        with zipfile.ZipFile(path) as held:
            workbook = held.read("xl/workbook.xml").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile, RuntimeError, zlib.error):
        raise InvalidValue(name, path, "an .xlsx workbook", remedy) from None
    sheets = re.findall(r"""<(?:\w+:)?sheet\b[^>]*?\bname=["']([^"']*)""", workbook)
    if len(sheets) > 1:
        requirement = f"a workbook with one sheet, not {len(sheets)} ({', '.join(sheets[:6])})"
        raise InvalidValue(name, path, requirement, "save the sheet with the table as a file of its own")


def _must_be_objects(path: str, name: str) -> None:
    """Raise unless the first line of a file of JSON lines is an object with the entries of a record by their names."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        first = file.readline(_LONGEST_LINE).strip()
    if not first.startswith("{"):
        requirement = "a file of JSON lines, each an object with the entries of a record"
        raise InvalidValue(name, path, requirement, 'write a record a line: {"city": "Rome", "age": 44}')


_LONGEST_LINE: Final = 4096
"""Characters of a first line that are looked at."""

# -- CSV ----------------------------------------------------------------------------------------------------------


def _header_of_csv(path: str, name: str) -> list[str]:
    """The names of the columns of a .csv file, all of which is read once to see that it is a table."""
    must_fit(BYTES_PER_CELL * Path(path).stat().st_size, path, name)
    header: list[str] = []
    records = 0
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=_separator(path), strict=True)
            for row in reader:
                if not header:
                    header = row
                elif row and len(row) != len(header):
                    requirement = f"{len(header)} entries in line {reader.line_num}, as the header has it"
                    raise InvalidValue(name, f"{len(row)} entries", requirement, "complete the row")
                elif row:
                    records += 1
    except UnicodeDecodeError as error:
        remedy = f"byte {error.start} is not: save it as UTF-8, with iconv or by the editor"
        raise InvalidValue(name, path, "a .csv file in UTF-8", remedy) from None
    except (OSError, csv.Error) as error:
        raise unreadable(name, path, "a readable .csv file in UTF-8", error) from None
    if not header:
        raise InvalidValue(name, path, "a table with a header and records", "the file is empty")
    if not records:
        raise InvalidValue(name, path, "a table with records", "there is nothing below the header")
    for one, times in Counter(header).items():
        if times > 1 or not one.strip():
            requirement = "the name of one column only" if times > 1 else "a name for each column in the first line"
            raise InvalidValue(name, f"{one} ({path})", requirement, "rename the column in the header")
    if all(_is_number(cell) for cell in header):
        requirement = "a table whose first line holds the column names"
        raise InvalidValue(name, path, requirement, "add a header: a first record would be taken for one")
    if len(header) == 1 and re.search(r"[;\t]", header[0]):
        requirement = "a .csv file with commas between the entries"
        raise InvalidValue(name, header[0], requirement, "save it with commas; with tabs it is a .tsv file")
    return header


def _separator(path: str) -> str:
    return "\t" if path.lower().endswith(".tsv") else ","


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _csv_pandas(pandas: Any, path: str, columns: Sequence[Column] | None, name: str) -> Any:
    _header_of_csv(path, name)
    words: dict[str, Any] = {}
    if columns is not None:  # a text is a text, also if it reads NA or 007
        texts = {column.name: column for column in columns if _holds_text(column)}
        gaps = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"]
        of_texts = {one.name: [""] if one.nullable else [] for one in texts.values()}
        words = {
            "dtype": dict.fromkeys(texts, str),
            "keep_default_na": False,
            "na_values": {one.name: of_texts.get(one.name, gaps) for one in columns},
        }
    try:
        table = pandas.read_csv(path, sep=_separator(path), encoding="utf-8-sig", low_memory=False, **words)
    except Exception as error:  # pandas raises a dozen kinds
        raise unreadable(name, path, "a readable .csv file", error) from None
    if columns is None:
        _no_spoilt_numbers(table, name)
    return table


def _csv_polars(polars: Any, path: str, columns: Sequence[Column] | None, name: str) -> Any:
    _header_of_csv(path, name)
    words: dict[str, Any] = {"infer_schema_length": None}
    if columns is not None:
        words["schema_overrides"] = {one.name: polars.String for one in columns if _holds_text(one)}
    try:
        table = polars.read_csv(path, separator=_separator(path), null_values=None, **words)
    except Exception as error:  # polars raises its own
        raise unreadable(name, path, "a readable .csv file", error) from None
    if columns is None:
        _no_spoilt_numbers(table, name)
        return table
    empty = [one.name for one in columns if _holds_text(one) and not one.nullable and one.name in table.columns]
    return table.with_columns(polars.col(empty).fill_null("")) if empty else table


def _holds_text(column: Column) -> bool:
    return column.type == "text" or (column.type == "category" and isinstance(column.values[0], str))


def _with_dates(table: Any) -> Any:
    """The table with every text column of dates as one of dates: .csv and JSON have no other way to write them."""
    for place, column in enumerate(names_of(table) or []):
        values = entries(table, place)[1]
        if values.dtype.kind in "OUT" and len(values):
            if not all(isinstance(one, str) and _DATE.fullmatch(one) for one in values.tolist()):
                continue
            with contextlib.suppress(InvalidValue):  # a 31st of February: then it is a text
                table = with_dates(table, Column(name=column, type="date"))
    return table


def _no_spoilt_numbers(table: Any, name: str) -> None:
    """Raise if a column of texts has numbers in most of its entries: a library reads all of it as texts then."""
    for place, column in enumerate(names_of(table) or []):
        rows, values = entries(table, place)
        texts = [one for one in values.tolist() if isinstance(one, str)] if values.dtype.kind in "OUT" else []
        wrong = [i for i, one in enumerate(texts) if not _is_number(one)]
        if wrong and len(wrong) <= (1 - MOSTLY) * len(texts):
            requirement = f"a number in record {int(rows[wrong[0]])}, as in most of the column {column}"
            remedy = 'correct it, or write type = "text" for the column in a schema'
            raise InvalidValue(name, texts[wrong[0]], requirement, remedy)


# -- other formats ------------------------------------------------------------------------------------------------


def _by_pandas(function: str, form: str, **words: Any) -> Callable[..., Any]:
    def read(pandas: Any, path: str, columns: Sequence[Column] | None, name: str) -> Any:
        try:
            return getattr(pandas, function)(path, **words)
        except Exception as error:  # pandas and what it reads with raise a dozen kinds
            raise unreadable(name, path, f"a readable file of {form}", error) from None

    return read


def _by_polars(function: str, form: str, **words: Any) -> Callable[..., Any]:
    def read(polars: Any, path: str, columns: Sequence[Column] | None, name: str) -> Any:
        try:
            return getattr(polars, function)(path, **words)
        except Exception as error:  # polars raises its own
            raise unreadable(name, path, f"a readable file of {form}", error) from None

    return read


_READERS: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    ("csv", "pandas"): _csv_pandas,
    ("csv", "polars"): _csv_polars,
    ("parquet", "pandas"): _by_pandas("read_parquet", "Parquet"),
    ("parquet", "polars"): _by_polars("read_parquet", "Parquet"),
    ("feather", "pandas"): _by_pandas("read_feather", "Feather"),
    ("feather", "polars"): _by_polars("read_ipc", "Feather"),
    ("json", "pandas"): _by_pandas("read_json", "JSON lines", lines=True, convert_dates=False, precise_float=True),
    ("json", "polars"): _by_polars("read_ndjson", "JSON lines", infer_schema_length=None),
    ("excel", "pandas"): _by_pandas("read_excel", "Excel"),
}
