"""A check that cannot fail is a defect: every condition of every statement has a planted fault that it refutes.

The test covers the whole registry, so the statements of a new paper are covered from the day they are registered.
"""

import dataclasses
import functools
from collections.abc import Iterator

import pytest

from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Findings, Outcome, Standing, StatementKind
from dpverdict.proofs.checks.registry import missed, planted_findings, statements, unguarded
from dpverdict.proofs.checks.statement import STATEMENTS, Plant, Statement, statement
from dpverdict.proofs.lebeda2024.notation import d

FOUND = statements()
NUMBERS = [pytest.param(number, id=f"{found.paper}-{found.number}") for number, found in enumerate(FOUND)]


@functools.cache
def outcome_of(number: int) -> Outcome:
    return FOUND[number].verify()


@pytest.mark.parametrize("number", NUMBERS)
def test_every_planted_fault_is_refuted_and_no_condition_can_be_dropped(number: int) -> None:
    found = FOUND[number]
    findings = planted_findings(found)
    assert missed(findings) == ()
    assert unguarded(found, outcome_of(number)) == ()
    for condition in {fault.condition for fault in found.planted}:
        without = tuple((fault, tuple(f for f in seen if f.name != condition)) for fault, seen in findings)
        assert missed(without), f"the condition {condition!r} could be removed unnoticed"


@pytest.mark.parametrize("number", NUMBERS)
def test_the_outcome_is_the_recorded_one(number: int) -> None:
    outcome = outcome_of(number)
    assert outcome.as_expected, outcome.note
    assert outcome.scope
    assert outcome.method
    if outcome.standing is not Standing.HOLDS:
        assert outcome.witness
        assert outcome.corrected
    if "sampled" in outcome.method:
        assert outcome.note, "a sampled finding needs a reason"


@pytest.fixture
def scratch() -> Iterator[str]:
    yield "scratch"
    STATEMENTS.pop("scratch", None)


def double(paper: str, factor: int, planted: tuple[Plant, ...]) -> Statement:
    @statement(
        paper=paper,
        number="eq1",
        kind=StatementKind.EQUATION,
        text="d + d = 2 d",
        expected=Standing.HOLDS,
        printed=2,
        planted=planted,
    )
    def check(claim: int) -> Findings:
        yield identity("sum", d + d, (claim if factor else 2) * d)
        yield identity("square", (d + d) ** 2, 4 * d**2)

    return check


def test_a_check_that_ignores_its_claim_is_noticed(scratch: str) -> None:
    honest = double(scratch, 1, (Plant("sum", "3 d", 3),))
    assert missed(planted_findings(honest)) == ()
    STATEMENTS.pop(scratch)
    deaf = double(scratch, 0, (Plant("sum", "3 d", 3),))
    assert deaf.verify().standing is Standing.HOLDS
    assert missed(planted_findings(deaf)) == ("sum: 3 d",)


def test_a_condition_without_a_planted_fault_is_noticed(scratch: str) -> None:
    half = double(scratch, 1, (Plant("sum", "3 d", 3),))
    assert unguarded(half, half.verify()) == ("square",)


def test_a_fault_that_is_none_is_noticed(scratch: str) -> None:
    assert missed(planted_findings(double(scratch, 1, (Plant("sum", "no fault", 2),)))) == ("sum: no fault",)


def test_a_changed_outcome_is_noticed(scratch: str) -> None:
    found = dataclasses.replace(double(scratch, 1, (Plant("sum", "3 d", 3),)), printed=3)
    assert found.verify().standing is Standing.FAILS_AS_PRINTED
    assert not found.verify().as_expected
