"""Exact arithmetic with sums of exponentials: sum c_r exp(r) over distinct rational r, with rational c_r.

The probabilities of selection mechanisms (the exponential mechanism, noisy maxima, above threshold) and of discrete
noise are such numbers, or quotients of two. By the theorem of Lindemann and Weierstrass the exponentials of distinct
rational (even algebraic) numbers are linearly independent over the rationals, so a sum is 0 only if it is empty. That
decides every sign: the balls of a sum that is not empty need only be narrow enough.

Reference: A. Baker 1975, Transcendental Number Theory, Theorem 1.4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final, final

from flint import arb, ctx

from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

_FIRST_BITS: Final = 128
_SIGN_BITS: Final = (96, 384, 1536)
_FEW: Final = 64  # terms up to which a weight is multiplied out at once
_MOST_BITS: Final = 1 << 18


@final
class ExponentialSum:
    """The number sum c_r exp(r); immutable.

    Args:
        terms: the rational coefficients c_r, by the exponents r.

    >>> half = ExponentialSum({Fraction(0): Fraction(1, 2)})
    >>> (half * half - ExponentialSum.exp(Fraction(-1))).sign()
    -1
    """

    __slots__ = ("terms",)
    terms: Mapping[Fraction, Fraction]

    def __init__(self, terms: Mapping[Fraction, Fraction]) -> None:
        self.terms = {exponent: factor for exponent, factor in terms.items() if factor}

    @staticmethod
    def of(number: Fraction | int) -> ExponentialSum:
        """A rational number."""
        return ExponentialSum({Fraction(0): Fraction(number)})

    @staticmethod
    def exp(exponent: Fraction) -> ExponentialSum:
        """exp(exponent)."""
        return ExponentialSum({exponent: Fraction(1)})

    @property
    def rational(self) -> Fraction | None:
        """The number, if it is rational; None if it is not."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(Fraction(0)) if len(self.terms) == 1 else None

    def __add__(self, other: ExponentialSum) -> ExponentialSum:
        terms = dict(self.terms)
        for exponent, factor in other.terms.items():
            terms[exponent] = terms.get(exponent, Fraction(0)) + factor
        return ExponentialSum(terms)

    def __sub__(self, other: ExponentialSum) -> ExponentialSum:
        return self + other.times(-1)

    def __mul__(self, other: ExponentialSum) -> ExponentialSum:
        terms: dict[Fraction, Fraction] = {}
        for exponent, factor in self.terms.items():
            for exponent_of_other, factor_of_other in other.terms.items():
                at = exponent + exponent_of_other
                terms[at] = terms.get(at, Fraction(0)) + factor * factor_of_other
        return ExponentialSum(terms)

    def times(self, factor: Fraction | int) -> ExponentialSum:
        """The product with a rational number."""
        return ExponentialSum({exponent: own * factor for exponent, own in self.terms.items()})

    def times_exp(self, exponent: Fraction) -> ExponentialSum:
        """The product with exp(exponent)."""
        return ExponentialSum({own + exponent: factor for own, factor in self.terms.items()})

    def ball(self) -> arb:
        """The number at the current precision."""
        total = arb(0)
        for exponent, factor in self.terms.items():
            total += ball(factor) * ball(exponent).exp() if exponent else ball(factor)
        return total

    def sign(self) -> int:
        """-1, 0 or 1, for certain.

        Raises:
            PrecisionExhausted: the number is not 0, but smaller than 2^18 bits can show.
        """
        if not self.terms:
            return 0
        if len(self.terms) == 1:
            return 1 if next(iter(self.terms.values())) > 0 else -1
        bits = _FIRST_BITS
        while bits <= _MOST_BITS:
            with precision(bits):
                value = self.ball()
            if value > 0:
                return 1
            if value < 0:
                return -1
            bits *= 2
        raise PrecisionExhausted("the sign of a sum of exponentials", _MOST_BITS, "choose less extreme parameters")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExponentialSum) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return f"ExponentialSum({ {str(r): str(c) for r, c in sorted(self.terms.items())} })"


def total(sums: Sequence[ExponentialSum]) -> ExponentialSum:
    """The sum of many."""
    terms: dict[Fraction, Fraction] = {}
    for one in sums:
        for exponent, factor in one.terms.items():
            terms[exponent] = terms.get(exponent, Fraction(0)) + factor
    return ExponentialSum(terms)


