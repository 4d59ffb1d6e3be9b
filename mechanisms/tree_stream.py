"""The noise of a tree counter, one time step after the other, in O(log T) memory.

The vertices in use at a time form a stack, from the highest level to the lowest. A step either adds one vertex on the
lowest level, or stops subtracting one, or carries: it drops the vertices of the levels whose digit was the largest,
moves the digit above them, and subtracts afresh on the levels below. Every vertex is pushed once and popped at most
once, so a step costs O(1) amortised. The stack holds partial sums, so that a pop restores an earlier sum exactly:
rounding errors do not build up over a long stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from dpverdict.mechanisms.tree_digits import Digits


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
        digits: Digits,
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
