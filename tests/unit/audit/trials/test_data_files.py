"""Tables and pairs are read as they stand, or refused with one sentence that says why."""

import contextlib
import io
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.trials.data_files import read_column, read_pair, read_table, real_pair
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

TABLE = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 0.0]])


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def pair_file(folder: Path, **arrays: ArrayLike) -> str:
    path = folder / "pair.npz"
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]  # any name
    return str(path)


@pytest.mark.parametrize(
    "text", ["a,b\n0,1\n1,1\n0.5,0\n", "\ufeffa,b\r\n0, 1\r\n1,1\r\n\r\n5e-1,0\r\n", '"a","b"\n0,1\n1,1\n.5,0']
)
def test_a_csv_with_a_header_is_a_table(tmp_path: Path, text: str) -> None:
    assert np.array_equal(read_table(write(tmp_path, "t.csv", text)), TABLE)


def test_npy_npz_and_functions_give_the_same_table(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", TABLE)
    np.savez(tmp_path / "t.npz", records=TABLE, other=np.zeros(3))
    source = "import numpy as np\nTABLE = [[0, 1], [1, 1], [0.5, 0]]\ndef records():\n    return TABLE\n"
    module = write(tmp_path, "own_table.py", source)
    for name in (str(tmp_path / "t.npy"), str(tmp_path / "t.npz"), f"{module}:records"):
        found = read_table(name)
        assert found.dtype == np.float64
        assert np.array_equal(found, TABLE)


def test_truth_values_and_groups_are_kept_as_numbers_of_the_same_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.ones((4, 2, 3), dtype=bool))
    assert np.array_equal(read_table(str(tmp_path / "t.npy")), np.ones((4, 2, 3)))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.csv", "", "the file is empty"),
        ("t.csv", "0,1\n1,1\n", "first line holds the column names"),
        ("t.csv", "a,b\n", "one or more records"),
        ("t.csv", "a,b\n0,1\n1\n", "line 3"),
        ("t.csv", "a,b\n0,1\n1,yes\n", "column b"),
        ("t.csv", "a,b\n0,\n", "column b"),
        ("t.csv", "a,b\n0,nan\n", "a finite number"),
        ("t.csv", "a,b\n0,inf\n", "a finite number"),
        ("t.csv", "a,b\n0,1e999\n", "a finite number"),
        ("t.csv", b"a,b\n\xff\xfe,1\n", "UTF-8"),
        ("t.csv", 'a,b\n"0,1\n', "readable .csv"),
        ("t.npy", b"not an array", "readable .npy"),
        ("t.npy", b"", "readable .npy"),
        ("t.npz", b"PK\x03\x04 not a zip", "readable .npz"),
        ("t.txt", "0 1", ".csv, .npy or .npz"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, name: str, content: str | bytes, reason: str) -> None:
    with pytest.raises(InvalidValue, match=r"^data=") as caught:
        read_table(write(tmp_path, name, content))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (np.ones(3), "in rows"),
        (np.ones((0, 3)), "one or more records"),
        (np.ones((3, 0)), "one or more columns"),
        (np.array(1.0), "in rows"),
        (np.array([["a", "b"]]), "array of numbers"),
        (np.ones((2, 2), dtype=complex), "array of numbers"),
        (np.array([[0.0, np.nan]]), "a finite number"),
        (np.array([[0.0, -np.inf]]), "a finite number"),
    ],
)
def test_an_array_that_is_no_table_is_refused(tmp_path: Path, table: NDArray[np.generic], reason: str) -> None:
    np.save(tmp_path / "t.npy", table)
    with pytest.raises(InvalidValue, match=reason):
        read_table(str(tmp_path / "t.npy"))


