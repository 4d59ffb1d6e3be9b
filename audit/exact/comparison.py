"""What a pair of output laws attains against what a claim allows: the one inequality that decides the claim.

A claim about a Gaussian pair is an inequality between exact numbers; mu-GDP, zCDP and Renyi claims then compare
rationals whenever the noise scales are float64. Of every other law the largest loss, rho, the Renyi divergences and the
privacy profile are compared, exactly where they are rational and in balls elsewhere; mu-GDP speaks of every epsilon, so
that it can be refuted by one of them and proved by none.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, ExactLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.balls import Enclosure, Real, ball, compare, doublings, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.bounds import Above, DeltaBound, Dominating, MuBound, RhoBound, WorstPair
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.roots import doubled
from dpverdict.numerics.text import rounded_text, short_text, shown, told_apart, within

_MOST_BITS: Final = 1 << 13
_FIRST_BITS: Final = 100
_MAX_BITS: Final = 800
_EPSILONS: Final = 64
"""Where the profile of a pair is held against the one a claim implies, to find where the claim breaks."""
_FEW_EPSILONS: Final = 12
"""The same, where one value of the profile is an integral."""
_CLEARLY: Final = 1e6  # times as much as is allowed
_NEAR: Final = 1e-6  # the smallest delta that is looked at where small ones take long
_SMALLEST: Final = 1e-40
"""The smallest delta that is held against what a claim implies."""
_LARGEST_LEVEL: Final = 64.0
"""Of an event that is shown beside a divergence."""
_NEAR_LEVEL: Final = 8.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``attained <= allowed`` is the claim, said of one pair of output laws.

    Attributes:
        quantity: what is compared, in the field's notation.
        attained: encloses its value for the pair.
        allowed: encloses the largest value that the claim permits, or a number above it.
        sign: whether what is attained is below or above what is allowed (-1, 0, 1), for certain; None if undecided.
        level: the epsilon of the event that shows it best.
        exact: whether two rational numbers were compared.
        undecided: how close the two are known to be, where the sign is not.
        decides: whether ``attained`` at or below ``allowed`` proves the claim.
    """

    quantity: str
    attained: Enclosure
    allowed: Enclosure
    sign: int | None
    level: Fraction
    exact: bool = False
    undecided: str = ""
    decides: bool = True

    @property
    def broken(self) -> bool:
        """Whether the pair certainly attains more than the claim allows."""
        return self.sign == 1

    @property
    def kept(self) -> bool:
        """Whether the claim is proved."""
        return self.decides and self.sign in (-1, 0)

    @property
    def method(self) -> str:
        """The arithmetic, of a certificate that rests on the comparison."""
        return "exact rational arithmetic" if self.exact else "ball arithmetic"

    def sides(self) -> str:
        """The two sides for a reader, with as many digits as show which is larger, each rounded to its side.

        Where nothing is decided, or both are equal, they are told as numbers.
        """
        if self.sign is None or (self.sign == 0 and self.exact):
            return f"attained {shown(self.attained)}, allowed {shown(self.allowed)}"
        side, apart = ("at least", told_apart) if self.sign == 1 else ("at most", within)
        attained, allowed = apart(self.attained, self.allowed)
        return f"attained {attained if attained == 'infinite' else f'{side} {attained}'}, allowed {allowed}"


def compared_above(claim: Guarantee, entry: Above) -> Comparison | None:
    """What a bound from above says of every pair, against what the claim allows; None where it says nothing of it.

    Raises:
        InvalidValue, PrecisionExhausted: as `comparison_of`.
    """
    match entry, claim:
        case ((Dominating() | WorstPair()), _):
            return comparison_of(claim, entry.loss)
        case MuBound(), GaussianDP():
            return enclosed(f"mu^2, {entry.source},", entry.mu_squared, claim.mu**2, claim.mu)
        case RhoBound(), ZeroConcentratedDP():
            return enclosed(f"rho, {entry.source},", entry.rho, claim.rho, Fraction(0))
        case RhoBound(), RenyiDP():
            quantity = f"the Renyi divergence of order {claim.order}, {entry.source},"
            return enclosed(quantity, claim.order * entry.rho, claim.epsilon, Fraction(0))
        case DeltaBound(), ApproximateDP():
            bound = entry.at(claim.epsilon)
            if bound is None:
                return None
            quantity, attained = f"delta({short_text(claim.epsilon)})", Enclosure.hull(arb(0), bound.min(arb(1)))
            if entry.source:
                quantity, attained = f"{quantity}, at most, {entry.source},", Enclosure.of_ball(bound)
            return enclosed(quantity, attained, claim.delta, claim.epsilon)
        case DeltaBound(), PureDP():
            bound = entry.at(claim.epsilon)
            if bound is None or bound.upper() > 0:
                return None
            return enclosed(
                f"delta({short_text(claim.epsilon)})", Enclosure.hull(arb(0), arb(0)), Fraction(0), claim.epsilon
            )
        case _:
            return None


