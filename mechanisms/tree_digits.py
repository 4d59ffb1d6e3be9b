"""The digits in which a k-ary tree writes the time: how many vertices of each level a prefix sum adds or subtracts.

Notation: k = arity, a = the most vertices that are subtracted on one level; digits lie in [-a, k - 1 - a]. The lowest
digit comes first, so w digits d stand for t = sum over l < w of d[l] k^l. The time t is cut at level l into

    r_l(t) = (t + a (k^l - 1)/(k - 1)) // k^l,

the number whose digits are those of t from l on. All arithmetic is on integers, and every sum over time is a closed
form: nothing here loops over t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpverdict.errors import InvalidValue


@final
@dataclass(frozen=True, slots=True)
class Digits:
    """A digit system: base k and the most vertices subtracted on one level.

    Args:
        arity: k >= 2.
        subtracted: a in [0, k - 2].

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Andersson, Pagh and Torkamani 2024, Definitions 3.2, 3.8 and C.1 (arXiv:2408.07021v2).

    >>> Digits.offset(3).encode(5, 3), Digits.ordinary(3).encode(5, 3)
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
    def ordinary(arity: int) -> Digits:
        """Digits 0..k-1: nothing is subtracted (Definition 3.2)."""
        return Digits(check_arity(arity), 0)

    @staticmethod
    def symmetric(arity: int) -> Digits:
        """Digits -(k-1)/2..(k-1)/2 for odd k (Definition 3.8).

        Raises:
            InvalidValue: the arity is even.
        """
        if check_arity(arity) % 2 == 0:
            remedy = f"take {arity - 1 if arity > 2 else 3} or {arity + 1}, or offset digits, which any arity has"
            raise InvalidValue("arity", arity, "odd for symmetric digits", remedy)
        return Digits(arity, (arity - 1) // 2)

    @staticmethod
    def offset(arity: int) -> Digits:
        """Symmetric digits for odd k, digits -k/2+1..k/2 for even k (Definitions 3.8 and C.1)."""
        return Digits(check_arity(arity), (arity - 1) // 2)

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
    if isinstance(arity, bool) or not isinstance(arity, int | np.integer) or arity < 2:
        raise InvalidValue("arity", arity, "a whole number >= 2", "give the number of children of a vertex, such as 19")
    return int(arity)
