"""The process of a run says what came out, and never takes another release for the one that was asked for."""

import importlib.metadata
from typing import Any

import pytest

from dpverdict.cli.corpus.reproduction import WrongRelease, _check_release, work

NUMPY = importlib.metadata.version("numpy")


def request(source: str, **changed: Any) -> dict[str, Any]:
    asked = {"id": "one", "folder": None, "install": [f"numpy=={NUMPY}"], "control": False, "kind": "numbers"}
    return {**asked, "claim": "eps=1", "samples": 200, "delta": 0.0, "seed": 1, "reproduction": source, **changed}


@pytest.mark.parametrize(("true", "status"), [(2.0, "REFUTED"), (1.0, "NOT REFUTED"), (float("inf"), "REFUTED")])
def test_numbers_are_refuted_where_the_truth_is_above_what_is_said(true: float, status: str) -> None:
    found = work(request(f"def number(): return float('{true}'), 1.0"), print)
    assert found["status"] == status


def test_the_reproduction_knows_which_side_it_is() -> None:
    source = "def number(): return (0.0 if control else 1.0), 0.5"
    assert [work(request(source, control=side), print)["status"] for side in (False, True)] == [
        "REFUTED",
        "NOT REFUTED",
    ]


@pytest.mark.parametrize("source", ["raise SystemExit(0)", "1 / 0", "import no_such_module", "def number(): return 1"])
def test_code_that_ends_in_an_exception_has_shown_nothing(source: str) -> None:
    assert work(request(source), print)["status"] == "FAILED"


def test_another_release_is_no_answer(tmp_path: Any) -> None:
    found = work(request("def number(): return 2, 1", install=["numpy==0.0.1"]), print)
    assert found["status"] == "FAILED"
    assert "in place of 0.0.1" in str(found["detail"])
    import numpy as np

    assert np.__file__ is not None
    with pytest.raises(WrongRelease, match="not from the folder"):
        _check_release(f"numpy=={NUMPY}", str(tmp_path))


def test_the_tap_answers_for_a_pair() -> None:
    source = (
        "import numpy as np\ndef release(data, rng): return float(np.sum(data)) + rng.laplace()\n"
        "def pair(): return np.full(4, 1.0), np.array([1.0, 1.0, 1.0, 3.0])"
    )
    found = work(request(source, kind="tap"), print)
    assert (found["status"], found["epsilon_lower"]) == ("REFUTED", None)
    assert "eps 2" in str(found["detail"])
