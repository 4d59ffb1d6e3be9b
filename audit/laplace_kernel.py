"""The generating functions behind every tail of a Laplace loss, and bounds on their coefficients.

Notation: m coordinates; C of them sit at their lowest loss; y is a formal variable. With the kernel's exponents,

    V_C(y) = lead (1 + y)^(m - C - plus) (1 - y)^(C - minus) = sum over i of V_i y^i,

and the series evaluated at z > 0 is the Borel transform  sum over i of V_i z^i / i!.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import accumulate
from operator import add
from typing import final

from flint import arb, fmpz_poly


@final
class Kernel(Enum):
    """Which tail is asked for: the exponents taken from 1 + y and 1 - y, and whether the leading factor is 2 y.

    In the transform variable t of the loss, with y = 1/(2 t + 1), these are 1/(t (t + 1)), 1/t and 1/(t + 1).
    """

    DELTA = (1, 1, 1)
    """delta(epsilon) = P[L > epsilon] - exp(epsilon) Q[L > epsilon]."""
    P_TAIL = (0, 1, 0)
    """P[L > epsilon]."""
    Q_TAIL = (1, 0, 0)
    """exp(epsilon) Q[L > epsilon]."""

    def exponents(self, m: int, lowest: int) -> tuple[int, int]:
        """The exponents of 1 + y and of 1 - y."""
        plus, minus, _ = self.value
        return m - lowest - plus, lowest - minus

    @property
    def leads(self) -> bool:
        """Whether the leading factor is 2 y; otherwise it is 1."""
        return self.value[2] == 1


def rows(kernel: Kernel, m: int, first: int, last: int, length: int) -> Iterator[list[int]]:
    """The first ``length`` coefficients of V_C for C = first, first - 1, ..., last, with last >= 0 and first < m."""
    row = _row(*kernel.exponents(m, first), length - kernel.leads)
    for lowest in range(first, last - 1, -1):
        yield [0, *map(add, row, row)] if kernel.leads else row
        if lowest > last:  # times (1 + y) / (1 - y)
            row = list(accumulate(map(add, row, [0, *row[:-1]])))


def _row(plus: int, minus: int, length: int) -> list[int]:
    """The coefficients of (1 + y)^plus (1 - y)^minus, where minus >= -1."""
    if minus < 0:
        return list(accumulate(_row(plus, 0, length)))
    both = min(plus, minus)
    even = fmpz_poly(_binomials(both, (length + 1) // 2))
    squares = [0] * length
    squares[0::2] = [(-1) ** i * int(even[i]) for i in range((length + 1) // 2)]
    rest = _binomials(plus + minus - 2 * both, length)
    if minus > plus:
        rest[1::2] = [-value for value in rest[1::2]]
    product = fmpz_poly(squares) * fmpz_poly(rest)
    return [int(product[i]) for i in range(length)]


def _binomials(n: int, length: int) -> list[int]:
    """binom(n, i) for i < length."""
    values = [1]
    for i in range(1, length):
        values.append(values[-1] * (n - i + 1) // i if i <= n else 0)
    return values[:length]


def size_on_circle(plus: int, minus: int, radius: arb) -> arb:
    """At least the largest |1 + y|^plus |1 - y|^minus on the circle |y| = radius < 1, for plus >= 0, minus >= -1.

    With c the cosine of the angle, its logarithm is a concave function of c; it is at most its largest value over all
    c, and its value at c = 1 is the largest where the derivative there is not negative.
    """
    at_one = (1 + radius) ** plus * (1 - radius) ** minus
    square = radius * radius
    total = plus + minus
    if minus < 0 or (1 + square) * (plus - minus) >= 2 * radius * total:
        return at_one
    bend = (arb(2 * plus) / total) ** plus * (arb(2 * minus) / total) ** minus
    return ((1 + square) ** total * bend).sqrt()
