"""The Gaussian curves in float64: accuracy against the balls on wide random grids, limits, and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.balls import Real, precision, refine
from dpverdict.errors import InvalidValue
from dpverdict.numerics import gaussian as gaussian_balls
from dpverdict.numerics import gaussian_floats as gaussian_profile
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.gaussian_floats import DoubleDouble, two_product, two_sum

NUMBER = 3000
NORMAL = 2.0**-1022


def power_ball(alpha, mu):
    """1 - beta(alpha), in balls."""
    return refine(lambda: gaussian_formulas.power(BallNormal(), alpha.ball(), mu.ball()), bits=56)


def relative_error(values, balls):
    """The largest relative error over the entries that are normal float64."""
    with precision(200):
        errors = [abs(arb(v) / b - 1) for v, b in zip(values.tolist(), balls, strict=True) if b >= arb(NORMAL)]
        return max(float(error.upper()) for error in errors)


def random_mu(rng):
    """Parameters from 1e-200 to 1e3, half of them between 1e-3 and 30."""
    wide = rng.random(NUMBER) < 0.5
    return 10.0 ** np.where(wide, rng.uniform(-200, 3, NUMBER), rng.uniform(-3, 1.5, NUMBER))


def random_points(rng):
    """Points epsilon/mu - mu/2 from -40 to 40, some of them tiny."""
    return np.where(rng.random(NUMBER) < 0.8, rng.uniform(-40, 40, NUMBER), 10.0 ** rng.uniform(-20, 1.6, NUMBER))


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def test_the_profile_is_accurate(rng):
    mu, t = random_mu(rng), random_points(rng)
    epsilon = mu * (t + mu / 2)
    balls = [
        gaussian_balls.delta_ball(Real.of(e), Real.of(m)) for e, m in zip(epsilon.tolist(), mu.tolist(), strict=True)
    ]
    assert relative_error(gaussian_profile.delta(epsilon, mu), balls) < 1.5e-13


def test_the_logarithm_of_the_profile_is_accurate_far_below_the_range_of_float64(rng):
    mu, t = random_mu(rng), random_points(rng) * 10.0 ** rng.uniform(0, 2, NUMBER)
    epsilon = mu * (t + mu / 2)
    values = gaussian_profile.log_delta(epsilon, mu)
    for value, e, m in zip(values.tolist(), epsilon.tolist(), mu.tolist(), strict=True):
        truth = gaussian_balls.log_delta_ball(Real.of(e), Real.of(m))
        with precision(100):
            if abs(truth) > arb(NORMAL):
                assert abs(arb(value) / truth - 1) < 1e-13, (e, m)


def test_the_trade_off_function_and_the_power_are_accurate(rng):
    mu = random_mu(rng)
    alpha = np.where(rng.random(NUMBER) < 0.5, rng.random(NUMBER), 10.0 ** rng.uniform(-307, 0, NUMBER))
    pairs = [(Real.of(a), Real.of(m)) for a, m in zip(alpha.tolist(), mu.tolist(), strict=True)]
    beta = gaussian_profile.beta(alpha, mu)
    power = gaussian_profile.power(alpha, mu)
    assert relative_error(beta, [gaussian_balls.beta_ball(a, m) for a, m in pairs]) < 1e-13
    assert relative_error(power, [power_ball(a, m) for a, m in pairs]) < 1e-13


def test_the_smallest_epsilon_is_accurate(rng):
    mu = random_mu(rng)[:1000]
    ceiling = gaussian_profile.advantage(mu)
    exponent = rng.uniform(-300, 0, 1000) * rng.random(1000) ** 3
    delta = np.maximum(ceiling * 10.0**exponent, NORMAL)
    delta[::10] = (ceiling * (1 - 10.0 ** rng.uniform(-16, -1, 1000)))[::10]  # close to delta(0): ill conditioned
    values = gaussian_profile.epsilon(delta, mu)
    balls = [
        gaussian_balls.epsilon_ball(Real.of(d), Real.of(m)) for d, m in zip(delta.tolist(), mu.tolist(), strict=True)
    ]
    assert relative_error(values, balls) < 1e-12
    zero = np.array([bool(b == 0) for b in balls])
    assert (values[zero] == 0).all()


def test_the_advantage_is_accurate(rng):
    mu = random_mu(rng)
    assert (
        relative_error(gaussian_profile.advantage(mu), [gaussian_balls.advantage_ball(Real.of(m)) for m in mu.tolist()])
        < 1e-15 * 3
    )


def test_a_mu_of_106_bits_is_used_in_full():
    root = Fraction(math.isqrt(2 * 10**80), 10**40) * 500  # 500 sqrt 2, to 40 digits
    epsilon = float(root * (37 + root / 2))
    value = gaussian_profile.delta_floats(np.array([epsilon]), DoubleDouble.nearest(root))
    assert relative_error(value, [gaussian_balls.delta_ball(Real.of(epsilon), Real.of(root))]) < 1e-13
    rounded = gaussian_profile.delta_floats(np.array([epsilon]), DoubleDouble.of(np.asarray(float(root))))
    assert relative_error(rounded, [gaussian_balls.delta_ball(Real.of(epsilon), Real.of(root))]) > 1e-13


def test_scalars_give_floats_and_arrays_broadcast():
    assert isinstance(gaussian_profile.delta(1.0, 1.0), float)
    table = gaussian_profile.delta(np.array([0.0, 1.0])[:, None], np.array([0.5, 1.0, 2.0]))
    assert table.shape == (2, 3)
    assert table[1, 1] == gaussian_profile.delta(1.0, 1.0)
    assert gaussian_profile.epsilon(np.array([[1e-5], [0.5]]), np.array([1.0, 2.0])).shape == (2, 2)
    assert gaussian_profile.delta(np.empty(0), 1.0).shape == (0,)


def test_the_limits_are_exact():
    assert gaussian_profile.delta(np.array([-1e308, 1e308]), 1.0).tolist() == [1.0, 0.0]
    assert gaussian_profile.log_delta(1e308, 1.0) == -math.inf
    assert gaussian_profile.epsilon(np.array([0.0, 1.0]), 1.0).tolist() == [math.inf, 0.0]
    assert gaussian_profile.beta(np.array([0.0, 1.0]), 1.0).tolist() == [1.0, 0.0]
    assert gaussian_profile.power(np.array([0.0, 1.0]), 1.0).tolist() == [0.0, 1.0]
    assert gaussian_profile.delta(0.0, 1000.0) == 1.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gaussian_profile.delta(math.nan, 1.0), "epsilon"),
        (lambda: gaussian_profile.delta([0.0, math.inf], 1.0), "epsilon"),
        (lambda: gaussian_profile.delta(1.0, 0.0), "mu"),
        (lambda: gaussian_profile.delta(1.0, [1.0, -1.0]), "mu"),
        (lambda: gaussian_profile.delta(1.0, math.nan), "mu"),
        (lambda: gaussian_profile.epsilon(1.5, 1.0), "delta"),
        (lambda: gaussian_profile.epsilon(math.nan, 1.0), "delta"),
        (lambda: gaussian_profile.beta(-0.1, 1.0), "alpha"),
    ],
)
def test_bad_arguments_are_refused(call, name):
    with pytest.raises(InvalidValue, match=rf"^{name}="):
        call()


def test_the_error_free_transformations_are_exact(rng):
    a, b = rng.normal(size=200) * 10.0 ** rng.uniform(-50, 50, 200), rng.normal(size=200)
    for combined, exactly in ((two_sum(a, b), lambda x, y: x + y), (two_product(a, b), lambda x, y: x * y)):
        for high, low, x, y in zip(*combined, a, b, strict=True):
            assert Fraction(high) + Fraction(low) == exactly(Fraction(x), Fraction(y))
