"""A statement stands where its readings put it, and what makes no sense is not registered."""

import dataclasses
from collections.abc import Callable

import pytest
from sympy import Symbol

from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Plant, Statement, known_statements, statement
from dpverdict.proofs.checks.vertices import every

x = Symbol("x")
FAULT = (Plant("value", "5", 5),)

Make = Callable[..., Statement]


def test_a_true_claim_holds(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.HOLDS, 2).verify()
    assert outcome.standing is Standing.HOLDS
    assert (outcome.scope, outcome.method, outcome.margin, outcome.witness) == ("all x", "symbolic", "0 (identity)", "")


def test_a_false_claim_with_a_true_correction_fails_as_printed(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=2).verify()
    assert outcome.standing is Standing.FAILS_AS_PRINTED
    assert outcome.witness == "x = 7/3: left 4.66667, right 7.00000"
    assert outcome.corrected == "correct"


def test_a_false_claim_with_a_false_correction_is_undecided(paper: str, make: Make) -> None:
    outcome = make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=4).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "corrected" in outcome.note


def test_a_caveat_must_be_refuted(paper: str, make: Make) -> None:
    assert make(paper, Standing.HOLDS_WITH_CAVEAT, 2, caveat=3).verify().standing is Standing.HOLDS_WITH_CAVEAT
    known_statements.pop(paper)
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


def test_a_fault_has_its_own_condition_decided_and_no_other(paper: str, make: Make) -> None:
    ran: list[int] = []

    def check(claim: int) -> Findings:
        yield every("other", range(2), lambda n: not ran.append(claim), over="n", cases=2)
        yield identity("value", x + x, claim * x)

    outcome = make(paper, Standing.HOLDS, 2, check=check).verify()
    assert ran == [2, 2]
    assert [fault.missed for fault in outcome.faults] == [""]
    assert outcome.unguarded == ("other",)


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


def looked_at(paper: str, **more: object) -> Statement:
    def four(claim: int) -> Findings:
        """n + n is 2 n."""
        yield identity("value", x + x, claim * x)
        yield every("some", range(1, 4), lambda n: n + n == claim * n, over="n", cases=3, argued="for all n")

    known_statements.pop(paper, None)
    return statement(
        paper=paper,
        number="lem7",
        kind=StatementKind.LEMMA,
        text="n + n = 2 n for all n",
        expected=Standing.HOLDS,
        printed=2,
        planted=(*FAULT, Plant("some", "5", 5)),
        **more,  # type: ignore[arg-type]
    )(four)


def test_what_was_looked_at_case_by_case_holds_on_that_range(paper: str) -> None:
    outcome = looked_at(paper).verify()
    assert outcome.standing is Standing.HOLDS_ON_RANGE
    assert outcome.on_range
    assert not outcome.as_expected
    assert outcome.scope == "all x; n = 1..3 (3 cases)"
    built = built_on(paper, "lem7")
    known_statements[paper]["lem7"] = dataclasses.replace(
        known_statements[paper]["lem7"], expected=Standing.HOLDS_ON_RANGE
    )
    assert built.verify().standing is Standing.HOLDS_ON_RANGE, "no stronger than what it needs"


def test_cases_that_are_all_that_is_said_or_confirm_a_proof_take_nothing_away(paper: str) -> None:
    assert looked_at(paper, named=("some",)).verify().standing is Standing.HOLDS
    assert looked_at(paper, confirms={"some": "value"}).verify().standing is Standing.HOLDS


@pytest.mark.parametrize(
    "wrong", [{"named": ("sum",)}, {"confirms": {"some": "other"}}, {"confirms": {"sum": "value"}}]
)
def test_to_confirm_nothing_or_to_name_no_condition_is_a_defect(paper: str, wrong: dict[str, object]) -> None:
    outcome = looked_at(paper, **wrong).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "confirms nothing proved, or is none" in outcome.note


def built_on(paper: str, *needs: str, number: str = "lem2") -> Statement:
    def three(claim: int) -> Findings:
        """Thrice x is 3 x."""
        yield identity("value", x + x + x, claim * x)

    return statement(
        paper=paper,
        number=number,
        kind=StatementKind.LEMMA,
        text="3 x",
        expected=Standing.HOLDS,
        printed=3,
        planted=FAULT,
        needs=needs,
    )(three)


def test_a_statement_is_no_stronger_than_what_it_needs(paper: str, make: Make) -> None:
    make(paper, Standing.HOLDS, 2)
    found = built_on(paper, "lem1.1")
    assert found.verify().standing is Standing.HOLDS
    assert [need.label for need in found.verify().needs] == ["Lemma 1.1"]
    known_statements[paper]["lem1.1"] = dataclasses.replace(
        known_statements[paper]["lem1.1"], printed=3, corrected=None
    )
    broken = found.verify()
    assert broken.standing is Standing.UNDECIDED
    assert not broken.as_expected
    assert "needs Lemma 1.1 (scratch), which fails as printed" in broken.note


def test_what_fails_as_printed_gives_only_its_correction(paper: str, make: Make) -> None:
    make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=2)
    assert "which fails as printed" in built_on(paper, "lem1.1").verify().note
    assert built_on(paper, "lem1.1:corrected", number="lem3").verify().standing is Standing.HOLDS
    assert "which is no statement" in built_on(paper, "lem9", number="lem4").verify().note
    with pytest.raises(InvalidValue, match="needs"):
        built_on(paper, "lem1.1:printed", number="lem5")


def test_a_change_below_makes_stale_what_builds_on_it(paper: str, make: Make) -> None:
    make(paper, Standing.HOLDS, 2)
    found, over = built_on(paper, "lem1.1"), built_on(paper, "lem2", number="lem3")
    before = found.source_sha256, over.source_sha256
    below = known_statements[paper]["lem1.1"]
    known_statements[paper]["lem1.1"] = dataclasses.replace(below, check=lambda claim: below.check(claim))
    assert found.source_sha256 != before[0]
    assert over.source_sha256 != before[1]


def test_a_circle_of_needs_is_refused(paper: str) -> None:
    built_on(paper, "lem3")
    with pytest.raises(InvalidValue, match="circle"):
        built_on(paper, "lem2", number="lem3").verify()
