"""Surds obey the rules of a field with an order, and say the truth about both."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import Real, compare
from dpverdict.errors import InvalidValue
from dpverdict.numerics.exact import Surd

rationals = st.fractions(min_value=-50, max_value=50, max_denominator=60)
surds = st.builds(lambda a, b: Surd(a, b, 7), rationals, rationals)


@given(surds, surds, surds)
def test_the_field_laws_hold(x: Surd, y: Surd, z: Surd) -> None:
    assert x + y == y + x
    assert x * (y + z) == x * y + x * z
    assert (x - y) + y == x
    assert x - x == 0
    assert (x**0, x**1, x**3) == (1, x, x * x * x)
    if y != 0:
        assert (x / y) * y == x
        assert 1 / y == Surd.of(1) / y


@given(surds, surds)
def test_order_and_value_are_those_of_the_real_number(x: Surd, y: Surd) -> None:
    sign = compare(x.real(), y.real(), max_bits=512)
    assert (x - y).sign() == (sign or 0)
    assert (x < y, x == y, x > y) == ((x - y).sign() < 0, (x - y).sign() == 0, (x - y).sign() > 0)
    assert x <= y or x >= y
    if x == y:
        assert hash(x) == hash(y)


def test_a_perfect_square_is_rational() -> None:
    assert Surd(Fraction(1), Fraction(2), 9) == Surd.of(7)
    assert Surd(Fraction(1), Fraction(2), 9).real().rational == 7
    assert Surd.root(0) == 0
    assert repr(Surd.root(3)) == "Surd(0 + 1 sqrt(3))"


def test_a_scale_is_rounded_up() -> None:
    for k in range(1, 200):
        variance = (1 + Surd.root(k)) / 3
        scale = Fraction(variance.scale_up())
        assert Surd.of(scale**2) >= variance
        assert Surd.of((scale * (1 - Fraction(1, 2**50))) ** 2) < variance
    assert Surd.of(0).scale_up() == 0.0


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^radicand=-1 must be >= 0"):
        Surd.root(-1)
    with pytest.raises(InvalidValue, match="the same in both numbers"):
        Surd.root(2) + Surd.root(3)
    with pytest.raises(ZeroDivisionError):
        1 / Surd.of(0)
    assert Surd.of(1) != "1"
    assert Real.of(2).sqrt().nearest() == Surd.root(2).real().nearest()
