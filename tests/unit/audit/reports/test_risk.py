"""What a report says at a base rate follows from its evidence: at most, at least, or under a condition."""

import dataclasses
import html
import json
import re
from fractions import Fraction

import jsonschema
import pytest

from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence
from dpverdict.audit.reports.evidence.risk import RiskEvidence
from dpverdict.audit.reports.html import render_html
from dpverdict.audit.reports.parts import EvidenceKind
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.terminal import report_text
from dpverdict.audit.reports.to_json import read_schema, render_json
from dpverdict.audit.runs.audits import with_risk
from dpverdict.errors import InvalidValue

RATE = Fraction(1, 1000)


def risk_of_report(report: Report) -> RiskEvidence:
    found = with_risk(report, RATE).find(RiskEvidence)
    assert found is not None
    return found


def test_every_face_of_every_report_says_the_risk(reports: dict[str, Report]) -> None:
    validator = jsonschema.Draft202012Validator(read_schema())
    for name, report in reports.items():
        read = with_risk(report, RATE)
        assert (read.status, read.summary) == (report.status, report.summary)
        tree = json.loads(render_json(read))
        validator.validate(tree)
        found = risk_of_report(report).risk
        assert tree["risk"]["sentences"] == list(found.sentences()), name
        page, text = render_html(read), report_text(read, width=400)
        for said in found.sentences():
            assert said in text
            assert html.escape(said) in re.sub("</?span[^>]*>", "", page)
        brief = report_text(read, width=80, details=False).splitlines()
        assert len(brief) <= 30
        assert max(map(len, brief)) <= 80
        assert "risk" not in json.loads(render_json(report))


def test_a_certified_claim_bounds_every_attack(reports: dict[str, Report]) -> None:
    report = reports["CERTIFIED"]
    found = risk_of_report(report)
    assert found.kind is EvidenceKind.EXACT
    assert not found.risk.shown
    assert not found.risk.provided
    assert report.worst is not None
    for one in found.risk.attacks:
        beta = report.worst.loss.certified_beta(one.false_alarms)
        assert one.found[1] >= 1 - Fraction(beta.upper)
        assert one.found[1] <= 1 - Fraction(report.claim.beta_lower(float(one.false_alarms)))
    assert "at least" not in str(found.risk)


def test_a_refuted_claim_says_what_an_attack_attains(reports: dict[str, Report]) -> None:
    report = reports["REFUTED"]
    found = risk_of_report(report)
    assert found.kind is EvidenceKind.EXACT
    assert found.risk.shown
    assert report.worst is not None
    for one in found.risk.attacks:
        assert one.found[0] <= 1 - Fraction(report.worst.loss.certified_beta(one.false_alarms).lower)
    assert "at most" not in str(found.risk)
    without = dataclasses.replace(report, evidence=(ExactEvidence(verdict=report.verdict),))
    event = risk_of_report(without).risk
    assert event.shown
    assert event.how == "by the event that refutes the claim"


def test_releases_that_refute_bound_the_risk_from_below_with_their_error(reports: dict[str, Report]) -> None:
    refuted = with_test(reports["black box, refuted"], epsilon_lower=3.0)
    found = risk_of_report(refuted)
    assert found.kind is EvidenceKind.STATISTICAL
    assert "wrong with a probability of at most 1e-6" in found.risk.how
    assert found.risk.most is not None
    odds = Fraction(found.risk.most[0] / (1 - found.risk.most[0])) * 999
    assert float(odds) == pytest.approx(20.085536923187668, rel=1e-12)
    assert "at most" not in str(found.risk)
    nothing = risk_of_report(with_test(reports["black box, refuted"], epsilon_lower=None))
    assert nothing.risk.sentences() == ()
    assert "no test bounds epsilon" in nothing.risk.how


def with_test(report: Report, *, epsilon_lower: float | None) -> Report:
    assert isinstance(report.test, DistinguishingTest)
    return report.with_evidence(
        DistinguishingEvidence(dataclasses.replace(report.test, epsilon_lower=epsilon_lower, delta=1e-6))
    )


def test_a_black_box_that_is_not_refuted_says_if_the_claim_holds(reports: dict[str, Report]) -> None:
    report = reports["black box"]
    assert report.status is Status.INCONCLUSIVE
    found = risk_of_report(report)
    assert found.kind is EvidenceKind.NONE
    assert found.risk.headline.startswith("If the claim holds, which was not shown, an attacker who suspects 1 in 1000")


def test_what_is_not_decided_is_still_bounded_by_the_worst_neighbours(reports: dict[str, Report]) -> None:
    found = risk_of_report(reports["INCONCLUSIVE"])
    assert found.kind is EvidenceKind.EXACT
    certified = risk_of_report(reports["CERTIFIED"]).risk.attacks  # the claim itself is as close, and rounded
    for one, other in zip(found.risk.attacks, certified, strict=True):
        assert float(one.right[1]) == pytest.approx(float(other.right[1]), rel=1e-9)
    assert not found.risk.provided


@pytest.mark.parametrize("rate", [0, 1, 3])
def test_a_rate_that_is_none_is_refused(reports: dict[str, Report], rate: int) -> None:
    with pytest.raises(InvalidValue, match="base_rate"):
        with_risk(reports["CERTIFIED"], rate)
