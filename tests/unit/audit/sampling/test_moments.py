"""Moments of one sampled step: against mpmath's quadrature of the definition, and the bound of what is cut off."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from dpverdict.audit.sampling.moments import GaussianMoments, LaplaceMoments
from dpverdict.balls import Real, precision

GAUSSIAN = [("1", "0.01"), ("0.5", "0.3"), ("2", "0.1")]
LAPLACE = [("1", "0.01"), ("0.5", "0.3"), ("2", "0.1")]
EXPONENTS = [3.5, 0.25, -4.0]


def gaussian(mu, q, w):
    """E_Q[g(L)^w] from its definition."""
    mu, q = mpmath.mpf(mu), mpmath.mpf(q)
    ends = [mpmath.mpf(-14 + k) for k in range(0, 60, 2)]
    return mpmath.quad(lambda z: mpmath.npdf(z) * (1 - q + q * mpmath.exp(mu * z - mu * mu / 2)) ** w, ends)


def laplace(s, q, w):
    s, q = mpmath.mpf(s), mpmath.mpf(q)

    def g(x):
        return (1 - q + q * mpmath.exp(x)) ** w

    body = mpmath.quad(lambda x: mpmath.exp(-(x + s) / 2) / 4 * g(x), [-s, 0, s])
    return body + g(-s) / 2 + g(s) * mpmath.exp(-s) / 2


def contains(value, truth):
    """Whether a ball holds the number that mpmath gives at 30 digits, up to its own error."""
    return bool(abs(arb(mpmath.nstr(truth, 25)) - value.mid()) <= value.rad() + abs(value) * arb(10) ** -21)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize(("size", "rate"), GAUSSIAN)
def test_the_moments_of_gaussian_noise_are_those_of_the_definition(size, rate, exponent):
    moments = GaussianMoments(Real.of(size), Fraction(rate))
    with mpmath.workdps(30), precision(110):
        assert contains(moments.real(arb(exponent)), gaussian(size, rate, exponent))
        for number, value in enumerate(moments.line(arb(exponent), 2.0, 3, 90)):
            truth = gaussian(size, rate, mpmath.mpc(exponent, 2 * number + 1))
            assert contains(value.real, truth.real)
            assert contains(value.imag, truth.imag)
            assert value.real.rad() < 1e-20 * abs(moments.real(arb(exponent)))


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize(("size", "rate"), LAPLACE)
def test_the_moments_of_laplace_noise_are_those_of_the_definition(size, rate, exponent):
    moments = LaplaceMoments(Fraction(size), Fraction(rate))
    with mpmath.workdps(30), precision(110):
        assert contains(moments.real(arb(exponent)), laplace(size, rate, exponent))
        for number, value in enumerate(moments.line(arb(exponent), 5.0, 3, 90)):
            truth = laplace(size, rate, mpmath.mpc(exponent, 5 * (number + 0.5)))
            assert contains(value.real, truth.real)
            assert contains(value.imag, truth.imag)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("height", [1.0, 6.0, 40.0])
@pytest.mark.parametrize(
    ("kind", "size", "rate"), [("gaussian", "1", "0.1"), ("gaussian", "0.5", "0.3"), ("laplace", "1", "0.3")]
)
def test_no_moment_beyond_the_cut_is_above_its_bound(kind, size, rate, height, exponent):
    if kind == "gaussian":
        moments = GaussianMoments(Real.of(size), Fraction(rate))
    else:
        moments = LaplaceMoments(Fraction(size), Fraction(rate))
    bound = moments.cut(arb(exponent), arb(height))
    with precision(100):
        assert float(bound) <= float(moments.real(arb(exponent))) * (1 + 1e-15)
        for factor in (1.0, 1.1, 2.0, 7.0):
            (value,) = moments.line(arb(exponent), 2 * height * factor, 1, 80)
            assert abs(value).lower() <= bound
    estimate = float(np.exp(moments.log_cut(exponent, np.array([height])))[0]) * float(moments.real(arb(exponent)))
    assert float(bound) == pytest.approx(estimate, rel=0.05)


def test_the_cut_of_gaussian_noise_is_sharp_where_the_loss_is_nearly_normal():
    """Of a normal law of variance v it would be exp(-v w^2/2) itself."""
    moments = GaussianMoments(Real.of("0.05"), Fraction(1, 2))
    logarithm, variance = moments.estimates(np.array([1.0]))
    height = 2 / float(variance[0]) ** 0.5
    assert float(moments.cut(arb(1), arb(height))) == pytest.approx(np.exp(logarithm[0] - 2), rel=0.03)


def test_a_planted_fault_of_the_moments_is_found(monkeypatch):
    right = GaussianMoments._alias
    monkeypatch.setattr(GaussianMoments, "_spacing", lambda *_: (0.5, 1.5))  # far too coarse: the alias must be charged
    moments = GaussianMoments(Real.of(1), Fraction(1, 10))
    with precision(100):
        honest = moments.real(arb("3.5"))
        assert honest.rad() > 1e-6
        monkeypatch.setattr(GaussianMoments, "_alias", lambda *_: arb(0))
        moments = GaussianMoments(Real.of(1), Fraction(1, 10))
        with mpmath.workdps(30):
            assert not contains(moments.real(arb("3.5")), gaussian("1", "0.1", 3.5))
    assert GaussianMoments._alias is not right
