"""Outcomes are three-valued, and are not truth values of Python."""

from collections.abc import Callable

import pytest

from dpverdict.proofs.checks.outcome import Finding, Method, Standing, condition_alone, decide
from dpverdict.proofs.checks.statement import Statement
from dpverdict.proofs.checks.vertices import every

Make = Callable[..., Statement]


def test_decide_is_three_valued() -> None:
    def found(holds: bool | None) -> Finding:
        return Finding(name="n", holds=holds, method=Method.EXACT, scope="one")

    assert decide([]) is None
    assert decide([found(True)]) is True
    assert decide([found(True), found(None)]) is None
    assert decide([found(None), found(False)]) is False
    with pytest.raises(TypeError):
        bool(found(True))


def test_outcomes_and_labels(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.HOLDS, 2, number="lem3.4.proof").verify()
    assert (outcome.label, outcome.anchor) == ("Lemma 3.4 (proof)", "scratch-lem3.4.proof")
    with pytest.raises(TypeError):
        bool(outcome)


def test_a_condition_is_decided_alone() -> None:
    looked_at: list[int] = []

    def found(name: str) -> Finding:
        return every(name, range(3), lambda n: not looked_at.append(n), over="n", cases=3)

    with condition_alone("second"):
        assert (found("first").holds, looked_at) == (None, [])
        assert (found("second").holds, looked_at) == (True, [0, 1, 2])
    assert found("first").holds is True
