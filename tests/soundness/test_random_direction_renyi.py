"""The Renyi divergences of the random direction contain a two-dimensional quadrature of their definition.

The quadrature is over the radius and the angle at the centre of P; the enclosure is a sum over certified tails.
"""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb

from dpverdict.audit.losses.spherical import loss as spherical_renyi
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import ball, precision

SLOW = pytest.mark.slow
CASES = [
    (3, Fraction(2), Fraction(5, 4)),
    (3, Fraction(2), Fraction(1)),
]
KNOWN = 1.61128622744938
"""The quadrature of the first case, which takes 10 s; the enclosures here are at least 1e-4 wide."""


@functools.cache
def divergence(dim, scale, order):
    """log(E_P[exp((a-1) L)])/(a-1), or E_P[L] at a = 1, with an error far below the width of the enclosures.

    The radius is y^8 below 1, which takes the singularity at 0 away; the angle is that whose cosine is the argument.
    """
    sigma, a = mpmath.mpf(scale.numerator) / scale.denominator, mpmath.mpf(order.numerator) / order.denominator
    kappa = mpmath.gamma(mpmath.mpf(dim) / 2) / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(mpmath.mpf(dim - 1) / 2))

    def integrand(r, angle):
        u = 1 - 2 * r * mpmath.cos(angle)
        ratio = ((r - 1) ** 2 + 4 * r * mpmath.sin(angle / 2) ** 2) / r**2
        loss = u / (2 * sigma**2) + (dim - 1) * mpmath.log(ratio) / 2
        weight = loss if order == 1 else mpmath.exp((a - 1) * loss)
        density = mpmath.sqrt(2 / mpmath.pi) / sigma * mpmath.exp(-(r**2) / (2 * sigma**2))
        return weight * density * kappa * mpmath.sin(angle) ** (dim - 2)

    with mpmath.workdps(15):
        near = mpmath.quad(
            lambda y, angle: integrand(y**8, angle) * 8 * y**7, [0, 0.5, 1], [0, 0.3, mpmath.pi], maxdegree=4
        )
        knots = [1, 2, 1 + 3 * sigma, 1 + 12 * sigma]
        value = near + mpmath.quad(integrand, knots, [0, 0.3, mpmath.pi], maxdegree=4)
    return value if order == 1 else mpmath.log(value) / (a - 1)


@pytest.fixture
def few_cells(monkeypatch):
    monkeypatch.setattr(spherical_renyi, "CELLS", 48)


@pytest.mark.usefixtures("few_cells")
def test_the_enclosure_contains_a_known_value():
    enclosure = SphericalLoss(3, RandomDirectionGaussian(2)).certified_renyi("1.25")
    assert enclosure.lower < KNOWN < enclosure.upper
    assert enclosure.upper < 1.05 * enclosure.lower


@SLOW
def test_the_known_value_is_that_of_the_quadrature():
    assert abs(divergence(*CASES[0]) / KNOWN - 1) < 1e-12


@SLOW
@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize(("dim", "scale", "order"), CASES)
def test_the_enclosure_contains_the_definition(dim, scale, order):
    enclosure = SphericalLoss(dim, RandomDirectionGaussian(scale)).certified_renyi(order)
    truth = divergence(dim, scale, order)
    assert enclosure.lower < truth < enclosure.upper
    assert enclosure.upper < 1.05 * enclosure.lower


@SLOW
@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("order", [Fraction(1, 2), Fraction(1), Fraction(7, 2)])
def test_the_sum_over_the_tails_contains_the_closed_form_of_the_gaussian(order):
    """N(0, sigma^2 I), sigma = 2: P[L > s] = Phi(1/(2 sigma) - sigma s), and the divergence is a/(2 sigma^2)."""
    sigma = Fraction(2)
    profile = SphericalLoss(3, IsotropicGaussian(sigma))._profile

    def beyond(start, rate):
        """The integral of exp(rate s) P[L > s] <= exp(rate s - t^2/2)/2, t = sigma s - 1/(2 sigma) > 0, s > start."""
        if not start > Fraction(1, 8):
            return arb("inf")
        g = ball(rate)
        gap = 2 * (ball(start) - arb(1) / 8 - g / 4)
        return (g / 8 + g**2 / 8).exp() * (2 * arb.pi()).sqrt() / 8 * (gap / arb(2).sqrt()).erfc()

    with precision(64):
        value = spherical_renyi.renyi_ball(profile.p_above, profile.q_above, beyond, order)
    assert value.contains(float(order) / (2 * float(sigma) ** 2))
    assert value.rel_accuracy_bits() > 5


@pytest.mark.usefixtures("few_cells")
def test_the_divergence_grows_up_to_the_order_where_it_is_infinite():
    loss = SphericalLoss(3, RandomDirectionGaussian(4))
    values = [loss.certified_renyi(order) for order in ("0.5", 1, "1.3", "1.5")]
    assert all(before.upper < after.lower for before, after in itertools.pairwise(values))
    assert values[-1].lower == math.inf


@pytest.mark.usefixtures("few_cells")
def test_small_orders_follow_from_large_ones():
    """(1 - a) D_a = a D_(1-a), as both orders of the pair have the same curves."""
    loss = SphericalLoss(3, RandomDirectionGaussian(3))
    small, large = loss.certified_renyi("1/4"), loss.certified_renyi("3/4")
    assert 3 * Fraction(small.lower) <= Fraction(large.upper)
    assert Fraction(large.lower) <= 3 * Fraction(small.upper)


@pytest.mark.usefixtures("few_cells")
def test_a_forgotten_half_line_is_caught(monkeypatch):
    """Planted: the weight exp(-a s), that of the negative losses, left out."""
    line = spherical_renyi._Integral.__init__

    def half(self, *args):
        line(self, *args)
        self._rates = self._rates[:1]

    monkeypatch.setattr(spherical_renyi._Integral, "__init__", half)
    enclosure = SphericalLoss(3, RandomDirectionGaussian(2)).certified_renyi("1.25")
    assert not enclosure.lower < KNOWN < enclosure.upper
