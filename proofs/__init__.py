"""Checks of the numbered statements of papers: a room per paper, one function per statement, in the paper's order."""

if __name__ != "dpverdict.proofs":
    raise ImportError(
        "this folder is installed as dpverdict.proofs: write 'import dpverdict.proofs' (after: pip install -e .)"
    )

from dpverdict.lazy import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    __file__,
    former={
        "dpverdict.proofs.checks.boxes": "equal increasing_on_box not_larger rounds_to smaller",
        "dpverdict.proofs.checks.identities": "nonnegative positive",
        "dpverdict.proofs.checks.outcome": "Finding Method Kind=StatementKind",
        "dpverdict.proofs.checks.registry": "papers",
        "dpverdict.proofs.checks.statement": "Formula Reading Statement",
        "dpverdict.proofs.checks.vertices": "binary_records every form_of squared_parameter",
    },
)
