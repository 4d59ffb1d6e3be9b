"""``dpverdict curve``: curves are printed, written and drawn."""

from pathlib import Path

import pytest

from dpverdict.cli.application import main


def test_curves_are_printed_written_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: tmp_path / f"curve.{kind}" for kind in ("csv", "png")}
    written = [part for kind, path in files.items() for part in (f"--{kind}", str(path))]
    assert main(["curve", "correlated-gaussian", "--dim", "100", "--mu", "1", "--points", "5", *written]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Privacy profile, certified" in printed.out
    lines = files["csv"].read_text().splitlines()
    assert lines[0] == "curve,argument,lower,upper"
    assert len(lines) == 1 + 2 * 5
    lower, upper = (float(cell) for cell in lines[1].split(",")[2:])
    assert lower <= 0.3829249225480262 <= upper  # delta(0) = 2 Phi(1/2) - 1, of a mu that is 1 but for the rounding
    assert files["png"].read_bytes().startswith(b"\x89PNG")
