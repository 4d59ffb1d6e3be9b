"""A quick guess at the loss where a tail probability has a given value: it steers the certified search."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from flint import arb
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebinterpolate, chebpts1
from scipy.optimize import brentq

from dpverdict.audit.profile_curves import Curve
from dpverdict.balls import precision

_BITS: Final = 44
_DEGREE: Final = 17
_MAX_PIECES: Final = 200
_CLOSEST: Final = 1e-10
_NARROW: Final = Fraction(1, 2**30)


@final
class TailGuess:
    """Where Q[L > x] = alpha, in float64, for a symmetric pair whose loss has a density. It proves nothing.

    The logarithms of p(s) = P[L > s] and q(s) = Q[L > s], s >= 0, are interpolated on pieces whose ends double (towards
    the largest loss: whose distances to it halve); a piece is made when it is first needed. For alpha above q(0) the
    point is x = -s with p(s) = 1 - alpha.

    Args:
        p_tail, q_tail: the two curves.
        largest: the largest loss; infinite if there is none.
    """

    __slots__ = ("_curves", "_ends", "_largest", "_pieces", "_unit")

    def __init__(self, p_tail: Curve, q_tail: Curve, largest: float = math.inf) -> None:
        self._curves: tuple[Curve, Curve] = (p_tail, q_tail)
        self._ends: tuple[dict[int, float], dict[int, float]] = ({}, {})
        self._pieces: tuple[dict[int, Chebyshev], dict[int, Chebyshev]] = ({}, {})
        self._largest = largest
        self._unit = min(1.0, largest / 4)
        start = self._value(1, 0.0)
        while self._value(1, self._unit) < start - 1 and self._unit > 2.0**-60:
            self._unit /= 2

    def bracket(self, alpha: Fraction) -> tuple[Fraction, Fraction]:
        """Two losses close to each other, 0 < alpha < 1, likely on both sides of the point."""
        upper = math.log(alpha) <= self._end(1, 0)
        s = self._solve(1, _logarithm(alpha)) if upper else self._solve(0, _logarithm(1 - alpha))
        guess = Fraction(s if upper else -s)
        width = _NARROW * max(abs(guess), Fraction(self._unit))
        return guess - width, guess + width

    def _solve(self, which: int, goal: float) -> float:
        """The s with log curve(s) = goal; the nearest end where there is none."""
        if self._end(which, 0) <= goal:
            return 0.0
        number = 0
        while self._end(which, number + 1) > goal:
            number += 1
            if number == _MAX_PIECES:
                return self._place(number)
        low, high = self._place(number), self._place(number + 1)
        if not math.isfinite(self._end(which, number + 1)) or high - low < _CLOSEST * high:
            return low
        if number not in self._pieces[which]:
            nodes: Any = chebpts1(_DEGREE + 1)
            values: Any = np.array([self._value(which, low + (high - low) * (1 + node) / 2) for node in nodes.tolist()])
            coefficients: Any = chebinterpolate(lambda _: values, _DEGREE)  # it asks at the same nodes
            self._pieces[which][number] = Chebyshev(coefficients, domain=[low, high])
        piece = self._pieces[which][number]
        if not piece(low) > goal > piece(high):
            return low if piece(low) <= goal else high
        return float(brentq(lambda s: float(piece(s)) - goal, low, high, xtol=1e-15 * self._unit, rtol=1e-15))

    def _end(self, which: int, number: int) -> float:
        known = self._ends[which]
        if number not in known:
            known[number] = self._value(which, self._place(number))
        return known[number]

    def _place(self, number: int) -> float:
        """The left end of a piece."""
        if number == 0:
            return 0.0
        doubled = math.ldexp(self._unit, number - 1)
        if 2 * doubled <= self._largest:
            return doubled
        turn = math.floor(math.log2(self._largest / self._unit))  # the first number whose doubled end is too large
        return self._largest * (1 - 0.5 ** (number - turn + 1))

    def _value(self, which: int, s: float) -> float:
        with precision(_BITS + 20):
            value: arb = self._curves[which](Fraction(s), _BITS)
            return float(value.log().mid()) if value > 0 else -math.inf


def _logarithm(probability: Fraction) -> float:
    with precision(_BITS + 20):
        return float((arb(probability.numerator) / probability.denominator).log().mid())
