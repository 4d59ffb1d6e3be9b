"""``dpverdict run`` writes every face of a plan, and its exit code says how it went."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpverdict.cli.application import app, main

pytestmark = pytest.mark.usefixtures("warm_copies")


def test_the_command_writes_every_face(folder: Path) -> None:
    names = ["json", "junit", "report"]
    options = [part for name in names for part in (f"--{name}", str(folder / f"out.{name}"))]
    result = CliRunner().invoke(app, ["run", str(folder / "plan.toml"), *options, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "3 of 3 audits as expected" in result.output
    assert all((folder / f"out.{name}").stat().st_size > 100 for name in names)
    exact = '[[audit]]\nmechanism = "standard-gaussian"\ndim = 2\nmu = 1\nexact_only = true\n'
    (folder / "plan.toml").write_text(exact)
    again = CliRunner().invoke(app, ["run", str(folder / "plan.toml"), "--fresh", "--quiet"])
    assert (again.exit_code, again.output) == (0, "")


def test_no_text_of_a_plan_or_of_a_statement_moves_the_cursor(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2J\x07\u202e[/bold][red]"
    monkeypatch.chdir(folder)
    title = "\\u001b[2J\\u0007\\u202e[/bold][red]"
    text = (folder / "plan.toml").read_text().replace("<b>Spring</b>", title).replace("counts", "c\\u001b[2J[/x]")
    (folder / "plan.toml").write_text(text)
    right = "@batched\ndef noisy(dataset, rng, trials):"
    wrong = "def noisy(dataset, rng):\n    raise ValueError('\\x1b[2J')\ndef other():"
    (folder / "release.py").write_text((folder / "release.py").read_text().replace(right, wrong))
    assert main(["run", "plan.toml"]) == 2
    (folder / "proofs.py").write_text(
        "from dpverdict.proofs import statement\n"
        f"@statement(paper='own', number='1', text={evil!r})\n"
        f"def check():\n    raise ValueError({evil!r})\n    yield\n"
    )
    main(["prove", "proofs.py"])
    main(["prove", "proofs.py", "--explain"])
    told = capsys.readouterr()
    for stream in (told.out, told.err):
        assert not {"\x1b", "\x07", "\u202e"} & set(stream)
    assert r"\x1b[2J" in told.out


def test_an_output_is_no_file_that_audited_code_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the audit is run, or is taken from the journal; every audit that is finished is kept."""
    table = folder / "scale.json"
    table.write_text("0.3")
    code = "import json, pathlib\nSCALE = json.loads(pathlib.Path(__file__).with_name('scale.json').read_text())\n"
    (folder / "release.py").write_text(code + (folder / "release.py").read_text())
    command = ["run", str(folder / "plan.toml"), "--quiet", "--json"]
    for _ in range(2):
        assert main([*command, str(table)]) == 2
        told = capsys.readouterr().err
        assert "scale.json" in told
        assert told.count("\n") == 1
        assert table.read_text() == "0.3"
        assert len(list((folder / "plan.toml.journal").glob("*.entry"))) == 4
    assert main([*command, str(folder / "other.json")]) == 0


def test_an_audit_that_was_not_run_is_said_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(text.replace("dim = 3", "dim = 0").replace("dim = 2", "dim = 0"))
    assert main(["run", str(folder / "plan.toml"), "--quiet"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: audit counts was not run: dim")
    assert told.endswith("(and 1 more of 3)\n")
    assert told.count("\n") == 1
