"""The certificate of an exact verdict: what the worst neighbours attain, why nothing is worse, and the claim itself.

It has the form of the certificates of statements (`dpverdict.proofs.ledger.certificates`), so that the same checkers
read it: linear equations with exact numbers, inequalities, and the privacy profile as an expression on a box.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from flint import arb

from dpverdict.audit.exact.comparison import comparison_of
from dpverdict.audit.exact.decide import decide
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import WorstCase, worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Enclosure, ball, precision
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, StructuredMechanism
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.core.sensitivity import Cube
from dpverdict.proofs.checks.evidence import Evidence, dyadic, number
from dpverdict.proofs.ledger.certificates import FORMAT, versions

Condition = dict[str, Any]
"""A condition of a certificate: a JSON object (hence Any)."""
MOST_LAYERS: Final = 200
"""Layers of a cube that are compared one by one; of more, those beside the vertex of the parabola and at its ends."""
_ROOT_BITS: Final = 240
_PROFILE = "(erfc((({eps})/mu - mu/2)/sqrt(2)) - exp({eps})*erfc((({eps})/mu + mu/2)/sqrt(2)))/2"


def verdict_certificate(mechanism: StructuredMechanism, claim: Guarantee) -> dict[str, Any]:
    """What the exact verdict on a claim rests on, as a document for `certificates.sealed`.

    Raises:
        InvalidValue: the claim is neither certified nor refuted.
    """
    worst = worst_case(mechanism)
    verdict = decide(mechanism, claim, worst)
    if verdict.status is Status.INCONCLUSIVE:
        raise InvalidValue("certificate", verdict.reason, "of a claim that is decided", "ask for a claim that is")
    conditions = [*_worst(mechanism, worst), *_claim(claim, worst, verdict)]
    return {
        "format": FORMAT,
        "audit": {
            "mechanism": mechanism.name,
            "claim": claim.describe(),
            "status": verdict.status.name,
            "statement": (verdict.certificate or verdict.witness).statement,  # type: ignore[union-attr]  # one is there
            "worst_case": f"{worst.description}; {worst.justification}",
            "assumptions": [*mechanism.assumptions, *worst.assumptions],
        },
        "versions": versions(),
        "readings": [{"reading": "the claim", "conditions": conditions}],
    }


def _condition(name: str, *evidence: Evidence, holds: bool = True) -> Condition:
    return {"name": name, "holds": holds, "evidence": list(evidence), "left_out": 0}


def _identity(*sides: tuple[str, str], variables: dict[str, str] | None = None) -> Evidence:
    return {"kind": "identity", "sides": [list(pair) for pair in sides], "variables": variables or {}}


def _cases(entries: list[tuple[str, list[list[Any]]]]) -> Evidence:
    return {"kind": "cases", "cases": [list(entry) for entry in entries]}


def _worst(mechanism: StructuredMechanism, worst: WorstCase) -> Iterator[Condition]:
    """mu^2 of the worst vertex and why nothing is worse; the terms of a Laplace sum."""
    loss = worst.loss
    if isinstance(mechanism, AdditiveMechanism):
        noise, space = mechanism.noise, mechanism.sensitivity
        if isinstance(noise, SharedNoise) and isinstance(space, Cube) and isinstance(loss, GaussianLoss):
            square = loss.mu_squared.rational
            if square is not None and noise.form() is not None:
                yield from _of_cube(noise, space, square)
    if isinstance(loss, LaplaceLoss):
        terms = " + ".join(f"{count}*({number(shift)})" for shift, count in loss.groups)
        total = sum((shift * count for shift, count in loss.groups), Fraction(0))
        yield _condition("the largest loss is the sum of the shifts over the scales", _identity((terms, number(total))))


def _of_cube(noise: SharedNoise, space: Cube, square: Fraction) -> Iterator[Condition]:
    """The equations S y = v of a vertex with j entries at the upper end, for every j, and the parabola v^T y in j."""
    vz, ve, vw = noise.variances
    d, low, high = noise.dim, space.low - space.offset, space.high - space.offset
    loading, step = noise.count_loading, (high - low) / vz
    qc, cc = (0, 1) if loading is None else (loading * ve, loading * loading * ve + vw)
    moved = 0 if loading is None else 1
    line = vz + d * ve
    det = line * cc - qc * qc * d
    # y is b + step on the entries at the upper end, b on the others, and c for the count; b and c are linear in j
    b = [(cc * low - qc * moved) / det, (cc * -ve + qc * qc) * step / det]
    c = [(line * moved - qc * d * low) / det, (-line * qc + qc * d * ve) * step / det]
    last = d if space.nonzero is None else space.nonzero
    copies = space.copies**2
    words = [f"({number(part[0])} + ({number(part[1])})*j)" for part in (b, c)]
    on, off, count = f"({words[0]} + {number(step)})", words[0], words[1]
    total = f"(j*{on} + ({d} - j)*{off})"
    rows = [
        (f"({number(vz)})*{on} + ({number(ve)})*{total} + ({number(Fraction(qc))})*{count}", number(high)),
        (f"({number(vz)})*{off} + ({number(ve)})*{total} + ({number(Fraction(qc))})*{count}", number(low)),
    ]
    if moved:
        rows.append((f"({number(Fraction(qc))})*{total} + ({number(Fraction(cc))})*{count}", "1"))

    def value(j: int) -> Fraction:
        first, own = b[0] + b[1] * j, c[0] + c[1] * j
        return copies * (j * high * (first + step) + (d - j) * low * first + moved * own)

    constant = value(0)
    second = (value(2) - 2 * value(1) + constant) / 2
    slope = value(1) - constant - second
    form = f"{copies}*(j*({number(high)})*{on} + ({d} - j)*({number(low)})*{off} + {moved}*{count})"
    parabola = f"({number(second)})*j**2 + ({number(slope)})*j + ({number(constant)})"
    yield _condition(
        "S y = v, and v^T y, for a vertex with j entries at the upper end",
        _identity(*rows, (form, parabola), variables={"j": "real"}),
    )
    signs = [["0", "<", number(vz), True], ["0", "<", number(det), True]]
    yield _condition("S is positive definite, so the form is convex: vertices suffice", _cases([("S", signs)]))
    worst = max(range(last + 1), key=value) if last <= MOST_LAYERS else _vertex(second, slope, last, value)
    at = f"({number(second)})*{worst}**2 + ({number(slope)})*{worst} + ({number(constant)})"
    yield _condition(f"mu^2 at j = {worst}", _identity((at, number(square))))
    beside = (0, worst - 1, worst, worst + 1, last)
    near = range(last + 1) if last <= MOST_LAYERS else sorted({j for j in beside if 0 <= j <= last})
    entries = [(f"j = {j}", [[number(value(j)), "<=", number(square), True]]) for j in near]
    if last > MOST_LAYERS:
        entries.append(("the parabola", [[number(second), "<=" if second <= 0 else ">", "0", True]]))
    yield _condition("no vertex attains more", _cases(entries))


def _vertex(second: Fraction, slope: Fraction, last: int, value: Any) -> int:
    top = 0 if second >= 0 else max(0, min(last, math.floor(-slope / (2 * second))))
    return max({0, top, min(top + 1, last), last}, key=value)


def _claim(claim: Guarantee, worst: WorstCase, verdict: Verdict) -> Iterator[Condition]:
    """The inequality that was decided, between exact numbers, or as the profile on a box of mu."""
    certified = verdict.status is Status.CERTIFIED
    words = "what is attained is within the claim" if certified else "what is attained is beyond the claim"
    loss = worst.loss
    if isinstance(loss, GaussianLoss):
        square = loss.mu_squared.rational
        if square is not None and not isinstance(claim, ApproximateDP | PureDP):
            attained, allowed = _moments(claim, square)
            yield _condition(words, _comparison(attained, allowed, certified=certified))
            return
        if square is not None and isinstance(claim, ApproximateDP) and square > 0:
            yield _condition(words, _profile(claim, square, certified=certified))
            return
    try:
        found = comparison_of(claim, loss)
    except DpverdictError:
        found = None
    if found is not None and found.sign is not None and (found.sign == 1) is not certified:
        yield _condition(words, _comparison(found.attained, found.allowed, certified=certified))
        return
    shown = verdict.certificate or verdict.witness
    assert shown is not None
    yield _condition(words, _comparison(shown.value, shown.bound, certified=certified))


def _moments(claim: Guarantee, square: Fraction) -> tuple[Fraction, Fraction]:
    match claim:
        case GaussianDP():
            return square, claim.mu**2
        case ZeroConcentratedDP():
            return square / 2, claim.rho
        case RenyiDP():
            return claim.order * square / 2, claim.epsilon
        case _:
            raise InvalidValue("claim", claim, "a bound on a moment", "compare the profile")


def _comparison(attained: Fraction | Enclosure, allowed: Fraction | Enclosure, *, certified: bool) -> Evidence:
    sides = [number(side) if isinstance(side, Fraction) else _ends(side) for side in (attained, allowed)]
    signs = ["<", "="] if certified else [">"]
    return {"kind": "comparison", "left": sides[0], "right": sides[1], "signs": signs, "holds": True}


def _ends(value: Enclosure) -> list[str]:
    return [number(Fraction(value.lower)), number(Fraction(value.upper))]


def _profile(claim: ApproximateDP, square: Fraction, *, certified: bool) -> Evidence:
    """delta - delta(eps), or its negative where the claim is broken, is positive for every mu beside the root."""
    scaled = math.isqrt((square.numerator << (2 * _ROOT_BITS)) // square.denominator)
    low, high = Fraction(scaled, 1 << _ROOT_BITS), Fraction(scaled + 1, 1 << _ROOT_BITS)
    profile = _PROFILE.format(eps=number(claim.epsilon))
    text = f"({number(claim.delta)}) - {profile}"
    value = Enclosure.of_ball(_gap(claim, square))
    bound = value.lower if certified else -value.upper
    return {
        "kind": "boxes",
        "expression": text if certified else f"-({text})",
        "box": [[number(low), number(high)]],
        "variables": {"mu": "positive real"},
        "parts": [[[number(low), number(high)], dyadic(arb(bound * (1 - 2.0**-20)))]],
    }


def _gap(claim: ApproximateDP, square: Fraction) -> arb:
    with precision(_ROOT_BITS):
        mu, eps = ball(square).sqrt(), ball(claim.epsilon)
        tails = [((eps / mu + side * mu / 2) / arb(2).sqrt()).erfc() for side in (-1, 1)]
        return ball(claim.delta) - (tails[0] - eps.exp() * tails[1]) / 2
