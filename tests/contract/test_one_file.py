"""A mechanism is one new file: with no other file changed it is listed, audited, planned, drawn, replayed, and tested.

`windowed.py` has a parameter that no other mechanism has. It is put into a copy of the package, together with files
that do what a contributor may do wrong, and the commands of that copy are run.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpverdict

HERE = Path(__file__).parent
SOURCE = (HERE / "windowed.py").read_text()
PLAN = """
[[audit]]
mechanism = "windowed"
dim = 3
window = 2
mu = 1
exact_only = true

[[audit]]
name = "a claim that is too strong"
mechanism = "windowed"
dim = 3
window = 2
mu = 1
claim = "mu=0.5"
expect = "refuted"
samples = 1000
"""


def house(folder: Path, **files: str) -> Path:
    """A copy of the package with mechanisms of these names in ``queries``."""
    shutil.copytree(Path(dpverdict.__file__).parent, folder / "dpverdict", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files.items():
        (folder / "dpverdict" / "mechanisms" / "queries" / f"{name}.py").write_text(text)
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


ALL = """
import contextlib, io, json, sys
from dpverdict.cli.application import main
for line in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.split())
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
Answer = tuple[int, str, str]


def cli_of_all(folder: Path, lines: list[str]) -> dict[str, Answer]:
    """Exit code, output and errors of several commands, in one interpreter: most of their time is its start."""
    done = python(folder, "-c", ALL, json.dumps(lines))
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {line: (code, out, err) for line, (code, out, err) in zip(lines, found, strict=True)}


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return house(tmp_path_factory.mktemp("house"), windowed=SOURCE)


AUDITED = (
    "audit windowed --dim 3 --window 2 --mu 1 --samples 500 --seed 1 --error-probability 1e-9 "
    "--json out.json --report out.html"
)
CLAIMED = (
    "audit windowed --dim 3 --window 2 --mu 1 --claim mu=0.5 --samples 2000 --seed 1 --witness w.json --quiet",
    "replay w.json --seed 2",
)
DRAWN = "curve windowed --dim 3 --window 2 --mu 1 --points 2 --csv out.csv"
PLANNED = "run plan.toml --json plan.json --report plan.html"
WRONG = {
    "windowed --dim 3 --mu 1": "error: --window must be given for windowed: add --window",
    "windowed --dim 3 --mu 1 --window 0": "error: --window='0' must be a whole number >= 1: ",
    "windowed --dim 3 --mu 1 --window 4": "error: --window=4 must be at most dim=3: ",
    "windowed --dim 3 --mu 1 --window 2 --groups 2": "windowed takes --dim, --window, --mu",
    "standard-gaussian --dim 3 --mu 1 --window 2": "window='2' must be left out for standard-gaussian",
}
REFUSED = [f"audit {given} --no-test" for given in WRONG]


@pytest.fixture(scope="module")
def answers(windowed: Path) -> dict[str, Answer]:
    """What every command here answers; the files are in the folder."""
    (windowed / "plan.toml").write_text(PLAN)
    told = ["list", "list windowed", "audit windowed --help", "curve windowed --help"]
    return cli_of_all(windowed, [*told, AUDITED, *REFUSED, *CLAIMED, DRAWN, PLANNED])


def test_it_is_listed_and_its_option_explained(answers: dict[str, Answer]) -> None:
    row = next(line for line in answers["list"][1].splitlines() if line.startswith("  windowed"))
    assert row.split()[0] == "windowed"
    code, listed, _ = answers["list windowed"]
    assert code == 0
    assert all(option in listed for option in ("--dim", "--window W", "--mu", "a test"))
    for _, shown, _ in (answers["audit windowed --help"], answers["curve windowed --help"]):
        assert next(line for line in shown.splitlines() if line.startswith("│ --window")).strip("│ ").split()[:2] == [
            "--window",
            "W",
        ]
        assert "In how many queries a record is at most." in shown


