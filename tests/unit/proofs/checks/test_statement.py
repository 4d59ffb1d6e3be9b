"""The framework of statements: standings, readings, hashes, numbers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sympy import Symbol

from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind, decide
from dpverdict.proofs.checks.registry import load, matching, papers, statements, verify
from dpverdict.proofs.checks.source_hash import source_sha256
from dpverdict.proofs.checks.statement import STATEMENTS, Plant, Reading, Statement, statement

ROOT = Path(__file__).parents[4]

x = Symbol("x")
FAULT = (Plant("value", "5", 5),)


@pytest.fixture
def paper() -> Iterator[str]:
    yield "scratch"
    STATEMENTS.pop("scratch", None)


def make(
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


def test_a_true_claim_holds(paper: str) -> None:
    outcome = make(paper, Standing.HOLDS, 2).verify()
    assert outcome.standing is Standing.HOLDS
    assert (outcome.scope, outcome.method, outcome.margin, outcome.witness) == ("all x", "symbolic", "0 (identity)", "")


def test_a_false_claim_with_a_true_correction_fails_as_printed(paper: str) -> None:
    outcome = make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=2).verify()
    assert outcome.standing is Standing.FAILS_AS_PRINTED
    assert outcome.witness == "x = 7/3: 4.66667 against 7.00000"
    assert outcome.corrected == "correct"


def test_a_false_claim_with_a_false_correction_is_undecided(paper: str) -> None:
    outcome = make(paper, Standing.FAILS_AS_PRINTED, 3, corrected=4).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "corrected" in outcome.note


def test_a_caveat_must_be_refuted(paper: str) -> None:
    assert make(paper, Standing.HOLDS_WITH_CAVEAT, 2, caveat=3).verify().standing is Standing.HOLDS_WITH_CAVEAT
    STATEMENTS.pop(paper)
    outcome = make(paper, Standing.HOLDS_WITH_CAVEAT, 2, caveat=2).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "caveat" in outcome.note


def test_a_check_that_gives_up_is_undecided(paper: str) -> None:
    def check(claim: int) -> Findings:
        yield identity("value", x, x)
        raise PrecisionExhausted("value", 64, "none")

    outcome = make(paper, Standing.HOLDS, 2, check=check).verify()
    assert outcome.standing is Standing.UNDECIDED
    assert "gave up" in outcome.note


def test_a_check_that_finds_nothing_is_undecided(paper: str) -> None:
    outcome = make(paper, Standing.HOLDS, 2, check=lambda claim: iter(())).verify()
    assert outcome.standing is Standing.UNDECIDED


def test_decide_is_three_valued() -> None:
    def found(holds: bool | None) -> Finding:
        return Finding(name="n", holds=holds, method=Method.EXACT, scope="one")

    assert decide([]) is None
    assert decide([found(True)]) is True
    assert decide([found(True), found(None)]) is None
    assert decide([found(None), found(False)]) is False
    with pytest.raises(TypeError):
        bool(found(True))


def test_registration_refuses_what_makes_no_sense(paper: str) -> None:
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


def test_outcomes_and_labels(paper: str) -> None:
    outcome = make(paper, Standing.HOLDS, 2, number="lem3.4.proof").verify()
    assert (outcome.label, outcome.anchor) == ("Lemma 3.4 (proof)", "scratch-lem3.4.proof")
    with pytest.raises(TypeError):
        bool(outcome)


def test_statements_are_found_by_number_name_and_digits(paper: str) -> None:
    make(paper, Standing.HOLDS, 2, number="lem3.4")
    make(paper, Standing.HOLDS, 2, number="lem3.4.proof")
    make(paper, Standing.HOLDS, 2, number="lem3.40")
    assert [found.number for found in matching(paper, "3.4")] == ["lem3.4", "lem3.4.proof"]
    assert [found.number for found in matching(paper, "Lemma 3.4")] == ["lem3.4"]
    assert verify(paper, "3.4").number == "lem3.4"
    make(paper, Standing.HOLDS, 2, number="thm3.4")
    with pytest.raises(InvalidValue, match=r"lem3\.4, thm3\.4"):
        verify(paper, "3.4")
    with pytest.raises(InvalidValue, match="statement"):
        verify(paper, "9.9")
    with pytest.raises(InvalidValue, match="paper"):
        statements("no such paper")
    with pytest.raises(InvalidValue, match="paper"):
        load("no.such.module")


def test_the_papers_are_listed() -> None:
    assert papers() == ("andersson2024", "ji2024", "lebeda2024", "poulsen2022", "new_results")
    assert len(statements("lebeda2024")) >= 48


FIFTH = '''
from dpverdict.proofs import Kind, Plant, Standing, equal, statement
from dpverdict.balls import Real

@statement(paper="bun2016", number="{number}", kind=Kind.PROPOSITION, expected=Standing.HOLDS, text="one is one",
           printed=1, planted=(Plant("one", "two", 2),))
def check(claim):
    """It is."""
    yield equal("one", Real.of(claim), Real.of(1), scope="one number")
'''


def test_a_fifth_paper_is_a_folder(tmp_path: Path) -> None:
    """In a copy of the product, one new folder puts a paper into the ledger, in the order of its files."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    room = tmp_path / "src/dpverdict/proofs/bun2016"
    room.mkdir()
    (room / "__init__.py").write_text('"""Concentrated Differential Privacy\n(Bun and Steinke)."""\n')
    for number, name in {"propA.1": "appendix_a", "prop12": "section12", "prop3.1": "section3_1"}.items():
        (room / f"{name}.py").write_text(FIFTH.format(number=number))
    asked = (
        "from dpverdict.proofs.checks.registry import papers, statements, title, verify\n"
        "print(papers()[1], title('bun2016'), *(s.number for s in statements('bun2016')), sep='; ')\n"
        "print(verify('bun2016', 'Proposition 12').standing.value)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == (
        "bun2016; Concentrated Differential Privacy (Bun and Steinke); prop3.1; prop12; propA.1\nholds\n"
    ), done.stderr


def helper() -> int:
    return 1


def uses_helper() -> int:
    return helper()


def uses_nothing() -> int:
    return 1


def test_the_hash_covers_what_a_check_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    before = source_sha256(uses_helper), source_sha256(uses_nothing)
    monkeypatch.setitem(uses_helper.__globals__, "helper", lambda: 2)
    after = source_sha256(uses_helper), source_sha256(uses_nothing)
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_the_hash_covers_the_formulas_of_the_mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverdict.proofs.lebeda2024 import section3 as lebeda2024_section3

    found = next(s for s in statements("lebeda2024") if s.number == "lem3.1")
    before = found.verify().source_sha256
    assert found.verify().source_sha256 == before
    monkeypatch.setattr(lebeda2024_section3, "family_variances", lambda dim, c, mu: (dim, c))
    assert found.verify().source_sha256 != before
    assert found.verify().standing is not Standing.HOLDS
