"""The search through the low bits of float64 outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpverdict.audit.distinguishing.low_bits import FloatLeak
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import FAILS, NOT_REFUTED, Brief, Check, EvidenceKind, Section, facts
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.text import at_least, rounded_text


@final
@dataclass(frozen=True, slots=True)
class LowBitsEvidence(Evidence):
    """What the low bits of the outputs tell of the data; only of a claim that is audited as one about float64."""

    leak: FloatLeak

    name = "leak"
    position = 40
    urgency = 3

    @property
    def claim(self) -> Guarantee:
        """The claim that was tested."""
        return self.leak.claim

    @property
    def refutes(self) -> bool:
        """Whether the float64 outputs break the claim."""
        return self.leak.refuted

    def contradiction(self, known: OtherEvidence) -> str | None:
        """That the float64 outputs break the claim, unless it is refuted of real numbers."""
        if not self.leak.refuted or known.exact is Status.REFUTED:
            return None
        exact = f"; the exact audit, which is about real numbers, says {known.exact.name}" if known.exact else ""
        return (
            f"The float64 outputs break {known.claim.describe()} with an error probability of at most "
            f"{rounded_text(self.leak.error_probability)}: their low bits tell the data{exact}."
        )

    def brief(self, known: OtherEvidence) -> Brief:
        """Whether the low bits break the claim."""
        leak = self.leak
        seen = f"{leak.samples} outputs per dataset, bit for bit: epsilon at least {at_least(leak.epsilon_lower, 3)}"
        return Brief(checks=(Check(name="low bits", result=FAILS if leak.refuted else NOT_REFUTED, seen=seen),))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """What the search found, with its error probability."""
        leak = self.leak
        named = {
            "result": "the claim is refuted for float64 outputs" if leak.refuted else "no leak of the kinds looked for",
            "p-value": rounded_text(leak.p_value, 3),
            "error probability": rounded_text(leak.error_probability),
            "epsilon": f"at least {at_least(leak.epsilon_lower, 6)} at delta = {rounded_text(leak.delta)}",
        }
        if leak.event is not None and leak.counts is not None:
            first, trials, second, others = leak.counts.four
            sides = ("dataset", "neighbour")
            likely, unlikely = sides if leak.order is Order.DATASET_FIRST else sides[::-1]
            named["outputs"] = str(leak.event.describe()["in words"])
            named["counts"] = (
                f"{first} of {trials} on the {likely}, {second} of {others} on the {unlikely}, fresh trials"
            )
        named |= {"samples": f"{leak.samples} per dataset, a quarter of them to find the set", "seed": str(leak.seed)}
        text = (
            "The float64 outputs, bit for bit, searched for sets that only one of the two datasets produces. A claim "
            "about real numbers is not touched by this; rounding the release to a coarse grid is the remedy.",
        )
        yield Section(
            anchor="low-bits", title="Low bits", evidence=EvidenceKind.STATISTICAL, text=text, tables=(facts(named),)
        )

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The search."""
        return {"statistical.low_bits": self.leak.describe()}
