"""The correct Gaussian mechanisms, over which the laws of this folder are run."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    EllipticalGaussian,
    GroupedGaussian,
    StandardGaussian,
)
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

Array = NDArray[np.float64]
DIMS = (1, 2, 3, 5, 100)
BY_DEFAULT = (1, 3, 100)

KINDS: dict[str, Callable[[int], GaussianMechanism]] = {
    "standard": lambda d: StandardGaussian(dim=d, mu="0.3", adjacency=ADD_OR_REMOVE_ONE),
    "standard, replace": lambda d: StandardGaussian(dim=d, mu="2.7", adjacency=REPLACE_ONE),
    "standard, analytic": lambda d: StandardGaussian.analytic(
        dim=d, epsilon=1, delta="1e-6", adjacency=ADD_OR_REMOVE_ONE
    ),
    "correlated": lambda d: CorrelatedGaussian(dim=d, mu="0.7"),
    "correlated, C": lambda d: CorrelatedGaussian(dim=d, mu="1.3", C="0.37"),
    "correlated, withheld": lambda d: CorrelatedGaussian(dim=d, mu=1, count="withheld"),
    "correlated, withheld, C": lambda d: CorrelatedGaussian(dim=d, mu="0.1", C=3, count="withheld"),
    "correlated, estimated": lambda d: CorrelatedGaussian(dim=d, mu="0.9", count="estimated", size_estimate="17.5"),
    "grouped": lambda d: GroupedGaussian(groups=2, dim=d, mu="0.6", adjacency=ADD_OR_REMOVE_ONE),
    "grouped, replace": lambda d: GroupedGaussian(groups=3, dim=d, mu="1.1", adjacency=REPLACE_ONE),
    "elliptical": lambda d: EllipticalGaussian(bounds=[f"{j}.3" for j in range(d)], mu="0.45"),
}


def _every() -> list[Any]:  # pytest types its parameter sets privately
    return [
        pytest.param((make, d), id=f"{kind}, d={d}", marks=() if d in BY_DEFAULT else pytest.mark.slow)
        for kind, make in KINDS.items()
        for d in DIMS
    ]


@pytest.fixture(params=_every())
def gaussian_mechanism(request: pytest.FixtureRequest) -> GaussianMechanism:
    """Every kind of correct Gaussian mechanism, in every dimension of the list."""
    make, dim = request.param
    made: GaussianMechanism = make(dim)
    return made


@pytest.fixture(params=[p for p in _every() if p.values[0][1] <= 5])
def small_gaussian_mechanism(request: pytest.FixtureRequest) -> GaussianMechanism:
    """The same in the dimensions where every vertex can be visited."""
    make, dim = request.param
    made: GaussianMechanism = make(dim)
    return made


@pytest.fixture(scope="session")
def random_records() -> Callable[[GaussianMechanism, int, np.random.Generator], Array]:
    """Draws n records that the mechanism accepts: shape (n, *record_shape)."""

    def draw(mechanism: GaussianMechanism, n: int, rng: np.random.Generator) -> Array:
        if isinstance(mechanism, GroupedGaussian):
            records = np.zeros((n, *mechanism.record_shape))
            records[np.arange(n), rng.integers(0, mechanism.groups, n)] = rng.uniform(0.01, 1, (n, mechanism.dim))
            return records
        if isinstance(mechanism, EllipticalGaussian):
            return rng.uniform(-0.5, 0.5, (n, mechanism.dim)) * mechanism.bounds
        return rng.uniform(0, 1, (n, mechanism.dim))

    return draw


@pytest.fixture(scope="session")
def dense_form() -> Callable[[GaussianMechanism], Any]:  # a class loaded by path
    """The dense form of a mechanism, over the rationals, from what its sampler does."""
    oracle = runpy.run_path(str(Path(__file__).parents[1] / "exact_covariance.py"))
    return lambda mechanism: oracle["DenseForm"](oracle["covariance_of_the_sampler"](mechanism.noise))
