"""The functions of NumPy that are covered, as they act on followed arrays."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FUNCTIONS,
    FollowedArray,
    applied,
    dtype_of,
    fact_of,
    is_noise,
    is_rows,
    is_total,
    key_of,
    labelled,
    methods,
    no,
    product_of_columns,
    public,
    raw,
    remade,
)
from dpverdict.audit.tracing.handles.released import Followed, Released, made, plain
from dpverdict.audit.tracing.handles.tape import RunTape, two_sided
from dpverdict.audit.tracing.rules.facts import NoiseFact, Rows, Terms, Total, added, sums_of_draws

_ABSENT: Final = np._NoValue  # pyright: ignore[reportPrivateUsage]
_MOST_MAPPED: Final = 256
"""Draws of which a linear map is computed exactly."""


def covers(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register how functions of NumPy act."""

    def registered(act: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = act
        return act

    return registered


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a method of arrays."""

    def registered(act: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            methods()[name] = act
        return act

    return registered


def _first(*values: Any) -> Any:
    return next(one for one in values if isinstance(one, FollowedArray))


def _nothing_else(array: Any, name: str, given: dict[str, Any], *known: str) -> None:
    for key, value in given.items():
        if key not in known and value is not None and value is not _ABSENT:
            no(array, f"np.{name} with {key}=", "leave it out")


# indexing -------------------------------------------------------------------------------------------------------------


def _getitem(array: FollowedArray, key: Any) -> Any:
    fact = fact_of(array)
    if isinstance(key, Released):
        no(array, "data that are picked by a noisy value", "release all of them")
    if isinstance(fact, Rows):
        return _of_records(array, fact, key)
    if isinstance(key, tuple):
        key = tuple(public(array, one) for one in key)
    places = np.arange(int(np.prod(fact.shape, dtype=np.int64))).reshape(fact.shape)[public(array, key)]
    return _picked(array, places, viewed=True)


def _picked(array: FollowedArray, places: Any, *, viewed: bool = False) -> FollowedArray:
    """Coordinates of a statistic, or some of the draws, by their places."""
    fact, places = fact_of(array), np.asarray(places)
    value = np.asarray(array._dpv_value).ravel()[places]
    if isinstance(fact, NoiseFact):
        picked = FollowedArray(array._dpv_tape, None, value, noise=fact.picked(places))
        if viewed:
            array._dpv_owned = picked._dpv_owned = False  # a view: neither may be changed in place
        return picked
    found = applied("pick", [array], value, places=places.ravel().tolist(), shape=list(places.shape))
    if viewed:
        array._dpv_owned = found._dpv_owned = False
    return found


def _of_records(array: FollowedArray, fact: Rows, key: Any) -> Any:
    if isinstance(key, FollowedArray) or hasattr(key, "_dpv_array"):
        return selected(array, key)
    if not isinstance(key, tuple):
        if isinstance(key, slice) and key == slice(None):
            key = (key,)
        elif key is Ellipsis:
            key = (slice(None),)
        else:
            no(array, "records that are picked by their position", "records have no order: use a mask, x[x > 0]")
    first, *rest = key
    if first is Ellipsis and len(rest) <= len(fact.shape):
        first, rest = slice(None), [slice(None)] * (len(fact.shape) - len(rest)) + rest
    if isinstance(first, FollowedArray):
        picked = selected(array, first)
        return picked[(slice(None), *rest)] if rest else picked
    if not (isinstance(first, slice) and first == slice(None)):
        no(array, "records that are picked by their position", "records have no order: use a mask, x[x > 0]")
    if not rest:
        return array
    inner = tuple(public(array, one) for one in rest)
    value = array._dpv_value[(slice(None), *inner)]
    found = applied("index", [array], value, key=key_of(inner))
    array._dpv_owned = found._dpv_owned = False  # a view: neither may be changed in place
    return found


def selected(array: FollowedArray, mask: Any) -> FollowedArray:
    """The records where a mask is true."""
    mask = mask._dpv_array() if hasattr(mask, "_dpv_array") else mask
    if not is_rows(mask) or mask.dtype.kind != "b":
        no(array, "records that are picked by numbers made of data", "use a mask of truth values")
    return labelled(applied("select", [array, mask], array._dpv_value[raw(mask)]), array._dpv_labels)


def _setitem(array: FollowedArray, key: Any, value: Any) -> None:
    fact = fact_of(array)
    if not array._dpv_owned:
        no(array, "an array that is changed in place while another one shows the same numbers",
           "work on a copy: x = x.copy(), or use np.where")  # fmt: skip
    if isinstance(fact, Rows) and isinstance(key, FollowedArray):
        mask = key
        if isinstance(value, FollowedArray):
            no(array, "data written into the records of a mask, which raises unless there are as many of them",
               "use np.where(mask, value, x)")  # fmt: skip
        if len(fact.shape) != len(fact_of(mask).shape):
            mask = mask[:, None] if fact_of(mask).shape == () else mask
        found: Any = np.where(mask, value, array)
        if found.dtype != array.dtype:
            found = found.astype(array.dtype)
        array._dpv_number, array._dpv_value = found._dpv_number, found._dpv_value
        return
    no(array, "an item of data that is set in place", "use np.where, or build a new array")


FUNCTIONS["getitem"] = _getitem
FUNCTIONS["setitem"] = _setitem


# statistics, by operation ---------------------------------------------------------------------------------------------


def _of_totals(tape: RunTape, name: str, function: Any, args: Sequence[Any]) -> Any:
    """An elementwise function of statistics and public values."""
    totals = [one for one in args if is_total(one)]
    fact = fact_of(totals[0])
    assert isinstance(fact, Total)
    with np.errstate(all="ignore"):
        value = function(*[raw(one) for one in args])
    dtype = dtype_of(value)
    arrays = [one if isinstance(one, FollowedArray) else np.asarray(one) for one in args]
    weights = _weights(tape, name, arrays, value)
    if weights is not None:
        return weights
    if name in ("add", "subtract", "multiply", "true_divide"):
        return applied("move", arrays, value, name=name, dtype=dtype)
    if name in ("maximum", "minimum", "fmax", "fmin"):
        if len(totals) > 1:
            tape.refuse(f"np.{name} of two statistics", "add noise to each, and compare the noisy values")
        rest = next(one for one in arrays if not isinstance(one, FollowedArray))
        return applied("not steeper", [totals[0], rest], value, dtype=dtype, name=name)
    if name in ("negative", "positive"):
        return applied("negative", arrays, value, dtype=dtype) if name == "negative" else _copied(totals[0])
    if name in ("absolute", "fabs"):
        return applied("absolute", arrays, value)
    if name in ("floor", "ceil", "trunc"):
        return applied("rounded", arrays, value, dtype=dtype, name=name)
    if name == "exp":
        return applied("weights", arrays, value)
    if name == "rint" and fact.dtype.startswith("int"):
        return applied("converted", arrays, value, dtype=dtype)
    if name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        tape.refuse(
            "a comparison of a statistic, and so a branch on data", "add noise first, and compare the noisy value"
        )
    tape.refuse(f"np.{name} of a statistic, of which no bound is known",
                "add noise first, and compute with the noisy value")  # fmt: skip


def _weights(tape: RunTape, name: str, arrays: Sequence[Any], value: Any) -> Any:
    """What is done with scores on their way to the weights of a choice; None if this is nothing of that kind."""
    fact = fact_of(_first(*arrays))
    if not isinstance(fact, Total) or len(arrays) != 2:
        return None
    if name == "subtract" and all(isinstance(one, FollowedArray) for one in arrays):
        top = tape.setting.steps[arrays[1]._dpv_number]
        if top.name == "from the largest" and top.parameters.get("largest") and top.operands[0].number == arrays[
            0
        ]._dpv_number:  # fmt: skip
            return applied("from the largest", [arrays[0]], value, largest=False)
    if fact.up_to_a_shift and not fact.weights and name in ("multiply", "true_divide"):
        if isinstance(arrays[0], FollowedArray) and not isinstance(arrays[1], FollowedArray):
            return applied("scaled scores", arrays, value, name=name, dtype=dtype_of(value))
        if name == "multiply" and not isinstance(arrays[0], FollowedArray):
            return applied("scaled scores", arrays[::-1], value, name=name, dtype=dtype_of(value))
    if fact.weights and name == "true_divide" and all(isinstance(one, FollowedArray) for one in arrays):
        bottom = tape.setting.steps[arrays[1]._dpv_number]  # pyright: ignore[reportArgumentType, reportCallIssue]
        if bottom.name == "normalised weights" and bottom.parameters.get("sum") and (
            bottom.operands[0].number == arrays[0]._dpv_number
        ):  # fmt: skip
            return applied("normalised weights", [arrays[0]], value, sum=False)
    return None


FUNCTIONS["of totals"] = _of_totals


def _two_noises(tape: RunTape, name: str, one: FollowedArray, other: FollowedArray, function: Any) -> Any:
    """The difference of two geometric draws of one parameter."""
    a, b = one._dpv_noise, other._dpv_noise
    assert a is not None
    assert b is not None
    value = function(raw(one), raw(other))
    if name == "subtract" and a.law == b.law == "geometric" and a.parameter == b.parameter and a.shape == b.shape:
        if set(a.numbers.ravel().tolist()) & set(b.numbers.ravel().tolist()):
            tape.refuse("noise that is used twice", "draw noise for each number")
        tape.use(b)
        return FollowedArray(tape, None, value, noise=two_sided(a))
    same = a.law == b.law == "exponential" and a.shape == b.shape and bool((a.scale == b.scale).all())
    if name == "subtract" and same:
        if set(a.numbers.ravel().tolist()) & set(b.numbers.ravel().tolist()):
            tape.refuse("noise that is used twice", "draw noise for each number")
        tape.use(b)
        return FollowedArray(tape, None, value, noise=two_sided(a))
    if name in ("add", "subtract") and a.terms is not None and b.terms is not None:
        shape = np.broadcast_shapes(a.shape, b.shape)
        left, right = a.broadcast(shape).terms, b.broadcast(shape).terms
        assert left is not None
        assert right is not None
        times = Fraction(1 if name == "add" else -1)
        terms = [added(one, two, times) for one, two in zip(left, right, strict=True)]
        return FollowedArray(tape, None, value, noise=sums_of_draws(terms, shape))
    tape.refuse("a sum of draws", "draw from one law; or add one after the other to the statistic")


FUNCTIONS["two noises"] = _two_noises


def _axis(axis: Any, dims: int) -> Any:
    if axis is None or axis is _ABSENT:
        return None
    if isinstance(axis, tuple):
        return tuple(sorted(int(one) % dims for one in axis))
    return int(axis) % dims


def _aggregate(name: str, array: Any, axis: Any, keepdims: Any, dtype: Any = None) -> Any:
    fact = fact_of(array)
    if isinstance(fact, NoiseFact) and name == "sum":
        keep = keepdims is not _ABSENT and bool(keepdims)
        return _linear_in_draws(array, lambda one: np.sum(one, axis=public(array, axis), keepdims=keep))
    if isinstance(fact, NoiseFact):
        no(array, f"np.{name} of noise", "add the noise to a statistic, and compute with the noisy value")
    dims = array.ndim
    axis, keep = _axis(public(array, axis), dims), keepdims is not _ABSENT and bool(keepdims)
    function = getattr(np, name)
    extra = {} if dtype is None or dtype is _ABSENT else {"dtype": np.dtype(dtype)}
    with np.errstate(all="ignore"):
        value = function(raw(array), axis=axis, keepdims=keep, **extra)
    kind = dtype_of(value)
    if isinstance(fact, Total):
        return _along(array, fact, name, axis, keep, value)
    if axis in (0, None, (0,)) or axis == tuple(range(dims)):
        if keep:
            no(array, f"np.{name} of records with keepdims", "index the result: s[None]")
        whole = (axis is None or axis == tuple(range(dims))) and fact.shape != ()
        if name == "sum":
            return applied("sum", [array], value, all=whole, dtype=kind)
        return applied("mean", [array], value, all=whole, dtype=kind)
    if isinstance(axis, int):
        return applied("along the row", [array], value, axis=axis - 1, name=name, keepdims=keep, dtype=kind)
    no(array, f"np.{name} over several axes", "sum over one axis after another")


def _along(array: FollowedArray, fact: Total, name: str, axis: Any, keep: bool, value: Any) -> Any:
    if fact.weights:
        if name != "sum" or len(fact.shape) != 1:
            no(array, f"np.{name} of the weights of a choice")
        return applied("normalised weights", [array], value, sum=True)
    places = np.arange(len(fact.supports)).reshape(fact.shape)
    axes = tuple(range(len(fact.shape))) if axis is None else (axis,) if isinstance(axis, int) else axis
    kept = tuple(i for i in range(len(fact.shape)) if i not in axes)
    grouped = places.transpose((*kept, *axes)).reshape(int(np.prod([fact.shape[i] for i in kept], dtype=int)), -1)
    over = grouped.shape[1] if name == "mean" else 1
    return applied("sum of coordinates", [array], value, groups=grouped.tolist(), shape=list(np.shape(value)),
                   dtype=dtype_of(value), over=over)  # fmt: skip


@covers(np.sum)
def _sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _ABSENT, **given: Any) -> Any:
    _nothing_else(a, "sum", {"out": out, **given})
    return _aggregate("sum", a, axis, keepdims, dtype)


@covers(np.mean)
def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _ABSENT, **given: Any) -> Any:
    _nothing_else(a, "mean", {"out": out, "dtype": dtype, **given})
    return _aggregate("mean", a, axis, keepdims)


@covers(np.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, **given: Any) -> Any:
    _nothing_else(a, "average", {"weights": weights, **given})
    if returned:
        no(a, "np.average with returned=True")
    return _aggregate("mean", a, axis, _ABSENT)


def _row_extreme(name: str) -> Callable[..., Any]:
    def act(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _ABSENT, **given: Any) -> Any:
        _nothing_else(a, name, {"out": out, **given})
        fact = fact_of(a)
        if isinstance(fact, Rows) and fact.shape and axis is not None and _axis(axis, a.ndim) != 0:
            return _aggregate(name, a, axis, keepdims)
        if isinstance(fact, Total) and len(fact.shape) == 1 and axis is None and name == "max" and not fact.weights:
            return applied("from the largest", [a], np.max(raw(a)), largest=True)
        no(a, f"np.{name} of records or of a statistic",
           "add noise first; for records, count how many lie above public numbers")  # fmt: skip

    return act


_largest, _smallest = _row_extreme("max"), _row_extreme("min")
FUNCTIONS[np.max] = FUNCTIONS[np.amax] = _largest
FUNCTIONS[np.min] = FUNCTIONS[np.amin] = _smallest


@covers(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    truth = a if a.dtype.kind == "b" else a != 0
    if is_total(a):
        no(a, "np.count_nonzero of a statistic", "add noise first")
    return _aggregate("sum", truth, axis, keepdims or _ABSENT)


@covers(np.cumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    _nothing_else(a, "cumsum", {"dtype": dtype, "out": out})
    fact = fact_of(a)
    if isinstance(fact, NoiseFact) and len(fact.shape) == 1:
        return _linear_in_draws(a, np.cumsum)
    if not isinstance(fact, Total) or len(fact.shape) != 1:
        no(a, "np.cumsum of records, which depends on their order", "records have no order: use sums of masks")
    size = fact.shape[0]
    value = np.cumsum(raw(a))
    groups = [list(range(i + 1)) for i in range(size)]
    return applied("sum of coordinates", [a], value, groups=groups, shape=[size], dtype=dtype_of(value), over=1)


@covers(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, **given: Any) -> Any:
    _nothing_else(a, "diff", given)
    fact = fact_of(a)
    if not isinstance(fact, Total) or len(fact.shape) != 1 or n != 1:
        no(a, "np.diff of records, which depends on their order", "records have no order: use sums of masks")
    return a[1:] - a[:-1]


# elementwise ----------------------------------------------------------------------------------------------------------


@covers(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None,
          **given: Any) -> Any:  # fmt: skip
    low = a_min if min is None or min is _ABSENT else min
    high = a_max if max is None or max is _ABSENT else max
    array = _first(a, low, high)
    _nothing_else(array, "clip", {"out": out, **given})
    if not isinstance(a, FollowedArray):
        no(array, "a public number that is clipped to data")
    low = None if low is _ABSENT else public(array, low)
    high = None if high is _ABSENT else public(array, high)
    value = np.clip(raw(a), low, high)
    found: Any = a
    if low is not None:
        found = np.maximum(found, low)
    if high is not None:
        found = np.minimum(found, high)
    if found.dtype != value.dtype:
        return found.astype(value.dtype)
    return _copied(found) if found is a else found


def _copied(array: FollowedArray) -> FollowedArray:
    """The same numbers in an array of its own, as NumPy gives them: it may be changed in place by itself."""
    return labelled(remade(array, array._dpv_number, np.copy(raw(array))), array._dpv_labels)


@covers(np.where)
def _where(condition: Any, x: Any = _ABSENT, y: Any = _ABSENT) -> Any:
    if isinstance(x, Released) or isinstance(y, Released):
        public(_first(condition, x, y), x), public(_first(condition, x, y), y)  # pyright: ignore[reportUnusedExpression]
    array = _first(condition, x, y)
    if x is _ABSENT or y is _ABSENT:
        no(array, "np.where that gives positions of records", "use a mask")
    if not is_rows(condition) or any(is_total(one) for one in (x, y)):
        no(array, "np.where on a statistic", "add noise first")
    value = np.where(raw(condition), raw(x), raw(y))
    sides = [one if isinstance(one, FollowedArray) else np.asarray(one) for one in (x, y)]
    return applied("where", [condition, *sides], value, dtype=dtype_of(value))


@covers(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = list(condlist), list(choicelist)
    if not conditions or len(conditions) != len(choices):
        raise ValueError("list of cases must be same length as list of conditions")
    array = _first(*conditions, *choices, default)
    plain_choices = [one for one in (*choices, default) if not isinstance(one, FollowedArray)]
    if not all(is_rows(one) for one in conditions) or any(np.ndim(public(array, one)) for one in plain_choices):
        no(array, "np.select with conditions or choices that are no columns and no numbers", "use np.where")
    found = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = np.where(condition, choice, found)
    return found


@covers(np.nansum)
def _nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _ABSENT, **given: Any) -> Any:
    if is_rows(a) and a.dtype.kind == "f":
        a = _nan_to_num(a)
    return _sum(a, axis, dtype, out, keepdims, **given)


@covers(np.nan_to_num)
def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if not copy:
        no(x, "np.nan_to_num in place", "leave copy= out")
    _nothing_else(x, "nan_to_num", {"posinf": posinf, "neginf": neginf})
    if not is_rows(x):
        no(x, "np.nan_to_num of a statistic", "fill the records before the sum")
    value = np.nan_to_num(raw(x), nan=public(x, nan))
    return applied("fill", [x, np.asarray(nan)], value, dtype=dtype_of(value))


@covers(np.round, np.around)
def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    _nothing_else(a, "round", {"out": out})
    if decimals == 0:
        return np.rint(a) if a.dtype.kind == "f" else _copied(a)
    if not is_rows(a):
        no(a, "np.round of a statistic", "round the noisy value")
    factor = 10.0**decimals
    return np.rint(a * factor) / factor


@covers(np.isin)
def _isin(element: Any, test_elements: Any, **given: Any) -> Any:
    array = _first(element, test_elements)
    _nothing_else(array, "isin", {key: one for key, one in given.items() if one is not False})
    if not is_rows(element) or isinstance(test_elements, Followed):
        no(array, "np.isin with values that are data", "give public values")
    values = [one.item() if isinstance(one, np.generic) else one for one in public(array, test_elements)]
    return applied("isin", [element, values], np.isin(raw(element), values))


@covers(np.digitize)
def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    array = _first(x, bins)
    if not is_rows(x):
        no(array, "np.digitize with edges that are data", "give public edges")
    edges = np.asarray(public(array, bins))
    if np.any(np.diff(edges) <= 0):
        no(array, "np.digitize with edges that do not increase")
    return applied("digitize", [x, edges], np.digitize(raw(x), edges, right), right=bool(right))


@covers(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    array = _first(a, v)
    _nothing_else(array, "searchsorted", {"sorter": sorter})
    if isinstance(a, Followed):
        no(array, "np.searchsorted in data, which depends on their order", "give public edges")
    return _digitize(v, a, side == "left")


@covers(np.isclose)
def _isclose(*args: Any, **given: Any) -> Any:
    no(_first(*args), "np.isclose of data", "compare with < and >")


# counting -------------------------------------------------------------------------------------------------------------


@covers(np.bincount)
def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    array = _first(x, weights)
    if not is_rows(x) or (weights is not None and not is_rows(weights)):
        no(array, "np.bincount of something else than records")
    size = int(public(array, minlength))
    if size <= 0:
        no(array, "np.bincount without minlength, whose length depends on data", "give minlength=")
    values = np.asarray(raw(x))
    if values.dtype.kind in "iu":
        values = np.clip(values, 0, size - 1)
    value = np.bincount(values, None if weights is None else raw(weights), size)
    given = [x] if weights is None else [x, weights]
    return applied("bincount", given, value, size=size, dtype=dtype_of(value))


@covers(np.histogram)
def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    array = _first(a, weights, bins)
    if density:
        no(array, "np.histogram with density, which divides by the number of records", "divide the noisy counts")
    if not is_rows(a) or isinstance(bins, Followed) or isinstance(range, Followed):
        no(array, "np.histogram with bins that are data", "give public edges")
    if len(fact_of(a).shape) != 0:
        no(array, "np.histogram of several columns", "take one column")
    if np.ndim(public(array, bins)) == 0:
        if isinstance(bins, str) or range is None:
            no(array, "np.histogram with edges that depend on data", "give the edges, or bins=10, range=(0, 100)")
        edges = np.histogram_bin_edges(np.zeros(0), int(bins), tuple(public(array, range)))
    else:
        edges = np.asarray(bins, dtype=np.float64)
    value, _ = np.histogram(raw(a), edges, weights=None if weights is None else raw(weights))
    given = [a] if weights is None else [a, weights]
    return applied("histogram", given, value, edges=edges.tolist(), dtype=dtype_of(value)), edges


# products and norms ---------------------------------------------------------------------------------------------------


@covers(np.dot, np.matmul, "matmul", np.inner)
def _matmul(a: Any, b: Any, out: Any = None) -> Any:
    array = _first(a, b)
    _nothing_else(array, "matmul", {"out": out})
    for one in (a, b):
        if isinstance(one, Released):
            public(array, one)
    if is_noise(a) or is_noise(b):
        if isinstance(a, Followed) and isinstance(b, Followed):
            no(array, "a product of noise with data", "add the noise to the product")
        return _linear_in_draws(array, lambda one: np.matmul(one, b) if array is a else np.matmul(a, one))  # pyright: ignore[reportArgumentType]
    if is_rows(a) and is_rows(b):
        if fact_of(a).shape == ():
            return product_of_columns(a, b)
        no(array, "a product of records with records", "write x.T @ y")
    if is_rows(a) and not isinstance(b, Followed):
        return applied("row times matrix", [a, np.asarray(b)], raw(a) @ np.asarray(b), dtype=dtype_of(raw(a) @ b))
    if is_total(array):
        if isinstance(a, Followed) and isinstance(b, Followed):
            no(array, "a product of statistics, of which no bound is known", "add noise to each first")
        return _linear(array, lambda one: np.matmul(one, b) if array is a else np.matmul(a, one))  # pyright: ignore[reportArgumentType]
    no(array, "a product of public numbers with records", "write x.T @ y with columns of the table")


def _linear(array: FollowedArray, function: Callable[[Any], Any]) -> Any:
    """A linear map of a statistic, by what it does to each unit vector."""
    shape = fact_of(array).shape
    size = int(np.prod(shape, dtype=np.int64))
    if size > 4096:
        no(array, "a linear map of so many coordinates", "release fewer")
    columns = [np.asarray(function(np.eye(1, size, i).reshape(shape))) for i in range(size)]
    factors = np.stack([one.ravel() for one in columns], axis=1)
    value = function(raw(array))
    return applied("times matrix", [array, factors], value, shape=list(np.shape(value)))


def _linear_in_draws(array: FollowedArray, function: Callable[[Any], Any]) -> Any:
    """A linear map of Gaussian draws, exactly, by what it does to each unit vector."""
    noise = array._dpv_noise
    assert noise is not None
    size = noise.scale.size
    if noise.terms is None or size > _MOST_MAPPED:
        no(array, "a linear map of draws that are not Gaussian, or of many",
           "add the noise to a statistic, and compute with the noisy value")  # fmt: skip
    columns = [np.asarray(function(np.eye(1, size, i).reshape(noise.shape)), dtype=np.float64) for i in range(size)]
    shape = columns[0].shape
    factors = np.stack([one.ravel() for one in columns], axis=1)
    if not np.isfinite(factors).all():
        no(array, "noise times something that is no finite number")
    terms: list[Terms] = []
    for row in factors.tolist():
        found: Terms = ()
        for factor, one in zip(row, noise.terms, strict=True):
            found = added(found, one, Fraction(factor)) if factor else found
        terms.append(found)
    return FollowedArray(array._dpv_tape, None, function(raw(array)), noise=sums_of_draws(terms, shape))


@covers(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    weights = fact_of(x)
    if isinstance(weights, Total) and weights.weights and ord == 1 and axis is None:
        return np.sum(x)
    if not is_rows(x):
        no(x, "np.linalg.norm of a statistic, of which no bound is known", "add noise first")
    fact = fact_of(x)
    if len(fact.shape) != 1 or axis not in (1, -1) or ord not in (None, 1, 2):
        no(x, "np.linalg.norm over all records, or of another order", "write axis=1, of order 1 or 2")
    value = np.linalg.norm(raw(x), ord, axis=1, keepdims=keepdims)
    return applied("row norm", [x], value, order=1 if ord == 1 else 2, keepdims=bool(keepdims))


# shapes ---------------------------------------------------------------------------------------------------------------


def _reshaped(name: str) -> Callable[..., Any]:
    def act(a: Any, *args: Any, **given: Any) -> Any:
        fact = fact_of(a)
        if isinstance(fact, Rows):
            if name == "ravel" and fact.shape == ():
                return a
            shape = args[0] if len(args) == 1 else args
            if name == "reshape" and fact.shape == () and tuple(np.atleast_1d(shape)) == (-1, 1):
                return a[:, None]
            if name == "reshape" and np.size(shape) == 1 and fact.shape in ((), (1,)):
                return a if fact.shape == () else a[:, 0]
            if name == "squeeze":
                return a[:, 0] if fact.shape == (1,) else a
            no(a, f"np.{name} of records", "take columns: x[:, i], or x[:, None]")
        places = np.arange(int(np.prod(fact.shape, dtype=np.int64))).reshape(fact.shape)
        found = getattr(np, name)(places, *args, **given)
        return _picked(a, found, viewed=True)

    return act


for _name in ("reshape", "ravel", "squeeze", "transpose", "expand_dims", "flip", "roll", "repeat", "tile", "take",
              "broadcast_to", "atleast_1d", "atleast_2d", "swapaxes", "moveaxis", "diag", "diagonal", "triu_indices",
              "fliplr", "flipud"):  # fmt: skip
    if _name in ("atleast_1d", "atleast_2d", "flip", "roll", "repeat", "tile", "take", "transpose"):
        FUNCTIONS[getattr(np, _name)] = (
            lambda a, *args, name=_name, **given: (
                a if is_rows(a) and name == "atleast_1d" else no(a, f"np.{name} of records, which have no order")
                if is_rows(a) else _reshaped(name)(a, *args, **given)
            )
        )  # fmt: skip
    elif _name not in ("triu_indices", "diag"):
        FUNCTIONS[getattr(np, _name)] = _reshaped(_name)


@covers(np.copy)
def _copy(a: Any, *args: Any, **given: Any) -> Any:
    return labelled(remade(a, a._dpv_number, np.copy(raw(a))), a._dpv_labels)


@covers(np.shape)
def _shape(a: Any) -> Any:
    return a.shape


@covers(np.ndim)
def _ndim(a: Any) -> Any:
    return a.ndim


@covers(np.size)
def _size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


def _public_like(value: float) -> Callable[..., Any]:
    def act(a: Any, *args: Any, dtype: Any = None, **given: Any) -> Any:
        if is_rows(a):
            return a * 0 + value if a.dtype.kind in "iuf" else np.where(a == a, value, value)
        return np.full(fact_of(a).shape, value, dtype=dtype or a.dtype)

    return act


FUNCTIONS[np.zeros_like], FUNCTIONS[np.ones_like] = _public_like(0), _public_like(1)


def joined(parts: Sequence[Any], arrange: Callable[[Sequence[Any]], Any]) -> Any:
    """Statistics, noisy values and public numbers in one array, as ``arrange`` puts them."""
    parts = [_listed(one) if type(one) in (list, tuple) else one for one in parts]
    array = _first(*parts, *[one for one in parts if isinstance(one, Released)]) if any(
        isinstance(one, FollowedArray) for one in parts
    ) else None  # fmt: skip
    if any(isinstance(one, Released) for one in parts):
        if array is not None:
            no(array, "data and noisy values in one array", "add noise to each of them first")
        tape = next(one._dpv_tape for one in parts if isinstance(one, Released))
        pending = [one._dpv_pending for one in parts if isinstance(one, Released) and np.ndim(one._dpv_value) == 0]
        if len(pending) == len(parts) and all(len(one) == 1 for one in pending):
            values = arrange([one._dpv_value for one in parts])
            whole = tape.together([one[0] for one in pending], np.shape(values)) if np.ndim(values) == 1 else None
            if whole is not None:
                return Released(tape, values, (whole,))
        return made(tape, arrange([plain(one) for one in parts]))
    assert array is not None
    if all(is_noise(one) for one in parts):
        facts = [one._dpv_noise for one in parts]
        if len({(one.law, one.parameter) for one in facts}) > 1:
            no(array, "draws of several laws in one array", "add them to their statistics first")
        ends = np.cumsum([0, *(one.scale.size for one in facts)])
        places = arrange([np.arange(ends[i], ends[i + 1]).reshape(one.shape) for i, one in enumerate(facts)])
        terms = None if any(one.terms is None for one in facts) else tuple(t for one in facts for t in one.terms or ())
        noise = NoiseFact(facts[0].law, facts[0].parameter, np.concatenate([one.numbers.ravel() for one in facts]),
                      np.concatenate([one.scale.ravel() for one in facts]), terms).picked(places)  # fmt: skip
        return FollowedArray(array._dpv_tape, None, arrange([raw(one) for one in parts]), noise=noise)
    if any(is_noise(one) for one in parts):
        no(array, "noise beside other numbers in one array", "add it to its statistic first")
    if any(is_rows(one) for one in parts):
        no(array, "records stacked in a way that is not covered", "use np.column_stack, or np.stack with axis=1")
    sizes = np.cumsum([0, *(np.size(raw(one)) for one in parts)])
    places = arrange([np.arange(sizes[i], sizes[i + 1]).reshape(np.shape(raw(one))) for i, one in enumerate(parts)])
    value = arrange([raw(one) for one in parts])
    return applied("stack", [one if isinstance(one, FollowedArray) else np.asarray(one) for one in parts], value,
                   places=np.ravel(places).tolist(), shape=list(np.shape(places)), dtype=dtype_of(value))  # fmt: skip


def _side_by_side(parts: Sequence[Any], value: Any, *, new: bool) -> Any:
    return applied("columns", list(parts), value, new=new, dtype=dtype_of(value))


@covers(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **given: Any) -> Any:
    parts = list(arrays)
    _nothing_else(_first(*parts), "concatenate", {"out": out, **given})
    if all(is_rows(one) for one in parts) and axis in (1, -1) and all(one.ndim == 2 for one in parts):
        return _side_by_side(parts, np.concatenate([raw(one) for one in parts], axis=1), new=False)
    return joined(parts, lambda given: np.concatenate(given, axis=axis))


@covers(np.stack)
def _stack(arrays: Any, axis: int = 0, out: Any = None, **given: Any) -> Any:
    parts = list(arrays)
    _nothing_else(_first(*parts), "stack", {"out": out, **given})
    if all(is_rows(one) for one in parts) and axis in (1, -1) and all(one.ndim == 1 for one in parts):
        return _side_by_side(parts, np.stack([raw(one) for one in parts], axis=1), new=True)
    return joined(parts, lambda given: np.stack(given, axis=axis))


@covers(np.column_stack)
def _column_stack(tup: Any) -> Any:
    parts = [one[:, None] if is_rows(one) and one.ndim == 1 else one for one in tup]
    if all(is_rows(one) for one in parts):
        return _side_by_side(parts, np.column_stack([raw(one) for one in parts]), new=False)
    return joined(parts, np.column_stack)


@covers(np.hstack)
def _hstack(tup: Any, **given: Any) -> Any:
    return joined(list(tup), np.hstack)


@covers(np.vstack)
def _vstack(tup: Any, **given: Any) -> Any:
    if all(is_rows(one) for one in tup):
        no(_first(*tup), "np.vstack of records", "use np.column_stack, which gives records in rows")
    return joined(list(tup), np.vstack)


@covers(np.append)
def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    return joined([arr, values], lambda parts: np.append(parts[0], parts[1], axis=axis))


@covers(np.argmax)
def _argmax(a: Any, *args: Any, **given: Any) -> Any:
    no(a, "np.argmax of data", "add noise to the scores first")


@covers(np.var, np.std)
def _spread(a: Any, *args: Any, **given: Any) -> Any:
    no(a, "np.var or np.std of data", "release noisy sums of x, of x*x and a count, and compute it from these")


@covers(np.median, np.quantile, np.percentile, np.nanmedian)
def _quantile(a: Any, *args: Any, **given: Any) -> Any:
    no(a, "a median or quantile of data, which one record may move far",
       "choose among public candidates: scores = -abs(number below - number above), and rng.choice(k, p=...); or read "
       "it off a noisy histogram of public edges")  # fmt: skip


@covers(np.sort, np.argsort, np.unique)
def _order(a: Any, *args: Any, **given: Any) -> Any:
    no(a, "the order, or the distinct values, of data", "records have no order: count public values")


# methods --------------------------------------------------------------------------------------------------------------

method("sum")(lambda self, axis=None, dtype=None, out=None, keepdims=_ABSENT: _sum(self, axis, dtype, out, keepdims))
method("mean")(lambda self, axis=None, dtype=None, out=None, keepdims=_ABSENT: _mean(self, axis, dtype, out, keepdims))
method("max")(lambda self, axis=None, **given: _largest(self, axis, **given))
method("min")(lambda self, axis=None, **given: _smallest(self, axis, **given))
method("std", "var")(lambda self, *args, **given: _spread(self))
method("argmax")(lambda self, *args, **given: _argmax(self))
method("sort", "argsort")(lambda self, *args, **given: _order(self))
method("cumsum")(lambda self, *args, **given: _cumsum(self, *args, **given))
method("round")(lambda self, decimals=0, out=None: _round(self, decimals, out))
method("dot")(lambda self, other: _matmul(self, other))
method("copy")(lambda self, *args: _copy(self))
method("reshape")(lambda self, *args: _reshaped("reshape")(self, args[0] if len(args) == 1 else args))
method("ravel")(lambda self, *args: _reshaped("ravel")(self))
method("flatten")(lambda self, *args: _copied(_reshaped("ravel")(self)))
method("squeeze")(lambda self, *args: _reshaped("squeeze")(self))
method("transpose")(lambda self, *args: self.T)
method("item")(lambda self, *args: no(self, "data that become a plain number", "add noise first"))
method("tolist")(lambda self: no(self, "data that become a list", "add noise first"))


@method("clip")
def _clip_method(self: Any, min: Any = None, max: Any = None, out: Any = None, **given: Any) -> Any:
    return _clip(self, given.pop("a_min", min), given.pop("a_max", max), out, **given)


@method("astype")
def _astype(self: Any, dtype: Any, *args: Any, **given: Any) -> Any:
    if given.get("copy", True) is not True or args:
        no(self, ".astype with copy=False, which may give the same array", "leave it out")
    _nothing_else(self, "astype", given, "copy", "order", "casting")
    kind = np.dtype(dtype)
    if is_noise(self):
        if kind in (self.dtype, np.float64):
            return remade(self, None, np.array(raw(self), dtype=kind))
        no(self, f"noise converted to {kind}, of which only some numbers are left", "convert the noisy value")
    with np.errstate(all="ignore"):
        value = np.asarray(raw(self)).astype(kind)
    if is_rows(self):
        return applied("astype", [self], value, dtype=str(kind))
    return applied("converted", [self], value, dtype=str(kind))


@method("any", "all")
def _any(self: Any, *args: Any, **given: Any) -> Any:
    no(self, "whether any, or all, records are so", "count them, and add noise")


def array_of(value: Any, dtype: Any = None) -> Any:
    """np.array and np.asarray of what is followed, or of a list that holds it; None for anything else."""
    if isinstance(value, FollowedArray):
        return value if dtype is None or np.dtype(dtype) == value.dtype else _astype(value, dtype)
    if hasattr(value, "_dpv_array"):
        return array_of(value._dpv_array(), dtype)
    if isinstance(value, Released):
        return made(value._dpv_tape, np.asarray(plain(value), dtype=dtype))
    if isinstance(value, list | tuple) and _holds(value):
        inner = [one if _is_one_noisy_number(one) else array_of(one) if _holds_or_is(one) else one for one in value]
        found = joined(inner, lambda given: np.stack([np.asarray(one) for one in given]))
        return found if dtype is None else found.astype(dtype)
    return None


def _is_one_noisy_number(value: Any) -> bool:
    """Whether a value may become part of an array of noisy numbers of which only the largest is used."""
    return type(value) is Released and np.ndim(value._dpv_value) == 0


def _listed(value: Any) -> Any:
    found = array_of(value)
    return value if found is None else found


FUNCTIONS["array of"] = _listed


def _holds(value: Any) -> bool:
    return any(_holds_or_is(one) for one in value)


def _holds_or_is(value: Any) -> bool:
    return isinstance(value, Followed | Released) or (isinstance(value, list | tuple) and _holds(value))
