"""The terminal face of a report: the answer first, then the evidence, at any width, with or without colour."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Collection, Iterator, Sequence
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
from dpverdict.audit.reports.parts import FAILS, EvidenceKind, Section, Table, facts
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import assumptions_of, sections
from dpverdict.errors import printable

COLOURS: Final = {Status.CERTIFIED: "green", Status.REFUTED: "red", Status.INCONCLUSIVE: "yellow"}
_WIDEST: Final = 10_000
_MOST_CHECKS: Final = 6
_MOST_LINES: Final = 2
_WHOLE: Final = 100
_SCREEN: Final = 27
"""Lines of a report: with what says how to see more, and the files that were written, 30."""
_NARROWEST: Final = 20
_WIDEST_NAME: Final = 24
TAGS: Final = {EvidenceKind.EXACT: "blue", EvidenceKind.STATISTICAL: "cyan", EvidenceKind.NONE: ""}

_TESTED: Final = ("tested on",)
_SEARCHED: Final = "neighbours searched"
_CHANGE: Final = "what to change"
_FOUND: Final = ("taken for", _SEARCHED, "the neighbours", "what tells them apart", _CHANGE)
"""The parameters of a report that say what was tested; and, of a search, where it looked and what it found."""

_REPEATED: Final = ("event", "violated")
"""What says less plainly what a finding in words has said."""


def print_report(report: Report, console: Console | None = None, *, details: bool = True) -> None:
    """Print a report; on standard output, in colour if it is a terminal, when no console is given.

    Without ``details``, what a person reads first: the answer, the neighbours, one line for each check, what is taken
    for granted and the command; at most 30 lines of 80 characters.

    Nothing in a report is read as markup, characters that the console cannot encode are written as escapes, and so
    are control characters: a name cannot move the cursor.
    """
    console = Console() if console is None else console
    for part in _parts(report, console.encoding) if details else _brief_parts(report, console.encoding):
        console.print(part, highlight=False)


def report_text(
    report: Report, *, anchors: Collection[str] | None = None, width: int = 100, details: bool = True
) -> str:
    """The terminal face as plain text.

    Args:
        report: what was found.
        anchors: of the sections that are shown, after the answer; None for all.
        width: of a line, in characters.
        details: whether all is shown, or what a person reads first, see `print_report`.
    """
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        for part in _parts(report, "utf-8", anchors) if details else _brief_parts(report, "utf-8"):
            console.print(part, highlight=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _parts(report: Report, encoding: str, anchors: Collection[str] | None = None) -> Iterator[RenderableType]:
    yield _answer(report, encoding)
    yield Group(_indented(_table(_claimed_and_found(report), encoding)), "")
    for section in sections(report):
        if anchors is None or section.anchor in anchors:
            yield _rendered_section(section, encoding)


def _brief_parts(report: Report, encoding: str) -> Iterator[RenderableType]:
    briefs = [one.brief(report.known) for one in report.evidence]
    in_words = "the neighbours" in report.parameters
    first = _FOUND if in_words else _TESTED if report.known.exact is None else ()
    told = {name: report.parameters[name] for name in first if name in report.parameters}
    if report.status is Status.REFUTED:
        told.pop(_SEARCHED, None)
    else:
        told.pop(_CHANGE, None)
    for one in briefs:
        told |= {name: text for name, text in one.facts.items() if not (in_words and name in _REPEATED)}
    checks = [(one.name, one.result, one.seen) for brief in briefs for one in brief.checks]
    checks.sort(key=lambda one: one[1] != FAILS)
    chosen = sorted(assumptions_of(report), key=lambda one: not one.startswith("no --"))  # what was taken unasked first
    assumed = "; ".join(chosen)
    answer, claimed = _answer(report, encoding), _claimed_and_found(report).rows

    def parts(most: int, checked: int) -> Iterator[RenderableType]:
        """With at most so many lines for a fact and for a check."""
        yield answer
        yield _Lines(claimed, encoding, _WHOLE)
        if told:
            yield ""
            yield _Lines(tuple(told.items()), encoding, most)
        if checks:
            yield ""
            yield _Lines(checks[:_MOST_CHECKS], encoding, checked)
        if len(checks) > _MOST_CHECKS:
            yield _indented(Text(f"and {len(checks) - _MOST_CHECKS} checks more"))
        if assumed or report.command is not None:
            yield ""
        if assumed:
            yield _Lines([("assumed", assumed)], encoding, most + (checked > 1))
        if report.command is not None:
            yield _Lines([("again  ", report.command)], encoding, _WHOLE)

    yield _Fitted([list(parts(*most)) for most in ((_MOST_LINES, _MOST_LINES), (_MOST_LINES, 1), (1, 1))])


def _answer(report: Report, encoding: str) -> Panel:
    colour = COLOURS[report.status]
    summary = report.summary
    under = "" if report.relation is None else f" under {report.relation}"
    head = Text.assemble(
        (f"{report.status.name}: {summary.decision}\n", f"bold {colour}"),
        (printable(f"{report.name} claims {report.claim.describe()}{under}", encoding), "bold"),
        "\n",
        printable(summary.sentence, encoding),
    )
    return Panel(head, border_style=colour, padding=(0, 1), box=box.HEAVY)


def _claimed_and_found(report: Report) -> Table:
    return Table(rows=(("claimed", report.summary.claimed), ("found", report.summary.found)))


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
class _Fitted:
    """The first of some forms of the same, the longest first, that leaves a screen its other lines; else the last."""

    def __init__(self, forms: Sequence[Sequence[RenderableType]]) -> None:
        self._forms = forms

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        groups = [Group(*form) for form in self._forms]
        lines = ((one, len(console.render_lines(one, options, pad=False))) for one in groups)
        yield next((one for one, count in lines if count <= _SCREEN), groups[-1])


@final
class _Lines:
    """Rows of words, each cell in at most ``most`` lines; the last column takes what the names leave of a line."""

    def __init__(self, rows: Sequence[tuple[str, ...]], encoding: str, most: int = _MOST_LINES) -> None:
        self._rows = [tuple(printable(cell, encoding) for cell in row) for row in rows]
        self._most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = list(zip(*self._rows, strict=True))[:-1]
        widths = [min(max(map(cell_len, column)), _WIDEST_NAME) for column in names]
        widths.append(max(options.max_width - 2 - sum(width + 2 for width in widths), _NARROWEST))
        for row in self._rows:
            cells = [self._wrapped(text, width, console) for text, width in zip(row, widths, strict=True)]
            for parts in itertools.zip_longest(*cells, fillvalue=""):
                line = Text("  ")
                for i, (part, width) in enumerate(zip(parts, widths, strict=True)):
                    line.append(part, style="bold red" if row[i] == FAILS else "dim" if i == 0 else "")
                    line.append(" " * (width + 2 - cell_len(part)))
                line.rstrip()
                yield line

    def _wrapped(self, text: str, width: int, console: Console) -> list[str]:
        lines = [line.plain.rstrip() for line in Text(text).wrap(console, width)]
        if len(lines) > self._most:
            last = Text(lines[self._most - 1])
            last.truncate(width - 4)
            lines = [*lines[: self._most - 1], f"{last.plain.rstrip()} ..."]
        return lines


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
