"""A check that cannot fail is a defect: every condition of every statement has a planted fault that it refutes.

The slow form covers the whole registry. The default takes 60 statements from all over it, without the few that take
most of the time; for the others tests/repo/test_ledger.py shows that nothing they rest on has changed since the ledger
was written, when all of them were decided and all planted faults found.
"""

import dataclasses
import functools
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Finding, Findings, Outcome, Standing, StatementKind
from dpverdict.proofs.checks.registry import registered, statements
from dpverdict.proofs.checks.statement import Plant, Statement, all_needed, known_statements, outcomes_of, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.lebeda2024.notation import d

FOUND = statements()
HEAVY = {
    *("thm1.1", "thm1.2.fixed19", "abstract.k19", "abstract.laplace", "base.ranges", "claim1"),
    *("remark2.3", "lem4.3", "lem4.4", "sec4.slight", "sec5.plrv", "claim.M3.part2", "claim.M4", "egm.axisopt"),
    *("leb.new.free-n", "leb.new.gap", "leb.new.opt.all", "leb.new.disc.delta", "leb.new.kappa", "leb.new.lem44"),
    *("leb.new.jy24.range", "and.new.thr", "and.new.gausslimit", "r1.new.apollonius", "r1.new.regimes"),
    *("r1.new.renyi", "r1.new.honest", "r1.new.tradeoff", "r1.new.worstshift"),
}
"""Each takes more than a second of processor time. By default these, and what needs them, rest on their hashes: the
ledger in docs/ was written when they were decided, and tests/repo/test_ledger.py fails when anything below changes.
"""


def cost(found: Statement) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.slow,) if HEAVY & {one.number for one in all_needed([found])} else ()


NUMBERS = [
    pytest.param(number, id=f"{found.paper}-{found.number}", marks=cost(found)) for number, found in enumerate(FOUND)
]


@functools.cache
def decided_alone(paper: str, number: str) -> Outcome:
    """Once in every process: many statements need the same ones."""
    return registered(paper, number).decided_alone()


@pytest.mark.few(30)
@pytest.mark.parametrize("number", NUMBERS)
def test_the_outcome_is_the_recorded_one_and_every_condition_has_a_fault_that_is_refuted(number: int) -> None:
    found = FOUND[number]
    names = [(one.paper, one.number) for one in all_needed([found])]
    (outcome,) = outcomes_of([found], {name: decided_alone(*name) for name in names})
    assert outcome.defects == ()
    assert len(outcome.faults) == len(found.planted) > 0
    assert outcome.as_expected, outcome.note
    assert outcome.scope
    assert outcome.method
    if outcome.standing not in (Standing.HOLDS, Standing.HOLDS_ON_RANGE):
        assert outcome.witness
        assert outcome.corrected
    if "sampled" in outcome.method:
        assert outcome.note, "a sampled finding needs a reason"


def test_a_statement_that_is_assumed_is_named_as_needed() -> None:
    numbers = {found.number for found in FOUND if re.search(r"\d", found.number)}
    for found in FOUND:
        words = " ".join(found.assumptions)
        said = {name for name in numbers if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])(?!\.\w)", words)}
        assert said <= {found.number, *(need.number for need in found.needs), *NOT_NEEDED}, found.number


NOT_NEEDED = {"claim.M3.all"}
"""Named in an assumption as what does without it."""


@pytest.fixture
def scratch() -> Iterator[str]:
    yield "scratch"
    known_statements.pop("scratch", None)


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
        yield identity("square", (d + d) ** 2, (claim if factor == 1 else 2) ** 2 * d**2)

    return check


GUARDS = (Plant("sum", "3 d", 3), Plant("square", "3 d", 3))


def only_note(found: Statement) -> str:
    """The note of an outcome that defects alone make undecided."""
    outcome = found.verify()
    assert outcome.standing is Standing.UNDECIDED
    assert not outcome.as_expected
    assert outcome.note == "; ".join(outcome.defects)
    return outcome.note


def test_a_check_that_ignores_its_claim_is_undecided(scratch: str) -> None:
    assert double(scratch, 1, GUARDS).verify().standing is Standing.HOLDS
    known_statements.pop(scratch)
    words = only_note(double(scratch, 0, GUARDS))
    assert words.startswith("missed the planted fault '3 d' of 'sum': it holds")


