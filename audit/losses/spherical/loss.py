"""The privacy loss of spherically symmetric noise against its shift.

`SphericalLoss` takes its profile and tails from certified integrals. Two more of its curves need work here:

* The Renyi divergences (`renyi_ball`) are integrals of the profile, by the formula for a convex function of the
  likelihood ratio. They are enclosed by the tails at some losses and the convexity of the profile.
* The trade-off function has a certified search for the loss where a tail probability has a given value; a quick guess
  in float64 (`TailGuess`) steers it.

Reference: Liese and Vajda 2006 (doi:10.1109/TIT.2006.881731), Theorem 11, for the integral against the profile.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, final

import numpy as np
import scipy
from flint import arb
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebinterpolate, chebpts1

from dpverdict.audit.losses.base import NORMAL_VARIATES, REAL_ARITHMETIC, BallLoss, ExactLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.curves import ACCURACY, FARTHEST, Curve, epsilon_ball, log_delta_ball, smooth_beta_ball
from dpverdict.audit.losses.domains import (
    DIVERGENCE,
    PROBABILITY,
    PROFILE,
    TRADE_OFF,
    EventBound,
    LossTails,
    finite_losses,
)
from dpverdict.audit.losses.laplace.loss import interpolated
from dpverdict.audit.losses.lattice.law import LatticePair
from dpverdict.audit.losses.spherical.discretise import symmetric_lattice
from dpverdict.audit.losses.spherical.events import best_ball_event
from dpverdict.audit.losses.spherical.integral import SphericalProfile
from dpverdict.audit.losses.spherical.law import RadialLaw, TailIntegral
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Exact, Real, ball, compare, exactly, precision, refine
from dpverdict.cards import ThroughPoints
from dpverdict.checks import check_not_negative_real, check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction
from dpverdict.numerics.text import exact_text

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
            return DIVERGENCE.ball(lower, upper)

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


_GUESS_BITS: Final = 44
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
        s = self._solve(1, _log_probability(alpha)) if upper else self._solve(0, _log_probability(1 - alpha))
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
        return float(
            scipy.optimize.brentq(lambda s: float(piece(s)) - goal, low, high, xtol=1e-15 * self._unit, rtol=1e-15)
        )

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
        with precision(_GUESS_BITS + 20):
            value: arb = self._curves[which](Fraction(s), _GUESS_BITS)
            return float(value.log().mid()) if value > 0 else -math.inf


def _log_probability(probability: Fraction) -> float:
    with precision(_GUESS_BITS + 20):
        return float((arb(probability.numerator) / probability.denominator).log().mid())


DRAWN: Final = 18
"""Losses whose tails are computed for a picture."""

_ROUGH_BITS: Final = 24
_NEARLY_ONE: Final = 1 - 1e-15
_SMALLEST_MU: Final = 1e-12
_SMALLEST_DRAWN: Final = 1e-300

RELATIVE_ERROR = 1e-13
"""Bound on the relative error of the float64 profile and tails, measured; a subnormal number has an absolute one."""

_FLOAT_BITS = 60
_NOTHING_LEFT = -750.0


@final
class SphericalLoss(BallLoss, ExactLoss):
    """The privacy loss of y = f(X) + n against y = f(X') + n, where |f(X) - f(X')| = shift and n = r v in R^dim.

    v is uniform on the unit sphere and the radius r independent of it, with a law such that the density of n decreases
    strictly with |n|: the precondition of everything here, checked by `RadialLaw.require`. Then {L > s} cuts a cap out
    of every sphere about f(X), and P[L > s], Q[L > s] and the privacy profile are one-dimensional integrals along the
    surface {L = s}, computed in balls with every cut-off charged. Two consequences:

    * the reverse direction, Q against P, has the same curves (by reflection at the middle of the centres);
    * delta(epsilon) does not decrease with the shift: on {p > exp(epsilon) q} the point y is nearer to f(X) than to
      f(X'), and moving f(X') further away lowers q there. So ``shift`` = sensitivity is the worst of the whole ball.

    The float64 methods round the balls, and interpolate between them in arrays of 64 numbers or more, with a relative
    error below `RELATIVE_ERROR`. One value takes 10 to 500 ms. The Renyi divergence of the random direction, finite
    below the order dim/(dim - 1), is enclosed to 1e-4 or worse, and given in float64 only where it is known to 1e-3.

    Args:
        dim: the dimension, >= 2.
        law: the law of the radius: `RandomDirectionGaussian`, `IsotropicGaussian`, `IsotropicLaplace`, or your own.
        shift: the distance of the two centres, any number >= 0, at its exact value; at 0 the laws are the same.

    Raises:
        InvalidValue: a parameter out of range, or a law whose density is not radially decreasing on R^dim.

    >>> from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
    >>> loss = SphericalLoss(5, RandomDirectionGaussian(5))
    >>> loss.certified_delta(1)
    Enclosure([0.14740101627355783, 0.14740101627355787])
    >>> loss.renyi("1.25")
    inf
    """

    __slots__ = ("__dict__", "_dim", "_law", "_profile", "_shift", "_unit_law")

    symmetric = True

    def __init__(self, dim: int, law: RadialLaw, shift: Exact | Real = 1) -> None:
        self._dim = check_whole(dim, "dim", least=None, remedy="give the dimension of the statistic")
        if not isinstance(law, RadialLaw):
            raise InvalidValue("law", law, "a radial law", "give RandomDirectionGaussian(scale), for example")
        self._law = law
        law.require(self._dim)
        self._shift = check_not_negative_real(shift, "shift", "give the distance of the two centres")
        self._unit_law = law.divided_by(self._shift) if compare(self._shift, Real.of(0)) == 1 else None
        self._profile = SphericalProfile(self._dim, self._unit_law) if self._unit_law is not None else None

    @property
    def dim(self) -> int:
        """The dimension."""
        return self._dim

    @property
    def law(self) -> RadialLaw:
        """The law of the radius."""
        return self._law

    @property
    def shift(self) -> Real:
        """The distance of the two centres, exactly."""
        return self._shift

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    @property
    def law_key(self) -> tuple[object, ...]:
        """The dimension, the scale and the distance, where the direction of the noise is uniform."""
        if not isinstance(self._law, RandomDirectionGaussian):
            return (id(self),)
        return ("random direction", self._dim, self._law.sigma.nearest(), self._shift.nearest())

    def moves_further(self, other: PrivacyLoss, slack: float) -> bool | None:
        """By the distances of the centres, of one law of the radius."""
        if not isinstance(other, SphericalLoss) or (self._dim, self._law) != (other._dim, other._law):
            return None
        return bool(self._shift.nearest() > other._shift.nearest() * (1 + slack))

    def event_above(self, level: float) -> str:
        """A set between two spheres about the two centres, where the direction of the noise is uniform."""
        if not isinstance(self._law, RandomDirectionGaussian):
            return super().event_above(level)
        return (
            f"(rho^2 - r^2)/(2 sigma^2) + {self._dim - 1} log(rho/r) > {level!r} with "
            f"r = |y - E_P[y]|, rho = |y - E_Q[y]|, sigma = {self._law.sigma.nearest()!r}: the privacy loss exceeds it"
        )

    def least_rho(self) -> Fraction | Enclosure:
        """0 for equal laws, infinite where some Renyi divergence is.

        Raises:
            InvalidValue: another law.
        """
        if self._unit_law is None:
            return Fraction(0)
        if self._unit_law.renyi(self._dim, Fraction(self._dim, self._dim - 1)) is None:
            return Enclosure.of_ball(arb("inf"))
        raise InvalidValue("law", self._law, "one whose zCDP parameter is known", "claim another guarantee")

    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), enclosed to at least ``bits`` accurate bits."""
        if self._profile is None:
            return identical_laws()._delta_balls([epsilon])[0]
        return self._profile.delta(epsilon, bits)

    def simple_event(self, epsilon: Fraction) -> EventBound | None:
        """`best_ball_event` about the centre, where the density of a random direction is unbounded."""
        if not isinstance(self._law, RandomDirectionGaussian) or self._unit_law is None:
            return None
        return best_ball_event(self._dim, self._law.sigma, epsilon, self._shift)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return arb(1 if level < 0 else 0) if self._profile is None else self._profile.p_above(level, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return arb(1 if level < 0 else 0) if self._profile is None else self._profile.q_above(level, bits)

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Array) -> Array:
        profile = self._profile
        if profile is None:
            return super()._delta(epsilon)
        counts = epsilon > _NOTHING_LEFT  # at and below it, exp(epsilon) delta(-epsilon) is 0 in float64
        size, place = np.unique(np.abs(epsilon[counts]), return_inverse=True)
        positive = np.zeros(epsilon.shape)
        positive[counts] = interpolated(lambda x: profile.delta(x, _FLOAT_BITS), size, ())[place]
        below = np.minimum(epsilon, 0.0)
        reflected: Array = np.exp(below) * positive - np.expm1(below)
        return np.where(epsilon < 0, reflected, positive)

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,): rounded balls, one by one, so certainly within `RELATIVE_ERROR`."""
        losses, profile = finite_losses(l), self._profile
        if profile is None:
            above = (losses < 0).astype(np.float64)
            return LossTails(
                p_above=above, p_below=1 - above, q_above=above, q_below=1 - above, relative_error=RELATIVE_ERROR
            )
        size, place = np.unique(np.abs(losses), return_inverse=True)
        balls = [
            [curve(Fraction(x), _FLOAT_BITS) for curve in (profile.p_above, profile.q_above)] for x in size.tolist()
        ]
        p_above, q_above = (np.array([float(pair[i]) for pair in balls])[place] for i in (0, 1))
        p_below = np.array([float(profile.q_above(-Fraction(x), _FLOAT_BITS)) for x in size.tolist()])[place]
        negative = losses < 0
        return LossTails(
            p_above=np.where(negative, 1 - q_above, p_above),
            p_below=np.where(negative, q_above, p_below),
            q_above=np.where(negative, p_below, q_above),
            q_below=np.where(negative, p_above, 1 - q_above),
            relative_error=RELATIVE_ERROR,
        )

    def lattice(self, interval: float) -> LatticePair:
        """Two laws on the multiples of ``interval`` that bracket this loss for certain: see `symmetric_lattice`."""
        if self._profile is None:
            return PrivacyLoss.lattice(self, interval)
        assert self._unit_law is not None  # as the profile
        largest = self._unit_law.largest_loss()
        return symmetric_lattice(self._profile.p_above, self._profile.q_above, largest, interval)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._profile is None:
            return identical_laws()._delta_balls(epsilons)
        return [self._enclosed(exactly(epsilon)) for epsilon in epsilons]

    def _enclosed(self, epsilon: Fraction) -> arb:
        """delta(epsilon), where that takes too many bits between 0 and its value at a smaller epsilon."""
        assert self._profile is not None
        try:
            return self._profile.delta(epsilon, ACCURACY)
        except PrecisionExhausted:
            if epsilon <= FARTHEST:
                raise
            return arb(0).union(self._profile.delta(FARTHEST, ACCURACY).upper())

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        profile = self._profile
        if profile is None:
            return identical_laws()._log_delta_balls(epsilons)
        return [log_delta_ball(profile.delta, exactly(e), complement=profile.complement) for e in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if self._profile is None or self._unit_law is None or delta == 1:
            return arb(0)
        largest = self._unit_law.largest_loss()
        if delta == 0:
            return arb("inf") if largest is None else refine(largest.ball, bits=ACCURACY)
        highest = None if largest is None else _rational_above(largest)
        return epsilon_ball(self._profile.delta, delta, highest=highest)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if self._profile is None or alpha in (0, 1):
            return refine(lambda: ball(1 - alpha), bits=ACCURACY)
        low, high = self._guess.bracket(alpha)
        return smooth_beta_ball(self._profile.q_above, alpha, low=low, high=high)

    def enclosed_beta(self, alpha: Fraction, digits: int) -> Enclosure:
        """Encloses beta(alpha) to ``digits`` digits: few values of a tail, found from the Gaussian loss alike at 0."""
        if self._profile is None or alpha in (0, 1):
            return self.certified_beta(alpha)
        advantage = min(float(self._profile.delta(Fraction(0), _ROUGH_BITS)), _NEARLY_ONE)
        mu = 2 * float(scipy.special.ndtri((1 + advantage) / 2))
        if mu < _SMALLEST_MU:
            return self.certified_beta(alpha)
        guess = mu * float(scipy.special.ndtri(float(1 - alpha))) - mu * mu / 2
        width = mu * min(mu, 1) / 4
        bits = math.ceil(digits * math.log2(10)) + 2
        return TRADE_OFF.enclosure(
            smooth_beta_ball(
                self._profile.q_above, alpha, low=Fraction(guess - width), high=Fraction(guess + width), accuracy=bits
            )
        )

    def through_points(self, floor: float) -> ThroughPoints | None:
        """`DRAWN` losses and their opposites: by symmetry, both (Q[L > s], P[L <= s]) and the reverse are on beta."""
        profile = self._profile
        if profile is None:
            return None
        reach = Fraction(self.certified_epsilon(floor).upper)
        losses = [reach * Fraction(i, DRAWN) ** 3 for i in range(DRAWN + 1)]  # dense at 0, where beta bends
        beta: dict[float, float] = {}
        delta: dict[float, float] = {}
        for loss in losses:
            p, q = profile.p_above(loss, _ROUGH_BITS), profile.q_above(loss, _ROUGH_BITS)
            with precision(2 * _BITS):
                above, below = (PROBABILITY.enclosure(side).upper for side in (q, 1 - p))
                delta[float(loss)] = PROFILE.enclosure(p - ball(loss).exp() * q).upper
            if min(above, below) > _SMALLEST_DRAWN:
                beta |= {above: below, below: above}
        shown = sorted(epsilon for epsilon, value in delta.items() if value > 0)
        return ThroughPoints(
            alphas=np.array(sorted(beta)),
            betas=np.array([beta[alpha] for alpha in sorted(beta)]),
            epsilons=np.array(shown),
            deltas=np.array([delta[epsilon] for epsilon in shown]),
        )

    @cached_property
    def _guess(self) -> TailGuess:
        assert self._profile is not None  # where it is asked for
        assert self._unit_law is not None
        largest = self._unit_law.largest_loss()
        return TailGuess(
            self._profile.p_above, self._profile.q_above, math.inf if largest is None else largest.nearest()
        )

    def _renyi_ball(self, order: Fraction) -> arb:
        if self._unit_law is None:
            return arb(0)
        value = self._unit_law.renyi(self._dim, order)
        if value is None:
            return arb("inf")
        if isinstance(value, Real):
            return refine(value.ball, bits=ACCURACY, name="renyi")
        assert self._profile is not None  # as the unit law
        return renyi_ball(self._profile.p_above, self._profile.q_above, value, order)

    def _advantage_ball(self) -> arb:
        return arb(0) if self._profile is None else self._profile.delta(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        exact = self._shift.rational
        shift = exact_text(exact) if exact is not None else repr(self._shift)
        return f"SphericalLoss({self._dim}, {self._law!r}, shift={shift})"


def _rational_above(number: Real) -> Fraction:
    """A rational number at or above a real one."""
    if number.rational is not None:
        return number.rational
    with precision(128):
        return as_fraction(number.ball().upper())
