"""Checks of arguments that many mechanisms take: tables of records, dimensions, positive numbers."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, compare, exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import dot_exactly, sum_exactly
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text

MOST_QUERIES = 1 << 32
"""The largest dimension accepted: one record of it takes 32 GiB."""


def check_array(dataset: ArrayLike, record_shape: tuple[int, ...], low: float | Array, high: float | Array) -> Array:
    """The dataset as float64 of shape (n, *record_shape) with every entry in [low, high].

    Raises:
        InvalidValue: not numbers, another shape, NaN, or an entry out of range.
    """
    try:
        given = np.asarray(dataset)
        if given.dtype.kind not in "biuf":
            raise TypeError
        records = given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        remedy = "encode the attributes as real numbers"
        raise InvalidValue("dataset", dataset, "an array of real numbers", remedy) from None
    wanted = ("n", *record_shape)
    if records.ndim != len(wanted) or records.shape[1:] != record_shape:
        shape = "(" + ", ".join(map(str, wanted)) + ")"
        remedy = "give one record per row" + (" and match dim" if records.ndim == len(wanted) else "")
        raise InvalidValue("dataset", f"array of shape {records.shape}", f"of shape {shape}", remedy)
    if records.size and not (np.min(records - low if np.ndim(low) else records) >= (0.0 if np.ndim(low) else low)):
        raise _out_of_range(records, low, high)
    if records.size and not (np.max(records - high if np.ndim(high) else records) <= (0.0 if np.ndim(high) else high)):
        raise _out_of_range(records, low, high)
    return records


def check_whole_entries(records: Array, remedy: str, requirement: str = "a whole number") -> None:
    """Whether every entry of checked records is a whole number.

    Raises:
        InvalidValue: one is not.
    """
    wrong = records[records != np.floor(records)]
    if wrong.size:
        raise InvalidValue("dataset entry", float(wrong[0]), requirement, remedy)


def check_ball(dataset: ArrayLike, dim: int, norm: Literal["l1", "l2"], radius: Fraction) -> Array:
    """The dataset as float64 of shape (n, dim) with records of norm at most ``radius``, which is decided exactly.

    Raises:
        InvalidValue: not numbers, another shape, NaN, or a record that is too long.
    """
    largest = float_above(radius)
    records = check_array(dataset, (dim,), -largest, largest)
    norms = np.linalg.norm(records, 1 if norm == "l1" else 2, axis=1)
    for i in np.flatnonzero(norms > largest * (1 - 1e-9)).tolist():
        record = records[i]
        within = sum_exactly(np.abs(record)) <= radius if norm == "l1" else dot_exactly(record, record) <= radius**2
        if not within:
            remedy = "scale the record down (a factor 1 - 1e-15 undoes rounding), or build for a larger radius"
            requirement = f"of {norm} norm at most {exact_text(radius)}"
            raise InvalidValue("dataset record", f"number {i}", requirement, remedy)
    return records


def _out_of_range(records: Array, low: float | Array, high: float | Array) -> InvalidValue:
    inside = (records >= low) & (records <= high)
    value = float(records[~inside][0])
    bounds = f"in [{low}, {high}]" if np.ndim(low) == 0 else "within its coordinate's bounds"
    return InvalidValue("dataset entry", value, bounds, "clip the data before the release, and say so in the analysis")


def check_dim(dim: object, name: str = "dim") -> int:
    """A positive whole number.

    Raises:
        InvalidValue: zero, negative, or not a whole number.
    """
    remedy = f"give the number of {'queries' if name == 'dim' else name}"
    checked = check_whole(dim, name, least=1, remedy=remedy)
    if name == "dim" and checked > MOST_QUERIES:
        raise InvalidValue(name, dim, f"at most {MOST_QUERIES}", "a record has to fit in the memory")
    return checked


_POSITIVE = "give a positive number, for example '1' or '0.5'"


def check_positive(value: Exact, name: str, remedy: str = _POSITIVE) -> Fraction:
    """An exact number > 0.

    Raises:
        InvalidValue: not a number, not finite, zero or negative.
    """
    exact = exactly(value, name=name)
    if exact <= 0:
        raise InvalidValue(name, value, "> 0", remedy)
    return exact


def check_moderate(value: Exact, name: str, remedy: str = "choose units of moderate size") -> Fraction:
    """An exact number > 0 that float64 holds, with room for its square and for quotients.

    Raises:
        InvalidValue: not a number, or not between 2^-400 and 2^400.
    """
    exact = check_positive(value, name)
    if not Fraction(1, 1 << 400) <= exact <= 1 << 400:
        raise InvalidValue(name, value, "between 2^-400 and 2^400", remedy)
    return exact


def check_not_negative(value: Exact, name: str, remedy: str = "give a number that is not negative") -> Fraction:
    """An exact number >= 0.

    Raises:
        InvalidValue: not a number, not finite, or negative.
    """
    exact = exactly(value, name=name)
    if exact < 0:
        raise InvalidValue(name, value, ">= 0", remedy)
    return exact


def check_probability(value: Exact, name: str, remedy: str) -> Fraction:
    """An exact number between 0 and 1, neither of which it is.

    Raises:
        InvalidValue: anything else.
    """
    exact = exactly(value, name=name)
    if not 0 < exact < 1:
        raise InvalidValue(name, value, "in (0, 1)", remedy)
    return exact


def check_positive_real(value: Exact | Real, name: str, remedy: str) -> Real:
    """A real number that is certainly > 0.

    Raises:
        InvalidValue: it is not, or no precision tells.
    """
    number = Real.of(value, name=name)
    if compare(number, Real.of(0)) != 1:
        raise InvalidValue(name, _value_in_message(value), "> 0", remedy)
    return number


def check_not_negative_real(value: Exact | Real, name: str, remedy: str) -> Real:
    """A real number that is certainly >= 0.

    Raises:
        InvalidValue: it is not, or no precision tells.
    """
    number = Real.of(value, name=name)
    if compare(number, Real.of(0)) not in (0, 1):
        raise InvalidValue(name, _value_in_message(value), ">= 0", remedy)
    return number


def _value_in_message(value: Exact | Real) -> Exact:
    return value if not isinstance(value, Real) else str(value if value.rational is None else value.rational)


def check_whole(value: object, name: str, *, least: int | None, most: int | None = None, remedy: str) -> int:
    """A whole number in a range, of any type that is one (``__index__``); a truth value is none.

    Raises:
        InvalidValue: anything else.
    """
    checked = _index(value)
    if checked is None or (least is not None and checked < least) or (most is not None and checked > most):
        within = "" if least is None else f" >= {least}" if most is None else f" from {least} to {most}"
        raise InvalidValue(name, value, f"a whole number{within}", remedy)
    return checked


def check_seed(seed: object) -> int:
    """A whole number in 0..2**128 - 1.

    Raises:
        InvalidValue: anything else.
    """
    checked = _index(seed)
    if checked is None or not 0 <= checked < 2**128:
        remedy = "write one down, so that others can repeat the run"
        raise InvalidValue("seed", seed, "a whole number in 0..2**128 - 1", remedy)
    return checked


def _index(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array with __index__ and more than one number
        return None
