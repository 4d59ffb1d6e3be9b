"""Checks of the numbered statements of papers: one file per paper, one function per statement, in the paper's order."""

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
from dpverdict.proofs.checks.outcome import Kind as Kind
from dpverdict.proofs.checks.outcome import Method as Method
from dpverdict.proofs.checks.outcome import Outcome as Outcome
from dpverdict.proofs.checks.outcome import Standing as Standing
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
