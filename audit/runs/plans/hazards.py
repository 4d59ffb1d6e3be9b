"""The hazards of a release under differential privacy as a checklist: PASS, FAIL or NOT SHOWN, each with its evidence.

They follow NIST SP 800-226 ("Guidelines for Evaluating Differential Privacy Guarantees", March 2025) in the three
layers of its pyramid: what the guarantee says, what can undermine it, and what lies under every release. The names are
ours and no quotations: they could not be compared with the text of the publication line by line, and the list is no
complete copy of its boxes of hazards. The publication sets no threshold, and none is invented here: where an answer
needs one, the plan states it, or the answer is NOT SHOWN.

PASS is said of what was shown exactly, or of what is a matter of stating it. A test that found nothing shows nothing,
and a statement of the plan is no evidence: both leave NOT SHOWN, with what there is beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, final

from dpverdict.audit.exact.spending import Account
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.sequence import FLAGGED
from dpverdict.audit.implementation.timing import NAME as TIMES
from dpverdict.audit.runs.plans.composed import ComposedClaim
from dpverdict.audit.runs.plans.deployment import Deployment, delta_is_small
from dpverdict.audit.runs.plans.results import AuditResult
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP
from dpverdict.numerics.text import decimal

GUARANTEE: Final = "what the guarantee says"
UNDERMINED: Final = "what can undermine it"
UNDERNEATH: Final = "what lies under every release"

SOURCE: Final = "NIST SP 800-226, March 2025 (doi:10.6028/NIST.SP.800-226)"


@final
class Answer(Enum):
    """What is known of a hazard."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_SHOWN = "NOT SHOWN"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """One line of the checklist.

    Attributes:
        layer: of the pyramid.
        name: what has to hold for the hazard to be avoided.
        answer: whether it does.
        evidence: what the answer rests on, or why there is none.
    """

    layer: str
    name: str
    answer: Answer
    evidence: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the checklist is answered from.

    Attributes:
        releases: the audits of the plan that are no controls.
        controls: the others.
        claims: of the releases, in their order; None for one that was not run.
        relations: the neighbouring relations of the releases, in their order; "" where none is known.
        composed: the claims together; None where they cannot be composed.
        account: the exact losses together, held to the budget of the plan, or else to the composed claim; None where a
            loss is not known.
        deployment: what the plan states.
    """

    releases: Sequence[AuditResult]
    controls: Sequence[AuditResult]
    claims: Sequence[Guarantee | None]
    relations: Sequence[str]
    composed: ComposedClaim | None
    account: Account | None
    deployment: Deployment


def checklist(facts: Facts) -> tuple[Hazard, ...]:
    """Every hazard with its answer."""
    found = []
    for layer, questions in (
        (GUARANTEE, (_kept, _parameters, _delta, _unit, _relation, _composition)),
        (UNDERMINED, (_controls, _releases, _floats, _times, _calls, _bounds, _tuning, _clear)),
        (UNDERNEATH, (_trust, _access, _collection, _utility)),
    ):
        for question in questions:
            name, answer, evidence = question(facts)
            found.append(Hazard(layer=layer, name=name, answer=answer, evidence=evidence))
    return tuple(found)


Line = tuple[str, Answer, str]


def _kept(facts: Facts) -> Line:
    name = "every release keeps its claim"
    refuted = [one.audit.name for one in facts.releases if one.status is Status.REFUTED]
    if refuted:
        return name, Answer.FAIL, f"refuted: {', '.join(refuted)}"
    open_ = [one for one in facts.releases if one.status is not Status.CERTIFIED]
    if open_ or not facts.releases:
        why = ", ".join(f"{one.audit.name} ({'not run' if one.status is None else 'not decided'})" for one in open_)
        return name, Answer.NOT_SHOWN, why or "the plan has no release, only controls"
    return name, Answer.PASS, f"certified: {', '.join(one.audit.name for one in facts.releases)}"


