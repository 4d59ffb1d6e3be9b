"""Write docs/ledger.md: every statement of the source papers with its outcome, as the checks find it.

    python tools/ledger.py

A test compares the hashes in the page with those of the checks, and fails when the page is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.ledger.ledger import make_ledger, markdown

PAGE = Path(__file__).parents[1] / "docs" / "ledger.md"


def main() -> int:
    ledger = make_ledger(statements())
    if ledger.changed:
        print("not written, since an outcome changed:", ledger.summary(), file=sys.stderr)
        return 1
    write_atomically(PAGE, markdown(ledger))
    print(f"{PAGE}: {ledger.summary()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
