"""What takes long is said before it begins, on standard error, and what is short is not."""

import pytest

from dpverdict.audit.runs import costs
from dpverdict.audit.runs.costs import announced
from dpverdict.audit.runs.request import Request
from dpverdict.cli.application import main


def of(mechanism: str, dim: str, **others: object) -> str | None:
    return announced(Request(mechanism=mechanism, options={"dim": dim, "epsilon": "1"}, **others))  # type: ignore[arg-type]


def test_a_long_audit_is_announced_with_what_makes_it_shorter() -> None:
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


def test_a_size_that_is_refused_says_why_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "standard-gaussian", "--dim", "1e8", "--mu", "1"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert "both worst datasets are made" in told
    assert "certify(mechanism)" in told