def _parameters(facts: Facts) -> Line:
    name = "the loss of all releases together stays within a stated budget"
    budget, composed = facts.deployment.budget, facts.composed
    if budget is None:
        said = "no epsilon can be summed up" if composed is None else f"together {composed.guarantee.describe()}"
        return name, Answer.NOT_SHOWN, f"{said}; SP 800-226 sets no limit, and the plan states no budget"
    if facts.account is not None and facts.account.status is not Status.INCONCLUSIVE:
        sound = _one_relation(facts) and _kept(facts)[1] is Answer.PASS  # of what runs, and of one relation
        good = facts.account.status is Status.CERTIFIED and facts.account.certified and sound
        bad = facts.account.status is Status.REFUTED
        answer = Answer.PASS if good else Answer.FAIL if bad else Answer.NOT_SHOWN
        return name, answer, f"the worst pairs, composed: {facts.account.summary()}"
    if composed is not None and _implies(composed.guarantee, budget) and _kept(facts)[1] is Answer.PASS:
        answer = Answer.PASS if _one_relation(facts) else Answer.NOT_SHOWN
        return name, answer, f"claims together {composed.guarantee.describe()}, budget {budget.describe()}"
    said = "" if composed is None else f"; the claims together say {composed.guarantee.describe()}"
    return name, Answer.NOT_SHOWN, f"budget {budget.describe()}: not every release is certified{said}"


def _implies(guarantee: Guarantee, budget: Guarantee) -> bool:
    """Whether one guarantee certainly implies another, of those that state an epsilon."""
    if isinstance(budget, PureDP):
        return isinstance(guarantee, PureDP) and guarantee.epsilon <= budget.epsilon
    if isinstance(budget, ApproximateDP):
        pure = isinstance(guarantee, PureDP) and guarantee.epsilon <= budget.epsilon
        both = isinstance(guarantee, ApproximateDP) and (
            guarantee.epsilon <= budget.epsilon and guarantee.delta <= budget.delta
        )
        return pure or both
    return guarantee == budget


def _delta(facts: Facts) -> Line:
    name = "delta is smaller than one in the number of those protected"
    composed, records = facts.composed, facts.deployment.records
    if composed is not None and isinstance(composed.guarantee, PureDP):
        return name, Answer.PASS, f"delta is 0: {composed.guarantee.describe()}"
    if records is None:
        return name, Answer.NOT_SHOWN, "the plan does not state how many are protected (records)"
    if composed is None or not isinstance(composed.guarantee, ApproximateDP):
        return name, Answer.NOT_SHOWN, "the claims together name no delta"
    small = delta_is_small(composed.guarantee.delta, records)
    said = f"delta {decimal(composed.guarantee.delta, 6)} of all releases together, {records} protected"
    return name, Answer.PASS if small else Answer.FAIL, said


def _unit(facts: Facts) -> Line:
    name = "the unit of privacy is stated"
    unit = facts.deployment.stated("privacy_unit")
    if unit is None:
        return name, Answer.NOT_SHOWN, "the plan states none (privacy_unit): the audits protect one record of the data"
    return name, Answer.PASS, f"stated: {unit}; that one of them is one record of the data is taken for granted"


def _relation(facts: Facts) -> Line:
    name = "all releases are private under one neighbouring relation"
    known = sorted({relation for relation in facts.relations if relation})
    if len(known) > 1:
        return name, Answer.FAIL, f"{' and '.join(known)}: their numbers cannot be added or compared"
    if not known or "" in facts.relations:
        return name, Answer.NOT_SHOWN, "the relation of at least one release is not known"
    return name, Answer.PASS, known[0]


def _one_relation(facts: Facts) -> bool:
    return _relation(facts)[1] is Answer.PASS


def _composition(facts: Facts) -> Line:
    name = "every release of the data is counted"
    how = "they cannot be summed up" if facts.composed is None else f"{facts.composed.rule}"
    number = len(facts.releases)
    said = f"{number} release{'s' if number != 1 else ''} of this plan: {how}; that there is no other, no audit can see"
    return name, Answer.NOT_SHOWN, said


def _controls(facts: Facts) -> Line:
    name = "the audit finds what is wrong on purpose"
    if not facts.controls:
        return name, Answer.NOT_SHOWN, 'the plan has no control (an audit with expect = "refuted")'
    missed = [one.audit.name for one in facts.controls if not one.met]
    if missed:
        return name, Answer.FAIL, f"not found: {', '.join(missed)}"
    return name, Answer.PASS, f"refuted: {', '.join(one.audit.name for one in facts.controls)}"


def _releases(facts: Facts) -> Line:
    name = "the code that runs is what was analysed"
    broken = [one for one in facts.releases if one.fields.get("disagreement")]
    if broken:
        return name, Answer.FAIL, "; ".join(f"{one.audit.name}: {one.fields['disagreement']}" for one in broken)
    refuted = [one.audit.name for one in facts.releases if any(test["refuted"] for _, test in tests_of(one))]
    if refuted:
        return name, Answer.FAIL, f"releases contradict the claim: {', '.join(refuted)}"
    seen = [
        f"{one.audit.name}: {test['samples']} releases per dataset"
        for one in facts.releases
        for _, test in tests_of(one)
    ]
    if seen:
        return name, Answer.NOT_SHOWN, f"tested, nothing found, which is no proof: {'; '.join(seen)}"
    return name, Answer.NOT_SHOWN, "no release was sampled"


