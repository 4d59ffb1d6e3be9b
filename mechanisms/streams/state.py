"""What a stream keeps: its noise from a chain of keys that cannot be run backwards, its items, its state on disk.

A block of random words is SHAKE-256 of a 32-byte key, which also gives the next key; the old key is then forgotten.
Each noise value is handed out once, and forgotten too. So the noise to come follows from a few bytes, the same on every
machine, and a stream that is saved and restored continues as if it had not been interrupted; the noise that is past
cannot be found again from them.

The alternative, a generator indexed by the vertex, has a state as small, but that state gives away all the noise there
ever was, and with it every item of the stream. Who reads a saved state of this one learns the true count, the values in
use (hence the true counts at those earlier times, at most as many, whose noise is all still in use) and all noise to
come, but no other past value: the items between those times stay behind the noise that they had. An older copy of the
state gives away all noise since it was written. So the state is to be kept like the data, and old copies destroyed.

The file of a state is written whole or not at all, and read only if it is intact. It is JSON: the format, the version
of its schema, the state, and the SHA-256 of the state's canonical text. The checksum finds damage, not forgery.
Integers are exact; floats are written in hexadecimal and read back bit by bit. The items a counter takes are bits, or
real numbers in [0, 1].
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.laws.exact_samplers.random_words import Words
from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

KEY_BYTES = 32
BLOCK = 512
_TAG = b"dpverdict noise, version 1:"


@final
class KeyChain:
    """Uniform 64-bit words from a key that is replaced whenever it was used.

    >>> chain = KeyChain(bytes(32))
    >>> chain(2).tolist() == KeyChain(bytes(32))(2).tolist(), chain.key == bytes(32)
    (True, False)
    """

    __slots__ = ("key",)
    key: bytes

    def __init__(self, key: bytes) -> None:
        self.key = key

    def __call__(self, count: int) -> NDArray[np.uint64]:
        """The next words: shape (count,)."""
        stream = hashlib.shake_256(_TAG + self.key).digest(KEY_BYTES + 8 * count)
        self.key = stream[:KEY_BYTES]
        return np.frombuffer(stream, dtype="<u8", offset=KEY_BYTES).astype(np.uint64, copy=False)


@final
class NoiseSource:
    """Noise values one by one, sampled in blocks: all int, or all float.

    Args:
        sample: from a source of words and a number n, a list of n independent values.
        key: 32 bytes that nobody else has.
        pending: values that were sampled and not yet handed out; the last one comes next.
    """

    __slots__ = ("_chain", "_pending", "_sample")

    def __init__(self, sample: Callable[[Words, int], list[float]], key: bytes, pending: Sequence[float] = ()) -> None:
        self._sample = sample
        self._chain = KeyChain(key)
        self._pending = list(pending)

    @property
    def key(self) -> bytes:
        """The key of the next block."""
        return self._chain.key

    @property
    def pending(self) -> list[float]:
        """The values that will be handed out before the next block, the last one first."""
        return list(self._pending)

    def draw(self) -> float:
        """The next value."""
        if not self._pending:
            self._pending = self._sample(self._chain, BLOCK)
        return self._pending.pop()


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
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "kind": kind,
        "sha256": _digest_of_state(kind, state),
        "state": state,
    }
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
    if not isinstance(state, dict) or document.get("sha256") != _digest_of_state(document.get("kind"), state):
        raise InvalidValue("state", name, "undamaged: its checksum does not match", remedy)
    if document["kind"] != kind:
        raise InvalidValue("state", document["kind"], f"the state of a {kind}", "load it with the class that saved it")
    return state


def _digest_of_state(kind: object, state: State) -> str:
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


UNIT = 1 << 1074
"""Every finite float64 is a whole multiple of 1/UNIT."""

_REMEDY = "clip the items before they are counted, and say so in the analysis"


def check_item(item: object, whole: bool) -> int:
    """An item as a whole number: 0 or 1 if ``whole``, otherwise a number in [0, 1] in units of 1/UNIT.

    Raises:
        InvalidValue: not a number, or out of range.
    """
    if type(item) is int and 0 <= item <= 1:
        return item if whole else item * UNIT
    value = item.item() if isinstance(item, np.generic) or (isinstance(item, np.ndarray) and item.ndim == 0) else item
    if isinstance(value, int | float):  # bool is an int
        if whole and value in (0, 1):
            return int(value)
        if not whole and 0 <= value <= 1:
            top, bottom = value.as_integer_ratio()
            return top * (UNIT // bottom)
    raise InvalidValue("item", item, "0 or 1" if whole else "a number in [0, 1]", _REMEDY)


def check_stream(dataset: ArrayLike, horizon: int) -> Array:
    """A stream as float64 of shape (n,), 1 <= n <= horizon; a column of shape (n, 1) is taken too.

    Raises:
        InvalidValue: not numbers, another shape, or too long.
    """
    remedy = "give one number per time step"
    try:
        given = np.asarray(dataset)
        if given.dtype.kind not in "biuf":
            raise TypeError
        stream: Array = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidValue("stream", dataset, "an array of real numbers", remedy) from None
    if stream.ndim == 2 and stream.shape[1] == 1:
        stream = stream[:, 0]
    if stream.ndim != 1 or not 1 <= len(stream) <= horizon:
        raise InvalidValue("stream", f"array of shape {stream.shape}", f"of shape (n,), 1 <= n <= {horizon}", remedy)
    return stream


def check_bits(stream: Array) -> None:
    """Refuse a stream with an item other than 0 and 1."""
    wrong = (stream != 0) & (stream != 1)
    if wrong.any():
        raise InvalidValue("item", float(stream[wrong][0]), "0 or 1", _REMEDY)


def check_unit_interval(stream: Array) -> None:
    """Refuse a stream with an item outside [0, 1]."""
    wrong = ~((stream >= 0) & (stream <= 1))
    if wrong.any():
        raise InvalidValue("item", float(stream[wrong][0]), "a number in [0, 1]", _REMEDY)
