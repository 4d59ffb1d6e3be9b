"""What a run has finished, on disk: entries that are written whole or not at all, and read only if they are whole.

A journal is a folder of files, one per entry. An entry has a name, which says what it is with everything it depends
on, and bytes. It is written by `write_atomically`, so a process that is killed at any moment leaves whole entries only;
each also carries its SHA-256, so that a file damaged afterwards is taken for absent, and its work is done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Generator
from contextvars import ContextVar
from pathlib import Path
from typing import Final, final

import numpy as np

from dpverdict.audit.trials.whole_files import write_atomically
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

MARK: Final = b"dpverdict journal 1\n"
"""What an entry begins with; its name, its digest and its bytes follow."""


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
