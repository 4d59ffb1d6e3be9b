"""The test of a sampler against its declared law: right ones pass, wrong ones are named by what they miss."""

import numpy as np
import pytest

from dpverdict.audit.statistics.sampler_tests import check_declared_law
from dpverdict.mechanisms.core.noise import SharedNoise

ERROR = 1e-9
MOVED = np.array([1.0, 1.0, 0.0])


class Right(SharedNoise):
    """Samples as its base does."""


class Halved(SharedNoise):
    """Declares the scale of its base, and samples with half of it."""

    def add(self, statistic, trials, rng):
        return statistic + (super().add(statistic, trials, rng) - statistic) / 2


def made(kind: type) -> SharedNoise:
    return kind(dim=3, independent_scale=2.0)


def test_a_sampler_with_the_declared_law_passes(seed: int) -> None:
    """It is rejected with probability 1e-9 at most, each time."""
    for noise, declared in ((made(Right), SharedNoise), (made(SharedNoise), None)):
        found = check_declared_law(noise, declared, MOVED, error_probability=ERROR, seed=seed)
        assert found is not None
        assert not found.rejected
        assert found.p_value > ERROR
        assert found.tests >= 3
        assert found.error_probability == ERROR


@pytest.mark.parametrize("declared", [SharedNoise, None])
def test_half_of_the_noise_is_rejected(declared: type | None, seed: int) -> None:
    found = check_declared_law(made(Halved), declared, MOVED, error_probability=ERROR, seed=seed)
    assert found is not None
    assert found.rejected
    assert found.p_value <= ERROR
    assert found.where


def test_a_law_that_nothing_declares_is_not_tested() -> None:
    class Undeclared:
        size = 3

        def add(self, statistic, trials, rng):
            return statistic + rng.normal(size=(trials, 3))

    assert check_declared_law(Undeclared(), None, MOVED, error_probability=ERROR, seed=1) is None
