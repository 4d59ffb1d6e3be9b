"""What ``dpverdict prove`` does: check the statements asked for, show them, and write the files asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpverdict.errors import InvalidValue
from dpverdict.proofs.ledger import Ledger, Progress, make_ledger, write_json
from dpverdict.proofs.registry import load, matching, statements
from dpverdict.proofs.statement import Statement


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
        from dpverdict.proofs.ledger_html import write_html

        write_html(made, request.report)
    return made


def show_table(ledger: Ledger) -> None:
    """The table and the summary line."""
    from dpverdict.proofs.ledger_terminal import print_ledger

    print_ledger(ledger)


def show_explanations(ledger: Ledger) -> None:
    """Every statement explained, then the summary line."""
    from dpverdict.proofs.ledger_terminal import print_explanation

    for entry in ledger.entries:
        print_explanation(entry)
    print(ledger.summary())
