"""``dpverdict compose``, ``calibrate`` and ``audit event.json`` on the command line: the answer and the exit code."""

import json
import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

from dpverdict.audit.comparisons import at_one_claim
from dpverdict.audit.documents.account import CalibrationDocument, CompositionDocument, NeededNoiseDocument
from dpverdict.audit.documents.schema import checked
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue


@pytest.mark.parametrize(("sigma", "code", "answer"), [("5.5", 0, "CERTIFIED"), ("5.4", 1, "REFUTED")])
def test_compose_answers_with_its_exit_code(
    sigma: str, code: int, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compose", f"30 x gaussian sigma={sigma} sensitivity=1", "--claim", "mu=1"]) == code
    assert capsys.readouterr().out.startswith(f"{answer}: mu=1: ")


def test_compose_says_the_epsilon_at_a_delta(capsys: pytest.CaptureFixture[str]) -> None:
    def delta_of(epsilon: float) -> float:  # Balle and Wang 2018, Theorem 8, for mu = sqrt(30)/20
        mu = 30**0.5 / 20
        far = math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
        return float(norm.cdf(-epsilon / mu + mu / 2) - far)

    assert main(["compose", "30 x gaussian sigma=20 sensitivity=1", "--delta", "1e-6"]) == 0
    found = re.match(
        r"epsilon at most (\S+) at delta 1e-6, certified; a pair attains at least (\S+) ",
        " ".join(capsys.readouterr().out.split()),
    )
    assert found is not None
    above, below = found.groups()
    assert delta_of(float(above)) <= 1e-6 <= delta_of(float(below))
    assert float(above) - float(below) < 2e-3  # the digits that are shown
    gap = "dp-sgd noise-multiplier=1 rate=.01 steps=100 sampling=shuffle"  # its worst pair is not known
    assert main(["compose", gap, "--delta", "1e-6"]) == 0
    assert "a pair attains at least" in capsys.readouterr().out
    assert main(["compose", "gaussian sigma=1 sensitivity=1", "--delta", "0"]) == 0
    assert capsys.readouterr().out.startswith("epsilon is infinite at delta 0, certified\n")


def test_calibrate_prints_the_scale_and_the_step_below(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "gaussian", "--claim", "eps=1, delta=1e-6", "--sensitivity", "1"]) == 0
    lines = " ".join(capsys.readouterr().out.split())
    answer, kept, broken, again = re.split(r" (?=sigma = |certificate: )", lines)
    assert answer == "sigma 4.224678889326836 keeps eps=1, delta=1e-6; one step less does not."
    assert again.startswith("certificate: dpverdict audit gaussian --sigma 4.224678889326836 --sensitivity 1 --claim")
    assert kept.startswith("sigma = 4.224678889326836: CERTIFIED: ")
    assert broken.startswith("sigma = 4.224678889326835: ")
    assert "REFUTED" in broken


