"""Numbers that are linear in draws: their data part, and the factor of every draw in them, entry by entry.

value = query + sum over r of gains[..., r] * draw number ids[..., r]

Sums, differences, multiples, sums along an axis and products with a matrix are linear; so is whatever only moves
entries about (slices, concatenations, `numpy.where`). Where data and noise meet, the tape notes a noisy value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.implementation.tap.tape import NoisyValue, Tape
from dpverdict.numerics.arrays import Array

MOST_TERMS: Final = 1 << 23
"""Factors of one array: beyond that its draws are no longer followed."""


@final
@dataclass(slots=True, eq=False)
class LinearForm:
    """Entries of one shape.

    Attributes:
        value: what the program sees.
        query: the part that does not come from draws.
        ids, gains: of shape (*shape, r); an id of -1 is no draw.
        source, entry: the noisy value that an entry is, by its number among the events of the tape and its place in
            it; -1 for a draw alone, or for data.
    """

    value: Any
    query: Array
    ids: NDArray[np.int64]
    gains: Array
    source: NDArray[np.int64]
    entry: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the entries."""
        return self.query.shape

    @property
    def drawn(self) -> bool:
        """Whether there is any draw in it."""
        return self.ids.shape[-1] > 0 and bool((self.ids >= 0).any())

    @property
    def mixed(self) -> bool:
        """Whether data are in it as well."""
        return bool((self.source >= 0).any())

    def gather(self, places: NDArray[np.int64]) -> LinearForm:
        """The entries at these places, counted in the flat order."""
        flat = places.ravel()
        width = self.ids.shape[-1]

        def take(array: Any) -> Any:
            return array.reshape(-1)[flat].reshape(places.shape)

        return LinearForm(
            take(np.asarray(self.value)),
            take(self.query),
            self.ids.reshape(self.query.size, width)[flat].reshape(*places.shape, width),
            self.gains.reshape(self.query.size, width)[flat].reshape(*places.shape, width),
            take(self.source),
            take(self.entry),
        )

    def spread(self, shape: tuple[int, ...]) -> LinearForm:
        """The same, broadcast."""
        if self.shape == shape:
            return self
        places = np.broadcast_to(np.arange(self.query.size).reshape(self.shape), shape)
        return self.gather(places)


def form_of_data(value: Any) -> LinearForm:
    """Data."""
    array = np.asarray(value)
    shape = array.shape
    none = np.full(shape, -1, dtype=np.int64)
    query = array if array.dtype == np.float64 else array.astype(np.float64)
    return LinearForm(array, query, np.zeros((*shape, 0), dtype=np.int64), np.zeros((*shape, 0)), none, none)


def drawn(values: Any, first: int) -> LinearForm:
    """Draws of unit scale, numbered from ``first`` on."""
    array = np.asarray(values)
    none = np.full(array.shape, -1, dtype=np.int64)
    ids = np.arange(first, first + array.size, dtype=np.int64).reshape(*array.shape, 1)
    return LinearForm(array, np.zeros(array.shape), ids, np.ones((*array.shape, 1)), none, none)


class TooManyTerms(Exception):
    """More terms than are followed."""


def merge_draws(ids: NDArray[np.int64], gains: Array) -> tuple[NDArray[np.int64], Array]:
    """The same sums, with every draw once in an entry."""
    width = ids.shape[-1]
    if width <= 1:
        return ids, gains
    if ids.size > MOST_TERMS:
        raise TooManyTerms
    order = np.argsort(ids, axis=-1, kind="stable")
    ids, gains = np.take_along_axis(ids, order, -1).copy(), np.take_along_axis(gains, order, -1).copy()
    for column in range(1, width):  # what equals its left neighbour takes it in
        same = (ids[..., column] == ids[..., column - 1]) & (ids[..., column] >= 0)
        gains[..., column] += np.where(same, gains[..., column - 1], 0.0)
        ids[..., column - 1] = np.where(same, -1, ids[..., column - 1])
    gains = np.where(ids < 0, 0.0, gains)
    kept = int((ids >= 0).sum(axis=-1).max(initial=0))
    order = np.argsort(ids < 0, axis=-1, kind="stable")[..., :kept]
    return np.take_along_axis(ids, order, -1), np.take_along_axis(gains, order, -1)


def add_forms(
    one: LinearForm, other: LinearForm, sign: int, ufunc: Callable[[Any, Any], Any], tape: Tape
) -> LinearForm:
    """one + sign * other."""
    shape = np.broadcast_shapes(one.shape, other.shape)
    one, other = one.spread(shape), other.spread(shape)
    ids = np.concatenate([one.ids, other.ids], axis=-1)
    gains = np.concatenate([one.gains, sign * other.gains], axis=-1)
    with np.errstate(all="ignore"):
        query, value = one.query + sign * other.query, ufunc(one.value, other.value)
    fresh = one.drawn is not other.drawn
    found = note_linear_step(value, query, ids, gains, (one, other), tape, data=fresh)
    if fresh and not (one.mixed or other.mixed):
        event = tape.events[-1]
        assert isinstance(event, NoisyValue)
        event.fresh = True
    return found


def scale_form(one: LinearForm, factor: Any, ufunc: Callable[[Any, Any], Any], tape: Tape) -> LinearForm:
    """A multiple, or a quotient: entry by entry."""
    factors = np.asarray(factor)
    shape = np.broadcast_shapes(one.shape, factors.shape)
    spread = one.spread(shape)
    with np.errstate(all="ignore"):
        value, query = ufunc(spread.value, factors), ufunc(spread.query, factors)
        gains = ufunc(spread.gains, np.broadcast_to(factors, shape)[..., None])
    return note_linear_step(value, np.asarray(query, dtype=np.float64), spread.ids, gains, (spread,), tape, data=False)


