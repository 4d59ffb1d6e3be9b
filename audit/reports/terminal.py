"""The terminal face of a report: the answer first, then the evidence, at any width, with or without colour."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Iterator
from typing import Final, final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.parts import EvidenceKind, Section, Table, facts
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import sections
from dpverdict.errors import printable

COLOURS: Final = {Status.CERTIFIED: "green", Status.REFUTED: "red", Status.INCONCLUSIVE: "yellow"}
_WIDEST: Final = 10_000
TAGS: Final = {EvidenceKind.EXACT: "blue", EvidenceKind.STATISTICAL: "cyan", EvidenceKind.NONE: ""}


def print_report(report: Report, console: Console | None = None) -> None:
    """Print a report; on standard output, in colour if it is a terminal, when no console is given.

    Nothing in a report is read as markup, characters that the console cannot encode are written as escapes, and so
    are control characters: a name cannot move the cursor.
    """
    console = Console() if console is None else console
    for part in _parts(report, console.encoding):
        console.print(part, highlight=False)


def report_text(report: Report, *, anchors: Collection[str] | None = None, width: int = 100) -> str:
    """The terminal face as plain text.

    Args:
        report: what was found.
        anchors: of the sections that are shown, after the answer; None for all.
        width: of a line, in characters.
    """
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        for part in _parts(report, "utf-8", anchors):
            console.print(part, highlight=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _parts(report: Report, encoding: str, anchors: Collection[str] | None = None) -> Iterator[RenderableType]:
    colour = COLOURS[report.status]
    summary = report.summary
    head = Text.assemble(
        (f"{report.status.name}: {summary.decision}\n", f"bold {colour}"),
        (printable(f"{report.name} claims {report.claim.describe()}", encoding), "bold"),
        "\n",
        printable(summary.sentence, encoding),
    )
    yield Panel(head, border_style=colour, padding=(0, 1), box=box.HEAVY)
    said = Table(rows=(("claimed", summary.claimed), ("found", summary.found)))
    yield Group(_indented(_table(said, encoding)), "")
    for section in sections(report):
        if anchors is None or section.anchor in anchors:
            yield _rendered_section(section, encoding)


def _rendered_section(section: Section, encoding: str) -> RenderableType:
    tag = "" if section.evidence is EvidenceKind.NONE else f"  [{section.evidence.name.lower()}]"
    parts: list[RenderableType] = [Text.assemble((section.title, "bold"), (tag, TAGS[section.evidence]))]
    parts += [_indented(Text(printable(paragraph, encoding))) for paragraph in section.text]
    for i, table in enumerate(section.tables):
        if i or (section.text and table.header):
            parts.append("")
        if table.caption:
            parts.append(_indented(Text(printable(table.caption, encoding), style="italic")))
        parts.append(_indented(_table(table, encoding)))
    return Group(*parts, "")


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


@final
class _Fitting:
    """A table with a header, or one list of facts for each of its rows where the table would break words and numbers.

    Columns get the width of their longest word, and what is left of the line where they have more to say.
    """

    def __init__(self, table: Table, encoding: str) -> None:
        self._table, self._encoding = table, encoding

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = _rendered_table(self._table, self._encoding)
        columns = list(zip(self._table.header, *self._table.rows, strict=True))
        natural = [max(cell_len(printable(text, self._encoding)) for text in column) for column in columns]
        least = [
            max(cell_len(word) for text in column for word in printable(text, self._encoding).split() or [""])
            for column in columns
        ]
        between = Measurement.get(console, options.update(width=_WIDEST), drawn).maximum - sum(natural)
        room = options.max_width - between - sum(least)
        if room < 0:
            for i, row in enumerate(self._table.rows):
                if i:
                    yield ""
                yield _rendered_table(facts(dict(zip(self._table.header, row, strict=True))), self._encoding)
            return
        wanting = sorted(range(len(columns)), key=lambda i: natural[i] - least[i])
        for count, i in enumerate(wanting):  # those that want little first; what they leave is for the others
            given = min(natural[i] - least[i], room // (len(columns) - count))
            drawn.columns[i].width = least[i] + given
            room -= given
        yield drawn


def _table(table: Table, encoding: str) -> RenderableType:
    return _Fitting(table, encoding) if table.header else _rendered_table(table, encoding)


def _rendered_table(table: Table, encoding: str) -> RichTable:
    drawn = RichTable(
        show_header=bool(table.header),
        header_style="bold",
        box=box.SIMPLE_HEAD if table.header else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, 2, 0, 0) if not table.header else (0, 1),
    )
    for name in table.header or ("",) * len(table.rows[0]):
        drawn.add_column(Text(printable(name, encoding)), overflow="fold")
    if not table.header:
        drawn.columns[0].style = "dim"
        drawn.columns[0].no_wrap = True
    for row in table.rows:
        drawn.add_row(*(Text(printable(cell, encoding)) for cell in row))
    return drawn


def plain(text: str, style: str = "") -> Text:
    """A text of others for standard output: no markup is read in it, and what is not printable is an escape."""
    return Text(printable(text, sys.stdout.encoding), style=style)
