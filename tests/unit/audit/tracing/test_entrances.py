"""Python, the test suite's assertion, the fixture and the command line lead to the same verdict."""

import dataclasses
import json
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpverdict.audit import certify
from dpverdict.audit.exact.spending import held_to
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.html import render_html
from dpverdict.audit.reports.terminal import report_text
from dpverdict.audit.reports.to_json import read_schema, render_json
from dpverdict.audit.runs.traced import report_of
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.losses import claims
from dpverdict.audit.tracing.losses.claims import keeps, nearest_kept
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.verdict import TracedVerdict
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue, NotCertified
from dpverdict.mechanisms import StandardGaussian
from dpverdict.mechanisms.core.guarantees import PureDP, parse_guarantee
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.proofs.ledger.certificates import sealed
from dpverdict.testing import assert_certified

CHECKER = runpy.run_path(str(Path(__file__).parents[3] / "certificate_checker.py"))
SCHEMA = """
relation = "replace-one"
records = 400
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 120
"""
CODE = """
import numpy as np

def mean_age(df, rng):
    return df["age"].mean() + rng.laplace(scale=120 / 400)

def too_little(df, rng):
    return df["age"].mean() + rng.laplace(scale=60 / 400)

def on_data(df, rng):
    if df["age"].max() > 100:
        return 0.0
    return df["age"].mean() + rng.laplace(scale=120 / 400)
"""


def mean_age(df: Any, rng: np.random.Generator) -> Any:
    return df["age"].mean() + rng.laplace(scale=120 / 400)


def too_little(df: Any, rng: np.random.Generator) -> Any:
    return df["age"].mean() + rng.laplace(scale=60 / 400)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(CODE)
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def test_certify_takes_a_function_with_a_schema(folder: Path) -> None:
    verdict = certify(mean_age, "eps=1", schema="s.toml")
    assert verdict.status is Status.CERTIFIED
    assert verdict.require() is verdict
    assert verdict.lines[0].moved == "0.3"
    stated = parse_guarantee(verdict.claim)  # 120/400 is no float: eps=1 itself is missed, and is not what is certified
    assert isinstance(stated, PureDP)
    assert 1 < stated.epsilon < 1 + Fraction(1, 2**46)
    assert "eps=1 and what the rounding" in verdict.reason
    assert verdict.certificate is not None
    assert verdict.certificate["claim"] == verdict.claim
    with pytest.raises(TypeError):
        bool(verdict)


def test_certify_takes_a_mechanism_as_before() -> None:
    assert certify(StandardGaussian(dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE)).status is Status.CERTIFIED
    with pytest.raises(InvalidValue):
        certify(StandardGaussian(dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE), "mu=1", schema="s.toml")  # type: ignore[call-overload]
    with pytest.raises(InvalidValue):
        certify(mean_age, "eps=1")  # type: ignore[arg-type]


def test_a_claim_that_fails_by_more_than_rounding_is_not_certified() -> None:
    schema = TableSchema.from_toml(SCHEMA)
    from dpverdict.audit.tracing.certify import certify_function

    kept = certify_function(mean_age, "eps=1.000000000001", schema=schema, search=0)
    assert kept.status is Status.CERTIFIED
    assert kept.claim == "eps=1.000000000001"
    assert certify_function(mean_age, "eps=0.999999999999", schema=schema, search=0).status is Status.INCONCLUSIVE


MORE = 1 + Fraction(1, 2**52)
MISSED = {
    "eps=0.3": Spent(laplace=((Fraction("0.3") * MORE, 1),)),
    "eps=0.3, delta=0": Spent(pure=Fraction("0.3") * MORE),
    "mu=0.3": Spent(gaussian=Fraction("0.09") * MORE),
    "rho=0.045": Spent(gaussian=Fraction("0.09") * MORE),
    "order=2, eps=0.09": Spent(gaussian=Fraction("0.09") * MORE),
}
"""What a function spends that misses its claim by the last bit of a float."""


@pytest.mark.parametrize("claim", MISSED)
def test_a_claim_that_rounding_misses_is_stated_anew_and_kept_exactly(claim: str) -> None:
    guarantee, spent = parse_guarantee(claim), MISSED[claim]
    assert not keeps([spent], guarantee)
    stated = nearest_kept([spent], guarantee)
    assert stated is not None
    assert keeps([spent], stated)
    assert parse_guarantee(stated.describe()) == stated
    far = dataclasses.replace(spent, laplace=tuple((move * (1 + Fraction(1, 2**40)), n) for move, n in spent.laplace),
                              gaussian=spent.gaussian * (1 + Fraction(1, 2**40)), pure=spent.pure * (1 + Fraction(1, 2**40)))  # fmt: skip  # noqa: E501
    assert nearest_kept([far], guarantee) is None


def overspent(claim: str) -> Fraction:
    """By how much what is certified is above what is stated, in exact arithmetic."""
    spent = MISSED[claim]
    stated = nearest_kept([spent], parse_guarantee(claim))
    assert isinstance(stated, PureDP)
    return Fraction(spent.epsilon() or 0) - parse_guarantee(stated.describe()).epsilon  # type: ignore[union-attr]


