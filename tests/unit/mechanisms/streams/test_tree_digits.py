"""Digit systems against enumeration: exact integers throughout."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.tree import (
    SYSTEMS,
    TreeDigits,
    best_arity,
    digit_system,
    unit_mean_squared_error,
    unit_variance,
)

SMALL = [(k, w) for k in range(2, 12) for w in range(1, 7) if k**w <= 3000]
ARITIES = [(make, k) for make in (TreeDigits.offset, TreeDigits.ordinary) for k in (2, 3, 4, 5, 8, 9, 17, 20)]


@pytest.mark.parametrize("make", [TreeDigits.offset, TreeDigits.ordinary])
@pytest.mark.parametrize(("arity", "width"), SMALL)
def test_digit_strings_are_a_bijection_onto_the_stated_range(
    make: Callable[[int], TreeDigits], arity: int, width: int
) -> None:
    digits = make(arity)
    each = range(-digits.subtracted, digits.largest + 1)
    assert len(each) == arity
    numbers = {digits.decode(list(string)): list(string) for string in itertools.product(each, repeat=width)}
    least = -digits.subtracted * (arity**width - 1) // (arity - 1)
    assert sorted(numbers) == list(range(least, digits.capacity(width) + 1))
    for number, string in numbers.items():
        assert digits.encode(number, width) == string
        if number >= 0:
            assert digits.size(number) == sum(map(abs, string))
            assert [digits.cut(number, level) for level in range(width)] == [
                digits.decode(string[level:]) for level in range(width)
            ]


def test_the_ranges_are_those_of_the_definitions() -> None:
    for k in range(2, 30):
        for w in range(1, 6):
            if k % 2:
                assert TreeDigits.symmetric(k).capacity(w) == TreeDigits.offset(k).capacity(w) == (k**w - 1) // 2
            else:
                assert TreeDigits.offset(k).capacity(w) == Fraction(k * (k**w - 1), 2 * (k - 1))
            assert TreeDigits.ordinary(k).capacity(w) == k**w - 1
    assert TreeDigits.offset(2) == TreeDigits.ordinary(2)


@given(st.integers(1, 10**30), st.integers(2, 60))
def test_the_height_is_the_least_that_reaches_the_horizon(horizon: int, arity: int) -> None:
    for make in (TreeDigits.offset, TreeDigits.ordinary):
        digits = make(arity)
        height = digits.height(horizon)
        assert digits.capacity(height) >= horizon
        assert height == 1 or digits.capacity(height - 1) < horizon
        assert digits.decode(digits.encode(horizon, height)) == horizon
    ceil = next(h for h in itertools.count(1) if arity**h >= horizon + 1)
    assert TreeDigits.ordinary(arity).height(horizon) == ceil  # ceil(log_k(T + 1))
    if arity % 2:
        ceil = next(h for h in itertools.count(1) if arity**h >= 2 * horizon)
        assert TreeDigits.symmetric(arity).height(horizon) == ceil  # ceil(log_k(2T))


def test_a_height_by_floating_logarithms_would_be_wrong() -> None:
    horizon = 3**40
    assert math.ceil(math.log(horizon + 1, 3)) == 40
    assert TreeDigits.ordinary(3).height(horizon) == 41


@pytest.mark.parametrize(("make", "arity"), ARITIES)
def test_the_total_size_is_the_sum_over_all_times(make: Callable[[int], TreeDigits], arity: int) -> None:
    digits, total = make(arity), 0
    for time in range(1, 2000):
        total += digits.size(time)
        if time < 60 or time % 97 == 0:
            assert digits.total_size(time) == total
            height = digits.height(time)
            assert unit_mean_squared_error(digits, time) == Fraction(2 * height**2 * total, time)
            assert unit_variance(digits, time, time) == 2 * height**2 * digits.size(time)


@pytest.mark.parametrize("arity", [*range(2, 30), 61, 80])
@pytest.mark.parametrize("height", [1, 2, 3, 7, 29])
def test_the_closed_forms_at_full_horizons(arity: int, height: int) -> None:
    def error(digits: TreeDigits) -> Fraction:
        return unit_mean_squared_error(digits, digits.capacity(height))

    k, h, slack = Fraction(arity), height, 1 - Fraction(1, arity**height)
    assert error(TreeDigits.ordinary(arity)) == (k - 1) * h**3 / slack  # Lemma 3.5
    if arity % 2:
        assert error(TreeDigits.symmetric(arity)) == (k - 1 / k) * h**3 / (2 * slack)  # Lemma 4.7
    else:  # Claim 1
        assert error(TreeDigits.offset(arity)) == k * h**3 / (2 * slack) + (k - 2) * h**2 / (2 * (k - 1))


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_best_arity_is_the_best_of_all(system: str) -> None:
    for horizon in [*range(1, 60), 100, 331, 1024]:
        arities = [k for k in range(2, 2 * horizon + 4) if k % 2 or system != "symmetric"]
        errors = [(unit_mean_squared_error(SYSTEMS[system](k), horizon), k) for k in arities]
        assert best_arity(horizon, system) == min(errors)[1]


def test_an_even_arity_is_best_at_some_horizons_and_an_odd_one_at_others() -> None:
    best = {power: best_arity(2**power, "offset") for power in (10, 12, 14, 16, 18, 20, 24, 30, 40)}
    assert best == {10: 13, 12: 20, 14: 14, 16: 20, 18: 27, 20: 19, 24: 18, 30: 22, 40: 24}


@pytest.mark.parametrize("arity", [1, 0, -3, 2.0, "19", True, None, float("nan")])
def test_what_is_not_an_arity_is_refused(arity: object) -> None:
    for make in SYSTEMS.values():
        with pytest.raises(InvalidValue, match="arity"):
            make(arity)  # type: ignore[arg-type]


def test_symmetric_digits_require_an_odd_arity() -> None:
    with pytest.raises(InvalidValue, match="must be odd for symmetric digits: take 19 or 21"):
        TreeDigits.symmetric(20)
    with pytest.raises(InvalidValue, match="digits"):
        digit_system("roman")
    with pytest.raises(InvalidValue, match="subtracted"):
        TreeDigits(3, 2)
    with pytest.raises(InvalidValue, match="3 digits"):
        TreeDigits.offset(3).encode(14, 3)
