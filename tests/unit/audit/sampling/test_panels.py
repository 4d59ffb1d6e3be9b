"""The line of panels: against the integral of two steps, the plain contour, quadrature of three steps, and with faults.

Three steps are integrated twice over by Gauss-Legendre rules in float64, from the densities and normal tails alone.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy.special import ndtr

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling import panels
from dpverdict.audit.sampling.moments import Exponentials, GaussianMoments
from dpverdict.audit.sampling.panels import PanelLine
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.two_steps import two_steps_profile
from dpverdict.balls import Real, precision
from dpverdict.errors import PrecisionExhausted

X, WEIGHTS = np.polynomial.legendre.leggauss(24)


def rule(ends):
    """Nodes and weights of panels between ends, on the last axis of an array of shape (..., m + 1)."""
    low, high = ends[..., :-1, None], ends[..., 1:, None]
    nodes = (low + high) / 2 + (high - low) / 2 * X
    weights = (high - low) / 2 * WEIGHTS
    return nodes.reshape(*nodes.shape[:-2], -1), weights.reshape(*weights.shape[:-2], -1)


def three_steps(mu, q, epsilon, order):
    """E over two steps of the profile of the third, each inner rule split where that becomes linear, or 0."""

    def g(z):
        return 1 - q + q * np.exp(mu * z - mu * mu / 2)

    def z_of(growth):
        with np.errstate(all="ignore"):
            return np.where(growth > 1 - q, np.log(np.maximum((growth - 1 + q) / q, 1e-300)) / mu + mu / 2, -40.0)

    def normal(z):
        return np.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    def last(level):  # E(g - level)_+, or E(1 - level g)_+
        root = np.maximum(z_of(level if order == "remove" else 1 / level), -40.0)
        if order == "remove":
            return (1 - q) * ndtr(-root) + q * ndtr(mu - root) - level * ndtr(-root)
        return ndtr(root) - level * ((1 - q) * ndtr(root) + q * ndtr(root - mu))

    def averaged(level, deeper, edge):
        """E[g deeper(level/g)], or E[deeper(level g)]; deeper has its edge at a level."""
        split = np.clip(z_of(level / edge if order == "remove" else edge / level), -13.0, 13.0 + mu)
        near = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 0.7, 1.3, 2.0, 3.0, 4.5, 7.0, 10.0, 14.0, 20.0, 30.0])
        below, above = split[..., None] - near[::-1], split[..., None] + near[1:]
        z, weights = rule(np.clip(np.concatenate([below, above], axis=-1), -13.0, 13.0 + mu))
        growth = g(z)
        values = growth * deeper(level[..., None] / growth) if order == "remove" else deeper(level[..., None] * growth)
        return (weights * normal(z) * values).sum(axis=-1)

    one = 1 - q if order == "remove" else 1 / (1 - q)

    def two(level):
        shape = level.shape
        parts = [averaged(part, last, one) for part in np.array_split(level.ravel(), max(1, level.size // 64))]
        return np.concatenate(parts).reshape(shape)

    return float(averaged(np.array([math.exp(epsilon)]), two, one * one)[0])


def line(mu, q, steps, order, centre=0.5, aim=-60.0):
    moments = GaussianMoments(Real.of(mu), Fraction(q))
    return PanelLine(moments, steps, remove=order is Direction.REMOVE, centre=centre, aim=aim, bits=100)


@pytest.mark.parametrize("order", list(Direction))
@pytest.mark.parametrize(
    ("mu", "q"),
    [("1", "0.1"), *(pytest.param(*case, marks=pytest.mark.slow) for case in [("2", "0.5"), ("3", "0.01")])],
)
def test_two_steps_have_the_profile_of_their_integral(mu, q, order):
    epsilon = Fraction(1, 500)
    value = line(mu, q, 2, order).value(epsilon)
    truth = two_steps_profile(Real.of(mu), Fraction(q), order, epsilon, 70)
    assert value.overlaps(truth)
    assert value.rel_accuracy_bits() >= 54


@pytest.mark.parametrize("order", list(Direction))
def test_ten_steps_have_the_profile_of_the_plain_contour(order):
    loss = getattr(poisson_sampled(GaussianLoss("0.5"), "0.2", 10), order.value)
    assert loss._plan(0.1, 60) is not None
    value = line("0.5", "0.2", 10, order, centre=3.0, aim=-57.0).value(Fraction(1, 10))
    assert value.overlaps(loss.profile(Fraction(1, 10), 60))
    assert value.rel_accuracy_bits() >= 54


@pytest.mark.parametrize("order", list(Direction))
@pytest.mark.parametrize(("mu", "q", "epsilon"), [("2", "0.1", "0.1")])
def test_three_steps_have_the_profile_of_a_quadrature(mu, q, epsilon, order):
    value = getattr(poisson_sampled(GaussianLoss(mu), q, 3), order.value).certified_delta(epsilon)
    truth = three_steps(float(mu), float(q), float(epsilon), order.value)
    assert value.upper - value.lower <= 1e-15 * value.upper
    assert truth == pytest.approx(value.upper, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "q", "steps"), [("5", "0.001", 3), ("4", "0.01", 5), ("4", "0.5", 4)])
def test_little_noise_and_few_steps_are_certified(mu, q, steps):
    both = poisson_sampled(GaussianLoss(mu), q, steps)
    for loss in (both.remove, both.add):
        edge = -steps * math.log1p(-float(q))
        value = loss.certified_delta(Fraction(edge / 4))
        assert value.upper - value.lower <= 1e-15 * value.upper


def test_epsilon_is_found_where_the_profile_ends():
    """Of 5 steps in the order add, which end at 0.527: a bracket to the right looks where the profile is next to 0."""
    loss = poisson_sampled(GaussianLoss(1), "0.1", 5).add
    level = loss.certified_epsilon("1e-3")
    assert loss.certified_delta(level.lower).upper >= 1e-3 >= loss.certified_delta(level.upper).lower


def test_one_line_serves_many_epsilons():
    loss = poisson_sampled(GaussianLoss("1.5"), "0.2", 3).remove
    values = [loss.certified_delta(epsilon) for epsilon in ("0.1", "0.11", "0.12")]
    assert len(loss._laid) == 1
    assert values[0].lower > values[1].upper > values[1].lower > values[2].upper


@pytest.mark.parametrize("x", ["1e-9", "0.5", "20", "43", "1e4"])
def test_spherical_bessel_functions_are_those_of_half_orders(x):
    with precision(300):
        point = arb(x)
        root = (arb.pi() / (2 * point)).sqrt()
        for k, value in enumerate(panels._spherical(point, panels.NODES)):
            assert value.overlaps(root * point.bessel_j(arb(2 * k + 1) / 2))
            assert value.rad() < arb(2) ** -200


def test_a_line_that_is_too_long_is_refused():
    with pytest.raises(PrecisionExhausted):
        line("20", "1e-12", 2, Direction.REMOVE, aim=-3000.0)


def wrong_sum(monkeypatch):
    """What the rule leaves out and its alias, planted to be nothing, with a rule that is far too coarse."""
    right = GaussianMoments.exponentials

    def coarse(self, exponent, bits, steps):
        found = right(self, exponent, 6, steps)
        return Exponentials(found.exponents, found.coefficients, arb("1e-40"), found.largest)

    monkeypatch.setattr(GaussianMoments, "exponentials", coarse)


def wrong_frequency(monkeypatch):
    """The oscillation of the near-atom wrong by a millionth."""
    right = PanelLine.value

    def moved(self, level):
        return right(self, level + Fraction(1, 10**6))

    monkeypatch.setattr(PanelLine, "value", moved)


def wrong_ellipse(monkeypatch):
    """Panels that are far too long for their nodes, whose error is planted to be nothing."""
    monkeypatch.setattr(PanelLine, "_ends", lambda self, *_: [(0.0, 1e5, len(self._series.exponents), 2.0)])
    monkeypatch.setattr(PanelLine, "_error", lambda *_: arb(0))


def wrong_cut(monkeypatch):
    """A line that ends far too early, with the bound of what is beyond planted to be nothing."""
    monkeypatch.setattr(PanelLine, "_top", lambda *_: 2.0)
    monkeypatch.setattr(GaussianMoments, "cut", lambda *_: arb(0))


@pytest.mark.parametrize("fault", [wrong_sum, wrong_frequency, wrong_ellipse, wrong_cut])
def test_a_planted_fault_is_found(fault, monkeypatch):
    fault(monkeypatch)
    value = line("1", "0.1", 2, Direction.REMOVE, aim=-30.0).value(Fraction(1, 500))
    assert not value.overlaps(two_steps_profile(Real.of(1), Fraction(1, 10), Direction.REMOVE, Fraction(1, 500), 70))
