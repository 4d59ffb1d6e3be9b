"""The privacy loss of spherically symmetric noise against its shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit import smooth_trade_off
from dpverdict.audit.ball_loss import BallLoss
from dpverdict.audit.gaussian_loss import identical_laws
from dpverdict.audit.laplace_floats import interpolated
from dpverdict.audit.lattice_law import LatticePair
from dpverdict.audit.loss_domains import EPSILON, Floats
from dpverdict.audit.loss_tails import LossTails, finite_losses
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.audit.profile_curves import ACCURACY, epsilon_ball, log_delta_ball
from dpverdict.audit.radial_law import RadialLaw
from dpverdict.audit.spherical_lattice import symmetric_lattice
from dpverdict.audit.spherical_profile import SphericalProfile
from dpverdict.audit.spherical_renyi import renyi_ball
from dpverdict.audit.tail_guess import TailGuess
from dpverdict.balls import Enclosure, Exact, Real, ball, compare, exactly, precision, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.exact_text import exact_text

RELATIVE_ERROR = 1e-13
"""Bound on the relative error of the float64 profile and tails, measured; a subnormal number has an absolute one."""

_BITS = 60
_NOTHING_LEFT = -750.0


@final
class SphericalLoss(BallLoss):
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

    >>> from dpverdict.audit.radial_random_direction import RandomDirectionGaussian
    >>> loss = SphericalLoss(5, RandomDirectionGaussian(5))
    >>> loss.certified_delta(1)
    Enclosure([0.14740101627355783, 0.14740101627355787])
    >>> loss.renyi("1.25")
    inf
    """

    __slots__ = ("__dict__", "_dim", "_law", "_profile", "_shift", "_unit_law")

    def __init__(self, dim: int, law: RadialLaw, shift: Exact | Real = 1) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
            raise InvalidValue("dim", dim, "a whole number", "give the dimension of the statistic")
        if not isinstance(law, RadialLaw):
            raise InvalidValue("law", law, "a radial law", "give RandomDirectionGaussian(scale), for example")
        self._dim = int(dim)
        self._law = law
        law.require(self._dim)
        self._shift = Real.of(shift, name="shift")
        sign = compare(self._shift, Real.of(0))
        if sign not in (0, 1):
            shown = self._shift.rational if self._shift.rational is not None else self._shift
            raise InvalidValue("shift", str(shown), ">= 0", "give the distance of the two centres")
        self._unit_law = law.divided_by(self._shift) if sign == 1 else None
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

    def certified_tails(self, loss: Exact) -> tuple[Enclosure, Enclosure]:
        """Encloses P[L > loss] and Q[L > loss], the probabilities of the best event against exp(loss)."""
        level = EPSILON.exact(loss)
        if self._profile is None:
            above = Enclosure.of_ball(arb(1 if level < 0 else 0))
            return above, above
        values = self._profile.p_above(level, ACCURACY), self._profile.q_above(level, ACCURACY)
        return Enclosure.of_ball(values[0]), Enclosure.of_ball(values[1])

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Floats) -> Floats:
        profile = self._profile
        if profile is None:
            return super()._delta(epsilon)
        counts = epsilon > _NOTHING_LEFT  # at and below it, exp(epsilon) delta(-epsilon) is 0 in float64
        size, place = np.unique(np.abs(epsilon[counts]), return_inverse=True)
        positive = np.zeros(epsilon.shape)
        positive[counts] = interpolated(lambda x: profile.delta(x, _BITS), size, ())[place]
        below = np.minimum(epsilon, 0.0)
        reflected: Floats = np.exp(below) * positive - np.expm1(below)
        return np.where(epsilon < 0, reflected, positive)

    def tails(self, l: Floats) -> LossTails:
        """The four tails at losses of shape (n,): rounded balls, one by one, so certainly within `RELATIVE_ERROR`."""
        losses, profile = finite_losses(l), self._profile
        if profile is None:
            above = (losses < 0).astype(np.float64)
            return LossTails(
                p_above=above, p_below=1 - above, q_above=above, q_below=1 - above, relative_error=RELATIVE_ERROR
            )
        size, place = np.unique(np.abs(losses), return_inverse=True)
        balls = [[curve(Fraction(x), _BITS) for curve in (profile.p_above, profile.q_above)] for x in size.tolist()]
        p_above, q_above = (np.array([float(pair[i]) for pair in balls])[place] for i in (0, 1))
        p_below = np.array([float(profile.q_above(-Fraction(x), _BITS)) for x in size.tolist()])[place]
        negative = losses < 0
        return LossTails(
            p_above=np.where(negative, 1 - q_above, p_above),
            p_below=np.where(negative, q_above, p_below),
            q_above=np.where(negative, p_below, q_above),
            q_below=np.where(negative, p_above, 1 - q_above),
            relative_error=RELATIVE_ERROR,
        )

    def lattice(self, interval: float) -> LatticePair:
        """Two laws on the multiples of ``interval`` that bracket this loss for certain: see `spherical_lattice`."""
        if self._profile is None:
            return PrivacyLoss.lattice(self, interval)
        assert self._unit_law is not None  # as the profile
        largest = self._unit_law.largest_loss()
        return symmetric_lattice(self._profile.p_above, self._profile.q_above, largest, interval)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._profile is None:
            return identical_laws()._delta_balls(epsilons)
        return [self._profile.delta(exactly(epsilon), ACCURACY) for epsilon in epsilons]

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
        highest = None if largest is None else _above(largest)
        return epsilon_ball(self._profile.delta, delta, highest=highest)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if self._profile is None or alpha in (0, 1):
            return refine(lambda: ball(1 - alpha), bits=ACCURACY)
        low, high = self._guess.bracket(alpha)
        return smooth_trade_off.beta_ball(self._profile.q_above, alpha, low=low, high=high)

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


def _above(number: Real) -> Fraction:
    """A rational number at or above a real one."""
    if number.rational is not None:
        return number.rational
    with precision(128):
        upper = number.ball().upper()
    mantissa, exponent = upper.man_exp()
    scale: Fraction = Fraction(2) ** int(exponent)
    return int(mantissa) * scale
