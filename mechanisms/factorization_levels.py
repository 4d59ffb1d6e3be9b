"""The binary tree, and Honaker's estimate from below: prefix sums from the sums over dyadic intervals.

The node e of level l is the interval of items (e - 1) 2^l + 1 .. e 2^l. The prefix sum up to t is the sum of one node
for every one in the binary digits of t. The binary tree releases those nodes only. Honaker releases every node, and
replaces the value of a used node of level l by the best linear estimate from it and all nodes below it:

    estimate = v_l own value + (1 - v_l)(sum of its children's estimates),      v_l = 2^l/(2^(l + 1) - 1),

whose variance is v_l times that of one node.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.balls import Real
from dpverdict.mechanisms.mechanism import Array
from dpverdict.mechanisms.stream_sensitivity import Column
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_nodes import TreeNodes
from dpverdict.mechanisms.tree_stream import TreeStream

_BITS = Digits.ordinary(2)


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
