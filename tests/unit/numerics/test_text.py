"""Exact numbers as text: read back exactly, short where that is possible, bounds rounded to their side."""

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import Enclosure, ball
from dpverdict.numerics.text import about, at_least, at_most, decimal, exact_text, short_text, shown, told_apart, within


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


def test_an_end_that_no_float_can_hold_is_shown_beside_one_that_it_can() -> None:
    tiny, large = Enclosure.hull(arb(10) ** -400, arb(0.5)), Enclosure.hull(arb(0), arb(1063.5))
    assert (at_least(tiny), at_most(tiny)) == ("9.999e-401", "0.5")
    assert (at_least(large), at_most(large)) == ("0", "1064")


def test_an_enclosure_of_one_number_is_that_number() -> None:
    assert shown(Enclosure(ball("0.5"), ball("0.5"))) == "0.5 exactly"
    assert shown(Enclosure(arb("inf"), arb("inf"))) == "infinite"
    wide = shown(Enclosure(ball(1 / 3), ball(2 / 3)), 4)
    lower, upper = wide.strip("[]").split(", ")
    assert Fraction(lower) <= Fraction(1 / 3) < Fraction(2 / 3) <= Fraction(upper)


def enclosures() -> st.SearchStrategy[Enclosure]:
    """Of any width, of one number, and of two neighbouring float64 numbers."""
    ends = st.floats(1e-300, 1e12)
    anywhere = st.tuples(ends, ends).map(sorted)
    close = st.tuples(ends, st.integers(0, 3)).map(lambda one: [one[0], one[0] * (1 + one[1] * 2.0**-52)])
    return (anywhere | close).map(lambda pair: Enclosure(ball(pair[0]), ball(pair[1])))


def is_on_the_right_side(low: str, found: Enclosure, high: str) -> bool:
    """Whether a bound from below and one from above hold for all that is enclosed."""
    return Fraction(low) <= Fraction(found.lower) <= Fraction(found.upper) <= Fraction(high)


@given(enclosures(), st.integers(1, 8))
def test_what_is_shown_is_never_on_the_wrong_side(found: Enclosure, digits: int) -> None:
    assert is_on_the_right_side(at_least(found, digits), found, at_most(found, digits))
    text = shown(found, digits)
    if text.startswith("["):
        low, high = text.strip("[]").split(", ")
        assert is_on_the_right_side(low, found, high)
        assert about(found.lower, digits) != about(found.upper, digits)  # otherwise one number is enough
    else:
        number = text.removesuffix(" exactly")
        assert Fraction(at_least(found.lower, digits)) <= Fraction(number) <= Fraction(at_most(found.upper, digits))
        assert number == about(found.lower, digits) == about(found.upper, digits)


def test_a_bound_that_is_rounded_to_nearest_is_found() -> None:
    third = Enclosure(ball(1 / 3), ball(1 / 3))
    assert not is_on_the_right_side(at_least(third, 3), third, about(third, 3))
    assert not is_on_the_right_side(about(2 / 3, 3), Enclosure(ball(2 / 3), ball(2 / 3)), "1")


@given(enclosures(), enclosures())
def test_a_number_beside_its_claim_does_not_look_equal_to_it_or_on_its_other_side(
    one: Enclosure, other: Enclosure
) -> None:
    if one.lower > other.upper:
        found, promised = told_apart(one, other)
        assert Fraction(promised) < Fraction(found) <= Fraction(one.lower)
        assert Fraction(other.lower) <= Fraction(promised)
        nearest, _ = told_apart(one, other, about)
        assert Fraction(nearest) > Fraction(promised)
    if one.upper <= other.lower:
        found, promised = within(one, other)
        assert Fraction(one.upper) <= Fraction(found)
        assert Fraction(promised) <= Fraction(other.upper)
        assert Fraction(found) <= Fraction(promised) or one.upper == other.lower


@pytest.mark.parametrize(("above", "claim"), [(1.0000001, 1), (0.30000000000000004, 0.3)])
def test_as_few_digits_as_tell_a_number_from_its_claim(above: float, claim: float) -> None:
    found, promised = told_apart(above, claim)
    assert Fraction(found) > Fraction(promised)
    assert found != promised
    assert about(above) == about(claim)  # a planted fault: the digits of `about` alone show no difference
