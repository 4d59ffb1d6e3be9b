"""Numbers and arrays that remember which draws are in them: NumPy's own types, as far as the function can tell.

An array keeps its memory of draws beside the memory of its numbers, so that a view shares both: what is changed in
place through a view is changed in the whole. A step that is not linear gives plain numbers, and the tape notes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.implementation.tap.linear_forms import (
    LinearForm,
    TooManyTerms,
    add_forms,
    drawn,
    form_of_data,
    mark_escaped,
    multiply_by_matrix,
    note_noisy_value,
    running_sums,
    scale_form,
    sum_form,
)
from dpverdict.audit.implementation.tap.tape import Choice, Draw, Tape, calling_line, current_tape
from dpverdict.audit.laws.uniform import Uniform
from dpverdict.numerics.arrays import Array, Integers

_ADDITIONS: Final = {np.add: 1, np.subtract: -1}
_COMPARISONS: Final = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
_REAL: Final = "fiu"


class TaggedCells:
    """What is remembered beside the memory of an array."""

    __slots__ = ("address", "entry", "gains", "ids", "itemsize", "query", "size", "source")
    address: int
    entry: Integers
    gains: Array
    ids: Integers
    itemsize: int
    query: Array
    size: int
    source: Integers

    def __init__(self, owner: NDArray[Any], one: LinearForm | None) -> None:
        self.address = owner.__array_interface__["data"][0]
        self.itemsize, self.size = owner.itemsize, owner.size
        if one is None:
            none = np.full(owner.size, -1, dtype=np.int64)
            self.query = np.asarray(owner, dtype=np.float64).reshape(-1).copy()
            self.ids, self.gains = np.zeros((owner.size, 0), dtype=np.int64), np.zeros((owner.size, 0))
            self.source, self.entry = none, none.copy()
        else:
            width = one.ids.shape[-1]
            self.query = np.array(one.query, dtype=np.float64).reshape(-1)
            self.ids = np.array(one.ids).reshape(owner.size, width)
            self.gains = np.array(one.gains).reshape(owner.size, width)
            self.source, self.entry = np.array(one.source).reshape(-1), np.array(one.entry).reshape(-1)

    def holds(self, array: NDArray[Any]) -> bool:
        """Whether an array lies in this memory."""
        at = int(array.__array_interface__["data"][0]) - self.address
        return 0 <= at < max(1, self.size * self.itemsize) and array.itemsize == self.itemsize

    def places(self, array: NDArray[Any]) -> NDArray[np.int64]:
        """Where the entries of an array lie in it."""
        start = (int(array.__array_interface__["data"][0]) - self.address) // self.itemsize
        found = np.full(array.shape, start, dtype=np.int64)
        for axis, (n, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
            steps = np.arange(n, dtype=np.int64) * (stride // self.itemsize)
            found += steps.reshape(n, *(1,) * (array.ndim - axis - 1))
        return found

    def read(self, array: NDArray[Any]) -> LinearForm:
        """What is remembered of an array that lies here."""
        at, width = self.places(array), self.ids.shape[-1]
        value = np.array(array, copy=True, subok=False)
        data = self.source[at] < 0
        tagged = (self.ids[at] >= 0).any(axis=-1) if width else np.zeros(at.shape, dtype=np.bool_)
        query = np.where(data & ~tagged, value, self.query[at])  # plain numbers may have been written past us
        return LinearForm(
            value,
            query,
            self.ids[at].reshape(*at.shape, width),
            self.gains[at].reshape(*at.shape, width),
            self.source[at],
            self.entry[at],
        )

    def write(self, array: NDArray[Any], one: LinearForm) -> None:
        """Remember an array that lies here."""
        one = one.spread(array.shape)
        at, width, held = self.places(array).reshape(-1), one.ids.shape[-1], self.ids.shape[-1]
        if held and (tape := current_tape()) is not None:
            tape.followed.update(np.unique(self.ids[at][self.ids[at] >= 0]).tolist())  # what is written over is gone
        if width > held:
            self.ids = np.pad(self.ids, ((0, 0), (0, width - held)), constant_values=-1)
            self.gains = np.pad(self.gains, ((0, 0), (0, width - held)))
        self.ids[at], self.gains[at] = -1, 0.0
        self.ids[at, :width], self.gains[at, :width] = (
            one.ids.reshape(len(at), width),
            one.gains.reshape(len(at), width),
        )
        self.query[at] = one.query.reshape(-1)
        self.source[at], self.entry[at] = one.source.reshape(-1), one.entry.reshape(-1)


class TaggedArray(np.ndarray[Any, np.dtype[Any]]):
    """An array with a memory of draws, or without one if it came from a step that is not followed."""

    tap_cells: TaggedCells | None

    def __array_finalize__(self, obj: Any) -> None:
        cells = getattr(obj, "tap_cells", None)
        self.tap_cells = cells if cells is not None and cells.holds(self) else None
        if (
            cells is not None
            and self.tap_cells is None
            and (tape := current_tape()) is not None
            and isinstance(obj, TaggedArray)
        ):
            mark_escaped(cells.read(obj), "copied", tape)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        return _apply_ufunc(ufunc, method, inputs, out, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _apply_function(func, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        if self.tap_cells is None or current_tape() is None:
            return without_tags(self)[_key_without_tags(key)]
        where = _key_without_tags(key)
        found = without_tags(self)[where]
        if isinstance(found, np.ndarray) and found.base is not None and self.tap_cells.holds(found):
            view = super().__getitem__(where)
            return view if isinstance(view, TaggedArray) else tagged_number(self.tap_cells.read(found))
        places = np.arange(self.size).reshape(self.shape)[where]
        return tagged_number(form_of(self).gather(np.asarray(places)))

    def __setitem__(self, key: Any, value: Any) -> None:
        where, given = _key_without_tags(key), form_of(value)
        tape = current_tape()
        if self.tap_cells is None or tape is None:
            if tape is not None:
                mark_escaped(given, "stored", tape)
            np.ndarray.__setitem__(without_tags(self), where, without_tags(value))
            return
        places = np.arange(self.size).reshape(self.shape)[where]
        whole = form_of(self)
        np.ndarray.__setitem__(without_tags(self), where, given.value)
        target = np.asarray(places)
        given = given.spread(np.broadcast_shapes(target.shape, given.shape)) if given.shape != target.shape else given
        given = given.gather(np.arange(given.query.size).reshape(target.shape))
        self.tap_cells.write(self, _with_entries_replaced(whole, target, given))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _same(self, name: str, *args: Any, **kwargs: Any) -> Any:
        places = getattr(np.arange(self.size).reshape(self.shape), name)(*args, **kwargs)
        return tagged_number(form_of(self).gather(np.asarray(places)))

    def copy(self, order: Any = "C") -> Any:
        """A copy, with its memory."""
        return self._same("copy")

    def __copy__(self) -> Any:
        return self._same("copy")

    def __deepcopy__(self, memo: Any) -> Any:
        return self._same("copy")

    def flatten(self, order: Any = "C") -> Any:
        """A flat copy."""
        return self._same("flatten", order)

    def ravel(self, order: Any = "C") -> Any:
        """A flat copy."""
        return self._same("ravel", order)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Repeated entries."""
        return self._same("repeat", repeats, axis=axis)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Some entries."""
        return self._same("take", indices, axis=axis)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The same numbers as floats; other types forget the draws."""
        to, tape = np.dtype(dtype), current_tape()
        if self.tap_cells is None or to.kind == "f":
            one = form_of(self)
            one.value = np.asarray(one.value).astype(to)
            return tagged_number(one) if one.drawn else without_tags(self).astype(dtype, *args, **kwargs)
        if tape is not None:
            mark_escaped(form_of(self), "transformed", tape)
        return without_tags(self).astype(dtype, *args, **kwargs)

    def tolist(self) -> Any:
        """Nested lists of numbers, which remember."""
        return [one.tolist() if isinstance(one, TaggedArray) else one for one in self] if self.ndim else self[()]

    def item(self, *args: Any) -> Any:
        """One number."""
        return self[np.unravel_index(args[0] if args else 0, self.shape)] if len(args) < 2 else self[args]

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, *, keepdims: Any = False, **_: Any) -> Any:
        """Means along axes."""
        total = np.add.reduce(self, axis=axis, keepdims=keepdims)
        return np.true_divide(total, self.size / max(1, np.size(without_tags(total))))

    def dot(self, other: Any, out: Any = None) -> Any:
        """The product of matrices."""
        return np.matmul(self, other)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Where the largest entry is: a selection."""
        return _select_by_axis(form_of(self), axis, 1, keepdims)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Where the smallest entry is: a selection."""
        return _select_by_axis(form_of(self), axis, -1, keepdims)

    def __float__(self) -> float:
        return float(self[()]) if self.ndim == 0 else float(self.item())

    def __reduce__(self) -> Any:
        return without_tags(self).__reduce__()


