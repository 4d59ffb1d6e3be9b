"""Two sampled steps: against quadrature by mpmath, the exact zero of the order add, and planted faults."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling import two_steps
from dpverdict.audit.sampling.two_steps import two_steps_profile
from dpverdict.balls import Real


def quadrature(mu, q, order, epsilon):
    """The double integral, by another way: over where the second loss makes the sum exceed epsilon, in mpmath."""
    with mpmath.workdps(25):
        m, q, a = mpmath.mpf(mu), mpmath.mpf(q), mpmath.exp(mpmath.mpf(epsilon))

        def g(z):
            return 1 - q + q * mpmath.exp(m * z - m * m / 2)

        def tails(level):
            """Q[g > level], E_Q[g; g > level]."""
            b = (level - 1 + q) / q
            if b <= 0:
                return mpmath.mpf(1), mpmath.mpf(1)
            z = mpmath.log(b) / m + m / 2
            tail = mpmath.ncdf(-z)
            return tail, (1 - q) * tail + q * mpmath.ncdf(m - z)

        def inside(z):
            mass, mean = tails(a / g(z)) if order == "remove" else tails(1 / (a * g(z)))
            if order == "remove":
                return mpmath.npdf(z) * (g(z) * mean - a * mass)
            return mpmath.npdf(z) * ((1 - mass) - a * g(z) * (1 - mean))

        edge = a / (1 - q) if order == "remove" else 1 / (a * (1 - q))
        if edge <= 1 - q:
            return mpmath.mpf(0)
        split = mpmath.log((edge - 1 + q) / q) / m + m / 2
        ends = sorted({mpmath.mpf(-16), *(split + d for d in (-4, -1, -0.2, 0)), split + 2, mpmath.mpf(16) + m})
        return mpmath.quad(inside, [end for end in ends if end <= 16 + m and (order == "remove" or end <= split)])


def drawn(rng):
    """Parameters over all orders of magnitude that are used."""
    mu = Fraction(round(float(np.exp(rng.uniform(np.log(0.2), np.log(4)))), 3)).limit_denominator(1000)
    q = Fraction(round(float(np.exp(rng.uniform(np.log(1e-3), np.log(0.9)))), 4)).limit_denominator(10_000)
    return mu, q, Fraction(round(rng.uniform(0, 2), 2)).limit_denominator(100)


def check(cases, seed):
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        mu, q, epsilon = drawn(rng)
        for order in Direction:
            value = two_steps_profile(Real.of(mu), q, order, epsilon, 54)
            wanted = quadrature(
                mu.numerator / mpmath.mpf(mu.denominator),
                q.numerator / mpmath.mpf(q.denominator),
                order.value,
                epsilon.numerator / mpmath.mpf(epsilon.denominator),
            )
            assert value.is_zero() or value.rel_accuracy_bits() >= 54
            assert abs(float(value) - float(wanted)) <= 1e-12 * float(value) + 1e-18, (mu, q, order, epsilon)


def test_random_parameters_agree_with_quadrature():
    check(5, seed=1)


@pytest.mark.slow
def test_many_random_parameters_agree_with_quadrature():
    check(1000, seed=2)


def test_beyond_the_largest_loss_nothing_is_left():
    assert two_steps_profile(Real.of(1), Fraction(1, 10), Direction.ADD, Fraction(1), 54) == 0


@pytest.mark.parametrize("name", ["_phi", "_normal"])
def test_a_planted_error_is_found(name, monkeypatch):
    right = getattr(two_steps, name)
    monkeypatch.setattr(two_steps, name, lambda x: right(x) * (1 + 1e-9))
    with pytest.raises(AssertionError):
        check(3, seed=1)
