"""What a report says, section by section: the words and tables that the terminal and the page share.

Between what was audited and how to run it again, the report's evidence says its own sections, see `evidence`. A section
is exact, statistical or neither, and says so; a table belongs to one section. That is how exact and statistical
evidence stay apart in every face.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpverdict.audit.reports.parts import EvidenceKind, Section, Table, facts
from dpverdict.audit.reports.report import Report
from dpverdict.numerics.text import time_in_words

LEADING: Final = ("traced", "traced_pair")
"""What stands first: the releases of a function that was followed, line by line."""


def sections(report: Report) -> tuple[Section, ...]:
    """Every section of the report that has something to say, in reading order."""
    found = [_subject_section(report)]
    for one in report.evidence:
        found += one.sections(report.known)
    found.sort(key=lambda one: one.anchor not in LEADING)
    return (*found, *_assumptions_section(report), _reproduction_section(report))


def _subject_section(report: Report) -> Section:
    named = {"mechanism": report.name, **report.parameters, "claim": report.claim.describe()}
    return Section(anchor="subject", title="What was audited", evidence=EvidenceKind.NONE, tables=(facts(named),))


def assumptions_of(report: Report) -> tuple[str, ...]:
    """What is taken for granted anywhere in the report, each assumption once."""
    certificate = None if report.verdict is None else report.verdict.certificate
    certified = () if certificate is None else certificate.assumptions
    return tuple(dict.fromkeys((*report.assumptions, *certified)))


def _assumptions_section(report: Report) -> Iterator[Section]:
    rows = tuple((f"{i}", text) for i, text in enumerate(assumptions_of(report), 1))
    if rows:
        yield Section(anchor="assumptions", title="Assumptions", evidence=EvidenceKind.NONE, tables=(Table(rows=rows),))


LAST_BITS: Final = (
    "of what was sampled, they depend on the versions of NumPy and of its BLAS, and on the processor; "
    "no exact figure depends on them"
)


def _reproduction_section(report: Report) -> Section:
    named = {} if report.command is None else {"command": report.command}
    named["seed"] = "none: nothing was sampled" if report.seed is None else str(report.seed)
    if report.versions:
        named["versions"] = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    if report.seed is not None:
        named["last bits"] = LAST_BITS
    named["created"] = time_in_words(report.created)
    return Section(
        anchor="reproduction",
        title="Reproduction",
        evidence=EvidenceKind.NONE,
        tables=(facts(named),),
    )
