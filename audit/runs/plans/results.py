"""What came out of a plan: of each audit, and of all of them as one status, one exit code and one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, final

from dpverdict.audit.documents.request import CompositionRequest, SamplerRequest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.plans.plan import Plan, PlannedAudit

NOT_RUN: Final = "NOT RUN"
"""Stands where a status would, for an audit that could not be run."""

_SHOWN: Final = 3
"""Names of audits in a sentence, at most."""


@final
class PlanStatus(Enum):
    """The status of a plan."""

    REFUTED = "REFUTED"
    """A claim was refuted that should hold."""
    CONTROL_MISSED = "CONTROL MISSED"
    """What is wrong on purpose was not refuted, so that the audit is not to be trusted."""
    NOT_RUN = NOT_RUN
    """An audit could not be run."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """An audit, or all of them together, decided nothing."""
    CERTIFIED = "CERTIFIED"
    """Every audit is decided as expected, and one of them is of a release."""


EXIT_CODES: Final = {
    PlanStatus.REFUTED: 1,
    PlanStatus.CONTROL_MISSED: 1,
    PlanStatus.NOT_RUN: 2,
    PlanStatus.INCONCLUSIVE: 3,
    PlanStatus.CERTIFIED: 0,
}
"""An INCONCLUSIVE plan that accepts what was only not refuted exits with 0, see `PlanResult.accepted`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What came out of one audit of a plan.

    Attributes:
        audit: as it was planned.
        status: None if it could not be run.
        fields: the report as JSON values; empty if it could not be run.
        page: the report as part of a page; empty if it could not be run.
        error: why it could not be run; None if it was.
        seconds: what it took when it was run.
        files: what the user's code was in, or read.
        provenance: what the result rests on, as `Provenance.to_json` has it; None for this package alone.
    """

    audit: PlannedAudit
    status: Status | None
    fields: Mapping[str, object]
    page: str
    error: str | None
    seconds: float
    files: tuple[str, ...] = ()
    provenance: Mapping[str, object] | None = None

    @property
    def of_release(self) -> bool:
        """Whether it is of one release; not of how batches are made, or of releases together."""
        return not isinstance(self.audit.request, SamplerRequest | CompositionRequest)

    @property
    def claim(self) -> str:
        """The claim in words, of an audit that was run."""
        claim: Any = self.fields.get("claim")
        if isinstance(self.audit.request, CompositionRequest):
            return self.audit.request.claim or f"an epsilon at delta {self.audit.request.delta}"
        return claim if isinstance(claim, str) else str(claim["text"])

    @property
    def met(self) -> bool:
        """Whether what was expected came out."""
        return self.status is not None and self.audit.expect.met_by(self.status)

    @property
    def decided(self) -> bool:
        """Whether what was expected was shown: a test that found nothing shows nothing."""
        return self.met and self.status is not Status.INCONCLUSIVE

    @property
    def answer(self) -> str:
        """Why the status is what it is, or why there is none."""
        return self.error or str(self.fields["answer"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """What came out of a plan.

    Attributes:
        plan: as it was read.
        seed: of every random number.
        created: when the plan was first started, in UTC.
        results: of every audit, in the order of the plan.
    """

    plan: Plan
    seed: int
    created: datetime
    results: tuple[AuditResult, ...]

    @property
    def files(self) -> dict[str, str]:
        """The files that the user's code was in, or read, by a word for each."""
        return {f"the file {path} that {one.audit.name} used": path for one in self.results for path in one.files}

    @property
    def not_run(self) -> str | None:
        """Which audits could not be run, and why the first could not; None if all were run."""
        failed = [result for result in self.results if result.status is None]
        if not failed:
            return None
        others = f" (and {len(failed) - 1} more of {len(self.results)})" if len(failed) > 1 else ""
        return f"audit {failed[0].audit.name} was not run: {failed[0].error}{others}"

    @property
    def status(self) -> PlanStatus:
        """Of the whole plan: the first of `PlanStatus` that applies."""
        if any(one.status is Status.REFUTED and not one.met for one in self.results):
            return PlanStatus.REFUTED
        if any(one.audit.control and one.status is not None and not one.met for one in self.results):
            return PlanStatus.CONTROL_MISSED
        if any(one.status is None for one in self.results):
            return PlanStatus.NOT_RUN
        if self.controls_alone or not all(one.decided for one in self.results):
            return PlanStatus.INCONCLUSIVE
        return PlanStatus.CERTIFIED

    @property
    def controls_alone(self) -> bool:
        """Whether every audit is a control, so that nothing is said of any release."""
        return all(one.audit.control for one in self.results)

    @property
    def accepted(self) -> bool:
        """Whether the plan accepts what was only not refuted, and every expectation was met that way or better."""
        return self.plan.accept_not_refuted and not self.controls_alone and all(one.met for one in self.results)

    @property
    def exit_code(self) -> int:
        """0 if every audit is decided as expected, or was met and the plan accepts that; see `EXIT_CODES`."""
        return 0 if self.accepted else EXIT_CODES[self.status]

    @property
    def conclusion(self) -> str:
        """Why the exit code is what it is, in one sentence that every face shows."""
        undecided = [one for one in self.results if one.status is not None and not one.decided]
        match self.status:
            case PlanStatus.REFUTED:
                return f"refuted: {_names([one for one in undecided if one.status is Status.REFUTED])}"
            case PlanStatus.CONTROL_MISSED:
                missed = _names([one for one in undecided if one.audit.control])
                return f"wrong on purpose and not refuted: {missed}; this audit is not to be trusted"
            case PlanStatus.NOT_RUN:
                return f"not run: {_names([one for one in self.results if one.status is None])}"
            case PlanStatus.CERTIFIED:
                return "every audit is decided as expected"
            case PlanStatus.INCONCLUSIVE:
                pass
        if self.controls_alone:
            return "the plan has controls alone, so it certifies nothing: add an audit of what is released"
        if self.accepted:
            return f'not refuted, which is no proof: {_names(undecided)}; accepted by the plan (accept = "not refuted")'
        unmet = [one for one in undecided if not one.met]
        if unmet:
            return f"expected to be certified, and not decided: {_names(unmet)}"
        remedy = 'if that is enough, write accept = "not refuted" at the top of the plan'
        return f"only not refuted, which is no proof: {_names(undecided)}; {remedy}"


def _names(results: Sequence[AuditResult]) -> str:
    more = f" and {len(results) - _SHOWN} more" if len(results) > _SHOWN else ""
    return ", ".join(one.audit.name for one in results[:_SHOWN]) + more
