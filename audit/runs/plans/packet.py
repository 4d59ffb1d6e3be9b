"""The packet for the people who decide: one page and one JSON that say what is promised, what was shown, and by what.

It has the unit of privacy and the relation, the claim of every release and of all together, what was certified, what
was only tested and what was not shown, the hazards as a checklist, an entry for the registry of deployments, hashes of
what ran, and how to run it again. Controls are listed apart: they are wrong on purpose, and not released. Nothing here
is a new finding; what the plan states of itself is said to be stated.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpverdict.audit.distinguishing.witness_document import software_versions, strict_json
from dpverdict.audit.documents.packet import PacketDocument
from dpverdict.audit.documents.schema import checked, json_schema
from dpverdict.audit.exact.spending import Spendable
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.provenance import file_hash, package_hash, python_version
from dpverdict.audit.reports.html import render
from dpverdict.audit.reports.summary import own_delta, promised_epsilon
from dpverdict.audit.runs.plans.composed import Mu, composed_claim, mu_of, spendable_of, spent_together
from dpverdict.audit.runs.plans.deployment import registry_entry
from dpverdict.audit.runs.plans.hazards import SOURCE, Answer, Facts, Hazard, checklist, tests_of
from dpverdict.audit.runs.plans.plan import Expected
from dpverdict.audit.runs.plans.renderings import BADGES, status_of
from dpverdict.audit.runs.plans.results import NOT_RUN, AuditResult, PlanResult, PlanStatus
from dpverdict.audit.runs.request import Bar
from dpverdict.cards import DECISIONS, MARKS
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    parse_guarantee,
)
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import at_most, decimal, rounded_text, time_stamp

SCHEMA_VERSION: Final = 1
"""Raised when a field changes its meaning or goes away; a new field does not raise it."""

PAGE: Final = "packet.html"
DOCUMENT: Final = "packet.json"
"""The names of the two files in the folder of a packet."""

_NO_MU: Final = "not shown of a function that was followed: its claim is what was decided"

_VARIANTS: Final[Mapping[type, str]] = {
    PureDP: "Pure DP",
    ApproximateDP: "Approximate DP",
    ZeroConcentratedDP: "Zero-concentrated DP",
    RenyiDP: "Renyi DP",
    GaussianDP: "Custom",
}
"""What the registry calls a kind of guarantee."""


def packet_fields(result: PlanResult, plan: Path, bar: Bar | None = None) -> PacketDocument:
    """The packet of a finished plan as JSON values, described field by field by `PacketDocument`.

    Args:
        result: what came out of the plan.
        plan: its file.
        bar: told how far the accounts of the losses are.
    """
    releases = [one for one in result.results if one.of_release and not one.audit.control]
    if not releases and not all(one.of_release for one in result.results):
        remedy = "add an [[audit]] of what is released"
        raise InvalidValue("packet", result.plan.title, "of a plan with an audit of a release", remedy)
    controls = [one for one in result.results if one.audit.control]
    claims = [_claim_of(one) for one in releases]
    spent: list[Spendable | None] = []
    mus: list[Mu | str] = []
    for number, one in enumerate(releases):
        if bar is not None:
            bar("privacy losses of the releases", number, len(releases))
        found = spendable_of(one.audit.request)
        spent.append(found)
        followed = one.fields.get("traced") is not None
        mus.append(_NO_MU if followed else mu_of(None if found is None else found.loss))
    if bar is not None:
        bar("privacy losses of the releases", len(releases), len(releases))
    relations = [_relation_of(one) for one in releases]
    given = [claim for claim in claims if claim is not None]
    comparable = len(given) == len(claims) and len(set(relations)) == 1 and "" not in relations
    composed = composed_claim(given) if comparable else None
    budget = result.plan.deployment.budget
    held = budget if budget is not None else None if composed is None else composed.guarantee
    account = spent_together(spent, held) if comparable and held is not None else None
    facts = Facts(
        releases=releases,
        controls=controls,
        claims=claims,
        relations=relations,
        composed=composed,
        account=account,
        deployment=result.plan.deployment,
    )
    hazards = checklist(facts)
    entry = registry_entry(result.plan.title, result.plan.deployment, _for_the_registry(facts, hazards))
    fields = {
        "format": "dpverdict packet",
        "schema_version": SCHEMA_VERSION,
        "title": result.plan.title,
        "created": time_stamp(result.created),
        "status": result.status.value,
        "exit_code": result.exit_code,
        "accept": Expected.NOT_REFUTED.value if result.plan.accept_not_refuted else None,
        "conclusion": result.conclusion,
        "decision": decision(result),
        "sentence": _sentence(result, facts, hazards),
        "privacy_unit": result.plan.deployment.stated("privacy_unit"),
        "relations": sorted({relation for relation in relations if relation}),
        "composed": {
            "claim": None if composed is None else composed.guarantee.describe(),
            "rule": None if composed is None else composed.rule,
            "epsilon": None if composed is None else _as_epsilon(composed.guarantee),
            "why_not": None if composed is not None else _why_not(facts),
            "budget": None if budget is None else budget.describe(),
            "account": None if account is None else account.summary(),
        },
        "releases": [
            _release_fields(one, claim, relation, mu)
            for one, claim, relation, mu in zip(releases, claims, relations, mus, strict=True)
        ],
        "controls": [
            {"name": one.audit.name, "status": status_of(one), "found": one.met, "answer": one.answer}
            for one in controls
        ],
        "hazards": [
            {"layer": one.layer, "hazard": one.name, "answer": one.answer.value, "evidence": one.evidence}
            for one in hazards
        ],
        "hazards_source": SOURCE,
        "registry": {"entry": dict(entry.fields), "tier": entry.tier, "missing": list(entry.missing)},
        "replay": _replay(result, plan),
    }
    return checked(fields, PacketDocument, "packet")


def render_packet_json(fields: PacketDocument) -> str:
    """The packet as JSON text."""
    return json.dumps(strict_json(dict(fields)), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def render_packet_html(fields: PacketDocument) -> str:
    """The packet as one page that loads nothing: the same fields give the same bytes."""
    status = PlanStatus(fields["status"])
    page = render(
        "packet.html.j2",
        version=fields["replay"]["versions"]["dpverdict"],
        created=fields["created"],
        packet=fields,
        badge=BADGES[status],
        mark=MARKS.get(status.value, MARKS["REFUTED"]),
        entry=json.dumps(fields["registry"]["entry"], indent=2, ensure_ascii=False),
    )
    return page + "\n"


def read_packet_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of what `render_packet_json` writes."""
    return json_schema(PacketDocument, identifier=f"urn:dpverdict:packet:{SCHEMA_VERSION}", closed=True)


