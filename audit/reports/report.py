"""One audit, one object: the claim, the exact evidence, the statistical evidence, and what it takes to run it again.

A `Report` has three faces: `terminal.print_report`, `to_json.write_json` and `html.write_html`. All three say the
same; none computes a bound of its own, and
none puts exact and statistical evidence in one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Final, final

from dpverdict.audit.distinguishing.low_bits import FloatLeak
from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import WorstCase, gdp_parameter
from dpverdict.audit.implementation.embedding import EmbeddingCheck
from dpverdict.audit.implementation.grey_box import GreyBoxFinding
from dpverdict.audit.implementation.sequence import FLAGGED
from dpverdict.audit.implementation.tap.confirmation import Confirmation
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus, TapVerdict
from dpverdict.audit.implementation.timing import NAME as TIMES
from dpverdict.audit.losses.base import curves_of
from dpverdict.audit.reports.summary import Summary, summary_of
from dpverdict.cards import card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.text import at_least, rounded_text, shown

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
        parameters: the parameters of the mechanism, in words; of any text, it is never read as markup.
        relation: the neighbouring relation, as `parse_adjacency` reads it; None for recorded scores.
        verdict: exact evidence; None for a black box.
        worst: the worst neighbouring pair and its privacy loss; None for a black box.
        embedding: whether Algorithm 1 is the image of the standard mechanism; None where that is not claimed.
        test: statistical evidence from a fixed number of samples; None if there is none.
        sequential: the same from pairs drawn one after another; None if there is none.
        membership: the membership-inference game of one record of a real table, in words; None if there is no table.
        implementation: what a few runs with known random numbers show of the code; empty if nothing was run.
        tap: what the noise tap saw of the pair that was tested; None if it was not asked.
        tap_confirmation: what the tap found, on fresh releases; None if it found nothing, or they were not needed.
        leak: the search through the low bits of the outputs; None if the claim is not audited as one about float64.
        covariance: the distinct entries of the covariance of the noise, exactly; None for a black box.
        assumptions: what is taken for granted.
        seed: the seed of every random number; None if nothing was sampled.
        versions: of the software, by name.
        command: the command line that makes this report again.

    Raises:
        InvalidValue: no evidence at all, evidence about another claim, or a time that is not in UTC.
    """

    name: str
    claim: Guarantee
    created: datetime
    parameters: Mapping[str, str] = field(default_factory=dict)
    relation: str | None = None
    verdict: Verdict | None = None
    worst: WorstCase | None = None
    embedding: EmbeddingCheck | None = None
    test: DistinguishingTest | None = None
    sequential: SequentialTest | None = None
    membership: Mapping[str, str] | None = None
    implementation: tuple[GreyBoxFinding, ...] = ()
    tap: TapVerdict | None = None
    tap_confirmation: Confirmation | None = None
    leak: FloatLeak | None = None
    covariance: Mapping[str, Fraction] | None = None
    assumptions: tuple[str, ...] = ()
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None

    def __post_init__(self) -> None:
        if self.created.utcoffset() != timedelta(0):
            raise InvalidValue("created", self.created, "a time in UTC", "use datetime.now(timezone.utc)")
        tests = {"test": self.test, "sequential": self.sequential, "leak": self.leak}
        if self.verdict is None and self.test is None and self.sequential is None:
            raise InvalidValue("evidence", None, "a verdict, a test or both", "run certify or distinguish first")
        for name, evidence in {"verdict": self.verdict, **tests}.items():
            if evidence is not None and evidence.claim != self.claim:
                requirement = f"about the claim {self.claim.describe()}"
                raise InvalidValue(
                    f"{name}.claim", evidence.claim.describe(), requirement, "audit one claim per report"
                )

    @property
    def disagreement(self) -> str | None:
        """The sentence to read first when two kinds of evidence contradict each other; None when they do not."""
        status = None if self.verdict is None else self.verdict.status
        if self.tap is not None and self._tap_refutes and not self._refuted_otherwise:
            if self.tap.status is TapStatus.REFUTED:
                return f"The noise tap refutes {self.claim.describe()}: {self.tap.reason}."
            assert self.tap_confirmation is not None  # see _tap_refutes
            fresh = f"{self.tap_confirmation.samples} fresh releases on each dataset"
            error = f"error probability {rounded_text(self.tap_confirmation.error_probability)}"
            return f"What the noise tap found refutes {self.claim.describe()} on {fresh} ({error}): {self.tap.reason}."
        if status is not Status.REFUTED and self.embedding is not None and not self.embedding.holds:
            failed = ", ".join(self.embedding.failures)
            found = "Nothing exact refutes" if status is None else f"The exact audit says {status.name} of"
            return (
                f"{found} {self.claim.describe()}, but the embedding check fails ({failed}): the mechanism that runs "
                "is not Algorithm 1 at the claimed mu."
            )
        if status is not Status.REFUTED and self.leak is not None and self.leak.refuted:
            exact = "" if status is None else f"; the exact audit, which is about real numbers, says {status.name}"
            return (
                f"The float64 outputs break {self.claim.describe()} with an error probability of at most "
                f"{rounded_text(self.leak.error_probability)}: their low bits tell the data{exact}."
            )
        if status is Status.CERTIFIED and self._broken:
            seen = "; ".join(f"that {found.name} fails ({found.seen})" for found in self._broken)
            certified = f"The exact audit certifies {self.claim.describe()} of what is declared"
            return f"{certified}, but of the code it was seen {seen}."
        if self.test is None:
            return None
        error = f"with an error probability of at most {rounded_text(self.test.error_probability)}"
        cause = "the sampler does not do what the analysis describes, or an assumption does not hold"
        if status is Status.CERTIFIED and self.test.refuted:
            claim = self.claim.describe()
            return f"The exact audit certifies {claim}, but the releases contradict it {error}: {cause}."
        if self._exceeds_exact_mu:
            bound = f"mu is at least {at_least(self.test.mu_lower, 6)} {error}"
            return f"The releases contradict the exact analysis ({bound}, above the exact worst case): {cause}."
        return None

    @property
    def _exceeds_exact_mu(self) -> bool:
        """Whether the releases are farther apart than the exact analysis allows for any neighbours."""
        mu = None if self.worst is None else gdp_parameter(self.worst.loss)
        return self.test is not None and mu is not None and self.test.mu_lower > mu.upper

    @property
    def _broken(self) -> tuple[GreyBoxFinding, ...]:
        """What was seen of the code that breaks every claim."""
        return tuple(found for found in self.implementation if found.breaks_privacy and found.holds is False)

    @property
    def agreement(self) -> str | None:
        """How the statistical evidence stands to the exact verdict, in a sentence; None without both."""
        if self.verdict is None or self.test is None:
            return None
        if self.disagreement is not None:
            return self.disagreement
        match self.verdict.status, self.test.refuted:
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
        found = Status.INCONCLUSIVE if self.verdict is None else self.verdict.status
        if any(one is not None and one.refuted for one in (self.test, self.sequential, self.leak)) or self._tap_refutes:
            return Status.REFUTED
        another_law = self._exceeds_exact_mu or (self.embedding is not None and not self.embedding.holds)
        if found is Status.CERTIFIED and (another_law or self._broken):
            return Status.INCONCLUSIVE  # the certificate may speak of another law than that of the releases
        return found

    @property
    def _tap_refutes(self) -> bool:
        confirmed = self.tap_confirmation is not None and self.tap_confirmation.refuted
        return confirmed or (self.tap is not None and self.tap.status is TapStatus.REFUTED)

    @property
    def _refuted_otherwise(self) -> bool:
        tested = any(one is not None and one.refuted for one in (self.test, self.sequential, self.leak))
        return tested or (self.verdict is not None and self.verdict.status is Status.REFUTED)

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
            disagreement=self.disagreement,
            warning=self.warning,
        )

    @property
    def warning(self) -> str | None:
        """What was seen of a black box that breaks what its tests take for granted, in a sentence; None if nothing."""
        failed = {found.name: found.seen for found in self.implementation if found.holds is False}
        seen = [failed[name] for name in FLAGGED if name in failed]
        said = [f"But the trials were not independent draws of one law, or not left alone: {'; '.join(seen)}."]
        times = [f"But the time of a call tells the datasets apart: {failed[TIMES]}."] if TIMES in failed else []
        return " ".join([*(said if seen else []), *times]) or None if self.verdict is None else None

    @property
    def _answer(self) -> str:
        tests = [one for one in (self.test, self.sequential) if one is not None]
        refuting = [one for one in tests if one.refuted]
        if self.verdict is not None and (self.verdict.status is not Status.INCONCLUSIVE or not refuting):
            return self.verdict.answer
        return (refuting or tests)[0].answer

    def key_facts(self) -> tuple[dict[str, str], dict[str, str]]:
        """The numbers to read first, by name: the exact parameter, and the bounds from samples."""
        exact: dict[str, str] = {}
        mu = None if self.worst is None else gdp_parameter(self.worst.loss)
        if self.worst is not None and mu is not None:
            name = "Exact mu of the worst neighbours" if self.worst.exact else "Mu of any neighbours, at most"
            exact[name] = shown(mu, 10)
        statistical: dict[str, str] = {}
        for test in (self.test, self.sequential):
            if test is not None:
                statistical |= test.key_facts()
        return exact, statistical

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        exact, statistical = self.key_facts()
        known = self.verdict if self.worst is None else self.worst
        loss = None if known is None else known.loss
        return card(
            status=self.status.name,
            name=self.name,
            claim=self.claim.describe(),
            answer=self.answer if self.worst is None else self.summary.sentence,
            evidence={
                "exact": exact | (self.verdict.key_facts() if self.verdict is not None else {}),
                "statistical": statistical,
            },
            curves=[] if loss is None else [curves_of(loss, "worst neighbours"), curves_of(self.claim, None)],
        )

    def __str__(self) -> str:
        return f"{self.status.name}: {self.name} claims {self.claim.describe()}: {self.summary.sentence}"
