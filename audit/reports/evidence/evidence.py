"""What every kind of evidence says of itself: whether it refutes, its sections, its JSON values.

A report holds a list of evidence, and its faces walk that list. To add a kind, write one file here with a class that
derives from `Evidence`; no face and no other kind changes. Each section says whether it is exact, statistical or
neither, and none is both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.parts import Brief, Section
from dpverdict.balls import Enclosure
from dpverdict.mechanisms.core.guarantees import Guarantee


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEvidence:
    """What the other evidence of a report says, for a kind that has to be read beside it.

    Attributes:
        claim: the guarantee that was audited.
        exact: what the exact evidence decides; None without any.
        mu: the mu of the worst neighbours, if their loss is Gaussian.
        refuting: the names of the evidence that refutes.
        agreement: how a test of the releases stands to the exact verdict, in a sentence.
    """

    claim: Guarantee
    exact: Status | None = None
    mu: Enclosure | None = None
    refuting: frozenset[str] = frozenset()
    agreement: str | None = None


class Evidence(ABC):
    """One kind of evidence about a claim.

    Attributes:
        name: of the kind; a report holds at most one of each.
        position: in the reading order of a report; the smallest is first.
        document: the types of the fields that it adds to the JSON of a report, by their names; those under "exact" and
            "statistical" are described by `documents.report` and `documents.statistical`.
        urgency: of its contradiction, if several kinds contradict the exact verdict; the largest is said.
    """

    name: ClassVar[str]
    position: ClassVar[int]
    document: ClassVar[Mapping[str, Any]] = {}
    urgency: ClassVar[int] = 0

    @property
    def claim(self) -> Guarantee | None:
        """The claim that it is about; None if it is about the mechanism, whatever was claimed."""
        return None

    @property
    def decides(self) -> Status | None:
        """What it proves of the claim; None of what proves nothing. Statistical evidence proves nothing."""
        return None

    @property
    def refutes(self) -> bool:
        """Whether it refutes the claim, exactly or with an error probability that it states."""
        return self.decides is Status.REFUTED

    @property
    def suffices(self) -> bool:
        """Whether a report may hold this evidence alone."""
        return self.decides is not None

    @property
    def answer(self) -> str | None:
        """One sentence about the claim, if a report can rest on this evidence; None otherwise."""
        return None

    @property
    def found(self) -> str | None:
        """The numbers that it bounds, in a line that stands beside the claim; None of what bounds none."""
        return None

    @property
    def warning(self) -> str | None:
        """What breaks the assumptions of the tests of a black box, in a sentence; None if nothing does."""
        return None

    def withdraws_certificate(self, known: OtherEvidence) -> bool:
        """Whether it shows that a certificate speaks of another law than that of the releases."""
        return False

    def contradiction(self, known: OtherEvidence) -> str | None:
        """The sentence to read first, if it contradicts the exact verdict; None if it does not."""
        if self.decides is not Status.REFUTED or known.exact is not Status.CERTIFIED:
            return None
        return f"The exact audit certifies {known.claim.describe()}, but it is refuted: {self.answer}"

    def key_facts(self) -> Mapping[str, str]:
        """The numbers to read first, by name."""
        return {}

    @abstractmethod
    def brief(self, known: OtherEvidence) -> Brief:
        """What a person reads first of it."""

    @abstractmethod
    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """What it says, in sections that the terminal and the page show."""

    @abstractmethod
    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """What it says as JSON values, by the place in the JSON of a report: "tap", or "exact.verdict"."""