def decision(result: PlanResult) -> str:
    """What follows for the release: "release" only where every release is certified and every control was caught."""
    releases = [one for one in result.results if not one.audit.control]
    if any(one.status is Status.REFUTED for one in releases):
        return DECISIONS[Status.REFUTED.name]
    certified = bool(releases) and all(one.status is Status.CERTIFIED for one in releases)
    certified = certified and result.status is PlanStatus.CERTIFIED
    return DECISIONS[(Status.CERTIFIED if certified else Status.INCONCLUSIVE).name]


def _sentence(result: PlanResult, facts: Facts, hazards: Sequence[Hazard]) -> str:
    """What to know first, in plain words."""
    counted = {name: sum(status_of(one) == name for one in facts.releases) for name in (*Status.__members__, NOT_RUN)}
    words = {"CERTIFIED": "certified", "REFUTED": "refuted", "INCONCLUSIVE": "not decided", NOT_RUN: "not run"}
    said = ", ".join(f"{number} {words[name]}" for name, number in counted.items() if number)
    first = f"Of {len(facts.releases)} releases: {said}." if facts.releases else "The plan has no release."
    missed = [one.audit.name for one in facts.controls if not one.met]
    if missed:
        first += (
            f" What is wrong on purpose was not found ({', '.join(missed)}), so that the audit is not to be trusted."
        )
    failed = [one.name for one in hazards if one.answer is Answer.FAIL]
    if failed:
        return f"{first} Does not hold: {'; '.join(failed)}."
    if facts.composed is not None and decision(result) == DECISIONS[Status.CERTIFIED.name]:
        epsilon = _as_epsilon(facts.composed.guarantee)
        return f"{first} Together they keep {epsilon or facts.composed.guarantee.describe()}."
    return first


def _claim_of(one: AuditResult) -> Guarantee | None:
    """The claim of a report; its text says it exactly."""
    claim: Any = one.fields.get("claim")
    return None if claim is None else parse_guarantee(claim["text"])


def _relation_of(one: AuditResult) -> str:
    """The neighbouring relation of a report; "" where it is not known."""
    mechanism: Any = one.fields.get("mechanism") or {}
    return mechanism.get("relation") or ""


def _as_epsilon(claim: Guarantee) -> str | None:
    """A guarantee as epsilon at a delta, rounded up."""
    delta = own_delta(claim)
    epsilon = promised_epsilon(claim, delta)
    return None if epsilon is None else f"epsilon {at_most(epsilon, 4)} at delta {decimal(delta, 6)}"


