"""Arguments of curves: where each is defined, and how numbers and arrays are answered."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.domains import (
    ALPHA,
    DELTA,
    EPSILON,
    ORDER,
    PROFILE,
    Domain,
    LossTails,
    certified,
    fast,
    finite_losses,
    is_number,
    midpoint,
    rounded,
)
from dpverdict.balls import ball
from dpverdict.errors import InvalidValue, PrecisionExhausted


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (EPSILON, [-1e308, "1e400", 0], [math.nan, math.inf]),
        (DELTA, [0, 1, "1e-400"], [-1e-300, "1.0000000000000000001", math.nan]),
        (ALPHA, [0, 1, Fraction(1, 3)], [1.5, -1]),
        (ORDER, ["1e-400", 1, 1e300], [0, -1, math.inf]),
    ],
)
def test_each_domain_has_its_ends(domain: Domain, inside: list, outside: list) -> None:
    for value in inside:
        assert domain.exact(value) == Fraction(value)
    for value in outside:
        with pytest.raises(InvalidValue, match=domain.name):
            domain.exact(value)
    with pytest.raises(InvalidValue, match=domain.name):
        domain.floats(np.array([0.5, math.nan]))


def test_a_number_is_no_sequence_of_one() -> None:
    assert all(map(is_number, [1, 0.5, "1/2", Fraction(1, 2), np.float64(1), np.array(1.0)]))
    assert not any(map(is_number, [[1], (1, 2), np.array([1.0])]))


def test_numbers_give_numbers_and_arrays_keep_their_shape() -> None:
    assert fast(2, EPSILON, lambda x: x * x, None) == 4.0
    shaped = fast(np.ones((2, 3)), EPSILON, lambda x: 2 * x, None)
    assert isinstance(shaped, np.ndarray)
    assert shaped.shape == (2, 3)
    assert certified("1/3", DELTA, lambda xs: [ball(x) for x in xs], PROFILE).contains("1/3")
    assert len(certified([0, 1], DELTA, lambda xs: [ball(x) for x in xs], PROFILE)) == 2  # type: ignore[arg-type]


def test_what_is_no_float_goes_to_the_balls_or_to_the_side_of_less_privacy() -> None:
    def floats(x: np.ndarray) -> np.ndarray:
        return x

    exact = fast("1/3", DELTA, floats, lambda xs: [ball(x) for x in xs])
    assert exact == 1 / 3
    assert Fraction(float(fast("1/3", DELTA, floats, None))) < Fraction(1, 3)
    assert Fraction(float(fast("1/3", ALPHA, floats, None))) > Fraction(1, 3)


def test_a_ball_too_wide_for_a_value_is_no_value() -> None:
    assert midpoint(arb(1, 1e-6)) == 1.0
    assert midpoint(arb(0, 1e-13)) == 0.0
    with pytest.raises(PrecisionExhausted, match="certified_"):
        midpoint(arb(1, 0.1))
    with pytest.raises(PrecisionExhausted):
        rounded(lambda xs: [arb(1, 0.1) for _ in xs], np.zeros((1, 2)))
    assert rounded(lambda xs: [arb(x) for x in xs], np.ones((1, 2))).shape == (1, 2)


def test_losses_and_tails_are_numbers() -> None:
    assert finite_losses(np.array([1, 2])).dtype == np.float64
    for bad in (math.nan, math.inf):
        with pytest.raises(InvalidValue):
            finite_losses(np.array([0.0, bad]))
    half = np.array([0.5])
    tails = LossTails(p_above=half, p_below=half, q_above=half, q_below=half, relative_error=1e-12)
    assert tails.relative_error == 1e-12
    with pytest.raises(InvalidValue):
        LossTails(p_above=half, p_below=half, q_above=half, q_below=half, relative_error=1.0)
