"""The folder of certificates is checked as a whole: files that are missing, changed or not named are noticed."""

import json
from pathlib import Path

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.proofs.ledger.certificate_files import (
    MANIFEST,
    MOST_BYTES,
    certificate_folder,
    check_files,
    write_certificates,
)
from dpverdict.proofs.ledger.certificates import certificates


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_certificates(tmp_path / "made", certificates([("lebeda2024", "lem3.1"), ("lebeda2024", "sec3.recover")]))
    return tmp_path / "made"


def test_what_was_written_is_accepted(folder: Path) -> None:
    found = check_files(folder)
    assert (found.exit_code, found.refused) == (0, ())
    assert found.grades["proved from the file"] >= 3
    assert check_files(folder / "lebeda2024" / "lem3.1.json").exit_code == 0


def test_a_file_that_is_missing_or_changed_is_refused(folder: Path) -> None:
    solver = folder / "lebeda2024" / "lem3.1.smt2"
    solver.write_text(solver.read_text().replace("4.0", "5.0", 1))
    (folder / "lebeda2024" / "sec3.recover.json").unlink()
    assert {name for name, _ in check_files(folder).refused} == {
        "lebeda2024/lem3.1.smt2",
        "lebeda2024/sec3.recover.json",
    }


def test_certificates_replace_certificates_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    write_certificates(certificate_folder(folder), certificates([("lebeda2024", "lem3.1")]))
    assert check_files(folder).files == 3
    assert not (folder / "lebeda2024" / "sec3.recover.json").exists()
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(InvalidValue, match="empty folder"):
        certificate_folder(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{" * 5000])
def test_what_is_no_certificate_is_a_usage_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InvalidValue):
        check_files(tmp_path / "x.json")
    with pytest.raises(InvalidValue, match=MANIFEST):
        check_files(tmp_path)


@pytest.mark.parametrize("files", [3, ["a.json"], {"a\0b": ""}, {"loop": ""}, {"../outside.json": ""}])
def test_a_manifest_that_names_no_files_of_its_folder_is_refused(files: object, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / MANIFEST).write_text(json.dumps({"files": files}))
    assert check_files(tmp_path).exit_code == 1
    write_certificates(tmp_path, {MANIFEST: "{}"})  # removes none but files of its own folder


def test_a_reading_that_is_repeated_without_end_is_not_checked(folder: Path, tmp_path: Path) -> None:
    """Twenty thousand copies of one take a minute."""
    text = max((path.read_text() for path in folder.glob("*/*.json")), key=len)
    long = json.loads(text)
    long["readings"] *= MOST_BYTES // len(json.dumps(long["readings"])) + 1
    (tmp_path / "long.json").write_text(json.dumps(long))
    with pytest.raises(InvalidValue, match=f"at most {MOST_BYTES} bytes"):
        check_files(tmp_path / "long.json")
