"""The profile of many Laplace coordinates by certified contour integration, where their atoms weigh next to nothing.

Shifts s_g with counts m_g, gap = total - epsilon, and for t = c + i w

    F(t) = exp(t gap)  prod_g ((t + 1 + t exp(-s_g (2 t + 1))) / (2 t + 1))^(m_g)  / (t (t + 1)).

F is the transform of h = delta on the lines c > 0, and of h = delta - 1 on the lines -1 < c < 0. h is continuous and F
is summable on the line, so Poisson's formula holds: with step eta and period T = 2 pi/eta,

    (eta/2 pi) sum over all k of F(c + i eta k) = h(epsilon) + sum over n != 0 of exp(c n T) h(epsilon + n T).

Three errors are charged to the ball, besides rounding.

* n < 0. For c > 0: delta <= 1, so at most r/(1 - r) with r = exp(-c T).
  For c < 0: 1 - delta(x) = E_P min(1, exp(x - L)) <= exp(x), so at most exp(epsilon) r/(1 - r), r = exp(-(1 + c) T).
* n > 0. For c > 0: delta(x) <= exp(K(b) - b x) for any b > 0 (Chernoff; K is the logarithm of the moment generating
  function), so at most exp(K(b) - b epsilon) q/(1 - q) with q = exp(-(b - c) T), for b > c; and 0 if T >= gap, as delta
  is 0 from the total on. For c < 0: 1 - delta <= 1, so at most q/(1 - q) with q = exp(c T).
* |k| > N. On w >= W = N eta the square of |t + a|/|2 t + 1| is monotonic in w^2 with limit 1/4, for each real a; so it
  is at most the larger of its value at W and 1/2, and what is left out is at most

    exp(c gap) prod_g (top(1) + exp(-s_g (2 c + 1)) top(0))^(m_g) / (pi W),   top(a) = max(|t_W + a|/|2 t_W + 1|, 1/2).

The last bound does not go to 0: its limit is what the atoms contribute. Where they weigh too much, there is no contour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import acb, arb

from dpverdict.audit.losses.laplace.terms import Groups, Kernel, Saddle, lower_saddle, near, saddle
from dpverdict.balls import ball, precision

_LOG2 = math.log(2.0)
_MOST_FACTORS = 20_000  # some 0.1 s
_MOST_ATTEMPTS = 4
_BOUND_BITS = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of integration: any choice gives a valid ball."""

    centre: float
    step: float
    number: int
    second: float | None
    """The b of Chernoff's bound; None if the period is at least the gap."""


