"""What takes long is said before it begins, on standard error, and what is short is not."""

from pathlib import Path

import pytest

from dpverdict.audit.comparisons.named_curves import renderings_of_curves
from dpverdict.audit.runs import costs
from dpverdict.audit.runs.costs import announced, announced_curve, announced_plan
from dpverdict.audit.runs.request import Request
from dpverdict.audit.runs.scores import ScoresRequest
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue


def of(mechanism: str, dim: str, **others: object) -> str | None:
    return announced(Request(mechanism=mechanism, options={"dim": dim, "epsilon": "1"}, **others))  # type: ignore[arg-type]


def test_a_long_audit_is_announced_with_what_makes_it_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "free_memory", lambda: 8 << 30)
    exact = of("laplace", "1e5", exact_only=True)
    assert exact is not None
    assert (
        "20 seconds of processor time (the certified curves of 100000 coordinates); shorter: a smaller --dim" in exact
    )
    assert of("rank1-gaussian", "1e6", exact_only=True) is not None
    sampled = of("standard-gaussian", "1e7")
    assert sampled is not None
    assert "2e+10 random numbers for the test" in sampled
    assert "fewer --samples" in sampled


def test_a_test_that_does_not_fit_into_the_memory_is_refused_before_anything_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(costs, "free_memory", lambda: 2 << 30)
    assert main(["audit", "correlated-gaussian", "--dim", "1e7", "--mu", "1", "--samples", "300"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: --dim=10000000 must be at most 5368709, for a test in the 2048 MiB that are free")
    assert of("standard-gaussian", "1e7", exact_only=True) is None
    with pytest.raises(InvalidValue, match="horizon=10000000"):
        announced(Request(mechanism="tree-counter", options={"horizon": "1e7", "epsilon": "1"}))


@pytest.mark.parametrize("dim", ["3", "1e4", "x", "1e9000"])
def test_a_short_audit_or_one_that_is_refused_is_not(dim: str) -> None:
    assert of("laplace", dim, exact_only=True) is None
    assert of("release.py:noisy", dim) is None
    assert of("standard-gaussian", "1e7", samples="1") is None
    assert of("standard-gaussian", "1e7", samples="x") is None


def test_the_command_says_it_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(costs, "WORTH_SAYING", 1e-5)
    assert main(["audit", "laplace", "--dim", "2", "--epsilon", "1", "--no-test", "--quiet"]) == 0
    assert capsys.readouterr().err.startswith("note: this takes about 0.0004 seconds of processor time")


def test_a_plan_names_what_takes_longest() -> None:
    long, longer, short = (
        Request(mechanism="standard-gaussian", options={"dim": dim, "mu": "1"}) for dim in ("1e6", "1e7", "3")
    )
    scores = ScoresRequest(claim="eps=1", delta=None)
    told = announced_plan([("long", long), ("short", short), ("longer", longer), ("scores", scores)])
    assert told is not None
    assert "this plan takes about" in told
    assert told.index("longer") < told.index("long 4")
    assert announced_plan([("short", short), ("scores", scores)]) is None


def test_a_curve_is_announced_by_its_points() -> None:
    options = {"dim": "1e5", "epsilon": "1"}
    told = announced_curve("laplace", options, 100)
    assert told is not None
    assert "about 2e+02 seconds of processor time (100 points of the certified curves of 100000 coordinates)" in told
    assert announced_curve("laplace", options, 2) is None
    assert announced_curve("counters", {}, 10_000) is None
    assert announced_curve("laplace", options | {"dim": "100001"}, 100) is None  # such a curve is refused
    with pytest.raises(InvalidValue):
        renderings_of_curves("laplace", options | {"dim": "100001"}, points=100)


def test_plans_and_curves_say_it_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(costs, "WORTH_SAYING", 1e-5)
    plan = tmp_path / "plan.toml"
    plan.write_text('[[audit]]\nname = "one"\nmechanism = "laplace"\ndim = 2\nepsilon = 1\nexact_only = true\n')
    assert main(["run", str(plan), "--quiet"]) == 0
    assert capsys.readouterr().err.startswith("note: this plan takes about 0.0004 seconds of processor time")
    assert main(["curve", "laplace", "--dim", "2", "--epsilon", "1", "--points", "3"]) == 0
    assert capsys.readouterr().err.startswith("note: this takes about 0.00012 seconds of processor time (3 points")


def test_a_size_that_is_refused_says_why_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "standard-gaussian", "--dim", "1e8", "--mu", "1"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert "both worst datasets are made" in told
    assert "certify(mechanism)" in told
