"""One audit, one object: the claim, a list of evidence, and what it takes to run it again.

A `Report` has three faces: `terminal.print_report`, `to_json.write_json` and `html.write_html`. All three walk the list
of evidence and say the same; none computes a bound of its own, and none puts exact and statistical evidence in one
table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeVar, final

from dpverdict.audit.distinguishing.low_bits import FloatLeak
from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import WorstCase, gdp_parameter
from dpverdict.audit.implementation.tap.confirmation import Confirmation
from dpverdict.audit.implementation.tap.tap_verdict import TapVerdict
from dpverdict.audit.losses.base import curves_of
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.evidence.low_bits import LowBitsEvidence
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence, SequentialEvidence
from dpverdict.audit.reports.evidence.tap import TapEvidence
from dpverdict.audit.reports.summary import Summary, summary_of
from dpverdict.cards import card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee

E = TypeVar("E", bound=Evidence)

EXIT_CODES: Final[Mapping[Status, int]] = {Status.CERTIFIED: 0, Status.REFUTED: 1, Status.INCONCLUSIVE: 3}
"""What the command line returns to the shell; 2 is a usage error."""


@final
@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that one audit found.

    Args:
        name: the mechanism, as the user wrote it.
        claim: the guarantee that was audited.
        created: when the audit ran, in UTC.
        evidence: what was found, at most one of each kind; it is kept in reading order.
        parameters: the parameters of the mechanism, in words; of any text, it is never read as markup.
        relation: the neighbouring relation, as `parse_adjacency` reads it; None for recorded scores.
        assumptions: what is taken for granted.
        seed: the seed of every random number; None if nothing was sampled.
        versions: of the software, by name.
        command: the command line that makes this report again.

    Raises:
        InvalidValue: no evidence that a report can stand on, two of one kind, evidence about another claim, or a time
            that is not in UTC.
    """

    name: str
    claim: Guarantee
    created: datetime
    evidence: tuple[Evidence, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    relation: str | None = None
    assumptions: tuple[str, ...] = ()
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None

    def __post_init__(self) -> None:
        if self.created.utcoffset() != timedelta(0):
            raise InvalidValue("created", self.created, "a time in UTC", "use datetime.now(timezone.utc)")
        if not any(one.suffices for one in self.evidence):
            raise InvalidValue("evidence", None, "a verdict, a test or both", "run certify or distinguish first")
        kinds = [one.name for one in self.evidence]
        if len(set(kinds)) < len(kinds):
            raise InvalidValue("evidence", kinds, "at most one of each kind", "replace what the report holds")
        for one in self.evidence:
            if one.claim is not None and one.claim != self.claim:
                requirement = f"about the claim {self.claim.describe()}"
                raise InvalidValue(f"{one.name}.claim", one.claim.describe(), requirement, "audit one claim per report")
        object.__setattr__(self, "evidence", tuple(sorted(self.evidence, key=lambda one: one.position)))

    def find(self, kind: type[E]) -> E | None:
        """The evidence of a kind; None if there is none."""
        return next((one for one in self.evidence if isinstance(one, kind)), None)

    def with_evidence(self, *evidence: Evidence) -> Report:
        """The report with more evidence, each in the place of what there is of its kind."""
        kinds = {one.name for one in evidence}
        return replace(self, evidence=(*(one for one in self.evidence if one.name not in kinds), *evidence))

    @cached_property
    def known(self) -> OtherEvidence:
        """What the evidence says together, for a kind that is read beside the others."""
        decided = [one.decides for one in self.evidence if one.decides is not None]
        known = OtherEvidence(
            claim=self.claim,
            exact=decided[0] if decided else None,
            mu=None if self.worst is None else gdp_parameter(self.worst.loss),
            refuting=frozenset(one.name for one in self.evidence if one.refutes),
        )
        return replace(known, agreement=self._agreement_of(known))

    @property
    def disagreement(self) -> str | None:
        """The sentence to read first when two kinds of evidence contradict each other; None when they do not."""
        return self._disagreement_of(self.known)

    def _disagreement_of(self, known: OtherEvidence) -> str | None:
        for one in sorted(self.evidence, key=lambda one: -one.urgency):
            said = one.contradiction(known)
            if said is not None:
                return said
        return None

    @property
    def agreement(self) -> str | None:
        """How the statistical evidence stands to the exact verdict, in a sentence; None without both."""
        return self.known.agreement

    def _agreement_of(self, known: OtherEvidence) -> str | None:
        if known.exact is None or self.test is None:
            return None
        disagreement = self._disagreement_of(known)
        if disagreement is not None:
            return disagreement
        match known.exact, self.test.refuted:
            case Status.CERTIFIED, _:
                return "Agrees with the exact audit: the releases show nothing against the claim it certifies."
            case Status.REFUTED, True:
                return "Agrees with the exact audit: both refute the claim."
            case Status.REFUTED, False:
                return "The exact audit refutes the claim; that these samples do not is no evidence for it."
            case _:
                return "The exact audit is undecided."

    @property
    def status(self) -> Status:
        """The exact verdict, unless the releases or the code contradict it; a test alone can refute, never certify."""
        if self.known.refuting:
            return Status.REFUTED
        found = self.known.exact or Status.INCONCLUSIVE
        if found is Status.CERTIFIED and any(one.withdraws_certificate(self.known) for one in self.evidence):
            return Status.INCONCLUSIVE
        return found

    @property
    def exit_code(self) -> int:
        """0 for CERTIFIED, 1 for REFUTED, 3 for INCONCLUSIVE."""
        return EXIT_CODES[self.status]

    @property
    def answer(self) -> str:
        """One sentence: why the status is what it is."""
        if self.disagreement is not None:
            return self.disagreement
        said = self._answer
        return f"{said} {self.warning}" if self.warning else said

    @cached_property
    def summary(self) -> Summary:
        """What stands first: a sentence in plain words, the decision, and what was claimed and found."""
        tests = tuple(one for one in (self.test, self.sequential) if one is not None)
        return summary_of(
            self.status,
            self.claim,
            worst=self.worst,
            verdict=self.verdict,
            tests=tests,
            others=tuple(one for one in self.evidence if one.found is not None),
            disagreement=self.disagreement,
            warning=self.warning,
        )

    @property
    def warning(self) -> str | None:
        """What was seen of a black box that breaks what its tests take for granted, in a sentence; None if nothing."""
        if self.known.exact is not None:
            return None
        return " ".join(one.warning for one in self.evidence if one.warning is not None) or None

    @property
    def _answer(self) -> str:
        said = [(one, one.answer) for one in self.evidence if one.answer is not None]
        decided = [answer for one, answer in said if one.decides in (Status.CERTIFIED, Status.REFUTED)]
        refuting = [answer for one, answer in said if one.refutes]
        return (decided or refuting or [answer for _, answer in said] or [self.status.name])[0]

    def key_facts(self) -> tuple[dict[str, str], dict[str, str]]:
        """The numbers to read first, by name: the exact parameter, and the bounds from samples."""
        exact, statistical = dict[str, str](), dict[str, str]()
        for one in self.evidence:
            (exact if isinstance(one, ExactEvidence) else statistical).update(one.key_facts())
        return exact, statistical

    # What is asked for most, by its kind.

    @property
    def verdict(self) -> Verdict | None:
        """The exact verdict; None for a black box."""
        found = self.find(ExactEvidence)
        return None if found is None else found.verdict

    @property
    def worst(self) -> WorstCase | None:
        """The worst neighbouring pair and its privacy loss; None for a black box."""
        found = self.find(ExactEvidence)
        return None if found is None else found.worst

    @property
    def covariance(self) -> Mapping[str, Fraction] | None:
        """The distinct entries of the covariance of the noise, exactly; None for a black box."""
        found = self.find(ExactEvidence)
        return None if found is None else found.covariance

    @property
    def test(self) -> DistinguishingTest | None:
        """The test of a fixed number of samples; None if there is none."""
        found = self.find(DistinguishingEvidence)
        return None if found is None else found.test

    @property
    def sequential(self) -> SequentialTest | None:
        """The test of pairs drawn one after another; None if there is none."""
        found = self.find(SequentialEvidence)
        return None if found is None else found.test

    @property
    def leak(self) -> FloatLeak | None:
        """The search through the low bits of the outputs; None if the claim is not audited as one about float64."""
        found = self.find(LowBitsEvidence)
        return None if found is None else found.leak

    @property
    def tap(self) -> TapVerdict | None:
        """What the noise tap saw of the pair that was tested; None if it was not asked."""
        found = self.find(TapEvidence)
        return None if found is None else found.verdict

    @property
    def tap_confirmation(self) -> Confirmation | None:
        """What the tap found, on fresh releases; None if it found nothing, or they were not needed."""
        found = self.find(TapEvidence)
        return None if found is None else found.confirmation

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        exact, statistical = self.key_facts()
        known = self.verdict if self.worst is None else self.worst
        loss = None if known is None else known.loss
        measured = () if self.test is None else self.test.drawn
        return card(
            status=self.status.name,
            name=self.name,
            claim=self.claim.describe(),
            answer=self.answer if self.worst is None else self.summary.sentence,
            evidence={
                "exact": exact | (self.verdict.key_facts() if self.verdict is not None else {}),
                "statistical": statistical,
            },
            curves=measured if loss is None else (curves_of(loss, "worst neighbours"), curves_of(self.claim, None)),
        )

    def __str__(self) -> str:
        return f"{self.status.name}: {self.name} claims {self.claim.describe()}: {self.summary.sentence}"