@final
class LaplaceContour:
    """Contours for one vector of shifts."""

    __slots__ = ("_counts", "_groups", "_shifts", "_total")

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._total = sum((shift * count for shift, count in groups), Fraction(0))
        self._shifts = np.array([near(shift) for shift, _ in groups])
        self._counts = np.array([float(count) for _, count in groups])

    def delta(self, epsilon: Fraction, bits: int) -> arb | None:
        """The profile at 0 <= epsilon < total, to ``bits`` bits; None where the atoms weigh too much for that."""
        saddle = self.saddle(epsilon)
        return self._along(saddle.t, saddle.log_tail, epsilon, bits)

    def complement(self, epsilon: Fraction, bits: int) -> arb | None:
        """One minus the profile at 0 <= epsilon < total, to ``bits`` bits; None as above."""
        gap = self._total - epsilon
        saddle = lower_saddle(self._shifts, self._counts, near(gap))
        centre = saddle.t if abs(saddle.t + 0.5) > 0.02 else -0.48  # 1/(2 t + 1) is not evaluated at its pole
        value = self._along(centre, saddle.log_tail, epsilon, bits)
        if value is None:
            return None
        with precision(bits + 64):
            return -value

    def _along(self, centre: float, log_value: float, epsilon: Fraction, bits: int) -> arb | None:
        gap = self._total - epsilon
        for _ in range(_MOST_ATTEMPTS):
            line = self._line(centre, float(epsilon), near(gap), log_value - (bits + 6) * _LOG2)
            if line is None:
                return None
            with precision(bits + 64):
                value = self._integral(line, gap)
                value += arb(0, self._charges(line, epsilon).upper())
            missing = bits - value.rel_accuracy_bits()
            if missing <= 0:
                return value
            log_value -= min(missing, bits) + 1.0
        return None

    def complement_upper(self, epsilon: Fraction) -> arb:
        """At least 1 - delta(epsilon) at 0 <= epsilon < total: exp(K(t) - epsilon t) for a t in (-1, 0) (Chernoff)."""
        gap = self._total - epsilon
        t = lower_saddle(self._shifts, self._counts, near(gap)).t
        t = min(max(t, -0.999), -0.001) if abs(t + 0.5) > 0.02 else -0.48
        with precision(_BOUND_BITS):
            bound = (arb(t) * ball(gap)).exp()
            for shift, count in self._groups:
                rest = arb(t) * (-ball(shift) * (2 * arb(t) + 1)).expm1() / (2 * arb(t) + 1)
                bound *= (1 + rest) ** count
            return bound.upper() if bound.is_finite() else arb("inf")

    def saddle(self, epsilon: Fraction) -> Saddle:
        """The saddle point of the profile and the estimate it gives; they bound nothing."""
        return saddle(self._shifts, self._counts, near(self._total - epsilon), Kernel.DELTA)

    # guesses ----------------------------------------------------------------------------------------------------------

    def _line(self, centre: float, epsilon: float, gap: float, log_target: float) -> _Line | None:
        chosen: float | None = None
        if centre < 0:
            period = max(-log_target / -centre, (epsilon - log_target) / (1 + centre))
        else:
            candidates: list[tuple[float, float | None]] = [(gap * (1 + 1e-9), None)]
            for scale in (1.15, 1.4, 2.0, 3.0):
                second = centre * scale
                candidates.append(((self._log_moment(second, gap) - log_target) / (second - centre), second))
            period, chosen = min(candidates, key=lambda candidate: candidate[0])
            period = max(period, -log_target / centre)
            if period > gap * (1 + 1e-9):
                chosen = None
        step = 2 * math.pi / period * (1 - 1e-12)
        height = max(step, abs(centre))
        while True:
            number = math.ceil(height / step)
            if number * len(self._groups) > _MOST_FACTORS:
                return None
            if self._log_dropped(centre, gap, number * step) < log_target:
                return _Line(centre=centre, step=step, number=number, second=chosen)
            height *= 1.1

    def _log_moment(self, t: float, gap: float) -> float:
        """K(t) - epsilon t."""
        factors = (t + 1 + t * np.exp(-self._shifts * (2 * t + 1))) / (2 * t + 1)
        return t * gap + float(self._counts @ np.log(factors))

    def _log_dropped(self, centre: float, gap: float, height: float) -> float:
        bottom = abs(complex(2 * centre + 1, 2 * height))
        above = max(abs(complex(centre + 1, height)) / bottom, 0.5)
        below = max(abs(complex(centre, height)) / bottom, 0.5)
        factors = above + np.exp(-self._shifts * (2 * centre + 1)) * below
        return centre * gap + float(self._counts @ np.log(factors)) - math.log(math.pi * height)

    # balls ------------------------------------------------------------------------------------------------------------

    def _integral(self, line: _Line, gap: Fraction) -> arb:
        """(h/2 pi) times the sum of F over |k| <= N."""
        distance = ball(gap)
        shifts = [(ball(shift), count) for shift, count in self._groups]
        total = arb(0)
        for k in range(line.number + 1):
            t = acb(arb(line.centre), arb(line.step) * k)
            twice = 2 * t + 1
            value = (t * distance).exp() / (t * (t + 1))
            for shift, count in shifts:
                value *= ((t + 1 + t * (-shift * twice).exp()) / twice) ** count
            total += value.real / 2 if k == 0 else value.real
        return total * arb(line.step) / arb.pi()

    def _charges(self, line: _Line, epsilon: Fraction) -> arb:
        """A bound on the alias and on the nodes left out."""
        centre, period = arb(line.centre), 2 * arb.pi() / arb(line.step)
        gap = ball(self._total - epsilon)
        if line.centre < 0:
            bound = ball(epsilon).exp() * _geometric((1 + centre) * period) + _geometric(-centre * period)
        else:
            bound = _geometric(centre * period)
            if line.second is not None:
                second = arb(line.second)
                moment = (second * gap).exp()
                for shift, count in self._groups:
                    low = (-ball(shift) * (2 * second + 1)).exp()
                    moment *= ((second + 1 + second * low) / (2 * second + 1)) ** count
                bound += moment * _geometric((second - centre) * period)
            elif not period >= gap:
                return arb("inf")
        height = arb(line.step) * line.number
        bottom = abs(acb(2 * centre + 1, 2 * height))
        above = (abs(acb(centre + 1, height)) / bottom).max(arb(0.5))
        below = (abs(acb(centre, height)) / bottom).max(arb(0.5))
        dropped = (centre * gap).exp() / (arb.pi() * height)
        for shift, count in self._groups:
            dropped *= (above + (-ball(shift) * (2 * centre + 1)).exp() * below) ** count
        return bound + dropped


def _geometric(rate: arb) -> arb:
    """The sum over n >= 1 of exp(-rate n), for rate > 0."""
    return 1 / rate.expm1() if rate > 0 else arb("inf")
