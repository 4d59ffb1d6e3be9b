"""What several mechanisms spend together, against a claim: any privacy loss, a composition, an odometer.

A loss is held to a claim by its certified curves, or by two-sided bounds where it has no certified ones. The mechanisms
of an odometer, and how often each runs, are taken for chosen without looking at releases; what each is asked may
depend on earlier releases, since every loss belongs to a pair that dominates its mechanism.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb, fmpq

from dpverdict.audit.exact.comparison import Comparison, compared_above, comparison_of, enclosed
from dpverdict.audit.exact.gdp import gdp_mu, in_both_orders
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.witness import event_at
from dpverdict.audit.losses.base import ExactLoss, PrivacyLoss, curves_of
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.balls import Enclosure
from dpverdict.cards import answer_card
from dpverdict.checks import check_whole
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.bounds import (
    AttainedLoss,
    Bounds,
    DeltaBound,
    Dominating,
    KnownEvent,
    NearbyPairs,
    RhoBound,
    TailEvents,
    WorstPair,
)
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    as_guarantee,
)
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.numerics.text import short_text, shown

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
        attained: whether some neighbours attain what is spent; otherwise it is a bound, which breaks no claim.
        reason: why there is no comparison.
    """

    claim: Guarantee
    loss: PrivacyLoss
    comparison: Comparison | None
    certified: bool
    attained: bool = True
    reason: str = ""

    @property
    def status(self) -> Status:
        """CERTIFIED: the claim is kept; REFUTED: it is not; INCONCLUSIVE otherwise. `certified` says by what."""
        if self.comparison is None or self.comparison.sign is None:
            return Status.INCONCLUSIVE
        if self.comparison.kept:
            return Status.CERTIFIED
        return Status.REFUTED if self.comparison.broken and self.attained else Status.INCONCLUSIVE

    @property
    def spent(self) -> Enclosure | None:
        """The quantity of the claim (mu, rho, a divergence, epsilon or delta) that is spent."""
        return None if self.comparison is None else self.comparison.attained

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        compared = self.comparison
        rows = {} if compared is None else {"quantity": compared.quantity, "spent": shown(compared.attained)}
        rows |= {} if compared is None else {"allowed": shown(compared.allowed)}
        follows = "odometer.remaining(release) says how many more there are; account.loss.risk('0.001') what it means."
        return answer_card(self.summary(), rows, follows=follows, curves=[curves_of(self.loss, None)])

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
        bound = "" if self.attained or comparison.kept else ", of a bound on what any neighbours attain"
        return f"{words[self.status]}: {self.claim.describe()}: {comparison.quantity}: {comparison.sides()}{bound}{how}"


