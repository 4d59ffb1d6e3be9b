"""Findings at their lines: which rule, which line, and what an audit that was not run becomes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.plans.sarif import Finding, entry_of, sarif_text

SCHEMA = json.loads((Path(__file__).parents[4] / "sarif.schema.json").read_text())
TRACED = {"covered": True, "reason": "", "witness": None, "lines": [
    {"line": "line 9", "statistic": "sum(age)", "moved": "120", "noise": "laplace, scale 60", "spent": "eps 2"},
    {"line": "helpers.py:4", "statistic": "count(age)", "moved": "1", "noise": "laplace, scale 1", "spent": "eps 1"},
]}  # fmt: skip
TAP = {"rows": [{"where": "release.py:7", "wrong": False}, {"where": "release.py:8", "wrong": True}], "findings": []}


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name in ("release.py", "helpers.py"):
        (tmp_path / name).write_text("\n" * 20)
    return "release.py"


def finding(source: tuple[str, int] | None, fields: dict[str, Any], **words: Any) -> Finding:
    given: dict[str, Any] = {"name": "f", "claim": "eps=1", "status": Status.REFUTED, "answer": "why", **words}
    return Finding(fields=fields, source=source, **given)


def region(location: dict[str, Any]) -> tuple[str, int]:
    place = location["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, 3),
        ({"traced": TRACED}, 9),
        ({"tap": TAP}, 8),
        ({"tap": {"rows": [], "findings": [{"where": "release.py:5"}]}}, 5),
        ({"tap": {"rows": [{"where": "elsewhere.py:5", "wrong": True}], "findings": []}}, 3),
        ({"traced": {**TRACED, "covered": False, "reason": "line 6: a loop", "lines": []}}, 6),
    ],
)
def test_a_finding_stands_at_the_line_that_is_known_best(release: str, fields: dict[str, Any], line: int) -> None:
    entry = entry_of(finding((release, 3), fields))
    assert region(entry["locations"][0]) == (release, line)
    if "traced" in fields and fields["traced"]["lines"]:
        assert region(entry["relatedLocations"][0]) == ("helpers.py", 4)


@pytest.mark.parametrize(
    ("words", "rule", "level"),
    [
        ({}, "refuted", "error"),
        ({"status": Status.INCONCLUSIVE}, "not-decided", "warning"),
        ({"status": Status.CERTIFIED, "control": True}, "control-missed", "error"),
        ({"status": Status.INCONCLUSIVE, "fields": {"traced": {"covered": False}}}, "not-covered", "note"),
    ],
)
def test_how_much_a_finding_matters(words: dict[str, Any], rule: str, level: str) -> None:
    entry = entry_of(finding(None, words.pop("fields", {}), **words))
    assert (entry["ruleId"], entry["level"]) == (rule, level)
    assert "physicalLocation" not in entry["locations"][0]


def test_the_file_is_what_the_standard_asks_for(release: str) -> None:
    found = [finding((release, 3), {"traced": TRACED}), finding(None, {}), finding(("/nowhere/a b%.py", 1), {})]
    document = json.loads(sarif_text(found, ["g was not run: no such file"]))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.validate(document)
    [run] = document["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert (
        run["results"][2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "file:///nowhere/a%20b%25.py"
    )
    for planted in ({"level": "fatal"}, {"message": {"text": ""}}, {"ruleId": 1}):
        wrong = json.loads(json.dumps(document))
        wrong["runs"][0]["results"][0] |= planted
        assert not validator.is_valid(wrong)
