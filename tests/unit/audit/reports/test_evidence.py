"""A kind of evidence is one file: every face shows it, and the status of the report follows from what it decides."""

import dataclasses
import importlib
import json
from pathlib import Path

import jsonschema
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports import evidence
from dpverdict.audit.reports.evidence.code import CodeEvidence
from dpverdict.audit.reports.html import render_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.terminal import report_text
from dpverdict.audit.reports.to_json import read_schema, render_json
from dpverdict.errors import InvalidValue

Reports = dict[str, Report]

PLANTED = '''
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypedDict

from dpverdict.audit.documents.schema import described
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import Brief, Check, EvidenceKind, Section, Table


class PlantedFields(TypedDict):
    """What a trace showed."""

    lines: Annotated[list[str], described("The lines that release something.")]


@dataclass(frozen=True)
class PlantedEvidence(Evidence):
    lines: tuple[str, ...]
    status: Status

    name = "planted"
    position = 15
    document = {"planted": PlantedFields}

    @property
    def decides(self) -> Status | None:
        return self.status

    @property
    def answer(self) -> str:
        return "By its trace, the claim is decided."

    @property
    def found(self) -> str:
        return "mu at most 1"

    def brief(self, known: OtherEvidence) -> Brief:
        return Brief(facts={"lines": "; ".join(self.lines)}, checks=(Check(name="trace", result="holds", seen="<i>"),))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        rows = tuple((line, "1") for line in self.lines)
        yield Section(
            anchor="traced",
            title="Traced",
            evidence=EvidenceKind.EXACT,
            tables=(Table(header=("line", "mu"), rows=rows),),
        )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        return {"planted": {"lines": list(self.lines)}}
'''


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type:
    """A kind of evidence, added as one file."""
    (tmp_path / "planted_kind.py").write_text(PLANTED)
    monkeypatch.setattr(evidence, "__path__", [*evidence.__path__, str(tmp_path)])
    found: type = importlib.import_module(f"{evidence.__name__}.planted_kind").PlantedEvidence
    return found


def test_a_new_kind_is_one_file_that_every_face_shows(reports: Reports, planted: type) -> None:
    for status in (Status.CERTIFIED, Status.REFUTED):
        report = dataclasses.replace(reports["black box"], evidence=(planted(("release.py:7 <b>",), status),))
        assert (report.status, report.answer) == (status, "By its trace, the claim is decided.")
        assert (report.summary.sentence, report.summary.found) == (report.answer, "mu at most 1")
        assert "release.py:7 <b>" in report_text(report)
        assert "release.py:7 <b>" in report_text(report, details=False)
        assert "trace  holds  <i>" in report_text(report, details=False)
        assert "release.py:7 &lt;b&gt;" in render_html(report)
        fields = json.loads(render_json(report))
        assert fields["planted"] == {"lines": ["release.py:7 <b>"]}
        schema = read_schema()
        assert schema["properties"]["planted"]["properties"]["lines"]["description"]
        jsonschema.Draft202012Validator(schema).validate(fields)
        assert not jsonschema.Draft202012Validator(schema).is_valid(fields | {"planted": {"lines": 3}})
    with pytest.raises(InvalidValue, match=r"planted\.lines"):
        render_json(reports["black box"].with_evidence(planted((3,), Status.CERTIFIED)))


def test_evidence_is_kept_in_reading_order_and_at_most_one_of_a_kind(reports: Reports, planted: type) -> None:
    report = reports["CERTIFIED"].with_evidence(planted(("a",), Status.CERTIFIED), CodeEvidence(()))
    assert [one.name for one in report.evidence] == ["verdict", "planted", "embedding", "test", "implementation"]
    again = report.with_evidence(planted(("b",), Status.CERTIFIED))
    assert len(again.evidence) == len(report.evidence)
    with pytest.raises(InvalidValue, match="at most one of each kind"):
        Report(
            name=report.name,
            claim=report.claim,
            created=report.created,
            evidence=(*report.evidence, planted(("b",), Status.CERTIFIED)),
        )


def test_a_kind_that_refutes_is_not_hidden_by_a_certificate(reports: Reports, planted: type) -> None:
    report = reports["CERTIFIED"].with_evidence(planted(("a",), Status.REFUTED))
    assert report.status is Status.REFUTED
    assert report.answer == "The exact audit certifies mu=1, but it is refuted: By its trace, the claim is decided."
