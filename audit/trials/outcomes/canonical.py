"""One outcome of a function in one form: a signature, numbers and symbols.

Differential privacy speaks of events of outcomes, so whatever one call ends in is an outcome: a value of any kind or an
exception. `outcome_of` brings a value to

* a signature: everything that is not a value, such as types, keys, lengths, shapes and names of columns;
* numbers: finite float64, in blocks under a path each;
* symbols: exact texts under a path each, such as strings, or "nan" for an entry that is no number.

The form is a function of the outcome alone, so an event of the form is an event of the outcome: whatever it leaves out
can cost power, and can never refute a claim that holds. It leaves out the width of a number (``1``, ``1.0``, ``True``
and ``numpy.float32(1)`` are one outcome), the sign of a zero, the payload of a NaN, the order of a dictionary, and of
what an exception says the addresses of objects, which differ from one process to the next.

What an exception says is of the outcome, because it reaches whoever reads the log: its message, arguments, attributes
and notes, and the same of its causes. So is what lies below a mask, because it travels with the array. `observed` can
leave out either.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import io
import itertools
import math
import numbers
import os
import re
import traceback
import types
import uuid
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.trials.outcomes.frames import BELOW, is_lazy, reader_of
from dpverdict.errors import InvalidValue, in_one_line
from dpverdict.numerics.arrays import Array

DEEPEST: Final = 12
"""Containers within containers, at most."""
MOST_NUMBERS: Final = 2**24
"""Numbers in one outcome, at most."""
MOST_PARTS: Final = 2**16
"""Blocks of numbers and symbols in one outcome, at most."""
LONGEST_IN_BITS: Final = 64
"""Bytes up to this length are also compared bit by bit, as are whole numbers up to it."""
LONGEST_IN_BYTES: Final = 4096
"""Bytes up to this length are also compared byte by byte."""
EXACT: Final = 2**53
"""Whole numbers up to this one are float64."""
MOST_IN_BITS: Final = 16
"""Of the whole numbers of an array that are longer."""
LONGEST_LABEL: Final = 16
"""Characters of a text that is taken for a label. A longer one, and one with digits, is also compared by its length, by
the numbers in it, and by what is left without them."""
LONGEST_READ: Final = 2**16
"""Characters of a text that is read for numbers."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
LEFT: Final = "~left"
LAST: Final = "~last"
"""Ends of the paths of what float64 leaves of a number, and of its last bits or all its digits."""
_SAID: Final = "~said"
"""The path of what an exception says."""
_MOST_CAUSES: Final = 16
"""Exceptions that are read with one: its causes, and the members of a group."""
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
RAISED: Final = "raised "
"""What the signature of an exception begins with."""
TIMED_OUT: Final = "timed out"
"""The signature of a call that was ended because its time was over."""


