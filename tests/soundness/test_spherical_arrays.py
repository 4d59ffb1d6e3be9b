"""The float64 curves of spherical noise, in arrays (where the profile is interpolated), against the certified ones."""

import functools

import numpy as np
import pytest

from dpverdict.audit.losses.spherical.isotropic import IsotropicLaplace
from dpverdict.audit.losses.spherical.loss import RELATIVE_ERROR, SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian

SLOW = pytest.mark.slow
DIRECTION = 3, RandomDirectionGaussian(2), 60.0
CASES = [
    pytest.param(*DIRECTION, id="direction-3"),
    pytest.param(3, RandomDirectionGaussian(38600), 1e-3, id="honest-3", marks=SLOW),
    pytest.param(3, RandomDirectionGaussian(38600), 60.0, id="honest-3-far", marks=SLOW),
    pytest.param(4, RandomDirectionGaussian(4), 200.0, id="direction-4", marks=SLOW),
    pytest.param(10, RandomDirectionGaussian("6.3"), 3.0, id="direction-10", marks=SLOW),
    pytest.param(100, RandomDirectionGaussian("1.6"), 3000.0, id="direction-100", marks=SLOW),
    pytest.param(3, IsotropicLaplace(1), 1.1, id="laplace-3", marks=SLOW),
]
SIZE = 400


loss_of = functools.cache(SphericalLoss)
"""What a loss has integrated it keeps, for every test of it."""


def worst_error(loss, top, points=23):
    """The largest relative error of an array call, at points that are spread over the array and no node of it."""
    epsilons = np.concatenate([np.linspace(-top / 8, top, SIZE - 40), np.geomspace(top * 1e-9, top, 40)])
    values, worst = loss.delta(epsilons), 0.0
    for i in range(3, SIZE, SIZE // points):
        truth = loss.certified_delta(float(epsilons[i]))
        if truth.upper == 0:
            assert values[i] == 0
        elif truth.lower > 1e-300:
            worst = max(worst, abs(values[i] - truth.lower) / truth.lower)
    assert np.all(np.diff(values[: SIZE - 40]) <= RELATIVE_ERROR)
    return worst


@pytest.mark.parametrize(("dim", "law", "top"), CASES)
def test_the_profile_of_an_array_is_within_its_documented_error(dim, law, top):
    assert worst_error(loss_of(dim, law), top) <= RELATIVE_ERROR


@SLOW
@pytest.mark.parametrize("scale", [2, 38600])
def test_beta_and_epsilon_of_an_array_are_the_certified_ones(scale):
    loss = SphericalLoss(3, RandomDirectionGaussian(scale))
    levels = np.array([1e-12, 1e-5, 0.3, 0.99])
    for method, certified in ((loss.beta, loss.certified_beta), (loss.epsilon, loss.certified_epsilon)):
        for value, level in zip(method(levels).tolist(), levels.tolist(), strict=True):
            truth = certified(level)
            assert truth.lower * (1 - RELATIVE_ERROR) <= value <= truth.upper * (1 + RELATIVE_ERROR)


def test_a_polynomial_that_is_a_little_off_is_caught(monkeypatch):
    """Planted: interpolated values wrong by 1e-12."""
    from dpverdict.audit.losses.spherical import loss as spherical_loss

    right = spherical_loss.interpolated
    monkeypatch.setattr(spherical_loss, "interpolated", lambda *args: right(*args) * (1 + 1e-12))
    dim, law, top = DIRECTION
    assert worst_error(loss_of(dim, law), top) > RELATIVE_ERROR
