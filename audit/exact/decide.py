"""Does the claim hold? The verdict on a guarantee of a mechanism whose noise law is known: nothing is sampled."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final, Literal

import numpy as np
from flint import arb

from dpverdict.audit.exact.comparison import Comparison, comparison_by_concentration, comparison_of, enclosed
from dpverdict.audit.exact.declaration import ROUNDING, SEED, declared_here, decoding_keeps_all, sampler_tried, tried
from dpverdict.audit.exact.tail import with_what_is_kept, witness_in_the_tail
from dpverdict.audit.exact.verdict import Certificate, Status, Verdict, Witness
from dpverdict.audit.exact.witness import event_at, simple_witness, witness_of
from dpverdict.audit.exact.worst_case import WorstCase, balls_in_bins, gdp_parameter, loss_of, worst_case
from dpverdict.audit.losses.base import PrivacyLoss, TwoOrders
from dpverdict.audit.losses.domains import PROFILE
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.dominating_pairs import TrainingPair
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.numerics.roots import bisected
from dpverdict.numerics.sources import modules_sha256
from dpverdict.numerics.text import at_least, at_most, short_text

_REFUTING: Final = (witness_in_the_tail, with_what_is_kept)


def certify(mechanism: AdditiveMechanism, claim: Guarantee | str | None = None) -> Verdict:
    """Decide whether a mechanism of known noise law keeps a claim, for every neighbouring pair.

    mu-GDP, zCDP and Renyi claims are inequalities between rationals whenever the noise scales are float64, and are
    decided exactly; (epsilon, delta) claims compare the privacy profile with delta in balls of growing precision.

    Args:
        mechanism: a mechanism whose noise law is known.
        claim: the guarantee to decide, also as text ("eps=1, delta=1e-6"); the mechanism's own when not given.

    Returns:
        CERTIFIED with a certificate, REFUTED with a witness, or INCONCLUSIVE with the reason (two numbers that could
        not be told apart at the largest precision).

    Raises:
        InvalidValue: a claim or a mechanism of another type.
    """
    guarantee = as_guarantee(claim)
    _check_types(mechanism, guarantee)
    return decide(mechanism, guarantee or mechanism.claim, worst_case(mechanism))


def _check_types(mechanism: object, claim: object) -> None:
    if claim is not None and not isinstance(claim, Guarantee):
        remedy = "write for example GaussianDP(1), or parse_guarantee('eps=1, delta=1e-6')"
        raise InvalidValue("claim", claim, "a guarantee", remedy)
    if not isinstance(mechanism, AdditiveMechanism):
        remedy = "a black box can only be refuted: use distinguish"
        raise InvalidValue("mechanism", mechanism, "one whose noise law is known", remedy)


def decide(mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase) -> Verdict:
    """The verdict on a claim, given the mechanism's worst case: the same steps for every noise law.

    What a mechanism that is not of this library declares is tried first, see `dpverdict.audit.exact.declaration`.
    """
    verdict = _decided(mechanism, claim, worst)
    return verdict if declared_here(mechanism) else _held_to_its_code(mechanism, claim, worst, verdict)


def _held_to_its_code(mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase, verdict: Verdict) -> Verdict:
    """The verdict of what a mechanism declares, as far as what its code was seen to do leaves it standing."""
    name = type(mechanism).__name__
    found, sampler = tried(mechanism, worst, SEED), sampler_tried(mechanism, worst)

    def undecided(reason: str) -> Verdict:
        return Verdict(status=Status.INCONCLUSIVE, mechanism=mechanism.name, claim=claim, reason=reason)

    def trust(status: Status) -> str:
        parts = [
            f"that it releases what it declares ({sampler.releases} comparisons on equal random numbers)",
            sampler.stated,
        ]
        if status is Status.CERTIFIED:
            parts.insert(0, f"that no neighbours move further than it declares (tried on {found.pairs})")
        if status is Status.CERTIFIED and found.unbounded:
            parts.append("that records lie in the declared range, since its check accepts numbers of any size")
        return f"{name} is not, as it stands, of this library: {'; '.join(parts)}"

    if found.undecided is not None or found.declared is None:
        return undecided(f"what {name} declares cannot be tried: {found.undecided}")
    if sampler.undecided is not None:
        return undecided(f"{name} declares one law and samples another: {sampler.undecided}")
    unattained = verdict.status is Status.REFUTED and _falls_short(found.declared, worst)
    for pair in (*found.further, *((found.declared,) if unattained else ())):
        own = _decided(mechanism, claim, pair)
        if own.status is Status.REFUTED:
            verdict, unattained = own, False
            break
    else:
        if found.further:
            return undecided(
                f"neighbours move further than {name} declares ({found.further[0].description}), and nothing bounds "
                "the others; the claim survives on those that were tried"
            )
    if unattained:
        return undecided(f"what {name} declares breaks the claim, but no neighbours were found that move so far")
    if verdict.status is Status.REFUTED and not decoding_keeps_all(mechanism):
        return undecided(f"the noisy statistic breaks the claim, but the decode of {name} may forget what shows it")
    return verdict if verdict.status is Status.INCONCLUSIVE else replace(verdict, on_trust=trust(verdict.status))


def _falls_short(moved: WorstCase, worst: WorstCase) -> bool:
    """Whether the statistic moves the declared worst pair less than declared, beyond rounding."""
    if moved.dominating_pair is not None or worst.dominating_pair is not None:
        return moved.dominating_pair not in (worst.dominating_pair, worst.attained)
    declared, own = (gdp_parameter(one.loss) for one in (worst, moved))
    return declared is not None and own is not None and own.upper < declared.lower * (1 - ROUNDING)


def _decided(mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase) -> Verdict:
    """The verdict on a claim, taking what the mechanism declares.

    An event that a reader can recompute by hand is tried first; then what the worst pair attains is compared with what
    the claim allows; then, where that is a bound, what follows from its l2 norm, and what is attained for certain.
    """

    verdict = partial(Verdict, mechanism=mechanism.name, claim=claim, loss=worst.loss)

    simple = simple_witness(claim, worst)
    if simple is not None:
        simple = with_what_is_kept(mechanism, claim, worst.loss, simple)
        return verdict(status=Status.REFUTED, witness=simple)
    witness: Witness | None = None
    found: Comparison | None = None
    undecided = ""
    try:
        found = without_curves(claim, worst) or comparison_of(claim, worst.loss)
        if not (found.kept or (found.broken and worst.exact)) and worst.rho_upper is not None:
            found = comparison_by_concentration(claim, worst.rho_upper) or found
        witness = None if found.kept else _refutation(mechanism, claim, worst, found)
    except (PrecisionExhausted, InvalidValue) as error:
        found, undecided = None, str(error)
    if witness is None and not (found and found.kept):
        witness = witness_in_the_tail(mechanism, claim, worst)
    if witness is not None:
        witness = with_what_is_kept(mechanism, claim, worst.loss, witness)
        return verdict(status=Status.REFUTED, witness=witness)
    if found is None:
        return verdict(status=Status.INCONCLUSIVE, reason=undecided)
    if not found.kept:
        known = _known(claim, worst)
        reason = known or f"{found.quantity} does not decide the claim: {found.sides()}{found.undecided}"
        if not worst.exact and not known:
            reason += f"; what is attained is a bound: {worst.justification}"
        if worst.bracketed is not None and isinstance(claim, ApproximateDP | PureDP):
            low, high = worst.bracketed.delta_bounds(np.array([float(claim.epsilon)]))
            name = f"delta({short_text(claim.epsilon)})"
            reason += (
                f"; on a lattice, in float64, {name} is in [{low[0]:.10g}, {high[0]:.10g}], which certifies nothing"
            )
        return verdict(status=Status.INCONCLUSIVE, reason=reason)
    certificate = Certificate(
        method=found.method,
        statement=f"{found.quantity} is within {claim.describe()} for every pair: {found.sides()}",
        value=found.attained,
        bound=found.allowed,
        worst_case=f"{worst.description}; {worst.justification}",
        assumptions=(*mechanism.assumptions, *worst.assumptions),
        source_sha256=source_sha256(mechanism, worst),
    )
    return verdict(status=Status.CERTIFIED, certificate=certificate)


def _known(claim: Guarantee, worst: WorstCase) -> str:
    """Beside a bound, at the delta of the claim: from where on an epsilon is certified, and up to where it is false."""
    if worst.event is None or not isinstance(claim, ApproximateDP) or not 0 < claim.delta < 1:
        return ""
    above = worst.certified_epsilon(claim.delta).upper

    def broken(epsilon: float) -> bool:
        event = event_at(worst, Fraction(epsilon))
        return event is not None and event.delta_lower(Fraction(epsilon)) > claim.delta

    below = bisected(broken, 0.0, above, steps=16)[0] if broken(0.0) else 0.0
    shown = f"at delta = {short_text(claim.delta)} the claim is true for epsilon >= {at_most(above, 4)}"
    if below:
        shown += f", false for epsilon <= {at_least(below, 4)}, and between them undecided"
    return shown


def without_curves(claim: Guarantee, worst: WorstCase) -> Comparison | None:
    """What proves a claim about moments where the curves are integrals, and say nothing of moments; or a closer bound
    on delta, beside a loss that is a bound."""
    if worst.delta_uppers is not None and isinstance(claim, ApproximateDP):
        for bound in worst.delta_uppers(claim.epsilon):
            attained = PROFILE.enclosure(arb(0).union(bound))
            closer = enclosed(f"delta({short_text(claim.epsilon)})", attained, claim.delta, claim.epsilon)
            if closer.kept:
                return closer
    if worst.rho_upper is None or not isinstance(worst.loss, TwoOrders):
        return None
    if isinstance(claim, GaussianDP) and isinstance(worst.dominating_pair, TrainingPair):
        known = enclosed("mu^2, of known batches,", 2 * worst.rho_upper, claim.mu**2, claim.mu)
        return known if known.kept else None
    found = comparison_by_concentration(claim, worst.rho_upper) if not isinstance(claim, ApproximateDP) else None
    return found if found is not None and found.kept else None


def _refutation(mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase, found: Comparison) -> Witness | None:
    """The witness, if the worst pair breaks the claim, or else the pair that is known beside a bound."""
    if worst.at_level is not None:
        worst = worst.at_level(found.level)
        found = comparison_of(claim, worst.loss)
    pair = worst.dominating_pair
    if isinstance(worst.loss, TwoOrders) and isinstance(pair, TrainingPair):
        return _in_one_order(mechanism, claim, worst, worst.loss, pair)
    if not worst.exact:
        pair = worst.attained
        if pair is None:
            return None
        attained = loss_of(pair)
        if isinstance(attained, TwoOrders) and isinstance(pair, TrainingPair):
            return _in_one_order(mechanism, claim, worst, attained, pair)
        found = comparison_of(claim, attained)
    return witness_of(mechanism, claim, worst, pair, found) if found.broken else None


def _in_one_order(
    mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase, loss: TwoOrders, pair: TrainingPair
) -> Witness | None:
    """The witness of the order that breaks the claim: which one that is depends on the epsilon."""
    orders: tuple[tuple[Literal["remove", "add"], PrivacyLoss], ...] = (("remove", loss.remove), ("add", loss.add))
    for order, one in orders:
        found = comparison_of(claim, one)
        if found.broken:
            words = "P with the canary, Q without it" if order == "remove" else "P without the canary, Q with it"
            own = replace(worst, loss=one, description=f"{worst.description} ({words})")
            return witness_of(mechanism, claim, own, replace(pair, order=order), found, one)
    return None


def source_sha256(mechanism: AdditiveMechanism, worst: WorstCase | None = None) -> str:
    """SHA-256 of the source a verdict rests on: every module of which something is reached from the mechanism (its
    noise and its sensitivity space with it), the privacy losses of its worst pair, and `decide`; of `loss_of`, which
    names the loss of every law, only the loss that it gave, of `balls_in_bins` only the bounds, and nothing that only
    refutes.

    A stored certificate whose hash differs from the present one is stale.
    """
    known = worst or worst_case(mechanism)
    losses = {type(known.loss), *(type(loss_of(pair)) for pair in (known.attained,) if pair is not None)}
    roots = mechanism, known.dominating_pair, known.delta_uppers, *losses, decide
    return modules_sha256(*roots, but_not_through=[loss_of, balls_in_bins, *_REFUTING])
