"""The page of a report: one self-contained HTML file that loads nothing, to attach to a release review.

A card for notebooks: what a report, a verdict or the result of a test says, as a few lines of HTML.

All are shown as the same card, since each is a report of what is known. The style is inline, and takes ground and
ink from the notebook, so the card is readable in light and dark; every text is escaped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib import resources
from typing import Final, final

from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import gdp_parameter
from dpverdict.audit.reports.figures import covariance, profile, trade_off
from dpverdict.audit.reports.parts import Evidence
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import sections
from dpverdict.audit.reports.statistics import sequential_tiles, statistical_tiles
from dpverdict.audit.trials.journal import write_atomically
from dpverdict.numerics.text import shown

MARKS: Final = {Status.CERTIFIED: "\N{CHECK MARK}", Status.REFUTED: "\N{BALLOT X}", Status.INCONCLUSIVE: "?"}
"""What stands in the badge before the status, for the eye alone."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A number to read first, and the kind of evidence it is."""

    name: str
    value: str
    evidence: Evidence


def write_html(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    write_atomically(path, render_html(report))


def render_html(report: Report) -> str:
    """The page as text: the same report gives the same bytes.

    Every text of the report is escaped; only the drawings, made here from numbers, and the style sheet are markup.
    """
    return render("report.html.j2", style=style_sheet(), **_parts(report)) + "\n"


def render_part(report: Report, prefix: str) -> str:
    """What one audit says, for a page with many: without frame and footer, every anchor beginning with ``prefix``."""
    part = render("report_body.html.j2", **_parts(report))
    part = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", part)  # a quote in a text is escaped: never id="
    return re.sub(
        r'aria-labelledby="([^"]*)"',
        lambda match: 'aria-labelledby="' + " ".join(f"{prefix}-{name}" for name in match[1].split()) + '"',
        part,
    )


def render(template: str, **values: object) -> str:
    """A template of this folder with its values; text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_resource),
    )
    environment.filters["shape"] = _shape
    environment.filters["drawing"] = Markup
    return environment.get_template(template).render(**values)


def style_sheet() -> str:
    """The style of every page, as markup."""
    from markupsafe import Markup

    return Markup(_resource("report.css"))


def _parts(report: Report) -> dict[str, object]:
    return {
        "report": report,
        "sections": sections(report),
        "figures": (trade_off(report), profile(report)),
        "covariance": None if report.covariance is None else covariance(report.covariance),
        "tiles": numbers_to_read_first(report),
        "mark": MARKS[report.status],
    }


def numbers_to_read_first(report: Report) -> list[Tile]:
    """The claim, the exact parameter and the bounds from samples, as far as there are any."""
    tiles = [Tile(name="Claim", value=report.claim.describe(), evidence=Evidence.NONE)]
    if report.worst is not None:
        mu = gdp_parameter(report.worst.loss)
        if mu is not None:
            name = "Exact mu of the worst neighbours" if report.worst.exact else "Mu of any neighbours, at most"
            tiles.append(Tile(name=name, value=shown(mu, 10), evidence=Evidence.EXACT))
    named = {} if report.test is None else statistical_tiles(report.test)
    if report.sequential is not None:
        named |= sequential_tiles(report.sequential)
    tiles += [Tile(name=name, value=value, evidence=Evidence.STATISTICAL) for name, value in named.items()]
    return tiles


def _shape(cell: str) -> str:
    """The class of a cell: a number, a good or a bad word, or plain text."""
    if cell in ("holds", "no"):
        return "good" if cell == "holds" else "text"
    if cell == "FAILS":
        return "bad"
    return "number" if re.fullmatch(r"[\[\d.+-][\d.,e+\- \]a-z/]*", cell) else "text"


def _resource(name: str) -> str:
    return resources.files("dpverdict.audit.reports").joinpath("templates", name).read_text(encoding="utf-8")


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
