"""The page of the ledger: one self-contained HTML file that loads nothing, with an anchor for every statement."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import resources

from dpverdict.audit.reports.html import page_environment, style_sheet
from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.proofs.checks.drawings import formula_svg
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import title
from dpverdict.proofs.ledger.graph import needs_svg
from dpverdict.proofs.ledger.ledger import Ledger, certificate_command

CLASSES = {
    Standing.HOLDS: "holds",
    Standing.HOLDS_ON_RANGE: "range",
    Standing.HOLDS_WITH_CAVEAT: "caveat",
    Standing.FAILS_AS_PRINTED: "fails",
    Standing.UNDECIDED: "undecided",
}
MARKS: dict[bool | None, str] = {True: "holds", False: "fails", None: "undecided"}


def write_html(ledger: Ledger, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_atomically(path, render_html(ledger))


def render_html(ledger: Ledger) -> str:
    """The page as text: the same ledger gives the same bytes.

    Every text is escaped; only the formulas and drawings, made here, and the style sheets are markup.
    """
    from markupsafe import Markup

    environment = page_environment()
    filters: dict[str, Callable[..., str]] = {
        "formula": lambda text: Markup(formula_svg(text)),
        "drawing": lambda figure: Markup(figure()),
        "graph": lambda paper: Markup(needs_svg(ledger, paper, CLASSES)),
        "words": lambda text: " ".join(text.split()),
    }
    environment.filters.update(filters)
    page = environment.from_string(_resource("ledger.html.j2")).render(
        ledger=ledger,
        anchors={entry.outcome.anchor for entry in ledger.entries},
        title=title,
        classes=CLASSES,
        marks=MARKS,
        certificate_command=certificate_command,
        style=style_sheet() + Markup(_resource("ledger.css")),
        filters=_filters(ledger),
    )
    return page + "\n"


def _filters(ledger: Ledger) -> list[tuple[str, str, int]]:
    """Key, words and number of the outcomes there are; the choice among them needs no script, only the style sheet."""
    counts = [
        (key, kind.value, sum(entry.outcome.standing is kind for entry in ledger.entries))
        for kind, key in CLASSES.items()
    ]
    counts += [("new", "new here", sum(entry.outcome.new for entry in ledger.entries))]
    return [("all", "all outcomes", len(ledger.entries)), *(row for row in counts if row[2])]


def _resource(name: str) -> str:
    return resources.files("dpverdict.proofs.ledger").joinpath("templates", name).read_text(encoding="utf-8")
