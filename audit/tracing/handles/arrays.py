"""Arrays of NumPy that are followed: of the records, of a statistic, or of draws of noise."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, NoReturn, final

import numpy as np

from dpverdict.audit.tracing.handles.released import Followed, Released, plain
from dpverdict.audit.tracing.handles.tape import RunTape, refuse_own_classes
from dpverdict.audit.tracing.rules.bounds import ELEMENTWISE, directed
from dpverdict.audit.tracing.rules.facts import NoiseFact, Rows, Total, added
from dpverdict.audit.tracing.rules.operations import TracedOperand
from dpverdict.audit.tracing.rules.records import key_to_json

FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {}
"""How each function of NumPy that is covered acts on followed arrays; `functions` fills it."""

_NO_SHAPE: Final = "the number of records under add-or-remove-one, which is data"


@final
@dataclass(frozen=True, slots=True)
class Labels:
    """The public values that a column of a categorical dtype may have, in their public order.

    Attributes:
        values: as the trace has them.
        index: as pandas shows them.
        intervals: whether they are intervals, of which the trace has names: then only groups are made of them.
    """

    values: tuple[Any, ...]
    index: Any
    intervals: bool

    def must_allow(self, array: FollowedArray, operation: str) -> None:
        """Refuse what is neither a group of intervals nor a selection of records."""
        if self.intervals and operation not in _OF_INTERVALS:
            no(array, "intervals of pd.cut that are used otherwise than as groups",
               'give labels: pd.cut(x, edges, labels=["young", "old"])')  # fmt: skip

    def named(self, array: FollowedArray, label: Any) -> Any:
        """The value in the trace of a label that is asked for."""
        if not self.intervals:
            return label
        places = [i for i, one in enumerate(self.index) if type(label) is type(one) and label == one]
        return self.values[places[0]] if places else no(array, "a group of pd.cut that is none of its intervals")


_OF_INTERVALS: Final = ("groups", "groups of several columns", "select", "is missing", "drop missing")


_IN_PLACE_OF: Final = {
    "einsum": "write x.T @ y, or (x * y).sum()",
    **dict.fromkeys(["cov", "corrcoef"], "release noisy sums of x, of x*y and a count, and compute it from these"),
    **dict.fromkeys(["nanquantile", "nanpercentile", "ptp", "nanmax", "nanmin"],
                    "one record may move it far: choose among public candidates by noisy counts"),
}  # fmt: skip
"""What to write in place of functions that are not covered."""


class FollowedArray(Followed, np.lib.mixins.NDArrayOperatorsMixin):
    """An array with a fact; in the trace it has the values of one dataset, which no other code sees."""

    __slots__ = ("_dpv_labels", "_dpv_noise", "_dpv_number", "_dpv_owned", "_dpv_tape", "_dpv_value")
    __array_priority__: float = 1000.0
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(
        self, tape: RunTape, number: int | None, value: Any, *, noise: NoiseFact | None = None, owned: bool = True
    ) -> None:
        self._dpv_tape, self._dpv_number, self._dpv_value = tape, number, value
        self._dpv_noise, self._dpv_owned = noise, owned
        self._dpv_labels: Labels | None = None

    # what is public ---------------------------------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what "isinstance(x, np.ndarray)" of the user's sees  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.ndarray if isinstance(fact_of(self), Rows) or fact_of(self).shape else self.dtype.type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(fact_of(self).shape) + isinstance(fact_of(self), Rows)

    @property
    def dtype(self) -> Any:
        """Of the array."""
        return np.asarray(self._dpv_value).dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array; that of records is public where their number is."""
        fact = fact_of(self)
        if not isinstance(fact, Rows):
            return fact.shape
        return Shape((length_of(self), *fact.shape)) if known_length(self) else Shape((None, *fact.shape), self)

    @property
    def size(self) -> Any:
        """How many entries there are."""
        fact = fact_of(self)
        if isinstance(fact, Rows) and not known_length(self):
            return counted(self)
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        fact = fact_of(self)
        if isinstance(fact, Rows):
            return length_of(self)
        if not fact.shape:
            raise TypeError("len() of unsized object")
        return fact.shape[0]

    @property
    def T(self) -> Any:
        """Transposed."""
        fact = fact_of(self)
        if isinstance(fact, Rows):
            if fact.shape == ():
                return self
            if len(fact.shape) == 1:
                return Transposed(self)
            no(self, "records with several axes, transposed")
        return np.transpose(self)

    @property
    def flat(self) -> Any:
        """Refused."""
        no(self, ".flat of data", "loop over public numbers")

    # operations -------------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        tape, args = self._dpv_tape, settled(args)
        refuse_own_classes(tape, args)
        name = function.__name__
        out = kwargs.pop("out", None)
        if method != "__call__" or function.nout != 1:
            no(self, f"np.{name}.{method}", "write it with np.sum, or in another way")
        if kwargs:
            no(self, f"np.{name} with {', '.join(kwargs)}", "use np.where")
        if any(type(one) in (list, tuple) for one in args):
            args = tuple(FUNCTIONS["array of"](one) if type(one) in (list, tuple) else one for one in args)
        if any(isinstance(one, Released) for one in args) and all(is_noise(one) for one in args
                                                                  if isinstance(one, Followed)):  # fmt: skip
            return _after_release(tape, name, function, args)
        if any(isinstance(one, Released) for one in args):
            tape.refuse("data together with a noisy value, which decides how they are used",
                        "clip and scale data by public numbers only")  # fmt: skip
        made = call_ufunc(tape, function, args)
        if out is None:
            return made
        (target,) = out
        own = fact_of(target) if isinstance(target, FollowedArray) else None
        alone = own is not None and not isinstance(own, Rows) and own.shape == ()
        if alone and not target._dpv_owned:
            tape.refuse(f"np.{name} in place, of an array without axes, which another name may show too",
                        "assign the result to a new name")  # fmt: skip
        if own is not None and not isinstance(own, Rows) and (alone or isinstance(made, Released)):
            return made  # a number is never changed in place; and what noise was added to in place may be forgotten
        if not isinstance(target, FollowedArray) or not target._dpv_owned:
            tape.refuse(f"np.{name} written into data in place", "assign the result to a new name")
        if isinstance(made, Released):
            tape.refuse("noise added to records in place", "sum first, and add noise to the sum")
        if made.dtype != target.dtype or fact_of(made).shape != fact_of(target).shape:
            tape.refuse(f"np.{name} in place, with another dtype or shape", "assign the result to a new name")
        target._dpv_number, target._dpv_value, target._dpv_noise = made._dpv_number, made._dpv_value, made._dpv_noise
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in FUNCTIONS:
            no(self, f"np.{function.__name__} of data", _IN_PLACE_OF.get(
                function.__name__, "what is covered is listed in docs/reference_tracing.md"))  # fmt: skip
        refuse_own_classes(self._dpv_tape, args, kwargs)
        return FUNCTIONS[function](*settled(args), **settled(kwargs))

    def __getitem__(self, key: Any) -> Any:
        return FUNCTIONS["getitem"](self, settled(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        FUNCTIONS["setitem"](self, settled(key), settled(value))

    def __iter__(self) -> Iterator[Any]:
        fact = fact_of(self)
        if isinstance(fact, Rows):
            no(
                self,
                "a loop over records",
                "write it with whole columns: x.sum(), np.where, s.value_counts().get(label, 0)",
            )
        if not fact.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(fact.shape[0]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _METHODS:
            return lambda *args, **kwargs: _called(self, _METHODS[name], args, kwargs)
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        no(self, f".{name} of data", "what is covered is listed in docs/reference_tracing.md")

    # ways out ---------------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:  # noqa: PLE0304
        no(self, "a branch on data", "put the test behind the noise, or use np.where")

    def __float__(self) -> float:
        no(self, "data that become a plain number", "add noise first; of records, use .astype(float)")

    __int__ = __float__
    __complex__ = __float__

    def __index__(self) -> int:  # noqa: PLE0305
        no(
            self,
            "an index or a size that is data",
            "add noise first, or use public sizes; of one column for each value: x[:, None] == np.arange(k)",
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        no(self, "data that leave the trace as a plain array", "use functions of NumPy that are covered")

    @property
    def __array_interface__(self) -> Any:
        raise AttributeError("__array_interface__")

    def __str__(self) -> str:  # noqa: PLE0307
        no(self, "data that become text", "return or print noisy values only")

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        return str(self)

    def __contains__(self, value: Any) -> bool:
        no(self, "a test whether data contain a value", "count them, and add noise")

    def __reduce__(self) -> Any:
        no(self, "data that are pickled or copied in a way that is not followed", "use .copy()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __copy__(self) -> Any:
        return labelled(remade(self, self._dpv_number, self._dpv_value), self._dpv_labels)

    def __deepcopy__(self, memo: Any) -> Any:
        return labelled(remade(self, self._dpv_number, copy.deepcopy(self._dpv_value)), self._dpv_labels)

    def __round__(self, digits: int | None = None) -> Any:
        return np.round(self, digits or 0)

    def __floor__(self) -> Any:
        return np.floor(self)

    def __ceil__(self) -> Any:
        return np.ceil(self)

    def __trunc__(self) -> Any:
        return np.trunc(self)


def _called(array: FollowedArray, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    refuse_own_classes(array._dpv_tape, args, kwargs)
    return method(array, *settled(args), **settled(kwargs))


class _NumberOfRecords:
    """Stands in a shape, where code of C may look at it: it is neither compared, nor shown."""

    __slots__ = ("_dpv_of",)

    def __init__(self, of: Any) -> None:
        self._dpv_of = of

    def _data(self, *args: Any) -> NoReturn:
        length_of(self._dpv_of)
        raise AssertionError("the number of records is not public")

    __eq__ = __ne__ = __hash__ = _data  # pyright: ignore[reportAssignmentType]
    __repr__ = __str__ = __format__ = _data  # pyright: ignore[reportAssignmentType]
    __bool__ = __int__ = __index__ = __float__ = _data


class Shape(tuple[Any, ...]):
    """The shape of records whose number is not public: its other entries may be used."""

    _dpv_of: Any

    def __new__(cls, entries: Sequence[Any], of: Any = None) -> Shape:
        made = super().__new__(cls, [_NumberOfRecords(of) if one is None else one for one in entries])
        made._dpv_of = of
        return made

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        if type(found) is _NumberOfRecords:
            return counted(self._dpv_of)
        if isinstance(found, tuple) and any(type(one) is _NumberOfRecords for one in tuple.__iter__(found)):
            return Shape(
                [None if type(one) is _NumberOfRecords else one for one in tuple.__iter__(found)], self._dpv_of
            )
        return found

    def __iter__(self) -> Iterator[Any]:
        return (counted(self._dpv_of) if type(one) is _NumberOfRecords else one for one in tuple.__iter__(self))

    def _data(self) -> None:
        if self._dpv_of is not None:
            length_of(self._dpv_of)

    def __eq__(self, other: object) -> bool:
        self._data()
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        self._data()
        return tuple.__ne__(self, other)

    def __hash__(self) -> int:
        self._data()
        return tuple.__hash__(self)

    def __lt__(self, other: Any) -> bool:
        self._data()
        return tuple.__lt__(self, other)

    def __le__(self, other: Any) -> bool:
        self._data()
        return tuple.__le__(self, other)

    def __gt__(self, other: Any) -> bool:
        self._data()
        return tuple.__gt__(self, other)

    def __ge__(self, other: Any) -> bool:
        self._data()
        return tuple.__ge__(self, other)

    def __contains__(self, value: object) -> bool:
        self._data()
        return tuple.__contains__(self, value)

    def __add__(self, other: Any) -> Any:
        self._data()
        return tuple.__add__(self, tuple(other))

    def __radd__(self, other: Any) -> Any:
        self._data()
        return tuple(other) + tuple(self)

    def __mul__(self, other: Any) -> Any:
        self._data()
        return tuple.__mul__(self, other)

    def __repr__(self) -> str:
        self._data()
        return tuple.__repr__(self)


class Transposed(Followed):
    """Records along the second axis: for products with columns, and loops over columns."""

    __slots__ = ("_dpv_tape", "of")
    __array_priority__: float = 1000.0

    def __init__(self, of: FollowedArray) -> None:
        self.of: FollowedArray = of
        self._dpv_tape = of._dpv_tape

    @property
    def T(self) -> FollowedArray:
        """Transposed back."""
        return self.of

    def __iter__(self) -> Iterator[Any]:
        return (self.of[:, i] for i in range(fact_of(self.of).shape[0]))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return self.of[:, key]
        no(self.of, "an index of transposed records", "take columns: x[:, i]")

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, FollowedArray) and isinstance(fact_of(other), Rows):
            return product_of_columns(self.of, other)
        no(self.of, "a product of transposed records with something else than records")

    def dot(self, other: Any) -> Any:
        """The product."""
        return self @ other

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        no(self.of, "data that leave the trace as a plain array", "use functions of NumPy that are covered")

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(
            function if method == "__call__" else getattr(function, method), (), args, kwargs
        )

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.dot, np.matmul) and len(args) == 2 and isinstance(args[0], Transposed) and not kwargs:
            return args[0] @ args[1]
        no(self.of, f"np.{function.__name__} of transposed records", "use x.T @ y")

    def __bool__(self) -> bool:  # noqa: PLE0304
        no(self.of, "a branch on data", "put the test behind the noise")

    def __repr__(self) -> str:
        no(self.of, "data that become text", "return or print noisy values only")


_METHODS: Final[dict[str, Callable[..., Any]]] = {}
"""Methods of arrays, by name; `functions` fills it."""


def methods() -> dict[str, Callable[..., Any]]:
    """Where the methods of arrays are registered."""
    return _METHODS


# small steps ----------------------------------------------------------------------------------------------------------


def no(array: Any, what: str, remedy: str = "") -> NoReturn:
    """Refuse an operation on an array."""
    tape: RunTape = array._dpv_tape
    tape.refuse(what, remedy)


def of_the_same_records(arrays: Iterable[Any]) -> bool:
    """Whether columns are of one selection of records."""
    facts = [fact_of(one) for one in arrays]
    return all(isinstance(one, Rows) and isinstance(facts[0], Rows) and one.masks == facts[0].masks for one in facts)


def fact_of(array: FollowedArray) -> Rows | Total | NoiseFact:
    """What is known of an array."""
    if array._dpv_noise is not None:
        return array._dpv_noise
    assert array._dpv_number is not None
    return array._dpv_tape.fact(array._dpv_number)


def remade(array: FollowedArray, number: int | None, value: Any, noise: NoiseFact | None = None) -> FollowedArray:
    """An array on the same tape."""
    return FollowedArray(array._dpv_tape, number, value, noise=noise or (array._dpv_noise if number is None else None))


def operand(value: Any) -> TracedOperand:
    """What an operation is applied to."""
    if isinstance(value, FollowedArray):
        fact = fact_of(value)
        return TracedOperand(value._dpv_number, fact)
    if hasattr(value, "_dpv_array"):
        return operand(value._dpv_array())
    return TracedOperand(None, None, value)


def labelled(array: FollowedArray, labels: Labels | None) -> FollowedArray:
    """An array of which the labels are public."""
    array._dpv_labels = labels
    return array


def applied(operation: str, arrays: Sequence[Any], value: Any, /, **given: Any) -> FollowedArray:
    """The result of an operation, with its fact and its value on the dataset at hand."""
    for one in arrays:
        if isinstance(one, FollowedArray) and one._dpv_labels is not None:
            one._dpv_labels.must_allow(one, operation)
    tape = next(one._dpv_tape for one in arrays if isinstance(one, FollowedArray))
    number = tape.apply(operation, [operand(one) for one in arrays], given)
    return FollowedArray(tape, number, value)


def raw(value: Any) -> Any:
    """The value on the dataset at hand, for the trace alone."""
    if isinstance(value, FollowedArray):
        return value._dpv_value
    if isinstance(value, list | tuple):
        return type(value)(raw(one) for one in value)
    return value


def settled(value: Any) -> Any:
    """What an array that a function fills holds now; anything else as it is."""
    if type(value).__name__ == "Building":
        return value._dpv_settled()
    if type(value) in (list, tuple):
        return type(value)(settled(one) for one in value)
    if type(value) is dict:
        return {key: settled(one) for key, one in value.items()}
    return value


def is_rows(value: Any) -> bool:
    """Whether a value is an array of records."""
    return isinstance(value, FollowedArray) and isinstance(fact_of(value), Rows)


def is_total(value: Any) -> bool:
    """Whether a value is a statistic."""
    return isinstance(value, FollowedArray) and isinstance(fact_of(value), Total)


def is_noise(value: Any) -> bool:
    """Whether a value is draws."""
    return isinstance(value, FollowedArray) and value._dpv_noise is not None


def known_length(array: FollowedArray) -> bool:
    """Whether the number of records is public."""
    fact = fact_of(array)
    return isinstance(fact, Rows) and array._dpv_tape.setting.records is not None and not fact.masks


def length_of(array: FollowedArray) -> int:
    """The public number of records."""
    if known_length(array):
        return int(array._dpv_tape.setting.records or 0)
    no(array, f"len() or the shape of records: {_NO_SHAPE}" if not array._dpv_tape.setting.replace
       else "len() or the shape of selected records, or of records whose number the schema does not state",
       "count them, np.sum(mask) or np.count_nonzero, and add noise; or state records = n under replace-one")  # fmt: skip  # noqa: E501


def counted(array: FollowedArray) -> Any:
    """The number of records as a statistic."""
    return applied("count", [array], np.int64(len(array._dpv_value)), each=False, present=False)


def product_of_columns(one: FollowedArray, other: FollowedArray) -> FollowedArray:
    """x.T @ y."""
    value = np.asarray(raw(one)).T @ np.asarray(raw(other))
    return applied("product of columns", [one, other], value, dtype=str(np.asarray(value).dtype))


def public(array: Any, value: Any) -> Any:
    """A value that has to be public."""
    if isinstance(value, Followed) or hasattr(value, "_dpv_array"):
        no(array, "data where a public number is needed", "use a number that does not come from the table")
    if isinstance(value, Released):
        no(array, "data together with a noisy value, which decides how they are used",
           "clip and scale data by public numbers only")  # fmt: skip
    return value


def dtype_of(value: Any) -> str:
    """The dtype of a value."""
    return str(np.asarray(value).dtype)


def quiet_errors(tape: RunTape) -> None:
    """Refuse a setting of NumPy under which an operation tells of its data: by an error, a call or a message."""
    if not set(np.geterr().values()) <= {"ignore", "warn"}:
        tape.refuse("errors of NumPy that depend on data (np.seterr or np.errstate)", "use 'ignore' or 'warn'")


# elementwise functions ------------------------------------------------------------------------------------------------


def call_ufunc(tape: RunTape, function: Any, args: Sequence[Any]) -> Any:
    """One elementwise function of followed arrays and public values."""
    quiet_errors(tape)
    name = {"divide": "true_divide", "conjugate": "positive"}.get(function.__name__, function.__name__)
    given = [one for one in args if isinstance(one, FollowedArray)]
    if any(np.asarray(raw(one)).dtype.kind in "mM" for one in given):
        tape.refuse(
            "comparisons and arithmetic of dates",
            "use a frame, or put the day into the table as a number",
        )
    if any(isinstance(one, Transposed) for one in args):
        tape.refuse(f"np.{name} of transposed records", "work with x itself")
    if name in ("matmul", "vecdot"):
        return FUNCTIONS["matmul"](*args)
    if name == "clip":
        return FUNCTIONS[np.clip](*args)
    if any(is_noise(one) for one in given):
        return _with_noise(tape, name, function, args)  # pyright: ignore[reportArgumentType]
    if any(is_total(one) for one in given):
        if not all(is_total(one) for one in given):
            tape.refuse("records together with a statistic of them, so that a record meets all others",
                        "use public numbers in place of the statistic")  # fmt: skip
        return FUNCTIONS["of totals"](tape, name, function, args)
    if name == "power":
        return _power(tape, args)
    if name in ("floor_divide", "remainder"):
        return _whole_quotient(tape, name, function, args)
    if name not in ELEMENTWISE:
        tape.refuse(f"np.{name} of records", "what is covered is listed in docs/reference_tracing.md")
    with np.errstate(all="ignore"):
        value = function(*[raw(one) for one in args])
    arrays = [one if isinstance(one, FollowedArray) else np.asarray(one) for one in args]
    kind = "clipped by norm" if name in ("true_divide", "multiply") and _by_norm(tape, args) else "elementwise"
    return applied(kind, arrays, value, name=name, dtype=dtype_of(value))


def _by_norm(tape: RunTape, args: Sequence[Any]) -> bool:
    """Whether a factor was made of a norm, so that the rule of clipping may apply."""
    if not all(is_rows(one) for one in args) or len(args) != 2:
        return False
    for one in args:
        step = tape.setting.steps[one._dpv_number]
        while step.name == "index" and step.operands[0].number is not None:
            step = tape.setting.steps[step.operands[0].number]
        if step.name == "elementwise" and step.parameters["name"] in ("maximum", "minimum"):
            return True
    return False


def _power(tape: RunTape, args: Sequence[Any]) -> Any:
    base, exponent = args
    if isinstance(exponent, FollowedArray) or np.ndim(exponent) != 0:
        tape.refuse("a power with an exponent that is data", "use exp")
    if float(exponent) == 0.5:
        return np.sqrt(base)
    if float(exponent) == 1:
        return base * 1
    if float(exponent) == 2:
        return np.square(base)
    if float(exponent) in (3, 4):
        return np.multiply(np.square(base), base if float(exponent) == 3 else np.square(base))
    tape.refuse(f"the power {exponent} of records", "multiply, or use sqrt and exp")


def _whole_quotient(tape: RunTape, name: str, function: Any, args: Sequence[Any]) -> Any:
    one, divisor = args
    if isinstance(divisor, FollowedArray) or np.ndim(divisor) != 0 or not float(divisor) > 0:
        tape.refuse(f"np.{name} by something else than a positive number", "divide by a public number")
    value = function(raw(one), divisor)
    if name == "floor_divide":
        number = np.floor(np.true_divide(one, divisor))
        if np.asarray(value).dtype.kind in "iu":
            return number.astype(dtype_of(value))
        return number
    return applied("remainder", [one, divisor], value, dtype=dtype_of(value))


def _after_release(tape: RunTape, name: str, function: Any, args: Sequence[Any]) -> Any:
    """Fresh draws put to a noisy value: they are used by themselves, and what is made is free.

    A second draw of a one-sided law that is subtracted makes noise of both.
    """
    if name == "subtract" and is_noise(args[1]) and isinstance(args[0], Released) and len(args[0]._dpv_pending) == 1:
        whole = tape.made_two_sided(args[0]._dpv_pending[0], args[1]._dpv_noise)
        if whole is not None:
            return Released(tape, function(args[0]._dpv_value, raw(args[1])), (whole,))
    values = []
    for one in args:
        if isinstance(one, FollowedArray):
            assert one._dpv_noise is not None
            tape.use(one._dpv_noise)
            values.append(raw(one))
        else:
            values.append(plain(one))
    return Released(tape, function(*values))


def _with_noise(tape: RunTape, name: str, function: Any, args: Sequence[Any]) -> Any:
    """Draws times a public number, and draws added to a statistic or to a public number."""
    if len(args) == 1:
        (one,) = args
        if name in ("negative", "positive"):
            own: NoiseFact = one._dpv_noise
            return FollowedArray(tape, None, function(raw(one)), noise=_times(own, -1.0, own.scale)
                                 if name == "negative" else own)  # fmt: skip
        tape.refuse(f"np.{name} of noise", "add the noise to a statistic, and compute with the noisy value")
    one, other = args
    if name in ("multiply", "true_divide") and is_noise(one) != is_noise(other):
        noise, factor = (one, other) if is_noise(one) else (other, one)
        if isinstance(factor, Followed):
            tape.refuse("a scale of noise that depends on data", "use a scale of public numbers")
        if name == "true_divide" and noise is other:
            tape.refuse("a number divided by noise")
        value = function(raw(one), raw(other))
        made: NoiseFact = noise._dpv_noise
        if made.parameter is not None and np.any(np.abs(np.asarray(factor)) != 1):
            tape.refuse("whole-number noise times a factor", "draw it with the parameter that is meant")
        shape = np.shape(value)
        made = made.broadcast(shape)
        size = np.broadcast_to(np.abs(np.asarray(factor, dtype=np.float64)), shape)
        scale = np.asarray(directed(function, made.scale, size, up=False))
        return FollowedArray(tape, None, value, noise=_times(made, factor, scale, over=name == "true_divide"))
    if name not in ("add", "subtract"):
        tape.refuse(f"np.{name} of noise", "add the noise to a statistic, and compute with the noisy value")
    if is_noise(one) and is_noise(other):
        return FUNCTIONS["two noises"](tape, name, one, other, function)
    noise, rest = (one, other) if is_noise(one) else (other, one)
    if is_rows(rest):
        tape.refuse("noise added to each record", "sum first, and add noise to the sum")
    value = np.asarray(function(raw(one), raw(other)))
    if is_total(rest):
        release = tape.release(rest._dpv_number, noise._dpv_noise, raw(rest))
        return Released(tape, value[()] if value.ndim == 0 else value, (release,))
    tape.use(noise._dpv_noise)
    return Released(tape, value[()] if value.ndim == 0 else value)


def _times(noise: NoiseFact, factor: Any, scale: Any, *, over: bool = False) -> NoiseFact:
    """Draws times, or over, public numbers; the factors of their terms are exact, the scale is rounded down."""
    terms = noise.terms
    if terms is not None:
        numbers = np.broadcast_to(np.asarray(factor, dtype=np.float64), noise.shape).ravel().tolist()
        if any(not np.isfinite(one) or (over and one == 0) for one in numbers):
            terms = None
        else:
            exact = [1 / Fraction(one) if over else Fraction(one) for one in numbers]
            terms = tuple(added((), one, times) for one, times in zip(terms, exact, strict=True))
    return replace(noise, scale=scale, terms=terms)


def key_of(key: Any) -> Any:
    """A public index as JSON values."""
    return key_to_json(plain(key) if isinstance(key, tuple) else key)
