"""The state of a stream on disk: written whole or not at all, read only if it is intact.

A file is JSON: the format, the version of its schema, the state, and the SHA-256 of the state's canonical text. The
checksum finds damage, not forgery. Integers are exact; floats are written in hexadecimal and read back bit by bit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.tree_noise import KEY_BYTES

FORMAT = "dpverdict stream state"
SCHEMA = 1
MOST_NUMBERS = 1 << 24
State = dict[str, Any]  # JSON; every entry is checked by whoever reads it
StatePath = str | os.PathLike[str]


def write_state(path: StatePath, kind: str, state: State) -> None:
    """Write the state of a counter, readable by its owner only, in the place of whatever file was there.

    The content is on disk when this returns. If anything fails, the old file is untouched.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    document = {"format": FORMAT, "schema": SCHEMA, "kind": kind, "sha256": _digest(kind, state), "state": state}
    target = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def read_state(path: StatePath, kind: str) -> State:
    """The state of a counter of this kind.

    Raises:
        InvalidValue: the file is not a state, is damaged, or belongs to another kind of counter or a later version.
        OSError: the file cannot be read.
    """
    content = Path(path).read_bytes()
    name = str(path)
    remedy = "restore the file from a backup, or start a new counter"
    try:
        document = json.loads(content.decode("ascii"))
    except (ValueError, RecursionError):
        raise InvalidValue("state", name, "a file written by save()", remedy) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue("state", name, "a file written by save()", remedy)
    if document.get("schema") != SCHEMA:
        later = "read it with the version of dpverdict that wrote it"
        raise InvalidValue("state schema", document.get("schema"), f"{SCHEMA}", later)
    state = document.get("state")
    if not isinstance(state, dict) or document.get("sha256") != _digest(document.get("kind"), state):
        raise InvalidValue("state", name, "undamaged: its checksum does not match", remedy)
    if document["kind"] != kind:
        raise InvalidValue("state", document["kind"], f"the state of a {kind}", "load it with the class that saved it")
    return state


def _digest(kind: object, state: State) -> str:
    canonical = json.dumps([kind, state], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _sync_directory(directory: Path) -> None:
    """Make the new name durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCounter:
    """The entries of a saved tree counter, each of the right type; what they mean is checked where they are used."""

    horizon: int
    epsilon: Fraction
    arity: int
    digits: str
    noise: str
    time: int
    count: int
    key: bytes
    state: State

    def numbers(self, name: str) -> list[float]:
        """A list of noise values: integers, or floats if the noise is continuous."""
        read: Callable[[str], float] = int if self.noise == "discrete" else float.fromhex
        values = self.state[name]
        if not isinstance(values, list) or len(values) > MOST_NUMBERS or not all(isinstance(v, str) for v in values):
            raise self.damaged(f"{name} must be a list of numbers")
        try:
            numbers = [read(value) for value in values]
        except (ValueError, OverflowError):
            raise self.damaged(f"{name} must be a list of numbers") from None
        if not all(math.isfinite(value) for value in numbers) or [text_of(value) for value in numbers] != values:
            raise self.damaged(f"{name} must be finite numbers as save() writes them")
        return numbers

    def damaged(self, reason: str) -> InvalidValue:
        """The error of a state whose entries do not make sense."""
        return InvalidValue("state", reason, "what save() writes", "restore the file from a backup")


def read_counter(state: State, expected: dict[str, Exact | None]) -> SavedCounter:
    """The entries of a saved tree counter; parameters in ``expected`` that are not None must agree.

    Raises:
        InvalidValue: an entry is missing or of the wrong type, or a parameter is another one.
    """
    try:
        read = SavedCounter(
            horizon=int(state["horizon"]),
            epsilon=Fraction(state["epsilon"]),
            arity=int(state["arity"]),
            digits=state["digits"],
            noise=state["noise"],
            time=int(state["time"]),
            count=int(state["count"]),
            key=bytes.fromhex(state["key"]),
            state=state,
        )
        complete = len(read.key) == KEY_BYTES and {"sums", "pending"} <= state.keys()
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise InvalidValue("state", str(error), "what save() writes", "restore the file from a backup") from None
    if not complete:
        raise read.damaged("incomplete")
    for name, value in expected.items():
        if value is not None and exactly(value, name=name) != getattr(read, name):
            remedy = "this is the state of another counter"
            raise InvalidValue(name, str(getattr(read, name)), f"{value}, as expected", remedy)
    return read


def text_of(value: float) -> str:
    """A noise value as text that is read back exactly."""
    return str(value) if isinstance(value, int) else value.hex()
