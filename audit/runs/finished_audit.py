"""A finished audit as data: the report as JSON values with its faces as text, and what it takes to believe them."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, final

from rich.console import Console
from rich.text import Text

from dpverdict.audit.documents.request import AnyRequest, Request
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.provenance import Provenance, read_provenance
from dpverdict.audit.reports.evidence.risk import RiskEvidence
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.html import render_html, render_part
from dpverdict.audit.reports.report import EXIT_CODES, Report
from dpverdict.audit.reports.terminal import print_report
from dpverdict.audit.reports.to_json import render_json
from dpverdict.audit.runs.accounts import risk_lines
from dpverdict.audit.runs.request import report_witness
from dpverdict.audit.trials.journal import Journal
from dpverdict.errors import MechanismFailure, printable
from dpverdict.numerics.stages import begin_stage


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRenderings:
    """Which faces of the report are wanted.

    Attributes:
        created: the time that the report carries; None for that of the audit.
        anchor: of the report as part of a page; None if no part is wanted.
        page: whether the whole page is wanted.
        witness: whether the document that refutes is.
        console: how wide, in what colours and in what encoding the terminal is, and whether it shows all; None if
            nothing is printed.
        trials: the journal of the trials that are finished; None to keep none.
    """

    created: datetime | None = None
    anchor: str | None = None
    page: bool = False
    witness: bool = False
    console: Mapping[str, object] | None = None
    trials: Journal | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAudit:
    """A finished audit, as data.

    Attributes:
        status: as the evidence has it.
        fields: the report as JSON values.
        part: the report as part of a page, or "".
        page: the report as a page, or "".
        text: the report for the terminal, or "".
        witness: the document that refutes; None if none was wanted, or nothing is refuted.
        certificate: the operations of a function that was followed and is certified; None of any other.
        provenance: what the result rests on; None for this package alone.
    """

    status: Status
    fields: Mapping[str, object]
    part: str
    page: str
    text: str
    witness: Mapping[str, Any] | None
    provenance: Provenance | None
    certificate: Mapping[str, Any] | None = None

    @property
    def json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.fields, indent=2, allow_nan=False, ensure_ascii=True) + "\n"

    @property
    def exit_code(self) -> int:
        """0 for CERTIFIED, 1 for REFUTED, 3 for INCONCLUSIVE."""
        return EXIT_CODES[self.status]


def finish_audit(report: Report, asked: AnyRequest, wanted: WantedRenderings) -> FinishedAudit:
    """A report as data, with the faces that are wanted."""
    if wanted.created is not None:
        report = dataclasses.replace(report, created=wanted.created)
    begin_stage("certified curves")
    fields = json.loads(render_json(report))
    begin_stage("report")
    traced = report.find(TracedEvidence)
    return FinishedAudit(
        status=status_of_fields(fields),
        fields=fields,
        part="" if wanted.anchor is None else render_part(report, wanted.anchor),
        page=render_html(report) if wanted.page else "",
        text="" if wanted.console is None else printed(_terminal_face(report, wanted.console), wanted.console),
        witness=report_witness(report, asked) if wanted.witness and isinstance(asked, Request) else None,
        provenance=None,
        certificate=None if traced is None else traced.verdict.certificate,
    )


def _terminal_face(report: Report, wanted: Mapping[str, object]) -> Callable[[Console], None]:
    """The report in the terminal: in short, of a function that was followed the table of its releases; or all of it."""
    traced = report.find(TracedEvidence)
    if traced is None or wanted.get("details", True):
        return partial(print_report, report, details=bool(wanted.get("details", True)))
    verdict, risk = traced.verdict, report.find(RiskEvidence)

    def show(console: Console) -> None:
        said = "" if risk is None else "\n".join(("", *risk_lines(risk.risk)))
        text = printable(verdict.text(console.width) + said, console.encoding)
        console.print(Text(text), highlight=False, soft_wrap=True)

    return show


def console_facts(*, details: bool = True) -> dict[str, object]:
    """What `WantedRenderings.console` is to hold for standard output.

    Args:
        details: whether all of a report is shown, or what a person reads first.
    """
    console = Console()
    return {
        "width": console.width,
        "color_system": console.color_system,
        "terminal": console.is_terminal,
        "encoding": console.encoding,
        "details": details,
    }


def read_finished_audit(answer: object, what: str) -> FinishedAudit:
    """What a process sent, or a journal kept, as an audit that is finished.

    Raises:
        MechanismFailure: it is no report, or one that contradicts itself.
    """
    try:
        if not isinstance(answer, dict) or not isinstance(answer["fields"], dict):
            raise ValueError("it is no report")
        found: dict[str, Any] = answer
        texts = {name: found.get(name, "") for name in ("part", "page", "text")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError("a face of it is no text")
        witness, certificate = found.get("witness"), found.get("certificate")
        if certificate is not None and not isinstance(certificate, dict):
            raise ValueError("its certificate is no document")
        if witness is not None and not isinstance(witness, dict):
            raise ValueError("its witness is no document")
        return FinishedAudit(
            status=status_of_fields(found["fields"]),
            fields=found["fields"],
            witness=witness,
            certificate=certificate,
            provenance=None if found["provenance"] is None else read_provenance(found["provenance"]),
            **texts,
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = f"sent something that is no report ({' '.join(str(error).split())})"
        raise MechanismFailure(what, problem, "look at what it replaces or writes to") from None


def status_of_fields(fields: Mapping[str, Any]) -> Status:
    """The status of a report as JSON values, if it is the one that its evidence leads to.

    Raises:
        ValueError: the status is not the evidence's.
        KeyError, TypeError: a field is missing, or is of another kind.
    """
    status = Status[fields["status"]]
    if fields["exit_code"] != EXIT_CODES[status] or not isinstance(fields["answer"], str):
        raise ValueError("its status and its exit code differ")
    json.dumps(fields, allow_nan=False)
    verdict = None if fields["exact"] is None else fields["exact"]["verdict"]
    exact = None if verdict is None else Status[verdict["status"]]
    statistical = fields["statistical"] or {}
    tests = [statistical.get(name) for name in ("test", "sequential", "low_bits")]
    refuted = any(one is not None and one["refuted"] is not False for one in tests)
    tap = fields.get("tap") or {}
    tapped = tap.get("status") == "REFUTED" or bool((fields.get("tap_confirmation") or {}).get("refuted"))
    traced = fields.get("traced") or {}
    certified = traced.get("status") == Status.CERTIFIED.name and traced["covered"] is True
    if verdict is not None:
        certified = exact is Status.CERTIFIED and verdict["certificate"] is not None
    refuted = refuted or traced.get("status") == Status.REFUTED.name
    if status is Status.CERTIFIED and (refuted or tapped or not certified):
        raise ValueError("it says CERTIFIED without a certificate, or against a test")
    if (status is Status.REFUTED) is not (refuted or tapped or exact is Status.REFUTED):
        raise ValueError("its status is not that of its evidence")
    return status


def printed(show: Callable[[Console], None], console: Mapping[str, Any]) -> str:
    """What ``show`` prints, as the terminal that `console_facts` describes shows it."""
    encoding = str(console["encoding"])
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", newline="")
    shown = Console(
        file=file,
        width=console["width"],
        color_system=console["color_system"],
        force_terminal=console["terminal"],
        legacy_windows=False,
    )
    show(shown)
    file.flush()
    written = file.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode(encoding)