def test_a_condition_without_a_planted_fault_is_noticed(scratch: str) -> None:
    assert only_note(double(scratch, 1, GUARDS[:1])) == "no fault is planted under the condition 'square'"


def test_a_fault_that_is_none_is_noticed(scratch: str) -> None:
    found = double(scratch, 1, (*GUARDS, Plant("sum", "no fault", 2)))
    assert only_note(found) == "missed the planted fault 'no fault' of 'sum': it holds"


def test_a_misspelt_condition_is_noticed(scratch: str) -> None:
    found = double(scratch, 1, (Plant("sun", "3 d", 3), GUARDS[1]))
    words = only_note(found)
    assert "missed the planted fault '3 d' of 'sun': no condition of this name" in words
    assert "no fault is planted under the condition 'sum'" in words


def test_a_fault_that_breaks_another_condition_only_is_missed(scratch: str) -> None:
    found = double(scratch, 2, GUARDS)  # the square is not of the claim
    assert only_note(found) == "missed the planted fault '3 d' of 'square': it holds"


def test_a_fault_at_which_the_check_gives_up_is_missed(scratch: str) -> None:
    honest = double(scratch, 1, (*GUARDS, Plant("sum", "no number", 0)))

    def partial(claim: int) -> Findings:
        assert 1 / claim > 0
        yield from honest.check(claim)

    assert "the check gave up" in only_note(dataclasses.replace(honest, check=partial))


@pytest.mark.parametrize("dropped", ["sum", "square"])
def test_no_condition_can_be_dropped_unnoticed(scratch: str, dropped: str) -> None:
    honest = double(scratch, 1, GUARDS)

    def shorter(claim: int) -> Findings:
        return (finding for finding in honest.check(claim) if finding.name != dropped)

    assert f"the planted fault '3 d' of {dropped!r}" in only_note(dataclasses.replace(honest, check=shorter))


def enumerations_that_hold_when_cut(found: Statement, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """How many enumerations of several cases a statement has, and those that hold although only the first case ran."""
    ran: list[Finding] = []

    def cut(name: str, items: Iterable[Any], *more: Any, cases: int, **named: Any) -> Finding:  # Any: as `every`
        made = every(name, itertools.islice(items, 1), *more, cases=cases, **named)
        if cases > 1:
            ran.append(made)
        return made

    for module in list(sys.modules.values()):
        if module.__name__.startswith("dpverdict.") and vars(module).get("every") is every:  # asks no lazy package
            monkeypatch.setattr(module, "every", cut)
    for reading in (found.printed, *([] if found.corrected is None else [found.corrected.claim])):
        found.findings(reading)
    return len(ran), [one.name for one in ran if one.holds]


CUT = [*range(0, len(FOUND), 30)]


@pytest.mark.parametrize("number", [NUMBERS[number] for number in CUT])
def test_an_enumeration_cut_to_its_first_case_fails(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, held = enumerations_that_hold_when_cut(FOUND[number], monkeypatch)
    assert held == []


@pytest.mark.slow
def test_every_enumeration_cut_to_its_first_case_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    enumerations = 0
    for found in FOUND:
        with monkeypatch.context() as patched:
            count, held = enumerations_that_hold_when_cut(found, patched)
        assert held == [], found.number
        enumerations += count
    assert enumerations > 200


def test_a_statement_of_a_cut_enumeration_is_undecided(scratch: str) -> None:
    def squares(claim: int, most: int) -> Findings:
        yield every("squares", range(most), lambda n: n * n < claim, over="n", cases=8)

    def registered_with(most: int) -> Statement:
        known_statements.pop(scratch, None)
        return statement(
            paper=scratch,
            number="eq2",
            kind=StatementKind.EQUATION,
            text="n^2 < 50",
            expected=Standing.HOLDS_ON_RANGE,
            printed=50,
            planted=(Plant("squares", "1", 1),),
        )(lambda claim: squares(claim, most))

    assert registered_with(8).verify().as_expected
    assert registered_with(8).verify().scope == "n = 0..7 (8 cases)"
    cut = registered_with(1).verify()
    assert cut.standing is Standing.UNDECIDED
    assert not cut.as_expected
    assert cut.findings[0].witness == "1 of 8 cases ran"


def test_a_changed_outcome_is_noticed(scratch: str) -> None:
    found = dataclasses.replace(double(scratch, 1, GUARDS), printed=3, corrected=None)
    assert found.verify().standing is Standing.FAILS_AS_PRINTED
    assert not found.verify().as_expected
