"""What was found at which line of the code, for code scanning: SARIF 2.1.0 (OASIS Standard, March 2020).

A claim that is refuted is an error, one that is not decided a warning, and what cannot be followed a note at the line
that says so; what is certified, and a control that was caught, has no entry. What was not run is told as a notification
of the tool.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.documents.request import (
    AnyRequest,
    CompositionRequest,
    PlannedRequest,
    SamplerRequest,
    ScoresRequest,
    names_a_callable,
)
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.finished_audit import FinishedAudit
from dpverdict.audit.runs.plans.plan import Expected, Plan, PlannedAudit
from dpverdict.audit.runs.plans.results import AuditResult, PlanResult

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
RULES: Final[Mapping[str, tuple[str, str]]] = {
    "refuted": ("error", "A claim of privacy does not hold: a pair of neighbouring datasets breaks it."),
    "control-missed": ("error", "What is wrong on purpose was not refuted, so that the audit is not to be trusted."),
    "not-decided": ("warning", "A claim of privacy was neither proved nor refuted."),
    "not-covered": ("note", "What this line does to data is not known, so that nothing is certified of the function."),
}
"""The rules by their names: how much each matters, and what it means."""

_LINE: Final = re.compile(r"(?:^|trace: )(line \d+|[^\s:]+\.py:\d+)(?=: )")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found of one function.

    Attributes:
        name: of the function, or of its audit.
        claim: in words.
        status: REFUTED or INCONCLUSIVE; CERTIFIED of a control that had to be refuted.
        answer: why.
        control: whether it was wrong on purpose.
        fields: of the report: what was followed ("traced"), and what the noise tap saw ("tap").
        source: the file of the function, and the line where it begins; None of what is in no file that is seen.
    """

    name: str
    claim: str
    status: Status
    answer: str
    control: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    source: tuple[str, int] | None = None

    @property
    def rule(self) -> str:
        """Which of `RULES` it is."""
        if self.status is Status.REFUTED:
            return "refuted"
        if self.control:
            return "control-missed"
        return "not-decided" if (self.fields.get("traced") or {}).get("covered", True) else "not-covered"


def sarif_text(findings: Sequence[Finding], not_run: Sequence[str] = ()) -> str:
    """Findings as SARIF text: the same ones give the same bytes.

    Args:
        findings: what was found.
        not_run: a sentence for each audit that was not run.
    """
    return sarif_log([entry_of(one) for one in findings], not_run)


