"""Witnesses: an event whose two probabilities break a claim, in numbers a reader can recompute.

For the worst pair, with w = S^-1 (E_P[y] - E_Q[y]) and mu^2 = (E_P[y] - E_Q[y]) . w, the score

    s(y) = w . (y - E_Q[y]) / mu        is N(0, 1) under Q and N(mu, 1) under P,

so the event {s(y) >= t} has probability Phibar(t) under Q and Phibar(t - mu) under P. By the Neyman-Pearson lemma no
event of the same Q-probability has a larger P-probability; only t depends on the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb

from dpverdict.audit.comparison import Comparison, both_sides
from dpverdict.audit.gaussian_loss import GaussianLoss
from dpverdict.audit.scores import HasLikelihoodRatio
from dpverdict.audit.verdict import Witness
from dpverdict.audit.worst_case import WorstCase
from dpverdict.balls import Enclosure, Real, ball, compare
from dpverdict.mechanisms.ball_normal import BallNormal
from dpverdict.mechanisms.exact_text import short_text
from dpverdict.mechanisms.guarantee import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.mechanism import AdditiveMechanism

Consequence = Callable[[Enclosure, Enclosure], str]
"""The sentence about the event, from the enclosures of P(event) and Q(event)."""

_NORMAL = BallNormal()
_LARGEST_ORDER = 1 << 24  # Renyi orders tried for an event that breaks a zCDP claim


def gaussian_witness(
    mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase, loss: GaussianLoss, comparison: Comparison
) -> Witness:
    """The witness against a claim that the worst pair breaks.

    Requires: ``comparison.attained > comparison.allowed`` for certain (caller-verified).
    """
    mu = loss.mu_real
    threshold, consequence = _threshold(claim, mu)
    p = Enclosure.of(Real(lambda: _NORMAL.tail(threshold.ball() - mu.ball())))
    q = Enclosure.of(Real(lambda: _NORMAL.tail(threshold.ball())))
    event = (
        f"s(y) >= {threshold.nearest():.17g}, where s(y) = w . (y - E_Q[y]) / mu is N(0,1) under Q, N(mu,1) under P, "
        f"w = S^-1 (E_P[y] - E_Q[y]) = ({_weights(mechanism, worst)}), mu = {loss.mu:.17g}"
    )
    return Witness(
        pair=worst.pair,
        difference=worst.description,
        event=event,
        probability=p,
        neighbour_probability=q,
        value=Enclosure.of(comparison.attained),
        bound=Enclosure.of(comparison.allowed),
        statement=f"{comparison.quantity} exceeds what {claim.describe()} allows: {both_sides(comparison)}; "
        f"{consequence(p, q)}",
    )


def disjoint_witness(mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase) -> Witness:
    """The witness when the worst pair is told apart with certainty: an event of probability 1 under P and 0 under Q."""
    assert isinstance(mechanism, HasLikelihoodRatio)  # every mechanism with Gaussian noise, and no noise at all
    weights, _ = mechanism.likelihood_direction(worst.pair)
    constant = float(weights @ mechanism.decode(mechanism.embed(worst.pair.dataset)[None])[0])
    return Witness(
        pair=worst.pair,
        difference=worst.description,
        event=f"w . y = {constant!r} with w = ({_weights(mechanism, worst)}): this combination carries no noise",
        probability=Enclosure.of(Real.of(1)),
        neighbour_probability=Enclosure.of(Real.of(0)),
        value=Enclosure.of_ball(arb("inf")),
        bound=Enclosure.of(Real.of(0)),
        statement=f"mu is infinite: P(event) = 1 and Q(event) = 0, so delta(epsilon) = 1 for every epsilon, against "
        f"{claim.describe()}",
    )


def _threshold(claim: Guarantee, mu: Real) -> tuple[Real, Consequence]:
    """The threshold t of the event, and the sentence that says what the claim would allow the event."""
    match claim:
        case GaussianDP():
            t = Real(lambda: mu.ball() / 2)  # the event of total variation
            most = Enclosure.of(Real(lambda: _NORMAL.tail(t.ball() - ball(claim.mu))))
            return (
                t,
                lambda p, q: (
                    f"P(event) = {p.show(9)}, but with Q(event) = {q.show(9)} the claim allows at most {most.show(9)}"
                ),
            )
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
    order = 2
    while order <= _LARGEST_ORDER:
        a = order

        def excess(a: int = a) -> arb:
            t = a * mu.ball()
            return a * _NORMAL.tail(t - mu.ball()).log() + (1 - a) * _NORMAL.tail(t).log() - a * (a - 1) * ball(rho)

        if compare(Real(excess), Real.of(0)) == 1:
            return order
        order *= 2
    return None


def _weights(mechanism: AdditiveMechanism, worst: WorstCase) -> str:
    """The distinct weights of the score with how often each occurs, for example ``0.036 x 100, 0.18 x 1``."""
    assert isinstance(mechanism, HasLikelihoodRatio)  # every mechanism with Gaussian noise, and no noise at all
    weights, _ = mechanism.likelihood_direction(worst.pair)
    counts: dict[str, int] = {}
    for value, count in zip(*np.unique(weights, return_counts=True), strict=True):  # equal to 12 digits counts as equal
        counts[f"{value:.12g}"] = counts.get(f"{value:.12g}", 0) + int(count)
    shown = [f"{text} on {n} coordinate{'s' if n > 1 else ''}" for text, n in list(counts.items())[:6]]
    return ", ".join(shown) + (f", ... {len(counts)} distinct values" if len(counts) > 6 else "")
