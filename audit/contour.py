"""Certified contour integration: tails and profile of a privacy loss from its moment generating function.

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

Centre, step and number of nodes are exact numbers chosen by `dpverdict.audit.contour_plan`; any choice gives a valid
ball.

Reference: numerical inversion of Laplace transforms with controlled alias: Abate and Whitt 1992
(doi:10.1007/BF01158520).
"""

from __future__ import annotations

from typing import final

from flint import acb, acb_poly, arb

from dpverdict.audit.contour_plan import Kind, Plan
from dpverdict.audit.moment_functions import MomentFunction, powers
from dpverdict.balls import Exact, ball, precision

_BLOCK = 32  # terms of one Horner scheme; each step may widen the box of a complex number by sqrt(2)
_BOUND_BITS = 64  # precision of the error bounds, which are upper bounds at any precision


@final
class Contour:
    """The nodes of one plan and M at them, which serve every kind of the same strip and every x."""

    __slots__ = ("_bounds", "_nodes", "_polynomials", "_scaled", "plan")
    plan: Plan

    def __init__(self, moments: MomentFunction, plan: Plan) -> None:
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


def admissible(kind: Kind, plan: Plan) -> bool:
    """Whether the plan is admissible for a kind: a < c < b, all in the strip, c not at its ends."""
    return kind.lowest <= plan.left < plan.centre < plan.right <= kind.highest and plan.centre > kind.lowest


@final
class _Bounds:
    """The bounds (2) and (3) of one plan; what does not depend on x is computed once."""

    __slots__ = ("_centre", "_dropped", "_from_left", "_from_right", "_height", "_left", "_right")

    def __init__(self, moments: MomentFunction, plan: Plan) -> None:
        with precision(_BOUND_BITS):
            self._left, self._centre, self._right = arb(plan.left), arb(plan.centre), arb(plan.right)
            step, variance = arb(plan.step), moments.variance.ball()
            period = 2 * arb.pi() / step
            falls = [(-(self._centre - self._left) * period).exp(), (-(self._right - self._centre) * period).exp()]
            self._from_left = moments.at(self._left) * falls[0] / (1 - falls[0])
            self._from_right = moments.at(self._right) * falls[1] / (1 - falls[1])
            self._height = step * (arb(plan.number) + arb(0.5))
            decay = -(-variance * step * self._height).expm1()
            largest = moments.at(self._centre) * (-variance * self._height * self._height / 2).exp()
            self._dropped = step / arb.pi() * largest / decay

    def alias(self, x: arb) -> arb:
        with precision(_BOUND_BITS):
            return self._from_left * (-self._left * x).exp() + self._from_right * (-self._right * x).exp()

    def truncation(self, kind: Kind, x: arb) -> arb:
        with precision(_BOUND_BITS):
            return self._dropped * (-self._centre * x).exp() / self._height**kind.decay
