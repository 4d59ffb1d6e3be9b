"""What is made of the verdict on a function that was followed: witnesses, plans, packets, files for CI."""

import json
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from dpverdict.audit.distinguishing.witness_document import checksum, read_witness_schema
from dpverdict.audit.documents.request import Request
from dpverdict.audit.runs.plans.packet import read_packet_schema
from dpverdict.audit.runs.plans.renderings import read_plan_schema
from dpverdict.audit.runs.traced import must_be_certified
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.cli.application import main
from dpverdict.errors import MechanismFailure

SCHEMA = """
relation = "replace-one"
records = 400
table = "{table}"
[columns.age]
type = "int"
low = 0
high = 120
"""
CODE = """
import numpy as np

def mean_age(x, rng):
    return x.mean() + rng.laplace(scale=120 / 400)

def too_little(x, rng):
    return x.mean() + rng.laplace(scale=60 / 400)

def any_old(x, rng):
    return "some" if (x > 100).any() else "none"

def noise_alone(x, rng):
    return rng.laplace()

def on_data(x, rng):
    if x.max() > 100:
        return 0.0
    return x.mean() + rng.laplace(scale=120 / 400)

def two(df, rng):
    first = df["age"].sum() + rng.laplace(scale=240)
    return first, (df["age"] > 60).sum() + rng.laplace(scale=0.5)
"""
FIELDS = {"version", "runs", "$schema"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(CODE)
    (tmp_path / "s.toml").write_text(SCHEMA.format(table="numpy"))
    added = SCHEMA.format(table="numpy").replace("replace-one", "add-or-remove-one").replace("records = 400", "")
    (tmp_path / "a.toml").write_text(added)
    (tmp_path / "p.toml").write_text(SCHEMA.format(table="pandas"))
    return tmp_path


def audit(name: str, *more: str, schema: str = "s.toml") -> int:
    return main(["audit", f"release.py:{name}", "--schema", schema, "--claim", "eps=1", "--quiet", *more])


# witnesses ------------------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "schema"), [("too_little", "s.toml"), ("any_old", "a.toml")])
def test_a_witness_is_replayed_on_its_pair(
    name: str, schema: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(name, "--witness", "w.json", schema=schema) == 1
    document = json.loads((folder / "w.json").read_text())
    jsonschema.Draft202012Validator(read_witness_schema()).validate(document)
    assert document["datasets"]["dataset"]["values"] != document["datasets"]["neighbour"]["values"]
    assert main(["replay", "w.json"]) == 2  # the code it names is not loaded unasked
    assert main(["replay", "w.json", "--trust-code"]) == 1
    assert "refuted again" in capsys.readouterr().out
    mended = "mean_age" if name == "too_little" else "noise_alone"
    assert main(["replay", "w.json", "--mechanism", f"release.py:{mended}"]) == 3
    assert "not refuted this time" in capsys.readouterr().out


@pytest.mark.slow
def test_a_witness_of_a_frame_is_replayed(folder: Path) -> None:
    assert audit("two", "--witness", "w.json", schema="p.toml") == 1
    assert main(["replay", "w.json", "--trust-code", "--quiet"]) == 1


def test_a_pair_of_another_relation_is_no_witness(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("too_little", "--witness", "w.json") == 1
    document = json.loads((folder / "w.json").read_text())
    forged: dict[str, Any] = {**document, "relation": "add-or-remove-one"}
    forged.pop("sha256")
    (folder / "w.json").write_text(json.dumps({**forged, "sha256": checksum(forged)}))
    assert main(["replay", "w.json", "--trust-code"]) == 2
    assert "add-or-remove-one" in capsys.readouterr().err


# plans and packets ----------------------------------------------------------------------------------------------------

PLAN = """
title = "Three functions"
seed = 7

[[audit]]
name = "mean"
mechanism = "release.py:mean_age"
schema = "s.toml"
claim = "eps=1"

[[audit]]
name = "too little"
mechanism = "release.py:too_little"
schema = "s.toml"
claim = "eps=1"
expect = "refuted"
"""
BRANCH = """
[[audit]]
name = "a branch"
mechanism = "release.py:on_data"
schema = "s.toml"
claim = "eps=1"
exact_only = true
"""


def test_a_plan_decides_functions_and_takes_up_what_is_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plan.toml").write_text(PLAN)
    files = ["--json", "r.json", "--report", "r.html", "--sarif", "r.sarif", "--junit", "r.xml", "--packet", "packet"]
    assert main(["run", "plan.toml", *files]) == 0
    found = json.loads((folder / "r.json").read_text())
    jsonschema.Draft202012Validator(read_plan_schema()).validate(found)
    assert [one["status"] for one in found["audits"]] == ["CERTIFIED", "REFUTED"]
    assert (folder / "r.html").read_text().count(">a record moves it by<") == 2
    assert json.loads((folder / "r.sarif").read_text())["runs"][0]["results"] == []  # the control was caught
    packet = json.loads((folder / "packet" / "packet.json").read_text())
    jsonschema.Draft202012Validator(read_packet_schema()).validate(packet)
    [release] = packet["releases"]
    assert release["lines"] == found["audits"][0]["report"]["traced"]["lines"]
    assert "every operation on data followed" in release["certified"]
    assert release["not_shown"] == []
    assert "a record moves it by" in (folder / "packet" / "packet.html").read_text()
    (folder / "s.toml").write_text((folder / "s.toml").read_text() + "# a comment\n")  # it rests on the schema
    for name in ("audit_in_subprocess", "audit_from_request"):
        import dpverdict.audit.runs.plans.run as plans

        if hasattr(plans, name):
            monkeypatch.setattr(plans, name, _never)
    assert main(["run", "plan.toml", "--quiet"]) == 2
    (folder / "s.toml").write_text(SCHEMA.format(table="numpy"))
    assert main(["run", "plan.toml", "--quiet"]) == 0  # from the journal


def _never(*given: object, **words: object) -> object:
    raise MechanismFailure("an audit", "was run again", "take up what is finished")


@pytest.mark.slow
def test_what_is_not_covered_leaves_a_plan_undecided(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plan.toml").write_text("title = 'One'\n" + BRANCH)
    assert main(["run", "plan.toml", "--sarif", "r.sarif", "--packet", "packet"]) == 3
    assert "line 17" in capsys.readouterr().out
    [entry] = json.loads((folder / "r.sarif").read_text())["runs"][0]["results"]
    assert (entry["ruleId"], entry["level"]) == ("not-covered", "note")
    [release] = json.loads((folder / "packet" / "packet.json").read_text())["releases"]
    assert "line 17" in release["not_shown"][0]
    assert release["certified"] is None


def test_a_function_without_a_schema_is_still_expected_to_be_only_tested(folder: Path) -> None:
    plan = PLAN.replace('schema = "s.toml"\nclaim = "eps=1"\n\n', 'claim = "eps=1"\nexpect = "certified"\n\n')
    (folder / "plan.toml").write_text(plan)
    assert main(["run", "plan.toml", "--quiet"]) == 2


# files for CI ---------------------------------------------------------------------------------------------------------

SARIF = json.loads((Path(__file__).parents[3] / "sarif.schema.json").read_text())


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "schema", "found"),
    [
        ("too_little", "s.toml", ("refuted", "error", 8)),
        ("mean_age", "s.toml", None),
        ("on_data", "s.toml", ("not-covered", "note", 17)),
        ("two", "p.toml", ("refuted", "error", 22)),
    ],
)
def test_code_scanning_gets_the_line(name: str, schema: str, found: tuple[str, str, int] | None, folder: Path) -> None:
    code = audit(name, "--sarif", "r.sarif", "--junit", "r.xml", *(["--no-test"] if name == "on_data" else []),
                 schema=schema)  # fmt: skip
    document = json.loads((folder / "r.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(document)
    [run] = document["runs"]
    cases = ElementTree.fromstring((folder / "r.xml").read_text()).findall(".//testcase")
    assert len(cases) == 1
    assert (cases[0].find("failure") is None) == (code == 0)
    if found is None:
        assert run["results"] == []
        return
    [entry] = run["results"]
    place = entry["locations"][0]["physicalLocation"]
    assert (entry["ruleId"], entry["level"], place["region"]["startLine"]) == found
    assert run["tool"]["driver"]["rules"][entry["ruleIndex"]]["id"] == entry["ruleId"]
    assert place["artifactLocation"] == {"uri": "release.py", "uriBaseId": "%SRCROOT%"}
    if name == "two":
        assert entry["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 23


@pytest.mark.slow
def test_an_audit_of_releases_is_found_at_the_line_of_the_draw(folder: Path) -> None:
    (folder / "pair.py").write_text("import numpy as np\npair = (np.r_[np.zeros(399), 120.0], np.zeros(400))\n")
    command = ["audit", "release.py:too_little", "--neighbours", "pair.py:pair", "--claim", "eps=0.1", "--quiet"]
    assert main([*command, "--samples", "2000", "--seed", "1", "--sarif", "r.sarif"]) == 1
    document = json.loads((folder / "r.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(document)
    [entry] = document["runs"][0]["results"]
    assert entry["locations"][0]["physicalLocation"]["region"]["startLine"] == 8


# what a process sends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planted", [None, "missing", "claim", "schema", "fact"])
def test_a_certificate_is_derived_again_where_the_function_did_not_run(planted: str | None, folder: Path) -> None:
    function = runpy.run_path("release.py")["mean_age"]
    verdict = certify_function(function, "eps=1", schema="s.toml", name="release.py:mean_age")
    assert verdict.certificate is not None
    certificate: dict[str, Any] | None = json.loads(json.dumps(verdict.certificate))
    assert certificate is not None
    request = Request(mechanism="release.py:mean_age", claim="eps=1", schema="s.toml")
    match planted:
        case "missing":
            certificate = None
        case "claim":
            certificate["claim"] = "eps=2"
        case "schema":
            wider = TableSchema.from_toml("s.toml").to_toml().replace("120", "12")
            certificate["schema"] = wider
        case "fact":
            certificate["releases"][0]["noise"]["scale"] = [0.2]
        case _:
            must_be_certified({"status": "CERTIFIED", "claim": {"text": verdict.claim}}, certificate, request)
            return
    with pytest.raises(MechanismFailure, match="certificate that does not prove"):
        must_be_certified({"status": "CERTIFIED", "claim": {"text": verdict.claim}}, certificate, request)
