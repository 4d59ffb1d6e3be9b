"""What was noised, or computed from it and from public values: any computation is free, and is made with the values.

Each operation gives a value of this kind again, so that it is seen when one decides something, or meets data again.
"""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from dpverdict.audit.tracing.handles.tape import Release, RunTape, current
from dpverdict.audit.tracing.rules.operations import refuse

_ARGMAX: Final = np.argmax
_ARGMIN: Final = np.argmin
_WHERE: Final = np.where
"""As they are when nothing is replaced."""
MOST_OPTIONS: Final = 12
"""Of a choice, of which each is run."""


class Followed:
    """A value of which something is known for every pair: of the records, a statistic, or draws."""

    __slots__ = ("__weakref__",)

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """The tape knows each of them, to see at the end of the run whether one is kept."""
        made = super().__new__(cls)
        tape = current()
        if tape is not None:
            tape.followed.append(weakref.ref(made))
        return made


@final
class Released:
    """A value that was noised, or made of such values and public ones."""

    __slots__ = ("_dpv_loose", "_dpv_options", "_dpv_pending", "_dpv_tape", "_dpv_value")
    __array_priority__: float = 2000.0
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it would choose a place in a dictionary

    def __init__(
        self,
        tape: RunTape,
        value: Any,
        pending: tuple[Release, ...] = (),
        options: int | None = None,
        *,
        loose: bool = False,
    ) -> None:
        object.__setattr__(self, "_dpv_loose", loose)  # whether noise decided how many numbers these are
        object.__setattr__(self, "_dpv_options", options)
        object.__setattr__(self, "_dpv_tape", tape)
        object.__setattr__(self, "_dpv_value", value)
        object.__setattr__(self, "_dpv_pending", pending)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what "isinstance(n, float)" of the user's sees  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self._dpv_value)

    # computations -----------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "argmax" and len(self._dpv_pending) == 1:
            return lambda *args, **kwargs: np.argmax(self, *args, **kwargs)
        if name == "item" and np.size(self._dpv_value) == 1:
            return lambda *args: self if not args else made(self._dpv_tape, plain(self).item(*args))
        if name == "tolist":
            return lambda: _listed(self)
        found = getattr(plain(self), name)
        tape, loose = self._dpv_tape, self._dpv_loose
        if callable(found):
            return lambda *args, **kwargs: _called(tape, name, found, args, kwargs, loose=loose)
        if name in ("shape", "size"):
            self._dpv_must_be_so_many()
        return found if name in ("shape", "ndim", "size", "dtype") else made(tape, found, loose=loose)

    def _dpv_must_be_so_many(self) -> None:
        """Note that the number of values leaves the trace, where noise decided it."""
        if self._dpv_loose:
            self._dpv_tape.leave("a size")

    def __setattr__(self, name: str, value: Any) -> None:
        self._dpv_tape.refuse(f"an attribute {name} that is set on noisy values", "make a new one")

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and any(
            getattr(one, "_dpv_noise", None) is not None for one in args if type(one) is not Released
        ):
            return NotImplemented  # the draws know what they are put to
        _apart_from_data(args, kwargs)
        if "(vectorized)" in function.__name__:
            self._dpv_tape.refuse("a function of Python that is called on each noisy value, where it may decide",
                                  "use functions of NumPy: np.where")  # fmt: skip
        out = kwargs.pop("out", None)
        if method == "at" and not isinstance(args[0], Released):
            self._dpv_tape.refuse("noisy values written into an array in place", "assign the result to a name")
        found = made(self._dpv_tape, getattr(function, method)(*plain(args), **plain(kwargs)), loose=_any_loose(args))
        if out is not None:
            (target,) = out
            if not isinstance(target, Released):
                self._dpv_tape.refuse("noisy values written into an array in place", "assign the result to a name")
            object.__setattr__(target, "_dpv_value", found._dpv_value)
            object.__setattr__(target, "_dpv_pending", ())
            return target
        return found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _apart_from_data(args, kwargs)
        if function.__name__ in _WRITING and not isinstance(args[0] if args else None, Released):
            self._dpv_tape.refuse("noisy values written into an array in place", "assign the result to a name")
        pending = self._dpv_pending
        if function is _ARGMAX and len(pending) == 1 and len(args) == 1 and not kwargs:
            pending[0].chosen = True
            return Released(self._dpv_tape, np.argmax(self._dpv_value), options=int(np.size(self._dpv_value)))
        if function in (_ARGMAX, _ARGMIN) and len(args) == 1 and not kwargs:
            return Released(self._dpv_tape, function(plain(self)), options=int(np.size(self._dpv_value)))
        loose = _any_loose(args)
        if function is _WHERE and len(args) == 3 and not loose:  # one of two values at each place: as many as before
            _apart_from_data(args, kwargs)
            return made(self._dpv_tape, function(*plain(args)))
        return _called(self._dpv_tape, function.__name__, function, args, kwargs, loose=loose)

    def __getitem__(self, key: Any) -> Any:
        _apart_from_data((key,), {})
        return made(self._dpv_tape, plain(self)[plain(key)], loose=self._dpv_loose or not _is_public_key(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        _apart_from_data((key, value), {})
        plain(self)[plain(key)] = plain(value)

    def __iter__(self) -> Iterator[Any]:
        if self._dpv_loose:
            self._dpv_tape.refuse("a loop over as many noisy values as noise decides", "return the array of them")
        tape = self._dpv_tape
        return (made(tape, one) for one in plain(self))

    def __len__(self) -> int:
        self._dpv_must_be_so_many()
        size: int = len(self._dpv_value)
        return size

    def __round__(self, digits: int | None = None) -> Any:
        return made(self._dpv_tape, np.round(plain(self), 0 if digits is None else digits))

    def __floor__(self) -> Any:
        return made(self._dpv_tape, np.floor(plain(self)))

    def __ceil__(self) -> Any:
        return made(self._dpv_tape, np.ceil(plain(self)))

    def __trunc__(self) -> Any:
        return made(self._dpv_tape, np.trunc(plain(self)))

    # leaving ----------------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        bool(plain(self))  # of an array it is an error
        return bool(self._dpv_tape.decide())

    def __float__(self) -> float:
        self._dpv_tape.leave("a plain number")
        return float(plain(self))

    def __int__(self) -> int:
        self._dpv_tape.leave("a plain number")
        return int(plain(self))

    def __index__(self) -> int:
        tape: RunTape = self._dpv_tape
        if self._dpv_options is None or self._dpv_options > MOST_OPTIONS:
            tape.leave("an index or a size")
            return operator.index(plain(self))
        return tape.decide(self._dpv_options)

    def __complex__(self) -> complex:
        return complex(float(self))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self._dpv_tape.leave("a plain array")
        return np.array(plain(self), *args, **{key: one for key, one in kwargs.items() if key == "dtype"})

    def __str__(self) -> str:
        self._dpv_tape.leave("text")
        return str(plain(self))

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        self._dpv_tape.leave("text")
        value = plain(self)
        return format(value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value, how)

    def __contains__(self, value: Any) -> bool:
        return bool(self._dpv_tape.decide())

    def __reduce__(self) -> Any:
        self._dpv_tape.refuse("noisy values that are pickled", "return them")

    def __copy__(self) -> Released:
        return Released(self._dpv_tape, plain(self))

    def __deepcopy__(self, memo: Any) -> Released:
        return Released(self._dpv_tape, np.copy(plain(self)) if isinstance(plain(self), np.ndarray) else plain(self))


_WRITING: Final = ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis")
"""Functions of NumPy that write into their first argument."""
_COUNTING: Final = frozenset([
    "nonzero", "flatnonzero", "argwhere", "unique", "unique_values", "unique_counts", "unique_all", "extract",
    "compress", "trim_zeros", "dropna",
    "drop_duplicates", "query", "filter", "union1d", "intersect1d", "setdiff1d", "setxor1d", "delete", "repeat",
    "value_counts", "mode", "groupby", "bincount", "drop", "drop_nulls", "nlargest", "nsmallest", "explode", "split",
    "where", "loc", "iloc", "select", "truncate", "insert", "append", "resize", "choose", "histogram",
])  # fmt: skip
"""Functions and methods of which noisy values may decide how many numbers they give."""


def _called(
    tape: RunTape, name: str, function: Callable[..., Any], args: Any, kwargs: Any, *, loose: bool
) -> Any:  # fmt: skip
    """A function or a method of noisy values; what it calls back is given noisy values again."""
    _apart_from_data(args, kwargs)
    if kwargs.get("out") is not None:
        tape.refuse("noisy values written into an array in place", "assign the result to a name")
    if (loose or name in _COUNTING or name == "piecewise") and _calls_back((*args, *kwargs.values())):
        tape.refuse("a function that is called on as many noisy values as noise decides, or on none",
                    "compute with all noisy values: np.where, np.maximum")  # fmt: skip
    args, kwargs = plain(args), plain(kwargs)
    given = [_calling_back(tape, one) for one in args]
    found = function(*given, **{key: _calling_back(tape, one) for key, one in kwargs.items()})
    return made(tape, found, loose=loose or name in _COUNTING)


def _calls_back(values: Any) -> bool:
    """Whether some values are functions, or lists of them, that are called back."""
    return any(_calls_back(one.values() if type(one) is dict else one) if type(one) in (list, tuple, dict)
               else callable(one) and type(one) is not Released and not isinstance(one, type | np.ufunc)
               for one in values)  # fmt: skip


def _calling_back(tape: RunTape, value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_calling_back(tape, one) for one in value)
    if type(value) is dict:
        return {key: _calling_back(tape, one) for key, one in value.items()}
    if not callable(value) or isinstance(value, type | np.ufunc):
        return value

    def called(*args: Any, **kwargs: Any) -> Any:
        found = value(*[made(tape, one) for one in args], **{key: made(tape, one) for key, one in kwargs.items()})
        _apart_from_data((found,), {})
        return plain(found)

    return called


def _any_loose(args: Any) -> bool:
    return any(one._dpv_loose if type(one) is Released else type(one) in (list, tuple) and _any_loose(one)
               for one in args)  # fmt: skip


def _is_public_key(key: Any) -> bool:
    """Whether an index gives as many values whatever the noise is: no mask or list of noisy values."""
    if isinstance(key, tuple):
        return all(_is_public_key(one) for one in key)
    if type(key) is Released:
        return np.ndim(key._dpv_value) == 0 and np.asarray(key._dpv_value).dtype.kind != "b"
    if isinstance(key, slice):
        return not any(type(one) is Released for one in (key.start, key.stop, key.step))
    return not (isinstance(key, list) and any(type(one) is Released for one in key))


def made(tape: RunTape, value: Any, *, loose: bool = False) -> Any:
    """A computed value, of this kind again where it holds numbers; a sequence of them element by element."""
    if value is NotImplemented or value is None or isinstance(value, Released):
        return value
    if isinstance(value, Followed) or hasattr(value, "_dpv_array"):
        _apart_from_data((value,), {})
    if isinstance(value, str):  # which text it is may depend on noise, and it is a plain one from here on
        tape.leave("text")
        return value
    if isinstance(value, list) and loose:
        tape.leave("a list, of which noise decides how long it is,")
    if isinstance(value, tuple | list):
        parts = [made(tape, one, loose=loose) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return Released(tape, value, loose=loose and not isinstance(value, np.generic))


def _listed(one: Any) -> Any:
    if not isinstance(one, Released):
        return one
    one._dpv_must_be_so_many()
    value = plain(one)
    if np.ndim(value) == 0:
        return made(one._dpv_tape, value)
    return [_listed(made(one._dpv_tape, part)) for part in np.asarray(value)]


def plain(value: Any) -> Any:
    """The value itself: whatever is done with it, all of it may be shown."""
    if type(value).__name__ == "Building":
        return plain(value._dpv_settled())
    if isinstance(value, Released):
        for release in value._dpv_pending:
            release.expose()
        return value._dpv_value
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def _apart_from_data(args: Any, kwargs: Any) -> None:
    """Refuse noisy values and data in one operation: it would look at data again in a way that noise decided."""
    waiting = [*args, *kwargs.values()]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Followed) or hasattr(one, "_dpv_array"):
            tape = current()
            if tape is not None:
                tape.refuse("data together with a noisy value, which decides how they are used",
                            "clip and scale data by public numbers only")  # fmt: skip
            refuse("data together with a noisy value")
        if isinstance(one, tuple | list | set | frozenset):
            waiting += one
        elif isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]


def _method(name: str, function: Callable[..., Any], *, mirrored: bool = False) -> Callable[..., Any]:
    def method(self: Released, other: Any) -> Any:
        if isinstance(other, Followed):
            return NotImplemented
        if type(other) in (list, tuple, dict, set, frozenset):
            _apart_from_data((other,), {})  # a list of data times a noisy number
        sides = (plain(other), plain(self)) if mirrored else (plain(self), plain(other))
        return made(self._dpv_tape, function(*sides), loose=_any_loose((self, other)))

    method.__name__ = name
    return method


def _of_one(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self: made(self._dpv_tape, function(plain(self)), loose=self._dpv_loose)


_BINARY: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor")

for _name in _BINARY:
    _plain_name = _name.rstrip("_")
    setattr(Released, f"__{_plain_name}__", _method(f"__{_plain_name}__", getattr(operator, _name)))
    setattr(Released, f"__r{_plain_name}__", _method(f"__r{_plain_name}__", getattr(operator, _name), mirrored=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Released, f"__{_name}__", _method(f"__{_name}__", getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Released, f"__{_name}__", _of_one(getattr(operator, _name)))
