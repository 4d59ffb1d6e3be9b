"""Prefix sums from the sums over dyadic intervals: the binary tree, Honaker's estimate from below, the smooth tree.

The node e of level l is the interval of items (e - 1) 2^l + 1 .. e 2^l. The prefix sum up to t is the sum of one node
for every one in the binary digits of t. The binary tree releases those nodes only. Honaker releases every node, and
replaces the value of a used node of level l by the best linear estimate from it and all nodes below it:

    estimate = v_l own value + (1 - v_l)(sum of its children's estimates),      v_l = 2^l/(2^(l + 1) - 1),

whose variance is v_l times that of one node.

The smooth binary mechanism is a binary tree in which only balanced leaves hold items: the numbers of h bits of which
h/2 are ones, s(1) < s(2) < ...; item i sits at leaf s(i). The items before leaf s(t + 1) are those up to t, and they
are covered by the left siblings of the h/2 ones of s(t + 1): every output uses h/2 nodes, so all have the same
variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.balls import Real
from dpverdict.mechanisms.streams.sensitivity import Column
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes, TreeStream
from dpverdict.numerics.arrays import Array, Integers

_BITS = TreeDigits.ordinary(2)


@final
class BinaryTree:
    """The binary tree mechanism with left nodes only: h = ceil(log2(T + 1)) levels.

    Reference: Andersson, Pagh and Torkamani 2024, Algorithm 1 with k = 2 (arXiv:2408.07021v2).
    """

    source = "Andersson, Pagh and Torkamani 2024, Algorithm 1 with k = 2"

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self._nodes = TreeNodes(_BITS, horizon)

    @property
    def size(self) -> int:
        """The number of noise values."""
        return self._nodes.size

    def l1_sensitivity(self) -> Real:
        """h: item 1 is in that many nodes."""
        return Real.of(self._nodes.height)

    def l2_sensitivity_squared(self) -> Real:
        """h."""
        return Real.of(self._nodes.height)

    def column(self, item: int) -> Column:
        """A one for every used node that holds the item."""
        return ((Fraction(1), self._nodes.paths(item)),)

    def row_squared(self, time: int) -> Real:
        """The number of ones of t."""
        return Real.of(time.bit_count())

    def mean_row_squared(self) -> Real:
        """Its mean over t = 1..T."""
        return Real.of(Fraction(_BITS.total_size(self.horizon), self.horizon))

    def embed(self, streams: Array) -> Array:
        """R x: shape (n, T) -> (n, size)."""
        return self._nodes.embed(streams)

    def decode(self, noisy: Array) -> Array:
        """L y: shape (n, size) -> (n, T)."""
        return self._nodes.decode(noisy)

    def stream(self, draw: Callable[[], float]) -> TreeStream:
        """The noise of L z, step by step."""
        return TreeStream(_BITS, self._nodes.height, draw, 0.0)


@final
class Honaker:
    """The binary tree with every used node estimated from itself and all nodes below it.

    Reference: Honaker 2015, "Efficient use of differentially private binary trees"; Andersson, Pagh and Torkamani 2024,
    Table 1 (arXiv:2408.07021v2).
    """

    source = "Honaker 2015, estimation from below"

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self._counts = [horizon >> level for level in range(horizon.bit_length())]

    @property
    def size(self) -> int:
        """The number of noise values: one for every complete node."""
        return sum(self._counts)

    def l1_sensitivity(self) -> Real:
        """h: item 1 is in a complete node of every level."""
        return Real.of(len(self._counts))

    def l2_sensitivity_squared(self) -> Real:
        """h."""
        return Real.of(len(self._counts))

    def column(self, item: int) -> Column:
        """A one for every complete node that holds the item."""
        held = sum((item - 1) >> level < count for level, count in enumerate(self._counts))
        return ((Fraction(1), held),)

    def row_squared(self, time: int) -> Real:
        """The sum of v_l over the ones of t."""
        return Real.of(sum((own_weight(level) for level in range(time.bit_length()) if time >> level & 1), Fraction(0)))

    def mean_row_squared(self) -> Real:
        """Its mean over t = 1..T."""
        levels = range(len(self._counts))
        total = sum((own_weight(level) * _BITS.level_size(self.horizon, level) for level in levels), Fraction(0))
        return Real.of(total / self.horizon)

    def embed(self, streams: Array) -> Array:
        """R x: shape (n, T) -> (n, size), levels from the lowest up."""
        prefix = np.concatenate([np.zeros((len(streams), 1)), np.cumsum(streams, axis=1)], axis=1)
        sums: Array = np.concatenate(
            [np.diff(prefix[:, :: 1 << level], axis=1) for level in range(len(self._counts))], 1
        )
        return sums

    def decode(self, noisy: Array) -> Array:
        """L y: shape (n, size) -> (n, T)."""
        own = np.split(noisy, np.cumsum(self._counts)[:-1], axis=1)
        estimates = [own[0]]
        for level in range(1, len(own)):
            weight, below = float(own_weight(level)), estimates[-1][:, : 2 * self._counts[level]]
            estimates.append(weight * own[level] + (1 - weight) * (below[:, ::2] + below[:, 1::2]))
        total = np.zeros((len(noisy), 1))
        for level in range(len(own) - 1, -1, -1):
            total = np.repeat(total, 2, axis=1)[:, : self._counts[level] + 1]
            total[:, 1::2] += estimates[level][:, ::2]
        return total[:, 1:]

    def stream(self, draw: Callable[[], float]) -> HonakerStream:
        """The noise of L z, step by step."""
        return HonakerStream(draw)


def own_weight(level: int) -> Fraction:
    """v_l = 2^l/(2^(l + 1) - 1): the weight of a node in its estimate, and the variance of the estimate."""
    return Fraction(1 << level, (2 << level) - 1)


@final
class HonakerStream:
    """The noise of the estimates in use: O(log T) memory, O(1) time on average."""

    __slots__ = ("_draw", "_estimates", "_sums", "_time")

    def __init__(self, draw: Callable[[], float]) -> None:
        self._draw, self._time = draw, 0
        self._estimates: list[float] = []
        self._sums = [0.0]

    @property
    def live(self) -> int:
        """The number of estimates in use."""
        return len(self._estimates)

    def advance(self) -> float:
        """The noise of the next time step."""
        estimate, level = self._draw(), 0
        while self._time >> level & 1:  # the node and its left sibling complete their parent
            level += 1
            weight = float(own_weight(level))
            estimate = weight * self._draw() + (1 - weight) * (self._estimates.pop() + estimate)
            self._sums.pop()
        self._time += 1
        self._estimates.append(estimate)
        self._sums.append(self._sums[-1] + estimate)
        return self._sums[-1]


@final
class SmoothBinary:
    """The smooth binary mechanism: h is the least even number with binom(h, h/2) >= T + 1.

    Its published sensitivity is h/2, the number of zeros of a leaf. The first q zeros that all of s(1), ..., s(T + 1)
    share belong to no node that is used, so the exact one is h/2 - q, attained by item 1; this class returns that one.

    Reference: Andersson and Pagh 2023, "A smooth binary mechanism for efficient private continual observation"
    (arXiv:2306.09666).

    >>> smooth = SmoothBinary(1024)
    >>> smooth.height, smooth.l1_sensitivity(), smooth.row_squared(1)
    (14, Real(6), Real(7))
    """

    source = "Andersson and Pagh 2023, smooth binary mechanism"
    height: int

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.height = 2
        while math.comb(self.height, self.height // 2) < horizon + 1:
            self.height += 2
        self._used = self.height // 2 - (self.height - leaf(horizon + 1, self.height).bit_length())

    @property
    def size(self) -> int:
        """The number of noise values."""
        return sum(starts.size for starts, _ in self._runs())

    def l1_sensitivity(self) -> Real:
        """h/2 - q."""
        return Real.of(self._used)

    def l2_sensitivity_squared(self) -> Real:
        """h/2 - q."""
        return Real.of(self._used)

    def column(self, item: int) -> Column:
        """A one for every used node that holds the item: O(T) work, but for the first item."""
        if item == 1:
            return ((Fraction(1), self._used),)
        return ((Fraction(1), int(np.count_nonzero(self.embed(np.eye(1, self.horizon, item - 1))))),)

    def row_squared(self, time: int) -> Real:
        """h/2 at every time."""
        return Real.of(self.height // 2)

    def mean_row_squared(self) -> Real:
        """h/2."""
        return Real.of(self.height // 2)

    def _runs(self) -> list[tuple[Integers, Integers]]:
        """For every bit from the highest: the times at which a node comes into use, and those at which it goes out."""
        codes = leaves(self.height, self.height // 2, self.horizon + 1)
        runs = []
        for bit in range(self.height - 1, -1, -1):
            prefix = codes >> bit
            begins = np.flatnonzero(np.diff(prefix, prepend=-1))
            ends = np.append(begins[1:], len(codes))
            ones = (prefix[begins] & 1) == 1
            runs.append((begins[ones], ends[ones]))
        return runs

    def embed(self, streams: Array) -> Array:
        """R x: shape (n, T) -> (n, size), bits from the highest down."""
        prefix = np.concatenate([np.zeros((len(streams), 1)), np.cumsum(streams, axis=1)], axis=1)
        codes = leaves(self.height, self.height // 2, self.horizon + 1)
        sums = []
        for bit, (begins, _) in zip(range(self.height - 1, -1, -1), self._runs(), strict=True):
            sibling = (codes[begins] >> bit) - 1
            left, right = np.searchsorted(codes, sibling << bit), np.searchsorted(codes, (sibling + 1) << bit)
            sums.append(prefix[:, right] - prefix[:, left])
        total: Array = np.concatenate(sums, axis=1)
        return total

    def decode(self, noisy: Array) -> Array:
        """L y: shape (n, size) -> (n, T)."""
        total = np.zeros((len(noisy), self.horizon + 1))
        first = 0
        for begins, ends in self._runs():
            values = noisy[:, first : first + begins.size]
            first += begins.size
            edges = np.ravel(np.column_stack([begins, ends]))  # from outside to inside a run, and out again
            lengths = np.diff(np.concatenate([[0], edges, [self.horizon + 1]]))
            steps = np.zeros((len(noisy), 2 * begins.size + 1))
            steps[:, 1::2] = values
            total += np.repeat(steps, lengths, axis=1)
        return total[:, 1:]

    def stream(self, draw: Callable[[], float]) -> SmoothStream:
        """The noise of L z, step by step."""
        return SmoothStream(self.height, draw)


@final
class SmoothStream:
    """The noise of the h/2 nodes in use: O(log T) memory, O(1) time on average."""

    __slots__ = ("_code", "_draw", "_sums")

    def __init__(self, height: int, draw: Callable[[], float]) -> None:
        self._draw = draw
        self._code = (1 << height // 2) - 1
        self._sums = [0.0]
        self._push(height // 2)

    @property
    def live(self) -> int:
        """The number of noise values in use."""
        return len(self._sums) - 1

    def advance(self) -> float:
        """The noise of the next time step."""
        lowest = (
            self._code & -self._code
        )  # the next number with as many ones: the ones above the change keep their nodes
        carried = self._code + lowest
        kept = (self._code & carried & ~(lowest - 1)).bit_count()
        gone = self._code.bit_count() - kept
        self._code = carried | (1 << gone - 1) - 1
        del self._sums[-gone:]
        self._push(gone)
        return self._sums[-1]

    def _push(self, count: int) -> None:
        for _ in range(count):
            self._sums.append(self._sums[-1] + self._draw())


def leaf(rank: int, height: int) -> int:
    """s(rank): the rank-th smallest number of ``height`` bits of which half are ones, rank >= 1."""
    code, ones, before = 0, height // 2, rank - 1
    for bit in range(height - 1, -1, -1):
        zero_here = math.comb(bit, ones)
        if before >= zero_here:
            before, ones, code = before - zero_here, ones - 1, code | 1 << bit
    return code


def leaves(height: int, ones: int, count: int) -> Integers:
    """The ``count`` smallest numbers of ``height`` bits of which ``ones`` are one, as int64."""
    if ones == 0:
        return np.zeros(min(count, 1), dtype=np.int64)
    if ones > height or count <= 0:
        return np.zeros(0, dtype=np.int64)
    low = leaves(height - 1, ones, count)
    high = leaves(height - 1, ones - 1, count - len(low)) | 1 << height - 1
    return np.concatenate([low, high])
