"""Checks of the numbered statements of papers: a room per paper, one function per statement, in the paper's order."""

if __name__ != "dpverdict.proofs":
    raise ImportError(
        "this folder is installed as dpverdict.proofs: write 'import dpverdict.proofs' (after: pip install -e .)"
    )

from dpverdict.proofs.checks.boxes import equal as equal
from dpverdict.proofs.checks.boxes import increasing_on_box as increasing_on_box
from dpverdict.proofs.checks.boxes import not_larger as not_larger
from dpverdict.proofs.checks.boxes import positive_on_box as positive_on_box
from dpverdict.proofs.checks.boxes import rounds_to as rounds_to
from dpverdict.proofs.checks.boxes import smaller as smaller
from dpverdict.proofs.checks.identities import identity as identity
from dpverdict.proofs.checks.identities import nonnegative as nonnegative
from dpverdict.proofs.checks.identities import positive as positive
from dpverdict.proofs.checks.outcome import Finding as Finding
from dpverdict.proofs.checks.outcome import Findings as Findings
from dpverdict.proofs.checks.outcome import Method as Method
from dpverdict.proofs.checks.outcome import Outcome as Outcome
from dpverdict.proofs.checks.outcome import Standing as Standing
from dpverdict.proofs.checks.outcome import StatementKind as Kind
from dpverdict.proofs.checks.outcome import StatementKind as StatementKind
from dpverdict.proofs.checks.registry import papers as papers
from dpverdict.proofs.checks.registry import statements as statements
from dpverdict.proofs.checks.registry import verify as verify
from dpverdict.proofs.checks.statement import Formula as Formula
from dpverdict.proofs.checks.statement import Plant as Plant
from dpverdict.proofs.checks.statement import Reading as Reading
from dpverdict.proofs.checks.statement import Statement as Statement
from dpverdict.proofs.checks.statement import statement as statement
from dpverdict.proofs.checks.vertices import binary_records as binary_records
from dpverdict.proofs.checks.vertices import every as every
from dpverdict.proofs.checks.vertices import form_of as form_of
from dpverdict.proofs.checks.vertices import squared_parameter as squared_parameter

__all__ = [
    # the ledger: what is checked, and its outcomes
    "papers",
    "statements",
    "verify",
    "Outcome",
    "Standing",
    "Finding",
    "Method",
    # a statement of your own, its readings and its planted faults
    "statement",
    "Kind",
    "Plant",
    "Reading",
    "Findings",
    # the means: for all parameters, on a box, of numbers, by enumeration
    "identity",
    "positive",
    "nonnegative",
    "positive_on_box",
    "increasing_on_box",
    "equal",
    "smaller",
    "rounds_to",
    "every",
    "binary_records",
]
"""What the pages use; every other name imported above can be imported from here as well."""


def __dir__() -> list[str]:
    return sorted(__all__)
