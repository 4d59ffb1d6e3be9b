"""A module beside the code under audit is that code's, and never takes part in judging it."""

import json
import os
import py_compile
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.isolation.imports import required
from dpverdict.cli.application import main

LEAK = """
import numpy as np

def release(dataset, rng):
    return dataset.sum(axis=0) + rng.laplace(scale=0.2, size=1)
"""
HOSTILE = "raise RuntimeError('this module judges')\n"
JUDGES = ("random", "types", "statistics", "fractions", "decimal", "secrets", "concurrent", "html", "json", "hmac")
LIBRARIES = (
    "scipy",
    "sklearn",
    "joblib",
    "jinja2",
    "markupsafe",
    "mpmath",
    "flint",
    "dp_accounting",
    "rich",
    "dpverdict",
)
AUDIT = [
    "--neighbours",
    "pair.npz",
    "--claim",
    "eps=1",
    "--samples",
    "3000",
    "--seed",
    "1",
    "--error-probability",
    "1e-3",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "release.py").write_text(LEAK)
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evidence(file: Path) -> object:
    return json.loads(file.read_text())["statistical"]


@pytest.mark.parametrize("named", ["release.py:release", pytest.param("release:release", marks=pytest.mark.slow)])
def test_modules_of_the_same_names_beside_it_judge_nothing(folder: Path, named: str) -> None:
    """Each would stop whatever imported it; the verdict and its evidence are what they were without them."""
    assert main(["audit", named, *AUDIT, "--json", "alone.json", "--report", "alone.html"]) == 1
    for name in (*JUDGES, *LIBRARIES):
        (folder / f"{name}.py").write_text(HOSTILE)
    assert main(["audit", named, *AUDIT, "--json", "out.json", "--report", "out.html", "--jobs", "2"]) == 1
    assert evidence(folder / "out.json") == evidence(folder / "alone.json")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("random", "import random\n" + LEAK),  # loaded before
        pytest.param("numpy", LEAK, marks=pytest.mark.slow),
        pytest.param("profile", "from profile import SCALE\n" + LEAK, marks=pytest.mark.slow),  # not loaded before
        ("sklearn", LEAK.replace("    return", "    import sklearn.mixture\n    return")),
    ],
)
def test_a_name_that_cannot_be_both_is_refused(
    folder: Path, name: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "release.py").write_text(code)
    (folder / f"{name}.py").write_text("SCALE = 0.2\n")
    assert main(["audit", "release.py:release", *AUDIT, "--json", "out.json"]) == 2
    told = capsys.readouterr().err
    assert f"{name}.py has the name of a module {name}" in told
    assert "give the file another name" in told
    assert told.count("\n") == 1


@pytest.mark.slow
def test_the_code_itself_may_have_such_a_name(folder: Path) -> None:
    (folder / "random.py").write_text("from helper import SCALE\n" + LEAK.replace("0.2", "SCALE"))
    (folder / "helper.py").write_text("SCALE = 0.2\n")
    assert main(["audit", "random.py:release", *AUDIT, "--jobs", "2"]) == 1


def test_what_judges_nothing_may_be_shared(folder: Path) -> None:
    """A test framework is installed here; its name beside the code is the code's, at import and in a call."""
    (folder / "iniconfig.py").write_text("SCALE = 0.2\n")
    (folder / "pluggy.py").write_text("SCALE = 1.0\n")
    code = LEAK.replace("    return", "    from pluggy import SCALE as one\n    return").replace("0.2", "SCALE * one")
    (folder / "release.py").write_text("from iniconfig import SCALE\n" + code)
    assert main(["audit", "release.py:release", *AUDIT, "--jobs", "2"]) == 1


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("parts/helper.py", "0.2", "2.0"),
        pytest.param("release.py", "SCALE * 1.0", "SCALE * 9.9", marks=pytest.mark.slow),
    ],
)
def test_a_file_changed_within_a_second_is_audited_as_it_is(folder: Path, name: str, before: str, after: str) -> None:
    """Of one size and one time of change: Python alone would run the compiled code of before."""
    (folder / "parts").mkdir()
    (folder / "parts" / "__init__.py").touch()
    (folder / "parts" / "helper.py").write_text("SCALE = 0.2\n")
    code = "from parts.helper import SCALE\n" + LEAK.replace("0.2", "SCALE * 1.0")
    (folder / "release.py").write_text(code)
    times = (folder / name).stat()
    for one in ("parts/helper.py", "release.py"):
        py_compile.compile(str(folder / one))
    assert main(["audit", "release.py:release", *AUDIT]) == 1
    code = (folder / name).read_text()
    (folder / name).write_text(code.replace(before, after))
    os.utime(folder / name, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert main(["audit", "release.py:release", *AUDIT]) == 3


def test_what_judges_is_what_this_package_requires() -> None:
    assert {"numpy", "scipy", "scikit-learn", "markupsafe", "python-flint", "sortedcontainers"} <= required()
    assert not {"pytest", "iniconfig", "pluggy", "hypothesis"} & required()