def _forgetting_method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (tape := current_tape()) is not None:
            mark_escaped(form_of(self), "transformed", tape)
        return getattr(without_tags(self).copy() if name in ("sort", "partition") else without_tags(self), name)(
            *(without_tags(one) for one in args), **{key: without_tags(one) for key, one in kwargs.items()}
        )

    method.__name__ = name
    return method


for _name in (
    "argsort",
    "searchsorted",
    "nonzero",
    "tobytes",
    "prod",
    "std",
    "var",
    "trace",
    "__int__",
    "__bool__",
    "choose",
    "compress",
    "argpartition",
    "tofile",
    "dumps",
):
    setattr(TaggedArray, _name, _forgetting_method(_name))


def _sorted_in_place(self: Any, *args: Any, **kwargs: Any) -> None:
    if (tape := current_tape()) is not None:
        mark_escaped(form_of(self), "transformed", tape)
    held, self.tap_cells = self.tap_cells, None
    np.ndarray.sort(without_tags(self), *args, **kwargs)
    if held is not None:
        held.write(self, form_of_data(without_tags(self)))
        self.tap_cells = held


TaggedArray.sort = _sorted_in_place  # type: ignore[method-assign]


def _arithmetic_method(ufunc: Any, *, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, list | tuple | str | bytes | dict | None.__class__):
            return NotImplemented
        kind = getattr(type(other), "__array_ufunc__", None)
        if kind is not None and not isinstance(other, np.ndarray | np.generic) and not hasattr(other, "tap_linear"):
            return NotImplemented
        if not hasattr(other, "__array_interface__") and not isinstance(other, int | float | np.generic | np.ndarray):
            other = _as_float(other)
            if other is NotImplemented:
                return NotImplemented
        return ufunc(other, self) if swapped else ufunc(self, other)

    return method


