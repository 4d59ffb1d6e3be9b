"""Whether a claim is kept by what one record spends, and the least claim that is.

Most losses have curves in closed form or by a contour, and are held to a claim as they are. Releases of samples have
them between two lattices, on which a close bound takes seconds, or minutes. A claim asks for less: lattices of a 64th
of the points are made first, whose bounds are some thousandths apart, and finer ones where these do not decide.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from dpverdict.audit.exact.gdp import gdp_mu
from dpverdict.audit.exact.spending import Account, held_to
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.kinds import ProductLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

ROUNDING: Final = (46, 48, 50, 52)
"""Powers of two by which a claim may be missed because a program computes its scales in floats. See `nearest_kept`."""
_DIGITS: Final = 17

COARSER: Final = (64, 16, 4)
"""By how much the step of a lattice is larger than it usually is, one after the other."""
MOST_SAMPLES: Final = (8, 4, 2)
"""The number of different samples up to which each of these is made."""


def keeps(options: Sequence[Spent], claim: Guarantee) -> bool:
    """Whether every alternative keeps a claim, by one of its losses.

    It is exact: the scales and bounds of a program are the floats that they are. A loss that is refused, as that of
    noise a million times smaller than what a record moves, proves nothing.
    """
    try:
        return all(_keeps(one, claim) for one in options)
    except DpverdictError:
        return False


def _keeps(one: Spent, claim: Guarantee) -> bool:
    largest = one.epsilon()
    if isinstance(claim, PureDP) and (one.sampled or largest is None):  # nothing is smaller at delta = 0
        return largest is not None and largest <= claim.epsilon
    if not one.sampled:
        return any(_holds(form, claim) for form in one.forms())
    bounded = one.by_largest_loss()
    return (bounded is not None and _certifies(held_to(bounded, claim))) or _holds(one, claim)


def _holds(form: Spent, claim: Guarantee) -> bool:
    """Whether one form of what is spent keeps a claim."""
    if isinstance(claim, GaussianDP):
        return _squared_mu(form) <= claim.mu**2
    if isinstance(claim, ApproximateDP):
        account: Account | None = None
        for loss in _on_lattices(form):
            account = held_to(loss, claim)
            if account.status is not Status.INCONCLUSIVE:
                return _certifies(account)
        if account is not None and form.composition() is None:  # its loss is further from it than the lattices are
            return False
        return _certifies(held_to(form.loss(), claim))
    return _certifies(held_to(_quickly(form), claim))


def _certifies(account: Account) -> bool:
    return account.status is Status.CERTIFIED and account.certified


def _quickly(one: Spent) -> PrivacyLoss:
    """The loss that is held to claims of divergences: that of two mixtures is at most the largest one."""
    return one.by_largest_losses() if one.sampled else one.loss()


def _on_lattices(one: Spent) -> Iterator[PrivacyLoss]:
    """Losses between coarse lattices, each closer than the one before; none where a loss is quick as it is."""
    whole = one.composition()
    if whole is None or any(isinstance(order, BoundedLoss | ProductLoss) for order in _orders(whole)):
        for coarser, most in zip(COARSER, MOST_SAMPLES, strict=True):
            if len(set(one.sampled)) <= most and (loss := _on_lattice(one, coarser)) is not None:
                yield loss


@functools.lru_cache(maxsize=64)
def _on_lattice(one: Spent, coarser: int) -> PrivacyLoss | None:
    """The loss on one lattice, which keeps what was computed of it; without a gain by samples where it has none."""
    found = one.on_lattice(coarser)
    return one.by_all_records().on_lattice(coarser) if found is None and one.sampled else found


def _orders(loss: PrivacyLoss) -> tuple[PrivacyLoss, ...]:
    return (loss.remove, loss.add) if isinstance(loss, AddRemoveLoss) else (loss,)


@functools.lru_cache(maxsize=64)
def _squared_mu(one: Spent) -> Fraction:
    """A mu^2 that is enough: the sum of those of the parts (Dong, Roth and Su 2022, Corollary 3.3).

    A sample of releases with Gaussian noise gains nothing: see `dpverdict.audit.exact.gdp`.
    """
    total = one.gaussian
    for loss, times in one.of_all_records().parts():
        if not isinstance(loss, GaussianLoss):
            total += times * Fraction(gdp_mu(loss).upper) ** 2
    for rate, inner in one.sampled:
        if inner.gaussian or isinstance(inner.loss(), BoundedLoss | ProductLoss):
            total += _squared_mu(inner)
        else:
            total += Fraction(gdp_mu(poisson_sampled(inner.loss(), rate)).upper) ** 2
    return total


# claims that are missed by rounding alone -----------------------------------------------------------------------------


def restatements(claim: Guarantee) -> list[Guarantee]:
    """The claim made larger by what rounding in float64 explains, 2^-46 to 2^-52 of it, with 17 digits; largest first.

    A program computes 120/0.4 in floats, which is not the quotient of the decimal numbers, so an honest function may
    miss its claim eps=0.4 in the sixteenth digit. It is not taken for kept: one of these is certified, and told.
    """
    return [_larger(claim, 1 + Fraction(1, 2**power)) for power in ROUNDING]


def nearest_kept(options: Sequence[Spent], claim: Guarantee) -> Guarantee | None:
    """The claim where it is kept, else the least of its `restatements` that is; None if none is."""
    if keeps(options, claim):
        return claim
    found: Guarantee | None = None
    for larger in restatements(claim):
        if not keeps(options, larger):
            break
        found = larger
    return found


def _larger(claim: Guarantee, factor: Fraction) -> Guarantee:
    """The claim times a factor, rounded up to so many digits."""

    def times(number: Fraction) -> Fraction:
        if not number:
            return number
        unit = Fraction(10) ** (math.floor(math.log10(number)) + 1 - _DIGITS)
        return math.ceil(number * factor / unit) * unit

    match claim:
        case PureDP():
            return PureDP(times(claim.epsilon))
        case ApproximateDP():
            return ApproximateDP(times(claim.epsilon), claim.delta)
        case GaussianDP():
            return GaussianDP(times(claim.mu))
        case ZeroConcentratedDP():
            return ZeroConcentratedDP(times(claim.rho))
        case RenyiDP():
            return RenyiDP(claim.order, times(claim.epsilon))


# the least claim ------------------------------------------------------------------------------------------------------


def true_from(options: Sequence[Spent], claim: Guarantee) -> float | None:
    """The least epsilon (mu, rho) at which a claim of this kind is kept by all; None if it is not known."""
    found = 0.0
    try:
        for one in options:
            least = _least(one, claim)
            if least is None:
                return None
            found = max(found, least)
    except DpverdictError:
        return None
    return found if np.isfinite(found) else None


def _least(one: Spent, claim: Guarantee) -> float | None:
    """Of one alternative, from above."""
    if one.sampled and isinstance(claim, PureDP):
        largest = one.epsilon()
        return None if largest is None else math.nextafter(float(largest), math.inf)
    first = one.forms()[0]
    if isinstance(claim, GaussianDP):
        return math.nextafter(math.sqrt(_squared_mu(first)), math.inf)
    if isinstance(claim, ApproximateDP | PureDP):
        delta = claim.delta if isinstance(claim, ApproximateDP) else Fraction(0)
        loss = [first.loss(), *_on_lattices(first)][-1]  # the closest that is quick
        return float(loss.certified_epsilon(delta).upper)
    account = held_to(_quickly(first), claim)
    return None if account.spent is None else float(account.spent.upper)


def in_words(spent: Spent) -> str:
    """The loss of one release, for a table."""
    epsilon = spent.epsilon()
    if epsilon is not None:
        return f"eps {float(epsilon):.6g}"
    if spent.sampled:
        return f"{in_words(spent.by_all_records())} in its sample"
    mu = f"mu {float(spent.gaussian) ** 0.5:.6g}"
    rest = Spent(spent.laplace, Fraction(0), spent.geometric, spent.pure, spent.ranges).epsilon()
    return f"{mu} with eps {float(rest):.6g}" if rest else mu
