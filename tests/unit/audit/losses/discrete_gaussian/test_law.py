"""The law of the loss of discrete Gaussians, against sums over all outputs."""

from fractions import Fraction

import numpy as np
import pytest
from flint import acb

from dpverdict.audit.losses.discrete_gaussian.law import (
    Coordinates,
    DiscreteGaussians,
    grouped,
    log_moment,
    make_contour,
    one_sided_tails,
)
from dpverdict.balls import ball, precision

TWO = DiscreteGaussians(grouped([(Fraction(2), 1, 2), (Fraction(3), 2, 1)]))


def masses(variance: float, reach: int = 80) -> tuple[np.ndarray, np.ndarray]:
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-(support**2) / (2 * variance))
    return support, weights / weights.sum()


def test_equal_coordinates_are_one_group_and_those_at_rest_none() -> None:
    found = grouped([(Fraction(2), 1, 1), (Fraction(2), 1, 2), (Fraction(5), 0, 7)])
    assert found == (Coordinates(Fraction(2), 1, 3),)
    assert found[0].slope == Fraction(1, 2)


def test_the_constants_of_the_law_are_those_of_its_definition() -> None:
    """rho is the sum of shift^2/(2 v); every slope is a whole multiple of the step."""
    assert TWO.rho == 2 * Fraction(1, 4) + Fraction(4, 6)
    slopes = [group.slope for group in TWO.groups]
    assert [weight * TWO.step for weight in TWO.weights] == slopes
    assert TWO.width * TWO.step == 2 * TWO.rho


def test_the_moments_are_sums_over_all_outputs() -> None:
    tilt = 0.3
    expected = 1.0
    for group, weight in zip(TWO.groups, TWO.weights, strict=True):
        support, mass = masses(float(group.variance))
        expected *= float((mass * np.exp(tilt * weight * support)).sum()) ** group.count
    found = TWO.moment(ball(Fraction(tilt)), Fraction(0))
    assert float(found.real) == pytest.approx(expected, rel=1e-12)
    assert TWO.log_moment_float(tilt) == pytest.approx(np.log(expected), rel=1e-2)
    support, mass = masses(2.0)
    single = float(np.log((mass * np.exp(tilt * support)).sum()))
    with precision(80):
        assert float(log_moment(Fraction(2), Fraction(tilt))) == pytest.approx(single, rel=1e-12)


@pytest.mark.parametrize("order", ["5/2", "2", "7"])
def test_the_renyi_divergence_is_at_most_order_times_rho(order: str) -> None:
    with precision(128):
        found, most = TWO.renyi(Fraction(order)), ball(Fraction(order) * TWO.rho)
        assert found > 0
        assert not found > most
        assert found > most * ball("0.999")  # the noise is smooth at these variances


def test_tails_are_sums_of_masses() -> None:
    support, mass = masses(2.0)
    firsts = np.array([1, 3, 10], dtype=np.int64)
    for first, tail in zip(firsts.tolist(), one_sided_tails(Fraction(2), firsts).tolist(), strict=True):
        assert tail == pytest.approx(float(mass[support >= first].sum()), rel=1e-9)


def test_a_contour_sums_over_the_support() -> None:
    """With coefficients all 1, C(z) = 1/(1 - exp(-z)): the sum is P[V >= first]."""
    one = DiscreteGaussians(grouped([(Fraction(2), 1, 1)]))
    with precision(96):
        contour = make_contour(one, 0.5, 64, 96)
        found = contour.sum(2, lambda z: 1 / (1 - (-z).exp()), ball(1))
    support, mass = masses(2.0)
    assert float(found) == pytest.approx(float(mass[support >= 2].sum()), rel=1e-9)
    assert isinstance(contour.nodes[0][2], acb)
