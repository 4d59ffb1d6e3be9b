"""Defects of released packages that show in the kind of the outcome: refuted, with a witness that replays.

Without a package its test is skipped; the behaviour itself is tested in `tests/contract/test_behaviours.py`.
"""

import importlib.metadata
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

def wrap_pair():
    return np.array([100, 20, 90], dtype=np.int8), np.array([100, 20], dtype=np.int8)

def mean(data):
    from diffprivlib import tools
    return tools.mean(data, epsilon=1.0, bounds=(0, 1))

def labels(data):
    from diffprivlib.models import GaussianNB
    model = GaussianNB(epsilon=1.0, bounds=(0, 1)).fit(data[:, :1], data[:, 1].astype(int))
    return model.classes_

def total(data):
    from diffprivlib import tools
    return tools.sum(data, epsilon=1.0, bounds=(0, 100))

def quantile(data):
    from diffprivlib import tools
    return tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 1))
"""


@pytest.mark.parametrize(
    ("function", "pair"),
    [
        ("mean", "nan_pair"),
        pytest.param("labels", "label_pair", marks=pytest.mark.slow),
        pytest.param("total", "wrap_pair", marks=pytest.mark.slow),
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


BOUNDS = """
import glob, importlib.util, sys
import numpy as np
np.bool8 = np.bool_  # the OpenDP of its time asks for it
found = importlib.util.find_spec("snsql").submodule_search_locations[0]  # imported alone: the package asks for a parser
where = importlib.util.spec_from_file_location("approx_bounds", f"{found}/sql/_mechanisms/approx_bounds.py")
module = importlib.util.module_from_spec(where)
where.loader.exec_module(module)

def release(values):
    return module.approx_bounds(values, 1.0)

def pair():
    return [1.0] * 5 + [float("nan")], [1.0] * 6
"""
SCALER = """
import sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
import dpart.dpart
from sklearn.preprocessing import MinMaxScaler
sys.modules["dpart.dpart"].MinMaxScaler = lambda feature_range: MinMaxScaler(feature_range=tuple(feature_range))
import dpart.methods.utils.sklearn_encoder
from dpart.engines import Independent

def release(frame):
    model = Independent(epsilon=1.0)
    model.fit(frame)
    return model.sample(50)

def pair():
    return pd.DataFrame({"a": [1.0] * 29 + [9.0]}), pd.DataFrame({"a": [1.0] * 29 + [3.0]})
"""


@pytest.mark.parametrize(
    ("distribution", "version", "source"), [("smartnoise-sql", "1.0.1", BOUNDS), ("dpart", "0.1.2", SCALER)]
)
def test_a_release_with_a_published_defect_is_refuted_where_it_is_installed(
    distribution: str, version: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip install --no-deps --target OLD smartnoise-sql==1.0.1 opendp==0.6.2, or dpart==0.1.2; then PYTHONPATH=OLD."""
    try:
        installed = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")
    if installed != version:
        pytest.skip(f"{distribution} {installed} is another release")
    monkeypatch.chdir(tmp_path)
    Path("defects.py").write_text(source)
    options = ["--claim", "eps=1", "--samples", "200", "--seed", "1", "--witness", "w.json", "--quiet"]
    assert main(["audit", "defects.py:release", "--neighbours", "defects.py:pair", *options]) == 1
    assert main(["replay", "w.json", "--trust-code", "--seed", "2", "--quiet"]) == 1


def test_the_source_of_these_tests_runs() -> None:
    held: dict[str, Any] = {}
    exec(compile(SOURCE, "defects.py", "exec"), held)  # the text above
    assert np.isnan(held["nan_pair"]()[0]).any()
