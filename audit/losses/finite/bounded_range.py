"""The privacy loss that dominates every bounded-range mechanism, the exponential mechanism first of all.

A pair of laws has the range e if its loss takes values in some interval [t - e, t]. Its profile is then at most that of
two outcomes with the losses t and t - e, whose probabilities follow from both laws adding up to 1:

    delta(level) = (1 - exp(level - t)) (1 - exp(t - e))/(1 - exp(-e)),   t - e <= level <= t.

The largest of these is that of t = (level + e)/2, and the envelope over all t is itself the profile of one pair of
laws: `BoundedRangeLoss`. The pair of one t is a `FiniteLoss`.

Reference: Dong, Durfee and Rogers 2020, Optimal Differential Privacy Composition for Exponential Mechanisms, Lemma 3.2
and Corollary 3.1 (arXiv:1909.13830).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import acb, arb

from dpverdict.audit.losses.base import RANDOM_BITS, BallLoss, ExactLoss
from dpverdict.audit.losses.curves import ACCURACY, log_delta_ball
from dpverdict.audit.losses.domains import LossTails, PartMoments, finite_losses
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import MAX_BITS, Enclosure, Exact, ball, exactly, refine
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.text import exact_text

_UNIT: Final = 2.0**-50


@final
class BoundedRangeLoss(BallLoss, ExactLoss):
    """The privacy loss of the pair whose profile is the largest of all pairs of range ``range``, e for short.

    L lies in [-e, e] and has densities there, with P[L > l] = (1 - exp((l - e)/2))/(1 - exp(-e)) and
    Q[L <= l] = P[L > -l]. So

        delta(level) = (1 - exp((level - e)/2))^2/(1 - exp(-e))  for |level| <= e,
        beta(alpha) = (1 - alpha)/(1 + alpha (exp(e) - 1)).

    It dominates every mechanism whose loss, on every pair of neighbours, takes values in an interval of length e, and
    the adaptive composition of such mechanisms is dominated by its composition. At every level some two-point pair of
    that range attains the profile, another one at each level.

    Symmetry: P against Q and Q against P have the same curves, and the trade-off function is its own inverse.

    Args:
        range: e > 0, at its exact value: int, float, Fraction or decimal string.
        assumed: what a certificate takes for granted about how an outcome is drawn.

    Raises:
        InvalidValue: not positive.

    >>> BoundedRangeLoss(1).certified_delta("0.5").contains("0.07740468631569081150197853808405761")
    True
    >>> BoundedRangeLoss(1).beta("0.5") == 1 / (1 + np.e)
    True
    """

    __slots__ = ("_assumed", "_range")

    symmetric = True

    def __init__(self, range: Exact, *, assumed: tuple[str, ...] = (RANDOM_BITS,)) -> None:
        self._range, self._assumed = check_positive(range, "range"), assumed

    @property
    def assumptions(self) -> tuple[str, ...]:
        """As stated by ``assumed``."""
        return self._assumed

    def event_above(self, level: float) -> str:
        """In terms of the loss itself: the pair stands for no one mechanism."""
        return f"the outcomes of a bounded-range mechanism whose privacy loss exceeds {level!r}"

    @property
    def range(self) -> Fraction:
        """The length e of the interval of losses, and the pure epsilon."""
        return self._range

    @property
    def largest_loss(self) -> Fraction:
        """e, as ``range``."""
        return self._range

    def least_rho(self) -> Enclosure:
        """The Kullback-Leibler divergence e coth(e/2) - 2, the limit of D_a/a at a = 1: D_a/a falls from there.

        With c = a - 1/2, D_a/a = log M/(c^2 - 1/4) with M = sinh(c e)/(2 c sinh(e/2)), an entire function of c^2 of
        order 1/2 whose zeros are real and negative: log M is concave in c^2, and its chord slope from 1/4 on falls.

        Mechanisms of this range are e^2/8-zCDP, which is less: no single one attains this pair.
        """
        return self.certified_renyi(1)

    def moments(self) -> PartMoments:
        """Of the pair: M(t) = sinh((t + 1/2) e)/((2 t + 1) sinh(e/2))."""
        return RangeMoments(self._range)

    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """As ``profile``."""
        return self.profile(epsilon, bits)

    # balls ------------------------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        if epsilon >= self._range:
            return arb(0)

        def evaluate() -> arb:
            if epsilon <= -self._range:
                return -ball(epsilon).expm1()
            return (ball(epsilon - self._range) / 2).expm1() ** 2 / -ball(-self._range).expm1()

        return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name="delta")

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon), to ``bits`` accurate bits."""
        if epsilon >= self._range:
            return arb(1)

        def evaluate() -> arb:
            if epsilon <= -self._range:
                return ball(epsilon).exp()
            half = ball(epsilon - self._range) / 2  # x = exp(half): 2 x - x^2 - exp(-e) = x (1 - x) + (x - exp(-e))
            rest = ball(-self._range).exp() * (ball(epsilon + self._range) / 2).expm1()
            return (rest - half.exp() * half.expm1()) / -ball(-self._range).expm1()

        return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name="1 - delta")

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        if abs(level) >= self._range:
            return arb(0 if level > 0 else 1)

        def evaluate() -> arb:
            return (ball(level - self._range) / 2).expm1() / ball(-self._range).expm1()

        return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name="a probability")

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        if abs(level) >= self._range:
            return arb(0 if level > 0 else 1)

        def evaluate() -> arb:
            return (ball(self._range - level) / 2).expm1() / ball(self._range).expm1()

        return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name="a probability")

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon), complement=self.complement) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        """e + 2 log(1 - sqrt(delta (1 - exp(-e)))), which is 0 for no rational delta but in sign."""
        if delta == 1:
            return arb(0)

        def evaluate() -> arb:
            return ball(self._range) + 2 * (-(ball(delta) * -ball(-self._range).expm1()).sqrt()).log1p()

        value = refine(evaluate, bits=ACCURACY, name="epsilon")
        return value if value > 0 else arb(0)

    def _beta_ball(self, alpha: Fraction) -> arb:
        return refine(lambda: ball(1 - alpha) / (1 + ball(alpha) * ball(self._range).expm1()), bits=ACCURACY)

    def _renyi_ball(self, order: Fraction) -> arb:
        """log(sinh(c e)/(2 c sinh(e/2)))/(order - 1) with c = order - 1/2, and its limits at c = 0 and order 1."""

        def evaluate() -> arb:
            e = ball(self._range)
            if order == 1:
                return e / (e / 2).tanh() - 2
            c = ball(order - Fraction(1, 2))
            ratio = (c * e).sinh() / c if c != 0 else e
            return (ratio / (2 * (e / 2).sinh())).log() / ball(order - 1)

        return refine(evaluate, bits=ACCURACY, name="renyi")

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    # float64 ----------------------------------------------------------------------------------------------------------

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,), by expm1 of l - e and l + e: each difference is rounded once."""
        losses = finite_losses(l)
        high = float(self._range)
        low = float(self._range - Fraction(high))
        p_above, p_below = self._one_side(losses, high, low)
        q_below, q_above = self._one_side(-losses, high, low)
        error = _UNIT * (16 + 2 * high)
        return LossTails(p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=error)

    def _one_side(self, losses: Array, high: float, low: float) -> tuple[Array, Array]:
        """P[L > l] and P[L <= l], the range being high + low."""
        short, reach = (losses - high) - low, (losses + high) + low
        whole = -np.expm1(-high)
        above = np.expm1(np.minimum(short, 0.0) / 2) / -whole
        below = np.exp(np.minimum(short, 0.0) / 2) * -np.expm1(-np.maximum(reach, 0.0) / 2) / whole
        inside = (short < 0) & (reach > 0)
        return (
            np.where(inside, np.minimum(above, 1.0), (short < 0).astype(np.float64)) + 0.0,
            np.where(inside, np.minimum(below, 1.0), (short >= 0).astype(np.float64)),
        )

    def __repr__(self) -> str:
        return f"BoundedRangeLoss({exact_text(self._range)!r})"


@final
class RangeMoments:
    """The moments of a bounded-range loss, as one contour for a composition needs them.

    M(t) = E_P[exp(t L)] = sinh((t + 1/2) e)/((2 t + 1) sinh(e/2)), and |sinh(x + i y)| <= cosh(x).

    Args:
        range: e > 0.
    """

    __slots__ = ("_range", "largest")
    largest: float

    def __init__(self, range: Fraction) -> None:
        self._range = range
        self.largest = 1e5 / max(float(range), 1e-3)

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        e = float(self._range)
        x = (points + 0.5) * e
        found: Array = x + np.log(-np.expm1(-2 * x)) - np.log(2 * points + 1) - e / 2 - math.log(-math.expm1(-e))
        return found

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of (2 c + 1)/|2 (c + i w) + 1|, and of the hyperbolic cosine over the sine."""
        x = (centre + 0.5) * float(self._range)
        found: Array = -np.log(np.hypot(1.0, 2 * heights / (2 * centre + 1))) - math.log(math.tanh(x))
        return found

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """One exponential for every node."""
        return number

    def at(self, t: arb) -> arb:
        """M(t)."""
        e = ball(self._range)
        return ((t + arb(1) / 2) * e).sinh() / ((2 * t + 1) * (e / 2).sinh())

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line."""
        e, half = ball(self._range), arb(step) / 2
        whole, found = (e / 2).sinh(), list[acb]()
        for k in range(number):
            t = acb(arb(centre), half * (2 * k + 1))
            found.append(((t + arb(1) / 2) * e).sinh() / ((2 * t + 1) * whole))
        return found

    def beyond(self, centre: arb, height: arb) -> arb:
        """cosh((c + 1/2) e)/(|2 (c + i w) + 1| sinh(e/2)), which falls with w."""
        e = ball(self._range)
        size = ((2 * centre + 1) ** 2 + (2 * height) ** 2).sqrt()
        return ((centre + arb(1) / 2) * e).cosh() / (size * (e / 2).sinh())


def bounded_range(epsilon: Exact, *, t: Exact | None = None) -> BoundedRangeLoss | FiniteLoss:
    """The privacy loss that dominates every epsilon-bounded-range mechanism, or that of one such pair.

    The exponential mechanism with weights exp(epsilon u/(2 D)), u of sensitivity D, is one; so it is with weights
    exp(epsilon u/D) where u is monotone.

    Args:
        epsilon: the length of the interval of losses, > 0, exact.
        t: the larger of the two losses of a pair of two outcomes, t and t - epsilon, with 0 < t < epsilon, exact. Its
            profile is the largest of the range at epsilon' = 2 t - epsilon only.

    Raises:
        InvalidValue: a number out of range.

    >>> from dpverdict.audit.losses.composition import compose
    >>> compose(*[bounded_range(1)] * 10).certified_delta(2).show(8)
    '[0.2590693, 0.25906931]'
    >>> bounded_range(1, t="3/4").delta("0.5") == bounded_range(1).delta("0.5")
    True
    """
    if t is None:
        return BoundedRangeLoss(epsilon)
    width, larger = check_positive(epsilon, "epsilon"), check_positive(t, "t")
    if larger >= width:
        raise InvalidValue("t", t, f"between 0 and epsilon={epsilon}", "two laws have losses on both sides of 0")
    one, exp = ExponentialSum.of(1), ExponentialSum.exp
    return FiniteLoss.of_weights(
        [one - exp(larger - width), exp(larger - width) - exp(-width)],
        [exp(-larger) - exp(-width), one - exp(-larger)],
    )
