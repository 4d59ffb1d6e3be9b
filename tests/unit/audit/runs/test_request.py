"""A request in words: what it may ask for, and what it is told when it may not."""

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.audits import Numbers
from dpverdict.audit.runs.request import Request, audit_request, numbers_of, parse_domain, report_witness
from dpverdict.errors import InvalidValue


def test_a_domain_in_words() -> None:
    assert parse_domain("unit:1e2") == ("unit", 100)
    with pytest.raises(InvalidValue, match="search"):
        parse_domain("unit:x")


STANDARD = {"dim": "2", "mu": "1"}


def test_a_request_for_the_exact_evidence_is_decided() -> None:
    asked = Request(mechanism="standard-gaussian", options=STANDARD, exact_only=True)
    report = audit_request(asked)
    assert report.status is Status.CERTIFIED
    assert report.seed is None
    assert report_witness(report, asked) is None
    refuted = Request(mechanism="standard-gaussian", options=STANDARD, claim="mu=0.9", exact_only=True)
    witness = report_witness(audit_request(refuted), refuted)
    assert witness is not None
    assert witness["claim"] == "mu=0.9"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"claim": "mu"}, "claim"),
        ({"samples": "3.5"}, "samples"),
        ({"error_probability": "0"}, "error_probability"),
        ({"seed": "-1"}, "seed"),
        ({"test_delta": "1"}, "delta"),
        ({"data": "missing.csv"}, "data"),
        ({"record": "1"}, "record"),
        ({"numbers": "complex"}, "numbers"),
        ({"search": "binary:3"}, "search"),
    ],
)
def test_every_part_is_checked_before_anything_is_run(change: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        audit_request(Request(mechanism="standard-gaussian", options=STANDARD, **change))


def test_numbers_are_chosen_by_name() -> None:
    assert numbers_of(None) is Numbers.RELEASED
    assert {numbers_of(one.name.lower()) for one in Numbers if one is not Numbers.RELEASED} <= set(Numbers)
    with pytest.raises(InvalidValue, match="numbers"):
        numbers_of("floats")
