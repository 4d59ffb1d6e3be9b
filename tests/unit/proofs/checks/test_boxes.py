"""Inequalities on boxes and between numbers: decided, refuted with a point, or left open."""

from fractions import Fraction

from flint import arb
from sympy import Symbol

from dpverdict.balls import Real
from dpverdict.proofs.checks.boxes import equal, increasing_on_box, not_larger, positive_on_box, rounds_to, smaller

x = Symbol("x")


def test_boxes_decide_inequalities_and_say_where_they_fail() -> None:
    assert positive_on_box("a", lambda x, y: x * x + y * y + 1, {"x": (-3, 3), "y": (-3, 3)}).holds is True
    found = positive_on_box("b", lambda x: x - Fraction(1).numerator, {"x": ("1/2", 2)})
    assert found.holds is False
    assert positive_on_box("touches 0", lambda x: x * x, {"x": (-1, 1)}, most=500).holds is not True
    open_box = positive_on_box("too few balls", lambda x: x * x - x + arb("0.2501"), {"x": (0, 1)}, most=3)
    assert open_box.holds is None
    assert "undecided after 3 balls, on 0.75 <= x <= 1: [" in open_box.witness


def test_slopes_on_a_box() -> None:
    assert increasing_on_box("cube", lambda x: x * x * x, "0.1", 2).holds is True
    assert increasing_on_box("square", lambda x: x * x, -1, 1).holds is False


def test_comparisons_of_two_numbers() -> None:
    third, root = Real.of("1/3"), Real.of(2).sqrt()
    assert smaller("a", third, root, scope="s").holds is True
    assert smaller("b", third, third, scope="s").holds is False
    assert not_larger("c", third, third, scope="s").holds is True
    assert equal("d", third, Real.of("0.3333"), scope="s").holds is False
    assert equal("e", root, Real.of(2).sqrt(), scope="s").holds is None  # equal, but no precision shows it
    assert rounds_to("f", root, "1.4142", scope="s").holds is True
    assert rounds_to("g", root, "1.4143", scope="s").holds is False


def test_a_number_that_may_be_0_is_compared_and_shown() -> None:
    found = smaller("0 < 1", Real(lambda: arb(2).sqrt() - arb(2).sqrt()), Real.of(1), scope="two numbers")
    assert found.holds is True
    assert found.sides[0][1:] == ("<", "1")
