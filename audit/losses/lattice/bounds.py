"""Two-sided bounds on the curves of a composition of lattice laws: 'float, error ledger', never called certified.

The pessimistic and the optimistic law of every loss (`dpverdict.audit.losses.lattice.discretise`) are composed by the
powers of `dpverdict.audit.losses.lattice.power`, with the errors of their ledger charged: delta and the trade-off
function are bounded from either side.

The pairs may bring rounded losses too (`RoundedLoss`). A test on them gives another lower bound on the profile, and
another upper bound on the trade-off function (`LatticeEvent`). For every event S of the outputs, delta(epsilon) >=
P(S) - exp(epsilon) Q(S). Let M_i be a function of the output of the i-th mechanism, about its loss rounded to the
lattice, and S = {sum of the M_i >= t}. The laws of the sum under P and under Q are convolutions of those of the M_i,
and any t gives a bound; the best of all t is taken. Because the optimal event is {L > epsilon}, where P - exp(epsilon)
Q changes its sign, what is lost is second order in the rounding errors M_i - L_i, whatever these are: also for atoms
off the lattice, where no law on it is that close (see `dpverdict.audit.losses.lattice.discretise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.losses.domains import ALPHA, DELTA, EPSILON, LEVEL, LOG_PROFILE, PROFILE, TINY, TRADE_OFF, Tails
from dpverdict.audit.losses.lattice.discretise import TAIL_MASS, lattice_pair
from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticePair, RoundedLoss, Side
from dpverdict.audit.losses.lattice.power import (
    ROUNDING,
    UNDERFLOW,
    Parts,
    TiltedLaws,
    index_offset,
    norm_of_weights,
    tilted_power,
    upper_sums,
)
from dpverdict.balls import Exact, Quantity
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import Bracket

_MOST = 300.0  # of the exponents of the weights: their squares are finite
_HEAVY = 1e3  # no mass under Q is more than 1, so an outcome that is said to have more gains nothing


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Tails:
    """P[M >= j] or exp(epsilon) Q[M >= j], divided by exp(scale), for j = first, first + 1, ...

    Attributes:
        absolute, relative: bounds on the errors of every value.
    """

    first: int
    scale: float
    values: Array
    absolute: Array
    relative: float


@final
class LatticeEvent:
    """The test of one composition."""

    __slots__ = ("_interval", "_p", "_q", "_vertices")

    def __init__(self, pairs: Sequence[tuple[LatticePair, int]]) -> None:
        rounded = [(_rounded(pair), count) for pair, count in pairs]
        self._interval = rounded[0][0].p.interval
        self._p = TiltedLaws([(laws.p, count) for laws, count in rounded])
        self._q = TiltedLaws([(laws.q, count) for laws, count in rounded])
        self._vertices: tuple[Array, Array] | None = None

    def log_delta_lower(self, epsilon: Fraction) -> float:
        """A lower bound on log delta(epsilon); -inf where the ledger is larger than the value."""
        p, q = self._tails(self._p, epsilon, 0), self._tails(self._q, epsilon, 1)
        first = max(p.first, q.first)
        number = min(p.first + p.values.size, q.first + q.values.size) - first
        if number <= 0:
            return -math.inf
        inside_p, inside_q = (slice(first - t.first, first - t.first + number) for t in (p, q))
        scale = max(p.scale, q.scale)
        if abs(p.scale - q.scale) > _MOST:  # one of them has no figure in float64 beside the other
            return -math.inf
        least = p.values[inside_p] * (1 - p.relative) - p.absolute[inside_p]
        most = q.values[inside_q] * (1 + q.relative) + q.absolute[inside_q]
        gain, cost = math.exp(p.scale - scale) * least, math.exp(q.scale - scale) * most
        best = float((gain * (1 - 8 * ROUNDING) - cost * (1 + 8 * ROUNDING)).max())
        if not best > 0:
            return -math.inf
        logarithm = scale + math.log(best)
        return logarithm - 8 * ROUNDING * (1 + abs(logarithm) + abs(scale))

    def vertices(self) -> tuple[Array, Array]:
        """Levels alpha, increasing, and bounds above beta there; so are the chords between them, by a coin."""
        if self._vertices is None:
            p = tilted_power(self._p.parts, self._p.steering, 0.0)
            q = tilted_power(self._q.parts, self._q.steering, 0.0)
            first, last = min(p.first, q.first), max(p.first + p.masses.size, q.first + q.masses.size)
            p_above, p_error = upper_sums(p, first, last)
            q_above, q_error = upper_sums(q, first, last)
            alphas = np.maximum.accumulate(q_above[::-1]) + q_error + 4 * ROUNDING
            betas = np.minimum.accumulate(1.0 - p_above[::-1]) + p_error + 4 * ROUNDING
            betas[0] = max(betas[0], 1.0)
            self._vertices = alphas, betas
        return self._vertices

    def _tails(self, laws: TiltedLaws, epsilon: Fraction, power: int) -> _Tails:
        """The tails, times exp(power epsilon)."""
        law = laws.near(epsilon)
        interval, point = float(self._interval), float(epsilon)
        offset = index_offset(law.first, self._interval, epsilon)
        y = offset + interval * np.arange(law.masses.size)
        theta = law.step / interval
        # At the lower ends the weights grow, and with them the errors of the masses: further down there is nothing.
        start = int(np.searchsorted(theta * y, -_MOST)) if theta > 0 else 0
        y = y[start:]
        with np.errstate(under="ignore"):
            kernel = np.exp(-theta * y)
            terms = kernel * law.masses[start:]
            values, sizes = (np.cumsum(x[::-1])[::-1] for x in (terms, np.abs(terms)))
            # The weights fall by a constant factor: the norm of those from here on is the first one times a root.
            number = np.arange(kernel.size, 0.0, -1.0)
            norms = kernel * np.sqrt(np.minimum(number, -1 / math.expm1(-2 * law.step)) if law.step > 0 else number)
            absolute = law.transform_error * norms * 1.01 + law.outside * kernel * 1.01
            absolute += sizes * ROUNDING * (kernel.size + 64) + UNDERFLOW
        reach = abs(offset) + interval * law.masses.size
        exponent = (theta - power) * point
        relative = law.relative_error + 4 * ROUNDING * (8 + abs(law.log_moment) + (theta + power) * abs(point))
        relative += 40 * ROUNDING * theta * reach
        return _Tails(
            first=law.first + start,
            scale=law.log_moment - exponent,
            values=values,
            absolute=absolute,
            relative=1.1 * relative,
        )


def _rounded(pair: LatticePair) -> RoundedLoss:
    """The rounded loss of a pair; of a pair without one, the optimistic law itself."""
    if pair.rounded is not None:
        return pair.rounded
    law = pair.optimistic
    with np.errstate(under="ignore", over="ignore"):
        q = law.masses * np.exp(-law.losses) * (1 + 8 * ROUNDING * (2 + np.abs(law.losses))) + TINY
    tested = (law.masses > 0) & (q < _HEAVY)  # an outcome may also be left out of the event
    return RoundedLoss(
        p=_with_masses(law, np.where(tested, law.masses, 0.0), Side.OPTIMISTIC),
        q=_with_masses(law, np.where(tested, q, 0.0), Side.PESSIMISTIC),
    )


def _with_masses(law: LatticeLaw, masses: Array, side: Side) -> LatticeLaw:
    return LatticeLaw(interval=law.interval, lowest=law.lowest, masses=masses, infinity_mass=0.0, side=side)


_FAR = Fraction(10**6)  # beyond -epsilon, where 1 - delta <= exp(epsilon) is nothing
_ROOT_BITS = 64
_CLOSE = Fraction(1, 10**12)  # the relative width of a bracket of epsilon
_CLOSE_TO_NOTHING = Fraction(1, 1000)  # the same where the lower bound on delta vanishes, which says little

METHOD = "lattice: float, error ledger"
"""What a report calls numbers from here."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CompositionLedger:
    """The errors charged to a bound on delta(epsilon), relative to the value.

    Attributes:
        transform: rounding of the FFT and of the power.
        outside: tilted mass that wraps around, or lies beyond the window.
        rounding: of the tilted masses and of the final sum.
        truncation: infinite mass of the laws (pessimistic side only), from the ends of their lattices.
    """

    transform: float
    outside: float
    rounding: float
    truncation: float


