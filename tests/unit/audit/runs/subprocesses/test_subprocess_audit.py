"""An audit in a process of its own: where user code runs, and how what goes wrong there is told here."""

from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.finished_audit import WantedRenderings
from dpverdict.audit.runs.request import Request
from dpverdict.audit.runs.scores import ScoresRequest
from dpverdict.audit.runs.subprocesses.audit import AuditFailed, audit_from_request, audit_in_subprocess, runs_user_code
from dpverdict.errors import DpverdictError, MechanismFailure

CODE = """
import os
from dpverdict.audit import batched

@batched
def leaky(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale=0.2, size=(trials, 1))

@batched
def raises(dataset, rng, trials):
    raise RuntimeError("planted")

@batched
def ends(dataset, rng, trials):
    os._exit(0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code_of_a_user.py").write_text(CODE)
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(name: str) -> Request:
    return Request(
        mechanism=f"code_of_a_user.py:{name}", neighbours="pair.npz", claim="eps=1", samples="4000", seed="1"
    )


STANDARD = Request(mechanism="standard-gaussian", options={"dim": "2", "mu": "1"}, exact_only=True)


def test_code_of_the_user_is_whatever_is_not_of_this_package() -> None:
    assert runs_user_code(asked("leaky"))
    assert runs_user_code(Request(mechanism="standard-gaussian", data="tables.py:mine"))
    assert runs_user_code(Request(mechanism="standard-gaussian", score="scores.py:mine"))
    assert not runs_user_code(STANDARD)
    assert not runs_user_code(Request(mechanism="broken:M3"))
    assert not runs_user_code(ScoresRequest(claim="mu=1"))


def test_an_audit_apart_is_the_audit_here() -> None:
    here, apart = audit_from_request(STANDARD, WantedRenderings()), audit_in_subprocess(STANDARD, WantedRenderings())
    assert here.status is apart.status is Status.CERTIFIED
    assert here.fields["exact"] == apart.fields["exact"]


def test_progress_is_told_and_the_evidence_arrives(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = audit_in_subprocess(
        asked("leaky"), WantedRenderings(), bar=lambda what, now, total: seen.append((now, total))
    )
    assert done.status is Status.REFUTED
    assert seen
    assert all(now <= total for now, total in seen)
    assert done.provenance is not None


@pytest.mark.parametrize(("name", "words"), [("raises", "planted"), ("ends", "ends"), ("missing", "missing")])
def test_what_goes_wrong_there_is_one_line_here(
    folder: Path, name: str, words: str, request: pytest.FixtureRequest
) -> None:
    if name != "ends":
        request.getfixturevalue("warm_copies")
    with pytest.raises((AuditFailed, MechanismFailure), match=words) as caught:
        audit_from_request(asked(name), WantedRenderings())
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, DpverdictError)