def tests_of(one: AuditResult) -> Iterator[tuple[str, dict[str, Any]]]:
    """The distinguishing tests in the report of an audit, by their kind."""
    statistical: Any = one.fields.get("statistical") or {}
    for kind in ("test", "sequential"):
        if statistical.get(kind) is not None:
            yield kind, statistical[kind]


def _floats(facts: Facts) -> Line:
    name = "the low bits of float64 outputs tell nothing"
    searched = []
    for one in facts.releases:
        statistical: Any = one.fields.get("statistical") or {}
        found = statistical.get("low_bits")
        if found is not None:
            if found["refuted"]:
                return name, Answer.FAIL, f"{one.audit.name}: sets of outputs that one dataset alone produces"
            searched.append(one.audit.name)
    if searched:
        return name, Answer.NOT_SHOWN, f"searched, nothing found, which is no proof: {', '.join(searched)}"
    return name, Answer.NOT_SHOWN, 'not searched: numbers = "double" in an audit asks for it'


def _findings(facts: Facts, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """What was seen of code that fails a check, and of code that passes it."""
    failed: list[str] = []
    passed: list[str] = []
    for one in facts.releases:
        found: Any = one.fields.get("implementation") or []
        for finding in found:
            if finding["name"] in names or (not names and finding["breaks_privacy"]):
                said = f"{one.audit.name}: {finding['seen']}"
                (failed if finding["holds"] is False else passed if finding["holds"] else []).append(said)
    return failed, passed


def _line_of_findings(name: str, failed: Sequence[str], passed: Sequence[str]) -> Line:
    if failed:
        return name, Answer.FAIL, "; ".join(failed)
    if passed:
        return name, Answer.NOT_SHOWN, f"looked at, nothing found, which is no proof: {'; '.join(passed)}"
    return name, Answer.NOT_SHOWN, "not looked at"


def _times(facts: Facts) -> Line:
    return _line_of_findings("the time of a call tells nothing", *_findings(facts, (TIMES,)))


def _calls(facts: Facts) -> Line:
    flagged, quiet = _findings(facts, FLAGGED)
    breaking, fine = _findings(facts, ())
    return _line_of_findings(
        "calls draw fresh noise, and leave nothing behind", tuple(dict.fromkeys((*flagged, *breaking))), (*quiet, *fine)
    )


def _bounds(facts: Facts) -> Line:
    name = "what one record contributes is bounded without looking at the data"
    assumed: dict[str, None] = {}
    for one in facts.releases:
        found: Any = one.fields.get("assumptions") or []
        assumed |= dict.fromkeys(found)
    granted = "; ".join(one.rstrip(".") for one in assumed)
    said = f"taken for granted: {granted}" if assumed else "no audit looks at how the data are prepared"
    return name, Answer.NOT_SHOWN, said


def _line_of_statement(name: str, facts: Facts, *fields: str) -> Line:
    said = [found for found in (facts.deployment.stated(one) for one in fields) if found is not None]
    words = ", ".join(fields)
    evidence = (
        f"stated, and seen by no audit: {' '.join(said)}" if said else f"not stated ({words}), and seen by no audit"
    )
    return name, Answer.NOT_SHOWN, evidence


def _tuning(facts: Facts) -> Line:
    name = "looking at the data beforehand, and tuning on them, is paid for"
    return _line_of_statement(name, facts, "preprocessing_and_hyperparameter_tuning")


def _clear(facts: Facts) -> Line:
    return _line_of_statement("nothing is published in the clear beside the releases", facts, "unprotected_quantities")


def _trust(facts: Facts) -> Line:
    return _line_of_statement("those who see the raw data are named and trusted", facts, "model_name", "actors")


def _access(facts: Facts) -> Line:
    name = "the raw data, the noise and the exact results are kept from everyone else"
    return name, Answer.NOT_SHOWN, "no audit of releases can see it"


def _collection(facts: Facts) -> Line:
    name = "no more is collected than is needed, and the raw data are not exposed otherwise"
    return name, Answer.NOT_SHOWN, "no audit of releases can see it"


def _utility(facts: Facts) -> Line:
    name = "the noise leaves the result useful, and fair to small groups"
    return name, Answer.NOT_SHOWN, "this is an audit of privacy alone"