def sum_form(one: LinearForm, axis: int | tuple[int, ...] | None, tape: Tape, *, keepdims: bool = False) -> LinearForm:
    """Sums along axes."""
    axes = tuple(range(len(one.shape))) if axis is None else ((axis,) if isinstance(axis, int) else tuple(axis))
    axes = tuple(sorted(a % len(one.shape) for a in axes)) if one.shape else ()
    if one.ids.size > MOST_TERMS:
        raise TooManyTerms
    width = one.ids.shape[-1]
    kept = tuple(n for a, n in enumerate(one.shape) if a not in axes)
    ends = tuple(range(len(kept), len(one.shape)))

    def moved(array: Any) -> Any:
        terms = np.moveaxis(array, axes, ends)
        return terms.reshape(*kept, -1)

    value = np.add.reduce(np.asarray(one.value), axis=axes or None)
    query = np.add.reduce(one.query, axis=axes or None)
    ids, gains = (moved(array) for array in (one.ids, one.gains))
    if width == 0:
        ids, gains = np.zeros((*kept, 0), dtype=np.int64), np.zeros((*kept, 0))
    found = note_linear_step(value, np.asarray(query), ids, gains, (one,), tape, data=False)
    if keepdims:
        shape = tuple(1 if a in axes else n for a, n in enumerate(one.shape))
        found = found.gather(np.arange(found.query.size).reshape(shape))
    return found


def running_sums(one: LinearForm, axis: int, tape: Tape) -> LinearForm:
    """Running sums along an axis."""
    axis %= len(one.shape)
    n, width = one.shape[axis], one.ids.shape[-1]
    if one.ids.size * n > MOST_TERMS:
        raise TooManyTerms
    value, query = (np.add.accumulate(np.asarray(array), axis=axis) for array in (one.value, one.query))
    ids, gains = np.moveaxis(one.ids, axis, -2), np.moveaxis(one.gains, axis, -2)
    mask = np.tri(n, dtype=bool)[:, :, None]
    shape = (*ids.shape[:-2], n, n * width)
    ids = np.where(mask, ids[..., None, :, :], -1).reshape(shape)
    gains = np.where(mask, gains[..., None, :, :], 0.0).reshape(shape)
    return note_linear_step(
        value, query, np.moveaxis(ids, -2, axis), np.moveaxis(gains, -2, axis), (one,), tape, data=False
    )


def multiply_by_matrix(matrix: Array, one: LinearForm, tape: Tape) -> LinearForm:
    """matrix @ one for a matrix, or a vector, and a vector of entries."""
    rows = np.atleast_2d(matrix)
    if len(one.shape) != 1 or rows.ndim != 2 or rows.shape[0] * one.ids.size > MOST_TERMS:
        raise TooManyTerms
    value, query = matrix @ np.asarray(one.value), matrix @ one.query
    ids = np.broadcast_to(one.ids.reshape(1, one.ids.size), (len(rows), one.ids.size))
    gains = (rows[:, :, None] * one.gains[None]).reshape(len(rows), one.ids.size)
    shape = np.shape(query)
    return note_linear_step(
        value,
        np.asarray(query),
        ids.reshape(*shape, one.ids.size),
        gains.reshape(*shape, one.ids.size),
        (one,),
        tape,
        data=False,
    )


def note_linear_step(
    value: Any,
    query: Array,
    ids: NDArray[np.int64],
    gains: Array,
    parts: Sequence[LinearForm],
    tape: Tape,
    *,
    data: bool,
) -> LinearForm:
    """The result of a linear step; if data are in it, the tape notes it, and may give another value."""
    if ids.shape[-1]:
        tape.followed.update(np.unique(ids[(gains == 0.0) & (ids >= 0)]).tolist())  # multiplied by 0, they are nowhere
    ids, gains = merge_draws(ids, gains)
    shape = np.shape(query)
    none = np.full(shape, -1, dtype=np.int64)
    if not data and not any(part.mixed for part in parts):
        return LinearForm(value, query, ids, gains, none, none)
    return note_noisy_value(LinearForm(value, query, ids, gains, none, none), parts, tape)


def note_noisy_value(one: LinearForm, parts: Sequence[LinearForm], tape: Tape) -> LinearForm:
    """A noisy value of the tape, with the value that it gives."""
    width = one.ids.shape[-1]
    made = tape.noisy(
        one.query.reshape(-1).copy(),
        one.ids.reshape(one.query.size, width),
        one.gains.reshape(one.query.size, width),
        np.array(one.value).reshape(-1),
    )
    at = len(tape.events) - 1
    for part in parts:
        mark_carried(part, tape)
    return LinearForm(
        made.value.reshape(one.shape),
        one.query,
        one.ids,
        one.gains,
        np.full(one.shape, at, dtype=np.int64),
        np.arange(one.query.size, dtype=np.int64).reshape(one.shape),
    )


def mark_carried(one: LinearForm, tape: Tape) -> None:
    """Note that the entries went into another noisy value."""
    for source in np.unique(one.source):
        if source >= 0:
            event = tape.events[int(source)]
            assert isinstance(event, NoisyValue)
            event.carried[one.entry[one.source == source]] = True


def mark_escaped(one: LinearForm, how: str, tape: Tape) -> None:
    """Note that the entries were used in a step that is not linear."""
    alone = one.source < 0
    if one.ids.shape[-1]:
        tape.note_lost(one.ids[alone], how)
    for source in np.unique(one.source):
        if source >= 0:
            event = tape.events[int(source)]
            assert isinstance(event, NoisyValue)
            if event.hidden is None:
                event.hidden, event.hidden_at = how, len(tape.events)
