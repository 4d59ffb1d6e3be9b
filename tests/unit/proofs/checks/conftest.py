"""Statements to check: in a paper of the tests, which is forgotten after each of them."""

from collections.abc import Callable, Iterator

import pytest
from sympy import Symbol

from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Plant, Reading, Statement, known_statements, statement

x = Symbol("x")
FAULT = (Plant("value", "5", 5),)


@pytest.fixture
def paper() -> Iterator[str]:
    yield "scratch"
    known_statements.pop("scratch", None)


@pytest.fixture
def make() -> Callable[..., Statement]:
    """Registers the statement that twice x is ``printed`` times x."""
    return registered


def registered(
    paper: str,
    expected: Standing,
    printed: int,
    *,
    caveat: int | None = None,
    corrected: int | None = None,
    number: str = "lem1.1",
    check: Callable[[int], Findings] | None = None,
) -> Statement:
    def two(claim: int) -> Findings:
        """Twice x is 2 x."""
        yield identity("value", x + x, claim * x)

    return statement(
        paper=paper,
        number=number,
        kind=StatementKind.LEMMA,
        text="2 x",
        expected=expected,
        printed=printed,
        planted=FAULT,
        caveat=None if caveat is None else Reading("read so", caveat),
        corrected=None if corrected is None else Reading("correct", corrected),
    )(check or two)
