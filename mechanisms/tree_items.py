"""The items a counter takes: bits, or real numbers in [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.mechanism import Array

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


def refuse_copy(time: int) -> None:
    """Refuse to copy or pickle a stream that has begun: two copies would release the same noise on different items.

    Raises:
        TypeError: the stream has begun.
    """
    if time:
        raise TypeError(f"a stream at time {time} cannot be copied or pickled: two copies would share their noise")


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
