"""Checks of the numbered statements of papers: one file per paper, one function per statement, in the paper's order."""

if __name__ != "dpverdict.proofs":
    raise ImportError(
        "this folder is installed as dpverdict.proofs: write 'import dpverdict.proofs' (after: pip install -e .)"
    )

from dpverdict.proofs.boxes import equal as equal
from dpverdict.proofs.boxes import increasing_on_box as increasing_on_box
from dpverdict.proofs.boxes import not_larger as not_larger
from dpverdict.proofs.boxes import positive_on_box as positive_on_box
from dpverdict.proofs.boxes import rounds_to as rounds_to
from dpverdict.proofs.boxes import smaller as smaller
from dpverdict.proofs.identities import identity as identity
from dpverdict.proofs.identities import nonnegative as nonnegative
from dpverdict.proofs.identities import positive as positive
from dpverdict.proofs.outcome import Finding as Finding
from dpverdict.proofs.outcome import Findings as Findings
from dpverdict.proofs.outcome import Kind as Kind
from dpverdict.proofs.outcome import Method as Method
from dpverdict.proofs.outcome import Outcome as Outcome
from dpverdict.proofs.outcome import Standing as Standing
from dpverdict.proofs.registry import papers as papers
from dpverdict.proofs.registry import statements as statements
from dpverdict.proofs.registry import verify as verify
from dpverdict.proofs.statement import Formula as Formula
from dpverdict.proofs.statement import Plant as Plant
from dpverdict.proofs.statement import Reading as Reading
from dpverdict.proofs.statement import Statement as Statement
from dpverdict.proofs.statement import statement as statement
from dpverdict.proofs.vertices import binary_records as binary_records
from dpverdict.proofs.vertices import every as every
from dpverdict.proofs.vertices import form_of as form_of
from dpverdict.proofs.vertices import squared_parameter as squared_parameter
