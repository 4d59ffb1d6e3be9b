"""What several mechanisms spend together, against a claim: any privacy loss, a composition, an odometer.

A loss is held to a claim by its certified curves, or by two-sided bounds where it has no certified ones. The mechanisms
of an odometer, and how often each runs, are taken for chosen without looking at releases; what each is asked may
depend on earlier releases, since every loss belongs to a pair that dominates its mechanism.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb, fmpq

from dpverdict.audit.exact.comparison import Comparison, comparison_of, enclosed
from dpverdict.audit.exact.gdp import gdp_mu, in_both_orders
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.base import ExactLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.balls import Enclosure
from dpverdict.checks import check_whole
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    as_guarantee,
)
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.numerics.text import short_text

_ORDERS: Final = tuple(1 + Fraction(2) ** k for k in range(-6, 8))
"""At which a divergence bounds rho from below."""

MOST_RELEASES: Final = 1_000_000
"""That an odometer counts, or looks for, of one mechanism."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A privacy loss held to a claim.

    Attributes:
        claim: what is promised.
        loss: what is spent.
        comparison: the quantity of the claim, as spent and as allowed; None where it could not be computed.
        certified: whether ball arithmetic or exact numbers decided; otherwise two-sided float64 bounds with an error
            ledger did, which are never called certified.
        reason: why there is no comparison.
    """

    claim: Guarantee
    loss: PrivacyLoss
    comparison: Comparison | None
    certified: bool
    reason: str = ""

    @property
    def status(self) -> Status:
        """CERTIFIED: the claim is kept; REFUTED: it is not; INCONCLUSIVE otherwise. `certified` says by what."""
        if self.comparison is None or self.comparison.sign is None:
            return Status.INCONCLUSIVE
        if self.comparison.kept:
            return Status.CERTIFIED
        return Status.REFUTED if self.comparison.broken else Status.INCONCLUSIVE

    @property
    def spent(self) -> Enclosure | None:
        """The quantity of the claim (mu, rho, a divergence, epsilon or delta) that is spent."""
        return None if self.comparison is None else self.comparison.attained

    def summary(self) -> str:
        """One line: the answer, by what arithmetic, and both numbers."""
        words = {
            Status.CERTIFIED: "CERTIFIED" if self.certified else "KEPT",
            Status.REFUTED: "REFUTED" if self.certified else "BROKEN",
            Status.INCONCLUSIVE: "INCONCLUSIVE",
        }
        if self.comparison is None:
            return f"INCONCLUSIVE: {self.claim.describe()}: {self.reason}"
        how = "" if self.certified else " (by two-sided float64 bounds with an error ledger, not certified)"
        comparison = self.comparison
        return f"{words[self.status]}: {self.claim.describe()}: {comparison.quantity}: {comparison.sides()}{how}"


def held_to(loss: PrivacyLoss, claim: Guarantee | str) -> Account:
    """Whether any privacy loss keeps a claim: an accountant's number against the exact value.

    Args:
        loss: of the dominating pair, such as a composition or that of an event. Both of its orders are held to the
            claim; INCONCLUSIVE where they differ and only one is known.
        claim: the guarantee, also as text.

    Raises:
        InvalidValue: not a claim.

    >>> held_to(GaussianLoss(1), "eps=4.3, delta=1e-5").summary()
    'REFUTED: eps=4.3, delta=1e-5: delta(4.3): attained [1.38799e-5, 1.38800e-5], allowed [9.99999e-6, 1.00001e-5]'
    """
    guarantee = as_guarantee(claim)
    certified = loss.is_certified
    try:
        found = [_comparison(guarantee, order) for order in in_both_orders(loss)]
    except DpverdictError as error:
        return Account(claim=guarantee, loss=loss, comparison=None, certified=certified, reason=str(error))
    shown = max(found, key=lambda one: (one.broken, not one.kept, one.attained.upper))
    return Account(claim=guarantee, loss=loss, comparison=shown, certified=certified)


def _comparison(claim: Guarantee, loss: PrivacyLoss) -> Comparison:
    exact = isinstance(loss, ExactLoss | GaussianLoss | DisjointLoss)
    if exact and not (isinstance(claim, GaussianDP) and isinstance(loss, ExactLoss)):
        return comparison_of(claim, loss)
    match claim:
        case GaussianDP():
            return enclosed("mu", gdp_mu(loss), claim.mu, Fraction(0))
        case ApproximateDP():
            name = f"delta({short_text(claim.epsilon)})"
            return enclosed(name, _delta(loss, claim.epsilon), claim.delta, claim.epsilon)
        case PureDP():
            return enclosed("epsilon at delta = 0", _epsilon(loss, Fraction(0)), claim.epsilon, claim.epsilon)
        case RenyiDP():
            divergence = loss.certified_renyi(claim.order)
            return enclosed(f"Renyi divergence of order {claim.order}", divergence, claim.epsilon, Fraction(0))
        case ZeroConcentratedDP():
            return enclosed("rho", _rho(loss), claim.rho, Fraction(0))


def _rho(loss: PrivacyLoss) -> Enclosure:
    """The least rho of zero-concentrated privacy, from both sides.

    Above: the sum of what the factors of a composition keep, a factor of pure epsilon at most epsilon^2/2 (Bun and
    Steinke 2016, Propositions 1.4 and 1.7, arXiv:1605.02065). Below: the divergence of some orders over the order.

    Raises:
        InvalidValue: nothing is known from either side.
    """
    above, below = arb(0), arb(0)
    for factor, count in loss.factors:
        above += count * _rho_above(factor)
    for order in _ORDERS:
        with contextlib.suppress(DpverdictError):
            below = below.max(arb(loss.certified_renyi(order).lower) / arb(fmpq(order.numerator, order.denominator)))
    if not above.is_finite() and not below > 0:
        remedy = "state the claim in epsilon and delta, in mu, or at one Renyi order"
        raise InvalidValue("claim", "rho", f"one that is known of {type(loss).__name__}", remedy)
    return Enclosure.hull(below, above)


def _rho_above(factor: object) -> arb:
    if isinstance(factor, ComposedLoss):
        return _rho_above(factor.gaussian) + _rho_above(factor.laplace)
    if isinstance(factor, GaussianLoss):
        return factor.mu_squared.ball() / 2
    with contextlib.suppress(DpverdictError):
        if isinstance(factor, ExactLoss):
            least = factor.least_rho()
            return arb(fmpq(least.numerator, least.denominator)) if isinstance(least, Fraction) else arb(least.upper)
        if isinstance(factor, PrivacyLoss):
            return arb(_epsilon(factor, Fraction(0)).upper) ** 2 / 2
    return arb("inf")


def _delta(loss: PrivacyLoss, epsilon: Fraction) -> Enclosure:
    if loss.is_certified:
        return loss.certified_delta(epsilon)
    # the bounds fall with epsilon, which may be no float64
    below, above = (np.nextafter(float(epsilon), end) for end in (-np.inf, np.inf))
    return Enclosure(arb(float(loss.delta_bounds(above)[0])), arb(float(loss.delta_bounds(below)[1])))


def _epsilon(loss: PrivacyLoss, delta: Fraction) -> Enclosure:
    if loss.is_certified:
        return loss.certified_epsilon(delta)
    lower, upper = loss.epsilon_bounds(np.array(float(delta)))
    return Enclosure(arb(float(lower)), arb(float(upper)))


@final
class Odometer:
    """What has been spent of a claim so far, and what remains of it.

    Args:
        claim: what all releases together are to keep, also as text.

    >>> year = Odometer("eps=1, delta=1e-6")
    >>> year.spend(GaussianLoss("0.04"), 12)
    >>> year.account().status.name, year.remaining(GaussianLoss("0.04"))
    ('CERTIFIED', 23)
    """

    def __init__(self, claim: Guarantee | str) -> None:
        self.claim: Final = as_guarantee(claim)
        self._spent: list[tuple[PrivacyLoss, int]] = []

    def spend(self, what: PrivacyLoss | AdditiveMechanism, count: int = 1) -> None:
        """Count releases of one mechanism, or of one privacy loss.

        Raises:
            InvalidValue: not a number of releases from 1 to `MOST_RELEASES`.
        """
        times = check_whole(count, "count", least=1, remedy="count the releases that were made")
        if times > MOST_RELEASES:
            raise InvalidValue("count", count, f"at most {MOST_RELEASES}", "compose them in parts")
        self._spent.append((loss_to_spend(what), times))

    @property
    def loss(self) -> PrivacyLoss:
        """The privacy loss of everything that was spent."""
        return compose_counted(self._spent)

    def account(self) -> Account:
        """What was spent, held to the claim."""
        return held_to(self.loss, self.claim)

    def remaining(self, what: PrivacyLoss | AdditiveMechanism) -> int:
        """How many more releases of a mechanism the claim certainly allows, at most `MOST_RELEASES`."""
        loss, before = loss_to_spend(what), self._spent

        def kept(count: int) -> bool:
            return held_to(compose_counted([*before, (loss, count)]), self.claim).status is Status.CERTIFIED

        low, high = 0, 1
        while high <= MOST_RELEASES and kept(high):
            low, high = high, 2 * high
        high = min(high, MOST_RELEASES + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if kept(middle) else (low, middle)
        return low


def loss_to_spend(what: object) -> PrivacyLoss:
    """The privacy loss itself, or that of the worst case of a mechanism.

    Raises:
        InvalidValue: anything else.
    """
    if isinstance(what, AdditiveMechanism):
        return worst_case(what).loss
    if isinstance(what, PrivacyLoss):
        return what
    remedy = "give a mechanism of dpverdict.mechanisms, or loss_from_event(event, relation)"
    raise InvalidValue("release", what, "a mechanism or a privacy loss", remedy)
