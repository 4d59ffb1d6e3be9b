"""Does the claim hold? The verdict on a guarantee of a mechanism of known structure: nothing is sampled.

A mechanism states what holds for every pair of neighbours, and what given pairs attain (`mechanisms.core.bounds`). The
two lists are walked together, the cheapest entries first: the first entry from above that proves the claim is its
certificate, the first from below that breaks it is the witness. If there is none, the best number of each side is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpverdict.audit.exact.comparison import Comparison, compared_above
from dpverdict.audit.exact.declaration.origin import declared_here
from dpverdict.audit.exact.declaration.verdict import held_to_its_code
from dpverdict.audit.exact.residual import add_residual_guarantee
from dpverdict.audit.exact.verdict import Certificate, Status, Verdict, Witness
from dpverdict.audit.exact.witness import breaking_witness, simple_witness
from dpverdict.audit.exact.worst_case import WorstCase, attained_epsilon, certified_epsilon, epsilon_between, worst_case
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.balls import Enclosure, Real
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.bounds import (
    Above,
    AttainedLoss,
    Below,
    Bounds,
    Dominating,
    KnownEvent,
    MuBound,
    TailEvents,
    WorstPair,
)
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.numerics.sources import modules_sha256
from dpverdict.numerics.stages import shown_in_a_notebook
from dpverdict.numerics.text import at_least, at_most, short_text


@shown_in_a_notebook("exact verdict")
def certify(mechanism: StructuredMechanism, claim: Guarantee | str | None = None) -> Verdict:
    """Decide whether a mechanism of known structure keeps a claim, for every neighbouring pair.

    mu-GDP, zCDP and Renyi claims are inequalities between rationals whenever the noise scales are float64, and are
    decided exactly; (epsilon, delta) claims compare the privacy profile with delta in balls of growing precision.

    Args:
        mechanism: a mechanism of known structure.
        claim: the guarantee to decide, also as text ("eps=1, delta=1e-6"); the mechanism's own when not given.

    Returns:
        CERTIFIED with a certificate, REFUTED with a witness, or INCONCLUSIVE with the reason: how far the claim is
        known to be true and how far false, or two numbers that could not be told apart at the largest precision.

    Raises:
        InvalidValue: a claim or a mechanism of another type.
    """
    guarantee = as_guarantee(claim)
    _check_types(mechanism, guarantee)
    return decide(mechanism, guarantee or mechanism.claim, mechanism.privacy_bounds())


def _check_types(mechanism: object, claim: object) -> None:
    if claim is not None and not isinstance(claim, Guarantee):
        remedy = "write for example GaussianDP(1), or parse_guarantee('eps=1, delta=1e-6')"
        raise InvalidValue("claim", claim, "a guarantee", remedy)
    if not isinstance(mechanism, StructuredMechanism):
        remedy = "a black box can only be refuted: use distinguish"
        raise InvalidValue("mechanism", mechanism, "one whose noise law is known", remedy)


def decide(mechanism: StructuredMechanism, claim: Guarantee, known: Bounds | WorstCase) -> Verdict:
    """The verdict on a claim, given what is known of the mechanism: the same steps for every mechanism.

    What a mechanism that is not of this library declares is tried first, see `dpverdict.audit.exact.declaration`.
    """
    bounds = known.bounds if isinstance(known, WorstCase) else known
    verdict = decide_by_bounds(mechanism, claim, bounds)
    if declared_here(mechanism):
        return verdict
    return held_to_its_code(mechanism, bounds, verdict, lambda found: decide_by_bounds(mechanism, claim, found))


@dataclass(slots=True)
class _Seen:
    """What the entries said that did not decide: the last comparison, and why one could not be made."""

    nearest: Comparison | None = None
    undecided: str = ""
    level: Fraction = field(default=Fraction(0))


def decide_by_bounds(mechanism: StructuredMechanism, claim: Guarantee, bounds: Bounds) -> Verdict:
    """The verdict on a claim, taking both lists as they are stated."""
    dominating, seen = bounds.dominating, _Seen()

    def refuted(witness: Witness) -> Verdict:
        told = add_residual_guarantee(claim, bounds, witness)
        return Verdict(status=Status.REFUTED, mechanism=mechanism.name, claim=claim, loss=loss, witness=told)

    loss: PrivacyLoss | None = None if dominating is None else dominating.loss
    for entry in bounds.by_cost():
        try:
            if isinstance(entry, WorstPair) and (simple := simple_witness(claim, entry)) is not None:
                return refuted(simple)
            if isinstance(entry, Above) and _proves_claim(claim, entry, seen):
                return _certified_verdict(mechanism, claim, bounds, entry, seen)
            if (
                isinstance(entry, Below)
                and (witness := breaking_witness(mechanism, claim, entry, seen.level)) is not None
            ):
                return refuted(witness)
        except (PrecisionExhausted, InvalidValue) as error:
            seen.undecided = seen.undecided or str(error)
    reason = _how_far_known(claim, bounds, seen)
    return Verdict(status=Status.INCONCLUSIVE, mechanism=mechanism.name, claim=claim, loss=loss, reason=reason)


def _proves_claim(claim: Guarantee, entry: Above, seen: _Seen) -> bool:
    """Whether a bound from above is within the claim."""
    found = compared_above(claim, entry)
    if found is None:
        return False
    seen.nearest, seen.level = found, found.level
    return found.kept


def _certified_verdict(
    mechanism: StructuredMechanism, claim: Guarantee, bounds: Bounds, entry: Above, seen: _Seen
) -> Verdict:
    """The verdict with the entry that decided as the certificate."""
    found, dominating = seen.nearest, bounds.dominating
    assert found is not None
    certificate = Certificate(
        method=found.method,
        statement=f"{found.quantity} is within {claim.describe()} for every pair: {found.sides()}",
        value=found.attained,
        bound=found.allowed,
        worst_case=entry.because,
        assumptions=(*mechanism.assumptions, *entry.assumptions),
        source_sha256=source_sha256(mechanism, bounds),
    )
    return Verdict(
        status=Status.CERTIFIED,
        mechanism=mechanism.name,
        claim=claim,
        loss=None if dominating is None else dominating.loss,
        certificate=certificate,
    )


def known_epsilon(mechanism: StructuredMechanism, delta: Fraction, *, roughly: bool = False) -> Enclosure:
    """Between what the least epsilon is that a mechanism keeps with ``delta``: attained below, certified above.

    Raises:
        PrecisionExhausted: a curve is not known there.
    """
    return epsilon_between(mechanism.privacy_bounds(), delta, roughly=roughly)


# what is told where nothing decides -----------------------------------------------------------------------------------


def _how_far_known(claim: Guarantee, bounds: Bounds, seen: _Seen) -> str:
    """Why a claim is undecided: from where on an epsilon is certified, and up to where it is false, if it is known."""
    found, dominating = seen.nearest, bounds.dominating
    if seen.undecided:
        return seen.undecided
    reason = _mu_between(bounds) if isinstance(claim, GaussianDP) else _true_from(claim, bounds)
    if not reason and found is None:
        reason = f"nothing is stated of the mechanism that speaks of {claim.describe()}"
    elif not reason and found is not None:
        reason = f"{found.quantity} does not decide the claim: {found.sides()}{found.undecided}"
        if bounds.worst is None and dominating is not None:
            reason += f"; what is attained is a bound: {dominating.justification}"
    return reason + _in_float64(claim, bounds.below)


def _mu_between(bounds: Bounds) -> str:
    """The mu that is kept, and the one that the far tail needs, where they differ."""
    kept = [entry for entry in bounds.above if isinstance(entry, MuBound)]
    tail = next((entry for entry in bounds.below if isinstance(entry, TailEvents)), None)
    above = min(kept, key=lambda entry: entry.mu_squared, default=None)
    if above is None or tail is None or not tail.mu_squared < above.mu_squared:
        return ""
    most, least = (Enclosure.of(Real.of(entry.mu_squared).sqrt()) for entry in (above, tail))
    return (
        f"the claim is true for mu >= {at_most(most, 4)}, {above.source}, and false for mu < {at_least(least, 4)}, as "
        "the far tail shows; between them two bounds are known, and no epsilon that was tried breaks it"
    )


def _true_from(claim: Guarantee, bounds: Bounds) -> str:
    """At the delta of the claim: the least epsilon that is shown from above, and the largest broken from below."""
    if bounds.worst is not None or not isinstance(claim, ApproximateDP) or not 0 < claim.delta < 1:
        return ""
    above, certified = certified_epsilon(bounds.above, claim.delta)
    below, broken = attained_epsilon(bounds.below, claim.delta, above if certified else float(claim.epsilon))
    if certified is None and broken is None:
        return ""
    said = f"at delta = {short_text(claim.delta)} the claim is "
    parts, known = [], []
    if certified is not None:
        parts.append(f"true for epsilon >= {at_most(above, 4)}")
        why = certified.justification if isinstance(certified, Dominating) else certified.because
        known.append(f"from above: {why}")
    if broken is not None:
        parts.append(f"false for epsilon <= {at_least(below, 4)}")
        known.append(f"from below: {_attained_in_words(broken)}")
    between = ", and between them undecided" if len(parts) > 1 else ""
    published = [f"published: {bounds.published}"] if bounds.published else []
    return "; ".join([said + ", ".join(parts) + between, *known, *published])


def _attained_in_words(entry: Below) -> str:
    kind = "an event of" if isinstance(entry, KnownEvent) else "what is attained by"
    return f"{kind} {entry.description}"


def _in_float64(claim: Guarantee, entries: Sequence[Below]) -> str:
    """What a lattice says of a pair whose loss is known between float64 numbers only."""
    if not isinstance(claim, ApproximateDP | PureDP):
        return ""
    for entry in entries:
        if isinstance(entry, AttainedLoss) and not entry.loss.is_certified:
            low, high = entry.loss.delta_bounds(np.array([float(claim.epsilon)]))
            name = f"delta({short_text(claim.epsilon)})"
            return f"; on a lattice, in float64, {name} is in [{low[0]:.10g}, {high[0]:.10g}], which certifies nothing"
    return ""


# what a verdict rests on ----------------------------------------------------------------------------------------------


def source_sha256(mechanism: StructuredMechanism, known: Bounds | WorstCase | None = None) -> str:
    """SHA-256 of the source a verdict rests on: every module of which something is reached from the mechanism (its
    noise and its sensitivity space with it), from the bounds that it states from above, and from `decide`; nothing
    that only refutes, reports numbers, or tells why nothing is decided, nor, of a mechanism of this library, what
    tries those of others.

    A stored certificate whose hash differs from the present one is stale.
    """
    bounds = worst_case(mechanism).bounds if known is None else known.bounds if isinstance(known, WorstCase) else known
    rests_not_on: list[object] = [breaking_witness, simple_witness, add_residual_guarantee, type(mechanism).below]
    rests_not_on += [_how_far_known, epsilon_between, WorstCase.certified_delta, WorstCase.enclosed_beta]
    if declared_here(mechanism):
        rests_not_on.append(held_to_its_code)
    return modules_sha256(mechanism, *bounds.above, decide, but_not_through=rests_not_on)