@final
class LatticeBounds:
    """Bounds on the curves of a composed privacy loss, from a pessimistic and an optimistic law on one lattice.

    Every bound is on its side of the truth if the laws are and if the ledger of the tilted powers holds: float64
    with its rounding errors bounded and included, not ball arithmetic. The strict route is
    `dpverdict.audit.losses.lattice.power.certified_delta`.
    """

    __slots__ = ("_event", "_lower", "_upper")

    def __init__(self, pairs: Sequence[tuple[LatticePair, int]]) -> None:
        if not pairs:
            raise InvalidValue("pairs", "[]", "not empty", "give at least one loss to compose")
        for _, count in pairs:
            if count < 1:
                raise InvalidValue("count", count, "a whole number >= 1", "say how often the loss is composed")
        self._upper = _Side([(pair.pessimistic, count) for pair, count in pairs])
        self._lower = _Side([(pair.optimistic, count) for pair, count in pairs])
        self._event = LatticeEvent(pairs) if any(pair.rounded for pair, _ in pairs) else None

    @property
    def method(self) -> str:
        """How the bounds are computed, in words for a report."""
        return METHOD

    def log_delta_bounds(self, epsilon: Exact) -> tuple[float, float]:
        """(lower, upper) bounds on log delta(epsilon); the lower one is -inf where the ledger is larger than the value.

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        exact = EPSILON.exact(epsilon)
        return _in_order(LOG_PROFILE, self._log_delta_lower(exact), self._log_delta_upper(exact))

    def delta_bounds(self, epsilon: Exact) -> tuple[float, float]:
        """(lower, upper) bounds on delta(epsilon)."""
        lower, upper = self.log_delta_bounds(epsilon)
        return _in_order(PROFILE, _exp_down(lower), _exp_up(upper))

    def log_delta_upper(self, epsilon: Exact) -> float:
        """An upper bound on log delta(epsilon)."""
        return self.log_delta_bounds(epsilon)[1]

    def log_delta_lower(self, epsilon: Exact) -> float:
        """A lower bound on log delta(epsilon); -inf where the ledger is larger than the value."""
        return self.log_delta_bounds(epsilon)[0]

    def delta_upper(self, epsilon: Exact) -> float:
        """An upper bound on delta(epsilon)."""
        return self.delta_bounds(epsilon)[1]

    def delta_lower(self, epsilon: Exact) -> float:
        """A lower bound on delta(epsilon)."""
        return self.delta_bounds(epsilon)[0]

    def ledgers(self, epsilon: Exact) -> tuple[CompositionLedger, CompositionLedger]:
        """What is charged to the upper and to the lower bound on delta(epsilon), both from a law on the lattice."""
        exact = max(EPSILON.exact(epsilon), -_FAR)
        return self._upper.upper(exact)[1], self._lower.lower(exact)[1]

    def epsilon_bounds(self, delta: Exact) -> tuple[float, float]:
        """(lower, upper) bounds on the smallest epsilon >= 0 with delta(epsilon) <= ``delta``; inf if none is found.

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        level = DELTA.exact(delta)
        lower = _root(self._log_delta_lower, _log_of(level, 8 * ROUNDING), self._lower.highest)[0] if level < 1 else 0.0
        if lower > 0:
            self.log_delta_bounds(lower)  # raises where the bounds that led here cannot both hold
        return _in_order(LEVEL, lower, self._epsilon_upper(level))

    def epsilon_upper(self, delta: Exact) -> float:
        """An epsilon >= 0 at which delta(epsilon) <= ``delta``, close to the smallest; inf if none is found."""
        return self.epsilon_bounds(delta)[1]

    def epsilon_lower(self, delta: Exact) -> float:
        """An epsilon >= 0 that the smallest one with delta(epsilon) <= ``delta`` is not below."""
        return self.epsilon_bounds(delta)[0]

    def beta_bounds(self, alpha: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the trade-off function, at levels of any shape.

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        levels = ALPHA.floats(alpha)
        alphas, powers, error = self._upper.vertices()
        whole = min(1.0 - self._upper.infinite, float(powers[-1]))  # what others' masses lack is nobody's error
        lower = np.interp(levels, alphas - error, whole - powers - error)
        alphas, powers, error = self._lower.vertices()
        trivial = np.where(levels >= 0.5, 1.0 - levels, np.nextafter(1.0 - levels, 1.0))  # the first is exact
        upper = np.interp(levels, alphas + error, 1.0 - self._lower.infinite_lower - powers + error)
        upper = np.minimum(upper, trivial)
        if self._event is not None:
            upper = np.minimum(upper, np.interp(levels, *self._event.vertices()))
        return TRADE_OFF.bounds(lower, upper)

    def beta_lower(self, alpha: Array) -> Array:
        """Lower bounds on the trade-off function, at levels of any shape."""
        return self.beta_bounds(alpha)[0]

    def beta_upper(self, alpha: Array) -> Array:
        """Upper bounds on the trade-off function, at levels of any shape."""
        return self.beta_bounds(alpha)[1]

    # one side, not yet compared with the other ------------------------------------------------------------------------

    def _log_delta_upper(self, epsilon: Fraction) -> float:
        return self._upper.upper(epsilon)[0] if epsilon > -_FAR else 0.0

    def _log_delta_lower(self, epsilon: Fraction) -> float:
        exact = max(epsilon, -_FAR)  # the profile falls
        logarithm, _ = self._lower.lower(exact)
        if self._event is not None and exact < self._upper.highest:
            logarithm = max(logarithm, self._event.log_delta_lower(exact))
        return logarithm

    def _epsilon_upper(self, level: Fraction) -> float:
        if level == 0:
            highest = max(float(self._upper.highest), 0.0)
            return math.inf if self._upper.infinite > 0 else math.nextafter(highest, math.inf) if highest else 0.0
        goal = _log_of(level, -8 * ROUNDING)
        return 0.0 if level == 1 else _root(self._log_delta_upper, goal, self._upper.highest)[1]


def _in_order(quantity: Quantity, lower: float, upper: float) -> tuple[float, float]:
    """The two bounds, which `Quantity.bounds` let pass."""
    below, above = quantity.bounds(np.array([lower]), np.array([upper]))
    return float(below[0]), float(above[0])


def compose_on_lattice(
    tails_list: Sequence[tuple[Tails, int]], interval: float, *, tail_mass: float = TAIL_MASS
) -> LatticeBounds:
    """Two-sided bounds on the composition of losses of which only the tails are known.

    Args:
        tails_list: the tails of every distinct loss, with the number of times it is composed.
        interval: step of the lattice; the bracket is second order in it (see `lattice_pair`).
        tail_mass: what may be truncated of every single loss, and is charged.

    Raises:
        InvalidValue: no losses, a count below 1, or an interval that does not suit them.

    >>> from dpverdict.audit.losses.closed_form import GaussianLoss
    >>> bounds = compose_on_lattice([(GaussianLoss("0.1").tails, 100)], 1e-3)
    >>> bounds.delta_lower(1) <= GaussianLoss(1).delta(1) <= bounds.delta_upper(1)
    True
    """
    return LatticeBounds([(lattice_pair(tails, interval, tail_mass=tail_mass), count) for tails, count in tails_list])


@final
class _Side:
    """One side: the laws, and the tilted laws computed so far.

    Attributes:
        infinite, infinite_lower: bounds on the mass of an infinite loss.
        surplus: the logarithm of the mass, where masses that somebody else made add up to more than 1: the profile of a
            mechanism is at most 1 nevertheless.
    """

    __slots__ = ("_laws", "_vertices", "highest", "infinite", "infinite_lower", "interval", "surplus")

    def __init__(self, parts: Parts) -> None:
        intervals = {law.interval for law, _ in parts}
        if len(intervals) > 1:
            raise InvalidValue("interval", str(sorted(intervals)), "the same for all losses", "use one lattice")
        self._laws = TiltedLaws(parts)
        self._vertices: tuple[Array, Array, float] | None = None
        self.interval = parts[0][0].interval
        self.highest = self.interval * sum(count * (law.lowest + law.masses.size - 1) for law, count in parts)
        self.infinite = math.fsum(count * law.infinity_mass for law, count in parts) * (1 + 1e-15)
        certain = any(law.infinity_mass >= 1 for law, _ in parts)
        log_finite = -math.inf if certain else math.fsum(n * math.log1p(-law.infinity_mass) for law, n in parts)
        self.infinite_lower = -math.expm1(log_finite) * (1 - 1e-14)
        totals = [(math.fsum([*law.masses.tolist(), law.infinity_mass]), count) for law, count in parts]
        self.surplus = math.fsum(count * math.log(max(total, 1.0)) for total, count in totals) * (1 + 1e-14)

    def upper(self, epsilon: Fraction) -> tuple[float, CompositionLedger]:
        """An upper bound on log delta, where delta <= finite part + sum of the infinite masses."""
        if epsilon >= self.highest:
            return _log(self.infinite), CompositionLedger(transform=0, outside=0, rounding=0, truncation=1)
        scale, value, ledger = self._evaluate(epsilon, 1.0)
        total = value * (1 + ledger[2]) + ledger[0] + ledger[1]
        logarithm = scale + _log(total)
        if self.infinite > 0:
            logarithm = float(np.logaddexp(logarithm, _log(self.infinite)))
        truncation = math.exp(min(_log(self.infinite) - logarithm, 0.0))
        parts = CompositionLedger(
            transform=ledger[0] / total, outside=ledger[1] / total, rounding=ledger[2], truncation=truncation
        )
        return logarithm + 8 * ROUNDING * (1 + abs(logarithm)), parts

    def lower(self, epsilon: Fraction) -> tuple[float, CompositionLedger]:
        """A lower bound on log delta."""
        infinite = _log(self.infinite_lower)
        if epsilon >= self.highest:
            return infinite - self.surplus, CompositionLedger(transform=0, outside=0, rounding=0, truncation=0)
        scale, value, ledger = self._evaluate(epsilon, -1.0)
        total = value * (1 - ledger[2]) - ledger[0] - ledger[1]
        size = max(value, 1e-300)
        parts = CompositionLedger(
            transform=ledger[0] / size, outside=ledger[1] / size, rounding=ledger[2], truncation=0.0
        )
        logarithm = float(np.logaddexp(scale + _log(total), infinite)) - self.surplus
        return logarithm - (8 * ROUNDING * (1 + abs(logarithm)) if logarithm > -math.inf else 0.0), parts

    def _evaluate(self, epsilon: Fraction, direction: float) -> tuple[float, float, tuple[float, float, float]]:
        """log M e^(-theta epsilon), the sum over the window, and its transform, outside and relative errors.

        Losses are moved by a bound on their rounding errors: up (``direction`` 1) or down (-1).
        """
        law = self._laws.near(epsilon)
        interval = float(self.interval)
        offset = index_offset(law.first, self.interval, epsilon)
        reach = abs(offset) + interval * law.masses.size
        shift = 4 * ROUNDING * reach
        start = max(0, math.floor((-offset - shift) / interval) - 1)
        y = offset + direction * shift + interval * np.arange(start, law.masses.size)
        start += int(np.searchsorted(y, 0.0, side="right"))
        y = y[y > 0]
        theta = law.step / interval
        with np.errstate(under="ignore"):
            kernel = np.exp(-theta * y) * -np.expm1(-y)
        value = float(kernel @ law.masses[start:])
        size = float(kernel @ np.abs(law.masses[start:]))
        highest = 1.0 if theta == 0 else math.exp(theta * math.log(theta / (1 + theta)) - math.log1p(theta))
        transform = law.transform_error * norm_of_weights(kernel) * 1.01 + size * ROUNDING * (kernel.size + 64)
        transform += UNDERFLOW
        exponent = theta * float(epsilon)
        rounding = law.relative_error + 4 * ROUNDING * (8 + abs(law.log_moment) + abs(exponent)) + 8 * theta * shift
        rounding += 4 * ROUNDING * theta * reach
        return law.log_moment - exponent, value, (transform, law.outside * highest * 1.01, 1.1 * rounding)

    def vertices(self) -> tuple[Array, Array, float]:
        """Points (Q[L > k], P[L > k]) in increasing order, and a bound on their errors.

        Each is the level and the power of a best test. They are cumulative sums of the law under P (no tilt) and under
        Q (tilt -1). A chord between two of them is within the error of a piece of the trade-off function, in both
        coordinates; since the function falls, the chord moved by the error to the left and down, or to the right and
        up, is on one side of it.
        """
        if self._vertices is None:
            p = tilted_power(self._laws.parts, self._laws.steering, 0.0)
            q = tilted_power(self._laws.parts, self._laws.steering, -float(self.interval))
            first, last = min(p.first, q.first), max(p.first + p.masses.size, q.first + q.masses.size)
            p_above, p_error = upper_sums(p, first, last)
            q_above, q_error = upper_sums(q, first, last)
            alphas = np.maximum.accumulate(q_above[::-1])
            powers = np.maximum.accumulate(p_above[::-1])
            self._vertices = alphas, powers, max(p_error, q_error) + 4 * ROUNDING
        return self._vertices


def _root(curve: Callable[[Fraction], float], goal: float, highest: Fraction) -> tuple[float, float]:
    """An epsilon >= 0 at which the curve is above the goal (or 0), and a close one at which it is not (or inf)."""

    def excess(epsilon: float) -> float:
        value = curve(Fraction(epsilon))
        return (math.inf if value > goal else -math.inf) if goal == -math.inf else value - goal

    low, at_low, high, last = 0.0, excess(0.0), 1.0, max(math.nextafter(float(highest), math.inf), 0.0)
    if at_low <= 0:
        return 0.0, 0.0
    while (at_high := excess(high := min(high, last))) > 0:
        if high == last:
            return last, math.inf
        low, at_low, high = high, at_high, 2 * high
    bracket = Bracket(low=Fraction(low), high=Fraction(high), at_low=arb(at_low), at_high=arb(at_high))
    close = _CLOSE if goal > -math.inf else _CLOSE_TO_NOTHING
    for trial in bracket.trials(_ROOT_BITS):
        point = Fraction(float(trial))
        if bracket.width <= close * bracket.high or not bracket.low < point < bracket.high:
            break
        value = excess(float(point))
        bracket.narrow(point, arb(value), 1 if value > 0 else -1)
    return float(bracket.low), float(bracket.high)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _log_of(level: Fraction, room: float) -> float:
    """log(level), moved by more than its rounding errors in the direction of ``room``; any level, however small."""
    if level == 0:
        return -math.inf
    top, bottom = math.log(level.numerator), math.log(level.denominator)
    return top - bottom + room * (1 + top + bottom)


def _exp_up(logarithm: float) -> float:
    return math.nextafter(math.exp(logarithm) * (1 + 4 * ROUNDING), math.inf) if logarithm > -math.inf else 0.0


def _exp_down(logarithm: float) -> float:
    return max(math.exp(logarithm) * (1 - 4 * ROUNDING), 0.0) if logarithm > -700 else 0.0