@final
class Weight:
    """A sum of exponentials that is multiplied out only where its sign depends on it.

    Balls of a product are products of balls, which loses no accuracy; the terms of a product of hundreds of sums would
    cancel to hundreds of digits, and take as long to write out.

    >>> third = Weight.of(ExponentialSum.of(Fraction(1, 3)))
    >>> (third.power(1000) - third.power(1001) - third.power(1001)).sign()
    1
    """

    __slots__ = ("_ball", "_exact", "_kept", "_known")

    def __init__(self, ball_of: Callable[[], arb], exact_of: Callable[[], ExponentialSum]) -> None:
        self._ball, self._exact = ball_of, exact_of
        self._kept: tuple[int, arb] | None = None
        self._known: ExponentialSum | None = None

    @staticmethod
    def of(number: ExponentialSum) -> Weight:
        """A weight whose terms are written out."""
        made = Weight(number.ball, lambda: number)
        made._known = number
        return made

    @staticmethod
    def sum(parts: Sequence[Weight]) -> Weight:
        """The sum of many."""
        return Weight(
            lambda: sum((part.ball() for part in parts), arb(0)), lambda: total([part.exact() for part in parts])
        )

    @staticmethod
    def running_sums(parts: Sequence[Weight]) -> list[Weight]:
        """The sums of the first 0, 1, 2, ... weights."""
        known = [part._known for part in parts]
        numbers = [one for one in known if one is not None and one.rational is not None]
        if len(numbers) == len(parts):
            return [Weight.of(one) for one in itertools.accumulate(numbers, initial=ExponentialSum({}))]
        return [Weight.of(ExponentialSum({})), *(Weight.sum(parts[: j + 1]) for j in range(len(parts)))]

    @property
    def written_out(self) -> tuple[tuple[Fraction, Fraction], ...] | None:
        """The exponents with their coefficients, in order, where they are written out; else None."""
        return None if self._known is None else tuple(sorted(self._known.terms.items()))

    @property
    def rational(self) -> Fraction | None:
        """The number, if it is written out and rational; None if it is not."""
        return None if self._known is None else self._known.rational

    @property
    def is_long(self) -> bool:
        """Whether its terms are not written out."""
        return self._known is None

    def exact(self) -> ExponentialSum:
        """The terms."""
        if self._known is None:
            self._known = self._exact()
        return self._known

    def ball(self) -> arb:
        """The number at the current precision."""
        if self._kept is None or self._kept[0] != ctx.prec:
            self._kept = ctx.prec, self._ball()
        return self._kept[1]

    def sign(self) -> int:
        """-1, 0 or 1, for certain: by balls where they decide it, else by the terms."""
        if self._known is None:
            for bits in _SIGN_BITS:
                with precision(bits):
                    value = self.ball()
                if value > 0 or value < 0:
                    return 1 if value > 0 else -1
        return self.exact().sign()

    def _combined(
        self,
        other: Weight,
        of_balls: Callable[[arb, arb], arb],
        of_sums: Callable[[ExponentialSum, ExponentialSum], ExponentialSum],
        size: int,
    ) -> Weight:
        if self._known is not None and other._known is not None and size <= _FEW:
            return Weight.of(of_sums(self._known, other._known))
        return Weight(lambda: of_balls(self.ball(), other.ball()), lambda: of_sums(self.exact(), other.exact()))

    @property
    def _size(self) -> int:
        return _FEW + 1 if self._known is None else len(self._known.terms)

    def __add__(self, other: Weight) -> Weight:
        return self._combined(other, arb.__add__, ExponentialSum.__add__, self._size + other._size)

    def __sub__(self, other: Weight) -> Weight:
        return self._combined(other, arb.__sub__, ExponentialSum.__sub__, self._size + other._size)

    def __mul__(self, other: Weight) -> Weight:
        return self._combined(other, arb.__mul__, ExponentialSum.__mul__, self._size * other._size)

    def power(self, count: int) -> Weight:
        """The product of so many."""
        if self.rational is not None:
            return Weight.of(ExponentialSum.of(self.rational**count))

        def exact() -> ExponentialSum:
            found, square, left = ExponentialSum.of(1), self.exact(), count
            while left:
                found, left = (found * square if left & 1 else found), left >> 1
                square = square * square if left else square
            return found

        return Weight(lambda: self.ball() ** count, exact)