def test_an_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidValue, match=r"readable \.npy"):
        read_table(str(tmp_path / "t.npy"))


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", records=np.ones((50, 50)))
    content = (tmp_path / "t.npz").read_bytes()
    for cut in (10, len(content) // 2, len(content) - 5):
        with pytest.raises(InvalidValue, match=r"readable \.npz"):
            read_table(write(tmp_path, "cut.npz", content[:cut]))
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 0xFF
    with pytest.raises(InvalidValue, match=r"readable \.npz"):
        read_table(write(tmp_path, "damaged.npz", bytes(damaged)))


def test_a_missing_file_a_folder_and_a_missing_array_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="a file that exists"):
        read_table(str(tmp_path / "no.csv"))
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InvalidValue, match="not a folder"):
        read_table(str(tmp_path / "t.csv"))
    np.savez(tmp_path / "t.npz", rows=TABLE)
    with pytest.raises(InvalidValue, match=r"'records'.*it holds rows"):
        read_table(str(tmp_path / "t.npz"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing_module_of_tables:records", "module that can be found"),
        ("{folder}/missing.py:records", "in a file that exists"),
        ("{folder}/bad.py:record", "did you mean records"),
        ("{folder}/bad.py:NUMBER", "one or more records in rows"),
        ("{folder}/bad.py:records", "ZeroDivisionError"),
        ("{folder}/bad.py:ragged", "the same length"),
        ("{folder}/bad.py:words", "array of numbers"),
        ("{folder}/broken_syntax.py:records", "SyntaxError"),
        ("{folder}/broken_import.py:records", "no_such_package_at_all"),
    ],
)
def test_a_function_that_gives_no_table_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    source = "NUMBER = 1\ndef records():\n    return 1 / 0\ndef ragged():\n    return [[1], [1, 2]]\n"
    write(tmp_path, "bad.py", source + "def words():\n    return [['a']]\n")
    write(tmp_path, "broken_syntax.py", "def records(:\n")
    write(tmp_path, "broken_import.py", "import no_such_package_at_all\n")
    with pytest.raises(InvalidValue, match=r"^data=") as caught:
        read_table(name.format(folder=tmp_path))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_lengths_of_a_pair_say_the_relation(tmp_path: Path) -> None:
    removed = read_pair(pair_file(tmp_path, dataset=TABLE, neighbour=TABLE[[0, 2]]))
    assert removed.adjacency is ADD_OR_REMOVE_ONE
    assert removed.position() == 1
    changed = TABLE.copy()
    changed[2] = 1.0
    replaced = read_pair(pair_file(tmp_path, dataset=TABLE, neighbour=changed), REPLACE_ONE)
    assert replaced.adjacency is REPLACE_ONE
    assert replaced.position() == 2


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"dataset": TABLE}, "'neighbour'.*it holds dataset"),
        ({"neighbour": TABLE}, "'dataset'"),
        ({"dataset": TABLE[:2], "neighbour": TABLE}, "store the larger dataset as 'dataset'"),
        ({"dataset": TABLE, "neighbour": TABLE[:1]}, "one record shorter"),
        ({"dataset": TABLE, "neighbour": 1 - TABLE}, "change one record only"),
        ({"dataset": TABLE, "neighbour": np.ones((2, 3))}, "change one record only"),
        ({"dataset": TABLE, "neighbour": TABLE[[1, 0]]}, "change one record only"),
        ({"dataset": TABLE, "neighbour": TABLE}, "two different datasets"),
        ({"dataset": np.float64(1), "neighbour": np.float64(1)}, "two datasets"),
        ({"dataset": TABLE, "neighbour": np.where(TABLE == 1, np.nan, TABLE)}, "change one record only"),
        ({"dataset": TABLE, "neighbour": np.array([["a", "b"]] * 3)}, "neighbours"),
        ({"dataset": TABLE, "neighbour": np.array([["a", "b"]])}, "two datasets of equal length"),
    ],
)
def test_arrays_that_are_no_pair_of_neighbours_are_refused(
    tmp_path: Path, arrays: dict[str, ArrayLike], reason: str
) -> None:
    with pytest.raises(InvalidValue, match=reason):
        read_pair(pair_file(tmp_path, **arrays))


def test_a_pair_under_another_relation_than_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="use --adjacency add-or-remove-one"):
        read_pair(pair_file(tmp_path, dataset=TABLE, neighbour=TABLE[1:]), REPLACE_ONE)


def test_a_single_array_is_no_pair(tmp_path: Path) -> None:
    np.save(tmp_path / "pair.npy", TABLE)
    with pytest.raises(InvalidValue, match="named arrays"):
        read_pair(str(tmp_path / "pair.npy"))


