"""What a few runs with known random numbers show of the code; no check here refutes or certifies a claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.grey_box import GreyBoxFinding
from dpverdict.audit.implementation.sequence import FLAGGED
from dpverdict.audit.implementation.timing import NAME as TIMES
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import FAILS, HOLDS, Brief, Check, EvidenceKind, Section, Table

WORDS: dict[bool | None, str] = {True: HOLDS, False: FAILS, None: "not checked"}


@final
@dataclass(frozen=True, slots=True)
class CodeEvidence(Evidence):
    """The findings of the checks of the code."""

    findings: tuple[GreyBoxFinding, ...]

    name = "implementation"
    position = 50
    urgency = 2

    @property
    def _broken(self) -> tuple[GreyBoxFinding, ...]:
        """What was seen of the code that breaks every claim."""
        return tuple(found for found in self.findings if found.breaks_privacy and found.holds is False)

    @property
    def warning(self) -> str | None:
        """That trials are not independent draws of one law, or that the time of a call tells the datasets apart."""
        failed = {found.name: found.seen for found in self.findings if found.holds is False}
        seen = [failed[name] for name in FLAGGED if name in failed]
        said = [f"But the trials were not independent draws of one law, or not left alone: {'; '.join(seen)}."]
        times = [f"But the time of a call tells the datasets apart: {failed[TIMES]}."] if TIMES in failed else []
        return " ".join([*(said if seen else []), *times]) or None

    def withdraws_certificate(self, known: OtherEvidence) -> bool:
        """Whether the code does what no private mechanism does."""
        return bool(self._broken)

    def contradiction(self, known: OtherEvidence) -> str | None:
        """That the code breaks a claim which is certified of what it declares."""
        if known.exact is not Status.CERTIFIED or not self._broken:
            return None
        seen = "; ".join(f"that {found.name} fails ({found.seen})" for found in self._broken)
        certified = f"The exact audit certifies {known.claim.describe()} of what is declared"
        return f"{certified}, but of the code it was seen {seen}."

    def brief(self, known: OtherEvidence) -> Brief:
        """Which checks of the code fail, and how many hold."""
        failed = [found.name for found in self.findings if found.holds is False]
        held = sum(found.holds is True for found in self.findings)
        if not failed and not held:
            return Brief()
        left = len(self.findings) - held - len(failed)
        seen = f"{held} of them, by a few runs with known random numbers" + (f"; {left} not checked" if left else "")
        if failed:
            seen = f"not so: {'; '.join(failed)}"
        return Brief(checks=(Check(name="checks of the code", result=FAILS if failed else HOLDS, seen=seen),))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The checks, one row each."""
        if not self.findings:
            return
        rows = tuple((found.name, WORDS[found.holds], found.seen) for found in self.findings)
        text = [
            "What a few runs with known random numbers show of the code. No check here refutes or certifies a claim."
        ]
        if self._broken:
            text.append(f"No claim survives this: {'; '.join(found.seen for found in self._broken)}.")
        yield Section(
            anchor="implementation",
            title="Implementation",
            evidence=EvidenceKind.NONE,
            text=tuple(text),
            tables=(Table(header=("check", "result", "seen"), rows=rows),),
        )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The findings."""
        return {"implementation": [dataclasses.asdict(found) for found in self.findings]}
