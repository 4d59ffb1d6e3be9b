"""Another BLAS kernel and other instructions of the processor: other last bits, the same statuses and exact figures."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.cli.application import main

RELEASE = """
import numpy as np

MIX = np.linspace(-1, 1, 64).reshape(8, 8)


def correlated(dataset, rng):
    return {scale} * np.asarray(dataset).sum(axis=0) + rng.normal(size=8) + 0.1 * MIX @ rng.normal(size=8)
"""
HERE: dict[str, str] = {}
"""The setting of this process, in which the default run audits once."""
SETTINGS = [
    {"OPENBLAS_NUM_THREADS": "2"},
    {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
]


def audited(folder: Path, setting: dict[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and report of an audit in an environment of its own."""
    words = ("audit", *words, "--seed", "3", "--json", "report.json", "--quiet")
    if setting is HERE:
        with contextlib.chdir(folder):
            code = main(words)
    else:
        command = [sys.executable, "-m", "dpverdict.cli", *words]
        code = subprocess.run(command, cwd=folder, env={**os.environ, **setting}, check=False).returncode
    return code, json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.usefixtures("warm_copies")
@pytest.mark.parametrize(("scale", "expected"), [(1.0, 1), (0.1, 3)])
def test_a_sampled_status_is_the_same(tmp_path: Path, scale: float, expected: int) -> None:
    (tmp_path / "release.py").write_text(RELEASE.format(scale=scale))
    np.savez(tmp_path / "pair.npz", dataset=np.ones((3, 8)), neighbour=np.ones((2, 8)))
    words = ("release.py:correlated", "--neighbours", "pair.npz", "--claim", "mu=1", "--samples", "3000")
    assert {audited(tmp_path, setting, *words)[0] for setting in SETTINGS} == {expected}


@pytest.mark.parametrize(
    ("settings", "samples"), [([HERE, SETTINGS[1]], "200"), pytest.param(SETTINGS, "auto", marks=pytest.mark.slow)]
)
def test_exact_figures_are_the_same_to_the_byte_and_the_report_names_the_libraries(
    tmp_path: Path, settings: list[dict[str, str]], samples: str
) -> None:
    words = ("correlated-gaussian", "--dim", "7", "--mu", "1", *(["--samples", samples] if samples != "auto" else []))
    found = [audited(tmp_path, setting, *words) for setting in settings]
    assert {code for code, _ in found} == {0}
    exact = [{name: report[name] for name in ("status", "answer", "exact")} for _, report in found]
    assert exact[0] == exact[1]
    assert {"numpy", "blas"} <= set(found[0][1]["reproduction"]["versions"])
