"""The curves of N(0, 1) against N(mu, 1) in balls: exact at the edges, symmetric, and each the inverse of the other.

Their values are checked in tests/soundness/test_gaussian_enclosures.py and tests/vectors/test_vectors_gaussian.py.
"""

from fractions import Fraction

import pytest
from flint import arb

from dpverdict.balls import Real, precision
from dpverdict.numerics.gaussian import (
    FEWEST,
    advantage_ball,
    beta_ball,
    delta_ball,
    delta_balls,
    epsilon_ball,
    log_delta_ball,
)

MUS = [Real.of("0.01"), Real.of(1), Real.of(7)]


@pytest.mark.parametrize("mu", MUS, ids=str)
@pytest.mark.parametrize("epsilon", ["-2", "0", "0.3", "5"])
def test_every_form_of_the_profile_is_the_same_number(mu: Real, epsilon: str) -> None:
    at = Real.of(epsilon)
    with precision(200):
        delta = delta_ball(at, mu)
        assert log_delta_ball(at, mu).overlaps(delta.log())
        assert not log_delta_ball(at, mu).overlaps((delta * (1 + arb("1e-15"))).log())


@pytest.mark.parametrize("mu", MUS, ids=str)
def test_the_profile_at_zero_is_the_advantage(mu: Real) -> None:
    with precision(200):
        assert delta_ball(Real.of(0), mu).overlaps(advantage_ball(mu))
        assert not delta_ball(Real.of("0.001"), mu).overlaps(advantage_ball(mu))


@pytest.mark.parametrize("mu", MUS, ids=str)
def test_the_trade_off_function_is_its_own_inverse(mu: Real) -> None:
    with precision(200):
        beta = beta_ball(Real.of("0.1"), mu)
        middle = Real.of(Fraction(float(beta.mid())))
        assert abs(beta_ball(middle, mu) - arb("0.1")) < 1e-12


@pytest.mark.parametrize("delta", ["1e-200", "1e-6", "0.1"])
def test_epsilon_is_a_root_of_the_profile(delta: str) -> None:
    """The profile falls through delta between the two ends of the ball."""
    with precision(256):
        root = epsilon_ball(Real.of(delta), Real.of(1))
        lower, upper = (
            Real.of(Fraction(float(end))) for end in (root.lower() - arb("1e-9"), root.upper() + arb("1e-9"))
        )
        assert delta_ball(lower, Real.of(1)) > arb(delta)
        assert delta_ball(upper, Real.of(1)) < arb(delta)
    assert epsilon_ball(Real.of("0.99"), Real.of(1)) == 0


def test_many_epsilons_are_the_same_as_one_by_one() -> None:
    """Those that lie close together are expanded about common centres."""
    epsilons = [0.7 + i / 1000 for i in range(4 * FEWEST)]
    together = delta_balls(epsilons, Real.of(1))
    with precision(200):
        for epsilon, found in zip(epsilons, together, strict=True):
            assert found.overlaps(delta_ball(Real.of(epsilon), Real.of(1)))
            assert found.rad() < 1e-12 * found.mid()
            assert not found.overlaps(delta_ball(Real.of(epsilon + 0.001), Real.of(1)))
