"""Moments of random allocation: their closed forms, a simulation, and the certified profile below the bound."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling import allocation_moments
from dpverdict.audit.sampling.allocation_moments import delta_at_most

ONE = Fraction(1)
PROFILE = {Direction.REMOVE: 2.78286899918157e-3, Direction.ADD: 4.86185808500802e-4}
"""delta(1) at noise 1 and 10 steps."""


def test_the_moments_are_those_of_their_closed_forms() -> None:
    second, third = allocation_moments._moments(ONE, 10)[2:4]
    e = math.e
    assert float(second) == pytest.approx(1 + (e - 1) / 10, rel=1e-14)
    assert float(third) == pytest.approx((10 * e**3 + 3 * 90 * e + 720) / 1000, rel=1e-14)


def test_the_inverse_moments_are_just_above_those_of_a_simulation() -> None:
    """10^5 draws, seed 5: five standard errors, 6e-7 of chance each."""
    ratio = np.exp(np.random.default_rng(5).standard_normal((100_000, 10)) - 0.5).mean(axis=1)
    for b in (1, 2, 4):
        inverse = ratio**-b
        bound = float(allocation_moments._inverse_moments(ONE, 10)[b - 1])
        assert abs(bound - inverse.mean()) < 5 * inverse.std() / math.sqrt(100_000) + 1e-3


@pytest.mark.parametrize("order", list(Direction))
def test_the_bound_is_above_the_profile_and_falls(order: Direction) -> None:
    bound = delta_at_most(ONE, 10, 1, ONE, order)
    assert PROFILE[order] < float(bound) < 6 * PROFILE[order]
    assert delta_at_most(ONE, 10, 1, Fraction(2), order) < bound < delta_at_most(ONE, 10, 3, ONE, order)


def test_a_moment_without_its_power_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    right = allocation_moments._moments(ONE, 10)
    monkeypatch.setattr(allocation_moments, "_moments", lambda *_: [one ** (1 / 4) for one in right])
    assert float(delta_at_most(ONE, 10, 1, Fraction(1, 4), Direction.REMOVE)) < 0.0827  # delta(1/4) is more
