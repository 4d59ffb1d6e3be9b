"""Statements of the user's own are checked in a process of their own, and no code of theirs writes the exit code."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.isolation.process import Limits
from dpverdict.cli.application import main
from dpverdict.errors import DpverdictError, MechanismFailure
from dpverdict.proofs.ledger import proof_process
from dpverdict.proofs.ledger.ledger import Ledger, as_json
from dpverdict.proofs.ledger.proof_process import WantedProofFaces, proved
from dpverdict.proofs.ledger.prove import Proof

FILE = """
import sympy
from dpverdict.proofs import Plant, Standing, StatementKind, statement
from dpverdict.proofs.checks.identities import identity

d = sympy.Symbol("d", positive=True)
# at import

@statement(
    paper="mine", number="lem1", kind=StatementKind.LEMMA, text="(d + 1)^2 = d^2 + 2 d + 1", expected=Standing.HOLDS,
    printed=d**2 + 2 * d + 1, planted=(Plant("the square", "without the middle term", d**2 + 1),),
)
def lemma_1(claimed):
    # in the check
    yield identity("the square", claimed, (d + 1) ** 2, scope="all d > 0")
"""
NO_ANSWER = {
    "sys.exit(0)": "import sys; sys.exit(0)",
    "sys.exit(1)": "import sys; sys.exit(1)",
    "os._exit(0)": "import os; os._exit(0)",
    "os._exit(1)": "import os; os._exit(1)",
    "a signal": "import os; os.kill(os.getpid(), 9)",
    "an exception": "raise RuntimeError('planted')",
    "GeneratorExit": "raise GeneratorExit",
    "the exception of a usage error": "import typer; raise typer.Exit(0)",
    "another exit code": "from dpverdict.proofs.ledger.ledger import Ledger; Ledger.exit_code = 0",
    "another decision": "from dpverdict.proofs.checks import outcome; outcome.decide = lambda findings: True",
}


def file(folder: Path, at_import: str = "", in_the_check: str = "") -> Path:
    path = folder / "mine.py"
    path.write_text(FILE.replace("# at import", at_import).replace("# in the check", in_the_check))
    return path


QUICK = {("os._exit(0)", "in_the_check"), ("another exit code", "at_import")}
"""In the default run: the first in a fresh interpreter, the second in a copy of this process."""


@pytest.mark.parametrize(
    ("act", "where"),
    [
        pytest.param(act, where, marks=() if (act, where) in QUICK else pytest.mark.slow)
        for act in NO_ANSWER
        for where in ("at_import", "in_the_check")
    ],
)
def test_code_that_ends_the_run_gives_no_outcome(
    act: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if act == "another exit code":
        request.getfixturevalue("warm_copies")
    path = file(tmp_path, **{where: NO_ANSWER[act]})
    assert main(["prove", str(path), "--json", str(tmp_path / "out.json")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


def test_outcomes_that_are_right_and_that_changed_have_their_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    path = file(tmp_path, at_import="print('CERTIFIED')", in_the_check="print('holds')")
    faces = [str(tmp_path / "out.json"), str(tmp_path / "out.html")]
    assert main(["prove", str(path), "--json", faces[0], "--report", faces[1], "--explain"]) == 0
    out = capsys.readouterr().out
    assert "CERTIFIED" not in out
    assert "every outcome as recorded; all 1 planted faults found" in out
    assert json.loads(Path(faces[0]).read_text())["statements"][0]["outcome"] == "HOLDS"
    assert 'id="mine-lem1"' in Path(faces[1]).read_text()
    path.write_text(FILE.replace("printed=d**2 + 2 * d + 1", "printed=d**2 + 3 * d + 1"))
    request.getfixturevalue("warm_copies")
    assert main(["prove", str(path)]) == 1
    assert "CHANGED: mine lem1" in capsys.readouterr().out


def test_a_check_that_hangs_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, in_the_check="import time; time.sleep(600)")
    assert main(["prove", str(path), "--timeout", "8"]) == 2
    assert "did not finish within 8 seconds" in capsys.readouterr().err


@pytest.mark.usefixtures("warm_copies")
def test_an_output_is_no_file_that_the_statements_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.json"
    table.write_text("[1]")
    path = file(tmp_path, at_import=f"import json; assert json.load(open({str(table)!r})) == [1]")
    assert main(["prove", str(path), "--json", str(table)]) == 2
    assert table.read_text() == "[1]"
    assert "not written" in capsys.readouterr().err


CONSOLE = {"width": 80, "color_system": None, "terminal": False, "encoding": "utf-8"}
FACES = WantedProofFaces(page=True, explained=False, console=CONSOLE)


def test_statements_of_the_ledger_are_the_same_here_and_apart(request: pytest.FixtureRequest) -> None:
    proof = Proof(paper="lebeda2024", number="lem3.1")
    here, there = proved(proof, FACES), proved(proof, FACES, Limits(seconds=300))
    assert here.fields == there.fields
    assert here.page == there.page
    assert here.exit_code == there.exit_code == 0
    assert here.files == ()
    request.getfixturevalue("warm_copies")
    with pytest.raises(DpverdictError, match="no-such-paper"):
        proved(Proof(paper="no-such-paper"), FACES)


def test_a_ledger_that_contradicts_itself_is_none(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    sound: dict[str, Any] = {"fields": as_json(ledger), "page": "", "text": "", "files": [], "certificates": {}}
    given: list[object] = []
    monkeypatch.setattr(proof_process, "run_isolated", lambda *others, **more: given[0])

    def answered(answer: object) -> int:
        given[:] = [answer]
        return proved(Proof(paper="of somebody"), FACES).exit_code

    assert answered(sound) == 0

    def changed(change: dict[str, object], *, summary: bool = True) -> object:
        fields = copy.deepcopy(sound["fields"])
        fields["statements"][1] |= change
        return {**sound, "fields": fields | {"as_expected": summary}}

    row = sound["fields"]["statements"][1]
    assert row["outcome"] == "HOLDS"
    fails = [finding | {"holds": False} for finding in row["findings"]]
    assert answered(changed({"outcome": "UNDECIDED"}, summary=False)) == 1
    assert answered(changed({"expected": "FAILS_AS_PRINTED"}, summary=False)) == 1
    for wrong in (
        None,
        [],
        {},
        sound | {"text": None},
        sound | {"files": [1]},
        sound | {"certificates": {"a": 1}},
        sound | {"fields": sound["fields"] | {"statements": []}},
        changed({}, summary=False),
        changed({"outcome": "UNDECIDED"}),
        changed({"outcome": "RIGHT"}),
        changed({"findings": fails}),
        changed({"findings": []}),
        changed({"planted": []}),
        changed({"planted": [fault | {"found": False} for fault in row["planted"]]}),
        changed({"planted": [fault | {"condition": "another"} for fault in row["planted"]]}),
        changed({"defects": ["missed the planted fault"]}),
        changed({"outcome": "FAILS_AS_PRINTED", "expected": "FAILS_AS_PRINTED"}),
    ):
        with pytest.raises(MechanismFailure, match="no ledger"):
            answered(wrong)
