"""Small wrong changes to checks and formulas are noticed by the ledger; `mutated_statements.py` runs many more."""

import ast
import dataclasses
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


def _beside(name: str) -> Any:  # Any: a module of this folder, which is no package
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


mutated_statements = _beside("mutated_statements")
changed, mutants, operators = mutated_statements.changed, mutated_statements.mutants, mutated_statements.operators
run = mutated_statements.run

SECTION = "dpverdict.proofs.lebeda2024.section1"
QUICK = {"abstract", "sec1.distance", "sec1.knownn"}


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("3", {"4"}),
        ("a + b", {"a - b", "a"}),
        ("a - b", {"a + b", "a"}),
        ("a * b", {"a / b"}),
        ("a ** b", {"a * b"}),
        ("a <= b", {"a < b"}),
        ("a == b", {"a != b"}),
        ("-a", {"a"}),
        ("a and b and c", {"a and b"}),
        ("a % b", set()),
        ("True", set()),
    ],
)
def test_the_changes(source: str, made: set[str]) -> None:
    node = ast.parse(source, mode="eval").body
    found = {ast.unparse(changed(ast.parse(source, mode="eval").body, operator)) for operator in operators(node)}
    assert found == made


def test_a_loop_is_cut_to_its_first_item() -> None:
    tree = ast.parse("[x for x in range(9)]", mode="eval")
    assert isinstance(tree.body, ast.ListComp)
    changed(tree.body.generators[0], "cut to the first")
    assert eval(compile(ast.fix_missing_locations(tree), "here", "eval")) == [0]


def of_quick_statements() -> list[Any]:
    return [one for one in mutants(SECTION) if {number for _, number in one.concerned} <= QUICK]


def test_words_and_planted_faults_are_not_mutated() -> None:
    found = of_quick_statements()
    assert len(found) > 30
    assert not any("Plant" in one.shown for one in found)


def test_most_wrong_changes_of_a_few_statements_are_noticed() -> None:
    chosen = of_quick_statements()[::8]
    survivors = [one for one in chosen if not run(one)]
    assert len(survivors) <= len(chosen) / 10, [str(one) for one in survivors]


def test_a_change_that_nothing_rests_on_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    one = of_quick_statements()[0]
    monkeypatch.setattr(mutated_statements, "install", lambda mutant: None)
    assert run(one) == ""


def test_a_change_of_the_row_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = of_quick_statements()[0]
    monkeypatch.setattr(mutated_statements, "install", lambda mutant: None)
    monkeypatch.setattr(mutated_statements, "unchanged_row", lambda paper, number: "all d >= 1; ")
    assert run(one).endswith(": another row")


def test_a_place_that_is_never_run_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The change that ends a check is noticed wherever it is run."""
    one = of_quick_statements()[0]
    assert run(dataclasses.replace(one, operator=mutated_statements.STOP)) == "ended with SystemExit"
    monkeypatch.setattr(mutated_statements, "install", lambda mutant: None)
    assert mutated_statements.killed_by(one) is None
