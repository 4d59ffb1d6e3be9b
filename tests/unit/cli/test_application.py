"""What the command line answers, and the exit code with which it says it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from flint import acb

from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY
from dpverdict.cli.application import main

pytestmark = pytest.mark.usefixtures("warm_copies")

PUBLISHED = ["correlated-gaussian", "grouped-gaussian", "elliptical-gaussian", "standard-gaussian"]
FEW = ["--samples", "2000", "--seed", "1"]
SCRIPT = str(Path(sys.executable).with_name("dpverdict"))
TABLE = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
CALLABLES = """
import numpy as np

def honest(dataset, rng):
    return dataset.sum(axis=0) + rng.normal(scale=3.0**0.5, size=dataset.shape[1])

def leaky(dataset, rng):
    return dataset.sum(axis=0) + rng.normal(scale=0.1, size=dataset.shape[1])

def own_randomness(dataset, rng):
    return dataset.sum(axis=0) + np.random.default_rng().normal(scale=3.0, size=dataset.shape[1])

def first_output(outputs):
    return outputs[:, 0]
"""


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard output of a command that has nothing to say on standard error."""
    code = main(arguments)
    printed = capsys.readouterr()
    assert printed.err == ""
    return code, " ".join(printed.out.split())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of callables and a pair of datasets, which is the current one."""
    (tmp_path / "callables_of_a_user.py").write_text(CALLABLES)
    np.savez(tmp_path / "pair.npz", dataset=TABLE, neighbour=TABLE[:3])
    np.savez(tmp_path / "replaced.npz", dataset=TABLE, neighbour=np.vstack([TABLE[:3], np.zeros((1, 3))]))
    np.save(tmp_path / "table.npy", TABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "callables_of_a_user", raising=False)
    return tmp_path


@pytest.mark.few(2)
@pytest.mark.parametrize("mechanism", PUBLISHED)
def test_a_published_mechanism_is_certified_and_a_stronger_claim_refuted(
    here: Path, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    ask = ["audit", mechanism, "--dim", "100", "--mu", "1", "--json", "out.json", *FEW]
    code, _ = answer(capsys, *ask)
    certified = json.loads((here / "out.json").read_text())
    assert (code, certified["status"], certified["exit_code"]) == (0, "CERTIFIED", 0)
    code, text = answer(capsys, *ask, "--claim", "mu=0.99", "--report", "out.html")
    refuted = json.loads((here / "out.json").read_text())
    assert (code, refuted["status"]) == (1, "REFUTED")
    assert "FAILS the event has probabilities that the claim does not allow" in text
    assert (here / "out.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("mechanism", "note"),
    [
        ("grouped-gaussian", "no --adjacency was given: replace-one was taken, the stricter relation"),
        ("grouped-gaussian", "no --groups was given: 2 groups were taken"),
        ("elliptical-gaussian", "no --bounds was given: every coordinate has the bound 1"),
        ("standard-gaussian", "no --adjacency was given: add-or-remove-one was taken"),
    ],
)
def test_what_was_chosen_for_the_user_is_said(capsys: pytest.CaptureFixture[str], mechanism: str, note: str) -> None:
    code, text = answer(capsys, "audit", mechanism, "--dim", "4", "--mu", "1", "--no-test")
    assert code == 0
    assert note in text


def test_mu_is_an_exact_decimal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["audit", "standard-gaussian", "--dim", "4", "--mu", "0.1", "--no-test"]
    assert answer(capsys, *ask, "--claim", "mu=1/10")[0] == 0
    assert answer(capsys, *ask, "--claim", "mu=0.09999999999999999999999999")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["standard-gaussian", "--dim", "9", "--epsilon", "1", "--delta", "1e-6", "--calibration", "classic"], 0),
        (["standard-gaussian", "--dim", "9", "--epsilon", "1", "--delta", "1e-6", "--calibration", "analytic"], 0),
        (["standard-gaussian", "--dim", "4", "--mu", "1", "--adjacency", "replace-one"], 0),
        (["correlated-gaussian", "--dim", "5", "--mu", "1", "--c", "2"], 0),
        (["correlated-gaussian", "--dim", "5", "--mu", "1", "--count", "withheld"], 0),
        (["correlated-gaussian", "--dim", "5", "--mu", "1", "--count", "estimated", "--size-estimate", "100"], 0),
        (["grouped-gaussian", "--dim", "5", "--mu", "1", "--groups", "3", "--adjacency", "add-or-remove-one"], 0),
        (["elliptical-gaussian", "--bounds", "1,2,4", "--mu", "1"], 0),
        (["elliptical-gaussian", "--bounds", "@bounds.txt", "--mu", "1", "--claim", "mu=0.9"], 1),
        (["elliptical-gaussian", "--bounds", "3", "--dim", "4", "--mu", "1"], 0),
        (["correlated-gaussian", "--dim", "5", "--mu", "1", "--claim", "rho=0.5"], 0),
        (["correlated-gaussian", "--dim", "5", "--mu", "1", "--claim", "eps=1, delta=1e-6"], 1),
        (["broken:M3", "--dim", "5", "--mu", "1"], 1),
        (["broken:m16", "--dim", "4", "--mu", "1"], 0),
    ],
)
def test_every_parameter_reaches_its_mechanism(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    (here / "bounds.txt").write_text("1 2\n4\n")
    assert answer(capsys, "audit", *arguments, "--no-test")[0] == code


def test_a_seed_repeats_the_run_and_a_fresh_one_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["audit", "correlated-gaussian", "--dim", "3", "--mu", "1", "--samples", "1e3", "--quiet", "--json"]
    main([*ask, "first.json"])
    first = json.loads((here / "first.json").read_text())
    seed = first["reproduction"]["seed"]
    assert first["reproduction"]["command"].endswith(f" --seed {seed}")
    main([*ask, "second.json", "--seed", str(seed)])
    main([*ask, "third.json"])
    second, third = (json.loads((here / name).read_text()) for name in ("second.json", "third.json"))
    assert second["statistical"] == first["statistical"]
    assert third["reproduction"]["seed"] != seed
    assert capsys.readouterr().out == ""


def test_the_samples_and_the_error_probability_taken_by_default_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, "audit", "standard-gaussian", "--dim", "20000", "--mu", "1", "--seed", "1", "--details")
    assert code == 0
    assert "releases per dataset 1000 (from the size of a release" in text
    assert f"error probability {DEFAULT_ERROR_PROBABILITY} for each test" in text


def test_the_most_exposed_record_of_a_table_is_the_game(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["audit", "standard-gaussian", "--mu", "1", "--data", "table.npy", *FEW, "--details"]
    code, text = answer(capsys, *ask)
    assert code == 0
    assert "record index 3 (the first is 0), the most exposed" in text
    assert "tested on the table with and without record 3" in text
    code, text = answer(capsys, *ask, "--record", "1")
    assert "record index 1 (the first is 0), as asked" in text
    # Two of three entries are 1, so mu^2 = 2/3; the scale is rounded up, so mu is not above sqrt(2/3).
    assert "exact mu of this record [0.816496580927" in text


def test_of_equally_exposed_records_the_first_is_taken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(here / "ties.npy", TABLE[[0, 1, 2]])
    code, text = answer(capsys, "audit", "standard-gaussian", "--mu", "1", "--data", "ties.npy", *FEW)
    assert code == 0
    assert "record index 1 (the first is 0)" in text


def test_under_replacement_the_record_is_replaced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(here / "box.npy", TABLE - 0.5)
    code, text = answer(capsys, "audit", "elliptical-gaussian", "--mu", "1", "--data", "box.npy", *FEW, "--details")
    assert code == 0
    assert "record index 0 " in text  # every corner is replaced by the opposite one, so all are exposed alike
    assert "in its place [ 0.5, 0.5, -0.5]" in text
    groups = np.zeros((3, 2, 3))
    groups[:, 1] = TABLE[:3]
    np.save(here / "groups.npy", groups)
    code, text = answer(capsys, "audit", "grouped-gaussian", "--mu", "1", "--data", "groups.npy", *FEW, "--details")
    assert code == 0
    assert "groups 2" in text


def test_a_given_pair_is_tested_under_the_relation_its_lengths_say(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = answer(
        capsys, "audit", "standard-gaussian", "--mu", "1", "--neighbours", "replaced.npz", *FEW, "--details"
    )
    assert code == 0
    assert "neighbouring relation replace-one" in text
    assert "replaced.npz; the lengths say replace-one" in text


def test_a_black_box_is_refuted_or_inconclusive_but_never_certified(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["--neighbours", "pair.npz", "--claim", "mu=1", "--samples", "500", "--seed", "1"]
    code, text = answer(capsys, "audit", "callables_of_a_user:honest", *ask, "--details")
    assert code == 3
    assert "black box" in text
    assert "randomness of its own" not in text
    assert answer(capsys, "audit", "callables_of_a_user:leaky", *ask)[0] == 1
    path = str(here / "callables_of_a_user.py")
    assert answer(capsys, "audit", f"{path}:leaky", *ask, "--score", f"{path}:first_output")[0] == 1


def test_randomness_that_the_seed_does_not_govern_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["--neighbours", "pair.npz", "--claim", "mu=1", *FEW]
    code, text = answer(capsys, "audit", "callables_of_a_user:own_randomness", *ask)
    assert code == 3
    assert "draws randomness of its own, which the seed does not govern" in text


def test_a_test_delta_bounds_epsilon(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, "audit", "standard-gaussian", "--dim", "3", "--mu", "3", "--test-delta", "1e-5", *FEW)
    assert code == 0
    assert "epsilon_lower at delta=" in text or "epsilon at least" in text


def test_an_interrupt_ends_with_130_and_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpverdict.audit.runs.subprocesses.audit.audit_request", interrupted)
    assert main(["audit", "standard-gaussian", "--dim", "3", "--mu", "1"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_an_interrupt_within_an_integral_is_one_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C code that calls an integrand raises a SystemError of its own, with the interrupt as its cause."""

    def interrupted(value: acb, analytic: bool) -> acb:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpverdict.cli.application._run", lambda arguments: acb.integral(interrupted, 0, 1))
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_fault_of_the_program_does_not_look_like_a_refutation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("dpverdict.audit.runs.subprocesses.audit.audit_request", faulty)
    assert main(["audit", "standard-gaussian", "--dim", "3", "--mu", "1"]) == 70
    assert "planted" in capsys.readouterr().err


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dpverdict ")


def test_the_installed_script_answers_and_its_help_is_fast() -> None:
    started = time.perf_counter()
    shown = subprocess.run([SCRIPT, "--help"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert "audit" in shown.stdout
    assert time.perf_counter() - started < 10  # it takes 0.2 s; what test_imports says of --help is what keeps it so
