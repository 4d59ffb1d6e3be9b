"""What audits found at which line of the code, for code scanning: SARIF 2.1.0 (OASIS Standard, March 2020).

A claim that is refuted is an error, one that is not decided a warning, and what cannot be followed a note at the line
that says so; what is certified, and a control that was caught, has no entry. An audit that was not run is told as a
notification of the tool.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.documents.request import AnyRequest, ScoresRequest, names_a_callable
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
    return json.dumps(sarif_fields(result), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def sarif_fields(result: PlanResult) -> dict[str, Any]:
    """The findings as JSON values."""
    names = list(RULES)
    rules = [
        {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for name, (level, text) in RULES.items()
    ]
    not_run = [one for one in result.results if one.status is None]
    told = [{"level": "error", "message": {"text": f"{one.audit.name} was not run: {one.error}"}} for one in not_run]
    found = [{**entry, "ruleIndex": names.index(entry["ruleId"])} for one in result.results for entry in _entries(one)]
    driver = {"name": "dpverdict", "version": software_versions()["dpverdict"], "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [{"executionSuccessful": not told, "toolExecutionNotifications": told}],
                "columnKind": "unicodeCodePoints",
                "results": found,
            }
        ],
    }


def _entries(one: AuditResult) -> Iterator[dict[str, Any]]:
    if one.status is None or (one.met and one.status is not Status.INCONCLUSIVE):
        return
    traced: Any = one.fields.get("traced") or {}
    file, begins = _source(one.audit.request)
    lines = [line for line in traced.get("lines", ()) if _number(line["line"]) is not None]
    reason = str(traced.get("reason", ""))
    refused = None if traced.get("covered", True) else _LINE.search(reason)
    place, related = None, lines
    if refused is not None:
        place = refused.group(1)
    elif lines:
        place, related = lines[0]["line"], lines[1:]
    if one.status is Status.REFUTED:
        rule = "refuted"
    elif one.audit.control:
        rule = "control-missed"
    else:
        rule = "not-decided" if traced.get("covered", True) else "not-covered"
    claim: Any = one.fields["claim"]
    told = [f"{one.audit.name} claims {claim['text']}: {one.answer}"]
    told += [f"{line['statistic']}: a record moves it by {line['moved']}; {line['noise']}; spends {line['spent']}."
             for line in lines[: 1 if refused is None else 0]]  # fmt: skip
    if traced.get("witness") is not None:
        told.append(f"The pair: {traced['witness']['words'][0]}.")
    entry: dict[str, Any] = {"ruleId": rule, "level": RULES[rule][0], "message": {"text": " ".join(told)}}
    logical = [{"fullyQualifiedName": one.audit.name, "kind": "function"}]
    if file is None:
        entry["locations"] = [{"logicalLocations": logical}]
    else:
        entry["locations"] = [{**_location(file, place, begins), "logicalLocations": logical}]
        if related:
            entry["relatedLocations"] = [
                {"id": i, **_location(file, line["line"], begins),
                 "message": {"text": f"{line['statistic']}: {line['noise']}; spends {line['spent']}"}}
                for i, line in enumerate(related, 1)
            ]  # fmt: skip
    digest = hashlib.sha256(f"{rule} {one.audit.name} {claim['text']} {traced.get('lines')}".encode()).hexdigest()
    yield {**entry, "partialFingerprints": {"dpverdict/v1": digest[:32]}}


def _source(request: AnyRequest) -> tuple[str | None, int]:
    """The file of a user's function and the line where it begins; None of what is in no file that is seen here."""
    if isinstance(request, ScoresRequest) or not names_a_callable(request.mechanism):
        return None, 1
    where, _, name = request.mechanism.rpartition(":")
    path = Path(where if where.endswith(".py") else where.replace(".", "/") + ".py")
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return (str(path), 1) if where.endswith(".py") else (None, 1)
    defined = [node.lineno for node in tree.body if getattr(node, "name", None) == name]
    return str(path), defined[-1] if defined else 1


def _number(line: str) -> int | None:
    """The number in "line 4" or in "helpers.py:12"."""
    found = re.fullmatch(r"(?:line |.+\.py:)(\d+)", line)
    return None if found is None else int(found.group(1))


def _location(file: str, line: str | None, begins: int) -> dict[str, Any]:
    """A line of the function's file, or of another one beside it; the function's first line if none is known."""
    number = None if line is None else _number(line)
    if line is not None and ".py:" in line:
        beside = Path(file).with_name(line.rpartition(":")[0])
        file = str(beside) if beside.is_file() else file
    path = Path(os.path.relpath(file)) if os.path.splitdrive(os.path.abspath(file))[0] == "" else Path(file)
    outside = path.parts[:1] == ("..",)
    uri = Path(file).absolute().as_uri() if outside else path.as_posix().replace("%", "%25").replace(" ", "%20")
    artifact = {"uri": uri} | ({} if outside else {"uriBaseId": "%SRCROOT%"})
    region = {"startLine": begins if number is None else number}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}
