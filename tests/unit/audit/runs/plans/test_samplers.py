"""Audits of samplers as entries of a plan: they are read, run, shown, and no releases."""

import json
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest

from dpverdict.audit.runs.plans.packet import packet_fields
from dpverdict.audit.runs.plans.plan import read_plan
from dpverdict.audit.runs.plans.renderings import read_plan_schema, render_junit, render_plan_html, render_plan_json
from dpverdict.audit.runs.plans.results import PlanResult, PlanStatus
from dpverdict.audit.runs.plans.run import open_journal, run_plan
from dpverdict.audit.runs.plans.sarif import render_sarif
from dpverdict.errors import InvalidValue

RELEASE = '[[audit]]\nmechanism = "standard-gaussian"\ndim = 1\nmu = 1\nexact_only = true\n'
LOADERS = """
import numpy as np

def poisson(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        yield np.flatnonzero(rng.random(200) < 0.05)

def in_order():
    return [np.arange(k, k + 10) for k in range(0, 200, 10)]
"""


def entry(**changed: str) -> str:
    given = {"loader": '"loaders.py:poisson"', "sampling": '"poisson"', "rate": "0.05", "records": "200"} | changed
    return "[[sampler]]\n" + "".join(f"{key} = {value}\n" for key, value in given.items() if value)


def plan_in(folder: Path, *entries: str) -> Path:
    (folder / "loaders.py").write_text(dedent(LOADERS))
    path = folder / "plan.toml"
    path.write_text("seed = 7\n" + "\n".join(entries))
    return path


def carried_out(path: Path) -> PlanResult:
    with open_journal(path, None) as kept:
        return run_plan(read_plan(path), kept)


def test_samplers_are_run_beside_releases(tmp_path: Path) -> None:
    control = entry(loader='"loaders.py:in_order"', name='"in order"', expect='"refuted"')
    path = plan_in(tmp_path, RELEASE, entry(name='"batches"'), control)
    result = carried_out(path)
    assert [one.status.name for one in result.results if one.status] == ["CERTIFIED", "INCONCLUSIVE", "REFUTED"]
    assert all(one.met for one in result.results)
    assert result.status is PlanStatus.INCONCLUSIVE  # a test that found nothing is no proof
    text = render_plan_json(result)
    jsonschema.validate(json.loads(text), read_plan_schema())
    assert text == render_plan_json(carried_out(path))  # the same seed draws the same batches
    page = render_plan_html(result)
    assert "Poisson sampling with rate 0.05" in page
    assert "audit-in-order-tests" in page
    assert "None of" in render_junit(result)
    assert "None of" in render_sarif(result)
    packet = packet_fields(result, path)
    assert [one["name"] for one in packet["releases"]] == ["1 standard-gaussian"]


def test_a_sampler_that_is_not_as_claimed_refutes_the_plan(tmp_path: Path) -> None:
    result = carried_out(plan_in(tmp_path, entry(loader='"loaders.py:in_order"')))
    assert (result.status, result.exit_code) == (PlanStatus.REFUTED, 1)
    with pytest.raises(InvalidValue, match="packet"):
        packet_fields(result, tmp_path / "plan.toml")


def test_a_loader_that_fails_is_an_audit_not_run(tmp_path: Path) -> None:
    result = carried_out(plan_in(tmp_path, RELEASE, entry(loader='"loaders.py:missing"')))
    assert result.results[1].status is None
    assert "missing" in str(result.results[1].error)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"rate": ""}, "rate"),
        ({"rate": "2"}, "rate"),
        ({"sampling": '"sometimes"'}, "sampling"),
        ({"loader": ""}, "sampler.loader"),
        ({"expect": '"certified"'}, "audit.expect"),
        ({"seed": "3"}, "sampler.seed"),
        ({"mechanism": '"dp-sgd"'}, "sampler.mechanism"),
    ],
)
def test_a_wrong_entry_is_refused_before_the_plan_is_begun(tmp_path: Path, changed: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}"):
        read_plan(plan_in(tmp_path, RELEASE, entry(**changed)))
