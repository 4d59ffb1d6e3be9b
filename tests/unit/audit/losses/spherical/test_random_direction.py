"""The random-direction Gaussian: a half-normal radius, divergences that end early, at least two dimensions."""

from fractions import Fraction

import pytest
from flint import acb
from scipy.stats import norm

from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue

LAW = RandomDirectionGaussian(2)


@pytest.mark.parametrize("radius", [0.01, 1.0, 9.0])
@pytest.mark.parametrize("dim", [3, 100])
def test_the_radius_has_the_law_of_a_normal_variable_in_every_dimension(radius: float, dim: int) -> None:
    tail = LAW.tail(acb(radius), dim, False).real
    assert float(tail) == pytest.approx(2 * float(norm.sf(radius / 2)), rel=1e-12)
    assert (tail + LAW.cdf(acb(radius), dim, False).real).contains(1)
    halved = LAW.divided_by(Real.of(2)).tail(acb(radius / 2), dim, False).real
    assert halved.overlaps(tail)


def test_the_divergence_is_infinite_from_the_order_of_the_dimension_on() -> None:
    """(dim - 1)(order - 1) >= 1."""
    assert LAW.renyi(3, Fraction(3, 2)) is None
    assert LAW.renyi(3, Fraction(149, 100)) is not None
    assert LAW.renyi(101, Fraction(101, 100)) is None
    assert LAW.largest_loss() is None


def test_a_radius_far_out_is_far_out() -> None:
    assert LAW.tail(acb(LAW.radius_beyond(50.0, 3)), 3, False).real < 1e-15


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "x"])
def test_a_scale_that_is_not_positive_is_refused(scale: object) -> None:
    with pytest.raises(InvalidValue):
        RandomDirectionGaussian(scale)  # type: ignore[arg-type]


def test_one_dimension_has_no_direction() -> None:
    with pytest.raises(InvalidValue, match="dim"):
        LAW.require(1)
    LAW.require(3)
