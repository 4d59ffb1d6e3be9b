"""No route of the exact engine that the benchmarks take needs a gigabyte, as the system measures it."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from scipy.stats import logistic
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.lattice.custom import additive_noise_loss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.bounds import compose_on_lattice
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss

if sys.argv[1] == "greedy":
    ballast = np.ones(1 << 27)
alphas = np.linspace(0, 1, 1001)
noise = additive_noise_loss(logistic(), 1.0, relative_error=1e-13)
compose(GaussianLoss(1), LaplaceLoss.equal(1000, "0.01"), noise).delta_bounds(np.array([1.0]))
many = LaplaceLoss(np.random.default_rng(7).uniform(0.005, 0.05, 20).tolist())
BoundedLoss([(many, 1)]).beta_bounds(alphas[::500])
compose(GaussianLoss("0.5"), many).certified_delta(1)
compose_on_lattice([(GaussianLoss("0.1").tails, 100)], 1e-4).beta_upper(alphas)
GaussianLoss(1).to_pld(1e-4)
LaplaceLoss.equal(10_000, "0.0024").certified_delta(1)
compose(DiscreteGaussianLoss(20, 4, 1), DiscreteGaussianLoss(21, 4, 1)).certified_delta(1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

LIMIT = 1024  # MB


def megabytes(kind):
    """The largest memory of a process that takes all the routes."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_no_route_needs_a_gigabyte():
    assert megabytes("frugal") < LIMIT


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_a_gigabyte_would_be_noticed():
    assert megabytes("greedy") > LIMIT
