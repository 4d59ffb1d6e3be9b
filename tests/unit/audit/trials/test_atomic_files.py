"""Files are written whole and together or not at all, never over what was read, and what a killed run left goes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverdict.audit.trials.atomic_files import (
    SOURCES,
    hold,
    output_file,
    refuse_overwriting,
    remove_left_over,
    write_atomically,
    write_together,
)
from dpverdict.errors import InvalidValue


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_written_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)


def test_what_is_not_a_file_is_not_replaced(tmp_path: Path) -> None:
    write_atomically(os.devnull, "gone")
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError, match="give the path of a file"):
        write_atomically(tmp_path, "text")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "report", "text")


def test_half_of_a_surrogate_pair_is_written_as_an_escape(tmp_path: Path) -> None:
    write_atomically(tmp_path / "text", "a\udc80")
    assert (tmp_path / "text").read_text() == "a\\udc80"


def test_a_name_as_long_as_a_name_may_be_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("n" * 255), "text")
    assert names(tmp_path) == ["n" * 255]


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("before", ["none", "some", "all"])
def test_several_files_are_written_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, before: str
) -> None:
    targets = [tmp_path / name for name in ("a", "b", "c")]
    for target in targets[: {"none": 0, "some": 2, "all": 3}[before]]:
        target.write_text("old")
    was = {path.name: path.read_text() for path in tmp_path.iterdir()}
    replace, calls = os.replace, 0

    def fails(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing + 1:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="No space"):
        write_together(dict.fromkeys(targets, "new"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == was
    write_together(dict.fromkeys(targets, "new"))  # nothing fails any more
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys("abc", "new")


def test_a_folder_among_the_targets_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_together({tmp_path / "a": "new", tmp_path / "folder": "new"})
    assert names(tmp_path) == ["folder"]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be renamed there")
def test_what_a_killed_run_left_is_removed_and_what_another_run_writes_is_not(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from dpverdict.audit.trials import atomic_files as w\n"
        "os.fsync = lambda handle: (print('writing', flush=True), time.sleep(600))\n"
        "w.write_atomically(Path(sys.argv[1]), 'half')"
    )
    target = tmp_path / "re[p]ort.json"
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert len(names(tmp_path)) == 1  # its temporary file
        remove_left_over(target)
        assert len(names(tmp_path)) == 1
        writer.kill()
    (tmp_path / ".other.x.tmp").write_text("of another file")
    write_atomically(target, "whole")
    assert names(tmp_path) == [".other.x.tmp", "re[p]ort.json"]


def test_a_file_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        hold(first)
        with pytest.raises(BlockingIOError):
            hold(second)


def test_an_output_is_a_file_in_a_folder_that_exists(tmp_path: Path) -> None:
    assert output_file(tmp_path / "out.json", "json") == tmp_path / "out.json"
    for bad in (tmp_path, tmp_path / "missing" / "out.json"):
        with pytest.raises(InvalidValue, match="json"):
            output_file(bad, "json")


@pytest.mark.parametrize("suffix", SOURCES)
def test_an_output_is_no_source_file_by_its_name_or_through_a_link(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / f"release{suffix.upper()}"
    assert output_file(source, "json") == source  # there is nothing to lose
    source.write_text("code")
    (tmp_path / "out.json").symlink_to(source)
    for path in (source, tmp_path / "out.json"):
        with pytest.raises(InvalidValue, match="would be lost"):
            output_file(path, "json")


@pytest.mark.parametrize("kind", ["itself", "relative", "symbolic link", "hard link", "dots"])
def test_an_output_is_no_input_by_whatever_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "table.csv"
    data.write_text("a,b\n1,2\n")
    output = tmp_path / "out.json"
    match kind:
        case "symbolic link":
            output.symlink_to(data)
        case "hard link":
            output.hardlink_to(data)
        case _:
            output = {"itself": data, "relative": Path("table.csv"), "dots": tmp_path / "." / "table.csv"}[kind]
    with pytest.raises(InvalidValue, match="another file than the data"):
        refuse_overwriting({"json": output}, {"the data": str(data)})
    refuse_overwriting({"json": tmp_path / "else.json"}, {"the data": str(data)})
    refuse_overwriting({"json": Path(os.devnull)}, {"the data": os.devnull, "the pair": "not there", "bad": "a\0b"})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_that_nobody_reads_is_not_waited_for_and_nothing_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        write_together({tmp_path / "a.json": "{}", tmp_path / "pipe": "{}"})
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
