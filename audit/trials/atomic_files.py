"""Writing files whole or not at all, one or several together.

A file goes to a temporary one beside it, which then takes its place, so a reader sees the old content or the new one,
never a part of either. The temporary file is locked while it is written: one that nobody holds is what a killed run
left, and the next one that writes the same file removes it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import IO, Final

from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import open_at_once

_LONGEST: Final = 80
"""Of the name of a file, so much stands in that of its temporary one: a name has at most 255 bytes."""


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, to ``path``; if anything fails, the old file is untouched. See `write_together`.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    write_together({Path(path): content})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files, all or none: if one fails, all are as they were before.

    All are written to temporary files first, which then take their places. The permissions of an old file are kept,
    and a link stays one. A device such as /dev/stdout, which cannot be replaced, is written to at the end. What UTF-8
    cannot hold (half of a surrogate pair, from an argument that is not text) is written as an escape.

    A process that is killed while the files take their places leaves each of them whole, the old one or the new one.

    Raises:
        OSError: a directory is missing, or cannot be written to.
    """
    data = {
        Path(os.path.realpath(path)): text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
        for path, text in contents.items()
    }
    for target in data:
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a directory: give the path of a file")
    devices = {target for target in data if target.exists() and not target.is_file()}
    with contextlib.ExitStack() as held:
        ready = {
            target: held.enter_context(_temporary_beside(target, data[target]))
            for target in data
            if target not in devices
        }
        former = {target: held.enter_context(_old_content_kept(target)) for target in ready if len(data) > 1}
        placed: list[Path] = []
        try:
            for target, temporary in ready.items():
                os.replace(temporary, target)
                placed.append(target)
            for target in devices:
                with open_at_once(target, "wb") as file:
                    file.write(data[target])
        except BaseException:
            for target in placed if former else []:
                _restore_file(target, former[target])
            raise


@contextlib.contextmanager
def _temporary_beside(target: Path, data: bytes) -> Generator[Path]:
    """A temporary file with the data, beside the target; it is gone at the end, or has taken the target's place."""
    remove_left_over(target)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:_LONGEST]}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            hold(file)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
            if sys.platform != "win32":  # where an open file cannot be renamed
                yield temporary
        if sys.platform == "win32":
            yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _old_content_kept(target: Path) -> Generator[Path | None]:
    """The old content under another name; None if there is none."""
    if not target.exists():
        yield None
        return
    with _temporary_beside(target, target.read_bytes()) as copy:
        yield copy


def _restore_file(target: Path, former: Path | None) -> None:
    with contextlib.suppress(OSError):
        target.unlink() if former is None else os.replace(former, target)


def remove_left_over(target: Path) -> None:
    """Remove the temporary files of this target that a killed run left; those of a run that goes on are held by it."""
    for path in target.parent.glob(f".{glob.escape(target.name[:_LONGEST])}.*.tmp"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            hold(file)
            path.unlink()


def hold(file: IO[str] | IO[bytes]) -> None:
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


def _umask() -> int:
    """The permissions that a new file does not get; the only way to read them is to set them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def output_file(path: Path, name: str) -> Path:
    """A path at which a file can be written, found out before the work is done.

    Raises:
        InvalidValue: a folder, a path in a folder that does not exist, one that must not be written, or a source file.
    """
    if path.is_dir():
        raise InvalidValue(name, str(path), "a file, not a folder", "add a file name")
    if not path.parent.is_dir():
        raise InvalidValue(name, str(path), "in a folder that exists", f"make the folder {path.parent} first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        remedy = "choose another path, or change the permissions"
        raise InvalidValue(name, str(path), "a path that may be written", remedy)
    if Path(os.path.realpath(path)).suffix.lower() in SOURCES and path.exists():
        raise InvalidValue(name, str(path), "no source file", "give another file name: this file would be lost")
    return path


def output_folder(path: Path, name: str) -> Path:
    """A folder in which files can be written, made if it is not there.

    Raises:
        InvalidValue: a file, or a folder that cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "give the path of a folder, which need not be there yet"
        raise InvalidValue(name, str(path), "a folder that can be made", f"{remedy} ({error.strerror})") from None
    return path


SOURCES: Final = (".py", ".pyi", ".pyc", ".pyx", ".so", ".pyd", ".toml")
"""What a file of code or of configuration is called: none is ever written over."""


def refuse_overwriting(outputs: Mapping[str, Path], inputs: Mapping[str, str | os.PathLike[str]]) -> None:
    """Refuse an output that is one of the inputs, by whatever path or link.

    Args:
        outputs: what is to be written, by the names of the options.
        inputs: what is read, by a word for each; paths of files that are not there are passed over.

    Raises:
        InvalidValue: an output is an input.
    """
    for name, output in outputs.items():
        for what, path in inputs.items():
            if output.is_file() and _is_same_content(output, path):
                remedy = "give another file name: what is read would be lost"
                raise InvalidValue(name, str(output), f"another file than {what}", remedy)


def _is_same_content(one: Path, other: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # it is not there, or cannot be
        return False
