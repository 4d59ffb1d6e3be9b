"""The simple events refute the published claim of R1SMG wherever it is false on the grid; at M = 3 it is confirmed."""

import dataclasses
from fractions import Fraction

import mpmath
import pytest
from flint import arb

from dpverdict.audit.losses.spherical.events import (
    apollonius_constant,
    apollonius_event,
    ball_event,
    best_ball_event,
    chebyshev_delta_lower,
    half_space_event,
)
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Real, ball, exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import universal_error_bound
from dpverdict.mechanisms.queries.rank1 import published_psi
from dpverdict.mechanisms.queries.rank1_scale import honest_scale

EPSILONS = ["0.1", "0.5", "1", "2", "10"]
DELTAS = ["1e-3", "1e-5", "1e-10"]
RADII = [
    Fraction(3, 100),
    *(Fraction(k, 20) for k in range(2, 20)),
    Fraction(24, 25),
    Fraction(49, 50),
    Fraction(99, 100),
]

GRID = [(dim, epsilon, delta) for dim in (4, 5, 10, 30, 100, 1000, 10_000) for epsilon in EPSILONS for delta in DELTAS]


def claimed_variance(dim, epsilon, delta):
    """sigma^2 = 2/(epsilon psi) for l2-sensitivity 1, exactly: a variance."""
    psi = published_psi(dim, exactly(delta))
    return Real(lambda: 2 / (ball(exactly(epsilon)) * psi.ball()))


def claimed_scale(dim, epsilon, delta):
    return claimed_variance(dim, epsilon, delta).sqrt()


def best_lower_bound(dim, scale, epsilon):
    """The largest of the lower bounds on delta(epsilon) that need at most one quadrature, cheapest first."""
    bounds = [chebyshev_delta_lower(dim, scale, epsilon), apollonius_event(dim, scale, epsilon).delta_lower(epsilon)]
    bounds += [ball_event(dim, scale, radius).delta_lower(epsilon) for radius in RADII]
    return max(bounds)


def test_the_grid_has_105_cells():
    assert len(GRID) == 105


@pytest.mark.parametrize(("dim", "epsilon", "delta"), GRID)
def test_a_simple_event_refutes_the_claim(dim, epsilon, delta):
    scale = claimed_scale(dim, epsilon, delta)
    assert Fraction(best_lower_bound(dim, scale, epsilon)) > Fraction(delta)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_in_three_dimensions_the_claim_is_confirmed(epsilon, delta):
    loss = SphericalLoss(3, RandomDirectionGaussian(claimed_scale(3, epsilon, delta)))
    assert Fraction(loss.certified_delta(epsilon).upper) <= Fraction(delta)


def test_an_event_never_shows_more_than_the_profile():
    for dim, scale, epsilon in [(3, 2, "0.5"), (4, 50, "1"), (10, 7, "2"), (100, "1.6", "1")]:
        profile = SphericalLoss(dim, RandomDirectionGaussian(scale)).certified_delta(epsilon)
        for event in (
            half_space_event(dim, scale),
            apollonius_event(dim, scale, epsilon),
            ball_event(dim, scale, "0.9"),
        ):
            assert event.delta_lower(epsilon) <= profile.upper
            assert 0 <= event.p_lower <= 1
            assert event.q_upper >= 0


def test_the_numbers_of_the_hundred_dimensional_counterexample():
    scale = claimed_scale(100, 1, "1e-5")
    near = ball_event(100, scale, "0.96")
    assert near.p_lower >= 0.4436379
    assert near.q_upper <= 0.0021449
    assert near.delta_lower(1) >= 0.4378
    assert best_ball_event(100, scale, 1).delta_lower(1) >= near.delta_lower(1)
    half = half_space_event(100, scale)
    assert half.delta_lower(1) >= 0.965294
    assert 0.981333 <= half.delta_lower(0) <= 0.982271
    assert chebyshev_delta_lower(100, scale, 1) >= 0.80194
    assert Fraction(chebyshev_delta_lower(100, scale, 1)) < Fraction(80195, 100000)
    tightest = apollonius_event(4, claimed_scale(4, 10, "1e-3"), 10)
    assert Fraction(tightest.delta_lower(10)) > Fraction(1, 1000)
    assert ball_event(4, claimed_scale(4, 10, "1e-3"), "0.03").delta_lower(10) < 0.001  # the one cell it misses


def test_the_apollonius_ball_is_sharp_as_the_scale_grows():
    scale, epsilon = 10**6, "1"
    bound = apollonius_event(5, scale, epsilon).delta_lower(epsilon)
    profile = SphericalLoss(5, RandomDirectionGaussian(scale)).certified_delta(epsilon)
    assert profile.upper * (1 - 1e-6) < bound <= profile.upper


