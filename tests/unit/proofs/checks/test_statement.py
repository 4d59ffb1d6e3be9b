"""A statement stands where its readings put it, and what makes no sense is not registered."""

from collections.abc import Callable

import pytest
from sympy import Symbol

from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import STATEMENTS, Statement, statement

x = Symbol("x")

Make = Callable[..., Statement]


def test_a_true_claim_holds(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.HOLDS, 2).verify()
    assert outcome.standing is Standing.HOLDS
    assert (outcome.scope, outcome.method, outcome.margin, outcome.witness) == ("all x", "symbolic", "0 (identity)", "")


def test_a_false_claim_with_a_true_correction_fails_as_printed(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=2).verify()
    assert outcome.standing is Standing.FAILS_AS_PRINTED
    assert outcome.witness == "x = 7/3: 4.66667 against 7.00000"
    assert outcome.corrected == "correct"


def test_a_false_claim_with_a_false_correction_is_undecided(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=4).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "corrected" in outcome.note


def test_a_caveat_must_be_refuted(paper: str, make: Make) -> None:
    assert make(paper, Standing.HOLDS_WITH_CAVEAT, 2, caveat=3).verify().standing is Standing.HOLDS_WITH_CAVEAT
    STATEMENTS.pop(paper)
    outcome = make(paper, Standing.HOLDS_WITH_CAVEAT, 2, caveat=2).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "caveat" in outcome.note


def test_a_check_that_gives_up_is_undecided(paper: str, make: Make) -> None:
    def check(claim: int) -> Findings:
        yield identity("value", x, x)
        raise PrecisionExhausted("value", 64, "none")

    outcome = make(paper, Standing.HOLDS, 2, check=check).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "gave up" in outcome.note


def test_a_check_that_finds_nothing_is_undecided(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.HOLDS, 2, check=lambda claim: iter(())).verify()
    assert outcome.standing is Standing.UNDECIDED


def test_registration_refuses_what_makes_no_sense(paper: str, make: Make) -> None:
    with pytest.raises(InvalidValue, match="planted"):
        statement(
            paper=paper, number="a", kind=StatementKind.TEXT, text="t", expected=Standing.HOLDS, printed=1, planted=()
        )
    with pytest.raises(InvalidValue, match="caveat"):
        make(paper, Standing.HOLDS_WITH_CAVEAT, 2)
    with pytest.raises(InvalidValue, match="caveat"):
        make(paper, Standing.HOLDS, 2, caveat=3)
    with pytest.raises(InvalidValue, match="corrected"):
        make(paper, Standing.FAILS_AS_PRINTED, 3)
    make(paper, Standing.HOLDS, 2)
    with pytest.raises(InvalidValue, match="number"):
        make(paper, Standing.HOLDS, 2, check=lambda claim: iter(()))
