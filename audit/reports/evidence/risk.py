"""What was found, as the risk of somebody who is suspected: it follows from the other evidence, and proves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

from dpverdict.audit.documents.report import RiskFields
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import Brief, EvidenceKind, Section, Table
from dpverdict.risk import Risk


def risk_section(risk: Risk, kind: EvidenceKind) -> Section:
    """What an attacker attains, in sentences and a table."""
    unknown = "The claim is refuted, and how often an attacker is right was not measured."
    unbounded = "Nothing that was found bounds how often an attacker is right."
    said = risk.sentences() or (unknown if risk.shown else unbounded,)
    return Section(
        anchor="risk",
        title="Risk",
        evidence=kind,
        text=(*said, f"How this is known: {risk.how}."),
        tables=(Table(header=risk.header(), rows=risk.rows()),) if risk.rows() else (),
    )


@final
@dataclass(frozen=True, slots=True)
class RiskEvidence(Evidence):
    """What an attacker attains at one base rate, by the evidence of a kind."""

    risk: Risk
    kind: EvidenceKind

    name = "risk"
    position = 15
    document: ClassVar[Mapping[str, Any]] = {"risk": RiskFields}

    def brief(self, known: OtherEvidence) -> Brief:
        """How often an attacker is right, and whom it finds."""
        risk = self.risk
        named = {"risk": risk.headline, "attacks": risk.success, "accusations": risk.with_a_floor or risk.limit}
        return Brief(facts={name: words for name, words in named.items() if words})

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The same, with how often the attacks are right."""
        yield risk_section(self.risk, self.kind)

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The shares, and the sentences."""
        return {"risk": self.risk.fields()}
