"""``dpverdict prove``: the ledger in a terminal, the files it writes, and its exit codes."""

import dataclasses
import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from dpverdict.cli.application import main
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import matching
from dpverdict.proofs.checks.statement import Plant, known_statements

SCHEMA = json.loads(
    resources.files("dpverdict.proofs.ledger").joinpath("ledger.schema.json").read_text(encoding="utf-8")
)
EXAMPLE = Path(__file__).parents[3] / "examples" / "statement_of_another_paper.py"


@pytest.mark.parametrize(
    ("number", "summary"),
    [
        ("3.1", "1 statement: 1 holds; every outcome as recorded; all "),
        pytest.param(
            "3.4",
            "1 statement: 1 fails as printed; every outcome as recorded; all 5 planted faults found",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_command_prints_statement_outcome_and_summary(
    number: str, summary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "lebeda2024", "--statement", f"lem{number}"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"Lemma {number}: " in out
    assert summary in out


def test_explain_prints_everything_a_reviewer_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "lebeda2024", "--statement", "lem3.6", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    out = " ".join(shown.split())
    for part in (
        "Lemma 3.6",
        "Assume that we have access to an estimate",
        "holds with a caveat",
        "with n~ = n the release is f + N(0, d/4), of parameter 2 mu",
        "symbolic",
        "all d >= 1, mu > 0",
        "refuted: d/(8 mu^2)",
        "assumed the estimate of n is independent of the dataset",
        "proofs/lebeda2024/section3_1.py:",
        "sha256",
    ):
        assert part in out
    assert "MISSED" not in out


@pytest.mark.usefixtures("warm_copies")
def test_usage_errors_exit_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments in (
        ["prove", "no-such-paper"],
        ["prove", "lebeda2024", "--statement", "99.9"],
        ["prove", "lebeda2024", "--json", str(tmp_path / "missing" / "x.json")],
        ["prove", str(tmp_path / "missing.py")],
        ["prove", "lebeda2024", "--unknown"],
    ):
        assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_changed_outcome_exits_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = matching("lebeda2024", "lem3.1")
    wrong = dataclasses.replace(found, printed=found.planted[0].claim)
    monkeypatch.setitem(known_statements["lebeda2024"], "lem3.1", wrong)
    assert main(["prove", "lebeda2024", "--statement", "lem3.1"]) == 1
    assert "CHANGED: lebeda2024 lem3.1 fails as printed, recorded: holds" in capsys.readouterr().out


@pytest.mark.parametrize("explained", [[], ["--explain"]])
def test_a_check_that_cannot_fail_exits_with_1_and_every_face_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, explained: list[str]
) -> None:
    (found,) = matching("lebeda2024", "lem3.1")
    deaf = dataclasses.replace(found, planted=(*found.planted, Plant("sum", "no fault at all", found.printed)))
    monkeypatch.setitem(known_statements["lebeda2024"], "lem3.1", deaf)
    files = tmp_path / "ledger.json", tmp_path / "ledger.html"
    asked = ["prove", "lebeda2024", "--statement", "lem3.1", "--json", str(files[0]), "--report", str(files[1])]
    assert main([*asked, *explained]) == 1
    out = capsys.readouterr().out
    assert "1 undecided; 1 CHANGED; ONLY" in out
    assert "missed the planted fault 'no fault at all'" in out
    made = json.loads(files[0].read_text(encoding="utf-8"))
    jsonschema.validate(made, SCHEMA)
    assert made["as_expected"] is False
    assert made["statements"][0]["planted"][-1]["found"] is False
    assert "no condition of this name" in made["statements"][0]["defects"][0]
    page = files[1].read_text(encoding="utf-8")
    assert "Some outcomes changed" in page
    assert "missed the planted fault &#39;no fault at all&#39;" in page


def test_a_defect_fails_the_run_even_where_undecided_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = matching("lebeda2024", "lem3.1")
    deaf = dataclasses.replace(found, expected=Standing.UNDECIDED, planted=(Plant("sum", "none", found.printed),))
    monkeypatch.setitem(known_statements["lebeda2024"], "lem3.1", deaf)
    assert main(["prove", "lebeda2024", "--statement", "lem3.1"]) == 1


def test_the_json_file_and_the_page_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = tmp_path / "ledger.json", tmp_path / "ledger.html"
    assert main(["prove", "lebeda2024", "--statement", "fig2", "--json", str(files[0]), "--report", str(files[1])]) == 0
    jsonschema.validate(json.loads(files[0].read_text(encoding="utf-8")), SCHEMA)
    assert 'id="lebeda2024-fig2"' in files[1].read_text(encoding="utf-8")
    capsys.readouterr()


@pytest.mark.usefixtures("warm_copies")
def test_a_statement_of_a_users_own_file_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", str(EXAMPLE), "--explain"]) == 0
    out = capsys.readouterr().out
    assert "Theorem A.1" in out
    assert "MISSED" not in out
    assert Standing.HOLDS.value in out