def _release_fields(one: AuditResult, claim: Guarantee | None, relation: str, mu: Mu | str) -> dict[str, object]:
    """What is known of one release."""
    exact: Any = one.fields.get("exact") or {}
    summary: Any = one.fields.get("summary") or {}
    assumptions: Any = one.fields.get("assumptions") or []
    verdict: Any = exact.get("verdict") or {}
    certificate: Any = verdict.get("certificate")
    reason = verdict.get("reason")
    traced: Any = one.fields.get("traced")
    risk: Any = one.fields.get("risk") or {}
    tested = [
        f"{kind}: {found['samples']} releases of each dataset, "
        f"error probability {rounded_text(found['error_probability'])}, "
        f"{'refuted' if found['refuted'] else 'nothing found, which is no proof'}"
        for kind, found in tests_of(one)
    ]
    not_shown = [reason] if reason else []
    if one.status is None:
        not_shown = [f"not run: {one.error}"]
    elif traced is not None:
        not_shown += [] if one.status is Status.CERTIFIED else [traced["reason"]]
    elif verdict.get("status") is None:
        not_shown.append("of a black box nothing is certified: only its releases were seen")
    statement = f"{certificate['statement']} ({certificate['method']})" if certificate else None
    if traced is not None:
        statement = f"{traced['reason']} (every operation on data followed, with facts that hold for all tables)"
    return {
        "name": one.audit.name,
        "anchor": one.audit.anchor,
        "status": status_of(one),
        "decision": "not shown" if one.status is None else DECISIONS[one.status.name],
        "sentence": one.answer if one.status is None else summary.get("sentence", one.answer),
        "expected": one.audit.expect.value,
        "claim": None if claim is None else claim.describe(),
        "claim_as_epsilon": None if claim is None else _as_epsilon(claim),
        "relation": relation or None,
        "certified": statement if one.status is Status.CERTIFIED else None,
        "lines": [] if traced is None else traced["lines"],
        "tested": tested,
        "risk": list(risk.get("sentences", [])),
        "not_shown": not_shown,
        "assumptions": list(assumptions),
        "mu": {"said": mu, "value": None, "regret": None, "down_to_delta": None}
        if isinstance(mu, str)
        else {
            "said": mu.describe(),
            "value": mu.mu,
            "regret": mu.regret,
            "down_to_delta": float(mu.down_to_delta),
        },
    }


def _why_not(facts: Facts) -> str:
    if not facts.releases:
        return "the plan has no release"
    if any(claim is None for claim in facts.claims):
        return "a release was not run"
    if len(set(facts.relations)) > 1 or "" in facts.relations:
        return "the releases are not known to be private under one neighbouring relation"
    return "the claims together promise no epsilon"


def _for_the_registry(facts: Facts, hazards: Sequence[Hazard]) -> dict[str, object]:
    """The fields of the registry that the audits know; see `deployment.FOUND`."""
    found: dict[str, object] = {}
    if facts.composed is not None:
        guarantee = facts.composed.guarantee
        found["variant_name"] = _VARIANTS[type(guarantee)]
        found["composition"] = f"{facts.composed.rule}: {guarantee.describe()}"
        if isinstance(guarantee, ZeroConcentratedDP):
            found["privacy_parameters"] = {"rho": _float_above_or_zero(guarantee.rho)}
        else:
            delta = own_delta(guarantee)
            epsilon = promised_epsilon(guarantee, delta)
            if epsilon is not None:
                found["privacy_parameters"] = {
                    "epsilon": _float_above_or_zero(epsilon),
                    "delta": _float_above_or_zero(delta),
                }
    known = sorted({relation for relation in facts.relations if relation})
    if known:
        found["privacy_unit_details"] = f"Neighbouring datasets: {' and '.join(known)}, one record of the data."
    mechanisms = [
        f"- {one.audit.name}: {getattr(one.audit.request, 'mechanism', 'recorded scores')}; {status_of(one)}"
        for one in facts.releases
    ]
    measures = [f"- {one.name}: {one.answer.value}" for one in hazards if "float64" in one.name or "time" in one.name]
    if mechanisms:
        found["mechanisms"] = "\n".join((*mechanisms, *measures))
    return found


def _float_above_or_zero(value: Fraction) -> float:
    return float_above(value) if value else 0.0


def _replay(result: PlanResult, plan: Path) -> dict[str, object]:
    """What ran, and how to run it again."""
    inputs = {os.path.relpath(path, result.plan.folder): file_hash(path) for path in result.plan.inputs.values()}
    used: dict[str, str | None] = {}
    distributions: dict[str, str] = {}
    for one in result.results:
        provenance: Any = one.provenance or {}
        used |= provenance.get("files", {})
        distributions |= {name: str(found[0]) for name, found in provenance.get("distributions", {}).items()}
    seed = [] if result.plan.seed is not None else [f"write the line seed = {result.seed} at the top of the plan"]
    return {
        "steps": [
            f"install dpverdict {software_versions()['dpverdict']} with the versions below",
            *seed,
            f"dpverdict run {plan.name} --fresh --packet again",
            f"compare again/{DOCUMENT} with this one: times apart, they are equal where the versions are",
        ],
        "seed": result.seed,
        "error_probability": result.plan.error_probability,
        "plan": plan.name,
        "plan_sha256": hashlib.sha256(result.plan.text.encode()).hexdigest(),
        "plan_text": result.plan.text,
        "inputs": {name: found for name, found in inputs.items() if found is not None},
        "files_of_the_code": {name: found for name, found in used.items() if found is not None},
        "distributions": distributions,
        "package_sha256": package_hash(),
        "versions": software_versions(),
        "python": python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
