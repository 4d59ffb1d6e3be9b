"""The JSON of a report: strict, described, stable, and written whole or not at all."""

import copy
import dataclasses
import json
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence
from dpverdict.audit.reports.html import write_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.to_json import read_schema, render_json, write_json
from dpverdict.audit.trials import journal as atomic_file

Reports = dict[str, Report]
Tree = Any  # parsed JSON


def closed(schema: Tree) -> Tree:
    """The schema with every object closed: a field that is not described is then an error."""
    schema = copy.deepcopy(schema)
    for node in nodes(schema):
        if "properties" in node:
            node["additionalProperties"] = False
    return schema


def nodes(tree: Tree) -> Iterator[dict[str, Tree]]:
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(part)


def parsed(report: Report) -> Tree:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(render_json(report), parse_constant=refuse)


def test_every_report_meets_the_schema_and_every_field_is_described(reports: Reports) -> None:
    schema = read_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(closed(schema))
    for report in reports.values():
        validator.validate(parsed(report))
    undescribed = [
        name
        for node in nodes(schema)
        for name, field in node.get("properties", {}).items()
        if not isinstance(field, dict) or not field.get("description")
    ]
    assert undescribed == []


def test_a_field_that_is_missing_unknown_or_of_the_wrong_kind_is_found(reports: Reports) -> None:
    validator = jsonschema.Draft202012Validator(closed(read_schema()))
    good = parsed(reports["CERTIFIED"])
    for change in ({"status": "FINE"}, {"schema_version": 2}, {"extra": 1}, {"exact": {}}):
        assert not validator.is_valid(good | change)
    assert not validator.is_valid({key: value for key, value in good.items() if key != "statistical"})


def test_status_and_exit_code_are_those_of_the_report(reports: Reports) -> None:
    for report in reports.values():
        tree = parsed(report)
        assert (tree["status"], tree["exit_code"]) == (report.status.name, report.exit_code)


def test_exact_and_statistical_evidence_are_in_separate_objects(reports: Reports) -> None:
    tree = parsed(reports["CERTIFIED"])
    assert {finding["method"] for finding in tree["exact"]["embedding"]} == {"symbolic", "exact rational arithmetic"}
    assert {finding["method"] for finding in tree["statistical"]["embedding"]["findings"]} == {"two-sample test"}
    assert "error_probability" not in json.dumps(tree["exact"])
    assert parsed(reports["black box"])["exact"] is None
    assert parsed(reports["INCONCLUSIVE"])["statistical"] is None


def test_the_ends_of_an_enclosure_enclose_and_rationals_are_exact(reports: Reports) -> None:
    report = reports["CERTIFIED"]
    tree = parsed(report)
    for node in nodes(tree["exact"]):
        if "lower" in node:
            assert float(node["lower"]) <= float(node["upper"])
    assert report.covariance is not None
    assert {name: Fraction(entry["exact"]) for name, entry in tree["exact"]["covariance"].items()} == report.covariance


def test_an_infinite_number_is_a_string(reports: Reports) -> None:
    mu = parsed(reports["infinite"])["exact"]["worst_case"]["mu"]
    assert (mu["lower"], mu["upper"]) == ("inf", "inf")


def test_nan_is_refused(reports: Reports) -> None:
    report = reports["black box"]
    assert report.test is not None
    with pytest.raises(ValueError, match="p_value=nan must be"):
        render_json(report.with_evidence(DistinguishingEvidence(dataclasses.replace(report.test, p_value=math.nan))))


def test_the_same_report_gives_the_same_bytes(reports: Reports) -> None:
    for report in reports.values():
        assert render_json(report) == render_json(dataclasses.replace(report))


def test_any_text_survives(reports: Reports) -> None:
    name = 'quote " backslash \\ newline \n escape \x1b \u00e9 \U0001f512 \udcff'
    assert parsed(dataclasses.replace(reports["black box"], name=name))["mechanism"]["name"] == name


@pytest.mark.parametrize("write", [write_json, write_html])
def test_a_failure_midway_leaves_the_old_file_and_no_other(
    reports: Reports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    target = tmp_path / "report"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(atomic_file.os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                write(reports["black box"], target)
        assert target.read_text() == "old"
        assert os.listdir(tmp_path) == ["report"]
    write(reports["black box"], target)
    assert target.read_text() != "old"
    assert os.listdir(tmp_path) == ["report"]
