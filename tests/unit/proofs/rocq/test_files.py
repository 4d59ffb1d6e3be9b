"""Certificates as files for Rocq: what is true is accepted, a changed digit is not, and no words leave a comment."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.rocq.certificates import name_beside
from dpverdict.proofs.rocq.files import commented, conditions, file_of

COQC = shutil.which("coqc")


def document(*evidence: dict[str, Any], name: str = "a condition") -> dict[str, Any]:
    stated = {"paper": "p", "number": "1", "text": "text"}
    return {
        "statement": stated,
        "readings": [{"reading": "as printed", "conditions": [{"name": name, "evidence": [*evidence]}]}],
    }


def identity(right: str) -> dict[str, Any]:
    return {"kind": "identity", "sides": [["d/sqrt(d)", right]], "variables": {"d": "positive real"}}


def inverse(entry: str) -> dict[str, Any]:
    return {"kind": "inverse", "matrix": [["2"]], "inverse": [[entry]], "values": [[["3"], "9/2"]]}


def accepted(made: dict[str, Any], folder: Path) -> bool:
    path = folder / "statement.v"
    path.write_text(file_of(made, conditions(made)), encoding="utf-8")
    return subprocess.run(["coqc", "-q", str(path)], capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.skipif(COQC is None, reason="coqc is not installed")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (identity("sqrt(d)"), identity("2*sqrt(d)")),
        (inverse("1/2"), inverse("1/3")),
        (
            {"kind": "comparison", "left": ["1", "2"], "right": "3", "signs": ["<"], "holds": True},
            {"kind": "comparison", "left": ["1", "4"], "right": "3", "signs": ["<"], "holds": True},
        ),
    ],
)
def test_the_kernel_accepts_what_is_true_and_refuses_a_changed_digit(
    right: dict[str, Any], wrong: dict[str, Any], tmp_path: Path
) -> None:
    assert accepted(document(right), tmp_path)
    assert not accepted(document(wrong), tmp_path)


def test_words_cannot_end_a_comment() -> None:
    words = 'a *) Axiom x : False. (* "\n'
    assert not set(commented(words)) & set('*"\n')
    text = file_of(made := document(identity("sqrt(d)"), name=words), conditions(made))
    assert text.count("(*") == text.count("*)")
    assert not any(line.startswith("Axiom") for line in text.splitlines())


def test_what_has_no_lemma_is_named() -> None:
    (found,) = conditions(document({"kind": "optimum"}))
    assert found.reasons == ("the kind optimum",)
    assert found.names == ()


def test_every_statement_has_a_file_whose_name_is_a_word() -> None:
    names = [f"{each.paper}/{each.number}.json" for each in statements()]
    beside = [name_beside(name) for name in names]
    assert len(set(beside)) == len(names) > 100
    assert all(re.fullmatch(r"[A-Za-z]\w*\.v", name.split("/")[1]) for name in beside)
    assert name_beside("3.1.json") == "certificate_3_1.v"
