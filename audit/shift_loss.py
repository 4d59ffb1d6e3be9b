"""The privacy loss of a pair of output laws that is no Gaussian pair, and the probabilities of its best event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Final, final

from flint import arb
from scipy.optimize import brentq

from dpverdict.audit import (
    laplace_bounds,
    laplace_contour,
    laplace_loss,
    laplace_moments,
    laplace_profile,
    laplace_sum,
    lattice_contour,
    lattice_gaussian,
    lattice_loss,
    lattice_profile,
    profile_curves,
    radial_random_direction,
    response_loss,
    spherical_integral,
    spherical_loss,
    spherical_profile,
)
from dpverdict.audit.laplace_loss import LaplaceLoss
from dpverdict.audit.laplace_profile import LaplaceProfile
from dpverdict.audit.lattice_gaussian import Coordinates, DiscreteGaussians
from dpverdict.audit.lattice_loss import LatticeLoss
from dpverdict.audit.lattice_profile import LatticeProfile
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.audit.radial_random_direction import RandomDirectionGaussian
from dpverdict.audit.response_loss import ResponseLoss
from dpverdict.audit.spherical_loss import SphericalLoss
from dpverdict.audit.spherical_profile import SphericalProfile
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.mechanisms import shift as shift_module
from dpverdict.mechanisms.shift import LaplaceShift, LatticeShift, RandomDirectionShift, ResponseShift, Shift

_BITS: Final = 60


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftEvent:
    """The event {privacy loss > epsilon} of a pair: by Neyman and Pearson, none shows more of delta(epsilon).

    Attributes:
        description: the set of outputs, in words and numbers a reader can recompute.
        probability, neighbour_probability: its probabilities under P and under Q, enclosed.
    """

    description: str
    probability: Enclosure
    neighbour_probability: Enclosure


def loss_of_shift(shift: Shift) -> PrivacyLoss:
    """The privacy loss of the pair."""
    match shift:
        case RandomDirectionShift():
            return SphericalLoss(shift.dim, RandomDirectionGaussian(shift.scale), Real.of(shift.squared_length).sqrt())
        case LatticeShift():
            return LatticeLoss.from_groups(shift.groups)
        case LaplaceShift():
            return LaplaceLoss.grouped(shift.groups)
        case ResponseShift():
            return ResponseLoss(shift.count, shift.rate)


def largest_loss(shift: Shift) -> Fraction | None:
    """The largest privacy loss of the pair, which is its pure epsilon, exactly; None where the loss is unbounded."""
    return shift.pure if isinstance(shift, LaplaceShift | ResponseShift) else None


def concentration(shift: Shift, loss: PrivacyLoss) -> Fraction | Enclosure | None:
    """The least rho such that the pair is rho-zCDP, exactly where it is rational; None where it is infinite.

    For the two laws with exponential tails it is the Kullback-Leibler divergence D_1, the limit of D_a/a at a = 1. With
    t = a - 1/2 and M(t) = E_Q[exp(a L)], which is even in t and 1 at t = 1/2, D_a/a = log M(t)/(t^2 - 1/4). M is, up to
    a factor, cosh(rate t) for a response and cosh(s t) + sinh(s t)/(2 t) for a Laplace coordinate: entire functions of
    u = t^2 of order 1/2 whose zeros are real and negative (cos x = 0, and tan(s x) = -2 x), so that log M is concave in
    u, and its chord slope from u = 1/4 on falls. Sums over coordinates fall too.
    """
    match shift:
        case LaplaceShift() | ResponseShift():
            return loss.certified_renyi(1)
        case RandomDirectionShift() | LatticeShift():
            return shift.rho


def concentrated_delta_upper(rho: Fraction, epsilon: Fraction) -> arb:
    """An upper bound on delta(epsilon), epsilon > 0, of every rho-zCDP pair.

    It is exp(m ((1 + m) rho - epsilon)) m^m/(1 + m)^(1 + m), which holds for every m > 0; m is taken close to the best.

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12 and Corollary 13 (arXiv:2004.00010).
    """
    at, r = float(epsilon), float(rho)
    slope = brentq(lambda x: (2 * math.exp(x) + 1) * r - at - math.log1p(math.exp(-x)), -700.0, 700.0, xtol=1e-14)
    with precision(2 * _BITS):
        m = ball(Fraction(math.exp(slope)))
        bound = (m * ((1 + m) * ball(rho) - ball(epsilon)) + m * m.log() - (1 + m) * m.log1p()).exp()
    return bound


def renyi_of(shift: Shift, loss: PrivacyLoss, order: Fraction) -> Fraction | Enclosure | None:
    """The Renyi divergence of the pair, exactly where it is rational; None where it is infinite.

    Raises:
        InvalidValue: no certified way to the value is known.
    """
    match shift:
        case LatticeShift() if order.denominator == 1:
            return order * shift.rho
        case RandomDirectionShift() if (shift.dim - 1) * (order - 1) >= 1:
            return None
        case _:
            return loss.certified_renyi(order)


def delta_to(shift: Shift, epsilon: Fraction, bits: int) -> arb:
    """delta(epsilon) of the pair, enclosed to at least ``bits`` accurate bits."""
    match shift:
        case RandomDirectionShift():
            return SphericalProfile(shift.dim, _law(shift)).delta(epsilon, bits)
        case LatticeShift():
            return _lattice(shift).delta(epsilon, bits)
        case LaplaceShift():
            return LaplaceProfile(tuple(sorted(shift.groups))).delta(epsilon, bits)
        case ResponseShift():
            return ResponseLoss(shift.count, shift.rate).profile(epsilon, bits)


def best_event(shift: Shift, level: Fraction) -> ShiftEvent:
    """The event {privacy loss > level}, level >= 0."""
    match shift:
        case RandomDirectionShift():
            profile = SphericalProfile(shift.dim, _law(shift))
            return ShiftEvent(
                description=f"(rho^2 - r^2)/(2 sigma^2) + {shift.dim - 1} log(rho/r) > {float(level)!r} with "
                f"r = |y - E_P[y]|, rho = |y - E_Q[y]|, sigma = {float(shift.scale)!r}: the privacy loss exceeds it",
                probability=Enclosure.of_ball(profile.p_above(level, _BITS)),
                neighbour_probability=Enclosure.of_ball(profile.q_above(level, _BITS)),
            )
        case LatticeShift():
            lattice = _lattice(shift)
            terms = " + ".join(f"{m}/({v}) * (sum of the noise of {count} coordinates)" for v, m, count in shift.groups)
            return ShiftEvent(
                description=f"{terms} > {float(level)!r} - {shift.rho}, the noise being y - E_P[y] where P is above Q "
                "and E_P[y] - y where it is below: the privacy loss exceeds the first number",
                probability=Enclosure.of_ball(lattice.p_above(level, _BITS)),
                neighbour_probability=Enclosure.of_ball(lattice.q_above(level, _BITS)),
            )
        case LaplaceShift():
            laplace = LaplaceProfile(tuple(sorted(shift.groups)))
            moved = " and ".join(f"{count} of {float(a)!r}" for a, count in shift.groups[:6])
            more = ", ..." if len(shift.groups) > 6 else ""
            return ShiftEvent(
                description=f"sum of |y - E_Q[y]| - |y - E_P[y]| > {float(level)!r} over the coordinates that move, in "
                f"units of the scale ({moved}{more}): the privacy loss exceeds it",
                probability=Enclosure.of_ball(laplace.p_above(level, _BITS)),
                neighbour_probability=Enclosure.of_ball(laplace.q_above(level, _BITS)),
            )
        case ResponseShift():
            response = ResponseLoss(shift.count, shift.rate)
            return ShiftEvent(
                description=f"{shift.rate} * (sum of |y - E_Q[y]| - |y - E_P[y]|) > {float(level)!r} over the "
                f"{shift.count} coordinates that move, each by 1: the privacy loss exceeds it",
                probability=Enclosure.of_ball(response.p_above(level, _BITS)),
                neighbour_probability=Enclosure.of_ball(response.q_above(level, _BITS)),
            )


def assumptions_of(shift: Shift) -> tuple[str, ...]:
    """What a certificate takes for granted about the noise."""
    match shift:
        case RandomDirectionShift():
            return (
                "noise and sums are real numbers: rounding in the sampler is not covered",
                "the normal variates are independent and exact",
            )
        case LaplaceShift():
            return ("noise and sums are real numbers: rounding in the sampler is not covered",)
        case LatticeShift() | ResponseShift():
            return ("the bits of the random source are independent and uniform",)


def engine_of(shift: Shift) -> tuple[ModuleType, ...]:
    """The modules whose source a verdict on the pair rests on, beside those of the mechanism."""
    match shift:
        case RandomDirectionShift():
            return (shift_module, radial_random_direction, spherical_integral, spherical_profile, spherical_loss)
        case LatticeShift():
            return (shift_module, lattice_gaussian, lattice_contour, lattice_profile, lattice_loss)
        case LaplaceShift():
            sums = laplace_sum, laplace_contour, laplace_bounds, laplace_profile, laplace_moments, laplace_loss
            return (shift_module, *sums)
        case ResponseShift():
            return (shift_module, profile_curves, response_loss)


def _lattice(shift: LatticeShift) -> LatticeProfile:
    coordinates = (Coordinates(variance, moved, count) for variance, moved, count in shift.groups)
    return LatticeProfile(DiscreteGaussians(tuple(sorted(coordinates))))


def _law(shift: RandomDirectionShift) -> RandomDirectionGaussian:
    """The noise in units of the shift."""
    return RandomDirectionGaussian(Real.of(shift.scale**2 / shift.squared_length).sqrt())
