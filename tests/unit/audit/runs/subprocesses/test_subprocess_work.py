"""What the process of one audit gives: its faces and provenance, or one line that says why there are none."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from dpverdict.audit.runs.request import Request
from dpverdict.audit.runs.subprocesses.work import REST, work
from dpverdict.audit.trials.journal import Journal

CODE = """
import numpy as np
from dpverdict.audit import batched

@batched
def leaky(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale={scale}, size=(trials, 1))

@batched
def replaces(dataset, rng, trials):
    import math
    math.exp = lambda x: 0.0
    raise ValueError("no")

@batched
def exits(dataset, rng, trials):
    raise SystemExit(0)
"""
KEY = bytes(32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work_of_a_user.py").write_text(CODE.format(scale=0.2))
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request(name: str, **changes: Any) -> dict[str, Any]:
    asked = Request(
        mechanism=f"work_of_a_user.py:{name}", neighbours="pair.npz", claim="eps=1", samples="4000", seed="1"
    )
    plain = {"created": None, "anchor": None, "page": False, "witness": False, "console": None, "trials": None}
    plain |= {"seconds": None, "memory": None}
    sent = {"scores": False, "audit": msgspec.structs.asdict(asked), "engine": {}, "key": None, "progress": False}
    return {**plain, **sent, **changes}


def test_the_result_is_data_with_its_grounds(folder: Path) -> None:
    told: list[object] = []
    done = work(request("leaky", page=True, progress=True), told.append)
    assert json.loads(json.dumps(done)) == done
    assert done["fields"]["status"] == "REFUTED"  # type: ignore[index]
    assert "<html" in str(done["page"])
    assert "work_of_a_user.py" in json.dumps(done["provenance"])
    assert told


@pytest.mark.parametrize(("name", "words"), [("exits", "raised SystemExit: 0"), ("gone", "work_of_a_user.py")])
def test_an_exit_is_no_verdict_and_an_error_is_one_line(folder: Path, name: str, words: str) -> None:
    done = work(request(name), lambda content: None)
    assert {"error"} <= set(done) <= {"error", "name", "value", "shown", "requirement", "remedy"}
    assert words in str(done["error"])
    assert "\n" not in str(done["error"])


def test_what_was_replaced_is_named_before_the_error_that_follows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(math, "exp", math.exp)
    done = work(request("replaces"), lambda content: None)
    assert "mechanism work_of_a_user.py:replaces replaced math.exp" in str(done["error"])


def test_trials_of_another_mechanism_are_not_mixed_in(folder: Path) -> None:
    """The file is mended between two runs on one journal: the second must not refute what is right."""
    trials = folder / "trials"
    first = work(request("leaky", trials=str(trials), key=KEY.hex()), lambda content: None)
    assert first["fields"]["status"] == "REFUTED"  # type: ignore[index]
    assert Journal(trials, KEY).holds(REST)
    (folder / "work_of_a_user.py").write_text(CODE.format(scale=2.0))
    second = work(request("leaky", trials=str(trials), key=KEY.hex()), lambda content: None)
    assert second["fields"]["status"] == "INCONCLUSIVE"  # type: ignore[index]
