"""Brackets of the point up to which a property holds."""

import math

from dpverdict.numerics.roots import bisected, doubled


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
