"""The page of a report: one self-contained HTML file that loads nothing, to attach to a release review."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, cast

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.figures import ReportFigure, attacks, covariance, profile, trade_off
from dpverdict.audit.reports.parts import Section, Table
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import LEADING, sections
from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.cards import MARKS
from dpverdict.errors import printable
from dpverdict.numerics.text import time_in_words

if TYPE_CHECKING:
    from jinja2 import Environment

_TESTED: Final = ("statistics", "sequential", "low-bits", "tap")


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
    version = report.versions.get("dpverdict", "")
    return render("report.html.j2", version=version, created=report.created, **_parts(report)) + "\n"


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
    return page_environment().get_template(template).render(**values)


def page_environment() -> Environment:
    """What every page is made in: the frame, the style, and the filters of the templates; text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        finalize=_with_visible_characters,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_template_text),
    )
    filters: dict[str, Callable[..., object]] = {
        "shape": _shape,
        "drawing": Markup,
        "unbroken": _with_unbroken_numbers,
        "breakable": _with_places_to_break,
        "moment": time_in_words,
        "wide": _is_wide,
    }
    environment.filters.update(filters)
    shared = cast(dict[str, Any], environment.globals)  # Jinja types it by the globals that it begins with
    shared["style"] = style_sheet()
    return environment


def _with_visible_characters(value: object) -> object:
    """Text of others with escapes for what cannot be seen: no name hides, or turns round, what stands beside it."""
    from markupsafe import Markup

    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_answer_part(answer: str, claim: str, sections: Sequence[Section], prefix: str) -> str:
    """An answer as part of a page of many audits; every anchor begins with ``prefix``."""
    own = [replace(section, anchor=f"{prefix}-{section.anchor}") for section in sections]
    return render("answer_part.html.j2", answer=answer, claim=claim, sections=own)


def render_answer(
    *,
    brand: str,
    status: str,
    subject: str,
    claim: str,
    answer: str,
    sections: Sequence[Section],
    created: str,
    closing: str,
    verb: str = "claims",
    figures: Sequence[ReportFigure] = (),
) -> str:
    """A page of an answer, and what it rests on in sections.

    Args:
        brand: what kind of page it is, in two words.
        status: one of the names of `Status`; empty where no claim was held to anything.
        subject: what makes the claim.
        claim: in words; empty for none.
        answer: one sentence.
        sections: what the answer rests on.
        created: when it was found, as `time_stamp` writes it.
        closing: a sentence at the end.
        verb: between the subject and the claim.
        figures: curves below the sections.
    """
    shown = render(
        "answer.html.j2",
        mark=MARKS.get(status, ""),
        brand=brand,
        status=status,
        subject=subject,
        claim=claim,
        answer=answer,
        sections=sections,
        closing=closing,
        version=software_versions()["dpverdict"],
        created=created,
        verb=verb,
        figures=figures,
    )
    return shown + "\n"


def style_sheet() -> str:
    """The style of every page, as markup."""
    from markupsafe import Markup

    return Markup(_template_text("report.css"))


def _parts(report: Report) -> dict[str, object]:
    found = sections(report)
    first = [one for one in found if one.anchor in _before_curves(report)]
    return {
        "report": report,
        "first": first,
        "sections": [one for one in found if one not in first],
        "figures": tuple(filter(None, (trade_off(report), profile(report), attacks(report)))),
        "covariance": None if report.covariance is None else covariance(report.covariance),
        "tiles": list(_tiles(report)),
        "mark": MARKS[report.status.name],
    }


def _before_curves(report: Report) -> tuple[str, ...]:
    """The sections that decide: the witness, what was followed, or the tests of a black box that they refute."""
    if report.find(TracedEvidence) is not None:
        return LEADING
    return ("witness",) if report.verdict is not None or report.status is not Status.REFUTED else _TESTED


def _tiles(report: Report) -> Iterator[tuple[str, str, str, str]]:
    """The numbers to read first: the kind of evidence, the name, the value, and what it means."""
    value, _, meaning = report.summary.claimed.partition(": ")
    meaning, _, also = meaning.partition("; ")
    yield "none", "Claimed", "; ".join(filter(None, (value, also))), meaning
    yield "none", "Found", report.summary.found, ""
    if report.worst is not None:  # else they are what was found
        yield from (("statistical", name, bound, "") for name, bound in list(report.key_facts()[1].items())[:1])


def _with_unbroken_numbers(text: str) -> str:
    """The text as markup in which no line ends within a number, as 1e-6 or 5 %, or an option, where a browser may."""
    from markupsafe import Markup, escape

    pieces = re.split(r"([\d.]+e-\d+|[\d.]+ %|(?<![\w-])--[a-z][\w-]*)", printable(text))  # every second one is such
    span = Markup('<span class="whole">{}</span>')
    return Markup("").join(span.format(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces))


def _with_places_to_break(text: str) -> str:
    """A name as markup that may go on in the next line after a sign, so that no word of it is torn."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(piece) for piece in re.split(r"(?<=[/:_])(?=\w)", printable(text)))


_ON_A_PHONE: Final = 38
"""Characters beside each other on a phone, about."""
_BREAKS: Final = 24
"""From which length on the text of a cell is broken into lines."""


def _is_wide(table: Table) -> bool:
    """Whether the columns have no place beside each other on a phone, where each cell then has a line of its own."""
    columns = zip(table.header, *table.rows, strict=True)
    widths = [min(max(map(len, cells)), _BREAKS) for cells in columns]
    return sum(widths) + 2 * len(widths) > _ON_A_PHONE


def _shape(cell: str) -> str:
    """The class of a cell: a number, a good or a bad word, or plain text."""
    if cell in ("holds", "no"):
        return "good" if cell == "holds" else "text"
    if cell == "FAILS":
        return "bad"
    return "number" if re.fullmatch(r"[\[\d.+-][\d.,e+\- \]a-z/]*", cell) else "text"


def _template_text(name: str) -> str:
    return resources.files("dpverdict.audit.reports").joinpath("templates", name).read_text(encoding="utf-8")
