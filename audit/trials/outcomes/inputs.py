"""What a function under audit is given: the user's own object, for every trial one that no other trial has changed."""

from __future__ import annotations

import copy
from typing import Any, Final

import numpy as np

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.records import is_frame

LARGE: Final = 5 * 10**6
"""Entries of a frame that is not copied to be held: every trial gets a copy of its own all the same."""


def held_safe(data: Any) -> Any:
    """What `fresh` makes inputs of: an array as a copy that cannot be written to, anything else as a copy.

    A large frame is held as it is, as several copies of it would be most of the memory.

    Raises:
        InvalidValue: an object that cannot be copied.
    """
    if type(data) is not np.ndarray:
        large = is_frame(data) and data.shape[0] * data.shape[1] > LARGE
        return data if large else _copied_data(data)
    records = np.array(data)
    records.flags.writeable = False
    return records.view()  # of an array that cannot be written to: nobody can make it writeable again


def fresh(held: Any) -> Any:
    """The input of one trial: an array that cannot be written to as it is, of anything else a copy."""
    if type(held) is np.ndarray:
        held.flags.writeable = False  # on its way to a worker process it was forgotten
        return held
    return _copied_data(held)


def _copied_data(data: Any) -> Any:
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow":
        return data  # tables of Arrow cannot be changed
    try:
        if library == "polars" and hasattr(data, "clone"):
            return data.clone()
        return copy.deepcopy(data)
    except Exception as error:
        remedy = "give data in memory, such as a frame, an array or a list of records"
        raise InvalidValue(
            "dataset", type(data).__qualname__, f"an object that can be copied ({error})", remedy
        ) from None
