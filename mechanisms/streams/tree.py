"""A k-ary tree with subtraction: the digits that write the time, the vertices in use, their noise, and the exact error.

The digits say how many vertices of each level a prefix sum adds or subtracts. Notation: k = arity, a = the most
vertices that are subtracted on one level; digits lie in [-a, k - 1 - a]. The lowest digit comes first, so w digits d
stand for t = sum over l < w of d[l] k^l. The time t is cut at level l into

    r_l(t) = (t + a (k^l - 1)/(k - 1)) // k^l,

the number whose digits are those of t from l on. All arithmetic is on integers, and every sum over time is a closed
form: nothing here loops over t.

The vertices (`TreeNodes`). The counts are A x = L R x: R x are the sums of the used vertices, each with the sign it is
used with, and L adds them up. On level l, vertex e = 1, 2, ... is the sum of items (e - 1) k^l + 1 .. e k^l. At time t
the digits cut at level l write r = r_l(t) = w k + d, where d is the digit and w the number above it; then vertices r -
d + 1 .. r are added if d > 0, and r + 1 .. r - d subtracted if d < 0. So a vertex belongs to one block w, has one sign
at all times, and the first subtracted child of a block carries the block's largest index. Noise z on the vertices gives
A x + L z.

Order of the coordinates: levels from the lowest up; on each, the added vertices of all blocks, then the subtracted ones
of blocks 1, 2, ..., from the right to the left within a block.

The noise one step after the other, in O(log T) memory (`TreeStream`). The vertices in use at a time form a stack, from
the highest level to the lowest. A step either adds one vertex on the lowest level, or stops subtracting one, or
carries: it drops the vertices of the levels whose digit was the largest, moves the digit above them, and subtracts
afresh on the levels below. Every vertex is pushed once and popped at most once, so a step costs O(1) amortised. The
stack holds partial sums, so that a pop restores an earlier sum exactly: rounding errors do not build up over a long
stream.

The error, and the arity that makes it smallest (`best_arity`). With independent Laplace noise of scale h/epsilon on
every vertex, h = the height, the count at time t has the variance 2 h^2 size(t)/epsilon^2, where size(t) is the number
of vertices used. Values here are for epsilon = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True)
class TreeDigits:
    """A digit system: base k and the most vertices subtracted on one level.

    Args:
        arity: k >= 2.
        subtracted: a in [0, k - 2].

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Andersson, Pagh and Torkamani 2024, Definitions 3.2, 3.8 and C.1 (arXiv:2408.07021v2).

    >>> TreeDigits.offset(3).encode(5, 3), TreeDigits.ordinary(3).encode(5, 3)
    ([-1, -1, 1], [2, 1, 0])
    """

    arity: int
    subtracted: int

    def __post_init__(self) -> None:
        check_arity(self.arity)
        if not 0 <= self.subtracted <= self.arity - 2:
            remedy = "the largest digit must be at least 1"
            raise InvalidValue("subtracted", self.subtracted, f"in [0, {self.arity - 2}]", remedy)

    @staticmethod
    def ordinary(arity: int) -> TreeDigits:
        """Digits 0..k-1: nothing is subtracted (Definition 3.2)."""
        return TreeDigits(check_arity(arity), 0)

    @staticmethod
    def symmetric(arity: int) -> TreeDigits:
        """Digits -(k-1)/2..(k-1)/2 for odd k (Definition 3.8).

        Raises:
            InvalidValue: the arity is even.
        """
        if check_arity(arity) % 2 == 0:
            remedy = f"take {arity - 1 if arity > 2 else 3} or {arity + 1}, or offset digits, which any arity has"
            raise InvalidValue("arity", arity, "odd for symmetric digits", remedy)
        return TreeDigits(arity, (arity - 1) // 2)

    @staticmethod
    def offset(arity: int) -> TreeDigits:
        """Symmetric digits for odd k, digits -k/2+1..k/2 for even k (Definitions 3.8 and C.1)."""
        return TreeDigits(check_arity(arity), (arity - 1) // 2)

    @property
    def largest(self) -> int:
        """The largest digit, k - 1 - a."""
        return self.arity - 1 - self.subtracted

    def capacity(self, width: int) -> int:
        """The largest number of ``width`` digits: (k - 1 - a)(k^w - 1)/(k - 1)."""
        return self.largest * repunit(self.arity, width)

    def height(self, horizon: int) -> int:
        """The least number of digits that reaches the horizon.

        It is ceil(log_k(T + 1)) for ordinary digits and ceil(log_k(2T)) for symmetric ones, found without logarithms.
        """
        width = 1
        while self.capacity(width) < horizon:
            width += 1
        return width

    def encode(self, time: int, width: int) -> list[int]:
        """The digits of a time, lowest first.

        Raises:
            InvalidValue: the time is not written with so many digits.
        """
        rest, digits = time, []
        for _ in range(width):
            digit = (rest + self.subtracted) % self.arity - self.subtracted
            digits.append(digit)
            rest = (rest - digit) // self.arity
        if rest:
            raise InvalidValue("time", time, f"a number of {width} digits", f"the largest is {self.capacity(width)}")
        return digits

    def decode(self, digits: list[int]) -> int:
        """The time that digits stand for."""
        return sum(digit * self.arity**level for level, digit in enumerate(digits))

    def size(self, time: int) -> int:
        """The number of vertices used at a time >= 0: the l1 norm of its digits."""
        total = 0
        while time:
            digit = (time + self.subtracted) % self.arity - self.subtracted
            total, time = total + abs(digit), (time - digit) // self.arity
        return total

    def cut(self, time: int, level: int) -> int:
        """r_level(time): the number written by the digits from ``level`` on."""
        block: int = self.arity**level
        return (time + self.subtracted * repunit(self.arity, level)) // block

    def level_size(self, horizon: int, level: int) -> int:
        """The sum over t = 1..T of |digit of t at a level|."""
        shift = self.subtracted * repunit(self.arity, level + 1)
        return self._below(1 + shift + horizon, level) - self._below(1 + shift, level)

    def total_size(self, horizon: int) -> int:
        """The sum of `size` over t = 1..T, in O(log T) operations."""
        return sum(self.level_size(horizon, level) for level in range(self.height(horizon)))

    def _below(self, n: int, level: int) -> int:
        """The sum over u = 0..n-1 of |(u // k^level) mod k - a|."""
        block: int = self.arity**level
        periods, rest = divmod(n, block * self.arity)
        whole, part = divmod(rest, block)
        full = periods * self._distances(self.arity) + self._distances(whole)
        return full * block + part * abs(whole - self.subtracted)

    def _distances(self, n: int) -> int:
        """The sum over d = 0..n-1 of |d - a|, for n <= k."""
        a = self.subtracted
        low, high = min(n, a), max(n - a - 1, 0)
        return low * a - low * (low - 1) // 2 + high * (high + 1) // 2


def repunit(arity: int, width: int) -> int:
    """(k^w - 1)/(k - 1) = 1 + k + ... + k^(w-1)."""
    power: int = arity**width
    return (power - 1) // (arity - 1)


def check_arity(arity: object) -> int:
    """A whole number >= 2.

    Raises:
        InvalidValue: anything else.
    """
    return check_whole(arity, "arity", least=2, remedy="give the number of children of a vertex, such as 19")


@final
@dataclass(frozen=True, slots=True)
class TreeNodes:
    """The used vertices of a tree up to a horizon.

    >>> nodes = TreeNodes(TreeDigits.offset(3), 4)
    >>> nodes.size, nodes.decode(nodes.embed(np.array([[1.0, 0.0, 1.0, 1.0]]))).tolist()
    (4, [[1.0, 1.0, 2.0, 3.0]])
    """

    digits: TreeDigits
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

    def embed(self, streams: Array) -> Array:
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
        sums: Array = np.concatenate(parts, axis=1)
        return sums

    def decode(self, noisy: Array) -> Array:
        """L applied to every row: shape (n, size) -> (n, T), in O(T) operations a row."""
        counts = [self._counts(level) for level in range(self.height)]
        starts = np.cumsum([0, *map(sum, counts)])
        total: Array = np.zeros((len(noisy), 1))
        for level in range(self.height - 1, -1, -1):
            added, subtracted = counts[level]
            values = noisy[:, starts[level] : starts[level] + added + subtracted]
            total = self._level(level, total, values[:, :added], values[:, added:])
        return total[:, 1:]

    def _level(self, level: int, above: Array, added: Array, subtracted: Array) -> Array:
        """The sums down to a level, at r = 0 .. r_l(T), from those of the level above, at w = 0 .. r_(l+1)(T)."""
        k, a, high = self.digits.arity, self.digits.subtracted, self.digits.largest
        n, last = len(above), self.digits.cut(self.horizon, level)
        blocks = above.shape[1]
        if blocks == 1:  # one block that is not complete: only additions, however large k is
            partial: Array = np.cumsum(np.concatenate([above, added], axis=1), axis=1)
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


@final
class TreeStream:
    """The sum of the noises in use, as time goes on (Algorithm 2, in its stack form).

    Args:
        digits: the digit system.
        height: number of digits, enough for every time that will be reached.
        draw: gives a fresh noise value.
        zero: 0 if the noise values are int, 0.0 if they are float.
        time: the time to begin at; by default 0, when no vertex is in use.
        sums: the partial sums at that time, lowest in the stack first; fresh ones are drawn if they are not given.
    """

    __slots__ = ("_digits", "_draw", "_largest", "_subtracted", "_sums")

    def __init__(
        self,
        digits: TreeDigits,
        height: int,
        draw: Callable[[], float],
        zero: float,
        *,
        time: int = 0,
        sums: Sequence[float] | None = None,
    ) -> None:
        self._largest, self._subtracted = digits.largest, digits.subtracted
        self._digits = digits.encode(time, height)
        self._draw = draw
        self._sums: list[float] = [zero, *(sums or ())]
        if sums is None:
            self._push(digits.size(time))

    @property
    def live(self) -> int:
        """The number of noise values in use: the l1 norm of the digits (Lemma 4.12)."""
        return len(self._sums) - 1

    @property
    def sums(self) -> list[float]:
        """The partial sums of the noise values in use; the last one is the noise of the current count."""
        return self._sums[1:]

    def advance(self) -> float:
        """The noise of the next time step."""
        digits = self._digits
        digit = digits[0] + 1
        if digit > self._largest:
            self._carry()
        else:
            digits[0] = digit
            if digit > 0:
                self._sums.append(self._sums[-1] + self._draw())
            else:
                self._sums.pop()
        return self._sums[-1]

    def _carry(self) -> None:
        digits, level = self._digits, 0
        while digits[level] == self._largest:
            del self._sums[-self._largest :]
            digits[level] = -self._subtracted
            level += 1
        digits[level] += 1
        if digits[level] > 0:
            self._push(1)
        else:
            self._sums.pop()
        self._push(level * self._subtracted)

    def _push(self, count: int) -> None:
        for _ in range(count):
            self._sums.append(self._sums[-1] + self._draw())


SYSTEMS: dict[str, Callable[[int], TreeDigits]] = {
    "offset": TreeDigits.offset,
    "symmetric": TreeDigits.symmetric,
    "ordinary": TreeDigits.ordinary,
}
"""The digit systems by name: subtraction for any arity, subtraction for odd arities, no subtraction."""


def digit_system(name: object) -> Callable[[int], TreeDigits]:
    """The digit system of a name.

    Raises:
        InvalidValue: there is none of that name.
    """
    if not isinstance(name, str) or name not in SYSTEMS:
        raise InvalidValue("digits", name, f"one of {', '.join(SYSTEMS)}", "offset digits have the smallest error")
    return SYSTEMS[name]


def unit_variance(digits: TreeDigits, horizon: int, time: int) -> Fraction:
    """The variance at a time, for epsilon = 1."""
    return Fraction(2 * digits.height(horizon) ** 2 * digits.size(time))


def unit_mean_squared_error(digits: TreeDigits, horizon: int) -> Fraction:
    """The mean of the variances over t = 1..T, for epsilon = 1; exact for every horizon, full or not.

    At the full horizon it is (k - 1) h^3/(1 - k^-h) for ordinary digits (Lemma 3.5), (k - 1/k) h^3/(2 (1 - k^-h)) for
    offset digits of odd k (Lemma 4.7), and k h^3/(2 (1 - k^-h)) + (k - 2) h^2/(2 (k - 1)) of even k (Claim 1).

    Reference: Andersson, Pagh and Torkamani 2024 (arXiv:2408.07021v2).

    >>> unit_mean_squared_error(TreeDigits.offset(19), 3429)
    Fraction(32490, 127)
    """
    return Fraction(2 * digits.height(horizon) ** 2 * digits.total_size(horizon), horizon)


def best_arity(horizon: int, system: str) -> int:
    """The arity of least mean squared error for a horizon, the smallest one if several attain it; an exact search.

    The arities are searched by height. Whatever the digits, at most 2x + 1 of the residues mod k lie within x of 0, and
    each is met at most T/k + 1 times; so the lowest digits alone sum to at least X T - X^2 (T/k + 1) for every X, and
    so they do for every larger k. Where that bound exceeds the best error found, the rest of a height is skipped.

    >>> best_arity(2**10, "offset"), best_arity(2**16, "offset"), best_arity(2**20, "offset")
    (13, 20, 19)
    """
    make = digit_system(system)
    step = 2 if system == "symmetric" else 1
    smallest = 3 if system == "symmetric" else 2
    best: tuple[Fraction, int] | None = None
    for height in range(make(smallest).height(horizon), 0, -1):
        arity = _least_arity(make, smallest, step, horizon, height)
        while make(arity).height(horizon) == height:
            error = unit_mean_squared_error(make(arity), horizon)
            best = (error, arity) if best is None else min(best, (error, arity))
            arity += step
            if 2 * height**2 * _least_total(horizon, arity) >= best[0] * horizon or height == 1:
                break  # with height 1 the digit is the time itself, whatever the arity
    if best is None:
        raise InvalidValue("horizon", horizon, ">= 1", "give the length of the stream")
    return best[1]


def _least_arity(make: Callable[[int], TreeDigits], smallest: int, step: int, horizon: int, height: int) -> int:
    """The least arity whose trees of a height reach the horizon."""
    low, high = 0, 2 * horizon  # an arity of 2 T + 2 reaches it with one level
    while low < high:
        middle = (low + high) // 2
        if make(smallest + step * middle).capacity(height) >= horizon:
            high = middle
        else:
            low = middle + 1
    return smallest + step * low


def _least_total(horizon: int, arity: int) -> Fraction:
    """A lower bound on the sum of the sizes of t = 1..T for every arity at least this one."""
    repeats = Fraction(horizon, arity) + 1
    x = horizon // (2 * repeats)
    return x * horizon - x * x * repeats
