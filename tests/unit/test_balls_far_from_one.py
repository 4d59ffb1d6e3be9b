"""Enclosures of numbers far from 1 are shown, and compared with rationals, without writing out their own rationals."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import Enclosure, precision


def dyadic(mantissa: int, exponent: int) -> Enclosure:
    point = arb((mantissa, exponent))
    return Enclosure(point, point)


@given(
    st.integers(-(2**53), 2**53).filter(lambda m: m % 2 == 1),
    st.one_of(st.integers(4097, 6000), st.integers(-6000, -4097)),
    st.integers(1, 20),
)
def test_the_decimals_of_a_far_point_are_on_either_side_and_next_to_each_other(m: int, e: int, digits: int) -> None:
    lower, upper = (Decimal(end) for end in dyadic(m, e).show(digits).strip("[]").split(", "))
    point = m * Fraction(2) ** e
    assert Fraction(lower) < point < Fraction(upper)
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = digits, -(10**6), 10**6
        assert context.next_plus(lower) == upper


@pytest.mark.parametrize("exponent", [-(10**12), 10**12])
def test_a_point_whose_rational_would_fill_the_memory_is_shown_and_compared(exponent: int) -> None:
    point, minus = dyadic(3, exponent), dyadic(-3, exponent)
    assert "e" in point.show(3)
    assert minus.show(3).startswith("[-")
    for value in (0, 1, "-1", "1e-300", Fraction(1, 3)):
        assert not point.contains(value)
        assert not minus.contains(value)
    assert Enclosure(arb(-1), arb(1)).contains("1/3")


def test_a_point_at_an_end_is_contained() -> None:
    end = dyadic(3, -200)
    assert end.contains(3 * Fraction(2) ** -200)
    assert not end.contains(3 * Fraction(2) ** -200 + Fraction(2) ** -900)


def test_a_point_beyond_all_decimals_is_between_its_bounds() -> None:
    tiny, huge = dyadic(3, -(10**30)), dyadic(3, 10**30)
    assert tiny.show() == "[0, 1e-2000000000000000]"
    assert huge.show() == "[1e+2000000000000000, inf]"
    assert dyadic(-3, -(10**30)).show() == "[-1e-2000000000000000, 0]"
    assert dyadic(-3, 10**30).show() == "[-inf, -1e+2000000000000000]"
    assert (tiny.lower, tiny.upper) == (0, 5e-324)


def test_the_bounds_of_such_a_point_are_on_the_right_side() -> None:
    with precision(64):
        tens, bits = arb(2 * 10**15) * arb(10).log(), arb(2**53) * arb(2).log()
        assert tens < bits
