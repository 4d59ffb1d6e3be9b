"""Certified contour integration: profile and tails of a composed loss from its moment generating function.

Let h be one of the functions of `Kind`, F(t) = integral of exp(t x) h(x) dx = weight(t) M(t) its transform, c inside
the strip of h, and g(x) = exp(c x) h(x). The loss has a Gaussian factor, so its law under P has a density and h is
continuous; g decays exponentially on both sides (Chernoff, below); |F(c + i w)| <= constant exp(-v w^2/2) for
|w| >= 1. Hence Poisson's formula holds pointwise: with step eta, period T = 2 pi/eta, nodes t_k = c + i eta (k + 1/2),

    (eta/pi) sum_{k >= 0} Re(exp(-x t_k) F(t_k)) = h(x) + sum_{n != 0} (-1)^n exp(c n T) h(x + n T).            (1)

(The left side is the sum over all k, as F(conj t) = conj F(t).) Three errors are charged to the ball.

* Alias, the sum on the right of (1). For z = L - x, every kind is E_P[phi(z)] with 0 <= phi(z) <= exp(tau z) for all
  real z and every tau in the closed strip: (1 - e^-z)_+ <= 1(z > 0) <= e^(tau z) for tau >= 0; min(1, e^-z) <=
  e^(tau z) for -1 <= tau <= 0; e^-z 1(z > 0) <= e^(tau z) for tau >= -1. So h(y) <= M(tau) exp(-tau y) (Chernoff).
  With tau = a < c for n < 0 and tau = b > c for n > 0 the two sums are geometric, and the alias is at most

    M(a) exp(-a x) r/(1 - r) + M(b) exp(-b x) s/(1 - s),      r = exp(-(c - a) T),  s = exp(-(b - c) T).        (2)

* Truncation at k < N. With w_k = eta (k + 1/2): |M(t_k)| <= M(c) exp(-v w_k^2/2), since every Laplace factor is a
  moment generating function, |E exp(t L)| <= E exp(c L), and the Gaussian factor is explicit. |weight| <= w_k^-d, with
  d = 2 for the profile and 1 for a tail. As w_{k+1}^2 - w_k^2 >= 2 eta w_N for k >= N, the dropped terms are at most

    (eta/pi) exp(-c x) M(c) w_N^-d exp(-v w_N^2/2) / (1 - exp(-v eta w_N)).                                     (3)

* Rounding, by ball arithmetic.

Centre, step and number of nodes are exact numbers chosen by `dpverdict.audit.losses.contour.moments`; any choice
gives a valid ball. `ContourEngine` serves any accuracy whose contour costs at most `MAX_COST`: it plans contours, lays
them, checks the accuracy of the balls, and keeps the contours for later.

Reference: numerical inversion of Laplace transforms with controlled alias: Abate and Whitt 1992
(doi:10.1007/BF01158520).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

import numpy as np
from flint import acb, acb_poly, arb

from dpverdict.audit.losses.contour.moments import ContourPlan, Kind, MomentFunction, Planner, powers
from dpverdict.balls import Exact, ball, precision
from dpverdict.errors import PrecisionExhausted

_BLOCK = 32  # terms of one Horner scheme; each step may widen the box of a complex number by sqrt(2)
_BOUND_BITS = 64  # precision of the error bounds, which are upper bounds at any precision


class Moments(Protocol):
    """A moment generating function M(t) = E_P[exp(t L)] of a loss, as far as a contour needs it."""

    def at(self, t: arb) -> arb:
        """An upper bound on M(t) at a real point, or a ball of it."""
        ...

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M(centre + i step (k + 1/2)) for k = 0, ..., number - 1, at the current precision."""
        ...

    def dropped(self, centre: arb, step: arb, height: arb) -> arb:
        """D such that the nodes at w >= height, with weights w^-2, add up to at most D exp(-centre x)/height^2."""
        ...


