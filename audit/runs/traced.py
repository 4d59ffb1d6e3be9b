"""The report of a function that was followed, from the verdict that a process of its own sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.html import render_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.tracing.verdict import TracedVerdict
from dpverdict.mechanisms.core.guarantees import parse_guarantee


def traced_report(found: Mapping[str, Any]) -> Report:
    """The report of a verdict, given as its JSON values."""
    verdict = TracedVerdict.from_dict(found)
    return Report(
        name=verdict.name,
        claim=parse_guarantee(verdict.claim),
        created=datetime.now(UTC).replace(microsecond=0),
        evidence=(TracedEvidence(verdict),),
        relation=verdict.relation,
        assumptions=verdict.assumptions,
        versions=software_versions(),
    )


def traced_page(found: Mapping[str, Any]) -> str:
    """The same as one HTML page that loads nothing."""
    return render_html(traced_report(found))
