"""The inequality that decides a claim about a Gaussian pair: what the pair attains against what the claim allows.

Witnesses: an event whose two probabilities break a claim, in numbers a reader can recompute.

For the worst pair, with w = S^-1 (E_P[y] - E_Q[y]) and mu^2 = (E_P[y] - E_Q[y]) . w, the score

    s(y) = w . (y - E_Q[y]) / mu        is N(0, 1) under Q and N(mu, 1) under P,

so the event {s(y) >= t} has probability Phibar(t) under Q and Phibar(t - mu) under P. By the Neyman-Pearson lemma no
event of the same Q-probability has a larger P-probability; only t depends on the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from dpverdict.audit.exact.verdict import Witness
from dpverdict.audit.exact.worst_case import WorstCase
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Enclosure, Real, ball, compare, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, HasLikelihoodRatio
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.text import short_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``attained <= allowed`` is the claim, said of one neighbouring pair.

    Attributes:
        quantity: what is compared, in the field's notation.
        attained: its value for the pair.
        allowed: the largest value the claim permits.
    """

    quantity: str
    attained: Real
    allowed: Real


def comparison_of(claim: Guarantee, loss: GaussianLoss) -> Comparison:
    """The inequality that a claim makes about the worst pair, in the quantity where it is simplest."""
    square = loss.mu_squared
    match claim:
        case GaussianDP():
            return Comparison(quantity="mu^2", attained=square, allowed=Real.of(claim.mu**2))
        case ZeroConcentratedDP():
            return Comparison(
                quantity="rho = mu^2/2", attained=_times(square, Fraction(1, 2)), allowed=Real.of(claim.rho)
            )
        case RenyiDP():
            attained = _times(square, claim.order / 2)
            return Comparison(
                quantity=f"Renyi divergence of order {claim.order} = order mu^2/2",
                attained=attained,
                allowed=Real.of(claim.epsilon),
            )
        case ApproximateDP():
            return _profile(claim.epsilon, claim.delta, loss)
        case PureDP():
            return _profile(claim.epsilon, Fraction(0), loss)
        case _:
            raise InvalidValue("claim", claim, "a guarantee of this package", "write for example GaussianDP(1)")


def _profile(epsilon: Fraction, delta: Fraction, loss: GaussianLoss) -> Comparison:
    at = Real.of(epsilon)
    attained = Real.of(0)
    if loss.mu_squared.rational != 0:
        attained = Real(lambda: gaussian_formulas.delta(BallNormal(), at.ball(), loss.mu_real.ball()))
    return Comparison(quantity=f"delta({short_text(epsilon)})", attained=attained, allowed=Real.of(delta))


def _times(number: Real, factor: Fraction) -> Real:
    if number.rational is not None:
        return Real.of(number.rational * factor)
    return Real(lambda: number.ball() * ball(factor))


def both_sides(comparison: Comparison) -> str:
    """The two sides in decimal, with enough digits to tell them apart where 17 do, and at least 6."""
    left, right = _enclosed(comparison.attained), _enclosed(comparison.allowed)
    larger = max(abs(left.upper), abs(right.upper))
    gap = abs(left.upper - right.upper) / larger if 0.0 < larger < math.inf else 1.0
    digits = 17 if gap == 0.0 else min(17, max(6, 3 - math.floor(math.log10(gap))))
    return f"attained {left.show(digits)}, allowed {right.show(digits)}"


def _enclosed(number: Real) -> Enclosure:
    """The sharpest enclosure; the one at 8192 bits of a number that no precision determines."""
    try:
        return Enclosure.of(number)
    except PrecisionExhausted:
        with precision(1 << 13):
            return Enclosure.of_ball(number.ball())


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
