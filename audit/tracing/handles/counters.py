"""``collections.Counter`` of a column: how often a public value occurs is a count of records."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn, final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import FollowedArray, fact_of, is_rows
from dpverdict.audit.tracing.handles.functions import array_of
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import RunTape, current
from dpverdict.audit.tracing.rules.facts import Rows

_REMEDY: Final = "take counter[label] of public labels: [counter[label] for label in ['Oslo', 'Rome']]"
_MOST: Final = 2**53


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: FollowedCounter, *args: Any, **given: Any) -> NoReturn:
        self._dpv_tape.refuse(f"{name} of a Counter of data", _REMEDY)

    return refuse


@final
class FollowedCounter(Followed):
    """A Counter of a column of records, of which single counts are taken; which labels occur is data."""

    __slots__ = ("_dpv_column", "_dpv_tape")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    _dpv_tape: RunTape
    _dpv_column: FollowedArray

    def __init__(self, column: FollowedArray) -> None:
        object.__setattr__(self, "_dpv_column", column)
        object.__setattr__(self, "_dpv_tape", column._dpv_tape)

    def __getitem__(self, label: Any) -> Any:
        """How many records have a public value; 0 is a count as any other."""
        fact = fact_of(self._dpv_column)
        assert isinstance(fact, Rows)
        if not _is_label_of(fact, label):
            self._dpv_tape.refuse("a Counter of data by something else than a public label of its column", _REMEDY)
        return np.sum(np.equal(self._dpv_column, label))

    def get(self, label: Any, default: Any = None) -> Any:
        """The same: without a record, the default has to be 0."""
        if type(default) is not int or default:
            self._dpv_tape.refuse("get of a Counter of data with another default than 0", _REMEDY)
        return self[label]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._dpv_tape.refuse(f".{name} of a Counter of data", _REMEDY)

    def __setattr__(self, name: str, value: Any) -> None:
        self._dpv_tape.refuse("an attribute set on a Counter of data", _REMEDY)


_METHODS: Final = (
    *("iter", "len", "contains", "bool", "setitem", "delitem", "delattr", "reversed", "repr", "str", "format", "array",
      "reduce_ex", "copy", "deepcopy", "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "array_ufunc",
      "array_function"),
    *(side + name for name in ("add", "sub", "and", "or") for side in ("", "r", "i")),
)  # fmt: skip
for _name in _METHODS:
    setattr(FollowedCounter, f"__{_name}__", _refusing(f"__{_name}__"))


def _is_label_of(fact: Rows, label: Any) -> bool:
    """Whether a value is equal to an entry of the column exactly where it is the same key of a dictionary."""
    if fact.dtype == "category":
        return type(label) is str
    if fact.dtype == "bool":
        return type(label) is bool
    number = type(label) is int or (type(label) is float and fact.dtype == "float64")
    return fact.dtype in ("int64", "float64") and number and math.isfinite(label) and abs(label) <= _MOST


def counter_of(value: Any) -> FollowedCounter | None:
    """The Counter of a column of records; None of anything else."""
    if not isinstance(value, Followed) and not hasattr(value, "_dpv_array"):
        return None
    column = None if isinstance(value, Released) else array_of(value)
    if not isinstance(column, FollowedArray) or not is_rows(column) or fact_of(column).shape != ():
        return None
    fact = fact_of(column)
    known = isinstance(fact, Rows) and fact.dtype in ("category", "bool", "int64", "float64")
    return FollowedCounter(column) if known else None


def new_counter(cls: type, *args: Any, **given: Any) -> Any:
    """What stands for ``Counter.__new__`` while a run is followed; a class of the user's is as it was."""
    plain = current() is None or cls is not collections.Counter or len(args) != 1 or bool(given)
    found = None if plain else counter_of(args[0])
    return dict.__new__(cls, *args, **given) if found is None else found
