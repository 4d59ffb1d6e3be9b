"""What following a function showed: the table of its releases, for every pair of neighbouring tables of a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypedDict, final

from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import StatusName, TracedLineFields
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import Brief, EvidenceKind, Section, Table
from dpverdict.audit.tracing.verdict import EXACTLY, TracedVerdict
from dpverdict.numerics.text import at_least, at_most


class TracedFields(TypedDict):
    """What following a function showed."""

    status: Annotated[StatusName, described("CERTIFIED for every pair, REFUTED by one, or INCONCLUSIVE.")]
    covered: Annotated[bool, described("Whether the function could be followed.")]
    relation: Annotated[str, described("Which tables are neighbours.")]
    reason: Annotated[str, described("Why, in a sentence.")]
    lines: Annotated[list[TracedLineFields], described("One for each release.")]
    assumptions: Annotated[list[str], described("What is taken for granted.")]
    true_from: Annotated[float | None, described("The least epsilon, mu or rho that is certified.")]
    found_up_to: Annotated[float | None, described("The largest loss of a pair that was measured exactly.")]
    witness: Annotated[dict[str, Any] | None, described("The pair of tables that breaks the claim.")]
    runs: Annotated[int, described("Of the function, to follow it.")]


@final
@dataclass(frozen=True, slots=True)
class TracedEvidence(Evidence):
    """The verdict on a function that was followed.

    Attributes:
        verdict: for every pair of neighbouring tables of its schema.
    """

    verdict: TracedVerdict

    name = "traced"
    position = 5
    document: ClassVar[Mapping[str, Any]] = {"traced": TracedFields}

    @property
    def by_samples(self) -> bool:
        """Whether it refutes by fresh releases alone, with an error probability."""
        witness = self.verdict.witness
        return self.verdict.status is Status.REFUTED and witness is not None and witness["measured_by"] != EXACTLY

    @property
    def decides(self) -> Status | None:
        """The verdict; None of one that rests on samples."""
        return None if self.by_samples else self.verdict.status

    @property
    def refutes(self) -> bool:
        """Whether a pair breaks the claim."""
        return self.verdict.status is Status.REFUTED

    @property
    def suffices(self) -> bool:
        """A report may rest on it alone."""
        return True

    @property
    def answer(self) -> str:
        """What the verdict says."""
        verdict = self.verdict
        begun = "" if verdict.covered else "Not covered by the trace: "
        return f"{begun}{verdict.reason[:1].upper() if not begun else verdict.reason[:1]}{verdict.reason[1:]}."

    @property
    def found(self) -> str:
        """What is certified of every pair, and the largest loss of one."""
        verdict, said = self.verdict, []
        unit = verdict.claim.partition("=")[0]
        if verdict.true_from is not None:
            said.append(f"{unit} at most {at_most(verdict.true_from, 6)} for every pair")
        if verdict.found_up_to is not None:
            said.append(f"{unit} at least {at_least(verdict.found_up_to, 6)} for one pair")
        return ", ".join(said) or "nothing"

    @property
    def epsilon_lower(self) -> tuple[float, float] | None:
        """A bound on epsilon from below by fresh releases on the pair, and the probability that it is wrong."""
        fresh = None if self.verdict.witness is None else self.verdict.witness["fresh"]
        if fresh is None or fresh["epsilon_lower"] is None:
            return None
        return float(fresh["epsilon_lower"]), float(fresh["error_probability"])

    def brief(self, known: OtherEvidence) -> Brief:
        """The pair that breaks the claim, if one does: the releases are a table of their own."""
        witness = self.verdict.witness
        return Brief() if witness is None else Brief(facts={"neighbours": "; ".join(map(str, witness["words"][:1]))})

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The table of the releases; and the pair that breaks the claim."""
        verdict = self.verdict
        header = ("line", "statistic", "a record moves it by", "noise", "spent")
        rows = tuple((one.line, one.statistic, one.moved, one.noise, one.spent) for one in verdict.lines)
        proved = verdict.covered and verdict.status is not Status.REFUTED
        if rows or proved:
            yield Section(
                anchor="traced",
                title="What is released",
                evidence=EvidenceKind.EXACT if proved else EvidenceKind.NONE,
                text=(f"For every table of the schema and its neighbours ({verdict.relation}).",) if proved else (),
                tables=(Table(header=header, rows=rows),) if rows else (),
            )
        if verdict.witness is not None:
            yield Section(
                anchor="traced_pair",
                title="The pair of tables that breaks the claim",
                evidence=EvidenceKind.STATISTICAL if self.by_samples else EvidenceKind.EXACT,
                text=(f"Measured by {verdict.witness['measured_by']}: {verdict.witness['reason']}.",),
                tables=(Table(rows=tuple((str(one),) for one in verdict.witness["words"][:1])),),
            )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The verdict, without what the report says elsewhere."""
        found = self.verdict.to_dict()
        return {"traced": {name: found[name] for name in TracedFields.__annotations__}}
