"""The vertices of a k-ary tree that prefix sums use, level by level, in arrays.

The counts are A x = L R x: R x are the sums of the used vertices, each with the sign it is used with, and L adds them
up. On level l, vertex e = 1, 2, ... is the sum of items (e - 1) k^l + 1 .. e k^l. At time t the digits cut at level l
write r = r_l(t) = w k + d, where d is the digit and w the number above it; then vertices r - d + 1 .. r are added if
d > 0, and r + 1 .. r - d subtracted if d < 0. So a vertex belongs to one block w, has one sign at all times, and the
first subtracted child of a block carries the block's largest index. Noise z on the vertices gives A x + L z.

Order of the coordinates: levels from the lowest up; on each, the added vertices of all blocks, then the subtracted ones
of blocks 1, 2, ..., from the right to the left within a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.mechanisms.tree_digits import Digits

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True)
class TreeNodes:
    """The used vertices of a tree up to a horizon.

    >>> nodes = TreeNodes(Digits.offset(3), 4)
    >>> nodes.size, nodes.decode(nodes.embed(np.array([[1.0, 0.0, 1.0, 1.0]]))).tolist()
    (4, [[1.0, 1.0, 2.0, 3.0]])
    """

    digits: Digits
    horizon: int

    @property
    def height(self) -> int:
        """The number of levels."""
        return self.digits.height(self.horizon)

    @property
    def size(self) -> int:
        """The number of used vertices: T at a full horizon, and for ordinary digits at every horizon."""
        return sum(sum(self._counts(level)) for level in range(self.height))

    @property
    def full(self) -> bool:
        """Whether the horizon is the largest one of its height."""
        return self.horizon == self.digits.capacity(self.height)

    def invertible(self) -> bool:
        """Whether the noisy counts determine all noisy vertices, so that L is a square matrix of determinant +-1.

        Then the counts and the noisy vertices carry the same information.
        """
        return self.full or self.digits.subtracted == 0

    @property
    def alone(self) -> int:
        """How many of the vertices with item 1 a count shows alone: those [1, k^l] with k^l <= T, at time k^l.

        If they are all of the height, the counts determine every noisy vertex with that item, at this horizon too.
        """
        return sum(self.digits.arity**level <= self.horizon for level in range(self.height))

    def paths(self, item: int) -> int:
        """The number of used vertices that contain an item, 1 <= item <= T: at most the height, which item 1 has."""
        return sum(self._used(level, (item - 1) // self.digits.arity**level + 1) for level in range(self.height))

    def _used(self, level: int, vertex: int) -> bool:
        """Whether some time uses a vertex: the middle child of every vertex is never used."""
        k, a, last = self.digits.arity, self.digits.subtracted, self.digits.cut(self.horizon, level)
        digit = (vertex + a) % k - a
        return vertex <= last if digit > 0 else digit > -a and 1 <= (vertex + a) // k <= (last + a) // k

    def _counts(self, level: int) -> tuple[int, int]:
        """The numbers of added and of subtracted vertices of a level."""
        k, a = self.digits.arity, self.digits.subtracted
        last = self.digits.cut(self.horizon, level)
        whole, rest = divmod(last + a + 1, k)
        return whole * self.digits.largest + max(rest - a - 1, 0), (last + a) // k * a

    def places(self) -> Iterator[tuple[int, int, int]]:
        """(level, block, digit) of every used vertex, in the order of the coordinates; digit < 0 where subtracted."""
        high, a = self.digits.largest, self.digits.subtracted
        for level in range(self.height):
            added, subtracted = self._counts(level)
            yield from ((level, i // high, i % high + 1) for i in range(added))
            yield from ((level, j // a + 1, -(j % a) - 1) for j in range(subtracted))

    def embed(self, streams: Floats) -> Floats:
        """The signed sums of the used vertices: shape (n, T) -> (n, size); the tree is padded with zeros."""
        prefix = np.concatenate([np.zeros((len(streams), 1)), np.cumsum(streams, axis=1)], axis=1)
        parts = []
        for level in range(self.height):
            added, subtracted = self._counts(level)
            k, a, high = self.digits.arity, self.digits.subtracted, self.digits.largest
            i, j = np.arange(added), np.arange(subtracted)
            up = i // high * k + i % high + 1
            down = (j // a + 1) * k - j % a if a else j
            ends = np.concatenate([up, down]) * k**level
            sign = np.where(np.arange(added + subtracted) < added, 1.0, -1.0)
            right, left = np.minimum(ends, self.horizon), np.minimum(ends - k**level, self.horizon)
            parts.append(sign * (prefix[:, right] - prefix[:, left]))
        sums: Floats = np.concatenate(parts, axis=1)
        return sums

    def decode(self, noisy: Floats) -> Floats:
        """L applied to every row: shape (n, size) -> (n, T), in O(T) operations a row."""
        counts = [self._counts(level) for level in range(self.height)]
        starts = np.cumsum([0, *map(sum, counts)])
        total: Floats = np.zeros((len(noisy), 1))
        for level in range(self.height - 1, -1, -1):
            added, subtracted = counts[level]
            values = noisy[:, starts[level] : starts[level] + added + subtracted]
            total = self._level(level, total, values[:, :added], values[:, added:])
        return total[:, 1:]

    def _level(self, level: int, above: Floats, added: Floats, subtracted: Floats) -> Floats:
        """The sums down to a level, at r = 0 .. r_l(T), from those of the level above, at w = 0 .. r_(l+1)(T)."""
        k, a, high = self.digits.arity, self.digits.subtracted, self.digits.largest
        n, last = len(above), self.digits.cut(self.horizon, level)
        blocks = above.shape[1]
        if blocks == 1:  # one block that is not complete: only additions, however large k is
            partial: Floats = np.cumsum(np.concatenate([above, added], axis=1), axis=1)
            return partial
        up = np.zeros((n, blocks * high))
        up[:, : added.shape[1]] = added
        sums = np.zeros((n, blocks, k))
        np.cumsum(up.reshape(n, blocks, high), axis=2, out=sums[:, :, a + 1 :])
        if a:
            down = np.cumsum(subtracted.reshape(n, blocks - 1, a), axis=2)
            sums[:, 1:, :a] = down[:, :, ::-1]
        sums += above[:, :, None]
        return sums.reshape(n, blocks * k)[:, a : a + last + 1]
