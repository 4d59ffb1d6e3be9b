"""Exact arithmetic for certificates: sums of many float64 numbers, and the numbers a + b sqrt(m).

The squared GDP parameter of a neighbour depends on its record x only through s1 = sum x_i and s2 = sum x_i^2
(Lebeda 2024, section 3). Both are computed here as exact rationals, in O(d) time at the speed of NumPy, so that a
certificate for a record of a million coordinates carries no rounding error of its own.

The numbers a + b sqrt(m), for rational a and b and one integer m, are the field of an ellipse with one active layer
(`Surd`). Equality and order are decided by integer arithmetic, so an optimality certificate can be checked without
rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.balls import Real, ball, sqrt_up
from dpverdict.errors import InvalidValue

_BLOCK = 1 << 16  # numbers handled at once: 2**16 keeps the temporaries in cache and leaves 36 bits per pass
_SPLITTER = 134217729.0  # 2**27 + 1, Veltkamp's constant: splits a float64 into two halves of 26 bits
_TINY = 2.0**-450  # below this the products of halves could underflow


def sum_exactly(numbers: NDArray[np.float64]) -> Fraction:
    """The sum of finite numbers of absolute value at most 2**900, as an exact rational.

    Error-free vector transformation (Rump, Ogita, Oishi 2008, "Accurate floating-point summation I", Algorithm 3.2):
    adding and subtracting a large power of two splits every number into a leading part, whose sum is exact in float64,
    and a remainder, which is exact too. Repeat with the remainders until they are all zero.
    """
    flat = np.ascontiguousarray(numbers, dtype=np.float64).ravel()
    return sum((_sum_block(flat[i : i + _BLOCK].copy()) for i in range(0, flat.size, _BLOCK)), Fraction(0))


def _sum_block(rest: NDArray[np.float64]) -> Fraction:
    total = Fraction(0)
    headroom = math.ceil(math.log2(rest.size + 2))
    while (peak := float(np.max(np.abs(rest)))) != 0.0:
        anchor = math.ldexp(1.0, headroom + math.frexp(peak)[1])
        leading = (rest + anchor) - anchor
        total += Fraction(float(leading.sum()))  # exact: multiples of anchor * 2**-53 whose sum stays below anchor
        rest -= leading
    return total


def dot_exactly(left: NDArray[np.float64], right: NDArray[np.float64]) -> Fraction:
    """The inner product of two arrays of finite numbers of absolute value at most 2**400, as an exact rational."""
    x, y = (np.ascontiguousarray(a, dtype=np.float64).ravel() for a in (left, right))
    total = Fraction(0)
    for i in range(0, x.size, _BLOCK):
        a, b = x[i : i + _BLOCK], y[i : i + _BLOCK]
        tiny = (np.minimum(np.abs(a), np.abs(b)) < _TINY) & (a != 0.0) & (b != 0.0)
        total += sum(
            (Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a[tiny], b[tiny], strict=True)), Fraction(0)
        )
        (a_high, a_low), (b_high, b_low) = _split_in_halves(np.where(tiny, 0.0, a)), _split_in_halves(b)
        for product in (a_high * b_high, a_high * b_low, a_low * b_high, a_low * b_low):
            total += _sum_block(product)  # each product of 26-bit halves is exact
    return total


def _split_in_halves(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x = high + low exactly, each of at most 26 bits (Veltkamp)."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def moments(numbers: NDArray[np.float64]) -> tuple[Fraction, Fraction]:
    """The exact pair (sum x_i, sum x_i^2) of finite numbers of absolute value at most 2**400.

    >>> moments(np.array([0.5, 1.0]))
    (Fraction(3, 2), Fraction(5, 4))
    """
    flat = np.ascontiguousarray(numbers, dtype=np.float64).ravel()
    ones = int(np.count_nonzero(flat == 1.0))
    if ones == np.count_nonzero(flat):  # zeros and ones only
        return Fraction(ones), Fraction(ones)
    return sum_exactly(flat), dot_exactly(flat, flat)


def difference_moments(here: NDArray[np.float64], there: NDArray[np.float64]) -> tuple[Fraction, Fraction]:
    """The exact sum and sum of squares of ``here - there``, whose float64 difference may be rounded."""
    (s1, s2), (r1, r2) = moments(here), moments(there)
    return s1 - r1, s2 - 2 * dot_exactly(here, there) + r2


@final
@dataclass(frozen=True, slots=True)
class Surd:
    """rational + coefficient * sqrt(radicand), exactly; all surds of one calculation share the radicand.

    A square root of a perfect square is folded into the rational part, so equal numbers have equal parts.

    >>> root = Surd.root(3)
    >>> (1 + root) * (root - 1) == 2, root > Fraction(17, 10), Surd.root(4)
    (True, True, Surd(2))
    """

    rational: Fraction
    coefficient: Fraction = Fraction(0)
    radicand: int = 0

    def __post_init__(self) -> None:
        if self.radicand < 0:
            raise InvalidValue("radicand", self.radicand, ">= 0", "only real square roots are represented")
        root = math.isqrt(self.radicand)
        if (self.radicand or self.coefficient) and (root * root == self.radicand or self.coefficient == 0):
            object.__setattr__(self, "rational", self.rational + self.coefficient * root)
            object.__setattr__(self, "coefficient", Fraction(0))
            object.__setattr__(self, "radicand", 0)

    @staticmethod
    def root(radicand: int | Fraction) -> Surd:
        """sqrt(p/q), as sqrt(p q)/q."""
        p, q = radicand.numerator, radicand.denominator
        return Surd(Fraction(0), Fraction(1, q), p * q)

    @staticmethod
    def of(value: int | Fraction | Surd) -> Surd:
        """The number as a surd."""
        return value if isinstance(value, Surd) else Surd(Fraction(value))

    def real(self) -> Real:
        """The same number as a `Real`: exact if it is rational."""
        if self.coefficient == 0:
            return Real.of(self.rational)
        return Real(lambda: ball(self.rational) + ball(self.coefficient) * ball(self.radicand).sqrt())

    def scale_up(self) -> float:
        """The standard deviation of this variance, rounded up to float64; 0 for the variance 0."""
        return 0.0 if self == 0 else sqrt_up(self.real())

    def sign(self) -> int:
        """-1, 0 or 1, decided by comparing a^2 with b^2 m where the parts disagree."""
        a, b = _sign(self.rational), _sign(self.coefficient)
        if a == b or b == 0:
            return a
        if a == 0:
            return b
        return a * _sign(self.rational**2 - self.coefficient**2 * self.radicand)

    def __add__(self, other: int | Fraction | Surd) -> Surd:
        right = Surd.of(other)
        parts = self.rational + right.rational, self.coefficient + right.coefficient
        return Surd(*parts, _common_radicand(self, right))

    __radd__ = __add__

    def __neg__(self) -> Surd:
        return Surd(-self.rational, -self.coefficient, self.radicand)

    def __sub__(self, other: int | Fraction | Surd) -> Surd:
        return self + -Surd.of(other)

    def __rsub__(self, other: int | Fraction | Surd) -> Surd:
        return Surd.of(other) - self

    def __mul__(self, other: int | Fraction | Surd) -> Surd:
        right, radicand = Surd.of(other), _common_radicand(self, Surd.of(other))
        return Surd(
            self.rational * right.rational + self.coefficient * right.coefficient * radicand,
            self.rational * right.coefficient + self.coefficient * right.rational,
            radicand,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: int | Fraction | Surd) -> Surd:
        right = Surd.of(other)
        norm = right.rational**2 - right.coefficient**2 * right.radicand
        if norm == 0:
            raise ZeroDivisionError("division by the surd 0")
        return self * Surd(right.rational / norm, -right.coefficient / norm, right.radicand)

    def __rtruediv__(self, other: int | Fraction | Surd) -> Surd:
        return Surd.of(other) / self

    def __pow__(self, exponent: int) -> Surd:
        """The power, for a whole exponent >= 0."""
        result = Surd.of(1)
        for _ in range(exponent):
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Fraction | Surd) and (self - other).sign() == 0

    def __hash__(self) -> int:
        return hash(self.rational) if self.coefficient == 0 else hash((self.rational, self.coefficient, self.radicand))

    def __le__(self, other: int | Fraction | Surd) -> bool:
        return (self - other).sign() <= 0

    def __lt__(self, other: int | Fraction | Surd) -> bool:
        return (self - other).sign() < 0

    def __ge__(self, other: int | Fraction | Surd) -> bool:
        return (self - other).sign() >= 0

    def __gt__(self, other: int | Fraction | Surd) -> bool:
        return (self - other).sign() > 0

    def __repr__(self) -> str:
        root = f" + {self.coefficient} sqrt({self.radicand})" if self.coefficient else ""
        return f"Surd({self.rational}{root})"


def _common_radicand(left: Surd, right: Surd) -> int:
    """The radicand two numbers share; 0 stands for any."""
    if left.radicand and right.radicand and left.radicand != right.radicand:
        pair = f"{left.radicand} and {right.radicand}"
        raise InvalidValue("radicand", pair, "the same in both numbers", "keep one calculation in one field")
    return left.radicand or right.radicand


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
