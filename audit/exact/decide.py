"""The verdict on a claim when the noise is not Gaussian: certified numbers of the dominating pair against the claim.

Does the claim hold? Decided by exact rational arithmetic where it can be, by ball arithmetic otherwise.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict import balls
from dpverdict.audit.exact import witness as comparison_module
from dpverdict.audit.exact.verdict import Certificate, Status, Verdict, Witness
from dpverdict.audit.exact.witness import both_sides, comparison_of, disjoint_witness, gaussian_witness
from dpverdict.audit.exact.worst_case import (
    ShiftEvent,
    WorstCase,
    assumptions_of,
    best_event,
    concentrated_delta_upper,
    concentration,
    delta_to,
    engine_of,
    largest_loss,
    loss_of_shift,
    renyi_of,
    worst_case,
)
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.spherical.events import best_ball_event
from dpverdict.balls import Enclosure, Real, ball, compare, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core import noise as quadratic_form
from dpverdict.mechanisms.core.dominating_pairs import RandomDirectionShift, Shift
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.numerics import gaussian as gaussian_balls
from dpverdict.numerics import gaussian_formulas

_INFINITE: Final = Enclosure(arb("inf"), arb("inf"))
_DIGITS: Final = 12
_FIRST_BITS: Final = 100
_MAX_BITS: Final = 800
_EPSILONS: Final = 64
"""Where the profile of a pair is held against the one a claim implies, to find where the claim breaks."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the pair attains against what the claim allows; the claim is broken if ``attained`` lies above.

    Attributes:
        quantity: what is compared, in the field's notation.
        attained: encloses its value for the pair.
        allowed: the largest value that the claim permits, or a number above it.
        level: the epsilon of the event that shows it best.
        sign: whether what is attained is below or above what is allowed (-1, 0, 1), for certain; None if undecided.
        method: of a certificate that rests on it.
        decides: whether ``attained`` at or below ``allowed`` proves the claim.
    """

    quantity: str
    attained: Enclosure
    allowed: Fraction
    level: Fraction
    sign: int | None
    method: str = "ball arithmetic"
    decides: bool = True

    @property
    def broken(self) -> bool:
        """Whether the pair certainly attains more than the claim allows."""
        return self.sign == 1

    @property
    def kept(self) -> bool:
        """Whether the claim is proved."""
        return self.decides and self.sign in (-1, 0)

    def sides(self) -> str:
        """The two sides in decimal, rounded outward."""
        attained = "infinite" if self.attained.lower == math.inf else self.attained.show(_DIGITS)
        return f"attained {attained}, allowed {Enclosure.of(Real.of(self.allowed)).show(_DIGITS)}"


def decide_shift(
    mechanism: AdditiveMechanism, claim: Guarantee, worst: WorstCase, shift: Shift, source_sha256: str
) -> Verdict:
    """The verdict on a claim of a mechanism whose worst pair is ``shift``.

    The closed form of `best_ball_event` is tried first, since a reader can recompute it; then the certified curves.
    """
    name = mechanism.name
    simple = _simple_refutation(claim, worst, shift)
    if simple is not None:
        return Verdict(status=Status.REFUTED, mechanism=name, claim=claim, witness=simple)
    try:
        finding = _finding(claim, worst.loss, shift)
        if not finding.kept and worst.rho_upper is not None:
            finding = _by_concentration(claim, worst.rho_upper) or finding
        witness = None if finding.kept else _refutation(claim, worst, shift, finding)
    except (PrecisionExhausted, InvalidValue) as undecided:
        return Verdict(status=Status.INCONCLUSIVE, mechanism=name, claim=claim, reason=str(undecided))
    if witness is not None:
        return Verdict(status=Status.REFUTED, mechanism=name, claim=claim, witness=witness)
    if not finding.kept:
        reason = f"{finding.quantity} does not decide the claim: {finding.sides()}"
        if not worst.exact:
            reason += f"; what is attained is a bound: {worst.justification}"
        return Verdict(status=Status.INCONCLUSIVE, mechanism=name, claim=claim, reason=reason)
    certificate = Certificate(
        method=finding.method,
        statement=f"{finding.quantity} is within {claim.describe()} for every pair: {finding.sides()}",
        value=finding.attained,
        bound=Enclosure.of(Real.of(finding.allowed)),
        worst_case=f"{worst.description}; {worst.justification}",
        assumptions=(*mechanism.assumptions, *assumptions_of(shift)),
        source_sha256=source_sha256,
    )
    return Verdict(status=Status.CERTIFIED, mechanism=name, claim=claim, certificate=certificate)


def _refutation(claim: Guarantee, worst: WorstCase, shift: Shift, finding: Finding) -> Witness | None:
    """The witness, if the worst pair breaks the claim, or else the pair that is known beside a bound."""
    if not worst.exact:
        if worst.attained is None:
            return None
        shift = worst.attained
        finding = _finding(claim, loss_of_shift(shift), shift)
    return _witness(claim, worst, finding, best_event(shift, finding.level)) if finding.broken else None


def _by_concentration(claim: Guarantee, rho: Fraction) -> Finding | None:
    """What follows for every pair from rho-zCDP; None where that is nothing better than the loss says."""
    match claim:
        case ZeroConcentratedDP():
            return _divergence("rho, by the l2 norm,", rho, claim.rho, Fraction(0))
        case RenyiDP():
            quantity = f"the Renyi divergence of order {claim.order}, by the l2 norm,"
            return _divergence(quantity, claim.order * rho, claim.epsilon, Fraction(0))
        case ApproximateDP() if claim.epsilon > 0:
            bound = Enclosure.of_ball(concentrated_delta_upper(rho, claim.epsilon))
            return Finding(
                quantity=f"delta({float(claim.epsilon):g}), at most, by the l2 norm,",
                attained=bound,
                allowed=claim.delta,
                level=claim.epsilon,
                sign=_sign(bound, claim.delta),
            )
        case _:
            return None


def _finding(claim: Guarantee, loss: PrivacyLoss, shift: Shift) -> Finding:
    """The comparison that decides the claim, if one is known; otherwise the one that comes nearest to breaking it."""
    match claim:
        case ApproximateDP():
            return _profile_at(claim.epsilon, claim.delta, loss, shift)
        case PureDP():
            pure = largest_loss(shift)
            if pure is None:
                return _profile_at(claim.epsilon, Fraction(0), loss, shift)
            return _divergence("the largest privacy loss", pure, claim.epsilon, claim.epsilon)
        case ZeroConcentratedDP():
            return _divergence("rho", concentration(shift, loss), claim.rho, _telling_level(claim, loss, shift))
        case RenyiDP():
            divergence = renyi_of(shift, loss, claim.order)
            quantity = f"Renyi divergence of order {claim.order}"
            return _divergence(quantity, divergence, claim.epsilon, _telling_level(claim, loss, shift))
        case GaussianDP():
            level = _breaking_level(claim, loss)
            allowed = Fraction(float(claim.delta_upper(float(level))))
            return replace(_profile_at(level, allowed, loss, shift), decides=False)  # mu-GDP speaks of every epsilon


def _profile_at(epsilon: Fraction, delta: Fraction, loss: PrivacyLoss, shift: Shift) -> Finding:
    """delta(epsilon) against a bound on it, in balls of growing precision until they tell the two apart."""
    attained = loss.certified_delta(epsilon)
    sign, bits = _sign(attained, delta), _FIRST_BITS
    while sign is None and bits <= _MAX_BITS:
        value = delta_to(shift, epsilon, bits)
        with precision(2 * bits):
            sign = 1 if value > ball(delta) else -1 if value < ball(delta) else None
        bits *= 2
    return Finding(quantity=f"delta({float(epsilon):g})", attained=attained, allowed=delta, level=epsilon, sign=sign)


def _sign(attained: Enclosure, allowed: Fraction) -> int | None:
    if attained.lower > allowed:
        return 1
    return -1 if attained.upper <= allowed else None


def _divergence(quantity: str, attained: Fraction | Enclosure | None, allowed: Fraction, level: Fraction) -> Finding:
    exact = isinstance(attained, Fraction)
    enclosure = Enclosure.of(Real.of(attained)) if isinstance(attained, Fraction) else attained or _INFINITE
    return Finding(
        quantity=quantity,
        attained=enclosure,
        allowed=allowed,
        level=level,
        sign=(attained > allowed) - (attained < allowed)
        if isinstance(attained, Fraction)
        else _sign(enclosure, allowed),
        method="exact rational arithmetic" if exact else "ball arithmetic",
    )


def _telling_level(claim: Guarantee, loss: PrivacyLoss, shift: Shift) -> Fraction:
    """The epsilon of the event shown beside a divergence: the mean of the loss where it has one; the numbers decide."""
    rho = concentration(shift, loss)
    if rho is None:
        return _breaking_level(claim, loss)
    return rho if isinstance(rho, Fraction) else Fraction(rho.lower)


def _breaking_level(claim: Guarantee, loss: PrivacyLoss) -> Fraction:
    """The epsilon at which the profile exceeds most what the claim allows; found in float64, it proves nothing yet."""
    reach = 1.0
    while float(claim.delta_upper(reach)) > 1e-14 and reach < 2.0**16:
        reach *= 2
    grid = np.linspace(0.0, reach, _EPSILONS)
    allowed = np.asarray(claim.delta_upper(grid))
    with np.errstate(divide="ignore"):
        excess = np.log(np.asarray(loss.delta(grid))) - np.log(allowed)
    return Fraction(float(grid[int(np.argmax(excess))]))


def _simple_refutation(claim: Guarantee, worst: WorstCase, shift: Shift) -> Witness | None:
    """The witness of the ball event, if that event breaks an (epsilon, delta) claim."""
    if not isinstance(shift, RandomDirectionShift) or not isinstance(claim, ApproximateDP):
        return None
    event = best_ball_event(shift.dim, shift.scale, claim.epsilon, Real.of(shift.squared_length).sqrt())
    lower = event.delta_lower(claim.epsilon)
    if not lower > claim.delta:
        return None
    p = Enclosure.of_ball(event.p_ball)
    q = Enclosure.hull(arb(0), event.q_ball)
    return Witness(
        pair=worst.pair,
        difference=worst.description,
        event=event.event,
        probability=p,
        neighbour_probability=q,
        value=Enclosure.hull(arb(lower), arb(1)),
        bound=Enclosure.of(Real.of(claim.delta)),
        statement=f"delta({float(claim.epsilon):g}) exceeds what {claim.describe()} allows: P(event) in "
        f"{p.show(_DIGITS)}, Q(event) <= {q.upper:.6g}, so delta >= {lower:.10g}",
    )


def _witness(claim: Guarantee, worst: WorstCase, finding: Finding, event: ShiftEvent) -> Witness:
    return Witness(
        pair=worst.pair,
        difference=worst.description,
        event=event.description,
        probability=event.probability,
        neighbour_probability=event.neighbour_probability,
        value=finding.attained,
        bound=Enclosure.of(Real.of(finding.allowed)),
        statement=f"{finding.quantity} exceeds what {claim.describe()} allows: {finding.sides()}; the event has "
        f"P = {event.probability.show(_DIGITS)}, Q = {event.neighbour_probability.show(_DIGITS)}",
    )


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
