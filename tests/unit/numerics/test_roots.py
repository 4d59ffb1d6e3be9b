"""Brackets of roots and of switching points shrink around them; roundings are on the side they name."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import islice

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.numerics.roots import (
    Bracket,
    as_fraction,
    bisected,
    doubled,
    float_above,
    float_below,
    least_float,
    rounded_up,
)


def shrunk(f: Callable[[Fraction], Fraction], low: int, high: int, steps: int) -> Bracket:
    """The bracket of a root of f after a number of trials."""
    bracket = Bracket(
        low=Fraction(low), high=Fraction(high), at_low=ball(f(Fraction(low))), at_high=ball(f(Fraction(high)))
    )
    for point in islice(bracket.trials(128), steps):
        value = f(point)
        bracket.narrow(point, ball(value), 1 if value > 0 else -1)
    return bracket


@pytest.mark.parametrize("f", [lambda x: 2 - x * x, lambda x: 1 - x**9 / 100, lambda x: 1 / (x + 1) - Fraction(1, 3)])
def test_a_bracket_keeps_the_root_and_shrinks(f: Callable[[Fraction], Fraction]) -> None:
    before, after = shrunk(f, 0, 4, 6), shrunk(f, 0, 4, 40)
    for bracket in (before, after):
        assert f(bracket.low) > 0 >= f(bracket.high)
    assert after.width < before.width / 2**20


def test_ends_that_are_infinite_are_halved() -> None:
    bracket = Bracket(low=Fraction(0), high=Fraction(8), at_low=arb("inf"), at_high=ball(-1))
    assert next(bracket.trials(64)) == 4


@given(st.fractions(min_value=-(10**30), max_value=10**30))
def test_the_neighbouring_floats_enclose(value: Fraction) -> None:
    below, above = float_below(value), float_above(value)
    assert below <= value <= above
    assert above == below or math.nextafter(below, math.inf) == above


def test_beyond_the_largest_float_the_bounds_stay_on_their_side() -> None:
    huge = Fraction(10) ** 400
    assert (float_above(huge), float_below(-huge)) == (math.inf, -math.inf)
    assert float_below(huge) == -float_above(-huge) == math.nextafter(math.inf, 0)


def test_a_ball_of_radius_zero_has_an_exact_value() -> None:
    for value in (Fraction(3, 8), Fraction(-(2**80)), Fraction(0)):
        assert as_fraction(ball(value)) == value


@pytest.mark.parametrize("limit", [1e-300, 0.1, 1 / 3, 0.999])
def test_the_least_float_with_a_property_is_found_to_the_last_place(limit: float) -> None:
    found = least_float(lambda x: x >= limit, 1.0)
    assert found == limit
    assert least_float(lambda x: x > limit, 1.0) == math.nextafter(limit, 1.0)


def test_rounding_up_is_certain_and_close() -> None:
    assert rounded_up(Real.of("0.5")) == 0.5
    third = rounded_up(Real.of(Fraction(1, 3)))
    assert math.nextafter(third, 0) < Fraction(1, 3) < third
    for bad in (Fraction(10) ** 400, Fraction(1, 10**400)):
        with pytest.raises(InvalidValue, match="positive normal float64"):
            rounded_up(Real.of(bad))


def test_a_switching_point_is_bracketed_to_the_last_bit() -> None:
    low, high = bisected(lambda x: x * x <= 2, 0.0, 2.0)
    assert low <= math.sqrt(2) <= high
    assert high - low <= 2**-52


def test_the_bracket_is_doubled_until_the_property_fails_or_the_end_is_reached() -> None:
    assert doubled(lambda x: x < 5, 0.0, 1.0, most=64) == (4.0, 8.0)
    assert doubled(lambda x: x < 0, 0.0, 1.0, most=64) == (0.0, 1.0)
    assert doubled(lambda x: True, 0.0, 1.0, most=64) == (32.0, 64.0)


def test_halving_ends_when_the_ends_are_close_or_the_steps_are_spent() -> None:
    asked: list[float] = []

    def holds(x: float) -> bool:
        asked.append(x)
        return x <= 0.3

    assert bisected(holds, 0.0, 1.0, steps=3) == (0.25, 0.375)
    assert asked == [0.5, 0.25, 0.375]
    low, high = bisected(holds, 0.0, 1.0, close=lambda low, high: high - low <= 0.125)
    assert (low, high) == (0.25, 0.375)
    low, high = bisected(lambda x: x <= 1e-9, 1e-30, 1.0, steps=60, middle=lambda low, high: math.sqrt(low * high))
    assert low <= 1e-9 <= high <= low * (1 + 1e-12)
