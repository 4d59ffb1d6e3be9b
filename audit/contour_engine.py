"""Profile and tails of a composed loss to any accuracy: contours are planned, laid, checked, and kept for later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.contour import Contour, admissible
from dpverdict.audit.contour_plan import Kind, Plan, Planner
from dpverdict.audit.moment_functions import MomentFunction
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

MAX_COST = 1e7
"""The most expensive contour laid, in products of balls: some seconds."""

_FAR = 1 << 40  # of an epsilon, relative to the loss: float64 steers no contour there
_KEPT = 24
_ATTEMPTS = 12
_GUARD = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to a curve: h(sign x) for a kind h, or one minus that; h is exp(-y) E_P[...] = Q[L > y] for `UPPER_Q`."""

    kind: Kind
    sign: int = 1
    from_one: bool = False

    def finish(self, value: arb, x: Fraction) -> arb:
        """The curve at x from h, at the current precision."""
        if self.kind is Kind.UPPER_Q:
            value = value * (-ball(self.sign * x)).exp()
        return 1 - value if self.from_one else value


DELTA = (Way(kind=Kind.PROFILE), Way(kind=Kind.COMPLEMENT, from_one=True))
DELTA_COMPLEMENT = (Way(kind=Kind.COMPLEMENT), Way(kind=Kind.PROFILE, from_one=True))
Q_ABOVE = (Way(kind=Kind.UPPER_Q), Way(kind=Kind.UPPER_P, sign=-1, from_one=True))
P_ABOVE = (Way(kind=Kind.UPPER_P), Way(kind=Kind.UPPER_Q, sign=-1, from_one=True))
"""The ways to delta(x), 1 - delta(x), Q[L > x] and P[L > x]: the first one is direct, the second goes by symmetry."""


@final
@dataclass(frozen=True, slots=True)
class _Laid:
    """A contour and the interval of x for which it is tried."""

    contour: Contour
    low: float
    high: float

    def serves(self, kind: Kind, place: float) -> bool:
        return self.low <= place <= self.high and admissible(kind, self.contour.plan)


