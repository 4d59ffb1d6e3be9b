"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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
