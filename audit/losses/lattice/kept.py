"""Composed laws in whole numbers, kept on disk between runs where they took long (`dpverdict.numerics.disk_cache`).

A file is found by all that its laws depend on: the exact parameters of every loss, how often it occurs, the lattice,
and the source of the rooms that compute it with the versions of the libraries they use. What is kept are whole numbers
and binary fractions, so that what is read back is what was computed, bit by bit.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import flint
import numpy as np
import scipy
from flint import arb

from dpverdict.audit.losses.lattice.whole import ComposedLaws, WholeLaw
from dpverdict.balls import precision
from dpverdict.numerics.disk_cache import kept

Key = tuple[object, ...]

_OWN: Final = "dpverdict"
_FOUNDATION: Final = ("dpverdict.balls", "dpverdict.numerics")
_ROOM: Final = 3  # names in that of a room, such as dpverdict.audit.losses
_BITS_OF_BYTE: Final = 8
_LAWS: Final = ("up", "p", "q")
_NUMBERS: Final = ("infinite", "apart_lower", "apart_upper")


def kept_laws(key: Key | None, kinds: Sequence[type], make: Callable[[], ComposedLaws]) -> ComposedLaws:
    """The laws that ``make`` computes, from disk where they are kept.

    Args:
        key: numbers and texts that determine the laws exactly; None where some loss has none.
        kinds: the classes of the losses, whose source counts; nothing is kept of one of another package.
        make: computes the laws.
    """
    text = None if key is None else key_with_sources(key, kinds)
    return make() if text is None else kept(text, make, encode=encoded, decode=decoded)


def key_with_sources(key: Key, kinds: Sequence[type]) -> str | None:
    """The key of a file with a hash of the source that its content depends on: the rooms of the classes, and this one.

    None where some class is of another package, there is no source, or a number is too long to be written.
    """
    if any(kind.__module__.partition(".")[0] != _OWN for kind in kinds):
        return None
    try:
        return repr((key, _sources(frozenset(_room(kind) for kind in kinds))))
    except (OSError, ValueError):
        return None


def _room(kind: type) -> str:
    return ".".join(kind.__module__.split(".")[:_ROOM])


@lru_cache(maxsize=8)
def _sources(rooms: frozenset[str]) -> str:
    """A hash of every file of the rooms, of the balls and numerics, and of the versions of what they are built on."""
    names = dict.fromkeys((_room_of(__name__), *sorted(rooms), *_FOUNDATION))
    files = [file for name in names for file in _files_of(name)]
    versions = (flint.__version__, np.__version__, scipy.__version__, sys.version, platform.machine())
    digest = hashlib.sha256(repr(versions).encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _files_of(module: str) -> list[Path]:
    """The source of a module, or that of all modules of a package."""
    found = sys.modules[module]
    if not hasattr(found, "__path__"):
        return [Path(found.__file__ or "")]
    return sorted(path for place in found.__path__ for path in Path(place).rglob("*.py"))


def _room_of(module: str) -> str:
    return ".".join(module.split(".")[:_ROOM])


# bytes ----------------------------------------------------------------------------------------------------------------


def encoded(laws: ComposedLaws) -> bytes:
    """The laws: a line of numbers, and the masses of each law in as many bytes as its largest one has."""
    head: dict[str, Any] = {name: _written(getattr(laws, name)) for name in _NUMBERS}
    blocks: list[bytes] = []
    for name in _LAWS:
        law: WholeLaw = getattr(laws, name)
        size = -(-max(law.masses).bit_length() // _BITS_OF_BYTE)
        head[name] = [law.first, len(law.masses), size, _written(law.scale), hex(law.lost)]
        blocks.append(b"".join(mass.to_bytes(size, "little") for mass in law.masses))
    return json.dumps(head).encode() + b"\n" + b"".join(blocks)


def decoded(content: bytes) -> ComposedLaws:
    """The laws of such bytes.

    Raises:
        ValueError: bytes of anything else.
    """
    line, _, rest = content.partition(b"\n")
    try:
        head, place = json.loads(line), 0
        laws: list[WholeLaw] = []
        for name in _LAWS:
            first, number, size, scale, lost = head[name]
            block = rest[place : place + number * size]
            if len(block) != number * size or number < 1:
                raise ValueError(name)
            masses = [int.from_bytes(block[i * size : (i + 1) * size], "little") for i in range(number)]
            place += number * size
            laws.append(WholeLaw(first, masses, _read(scale), int(lost, 16)))
        up, p, q = laws
        infinite, apart_lower, apart_upper = (_read(head[name]) for name in _NUMBERS)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError("no laws of a lattice") from error
    return ComposedLaws(up, p, q, infinite, apart_lower, apart_upper)


def _written(value: arb) -> list[str]:
    """An exact binary fraction."""
    mantissa, exponent = value.man_exp()
    return [hex(int(mantissa)), hex(int(exponent))]


def _read(written: list[str]) -> arb:
    mantissa, exponent = (int(number, 16) for number in written)
    with precision(max(mantissa.bit_length(), 64)):
        return arb((mantissa, exponent))
