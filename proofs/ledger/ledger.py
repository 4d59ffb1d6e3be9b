"""The ledger: the outcomes of many statements, and its faces for programs and for the documentation."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

from dpverdict.audit.trials.engines import ThisProcess, current_engine
from dpverdict.numerics.stages import begin_stage
from dpverdict.proofs.checks.outcome import Finding, NeedFinding, Outcome, Standing
from dpverdict.proofs.checks.registry import registered, title
from dpverdict.proofs.checks.rooms import rooms
from dpverdict.proofs.checks.statement import Statement, all_needed, outcomes_of
from dpverdict.proofs.ledger.certificates import versions

SCHEMA_VERSION = 2

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many statements are done, and how many there are."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A statement, its outcome, and how long the check took in seconds."""

    statement: Statement
    outcome: Outcome
    seconds: float


@final
@dataclass(frozen=True, slots=True)
class Ledger:
    """The outcomes of many statements, in order."""

    entries: tuple[LedgerEntry, ...]

    @property
    def changed(self) -> tuple[LedgerEntry, ...]:
        """The entries whose standing is not the recorded one, or whose check cannot fail."""
        return tuple(entry for entry in self.entries if not entry.outcome.as_expected)

    @property
    def exit_code(self) -> int:
        """0 if every standing is the recorded one and every planted fault was found, 1 otherwise."""
        return 1 if self.changed else 0

    @property
    def papers(self) -> tuple[str, ...]:
        """The papers, in order."""
        return tuple(dict.fromkeys(entry.statement.paper for entry in self.entries))

    def of(self, paper: str) -> tuple[LedgerEntry, ...]:
        """The entries of one paper."""
        return tuple(entry for entry in self.entries if entry.statement.paper == paper)

    def summary(self) -> str:
        """One line: how many statements stand where, whether anything changed, and how many faults were found."""
        verdict = f"{len(self.changed)} CHANGED" if self.changed else "every outcome as recorded"
        faults = [fault for entry in self.entries for fault in entry.outcome.faults]
        found = sum(not fault.missed for fault in faults)
        share = f"all {found}" if found == len(faults) else f"ONLY {found} of {len(faults)}"
        return (
            f"{len(self.entries)} statement{'s'[: len(self.entries) != 1]}: {counted(self.entries)}; {verdict}; "
            f"{share} planted faults found"
        )


def counted(entries: Sequence[LedgerEntry]) -> str:
    """How many statements stand where, in words."""
    counts = Counter(entry.outcome.standing for entry in entries)
    return ", ".join(f"{counts[kind]} {WORDS[kind][counts[kind] == 1]}" for kind in Standing if counts[kind])


WORDS = {
    Standing.HOLDS: ("hold", "holds"),
    Standing.HOLDS_ON_RANGE: ("hold on the range checked", "holds on the range checked"),
    Standing.HOLDS_WITH_CAVEAT: ("hold with a caveat", "holds with a caveat"),
    Standing.FAILS_AS_PRINTED: ("fail as printed", "fails as printed"),
    Standing.UNDECIDED: ("undecided", "undecided"),
}


def make_ledger(statements: Sequence[Statement], progress: Progress | None = None) -> Ledger:
    """Check the statements, in order, on the engine in use; those of a user's own module in this process."""
    checked = all_needed(statements)
    ours = all(statement.paper in rooms() for statement in checked)
    engine = current_engine() if ours else ThisProcess()
    names = [(statement.paper, statement.number) for statement in checked]
    alone, seconds = {}, {}
    for name, (outcome, took) in zip(names, engine.map(_check, names), strict=True):
        alone[name], seconds[name] = outcome, took
        if progress is not None:
            progress("statements", len(alone), len(checked))
    outcomes = outcomes_of(statements, alone)
    return Ledger(
        tuple(
            LedgerEntry(statement=one, outcome=outcome, seconds=seconds[one.paper, one.number])
            for one, outcome in zip(statements, outcomes, strict=True)
        )
    )


