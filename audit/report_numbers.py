"""The certified numbers that every face of a report shows, computed in one place.

A report states a privacy profile and a trade-off function at round levels, plus the levels of the claim itself. Each
number is an enclosure; the claim beside it is what the claim allows, on its own side.
"""

from __future__ import annotations

import decimal as decimals
import math
from fractions import Fraction
from typing import Final

from flint import arb

from dpverdict.audit.disjoint_loss import DisjointLoss
from dpverdict.audit.gaussian_loss import GaussianLoss
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.balls import Enclosure, Real
from dpverdict.mechanisms.guarantee import ApproximateDP, Guarantee, PureDP

EPSILONS: Final = tuple(map(Fraction, ("0", "1/2", "1", "2", "4", "8")))
"""Where delta is stated, beside the epsilon of the claim."""

DELTAS: Final = tuple(map(Fraction, ("1e-3", "1e-5", "1e-6", "1e-9")))
"""Where epsilon is stated, beside the delta of the claim."""

ALPHAS: Final = tuple(map(Fraction, ("1/1000", "1/100", "1/20", "1/10", "1/4", "1/2", "3/4")))
"""Where beta is stated: type I errors."""


def stated_epsilons(claim: Guarantee) -> tuple[Fraction, ...]:
    """The epsilons at which a report states delta, increasing."""
    own = {claim.epsilon} if isinstance(claim, PureDP | ApproximateDP) else set()
    return tuple(sorted({*EPSILONS, *own}))


def stated_deltas(claim: Guarantee) -> tuple[Fraction, ...]:
    """The deltas at which a report states epsilon, decreasing."""
    own = {claim.delta} if isinstance(claim, ApproximateDP) and claim.delta > 0 else set()
    return tuple(sorted({*DELTAS, *own}, reverse=True))


def stated_profile(loss: PrivacyLoss, claim: Guarantee) -> list[tuple[Fraction, Enclosure, Fraction]]:
    """Rows (epsilon, the certified delta, the delta that the claim allows at most)."""
    return [(e, loss.certified_delta(e), claimed_delta_upper(claim, e)) for e in stated_epsilons(claim)]


def stated_trade_off(loss: PrivacyLoss, claim: Guarantee) -> list[tuple[Fraction, Enclosure, Fraction]]:
    """Rows (alpha, the certified beta, the beta that the claim allows at least)."""
    return [(a, loss.certified_beta(a), claimed_beta_lower(claim, a)) for a in ALPHAS]


def claimed_delta_upper(claim: Guarantee, epsilon: Fraction) -> Fraction:
    """What the claim allows delta to be at an exact epsilon, at most."""
    if isinstance(claim, PureDP | ApproximateDP) and epsilon == claim.epsilon:
        return claim.delta if isinstance(claim, ApproximateDP) else Fraction(0)
    return Fraction(claim.delta_upper(Enclosure.of(Real.of(epsilon)).lower))  # the profile decreases


def claimed_beta_lower(claim: Guarantee, alpha: Fraction) -> Fraction:
    """What the claim allows beta to be at an exact alpha, at least."""
    return Fraction(claim.beta_lower(min(Enclosure.of(Real.of(alpha)).upper, 1.0)))  # the trade-off function decreases


def gdp_parameter(loss: PrivacyLoss) -> Enclosure | None:
    """The exact GDP parameter mu of a Gaussian loss, infinite for disjoint laws; None for any other loss."""
    if isinstance(loss, GaussianLoss):
        return Enclosure.of(loss.mu_real)
    if isinstance(loss, DisjointLoss):
        return Enclosure(arb("inf"), arb("inf"))
    return None


def decimal(number: Fraction, digits: int = 12) -> str:
    """The number in decimal, rounded to nearest: for reading, not for proving.

    >>> decimal(Fraction(1, 3), 4), decimal(Fraction(10) ** 400), decimal(Fraction(1, 2))
    ('0.3333', '1e+400', '0.5')
    """
    return _divide(number, digits, decimals.ROUND_HALF_EVEN)


def at_most(bound: float | Fraction, digits: int = 8) -> str:
    """An upper bound in decimal, rounded up."""
    return str(bound) if bound in (math.inf, -math.inf) else _divide(Fraction(bound), digits, decimals.ROUND_CEILING)


def at_least(bound: float | Fraction, digits: int = 8) -> str:
    """A lower bound in decimal, rounded down."""
    return str(bound) if bound in (math.inf, -math.inf) else _divide(Fraction(bound), digits, decimals.ROUND_FLOOR)


def _divide(number: Fraction, digits: int, rounding: str) -> str:
    context = decimals.Context(prec=digits, rounding=rounding, Emin=decimals.MIN_EMIN, Emax=decimals.MAX_EMAX)
    quotient = context.divide(decimals.Decimal(number.numerator), decimals.Decimal(number.denominator))
    quotient = quotient.normalize(context)
    return f"{quotient:f}" if -5 < quotient.adjusted() < digits else f"{quotient:e}"


def shown(enclosure: Enclosure, digits: int = 8) -> str:
    """The enclosure for a reader: a single number if its ends are one, else both ends rounded outward."""
    if enclosure.lower == math.inf:
        return "infinite"
    if enclosure.lower == enclosure.upper:  # both are rounded outward, so the number is this float
        return f"{enclosure.lower:.17g} exactly"
    return enclosure.show(digits)
