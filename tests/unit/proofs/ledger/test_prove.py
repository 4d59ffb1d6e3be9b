"""What ``prove`` checks is what was asked for, and every face shows the ledger of that."""

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.ledger.html import render_html
from dpverdict.proofs.ledger.prove import Proof, prove_statements, statements_asked_for


def test_what_is_asked_for_is_found() -> None:
    assert statements_asked_for(Proof()) == statements()
    assert statements_asked_for(Proof(paper="lebeda2024")) == statements("lebeda2024")
    assert [found.number for found in statements_asked_for(Proof(paper="lebeda2024", number="lem3.1"))] == ["lem3.1"]
    for wrong in (Proof(paper="nobody1900"), Proof(paper="lebeda2024", number="9.9")):
        with pytest.raises(InvalidValue):
            statements_asked_for(wrong)


def test_the_statements_are_checked_with_progress_and_every_face_shows_them() -> None:
    seen: list[int] = []
    request = Proof(paper="lebeda2024", number="lem3.1")
    made = prove_statements(request, lambda what, done, total: seen.append(done))
    assert 'id="lebeda2024-lem3.1"' in render_html(made)
    assert seen[-1] == 1