def test_an_event_is_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "event.json"
    path.write_text('{"class_name": "GaussianDpEvent", "noise_multiplier": 1}')
    asked = ["audit", str(path), "--claim", "eps=4.7286, delta=1e-5", "--adjacency"]
    assert main([*asked, "add-or-remove-one"]) == 0
    assert main([*asked, "replace-one", "--quiet"]) == 1
    assert main([*asked, "replace-one", "--dim", "3"]) == 2
    assert main(["audit", str(path), "--claim", "mu=1"]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("CERTIFIED: ")
    assert "dim" in printed.err
    assert "adjacency" in printed.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["compose", "--claim", "mu=1"],
        ["compose", "gaussian sigma=1 sensitivity=1"],
        ["compose", "gaussian sigma=1 sensitivity=1", "--claim", "mu=1", "--delta", "1e-6"],
        ["compose", "gaussian sigma=1 sensitivity=1", "--delta", "1"],
        ["compose", "gaussian sigma=1 sensitivity=1", "--delta", "small"],
        ["compose", "gaussian sigma=1 sensitivity=1", "--claim", "mu"],
        ["calibrate", "gaussian", "--claim", "eps=1", "--sensitivity", "1"],
        ["calibrate", "gaussian", "--sensitivity", "1"],
    ],
    ids=" ".join,
)
def test_a_wrong_request_is_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_release_may_spell_its_parameters_as_the_options(capsys):
    words = "dp-sgd noise-multiplier=1 rate=0.5 steps=1 sampling=poisson"
    assert main(["compose", words, "--claim", "eps=2, delta=0.05"]) == 0  # a claim that three of them keep: a second
    assert "remaining: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ["compose", "3 x gaussian sigma=20 sensitivity=1", "--delta", "1e-6"],
        ["compose", "3 x gaussian sigma=20 sensitivity=1", "--claim", "mu=1"],
        ["calibrate", "gaussian", "--claim", "mu=1", "--sensitivity", "1"],
        ["curve", "laplace", "--dim", "2", "--epsilon", "1", "--points", "2"],
        ["audit", "laplace", "--dim", "2", "--epsilon", "1", "--no-test"],
    ],
)
def test_every_command_that_shows_a_loss_says_the_risk(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--base-rate", "0.001"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "attacker who suspects 1 in 1000" in said
    assert "false alarms it finds at most" in said
    assert main([*command, "--base-rate", "1"]) == 2
    assert "--base-rate='1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "kind", "field"),
    [
        (["compose", "3 x gaussian sigma=20 sensitivity=1", "--delta", "1e-6"], CompositionDocument, "epsilon"),
        (["compose", "3 x gaussian sigma=20 sensitivity=1", "--claim", "mu=1"], CompositionDocument, "held"),
        (["calibrate", "gaussian", "--claim", "mu=1", "--sensitivity", "3"], CalibrationDocument, "kept"),
        (["audit", "laplace", "--epsilon", "1", "--dim", "1", "--delta", "0"], None, ""),
        (
            ["audit", "gaussian", "--sigma", "2", "--sensitivity", "1", "--delta", "1e-6"],
            CompositionDocument,
            "epsilon",
        ),
    ],
)
def test_what_is_spent_is_written_with_all_digits_and_as_a_page(
    command: list[str], kind: type | None, field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, page = tmp_path / "a.json", tmp_path / "a.html"
    files = ["--json", str(data), "--report", str(page)]
    if kind is None:  # its epsilon makes the delta a parameter, which it does not take
        assert main([*command, *files]) == 2
        return
    assert main([*command, "--base-rate", "0.001", *files]) == 0
    printed = capsys.readouterr().out
    assert str(page) in " ".join(printed.split())
    document = json.loads(data.read_text())
    checked(document, kind, "document")
    assert document[field] is not None
    assert document["risk"]["base_rate"]["exact"] == "1/1000"
    assert document["answer"] in " ".join(printed.split())
    text = page.read_text()
    assert "attacker who suspects 1 in 1000" in text
    assert "<script" not in text
    with pytest.raises(InvalidValue, match=field):
        checked({name: value for name, value in document.items() if name != field}, kind, "document")


def test_a_calibrated_scale_is_written_as_the_float_that_keeps_the_claim(tmp_path: Path) -> None:
    path = tmp_path / "scale.json"
    given = ["calibrate", "gaussian", "--claim", "eps=1, delta=1e-6", "--sensitivity", "3", "--quiet", "--json"]
    assert main([*given, str(path)]) == 0
    found = json.loads(path.read_text())
    assert found["value"] == 12.674036667980507
    assert found["below"] == math.nextafter(found["value"], 0)
    assert (found["kept"]["status"], found["broken"]["status"]) == ("CERTIFIED", "REFUTED")
    lower, upper = found["broken"]["attained"]["lower"], found["kept"]["attained"]["upper"]
    assert upper <= 1e-6 < lower


def test_a_mechanism_without_a_claim_says_its_epsilon_at_a_delta(capsys: pytest.CaptureFixture[str]) -> None:
    training = ["--noise-multiplier", "1", "--rate", "0.01", "--steps", "100", "--sampling", "poisson"]
    assert main(["audit", "dp-sgd", *training, "--delta", "1e-5"]) == 0
    found = re.match(r"epsilon at most (\S+) at delta 1e-5, certified; a pair attains at least (\S+)\n",
                     capsys.readouterr().out)  # fmt: skip
    assert found is not None
    lower, upper = map(float, reversed(found.groups()))
    assert 0.9 * upper < lower <= upper
    assert main(["audit", "dp-sgd", *training, "--no-test", "--claim", f"eps={upper}, delta=1e-5"]) == 0
    assert main(["audit", "dp-sgd", *training, "--no-test", "--claim", f"eps={lower - 0.001}, delta=1e-5"]) == 1


def test_the_risk_of_a_claim_is_said_without_a_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["risk", "eps=2", "--base-rate", "0.001"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    most = 0.001 * math.exp(2) / (0.001 * math.exp(2) + 0.999)  # Bayes, at the likelihood ratio exp(2)
    times = int(re.search(r"right at most 1 time in (\d+)", said)[1])  # type: ignore[index]
    assert most <= 1 / times < 1.01 * most
    assert main(["risk", "eps=2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "suspects 1 in 100 is right" in said
    assert f"suspects 1 in 1000 is right at most 1 time in {times}" in said
    assert main(["risk", "ep=2", "--base-rate", "0.001"]) == 2


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("gaussian sigma=5", "add sensitivity=..., in 'gaussian sigma=5'"),
        ("2 x laplace scale=5", "add epsilon=..., or sensitivity=... and scale=..., in 'laplace scale=5'"),
    ],
)
def test_what_a_release_lacks_is_said_in_the_words_of_a_release(
    release: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compose", release, "--delta", "1e-6"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "--" not in told


def test_an_interrupt_says_what_is_known_of_the_least_noise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes while the twentieth scale is decided."""
    room: Any = import_module("dpverdict.audit.exact.calibrate")
    decided = room.account_of
    calls: list[object] = []

    def interrupted(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return decided(*given)

    monkeypatch.setattr(room, "account_of", interrupted)
    assert main(["calibrate", "gaussian", "--claim", "eps=1, delta=1e-6", "--sensitivity", "1"]) == 130
    said = capsys.readouterr().err
    known = re.fullmatch(r"interrupted \(so far: sigma (\S+) keeps eps=1, delta=1e-6; less was not decided\)\n", said)
    assert known is not None, said
    assert 4.224678889326836 < float(known[1]) < 4.226


def test_an_interrupt_of_a_comparison_says_which_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = at_one_claim._calibrated

    def interrupted(name: str, *given: Any) -> Any:
        if name == "gaussian":
            raise KeyboardInterrupt
        return done(name, *given)

    monkeypatch.setattr(at_one_claim, "_calibrated", interrupted)
    assert main(["compare", "laplace", "gaussian", "--claim", "eps=1, delta=1e-6", "--dim", "1"]) == 130
    assert capsys.readouterr().err == "interrupted (so far: laplace with scale 0.999999 keeps eps=1, delta=1e-6)\n"


SCHEMA = 'relation = "add-or-remove-one"\ntable = "numpy"\n[columns.age]\ntype = "int"\nlow = 0\nhigh = {high}\n'
TOTAL = "def total(ages, rng):\n    return ages.sum() + rng.laplace(scale=60)\n"


@pytest.mark.usefixtures("warm_copies")
@pytest.mark.parametrize(("high", "factor"), [(120, 2.0), (30, 0.5)])
def test_the_noise_that_a_function_needs_is_written_with_all_digits_and_as_a_page(
    high: int, factor: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("release.py").write_text(TOTAL)
    Path("ages.toml").write_text(SCHEMA.format(high=high))
    given = ["calibrate", "release.py:total", "--schema", "ages.toml", "--claim", "eps=1", "--base-rate", "0.001"]
    assert main([*given, "--json", "a.json", "--report", "a.html"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    document = json.loads(Path("a.json").read_text())
    checked(document, NeededNoiseDocument, "document")
    assert factor <= document["factor"] <= factor * (1 + 1e-6)  # the sensitivity is high, of a scale of 60
    assert [one["factor"] for one in document["lines"]] == [document["factor"]]
    assert (document["exit_code"], document["observed"], document["refused"]) == (0, [], None)
    assert document["answer"] in printed
    assert "written: a.json, a.html" in printed
    page = Path("a.html").read_text()
    assert document["lines"][0]["needed"] in page
    assert "attacker who suspects 1 in 1000" in page
    assert "CERTIFIED" not in page  # the function as it stands is not
    assert main([*given, "--json", "ages.toml"]) == 2
    assert Path("ages.toml").read_text() == SCHEMA.format(high=high)
