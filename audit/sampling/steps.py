"""Many Poisson-sampled steps of Gaussian or Laplace noise: the profile by a contour integral, certified.

The losses of T steps add, so the moment generating function is M(t)^T with M that of one step
(`dpverdict.audit.sampling.moments`): the number of steps is only an exponent. The integral, its alias and its rounding
are those of `dpverdict.audit.losses.contour.integral`. What is cut off is charged by a bound B on |M(c + i w)| for all
w >= V: the nodes at w_k = step (k + 1/2) >= V have the weights |t (t + 1)|^-1 <= w_k^-2, and 1/w^2 is convex, so that

    (step/pi) exp(-c x) sum |M(t_k)|^T w_k^-2  <=  exp(-c x) B^T/(pi V).

Where so many nodes would be too many, Gaussian noise is integrated on panels that grow with the height
(`dpverdict.audit.sampling.panels`). float64 estimates choose the line; any choice gives a valid ball.

Reference: Abate and Whitt 1992 (doi:10.1007/BF01158520), for the inversion with controlled alias.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from flint import acb, arb, ctx

from dpverdict.audit.losses.base import BallLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss, certified_lattice
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.integral import Contour
from dpverdict.audit.losses.contour.moments import ContourPlan, Kind
from dpverdict.audit.losses.contour.product import first_enough
from dpverdict.audit.losses.curves import (
    ACCURACY,
    beta_between,
    epsilon_by_bounds,
    estimated_epsilon,
    first_within,
    log_delta_ball,
    q_above_of_profile,
)
from dpverdict.audit.losses.domains import Direction, EventBound, LossTails
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.moments import GaussianMoments, StepMoments
from dpverdict.audit.sampling.panels import PanelLine
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.audit.sampling.two_steps import two_steps_profile
from dpverdict.balls import Exact, Real, ball, compare, exactly, precision, refine
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array

MOST_TERMS = 2e7
"""The largest table of exponentials of one contour, in nodes of the line times points of the moments: some seconds."""

FEW_TERMS = 1e6
"""A contour of at most so many terms, some tenths of a second, is not compared with panels."""

_LOG2 = math.log(2.0)
_GUARD = 6
_LEAST_ACCURACY = 30  # bits, where a line for more would be too long
_NOTHING = arb(2) ** -1100  # float64 ends before
_TINY = -60.0  # of a logarithm: two steps are integrated to absolute errors
_ATTEMPTS = 4
_MOST_BITS = 1000  # of a contour of the other order
_KEPT = 16
_TERMS_OF_EXPONENTIAL = 500  # by time: terms of a contour for each exponential of a line of panels
_FARTHEST = Fraction(10) ** 300  # of an epsilon, for choosing an exponent
_ON_A_LATTICE = 20  # bits, about those of a lattice
_OF_AN_EVENT = 18  # bits of its probabilities
_SMALLEST = 1e-290  # of a profile that is looked for on a lattice
_FAR = 1e4  # of an epsilon, beyond which Chernoff's bound is given
_CENTRES = 96
_LEFT = (2, 4, 7, 11, 16)  # of the saddle: centres that are tried where a contour is long
_LEFT_OF_SADDLE = 4.0  # as a logarithm: few exponentials are needed where the exponent is small
_SPARE = 250.0  # by how much more than at the saddle the terms may cancel, as a logarithm
_BOUND_BITS = 96
_NO_PART = Fraction(1, 1 << 20)  # of alpha, the profile where the search for a level ends
_BESIDE = 0.25  # of an epsilon: how near another one is for which a line was too long


@final
class _Order:
    """M(t)^T of one order, as a contour needs it: M(t) is the moment of exponent 1 + t, or -t."""

    __slots__ = ("_moments", "_remove", "_steps")

    def __init__(self, moments: StepMoments, steps: int, order: Direction) -> None:
        self._moments, self._steps, self._remove = moments, steps, order is Direction.REMOVE

    def exponent(self, t: arb) -> arb:
        return 1 + t if self._remove else -t

    def at(self, t: arb) -> arb:
        return arb(1) if t.is_zero() else self._moments.real(self.exponent(t)) ** self._steps

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        bits = ctx.prec
        found = self._moments.line(self.exponent(arb(centre)), step, number, bits - 16)
        values = found if self._remove else [value.conjugate() for value in found]
        return [value**self._steps for value in values]

    def dropped(self, centre: arb, step: arb, height: arb) -> arb:
        first = height - step / 2
        return self._moments.cut(self.exponent(centre), first) ** self._steps * height**2 / (arb.pi() * first)

    # float64 ----------------------------------------------------------------------------------------------------------

    def estimates(self, centres: Array) -> tuple[Array, Array]:
        """log M^T and its second derivative, on the real line."""
        logarithms, variances = self._moments.estimates(1 + centres if self._remove else -centres)
        return self._steps * logarithms, self._steps * variances

    def largest(self) -> float:
        """The largest t of estimates."""
        return max(self._moments.largest_exponent - 1, 1.0) if self._remove else -self._moments.least_exponent

    def points(self, heights: Array) -> Array:
        return self._moments.points(heights)

    def log_cut(self, centre: float, heights: Array) -> Array:
        return self._steps * self._moments.log_cut(1 + centre if self._remove else -centre, heights)


@final
class SampledSteps(BallLoss):
    """The privacy loss of T steps of Poisson-sampled Gaussian noise, or Laplace noise on one coordinate, in one order.

    Use `dpverdict.audit.sampling.poisson.poisson_sampled`. ``delta``, ``epsilon`` and ``beta`` are certified; the
    relative width of ``certified_delta`` is 2^-53, or 2^-30 where a line for more would be too long. Where no line
    reaches (delta below every float64, or far in the tail of a small rate), it is between 0 and an upper bound. A
    contour takes 0.05 s to some seconds, mostly less than 0.2 s, whatever the number of steps. Steps with little noise
    or small rates, whose integrand falls slowly, are integrated on panels (`dpverdict.audit.sampling.panels`), in 0.2
    to some seconds.

    Args:
        step: the loss of one step.
        steps: their number T >= 2.
        moments: those of one step.
    """

    __slots__ = (
        "__dict__",
        "_edge",
        "_laid",
        "_moments",
        "_moments_at",
        "_order",
        "_other",
        "_refused",
        "step",
        "steps",
    )
    step: SampledStep
    steps: int

    def __init__(self, step: SampledStep, steps: int, moments: StepMoments) -> None:
        self.step, self.steps, self._moments = step, steps, moments
        self._other: SampledSteps | None = None
        self._order = _Order(moments, steps, step.order)
        self._edge = _largest_loss(step, steps)
        self._laid: list[Contour | PanelLine] = []
        self._moments_at: dict[float, arb] = {}
        self._refused: list[tuple[float, int]] = []

    @property
    def factors(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        """The loss of one step, and the number of steps."""
        return ((self.step, self.steps),)

    @property
    def is_cheap(self) -> bool:
        """Whether a contour or panels reach epsilon = 0 in either order; or there is another way."""
        if self.steps == 2 and isinstance(self.step.pair, GaussianLoss):
            return True
        return self._has_lines or self.reversed()._has_lines

    @cached_property
    def _has_lines(self) -> bool:
        """Whether a contour of this order, or its panels, reach epsilon = 0."""
        wanted = _LEAST_ACCURACY + _GUARD
        return self._plan(0.0, wanted) is not None or self._line(0.0, wanted) is not None

    def reversed(self) -> SampledSteps:
        """The loss in the other order."""
        if self._other is None:
            self._other = SampledSteps(self.step.reversed(), self.steps, self._moments)
            self._other._other = self
        return self._other

    # the profile ------------------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits.

        Raises:
            PrecisionExhausted: the contour would take more than `MOST_TERMS`.
        """
        if epsilon < 0:  # delta(-e) = 1 - exp(-e) + exp(-e) times that of the other order at e
            least = refine(lambda: -ball(epsilon).expm1(), bits=bits + 4)
            with precision(bits + 20):
                rest = ball(epsilon).exp() * self.reversed().delta_at_most(-epsilon)
                if rest <= least * arb(2) ** -(bits + 4):
                    return least + arb(0).union(rest.upper())
            other = self.reversed().profile(-epsilon, bits + 2)
            with precision(bits + 20):
                return least + ball(epsilon).exp() * other
        if epsilon == 0 and self.step.order is Direction.ADD:  # the total variation, in either order
            return self.reversed().profile(epsilon, bits)
        if self._edge is not None and compare(Real.of(epsilon), self._edge) in (0, 1):
            return arb(0)
        if epsilon > _FAR:
            with precision(bits + 20):
                return arb(0).union((self._order.at(arb(1)) * (-ball(epsilon)).exp()).upper())
        if self.steps == 2 and isinstance(self.step.pair, GaussianLoss):
            with np.errstate(all="ignore"):
                size = self._saddle(float(epsilon))[-1]
            if size < _TINY:
                with suppress(PrecisionExhausted):
                    return self._on_lines(epsilon, bits)
            mu, rate = self.step.pair.mu_real, self.step.sampling_probability
            return two_steps_profile(mu, rate, self.step.order, epsilon, bits)
        return self._on_lines(epsilon, bits)

    def _on_lines(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon) by the contour integral of either order, for epsilon >= 0."""
        known = self._known(epsilon, bits)
        if known is not None:
            return known
        plan = self._plan(float(epsilon), bits + _GUARD)
        terms = math.inf if plan is None else self._terms(plan.step * plan.number, plan.number)
        if terms > FEW_TERMS:
            mirrored = self._mirrored(epsilon, bits, math.inf if plan is None else _price(plan))
            if mirrored is not None:
                return mirrored
        return self._on_own_lines(epsilon, bits)

    def _known(self, epsilon: Fraction, bits: int) -> arb | None:
        """What a line says that was laid before; None where none says it to so many bits."""
        for laid in reversed(self._laid):
            value = _value(laid, epsilon)
            if value.rel_accuracy_bits() >= bits:
                return value
            if abs(value) < _NOTHING:
                raise PrecisionExhausted("the integral", bits, "it is below every float64")
        return None

    def _mirrored(self, epsilon: Fraction, bits: int, price: float) -> arb | None:
        """delta(epsilon) by a contour of the other order; None if that takes as long, or too many bits.

        delta(e) = 1 - exp(e) + exp(e) times the profile of the other order at -e: what cancels takes more bits. Where
        nearly all steps have about the loss log(1 - q), the moments of add, of large negative exponents, fall with the
        height where those of remove do not.
        """
        other = self.reversed()
        with np.errstate(all="ignore"):
            size = self._saddle(float(epsilon))[-1]
        wanted = bits + _GUARD + math.ceil((float(epsilon) - size) / _LOG2)
        for _ in range(_ATTEMPTS):
            if wanted > _MOST_BITS:
                return None
            value = other._known(-epsilon, wanted)
            if value is None:
                plan = other._plan(-float(epsilon), wanted + _GUARD)
                if plan is None or _price(plan) >= price:
                    return None
                laid = Contour(other._order, plan)
                other._laid = [*other._laid[1 - _KEPT :], laid]
                value = laid.value(Kind.PROFILE, -epsilon)
            with precision(wanted + _BOUND_BITS):
                growth = ball(epsilon).exp()
                own = 1 - growth + growth * value
            missing = bits - own.rel_accuracy_bits()
            if missing <= 0:
                return own
            wanted += max(min(missing, 2 * bits), 8)
        return None

    def _on_own_lines(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon) by lines of this order, for epsilon >= 0, where those that are laid do not tell."""
        wanted, place = bits + _GUARD, float(epsilon)
        for attempt in range(_ATTEMPTS):
            laid = None if self._is_too_long(place, wanted) else self._lay(place, wanted, panels_first=attempt > 0)
            if laid is None:
                self._refused.append((place, wanted))
                break
            self._laid = [*self._laid[1 - _KEPT :], laid]
            value = _value(laid, epsilon)
            accuracy = value.rel_accuracy_bits()
            if accuracy >= bits:
                return value
            if abs(value) < _NOTHING:
                break
            wanted += min(max(bits - accuracy, 4), 2 * bits + 60)
        remedy = "compose the losses of single steps by BoundedLoss: bounds from a lattice of losses"
        raise PrecisionExhausted("the integral", wanted, remedy)

    def _is_too_long(self, epsilon: float, bits: int) -> bool:
        """Whether a line for at most so many bits was too long next to an epsilon."""
        return any(wanted <= bits and abs(place - epsilon) <= _BESIDE * epsilon for place, wanted in self._refused)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, to about half as many bits."""
        return q_above_of_profile(self.profile, level, bits)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, to about half as many bits."""
        q_above, own = self.q_above(level, bits), self.profile(level, bits)
        with precision(bits + 20):
            return own + ball(level).exp() * q_above

    def known_event(self, epsilon: Fraction) -> EventBound | None:
        """An event on a lattice, where no line reaches the slopes of the profile; else None: {L > epsilon} is known."""
        with suppress(PrecisionExhausted):
            self.q_above(epsilon, _OF_AN_EVENT)
            return None
        if epsilon <= 0 or self._lattice is None:
            return None
        found = self._enclosed(epsilon)
        if found.rel_accuracy_bits() >= _ON_A_LATTICE:  # lattices are made for what is not known
            found = arb(0).union(found.upper())
        with suppress(InvalidValue, PrecisionExhausted):  # it gets too long
            self._lattice.narrowed(epsilon, found)
            return self._lattice.known_event(epsilon)
        return None

    def delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the profile: certified, or from a lattice where a contour would take too long."""
        try:
            return super().delta_bounds(epsilons)
        except PrecisionExhausted:
            return BoundedLoss(self.factors).delta_bounds(epsilons)

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """Chernoff's bound on delta(epsilon) for epsilon >= 0, at the best of some exponents: much faster."""
        centres, logarithms, _ = self._estimated
        with np.errstate(all="ignore"):
            heights = logarithms - centres * float(min(epsilon, _FARTHEST))
        best = float(centres[int(np.nanargmin(heights))])
        with precision(_BOUND_BITS):
            if best not in self._moments_at:
                self._moments_at[best] = self._order.at(arb(best))
            return (self._moments_at[best] * (-arb(best) * ball(epsilon)).exp()).upper()

    def _lay(self, epsilon: float, bits: int, *, panels_first: bool) -> Contour | PanelLine | None:
        """A line for delta(epsilon) to so many bits: nodes of one step or panels, whichever takes less time."""
        plan = self._plan(epsilon, bits)
        terms = math.inf if plan is None else self._terms(plan.step * plan.number, plan.number)
        if terms > FEW_TERMS or panels_first:
            line = self._line(epsilon, bits)
            if line is not None and (panels_first or line.size * _TERMS_OF_EXPONENTIAL < terms):
                return line
        return None if plan is None else Contour(self._order, plan)

    def _terms(self, height: float, number: float) -> float:
        """About how many exponentials so many nodes up to a height take."""
        return number * float(self._order.points(np.array([height]))[0])

    def _plan(self, epsilon: float, bits: int) -> ContourPlan | None:
        """The cheapest line found for delta(epsilon) to so many bits; None if it takes more than `MOST_TERMS`."""
        with np.errstate(all="ignore"):
            centres, heights, weighted, curvatures, best, size = self._saddle(epsilon)
            aim = size - bits * _LOG2
            chernoff = heights - aim + 2
            gaps = centres[None, :] - centres[:, None]
            to_right = np.where(gaps > 0, np.maximum(chernoff, 1.0)[None, :] / gaps, np.inf)
            right = to_right.argmin(axis=1)
            periods = to_right[np.arange(_CENTRES), right]
            periods = np.maximum(periods, (2 - aim) / centres)
            excess = np.maximum(heights - aim, 1.0)
            tops = np.sqrt(2 * excess / curvatures)
            costs = tops * periods * (1 + bits / 256)
            costs[~(weighted <= weighted[best] + _SPARE) | ~np.isfinite(costs)] = np.inf
        cancelled = np.maximum(weighted - aim, 0.0) / _LOG2

        def plan(chosen: int) -> ContourPlan | None:
            centre, step = float(centres[chosen]), 2 * math.pi / float(periods[chosen])
            number = self._number(centre, step, float(heights[chosen]) - aim)
            if number is None:
                return None
            guard = 24 + math.log2(number + 2) + math.log2(self.steps) + math.log2(2 + abs(float(heights[chosen])))
            return ContourPlan(
                kind=Kind.PROFILE,
                centre=centre,
                step=step,
                number=number,
                bits=int(float(cancelled[chosen]) + guard) + 24,
                left=0.0,
                right=float(centres[int(right[chosen])]),
            )

        chosen = int(costs.argmin())
        first = plan(chosen) if math.isfinite(costs[chosen]) else None
        if first is not None and self._terms(first.step * first.number, first.number) <= FEW_TERMS:
            return first
        # of heavy tails the curvature at the saddle says little of the height that a line needs
        tried = [first, *(plan(best - left) for left in _LEFT if best >= left and math.isfinite(costs[best - left]))]
        return min((one for one in tried if one is not None), key=_price, default=None)

    @cached_property
    def _estimated(self) -> tuple[Array, Array, Array]:
        """Real parts t; log of M(t)^T and its second derivative there."""
        centres = np.geomspace(2.0**-8, self._order.largest(), _CENTRES)
        with np.errstate(all="ignore"):
            return centres, *self._order.estimates(centres)

    def _saddle(self, epsilon: float) -> tuple[Array, Array, Array, Array, int, float]:
        """Real parts t; log of M(t)^T exp(-t epsilon), also over t (t + 1); curvatures; the best; log delta, about."""
        centres, logarithms, curvatures = self._estimated
        heights = logarithms - centres * epsilon
        weighted = heights - np.log(centres * (centres + 1))
        best = int(np.nanargmin(weighted))
        curvature = curvatures[best] + 1 / centres[best] ** 2 + 1 / (centres[best] + 1) ** 2
        size = min(float(weighted[best]) - 0.5 * math.log(2 * math.pi * curvature), 0.0)
        if self.step.order is Direction.REMOVE and epsilon > 0:
            inside = best < _CENTRES - 2  # else the saddle may be beyond
            size = min(size, self._moments.log_jumps(epsilon, self.steps, of_any=inside))
        return centres, heights, weighted, curvatures, best, size

    def _line(self, epsilon: float, bits: int) -> PanelLine | None:
        """A line of panels for delta(epsilon) to so many bits; None where there is none of moderate size."""
        if not isinstance(self._moments, GaussianMoments):
            return None
        with np.errstate(all="ignore"):
            centres, heights, weighted, _, best, size = self._saddle(epsilon)
            chosen = int(np.flatnonzero(weighted <= weighted[best] + _LEFT_OF_SADDLE)[0])
        c = float(centres[chosen])
        remove = self.step.order is Direction.REMOVE
        guard = (float(heights[chosen]) - size) / _LOG2 + math.log2(self.steps) + 8
        aim = size + c * epsilon - bits * _LOG2
        try:
            line = PanelLine(self._moments, self.steps, remove=remove, centre=c, aim=aim, bits=int(bits + guard))
        except PrecisionExhausted:
            return None
        return line

    def _number(self, centre: float, step: float, excess: float) -> int | None:
        """How many nodes leave at most exp(-excess) of what they sum up; None if too many."""
        numbers = np.unique(np.geomspace(1, MOST_TERMS, 160).round())
        tops = step * numbers[numbers * self._order.points(step * numbers) <= MOST_TERMS]
        first = first_enough(lambda heights: self._order.log_cut(centre, heights), tops, -excess)
        return None if first is None else round(float(tops[first]) / step) + 1

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._close(exactly(epsilon)) for epsilon in epsilons]

    def _close(self, epsilon: Fraction) -> arb:
        """As `_enclosed`; far in the tail, where no line reaches, between laws on a lattice."""
        found = self._enclosed(epsilon)
        if found.rel_accuracy_bits() >= _ON_A_LATTICE or not found.upper() > _SMALLEST:
            return found
        if not self._has_lines and epsilon > 0 and self._lattice is not None:  # which found it
            return self._lattice.closer(epsilon, found)
        if self._lattice is not None:
            with suppress(InvalidValue, PrecisionExhausted):  # it gets too long
                if epsilon <= 0:
                    return found.intersection(self._lattice.profile(epsilon, _LEAST_ACCURACY))
                return self._lattice.narrowed(epsilon, found)
        return found

    @cached_property
    def _lattice(self) -> BoundedLoss | None:
        """The steps between laws on a lattice; it keeps those that were made for the last epsilons."""
        return certified_lattice(self.factors)

    def _enclosed(self, epsilon: Fraction) -> arb:
        """A ball that contains delta(epsilon), less accurate where a line would be long; else, between bounds.

        Where no line of this order reaches even epsilon = 0, from a lattice.
        """
        for bits in (ACCURACY, _LEAST_ACCURACY):
            with suppress(PrecisionExhausted):
                return self.profile(epsilon, bits)
        if not self._has_lines and epsilon >= 0 and self._lattice is not None:
            return self._lattice.profile(epsilon, _LEAST_ACCURACY)
        one, size = self if epsilon >= 0 else self.reversed(), abs(epsilon)
        if not one._laid and (line := one._lay(0.0, _LEAST_ACCURACY, panels_first=False)) is not None:
            one._laid.append(line)
        with precision(_BOUND_BITS):
            known = [_value(laid, size) for laid in one._laid]
            least = functools.reduce(arb.max, [value.lower() for value in known], arb(0))
            most = functools.reduce(arb.min, [value.upper() for value in known], one.delta_at_most(size).min(arb(1)))
            far = least.union(most)
            return far if epsilon >= 0 else -(-ball(size)).expm1() + (-ball(size)).exp() * far

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        return self._epsilon_to(delta, ACCURACY)

    def _epsilon_to(self, delta: Fraction, bits: int) -> arb:
        if delta == 1:
            return arb(0)
        if delta == 0:
            largest = self.step._epsilon_balls([0])[0]
            with precision(_BOUND_BITS):
                return largest * self.steps
        guess = estimated_epsilon(lambda epsilon: self._saddle(epsilon)[-1], delta)
        return epsilon_by_bounds(self.profile, self._enclosed, self.delta_at_most, delta, guess=guess, accuracy=bits)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        # the best level has delta(level - 1) >= (1 - 1/e) alpha exp(level)
        return beta_between(self._enclosed, alpha, first_within(self.delta_at_most, alpha * _NO_PART))

    def _renyi_ball(self, order: Fraction) -> arb:
        if order == 1:
            remedy = "ask for another order, or for delta, epsilon or beta"
            raise InvalidValue("order", str(order), "not 1", remedy)
        with precision(_BOUND_BITS):
            t = ball(order) - 1
            return self._order.at(t).log() / t

    def _advantage_ball(self) -> arb:
        return self._enclosed(Fraction(0))

    def tails(self, l: Array) -> LossTails:
        """None: compositions take the steps apart.

        Raises:
            InvalidValue: always.
        """
        remedy = "compose(...) takes the steps apart; to_pld is for the loss of one step"
        raise InvalidValue("loss", self, "one that has tails", remedy)

    def __repr__(self) -> str:
        return f"SampledSteps({self.step!r} x {self.steps})"


def _price(plan: ContourPlan) -> float:
    """What a contour takes, up to a factor: nodes times points, both for so many bits."""
    return plan.number * plan.bits**2


def _value(laid: Contour | PanelLine, epsilon: Fraction) -> arb:
    return laid.value(Kind.PROFILE, epsilon) if isinstance(laid, Contour) else laid.value(epsilon)


def _largest_loss(step: SampledStep, steps: int) -> Real | None:
    """The supremum of the loss of so many steps; None where it has none."""
    rate, sign = step.sampling_probability, 1 if step.order is Direction.REMOVE else -1
    if isinstance(step.pair, LaplaceLoss):
        shift = step.pair.groups[0][0]
        return Real(lambda: sign * steps * (ball(rate) * (sign * ball(shift)).expm1()).log1p())
    return None if sign > 0 else Real(lambda: -steps * (-ball(rate)).log1p())
