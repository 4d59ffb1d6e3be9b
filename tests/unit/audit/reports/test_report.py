"""What a report concludes from its evidence."""

import dataclasses
from datetime import datetime, timedelta, timezone

import pytest

from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.embedding import EmbeddingCheck, EmbeddingFinding, EmbeddingTest
from dpverdict.audit.implementation.grey_box import GreyBoxFinding
from dpverdict.audit.reports.evidence.code import CodeEvidence
from dpverdict.audit.reports.evidence.embedding import EmbeddingEvidence
from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence
from dpverdict.audit.reports.report import Report
from dpverdict.audit.statistics.sampler_tests import EqualLawsTest
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP

Reports = dict[str, Report]


def refuting(reports: Reports, report: Report) -> DistinguishingTest:
    """A test that refutes the claim of the report; where it comes from does not matter to the status."""
    other = reports["black box, refuted"].test
    assert other is not None
    return dataclasses.replace(other, claim=report.claim)


def embedding(*, exact: bool, sampled: bool) -> EmbeddingCheck:
    finding = EmbeddingFinding(name="bijection", holds=exact, method="exact rational arithmetic", detail="a number")
    law = EqualLawsTest(rejected=not sampled, p_value=0.5 if sampled else 1e-9, where="count: means", tests=1)
    test = EmbeddingTest(law=law, error_probability=1e-6, samples=100, seed=1)
    return EmbeddingCheck(findings=(finding,), sampled=test)


@pytest.mark.parametrize(
    ("kind", "status", "exit_code"),
    [
        ("CERTIFIED", Status.CERTIFIED, 0),
        ("REFUTED", Status.REFUTED, 1),
        ("INCONCLUSIVE", Status.INCONCLUSIVE, 3),
        ("certified profile", Status.CERTIFIED, 0),
        ("infinite", Status.REFUTED, 1),
        ("black box", Status.INCONCLUSIVE, 3),
        ("black box, refuted", Status.REFUTED, 1),
    ],
)
def test_the_status_and_the_exit_code_follow_the_evidence(
    reports: Reports, kind: str, status: Status, exit_code: int
) -> None:
    report = reports[kind]
    assert (report.status, report.exit_code, report.disagreement) == (status, exit_code, None)
    assert report.claim.describe() in report.answer or report.status is Status.INCONCLUSIVE


def test_a_certified_claim_that_the_releases_contradict_is_refuted(reports: Reports) -> None:
    report = reports["CERTIFIED"].with_evidence(DistinguishingEvidence(refuting(reports, reports["CERTIFIED"])))
    assert (report.status, report.exit_code) == (Status.REFUTED, 1)
    assert report.disagreement == report.answer == report.agreement
    assert report.disagreement is not None
    assert "certifies mu=1, but the releases contradict it" in report.disagreement


def test_an_undecided_claim_that_the_releases_contradict_is_refuted(reports: Reports) -> None:
    undecided = reports["INCONCLUSIVE"]
    report = undecided.with_evidence(
        ExactEvidence(verdict=undecided.verdict), DistinguishingEvidence(refuting(reports, undecided))
    )
    assert (report.status, report.disagreement) == (Status.REFUTED, None)
    assert "unless a test with error probability" in report.answer


@pytest.mark.parametrize(
    ("exact", "sampled", "name"), [(False, True, "bijection"), (True, False, "two samplers, one law")]
)
@pytest.mark.parametrize("kind", ["CERTIFIED", "INCONCLUSIVE", "black box"])
def test_a_failing_embedding_check_withdraws_the_certificate(
    reports: Reports, kind: str, exact: bool, sampled: bool, name: str
) -> None:
    report = reports[kind].with_evidence(EmbeddingEvidence(embedding(exact=exact, sampled=sampled)))
    assert report.status is Status.INCONCLUSIVE
    assert report.disagreement is not None
    assert f"embedding check fails ({name})" in report.disagreement


def test_a_failing_embedding_check_agrees_with_a_refuted_claim(reports: Reports) -> None:
    report = reports["REFUTED"].with_evidence(EmbeddingEvidence(embedding(exact=True, sampled=False)))
    assert (report.status, report.disagreement) == (Status.REFUTED, None)


def test_releases_farther_apart_than_the_exact_worst_case_withdraw_the_certificate(reports: Reports) -> None:
    certified = reports["CERTIFIED"]
    assert certified.test is not None
    report = certified.with_evidence(DistinguishingEvidence(dataclasses.replace(certified.test, mu_lower=1.5)))
    assert report.status is Status.INCONCLUSIVE
    assert report.disagreement is not None
    assert "mu is at least 1.5" in report.disagreement


def test_a_test_that_does_not_refute_never_overrules_a_witness(reports: Reports) -> None:
    refuted = reports["REFUTED"]
    assert refuted.test is not None
    quiet = dataclasses.replace(refuted.test, refuted=False, witness=None, mu_lower=0.0)
    report = refuted.with_evidence(DistinguishingEvidence(quiet))
    assert report.status is Status.REFUTED
    assert report.agreement is not None
    assert "no evidence for it" in report.agreement


def test_a_report_needs_evidence_about_its_own_claim_and_a_time_in_utc(reports: Reports) -> None:
    certified, black_box = reports["CERTIFIED"], reports["black box"]
    with pytest.raises(InvalidValue, match=r"verdict\.claim='mu=1' must be about the claim mu=2"):
        dataclasses.replace(certified, claim=GaussianDP(2))
    with pytest.raises(InvalidValue, match=r"test\.claim='eps=1' must be about the claim mu=2"):
        dataclasses.replace(black_box, claim=GaussianDP(2))
    with pytest.raises(InvalidValue, match="evidence=None must be a verdict, a test or both"):
        dataclasses.replace(black_box, evidence=())
    for created in (datetime(2025, 3, 1), datetime(2025, 3, 1, tzinfo=timezone(timedelta(hours=1)))):
        with pytest.raises(InvalidValue, match="must be a time in UTC"):
            dataclasses.replace(black_box, created=created)


def test_the_versions_name_what_the_numbers_depend_on() -> None:
    assert list(software_versions()) == ["python", "dpverdict", "numpy", "scipy", "python-flint", "blas"]


def test_a_failed_check_of_the_code_takes_the_certificate_and_says_so(reports: Reports) -> None:
    failed = GreyBoxFinding(name="every release has noise", holds=False, seen="two are equal", breaks_privacy=True)
    report = reports["CERTIFIED"].with_evidence(CodeEvidence((failed,)))
    assert (report.status, report.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "two are equal" in report.answer
    for harmless in (dataclasses.replace(failed, holds=None), dataclasses.replace(failed, breaks_privacy=False)):
        assert report.with_evidence(CodeEvidence((harmless,))).status is Status.CERTIFIED
    refuted = reports["REFUTED"].with_evidence(CodeEvidence((failed,)))
    assert refuted.status is Status.REFUTED
