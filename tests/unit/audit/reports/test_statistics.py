"""A report of a test pair by pair says in every face how many pairs it took, and what won."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest

from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.html import render_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.terminal import report_text
from dpverdict.audit.reports.to_json import read_schema, render_json
from dpverdict.audit.runs.audits import Sampling, audit_sequentially
from dpverdict.audit.trials.run import batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair

PAIR = NeighbourPair(dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)), adjacency=ADD_OR_REMOVE_ONE)


@batched
def noisy(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
    return dataset.sum(axis=0) + rng.laplace(size=(trials, 1))


@pytest.fixture(scope="module", params=["1/4", "1"])
def report(request: pytest.FixtureRequest) -> Report:
    claim = PureDP(request.param)
    sampling = Sampling(samples=4000, error_probability=4e-6, seed=1)
    return audit_sequentially(noisy, claim, neighbours=PAIR, sampling=sampling, name="noisy")


def test_every_face_says_what_was_found(report: Report) -> None:
    found = report.sequential
    assert found is not None
    assert found.refuted == (report.claim == PureDP("1/4"))
    assert report.status is (Status.REFUTED if found.refuted else Status.INCONCLUSIVE)
    outcome = f"refuted after {found.stopped_at} pairs" if found.refuted else "not refuted"
    for face in (report_text(report), render_html(report)):
        assert outcome in face
        assert ("betting on pairs of releases" in face) == found.refuted
    page = json.loads(render_json(report))
    jsonschema.validate(page, read_schema())
    assert page["statistical"]["sequential"]["stopped_at"] == found.stopped_at
    assert (page["statistical"]["test"] is None) == found.refuted
    assert report.answer in found._repr_html_()


def test_a_report_is_about_one_claim_and_needs_evidence(report: Report) -> None:
    with pytest.raises(InvalidValue, match=r"(test|sequential)\.claim"):
        dataclasses.replace(report, claim=PureDP(7))
    with pytest.raises(InvalidValue, match="evidence"):
        dataclasses.replace(report, evidence=())


def test_the_test_is_the_one_that_is_run_by_hand(report: Report) -> None:
    by_hand = distinguish_sequentially(
        noisy, PAIR, report.claim, error_probability=1e-6, most_samples=1000, seed=1
    ).to_dict()
    assert report.sequential is not None
    again = report.sequential.to_dict()
    if by_hand["refuted"]:
        assert isinstance(by_hand["witness"], dict)
        assert isinstance(again["witness"], dict)
        for witness in (by_hand["witness"], again["witness"]):
            del witness["created"], witness["sha256"]
    assert by_hand == again
