"""The faces of a plan tell an audit that is as expected from one that is not, and from one that was not run."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpverdict.audit.runs.plans.plan import plan_of
from dpverdict.audit.runs.plans.renderings import (
    counts,
    plan_fields,
    print_plan,
    render_junit,
    render_plan_html,
    render_plan_json,
)
from dpverdict.audit.runs.plans.results import NOT_RUN, PlanResult
from dpverdict.audit.runs.plans.run import run_plan
from dpverdict.audit.trials.journal import Journal

BELL = "a name with a \x07 bell"
"""XML has no way to write this character."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> PlanResult:
    """Three audits: as expected, not as expected, and not run."""
    common = {"mechanism": "standard-gaussian", "dim": 2, "exact_only": True}
    audits = [
        {"name": BELL, "mu": 1, **common},
        {"name": "must be refuted", "mu": 1, "expect": "refuted", **common},
        {"name": "no mu", **common},
    ]
    plan = plan_of({"seed": 1, "error_probability": "1e-6", "audit": audits}, Path("plan"))
    return run_plan(plan, Journal(tmp_path_factory.mktemp("journal")))


def test_the_counts_are_of_all_audits(result: PlanResult) -> None:
    assert dict(counts(result)) == {"CERTIFIED": 2, "REFUTED": 0, "INCONCLUSIVE": 0, NOT_RUN: 1}
    assert plan_fields(result)["exit_code"] == result.exit_code != 0


def test_junit_tells_failures_from_errors(result: PlanResult) -> None:
    suite = ElementTree.fromstring(render_junit(result)).find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]


def test_the_same_result_gives_the_same_bytes(result: PlanResult) -> None:
    for render in (render_junit, render_plan_json, render_plan_html):
        assert render(result) == render(result)
    assert next(one["name"] for one in json.loads(render_plan_json(result))["audits"]) == BELL


def test_the_terminal_says_how_many_are_as_expected(result: PlanResult, capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(result)
    printed = capsys.readouterr().out
    assert "1 of 3 audits as expected" in printed
    assert "\x07" not in printed
