"""The ledger in a terminal: a row for every statement, and every planted fault with what it broke."""

import dataclasses

import pytest

from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.ledger.ledger import Ledger
from dpverdict.proofs.ledger.terminal import FEW, print_explanations, print_ledger, print_overview


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_every_statement_has_a_row(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    print_ledger(ledger)
    printed = capsys.readouterr().out
    for entry in ledger.entries:
        assert entry.outcome.label in printed
    assert ledger.summary() in printed
    assert "CHANGED" not in printed


def test_the_overview_of_a_paper_is_short_and_names_what_fails(
    ledger: Ledger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    many = Ledger(ledger.entries * 8)
    print_overview(many)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 30
    assert max(map(len, printed.splitlines())) <= 80
    assert many.summary() in " ".join(printed.split())
    for entry in many.entries:
        failing = entry.outcome.standing is Standing.FAILS_AS_PRINTED
        assert not failing or entry.outcome.label in " ".join(printed.split())
    print_overview(Ledger(ledger.entries[:FEW]))
    printed = " ".join(capsys.readouterr().out.split())
    assert all(f"{one.outcome.label}: {one.outcome.words}" in printed for one in ledger.entries[:FEW])


def test_a_changed_outcome_is_shouted(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    entry = ledger.entries[1]
    changed = dataclasses.replace(entry, outcome=dataclasses.replace(entry.outcome, standing=Standing.UNDECIDED))
    for show, entries in ((print_ledger, (changed,)), (print_overview, (changed,)), (print_overview, (changed,) * 20)):
        show(Ledger(entries))
        assert f"CHANGED: lebeda2024 {entry.outcome.number} undecided, recorded: holds" in capsys.readouterr().out


def test_an_explanation_names_every_condition_and_every_fault(
    ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    few = Ledger(ledger.entries[1:3])
    print_explanations(few)
    printed = " ".join(capsys.readouterr().out.split())
    for entry in few.entries:
        for finding in entry.outcome.findings:
            assert finding.name in printed
            shown = [" ".join(f"{left} {relation} {right}".split()) for left, relation, right in finding.sides[:6]]
            assert all(equation in printed for equation in shown)
        for plant in entry.statement.planted:
            assert plant.text in printed
    assert "MISSED" not in printed
