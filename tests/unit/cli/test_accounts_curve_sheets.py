"""``dpverdict curve`` of comparisons and counters: printed, written and drawn, or refused in one line."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dpverdict.cli.application import main


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        (["tree-counter", "--horizon", "65160", "--arity", "19", "--epsilon", "1"], ["603.172", "claims eps=1"]),
        (["counters", "--horizon", "2048", "--epsilon", "1", "--delta", "1e-6"], ["tree better below delta"]),
        (["ellipses", "--dim", "1000"], ["265.8", "266.1", "3.674e-5"]),
        (["constants", "--dim", "10000"], ["2550 ", "5000 "]),
    ],
    ids=lambda value: value[0],
)
def test_the_command_prints_writes_and_draws(
    ask: list[str],
    parts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    files = [part for kind in ("csv", "json", "svg") for part in (f"--{kind}", f"out.{kind}")]
    assert main(["curve", *ask, "--points", "5", *files]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert all(part in printed.out for part in parts)
    assert json.loads((tmp_path / "out.json").read_text())["schema_version"] == 1
    assert len((tmp_path / "out.csv").read_text().splitlines()) > 5
    assert ElementTree.fromstring((tmp_path / "out.svg").read_bytes()).tag.endswith("svg")


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        (["counters", "--horizon", "100", "--epsilon", "1"], ["delta must be given", "add --delta"]),
        (["counters", "--horizon", "1", "--epsilon", "1", "--delta", "1e-6"], ["horizon='1'"]),
        (["counters", "--horizon", "9", "--epsilon", "1", "--delta", "2"], ["delta='2'"]),
        (["ellipses", "--dim", "4", "--mu", "1"], ["mu='1'", "left out for ellipses"]),
        (["elipses", "--dim", "4"], ["mechanism='elipses'", "did you mean ellipses?"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_the_command_refuses_in_one_line(ask: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curve", *ask]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert all(part in printed.err for part in parts)
