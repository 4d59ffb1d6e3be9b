"""What took long to compute, kept in files between runs, and read back only where nothing about it has changed."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from dpverdict.numerics.files import open_at_once

VARIABLE: Final = "DPVERDICT_CACHE"
"""Of the environment: with ``off`` nothing is read or written."""

LEAST_SECONDS: Final = 0.5
"""Of processor time, below which a result is computed again each time."""

MOST_BYTES: Final = 256 << 20
"""Of all files together; those that were not used for longest are deleted first."""

MOST_OF_ONE: Final = 64 << 20
"""Bytes of one file."""

_FIRST: Final = b"dpverdict cache 1\n"
_DIGEST: Final = hashlib.sha256().digest_size
_SUFFIX: Final = ".kept"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_STALE: Final = 3600  # seconds, after which a file that nobody finished is deleted

T = TypeVar("T")


def cache_folder() -> Path | None:
    """``dpverdict/lattices`` in the user's folder for caches; None where the environment turns it off or has none."""
    if os.environ.get(VARIABLE, "").strip().lower() == "off":
        return None
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return base / "dpverdict" / "lattices"


def kept(key: str, make: Callable[[], T], *, encode: Callable[[T], bytes], decode: Callable[[bytes], T]) -> T:
    """What ``make`` returns, from a file if one was written for this key, and written to one if it took long.

    Nothing but time depends on the file: one that is damaged, cut off, of another key, or that another user owns or may
    write to, counts as absent, and no error of the disk is raised.

    Args:
        key: everything that the result depends on, the source that computes it included.
        make: computes it.
        encode: the bytes of a result; one for which it raises a ValueError is not kept.
        decode: the result of such bytes, equal in every bit; a ValueError counts as damage.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    digest = hashlib.sha256(key.encode()).digest()
    path = folder / (digest.hex() + _SUFFIX)
    payload = _read(path, digest)
    if payload is not None:
        with suppress(ValueError):
            return decode(payload)
    start = time.process_time()
    result = make()
    if time.process_time() - start >= LEAST_SECONDS:
        with suppress(OSError, ValueError):
            payload = encode(result)
            if len(payload) <= MOST_OF_ONE - len(_FIRST) - 2 * _DIGEST:
                _write(path, _FIRST + digest + hashlib.sha256(digest + payload).digest() + payload)
    return result


def _read(path: Path, digest: bytes) -> bytes | None:
    """The payload of a whole file of this key that is the user's own; else None."""
    try:
        with open_at_once(path, "rb") as file:
            if not _is_own(os.fstat(file.fileno())):
                return None
            content = file.read(MOST_OF_ONE + 1)
    except (OSError, ValueError):
        return None
    start = len(_FIRST) + 2 * _DIGEST
    payload = content[start:]
    expected = _FIRST + digest + hashlib.sha256(digest + payload).digest()
    if content[:start] != expected or len(content) > MOST_OF_ONE:
        return None
    with suppress(OSError):
        os.utime(path)  # used now
    return payload


def _is_own(about: os.stat_result) -> bool:
    """Whether it is a file that nobody but its user may write to; Windows does not tell."""
    if not stat.S_ISREG(about.st_mode):
        return False
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & _OTHERS_WRITE)


def _write(path: Path, content: bytes) -> None:
    """At once or not at all: other processes see a whole file, or none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _bound(path.parent)


def _bound(folder: Path) -> None:
    """Delete what was not used for longest while the files are too many bytes, and what nobody finished."""
    files = sorted(_files(folder), reverse=True)
    total, now = 0, time.time()
    for used, size, path in files:
        whole = path.suffix == _SUFFIX
        total += size
        if total > MOST_BYTES or (not whole and now - used > _STALE):
            with suppress(OSError):
                path.unlink()


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    for path in folder.iterdir():
        with suppress(OSError):  # another process deleted it
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                yield about.st_mtime, about.st_size, path
