"""Code that a replay runs has a process of its own: whatever ends it is an error that names it, never an exit code."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.distinguishing.witness_document import read_witness
from dpverdict.audit.isolation.process import NO_LIMITS
from dpverdict.audit.runs.replay import replay_from_request
from dpverdict.audit.runs.subprocesses.replay import _replay_of, replay_in_subprocess, work
from dpverdict.cli.application import main
from dpverdict.errors import MechanismFailure

RELEASE = """
import os, signal, sys
from dpverdict.audit import batched

@batched
def noisy(dataset, rng, trials):
    return dataset.sum() + 0.3 * rng.normal(size=(trials, 1))

def leaves(dataset, rng): os._exit(1)
def exits(dataset, rng): sys.exit(1)
def dies(dataset, rng): os.kill(os.getpid(), signal.SIGKILL)
def fails(dataset, rng): raise ValueError("a\\x1b[2Jb")
"""
WORDS = {
    "neighbours": None,
    "samples": "300",
    "error_probability": None,
    "seed": "1",
    "records_per_user": None,
    "mechanism": "rel.py:noisy",
    "score": None,
    "trust_code": False,
}


@pytest.fixture(scope="module")
def refuted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with functions, a pair, and the witness of an audit of one of them."""
    folder = tmp_path_factory.mktemp("refuted")
    with contextlib.chdir(folder):
        Path("rel.py").write_text(RELEASE)
        np.savez("pair.npz", dataset=np.array([[0.0], [1.0]]), neighbour=np.array([[0.0]]))
        options = ["--claim", "mu=1", "--samples", "2000", "--seed", "1", "--quiet", "--witness", "w.json"]
        assert main(["audit", "rel.py:noisy", "--neighbours", "pair.npz", *options]) == 1
    return folder


@pytest.fixture
def folder(refuted: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(refuted)
    return refuted


def test_a_replay_apart_is_the_same_replay(folder: Path) -> None:
    document = read_witness("w.json")
    here, apart = replay_from_request(document, **WORDS), replay_in_subprocess(document, NO_LIMITS, **WORDS)  # type: ignore[arg-type]  # texts
    assert here == apart
    assert apart.refuted


@pytest.mark.few(2)
@pytest.mark.parametrize("function", ["leaves", "exits", "dies", "fails"])
def test_what_ends_its_process_refutes_nothing(folder: Path, capsys: pytest.CaptureFixture[str], function: str) -> None:
    assert main(["replay", "w.json", "--mechanism", f"rel.py:{function}", "--seed", "1"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert function in told.err
    assert "\x1b" not in told.err


def test_what_contradicts_itself_is_no_replay(folder: Path) -> None:
    answer = work({"document": read_witness("w.json"), "words": WORDS, "engine": {}}, lambda _: None)
    assert _replay_of(answer, "it").refuted
    for change in ({"refuted": False}, {"refuted": 1}, {"p_value": None}, {"level": None}, {"claim": 1}, {"more": 1}):
        with pytest.raises(MechanismFailure, match="no replay"):
            _replay_of(answer | change, "it")
    for nothing in (None, [], "refuted", {}):
        with pytest.raises(MechanismFailure):
            _replay_of(nothing, "it")
