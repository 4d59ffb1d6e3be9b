"""Balls: exact inputs, certain comparisons, endpoints rounded outward."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import (
    Enclosure,
    Enclosures,
    Real,
    at_most,
    ball,
    compare,
    doublings,
    exactly,
    float_down,
    float_up,
    precision,
    refine,
    sqrt_up,
)
from dpverdict.errors import InvalidValue, PrecisionExhausted

rationals = st.fractions(max_denominator=10**12)
floats = st.floats(allow_nan=False, allow_infinity=False)


def exact(endpoint):
    """The exact rational value of an exact ball."""
    mantissa, exponent = endpoint.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# Exact numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "rational"),
    [
        (3, Fraction(3)),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(3602879701896397, 2**55)),
        ("0.1", Fraction(1, 10)),
        (" 1e-300 ", Fraction(1, 10**300)),
        ("2/3", Fraction(2, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(2, 3), Fraction(2, 3)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.int64(7), Fraction(7)),
        (np.array(2.5)[()], Fraction(5, 2)),
    ],
)
def test_a_number_is_taken_at_its_exact_value(value, rational):
    assert exactly(value) == rational


def test_a_numpy_integer_does_not_overflow_inside_a_fraction():
    assert exactly(np.int64(2**62)) * 4 == 2**64


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "nan", "inf", "", "one", "1/0", True, np.True_, None, 1j, b"1", [1], "1e100001"],
)
def test_what_is_not_a_finite_number_is_refused(value):
    with pytest.raises(InvalidValue, match=r"^mu="):
        exactly(value, name="mu")


def test_an_error_says_name_value_requirement_and_remedy_on_one_line():
    with pytest.raises(InvalidValue) as caught:
        exactly(math.nan, name="mu")
    assert (caught.value.name, caught.value.requirement) == ("mu", "a finite real number")
    assert "\n" not in str(caught.value)
    assert caught.value.remedy in str(caught.value)


# Precision ------------------------------------------------------------------------------------------------------------


def test_the_precision_is_restored_after_an_error():
    before = ctx.prec
    with pytest.raises(ZeroDivisionError), precision(200):
        raise ZeroDivisionError
    assert ctx.prec == before


def test_refine_raises_the_precision_until_the_ball_is_accurate():
    def cancelling():
        return (1 + arb(2) ** -300) - 1

    assert refine(cancelling).rel_accuracy_bits() >= 53


def test_doublings_end_with_the_last_that_is_allowed() -> None:
    assert list(doublings(3, 24)) == [3, 6, 12, 24]
    assert list(doublings(3, 23)) == [3, 6, 12]
    assert list(doublings(3, 2)) == []


def test_refine_gives_no_weak_answer():
    with pytest.raises(PrecisionExhausted, match="sine of pi"):
        refine(lambda: arb.pi().sin(), max_bits=500, name="the sine of pi")


# Directed rounding ----------------------------------------------------------------------------------------------------


def test_the_float_of_a_ball_is_not_a_bound_but_float_up_is():
    with precision(128):
        uppers = [(arb(k).sqrt() + k).upper() for k in range(2, 400)]
        below = sum(Fraction(float(upper)) < exact(upper) for upper in uppers)
        assert below > 100  # the trap: the float of an upper endpoint often lies below it
        assert all(Fraction(float_up(upper)) >= exact(upper) for upper in uppers)
        assert all(Fraction(float_down(upper)) <= exact(upper) for upper in uppers)


@given(rationals)
def test_floats_are_rounded_outward_and_are_neighbours(rational):
    with precision(200):
        low, high = float_down(ball(rational)), float_up(ball(rational))
    assert Fraction(low) <= rational <= Fraction(high)
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@given(floats)
def test_a_float_rounds_to_itself(value):
    assert float_down(arb(value)) == value == float_up(arb(value))


@pytest.mark.parametrize(
    ("exponent", "down", "up"),
    [
        (-320, 1e-320, math.nextafter(1e-320, 1)),
        (-400, 0.0, 5e-324),
        (-216937, 0.0, 5e-324),
        (400, 1.7976931348623157e308, math.inf),
    ],
)
def test_numbers_beyond_the_range_of_float64_are_rounded_outward(exponent, down, up):
    with precision(100):
        value = arb(10) ** exponent
        assert (float_down(value), float_up(value)) == (down, up)
        assert (float_down(-value), float_up(-value)) == (-up, -down)


def test_zero_has_no_sign():
    assert math.copysign(1, float_up(arb(0))) == math.copysign(1, float_down(arb(0))) == 1


# Reals and comparisons ------------------------------------------------------------------------------------------------


def test_the_square_root_of_a_square_is_rational():
    assert Real.of("9/4").sqrt().rational == Fraction(3, 2)
    assert Real.of(2).sqrt().rational is None


def test_a_multiple_of_a_rational_number_is_rational() -> None:
    assert Real.of("2/3").times(Fraction(3)).rational == 2
    root = Real.of(2).sqrt()
    assert root.times(Fraction(0)).rational == 0
    assert root.times(Fraction(3)).rational is None
    assert root.times(Fraction(3)).nearest() == 18**0.5


def test_a_number_that_may_be_0_can_be_shown() -> None:
    nothing = Real(lambda: Real.of(2).sqrt().ball() ** 2 - 2)
    assert repr(nothing).startswith("Real([")


def test_comparison_has_three_values():
    root = Real.of(2).sqrt()
    assert compare(root, Real.of("1.41421356237309504880168872420969807856967187537694")) == 1
    assert compare(root, Real.of("1.41421356237309504880168872420969807856967187537695")) == -1
    assert compare(Real.of("1/3"), Real.of(Fraction(1, 3))) == 0
    square = Real(lambda: root.ball() * root.ball())
    assert compare(square, Real.of(2)) is None  # equal, and no precision can tell
    assert at_most(square, Real.of(2)) is None
    assert at_most(root, Real.of(2)) is True
    assert at_most(Real.of(2), root) is False


@given(rationals, rationals)
def test_rationals_are_compared_exactly(left, right):
    assert compare(Real.of(left), Real.of(right)) == (left > right) - (left < right)


@given(st.floats(1e-150, 1e150))
def test_the_rounded_square_root_is_large_enough_and_not_much_larger(value):
    scale = sqrt_up(Real.of(value))
    assert Fraction(scale) ** 2 >= Fraction(value)
    assert Fraction(scale) ** 2 <= Fraction(value) * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("square", [0, -1, "1e-700", "1e700"])
def test_a_scale_that_is_not_a_normal_float_is_refused(square):
    with pytest.raises((InvalidValue, PrecisionExhausted)):
        sqrt_up(Real.of(square))


# Enclosures -----------------------------------------------------------------------------------------------------------


@given(rationals)
def test_an_enclosure_contains_its_number_and_is_narrow(rational):
    enclosure = Enclosure.of(Real.of(rational))
    assert enclosure.contains(rational)
    assert Fraction(enclosure.lower) <= rational <= Fraction(enclosure.upper)
    if rational:
        assert not enclosure.contains(rational * (1 + Fraction(1, 2**50)))
        assert not enclosure.contains(rational * (1 - Fraction(1, 2**50)))


def test_an_enclosure_keeps_its_sharpness_below_the_range_of_float64():
    tiny = Enclosure.of(Real.of("1e-10000"))
    assert (tiny.lower, tiny.upper) == (0.0, 5e-324)
    assert tiny.contains("1e-10000")
    assert not tiny.contains("1.000000000000001e-10000")
    assert not tiny.contains(0)
    assert tiny.show(5) == "[1e-10000, 1.0001e-10000]" or tiny.show(5).startswith("[9.9999e-10001")


def test_the_endpoints_shown_are_rounded_outward():
    assert Enclosure.of(Real.of(300)).show(9) == "[300, 300]"
    assert Enclosure.of(Real.of(12345)).show(3) == "[1.23e+4, 1.24e+4]"
    shown = Enclosure.of(Real.of("2/3")).show(4)
    assert shown == "[0.6666, 0.6667]"


def test_an_infinite_enclosure_is_a_point():
    enclosure = Enclosure.of_ball(arb("inf"))
    assert (enclosure.lower, enclosure.upper) == (math.inf, math.inf)


def test_endpoints_out_of_order_and_undefined_ones_are_refused():
    with pytest.raises(InvalidValue):
        Enclosure(arb(1), arb(0))
    with pytest.raises(InvalidValue):
        Enclosure.of_ball(arb("nan"))
    with pytest.raises(InvalidValue):
        Enclosures([arb(1), arb("nan")])


def test_enclosures_agree_with_single_enclosures():
    with precision(73):
        third = arb(1) / 3
        wide = arb(1).union(arb(2))
        balls = [third, -third, wide, arb(0), arb(3), arb("inf"), arb(10) ** -320, arb(10) ** -400, arb(10) ** 400]
    enclosures = Enclosures(balls)
    assert len(enclosures) == len(balls)
    for i, value in enumerate(balls):
        single = Enclosure.of_ball(value)
        assert enclosures.lower[i] <= single.lower
        assert enclosures.upper[i] >= single.upper
        assert (enclosures[i].lower, enclosures[i].upper) == (single.lower, single.upper)
        assert single.upper == math.inf or enclosures.upper[i] <= math.nextafter(single.upper, math.inf)
    assert (enclosures.lower[4], enclosures.upper[4]) == (3.0, 3.0)
    assert (enclosures.lower[5], enclosures.upper[5]) == (math.inf, math.inf)
    assert len(enclosures[2:5]) == 3


@given(st.lists(st.tuples(floats, st.integers(40, 120)), min_size=1, max_size=20))
def test_the_arrays_of_enclosures_bound_every_point_of_the_balls(entries):
    balls = []
    for value, bits in entries:
        with precision(bits):
            balls.append(arb(value) * (arb(1) / 3))
    enclosures = Enclosures(balls)
    for value, low, high in zip(balls, enclosures.lower, enclosures.upper, strict=True):
        with precision(3000):
            assert arb(float(low)) <= value.lower()
            assert arb(float(high)) >= value.upper()
