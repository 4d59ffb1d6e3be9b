"""The ledger in a terminal: an overview, a table with a summary line, and statements explained."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from dpverdict.audit.reports.terminal import plain
from dpverdict.proofs.checks.outcome import Finding, Standing
from dpverdict.proofs.checks.registry import title
from dpverdict.proofs.ledger.ledger import Ledger, LedgerEntry, counted

STYLES = {
    Standing.HOLDS: "green",
    Standing.HOLDS_ON_RANGE: "cyan",
    Standing.HOLDS_WITH_CAVEAT: "yellow",
    Standing.FAILS_AS_PRINTED: "red",
    Standing.UNDECIDED: "bold magenta",
}
MOST_SIDES: Final = 6
"""How many entries of a matrix, or comparisons of a case, are shown of one condition."""
FEW: Final = 6
"""Statements that an overview tells one by one."""
SHORT: Final = 90
"""Two sides together that are shown in one line."""
_UPHELD = (Standing.HOLDS, Standing.HOLDS_ON_RANGE)
_MARKS = {True: "holds", False: "FAILS", None: "undecided"}


def print_ledger(ledger: Ledger, console: Console | None = None) -> None:
    """One table per paper, the outcomes that changed, and the summary line."""
    console = _console() if console is None else console
    for paper in ledger.papers:
        table = Table(title=plain(title(paper)), title_justify="left", header_style="bold", expand=False)
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
            standing = plain(outcome.words, style=STYLES[outcome.standing])
            remark = outcome.witness or outcome.note if outcome.standing not in _UPHELD else outcome.margin
            cells = (outcome.method, _short(outcome.scope, 90), _short(remark, 110))
            table.add_row(plain(outcome.label), standing, *map(plain, cells))
        console.print(table)
    _print_ending(ledger, console)


def print_overview(ledger: Ledger, console: Console | None = None) -> None:
    """Each paper in a few lines: how many statements stand where, and which fail as printed; then what changed.

    Few statements are told one by one.
    """
    console = Console(file=sys.stdout, highlight=False) if console is None else console
    few = len(ledger.entries) <= FEW
    for entry in ledger.entries if few else ():
        outcome = entry.outcome
        console.print(plain(f"{outcome.label}: {outcome.words}", style=STYLES[outcome.standing]))
        remark = outcome.witness or outcome.note if outcome.standing not in _UPHELD else outcome.margin
        console.print(_hanging(_short(f"{outcome.scope} ({outcome.method})", 150)))
        if remark:
            console.print(_hanging(_short(remark, 150)))
    for paper in () if few else ledger.papers:
        entries = ledger.of(paper)
        console.print(plain(f"{paper}: {title(paper)}", style="bold"), no_wrap=True, overflow="ellipsis")
        console.print(_hanging(f"{len(entries)} statements: {counted(entries)}"))
        failing = [one.outcome.label for one in entries if one.outcome.standing is Standing.FAILS_AS_PRINTED]
        if failing:
            console.print(_hanging(f"fail as printed: {', '.join(failing)}"))
    _print_ending(ledger, console)


def _hanging(text: str) -> Padding:
    return Padding(plain(text), (0, 0, 0, 2))


def _print_ending(ledger: Ledger, console: Console) -> None:
    """What changed, and the summary."""
    for entry in ledger.changed:
        outcome = entry.outcome
        words = (
            f"CHANGED: {outcome.paper} {outcome.number} {outcome.standing.value}, recorded: {outcome.expected.value}"
        )
        console.print(plain(words + (f" ({outcome.note})" if outcome.note else ""), style="bold red"))
    seconds = sum(entry.seconds for entry in ledger.entries)
    console.print(plain(f"{ledger.summary()} ({seconds:.0f} s)", style="bold red" if ledger.changed else "bold"))


def print_explanations(ledger: Ledger, console: Console | None = None) -> None:
    """Every statement explained, then the summary line."""
    console = _console() if console is None else console
    for entry in ledger.entries:
        _print_explanation(console, entry)
    _print(console, ledger.summary())


def _print_explanation(console: Console, entry: LedgerEntry) -> None:
    """A statement, how it is read, every condition, what is assumed, the planted faults, and where the code is."""
    outcome, statement = entry.outcome, entry.statement
    _print(console, f"{outcome.label} ({title(outcome.paper)})", style="bold")
    _print(console, f"  {outcome.text}")
    _print(console, f"outcome      {outcome.words}", style=STYLES[outcome.standing])
    facts = {
        "recorded": "" if outcome.as_expected else outcome.expected.value,
        "formula": statement.formula,
        "reading": " ".join(statement.reading.split()),
        "scope": outcome.scope,
        "method": outcome.method,
        "margin": outcome.margin,
        "caveat": outcome.caveat,
        "witness": outcome.witness,
        "corrected": outcome.corrected,
        "restored": outcome.restored,
        "note": outcome.note,
    }
    for name, value in facts.items():
        if value:
            _print(console, f"{name:<12} {value}")
    for words, findings in (
        ("as printed", outcome.findings),
        ("the caveat", outcome.caveat_findings),
        ("corrected", outcome.corrected_findings),
    ):
        _print_findings(console, words, findings)
    for need in outcome.needs:
        wording = " as corrected" if need.corrected else ""
        given = need.missing or ("holds on the range checked" if need.on_range else "holds")
        _print(console, f"needs        {need.label} ({need.paper}){wording}: {given}")
    _print(console, "planted      (faults that the same check must find)")
    for fault in outcome.faults:
        mark = f"MISSED ({fault.missed})" if fault.missed else "refuted"
        _print(console, f"  {mark}: {fault.text} [{fault.condition}]", style="bold red" if fault.missed else "")
    for name in outcome.unguarded:
        _print(console, f"  NONE PLANTED [{name}]", style="bold red")
    for assumption in outcome.assumptions or ("nothing beyond the definitions",):
        _print(console, f"assumed      {assumption}")
    _print(console, f"code         {outcome.location}, sha256 {outcome.source_sha256[:16]}, {entry.seconds:.2f} s")
    console.print()


def _print_findings(console: Console, words: str, findings: Iterable[Finding]) -> None:
    listed = list(findings)
    if listed:
        _print(console, f"{words:<12}")
    for finding in listed:
        more = finding.witness if finding.holds is not True else finding.margin
        where = f"{finding.method.value}; {finding.scope}"
        measure = "witness" if finding.holds is not True else "margin"
        _print(console, f"  {_MARKS[finding.holds]}: {finding.name} ({where})")
        for words in _equations(finding):
            _print(console, f"    {words}")
        if more:
            _print(console, f"    {measure:<7} {more}")
        for words in _bearing(finding):
            _print(console, f"    {words}")


def _equations(finding: Finding) -> Iterator[str]:
    """What was decided: an equation in one line, or its sides one below the other."""
    for left, relation, right in finding.sides[:MOST_SIDES]:
        if not relation:
            yield f"decided {left}"
        elif len(left) + len(right) <= SHORT:
            yield f"decided {left} {relation} {right}"
        else:
            yield f"left    {left}"
            yield f"{relation:<7} {right}"
    if len(finding.sides) > MOST_SIDES:
        yield f"and {len(finding.sides) - MOST_SIDES} more"


def _bearing(finding: Finding) -> Iterator[str]:
    """How far a condition reaches that was decided case by case."""
    if finding.confirms:
        yield f"confirms the condition {finding.confirms!r}, which is proved on its whole region"
    elif finding.named:
        yield "the statement speaks of these cases only"
    elif finding.on_range:
        yield "beyond these cases nothing was checked" + (f"; argued: {finding.argued}" if finding.argued else "")


def _print(console: Console, text: str, style: str = "") -> None:
    """A line, of which what does not fit stands below its own words."""
    words = text.lstrip()
    own = len(text) - len(words)
    label = 13 if own == 0 and text[12:13] == " " and "  " in text[:13] else own + 2
    lines = textwrap.wrap(
        text, console.width, subsequent_indent=" " * label, break_long_words=False, break_on_hyphens=False
    )
    console.print(plain("\n".join(lines or [""]), style=style))


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
