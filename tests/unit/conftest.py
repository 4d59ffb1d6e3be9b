"""A plan of three audits: of a mechanism, of one that is not sampled, and of a function of the user's that is wrong."""

from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.runs.plans.plan import read_plan
from dpverdict.audit.runs.plans.results import PlanResult
from dpverdict.audit.runs.plans.run import open_journal, run_plan

MECHANISMS = """
import numpy as np
from dpverdict.audit import batched

@batched
def noisy(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale=0.3, size=(trials, 1))

def fails(dataset, rng):
    raise RuntimeError("<script>no</script>")
"""
PLAN = """
title = "<b>Spring</b> & summer"
seed = 7
error_probability = "1e-6"

[[audit]]
name = "counts"
mechanism = "correlated-gaussian"
dim = 3
mu = 0.5
samples = 300

[[audit]]
name = "exact alone"
mechanism = "standard-gaussian"
dim = 2
mu = "1/3"
exact_only = true

[[audit]]
name = "must be caught"
mechanism = "release.py:noisy"
neighbours = "pair.npz"
claim = "eps=1"
samples = 2e3
expect = "refuted"
"""


def write_plan(folder: Path) -> Path:
    """The plan in a folder, with the functions in release.py and their pair of data sets."""
    (folder / "release.py").write_text(MECHANISMS)
    (folder / "plan.toml").write_text(PLAN)
    np.savez(folder / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the plan, the functions in release.py, and their pair of data sets."""
    return write_plan(tmp_path)


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a folder in which `finished_plan` was carried out, and its journal is: to be copied, not to be changed."""
    return write_plan(tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="module")
def finished_plan(finished_folder: Path, warm_copies_of_module: None) -> PlanResult:
    """What the plan came to, for the tests of a module that only read it."""
    path = finished_folder / "plan.toml"
    with open_journal(path, finished_folder / "journal") as kept:
        return run_plan(read_plan(path), kept)
