"""A developer of another library adds one dependency and five lines: two mechanisms of each of two libraries.

Both libraries draw from the operating system, so no seed repeats these runs. A right use fails with the probability
that the header of the session states, 1e-6 for all. The wrong ones are told a fifth of the sensitivity: the claim
eps = 1 against noise that gives eps = 5 is refuted by 1000 releases but for a probability far below 1e-9 (the joint
test needs fewer than 400 at this error probability).
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

OPENDP = """
import numpy as np, opendp.prelude as dp
dp.enable_features("contrib")
PAIR = (np.ones(2), np.ones(1))
numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
integers = dp.atom_domain(T=int), dp.absolute_distance(T=int)

def laplace(scale):
    release = dp.m.make_laplace(*numbers, scale=scale)
    return lambda dataset, rng: release(float(dataset.sum()))

def geometric(scale):
    release = dp.m.make_geometric(*integers, scale=scale)
    return lambda dataset, rng: release(int(dataset.sum()))

def test_laplace(privacy_audit):
    privacy_audit(laplace(1.0), "eps=1", neighbours=PAIR, samples=1000)

def test_laplace_told_a_fifth(privacy_audit):
    privacy_audit(laplace(0.2), "eps=1", neighbours=PAIR, samples=1000)

def test_geometric(privacy_audit):
    privacy_audit(geometric(1.0), "eps=1", neighbours=PAIR, samples=1000)

def test_geometric_told_a_fifth(privacy_audit):
    privacy_audit(geometric(0.2), "eps=1", neighbours=PAIR, samples=1000)
"""
DIFFPRIVLIB = """
import numpy as np
from diffprivlib.mechanisms import Geometric, Laplace
PAIR = (np.ones(2), np.ones(1))

def laplace(sensitivity):
    mechanism = Laplace(epsilon=1.0, sensitivity=sensitivity)
    return lambda dataset, rng: mechanism.randomise(float(dataset.sum()))

def geometric(epsilon):
    mechanism = Geometric(epsilon=epsilon, sensitivity=1)
    return lambda dataset, rng: mechanism.randomise(int(dataset.sum()))

def test_laplace(privacy_audit):
    privacy_audit(laplace(1.0), "eps=1", neighbours=PAIR, samples=1000)

def test_laplace_told_a_fifth(privacy_audit):
    privacy_audit(laplace(0.2), "eps=1", neighbours=PAIR, samples=1000)

def test_geometric(privacy_audit):
    privacy_audit(geometric(1.0), "eps=1", neighbours=PAIR, samples=1000)

def test_geometric_told_a_fifth(privacy_audit):
    privacy_audit(geometric(5.0), "eps=1", neighbours=PAIR, samples=1000)
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(("library", "suite"), [("opendp", OPENDP), ("diffprivlib", DIFFPRIVLIB)])
def test_the_suite_of_a_library_passes_where_it_is_right_and_fails_where_it_is_wrong(
    tmp_path: Path, library: str, suite: str
) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is absent")
    (tmp_path / "test_library.py").write_text(suite)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    failed = sorted(line.split()[1] for line in run.stdout.splitlines() if line.startswith("FAILED"))
    expected = [f"test_library.py::test_{name}_told_a_fifth" for name in ("geometric", "laplace")]
    assert failed == expected, run.stdout + run.stderr
    assert "2 failed, 2 passed" in run.stdout
    assert "PrivacyViolation" in run.stdout
