"""Hostile command lines, plans, witnesses, tables and journals end in an answer, or in one line that says why."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def loaded(name: str) -> ModuleType:
    """A script beside this file."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look for their module
    spec.loader.exec_module(module)
    return module


fuzzing: Any = loaded("fuzzing")
verdicts: Any = loaded("fuzzed_verdicts")
Ended = fuzzing.Ended


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return fuzzing.make_material(tmp_path_factory.mktemp("material"))


@pytest.fixture(scope="module")
def small_material(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return fuzzing.make_material(tmp_path_factory.mktemp("material"), "lem3.1")


FEW = {
    "lines": range(1, 2),
    "plans": range(1),
    "witnesses": range(1, 2),
    "tables": range(1, 3),
    "journals": range(1, 2),
}
"""Of each kind in the default run; case 0 has a fresh interpreter. Lines are tried by the hundred in unit/cli."""


@pytest.mark.parametrize("kind", list(fuzzing.KINDS))
def test_hostile_input_ends_in_an_answer_or_in_one_line(kind: str, small_material: dict[str, bytes], seed: int) -> None:
    assert fuzzing.fuzz(kind, FEW[kind], small_material, seed=seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
@pytest.mark.parametrize("kind", list(fuzzing.KINDS))
def test_much_hostile_input_does(kind: str, tenth: int, material: dict[str, bytes], seed: int) -> None:
    assert fuzzing.fuzz(kind, range(10 * tenth, 10 * tenth + 10), material, seed=seed) == []


@pytest.mark.parametrize(
    ("ended", "finding"),
    [
        (Ended(70, "error: x\n", 1.0, 0), "ends with 70"),
        (Ended(-11, "", 1.0, 0), "ends with -11"),
        (Ended(0, "Traceback (most recent call last):\n", 1.0, 0), "traceback"),
        (Ended(2, "error: x\nerror: y\n", 1.0, 0), "not one line"),
        (Ended(2, "", 1.0, 0), "not one line"),
        (Ended(0, "", 61.0, 0), "hangs"),
        (Ended(0, "", 1.0, 3 << 30), "takes 3072 MiB"),
    ],
)
def test_a_planted_finding_is_named(ended: "fuzzing.Ended", finding: str) -> None:
    assert finding in (ended.finding or "")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_verdict_is_no_finding(code: int) -> None:
    assert Ended(code, "", 1.0, 0).finding is None
    assert Ended(2, "error: mu=x must be a number\n", 1.0, 0).finding is None


@pytest.mark.parametrize("lines", [16, pytest.param(2000, marks=pytest.mark.slow)])
def test_random_lines_end_as_the_same_request_in_python(
    lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts.write_material(tmp_path)
    monkeypatch.chdir(tmp_path)
    ends, found = verdicts.fuzz(range(lines))
    assert found == []
    assert sum(ends[status] for status in ("CERTIFIED", "REFUTED", "INCONCLUSIVE")) >= lines / 2
    assert all(ends[status] for status in ("CERTIFIED", "REFUTED", "refused"))


@pytest.mark.few(1)
@pytest.mark.parametrize("planted", ["REFUTED", "CERTIFIED", "INCONCLUSIVE", "refused"])
def test_another_end_in_python_is_found(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts.write_material(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verdicts, "in_python", lambda line: planted)
    _, found = verdicts.fuzz(range(6))
    assert found
    assert all(f"and {planted} in Python" in problem for problem in found)