def zeros(numbers: int) -> bytes:
    """A .npy file that announces so many numbers."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (numbers, 1)})
    return buffer.getvalue()


@pytest.mark.parametrize("gigabytes", [6, 100, 10**9])
def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path: Path, gigabytes: int) -> None:
    header, size = zeros(gigabytes * 2**27), gigabytes * 2**30
    with (tmp_path / "t.npy").open("wb") as file:
        file.write(header)
        file.truncate(min(size, 2**40))  # it takes no room on the disk
    with zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("records", "dataset", "neighbour"):
            archive.writestr(f"{name}.npy", header)
    with (tmp_path / "t.csv").open("wb") as file:
        file.write(b"a\n")
        file.truncate(min(size, 2**40))
    for name in ("t.npy", "t.npz", "t.csv"):
        with pytest.raises(InvalidValue, match="MiB here"):
            read_table(str(tmp_path / name))
    with pytest.raises(InvalidValue, match="MiB here"):
        read_pair(str(tmp_path / "t.npz"))
    for name in ("t.npy", "t.csv"):
        with pytest.raises(InvalidValue, match="MiB here"):
            read_column(str(tmp_path / name), "in")


def test_many_arrays_count_together(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(40):
            archive.writestr(f"a{i}.npy", zeros(2**24))
    with pytest.raises(InvalidValue, match="MiB here, not 5120"):
        read_table(str(tmp_path / "t.npz"))


def test_every_damaged_byte_is_an_error_or_another_table(tmp_path: Path, seed: int) -> None:
    """No exception but `InvalidValue` leaves, whichever byte of a header, an archive or a text is wrong."""
    rng = np.random.default_rng(seed)
    np.save(tmp_path / "t.npy", TABLE)
    np.savez(tmp_path / "t.npz", records=TABLE, dataset=TABLE, neighbour=TABLE[:-1])
    np.savez_compressed(tmp_path / "c.npz", records=TABLE)
    write(tmp_path, "t.csv", "a,b\n1,2\n3,4\n")
    for name in ("t.npy", "t.npz", "c.npz", "t.csv"):
        content = (tmp_path / name).read_bytes()
        for place in {*range(min(len(content), 130)), *rng.integers(len(content), size=150).tolist()}:
            damaged = bytearray(content)
            damaged[place] = int(rng.integers(256))
            path = write(tmp_path, f"damaged-{name}", bytes(damaged))
            for read in (read_table, read_pair, partial(read_column, name="in")):
                with contextlib.suppress(InvalidValue), warnings.catch_warnings(action="ignore"):
                    read(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_device_is_no_file(tmp_path: Path) -> None:
    for suffix in ("csv", "npy", "npz"):
        (tmp_path / f"t.{suffix}").symlink_to("/dev/zero")
        with pytest.raises(InvalidValue, match="not a device"):
            read_table(str(tmp_path / f"t.{suffix}"))
    assert main(["run", "/dev/zero"]) == 2
    assert main(["replay", "/dev/zero"]) == 2
    assert main(["audit", "elliptical-gaussian", "--bounds", "@/dev/zero", "--mu", "1", "--no-test"]) == 2


def test_a_table_without_columns_has_no_scores(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({}), tmp_path / "none.parquet")
    with pytest.raises(InvalidValue, match="it has none"):
        read_column(str(tmp_path / "none.parquet"), "in")
    parquet.write_table(pyarrow.table({"a": ["x"]}), tmp_path / "words.parquet")
    with pytest.raises(InvalidValue, match="column of numbers"):
        read_column(str(tmp_path / "words.parquet"), "in")
    parquet.write_table(pyarrow.table({"a": [1.5, 2.5]}), tmp_path / "t.parquet")
    assert read_column(str(tmp_path / "t.parquet"), "in").tolist() == [1.5, 2.5]
    content = (tmp_path / "t.parquet").read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        with contextlib.suppress(InvalidValue):
            read_column(write(tmp_path, "damaged.parquet", bytes(damaged)), "in")


def test_a_pair_keeps_its_type_and_its_missing_values(tmp_path: Path) -> None:
    small = np.array([[120], [7]], dtype=np.int8)
    np.savez(tmp_path / "small.npz", dataset=small, neighbour=small[:1])
    assert read_pair(str(tmp_path / "small.npz")).dataset.dtype == np.int8
    missing = np.array([[1.0], [np.nan]])
    np.savez(tmp_path / "missing.npz", dataset=missing, neighbour=missing[:1])
    pair = read_pair(str(tmp_path / "missing.npz"))
    assert np.array_equal(pair.dataset, missing, equal_nan=True)
    with pytest.raises(InvalidValue, match="a finite number"):
        real_pair(pair)


def test_a_name_gives_a_pair_of_any_kind(tmp_path: Path) -> None:
    source = "def pair():\n    return [{'a': 1}, {'a': 2}], [{'a': 1}]\ndef none():\n    return [1, 2, 3], [1]\n"
    module = write(tmp_path, "own_pair.py", source)
    assert read_pair(f"{module}:pair").dataset == [{"a": 1}, {"a": 2}]
    with pytest.raises(InvalidValue, match="as --adjacency says"):
        read_pair(f"{module}:pair", REPLACE_ONE)
    with pytest.raises(InvalidValue, match="differ in one record"):
        read_pair(f"{module}:none")
    named = write(tmp_path, "named_pair.py", "PAIR = ['a', 'b'], ['a']\nNUMBER = 3\nTABLE = [[0.0, 1.0]]\n")
    assert read_pair(f"{named}:PAIR").dataset == ["a", "b"]
    assert read_table(f"{named}:TABLE").tolist() == [[0.0, 1.0]]
    with pytest.raises(InvalidValue, match="a pair or two datasets"):
        read_pair(f"{named}:NUMBER")


def test_a_column_is_read_beside_others_that_are_no_numbers_and_a_slip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    path.write_text("age,city,cost\n31,Oslo,1.5\n58,Rome,2.5\n")
    assert read_column(f"{path}#cost", "in").tolist() == [1.5, 2.5]
    with pytest.raises(InvalidValue, match=r"the columns are age, city, cost: did you mean .*patients\.csv#age\?"):
        read_column(f"{path}#aeg", "in")
    with pytest.raises(InvalidValue, match=r"a number in line 2, column city"):
        read_column(f"{path}#city", "in")
    with pytest.raises(InvalidValue, match=r"the columns are age, city, cost$"):
        read_column(f"{path}#weight", "in")
