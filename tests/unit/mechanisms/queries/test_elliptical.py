"""The elliptical Gaussian: bounds that are rounded up, a coordinate without noise, and the least total variance."""

import math
from fractions import Fraction

import numpy as np

from dpverdict.mechanisms import (
    EllipticalGaussian,
)


def test_a_coordinate_of_sensitivity_zero_is_released_exactly(seed: int) -> None:
    mechanism = EllipticalGaussian(bounds=[1, 0, 3], mu=1)
    assert mechanism.scales[1] == 0.0
    released = mechanism.release_many(np.zeros((5, 3)), 50, np.random.default_rng(seed))
    np.testing.assert_array_equal(released[:, 1], 0.0)
    assert np.ptp(released[:, 0]) > 0


def test_bounds_are_rounded_up_and_may_be_given_once() -> None:
    assert Fraction(EllipticalGaussian(bounds=["0.1"], mu=1).bounds[0]) >= Fraction(1, 10)
    beyond = 2**53 + 1
    assert EllipticalGaussian(bounds=np.array([beyond]), mu=1).bounds[0] >= beyond
    common = EllipticalGaussian(bounds="0.5", dim=3, mu=1)
    np.testing.assert_array_equal(common.bounds, [0.5] * 3)
    np.testing.assert_array_equal(EllipticalGaussian(dim=2, mu=1).bounds, [1.0, 1.0])
    np.testing.assert_array_equal(EllipticalGaussian(bounds=np.float64(2), dim=2, mu=1).bounds, [2.0, 2.0])
    given = np.array([1.0, 2.0])
    kept = EllipticalGaussian(bounds=given, mu=1)
    given[:] = 0
    np.testing.assert_array_equal(kept.bounds, [1.0, 2.0])


def test_the_noise_of_the_ellipse_has_the_least_total_variance_of_equal_privacy(seed: int) -> None:
    bounds = [1, 2, 4, Fraction(1, 2)]
    mechanism = EllipticalGaussian(bounds=bounds, mu=1)
    assert math.isclose(float((mechanism.scales**2).sum()), float(sum(bounds)) ** 2, rel_tol=1e-14)
    squares = np.array([float(b) ** 2 for b in bounds])
    for draw in np.random.default_rng(seed).lognormal(size=(200, 4)):
        variances = draw * (squares / draw).sum()  # so that sum bound^2/variance = 1
        assert variances.sum() >= float(sum(bounds)) ** 2
