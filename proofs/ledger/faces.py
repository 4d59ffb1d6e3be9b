"""What ``dpverdict prove`` does: check the statements asked for, show them, and write the files asked for.

The ledger in a terminal: a table with a summary line, and one statement explained.

The page of the ledger: one self-contained HTML file that loads nothing, with an anchor for every statement.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverdict.audit.trials.journal import write_atomically
from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.drawings import formula_svg
from dpverdict.proofs.checks.outcome import Finding, Standing
from dpverdict.proofs.checks.registry import load, matching, statements, title
from dpverdict.proofs.checks.statement import Statement
from dpverdict.proofs.ledger.ledger import Entry, Ledger, Progress, make_ledger, write_json


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A request: which statements to check, and what to write.

    Attributes:
        paper: key of a paper, or a module or file.py of the user's that registers statements; None for all papers.
        number: the statement, as in `verify`; None for all of the paper.
        json, report: files to write; None for none.
    """

    paper: str | None = None
    number: str | None = None
    json: Path | None = None
    report: Path | None = None


def find(request: Proof) -> tuple[Statement, ...]:
    """The statements asked for.

    Raises:
        InvalidValue: no such paper or statement.
    """
    paper = None if request.paper is None else load(request.paper)
    found = statements(paper) if request.number is None else matching(paper, request.number)
    if not found:
        raise InvalidValue("paper", request.paper, "one with statements", "register them with @statement")
    return found


def carry_out(request: Proof, progress: Progress | None = None) -> Ledger:
    """Check the statements and write the files.

    Raises:
        InvalidValue: no such paper or statement.
        OSError: a file cannot be written.
    """
    made = make_ledger(find(request), progress)
    if request.json is not None:
        write_json(made, request.json)
    if request.report is not None:
        from dpverdict.proofs.ledger.faces import write_html

        write_html(made, request.report)
    return made


def show_table(ledger: Ledger) -> None:
    """The table and the summary line."""
    from dpverdict.proofs.ledger.faces import print_ledger

    print_ledger(ledger)


def show_explanations(ledger: Ledger) -> None:
    """Every statement explained, then the summary line."""
    from dpverdict.proofs.ledger.faces import print_explanation

    for entry in ledger.entries:
        print_explanation(entry)
    print(ledger.summary())


STYLES = {
    Standing.HOLDS: "green",
    Standing.HOLDS_WITH_CAVEAT: "yellow",
    Standing.FAILS_AS_PRINTED: "red",
    Standing.UNDECIDED: "bold magenta",
}
_MARKS = {True: "holds", False: "FAILS", None: "undecided"}


def print_ledger(ledger: Ledger) -> None:
    """One table per paper, the outcomes that changed, and the summary line."""
    console = _console()
    for paper in ledger.papers:
        table = Table(title=Text(title(paper)), title_justify="left", header_style="bold", expand=False)
        for name, least in (
            ("statement", 14),
            ("outcome", 10),
            ("method", 12),
            ("scope", 18),
            ("margin, or witness", 24),
        ):
            table.add_column(name, min_width=least, overflow="fold")
        for entry in ledger.of(paper):
            outcome = entry.outcome
            standing = Text(outcome.standing.value + (" (new)" if outcome.new else ""), style=STYLES[outcome.standing])
            remark = outcome.witness or outcome.note if outcome.standing is not Standing.HOLDS else outcome.margin
            table.add_row(outcome.label, standing, outcome.method, _short(outcome.scope, 90), _short(remark, 110))
        console.print(table)
    for entry in ledger.changed:
        outcome = entry.outcome
        words = (
            f"CHANGED: {outcome.paper} {outcome.number} {outcome.standing.value}, recorded: {outcome.expected.value}"
        )
        console.print(Text(words + (f" ({outcome.note})" if outcome.note else ""), style="bold red"))
    seconds = sum(entry.seconds for entry in ledger.entries)
    console.print(Text(f"{ledger.summary()} ({seconds:.0f} s)", style="bold red" if ledger.changed else "bold"))


def print_explanation(entry: Entry) -> None:
    """A statement, how it is read, every condition, what is assumed, the planted faults, and where the code is."""
    console, outcome, statement = _console(), entry.outcome, entry.statement
    console.print(Text(f"{outcome.label} ({title(outcome.paper)})", style="bold"))
    console.print(Text(f"  {outcome.text}"))
    console.print(Text(f"outcome      {outcome.standing.value}", style=STYLES[outcome.standing]))
    facts = {
        "recorded": "" if outcome.as_expected else outcome.expected.value,
        "reading": " ".join(statement.reading.split()),
        "scope": outcome.scope,
        "method": outcome.method,
        "margin": outcome.margin,
        "caveat": outcome.caveat,
        "witness": outcome.witness,
        "corrected": outcome.corrected,
        "note": outcome.note,
    }
    for name, value in facts.items():
        if value:
            console.print(Text(f"{name:<12} {value}"))
    for words, findings in (
        ("as printed", outcome.findings),
        ("the caveat", outcome.caveat_findings),
        ("corrected", outcome.corrected_findings),
    ):
        _print_findings(console, words, findings)
    console.print(Text("planted      (faults that the same check must find)"))
    for fault in statement.planted:
        found = [f for f in statement.findings(fault.claim) if f.name == fault.condition and f.holds is False]
        console.print(Text(f"  {'refuted' if found else 'MISSED'}: {fault.text} [{fault.condition}]"))
    for assumption in outcome.assumptions or ("nothing beyond the definitions",):
        console.print(Text(f"assumed      {assumption}"))
    console.print(Text(f"code         {outcome.location}, sha256 {outcome.source_sha256[:16]}, {entry.seconds:.2f} s"))
    console.print()


def _print_findings(console: Console, words: str, findings: Iterable[Finding]) -> None:
    listed = list(findings)
    if listed:
        console.print(Text(f"{words:<12}"))
    for finding in listed:
        more = finding.witness if finding.holds is not True else finding.margin
        where = f"{finding.method.value}; {finding.scope}"
        console.print(Text(f"  {_MARKS[finding.holds]}: {finding.name} ({where})" + (f": {more}" if more else "")))


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 150)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


CLASSES = {
    Standing.HOLDS: "holds",
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
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    filters: dict[str, Callable[..., str]] = {
        "formula": lambda text: Markup(formula_svg(text)),
        "drawing": lambda figure: Markup(figure()),
        "words": lambda text: " ".join(text.split()),
    }
    environment.filters.update(filters)
    style = _resource("dpverdict.audit.reports", "report.css") + _resource("dpverdict.proofs.ledger", "ledger.css")
    page = environment.from_string(_resource("dpverdict.proofs.ledger", "ledger.html.j2")).render(
        ledger=ledger, title=title, classes=CLASSES, marks=MARKS, style=Markup(style), filters=_filters(ledger)
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


def _resource(package: str, name: str) -> str:
    return resources.files(package).joinpath("templates", name).read_text(encoding="utf-8")
