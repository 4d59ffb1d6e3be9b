"""The bytes of a file that somebody names: no more than it may have, and nothing that is waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final, Literal

from dpverdict.errors import InvalidValue, in_one_line

_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0)  # Windows has no files that wait to be opened


def open_at_once(path: str | os.PathLike[str], mode: Literal["rb", "wb", "ab"]) -> BinaryIO:
    """A file opened for bytes; a pipe is not waited for: without a writer it is empty, without a reader an error.

    Raises:
        OSError: it cannot be opened.
        ValueError: no path of a file.
    """
    file = open(path, mode, opener=lambda name, flags: os.open(name, flags | _WITHOUT_WAITING, 0o666))  # noqa: SIM115
    if _WITHOUT_WAITING:
        os.set_blocking(file.fileno(), True)
    return file


def read_limited(path: str | os.PathLike[str], name: str, most: int) -> bytes:
    """The bytes of a file, which is not read further than it may be long.

    A pipe is read to its end; one that nobody writes to is empty.

    Args:
        path: of the file.
        name: of the parameter, for the error.
        most: bytes of it, at most.

    Raises:
        InvalidValue: a file that cannot be read, a device, or more than ``most`` bytes.
    """
    shown = str(path)
    try:
        with open_at_once(path, "rb") as file:
            kind = os.fstat(file.fileno()).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
                raise InvalidValue(name, shown, "a file, not a device", "write it to a file first")
            content = file.read(most + 1)
    except FileNotFoundError:
        raise InvalidValue(name, shown, "a file that exists", f"there is no {Path(shown).absolute()}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidValue):
            raise
        remedy = f"reading it fails with {in_one_line(error)[:120]}"
        raise InvalidValue(name, shown, "a file that can be read", remedy) from None
    if len(content) > most:
        raise InvalidValue(name, shown, f"a file of at most {most} bytes", "this is a file of another kind")
    return content