def _as_float(other: Any) -> Any:
    """A number of another type (Fraction, Decimal) as a float, where it is one."""
    if hasattr(type(other), "__torch_function__") or hasattr(other, "__array__"):
        return NotImplemented
    try:
        return float(other)
    except (TypeError, ValueError):
        return NotImplemented


_OPERATORS: Final = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
}


class TaggedFloat(np.float64):
    """A number that remembers its draws."""

    tap_linear: LinearForm

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        return _apply_ufunc(ufunc, method, inputs, out, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _apply_function(func, args, kwargs)

    def _forget(self) -> float:
        if (tape := current_tape()) is not None:
            mark_escaped(self.tap_linear, "transformed", tape)
        return self._plain()

    def _plain(self) -> float:
        return float(self.tap_linear.value)

    def __float__(self) -> float:
        tape = current_tape()
        if tape is not None:
            mark_escaped(self.tap_linear, "converted", tape)
        return self._plain()

    def __int__(self) -> int:
        return int(self._forget())

    def __round__(self, digits: Any = None) -> Any:
        return round(self._forget(), digits)

    def __bool__(self) -> bool:
        return bool(self._forget())

    def __hash__(self) -> int:
        return hash(self._plain())

    def item(self, *_: Any) -> Any:
        """Itself."""
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __reduce__(self) -> Any:
        return float, (self._plain(),)


class TaggedInt(np.int64):
    """A whole number that remembers its draws."""

    tap_linear: LinearForm

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        return _apply_ufunc(ufunc, method, inputs, out, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _apply_function(func, args, kwargs)

    def __hash__(self) -> int:
        return hash(int(self.tap_linear.value))

    def __reduce__(self) -> Any:
        return int, (int(self.tap_linear.value),)


for _name, _of in _OPERATORS.items():
    for _class in (TaggedFloat, TaggedInt):
        setattr(_class, f"__{_name}__", _arithmetic_method(_of, swapped=False))
        setattr(_class, f"__r{_name}__", _arithmetic_method(_of, swapped=True))
for _class in (TaggedFloat, TaggedInt):
    for _name, _of in zip(("lt", "le", "gt", "ge", "eq", "ne"), _COMPARISONS, strict=True):
        setattr(_class, f"__{_name}__", _arithmetic_method(_of, swapped=False))
    _class.__neg__ = lambda self: np.negative(self)  # type: ignore[method-assign]
    _class.__pos__ = lambda self: self  # type: ignore[method-assign]
    _class.__abs__ = lambda self: np.absolute(self)  # type: ignore[method-assign]


# in and out -----------------------------------------------------------------------------------------------------------


def without_tags(value: Any) -> Any:
    """The plain number or array."""
    if isinstance(value, TaggedArray):
        return value.view(np.ndarray)
    if isinstance(value, TaggedFloat):
        return np.float64(value.tap_linear.value)
    if isinstance(value, TaggedInt):
        return int(value.tap_linear.value)
    return value


def _key_without_tags(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_key_without_tags(one) for one in key)
    return without_tags(key)


def form_of(value: Any) -> LinearForm:
    """A number or array as data and draws."""
    if isinstance(value, TaggedArray):
        return (
            form_of_data(without_tags(value)) if value.tap_cells is None else value.tap_cells.read(without_tags(value))
        )
    found: LinearForm | None = getattr(value, "tap_linear", None)
    if found is not None:
        return found
    if isinstance(value, list | tuple) and has_tags(value):
        return form_of(tagged_array(value))
    return form_of_data(value)


def tagged_number(one: LinearForm) -> Any:
    """An array, or a number, that remembers."""
    array = np.array(one.value, order="C", copy=True)
    if not one.drawn and array.ndim == 0:
        return array[()]
    if array.ndim == 0:
        number: Any = TaggedInt(int(array)) if array.dtype.kind in "iu" else TaggedFloat(float(array))
        number.tap_linear = one
        return number
    found = array.view(TaggedArray)
    found.tap_cells = TaggedCells(array, one)
    return found


def array_with_memory(array: NDArray[Any]) -> Any:
    """A plain array that will remember what is written to it."""
    found = array.view(TaggedArray)
    found.tap_cells = TaggedCells(array, None)
    return found


def tagged(draw: Draw, *, loc: Any = None, scale: Any = None) -> Any:
    """What a sampler gives: loc + scale * draw."""
    tape = current_tape()
    assert tape is not None
    one = drawn(draw.values, draw.first)
    if scale is not None and not (np.ndim(scale) == 0 and np.all(np.equal(without_tags(scale), 1.0))):
        one = scale_form(one, without_tags(scale), np.multiply, tape)
    if loc is not None:  # also where it is 0: on the neighbour it may be another number
        one = add_forms(form_of(loc), one, 1, np.add, tape)
    return tagged_number(one)


def has_tags(value: Any, depth: int = 3) -> bool:
    """Whether there is a tagged number in a nested list."""
    if isinstance(value, list | tuple) and depth:
        return any(has_tags(one, depth - 1) for one in value)
    return isinstance(value, TaggedArray | TaggedFloat | TaggedInt)


def tagged_array(value: Any) -> Any:
    """A nested list of numbers as an array that remembers."""
    return tagged_number(_form_of_list(value))


def _form_of_list(value: Any) -> LinearForm:
    if not isinstance(value, list | tuple):
        return form_of(value)
    parts = [_form_of_list(one) for one in value]
    whole = _in_one_dimension(parts)
    size = parts[0].query.size if parts else 0
    return whole.gather(np.arange(len(parts) * size).reshape(len(parts), *(parts[0].shape if parts else ())))


def _in_one_dimension(parts: list[LinearForm]) -> LinearForm:
    """Entries one after the other, in one dimension."""
    width = max((one.ids.shape[-1] for one in parts), default=0)

    def flat(name: str) -> Any:
        return np.concatenate([np.asarray(getattr(one, name)).reshape(-1) for one in parts])

    def terms(name: str, fill: Any) -> Any:
        arrays = [getattr(one, name).reshape(one.query.size, one.ids.shape[-1]) for one in parts]
        pads = [((0, 0), (0, width - array.shape[1])) for array in arrays]
        return np.concatenate([np.pad(a, pad, constant_values=fill) for a, pad in zip(arrays, pads, strict=True)])

    if not parts:
        return form_of_data(np.zeros(0))
    return LinearForm(
        flat("value"), flat("query"), terms("ids", -1), terms("gains", 0.0), flat("source"), flat("entry")
    )


def _with_entries_replaced(whole: LinearForm, places: NDArray[np.int64], part: LinearForm) -> LinearForm:
    """Some entries of an array replaced."""
    width = max(whole.ids.shape[-1], part.ids.shape[-1])

    def widened(one: LinearForm) -> tuple[Any, Any]:
        more = width - one.ids.shape[-1]
        size = one.query.size
        ids = np.pad(
            one.ids.reshape(size, -1) if one.ids.shape[-1] else np.zeros((size, 0), dtype=np.int64),
            ((0, 0), (0, more)),
            constant_values=-1,
        )
        gains = np.pad(one.gains.reshape(size, -1) if one.gains.shape[-1] else np.zeros((size, 0)), ((0, 0), (0, more)))
        return ids, gains

    ids, gains = widened(whole)
    part_ids, part_gains = widened(part)
    at = places.reshape(-1)
    value, query = np.array(whole.value).reshape(-1), whole.query.reshape(-1).copy()
    source, entry = whole.source.reshape(-1).copy(), whole.entry.reshape(-1).copy()
    ids[at], gains[at] = part_ids, part_gains
    for array, given in ((value, part.value), (query, part.query), (source, part.source), (entry, part.entry)):
        array[at] = np.asarray(given).reshape(-1)
    shape = whole.shape
    return LinearForm(
        value.reshape(shape),
        query.reshape(shape),
        ids.reshape(*shape, width),
        gains.reshape(*shape, width),
        source.reshape(shape),
        entry.reshape(shape),
    )


# steps ----------------------------------------------------------------------------------------------------------------


def _apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], out: Any, kwargs: dict[str, Any]) -> Any:
    tape = current_tape()
    others = [*inputs, *(out or ())]
    if any(
        getattr(type(one), "__array_ufunc__", None) is not None
        and not isinstance(one, np.ndarray | np.generic | TaggedInt)
        for one in others
    ):
        return NotImplemented
    if tape is None:
        given = {} if out is None else {"out": tuple(without_tags(one) for one in out)}
        return getattr(ufunc, method)(*(without_tags(one) for one in inputs), **given, **kwargs)
    try:
        found = _linear_step(ufunc, method, inputs, kwargs, tape)
    except TooManyTerms:
        found = None
    if found is None:
        return _forget(ufunc, method, inputs, out, kwargs, tape)
    if isinstance(found, LinearForm):
        return _store_result(found, out, tape)
    if out is not None:
        np.copyto(without_tags(out[0]), found)
        return out[0]
    return found


