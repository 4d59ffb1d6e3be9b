"""What ``prove`` checks is what was asked for, and what it writes is the ledger of that."""

import json
from pathlib import Path

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.ledger.ledger import as_json
from dpverdict.proofs.ledger.prove import Proof, prove_statements, statements_asked_for


def test_what_is_asked_for_is_found() -> None:
    assert statements_asked_for(Proof()) == statements()
    assert statements_asked_for(Proof(paper="lebeda2024")) == statements("lebeda2024")
    assert [found.number for found in statements_asked_for(Proof(paper="lebeda2024", number="lem3.1"))] == ["lem3.1"]
    for wrong in (Proof(paper="nobody1900"), Proof(paper="lebeda2024", number="9.9")):
        with pytest.raises(InvalidValue):
            statements_asked_for(wrong)


def test_the_files_hold_the_ledger_that_is_returned(tmp_path: Path) -> None:
    files = {"json": tmp_path / "ledger.json", "report": tmp_path / "ledger.html"}
    seen: list[int] = []
    made = prove_statements(
        Proof(paper="lebeda2024", number="lem3.1", **files), lambda what, done, total: seen.append(done)
    )
    assert json.loads(files["json"].read_text(encoding="utf-8")) == as_json(made)
    assert 'id="lebeda2024-lem3.1"' in files["report"].read_text(encoding="utf-8")
    assert seen[-1] == 1
