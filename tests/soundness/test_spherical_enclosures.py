"""Every certified number of spherical noise encloses the truth, computed independently. No tolerance.

The independent road: P[L > s] as an integral over the radius by mpmath's quadrature, with the threshold of the cap from
Lambert's W (or in closed form) and the regularised incomplete beta function; nothing is integrated by parts, and the
surface is not parametrised. The isotropic Gaussian is compared with its closed form in balls.
"""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.spherical import integral as spherical_integral
from dpverdict.audit.losses.spherical import random_direction as radial_random_direction
from dpverdict.audit.losses.spherical.integral import SphericalProfile, SphericalQuantity, integrate
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, precision
from dpverdict.errors import PrecisionExhausted

FEW = settings(max_examples=3, deadline=None)
DIGITS = 28


def exact(value):
    """The exact rational value of an mpmath number."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def mp(rational):
    return mpmath.mpf(rational.numerator) / rational.denominator


def cosine_share(dim, t):
    """P[cosine <= t] for a uniform direction of R^dim."""
    if t <= -1:
        return mpmath.mpf(0)
    if t >= 1:
        return mpmath.mpf(1)
    half = mpmath.mpf(dim - 1) / 2
    return mpmath.betainc(half, half, 0, (1 + t) / 2, regularized=True)


class RandomDirection:
    """The threshold t_s(r) and the density of the radius, as in the definition of the noise."""

    def __init__(self, dim, sigma):
        self.dim, self.sigma = dim, mp(sigma)

    def threshold(self, r, s):
        a, b = r**2 / (2 * self.sigma**2), mpmath.mpf(self.dim - 1) / 2
        x = b / a * mpmath.lambertw(a / b * mpmath.exp((s + a) / b)).real
        return (1 - r**2 * (x - 1)) / (2 * r)

    def density(self, r):
        return mpmath.sqrt(2 / mpmath.pi) / self.sigma * mpmath.exp(-(r**2) / (2 * self.sigma**2))

    def last(self):
        return 13 * self.sigma


class Laplace:
    """The same for the density proportional to exp(-|n|/theta)."""

    def __init__(self, dim, theta):
        self.dim, self.theta = dim, mp(theta)

    def threshold(self, r, s):
        rho = r + s * self.theta
        return (1 + r**2 - rho**2) / (2 * r) if rho > 0 else mpmath.mpf(2)

    def density(self, r):
        return r ** (self.dim - 1) * mpmath.exp(-r / self.theta) / (self.theta**self.dim * mpmath.gamma(self.dim))

    def last(self):
        return (self.dim + 90) * self.theta


def breaks(law, s):
    """The radii at which the cap begins or ends, by bisection on a fine grid."""
    grid = [law.last() * mpmath.mpf(10) ** (-mpmath.mpf(k) / 24) for k in range(24 * 8, -1, -1)]
    found = []
    for side in (1, -1):
        values = [law.threshold(r, s) - side for r in grid]
        for low, high, before, after in zip(grid, grid[1:], values, values[1:], strict=False):
            if before * after < 0:
                for _ in range(100):
                    middle = (low + high) / 2
                    if (law.threshold(middle, s) - side) * before > 0:
                        low = middle
                    else:
                        high = middle
                found.append(low)
    return sorted(found)


def independent_tail(law, s):
    """P[L > s]: E F(t_s(r)), piece by piece; a sphere between two breaks lies inside or outside as a whole."""
    points = [mpmath.mpf(10) ** -12 * law.last(), *breaks(law, s), law.last()]
    total = mpmath.quad(law.density, [0, points[0]])  # the smallest spheres lie in {L > s} for s below the largest loss
    for low, high in itertools.pairwise(points):
        steps = [low + (high - low) * mpmath.mpf(k) / 12 for k in range(13)]
        if high > 30 * low:
            steps = [low * (high / low) ** (mpmath.mpf(k) / 30) for k in range(31)]
        total += mpmath.quad(lambda r: cosine_share(law.dim, law.threshold(r, s)) * law.density(r), steps)
    return total


def independent_delta(law, epsilon):
    """P[L > epsilon] - exp(epsilon) P[L < -epsilon]."""
    with mpmath.workdps(DIGITS):
        s = mp(epsilon)
        return independent_tail(law, s) - mpmath.exp(s) * (1 - independent_tail(law, -s))


CASES = [
    ("direction", 3, Fraction(2), Fraction(1)),
    ("direction", 5, Fraction(1, 2), Fraction(3, 10)),
    ("direction", 7, Fraction(20), Fraction(1)),
    ("direction", 9, Fraction(3, 2), Fraction(6)),
    ("laplace", 3, Fraction(1, 2), Fraction(1)),
    ("laplace", 5, Fraction(2, 5), Fraction(2)),
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("kind", "dim", "scale", "epsilon"), CASES)
def test_the_profile_is_enclosed(kind, dim, scale, epsilon):
    check(kind, dim, scale, epsilon)


def check(kind, dim, scale, epsilon):
    with mpmath.workdps(DIGITS):
        reference = RandomDirection(dim, scale) if kind == "direction" else Laplace(dim, scale)
    law = RandomDirectionGaussian(scale) if kind == "direction" else IsotropicLaplace(scale)
    truth = exact(independent_delta(reference, epsilon))
    assert SphericalLoss(dim, law).certified_delta(epsilon).contains(truth)


@given(
    st.sampled_from([2, 3, 4, 5, 8, 13, 30]),
    st.fractions(Fraction(1, 4), 6, max_denominator=50),
    st.fractions(0, 12, max_denominator=50),
)
@example(2, Fraction(1), Fraction(1, 2))  # the plane of loss 1/2 goes through the centre
@example(4, Fraction(1), Fraction(1, 2))
@example(3, Fraction(1), Fraction(20))
@example(10, Fraction(10), Fraction(0))
@FEW
def test_the_isotropic_gaussian_has_the_curves_of_the_gaussian_loss(dim, sigma, epsilon):
    assert_same(dim, sigma, epsilon)


def assert_same(dim, sigma, epsilon):
    here = SphericalLoss(dim, IsotropicGaussian(sigma)).certified_delta(epsilon)
    there = GaussianLoss(1 / sigma).certified_delta(epsilon)
    assert here.lower <= there.upper
    assert there.lower <= here.upper


SLOW = pytest.mark.slow
ISOTROPIC = SphericalLoss(3, IsotropicGaussian("0.8")), GaussianLoss(Fraction(5, 4))


@pytest.mark.parametrize("curve", ["certified_beta", pytest.param("certified_epsilon", marks=SLOW)])
@pytest.mark.parametrize("alpha", ["0.3", pytest.param("0.001", marks=SLOW), pytest.param("0.95", marks=SLOW)])
def test_the_trade_off_function_and_epsilon_of_the_isotropic_gaussian(alpha, curve):
    here, there = (getattr(loss, curve)(alpha) for loss in ISOTROPIC)
    assert here.lower <= there.upper
    assert there.lower <= here.upper


@pytest.mark.parametrize("alpha", ["0.3", pytest.param("0.001", marks=SLOW), pytest.param("0.95", marks=SLOW)])
def test_other_numbers_of_the_isotropic_gaussian(alpha):
    here, there = ISOTROPIC
    for one, other in [
        (here.certified_log_delta(alpha), there.certified_log_delta(alpha)),
        (here.certified_log_delta("-" + alpha), there.certified_log_delta("-" + alpha)),
        (here.certified_advantage(), there.certified_advantage()),
        (here.certified_renyi("2.5"), there.certified_renyi("2.5")),
    ]:
        assert one.lower <= other.upper
        assert other.lower <= one.upper


@given(
    st.sampled_from([2, 3, 4, 7, 10, 31, 100]), st.fractions(Fraction(1, 10), 100, max_denominator=20), st.floats(0, 9)
)
@FEW
def test_the_profile_comes_from_its_two_tails_and_does_not_fall_with_the_shift(dim, scale, epsilon):
    level = Fraction(epsilon)
    law = RandomDirectionGaussian(scale)
    delta, p, q = (integrate(law, dim, level, quantity, 60) for quantity in SphericalQuantity)
    with precision(200):
        from_tails = p - arb(epsilon).exp() * q
        assert from_tails.overlaps(delta)
        assert not p > 1
        assert not delta > p
        longer = integrate(RandomDirectionGaussian(scale / 2), dim, level, SphericalQuantity.PROFILE, 60)
        assert not delta > longer


def test_the_integrand_on_an_interval_encloses_its_values_on_it():
    for dim, scale, level in [(4, 100, 0), (5, 2, 1), (10, 7, 2), (101, 3, 1)]:
        assert_contained(RandomDirectionGaussian(scale), dim, Fraction(level))


def assert_contained(law, dim, level):
    """Interval evaluation of what the quadrature integrates, at random intervals of an arc."""
    integrands = []

    def record(self, integrand, start, stop):
        integrands.append((integrand, start, stop))
        return arb(0)

    with pytest.MonkeyPatch.context() as patch, precision(120):
        patch.setattr(spherical_integral._Integral, "_quadrature", record)
        surface = law.surface(dim, level)
        growth = arb(level.numerator).exp()
        spherical_integral._Integral(
            law, dim, level, SphericalQuantity.PROFILE, surface, arb(2) ** -60, growth, spherical_integral._kappa(dim)
        ).value()
        rng = random.Random(7)
        for integrand, start, stop in integrands:
            low, high = float(start.mid()), float(stop.mid())
            for _ in range(60):
                a = low + (high - low) * rng.random() ** 4 + 1e-12 * high
                b = min(high, a + (high - a) * 10.0 ** rng.uniform(-6, 0))
                point = a + (b - a) * rng.random()
                whole = integrand(acb(arb(a).union(arb(b))), False).real
                assert not whole.is_finite() or whole.overlaps(integrand(acb(point), False).real)


# planted faults -------------------------------------------------------------------------------------------------------


def test_a_radius_cut_off_without_a_charge_is_caught(monkeypatch):
    monkeypatch.setattr(spherical_integral, "_MAX_BITS", 500)
    monkeypatch.setattr(RandomDirectionGaussian, "radius_beyond", lambda self, _e, _d: (self.sigma.ball() * 2).mid())
    with pytest.raises(PrecisionExhausted):  # charged, a cut-off at 2 sigma never gives an answer
        integrate(RandomDirectionGaussian(2), 3, Fraction(1), SphericalQuantity.P_TAIL, 56)
    monkeypatch.setattr(spherical_integral._Integral, "_beyond", lambda _self, _v: arb(0))
    with pytest.raises(AssertionError):
        check("direction", 3, Fraction(2), Fraction(1, 10))


def test_a_wrong_exponent_of_the_density_is_caught(monkeypatch):
    original = radial_random_direction._Surface.__init__
    monkeypatch.setattr(
        radial_random_direction._Surface, "__init__", lambda self, s, dim, level: original(self, s, dim - 1, level)
    )
    with pytest.raises(AssertionError):
        check(*CASES[0])


def test_a_variance_taken_for_a_standard_deviation_is_caught():
    reference = RandomDirection(3, Fraction(2))
    truth = exact(independent_delta(reference, Fraction(1)))
    assert not SphericalLoss(3, RandomDirectionGaussian(4)).certified_delta(1).contains(truth)


def test_a_wrong_reflection_is_caught(monkeypatch):
    def wrong(self, loss, bits):  # Q[L > s] = P[L > -s] instead of P[L < -s]
        return self._one_minus(SphericalQuantity.P_TAIL, loss, bits)

    right = Enclosure.of_ball(SphericalProfile(3, IsotropicGaussian(1)).q_above(Fraction(1), 60))
    monkeypatch.setattr(SphericalProfile, "q_above", wrong)
    assert not right.contains(float(SphericalProfile(3, IsotropicGaussian(1)).q_above(Fraction(1), 60)))


def test_a_wrong_dimension_of_the_sphere_is_caught(monkeypatch):
    kappa = spherical_integral._kappa
    monkeypatch.setattr(spherical_integral, "_kappa", lambda dim: kappa(dim - 1))
    with pytest.raises(AssertionError):
        assert_same(5, Fraction(1), Fraction(1))


def test_the_reference_agrees_with_itself():
    law = RandomDirection(3, Fraction(2))
    with mpmath.workdps(DIGITS):
        # for M = 3 and s = 0 the total variation distance is E erf(1/(2 sqrt 2 sigma |t|)) with t uniform on [0, 1]
        direct = mpmath.quad(lambda t: mpmath.erf(1 / (2 * mpmath.sqrt(2) * law.sigma * t)), [0, 0.1, 0.5, 1])
        assert abs(direct - independent_delta(law, Fraction(0))) < mpmath.mpf(10) ** -15
        assert math.isclose(float(direct), SphericalLoss(3, RandomDirectionGaussian(2)).advantage(), rel_tol=1e-12)