def test_the_probabilities_of_the_apollonius_ball_by_quadrature():
    """The chords of the ball seen from the two centres, integrated over directions by mpmath."""
    dim, sigma, epsilon = 5, mpmath.mpf(40), mpmath.mpf(1)
    stretch = mpmath.exp(epsilon / (dim - 1))
    centre, radius = 1 / (stretch**2 - 1), stretch / (stretch**2 - 1)
    kappa = mpmath.gamma(mpmath.mpf(dim) / 2) / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(mpmath.mpf(dim - 1) / 2))

    def within(length):
        return mpmath.erf(length / (sigma * mpmath.sqrt(2))) / 2

    def from_p(t):  # f(X) lies inside, ``centre`` in front of the middle of the ball
        half = mpmath.sqrt(radius**2 - centre**2 * (1 - t**2))
        return kappa * (1 - t**2) ** ((dim - 3) / 2) * (within(half - centre * t) + within(half + centre * t))

    def from_q(t):  # f(X') lies outside, at distance centre + 1 from the middle
        away = centre + 1
        half = mpmath.sqrt(max(0, radius**2 - away**2 * (1 - t**2)))  # 0 where the ray touches, rounding aside
        return kappa * (1 - t**2) ** ((dim - 3) / 2) * (within(away * t + half) - within(away * t - half))

    touching = mpmath.sqrt(1 - (radius / (centre + 1)) ** 2)
    p = mpmath.quad(from_p, [-1, 0, 1])
    q = 2 * mpmath.quad(from_q, [touching, 1])
    event = apollonius_event(dim, 40, 1)
    assert event.p_lower <= p <= event.p_lower * (1 + 1e-2)
    assert q <= event.q_upper <= q * (1 + 1e-2)


def test_noise_of_the_claimed_size_is_too_small_for_any_mechanism_from_35_dimensions_on():
    def below(dim):
        least = universal_error_bound(dim=dim, epsilon=1, delta="1e-5", sensitivity=1)
        return claimed_variance(dim, 1, "1e-5").nearest() < least.nearest()

    assert next(dim for dim in range(3, 60) if below(dim)) == 35


def test_the_honest_scale_follows_the_constant_of_the_apollonius_ball():
    scale = honest_scale(dim=5, epsilon=1, delta="1e-6")
    limit = (2 / mpmath.pi) ** 0.5 * apollonius_constant(5, 1).upper * 1e6
    assert abs(scale.upper / limit - 1) < 1e-5
    assert Fraction(SphericalLoss(5, RandomDirectionGaussian(scale.upper)).certified_delta(1).upper) <= Fraction("1e-6")
    below = SphericalLoss(5, RandomDirectionGaussian(Fraction(scale.lower) * (1 - Fraction(1, 2**40))))
    assert Fraction(below.certified_delta(1).lower) > Fraction("1e-6")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ball_event(5, 1, 1), "radius"),
        (lambda: ball_event(5, 1, 0), "radius"),
        (lambda: ball_event(1, 1, "0.5"), "dim"),
        (lambda: ball_event(5, 0, "0.5"), "scale"),
        (lambda: ball_event(5, 1, "0.5", shift=0), "shift"),
        (lambda: apollonius_event(5, 1, 0), "epsilon"),
        (lambda: apollonius_event(5, 1, float("nan")), "epsilon"),
        (lambda: half_space_event(5, "-1"), "scale"),
        (lambda: best_ball_event(5, 1, float("inf")), "epsilon"),
        (lambda: best_ball_event(1, 1, 1), "dim"),
        (lambda: honest_scale(dim=5, epsilon=1, delta=1), "delta"),
        (lambda: honest_scale(dim=5, epsilon=-1, delta="0.1"), "epsilon"),
        (lambda: honest_scale(dim=1, epsilon=1, delta="0.1"), "dim"),
        (lambda: honest_scale(dim=True, epsilon=1, delta="0.1"), "dim"),
    ],
)
def test_an_argument_out_of_range_is_refused(call, name):
    with pytest.raises(InvalidValue) as refused:
        call()
    assert refused.value.name.startswith(name)


def test_an_event_whose_neighbour_probability_is_forgotten_is_noticed():
    """Planted: without Q(S), what the event shows exceeds the certified profile."""
    event = apollonius_event(5, 10**6, 1)
    profile = SphericalLoss(5, RandomDirectionGaussian(10**6)).certified_delta(1)
    assert dataclasses.replace(event, q_ball=arb(0)).delta_lower(1) > profile.upper >= event.delta_lower(1)
