"""What a run has finished, on disk: entries that are written whole or not at all, and read only if they are whole.

A journal is a folder of files, one per entry. An entry has a name, which says what it is with everything it depends
on, and bytes. It goes to a temporary file that is flushed to disk and then takes its place (`write_atomically`, which
every output of the project uses), so a process that is killed at any moment leaves whole entries only; each also
carries its SHA-256, so that a file damaged afterwards is taken for absent, and its work is done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
import tempfile
from collections.abc import Generator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Final, final

import numpy as np

from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

MARK: Final = b"dpverdict journal 1\n"
"""What an entry begins with; its name, its digest and its bytes follow."""


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, to ``path``: a reader sees the old file or the new one, never a part of either.

    The content goes to a temporary file in the same directory, which then takes the place of ``path``. If anything
    fails, the old file is untouched and the temporary one is removed. The permissions of an old file are kept. What
    UTF-8 cannot hold (half of a surrogate pair, from an argument that is not text) is written as an escape.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    target = Path(os.path.realpath(path))  # through a link, so that the link stays one
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory: give the path of a file")
    if target.exists() and not target.is_file():
        target.write_bytes(data)  # a device such as /dev/stdout cannot be replaced
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The permissions that a new file does not get; the only way to read them is to set them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@final
class Journal:
    """The entries of one run.

    Args:
        folder: where they are; made if it is missing.

    Raises:
        InvalidValue: a folder that cannot be made or written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidValue("journal", str(folder), "a folder that can be made", str(error.strerror)) from None

    def read(self, name: str) -> bytes | None:
        """The bytes of an entry; None if it is absent, damaged, or of another name."""
        try:
            whole = self._path(name).read_bytes()
        except OSError:
            return None
        head = _head(name)
        if not whole.startswith(head):
            return None
        digest, content = whole[len(head) : len(head) + 32], whole[len(head) + 32 :]
        return content if hashlib.sha256(content).digest() == digest else None

    def write(self, name: str, content: bytes) -> None:
        """Write an entry, whole or not at all; an entry of that name is replaced."""
        write_atomically(self._path(name), _head(name) + hashlib.sha256(content).digest() + content)

    def holds(self, name: str) -> bool:
        """Whether there is a whole entry of that name."""
        return self.read(name) is not None

    def load(self, name: str) -> Array:
        """The array of an entry that the journal `holds`."""
        content = self.read(name)
        if content is None:
            raise InvalidValue("journal", name, "an entry that is there", "start the run again: another one changed it")
        array: Array = np.load(io.BytesIO(content), allow_pickle=False)
        return array

    def store(self, name: str, array: Array) -> None:
        """Write an array as an entry."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        self.write(name, buffer.getvalue())

    def clear(self) -> None:
        """Remove every entry, and what a killed run left half-written, and the folder."""
        for pattern in ("*.entry", ".*.entry.*.tmp"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder holds something else as well
            self.folder.rmdir()

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.entry"


def hold(file: IO[str]) -> None:
    """Keep other processes from holding the same file, until it is closed or this process ends, however it ends.

    Raises:
        OSError: another process holds it.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _head(name: str) -> bytes:
    return MARK + hashlib.sha256(name.encode()).digest()


_CURRENT: ContextVar[Journal | None] = ContextVar("journal", default=None)


def current_journal() -> Journal | None:
    """The journal of the innermost `journalled_in`; outside of all, None."""
    return _CURRENT.get()


@contextlib.contextmanager
def journalled_in(journal: Journal | None) -> Generator[None]:
    """Keep every chunk of trials that is finished inside; those the journal holds already are not run again."""
    token = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(token)