def test_it_is_audited_with_all_faces_of_a_report(windowed: Path, answers: dict[str, Answer]) -> None:
    code, out, err = answers[AUDITED]
    assert (code, err) == (0, "")
    report = json.loads((windowed / "out.json").read_text())
    assert "CERTIFIED" in out
    assert ["window", "2"] in [list(pair) for pair in _pairs(report)]
    assert "--window 2" in json.dumps(report)
    assert "window" in (windowed / "out.html").read_text()


def _pairs(value: object) -> list[tuple[str, object]]:
    """Every key with its value, at any depth."""
    if isinstance(value, dict):
        return [*value.items(), *(pair for part in value.values() for pair in _pairs(part))]
    return [pair for part in value for pair in _pairs(part)] if isinstance(value, list) else []


@pytest.mark.parametrize(("line", "message"), list(zip(REFUSED, WRONG.values(), strict=True)))
def test_a_wrong_value_is_refused_in_one_line(answers: dict[str, Answer], line: str, message: str) -> None:
    code, out, err = answers[line]
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_its_refutation_is_replayed(answers: dict[str, Answer]) -> None:
    assert [answers[line][0] for line in CLAIMED] == [1, 1]


def test_its_curves_are_tabulated_and_it_stands_in_a_plan(windowed: Path, answers: dict[str, Answer]) -> None:
    assert [(answers[line][0], answers[line][2]) for line in (DRAWN, PLANNED)] == [(0, ""), (0, "")]
    assert "beta" in (windowed / "out.csv").read_text()
    assert ["window", "2"] in [list(pair) for pair in _pairs(json.loads((windowed / "plan.json").read_text()))]


def test_the_strategies_draw_it(windowed: Path) -> None:
    script = (
        "from hypothesis import find; from dpverdict.strategies import examples; import dpverdict\n"
        "print(dpverdict.__file__, find(examples(), lambda found: found.name == 'windowed').window)"
    )
    found = python(windowed, "-c", script)
    assert found.stdout.split() == [str(windowed / "dpverdict" / "__init__.py"), "2"], found.stderr


CONTRACT = (
    *("-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "test_mechanisms.py")),
    *("-m", "slow or not slow"),  # of many cases some are in the slow suite
    *("-k", "windowed"),
)


def test_the_laws_of_every_mechanism_run_on_it(windowed: Path) -> None:
    found = python(windowed, *CONTRACT)
    assert found.returncode == 0, found.stdout
    assert "8 passed" in found.stdout


def test_the_laws_find_noise_that_is_too_small(tmp_path: Path) -> None:
    planted = SOURCE.replace("Real.of(self.window / exact_mu**2)", "Real.of(1 / exact_mu**2)")
    assert planted != SOURCE
    found = python(house(tmp_path, windowed=planted), *CONTRACT[:-1], "windowed and claim_is_certified")
    assert found.returncode == 1
    assert "FAILED" in found.stdout
    assert "test_the_claim_is_certified" in found.stdout


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            'parameters = (Parameter("window", "W", "In how many queries a record is at most.", whole),)',
            "parameters = ()",
            "error: argument of dpverdict.mechanisms.queries.windowed.Windowed='window' must be declared in words "
            'for the command line: add Parameter("window", metavar, text) to Windowed.parameters\n',
        ),
        ("window: int", "samples: int", "='samples' must be unlike the names that audits and curves take themselves"),
        ('name = "windowed"', 'name = "laplace"', "error: name='laplace' must be the name of one mechanism only: "),
    ],
    ids=["undeclared", "reserved", "twice"],
)
def test_a_wrong_declaration_is_said_in_one_line(tmp_path: Path, before: str, after: str, message: str) -> None:
    planted = SOURCE.replace(before, after)
    assert planted != SOURCE
    folder = house(tmp_path, windowed=planted)
    found = cli_of_all(folder, ["list", "audit laplace --help", "--help"])
    assert found.pop("--help")[0] == 0
    for code, out, err in found.values():
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
