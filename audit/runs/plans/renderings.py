"""The faces of a finished plan: a table in the terminal, JSON, JUnit XML for a CI system, and one HTML page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.documents.plan import PlanDocument
from dpverdict.audit.documents.request import CompositionRequest
from dpverdict.audit.documents.schema import checked, json_schema
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.html import render
from dpverdict.audit.reports.terminal import plain
from dpverdict.audit.runs.plans.plan import Expected
from dpverdict.audit.runs.plans.results import NOT_RUN, AuditResult, PlanResult, PlanStatus
from dpverdict.cards import MARKS
from dpverdict.numerics.text import time_stamp

BADGES: Final = {
    PlanStatus.CERTIFIED: "AS EXPECTED",
    PlanStatus.INCONCLUSIVE: "NOT DECIDED",
    PlanStatus.NOT_RUN: "NOT RUN",
    PlanStatus.CONTROL_MISSED: "CONTROL MISSED",
    PlanStatus.REFUTED: "REFUTED",
}
"""What the head of the page says of the plan."""

SCHEMA_VERSION: Final = 1
"""Raised when a field changes its meaning or goes away; a new field does not raise it."""

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plan_fields(result: PlanResult) -> PlanDocument:
    """The result as JSON values, described field by field by `PlanDocument`."""
    fields = {
        "schema_version": SCHEMA_VERSION,
        "title": result.plan.title,
        "created": time_stamp(result.created),
        "seed": result.seed,
        "error_probability": result.plan.error_probability,
        "exit_code": result.exit_code,
        "status": result.status.value,
        "accept": Expected.NOT_REFUTED.value if result.plan.accept_not_refuted else None,
        "conclusion": result.conclusion,
        "counts": counts(result),
        "audits": [
            {
                "name": one.audit.name,
                "expect": one.audit.expect.value,
                "control": one.audit.control,
                "met": one.met,
                "status": status_of(one),
                "error": one.error,
                "report": dict(one.fields) or None,
            }
            for one in result.results
        ],
    }
    return checked(fields, PlanDocument, "result")


def render_plan_json(result: PlanResult) -> str:
    """The result as JSON text: the same result gives the same bytes."""
    return json.dumps(plan_fields(result), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def read_plan_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of what `render_plan_json` writes."""
    return json_schema(PlanDocument, identifier=f"urn:dpverdict:plan:{SCHEMA_VERSION}", closed=True)


def render_junit(result: PlanResult) -> str:
    """The result as JUnit XML: a success only where the exit code would be 0 for it alone, an audit not run an error.

    A plan of controls alone is one failure more, because each of its audits is a success.
    """
    failed = [one for one in result.results if one.status is not None and not _leaves_exit_code_0(one, result)]
    failures = len(failed) + result.controls_alone
    errors = sum(one.status is None for one in result.results)
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        name=_xml(result.plan.title),
        tests=str(len(result.results) + result.controls_alone),
        failures=str(failures),
        errors=str(errors),
        skipped="0",
        time=f"{sum(one.seconds for one in result.results):.3f}",
        timestamp=time_stamp(result.created).removesuffix("Z"),
    )
    properties = ElementTree.SubElement(suite, "properties")
    stated = {"status": result.status.value, "conclusion": result.conclusion}
    if result.plan.accept_not_refuted:
        stated["accept"] = Expected.NOT_REFUTED.value
    for name, value in stated.items():
        ElementTree.SubElement(properties, "property", name=name, value=_xml(value))
    for one in result.results:
        case = ElementTree.SubElement(
            suite, "testcase", classname="dpverdict", name=_xml(one.audit.name), time=f"{one.seconds:.3f}"
        )
        if not _leaves_exit_code_0(one, result):
            kind = "error" if one.status is None else "failure"
            problem = one.answer if one.status is None else f"{status_of(one)}, expected {one.audit.expect.value}"
            if one.met:
                problem += ", which is no proof"
            element = ElementTree.SubElement(case, kind, message=_xml(problem), type=status_of(one))
            element.text = _xml(one.answer)
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(f"{status_of(one)}: {one.answer}")
    if result.controls_alone:
        case = ElementTree.SubElement(
            suite, "testcase", classname="dpverdict", name="the plan as a whole", time="0.000"
        )
        ElementTree.SubElement(case, "failure", message=_xml(result.conclusion), type=result.status.value)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def render_plan_html(result: PlanResult) -> str:
    """One page with an index and every report; the same result gives the same bytes."""
    from markupsafe import Markup

    rows = [
        {"one": one, "status": status_of(one), "said": said_result(one, result), "page": Markup(one.page)}
        for one in result.results
    ]
    page = render(
        "plan.html.j2",
        result=result,
        rows=rows,
        counts=counts(result),
        badge=BADGES[result.status],
        mark=MARKS.get(result.status.value, MARKS["REFUTED"]),
        version=software_versions()["dpverdict"],
        created=result.created,
    )
    return page + "\n"


def print_plan(result: PlanResult) -> None:
    """The table of the audits, and a summary line."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(title=plain(result.plan.title), box=None, header_style="bold", title_justify="left")
    for name in ("audit", "status", "expected", ""):
        table.add_column(name, no_wrap=name == "status")
    for one in result.results:
        said = said_result(one, result)
        table.add_row(
            plain(said_name(one)),
            plain(status_of(one), style=_STYLES[one.status]),
            one.audit.expect.value,
            plain(said, style=_SAID_STYLES[said]),
        )
    console.print(table)
    for one in result.results:
        if not one.met or isinstance(one.audit.request, CompositionRequest):  # whose answer is a number
            console.print(plain(f"\n{one.audit.name}: {one.answer}"))
    good = sum(one.met for one in result.results)
    tests = f"error probability {result.plan.error_probability} for all tests together, seed {result.seed}"
    console.print(plain(f"\n{good} of {len(result.results)} audits as expected ({tests})"))
    if result.status is not PlanStatus.CERTIFIED:
        console.print(plain(f"{BADGES[result.status]}: {result.conclusion}"))


def said_result(one: AuditResult, result: PlanResult) -> str:
    """What an audit means for the exit code of the plan."""
    if one.met and not _leaves_exit_code_0(one, result):
        return "not decided"
    return "as expected" if one.met else "NOT as expected"


def _leaves_exit_code_0(one: AuditResult, result: PlanResult) -> bool:
    """Whether an audit by itself leaves the exit code of the plan at 0."""
    return one.decided or (one.met and result.plan.accept_not_refuted)


def said_name(one: AuditResult) -> str:
    """The name of an audit, and that it is a control if it is one."""
    return f"{one.audit.name} (control)" if one.audit.control else one.audit.name


def counts(result: PlanResult) -> Mapping[str, int]:
    """How many audits ended with each status."""
    found = dict.fromkeys((*(status.name for status in Status), NOT_RUN), 0)
    for one in result.results:
        found[status_of(one)] += 1
    return found


def status_of(one: AuditResult) -> str:
    """The name of the status, or that there is none."""
    return NOT_RUN if one.status is None else one.status.name


_STYLES: Final = {Status.CERTIFIED: "green", Status.REFUTED: "red", Status.INCONCLUSIVE: "yellow", None: "bold red"}

_SAID_STYLES: Final = {"as expected": "green", "not decided": "yellow", "NOT as expected": "bold red"}


def _xml(text: str) -> str:
    """The text without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
