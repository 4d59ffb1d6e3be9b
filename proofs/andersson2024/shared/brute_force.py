"""Digit systems and the three algorithms of Andersson et al. (2024), read literally and run by brute force.

Nothing of the algorithms is shared with `dpverdict.mechanisms`: the digits of a time are looked up in the list of all
digit strings, and the algorithms are the printed lines, with vertices as intervals of leaves. This project's tree
counters are made matrices (`factors`), to be compared with the columns so found. All arithmetic is on integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes, TreeStream
from dpverdict.numerics.arrays import Integers

Vertex = tuple[int, int]
"""An interval of leaves, both ends included."""


class Span(NamedTuple):
    """The lowest and the highest digit of a system as functions of the arity."""

    low: Callable[[int], int]
    high: Callable[[int], int]


ORDINARY = Span(lambda arity: 0, lambda arity: arity - 1)
OFFSET = Span(lambda arity: -((arity - 1) // 2), lambda arity: arity // 2)


def all_strings(span: Span, arity: int, width: int) -> tuple[Integers, Integers]:
    """(the number that a digit string stands for, the sum of its |digits|) for every string of the width."""
    digits = np.arange(span.low(arity), span.high(arity) + 1, dtype=np.int64)
    values, sizes = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for level in range(width):
        values = np.add.outer(digits * arity**level, values).ravel()
        sizes = np.add.outer(np.abs(digits), sizes).ravel()
    return values, sizes


@lru_cache(maxsize=128)
def sizes_in_time(span: Span, arity: int, width: int) -> Integers:
    """The l1 norm of the digits of t = 0, 1, ... up to the largest number of the width."""
    values, sizes = all_strings(span, arity, width)
    keep = values >= 0
    return sizes[keep][np.argsort(values[keep])]


def capacity(span: Span, arity: int, width: int) -> int:
    """The largest number of the width."""
    return sum(span.high(arity) * arity**level for level in range(width))


def least_height(span: Span, arity: int, horizon: int) -> int:
    """The least width that reaches the horizon."""
    width = 1
    while capacity(span, arity, width) < horizon:
        width += 1
    return width


@lru_cache(maxsize=256)
def digit_table(span: Span, arity: int, width: int) -> dict[int, tuple[int, ...]]:
    """The digits (t_1, ..., t_w) of every number, by going through all strings."""
    digits = range(span.low(arity), span.high(arity) + 1)
    return {sum(d * arity**i for i, d in enumerate(string)): string for string in product(digits, repeat=width)}


class Use(NamedTuple):
    """One vertex in the sum of one time step: on which level (1 = leaves), with which sign, and p afterwards."""

    level: int
    vertex: Vertex
    sign: int
    reached: int


class Lines(NamedTuple):
    """The lines of Algorithms 1 and 3 that choose a vertex at position p with blocks of k^(i-1) leaves."""

    added: Callable[[int, int], Vertex]
    subtracted: Callable[[int, int], Vertex]


PRINTED = Lines(lambda p, block: (p + 1, p + block), lambda p, block: (p - block + 1, p))
"""Line 11 of Algorithm 1 and line 12 of Algorithm 3; line 15 of Algorithm 3."""


def vertices_of(digits: tuple[int, ...], arity: int, lines: Lines = PRINTED) -> Iterator[Use]:
    """Lines 9-12 of Algorithm 1, or the loop of Algorithm 3: the vertices used for one time step, in order."""
    p = 0
    for i in range(len(digits), 0, -1):
        block, digit = arity ** (i - 1), digits[i - 1]
        for _ in range(abs(digit)):
            if digit > 0:
                vertex, p = lines.added(p, block), p + block
                yield Use(i, vertex, 1, p)
            else:
                vertex, p = lines.subtracted(p, block), p - block
                yield Use(i, vertex, -1, p)


def indices_of(digits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Lines 7-11 of Algorithm 2: the indices q of the noises used for one time step, in order."""
    q = [0] * len(digits)
    for i in range(len(digits), 0, -1):
        for _ in range(abs(digits[i - 1])):
            q[i - 1] += 1 if digits[i - 1] > 0 else -1
            yield tuple(q)


