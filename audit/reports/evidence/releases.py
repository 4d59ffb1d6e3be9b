"""The tests of the releases: of a fixed number of samples, and of pairs that are drawn one after another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.evidence.statistics import event_in_words, sequential_section, statistics_section
from dpverdict.audit.reports.parts import FAILS, NOT_REFUTED, Brief, Check, Section
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.text import at_least, rounded_text

_CAUSE = "the sampler does not do what the analysis describes, or an assumption does not hold"


@dataclass(frozen=True, slots=True)
class ReleasesEvidence(Evidence):
    """A test of releases: it may stand alone; it can refute, never certify."""

    test: DistinguishingTest | SequentialTest

    @property
    def suffices(self) -> bool:
        """A test may stand alone."""
        return True

    @property
    def answer(self) -> str:
        """What the test says of the claim."""
        return self.test.answer

    @property
    def claim(self) -> Guarantee:
        """The claim that was tested."""
        return self.test.claim

    @property
    def refutes(self) -> bool:
        """Whether the releases contradict the claim."""
        return self.test.refuted

    def key_facts(self) -> Mapping[str, str]:
        """What the test found."""
        return self.test.key_facts()

    def brief(self, known: OtherEvidence) -> Brief:
        """Whether the releases refute the claim, with the bounds."""
        test = self.test
        bounds = [] if test.mu_lower is None else [f"mu at least {at_least(test.mu_lower, 3)}"]
        if test.epsilon_lower is not None:
            bounds.append(f"epsilon at least {at_least(test.epsilon_lower, 3)}")
        seen = f"{self.drawn}: {', '.join(bounds) or 'no bound'} (error {rounded_text(test.error_probability)})"
        result = FAILS if test.refuted else NOT_REFUTED
        told = {} if known.exact is Status.REFUTED else self.event  # one event is enough, and that one is exact
        return Brief(facts=told, checks=(Check(name=self.tested, result=result, seen=seen),))

    @property
    def tested(self) -> str:
        """What was tested, in a word."""
        return "releases"

    @property
    @abstractmethod
    def drawn(self) -> str:
        """How much was drawn, in words."""

    @property
    def event(self) -> Mapping[str, str]:
        """The outcomes that contradict the claim, and how often each side had them."""
        return {}


@final
@dataclass(frozen=True, slots=True)
class DistinguishingEvidence(ReleasesEvidence):
    """A distinguishing test of a fixed number of samples."""

    test: DistinguishingTest

    name = "test"
    position = 30
    urgency = 1

    @property
    def tested(self) -> str:
        """What was tested, in a word."""
        return "scores" if self.test.recorded else "releases"

    @property
    def drawn(self) -> str:
        """How much was drawn, in words."""
        return (
            f"{self.test.samples} a side, no mechanism was run"
            if self.test.recorded
            else f"{self.test.samples} a dataset"
        )

    @property
    def event(self) -> Mapping[str, str]:
        """The outcomes that contradict the claim, and how often each side had them."""
        return {} if self.test.witness is None else event_in_words(self.test)

    def withdraws_certificate(self, known: OtherEvidence) -> bool:
        """Whether the releases are farther apart than the exact analysis allows for any neighbours."""
        return known.mu is not None and self.test.mu_lower > known.mu.upper

    def contradiction(self, known: OtherEvidence) -> str | None:
        """That a certified claim is refuted, or a bound from samples is above the exact one."""
        error = f"with an error probability of at most {rounded_text(self.test.error_probability)}"
        if known.exact is Status.CERTIFIED and self.test.refuted:
            claim = known.claim.describe()
            return f"The exact audit certifies {claim}, but the releases contradict it {error}: {_CAUSE}."
        if self.withdraws_certificate(known):
            bound = f"mu is at least {at_least(self.test.mu_lower, 6)} {error}"
            return f"The releases contradict the exact analysis ({bound}, above the exact worst case): {_CAUSE}."
        return None

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The bounds, how they were found, and how they stand to the exact verdict."""
        yield statistics_section(self.test, known.agreement)

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The test."""
        return {"statistical.test": self.test.to_dict()}


@final
@dataclass(frozen=True, slots=True)
class SequentialEvidence(ReleasesEvidence):
    """A test of pairs that ends as soon as the claim falls."""

    test: SequentialTest

    name = "sequential"
    position = 31

    @property
    def drawn(self) -> str:
        """How much was drawn, in words."""
        end = "" if self.test.stopped_at is None else f", the claim fell at {self.test.stopped_at}"
        return f"{self.test.samples} pairs{end}"

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The wealth of the bettors, and after how many pairs the claim fell."""
        yield sequential_section(self.test)

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The test."""
        return {"statistical.sequential": self.test.to_dict()}
