"""What the releases of a plan promise and spend together, and each of them as one number mu.

Two accounts of the same releases. The claims, composed by the theorem of their kind, hold of black boxes too, if every
one of them is true. The losses of the worst pairs, composed exactly, need mechanisms of known structure and no claim.
Both assume that all releases are made from one dataset, under one neighbouring relation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from dpverdict.audit.documents.request import CompositionRequest, PlannedRequest, SamplerRequest, ScoresRequest
from dpverdict.audit.exact.gdp import gdp_mu, gdp_regret
from dpverdict.audit.exact.spending import Account, Spendable, account_of
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.reports.summary import USUAL_DELTA, promised_epsilon
from dpverdict.audit.trials.catalogue import find_white_box, mechanism_classes
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.numerics.text import at_most, rounded_text

_FAR_SMALLER: Final = 0.99
"""A mu down to a delta is given where it is smaller than this share of the mu of all epsilons."""
_GRID: Final = 10**12
"""A square root is rounded up to a multiple of one in this many."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedClaim:
    """What claims promise together, if each of them is true.

    Attributes:
        guarantee: of all releases together.
        rule: the theorem, with its source.
    """

    guarantee: Guarantee
    rule: str


def composed_claim(claims: Sequence[Guarantee]) -> ComposedClaim | None:
    """The composition of claims, each at most once per release; None if there is none, or one promises no epsilon.

    Claims of one kind compose in it: mu_1 and mu_2 to sqrt(mu_1^2 + mu_2^2) (Dong, Roth and Su 2022, Corollary 3.3),
    rho_1 and rho_2 to rho_1 + rho_2 (Bun and Steinke 2016, Lemma 1.7), Renyi divergences of one order to their sum
    (Mironov 2017, Proposition 1). Claims of several kinds are first stated as (epsilon, delta), whose sums hold (Dwork
    and Roth 2014, Theorem 3.16).

    >>> composed_claim([GaussianDP(3), GaussianDP(4)]).guarantee.describe()
    'mu=5'
    """
    if not claims:
        return None
    if len(claims) == 1:
        return ComposedClaim(guarantee=claims[0], rule="one release: its own claim")
    kinds = {type(claim) for claim in claims}
    if kinds == {GaussianDP}:
        total = sum((claim.mu**2 for claim in claims if isinstance(claim, GaussianDP)), Fraction(0))
        rule = "mu^2 of the releases added (Dong, Roth and Su 2022, Corollary 3.3)"
        return ComposedClaim(guarantee=GaussianDP(_root_above(total)), rule=rule)
    if kinds == {ZeroConcentratedDP}:
        total = sum((claim.rho for claim in claims if isinstance(claim, ZeroConcentratedDP)), Fraction(0))
        rule = "rho of the releases added (Bun and Steinke 2016, Lemma 1.7)"
        return ComposedClaim(guarantee=ZeroConcentratedDP(total), rule=rule)
    renyi = [claim for claim in claims if isinstance(claim, RenyiDP)]
    if len(renyi) == len(claims) and len({claim.order for claim in renyi}) == 1:
        total = sum((claim.epsilon for claim in renyi), Fraction(0))
        rule = "divergences of one order added (Mironov 2017, Proposition 1)"
        return ComposedClaim(guarantee=RenyiDP(renyi[0].order, total), rule=rule)
    stated = [_as_epsilon_delta(claim) for claim in claims]
    epsilon, delta = Fraction(0), Fraction(0)
    for pair in stated:
        if pair is None:
            return None
        epsilon, delta = epsilon + pair[0], delta + pair[1]
    if not kinds <= {PureDP, ApproximateDP}:
        epsilon = Fraction(at_most(epsilon, 6))  # a float64 found by search, which nobody wants to read in full
    rule = "epsilons added and deltas added (Dwork and Roth 2014, Theorem 3.16)"
    if delta == 0:
        return ComposedClaim(guarantee=PureDP(epsilon), rule=rule)
    return None if delta >= 1 else ComposedClaim(guarantee=ApproximateDP(epsilon, delta), rule=rule)


