"""The Renyi divergences of a symmetric privacy loss, enclosed by its tails at some losses and the profile's convexity.

Reference: the integral of a convex function of the likelihood ratio against the profile, Liese and Vajda 2006
(doi:10.1109/TIT.2006.881731), Theorem 11.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import pairwise
from typing import Final, final

from flint import arb

from dpverdict.audit.profile_curves import Curve
from dpverdict.audit.radial_law import TailIntegral
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

CELLS: Final = 256
"""Cells that are found by halving others."""

_BITS: Final = 64
_CLOSE: Final = 1e-8  # a relative width that is not worth another cell
_TAIL: Final = 1e-5  # of the integral, beyond the last cell
_DOUBLINGS: Final = 60


def renyi_ball(p_tail: Curve, q_tail: Curve, beyond: TailIntegral, order: Fraction) -> arb:
    """Encloses the divergence of order a. Its relative width is not one of rounding: from 1e-4 (few dimensions, orders
    far from the largest one) to some per cent, as the number of cells is fixed.

    With w(s) = exp((a-1) s) + exp(-a s), where the loss has under P the law that its negative has under Q,

        E_P[exp((a-1) L)] = 1 + a (a-1) I,    E_P[L] = I at a = 1,    I = integral over s > 0 of w(s) delta(s).

    delta is convex in exp(s), of slope -Q[L > s]: on every cell it is between its chord and the tangents at the ends,
    whose integrals are elementary.

    Args:
        p_tail, q_tail: P[L > s] and Q[L > s] for s >= 0, no atoms.
        beyond: a bound on the integral of exp(rate s) P[L > s] >= exp(rate s) delta(s) beyond a loss.
        order: a > 0, one at which the divergence is finite.

    Raises:
        PrecisionExhausted: the far tail stays too heavy.
    """
    integral = _Integral(p_tail, q_tail, beyond, order).enclosed(CELLS)
    with precision(2 * _BITS):
        if order == 1:
            return integral
        return (1 + ball(order * (order - 1)) * integral).log() / ball(order - 1)


@final
class _Integral:
    """Lower and upper sums for I."""

    def __init__(self, p_tail: Curve, q_tail: Curve, beyond: TailIntegral, order: Fraction) -> None:
        self._curves, self._beyond, self._rates = (p_tail, q_tail), beyond, (order - 1, -order)
        self._tails: dict[Fraction, tuple[arb, arb, arb]] = {}

    def enclosed(self, count: int) -> arb:
        with precision(2 * _BITS):
            rest = self._start()
            losses = sorted(self._tails)
            cells = {pair: self._sums(*pair) for pair in pairwise(losses)}
            heap = [(-_width(sums), pair) for pair, sums in cells.items()]
            heapq.heapify(heap)
            whole = float(sum((low for low, _ in cells.values()), arb(0)))
            for _ in range(count):
                width, (low, high) = heapq.heappop(heap)
                if -width < _CLOSE * whole:
                    break
                middle = (low + high) / 2
                self._evaluate(middle)
                del cells[low, high]
                for pair in ((low, middle), (middle, high)):
                    cells[pair] = self._sums(*pair)
                    heapq.heappush(heap, (-_width(cells[pair]), pair))
            lower = sum((low for low, _ in cells.values()), arb(0))
            upper = sum((high for _, high in cells.values()), rest)
            return lower.union(upper)

    def _start(self) -> arb:
        """Evaluate at 0 and at doubling losses, to where little is left beyond; a bound on what is left."""
        self._evaluate(Fraction(0))
        low, high, total = Fraction(0), Fraction(1, 64), arb(0)
        for _ in range(_DOUBLINGS):
            self._evaluate(high)
            total += self._sums(low, high)[1]
            rest = sum((self._beyond(high, rate) for rate in self._rates), arb(0))
            if rest.is_finite() and rest < _TAIL * total:
                return rest.upper()
            low, high = high, 2 * high
        raise PrecisionExhausted("the tail of a Renyi divergence", _BITS, "the order is too close to the largest one")

    def _evaluate(self, loss: Fraction) -> None:
        p, q = (curve(loss, _BITS) for curve in self._curves)
        x = ball(loss).exp()
        self._tails[loss] = (x, p - x * q, q)

    def _sums(self, low: Fraction, high: Fraction) -> tuple[arb, arb]:
        """Bounds on the integral over a cell: under the tangents at its ends, and under the chord."""
        (x_low, f_low, q_low), (x_high, f_high, q_high) = self._tails[low], self._tails[high]
        slope = (f_high - f_low) / (x_high - x_low)
        upper = self._line(ball(low), ball(high), f_low - slope * x_low, slope)
        meet = ((f_low + q_low * x_low - f_high - q_high * x_high) / (q_low - q_high)).log().mid()
        if not ball(low) < meet < ball(high):  # not known well enough: one tangent will do
            meet = ball(low)
        lower = self._line(ball(low), meet, f_low + q_low * x_low, -q_low)
        lower += self._line(meet, ball(high), f_high + q_high * x_high, -q_high)
        return lower.lower(), upper.upper()

    def _line(self, low: arb, high: arb, constant: arb, slope: arb) -> arb:
        """The integral of w(s) (constant + slope exp(s)) from low to high."""
        total = arb(0)
        for rate in self._rates:
            total += constant * _exponential(rate, low, high) + slope * _exponential(rate + 1, low, high)
        return total


def _exponential(rate: Fraction, low: arb, high: arb) -> arb:
    """The integral of exp(rate s) from low to high."""
    if rate == 0:
        return high - low
    return (ball(rate) * low).exp() * (ball(rate) * (high - low)).expm1() / ball(rate)


def _width(sums: tuple[arb, arb]) -> float:
    return float(sums[1] - sums[0])