def _store_result(found: LinearForm, out: Any, tape: Tape) -> Any:
    if out is None:
        return tagged_number(found)
    target = out[0]
    np.copyto(without_tags(target), found.value, casting="unsafe")
    if isinstance(target, TaggedArray) and target.tap_cells is not None:
        target.tap_cells.write(without_tags(target), found)
    else:
        mark_escaped(
            found, "stored", tape
        )  # only draws alone are lost by it: numbers with data in them are as recorded
    return target


def _linear_step(ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any], tape: Tape) -> Any:
    if method == "reduce" and ufunc is np.add and kwargs.get("where", True) is True and not kwargs.get("initial"):
        one = form_of(inputs[0])
        if np.asarray(one.value).dtype.kind not in _REAL or not one.drawn:
            return None
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        return sum_form(one, axis, tape, keepdims=bool(kwargs.get("keepdims", False)))
    if method == "accumulate" and ufunc is np.add:
        return running_sums(form_of(inputs[0]), kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0) or 0, tape)
    if method != "__call__" or kwargs.get("where", True) is not True:
        return None
    parts = [form_of(one) for one in inputs]
    if any(np.asarray(part.value).dtype.kind not in "fiub" for part in parts):
        return None
    has = [part.drawn for part in parts]
    if not any(has):
        return None
    if ufunc in _ADDITIONS:
        return add_forms(parts[0], parts[1], _ADDITIONS[ufunc], ufunc, tape)
    if ufunc is np.multiply and not all(has):
        one, factor = (parts[0], parts[1].value) if has[0] else (parts[1], parts[0].value)
        return scale_form(one, factor, np.multiply, tape)
    if ufunc is np.true_divide and not has[1]:
        return scale_form(parts[0], parts[1].value, np.true_divide, tape)
    if ufunc is np.negative:
        return scale_form(parts[0], -1, np.multiply, tape)
    if ufunc is np.positive:
        return parts[0]
    if ufunc is np.matmul and not all(has):
        if has[1]:
            return multiply_by_matrix(np.asarray(parts[0].value), parts[1], tape)
        if len(parts[0].shape) == 1:
            return multiply_by_matrix(np.asarray(parts[1].value).T, parts[0], tape)
        return None
    if ufunc in _COMPARISONS:
        return _compare_forms(ufunc, parts, tape)
    return None


