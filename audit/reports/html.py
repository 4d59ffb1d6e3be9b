"""The page of a report: one self-contained HTML file that loads nothing, to attach to a release review."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Final

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.figures import covariance, profile, trade_off
from dpverdict.audit.reports.parts import Section
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import sections
from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.cards import MARKS
from dpverdict.errors import printable

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
        finalize=_with_visible_characters,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_template_text),
    )
    environment.filters["shape"] = _shape
    environment.filters["drawing"] = Markup
    environment.filters["unbroken"] = _with_unbroken_numbers
    return environment.get_template(template).render(**values)


def _with_visible_characters(value: object) -> object:
    """Text of others with escapes for what cannot be seen: no name hides, or turns round, what stands beside it."""
    from markupsafe import Markup

    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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
) -> str:
    """A page without curves: an answer, and what it rests on in sections.

    Args:
        brand: what kind of page it is, in two words.
        status: one of the names of `Status`; empty where no claim was held to anything.
        subject: what makes the claim.
        claim: in words; empty for none.
        answer: one sentence.
        sections: what the answer rests on.
        created: when it was found.
        closing: a sentence at the end.
    """
    shown = render(
        "answer.html.j2",
        style=style_sheet(),
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
        "figures": (trade_off(report), profile(report)),
        "covariance": None if report.covariance is None else covariance(report.covariance),
        "tiles": list(_tiles(report)),
        "mark": MARKS[report.status.name],
    }


def _before_curves(report: Report) -> tuple[str, ...]:
    """The sections that decide: the witness, or the tests of a black box that they refute."""
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
    """The text as markup in which no line ends within a number such as 1e-6, where a browser may break one."""
    from markupsafe import Markup, escape

    pieces = re.split(r"([\d.]+e-\d+)", printable(text))  # every second one is a number
    span = Markup('<span class="whole">{}</span>')
    return Markup("").join(span.format(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces))


def _shape(cell: str) -> str:
    """The class of a cell: a number, a good or a bad word, or plain text."""
    if cell in ("holds", "no"):
        return "good" if cell == "holds" else "text"
    if cell == "FAILS":
        return "bad"
    return "number" if re.fullmatch(r"[\[\d.+-][\d.,e+\- \]a-z/]*", cell) else "text"


def _template_text(name: str) -> str:
    return resources.files("dpverdict.audit.reports").joinpath("templates", name).read_text(encoding="utf-8")
