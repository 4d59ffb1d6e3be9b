"""Sections: one kind of evidence each, an anchor of its own, and assumptions once."""

from dpverdict.audit.implementation.embedding import EmbeddingCheck, EmbeddingFinding, EmbeddingTest
from dpverdict.audit.reports.parts import EvidenceKind
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import sections
from dpverdict.audit.statistics.sampler_tests import EqualLawsTest

Reports = dict[str, Report]


def embedding(*, exact: bool, sampled: bool) -> EmbeddingCheck:
    finding = EmbeddingFinding(name="bijection", holds=exact, method="exact rational arithmetic", detail="a number")
    law = EqualLawsTest(rejected=not sampled, p_value=0.5 if sampled else 1e-9, where="count: means", tests=1)
    test = EmbeddingTest(law=law, error_probability=1e-6, samples=100, seed=1)
    return EmbeddingCheck(findings=(finding,), sampled=test)


def test_every_section_has_one_kind_of_evidence_and_an_anchor_of_its_own(reports: Reports) -> None:
    kinds = {
        **dict.fromkeys(("worst", "certificate", "witness", "reason", "numbers"), EvidenceKind.EXACT),
        **dict.fromkeys(("covariance", "embedding"), EvidenceKind.EXACT),
        **dict.fromkeys(("embedding-samples", "statistics"), EvidenceKind.STATISTICAL),
        **dict.fromkeys(("subject", "assumptions", "reproduction"), EvidenceKind.NONE),
    }
    for report in reports.values():
        found = sections(report)
        assert {section.anchor: section.evidence for section in found}.items() <= kinds.items()
        assert len({section.anchor for section in found}) == len(found)
        for section in found:
            for table in section.tables:
                assert {len(row) for row in table.rows} == {len(table.header or table.rows[0])}


def test_the_two_samplers_are_not_among_the_exact_findings(reports: Reports) -> None:
    by_anchor = {section.anchor: section for section in sections(reports["CERTIFIED"])}
    exact = {row[2] for row in by_anchor["embedding"].tables[0].rows}
    sampled = {row[2] for row in by_anchor["embedding-samples"].tables[0].rows}
    assert exact == {"symbolic", "exact rational arithmetic"}
    assert sampled == {"two-sample test"}


def test_assumptions_are_listed_once(reports: Reports) -> None:
    (section,) = (section for section in sections(reports["CERTIFIED"]) if section.anchor == "assumptions")
    texts = [row[1] for row in section.tables[0].rows]
    assert len(texts) == len(set(texts)) >= 2
