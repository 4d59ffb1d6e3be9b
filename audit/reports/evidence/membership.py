"""The membership-inference game of one record of a real table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import Brief, EvidenceKind, Section, facts


@final
@dataclass(frozen=True, slots=True)
class MembershipEvidence(Evidence):
    """How well the membership of a record can be told.

    Attributes:
        words: all that is known of it, in words.
        advantage: the largest advantage of a guess, in the digits a person needs; empty if it is in the words alone.
    """

    words: Mapping[str, str]
    advantage: str = ""

    name = "membership"
    position = 70

    def brief(self, known: OtherEvidence) -> Brief:
        """The record, and how well its membership can be told."""
        told = {name: text for name, text in self.words.items() if name in ("record", "its values", "game")}
        return Brief(facts=told | ({"best guess": f"advantage {self.advantage}"} if self.advantage else {}))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The record, and how well its membership can be told."""
        yield Section(
            anchor="membership",
            title="Membership of one record",
            evidence=EvidenceKind.EXACT,
            tables=(facts(self.words),),
        )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The same words."""
        return {"membership": dict(self.words)}
