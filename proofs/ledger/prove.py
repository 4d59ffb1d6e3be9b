"""What ``dpverdict prove`` does: check the statements asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.registry import load, matching, statements
from dpverdict.proofs.checks.statement import Statement
from dpverdict.proofs.ledger.ledger import Ledger, Progress, make_ledger


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A request: which statements to check.

    Attributes:
        paper: key of a paper, or a module or file.py of the user that registers statements; None for all papers.
        number: the statement, as in `verify`; None for all of the paper.
    """

    paper: str | None = None
    number: str | None = None


def statements_asked_for(request: Proof) -> tuple[Statement, ...]:
    """The statements asked for.

    Raises:
        InvalidValue: no such paper or statement.
    """
    paper = None if request.paper is None else load(request.paper)
    found = statements(paper) if request.number is None else matching(paper, request.number)
    if not found:
        raise InvalidValue("paper", request.paper, "one with statements", "register them with @statement")
    return found


def prove_statements(request: Proof, progress: Progress | None = None) -> Ledger:
    """Check the statements.

    Raises:
        InvalidValue: no such paper or statement.
    """
    return make_ledger(statements_asked_for(request), progress)