def _as_epsilon_delta(claim: Guarantee) -> tuple[Fraction, Fraction] | None:
    if isinstance(claim, PureDP):
        return claim.epsilon, Fraction(0)
    if isinstance(claim, ApproximateDP):
        return claim.epsilon, claim.delta
    epsilon = promised_epsilon(claim, USUAL_DELTA)
    return None if epsilon is None else (epsilon, USUAL_DELTA)


def _root_above(square: Fraction) -> Fraction:
    """The square root, exact where it is rational on the grid, rounded up otherwise."""
    whole = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if whole**2 == square:
        return whole
    scaled = math.isqrt(math.ceil(square * _GRID**2))
    return Fraction(scaled + 1, _GRID)


def spendable_of(request: PlannedRequest) -> Spendable | None:
    """What a release of known structure spends; None of any other, or where nothing is known."""
    if (
        isinstance(request, ScoresRequest | SamplerRequest | CompositionRequest)
        or request.data is not None
        or request.neighbours is not None
    ):
        return None
    if request.mechanism not in mechanism_classes():
        return None
    try:
        return Spendable.of(find_white_box(request.mechanism, request.options)[0])
    except DpverdictError:
        return None


def spent_together(spent: Sequence[Spendable | PrivacyLoss | None], claim: Guarantee) -> Account | None:
    """What releases spend together, held to a claim; None if nothing is known of one, or they cannot be composed."""
    known = [Spendable.of(one) for one in spent if one is not None]
    if len(known) < len(spent) or not known:
        return None
    try:
        return account_of([(one, 1) for one in known], claim)
    except DpverdictError:
        return None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mu:
    """A release as one number.

    Attributes:
        mu: an upper bound on the least mu for which the release is mu-GDP; on that down to ``down_to_delta``, if it is
            above 0.
        regret: an upper bound on what this number alone gives away, see `gdp_regret`.
        down_to_delta: what is less likely was left aside, see `gdp_mu`.
        in_full: an upper bound on the least mu with nothing left aside; inf where none is known.
    """

    mu: float
    regret: float
    down_to_delta: Fraction
    in_full: float

    def describe(self) -> str:
        """The numbers in words, rounded up."""
        regret = f"regret {'0' if self.regret == 0 else f'at most {at_most(self.regret, 2)}'}"
        if not self.down_to_delta:
            return f"mu at most {at_most(self.mu, 6)}, {regret}"
        full = f"mu at most {at_most(self.in_full, 6)}" if math.isfinite(self.in_full) else "no mu was shown"
        aside = rounded_text(float(self.down_to_delta))
        return f"mu at most {at_most(self.mu, 6)} where delta is above {aside} ({full} for all), {regret}"


def mu_of(loss: PrivacyLoss | None) -> Mu | str:
    """The least mu of a release with its regret, or why there is none.

    Where the far tail costs a larger mu, as in training on sampled batches, it is the mu down to `USUAL_DELTA`.

    Reference: Gomez et al. 2025 (arXiv:2503.10945), who report a mechanism by mu, and by its curve where the regret is
    large.
    """
    if loss is None:
        return "not known: the release is seen as a black box, or on one pair of datasets alone"
    try:
        full = mu = gdp_mu(loss).upper
        floor = Fraction(0)
        if not isinstance(loss, GaussianLoss):
            likely = gdp_mu(loss, USUAL_DELTA).upper
            if likely < _FAR_SMALLER * full:
                mu, floor = likely, USUAL_DELTA
        if not math.isfinite(mu) or mu <= 0:
            return "no finite mu was shown"
        return Mu(mu=mu, regret=gdp_regret(loss, mu).upper, down_to_delta=floor, in_full=full)
    except DpverdictError as error:
        return f"not shown: {error}"
