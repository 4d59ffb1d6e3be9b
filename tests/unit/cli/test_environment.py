"""What the environment says and no library can use is refused in one line, or left out."""

import re
from pathlib import Path

import pytest

from dpverdict.cli.application import main

AUDIT = ["audit", "correlated-gaussian", "--dim", "2", "--mu", "1", "--no-test"]


@pytest.mark.parametrize("epoch", ["never", "", "-1", "1.5", "1e9", "9" * 30, "253402300800", "\u0661"])
def test_a_date_that_is_none_is_one_line(
    epoch: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert main([*AUDIT, "--json", str(tmp_path / "out.json")]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"error: SOURCE_DATE_EPOCH=.* must be a whole number of seconds: unset it, .*\n", said)


@pytest.mark.parametrize("columns", ["0", "-3", "1", "x", "", "9" * 400])
def test_a_width_on_which_nothing_can_be_shown_is_not_read(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["list"]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["list"]) == 0
    assert capsys.readouterr().out == expected


PLAN = """
title = "a\\u001b[2J\\u202e title"
seed = 1

[[audit]]
name = "name \\u202eeman \\u001b[31m"
mechanism = "correlated-gaussian"
dim = 2
mu = 1
exact_only = true

[deployment]
privacy_unit = "one \\u202e person"
"""


def test_the_pages_of_a_plan_show_what_cannot_be_seen(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    page, packet = tmp_path / "out.html", tmp_path / "packet"
    assert main(["run", str(tmp_path / "plan.toml"), "--quiet", "--report", str(page), "--packet", str(packet)]) == 0
    for text in (page.read_text(encoding="utf-8"), (packet / "packet.html").read_text(encoding="utf-8")):
        assert "\\u202e" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
