"""Laplace noise in 20 coordinates, a little too small: no linear score sees it, a learned additive one does.

The claim is the whole profile of Laplace noise of scale 1; the mechanism is a plain callable.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.exchange import ProfileClaim
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.trials.run import batched
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.numerics.arrays import Array

PAIR = NeighbourPair(dataset=np.ones((1, 1)), neighbour=np.ones((0, 1)), adjacency=ADD_OR_REMOVE_ONE)
PROFILE = ProfileClaim(LaplaceLoss.equal(20, "0.2236067977499790"), name="the profile of Laplace noise of scale 1")


def laplace(scale: float) -> Callable[[Array, np.random.Generator, int], object]:
    @batched
    def releases(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return len(dataset) / math.sqrt(20) + rng.laplace(scale=scale, size=(trials, 20))

    return releases


def times_refuted(scale: float, samples: int, runs: int, seed: int) -> int:
    return sum(
        distinguish(laplace(scale), PAIR, PROFILE, error_probability=0.05, samples=samples, seed=seed + run).refuted
        for run in range(runs)
    )


def power_is_below(refutations: int, runs: int, power: float) -> bool:
    """Whether it is so beyond doubt."""
    return bool(stats.binomtest(refutations, runs, power, alternative="less").pvalue < 1e-6)


@pytest.mark.slow
def test_laplace_noise_of_four_fifths_in_20_coordinates_is_refuted_and_the_right_noise_is_not(seed: int) -> None:
    """Where 4000 releases have 80 % power, 8000 miss with probability 3 %, so that all three do with less than 1e-4."""
    assert times_refuted(0.8, 8000, 3, seed) > times_refuted(1.0, 8000, 3, seed)


@pytest.mark.slow
def test_from_a_tenth_of_the_releases_the_power_is_below_four_fifths(seed: int) -> None:
    assert power_is_below(times_refuted(0.8, 400, 20, seed), 20, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "samples"), [(0.8, 4000), (0.9, 12_000)])
def test_laplace_noise_in_20_coordinates_is_refuted_in_four_of_five_audits(
    scale: float, samples: int, seed: int
) -> None:
    found = times_refuted(scale, samples, 100, seed)
    print(f"scale {scale}: {found} of 100 from {samples} releases")
    assert not power_is_below(found, 100, 0.8)
