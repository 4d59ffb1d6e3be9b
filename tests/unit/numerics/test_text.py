"""Exact numbers as text: read back exactly, short where that is possible, bounds rounded to their side."""

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import Enclosure, ball
from dpverdict.numerics.text import at_least, at_most, decimal, exact_text, short_text, shown


@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction))
def test_the_exact_text_is_read_back_exactly(value: Fraction) -> None:
    assert Fraction(exact_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(Fraction(1, 4), "0.25"), (Fraction(0.1), "3602879701896397/36028797018963968"), (Fraction(10) ** 30, "1e+30")],
)
def test_the_shortest_exact_form_is_chosen(value: Fraction, text: str) -> None:
    assert exact_text(value) == text


@given(st.fractions(), st.integers(1, 12))
def test_bounds_are_rounded_to_their_side(value: Fraction, digits: int) -> None:
    assert Fraction(at_least(value, digits)) <= value <= Fraction(at_most(value, digits))
    assert Fraction(at_least(value, digits)) <= Fraction(decimal(value, digits)) <= Fraction(at_most(value, digits))


def test_what_no_float_can_hold_is_shown() -> None:
    assert at_most(math.inf) == "inf"
    assert short_text(Fraction(10) ** 400) == "1e+400"
    assert decimal(Fraction(1, 10**400), 3) == "1e-400"


def test_an_enclosure_of_one_number_is_that_number() -> None:
    assert shown(Enclosure(ball("0.5"), ball("0.5"))) == "0.5 exactly"
    assert shown(Enclosure(arb("inf"), arb("inf"))) == "infinite"
    wide = shown(Enclosure(ball(1 / 3), ball(2 / 3)), 4)
    lower, upper = wide.strip("[]").split(", ")
    assert Fraction(lower) <= Fraction(1 / 3) < Fraction(2 / 3) <= Fraction(upper)
