"""One step of Poisson sampling: the privacy loss of a mechanism that sees the record with probability q.

Let the mechanism without the record have the output law Q, and with it the law P. Sampled, it has M = (1 - q) Q + q P
in place of P. With g(x) = 1 - q + q exp(x) and a = exp(epsilon), every measurable set satisfies

    M - a Q = q (P - b Q),                   b = 1 + (a - 1)/q,                        for a > 1 - q,
    Q - a M = (1 - a (1 - q)) (Q - b P),     b = a q/(1 - a (1 - q)),                  for a < 1/(1 - q),

and M >= (1 - q) Q. So both profiles are those of the mechanism at another level, times a factor:

    remove: delta(epsilon) = q delta_PQ(x),                         x = log((a - 1 + q)/q),      a > 1 - q;
            1 - a for a <= 1 - q;
    add:    delta(epsilon) = (1 - a (1 - q)) delta_QP(-x),          x = log((1/a - 1 + q)/q),    a < 1/(1 - q);
            0 for a >= 1/(1 - q).

The losses are log g(L) and -log g(L) for L = log dP/dQ, and g increases: {log g(L) > l} is {L > x}, with the same x.
Nothing here cancels, except in x where a is close to 1 - q.

The pair (M, Q) dominates the sampled mechanism under add-or-remove-one, and (Q, M) in the other order, if (P, Q) and
(Q, P) dominate the mechanism for every set of other records: by joint convexity of the hockey-stick divergence, over
the random set of the other records that are sampled.

Reference: Balle, Barthe and Gaboardi 2018 (arXiv:1807.01647), Theorem 8 (amplification by Poisson sampling); Zhu, Dong
and Wang 2022 (arXiv:2106.08567), Theorem 11 (both orders, and composition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
from flint import acb, arb, ctx

from dpverdict.audit.losses.base import BallLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.curves import (
    ACCURACY,
    Curve,
    beta_ball,
    beta_between,
    epsilon_ball,
    epsilon_between,
    log_delta_ball,
)
from dpverdict.audit.losses.domains import TINY, Direction, LossTails, PartMoments, finite_losses
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.moments import GaussianMoments, LaplaceMoments, StepMoments
from dpverdict.balls import Exact, Real, ball, compare, exactly, precision, refine
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.roots import as_fraction
from dpverdict.numerics.text import exact_text, short_text

_NORMAL = BallNormal()
_GUARD = 32
_MAX_BITS = 1 << 14
_UNIT = 2.0**-53
_ROUNDED = 64 * _UNIT  # more than the relative error of a level in float64
_FAR = 30.0
_CLOSE = 1e-11  # of a tail at the two ends of a rounded level


TailsAt: TypeAlias = Callable[[arb], "tuple[arb, arb] | None"]
"""From a ball x to P[L > x] and Q[L > x]; None where no formula says them."""


def noisy_sums(noise_multiplier: Fraction) -> str:
    """What the letters of a likelihood ratio of training mean."""
    sums = "y_t the noisy sum along the canary's gradient in units of the clipping norm"
    return f"s = {short_text(noise_multiplier)}, {sums}"


@runtime_checkable
class TailsAtBalls(Protocol):
    """A loss that has both tails at a ball as formulas."""

    def tails_in_closed_form(self) -> TailsAt | None:
        """As `tails_in_closed_form`, of its constants at the current precision."""
        ...


def tails_in_closed_form(pair: PrivacyLoss) -> TailsAt | None:
    """P[L > x] and Q[L > x] of a loss at a ball x, where each is a formula; None in place of what they do not say.

    Constants are made at the precision at which this is called. Of Laplace noise on one number, moved by s:
    1 - exp((x - s)/2)/2 and exp(-(x + s)/2)/2 at -s < x < s.
    """
    if isinstance(pair, GaussianLoss):
        mu = pair.mu_real.ball()
        half = mu / 2

        def of_gaussian(x: arb) -> tuple[arb, arb] | None:
            z = x / mu
            return (_NORMAL.tail(z - half), _NORMAL.tail(z + half)) if z.is_finite() else None

        return of_gaussian
    if isinstance(pair, TailsAtBalls):
        return pair.tails_in_closed_form()
    if not (isinstance(pair, LaplaceLoss) and len(pair.groups) == 1 and pair.groups[0][1] == 1):
        return None
    s = ball(pair.groups[0][0])

    def of_laplace(x: arb) -> tuple[arb, arb] | None:
        if not (-s < x and x < s):
            return None
        return 1 - ((x - s) / 2).exp() / 2, (-(x + s) / 2).exp() / 2

    return of_laplace


@final
class SampledStep(BallLoss):
    """The privacy loss of one step of a Poisson-sampled mechanism, in one order.

    Use `dpverdict.audit.sampling.poisson.poisson_sampled`. The certified curves are those of the mechanism at another
    level, and as accurate as these; the float64 ones are rounded balls.

    Args:
        pair: the loss of the mechanism on the record: P against Q (present against absent) for the order remove, and Q
            against P for the order add.
        sampling_probability: q, with 0 < q < 1.
        order: remove for M against Q, add for Q against M.
        repeat: makes the loss of several equal steps, where there is a way of its own to it.
        moments: E_Q[g(L)^w] of one step, g(L) = dM/dQ, the same for both orders; made where they are asked for.
    """

    __slots__ = ("_found", "_make_moments", "_repeat", "order", "pair", "sampling_probability")
    pair: PrivacyLoss
    sampling_probability: Fraction
    order: Direction

    def __init__(
        self,
        pair: PrivacyLoss,
        sampling_probability: Fraction,
        order: Direction,
        repeat: Callable[[SampledStep, int], PrivacyLoss | None] | None = None,
        moments: Callable[[], StepMoments | None] | None = None,
    ) -> None:
        if not 0 < sampling_probability < 1:
            remedy = "without sampling the loss is that of the mechanism, with rate 0 it is 0"
            raise InvalidValue("sampling_probability", str(sampling_probability), "between 0 and 1", remedy)
        self.pair, self.sampling_probability, self.order, self._repeat = pair, sampling_probability, order, repeat
        self._make_moments = moments
        self._found: list[StepMoments | None] = []

    def repeated(self, count: int) -> PrivacyLoss | None:
        """The loss of so many equal steps, where there is a certified way to it."""
        return None if self._repeat is None else self._repeat(self, count)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """That of the mechanism, the rate and the order."""
        own = self.pair.exact_key
        return None if own is None else (type(self.pair).__qualname__, own, self.sampling_probability, self.order)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of the mechanism."""
        return self.pair.assumptions

    @property
    def is_certified(self) -> bool:
        """Whether the loss of the mechanism is."""
        return self.pair.is_certified

    @property
    def has_closed_profile(self) -> bool:
        """Whether the mechanism has."""
        return self.pair.has_closed_profile

    def largest(self) -> arb | None:
        """log(1 + q (exp(s) - 1)) of remove, -log(1 + q (exp(-s) - 1)) of add, for s that of the mechanism."""
        own = self.pair.largest() if isinstance(self.pair, GaussianLoss | LaplaceLoss) else None
        if own is None:
            return None
        q = ball(self.sampling_probability)
        if self.order is Direction.ADD:
            return -(q * (-own).expm1()).log1p()
        return own if not own.is_finite() else (q * own.expm1()).log1p()

    def moments(self) -> PartMoments | None:
        """Those that are given, or of Gaussian noise, and of Laplace noise on one coordinate."""
        found = self.of_either_order
        return None if found is None else SampledPart(found, self.order)

    @property
    def of_either_order(self) -> StepMoments | None:
        """The moments from which those of both orders follow, made once for both."""
        if not self._found:
            make = self._make_moments or partial(step_moments, self.pair, self.sampling_probability)
            self._found.append(make())
        return self._found[0]

    # levels -----------------------------------------------------------------------------------------------------------

    def _beyond(self, level: Fraction) -> bool:
        """Whether the level is on the side of log(1 - q), or of -log(1 - q), where there is no loss."""
        edge = Real(lambda: (-ball(self.sampling_probability)).log1p())
        sign = compare(Real.of(level if self.order is Direction.REMOVE else -level), edge, max_bits=_MAX_BITS)
        if sign is None:
            raise PrecisionExhausted("the sign of epsilon - log(1 - q)", _MAX_BITS, "move epsilon")
        return sign <= 0

    def _place(self, level: Fraction) -> Callable[[], arb]:
        """The level x of the pair, evaluated at the current precision."""
        signed, q = (level, 1) if self.order is Direction.REMOVE else (-level, -1)
        return lambda: q * (ball(signed).expm1() / ball(self.sampling_probability)).log1p()

    def _at(self, curve: Curve, level: Fraction, bits: int) -> arb:
        """A decreasing curve of the pair at the level x: between its values at rational numbers on both sides of it."""
        place, working, known = self._place(level), bits + _GUARD, -1
        while working <= _MAX_BITS:
            with precision(working):
                x = place()
                ends = (x.lower(), x.upper()) if x.is_finite() else None
            if ends is not None:
                low, high = (as_fraction(end) for end in ends)
                above, below = curve(low, bits + 4), curve(high, bits + 4)
                with precision(bits + _GUARD):
                    value = below.union(above)
                accuracy = value.rel_accuracy_bits()
                if value.is_exact() or accuracy >= bits or (working > 4 * bits and accuracy <= known):
                    return value
                known = accuracy
            working *= 2
        raise PrecisionExhausted("the level of the mechanism", _MAX_BITS, "move epsilon away from log(1 - q)")

    # curves to any accuracy -------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits if the profile of the mechanism can be had to as many."""
        remove = self.order is Direction.REMOVE
        if self._beyond(epsilon):
            return refine(lambda: -ball(epsilon).expm1(), bits=bits) if remove else arb(0)
        inner = self._at(self.pair.profile, epsilon, bits + 4)
        if remove:
            with precision(bits + _GUARD):
                return inner * ball(self.sampling_probability)
        factor = refine(lambda: 1 - ball(epsilon).exp() * ball(1 - self.sampling_probability), bits=bits + 4)
        with precision(bits + _GUARD):
            return inner * factor

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, to ``bits`` accurate bits."""
        if self._beyond(level):
            return arb(1 if self.order is Direction.REMOVE else 0)
        if self.order is Direction.ADD:
            return self._at(self.pair.p_above, level, bits)
        return self._mixture(self.pair.q_above, self.pair.p_above, level, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, to ``bits`` accurate bits."""
        if self._beyond(level):
            return arb(1 if self.order is Direction.REMOVE else 0)
        if self.order is Direction.REMOVE:
            return self._at(self.pair.q_above, level, bits)
        return self._mixture(self.pair.p_above, self.pair.q_above, level, bits)

    def _mixture(self, without: Curve, present: Curve, level: Fraction, bits: int) -> arb:
        """(1 - q) of a tail under the law without the record, and q of that under the law with it."""
        absent, sampled = self._at(without, level, bits + 4), self._at(present, level, bits + 4)
        with precision(bits + _GUARD):
            q = ball(self.sampling_probability)
            return (1 - q) * absent + q * sampled

    def upper_tails(self, levels: Sequence[Fraction], bits: int) -> tuple[list[arb], list[arb]]:
        """As ``p_above`` and ``q_above``; of Gaussian noise, and of Laplace noise on one number, in closed form."""
        with precision(2 * bits + _GUARD):
            tails, rate = tails_in_closed_form(self.pair), ball(self.sampling_probability)
            if tails is None:
                return super().upper_tails(levels, bits)
            found = [self._in_closed_form(tails, rate, level, bits) for level in levels]
        return [one for one, _ in found], [other for _, other in found]

    def _in_closed_form(self, tails: TailsAt, rate: arb, level: Fraction, bits: int) -> tuple[arb, arb]:
        """``p_above`` and ``q_above`` at a level, from the tails of the pair and its rate, at the current precision."""
        x = self._place(level)()
        found = tails(x) if x.is_finite() else None
        if found is not None:
            first, second = found
            if self.order is Direction.REMOVE:
                return (1 - rate) * second + rate * first, second
            return first, (1 - rate) * first + rate * second
        return self.p_above(level, bits), self.q_above(level, bits)  # at the least or the largest loss, or beyond

    def reversed(self) -> SampledStep:
        """The loss in the other order."""
        rate, make = self.sampling_probability, self._make_moments
        other = SampledStep(self.pair.reversed(), rate, self.order.other, self._repeat, make)
        if self.pair.symmetric or make is not None:
            other._found = self._found
        return other

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        q = self.sampling_probability
        if delta == 1:
            return arb(0)
        if self.order is Direction.REMOVE:  # q delta_PQ(x) <= delta
            inner = arb(0) if delta >= q else self.pair._epsilon_balls([delta / q])[0]
            with precision(ACCURACY + 40):
                return inner if not inner.is_finite() else (ball(q) * inner.expm1()).log1p()
        if delta == 0:
            return self._largest()
        with precision(ACCURACY + 40):
            highest = as_fraction((-(-ball(q)).log1p()).upper())
        try:
            return epsilon_ball(self.profile, delta, highest=highest)
        except PrecisionExhausted:
            return epsilon_between(lambda epsilon: self.profile(epsilon, ACCURACY), delta, highest)

    def _largest(self) -> arb:
        """The supremum of the loss in the order add: -log g of the least L."""
        inner = self.pair._epsilon_balls([0])[0]

        def edge() -> arb:
            q = ball(self.sampling_probability)
            return -(-q if not inner.is_finite() else q * (-inner).expm1()).log1p()

        with precision(ACCURACY + 40):
            return edge()

    def _beta_ball(self, alpha: Fraction) -> arb:
        q = self.sampling_probability
        if alpha == 1:
            return arb(0)
        if self.order is Direction.REMOVE:  # a test has the power (1 - q) alpha + q (1 - beta) under M
            inner = self.pair._beta_balls([alpha])[0]
            with precision(ACCURACY + 40):
                return ball((1 - q) * (1 - alpha)) + ball(q) * inner
        if alpha == 0:  # the largest level on Q of a test of power 1 under P
            return refine(lambda: ball(1 - alpha), bits=ACCURACY) if self._meets() else self._never(alpha)
        try:
            return beta_ball(self.profile, self.q_above, alpha)
        except (PrecisionExhausted, InvalidValue):
            return self._never(alpha)

    def _meets(self) -> bool:
        """Whether every set of positive probability without the record has one with it: then beta(0) = 1."""
        return bool(self.pair._beta_balls([0])[0] == 1)

    def _never(self, alpha: Fraction) -> arb:
        """Bounds on beta from the profile alone."""
        return beta_between(lambda epsilon: self.profile(epsilon, ACCURACY), alpha, Fraction(64))

    def _renyi_ball(self, order: Fraction) -> arb:
        """Whole orders of M against Q: the binomial sum over the moments of the mechanism."""
        if self.order is Direction.REMOVE and order.denominator == 1 and order > 1:
            number = order.numerator
            inner = self.pair._renyi_balls(list(range(2, number + 1)))
            q = self.sampling_probability

            def evaluate() -> arb:
                p, total = ball(q), arb(0)
                for k in range(2, number + 1):
                    growth = (inner[k - 2] * (k - 1)).expm1()
                    total += math.comb(number, k) * (1 - p) ** (number - k) * p**k * growth
                return total.log1p() / (number - 1)

            with precision(ACCURACY + 60):
                return evaluate()
        remedy = "ask for a whole order above 1 of the order remove, or for delta, epsilon or beta"
        raise InvalidValue("order", str(order), "one at which the divergence of this loss is known", remedy)

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    # float64 ----------------------------------------------------------------------------------------------------------

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,): those of the mechanism at a level rounded to either side.

        The stated relative error holds the change of the tails between the two rounded levels. Where that is not small
        (next to an atom, or to the least loss), the level is enclosed in balls.

        Raises:
            InvalidValue: the mechanism has no tails.
        """
        losses = finite_losses(l)
        low, high, inside = self._float_levels(losses)
        below, above = self.pair.tails(low), self.pair.tails(high)
        sign = 1 if self.order is Direction.REMOVE else -1
        columns = np.empty((4, losses.size))
        bad = np.zeros(losses.size, dtype=bool)
        gap = 0.0
        for i, name in enumerate(("p_above", "p_below", "q_above", "q_below")):
            ends = [self._mixed(tails, name) for tails in (below, above)]
            value = 0.5 * (ends[0] + ends[1])
            spread = np.abs(ends[0] - ends[1])
            outside = float((name.endswith("above")) == (sign > 0))
            columns[i] = np.where(inside, value, outside)
            relative = np.where(inside & (spread > TINY / 4), spread / np.maximum(value, TINY / 4), 0.0)
            bad |= relative > _CLOSE
            gap = max(gap, float(relative[relative <= _CLOSE].max(initial=0.0)))
        for i in np.flatnonzero(bad).tolist():
            columns[:, i] = self._tails_in_balls(Fraction(float(losses[i])))
        error = max(below.relative_error, above.relative_error) + gap + 8 * _UNIT
        p_above, p_below, q_above, q_below = np.minimum(columns, 1.0)
        return LossTails(p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=error)

    def _mixed(self, tails: LossTails, name: str) -> Array:
        """One of the four tails of the sampled step, at the levels at which those of the mechanism are."""
        first = name.startswith("p_")
        if first != (self.order is Direction.REMOVE):  # the law without the record is not mixed
            own: Array = getattr(tails, name)
            return own
        side = name[2:]
        q = float(self.sampling_probability)
        without, present = ("q_", "p_") if self.order is Direction.REMOVE else ("p_", "q_")
        absent: Array = getattr(tails, without + side)
        sampled: Array = getattr(tails, present + side)
        return float(1 - self.sampling_probability) * absent + q * sampled

    def _float_levels(self, losses: Array) -> tuple[Array, Array, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """Two floats with the level x between them, and whether the loss is not beyond log(1 - q)."""
        sign = 1.0 if self.order is Direction.REMOVE else -1.0
        signed, q = sign * losses, float(self.sampling_probability)
        with precision(256):
            edge = (-ball(self.sampling_probability)).log1p()
            first = float(edge)
            rest = float(edge - arb(first))
            ratio = float((1 - ball(self.sampling_probability)) / ball(self.sampling_probability))
            log_q = float(ball(self.sampling_probability).log())
        away = (signed - first) - rest  # from the least loss, by parts
        inside = away > 0
        with np.errstate(all="ignore"):
            quotient = np.expm1(signed) / q
            far = signed - log_q + np.log1p(-float(1 - self.sampling_probability) * np.exp(-signed))
            near = np.log(ratio * np.expm1(away))
            level = np.where(quotient < -0.5, near, np.log1p(quotient))
            level = np.where(signed > _FAR, far, level)
        level = np.where(inside, level, 0.0)
        level = np.where(np.isfinite(level), level, -1e4)
        width = _ROUNDED * np.abs(level) + np.where(signed > _FAR, _ROUNDED * (np.abs(signed) + abs(log_q)), 0.0)
        width += np.where(inside & (level != 0), 5e-324, 0.0)
        level = sign * level
        return level - width, level + width, inside

    def _tails_in_balls(self, level: Fraction) -> list[float]:
        found, first = [], self.upper_tails([level], 2 * ACCURACY)
        for (above,), curve in zip(first, (self.p_above, self.q_above), strict=True):
            bits = 2 * ACCURACY
            if above.rel_accuracy_bits() < ACCURACY and not above.is_exact():
                above = curve(level, ACCURACY)
            with precision(bits + _GUARD):
                below = 1 - above
            while not (below.rel_accuracy_bits() >= ACCURACY or below.is_exact() or below < TINY or bits > 4000):
                with precision(bits + _GUARD):
                    below = 1 - curve(level, bits)
                bits *= 2
            found += [float(above), max(float(below), 0.0)]
        return found

    def __repr__(self) -> str:
        rate = exact_text(self.sampling_probability)
        return f"SampledStep({self.pair!r}, {rate!r}, {self.order})"


# as a part of a composition -------------------------------------------------------------------------------------------


MOMENTS: Final = (1e-3, 20)
"""The sizes of a step, mu or the Laplace shift, between which moments are integrated."""


@final
class SampledPart:
    """M(t) of one step in one order: the moment of exponent 1 + t of remove, or -t of add."""

    __slots__ = ("_is_remove", "_moments", "largest")
    largest: float

    def __init__(self, moments: StepMoments, order: Direction) -> None:
        self._moments, self._is_remove = moments, order is Direction.REMOVE
        self.largest = max(moments.largest_exponent - 1, 1.0) if self._is_remove else -moments.least_exponent

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        return self._moments.estimates(1 + points if self._is_remove else -points)[0]

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of ``beyond``/M(c)."""
        return self._moments.log_cut(1 + centre if self._is_remove else -centre, heights)

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """Nodes times the points of the rule."""
        return number * float(self._moments.points(np.array([height]))[0])

    def _exponent(self, t: arb) -> arb:
        return 1 + t if self._is_remove else -t

    def at(self, t: arb) -> arb:
        """M(t)."""
        return arb(1) if t.is_zero() else self._moments.real(self._exponent(t))

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line."""
        found = self._moments.line(self._exponent(arb(centre)), step, number, ctx.prec - 16)
        return found if self._is_remove else [value.conjugate() for value in found]

    def beyond(self, centre: arb, height: arb) -> arb:
        """The bound of a shifted line of integration."""
        return self._moments.cut(self._exponent(centre), height)


def step_moments(pair: PrivacyLoss, q: Fraction) -> StepMoments | None:
    """The moments of one step, where they are known: of Gaussian noise, and of Laplace noise on one coordinate."""
    if isinstance(pair, GaussianLoss) and MOMENTS[0] <= pair.mu <= MOMENTS[1]:
        return GaussianMoments(pair.mu_real, q)
    if isinstance(pair, LaplaceLoss) and len(pair.groups) == 1 and pair.groups[0][1] == 1:
        shift = pair.groups[0][0]
        return LaplaceMoments(shift, q) if MOMENTS[0] <= shift <= MOMENTS[1] else None
    return None
