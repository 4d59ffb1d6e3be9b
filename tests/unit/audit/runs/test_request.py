"""A request in words: what it may ask for, and what it is told when it may not."""

from pathlib import Path

import jsonschema
import numpy as np
import pytest
from msgspec.structs import replace

from dpverdict.audit.distinguishing.witness_document import read_witness_schema
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.audits import NumbersUnderClaim
from dpverdict.audit.runs.replay import replay
from dpverdict.audit.runs.request import Request, audit_request, numbers_of, parse_domain, report_witness
from dpverdict.audit.trials.outcomes import observed
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
    assert numbers_of(None) is NumbersUnderClaim.RELEASED
    assert {numbers_of(one.name.lower()) for one in NumbersUnderClaim if one is not NumbersUnderClaim.RELEASED} <= set(
        NumbersUnderClaim
    )
    with pytest.raises(InvalidValue, match="numbers"):
        numbers_of("floats")


def test_a_time_out_that_refutes_is_asked_for_written_down_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed, "CLEAR", 1.0)  # the load of other tests may bring a call near this limit
    (tmp_path / "hangs.py").write_text(
        "import time\ndef release(data, rng):\n    time.sleep(60 * (len(data) == 2))\n    return rng.laplace()\n"
        "def pair():\n    return [1.0, 1.0], [1.0]\n"
    )
    request = Request(
        mechanism=f"{tmp_path}/hangs.py:release",
        neighbours=f"{tmp_path}/hangs.py:pair",
        claim="eps=0.5",
        samples="100",
        seed="1",
        error_probability="1e-3",
        observe="timeout=0.02",
    )
    report = audit_request(request)
    document = report_witness(report, request)
    assert document is not None
    assert document["mechanism"]["observe"] == "timeout=0.02"
    jsonschema.validate(document, read_witness_schema())
    assert replay(document, seed=2, trust_code=True).refuted


def test_what_is_called_many_times_at_once_is_not_observed() -> None:
    with pytest.raises(InvalidValue, match="drop --observe"):
        audit_request(Request(mechanism="correlated-gaussian", options={"dim": "3", "mu": "1"}, observe="warnings"))


def test_the_noise_tap_joins_the_report_of_a_function_unless_it_is_left_out(tmp_path: Path) -> None:
    import json

    from dpverdict.audit.reports.terminal import report_text
    from dpverdict.audit.reports.to_json import read_schema, render_json

    (tmp_path / "release.py").write_text(
        "def release(x, rng):\n    return x.sum(axis=0) + rng.laplace(scale=1, size=3)\n"
    )
    np.savez(tmp_path / "pair.npz", dataset=np.ones((4, 3)), neighbour=np.ones((3, 3)))
    asked = {"mechanism": f"{tmp_path}/release.py:release", "neighbours": str(tmp_path / "pair.npz"), "claim": "eps=1"}
    report = audit_request(Request(**asked, samples="60", seed="1"))
    assert report.tap is not None
    assert report.tap_confirmation is not None
    assert "likelihood ratio of the 3 values" in report.tap_confirmation.score
    assert (report.tap.epsilon, report.status.name, report.exit_code) == (3.0, "REFUTED", 1)
    assert "The noise tap refutes eps=1" in report.answer
    text = report_text(report, anchors=("tap",), width=120)
    assert f"called {report.tap.runs} times" in text
    assert "release.py:2" in text
    fields = json.loads(render_json(report))
    assert fields["tap"]["status"] == "REFUTED"
    jsonschema.validate(fields, read_schema())
    assert audit_request(Request(**asked, samples="60", seed="1", tap="no")).tap is None
    own = Request(mechanism="correlated-gaussian", options={"dim": "3", "mu": "1"}, samples="60", seed="1")
    assert audit_request(own).tap is None  # its noise law is known
    assert audit_request(replace(own, tap="yes")).tap is not None
    with pytest.raises(InvalidValue, match="tap"):
        audit_request(Request(**asked, tap="perhaps"))