def test_a_decision_with_a_tolerance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overspent("eps=0.3") <= 0
    monkeypatch.setattr(claims, "_larger", lambda claim, factor: claim)
    monkeypatch.setattr(claims, "held_to", lambda loss, claim: held_to(loss, PureDP(claim.epsilon * MORE)))
    assert overspent("eps=0.3") > 0


def test_the_assertion_and_the_fixture(privacy_audit: Any) -> None:
    schema = TableSchema.from_toml(SCHEMA)
    assert assert_certified(mean_age, "eps=1", schema=schema).status is Status.CERTIFIED
    assert privacy_audit.certified(mean_age, "eps=1", schema=schema).status is Status.CERTIFIED
    with pytest.raises(NotCertified, match="REFUTED"):
        assert_certified(too_little, "eps=1", schema=schema)


def test_bounds_that_were_only_observed_certify_nothing() -> None:
    schema = TableSchema.from_toml(SCHEMA + "observed = true\n")
    verdict = certify(mean_age, "eps=1", schema=schema)
    assert verdict.status is Status.INCONCLUSIVE
    assert "observed" in verdict.reason


@pytest.mark.parametrize(("name", "code"), [("mean_age", 0), ("too_little", 1)])
def test_the_command_line(
    name: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if code == 1:
        request.getfixturevalue("warm_copies")
    files = ["--json", "v.json", "--certificate", "c.json", "--witness", "w.json", "--report", "r.html"]
    assert main(["audit", f"release.py:{name}", "--schema", "s.toml", "--claim", "eps=1", *files]) == code
    assert "line" in capsys.readouterr().out
    found = json.loads((folder / "v.json").read_text())
    page = (folder / "r.html").read_text()
    assert "a record moves it by" in page
    assert ("The pair of tables that breaks the claim" in page) == (code == 1)
    assert found["status"] == found["traced"]["status"] == ("CERTIFIED" if code == 0 else "REFUTED")
    jsonschema.Draft202012Validator(read_schema()).validate(found)
    if code == 0:
        request.getfixturevalue("warm_copies")
        assert main(["check", "c.json"]) == 0
        assert CHECKER["main"](["c.json"]) == 0  # it shares no code with the project
        said = capsys.readouterr().out
        assert f"CERTIFIED: {found['claim']['text']} of release.py:mean_age, replace-one: derived" in said
        kept = (folder / "c.json").read_text()
        (folder / "c.json").write_text(kept.replace(f'"claim": "{found["claim"]["text"]}"', '"claim": "eps=0.5"'))
        assert main(["check", "c.json"]) == 1  # changed after it was made
        changed = json.loads(kept)
        changed["claim"] = "eps=0.5"
        (folder / "c.json").write_text(sealed(changed))
        assert main(["check", "c.json"]) == 1  # the releases do not keep it
        assert CHECKER["main"](["c.json"]) == 1
    else:
        assert json.loads((folder / "w.json").read_text())["kind"] == "tap"


@pytest.mark.usefixtures("warm_copies")
def test_what_is_not_covered_ends_with_3_and_names_the_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "release.py:on_data", "--schema", "s.toml", "--claim", "eps=1", "--no-test"]
    assert main(command) == 3
    assert "NOT COVERED: release.py:on_data claims eps=1: line 11" in capsys.readouterr().out


@pytest.mark.usefixtures("warm_copies")
@pytest.mark.parametrize("name", ["mean_age", "too_little", "on_data"])
def test_a_report_of_it_has_its_status_on_every_face(name: str, folder: Path) -> None:
    functions = runpy.run_path(str(folder / "release.py"))
    verdict = certify_function(functions[name], "eps=1", schema="s.toml", search=40.0 if name == "too_little" else 0)
    found = verdict.to_dict()
    report = report_of(verdict, parameters={})
    assert report.status.name == found["status"]
    assert found["reason"][1:] in report.answer
    text = report_text(report)
    assert found["status"] in text
    if found["lines"]:
        assert text.index("What is released") < text.index("What was audited")
    else:
        assert "What is released" not in text  # nothing is told of what is not covered
    assert all(line["statistic"] in text and line["noise"] in text for line in found["lines"])
    fields = json.loads(render_json(report))
    jsonschema.Draft202012Validator(read_schema()).validate(fields)
    assert (fields["status"], fields["traced"]["lines"]) == (found["status"], found["lines"])
    if name == "too_little":  # a pair that fresh releases alone refute is no exact evidence
        sampled = {**found, "witness": {**found["witness"], "measured_by": "fresh releases"}}
        again = TracedVerdict.from_dict(sampled)
        assert report_of(again, parameters={}).status.name == "REFUTED"
        assert TracedEvidence(again).decides is None
        assert "statistical evidence" in render_html(report_of(again, parameters={}))


@pytest.mark.parametrize("extra", [["--samples", "10"], ["--neighbours", "pair.npz"], ["--mu", "1"], []])
def test_what_is_not_looked_at_is_refused(extra: list[str], folder: Path) -> None:
    claim = ["--claim", "eps=1"] if extra else []
    assert main(["audit", "release.py:mean_age", "--schema", "s.toml", *claim, *extra]) == 2
