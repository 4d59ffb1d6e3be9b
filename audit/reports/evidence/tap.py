"""What the noise tap saw of the pair that was tested, and the test of it on fresh releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpverdict.audit.implementation.tap.confirmation import Confirmation
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus, TapVerdict
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import FAILS, Brief, Check, EvidenceKind, Section, Table, facts
from dpverdict.numerics.text import rounded_text


@final
@dataclass(frozen=True, slots=True)
class TapEvidence(Evidence):
    """What the noise tap saw.

    Attributes:
        verdict: of the tap.
        confirmation: what it found, on fresh releases; None if it found nothing, or they were not needed.
    """

    verdict: TapVerdict
    confirmation: Confirmation | None = None

    name = "tap"
    position = 60
    urgency = 5

    @property
    def refutes(self) -> bool:
        """Whether the recorded noise refutes the claim, or what it shows does on fresh releases."""
        confirmed = self.confirmation is not None and self.confirmation.refuted
        return confirmed or self.verdict.status is TapStatus.REFUTED

    def contradiction(self, known: OtherEvidence) -> str | None:
        """That it refutes the claim, if nothing else does."""
        if not self.refutes or known.refuting - {self.name}:
            return None
        claim = known.claim.describe()
        if self.verdict.status is TapStatus.REFUTED:
            return f"The noise tap refutes {claim}: {self.verdict.reason}."
        assert self.confirmation is not None  # else it does not refute
        fresh = f"{self.confirmation.samples} fresh releases on each dataset"
        error = f"error probability {rounded_text(self.confirmation.error_probability)}"
        return f"What the noise tap found refutes {claim} on {fresh} ({error}): {self.verdict.reason}."

    def brief(self, known: OtherEvidence) -> Brief:
        """What the recorded noise says of this pair, and the test of it."""
        status = self.verdict.status
        result = FAILS if self.refutes else status.name.replace("_", " ").lower()
        seen = (
            self.verdict.reason if self.confirmation is None else f"{self.verdict.reason}; {self.confirmation.text()}"
        )
        return Brief(checks=(Check(name="noise tap", result=result, seen=seen),))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """One row for each place where noise was added; and the test of what was found."""
        tap = self.verdict
        text = [f"{tap.status.name.replace('_', ' ')}: {tap.reason}. Of this pair, along the recorded draws."]
        text += [f"Open: {one}." for one in tap.open] + [f"Not covered: {one}." for one in tap.uncovered]
        text.append(
            f"The function was called {tap.runs} times for it, in a copy of this process that is thrown away: a file "
            "that it writes or a service that it calls was reached as often."
        )
        named = {"loss of this pair": tap.loss + (", exact" if tap.exact else ""), "runs": str(tap.runs)}
        sampled = tap.status is TapStatus.REFUTED  # without a draw, by its repeated runs
        header = ("", "call", "line", "promised", "measured")
        kind = EvidenceKind.EXACT if tap.exact else EvidenceKind.STATISTICAL if sampled else EvidenceKind.NONE
        yield Section(
            anchor="tap",
            title="Noise tap",
            evidence=kind,
            text=tuple(text),
            tables=(*((Table(header=header, rows=tuple(tap.table())),) if tap.table() else ()), facts(named)),
        )
        if self.confirmation is not None:
            yield Section(
                anchor="tap_confirmation",
                title="Fresh releases for the finding of the noise tap",
                evidence=EvidenceKind.STATISTICAL,
                text=(self.confirmation.text() + ".",),
            )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """What it saw, and the test of it."""
        found: dict[str, object] = {"tap": self.verdict.to_dict()}
        return found if self.confirmation is None else {**found, "tap_confirmation": self.confirmation.to_dict()}