@final
class ContourEngine:
    """The curves of one moment function with a Gaussian factor, each to the relative accuracy asked for.

    The curves take any rational epsilon and a number of bits, and raise `PrecisionExhausted` when a contour would
    cost more than `MAX_COST`. The pair of laws is symmetric, see `dpverdict.audit.moment_functions`.
    """

    __slots__ = ("_laid", "furthest", "moments", "planner")
    furthest: Fraction
    moments: MomentFunction
    planner: Planner

    def __init__(self, moments: MomentFunction) -> None:
        self.moments = moments
        self.furthest = _FAR * (1 + moments.total + Fraction(moments.spread) ** 2)
        self.planner = Planner(moments)
        self._laid: list[_Laid] = []

    def delta(self, epsilon: Fraction, bits: int) -> arb:
        """The privacy profile; delta(-e) = 1 - exp(-e) (1 - delta(e))."""
        if abs(epsilon) > self.furthest:
            value = self._far(abs(epsilon), bits)
            with precision(bits + 20):
                return value if epsilon > 0 else 1 - value
        if epsilon < 0:
            value = self.delta(-epsilon, bits + 2)
            with precision(bits + 20):
                return -ball(epsilon).expm1() + ball(epsilon).exp() * value
        return self.value(DELTA, epsilon, bits)

    def _far(self, epsilon: Fraction, bits: int) -> arb:
        """delta at a far epsilon, from 0 to Chernoff's bound M(1) exp(-epsilon); at -epsilon, 1 - delta is less still.

        1 - delta(-e) = exp(-e) (1 - delta(e)) <= exp(-e).
        """
        with precision(bits + 20):
            return arb(0).union((self.moments.at(arb(1)) * (-ball(epsilon)).exp()).upper())

    def delta_complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon)."""
        if abs(epsilon) > self.furthest:
            value = self._far(abs(epsilon), bits)
            with precision(bits + 20):
                return value if epsilon < 0 else 1 - value
        if epsilon < 0:
            value = self.delta_complement(-epsilon, bits + 2)
            with precision(bits + 20):
                return ball(epsilon).exp() * value
        return self.value(DELTA_COMPLEMENT, epsilon, bits)

    def q_tail(self, epsilon: Fraction, bits: int) -> arb:
        """Q[L > epsilon]; P[L <= epsilon] is the same function at -epsilon."""
        return self.value(Q_ABOVE, epsilon, bits)

    def deltas(self, epsilons: Sequence[Fraction], bits: int) -> list[arb]:
        """The profile at many epsilons; neighbours share contours."""
        self._share(sorted({abs(e) for e in epsilons if abs(e) <= self.furthest}), bits + 2)
        return [self.delta(epsilon, bits) for epsilon in epsilons]

    def value(self, ways: Sequence[Way], x: Fraction, bits: int) -> arb:
        """The curve to which all the ways lead; the first way is direct, and steers."""
        place = nearest(x)
        for laid in reversed(self._laid):
            for way in ways:
                if laid.serves(way.kind, way.sign * place):
                    value = _evaluate(laid.contour, way, x, bits)
                    if value.rel_accuracy_bits() >= bits:
                        return value
        size = self.log_size(ways[0], place)
        wanted = bits + _GUARD
        for _ in range(_ATTEMPTS):
            best = self.plan(ways, [place], [size], wanted)
            if best is None:
                break
            plan, way = best
            contour = self._lay(plan, [way.sign * place])
            value = _evaluate(contour, way, x, bits)
            accuracy = value.rel_accuracy_bits()
            if accuracy >= bits:
                return value
            if accuracy > 4:
                size = float(value.mid().log())
            wanted += min(max(bits - accuracy, 4), 4 * bits + 200)
        remedy = "the Gaussian part is too narrow beside the other parts for a contour of reasonable length"
        raise PrecisionExhausted("the integral", wanted, remedy)

    def plan(
        self,
        ways: Sequence[Way],
        places: Sequence[float],
        sizes: Sequence[float],
        bits: int,
        spare: float = math.inf,
    ) -> tuple[Plan, Way] | None:
        """The cheapest way with its contour; ``sizes`` are the logarithms of the curve at the places."""
        aims = np.array(sizes, dtype=np.float64) - bits * math.log(2)
        plans = []
        for way in ways:
            points = way.sign * np.array(places, dtype=np.float64)
            errors = aims + points if way.kind is Kind.UPPER_Q else aims
            if np.isfinite(errors).all():
                plan = self.planner.plan(way.kind, points, errors, spare=spare)
                if plan is not None and plan.cost(self.moments) <= MAX_COST:
                    plans.append((plan, way))
        return min(plans, key=lambda pair: pair[0].cost(self.moments), default=None)

    def log_size(self, way: Way, place: float) -> float:
        """An estimate of the logarithm of the curve, by its direct way."""
        size = self.planner.log_value(way.kind, place)
        return min(size - place, 0.0) if way.kind is Kind.UPPER_Q else size

    def _share(self, points: Sequence[Fraction], bits: int) -> None:
        """Lay contours for runs of several points, as long as they need at most about three times the precision."""
        if len(points) < 3:
            return
        ends = [nearest(points[0]), nearest(points[-1])]
        best = self.plan(DELTA, ends, [self.log_size(DELTA[0], end) for end in ends], bits + _GUARD)
        if best is not None and best[0].bits <= 3 * bits + 96:
            self._lay(best[0], ends)
            return
        middle = len(points) // 2
        self._share(points[:middle], bits)
        self._share(points[middle:], bits)

    def _lay(self, plan: Plan, places: Sequence[float]) -> Contour:
        contour, slack = Contour(self.moments, plan), 0.3 * self.moments.spread
        self._laid = [*self._laid[1 - _KEPT :], _Laid(contour, min(places) - slack, max(places) + slack)]
        return contour


def _evaluate(contour: Contour, way: Way, x: Fraction, bits: int) -> arb:
    value = contour.value(way.kind, way.sign * x)
    with precision(max(contour.plan.bits, bits + 20)):
        return way.finish(value, x)


def nearest(value: Fraction) -> float:
    """The nearest float64, infinite beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