def held_to(loss: PrivacyLoss, claim: Guarantee | str) -> Account:
    """Whether any privacy loss keeps a claim: an accountant's number against the exact value.

    Args:
        loss: of the dominating pair, such as a composition or that of an event. Both of its orders are held to the
            claim; INCONCLUSIVE where they differ and only one is known.
        claim: the guarantee, also as text.

    Raises:
        InvalidValue: not a claim.

    >>> held_to(GaussianLoss(1), "eps=4.3, delta=1e-5").summary()
    'REFUTED: eps=4.3, delta=1e-5: delta(4.3): attained at least 1.387e-5, allowed 1e-5'
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
    for factor, count in _factors(loss):
        least = _rho_above(factor)
        above += count * (arb(fmpq(least.numerator, least.denominator)) if isinstance(least, Fraction) else least)
    for order in _ORDERS:
        with contextlib.suppress(DpverdictError):
            below = below.max(arb(loss.certified_renyi(order).lower) / arb(fmpq(order.numerator, order.denominator)))
    if not above.is_finite() and not below > 0:
        remedy = "state the claim in epsilon and delta, in mu, or at one Renyi order"
        raise InvalidValue("claim", "rho", f"one that is known of {type(loss).__name__}", remedy)
    return Enclosure.hull(below, above)


def _factors(loss: PrivacyLoss) -> list[tuple[object, int]]:
    """The losses that a loss is composed of, with how often each is."""
    return [
        part
        for factor, count in loss.factors
        for part in (
            [(factor.gaussian, count), (factor.laplace, count)]
            if isinstance(factor, ComposedLoss)
            else [(factor, count)]
        )
    ]


def _largest_loss(factor: object) -> Fraction | arb:
    """The largest privacy loss of a factor; infinite where it is not rational or not known."""
    largest = factor.largest_loss if isinstance(factor, ExactLoss) else None
    return arb("inf") if largest is None else largest


def _rho_above(factor: object) -> Fraction | arb:
    """A rho that a factor keeps, exactly where it is rational."""
    if isinstance(factor, GaussianLoss):
        square = factor.mu_squared
        return square.ball() / 2 if square.rational is None else square.rational / 2
    with contextlib.suppress(DpverdictError):
        if isinstance(factor, ExactLoss):
            least = factor.least_rho()
            return least if isinstance(least, Fraction) else arb(least.upper)
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
@dataclass(frozen=True, slots=True)
class Spendable:
    """What one release spends: its privacy loss, or what its mechanism states from above and from below.

    Attributes:
        bounds: both lists.
        loss: a loss that dominates every pair's.
        attained: a loss that some pair attains: the same one where it is exact, that of equal laws if nothing is known.
    """

    bounds: Bounds
    loss: PrivacyLoss
    attained: PrivacyLoss

    @staticmethod
    def of(what: object) -> Spendable:
        """That of a mechanism of known structure, or of a privacy loss, which is taken for attained.

        Raises:
            InvalidValue: anything else.
        """
        if isinstance(what, Spendable):
            return what
        if isinstance(what, PrivacyLoss):
            return Spendable(Bounds(above=(Dominating(loss=what, description="", justification=""),)), what, what)
        if not isinstance(what, StructuredMechanism):
            remedy = "give a mechanism of dpverdict.mechanisms, or loss_from_event(event, relation)"
            raise InvalidValue("release", what, "a mechanism or a privacy loss", remedy)
        bounds = what.privacy_bounds()
        dominating, worst = bounds.dominating, bounds.worst
        loss: PrivacyLoss = DisjointLoss() if dominating is None else dominating.loss
        if worst is not None:
            return Spendable(bounds, worst.loss, worst.loss)
        shown = (entry.shown if isinstance(entry, NearbyPairs) else entry for entry in bounds.below)
        known = (entry.loss for entry in shown if isinstance(entry, AttainedLoss) and entry.loss.is_certified)
        return Spendable(bounds, loss, next(known, GaussianLoss(0)))

    @property
    def is_exact(self) -> bool:
        """Whether all that is spent is attained."""
        return self.attained is self.loss


def account_of(spent: Sequence[tuple[Spendable, int]], claim: Guarantee) -> Account:
    """What releases spend together, held to a claim: bounds from above composed, and what is attained.

    CERTIFIED where what bounds them keeps the claim, REFUTED where what is attained breaks it.
    """
    known = _by_quantity(spent, claim)
    if known is not None and known.status is not Status.INCONCLUSIVE:
        return known
    if len(spent) == 1 and spent[0][1] == 1:
        above = _closest_account(spent[0][0], claim)
    else:
        above = held_to(compose_counted([(one.loss, count) for one, count in spent]), claim)
    if above.status is not Status.CERTIFIED and (summed := _by_sum(spent, claim)) is not None:
        return Account(claim=claim, loss=above.loss, comparison=summed, certified=True)
    exact = all(one.is_exact for one, _ in spent)
    above = replace(above, attained=exact)
    if exact or above.status is Status.CERTIFIED:
        return above
    event = next((found for one, _ in spent if (found := _by_event(one, claim)) is not None), None)
    if event is not None:
        return Account(claim=claim, loss=above.loss, comparison=event, certified=True)
    below = held_to(compose_counted([(one.attained, count) for one, count in spent]), claim)
    return below if below.status is Status.REFUTED else above


def _by_sum(spent: Sequence[tuple[Spendable, int]], claim: Guarantee) -> Comparison | None:
    """A claim of rho, or of epsilon alone, that the sum of what the releases keep proves kept; None of any other.

    The rho that a mechanism states may be less than that of its loss, which can dominate all pairs and be that of none.

    Reference: Bun and Steinke 2016, Lemma 1.7 (arXiv:1605.02065).
    """
    if isinstance(claim, PureDP):
        quantity, allowed, level, of_factor = "largest losses, added", claim.epsilon, claim.epsilon, _largest_loss
    elif isinstance(claim, ZeroConcentratedDP):
        quantity, allowed, level, of_factor = "rho, added over the releases", claim.rho, Fraction(0), _rho_above
    else:
        return None
    total = Fraction(0)
    for one, count in spent:
        stated = [entry.rho for entry in one.bounds.above if isinstance(entry, RhoBound)]
        if stated and isinstance(claim, ZeroConcentratedDP):
            total += count * min(stated)
            continue
        try:
            orders = [
                [n * _rational_above(of_factor(factor)) for factor, n in _factors(loss)]
                for loss in in_both_orders(one.loss)
            ]
        except DpverdictError:  # of an order nothing is known, or it keeps none
            return None
        total += count * max(sum(parts, Fraction(0)) for parts in orders)
    found = enclosed(quantity, total, allowed, level)
    return found if found.kept else None


def _rational_above(value: Fraction | arb) -> Fraction:
    """The number itself if it is rational, else one that is no smaller.

    Raises:
        InvalidValue: it is infinite.
    """
    if isinstance(value, Fraction):
        return value
    upper = Enclosure.of_ball(value).upper
    if not math.isfinite(upper):
        raise InvalidValue("quantity", upper, "finite", "state the claim in epsilon and delta")
    return Fraction(upper)


def epsilon_of(spent: Sequence[tuple[Spendable, int]], delta: Fraction) -> tuple[Enclosure, Enclosure, bool]:
    """The least epsilon that releases keep together with ``delta``, known from two sides.

    Returns:
        An enclosure of a bound that holds for every pair of neighbours; one of what a pair attains, the same where the
        worst pair is known; and whether both are by ball arithmetic or exact numbers.
    """
    above = compose_counted([(one.loss, count) for one, count in spent])
    below = above
    if not all(one.is_exact for one, _ in spent):
        below = compose_counted([(one.attained, count) for one, count in spent])
    found = [
        max((_epsilon(order, delta) for order in in_both_orders(loss)), key=lambda side: side.upper)
        for loss in (above, below)
    ]
    return found[0], found[1], above.is_certified and below.is_certified


def _closest_account(one: Spendable, claim: Guarantee) -> Account:
    """One release held to a claim by the bounds at one epsilon, if they prove it; else by the loss that dominates."""
    bounds = one.bounds.above
    closer = [entry for entry in bounds if not isinstance(entry, Dominating | WorstPair)]
    found = [comparison for entry in closer if (comparison := compared_above(claim, entry)) is not None]
    kept = next((comparison for comparison in found if comparison.kept), None)
    if kept is not None:
        return Account(claim=claim, loss=one.loss, comparison=kept, certified=True)
    nearest = bounds[0] if bounds else None
    bound = nearest.at(claim.epsilon) if isinstance(nearest, DeltaBound) and isinstance(claim, ApproximateDP) else None
    if bound is None or not isinstance(claim, ApproximateDP):
        return held_to(one.loss, claim)
    least = bound.min(arb(one.loss.certified_delta(claim.epsilon).upper))
    name = f"delta({short_text(claim.epsilon)}), at most,"
    at_most = enclosed(name, Enclosure.of_ball(least), claim.delta, claim.epsilon)
    return Account(claim=claim, loss=one.loss, comparison=at_most, certified=True)


def _by_event(one: Spendable, claim: Guarantee) -> Comparison | None:
    """An event of one release that breaks the claim alone: all releases together tell no less."""
    for entry in one.bounds.below:
        if isinstance(entry, KnownEvent) and isinstance(claim, ApproximateDP):
            event = event_at(entry, claim.epsilon)
            if event is not None and (shown := event.delta_lower(claim.epsilon)) > claim.delta:
                attained = Enclosure.hull(arb(shown), arb(1))
                return enclosed(f"delta({short_text(claim.epsilon)})", attained, claim.delta, claim.epsilon)
    return None


def _by_quantity(spent: Sequence[tuple[Spendable, int]], claim: Guarantee) -> Account | None:
    """A claim of mu or rho where the least mu of every release is known exactly, from above and from the far tail."""
    if not isinstance(claim, GaussianDP | ZeroConcentratedDP):
        return None
    tails = [next((e for e in one.bounds.below if isinstance(e, TailEvents)), None) for one, _ in spent]
    square, sources = Fraction(0), set[str]()
    for tail, (_, count) in zip(tails, spent, strict=True):
        if tail is None:
            return None
        square, sources = square + count * tail.mu_squared, sources | {tail.source}
    limit = claim.mu**2 if isinstance(claim, GaussianDP) else 2 * claim.rho
    found = enclosed(f"mu^2 = 2 rho, {' and '.join(sorted(sources))},", square, limit, Fraction(0))
    loss = compose_counted([(one.loss, count) for one, count in spent]) if len(spent) > 1 else spent[0][0].loss
    return Account(claim=claim, loss=loss, comparison=found, certified=True)


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
        self._spent: list[tuple[Spendable, int]] = []

    def spend(self, what: PrivacyLoss | StructuredMechanism | Spendable, count: int = 1) -> None:
        """Count releases of one mechanism, or of one privacy loss.

        Raises:
            InvalidValue: not a number of releases from 1 to `MOST_RELEASES`.
        """
        times = check_whole(count, "count", least=1, remedy="count the releases that were made")
        if times > MOST_RELEASES:
            raise InvalidValue("count", count, f"at most {MOST_RELEASES}", "compose them in parts")
        self._spent.append((Spendable.of(what), times))

    @property
    def loss(self) -> PrivacyLoss:
        """The privacy loss of everything that was spent, or one that dominates it."""
        return compose_counted([(one.loss, count) for one, count in self._spent])

    def account(self) -> Account:
        """What was spent, held to the claim."""
        return account_of(self._spent, self.claim) if self._spent else held_to(self.loss, self.claim)

    def remaining(self, what: PrivacyLoss | StructuredMechanism | Spendable) -> int:
        """How many more releases of a mechanism the claim certainly allows, at most `MOST_RELEASES`."""
        more, before = Spendable.of(what), self._spent

        def account(count: int) -> Account:
            return account_of([*before, (more, count)], self.claim)

        low, high, under, over = 0, 1, -math.inf, math.inf
        while high <= MOST_RELEASES:
            found = account(high)
            if found.status is not Status.CERTIFIED:
                over = _excess(found)
                break
            low, high, under = high, 16 * high, _excess(found)
        high = min(high, MOST_RELEASES + 1)
        for turn in itertools.count():
            if high - low <= 1:
                return low
            middle = (low + high) // 2 if turn % 3 == 2 else _number_between(low, high, under, over)
            found = account(middle)
            if found.status is Status.CERTIFIED:
                low, under = middle, _excess(found)
            else:
                high, over = middle, _excess(found)
        raise AssertionError


def _excess(account: Account) -> float:
    """The logarithm of what is spent over what is allowed, to steer; infinite where there is none."""
    if account.comparison is None:
        return math.inf
    spent, allowed = account.comparison.attained.upper, account.comparison.allowed.upper
    return math.log(spent / allowed) if 0 < spent < math.inf and allowed > 0 else math.inf


def _number_between(low: int, high: int, under: float, over: float) -> int:
    """A number of releases between the two where what is spent is about what is allowed: it grows like a power."""
    middle = (low + high) // 2
    if low > 0 and -math.inf < under <= 0 < over < math.inf:
        share = -under / (over - under)
        middle = round(low * (high / low) ** share)
    return min(max(middle, low + 1), high - 1)


def loss_to_spend(what: object) -> PrivacyLoss:
    """The privacy loss itself, or one that dominates every pair of a mechanism.

    Raises:
        InvalidValue: anything else.
    """
    return Spendable.of(what).loss