def comparison_of(claim: Guarantee, loss: PrivacyLoss) -> Comparison:
    """The comparison that decides the claim, if one is known; otherwise the one that comes nearest to breaking it.

    Raises:
        InvalidValue: no certified way to what the pair attains is known.
        PrecisionExhausted: it is not known accurately enough.
    """
    if isinstance(loss, DisjointLoss):
        return enclosed("mu", Enclosure.of_ball(arb("inf")), Fraction(0), Fraction(0))
    if isinstance(loss, GaussianLoss):
        return _of_gaussian(claim, loss)
    if isinstance(loss, ExactLoss):
        return _of_exact(claim, loss)
    if loss.is_certified:
        return _of_curves(claim, loss)
    raise InvalidValue("loss", loss, "one of laws given in exact numbers", "bound its curves instead")


def _of_gaussian(claim: Guarantee, loss: GaussianLoss) -> Comparison:
    """The inequality in the quantity where it is simplest, between numbers known to any precision."""
    square = loss.mu_squared
    match claim:
        case GaussianDP():
            return _compare_real("mu^2", square, claim.mu**2)
        case ZeroConcentratedDP():
            return _compare_real("rho = mu^2/2", square.times(Fraction(1, 2)), claim.rho)
        case RenyiDP():
            quantity = f"Renyi divergence of order {claim.order} = order mu^2/2"
            return _compare_real(quantity, square.times(claim.order / 2), claim.epsilon)
        case ApproximateDP():
            return _gaussian_profile(claim.epsilon, claim.delta, loss)
        case PureDP():
            return _gaussian_profile(claim.epsilon, Fraction(0), loss)


def _gaussian_profile(epsilon: Fraction, delta: Fraction, loss: GaussianLoss) -> Comparison:
    at = Real.of(epsilon)
    attained = Real.of(0)
    if loss.mu_squared.rational != 0:
        attained = Real(lambda: gaussian_formulas.delta(BallNormal(), at.ball(), loss.mu_real.ball()))
    return _compare_real(f"delta({short_text(epsilon)})", attained, delta)


def _of_exact(claim: Guarantee, loss: ExactLoss) -> Comparison:
    """By the numbers that every law given exactly is asked for."""
    match claim:
        case ApproximateDP():
            return _profile(claim.epsilon, claim.delta, loss)
        case PureDP():
            pure = loss.largest_loss
            if pure is None:
                return _profile(claim.epsilon, Fraction(0), loss)
            return enclosed("the largest privacy loss", pure, claim.epsilon, claim.epsilon)
        case ZeroConcentratedDP():
            return enclosed("rho", loss.least_rho(), claim.rho, _telling_level(claim, loss))
        case RenyiDP():
            divergence = loss.exact_renyi(claim.order)
            quantity = f"Renyi divergence of order {claim.order}"
            return enclosed(quantity, divergence, claim.epsilon, _telling_level(claim, loss))
        case GaussianDP():
            return _of_curves(claim, loss)


def _of_curves(claim: Guarantee, loss: PrivacyLoss) -> Comparison:
    """By the certified curves: a claim of mu or rho can be refuted by one epsilon or order, and is not proved."""
    if isinstance(claim, ApproximateDP | PureDP):
        delta = claim.delta if isinstance(claim, ApproximateDP) else Fraction(0)
        return _profile(claim.epsilon, delta, loss)
    if isinstance(claim, RenyiDP | ZeroConcentratedDP):
        with contextlib.suppress(InvalidValue, PrecisionExhausted):
            found = _compare_divergence(claim, loss)
            if found.broken or isinstance(claim, RenyiDP):
                return found
    level = _breaking_level(claim, loss)
    return replace(_profile(level, Fraction(float(claim.delta_upper(float(level)))), loss), decides=False)


def _compare_divergence(claim: RenyiDP | ZeroConcentratedDP, loss: PrivacyLoss) -> Comparison:
    """The Renyi divergence of the order of the claim; of rho, that of the first of some orders that breaks it."""

    def at(order: Fraction) -> Comparison:
        allowed = claim.epsilon if isinstance(claim, RenyiDP) else order * claim.rho
        return enclosed(f"Renyi divergence of order {order}", loss.certified_renyi(order), allowed, Fraction(0))

    alone = isinstance(claim, RenyiDP)
    first, *others = [claim.order] if isinstance(claim, RenyiDP) else [Fraction(1 << k) for k in range(1, 11)]
    found = at(first)
    while others and not found.broken:
        found = at(others.pop(0))
    if not found.broken:
        return replace(found, decides=alone)
    largest = _NEAR_LEVEL if any(one.is_slow_far_out for _, one in loss.directions()) else _LARGEST_LEVEL
    return replace(found, level=Fraction(rounded_text(min(loss.renyi(2), largest), 3)), decides=alone)