def sarif_log(entries: Sequence[Mapping[str, Any]], not_run: Sequence[str] = ()) -> str:
    """The same, of results that `entry_of` made."""
    rules = [
        {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for name, (level, text) in RULES.items()
    ]
    told = [{"level": "error", "message": {"text": text}} for text in not_run]
    driver = {"name": "dpverdict", "version": software_versions()["dpverdict"], "rules": rules}
    fields = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [{"executionSuccessful": not told, "toolExecutionNotifications": told}],
                "columnKind": "unicodeCodePoints",
                "results": [dict(one) for one in entries],
            }
        ],
    }
    return json.dumps(fields, indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def entry_of(found: Finding) -> dict[str, Any]:
    """A finding as a result of SARIF, with the lines of the releases where they are known."""
    traced: Mapping[str, Any] = found.fields.get("traced") or {}
    lines = [line for line in traced.get("lines", ()) if _number(line["line"]) is not None]
    refused = None if traced.get("covered", True) else _LINE.search(str(traced.get("reason", "")))
    place, related = _seen_by_tap(found.fields), lines
    if refused is not None:
        place = refused.group(1)
    elif lines:
        place, related = lines[0]["line"], lines[1:]
    told = [f"{found.name} claims {found.claim}: {found.answer}"]
    told += [f"{line['statistic']}: a record moves it by {line['moved']}; {line['noise']}; spends {line['spent']}."
             for line in lines[: 1 if refused is None else 0]]  # fmt: skip
    if traced.get("witness") is not None:
        told.append(f"The pair: {traced['witness']['words'][0]}.")
    rule = found.rule
    entry: dict[str, Any] = {"ruleId": rule, "ruleIndex": list(RULES).index(rule), "level": RULES[rule][0],
                             "message": {"text": " ".join(told)}}  # fmt: skip
    logical = [{"fullyQualifiedName": found.name, "kind": "function"}]
    if found.source is None:
        entry["locations"] = [{"logicalLocations": logical}]
    else:
        file, begins = found.source
        entry["locations"] = [{**_location(file, place, begins), "logicalLocations": logical}]
        if related:
            entry["relatedLocations"] = [
                {"id": i, **_location(file, line["line"], begins),
                 "message": {"text": f"{line['statistic']}: {line['noise']}; spends {line['spent']}"}}
                for i, line in enumerate(related, 1)
            ]  # fmt: skip
    digest = hashlib.sha256(f"{rule} {found.name} {found.claim} {traced.get('lines')}".encode()).hexdigest()
    return {**entry, "partialFingerprints": {"dpverdict/v1": digest[:32]}}


def _seen_by_tap(fields: Mapping[str, Any]) -> str | None:
    """The line of the draw, or of what goes around the noise, as the noise tap saw it; None if it saw none."""
    tap: Mapping[str, Any] = fields.get("tap") or {}
    rows = sorted(tap.get("rows", ()), key=lambda row: not row["wrong"])
    places = [one["where"] for one in (*tap.get("findings", ()), *rows)]
    return next((one for one in places if _number(one) is not None), None)


def _number(line: str) -> int | None:
    """The number in "line 4" or in "helpers.py:12"."""
    found = re.fullmatch(r"(?:line |.+\.py:)(\d+)", line)
    return None if found is None else int(found.group(1))


def _location(file: str, line: str | None, begins: int) -> dict[str, Any]:
    """A line of the function's file, or of another one beside it; the function's first line if none is known."""
    number = None if line is None else _number(line)
    if line is not None and ".py:" in line:
        beside = Path(file).with_name(os.path.basename(line.rpartition(":")[0]))
        if not beside.is_file():
            number = None
        else:
            file = str(beside)
    path = Path(os.path.relpath(file)) if os.path.splitdrive(os.path.abspath(file))[0] == "" else Path(file)
    outside = path.parts[:1] == ("..",)
    uri = Path(file).absolute().as_uri() if outside else path.as_posix().replace("%", "%25").replace(" ", "%20")
    artifact = {"uri": uri} | ({} if outside else {"uriBaseId": "%SRCROOT%"})
    region = {"startLine": begins if number is None else number}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


# the audits of a plan -----------------------------------------------------------------------------------------------


def alone(request: AnyRequest, made: FinishedAudit) -> PlanResult:
    """One audit as a plan of its own, which has to be certified."""
    scores = isinstance(request, ScoresRequest)
    name = "recorded scores" if isinstance(request, ScoresRequest) else request.mechanism
    audit = PlannedAudit(name=name, anchor="audit", expect=Expected.CERTIFIED, request=request)
    result = AuditResult(audit=audit, status=made.status, fields=made.fields, page="", error=None, seconds=0.0)
    reproduction: Any = made.fields["reproduction"]
    created = datetime.fromisoformat(str(made.fields["created"])).astimezone(UTC)
    plan = Plan(title="dpverdict scores" if scores else "dpverdict audit", seed=None, error_probability="",
                audits=(audit,), folder=Path.cwd())  # fmt: skip
    return PlanResult(plan=plan, seed=reproduction["seed"] or 0, created=created, results=(result,))


def render_sarif(result: PlanResult) -> str:
    """The findings as SARIF text: the same result gives the same bytes."""
    not_run = [f"{one.audit.name} was not run: {one.error}" for one in result.results if one.status is None]
    return sarif_text([found for one in result.results for found in _found(one)], not_run)


def _found(one: AuditResult) -> Iterator[Finding]:
    if one.status is None or (one.met and one.status is not Status.INCONCLUSIVE):
        return
    yield Finding(name=one.audit.name, claim=one.claim, status=one.status, answer=one.answer,
                  control=one.audit.control, fields=one.fields, source=_source(one.audit.request))  # fmt: skip


def _source(request: PlannedRequest) -> tuple[str, int] | None:
    """The file of a user's function and the line where it begins; None of what is in no file that is seen here."""
    if isinstance(request, ScoresRequest | CompositionRequest):
        return None
    function = request.loader if isinstance(request, SamplerRequest) else request.mechanism
    if not names_a_callable(function):
        return None
    where, _, name = function.rpartition(":")
    path = Path(where if where.endswith(".py") else where.replace(".", "/") + ".py")
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return (str(path), 1) if where.endswith(".py") else None
    defined = [node.lineno for node in tree.body if getattr(node, "name", None) == name]
    return str(path), defined[-1] if defined else 1
