"""A card for notebooks: what a report, a verdict or the result of a test says, as a few lines of HTML.

All are shown as the same card, since each is a report of what is known. The style is inline, and takes ground and
ink from the notebook, so the card is readable in light and dark; every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from typing import Final

from dpverdict.audit.distinguishing_test import DistinguishingTest
from dpverdict.audit.report import Report
from dpverdict.audit.report_html import MARKS, numbers_to_read_first
from dpverdict.audit.report_numbers import shown
from dpverdict.audit.report_table import Evidence
from dpverdict.audit.sequential import SequentialTest
from dpverdict.audit.verdict import Status, Verdict

GROUNDS: Final = {Status.CERTIFIED: "#15803d", Status.REFUTED: "#b91c1c", Status.INCONCLUSIVE: "#854d0e"}
"""Behind the status, which is written in white."""

CARD: Final = (
    "max-width:46rem;padding:.8em 1em;border:1px solid rgba(128,128,128,.5);border-radius:8px;"
    "font-family:system-ui,sans-serif;font-size:14px;line-height:1.45;overflow-wrap:anywhere"
)
BADGE: Final = "display:inline-block;padding:.1em .7em;border-radius:99px;color:#fff;font-weight:700;background:"
NAME: Final = "padding:.15em 1em .15em 0;text-align:left;vertical-align:top;font-weight:400;opacity:.85"
VALUE: Final = "padding:.15em 0;text-align:left;vertical-align:top"
PLAIN: Final = "background:none;border:0"


def card(found: Report | Verdict | DistinguishingTest | SequentialTest) -> str:
    """The card as HTML: status, claim, answer, and a table for each kind of evidence."""
    report = as_report(found)
    badge = f'<span style="{BADGE}{GROUNDS[report.status]}">{MARKS[report.status]} {report.status.name}</span>'
    claims = f"<strong>{escape(report.name)}</strong> claims <strong>{escape(report.claim.describe())}</strong>"
    lines = [f'<div style="margin:0 0 .4em">{badge} {claims}</div>', f"<div>{escape(report.answer)}</div>"]
    for evidence, rows in (
        (Evidence.EXACT, [*_first(report, Evidence.EXACT), *_exact(report.verdict)]),
        (Evidence.STATISTICAL, list(_first(report, Evidence.STATISTICAL))),
    ):
        if rows:
            lines.append(_table(evidence, rows))
    return f'<div style="{CARD}">{"".join(lines)}</div>'


def as_report(found: Report | Verdict | DistinguishingTest | SequentialTest) -> Report:
    """A report that holds this evidence alone; a report is itself."""
    match found:
        case Report():
            return found
        case Verdict():
            return Report(name=found.mechanism, claim=found.claim, created=datetime.now(UTC), verdict=found)
        case DistinguishingTest():
            name, claim = found.mechanism, found.claim
            return Report(name=name, claim=claim, created=datetime.now(UTC), test=found, seed=found.seed)
        case SequentialTest():
            name, claim = found.mechanism, found.claim
            return Report(name=name, claim=claim, created=datetime.now(UTC), sequential=found, seed=found.seed)


def _first(report: Report, evidence: Evidence) -> Iterator[tuple[str, str]]:
    for tile in numbers_to_read_first(report):
        if tile.evidence is evidence:
            yield tile.name, tile.value


def _exact(verdict: Verdict | None) -> Iterator[tuple[str, str]]:
    if verdict is None:
        return
    if verdict.certificate is not None:
        yield "attained", shown(verdict.certificate.value)
        yield "allowed", shown(verdict.certificate.bound)
        yield "worst neighbours", verdict.certificate.worst_case
        yield "assumed", "; ".join(verdict.certificate.assumptions)
    if verdict.witness is not None:
        yield "neighbours", verdict.witness.difference
        yield "event", verdict.witness.event
        yield "its probability", shown(verdict.witness.probability)
        yield "on the neighbour", shown(verdict.witness.neighbour_probability)


def _table(evidence: Evidence, rows: list[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr style="{PLAIN}"><th scope="row" style="{NAME}">{escape(name)}</th>'
        f'<td style="{VALUE}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    caption = f'<caption style="caption-side:top;text-align:left;padding:0">{evidence.name.lower()}</caption>'
    return f'<table style="margin:.7em 0 0;border-collapse:collapse;{PLAIN}">{caption}<tbody>{cells}</tbody></table>'
