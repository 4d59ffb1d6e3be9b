"""Witnesses: a neighbouring pair and an event whose probabilities show that a claim is false, to be recomputed.

By the Neyman-Pearson lemma no event shows more of delta(epsilon) than {privacy loss > epsilon}: this is the event, with
both probabilities enclosed. Where a simpler event breaks the claim by bounds made by hand, that is shown instead.

For a Gaussian pair, with w = S^-1 (E_P[y] - E_Q[y]) and mu^2 = (E_P[y] - E_Q[y]) . w, the score

    s(y) = w . (y - E_Q[y]) / mu        is N(0, 1) under Q and N(mu, 1) under P,

so the event {s(y) >= t} has probability Phibar(t) under Q and Phibar(t - mu) under P; only t depends on the claim.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb

from dpverdict.audit.exact.comparison import Comparison, comparison_of
from dpverdict.audit.exact.verdict import Witness
from dpverdict.audit.losses.base import AddRemoveLoss, ExactLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.domains import PROBABILITY, Direction, EventBound
from dpverdict.audit.trials.user_code import guarded
from dpverdict.balls import Enclosure, Real, ball, compare, doublings, precision
from dpverdict.errors import InvalidValue, MechanismFailure, PrecisionExhausted
from dpverdict.mechanisms.core.bounds import AttainedLoss, Below, KnownEvent, NearbyPairs, TailEvents, WorstPair
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.mechanism import HasLikelihoodRatio, StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.text import at_least, at_most, short_text, shown, told_apart

Consequence = Callable[[Enclosure, Enclosure], str]
"""The sentence about the event, from the enclosures of P(event) and Q(event)."""

_NORMAL = BallNormal()
_TRAINING_BITS = 18
"""Of the probabilities of an event of training: those that the integrals of delta give."""
_CHORDS = [Fraction(1, 4), Fraction(1, 32), Fraction(1, 256)]
_CHORD_BITS = 192
_FARTHEST = 600
"""Beyond this epsilon no simple event is looked for: in float64 its exponential is infinite."""
_LEVELS = [Fraction(k, 2) for k in range(17)] + [Fraction(k) for k in (10, 13, 16, 20, 30, 40, 60, 100, 200)]
_LARGEST_ORDER = 1 << 24  # Renyi orders tried for an event that breaks a zCDP claim


def breaking_witness(mechanism: StructuredMechanism, claim: Guarantee, entry: Below, level: Fraction) -> Witness | None:
    """The witness that an entry from below has against the claim; None where it shows nothing against it.

    Args:
        mechanism: which states the entry.
        claim: the guarantee.
        entry: what some pair attains.
        level: the epsilon at which a pair of a family is made: where the bounds from above come nearest to the claim.

    Raises:
        InvalidValue, PrecisionExhausted: as `comparison_of`.
    """
    match entry:
        case KnownEvent():
            return _known_event(claim, entry)
        case TailEvents():
            return _tail_event(claim, entry)
        case NearbyPairs():
            return breaking_witness(mechanism, claim, entry.at_level(level), level)
        case AttainedLoss() | WorstPair():
            return _by_loss(mechanism, claim, entry, entry.loss)
        case _:
            return None


def simple_witness(claim: Guarantee, entry: WorstPair) -> Witness | None:
    """The witness of an event of the worst pair whose probabilities a reader can bound by hand, if it has one."""
    if not (isinstance(claim, ApproximateDP) and isinstance(entry.loss, ExactLoss)):
        return None
    event = entry.loss.simple_event(claim.epsilon)
    return None if event is None else _witness_of_event(claim, entry, event, claim.epsilon)


def event_at(entry: KnownEvent, level: Fraction) -> EventBound | None:
    """The event at an epsilon; None where its probabilities have no digits."""
    if level > _FARTHEST:
        return None
    with contextlib.suppress(InvalidValue):  # of next to no noise
        return entry.event(level)
    return None


def _by_loss(mechanism: StructuredMechanism, claim: Guarantee, entry: Below, loss: PrivacyLoss) -> Witness | None:
    """The witness of a pair by its privacy loss, in the direction that breaks the claim."""
    if not loss.is_certified:
        return None
    if not isinstance(loss, AddRemoveLoss):
        found = comparison_of(claim, loss)
        return _witness_of(mechanism, claim, entry, loss, found) if found.broken else None
    for direction, one in loss.directions():
        found = comparison_of(claim, one)
        if found.broken and direction is not None:
            remove = direction is Direction.REMOVE
            words = "P with the canary, Q without it" if remove else "P without the canary, Q with it"
            pair = f"{entry.description} ({words})"
            if (known := one.known_event(found.level)) is not None:
                return _event_witness(claim, entry, pair, known.event, found, _tails_of(known))
            event = loss.event_of(direction, float(found.level))
            return _event_witness(claim, entry, pair, event, found, _tails_above(one, found.level))
    return None


def _tails_above(one: PrivacyLoss, level: Fraction) -> tuple[Enclosure, Enclosure]:
    """P and Q of the losses above the level in one order of a training run, or what the profile says of them."""
    try:  # more bits take further integrals, some of which there are none for
        p, q = one.p_above(level, _TRAINING_BITS), one.q_above(level, _TRAINING_BITS)
    except PrecisionExhausted:
        return tails_by_profile(one, level)
    return PROBABILITY.enclosure(p), PROBABILITY.enclosure(q)


def tails_by_profile(loss: PrivacyLoss, level: Fraction) -> tuple[Enclosure, Enclosure]:
    """Encloses P[L > level] and Q[L > level] by bounds on the profile alone.

    In a = exp(epsilon) the profile is convex, and the slope to the right of the level is -Q[L > level]: it is between
    those of any two chords that end there, however far they reach.

    Raises:
        InvalidValue, PrecisionExhausted: as ``loss.certified_delta``.
    """
    own = _enclosing(loss.certified_delta(level))
    least, most = arb(0), arb(1)
    for reach in _CHORDS:
        below, above = (_enclosing(loss.certified_delta(level + side * reach)) for side in (-1, 1))
        with precision(_CHORD_BITS):
            low, middle, high = (ball(level + side * reach).exp() for side in (-1, 0, 1))
            least = least.max(((own - above) / (high - middle)).lower())
            most = most.min(((below - own) / (middle - low)).upper())
    with precision(_CHORD_BITS):
        q = least.union(most)
        return PROBABILITY.enclosure(own + ball(level).exp() * q), PROBABILITY.enclosure(q)


def _enclosing(number: Enclosure) -> arb:
    with precision(_CHORD_BITS):
        return arb(number.lower).union(arb(number.upper))


def _tails_of(event: EventBound) -> tuple[Enclosure, Enclosure]:
    """P of the event and Q of it, between what is known and what is possible."""
    return PROBABILITY.enclosure(event.p_ball, arb(1)), PROBABILITY.enclosure(arb(0), event.q_ball)


def _witness_of(
    mechanism: StructuredMechanism, claim: Guarantee, entry: Below, loss: PrivacyLoss, found: Comparison
) -> Witness:
    """The witness of one loss that breaks the claim, as ``found`` says."""
    if isinstance(loss, DisjointLoss):
        return _disjoint_witness(mechanism, claim, entry)
    if isinstance(loss, GaussianLoss):
        return _score_witness(mechanism, claim, entry, loss, found)
    if (known := loss.known_event(found.level)) is not None:
        return _event_witness(claim, entry, entry.description, known.event, found, _tails_of(known))
    event = loss.event_above(float(found.level))
    try:
        tails = loss.certified_tails(found.level)
    except PrecisionExhausted:
        tails = tails_by_profile(loss, found.level)
    return _event_witness(claim, entry, entry.description, event, found, tails)


def _event_witness(
    claim: Guarantee,
    entry: Below,
    difference: str,
    event: str,
    found: Comparison,
    tails: tuple[Enclosure, Enclosure],
) -> Witness:
    p, q = tails
    return Witness(
        pair=entry.pair,
        difference=difference,
        event=event,
        probability=p,
        neighbour_probability=q,
        value=found.attained,
        bound=found.allowed,
        statement=f"{found.quantity} exceeds what {claim.describe()} allows: {found.sides()}; the event has "
        f"P >= {at_least(p)}, Q <= {at_most(q)}",
    )


def _known_event(claim: Guarantee, entry: KnownEvent) -> Witness | None:
    """The first of some epsilons at which the event shows more than the claim allows."""
    for level in [claim.epsilon] if isinstance(claim, ApproximateDP | PureDP) else _LEVELS:
        event = event_at(entry, level)
        found = None if event is None else _witness_of_event(claim, entry, event, level)
        if found is not None:
            return found
    return None


def _tail_event(claim: Guarantee, entry: TailEvents) -> Witness | None:
    found = entry.against(claim)
    if found is None:
        return None
    p, q = found.probability, found.neighbour_probability
    attained, allowed = told_apart(found.value, found.bound)
    return Witness(
        pair=entry.pair,
        difference=entry.description,
        event=found.event,
        probability=p,
        neighbour_probability=q,
        value=found.value,
        bound=found.bound,
        statement=f"{found.quantity} exceeds what {claim.describe()} allows: attained at least "
        f"{attained}, allowed {allowed}; the event has P >= {at_least(p)}, Q <= {at_most(q)}",
    )


def _witness_of_event(claim: Guarantee, entry: Below, event: EventBound, level: Fraction) -> Witness | None:
    """The witness of an event with bounded probabilities, if it shows more of delta(level) than the claim allows."""
    allowed = Fraction(float(claim.delta_upper(float(level))))
    if isinstance(claim, ApproximateDP | PureDP):
        allowed = claim.delta if isinstance(claim, ApproximateDP) else Fraction(0)
    lower = event.delta_lower(level)
    if not lower > allowed:
        return None
    p = Enclosure.of_ball(event.p_ball)
    q = Enclosure.hull(arb(0), event.q_ball)
    return Witness(
        pair=entry.pair,
        difference=entry.description,
        event=event.event,
        probability=p,
        neighbour_probability=q,
        value=Enclosure.hull(arb(lower), arb(1)),
        bound=Enclosure.of(Real.of(allowed)),
        statement=f"delta({short_text(level)}) exceeds what {claim.describe()} allows: P(event) >= "
        f"{at_least(p)}, Q(event) <= {at_most(q)}, so delta >= {told_apart(lower, allowed)[0]}",
    )


def _score_witness(
    mechanism: StructuredMechanism, claim: Guarantee, entry: Below, loss: GaussianLoss, comparison: Comparison
) -> Witness:
    """The witness of a Gaussian pair: a threshold on the score."""
    mu = loss.mu_real
    threshold, consequence = _threshold(claim, mu)
    p = Enclosure.of(Real(lambda: _NORMAL.tail(threshold.ball() - mu.ball())))
    q = Enclosure.of(Real(lambda: _NORMAL.tail(threshold.ball())))
    event = (
        f"s(y) >= {threshold.nearest():.17g}, where s(y) = w . (y - E_Q[y]) / mu is N(0,1) under Q, N(mu,1) under P, "
        f"w = S^-1 (E_P[y] - E_Q[y]){_weights_in_words(_score_weights(mechanism, entry.pair))}, mu = {loss.mu:.17g}"
    )
    return Witness(
        pair=entry.pair,
        difference=entry.description,
        event=event,
        probability=p,
        neighbour_probability=q,
        value=comparison.attained,
        bound=comparison.allowed,
        statement=f"{comparison.quantity} exceeds what {claim.describe()} allows: {comparison.sides()}; "
        f"{consequence(p, q)}",
    )


def _disjoint_witness(mechanism: StructuredMechanism, claim: Guarantee, entry: Below) -> Witness:
    """The witness when the worst pair is told apart with certainty: an event of probability 1 under P and 0 under Q."""
    event = "the part of the statistic that carries no noise is that of P"
    weights = _score_weights(mechanism, entry.pair)
    if weights is not None and isinstance(mechanism, StatisticMechanism):
        embedded = mechanism.decode(mechanism.embed(entry.pair.dataset)[None])[0]
        level, words = float(weights @ embedded), _weights_in_words(weights)
        event = f"w . y = {level!r} with w{words}: this combination carries no noise"
    return Witness(
        pair=entry.pair,
        difference=entry.description,
        event=event,
        probability=Enclosure.of(Real.of(1)),
        neighbour_probability=Enclosure.of(Real.of(0)),
        value=Enclosure.of_ball(arb("inf")),
        bound=Enclosure.of(Real.of(0)),
        statement=f"mu is infinite: P(event) = 1 and Q(event) = 0, so delta(epsilon) = 1 for every epsilon, against "
        f"{claim.describe()}",
    )


def _beyond(most: Enclosure, p: Enclosure, q: Enclosure) -> str:
    found, allowed = told_apart(p, most)
    return f"P(event) is at least {found}, but with Q(event) = {shown(q)} the claim allows at most {allowed}"


def _threshold(claim: Guarantee, mu: Real) -> tuple[Real, Consequence]:
    """The threshold t of the event, and the sentence that says what the claim would allow the event."""
    match claim:
        case GaussianDP():
            t = Real(lambda: mu.ball() / 2)  # the event of total variation
            most = Enclosure.of(Real(lambda: _NORMAL.tail(t.ball() - ball(claim.mu))))
            return t, partial(_beyond, most)
        case ApproximateDP():
            at, left = short_text(claim.epsilon), short_text(claim.delta)
            t = _privacy_loss_at(claim.epsilon, mu)
            return t, lambda p, q: f"P(event) - exp({at}) Q(event) exceeds delta = {left}"
        case PureDP():
            at = short_text(claim.epsilon)
            return _privacy_loss_at(claim.epsilon, mu), lambda p, q: f"P(event) exceeds exp({at}) Q(event)"
        case RenyiDP():
            t, at = Real(lambda: ball(claim.order) * mu.ball()), short_text(claim.order)
            return t, lambda p, q: f"the event alone contributes P^a Q^(1-a) to the divergence, a = {at}"
        case ZeroConcentratedDP():
            order = _breaking_order(claim.rho, mu)
            t = Real(lambda: (order or 2) * mu.ball())
            if order is None:  # mu^2/2 exceeds rho by too little for one event to show it
                return t, lambda p, q: "the Renyi divergence of every order a is a mu^2/2, above a rho"
            return (
                t,
                lambda p, q: (
                    f"at order a = {order}, P(event)^a Q(event)^(1-a) exceeds exp(a (a-1) rho), which rho-zCDP forbids"
                ),
            )


def _privacy_loss_at(epsilon: Fraction, mu: Real) -> Real:
    """The t at which the privacy loss equals epsilon: {s >= t} is the event of the hockey-stick divergence."""
    return Real(lambda: ball(epsilon) / mu.ball() + mu.ball() / 2)


def _breaking_order(rho: Fraction, mu: Real) -> int | None:
    """An order a at which {s >= a mu} alone breaks rho-zCDP: mu^2/2 > rho has one, None if it is beyond reach.

    Data processing: the Renyi divergence of the two laws is at least that of the event's two probabilities, whose first
    term is P^a Q^(1-a); zCDP bounds it by exp(a (a - 1) rho).
    """

    def excess(a: int) -> arb:
        t = a * mu.ball()
        return a * _NORMAL.tail(t - mu.ball()).log() + (1 - a) * _NORMAL.tail(t).log() - a * (a - 1) * ball(rho)

    orders = doublings(2, _LARGEST_ORDER)
    return next((a for a in orders if compare(Real(partial(excess, a)), Real.of(0)) == 1), None)


def _score_weights(mechanism: StructuredMechanism, pair: NeighbourPair) -> Array | None:
    """The weights of the score; None where the mechanism, which may be anybody's, gives none that can be shown."""
    if not isinstance(mechanism, HasLikelihoodRatio):
        return None
    try:
        found = guarded(lambda: np.asarray(mechanism.likelihood_direction(pair)[0], dtype=float), _failure_of_mechanism)
    except MechanismFailure:
        return None
    return found if found.ndim == 1 and np.isfinite(found).all() else None


def _failure_of_mechanism(said: str) -> MechanismFailure:
    return MechanismFailure("", f"raised {said}", "call it yourself")


def _weights_in_words(weights: Array | None) -> str:
    """Distinct weights with how often each occurs, such as `` = (0.036 on 100 coordinates)``, if there are any."""
    if weights is None:
        return ""
    counts: dict[str, int] = {}
    for value, count in zip(*np.unique(weights, return_counts=True), strict=True):  # equal to 12 digits counts as equal
        counts[f"{value:.12g}"] = counts.get(f"{value:.12g}", 0) + int(count)
    shown = [f"{text} on {n} coordinate{'s' if n > 1 else ''}" for text, n in list(counts.items())[:6]]
    return f" = ({', '.join(shown)}{f', ... {len(counts)} distinct values' if len(counts) > 6 else ''})"
