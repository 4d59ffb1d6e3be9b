"""The privacy loss of a pair of output laws that is no Gaussian pair, and the probabilities of its best event.

The worst neighbouring pair of a mechanism, and the privacy loss of any pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Final, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpverdict.audit.losses import closed_form as response_loss
from dpverdict.audit.losses import curves as profile_curves
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, ResponseLoss
from dpverdict.audit.losses.discrete_gaussian import law as lattice_contour
from dpverdict.audit.losses.discrete_gaussian import law as lattice_gaussian
from dpverdict.audit.losses.discrete_gaussian import loss as lattice_loss
from dpverdict.audit.losses.discrete_gaussian import profile as lattice_profile
from dpverdict.audit.losses.discrete_gaussian.law import Coordinates, DiscreteGaussians
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.discrete_gaussian.profile import DiscreteGaussianProfile
from dpverdict.audit.losses.laplace import contour as laplace_contour
from dpverdict.audit.losses.laplace import exact_sum as laplace_sum
from dpverdict.audit.losses.laplace import loss as laplace_loss
from dpverdict.audit.losses.laplace import loss as laplace_moments
from dpverdict.audit.losses.laplace import profile as laplace_bounds
from dpverdict.audit.losses.laplace import profile as laplace_profile
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.laplace.profile import LaplaceProfile
from dpverdict.audit.losses.spherical import integral as spherical_integral
from dpverdict.audit.losses.spherical import integral as spherical_profile
from dpverdict.audit.losses.spherical import loss as spherical_loss
from dpverdict.audit.losses.spherical import random_direction as radial_random_direction
from dpverdict.audit.losses.spherical.integral import SphericalProfile
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core import dominating_pairs as shift_module
from dpverdict.mechanisms.core.dominating_pairs import (
    LaplaceShift,
    LatticeShift,
    RandomDirectionShift,
    ResponseShift,
    Shift,
)
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair, adjacency_name
from dpverdict.mechanisms.core.sensitivity import Cube, ShiftSpace, StepSpace

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
            return DiscreteGaussianLoss.from_groups(shift.groups)
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


def _lattice(shift: LatticeShift) -> DiscreteGaussianProfile:
    coordinates = (Coordinates(variance, moved, count) for variance, moved, count in shift.groups)
    return DiscreteGaussianProfile(DiscreteGaussians(tuple(sorted(coordinates))))


def _law(shift: RandomDirectionShift) -> RandomDirectionGaussian:
    """The noise in units of the shift."""
    return RandomDirectionGaussian(Real.of(shift.scale**2 / shift.squared_length).sqrt())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The neighbouring pair with the largest privacy loss, and how it is known to be the worst.

    Attributes:
        pair: neighbouring datasets that attain it: the worst record alone against none, or against its replacement.
        loss: the privacy loss of the pair; it dominates every other pair's.
        description: the worst record in words.
        justification: why nothing is worse.
        shift: the pair of output laws in exact numbers where the noise is not Gaussian; None where it is.
        exact: whether the pair attains the loss; False where the loss is a bound from above, which refutes nothing.
        rho_upper: beside a bound, a rho such that every pair is rho-zCDP, exactly, if one is known.
        attained: beside a bound, the laws of ``pair`` in exact numbers, if they are known.
    """

    pair: NeighbourPair
    loss: PrivacyLoss
    description: str
    justification: str
    shift: Shift | None = None
    exact: bool = True
    rho_upper: Fraction | None = None
    attained: Shift | None = None


def worst_case(mechanism: AdditiveMechanism) -> WorstCase:
    """The worst neighbouring pair over the whole sensitivity space, exactly, in O(d) time and memory.

    Every Gaussian pair with the same covariance is exactly mu-GDP apart, with mu^2 = v^T S^-1 v, and the trade-off
    functions of different mu are nested; so the pair of largest mu^2 dominates all others (Lebeda 2024, section 3).
    For other noise the sensitivity space names the dominating pair of laws, and says why it dominates.

    >>> from dpverdict.mechanisms import CorrelatedGaussian
    >>> worst_case(CorrelatedGaussian(dim=100, mu=1)).loss.mu <= 1
    True
    """
    maximum = mechanism.sensitivity.maximise(mechanism.noise)
    copies = mechanism.sensitivity.copies if isinstance(mechanism.sensitivity, Cube) else 1
    if maximum.datasets is not None:
        dataset, neighbour = maximum.datasets()
    else:
        record, replacement = maximum.records()
        dataset = np.repeat(record[None], copies, axis=0)
        neighbour = dataset[:0] if replacement is None else replacement[None]
    pair = NeighbourPair(
        dataset=dataset,
        neighbour=neighbour,
        adjacency=mechanism.adjacency,
        records_per_user=copies,
    )
    return WorstCase(
        pair=pair,
        loss=_gaussian(maximum.mu_squared) if maximum.shift is None else loss_of_shift(maximum.shift),
        description=maximum.description,
        justification=maximum.justification,
        shift=maximum.shift,
        exact=maximum.exact,
        rho_upper=maximum.rho_upper,
        attained=maximum.attained,
    )


def neighbour_loss(
    mechanism: AdditiveMechanism, record: ArrayLike, replacement: ArrayLike | None = None, *, position: int = 0
) -> PrivacyLoss:
    """The privacy loss of one neighbouring pair: ``record`` added or removed, or replaced by ``replacement``.

    The squared GDP parameter, or the shift of other noise, is computed from the record by exact arithmetic, in O(d)
    time and memory. Two equal laws have the loss of mu = 0. Where the worst case of the mechanism is a bound from
    above (``worst_case(mechanism).exact`` is False), so is this.

    Args:
        mechanism: a mechanism whose noise law is known.
        record: shape ``mechanism.record_shape``, in the mechanism's range.
        replacement: the record that takes its place; required under REPLACE_ONE and only there.
        position: the index of the record in its dataset, where that matters: in a stream, where 0 is the first item.

    Raises:
        InvalidValue: a position outside the stream, a record of another shape or out of range, or a replacement that
            does not fit the relation.
    """
    if (replacement is not None) != (mechanism.adjacency is REPLACE_ONE):
        remedy = "pass replacement= under replace-one, and leave it out under add-or-remove-one"
        relation = adjacency_name(mechanism.adjacency)
        raise InvalidValue("replacement", replacement, f"consistent with {relation}", remedy)
    checked = mechanism.check_records(np.asarray(record)[None])[0]
    other = None if replacement is None else mechanism.check_records(np.asarray(replacement)[None])[0]
    space = mechanism.sensitivity
    if isinstance(space, StepSpace):
        space = space.at(position)
    if not isinstance(space, ShiftSpace):
        return _gaussian(space.mu_squared(mechanism.noise, checked, other))
    shift = space.shift(mechanism.noise, checked, other)
    return GaussianLoss(0) if shift is None else loss_of_shift(shift)


def _gaussian(mu_squared: Real | None) -> GaussianLoss | DisjointLoss:
    return DisjointLoss() if mu_squared is None else GaussianLoss.from_squared(mu_squared)


def gdp_parameter(loss: PrivacyLoss) -> Enclosure | None:
    """The exact GDP parameter mu of a Gaussian loss, infinite for disjoint laws; None for any other loss."""
    if isinstance(loss, GaussianLoss):
        return Enclosure.of(loss.mu_real)
    if isinstance(loss, DisjointLoss):
        return Enclosure(arb("inf"), arb("inf"))
    return None
