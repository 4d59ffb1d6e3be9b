"""What surrounds the work of a command: files that are written all or none, streams, and how it ends."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.trials.engines import Processes, ThisProcess, current_engine
from dpverdict.cli.application import main
from dpverdict.cli.session import Outputs, engine_of_options, in_progress, printing, progress_bar, say
from dpverdict.errors import InvalidValue
from dpverdict.numerics.stages import begin_stage, tell_progress, watched_by

SCRIPT = str(Path(sys.executable).with_name("dpverdict"))


def test_the_exit_code_survives_a_reader_that_leaves() -> None:
    command = f"set -o pipefail; {SCRIPT} audit standard-gaussian --dim 3 --mu 1 --no-test | true"
    assert subprocess.run(["bash", "-c", command], check=False, env={**os.environ, "COLUMNS": "80"}).returncode == 0


def test_outputs_are_files_of_their_own(tmp_path: Path) -> None:
    both = Outputs(json=tmp_path / "a", report=tmp_path / "b", png=None)
    assert list(both.files) == ["json", "report"]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for same in (tmp_path / "a", tmp_path / "." / "a", tmp_path / "link"):
        with pytest.raises(InvalidValue, match="a file of its own"):
            Outputs(json=tmp_path / "a", report=same)


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


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_command_that_works_says_so_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with in_progress("a long search"):
        assert "a long search" in sys.stderr.getvalue()  # type: ignore[attr-defined]  # from its start on
        say("note: a line of its own")
        with printing():
            print("the verdict")
        with progress_bar() as bar:
            assert bar is not None
            bar("releases", 1, 2)
    told = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "note: a line of its own\n" in told
    assert "releases" in told
    assert capsys.readouterr().out == "the verdict\n"


def test_how_much_of_a_stage_is_done_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with in_progress("least noise"):
        begin_stage("laplace")
        tell_progress(3, 4)
        say("a line, after which it is drawn again")
        assert " 75%" in sys.stderr.getvalue()  # type: ignore[attr-defined]
        begin_stage("gaussian")
        shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
        say("another line")
    assert "laplace" in shown
    assert " 75%" not in sys.stderr.getvalue()[len(shown) :].partition("gaussian")[2]  # type: ignore[attr-defined]


BUILT_IN = ["audit", "standard-gaussian", "--dim", "2", "--mu", "1", "--no-test"]


def test_the_stages_of_a_command_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun: list[str] = []
    with watched_by(begun.append):
        assert main([*BUILT_IN, "--json", str(tmp_path / "a.json")]) == 0
    of_the_audit = ["worst neighbours", "exact verdict", "certified curves", "report"]
    assert begun == ["starting", "audit", "at work", *of_the_audit]
    capsys.readouterr()


RELEASE = """
import click, sys, typer

class Own(BaseException):
    pass

class Sly(SystemExit):
    code = 0

ENDINGS = {
    "exit 0": lambda: sys.exit(0),
    "exit 1": lambda: sys.exit(1),
    "exit 3": lambda: sys.exit(3),
    "exit without a code": lambda: sys.exit(),
    "exit with a text": lambda: sys.exit("CERTIFIED"),
    "quit": lambda: quit(),
    "own": lambda: raised(Own("\\x1b[2J")),
    "sly": lambda: raised(Sly()),
    "generator": lambda: raised(GeneratorExit()),
    "typer": lambda: raised(typer.Exit(0)),
    "click": lambda: raised(click.exceptions.Exit(0)),
    "abort": lambda: raised(typer.Abort()),
    "end of file": lambda: raised(EOFError()),
    "stop": lambda: raised(StopIteration()),
    "error": lambda: raised(ValueError("a")),
}

def raised(error):
    raise error
"""
FRESH = ("exit 0", "own", "generator")
"""The endings that are tried in the interpreter which the command starts; the others in copies of this process."""
ENDINGS = [line.split('"')[1] for line in RELEASE.splitlines() if line.startswith('    "')]
BLACK_BOX = "audit release.py:run --neighbours pair.npz --claim mu=1"
PLACES = {
    "a mechanism": (
        "def run(dataset, rng):\n    ENDINGS[HOW]()",
        "audit release.py:run --neighbours pair.npz --claim mu=1",
    ),
    "an import": ("ENDINGS[HOW]()", "audit release.py:run --neighbours pair.npz --claim mu=1"),
    "data": ("def data():\n    ENDINGS[HOW]()", "audit correlated-gaussian --mu 1 --data release.py:data"),
    "a score": (
        "def score(outputs):\n    ENDINGS[HOW]()",
        "audit standard-gaussian --dim 2 --mu 1 --samples 200 --score release.py:score",
    ),
    "a statement": ("ENDINGS[HOW]()", "prove release.py"),
}


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("place", "how"),
    [
        pytest.param(place, how, marks=() if number % len(PLACES) == at else pytest.mark.slow)
        for at, place in enumerate(PLACES)
        for number, how in enumerate(ENDINGS)
    ],
)
def test_no_code_of_the_user_writes_the_verdict(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    place: str,
    how: str,
) -> None:
    if how not in FRESH:
        request.getfixturevalue("warm_copies")
    source, command = PLACES[place]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(f"{RELEASE}\nHOW = {how!r}\n{source}\n")
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    code = main([*command.split(), "--json", "out.json", "--report", "out.html"])
    told = capsys.readouterr()
    assert code in (2, 70), told
    assert told.out == ""
    assert "not written: out.json, out.html" in told.err
    assert "\x1b" not in told.err
    if code == 2:
        assert told.err.count("\n") == 1
    assert not {"out.json", "out.html"} & {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("found", [None, 0, "CERTIFIED", True])
def test_a_command_that_does_not_end_is_a_fault(monkeypatch: pytest.MonkeyPatch, found: object) -> None:
    monkeypatch.setattr("dpverdict.audit.runs.subprocesses.audit.audit_request", lambda *_: found)
    assert main(BUILT_IN) == 70


@pytest.mark.parametrize("failing", ["render_json", "render_html"])
def test_a_face_that_fails_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    def fails(*_: object) -> str:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(f"dpverdict.audit.runs.finished_audit.{failing}", fails)
    paths = [tmp_path / "a.json", tmp_path / "a.html"]
    paths[0].write_text("of an earlier run")
    assert main([*BUILT_IN, "--json", str(paths[0]), "--report", str(paths[1])]) == 2
    assert f"(not written: {paths[0]}, {paths[1]})" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["of an earlier run"]


def test_a_witness_that_there_is_not_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BUILT_IN, "--witness", str(tmp_path / "w.json"), "--quiet"]) == 0
    assert capsys.readouterr().err == f"note: {tmp_path / 'w.json'} was not written: there is no witness\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="the shell is another one there")
@pytest.mark.parametrize(
    ("command", "code", "closed"),
    [
        pytest.param(command, code, closed, marks=() if closed in tried else pytest.mark.slow)
        for command, code, tried in (
            ("audit broken:M3 --dim 2 --mu 1 --no-test", 1, ("<&- >&- 2>&-",)),
            ("replay gone", 2, ("2>&-",)),
        )
        for closed in (">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-")
    ],
)
def test_a_closed_stream_is_no_traceback(tmp_path: Path, command: str, code: int, closed: str) -> None:
    line = f"exec {SCRIPT} {command} {closed}"
    run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == code
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) <= 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_a_full_standard_output_is_said_in_one_line() -> None:
    run = subprocess.run(["bash", "-c", f"{SCRIPT} list > /dev/full"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (2, "error: standard output: No space left on device\n")
