"""Defects of released packages that show in the kind of the outcome: refuted, with a witness that replays.

Without a package its test is skipped; the behaviour itself is tested in `tests/contract/test_behaviours.py`.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.cli.application import main

SOURCE = """
import warnings
import numpy as np

warnings.simplefilter("ignore")

def nan_pair():
    return np.array([0.2, 0.4, np.nan]), np.array([0.2, 0.4])

def label_pair():
    x = np.array([[0.1, 0.0], [0.2, 0.0], [0.9, 1.0]])
    return x, x[:2]

def mean(data):
    from diffprivlib import tools
    return tools.mean(data, epsilon=1.0, bounds=(0, 1))

def labels(data):
    from diffprivlib.models import GaussianNB
    model = GaussianNB(epsilon=1.0, bounds=(0, 1)).fit(data[:, :1], data[:, 1].astype(int))
    return model.classes_

def quantile(data):
    from diffprivlib import tools
    return tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 1))
"""


@pytest.mark.usefixtures("warm_copies")
@pytest.mark.parametrize(
    ("function", "pair"),
    [
        ("mean", "nan_pair"),
        pytest.param("labels", "label_pair", marks=pytest.mark.slow),
        pytest.param("quantile", "nan_pair", marks=pytest.mark.slow),
    ],
)
def test_a_defect_is_refuted_and_its_witness_replays(
    function: str, pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("diffprivlib")
    monkeypatch.chdir(tmp_path)
    Path("defects.py").write_text(SOURCE)
    options: list[Any] = ["--claim", "eps=1", "--samples", "600", "--seed", "1", "--witness", "w.json", "--quiet"]
    assert main(["audit", f"defects.py:{function}", "--neighbours", f"defects.py:{pair}", *options]) == 1
    document = json.loads(Path("w.json").read_text())
    assert document["claim"] == "eps=1"
    assert main(["replay", "w.json", "--trust-code", "--seed", "2"]) == 1
    capsys.readouterr()


def test_the_source_of_these_tests_runs() -> None:
    held: dict[str, Any] = {}
    exec(compile(SOURCE, "defects.py", "exec"), held)  # the text above
    assert np.isnan(held["nan_pair"]()[0]).any()