class CallTimedOut(Exception):
    """A call was ended because its time was over; see `observed`."""


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A value with what else of its call was seen; see `observed`.

    Attributes:
        value: what was returned.
        warned: the categories of its warnings, sorted.
        bits: whether the sign of a zero and the payload of a NaN count.
        said: the texts of its warnings, in their order.
        masked: whether what lies below a mask counts.
    """

    value: object
    warned: tuple[str, ...]
    bits: bool
    said: tuple[str, ...] = ()
    masked: bool = True


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CanonicalOutcome:
    """What one call ended in.

    Attributes:
        signature: everything that is not a value.
        numbers: finite float64 by their path, each a block of shape (k,).
        symbols: exact texts by their path.
        note: an exception with its message, in one line, for the reader.
    """

    signature: str
    numbers: Mapping[str, Array] = dataclasses.field(default_factory=dict)
    symbols: Mapping[str, str] = dataclasses.field(default_factory=dict)
    note: str = ""

    @property
    def raised(self) -> bool:
        """Whether the call ended in an exception or a time-out, so that there is no value."""
        return self.signature.startswith(RAISED) or self.signature == TIMED_OUT

    @property
    def size(self) -> int:
        """How many numbers there are, or symbols if they are more; of an array what it holds."""
        own = self.numbers.get("")
        if own is not None and self.signature == signature_of_numbers(len(own)):
            return len(own)
        return max(sum(len(block) for block in self.numbers.values()), len(self.symbols))

    def same_as(self, other: CanonicalOutcome) -> bool:
        """Whether no event tells the two apart."""
        return (
            self.signature == other.signature
            and self.symbols == other.symbols
            and self.numbers.keys() == other.numbers.keys()
            and all(np.array_equal(block, other.numbers[path]) for path, block in self.numbers.items())
        )

    def describe(self) -> str:
        """A few words: the exception, or what kind of value it is."""
        said = self.signature if len(self.signature) <= 120 else f"{self.signature[:117]}..."
        flags = sorted(
            {value for path, value in self.symbols.items() if path.endswith("?") and value in ("nan", "inf", "-inf")}
        )
        return f"{said} with {' and '.join(flags)}" if flags else said


def signature_of_numbers(size: int) -> str:
    """The signature of a number, or of numbers in one dimension."""
    return f"numbers({size})"


def of_numbers(values: Array) -> CanonicalOutcome:
    """The outcome of an array of numbers in one dimension, which may hold NaN and infinities."""
    found = _Parts()
    found.add_numbers("", values)
    return found.outcome(signature_of_numbers(len(values)))


def outcome_of(value: object) -> CanonicalOutcome:
    """The form of a value that a function returned.

    Raises:
        InvalidValue: a value of a kind that has no form here, with the path to it.
    """
    if isinstance(value, Watched):
        found = _Parts(bits=value.bits, masked=value.masked)
        signature = found.walk(value.value, "", 0)
        for i, text in enumerate(value.said):
            found.add_text(_without_addresses(text), f"~warned[{i}]")
        return found.outcome(f"{signature}, warned {', '.join(value.warned)}" if value.warned else signature)
    found = _Parts()
    return found.outcome(found.walk(value, "", 0))


def outcome_of_error(error: Exception, *, messages: bool = True) -> CanonicalOutcome:
    """The form of an exception: its type, the file and the function that raised it, and what it says.

    Args:
        error: what a call ended in.
        messages: whether its message, arguments, attributes, notes and causes count.
    """
    if isinstance(error, CallTimedOut):
        return CanonicalOutcome(TIMED_OUT, note=str(error))
    kind = type(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = "nowhere"
    if frames:
        where = f"{os.path.basename(frames[-1].filename)}, {frames[-1].name}"
    found = _Parts()
    if messages:
        found.add_error(error, _SAID)
    signature = f"{RAISED}{kind.__module__}.{kind.__qualname__} in {where}"
    return CanonicalOutcome(signature, found.numbers, found.symbols, in_one_line(error))


def plain_numbers(value: object) -> Array | None:
    """A number, or finite numbers in one dimension, as float64 of shape (m,); None of anything else.

    They are exact: integers beyond 2**53 and longer floats are no plain numbers. A list of both is
    what numpy makes of it.
    """
    if isinstance(value, np.ma.MaskedArray) or reader_of(value) is not None:
        return None
    if isinstance(value, str | bytes | dict | set | frozenset) or value is None:
        return None
    try:
        array = np.asarray(value)
    except Exception:  # ragged lists and objects with an __array__ of their own
        return None
    if array.dtype.kind not in "biuf" or array.ndim > 1 or array.size == 0:
        return None
    if is_long(array):
        return None
    found = np.atleast_1d(array.astype(np.float64, copy=False))
    return found if np.isfinite(found).all() else None


def is_long(array: NDArray[Any]) -> bool:
    """Whether an array of numbers holds one that float64 does not."""
    if array.dtype.itemsize < 8 or array.dtype.kind == "b" or array.dtype == np.float64:
        return False
    if array.dtype.kind in "iu":
        return bool((array > EXACT).any() or (array < -EXACT).any())
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((array.astype(np.float64).astype(array.dtype) != array).any())


class _Parts:
    """The numbers and the symbols that were met on the way through a value."""

    def __init__(self, *, bits: bool = False, masked: bool = True) -> None:
        self.numbers: dict[str, Array] = {}
        self.symbols: dict[str, str] = {}
        self._count = 0
        self._bits = bits
        self._masked = masked

    def outcome(self, signature: str) -> CanonicalOutcome:
        return CanonicalOutcome(signature, self.numbers, self.symbols)

    def add_numbers(self, path: str, values: NDArray[np.floating[Any]]) -> None:
        """Entries that are not finite are 0, and a symbol."""
        self._count += values.size
        if self._count > MOST_NUMBERS or len(self.numbers) >= MOST_PARTS:
            raise _refused_outcome(path, "an outcome of that many numbers", "return fewer: a summary is an outcome too")
        block = np.array(values, dtype=np.float64).reshape(-1)
        wrong = np.flatnonzero(~np.isfinite(block))
        for i in wrong[:MOST_PARTS].tolist():
            self.add_symbol(f"{path}[{i}]?", _symbol_of_number(float(block[i])))
        if self._bits:
            for i in np.flatnonzero(np.isnan(block) | ((block == 0) & np.signbit(block)))[:MOST_PARTS].tolist():
                self.add_symbol(f"{path}[{i}].bits", block[i].tobytes().hex())
        block[wrong] = 0.0
        self.numbers[path] = block

    def add_symbol(self, path: str, text: str) -> None:
        if len(self.symbols) >= MOST_PARTS:
            raise _refused_outcome(path, "an outcome of that many texts", "return fewer: a summary is an outcome too")
        self.symbols[path] = text

    def walk(self, value: Any, path: str, depth: int) -> str:
        """Take up the parts of a value, and give its signature."""
        if depth > DEEPEST:
            remedy = f"return at most {DEEPEST} containers within each other"
            raise _refused_outcome(path, "a value that holds itself, or is nested that deep", remedy)
        plain = plain_numbers(value)
        if plain is not None:
            self.add_numbers(path, plain)
            return signature_of_numbers(len(plain))
        if isinstance(value, np.integer):
            return self.walk(int(value), path, depth)
        match value:
            case None:
                return "None"
            case enum.Enum():
                self.add_symbol(path, value.name)
                return _name(value)
            case int() as whole:  # beyond 2**53: the others are plain
                self._long(path, [whole])
                return signature_of_numbers(1)
            case np.floating() if value.dtype.itemsize > 8:
                return self._array(np.array([value]), path, depth)
            case float() | np.floating():  # NaN or infinite
                self.add_numbers(path, np.array([float(value)]))
                return signature_of_numbers(1)
            case complex() | np.complexfloating():
                self.add_numbers(path, np.array([value.real, value.imag], dtype=np.float64))
                return "complex"
            case str():
                self.add_text(str(value), path)
                return "text"
            case bytes() | bytearray() | memoryview():
                return self._bytes(bytes(value), path)
            case Decimal() | Fraction():
                self.add_numbers(path, np.array([_nearest_double(value)]))
                self.add_symbol(path, str(value))
                return type(value).__name__
            case np.datetime64() | np.timedelta64():
                self.add_numbers(path, np.array([float(value.astype(np.int64))]))
                self.add_symbol(path, str(value))
                return str(value.dtype)
            case datetime.date() | datetime.time() | datetime.timedelta() | uuid.UUID() | PurePath() | range():
                self.add_symbol(path, str(value))
                return _name(value)
            case np.ndarray():
                return self._array(value, path, depth)
            case Mapping():
                items = sorted(((repr(key), part) for key, part in value.items()), key=lambda item: item[0])
                parts = [f"{key}: {self.walk(part, f'{path}[{key}]', depth + 1)}" for key, part in items]
                self._sorted(f"{path}~keys", value)
                return "{" + ", ".join(parts) + "}"
            case set() | frozenset():
                held = sorted(map(_member_text, value))
                self.add_numbers(f"{path}.size", np.array([float(len(held))]))
                self._sorted(f"{path}~members", value)
                for one in held:
                    self.add_symbol(f"{path}{{{one}}}", "in")
                return "set"
            case tuple() if (fields := getattr(value, "_fields", None)) is not None:
                return self._fields(_name(value), zip(fields, value, strict=True), path, depth)
            case list() | tuple() | collections.deque() | KeysView() | ValuesView() | ItemsView():
                return self._sequence(value, path, depth)
            case io.IOBase():
                raise _refused_outcome(path, f"a {_name(value)}", "return what is in the file")
            case Iterator():
                return f"iterator {self.walk(self._drawn(value, path), path, depth + 1)}"
            case type():
                self.add_symbol(path, f"{value.__module__}.{value.__qualname__}")
                return "class"
            case BaseException():
                self.add_error(value, path, depth)
                return _name(value)
            case numbers.Number():  # of a library, such as mpmath
                self.add_symbol(path, str(value))
                return _name(value)
            case _:
                return self._object(value, path, depth)

    def add_error(self, error: BaseException, path: str, depth: int = 0) -> None:
        """What an exception and its causes say: messages, arguments, attributes, notes, and the members of a group.

        A cause counts as far as Python prints it: not where it is suppressed by ``raise ... from None``.
        """
        pending, read = [(error, path)], set[int]()
        while pending and len(read) < _MOST_CAUSES:
            one, at = pending.pop(0)
            if id(one) in read:
                continue
            read.add(id(one))
            self.add_symbol(f"{at}.type", _name(one))
            message = _message(one)
            self.add_text(message, at)
            held: dict[str, object] = {"args": one.args, **{k: v for k, v in vars(one).items() if k != "__notes__"}}
            for name, part in held.items():
                if name != "args" or one.args != (message,):
                    self._add_part(part, f"{at}.{name}", depth)
            for i, note in enumerate(getattr(one, "__notes__", ())):
                self.add_text(_without_addresses(str(note)), f"{at}.note[{i}]")
            cause = one.__cause__ if one.__suppress_context__ else one.__cause__ or one.__context__
            if cause is not None:
                pending.append((cause, f"{at}.cause"))
            if isinstance(one, BaseExceptionGroup):
                pending += [(inner, f"{at}.exceptions[{i}]") for i, inner in enumerate(one.exceptions)]

    def _add_part(self, value: object, path: str, depth: int) -> None:
        """A part of an exception; of one that has no form, its type."""
        try:
            self.add_symbol(f"{path}.type", self.walk(value, path, depth + 1))
        except Exception:  # the user's object may raise whatever is read of it
            self.add_symbol(f"{path}.type", _name(value))

    def _drawn(self, value: Iterator[Any], path: str) -> list[Any]:
        """Everything that an iterator gives, as its caller would draw it."""
        held = list(itertools.islice(value, MOST_PARTS + 1))
        if len(held) > MOST_PARTS:
            raise _refused_outcome(
                path, f"an iterator of more than {MOST_PARTS} parts", "return what a caller draws from it"
            )
        return held

    def _bytes(self, value: bytes, path: str) -> str:
        self.add_symbol(path, value.hex())
        if 0 < len(value) <= LONGEST_IN_BITS:
            self.add_numbers(f"{path}.bits", np.unpackbits(np.frombuffer(value, np.uint8)).astype(np.float64))
        elif len(value) <= LONGEST_IN_BYTES:
            self.add_numbers(f"{path}~bytes", np.frombuffer(value, np.uint8).astype(np.float64))
        return f"bytes({len(value)})"

    def add_text(self, value: str, path: str) -> None:
        """A text as it is; one with numbers, and a long one, also by its length, its numbers and its other words."""
        self.add_symbol(path, value)
        found = _NUMBER.findall(value) if len(value) <= LONGEST_READ else []
        if found or len(value) > LONGEST_LABEL:
            self.add_numbers(f"{path}~length", np.array([float(len(value))]))
        if found:
            largest = np.finfo(np.float64).max
            self.add_numbers(f"{path}~numbers", np.clip([float(one) for one in found], -largest, largest))
            self.add_symbol(f"{path}~words", _NUMBER.sub("0", value))

    def _long(self, path: str, values: list[int]) -> None:
        """Whole numbers, some of which are no float64: the nearest, what is left, and their last bits."""
        nearest = [_nearest_double(one) for one in values]
        self.add_numbers(path, np.array(nearest))
        self.add_numbers(
            f"{path}{LEFT}", np.array([_nearest_double(one - int(x)) for one, x in zip(values, nearest, strict=True)])
        )
        last = 1 << 8 * LONGEST_IN_BITS
        for i, one in enumerate(values[:MOST_IN_BITS]):
            if abs(one) > 2**63:
                self.add_symbol(f"{path}[{i}]{LAST}", hex(one))
            size = min(LONGEST_IN_BITS, one.bit_length() // 8 + 1)
            bits = np.frombuffer((one % last).to_bytes(LONGEST_IN_BITS, "little")[:size], np.uint8)
            self.add_numbers(f"{path}[{i}]{LAST}", np.unpackbits(bits, bitorder="little").astype(np.float64))

    def _sorted(self, path: str, values: Iterable[object]) -> None:
        """Numbers without an order, such as the members of a set, as such beside their names."""
        held = list(values)
        if held and all(isinstance(one, float | np.floating) for one in held):
            self.add_numbers(path, np.sort(np.array(held, dtype=np.float64)))

    def _sequence(self, value: Iterable[Any], path: str, depth: int) -> str:
        held = list(value)
        if held and all(isinstance(one, bool | int | float | np.number) for one in held):
            if all(isinstance(one, bool | int | np.integer) for one in held):
                self._long(path, [int(one) for one in held])
            else:  # one of them is not finite, or is long
                self.add_numbers(path, np.array([_nearest_double(one) for one in held]))
                for i, one in enumerate(held):
                    if isinstance(one, int) and abs(one) > EXACT:
                        self.add_symbol(f"{path}[{i}]{LAST}", hex(one))
            return signature_of_numbers(len(held))
        parts = [self.walk(one, f"{path}[{i}]", depth + 1) for i, one in enumerate(held)]
        return f"[{_joined_signatures(parts)}]"

    def _array(self, value: NDArray[Any], path: str, depth: int) -> str:
        if isinstance(value, np.ma.MaskedArray) and value.dtype.names is None:
            mask, data, nothing = np.ma.getmaskarray(value), np.asarray(value.data), np.zeros((), value.dtype)
            of_data = self.walk(np.where(mask, nothing, data), path, depth + 1)
            if self._masked and mask.any():
                self.walk(np.where(mask, data, nothing), f"{path}{BELOW}", depth + 1)
                self.walk(value.fill_value, f"{path}.fill_value", depth + 1)
            return f"masked {of_data} {self.walk(mask, f'{path}.mask', depth + 1)}"
        kind = value.dtype.kind
        if kind in "iu" and is_long(value):
            self._long(path, value.ravel().tolist())
            return signature_of_numbers(value.size) if value.ndim <= 1 else f"numbers{value.shape}"
        if kind in "biuf":
            with np.errstate(over="ignore", invalid="ignore"):
                nearest = value.astype(np.float64, copy=False)
                self.add_numbers(path, nearest)
                if is_long(value):
                    self.add_numbers(f"{path}{LEFT}", np.nan_to_num((value - nearest).astype(np.float64)))
            return signature_of_numbers(value.size) if value.ndim <= 1 else f"numbers{value.shape}"
        if kind == "c":
            self.add_numbers(path, np.stack([np.real(value), np.imag(value)], axis=-1).astype(np.float64))
            return f"complex{value.shape}"
        if value.dtype.names is not None:
            fields = ((name, value[name]) for name in value.dtype.names)
            return self._fields(f"records{value.shape}", fields, path, depth)
        if kind in "mM":
            self.add_numbers(path, value.astype(np.int64).astype(np.float64))
            return f"{value.dtype}{value.shape}"
        flat = value.ravel().tolist()
        if value.ndim == 1:
            return self._sequence(flat, path, depth)
        parts = [self.walk(one, f"{path}[{i}]", depth + 1) for i, one in enumerate(flat)]
        return f"array{value.shape} of {_joined_signatures(parts)}"

    def _fields(self, name: str, fields: Iterable[tuple[str, Any]], path: str, depth: int) -> str:
        parts = [f"{field}: {self.walk(part, f'{path}.{field}', depth + 1)}" for field, part in fields]
        return f"{name}({', '.join(parts)})"

    def _object(self, value: Any, path: str, depth: int) -> str:
        """Objects of libraries, known by the name of their module so that none is imported, and classes of fields."""
        kind = type(value)
        reader = reader_of(value)
        if reader is not None:
            name, parts = reader(value)
            if parts is not None:
                shown = [one for one in parts if self._masked or not one[0].endswith(BELOW)]
                return self._fields(name, shown, path, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
            return self._fields(_name(value), fields, path, depth)
        declared = getattr(kind, "__attrs_attrs__", None)
        if declared is not None:
            return self._fields(
                _name(value), [(field.name, getattr(value, field.name)) for field in declared], path, depth
            )
        if isinstance(getattr(kind, "model_fields", None), dict):
            return self._fields(_name(value), [(name, getattr(value, name)) for name in kind.model_fields], path, depth)
        if hasattr(value, "__array__"):
            return self.walk(np.asarray(value), path, depth + 1)
        seen = _attributes(value)
        if seen and kind.__name__ != "Queryable":
            return self._fields(_name(value), seen, path, depth)
        remedy = (
            "return what a caller reads from it: numbers, texts, arrays, frames, lists, dictionaries or dataclasses; "
            "or audit observed(function, canonical=what reads it)"
        )
        if kind.__name__ == "Queryable":
            remedy = "return the answers to your queries: a Queryable is a mechanism, not an outcome"
        if is_lazy(value):
            remedy = "return what its collect() gives"
        raise _refused_outcome(path, f"a {_name(value)}", remedy)


def _member_text(value: object) -> str:
    """A member of a set as text; sets within it in one order."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_member_text, value)))}}}"
    return f"({', '.join(map(_member_text, value))})" if isinstance(value, tuple) else repr(value)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """The public attributes that an instance of a class of Python holds: what its caller reads without a call."""
    if isinstance(value, types.FunctionType | types.ModuleType | types.MethodType):
        return []
    held = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                held.setdefault(name, getattr(value, name))
    return [(name, held[name]) for name in sorted(held) if not name.startswith("_")]


def _message(error: BaseException) -> str:
    """What an exception says; "" where that cannot be read."""
    try:
        return _without_addresses(str(error))
    except Exception:
        return ""


def _without_addresses(text: str) -> str:
    return _ADDRESS.sub("0x", text)


def _joined_signatures(parts: list[str]) -> str:
    """Signatures of the parts of a list; equal ones together."""
    if len(parts) > 1 and len(set(parts)) == 1:
        return f"{parts[0]} x {len(parts)}"
    return ", ".join(parts)


def _nearest_double(value: Any) -> float:
    """The nearest double; beyond the largest one the largest, whose exact value is a symbol."""
    try:
        found = float(value)
    except OverflowError:
        return math.copysign(1.7976931348623157e308, 1 if value > 0 else -1)
    except (ValueError, ArithmeticError):  # a signalling NaN of Decimal
        return math.nan
    return found


def _symbol_of_number(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _refused_outcome(path: str, what: str, remedy: str) -> InvalidValue:
    return InvalidValue("outcome", f"{what} at {path or 'the top'}", "of numbers, texts and containers of them", remedy)
