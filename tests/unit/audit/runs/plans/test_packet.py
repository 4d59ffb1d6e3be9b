"""The packet says what was promised and what was shown, and is never better than the plan."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpverdict.audit.runs.plans.packet import (
    decision,
    packet_fields,
    read_packet_schema,
    render_packet_html,
    render_packet_json,
)
from dpverdict.audit.runs.plans.plan import plan_of
from dpverdict.audit.runs.plans.results import PlanResult
from dpverdict.audit.runs.plans.run import run_plan
from dpverdict.audit.trials.journal import Journal

EXACT = {"mechanism": "standard-gaussian", "dim": 2, "exact_only": True}
GOOD = {"name": "counts <b>", "mu": "0.3", **EXACT}
OTHER = {"name": "others", "mu": "0.4", **EXACT}
CONTROL = {"name": "must be found", "mu": 1, "claim": "mu=1/2", "expect": "refuted", **EXACT}
BROKEN = {"name": "broken", "mu": 1, "claim": "mu=1/2", **EXACT}
NOT_RUN = {"name": "no mu", **EXACT}
STATED = {"privacy_unit": "one <person>", "budget": "mu=0.5"}


def carried_out(folder: Path, *audits: object) -> PlanResult:
    plan = plan_of({"title": "Spring", "seed": 1, "audit": list(audits), "deployment": STATED}, folder)
    return run_plan(plan, Journal(folder))


def packet(result: PlanResult) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(render_packet_json(packet_fields(result, Path("plan.toml"))))
    jsonschema.validate(fields, read_packet_schema())
    return fields


def test_a_good_plan_is_a_release(tmp_path: Path) -> None:
    result = carried_out(tmp_path, GOOD, OTHER, CONTROL)
    fields = packet(result)
    assert (fields["status"], fields["decision"]) == ("CERTIFIED", "release")
    assert fields["composed"]["claim"] == "mu=0.5"
    assert fields["composed"]["account"].startswith("CERTIFIED")
    assert [round(one["mu"]["value"], 12) for one in fields["releases"]] == [0.3, 0.4]
    assert [one["name"] for one in fields["controls"]] == ["must be found"]
    assert fields["replay"]["package_sha256"]
    assert fields["registry"]["entry"]["deployment"]["privacy_loss"]["privacy_unit"] == "one <person>"
    page = render_packet_html(fields)
    assert page == render_packet_html(fields)
    assert "<person>" not in page
    assert "<b>" not in page
    assert 'delta <span class="whole">1e-6</span>' in page  # no line ends within it
    parser = HTMLParser()
    parser.feed(page)
    parser.close()
    targets = [part.split('"')[0] for part in page.split(' href="#')[1:]]
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert set(targets) <= set(ids)


@pytest.mark.parametrize(
    ("audits", "status", "said", "code"),
    [
        ((BROKEN, NOT_RUN), "REFUTED", "do not release", 1),
        ((NOT_RUN, BROKEN), "REFUTED", "do not release", 1),
        ((GOOD, NOT_RUN), "NOT RUN", "not shown", 2),
        ((GOOD, {**CONTROL, "claim": "mu=1"}), "CONTROL MISSED", "not shown", 1),
        ((CONTROL,), "INCONCLUSIVE", "not shown", 3),
    ],
)
def test_a_packet_is_never_better_than_its_plan(
    tmp_path: Path, audits: tuple[object, ...], status: str, said: str, code: int
) -> None:
    result = carried_out(tmp_path, *audits)
    fields = packet(result)
    assert (fields["status"], fields["decision"], result.exit_code) == (status, said, code)
    assert decision(result) == said
    assert "Together they keep" not in fields["sentence"]
