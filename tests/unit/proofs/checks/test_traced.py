"""A traced ball computes what a ball does, and its text says how."""

from fractions import Fraction

import pytest
from flint import arb, fmpq

from dpverdict.balls import ball, precision
from dpverdict.proofs.checks.traced import variable


def test_a_traced_ball_has_the_value_and_the_text_of_what_was_computed() -> None:
    x = variable("x", arb(2))
    made = (3 * x - 1).sqrt() / (fmpq(1, 2) + x) ** 2 + (-x).exp()
    assert made.text == "((sqrt(((3 * x) - 1)) / (((1/2) + x))**2) + exp((-x)))"
    assert made.value.overlaps((3 * arb(2) - 1).sqrt() / (ball(Fraction(1, 2)) + 2) ** 2 + (-arb(2)).exp())
    assert made.contains(made.value.mid())


def test_a_ball_from_elsewhere_enters_by_its_ends() -> None:
    with precision(64):
        made = arb.pi() * variable("x", arb(1))
    assert made.text.startswith("(ball(")
    assert made.text.endswith(" * x)")


@pytest.mark.parametrize("act", [lambda x: x.gamma(), lambda x: x**0.5, lambda x: x + "1"])
def test_what_is_not_traced_says_so(act: object) -> None:
    assert callable(act)
    with pytest.raises((AttributeError, TypeError)):
        act(variable("x", arb(2)))