def _check(name: tuple[str, str]) -> tuple[Outcome, float]:
    """The outcome of one statement as if what it needs were given, and the seconds it took."""
    statement = registered(*name)
    begin_stage(f"{statement.paper} {statement.number}")
    start = time.perf_counter()
    return statement.decided_alone(), time.perf_counter() - start


def as_json(ledger: Ledger) -> dict[str, Any]:  # Any: the values of a JSON object
    """The ledger as a JSON object; see ledger.schema.json. The same outcomes give the same object."""
    return {
        "schema_version": SCHEMA_VERSION,
        "versions": versions(),
        "summary": ledger.summary(),
        "as_expected": not ledger.changed,
        "statements": [_row(entry) for entry in ledger.entries],
    }


READ_FIRST = """
Each statement of a paper is decided by a check in exact, symbolic or ball arithmetic, and every check must find the
faults that are planted under its conditions. Read the first table, and of the others what concerns you; a name leads
to the full row, at the end.

- *holds*: for everything the statement speaks of.
- *holds on the range checked*: a condition was decided for finitely many cases only.
- *holds with a caveat*: another reading of the same words is refuted.
- *fails as printed*: there is a counterexample.
- *(new)*: a result, or a wording, of this project.
"""


def markdown(ledger: Ledger) -> str:
    """The ledger as a Markdown page, for docs/: the same outcomes give the same text.

    What fails or has a caveat comes first, then a line for every statement, variants of one statement in one line
    together, and last every row in full, folded.
    """
    lines = ["# Ledger of statements", "", "Generated from the checks by `python tools/ledger.py`; do not edit.", ""]
    lines += [f"{ledger.summary()}.", READ_FIRST, "## What fails as printed, or holds with a caveat", ""]
    lines += ["| statement | text | outcome | witness | what holds |", "|---|---|---|---|---|"]
    lines += [_exception(entry) for entry in ledger.entries if entry.outcome.standing in _EXCEPTIONS]
    for paper in ledger.papers:
        lines += ["", f"## {title(paper)}", "", "| statement | outcome | it says |", "|---|---|---|"]
        lines += [_line(family) for family in families(ledger.of(paper))]
    lines += ["", "## Every row in full", ""]
    lines += ["The command of a row writes its certificate, which `dpverdict check` and other programs read: see"]
    lines += ["[Certificates](howto_certificates.md)."]
    head = "| statement | text | outcome | scope | method | margin or witness | certificate | source |"
    for paper in ledger.papers:
        lines += ["", f"<details><summary>{title(paper)}</summary>", "", head, "|---|---|---|---|---|---|---|---|"]
        lines += [_markdown_row(entry) for entry in ledger.of(paper)]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def families(entries: Sequence[LedgerEntry]) -> list[tuple[LedgerEntry, ...]]:
    """Entries in order, those of variants together: "x.M0", "x.M1b" and so on, where there are five or more."""
    stems = [re.fullmatch(r"(.+)\.[A-Z]\d+[a-z]*", entry.statement.number) for entry in entries]
    counts = Counter(stem[1] for stem in stems if stem is not None)
    found: dict[str, list[LedgerEntry]] = {}
    for entry, stem in zip(entries, stems, strict=True):
        folded = stem is not None and counts[stem[1]] >= FEWEST_VARIANTS
        found.setdefault(stem[1] if stem is not None and folded else f"{entry.outcome.anchor} alone", []).append(entry)
    return [tuple(family) for family in found.values()]


FEWEST_VARIANTS = 5
MOST_WORDS = 10
"""How much of a statement its line on the page says."""
_EXCEPTIONS = (Standing.FAILS_AS_PRINTED, Standing.HOLDS_WITH_CAVEAT, Standing.UNDECIDED)


def _exception(entry: LedgerEntry) -> str:
    outcome = entry.outcome
    instead = "; ".join(part for part in (outcome.caveat, outcome.corrected) if part)
    return _cells(_to(outcome), outcome.text, _words(outcome), outcome.witness, instead)