def _profile(epsilon: Fraction, delta: Fraction, loss: PrivacyLoss) -> Comparison:
    """delta(epsilon) against a bound on it, in balls of growing precision until they tell the two apart."""
    found = enclosed(f"delta({short_text(epsilon)})", loss.certified_delta(epsilon), delta, epsilon)
    if found.sign is not None:
        return found
    for bits in doublings(_FIRST_BITS, _MAX_BITS):
        value = loss.profile(epsilon, bits)
        with precision(2 * bits):
            if value > ball(delta) or value < ball(delta):
                return replace(found, sign=1 if value > ball(delta) else -1)
    return found


def _telling_level(claim: Guarantee, loss: ExactLoss) -> Fraction:
    """The epsilon of the event shown beside a divergence: the mean of the loss where it has one; the numbers decide."""
    rho = loss.least_rho()
    if isinstance(rho, Fraction):
        return rho
    return Fraction(rho.lower) if rho.lower < math.inf else _breaking_level(claim, loss)


def _breaking_level(claim: Guarantee, loss: PrivacyLoss) -> Fraction:
    """The epsilon at which the profile exceeds most what the claim allows; found in float64, it proves nothing yet."""
    _, reach = doubled(lambda epsilon: float(claim.delta_upper(epsilon)) > 1e-14, 0.0, 1.0, most=2.0**16)
    if isinstance(loss, AddRemoveLoss):
        loss = loss.remove
    if not isinstance(loss, ExactLoss):  # far in the tail an integral takes long
        least = _NEAR if loss.is_slow_far_out else _SMALLEST
        _, near = doubled(lambda epsilon: bool(loss.delta_at_most(Fraction(epsilon)) > least), 0.0, 1.0, most=reach)
        reach = min(reach, near)
    if loss.is_slow_far_out:
        return _first_clear_break(claim, loss, reach)
    grid = np.linspace(0.0, reach, _EPSILONS if isinstance(loss, ExactLoss) else _FEW_EPSILONS)
    allowed = np.asarray(claim.delta_upper(grid))
    with np.errstate(divide="ignore"):
        excess = np.log(np.asarray(loss.delta(grid))) - np.log(allowed)
    return Fraction(float(grid[int(np.argmax(excess))]))


def _first_clear_break(claim: Guarantee, loss: PrivacyLoss, reach: float) -> Fraction:
    """The first of some epsilons where a quick bound is far above what the claim allows; 0 if none is."""
    grid = np.linspace(0.0, reach, _EPSILONS)
    bounds = ((at, loss.delta_at_most(Fraction(at))) for at in grid.tolist())
    found = (at for at, most in bounds if most > _NEAR and most > _CLEARLY * float(claim.delta_upper(at)))
    return Fraction(next(found, 0.0))


def enclosed(quantity: str, attained: Fraction | Enclosure, allowed: Fraction, level: Fraction) -> Comparison:
    """A rational number, or one that is known between two others, against a rational one."""
    if isinstance(attained, Fraction):
        sign: int | None = (attained > allowed) - (attained < allowed)
    else:
        sign = 1 if attained.lower > allowed else -1 if attained.upper <= allowed else None
    return Comparison(
        quantity=quantity,
        attained=Enclosure.of(Real.of(attained)) if isinstance(attained, Fraction) else attained,
        allowed=Enclosure.of(Real.of(allowed)),
        sign=sign,
        level=level,
        exact=isinstance(attained, Fraction),
    )


def _compare_real(quantity: str, attained: Real, allowed: Fraction) -> Comparison:
    """A number known to any precision against a rational one, shown in as many digits as tell them apart."""
    left, right = _sharpest_enclosure(attained), Enclosure.of(Real.of(allowed))
    sign = compare(attained, Real.of(allowed), max_bits=_MOST_BITS)
    return Comparison(
        quantity=quantity,
        attained=left,
        allowed=right,
        sign=sign,
        level=Fraction(0),
        exact=attained.rational is not None,
        undecided=f", which agree to {_MOST_BITS} bits" if sign is None else "",
    )


def _sharpest_enclosure(number: Real) -> Enclosure:
    """The sharpest enclosure; the one at the largest precision of a number that no precision determines."""
    try:
        return Enclosure.of(number)
    except PrecisionExhausted:
        with precision(_MOST_BITS):
            return Enclosure.of_ball(number.ball())
