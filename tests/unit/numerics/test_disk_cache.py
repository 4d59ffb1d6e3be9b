"""What is kept on disk: read back whole or not at all, by whoever owns it, without an error of the disk."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from dpverdict.numerics import disk_cache
from dpverdict.numerics.disk_cache import cache_folder, kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DPVERDICT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(disk_cache, "LEAST_SECONDS", 0.0)
    return tmp_path / "dpverdict" / "lattices"


def answer(key: str, made: bytes) -> tuple[bytes, bool]:
    """What is kept for a key, and whether it was made again."""
    calls = []

    def make() -> bytes:
        calls.append(1)
        return made

    return kept(key, make, encode=bytes, decode=bytes), bool(calls)


def test_it_is_in_the_users_folder_for_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DPVERDICT_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "dpverdict" / "lattices"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert cache_folder() == tmp_path / "other" / "dpverdict" / "lattices"
    monkeypatch.setenv("DPVERDICT_CACHE", "OFF ")
    assert cache_folder() is None


def test_a_result_is_read_back_for_its_own_key_alone(folder: Path) -> None:
    assert answer("a", b"result") == (b"result", True)
    assert answer("a", b"another") == (b"result", False)
    assert answer("b", b"another") == (b"another", True)
    (file, _) = sorted(folder.iterdir())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_quick_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "LEAST_SECONDS", 0.5)
    answer("a", b"result")
    assert not folder.exists()


def test_turned_off_it_neither_reads_nor_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer("a", b"result")
    monkeypatch.setenv("DPVERDICT_CACHE", "off")
    assert answer("a", b"another") == (b"another", True)
    answer("b", b"another")
    assert len(list(folder.iterdir())) == 1


def damaged(content: bytes) -> dict[str, bytes]:
    flipped = bytearray(content)
    flipped[-1] ^= 1
    return {
        "a bit of the result": bytes(flipped),
        "cut off": content[:-1],
        "longer": content + b"\0",
        "empty": b"",
        "the head alone": content[:40],
        "another version": content.replace(b"cache 1", b"cache 2"),
        "foreign": b"\x89PNG\r\n" * 20,
    }


@pytest.mark.parametrize("how", [*damaged(b"whole")])
def test_a_damaged_file_is_made_again_and_mended(folder: Path, how: str) -> None:
    answer("a", b"result")
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damaged(whole)[how])
    assert answer("a", b"result") == (b"result", True)
    assert file.read_bytes() == whole


def test_the_file_of_another_key_is_not_taken(folder: Path) -> None:
    answer("a", b"of a")
    (first,) = folder.iterdir()
    answer("b", b"of b")
    (second,) = set(folder.iterdir()) - {first}
    first.replace(second)
    assert answer("b", b"of b") == (b"of b", True)


def test_what_cannot_be_decoded_is_made_again(folder: Path) -> None:
    answer("a", b"result")

    def refuse(content: bytes) -> bytes:
        raise ValueError(content)

    assert kept("a", lambda: b"made", encode=bytes, decode=refuse) == b"made"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners")
def test_a_file_that_others_may_write_to_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer("a", b"result")
    (file,) = folder.iterdir()
    file.chmod(0o666)
    assert answer("a", b"mine") == (b"mine", True)
    assert answer("a", b"other") == (b"mine", False)
    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
    assert answer("a", b"other") == (b"other", True)


def test_a_folder_that_cannot_be_used_is_no_error(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file in its place")
    assert answer("a", b"result") == (b"result", True)
    folder.unlink()
    folder.mkdir()
    answer("a", b"result")
    (file,) = folder.iterdir()
    file.unlink()
    file.mkdir()  # not even a file
    assert answer("a", b"result") == (b"result", True)
    assert [path.name for path in folder.iterdir()] == [file.name]


def test_a_result_that_has_no_bytes_or_too_many_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(result: bytes) -> bytes:
        raise ValueError(result)

    assert kept("a", lambda: b"made", encode=refuse, decode=bytes) == b"made"
    monkeypatch.setattr(disk_cache, "MOST_OF_ONE", 1000)
    answer("b", bytes(1000))
    assert not folder.exists()


def test_the_oldest_files_are_deleted_when_all_are_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 5000)
    for i in range(4):
        answer(str(i), bytes(1000))
    for age, path in enumerate(sorted(folder.iterdir())):
        os.utime(path, (age, age))
    oldest, *others = sorted(folder.iterdir())
    (left_over := folder / "unfinished").write_bytes(b"of a process that was killed")
    os.utime(left_over, (0, 0))
    answer("new", bytes(1000))
    assert oldest not in folder.iterdir()
    assert set(others) <= set(folder.iterdir())
    assert left_over not in folder.iterdir()


def test_what_was_read_last_is_deleted_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer("a", bytes(1000))
    (first,) = folder.iterdir()
    answer("b", bytes(1000))
    for path in folder.iterdir():
        os.utime(path, (1 + (path != first), 1 + (path != first)))
    assert answer("a", b"")[1] is False
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 2500)
    answer("c", bytes(1000))
    assert first in folder.iterdir()


def write_and_read(number: int, wrong: "multiprocessing.Queue[int]") -> None:
    disk_cache.LEAST_SECONDS = 0.0  # type: ignore[misc]  # of this process
    for _ in range(60):
        if answer("a", b"result" * 20_000)[0] != b"result" * 20_000:
            wrong.put(number)
        for path in folder_of_this_process().glob("*"):
            if number:
                path.unlink(missing_ok=True)


def folder_of_this_process() -> Path:
    found = cache_folder()
    assert found is not None
    return found


def test_several_processes_write_read_and_delete_at_once(folder: Path) -> None:
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    wrong: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=write_and_read, args=(number, wrong)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert wrong.empty()
