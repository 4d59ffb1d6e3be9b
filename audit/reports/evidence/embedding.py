"""Whether the mechanism that runs is the image of the standard mechanism: exact findings, and one on samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpverdict.audit.documents.statistical import FindingFields, SampledEmbeddingFields
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.embedding import TWO_SAMPLES, EmbeddingCheck
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import FAILS, HOLDS, Brief, Check, EvidenceKind, Section, Table
from dpverdict.numerics.text import rounded_text


@final
@dataclass(frozen=True, slots=True)
class EmbeddingEvidence(Evidence):
    """The check of the embedding; not claimed, and not checked, of mechanisms that are not of that form."""

    check: EmbeddingCheck

    name = "embedding"
    position = 20
    urgency = 4

    def withdraws_certificate(self, known: OtherEvidence) -> bool:
        """Whether the mechanism that runs is another one."""
        return not self.check.holds

    def contradiction(self, known: OtherEvidence) -> str | None:
        """That the check fails, unless the claim is refuted anyway."""
        if self.check.holds or known.exact is Status.REFUTED:
            return None
        found = "Nothing exact refutes" if known.exact is None else f"The exact audit says {known.exact.name} of"
        return (
            f"{found} {known.claim.describe()}, but the embedding check fails ({', '.join(self.check.failures)}): the "
            "mechanism that runs is not Algorithm 1 at the claimed mu."
        )

    def brief(self, known: OtherEvidence) -> Brief:
        """Whether the mechanism is the image of the standard one, or what fails."""
        failures = self.check.failures
        image = f"the image of the standard Gaussian mechanism, by {len(self.check.findings)} exact checks"
        seen = ", ".join(failures) or image
        return Brief(checks=(Check(name="embedding", result=FAILS if failures else HOLDS, seen=seen),))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The exact findings, and apart from them the test on samples."""
        about = (
            "Whether the mechanism that runs is h^-1 of the standard Gaussian mechanism in d + 1 dimensions (Lebeda "
            "2024)."
        )
        exact = [(one.name, one.holds, one.method, one.detail) for one in self.check.findings]
        yield Section(
            anchor="embedding",
            title="Embedding",
            evidence=EvidenceKind.EXACT,
            text=(about,),
            tables=(_table_of_findings(exact),),
        )
        test = self.check.sampled
        trials = (
            f"{test.samples} samples, seed {test.seed}; all of these tests together raise a false alarm with a "
            f"probability of at most {rounded_text(test.error_probability)}."
        )
        yield Section(
            anchor="embedding-samples",
            title="Embedding, on samples",
            evidence=EvidenceKind.STATISTICAL,
            text=(trials,),
            tables=(_table_of_findings([(TWO_SAMPLES, not test.rejected, "two-sample test", test.detail)]),),
        )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The exact findings and the one on samples, each in its own part."""
        exact: list[FindingFields] = [
            {"name": one.name, "holds": one.holds, "method": one.method, "detail": one.detail}
            for one in self.check.findings
        ]
        test = self.check.sampled
        on_samples: FindingFields = {
            "name": TWO_SAMPLES,
            "holds": not test.rejected,
            "method": "two-sample test",
            "detail": test.detail,
        }
        sampled: SampledEmbeddingFields = {
            "findings": [on_samples],
            "samples": test.samples,
            "error_probability": test.error_probability,
            "seed": test.seed,
        }
        return {"exact.embedding": exact, "statistical.embedding": sampled}


def _table_of_findings(found: list[tuple[str, bool, str, str]]) -> Table:
    rows = tuple((name, HOLDS if holds else FAILS, method, detail) for name, holds, method, detail in found)
    return Table(header=("what was checked", "finding", "method", "detail"), rows=rows)
