"""`dpverdict scores` and [[scores]] in plans: files of every format, exit codes, one error budget, the journal."""

import builtins
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpverdict.audit.reports.to_json import read_schema
from dpverdict.audit.runs.plans.plan import read_plan
from dpverdict.audit.runs.plans.run import open_journal, run_plan
from dpverdict.audit.trials.data_files import read_column
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    np.save("in.npy", rng.normal(3, 1, 300))
    np.save("out.npy", rng.normal(0, 1, (250, 1)))
    bits = rng.integers(0, 2, 600)
    np.save("bits.npy", bits)
    np.save("run.npy", 4 * bits + rng.normal(size=600))
    Path("out.csv").write_text("loss,other\n" + "".join(f"{x},1\n" for x in rng.normal(size=300)))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--in", "in.npy", "--out", "out.npy", "--claim", "mu=1"], 1),
        (["--in", "in.npy", "--out", "out.csv#loss", "--claim", "eps=1, delta=1e-5"], 1),
        (["--in", "out.npy", "--out", "out.csv#loss", "--claim", "eps=0.5", "--delta", "1e-5"], 3),
        (["--scores", "run.npy", "--included", "bits.npy", "--claim", "eps=0.5, delta=1e-6"], 1),
        (["--scores", "run.npy", "--included", "bits.npy", "--claim", "eps=8, delta=1e-5"], 3),
    ],
)
def test_exit_codes_and_reports(
    folder: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ["--json", "r.json", "--report", "r.html"]
    assert main(["scores", *arguments, "--seed", "1", "--error-probability", "1e-3", *report]) == code
    found = json.loads(Path("r.json").read_text())
    jsonschema.validate(found, read_schema())
    assert found["exact"] is None
    assert found["statistical"]["test"]["refuted"] == (code == 1)
    assert "recorded scores" in Path("r.html").read_text()
    assert "again  " in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--in", "in.npy", "--out", "out.npy"], ["--scores", "run.npy", "--included", "bits.npy"]]
)
def test_no_face_of_a_report_on_recorded_scores_says_that_a_mechanism_was_run(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    report = ["--claim", "mu=0.5", "--seed", "1", "--json", "r.json", "--report", "r.html"]
    assert main(["scores", *arguments, *report]) == 1
    brief = capsys.readouterr().out
    assert main(["scores", *arguments, *report, "--details"]) == 1
    faces = (brief, capsys.readouterr().out, Path("r.html").read_text(), Path("r.json").read_text())
    for face, text in zip(("terminal", "terminal, details", "page", "JSON"), faces, strict=True):
        said = " ".join(text.split())
        for wrong in ("running the mechanism", "the mechanism returned", "neighbouring datasets", "releases"):
            assert wrong not in said, (face, wrong)
        assert "no mechanism was run" in said, face


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--in in.npy --claim mu=1", "out must be given"),
        ("--in in.npy --out out.npy", "claim must be given"),
        ("--in in.npy --scores run.npy --claim mu=1", "given alone"),
        ("--scores run.npy --claim mu=1", "included must be given"),
        ("--scores run.npy --included run.npy --claim mu=1", "bits of shape"),
        ("--in out.csv --out out.npy --claim mu=1", "one column"),
        ("--in out.csv#x --out out.npy --claim mu=1", "that column"),
        ("--in in.npy#x --out out.npy --claim mu=1", "without #column"),
        ("--in none.npy --out out.npy --claim mu=1", "exists"),
        ("--in in.npy --out out.npy --claim nonsense", "nonsense"),
        ("--in in.npy --out out.npy --claim mu=1 --error-probability 2", "--error-probability"),
        ("--in in.npy --out out.npy --claim mu=1 --delta 1", "delta"),
    ],
)
def test_usage_errors(folder: Path, arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scores", *arguments.split()]) == 2
    assert message in capsys.readouterr().err


def test_parquet_needs_pyarrow_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("x.parquet").write_bytes(b"PAR1")
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidValue, match="pip install pyarrow"):
        read_column("x.parquet", "in")


def test_parquet_columns(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"loss": [1.0, 2.0], "bit": [True, False]}), "x.parquet")
    assert read_column("x.parquet#loss", "in").tolist() == [1.0, 2.0]
    with pytest.raises(InvalidValue, match="one column"):
        read_column("x.parquet", "in")
    Path("x.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidValue, match="readable"):
        read_column("x.parquet", "in")


PLAN = """
seed = 3
error_probability = 0.01
[[scores]]
name = "canaries"
in = "in.npy"
out = "out.csv#loss"
claim = "mu=1"
expect = "refuted"
[[scores]]
scores = "run.npy"
included = "bits.npy"
claim = "eps=8, delta=1e-5"
[[audit]]
mechanism = "standard-gaussian"
dim = 2
mu = 1
exact_only = true
"""


def test_plan_shares_its_error_and_keeps_a_journal(folder: Path) -> None:
    Path("plan.toml").write_text(PLAN)
    plan = read_plan("plan.toml")
    assert plan.share() == 0.01 / 4
    with open_journal(folder / "plan.toml", None) as journal:
        first = run_plan(plan, journal)
        assert run_plan(plan, journal) == first
        np.save("in.npy", np.load("out.npy")[:, 0])  # a file that has changed is read again
        assert run_plan(plan, journal) != first
    assert [result.audit.name for result in first.results] == ["1 standard-gaussian", "canaries", "3 recorded scores"]
    assert first.exit_code == 3
    assert "only not refuted" in first.conclusion


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[scores]]\nin = "a"\nseed = 3\n', "top of the plan"),
        ('[[scores]]\nin = "a"\nmu = 3\n', "a key of"),
        ('[[scores]]\nin = "a"\nexpect = "certified"\n', "possible for"),
        ("scores = 3\n", "list of tables"),
        ("scores = []\n", "one or more tables"),
    ],
)
def test_bad_plans(folder: Path, text: str, message: str) -> None:
    Path("plan.toml").write_text(text)
    with pytest.raises(InvalidValue, match=message):
        read_plan("plan.toml")
