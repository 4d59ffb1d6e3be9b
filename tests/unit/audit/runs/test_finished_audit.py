"""An audit as data: believed only if its status is that of its evidence."""

import copy
import json
from typing import Any

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.finished_audit import (
    FinishedAudit,
    WantedRenderings,
    console_facts,
    finish_audit,
    read_finished_audit,
    status_of_fields,
)
from dpverdict.audit.runs.request import Request, audit_request
from dpverdict.errors import MechanismFailure


def done(claim: str, **wanted: Any) -> FinishedAudit:
    asked = Request(mechanism="standard-gaussian", options={"dim": "2", "mu": "1"}, claim=claim, exact_only=True)
    return finish_audit(audit_request(asked), asked, WantedRenderings(**wanted))


CERTIFIED, REFUTED = done("mu=1"), done("mu=0.9", witness=True)


def test_the_status_is_that_of_the_evidence() -> None:
    assert (CERTIFIED.status, CERTIFIED.exit_code) == (Status.CERTIFIED, 0)
    assert (REFUTED.status, REFUTED.exit_code) == (Status.REFUTED, 1)
    assert json.loads(CERTIFIED.json) == CERTIFIED.fields
    assert REFUTED.witness is not None
    assert CERTIFIED.witness is None


def test_only_the_faces_that_are_wanted_are_made() -> None:
    assert (CERTIFIED.page, CERTIFIED.part, CERTIFIED.text) == ("", "", "")
    made = done("mu=1", page=True, anchor="a1", console=console_facts())
    assert "<html" in made.page
    assert "a1" in made.part
    assert "CERTIFIED" in made.text


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (("status",), "REFUTED"),
        (("status",), "FINE"),
        (("exit_code",), 1),
        (("answer",), None),
        (("exact", "verdict", "status"), "REFUTED"),
        (("exact", "verdict", "certificate"), None),
        (("exact",), None),
    ],
)
def test_a_report_that_contradicts_itself_is_none(change: tuple[str, ...], value: object) -> None:
    fields = copy.deepcopy(dict(CERTIFIED.fields))
    assert status_of_fields(fields) is Status.CERTIFIED
    at: Any = fields
    for name in change[:-1]:
        at = at[name]
    at[change[-1]] = value
    with pytest.raises(MechanismFailure, match="no report"):
        read_finished_audit({"fields": fields, "provenance": None}, "m")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "CERTIFIED",
        {},
        {"fields": []},
        {"fields": dict(CERTIFIED.fields)},
        {"fields": dict(CERTIFIED.fields), "provenance": None, "page": 3},
        {"fields": dict(CERTIFIED.fields), "provenance": None, "witness": "w"},
    ],
)
def test_what_is_no_report_is_none(answer: object) -> None:
    with pytest.raises(MechanismFailure, match="no report"):
        read_finished_audit(answer, "m")


def test_what_was_sent_comes_back() -> None:
    sent = {"fields": dict(CERTIFIED.fields), "page": "", "part": "p", "text": "", "witness": None, "provenance": None}
    assert read_finished_audit(sent, "m").part == "p"
    assert read_finished_audit(sent, "m").status is Status.CERTIFIED
