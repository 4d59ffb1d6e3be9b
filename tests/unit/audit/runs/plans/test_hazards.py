"""Every hazard has an answer, and none says PASS of what was only stated or tested."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.timing import NAME as TIMES
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.runs.plans.composed import composed_claim, spent_together
from dpverdict.audit.runs.plans.deployment import Deployment, read_deployment
from dpverdict.audit.runs.plans.hazards import Answer, Facts, Hazard, checklist
from dpverdict.audit.runs.plans.plan import plan_of
from dpverdict.audit.runs.plans.results import AuditResult
from dpverdict.mechanisms.core.guarantees import as_guarantee

AUDITS = plan_of(
    {
        "audit": [
            {"name": name, "mechanism": "standard-gaussian", "dim": 1, "mu": 1, "expect": expect}
            for name, expect in (("counts", "certified"), ("control", "refuted"))
        ]
    },
    Path("plan"),
).audits
TEST = {"samples": 1000, "refuted": False, "error_probability": 1e-6}


def result(number: int, status: Status | None, fields: Mapping[str, object] | None = None) -> AuditResult:
    return AuditResult(
        audit=AUDITS[number], status=status, fields=fields or {}, page="", error=None if status else "no", seconds=0.0
    )


def facts(
    status: Status | None = Status.CERTIFIED,
    fields: Mapping[str, object] | None = None,
    deployment: Deployment | None = None,
    claim: str = "mu=1",
    control: Status | None = Status.REFUTED,
) -> Facts:
    stated = deployment or read_deployment({"privacy_unit": "one person", "budget": "mu=1", "records": 100})
    assert stated.budget is not None
    return Facts(
        releases=[result(0, status, fields)],
        controls=[result(1, control)],
        claims=[as_guarantee(claim)],
        relations=["add-or-remove-one"],
        composed=composed_claim([as_guarantee(claim)]),
        account=spent_together([GaussianLoss(1)], stated.budget),
        deployment=stated,
    )


def answers(given: Facts) -> dict[str, Hazard]:
    return {one.name: one for one in checklist(given)}


def seen(name: str, *, breaks: bool = False) -> dict[str, object]:
    return {"name": name, "holds": False, "seen": "something", "breaks_privacy": breaks}


LOW_BITS = "the low bits of float64 outputs tell nothing"
KEPT = "every release keeps its claim"
BUDGET = "the loss of all releases together stays within a stated budget"
DELTA = "delta is smaller than one in the number of those protected"
RELATION = "all releases are private under one neighbouring relation"
CONTROLS = "the audit finds what is wrong on purpose"
CODE = "the code that runs is what was analysed"


def test_what_was_shown_passes_and_nothing_else_does() -> None:
    found = answers(facts(fields={"statistical": {"test": TEST}}))
    passed = {name for name, one in found.items() if one.answer is Answer.PASS}
    assert passed == {KEPT, BUDGET, "the unit of privacy is stated", RELATION, CONTROLS}
    assert not [one for one in found.values() if one.answer is Answer.FAIL]
    assert "no proof" in found[CODE].evidence
    assert all(one.evidence for one in found.values())


@pytest.mark.parametrize("status", [Status.INCONCLUSIVE, None])
def test_nothing_passes_for_a_release_that_was_not_decided(status: Status | None) -> None:
    found = answers(facts(status))
    assert (found[KEPT].answer, found[BUDGET].answer) == (Answer.NOT_SHOWN, Answer.NOT_SHOWN)


@pytest.mark.parametrize(
    ("given", "failing"),
    [
        (facts(Status.REFUTED), {KEPT}),
        (facts(control=Status.INCONCLUSIVE), {CONTROLS}),
        (facts(control=None), {CONTROLS}),
        (facts(fields={"statistical": {"test": TEST | {"refuted": True}}}), {CODE}),
        (facts(fields={"statistical": {"sequential": TEST | {"refuted": True}}}), {CODE}),
        (facts(fields={"disagreement": "They differ."}), {CODE}),
        (
            facts(fields={"statistical": {"low_bits": {"refuted": True}}}),
            {"the low bits of float64 outputs tell nothing"},
        ),
        (
            facts(fields={"implementation": [seen(TIMES)]}),
            {"the time of a call tells nothing"},
        ),
        (
            facts(fields={"implementation": [seen("x", breaks=True)]}),
            {"calls draw fresh noise, and leave nothing behind"},
        ),
        (facts(deployment=read_deployment({"budget": "mu=0.9"})), {BUDGET}),
        (facts(claim="eps=1, delta=0.01"), {DELTA}),
        (dataclasses.replace(facts(), relations=["add-or-remove-one", "replace-one"]), {RELATION}),
    ],
)
def test_a_planted_hazard_is_found(given: Facts, failing: set[str]) -> None:
    assert {name for name, one in answers(given).items() if one.answer is Answer.FAIL} == failing


def test_a_statement_is_no_evidence() -> None:
    stated = read_deployment({"budget": "mu=1", "actors": "trusted", "unprotected_quantities": "none"})
    found = answers(facts(deployment=stated))
    assert found["nothing is published in the clear beside the releases"].answer is Answer.NOT_SHOWN
    assert found["those who see the raw data are named and trusted"].answer is Answer.NOT_SHOWN
