"""A plan of three audits: of a mechanism, of one that is not sampled, and of a function of the user's that is wrong."""

from pathlib import Path

import numpy as np
import pytest

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the plan, the functions in release.py, and their pair of data sets."""
    (tmp_path / "release.py").write_text(MECHANISMS)
    (tmp_path / "plan.toml").write_text(PLAN)
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    return tmp_path
