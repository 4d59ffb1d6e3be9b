"""Isotropic noise: the Gaussian has its closed form, Laplace noise is pure, and scales are checked."""

from fractions import Fraction

import pytest
from flint import acb, arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.balls import Real, precision
from dpverdict.errors import InvalidValue


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_the_gaussian_is_that_of_the_closed_form_in_every_dimension(dim: int) -> None:
    found = SphericalLoss(dim, IsotropicGaussian(2)).certified_delta("0.3")
    truth = GaussianLoss("0.5").certified_delta("0.3")
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower < 1e-12
    assert not found.contains(GaussianLoss("0.51").delta(0.3))


def test_the_largest_loss_is_that_of_the_triangle_inequality() -> None:
    largest = IsotropicLaplace("0.5").largest_loss()
    assert largest is not None
    assert largest.rational == 2
    assert IsotropicGaussian(1).largest_loss() is None
    assert SphericalLoss(3, IsotropicLaplace("0.5")).delta(2) == 0.0


@pytest.mark.parametrize("law", [IsotropicGaussian(2), IsotropicLaplace(2)], ids=repr)
def test_both_sides_of_the_radius_add_up_and_scale(law: IsotropicGaussian | IsotropicLaplace) -> None:
    for radius in (0.1, 3.0, 20.0):
        below, above = law.cdf(acb(radius), 3, False).real, law.tail(acb(radius), 3, False).real
        assert (below + above).contains(1)
        halved = law.divided_by(Real.of(2)).tail(acb(radius / 2), 3, False).real
        assert halved.overlaps(above)
    with precision(64):
        far = law.radius_beyond(50.0, 3)
        assert law.tail(acb(far), 3, False).real < 1e-15


def test_the_renyi_divergence_of_a_gaussian_is_linear_in_the_order() -> None:
    assert IsotropicGaussian(2).renyi(3, Fraction(7)).nearest() == pytest.approx(7 / 8)
    assert 0 < IsotropicLaplace(2).renyi(3, Fraction(7)).nearest() < 0.5  # at most the largest loss


@pytest.mark.parametrize("law", [IsotropicGaussian, IsotropicLaplace])
@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_a_scale_that_is_not_positive_is_refused(law: type, scale: object) -> None:
    with pytest.raises(InvalidValue):
        law(scale)


@pytest.mark.parametrize("level", ["0", "0.1", "1.9", "1.999999999"])
def test_the_cosines_of_the_hyperboloid_are_the_general_ones_and_sharper(level: str) -> None:
    with precision(128):
        surface = IsotropicLaplace("0.5").surface(4, Fraction(level))
        assert surface is not None
        for radius in (arb(0.75), arb(3, 0.01), arb(40, 1)):
            point = surface.point(acb(radius), False)
            sharp, general = point.turned(), point._replace(turn=None).turned()
            assert all(one.overlaps(other) for one, other in zip(sharp, general, strict=True))
            if radius.is_exact():
                assert level == "0" or not sharp.p_slope.overlaps(general.q_slope)
            elif level == "1.999999999":
                assert 1000 * sharp.one_plus_p.real.rad() < general.one_plus_p.real.rad()
