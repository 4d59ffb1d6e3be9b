"""The plugin in real sessions of pytest: what passes, what fails and says why, and how the budget is shared."""

import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import jsonschema
import pytest

from dpverdict.audit.isolation.child import in_a_child
from dpverdict.pytest_plugin import PrivacyAudit

SARIF = json.loads((Path(__file__).parents[1] / "sarif.schema.json").read_text())
SUITE = """
import json
import numpy as np
import pytest
from dpverdict.audit import batched
from dpverdict.mechanisms import CorrelatedGaussian
from dpverdict.mechanisms.broken import by_name

PAIR = (np.ones((2, 1)), np.ones((1, 1)))

def noisy(scale):
    return batched(lambda dataset, rng, trials: dataset.sum(axis=0) + rng.laplace(scale=scale, size=(trials, 1)))

def test_right(privacy_audit):
    privacy_audit(noisy(1.0), "eps=1", neighbours=PAIR, samples=5000)

def test_wrong(privacy_audit):
    privacy_audit(noisy(0.5), "eps=1", neighbours=PAIR)

def test_known_right(privacy_audit):
    assert privacy_audit(CorrelatedGaussian(dim=3, mu=1), samples=2000).status.name == "CERTIFIED"

def test_known_wrong(privacy_audit):
    privacy_audit(by_name("M2").make(3, 1), samples=2000)

@pytest.mark.slow_audit
def test_slow(privacy_audit):
    privacy_audit(noisy(1.0), "eps=1", neighbours=PAIR, samples=100_000)

def test_settings(privacy_audit):
    privacy_audit.at([0.5, 1], lambda eps: (noisy(eps), f"eps={eps}"), neighbours=PAIR)

def test_budget(privacy_audit):
    with open("shares.txt", "a") as file:
        file.write(json.dumps([privacy_audit.share, privacy_audit.seed]) + "\\n")
"""


def arguments(folder: Path, *options: str) -> list[str]:
    (folder / "test_suite.py").write_text(SUITE)
    return ["-p", "no:cacheprovider", "--rootdir", str(folder), *options]


def environment() -> dict[str, str]:
    """This one, but for what the session that runs this test has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}


def fresh_session(folder: Path, *options: str) -> str:
    """What a session prints that passes, in an interpreter of its own."""
    command = [sys.executable, "-m", "pytest", *arguments(folder, *options)]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def session(folder: Path, *options: str) -> tuple[int, str]:
    """Exit code and output of a session, in a copy of this process: most of the time of a fresh one is its imports."""
    for module in ("dpverdict.testing", "dpverdict.audit.runs.audits", "dpverdict.mechanisms.broken"):
        importlib.import_module(module)
    words = [*arguments(folder, *options), "--capture=no"]

    def run() -> tuple[int, str]:
        os.chdir(folder)
        for name in os.environ.keys() - environment().keys():
            del os.environ[name]
        warnings.simplefilter("default")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = int(pytest.main(words))
        return code, printed.getvalue()

    return in_a_child(run, kind=tuple, seconds=300)


def test_a_suite_of_another_library(tmp_path: Path) -> None:
    _, printed = session(tmp_path, "--dpverdict-seed=5")
    assert "3 failed, 3 passed, 1 skipped" in printed, printed
    assert "error probability 1e-6 for all privacy audits together, --dpverdict-seed=5" in printed
    assert "FAILED test_suite.py::test_wrong" in printed
    assert "FAILED test_suite.py::test_known_wrong" in printed
    assert "FAILED test_suite.py::test_settings" in printed
    assert "at the setting 0.5" in printed
    assert "refuted after" in printed
    assert "REFUTED" in printed
    assert re.search(r"To see it again: seed=\d+", printed)


@pytest.mark.slow
def test_the_error_probability_is_shared_and_the_seed_repeats_the_run(tmp_path: Path) -> None:
    chosen = ("-k", "budget or right", "--dpverdict-error-probability=1e-4")
    for seed in ("5", "5", "6"):
        assert session(tmp_path, *chosen, f"--dpverdict-seed={seed}")[0] == 0
    shares = [json.loads(line) for line in (tmp_path / "shares.txt").read_text().splitlines()]
    assert shares[0] == shares[1]
    assert shares[2][1] != shares[0][1]
    assert shares[0][0] == pytest.approx(1e-4 / 3, rel=1e-12)  # two that are named right, and the budget itself


def test_a_worker_of_xdist_shares_seed_and_budget(tmp_path: Path) -> None:
    printed = fresh_session(tmp_path, "-n", "1", "-k", "budget or right")
    seed = re.search(r"--dpverdict-seed=(\d+)", printed)
    assert seed is not None
    assert session(tmp_path, "-k", "budget or right", f"--dpverdict-seed={seed[1]}")[0] == 0
    first, second = (tmp_path / "shares.txt").read_text().splitlines()
    assert first == second


FAILURES = """
import functools
import numpy as np
import pytest
from dpverdict.mechanisms.broken import by_name

