"""What surrounds the work of a command: files that are checked first, and a reader who leaves."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverdict.audit.trials.engines import Processes, ThisProcess, current_engine
from dpverdict.cli.session import engine_of_options, output_files, progress_bar
from dpverdict.errors import InvalidValue

SCRIPT = str(Path(sys.executable).with_name("dpverdict"))


def test_the_exit_code_survives_a_reader_that_leaves() -> None:
    command = f"set -o pipefail; {SCRIPT} audit standard-gaussian --dim 3 --mu 1 --no-test | true"
    assert subprocess.run(["bash", "-c", command], check=False, env={**os.environ, "COLUMNS": "80"}).returncode == 0


def test_outputs_are_files_of_their_own(tmp_path: Path) -> None:
    both: dict[str, Path | None] = {"json": tmp_path / "a", "report": tmp_path / "b", "png": None}
    assert list(output_files(both)) == ["json", "report"]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for same in (tmp_path / "a", tmp_path / "." / "a", tmp_path / "link"):
        with pytest.raises(InvalidValue, match="a file of its own"):
            output_files({"json": tmp_path / "a", "report": same})


def test_the_engine_is_that_of_the_options_inside_and_no_longer() -> None:
    with engine_of_options("2", None):
        assert isinstance(current_engine(), Processes)
    assert isinstance(current_engine(), ThisProcess)
    for bad in ("0", "two", "1.5"):
        with pytest.raises(InvalidValue, match="jobs"), engine_of_options(bad, None):
            pass


def test_there_is_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar() as bar:
        assert bar is None
