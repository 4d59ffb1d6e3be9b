"""The Renyi divergences of the isotropic Laplace law enclose a two-dimensional quadrature of their definition.

The quadrature is over the radius r and the cosine t = 1 - u^2 of the angle at the centre of P; the closed form is found
in other coordinates. The integrand is smooth but for the centre of Q, at r = 1 and u = 0, towards which the panels of
Gauss and Legendre shrink by halves.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.loss import SphericalLoss

# (dim, scale, order): odd dimensions, where a power of sin is a polynomial
CASES = [
    (3, Fraction(1), Fraction(2)),
    (3, Fraction(1, 2), Fraction(1)),
    (3, Fraction(2), Fraction(1, 2)),
    (5, Fraction(1), Fraction(1, 4)),
    (5, Fraction(1, 3), Fraction(7, 2)),
]


HALVES = 2.0 ** -np.arange(27, -1, -1)


def panels(edges):
    """Nodes and weights of 16 points between each two edges."""
    x, w = np.polynomial.legendre.leggauss(16)
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    return (middle + half * x).ravel(), (half * w).ravel()


def divergence(dim, scale, order):
    """log(E_P[exp((a-1) L)])/(a-1), or E_P[L] at a = 1, with an error far below 1e-12."""
    theta, a = float(scale), float(order)
    kappa = math.gamma(dim / 2) / (math.sqrt(math.pi) * math.gamma((dim - 1) / 2))
    r, of_r = panels(np.concatenate([[0], 1 - HALVES[-2::-1], [1], 1 + (dim + 45) * theta * HALVES]))
    u, of_u = panels(np.concatenate([[0], math.sqrt(2) * HALVES]))
    square = u * u
    loss = (np.sqrt((r[:, None] - 1) ** 2 + 2 * r[:, None] * square) - r[:, None]) / theta
    weight = loss if order == 1 else np.exp((a - 1) * loss)
    density = r ** (dim - 1) * np.exp(-r / theta) / (theta**dim * math.gamma(dim))
    of_angle = 2 * u * kappa * (square * (2 - square)) ** ((dim - 3) // 2)  # 1 - t^2 = u^2 (2 - u^2), dt = 2 u du
    value = float((density * of_r) @ weight @ (of_angle * of_u))
    return value if order == 1 else math.log(value) / (a - 1)


@pytest.mark.parametrize(("dim", "scale", "order"), CASES)
def test_the_closed_form_is_what_the_definition_says(dim, scale, order):
    enclosure = SphericalLoss(dim, IsotropicLaplace(scale)).certified_renyi(order)
    assert abs(divergence(dim, scale, order) / enclosure.lower - 1) < 1e-12
    assert enclosure.upper - enclosure.lower <= 1e-15 * enclosure.upper


def test_the_divergence_grows_with_the_order_to_the_largest_loss():
    loss = SphericalLoss(4, IsotropicLaplace("0.5"))
    values = [loss.certified_renyi(order) for order in ("0.001", "0.5", "0.999", 1, "1.001", 2, 30, 1000)]
    assert all(before.upper < after.lower for before, after in itertools.pairwise(values))
    assert values[-1].upper < 2
    assert values[-1].lower > 1.97


def test_small_orders_follow_from_large_ones():
    """(1 - a) D_a = a D_(1-a), as both orders of the pair have the same curves."""
    loss = SphericalLoss(6, IsotropicLaplace(3))
    small, large = loss.certified_renyi("1/4"), loss.certified_renyi("3/4")
    assert 3 * Fraction(small.lower) <= Fraction(large.upper)
    assert Fraction(large.lower) <= 3 * Fraction(small.upper)


def test_another_law_or_dimension_is_noticed():
    """Planted: the formula of the next dimension, and that of the isotropic Gaussian."""
    truth = divergence(3, Fraction(1), Fraction(2))
    for wrong in (SphericalLoss(4, IsotropicLaplace(1)), SphericalLoss(3, IsotropicGaussian(1)), GaussianLoss(1)):
        assert abs(truth / wrong.renyi(2) - 1) > 1e-2
