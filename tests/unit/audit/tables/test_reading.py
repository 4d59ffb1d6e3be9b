"""Tables from files: the same columns in every format, and one clear line for a file that is no table."""

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.tables.frames import TableKind
from dpverdict.audit.tables.observed import in_words, observed_columns
from dpverdict.audit.tables.reading import read_frame
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE

for needed in ("pandas", "polars", "pyarrow", "openpyxl"):
    pytest.importorskip(needed)

TEXT = """age,city,seen,at,smoker,children,note
41,Oslo,2020-01-01,2020-01-01T10:30:00,True,2,"a, b"
7,Rome,2020-02-01,2020-01-01T10:31:00,False,,second
90,Oslo,2020-03-01,2020-01-01T10:32:00,True,0,third
12,Rome,2020-03-02,2020-01-01T10:33:00,True,0,fourth
"""
WORDS = (
    "age: int from 7 to 90; city: category of 2 (Oslo, Rome); seen: date from 2020-01-01 to 2020-03-02; "
    "at: date from 2020-01-01T10:30:00 to 2020-01-01T10:33:00; smoker: bool; "
    "children: int from 0 to 2, may be missing; note: text"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TEXT)
    Path("t.tsv").write_text(TEXT.replace('"a, b"', "a; b").replace(",", "\t"))
    table = read_frame("t.csv", "pandas")
    table.to_parquet("t.parquet")
    table.to_feather("t.feather")
    table.to_json("t.jsonl", orient="records", lines=True, date_format="iso")
    table.to_excel("t.xlsx", index=False)
    return tmp_path


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.feather", "t.jsonl", "t.xlsx"])
def test_every_format_gives_the_same_columns_with_and_without_a_schema(
    folder: Path, name: str, kind: TableKind
) -> None:
    table = read_frame(name, kind)
    assert in_words(observed_columns(table)) == WORDS
    schema = TableSchema.from_frame(table, relation=ADD_OR_REMOVE_ONE)
    again = read_frame(name, kind, schema.columns)
    schema.check(again)
    built = schema.dataset(schema.extreme_records())
    assert list(map(str, again.dtypes)) == list(map(str, built.dtypes))


def test_an_array_file_stays_what_it_is(folder: Path) -> None:
    held = np.arange(6, dtype=np.int8).reshape(3, 2)
    np.save("a.npy", held)
    np.savez("a.npz", held)
    np.savez("b.npz", records=held, other=np.zeros(2))
    for name in ("a.npy", "a.npz", "b.npz"):
        read = read_frame(name, "pandas")
        assert read.dtype == np.int8
        assert read.tolist() == held.tolist()


def test_numbers_of_a_frame_become_an_array_and_texts_beside_them_do_not(folder: Path) -> None:
    Path("n.csv").write_text("a,b\n1,2.5\n3,\n")
    read = read_frame("n.csv", "numpy")
    assert (read.shape, read.dtype) == ((2, 2), np.float64)
    assert np.isnan(read[1, 1])
    Path("one.csv").write_text("a\n1\n3\n")
    assert read_frame("one.csv", "numpy").tolist() == [1, 3]
    with pytest.raises(InvalidValue, match="an array holds one type"):
        read_frame("t.csv", "numpy")


def test_a_text_of_a_schema_is_a_text_also_where_it_looks_like_something_else(folder: Path) -> None:
    Path("codes.csv").write_text("code,n\nNA,1\n007,2\n,3\n")
    text = 'relation = "add-or-remove-one"\ntable = "%s"\n[columns.code]\ntype = "text"\n[columns.n]\ntype = "int"\n'
    for kind in ("pandas", "polars"):
        schema = TableSchema.from_toml(text % kind)
        read: Any = read_frame("codes.csv", schema.table, schema.columns)
        assert list(read["code"]) == ["NA", "007", ""]


BAD = {
    "ragged.csv": (b"a,b\n1,2\n3\n", "2 entries in line 3"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", "2 entries in line 3"),
    "twice.csv": (b"a,a\n1,2\n", "the name of one column only"),
    "empty.csv": (b"", "the file is empty"),
    "header.csv": (b"a,b\n", "nothing below the header"),
    "latin.csv": (b"a,b\n\xe9,2\n", "save it as UTF-8"),
    "numbers.csv": (b"1,2\n3,4\n", "add a header"),
    "semicolons.csv": (b"a;b\n3;4\n", "save it with commas"),
    "mixed.csv": (b"a\n1\n2\n3\nx\n5\n", "a number in record 3, as in most of the column a"),
    "quote.csv": (b'a,"b\n3,4\n', "unexpected end of data"),
    "bad.parquet": (b"a,b\n1,2\n", "a readable Parquet file"),
    "bad.feather": (b"a,b\n1,2\n", "a readable file of Feather"),
    "bad.xlsx": (b"a,b\n1,2\n", "an .xlsx workbook: its content is something else"),
    "locked.xlsx": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "an .xlsx workbook without a password"),
    "bad.jsonl": (b"a,b\n1,2\n", "a file of JSON lines, each an object"),
    "array.jsonl": (b"[1, 2]\n[3, 4]\n", "a file of JSON lines, each an object"),
    "broken.jsonl": (b'{"a": 1}\n{"a":\n', "a readable file of JSON lines"),
    "table.sas": (b"a,b\n1,2\n", "a file of a table: .csv"),
}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_workbook_with_several_sheets_is_not_read_by_its_first(folder: Path, kind: TableKind) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter("two.xlsx") as writer:
        for sheet in ("May", "June"):
            pd.DataFrame({"a": [1, 2]}).to_excel(writer, sheet_name=sheet, index=False)
    with pytest.raises(InvalidValue, match="one sheet, not 2 \\(May, June\\)"):
        read_frame("two.xlsx", kind)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_table_ends_in_one_line(
    folder: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, said = BAD[name]
    Path(name).write_bytes(content)
    assert main(["schema", name, "--table", kind]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.count("\n") == 1


def test_a_table_that_the_memory_does_not_hold_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverdict.audit.trials.data_files.free_memory", lambda: 100)
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        with pytest.raises(InvalidValue, match="MiB"):
            read_frame(name, "pandas")


def test_a_library_that_is_missing_is_named_with_its_installation(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("polars"):
            raise ImportError
        return real(name, *arguments, **more)

    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    said = r"pip install polars, or, in a checkout, all that tables need: pip install '\.\[tables\]'"
    with pytest.raises(InvalidValue, match=said):
        read_frame("t.csv", "polars")


def test_the_command_writes_a_schema_to_be_edited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "t.csv", "--out", "t.toml", "--user", "note"]) == 0
    assert "columns are only observed: edit t.toml" in capsys.readouterr().err
    schema = TableSchema.from_toml("t.toml")
    assert (schema.user, schema.table) == ("note", "pandas")
    schema.check(read_frame("t.csv", "pandas"))
    assert main(["schema", "t.csv", "--table", "polars", "--adjacency", "replace-one"]) == 0
    assert TableSchema.from_toml(capsys.readouterr().out).records == 4
    assert main(["schema", "t.csv", "--table", "panda"]) == 2
    assert "did you mean pandas?" in capsys.readouterr().err
    assert main(["schema", "t.csv", "--out", "t.csv"]) == 2
