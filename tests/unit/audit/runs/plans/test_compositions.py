"""Releases that are composed, as entries of a plan: the numbers and the answer of ``dpverdict compose``."""

import json
import tomllib
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from dpverdict.audit.documents.request import CompositionRequest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.process import NO_LIMITS
from dpverdict.audit.reports.summary import promised_epsilon
from dpverdict.audit.runs.accounts import read_release
from dpverdict.audit.runs.plans import compositions
from dpverdict.audit.runs.plans.compositions import FinishedComposition, compose_request
from dpverdict.audit.runs.plans.packet import packet_fields
from dpverdict.audit.runs.plans.plan import read_plan
from dpverdict.audit.runs.plans.renderings import read_plan_schema, render_junit, render_plan_html, render_plan_json
from dpverdict.audit.runs.plans.results import AuditResult, PlanResult, PlanStatus
from dpverdict.audit.runs.plans.run import open_journal, run_plan
from dpverdict.audit.runs.plans.sarif import render_sarif
from dpverdict.cli.application import app
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ZeroConcentratedDP

EXAMPLES = Path(__file__).parents[5] / "examples"
RELEASES = ["12 x gaussian sigma=25 sensitivity=1", "laplace scale=40 sensitivity=1"]
CLAIM = "eps=1, delta=1e-6"
BROKEN = "eps=0.1, delta=1e-6"
RELEASE = '[[audit]]\nmechanism = "standard-gaussian"\ndim = 1\nmu = 1\nexact_only = true\n'
EVENT = '{"class_name": "GaussianDpEvent", "noise_multiplier": 25}'
OWN = """
from dpverdict.mechanisms import GaussianMechanism

class Own(GaussianMechanism):
    pass
"""


def entry(releases: list[str] = RELEASES, **given: str) -> str:
    lines = [f"{key.replace('_', '-')} = {json.dumps(value)}" for key, value in given.items()]
    return "\n".join(["[[composition]]", f"releases = {json.dumps(releases)}", *lines, ""])


def plan_in(folder: Path, *entries: str) -> Path:
    path = folder / "plan.toml"
    path.write_text("seed = 7\n" + "\n".join(entries))
    return path


def carried_out(path: Path) -> PlanResult:
    with open_journal(path, None) as kept:
        return run_plan(read_plan(path), kept)


def test_compositions_are_run_beside_releases(tmp_path: Path) -> None:
    entries = [entry(name="year", claim=CLAIM), entry(delta="1e-6"), entry(name="no", claim=BROKEN, expect="refuted")]
    path = plan_in(tmp_path, RELEASE, *entries)
    result = carried_out(path)
    statuses = [one.status.name for one in result.results if one.status]
    assert statuses == ["CERTIFIED", "CERTIFIED", "CERTIFIED", "REFUTED"]  # an entry that is forgotten is missed here
    assert (result.status, result.exit_code) == (PlanStatus.CERTIFIED, 0)
    text = render_plan_json(result)
    jsonschema.validate(json.loads(text), read_plan_schema())
    assert text == render_plan_json(carried_out(path))
    page = render_plan_html(result)
    assert 'id="audit-year-account"' in page
    assert 'id="audit-3-composition-releases"' in page
    assert "12" in page
    assert "gaussian sigma=25 sensitivity=1" in page
    assert "CERTIFIED: CERTIFIED: eps=1, delta=1e-6" in render_junit(result)
    assert json.loads(render_sarif(result))["runs"][0]["results"] == []
    assert [one["name"] for one in packet_fields(result, path)["releases"]] == ["1 standard-gaussian"]


@pytest.mark.parametrize(("claim", "code"), [(CLAIM, 0), (BROKEN, 1), (None, 0)])
def test_the_plan_says_what_compose_says(tmp_path: Path, claim: str | None, code: int) -> None:
    question = {"delta": "1e-6"} if claim is None else {"claim": claim}
    path = plan_in(tmp_path, entry(RELEASES, **question, base_rate="0.01"))
    told = CliRunner().invoke(app, ["run", str(path), "--json", str(tmp_path / "plan.json"), "--quiet"])
    words = [word for key, value in question.items() for word in (f"--{key}", value)]
    own = CliRunner().invoke(
        app, ["compose", *RELEASES, *words, "--base-rate", "0.01", "--json", str(tmp_path / "own.json"), "--quiet"]
    )
    assert (told.exit_code, own.exit_code) == (code, code)
    (report,) = [one["report"] for one in json.loads((tmp_path / "plan.json").read_text())["audits"]]
    expected = json.loads((tmp_path / "own.json").read_text())
    for fields in (report, expected):
        del fields["created"], fields["command"]
        for one in fields["releases"]:
            del one["remaining"]  # no plan asks for it: it takes many compositions more
    assert report == expected
    assert report["risk"] is not None