def _compare_forms(ufunc: Any, parts: list[LinearForm], tape: Tape) -> Any:
    """A comparison: of a uniform number with a probability it is a coin, of noisy values it hides their difference."""
    one, other = parts
    for this, that, flipped in ((one, other, False), (other, one, True)):
        if not this.mixed and not that.drawn and _is_uniform_draw(this, tape):
            below = (ufunc in (np.less, np.less_equal)) is not flipped
            if ufunc in (np.equal, np.not_equal):
                break
            shape = np.broadcast_shapes(this.shape, that.shape)
            p = np.clip(np.broadcast_to(that.query, shape).reshape(-1), 0.0, 1.0)
            p = p if below else 1.0 - p
            tape.followed.update(int(i) for i in this.ids.reshape(-1))
            made = Choice(
                "coin", np.stack([p, 1.0 - p], axis=1), np.asarray(ufunc(one.value, other.value)), calling_line()
            )
            outcome = np.asarray(tape.choice(made)).reshape(shape)
            return outcome[()] if not shape else outcome
    if not (one.mixed or other.mixed):
        return None
    shape = np.broadcast_shapes(one.shape, other.shape)
    left, right = one.spread(shape), other.spread(shape)
    ids = np.concatenate([left.ids, right.ids], axis=-1)
    gains = np.concatenate([left.gains, -right.gains], axis=-1)
    none = np.full(shape, -1, dtype=np.int64)
    with np.errstate(all="ignore"):
        gap = LinearForm(left.value - right.value, left.query - right.query, ids, gains, none, none)
    found = note_noisy_value(gap, parts, tape)
    event: Any = tape.events[-1]
    event.hidden = "compared"
    if one.drawn is not other.drawn:  # with a number: an answer that can be made of the noisy value
        event.compared_values = tuple(int(source) for source in np.unique((one if one.drawn else other).source))
    answer = ufunc(np.asarray(found.value), 0.0)
    return answer if shape else answer[()]


