"""The public names of dpverdict.proofs, by subject; each is imported when it is first used."""

# the ledger: what is checked, and its outcomes
from dpverdict.proofs.checks.registry import statements as statements
from dpverdict.proofs.checks.registry import verify as verify
from dpverdict.proofs.checks.outcome import Outcome as Outcome
from dpverdict.proofs.checks.outcome import Standing as Standing

# a statement of your own, its readings and its planted faults
from dpverdict.proofs.checks.statement import statement as statement
from dpverdict.proofs.checks.outcome import StatementKind as StatementKind
from dpverdict.proofs.checks.statement import Plant as Plant
from dpverdict.proofs.checks.outcome import Findings as Findings

# the means: for all parameters, and on a box
from dpverdict.proofs.checks.identities import identity as identity
from dpverdict.proofs.checks.boxes import positive_on_box as positive_on_box
