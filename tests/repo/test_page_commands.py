"""The commands in the sh blocks of the pages run as they are printed, in a folder with the files that they name.

Blocks of the other kinds are run elsewhere: transcripts and console blocks by tools/transcripts.py, Python by doctest,
the two marked commands of the README by the gate. What is not run here is listed with the reason.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.trials.catalogue import mechanism_classes
from dpverdict.cli.application import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^(?!<!-- command: )[^\n]*\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(^|\s)#.*$")
EXEMPT = {
    "python3 -m venv ": "an installation needs a package index; the gate runs those of the README",
    ".venv/bin/pip install ": "an installation needs a package index; the gate runs those of the README",
    "pip install ": "an installation needs a package index; the gate runs those of the README",
    "python examples/audit_opacus.py": "it needs torch; integration/test_training_audit runs it where opacus is",
    "dpverdict check certificates --rocq": "it needs coqc; unit/proofs/rocq/test_kernel runs it where it is",
    "python tools/": "they make the site and its pictures; test_docs builds the site",
    "dpverdict corpus run ": "it installs releases from a package index; docs/corpus.json has the runs",
    "pytest --dpverdict-sarif": "it runs the tests of the reader; unit/test_pytest_plugin writes such a file",
    "dpverdict run plan.toml --dask ": "it needs a cluster; unit/audit/trials/test_engines starts one of its own",
    "dpverdict prove --jobs ": "it checks every statement, for minutes; tools/ledger.py does, and writes the ledger",
}
QUICK = re.compile(
    r"dpverdict (list|calibrate|compose|scan|corpus (list|show)|audit (event|standard-gaussian --dim 1))\b"
)
"""What takes less than half a second; the others are for slow runs."""
BY_CITY = """
def by_city(frame, rng):
    return {city: count + rng.laplace() for city, count in frame.groupby("city").size().items()}
"""
OWN = {
    "command_line.md": """
def noisy(data, rng):
    return data.sum() + rng.laplace()


def rows(table, rng):
    return len(table) + rng.laplace()
""",
    "howto_opendp.md": """
import opendp.prelude as dp

dp.enable_features("contrib")
rows = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
count = rows >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
""",
    "howto_tables.md": BY_CITY,
    "tutorial_engineer.md": BY_CITY,
    "howto_pandas.md": """
import pandas as pd

people = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome"], "age": [31, 58, 44]})
pair = people, people.iloc[:2]


def counts(frame, rng):
    found = frame.groupby("city").size()
    return found + rng.laplace(size=len(found))
""",
}
"""What the release.py of a page has, beside that of the examples."""
MEAN = "def mean_income(data, rng):\n    return data.clip(0, 1).mean() + rng.laplace(scale=1.0)\n"


COLUMNS = 80
LINES = 30
TWO_SCREENS = 100
LONGER = ("prove", "list")
"""What has limits of its own: a ledger of statements, and the list of mechanisms."""


def too_much(text: str, most: int = LINES) -> list[str]:
    """How many lines there are, if they are more than a screen, and those that are wider than one."""
    lines = text.splitlines()
    return [f"{len(lines)} lines"] * (len(lines) > most) + [line for line in lines if len(line.rstrip()) > COLUMNS]


def printed(text: str) -> list[str]:
    """The commands of a page, without what follows them as a comment."""
    lines = [COMMENT.sub("", line).strip() for body in BLOCK.findall(text) for line in body.splitlines()]
    return [line for line in lines if line]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [(page.name, line) for page in PAGES for line in printed(page.read_text(encoding="utf-8"))]
RUN = [(page, line) for page, line in COMMANDS if not line.startswith(tuple(EXEMPT))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples, and the other files that the pages speak of, in the current folder."""
    for place in (tmp_path, tmp_path / "examples"):
        shutil.copytree(ROOT / "examples", place, dirs_exist_ok=True)
    shutil.copytree(ROOT / "src/dpverdict/cli/corpus/entries", tmp_path / "my_entries")
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 3)), neighbour=np.ones((1, 3)))
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage/__init__.py").touch()
    (tmp_path / "mypackage/release.py").write_text(MEAN)
    event = {"class_name": "GaussianDpEvent", "noise_multiplier": 1}
    (tmp_path / "event.json").write_text(json.dumps(event))
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, 1000)
    np.save(tmp_path / "included.npy", bits)
    np.save(tmp_path / "scores.npy", 3 * bits + rng.normal(size=1000))
    np.save(tmp_path / "in.npy", rng.normal(3, 1, 1000))
    np.save(tmp_path / "out.npy", rng.normal(0, 1, 1000))
    scores = np.column_stack([np.load(tmp_path / f"{side}.npy") for side in ("in", "out")])
    np.savetxt(tmp_path / "scores.csv", scores, delimiter=",", header="with,without", comments="")
    shutil.copy(ROOT / "examples/own_function/patients.toml", tmp_path)
    (tmp_path / "patients.csv").write_text("age,city,cost\n" + "31,Oslo,120.5\n58,Rome,\n44,Oslo,9.25\n" * 20)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("warm_copies")
@pytest.mark.parametrize(
    ("page", "line"),
    [
        pytest.param(*case, marks=() if QUICK.match(case[1]) else pytest.mark.slow, id=f"{case[0]}: {case[1]}")
        for case in dict.fromkeys(RUN)
    ],
)
def test_a_printed_command_ends_with_a_verdict(
    folder: Path, page: str, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A usage error exits with 2, a fault with 70; and what is printed is a screen."""
    release = folder / "release.py"
    release.write_text(release.read_text() + OWN.get(page, ""))
    if "--out patients.toml" in line:
        (folder / "patients.toml").unlink()
    program, *words = shlex.split(line)
    assert program == "dpverdict"
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    code = main(words)
    printed_lines, said = capsys.readouterr()
    assert code in (0, 1, 3), said
    if words[0] not in LONGER and "--details" not in words:
        assert too_much(printed_lines) == []


@pytest.mark.parametrize("name", [*mechanism_classes(), ""])
def test_the_help_of_a_mechanism_is_two_screens(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    main(["audit", *([name] if name else []), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= TWO_SCREENS
    assert too_much("\n".join(lines), most=TWO_SCREENS) == []


def test_a_long_or_a_wide_output_is_found() -> None:
    assert too_much("x\n" * LINES + "x\n") == [f"{LINES + 1} lines"]
    assert too_much("short\n" + "x" * (COLUMNS + 1)) == ["x" * (COLUMNS + 1)]
    assert too_much(("\u250f" * COLUMNS + "\n") * LINES) == []


def test_what_is_not_run_is_listed_with_a_reason() -> None:
    assert len(RUN) > 35
    for start in EXEMPT:
        assert any(line.startswith(start) for _, line in COMMANDS), start


def test_a_planted_command_is_found() -> None:
    assert printed('text\n```sh\ndpverdict audit x --claim "mu=1"  # why\n```\n') == [
        'dpverdict audit x --claim "mu=1"'
    ]
    assert printed("text\n```sh\n# a word\ndpverdict scores --in a.csv#b\n```\n") == ["dpverdict scores --in a.csv#b"]
    assert printed("<!-- command: main -->\n```sh\ndpverdict list\n```\n") == []