def _is_uniform_draw(one: LinearForm, tape: Tape) -> bool:
    if one.ids.shape[-1] != 1 or not one.ids.size or np.any(one.gains != 1.0) or np.any(one.query):
        return False
    return isinstance(tape.draw_of(int(one.ids.reshape(-1)[0])).law, Uniform)


def _select_by_axis(one: LinearForm, axis: Any, sign: int, keepdims: bool) -> Any:
    tape = current_tape()
    if tape is None or not one.drawn:
        value = np.asarray(one.value)
        return (np.argmax if sign > 0 else np.argmin)(value, axis=axis, keepdims=bool(keepdims))
    rows = one if axis is not None else one.gather(np.arange(one.query.size))
    places = np.arange(rows.query.size).reshape(rows.shape)
    lines = np.moveaxis(places, axis if axis is not None else 0, -1)
    found = np.zeros(lines.shape[:-1], dtype=np.int64)
    for index in np.ndindex(*lines.shape[:-1]):
        line = rows.gather(lines[index])
        if sign < 0:
            line.value, line.query, line.gains = -np.asarray(line.value), -line.query, -line.gains
        note_noisy_value(line, (rows,), tape)
        event: Any = tape.events[-1]
        event.hidden = "selected"
        event.selection = int(np.argmax(event.value))
        found[index] = event.selection
    found = np.expand_dims(found, axis) if keepdims and axis is not None else found
    return found if found.ndim else int(found)


