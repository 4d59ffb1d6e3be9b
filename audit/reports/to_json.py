"""The JSON of a report: strict, versioned, described field by field by `ReportDocument`.

A number that is certified is an object with the ends of its enclosure; an exact rational is a string ``"p/q"``; an
infinite number is the string ``"inf"`` or ``"-inf"``. There is no NaN.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, cast

from dpverdict.audit.distinguishing.witness_document import strict_json
from dpverdict.audit.documents.report import ClaimFields, ExactFields, ReportDocument
from dpverdict.audit.documents.schema import checked, fields_of, json_schema
from dpverdict.audit.reports import evidence
from dpverdict.audit.reports.evidence.evidence import Evidence
from dpverdict.audit.reports.evidence.exact import rational_fields
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import assumptions_of
from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.text import time_stamp

SCHEMA_VERSION: Final = 1
"""Raised when a field changes its meaning or goes away; a new field does not raise it."""

_EMPTY: Final[Mapping[str, Mapping[str, object]]] = {
    "exact": dict.fromkeys(fields_of(ExactFields)) | {"embedding": []},
    "statistical": dict.fromkeys(("test", "sequential", "embedding", "low_bits")),
}
"""What stands under a name where one kind of evidence has put something there, and others have not."""


def write_json(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the report as JSON, whole or not at all.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    write_atomically(path, render_json(report))


def render_json(report: Report) -> str:
    """The report as JSON text: the same report gives the same bytes."""
    return json.dumps(strict_json(report_fields(report)), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def read_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `render_json` writes, with the fields of every kind of evidence."""
    added: dict[str, Any] = {}
    for module in pkgutil.iter_modules(evidence.__path__, evidence.__name__ + "."):
        for kind in vars(importlib.import_module(module.name)).values():
            if isinstance(kind, type) and issubclass(kind, Evidence):
                added |= kind.document
    schema = json_schema(ReportDocument, identifier=f"urn:dpverdict:report:{SCHEMA_VERSION}")
    for name, document in added.items():
        part = json_schema(document)
        schema["$defs"] |= part.pop("$defs")
        schema["properties"][name] = part
    return schema


def report_fields(report: Report) -> ReportDocument:
    """The report as JSON values; a number may be infinite, see `render_json`."""
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "created": time_stamp(report.created),
        "mechanism": {
            "name": report.name,
            "parameters": dict(report.parameters),
            "relation": report.relation,
        },
        "claim": _claim(report.claim),
        "status": report.status.name,
        "exit_code": report.exit_code,
        "summary": dataclasses.asdict(report.summary),
        "answer": report.answer,
        "disagreement": report.disagreement,
        "exact": None,
        "statistical": None,
        "membership": None,
        "implementation": [],
        "assumptions": list(assumptions_of(report)),
    }
    for one in report.evidence:
        for place, value in one.fields(report.known).items():
            name, _, part = place.partition(".")
            fields[name] = value if not part else {**(fields[name] or _EMPTY[name]), part: value}
        for name, document in one.document.items():
            checked(strict_json(fields[name]), document, name)
    fields["reproduction"] = {"command": report.command, "seed": report.seed, "versions": dict(report.versions)}
    checked(strict_json(fields), ReportDocument, "report")
    return cast("ReportDocument", fields)


def _claim(claim: Guarantee) -> ClaimFields:
    named = ((parameter.name, getattr(claim, parameter.name)) for parameter in dataclasses.fields(claim))
    parameters = {name: rational_fields(value) for name, value in named if isinstance(value, Fraction)}
    return checked(
        {"kind": type(claim).__name__, "text": claim.describe(), "parameters": parameters}, ClaimFields, "claim"
    )
