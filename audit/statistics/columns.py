"""Columns of numbers that are read part by part, so that tests of many trials do not hold them all in memory.

A long column lies in a temporary file. Sums over it are those that NumPy would give of the whole array, bit for bit:
its pairwise summation is followed down to parts that fit.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Final, TypeAlias, final

import numpy as np

from dpverdict.numerics.arrays import Array

ROWS_PER_PART: Final = 2**16
"""Numbers read at once."""
MOST_IN_MEMORY: Final = 2**18
"""Numbers up to which a column stays in memory."""


@final
class NumberColumn:
    """Numbers in their order: an array, or one that grows by `extend` and is kept in a temporary file once it is long.

    Args:
        values: the first numbers, shape (n,).
    """

    def __init__(self, values: Array | None = None) -> None:
        self._held: list[Array] = [] if values is None else [values]
        self._length = 0 if values is None else len(values)
        self._written = 0
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._length

    def extend(self, values: Array) -> None:
        """Append numbers, shape (n,)."""
        self._held.append(np.array(values, dtype=np.float64))
        self._length += len(values)
        if self._length - self._written > MOST_IN_MEMORY:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="dpverdict-")  # noqa: SIM115  # it lives as long as the column
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            for part in self._held:
                self._file.write(part.tobytes())
            self._held, self._written = [], self._length

    def read(self, start: int, stop: int) -> Array:
        """The numbers start..stop - 1."""
        found = []
        if start < self._written:
            assert self._file is not None
            self._file.seek(8 * start)
            part = np.frombuffer(self._file.read(8 * (min(stop, self._written) - start)), dtype=np.float64)
            if len(part) != min(stop, self._written) - start:
                raise ValueError("a temporary file of scores ended early")
            found.append(part)
        if stop > self._written:
            if len(self._held) > 1:
                self._held = [np.concatenate(self._held)]
            found.append(self._held[0][max(start - self._written, 0) : stop - self._written])
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0), *found])


Numbers: TypeAlias = "NumberColumn | Array"


def read(column: Numbers, start: int, stop: int) -> Array:
    """The numbers start..stop - 1 of a column."""
    return column.read(start, stop) if isinstance(column, NumberColumn) else column[start:stop]


def read_in_parts(*columns: Numbers) -> Iterator[tuple[Array, ...]]:
    """The same rows of several columns, part by part, as far as the shortest one goes."""
    end = min(len(column) for column in columns)
    for first in range(0, end, ROWS_PER_PART):
        yield tuple(read(column, first, min(first + ROWS_PER_PART, end)) for column in columns)


def concatenated(*columns: Numbers) -> Numbers:
    """One column after the other."""
    if len(columns) == 1:
        return columns[0]
    whole = NumberColumn()
    for column in columns:
        for (part,) in read_in_parts(column):
            whole.extend(part)
    return whole


def first_or_last(column: Numbers, *, first: int | None = None, last: int | None = None) -> Numbers:
    """The first or the last numbers of a column."""
    start = 0 if last is None else len(column) - last
    stop = len(column) if first is None else first
    if (start, stop) == (0, len(column)):
        return column
    if not isinstance(column, NumberColumn):
        return column[start:stop]
    found = NumberColumn()
    for at in range(start, stop, ROWS_PER_PART):
        found.extend(column.read(at, min(at + ROWS_PER_PART, stop)))
    return found


def pairwise_sum(length: int, read: Callable[[int, int], Array]) -> float:
    """The sum of ``length`` numbers, with the rounding of ``np.sum`` of the whole array.

    Args:
        length: how many there are.
        read: gives those from a first to before a last.
    """

    def of(start: int, stop: int) -> float:
        n = stop - start
        if n <= ROWS_PER_PART:
            return float(np.add.reduce(read(start, stop)))
        half = n // 2
        half -= half % 8
        return of(start, start + half) + of(start + half, stop)

    return of(0, length) if length else 0.0