def _forget(ufunc: Any, method: str, inputs: Any, out: Any, kwargs: Any, tape: Tape) -> Any:
    """A step that is not linear: plain numbers."""
    for one in inputs:
        part = form_of(one)
        if part.drawn:
            mark_escaped(part, "transformed", tape)
    given = {} if out is None else {"out": tuple(without_tags(one) for one in out)}
    found = getattr(ufunc, method)(*(without_tags(one) for one in inputs), **given, **kwargs)
    for target in out or ():
        if isinstance(target, TaggedArray) and target.tap_cells is not None:
            target.tap_cells.write(without_tags(target), form_of_data(without_tags(target)))
    return out[0] if out is not None and len(out) == 1 else found


_MOVING: Final = (
    np.concatenate,
    np.stack,
    np.vstack,
    np.hstack,
    np.column_stack,
    np.append,
    np.reshape,
    np.ravel,
    np.transpose,
    np.repeat,
    np.tile,
    np.broadcast_to,
    np.take,
    np.squeeze,
    np.expand_dims,
    np.roll,
    np.flip,
    np.copy,
    np.delete,
    np.swapaxes,
    np.moveaxis,
    np.atleast_1d,
    np.atleast_2d,
    np.array_split,
    np.split,
    np.rot90,
    np.flipud,
    np.fliplr,
    np.dstack,
    np.hsplit,
    np.vsplit,
)
"""Functions that only move entries about."""


