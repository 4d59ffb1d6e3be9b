"""Does the claim hold? Decided by exact rational arithmetic where it can be, by ball arithmetic otherwise."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Sequence
from types import ModuleType

from dpverdict import balls
from dpverdict.audit import comparison as comparison_module
from dpverdict.audit.comparison import both_sides, comparison_of
from dpverdict.audit.disjoint_loss import DisjointLoss
from dpverdict.audit.gaussian_loss import GaussianLoss
from dpverdict.audit.shift_loss import engine_of
from dpverdict.audit.shift_verdict import decide_shift
from dpverdict.audit.verdict import Certificate, Status, Verdict
from dpverdict.audit.witness import disjoint_witness, gaussian_witness
from dpverdict.audit.worst_case import WorstCase, worst_case
from dpverdict.balls import Enclosure, compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import gaussian_balls, gaussian_formulas, quadratic_form
from dpverdict.mechanisms.guarantee import Guarantee
from dpverdict.mechanisms.mechanism import AdditiveMechanism


def certify(mechanism: AdditiveMechanism, claim: Guarantee | None = None) -> Verdict:
    """Decide whether a mechanism of known noise law keeps a claim, for every neighbouring pair.

    mu-GDP, zCDP and Renyi claims are inequalities between rationals whenever the noise scales are float64, and are
    decided exactly; (epsilon, delta) claims compare the privacy profile with delta in balls of growing precision.

    Args:
        mechanism: a mechanism whose noise law is known.
        claim: the guarantee to decide; the mechanism's own when not given.

    Returns:
        CERTIFIED with a certificate, REFUTED with a witness, or INCONCLUSIVE with the reason (two numbers that could
        not be told apart at the largest precision).

    Raises:
        InvalidValue: a claim or a mechanism of another type.
    """
    _check_types(mechanism, claim)
    return decide(mechanism, claim or mechanism.claim, worst_case(mechanism))


def _check_types(mechanism: object, claim: object) -> None:
    if claim is not None and not isinstance(claim, Guarantee):
        remedy = "write for example GaussianDP(1), or parse_guarantee('eps=1, delta=1e-6')"
        raise InvalidValue("claim", claim, "a guarantee", remedy)
    if not isinstance(mechanism, AdditiveMechanism):
        remedy = "a black box can only be refuted: use distinguish"
        raise InvalidValue("mechanism", mechanism, "one whose noise law is known", remedy)


def decide(mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase) -> Verdict:
    """The verdict on a claim, given the mechanism's worst case."""
    name = mechanism.name
    if worst.shift is not None:
        return decide_shift(mechanism, claim, worst, worst.shift, source_sha256(mechanism, *engine_of(worst.shift)))
    if isinstance(worst.loss, DisjointLoss):
        witness = disjoint_witness(mechanism, claim, worst)
        return Verdict(status=Status.REFUTED, mechanism=name, claim=claim, witness=witness)
    assert isinstance(worst.loss, GaussianLoss)
    comparison = comparison_of(claim, worst.loss)
    sign = compare(comparison.attained, comparison.allowed)
    if sign is None:
        reason = f"{comparison.quantity}: attained and allowed agree to 8192 bits, {both_sides(comparison)}"
        return Verdict(status=Status.INCONCLUSIVE, mechanism=name, claim=claim, reason=reason)
    if sign == 1 and not worst.exact:
        reason = f"{comparison.quantity}: {both_sides(comparison)}; but what is attained is a bound: "
        reason += worst.justification
        return Verdict(status=Status.INCONCLUSIVE, mechanism=name, claim=claim, reason=reason)
    if sign == 1:
        witness = gaussian_witness(mechanism, claim, worst, worst.loss, comparison)
        return Verdict(status=Status.REFUTED, mechanism=name, claim=claim, witness=witness)
    exact = comparison.attained.rational is not None and comparison.allowed.rational is not None
    certificate = Certificate(
        method="exact rational arithmetic" if exact else "ball arithmetic",
        statement=f"{comparison.quantity} is within {claim.describe()} for every pair: {both_sides(comparison)}",
        value=Enclosure.of(comparison.attained),
        bound=Enclosure.of(comparison.allowed),
        worst_case=f"{worst.description}; {worst.justification}",
        assumptions=(
            *mechanism.assumptions,
            "noise and sums are real numbers: rounding in the sampler is not covered",
            "the normal variates are independent and exact",
        ),
        source_sha256=source_sha256(mechanism),
    )
    return Verdict(status=Status.CERTIFIED, mechanism=name, claim=claim, certificate=certificate)


def source_sha256(mechanism: AdditiveMechanism, *engine: ModuleType) -> str:
    """SHA-256 of the source a verdict rests on: the mechanism, its noise and space, the forms, the balls, this file.

    ``engine`` are further modules it rests on, those that made the curves of noise that is not Gaussian.

    A stored certificate whose hash differs from the present one is stale.
    """
    parts = [type(mechanism), type(mechanism.noise), type(mechanism.sensitivity), *map(type, mechanism.parts)]
    modules = {inspect.getmodule(part) for part in parts} | {
        balls,
        gaussian_balls,
        gaussian_formulas,
        quadratic_form,
        comparison_module,
        *engine,
        sys.modules[WorstCase.__module__],
        sys.modules[__name__],
    }
    digest = hashlib.sha256()
    for source in sorted(_source(module, parts) for module in modules if module is not None):
        digest.update(source.encode())
    return digest.hexdigest()


def _source(module: ModuleType, parts: Sequence[type]) -> str:
    """The source of a module; of one that has none, a notebook or a prompt, the compiled code of its classes."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        functions = sorted(
            (f"{part.__qualname__}.{name}", function.__code__)
            for part in parts
            if part.__module__ == module.__name__
            for name, function in vars(part).items()
            if inspect.isfunction(function)
        )
        return "\n".join(f"{name} {code.co_code.hex()} {code.co_names} {code.co_consts}" for name, code in functions)