@final
class Contour:
    """The nodes of one plan and M at them, which serve every kind of the same strip and every x."""

    __slots__ = ("_bounds", "_nodes", "_polynomials", "_scaled", "plan")
    plan: ContourPlan

    def __init__(self, moments: Moments, plan: ContourPlan) -> None:
        self.plan = plan
        with precision(plan.bits):
            centre, height = arb(plan.centre), arb(plan.step) / 2
            self._nodes = [acb(centre, height * (2 * k + 1)) for k in range(plan.number)]
            scale = arb(plan.step) / arb.pi()
            self._scaled = [scale * value for value in moments.on_line(plan.centre, plan.step, plan.number)]
        self._polynomials: dict[Kind, list[acb_poly]] = {}
        self._bounds = _Bounds(moments, plan)

    def transform(self, kind: Kind) -> list[acb]:
        """(eta/pi) F(t_k) at the nodes."""
        with precision(self.plan.bits):
            nodes, values = self._nodes, self._scaled
            if kind is Kind.UPPER_P:
                return [value / t for value, t in zip(values, nodes, strict=True)]
            if kind is Kind.UPPER_Q:
                return [value / (t + 1) for value, t in zip(values, nodes, strict=True)]
            sign = -1 if kind is Kind.COMPLEMENT else 1
            return [value / (sign * t * (t + 1)) for value, t in zip(values, nodes, strict=True)]

    def value(self, kind: Kind, x: Exact) -> arb:
        """A ball that certainly contains h(x); its radius is whatever the plan gives.

        Args:
            kind: a function h whose strip contains the centre and both Chernoff points of the plan.
            x: any real number.
        """
        if kind not in self._polynomials:
            terms = self.transform(kind)
            blocks = range(0, len(terms), _BLOCK)
            self._polynomials[kind] = [acb_poly(terms[first : first + _BLOCK]) for first in blocks]
        polynomials = self._polynomials[kind]
        with precision(self.plan.bits):
            point = ball(x)
            angle = arb(self.plan.step) * point
            turn = acb(0, -angle).exp()
            total = acb(0, -angle / 2).exp() * sum(
                (
                    polynomial(turn) * power
                    for polynomial, power in zip(polynomials, powers(turn**_BLOCK, len(polynomials)), strict=True)
                ),
                start=acb(0),
            )
            value = total.real * (-arb(self.plan.centre) * point).exp()
        error = self.error(kind, point)
        with precision(self.plan.bits):
            return value + error * arb(0, 1)

    def error(self, kind: Kind, x: arb) -> arb:
        """An upper bound of alias and truncation at x."""
        return self._bounds.alias(x) + self._bounds.truncation(kind, x)


def admissible(kind: Kind, plan: ContourPlan) -> bool:
    """Whether the plan is admissible for a kind: a < c < b, all in the strip, c not at its ends."""
    return kind.lowest <= plan.left < plan.centre < plan.right <= kind.highest and plan.centre > kind.lowest


@final
class _Bounds:
    """The bounds (2) and (3) of one plan; what does not depend on x is computed once."""

    __slots__ = ("_centre", "_dropped", "_from_left", "_from_right", "_height", "_left", "_right")

    def __init__(self, moments: Moments, plan: ContourPlan) -> None:
        with precision(_BOUND_BITS):
            self._left, self._centre, self._right = arb(plan.left), arb(plan.centre), arb(plan.right)
            step = arb(plan.step)
            period = 2 * arb.pi() / step
            falls = [(-(self._centre - self._left) * period).exp(), (-(self._right - self._centre) * period).exp()]
            self._from_left = moments.at(self._left) * falls[0] / (1 - falls[0])
            self._from_right = moments.at(self._right) * falls[1] / (1 - falls[1])
            self._height = step * (arb(plan.number) + arb(0.5))
            self._dropped = moments.dropped(self._centre, step, self._height)

    def alias(self, x: arb) -> arb:
        with precision(_BOUND_BITS):
            return self._from_left * (-self._left * x).exp() + self._from_right * (-self._right * x).exp()

    def truncation(self, kind: Kind, x: arb) -> arb:
        with precision(_BOUND_BITS):
            return self._dropped * (-self._centre * x).exp() / self._height**kind.decay


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
    cost more than `MAX_COST`. The pair of laws is symmetric, see `dpverdict.audit.losses.contour.moments`.
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
    ) -> tuple[ContourPlan, Way] | None:
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

    def _lay(self, plan: ContourPlan, places: Sequence[float]) -> Contour:
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
        return math.inf if value > 0 else -math.inf
