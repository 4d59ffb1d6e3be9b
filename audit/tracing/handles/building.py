"""Arrays that a function makes and fills one by one: np.zeros(k), and then counts[i] = ..."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from dpverdict.audit.tracing.handles.arrays import settled
from dpverdict.audit.tracing.handles.functions import array_of
from dpverdict.audit.tracing.handles.released import Followed, Released
from dpverdict.audit.tracing.handles.tape import current


def making(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.zeros or np.empty, called by the code that is followed: what they make takes noisy values and statistics."""

    def make(shape: Any, *args: Any, **given: Any) -> Any:
        found = original(settled(shape), *args, **given)
        tape = current()
        if tape is None or sys._getframe(1).f_code.co_filename not in tape.files:  # pyright: ignore[reportPrivateUsage]
            return found
        blank = original is _EMPTY and found.dtype != object
        return Building(np.zeros_like(found) if blank else found, blank=blank)

    return make


_EMPTY: Final = np.empty
"""What gives numbers that happen to lie in memory, such as those of data that were there before."""


class Building(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of public numbers, until it is given something that is followed."""

    __slots__ = ("_dpv_blank", "_dpv_parts", "_dpv_plain", "_dpv_shown")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, values: Any, *, blank: bool = False) -> None:
        self._dpv_plain: Any = values
        self._dpv_blank: set[int] = set(range(values.size)) if blank else set()  # that nothing was written into
        self._dpv_parts: dict[int, Any] = {}
        self._dpv_shown = False  # whether another array may show the same numbers

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what "isinstance(x, np.ndarray)" of the user's sees  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.ndarray

    def _dpv_settled(self) -> Any:
        """What it holds now: a plain array, or one that is followed."""
        if self._dpv_blank:
            _refuse("an array of np.empty of which not every entry was written: the others show what was in memory",
                    "use np.zeros")  # fmt: skip
        if not self._dpv_parts:
            return self._dpv_plain
        flat = self._dpv_plain.ravel()
        found = array_of([self._dpv_parts.get(i, flat[i]) for i in range(flat.size)])
        return found if self._dpv_plain.ndim == 1 else np.reshape(found, self._dpv_plain.shape)

    def may_be_shown(self) -> None:
        """Note that another array may show the same numbers."""
        self._dpv_shown = True

    def _dpv_seen(self, found: Any, *, copied: bool = False) -> Any:
        """What was made of it, which may show its numbers: then they are not to be changed any more."""
        self._dpv_shown = self._dpv_shown or not (copied or isinstance(found, str) or np.ndim(_plainly(found)) == 0)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._dpv_shown:
            _refuse("an array that is changed in place while another one may show the same numbers",
                    "build a list, and np.array(list) of it, or work on a copy")  # fmt: skip
        places = np.arange(self._dpv_plain.size).reshape(self._dpv_plain.shape)[key]
        self._dpv_blank.difference_update(np.ravel(places).tolist())
        value = settled(value)
        if not isinstance(value, Followed | Released) and not hasattr(value, "_dpv_array"):
            for one in np.ravel(places).tolist():
                self._dpv_parts.pop(one, None)
            self._dpv_plain[key] = value
            return
        whole = array_of(value) if not isinstance(value, Released) else value
        own = self._dpv_plain.dtype
        if own != np.float64 and getattr(whole, "dtype", own) != own:
            _refuse("numbers written into an array of another dtype", "make it of floats: np.zeros(k)")
        if np.ndim(places) == 0:
            self._dpv_parts[int(places)] = whole
            return
        if tuple(np.shape(places)) != tuple(whole.shape):
            _refuse("numbers written into part of an array of another shape", "build a list, and np.array(list) of it")
        flat = np.ravel(whole)
        for i, one in enumerate(np.ravel(places).tolist()):
            self._dpv_parts[one] = flat[i]

    def __getitem__(self, key: Any) -> Any:
        return self._dpv_seen(self._dpv_settled()[key])

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **given: Any) -> Any:
        if method == "at":
            self._dpv_added_at(function, *args)
            return None
        out = given.pop("out", None)
        found = getattr(function, method)(*[settled(one) for one in args], **given)
        if out is None:
            return found
        (target,) = out
        if not isinstance(target, Building):
            _refuse("numbers written into an array in place", "assign the result to a new name")
        target[...] = found
        return target

    def _dpv_added_at(self, function: Any, target: Any, places: Any, values: Any) -> None:
        """np.add.at(counts, cells, values), of a cell for each record."""
        of_data = isinstance(places, Followed) or hasattr(places, "_dpv_array")
        if function is not np.add or target is not self or not of_data or self._dpv_plain.ndim != 1:
            _refuse(f"np.{function.__name__}.at of another kind", "write np.bincount(cells, weights, minlength=k)")
        cells: Any = array_of(settled(places))
        found: Any
        weights, size = settled(values), len(self)
        if isinstance(weights, Released):
            _refuse("data together with a noisy value", "use public numbers")
        if isinstance(weights, Followed) or hasattr(weights, "_dpv_array"):
            found = np.bincount(cells, weights=array_of(weights), minlength=size)
        elif np.ndim(weights) == 0:
            found = np.bincount(cells, minlength=size) * weights
        else:
            _refuse("np.add.at with a public number for each record", "use one number, or a column")
        self[...] = self._dpv_settled() + found

    def __array_function__(self, function: Any, types: Any, args: Any, given: Any) -> Any:
        found = function(*settled(args), **settled(given))
        for one in _buildings((*args, *given.values())):
            one._dpv_seen(found, copied=function.__name__ in _COPYING)
        return found

    def __array__(self, *args: Any, **given: Any) -> Any:
        found = self._dpv_settled()
        self._dpv_shown = True
        return np.asarray(found, *args) if isinstance(found, np.ndarray) else found.__array__(*args)

    def __iter__(self) -> Iterator[Any]:
        self._dpv_shown = self._dpv_shown or self._dpv_plain.ndim > 1
        return iter(self._dpv_settled())

    def __len__(self) -> int:
        return len(self._dpv_plain)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("shape", "size", "ndim", "dtype"):
            return getattr(self._dpv_plain, name)
        self._dpv_shown = self._dpv_shown or name not in _COPYING
        if name == "fill":
            self._dpv_blank.clear()
        return getattr(self._dpv_settled(), name)

    def __bool__(self) -> bool:
        return bool(self._dpv_settled())

    def __float__(self) -> float:
        return float(self._dpv_settled())

    def __repr__(self) -> str:
        return repr(self._dpv_settled())

    def __format__(self, how: str) -> str:
        return format(self._dpv_settled(), how)

    def __copy__(self) -> Building:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Building:
        made = Building(self._dpv_plain.copy())
        made._dpv_parts, made._dpv_blank = dict(self._dpv_parts), set(self._dpv_blank)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        _refuse("an array that is pickled", "return it")


_COPYING: Final = frozenset([
    "copy", "flatten", "clip", "round", "around", "sum", "mean", "cumsum", "diff", "repeat", "tile",
    "concatenate", "stack", "hstack", "vstack", "column_stack", "append", "sort", "argsort", "argmax", "argmin",
    "amax", "amin", "max", "min", "where", "maximum", "minimum", "any", "all", "dot", "matmul", "item", "tolist",
    "outer", "divide", "searchsorted", "bincount", "histogram", "var", "std", "median", "zeros_like",
    "ones_like", "empty_like", "full_like",
])  # fmt: skip
"""What makes new numbers, of the functions and methods of NumPy; others may give the same ones."""


def _buildings(values: Any) -> Iterator[Building]:
    for one in values:
        if type(one) is Building:
            yield one
        elif type(one) in (list, tuple):
            yield from _buildings(one)


def _plainly(found: Any) -> Any:
    return getattr(found, "_dpv_value", 0) if isinstance(found, Followed | Released) else found


def _refuse(what: str, remedy: str) -> NoReturn:
    tape = current()
    assert tape is not None
    tape.refuse(what, remedy)