def _line(family: Sequence[LedgerEntry]) -> str:
    """A statement, or variants of one together: how many, and the first of them."""
    outcome = family[0].outcome
    words = outcome.text.split()
    says = " ".join(words[:MOST_WORDS]) + (" ..." if len(words) > MOST_WORDS else "")
    if len(family) == 1:
        return _cells(_to(outcome), _words(outcome), says)
    counts = Counter(_words(entry.outcome) for entry in family)
    last = family[-1].outcome
    names = f"{_to(outcome)} to {_to(last)}, {len(family)} variants"
    return _cells(names, ", ".join(f"{number} {words}" for words, number in counts.items()), f"the first: {says}")


def certificate_command(outcome: Outcome) -> str:
    """The command that writes the certificate of a statement."""
    return f"dpverdict prove {outcome.paper} --statement {shlex.quote(outcome.number)} --certificates certificates"


def _markdown_row(entry: LedgerEntry) -> str:
    outcome = entry.outcome
    remarks = [
        f"margin {outcome.margin}" if outcome.margin and outcome.standing is not Standing.FAILS_AS_PRINTED else "",
        f"caveat: {outcome.caveat}" if outcome.caveat else "",
        f"witness: {outcome.witness}" if outcome.witness else "",
        f"holds: {outcome.corrected}" if outcome.corrected else "",
        f"restored: {outcome.restored}" if outcome.restored else "",
        "needs " + ", ".join(_link(need) for need in outcome.needs) if outcome.needs else "",
    ]
    return _cells(
        f'<a id="{outcome.anchor}"></a>{outcome.label}',
        outcome.text,
        _words(outcome),
        outcome.scope,
        outcome.method,
        "; ".join(part for part in remarks if part),
        f"`{certificate_command(outcome)}`",
        f"`{outcome.location.partition(':')[0]}` {outcome.source_sha256[:12]}",
    )


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _words(outcome: Outcome) -> str:
    return f'<span class="range">{outcome.words}</span>' if outcome.on_range else outcome.words


def _to(outcome: Outcome) -> str:
    return f'<a href="#{outcome.anchor}">{outcome.label}</a>'


def _link(need: NeedFinding) -> str:
    return f'<a href="#{need.anchor}">{need.label}</a>' + (" (corrected)" if need.corrected else "")


def _row(entry: LedgerEntry) -> dict[str, Any]:  # Any: the values of a JSON object
    outcome = entry.outcome
    return {
        "paper": outcome.paper,
        "number": outcome.number,
        "label": outcome.label,
        "kind": entry.statement.kind.value,
        "text": outcome.text,
        "formula": entry.statement.formula,
        "reading": " ".join(entry.statement.reading.split()),
        "outcome": outcome.standing.name,
        "expected": outcome.expected.name,
        "on_range": outcome.on_range,
        "needs": [
            {
                "paper": need.paper,
                "number": need.number,
                "corrected": need.corrected,
                "outcome": need.standing.name,
                "on_range": need.on_range,
                "missing": need.missing,
            }
            for need in outcome.needs
        ],
        "scope": outcome.scope,
        "method": outcome.method,
        "margin": outcome.margin,
        "witness": outcome.witness,
        "new": outcome.new,
        "caveat": outcome.caveat,
        "corrected": outcome.corrected,
        "assumptions": list(outcome.assumptions),
        "restored": outcome.restored,
        "note": outcome.note,
        "findings": _findings(outcome.findings),
        "caveat_findings": _findings(outcome.caveat_findings),
        "corrected_findings": _findings(outcome.corrected_findings),
        "planted": [
            {"condition": fault.condition, "text": fault.text, "found": not fault.missed, "missed": fault.missed}
            for fault in outcome.faults
        ],
        "defects": list(outcome.defects),
        "anchor": outcome.anchor,
        "location": outcome.location,
        "source_sha256": outcome.source_sha256,
    }


def _findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:  # Any: the values of a JSON object
    return [
        {
            "name": finding.name,
            "holds": finding.holds,
            "method": finding.method.value,
            "scope": finding.scope,
            "margin": finding.margin,
            "witness": finding.witness,
            "sides": [{"left": left, "relation": relation, "right": right} for left, relation, right in finding.sides],
            "cases": finding.cases,
            "named": finding.named,
            "confirms": finding.confirms,
            "argued": finding.argued,
        }
        for finding in findings
    ]