SCHEMA = '''
relation = "add-or-remove-one"
table = "numpy"
[columns.age]
type = "float"
low = 0
high = 120
'''

def total(ages, rng):
    return ages.sum() + rng.laplace(scale=60)

def longest(ages, rng):
    return ages.max() + rng.laplace(scale=1)

def kept(ages, rng):
    return ages.sum() + rng.laplace(scale=120)

@pytest.mark.parametrize("function", [total, longest, kept])
def test_certified(privacy_audit, tmp_path, function):
    (tmp_path / "s.toml").write_text(SCHEMA)
    privacy_audit.certified(function, "eps=1", schema=tmp_path / "s.toml")

def test_private(privacy_audit):
    privacy_audit(functools.partial(total), "eps=1", neighbours=(np.full(3, 120.0), np.full(2, 120.0)))

def test_known(privacy_audit):
    privacy_audit(by_name("M2").make(3, 1), samples=2000)

@pytest.mark.xfail(strict=True)
def test_expected(privacy_audit):
    privacy_audit(total, "eps=1", neighbours=(np.full(3, 120.0), np.full(2, 120.0)))

def test_of_something_else():
    assert kept is total
"""
FOUND = [("refuted", "total", 17), ("refuted", "longest", 20), ("refuted", "partial", 16), ("refuted", "M2", 33)]


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_code_scanning_gets_what_failed_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setitem(globals(), "SUITE", FAILURES)
    _, printed = session(tmp_path, "--dpverdict-sarif=found.sarif", "--dpverdict-seed=5", *workers)
    assert "5 failed, 1 passed, 1 xfailed" in printed, printed
    document = json.loads((tmp_path / "found.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(document)
    results = document["runs"][0]["results"]
    assert len(results) == len(FOUND)
    for rule, name, line in FOUND:
        [one] = [one for one in results if one["locations"][0]["physicalLocation"]["region"]["startLine"] == line]
        assert one["ruleId"] == rule
        assert name in one["message"]["text"]
        assert "(test test_suite.py::" in one["message"]["text"]
        artifact = one["locations"][0]["physicalLocation"]["artifactLocation"]
        assert artifact == {"uri": "test_suite.py", "uriBaseId": "%SRCROOT%"}


def test_without_a_failure_code_scanning_gets_an_empty_list(tmp_path: Path) -> None:
    code, printed = session(tmp_path, "--dpverdict-sarif=found.sarif", "-k", "budget")
    assert code == 0, printed
    document = json.loads((tmp_path / "found.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(document)
    assert document["runs"][0]["results"] == []
    assert session(tmp_path, "--dpverdict-sarif=nowhere/found.sarif", "-k", "budget")[0] == 4


@pytest.mark.parametrize("option", ["--dpverdict-error-probability=2", "--dpverdict-seed=x"])
def test_a_wrong_option_is_a_usage_error(tmp_path: Path, option: str) -> None:
    code, printed = session(tmp_path, option)
    assert code == 4
    assert "dpverdict_" in printed


def test_the_audits_of_one_test_stay_within_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    seeds: list[int] = []

    def watched(mechanism: object, claim: object, *, error_probability: float, seed: int) -> None:
        spent.append(2 * error_probability)
        seeds.append(seed)

    monkeypatch.setattr("dpverdict.testing.assert_private", watched)
    audit = PrivacyAudit(1e-6, 3)
    for _ in range(1000):
        audit(None)
    assert sum(spent) <= 1e-6
    assert spent[0] == pytest.approx(5e-7)
    assert len(set(seeds)) == 1000