class Instance(NamedTuple):
    """An arity and a horizon."""

    arity: int
    horizon: int

    def digits(self, span: Span) -> list[tuple[int, ...]]:
        """The digits of t = 1..T, with the least number of them."""
        table = digit_table(span, self.arity, least_height(span, self.arity, self.horizon))
        return [table[time] for time in range(1, self.horizon + 1)]

    def height(self, span: Span) -> int:
        """The least number of digits."""
        return least_height(span, self.arity, self.horizon)


def instances(span: Span, arities: range, most: int) -> list[Instance]:
    """Horizons 1..20, and about each full horizon up to ``most``, for every arity."""
    found = []
    for arity in arities:
        full = [capacity(span, arity, width) for width in range(1, 9)]
        near = {t + step for t in full for step in (-1, 0, 1)} | set(range(1, 21))
        found += [Instance(arity, horizon) for horizon in sorted(near) if 1 <= horizon <= most]
    return found


NOWHERE: Vertex = (0, 0)
"""The interval of a vertex whose leaves all come after the horizon."""


class Column(NamedTuple):
    """A noise or vertex: the times at which it is used, as bits, and the signed interval of items 1..T below it."""

    times: int
    interval: Vertex
    sign: int


def columns(instance: Instance, span: Span, lines: Lines = PRINTED) -> dict[Vertex, Column]:
    """The vertices used at t = 1..T by the printed lines."""
    found: dict[Vertex, Column] = {}
    for time, digits in enumerate(instance.digits(span), 1):
        for use in vertices_of(digits, instance.arity, lines):
            first, last = use.vertex
            inside = first <= instance.horizon
            cut = (first, min(last, instance.horizon)) if inside else NOWHERE
            former = found.get(use.vertex, Column(0, cut, 0))
            found[use.vertex] = Column(former.times | 1 << time, cut, use.sign if inside else 0)
    return found


class Factors(NamedTuple):
    """L of shape (T, n) and R of shape (n, T): the noisy counts are L (R x + z)."""

    left: Integers
    right: Integers


def system_of(span: Span, arity: int) -> TreeDigits:
    """The project's digit system with this span."""
    return TreeDigits.ordinary(arity) if span is ORDINARY else TreeDigits.offset(arity)


def factors(instance: Instance, span: Span) -> Factors:
    """L and R as the counter of this project applies them; their entries are small integers, so floats are exact."""
    nodes = TreeNodes(system_of(span, instance.arity), instance.horizon)
    left = nodes.decode(np.eye(nodes.size)).T
    right = nodes.embed(np.eye(instance.horizon)).T
    return Factors(np.rint(left).astype(np.int64), np.rint(right).astype(np.int64))


def is_prefix_sum(made: Factors) -> bool:
    """L R = A, the lower-triangular matrix of ones."""
    horizon = made.left.shape[0]
    return bool(np.array_equal(made.left @ made.right, np.tril(np.ones((horizon, horizon), dtype=np.int64))))


def sensitivity(made: Factors, power: int = 1) -> int:
    """The largest column sum of |R|^power."""
    return int((np.abs(made.right) ** power).sum(axis=0).max())


def counted(made: Factors) -> Counter[Column]:
    """The columns of L with the rows of R that belong to them."""
    found: Counter[Column] = Counter()
    for usage, row in zip(made.left.T, made.right, strict=True):
        places = np.flatnonzero(row).tolist()
        times = sum(1 << (t + 1) for t in np.flatnonzero(usage).tolist())
        interval = (places[0] + 1, places[-1] + 1) if places else NOWHERE
        found[Column(times, interval, int(row[places[0]]) if places else 0)] += 1
    return found


def stack_columns(instance: Instance, span: Span) -> Counter[int]:
    """The times at which each noise of the stack form is in use, as bits: fresh noises are 1, 2, 4, 8, ..."""
    drawn = [0]

    def draw() -> int:
        drawn[0] += 1
        return 1 << (drawn[0] - 1)

    stream = TreeStream(system_of(span, instance.arity), instance.height(span), draw, 0)
    times: dict[int, int] = {}
    for time in range(1, instance.horizon + 1):
        live = int(stream.advance())
        while live:
            noise = live & -live
            times[noise] = times.get(noise, 0) | 1 << time
            live ^= noise
    return Counter(times.values())
