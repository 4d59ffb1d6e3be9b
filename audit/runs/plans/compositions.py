"""Releases of a plan, composed: what ``dpverdict compose`` says of them, as data and as part of a page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, final

import msgspec

from dpverdict.audit.documents.request import CompositionRequest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.process import Limits
from dpverdict.audit.isolation.requests import answer_of, answered
from dpverdict.audit.reports.report import EXIT_CODES
from dpverdict.audit.runs.account_documents import composition_document, composition_part
from dpverdict.audit.runs.accounts import check_question, read_release, spent_or_held
from dpverdict.errors import DpverdictError

ENTRY: Final = "dpverdict.audit.runs.plans.compositions:work"


class CompositionFailed(DpverdictError):
    """Releases could not be composed in their process; the message is the one it had there."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedComposition:
    """What releases spend together, as data.

    Attributes:
        fields: as ``dpverdict compose --json`` has them; of no release it is asked how many more remain.
        part: of a page of many audits.
    """

    fields: Mapping[str, Any]
    part: str

    @property
    def status(self) -> Status:
        """Of the claim, where ball arithmetic or exact numbers decided; CERTIFIED too is a finite epsilon at a delta.

        What two-sided float64 bounds alone decide is INCONCLUSIVE here.
        """
        held, epsilon = self.fields["held"], self.fields["epsilon"]
        if held is not None:
            return Status[held["status"]] if held["certified"] else Status.INCONCLUSIVE
        known = epsilon["certified"] and isinstance(epsilon["above"]["upper"], float)  # an infinite one is a text
        return Status.CERTIFIED if known else Status.INCONCLUSIVE

    @property
    def exit_code(self) -> int:
        """0 for CERTIFIED, 1 for REFUTED, 3 for INCONCLUSIVE."""
        return EXIT_CODES[self.status]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"fields": dict(self.fields), "part": self.part, "exit_code": self.exit_code}

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> FinishedComposition:
        """From what `to_dict` gives."""
        return FinishedComposition(fields=found["fields"], part=found["part"])


def check_composition_request(request: CompositionRequest) -> None:
    """What is wrong with how the releases and the question are written is said before any plan is begun.

    Raises:
        InvalidValue: as `dpverdict.audit.runs.accounts.composed`, as far as nothing has to be made for it.
    """
    check_question(request.claim, request.delta)
    for text in request.releases:
        read_release(text)


def loads_code(request: CompositionRequest) -> bool:
    """Whether a release is of a class of the user, which no journal can tell apart from what it becomes."""
    return any(read_release(text).runs_code for text in request.releases)


def compose_request(request: CompositionRequest, created: datetime, anchor: str, limits: Limits) -> FinishedComposition:
    """Compose the releases: in a process of its own if it loads a user's class or has a limit, and else here.

    Args:
        request: what is composed, and held to what.
        created: the time that the document carries.
        anchor: of the part of a page.
        limits: of the process.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    if not limits and not loads_code(request):
        return _compose(request, created, anchor)
    sent = {"request": msgspec.to_builtins(request), "created": created.isoformat(), "anchor": anchor}
    return answer_of(
        ENTRY,
        sent,
        FinishedComposition.from_dict,
        what=f"the composition of {len(request.releases)} sorts of releases",
        kind="a composition",
        failed=CompositionFailed,
        limits=limits,
    )


def work(sent: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side of `compose_request`."""
    request = msgspec.convert(sent["request"], CompositionRequest)
    created = datetime.fromisoformat(sent["created"])
    return answered(lambda: _compose(request, created, sent["anchor"]), "composition")


def _compose(request: CompositionRequest, created: datetime, anchor: str) -> FinishedComposition:
    found = spent_or_held(
        request.releases, request.claim, request.delta, request.adjacency, folder=request.folder, remaining=False
    )
    risk = None if request.base_rate is None else found.loss.risk(request.base_rate)
    document = composition_document(found, risk, _command(request), created)
    return FinishedComposition(fields=document, part=composition_part(found, risk, document, anchor))


def _command(request: CompositionRequest) -> str:
    """The command line that says the same, in the folder of the plan."""
    words = ["dpverdict", "compose", *request.releases]
    for option, value in (
        ("--claim", request.claim),
        ("--delta", request.delta),
        ("--adjacency", request.adjacency),
        ("--base-rate", request.base_rate),
    ):
        words += [] if value is None else [option, value]
    return shlex.join(words)
