"""A file is read up to a limit, and nothing is waited for."""

import os
from pathlib import Path

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import open_at_once, read_limited


def test_a_file_of_the_limit_is_read_and_a_longer_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1234")
    assert read_limited(tmp_path / "a", "plan", 4) == b"1234"
    with pytest.raises(InvalidValue, match="at most 3 bytes"):
        read_limited(tmp_path / "a", "plan", 3)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"plan=.*a file that exists: there is no .*nothing"):
        read_limited(tmp_path / "nothing", "plan", 4)


@pytest.mark.parametrize("path", ["folder", "loop", "a\0b"])
def test_what_cannot_be_read_is_named(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidValue, match=r"plan=.*a file that can be read: reading it fails with"):
        read_limited(tmp_path / path, "plan", 4)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_device_is_not_read() -> None:
    with pytest.raises(InvalidValue, match="a file, not a device"):
        read_limited("/dev/zero", "plan", 4)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_read_but_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_limited(tmp_path / "pipe", "plan", 9) == b""
    with pytest.raises(OSError, match="No such device"):
        open_at_once(tmp_path / "pipe", "wb")
    reading, writing = os.pipe()
    os.write(writing, b"12345")
    os.close(writing)
    assert read_limited(f"/dev/fd/{reading}", "plan", 9) == b"12345"
    os.close(reading)
