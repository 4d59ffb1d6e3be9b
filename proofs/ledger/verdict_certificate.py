"""The certificate of an exact verdict: its head in exact numbers, and the conditions that follow from the head.

The head says what was decided: the mechanism with its parameters, the relation, the claim, the conclusion. The
conditions are derived from it (`dpverdict.proofs.verdicts`), by the writer here and by every checker, in the form of
the certificates of statements: equations with exact numbers, inequalities, values of expressions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpverdict.audit.exact.comparison import comparison_of
from dpverdict.audit.exact.decide import decide
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import WorstCase, worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Enclosure
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.bounds import TailEvents
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import adjacency_name
from dpverdict.proofs.ledger.certificates import FORMAT, versions
from dpverdict.proofs.verdicts.catalogue import worst_pair
from dpverdict.proofs.verdicts.derivation import conclusion, derived
from dpverdict.proofs.verdicts.laws import Gaussian, Json
from dpverdict.proofs.verdicts.parameters import claim_of, parameters_of


def verdict_certificate(mechanism: StructuredMechanism, claim: Guarantee) -> dict[str, Any]:
    """What the exact verdict on a claim rests on, as a document for `certificates.sealed`.

    Raises:
        InvalidValue: the claim is neither certified nor refuted, or what decides it is no pair of finite numbers.
    """
    worst = worst_case(mechanism)
    verdict = decide(mechanism, claim, worst)
    if verdict.status is Status.INCONCLUSIVE:
        raise InvalidValue("certificate", verdict.reason, "of a claim that is decided", "ask for a claim that is")
    head = _head(mechanism, claim, worst, verdict)
    return {
        "format": FORMAT,
        "verdict": head,
        "versions": versions(),
        "readings": [{"reading": "the claim", "conditions": derived(head).conditions}],
    }


def _head(mechanism: StructuredMechanism, claim: Guarantee, worst: WorstCase, verdict: Verdict) -> Json:
    parameters, relation = parameters_of(mechanism), adjacency_name(mechanism.adjacency)
    pair = worst_pair(mechanism.name, parameters, relation)
    if isinstance(pair.law, Gaussian) and isinstance(worst.loss, GaussianLoss):
        found = worst.loss.mu_squared.rational
        if found is not None and found != pair.law.square:  # two ways to one number: where they part, one is wrong
            raise InvalidValue("certificate", str(pair.law.square), f"mu^2 = {found}", "report this as a defect")
    head: Json = {
        "mechanism": mechanism.name,
        "parameters": parameters,
        "relation": relation,
        "claim": claim_of(claim),
        "concluded": verdict.status.name,
        "assumptions": list(pair.assumptions),
    }
    level = _level(claim, worst)
    for at in (None, level):
        if (at is None or isinstance(claim, GaussianDP)) and (
            conclusion(mechanism.name, parameters, relation, head["claim"], at) == verdict.status.name
        ):
            return head | ({} if at is None else {"level": at})
    return head | {"numbers": _far_out(mechanism, claim, verdict) or _numbers(claim, worst, verdict)}


def _far_out(mechanism: StructuredMechanism, claim: Guarantee, verdict: Verdict) -> Json | None:
    """mu^2 of the far tail, where a claim of mu is refuted by numbers that are too small for float64."""
    shown = verdict.witness
    if not isinstance(claim, GaussianDP) or shown is None or shown.value.lower > shown.bound.upper:
        return None
    for entry in mechanism.below():
        if isinstance(entry, TailEvents) and entry.mu_squared > claim.mu**2:
            square = str(Fraction(entry.mu_squared))
            return {"quantity": "mu^2", "at": "0", "attained": [square, square]}
    return None


def _level(claim: Guarantee, worst: WorstCase) -> str | None:
    """The epsilon at which a claim of mu is broken, if one is."""
    if not isinstance(claim, GaussianDP):
        return None
    try:
        return str(comparison_of(claim, worst.loss).level)
    except DpverdictError:
        return None


def _numbers(claim: Guarantee, worst: WorstCase, verdict: Verdict) -> Json:
    """What was compared, where it does not follow from the head."""
    shown = verdict.certificate or verdict.witness
    assert shown is not None
    stated: Json = {"quantity": "delta against what is implied", "at": "0", "attained": _ends(shown.value)}
    match claim:
        case ApproximateDP() if shown.bound.contains(claim.delta):
            stated |= {"quantity": "delta", "at": str(claim.epsilon)}
        case PureDP() if shown.bound.contains(claim.epsilon):
            stated["quantity"] = "the largest privacy loss"
        case PureDP() if shown.bound.contains(0):
            stated |= {"quantity": "delta", "at": str(claim.epsilon)}
        case ZeroConcentratedDP() if shown.bound.contains(claim.rho):
            stated["quantity"] = "rho"
        case RenyiDP() if shown.bound.contains(claim.epsilon):
            stated |= {"quantity": "the Renyi divergence", "at": str(claim.order)}
        case GaussianDP() if shown.bound.contains(claim.mu**2):
            stated["quantity"] = "mu^2"
        case _:
            stated["allowed"] = _ends(shown.bound)
    return stated


def _ends(value: Enclosure) -> list[str]:
    if not (math.isfinite(value.lower) and math.isfinite(value.upper)):
        raise InvalidValue("certificate", str(value), "of a finite number", "read the event of the witness instead")
    return [str(Fraction(value.lower)), str(Fraction(value.upper))]