def test_a_claim_that_is_broken_refutes_the_plan(tmp_path: Path) -> None:
    result = carried_out(plan_in(tmp_path, RELEASE, entry(claim=BROKEN)))
    assert (result.status, result.exit_code) == (PlanStatus.REFUTED, 1)
    (found,) = json.loads(render_sarif(result))["runs"][0]["results"]
    assert found["ruleId"] == "refuted"
    assert BROKEN in found["message"]["text"]


def test_a_plan_without_a_release_has_no_packet(tmp_path: Path) -> None:
    path = plan_in(tmp_path, entry(claim=CLAIM))
    with pytest.raises(InvalidValue, match="packet"):
        packet_fields(carried_out(path), path)


def test_what_is_kept_counts_while_the_event_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = plan_in(tmp_path, entry(["12 x event.json"], claim=CLAIM, adjacency="add-or-remove-one"))
    event = tmp_path / "event.json"
    event.write_text(EVENT)
    assert read_plan(path).inputs == {"the event event.json of 1 composition": str(tmp_path / "event.json")}
    assert carried_out(path).status is PlanStatus.CERTIFIED
    composed = []
    own = compositions.spent_or_held

    def counted(*words: object, **more: object) -> object:
        composed.append(words)
        return own(*words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(compositions, "spent_or_held", counted)
    assert carried_out(path).status is PlanStatus.CERTIFIED
    assert not composed
    event.write_text(EVENT.replace("25", "1"))
    assert carried_out(path).status is PlanStatus.REFUTED
    assert len(composed) == 1


def test_a_class_of_the_user_has_a_process_of_its_own_and_is_never_kept(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    path = plan_in(tmp_path, entry(["12 x own.py:Own sigma=25 sensitivity=1"], claim=CLAIM))
    assert carried_out(path).status is PlanStatus.CERTIFIED
    (tmp_path / "own.py").write_text("raise SystemExit(0)")
    (one,) = carried_out(path).results
    assert one.status is None
    assert "SystemExit" in str(one.error)


def test_a_limit_ends_a_composition_and_is_an_entry_not_run(tmp_path: Path) -> None:
    result = carried_out(plan_in(tmp_path, entry(claim=CLAIM, timeout="0.01")))
    assert result.results[0].status is None
    assert result.exit_code == 2


@pytest.mark.parametrize("limited", [False, True])
def test_the_process_sends_what_is_found_here(limited: bool) -> None:
    request = CompositionRequest(releases=tuple(RELEASES), claim=CLAIM)
    created = datetime(2026, 1, 1, tzinfo=UTC)
    limits = type(NO_LIMITS)(seconds=100.0) if limited else NO_LIMITS
    found = compose_request(request, created, "audit", limits)
    assert found.status is Status.CERTIFIED
    assert found.fields["command"].startswith("dpverdict compose '12 x gaussian sigma=25 sensitivity=1'")
    assert found == FinishedComposition.from_dict(json.loads(json.dumps(found.to_dict())))


@pytest.mark.parametrize(
    ("held", "epsilon", "status"),
    [
        ({"status": "CERTIFIED", "certified": True}, None, Status.CERTIFIED),
        ({"status": "REFUTED", "certified": True}, None, Status.REFUTED),
        ({"status": "CERTIFIED", "certified": False}, None, Status.INCONCLUSIVE),
        (None, {"certified": True, "above": {"upper": 2.0}}, Status.CERTIFIED),
        (None, {"certified": True, "above": {"upper": "inf"}}, Status.INCONCLUSIVE),
        (None, {"certified": False, "above": {"upper": 2.0}}, Status.INCONCLUSIVE),
    ],
)
def test_only_what_is_certified_is_called_so(held: object, epsilon: object, status: Status) -> None:
    assert FinishedComposition(fields={"held": held, "epsilon": epsilon}, part="").status is status


def test_an_epsilon_that_is_infinite_decides_nothing(tmp_path: Path) -> None:
    result = carried_out(plan_in(tmp_path, entry(["gaussian sigma=1 sensitivity=1"], delta="0")))
    assert (result.status, result.exit_code) == (PlanStatus.INCONCLUSIVE, 3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (entry(), "claim"),
        (entry(claim=CLAIM, delta="1e-6"), "claim"),
        (entry(claim="eps"), "claim"),
        (entry(delta="2"), "delta"),
        (entry([], claim=CLAIM), "composition.releases"),
        (entry(["many x gaussian sigma=1"], claim=CLAIM), "release"),
        (entry(["gaussian sigma=1, sensitivity=1"], claim=CLAIM), "release"),
        (entry(delta="1e-6", expect="refuted"), "composition.expect"),
        (entry(claim=CLAIM, mechanism="gaussian"), "composition.mechanism"),
        ('[[composition]]\nreleases = "gaussian sigma=1"\nclaim = "eps=1"\n', "composition.releases"),
    ],
)
def test_a_wrong_entry_is_refused_before_the_plan_is_begun(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}"):
        read_plan(plan_in(tmp_path, RELEASE, text))


def test_a_mechanism_that_nobody_knows_is_an_entry_not_run(tmp_path: Path) -> None:
    result = carried_out(plan_in(tmp_path, RELEASE, entry(["gausian sigma=1"], claim=CLAIM)))
    assert result.exit_code == 2
    assert "gausian" in str(result.results[1].error)


def example(name: str) -> dict[str, dict[str, Any]]:
    """The compositions of a plan in examples/, by their names."""
    found = tomllib.loads((EXAMPLES / name).read_text(encoding="utf-8"), parse_float=str)["composition"]
    return {one["name"]: one for one in found}


def rho_of(text: str) -> Fraction:
    written = read_release(text)
    return written.count * Fraction(written.given["rho"])


def test_the_allocation_of_topdown_adds_up_to_its_rho() -> None:
    persons = example("topdown.toml")["persons"]
    releases = persons["releases"]
    assert sum(map(rho_of, releases)) == Fraction(542, 339) ** 2  # a query that is forgotten, or counted twice, differs
    assert sum(read_release(text).count for text in releases) == 65


def test_the_queries_of_one_level_keep_its_share_of_rho_and_less_than_the_epsilon_of_it(tmp_path: Path) -> None:
    """The example in small: the first of six levels. The page of pipelines runs it all."""
    nation = example("topdown.toml")["persons"]["releases"][:5]
    rho = Fraction(542, 339) ** 2 * Fraction(104, 4099)
    of_rho = promised_epsilon(ZeroConcentratedDP(rho), Fraction("1e-10"))
    assert of_rho is not None
    assert of_rho > Fraction("2.25")
    held = {f"rho={rho}": Status.CERTIFIED, "eps=2.25, delta=1e-10": Status.CERTIFIED}  # fmt: skip
    result = carried_out(plan_in(tmp_path, *(entry(nation, claim=claim) for claim in held)))
    assert [one.status for one in result.results] == list(held.values())


@pytest.mark.parametrize("name", ["MST", "AIM, one course", "PrivBayes"])
def test_the_parts_of_a_pipeline_add_up_to_its_claim_with_nothing_left(tmp_path: Path, name: str) -> None:
    one = example("pipelines.toml")[name]
    kind, _, number = one["claim"].partition("=")
    less = f"{kind}={Fraction(number) - Fraction(1, 10**12)}"
    claimed = compose_entry(tmp_path, one["releases"], one["claim"])
    assert claimed.status is Status.CERTIFIED
    if kind == "rho":  # that it is not kept is found for an epsilon too, after seconds
        assert compose_entry(tmp_path, one["releases"], less).status is not Status.CERTIFIED


def compose_entry(folder: Path, releases: list[str], claim: str) -> AuditResult:
    (found,) = carried_out(plan_in(folder, entry(releases, claim=claim))).results
    return found


def test_a_third_of_a_budget_three_times_is_the_budget() -> None:
    """As float64 it is not: opendp issue 2789."""
    assert 0.0245 + 0.0245 + 0.0245 > 0.0735
    assert 3 * Fraction(0.0735 / 3) != Fraction("0.0735")
    budget = example("pipelines.toml")["thirds"]
    assert sum(map(rho_of, budget["releases"])) == Fraction("0.0735") == Fraction(budget["claim"].removeprefix("rho="))
