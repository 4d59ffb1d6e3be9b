"""An audit of recorded scores in words: two files or one run, and nothing in between."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.scores import FAIR, INDEPENDENT, ScoresRequest, audit_scores
from dpverdict.errors import InvalidValue

SEED = 6


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(SEED)
    np.save("in.npy", rng.normal(3, 1, 300))
    np.save("out.npy", rng.normal(0, 1, 300))
    bits = rng.integers(0, 2, 600)
    np.save("bits.npy", bits)
    np.save("run.npy", 4 * bits + rng.normal(size=600))
    return tmp_path


def test_what_was_recorded_decides_what_is_assumed(folder: Path) -> None:
    two = ScoresRequest(claim="mu=1", scores_in="in.npy", scores_out="out.npy", seed="1", error_probability="1e-3")
    one = ScoresRequest(
        claim="eps=0.5, delta=1e-6", scores="run.npy", included="bits.npy", seed="1", error_probability="1e-3"
    )
    for request, assumed in ((two, INDEPENDENT), (one, FAIR)):
        report = audit_scores(request)
        assert report.status is Status.REFUTED
        assert report.assumptions == assumed
        assert report.verdict is None
    kept = ScoresRequest(claim="mu=4", scores_in="in.npy", scores_out="out.npy", seed="1")
    assert audit_scores(kept).status is Status.INCONCLUSIVE


def test_the_files_are_named_without_their_columns() -> None:
    request = ScoresRequest(claim=None, scores_in="in.csv#loss", scores_out="out.npy")
    assert request.inputs == {"the file of --in": "in.csv", "the file of --out": "out.npy"}
    assert not request.exact_only


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"scores_in": "in.npy"}, "out must be given: add --out"),
        ({"scores": "run.npy"}, "included must be given: add --included"),
        ({"scores": "run.npy", "included": "bits.npy", "scores_in": "in.npy"}, "scores="),
        ({}, "in and out must be given: add --in and --out"),
        ({"scores_in": "in.npy", "scores_out": "out.npy", "claim": None}, "claim must be given: add --claim"),
        ({"scores_in": "in.npy", "scores_out": "out.npy", "error_probability": "1"}, "error_probability="),
        ({"scores_in": "in.npy", "scores_out": "out.npy", "delta": "0"}, "delta="),
        ({"scores_in": "in.npy", "scores_out": "gone.npy"}, "out="),
    ],
)
def test_what_does_not_go_together_is_refused(folder: Path, parts: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{said}"):
        audit_scores(ScoresRequest(**{"claim": "mu=1", **parts}))
