"""`dpverdict tap`: a table, exit codes, JSON, and errors in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpverdict.cli.application import main

pytestmark = pytest.mark.usefixtures("warm_copies")

ROOT = Path(__file__).parents[3]


@pytest.fixture
def pair(tmp_path: Path) -> str:
    dataset = np.zeros((10, 3))
    dataset[0] = 1
    np.savez(tmp_path / "pair.npz", dataset=dataset, neighbour=dataset[1:])
    return str(tmp_path / "pair.npz")


def test_the_forgetful_counts_of_the_examples_fall(
    pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function = f"{ROOT}/examples/release.py:forgetful_counts"
    report = str(tmp_path / "tap.json")
    assert main(["tap", function, "--neighbours", pair, "--claim", "eps=1", "--seed", "1", "--json", report]) == 1
    said = capsys.readouterr().out
    assert said.startswith("REFUTED")
    assert "release.py:" in said
    assert "fresh releases" in said
    found = json.loads(Path(report).read_text(encoding="utf-8"))
    assert (found["tap"]["epsilon"], found["tap"]["exact"], found["exit_code"]) == (3.0, True, 1)


def test_a_missing_pair_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tap", f"{ROOT}/examples/release.py:noisy_counts", "--claim", "eps=1"]) == 2
    assert "--neighbours" in capsys.readouterr().err
