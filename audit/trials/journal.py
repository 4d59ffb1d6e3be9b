"""What a run has finished, on disk: entries that are written whole or not at all, and read only if they are whole.

A journal is a folder of files, one per entry. An entry has a name, which says what it is with everything it depends
on, and bytes. It is written by `write_atomically`, so a process that is killed at any moment leaves whole entries only;
each also carries a digest keyed by a secret of the user, so that a file that was damaged or edited afterwards is taken
for absent, and its work is done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Generator
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import read_limited

MARK: Final = b"dpverdict journal 2\n"
"""What an entry begins with; the hash of its name, its keyed digest and its bytes follow."""

LARGEST_ENTRY: Final = 2**30
"""Bytes of an entry, at most: what is longer was not kept by a journal."""

KEY_VARIABLE: Final = "DPVERDICT_JOURNAL_KEY"
"""The environment variable with the key of a journal that travels between machines: a secret of the CI system."""

_ENTRY: Final = re.compile("[0-9a-f]{32}[.]entry")
_HALF: Final = re.compile("[.][0-9a-f]{32}[.]entry[.].+[.]tmp")
_FOLDER: Final = re.compile("[0-9a-f]{32}")


def journal_key() -> bytes:
    """The secret of this user with which entries are signed, made at its first use and kept outside of every journal.

    It is the text of `KEY_VARIABLE`, or else the file ``dpverdict/journal.key`` in the folder of the user's state
    (``$XDG_STATE_HOME``, or ``~/.local/state``), which nobody else can read. Where no such file can be made, it is
    drawn for this process: then nothing that is kept counts later.
    """
    given = os.environ.get(KEY_VARIABLE)
    if given:  # a CI system sets a secret that it does not give to a run to nothing
        if len(given) < 32:
            requirement = "a secret of 32 characters or more"
            raise InvalidValue(KEY_VARIABLE, "...", requirement, "draw one, for example with: openssl rand -hex 32")
        return hashlib.sha256(given.encode("utf-8", "surrogateescape")).digest()
    file = state_folder() / "journal.key"
    try:
        with contextlib.suppress(FileExistsError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            drawn = secrets.token_bytes(32)
            handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".journal.key.", suffix=".tmp")  # mode 600
            try:
                with os.fdopen(handle, "wb") as opened:
                    opened.write(drawn)
                os.link(temporary, file)  # whole, and only if there is none
            finally:
                os.unlink(temporary)
        key = file.read_bytes()
    except (OSError, RuntimeError):  # no home, or a folder that cannot be written to
        key = b""
    return key if len(key) == 32 else _drawn_key()


@lru_cache(maxsize=1)
def _drawn_key() -> bytes:
    return secrets.token_bytes(32)


def state_folder() -> Path:
    """Where this program keeps what belongs to the user and to no journal."""
    given = os.environ.get("XDG_STATE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state") / "dpverdict"


@final
class Journal:
    """The entries of one run.

    An entry is signed with a secret of the user: one that was edited counts as absent, whatever digest it carries.

    Args:
        folder: where they are; made if it is missing.
        key: the secret; `journal_key` if not given.
        before: called before an array is stored, to write down what the array rests on.

    Raises:
        InvalidValue: a folder that cannot be made or written to.
    """

    def __init__(self, folder: Path, key: bytes | None = None, before: Callable[[], None] | None = None) -> None:
        self._before: Final = before
        self.folder: Final = folder
        self.key: Final = journal_key() if key is None else key
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidValue("journal", str(folder), "a folder that can be made", str(error.strerror)) from None

    def read(self, name: str) -> bytes | None:
        """The bytes of an entry; None if it is absent, damaged, edited, or of another name."""
        try:
            whole = read_limited(self._path(name), "journal", LARGEST_ENTRY)
        except InvalidValue:
            return None
        head = _head(name)
        if not whole.startswith(head):
            return None
        digest, content = whole[len(head) : len(head) + 32], whole[len(head) + 32 :]
        return content if hmac.compare_digest(self._digest(head, content), digest) else None

    def write(self, name: str, content: bytes) -> None:
        """Write an entry, whole or not at all; an entry of that name is replaced. One that is too long is not kept."""
        head = _head(name)
        whole = head + self._digest(head, content) + content
        path = self._path(name)
        if path.is_symlink():  # no journal made it, and what it leads to is not ours
            path.unlink()
        if len(whole) <= LARGEST_ENTRY:
            write_atomically(path, whole)

    def holds(self, name: str) -> bool:
        """Whether there is a whole entry of that name."""
        return self.read(name) is not None

    def load(self, name: str) -> NDArray[np.generic]:
        """The array of an entry that the journal `holds`."""
        content = self.read(name)
        if content is None:
            raise InvalidValue("journal", name, "an entry that is there", "start the run again: another one changed it")
        array: NDArray[np.generic] = np.load(io.BytesIO(content), allow_pickle=False)
        return array

    def store(self, name: str, array: NDArray[Any]) -> None:
        """Write an array as an entry."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        if self._before is not None:
            self._before()
        self.write(name, buffer.getvalue())

    def part(self, name: str) -> Journal:
        """The journal of one piece of the work, in a folder within this one."""
        return Journal(self.folder / hashlib.sha256(name.encode()).hexdigest()[:32], self.key)

    def clear(self) -> None:
        """Remove every entry, and what a killed run left half-written, and the folder if it is empty then.

        Nothing else is touched: no file that a journal did not write, whatever its name, and nothing behind a link.
        """
        if self.folder.is_symlink():
            return
        for path in list(self.folder.iterdir()) if self.folder.is_dir() else []:
            if _was_written(path):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder holds something else as well
            self.folder.rmdir()

    def clear_all(self) -> None:
        """`clear` this journal and its parts."""
        for path in list(self.folder.iterdir()):
            if _FOLDER.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                Journal(path, self.key).clear()
        self.clear()

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.entry"

    def _digest(self, head: bytes, content: bytes) -> bytes:
        return hmac.digest(self.key, head + content, hashlib.sha256)


def _was_written(path: Path) -> bool:
    """Whether a journal wrote this file: an entry of the name it carries, or one that was never finished."""
    if path.is_symlink() or not path.is_file():
        return False
    half, entry = _HALF.fullmatch(path.name), _ENTRY.fullmatch(path.name)
    if not half and not entry:
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:
        begin = file.read(len(MARK) + 16)
        for mark in (MARK, b"dpverdict journal 1\n"):  # the second is of an earlier version
            whole = begin.startswith(mark) and begin[len(mark) :].hex() == path.stem
            if whole or (half and (begin.startswith(mark) or mark.startswith(begin))):
                return True
    return False


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