def _apply_function(func: Any, args: Any, kwargs: Any) -> Any:
    tape = current_tape()
    if tape is not None:
        if func in _MOVING and kwargs.get("out") is None:
            return _move_entries(func, args, kwargs, moved=2 if func is np.append else 1)
        if func is np.where and len(args) == 3:
            return _move_entries(lambda x, y: np.where(without_tags(args[0]), x, y), args[1:], kwargs, moved=2)
        if func in (np.sum,) and kwargs.get("out") is None:
            rest = {
                key: kwargs[key]
                for key in ("axis", "keepdims")
                if key in kwargs and kwargs[key] is not np._NoValue  # pyright: ignore[reportPrivateUsage]
            }
            axis = args[1] if len(args) > 1 else rest.pop("axis", None)
            return np.add.reduce(args[0], axis=axis, **rest)
        if func is np.mean and isinstance(args[0], TaggedArray):
            return args[0].mean(axis=args[1] if len(args) > 1 else kwargs.get("axis"))
        if func is np.cumsum:
            array = args[0]
            axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
            array = array.ravel() if axis is None else array
            given = {"out": kwargs["out"]} if kwargs.get("out") is not None else {}
            return np.add.accumulate(array, axis=axis or 0, **given)
        if func is np.dot and not (np.ndim(without_tags(args[0])) == 0 or np.ndim(without_tags(args[1])) == 0):
            return np.matmul(*args)
        if func is np.dot:
            return np.multiply(*args)
        if func in (np.argmax, np.argmin):
            axis = args[1] if len(args) > 1 else kwargs.get("axis")
            return _select_by_axis(
                form_of(args[0]), axis, 1 if func is np.argmax else -1, kwargs.get("keepdims", False) is True
            )
        if func is np.copyto and isinstance(args[0], TaggedArray) and len(args) == 2 and not kwargs:
            args[0][...] = args[1]
            return None
        if func in (np.zeros_like, np.empty_like, np.ones_like, np.full_like, np.shape, np.size, np.ndim):
            return func(*_without_tags_inside(args), **_without_tags_inside(kwargs))
        for one in _find_tagged((args, kwargs)):
            mark_escaped(form_of(one), "transformed", tape)
    return func(*_without_tags_inside(args), **_without_tags_inside(kwargs))


def _move_entries(func: Any, args: Any, kwargs: Any, *, moved: int = 1) -> Any:
    """Carry out a step that moves entries about on their places, and gather.

    Args:
        func: moves entries of its first ``moved`` arguments, each an array or a list of arrays.
    """
    held: list[LinearForm] = []
    start = 0

    def coded(value: Any) -> Any:
        nonlocal start
        if isinstance(value, list | tuple) and any(np.ndim(without_tags(one)) for one in value):
            return [coded(one) for one in value]
        one = _form_of_list(value)
        held.append(one)
        places = np.arange(start, start + one.query.size, dtype=np.int64).reshape(one.shape)
        start += one.query.size
        return places

    def several(value: Any) -> Any:
        """The list of arrays of a concatenation: its items stay apart."""
        return [coded(one) for one in value]

    take = several if func in _JOINING else coded
    places = func(
        *[take(one) for one in args[:moved]], *_without_tags_inside(args[moved:]), **_without_tags_inside(kwargs)
    )
    whole = _in_one_dimension(held)
    if isinstance(places, list | tuple):
        return type(places)(tagged_number(whole.gather(np.asarray(one))) for one in places)
    return tagged_number(whole.gather(np.asarray(places)))


_JOINING: Final = (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.dstack)


def _without_tags_inside(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_tags_inside(one) for one in value]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_without_tags_inside(one) for one in value)
    if isinstance(value, dict):
        return {key: _without_tags_inside(one) for key, one in value.items()}
    return without_tags(value)


def _find_tagged(value: Any, depth: int = 4) -> Iterator[Any]:
    if isinstance(value, TaggedArray | TaggedFloat | TaggedInt):
        yield value
    elif depth and isinstance(value, list | tuple):
        for one in value:
            yield from _find_tagged(one, depth - 1)
    elif depth and isinstance(value, dict):
        for one in value.values():
            yield from _find_tagged(one, depth - 1)
