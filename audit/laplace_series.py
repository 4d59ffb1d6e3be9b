"""The Borel series of the exact sum for a Laplace loss, as polynomials of balls, kept between epsilons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import final

from flint import arb, arb_poly, fmpz_poly

from dpverdict.audit.laplace_kernel import Kernel, rows
from dpverdict.balls import precision

_MOST_KEPT = 300_000  # coefficients; about 30 MB


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    first: int
    last: int
    length: int
    bits: int
    series: list[arb_poly]  # for C = first, first - 1, ..., last

    def part(self, first: int, last: int) -> tuple[arb, Iterator[arb_poly]]:
        """The common factor and the series for C = first, ..., last."""
        return _scale(self.length), iter(self.series[self.first - first : self.first - last + 1])

    def serves(self, first: int, last: int, length: int, bits: int) -> bool:
        """Whether the table can stand for one that was asked for, and is not much longer or more precise."""
        range_serves = self.last <= last and first <= self.first
        return range_serves and length <= self.length <= 2 * length + 32 and bits <= self.bits <= 2 * bits


@final
class SeriesTables:
    """The series of all C in a range, for each kernel: computed when asked for, kept if they are few."""

    __slots__ = ("_kept", "_m")

    def __init__(self, m: int) -> None:
        self._m = m
        self._kept: dict[Kernel, _Table] = {}

    def descending(
        self, kernel: Kernel, first: int, last: int, length: int, bits: int
    ) -> tuple[arb, Iterator[arb_poly]]:
        """The first ``length`` terms (or more) of B_C at ``bits`` bits, for C = first, first - 1, ..., last.

        Returns:
            A common factor, and the series divided by it, one after the other.
        """
        table = self._kept.get(kernel)
        if table is not None and table.serves(first, last, length, bits):
            return table.part(first, last)
        if (first - last + 1) * length > _MOST_KEPT:
            return _scale(length), _compute(kernel, self._m, first, last, length, bits)
        highest, lowest = first, last
        if table is not None:  # another epsilon: take more than it needs, for those that follow
            length = min(length + length // 8, max(self._m, length))
            spare = max(0, min((first - last) // 4, _MOST_KEPT // length - (first - last + 1)))
            highest, lowest = min(first + spare, max((self._m - 1) // 2, first)), max(last - spare, 0)
        series = list(_compute(kernel, self._m, highest, lowest, length, bits))
        table = _Table(first=highest, last=lowest, length=length, bits=bits, series=series)
        self._kept[kernel] = table
        return table.part(first, last)


def _scale(length: int) -> arb:
    return 1 / arb(length - 1).fac()


def _compute(kernel: Kernel, m: int, first: int, last: int, length: int, bits: int) -> Iterator[arb_poly]:
    """The series times (length - 1)!, so that their coefficients V_i (length - 1)! / i! are integers."""
    factors = list(accumulate(range(length - 1, 0, -1), mul, initial=1))[::-1]
    for row in rows(kernel, m, first, last, length):
        with precision(bits):
            series = arb_poly(fmpz_poly(list(map(mul, factors, row))))
        yield series
