"""What a finding rests on is kept while somebody records, and written in numbers and text that other tools read."""

from fractions import Fraction

import pytest
import sympy
from flint import arb, fmpq

from dpverdict.balls import Real, ball, precision
from dpverdict.proofs.checks.boxes import equal, positive_on_box, rounds_to, smaller
from dpverdict.proofs.checks.evidence import (
    Evidence,
    Expressions,
    is_recorded,
    note,
    number,
    recorded,
    variable,
    written,
)
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.vertices import every, form_of


def test_nothing_is_kept_unless_somebody_records() -> None:
    def never() -> Evidence:
        raise AssertionError("evidence was written for nobody")

    note(never)
    with recorded() as kept:
        assert is_recorded()
        note(lambda: {"kind": "case"})
    note(never)
    assert kept.pieces == [{"kind": "case"}]
    assert not is_recorded()


def test_numbers_are_exact_and_balls_are_their_ends() -> None:
    assert number(Fraction(-7, 4)) == "-7/4"
    assert number(2**200) == "1*2**200"
    assert number(Fraction(3, 2**60)) == "3*2**-60"
    assert written((1, Fraction(1, 2), True)) == {"list": ["1", "1/2", True]}
    assert written(object()) is None
    with precision(64):
        third = written(arb(1) / 3)
    assert isinstance(third, list)
    low, high = (eval(end, {}) for end in third)  # the notation is Python's
    assert abs(low - 1 / 3) < 1e-16
    assert 0 <= high - low < 1e-16


def test_symbols_get_names_that_can_be_read() -> None:
    texts = Expressions()
    one, other = sympy.Symbol("lambda", positive=True), sympy.Symbol("x", real=True)
    again = sympy.Symbol("x", positive=True, integer=True)
    assert sympy.sympify(texts.text(other + again)).free_symbols == {sympy.Symbol("x"), sympy.Symbol("x_")}
    assert texts.text(one) == "lambda_"
    assert set(texts.variables().values()) == {"positive real", "real", "positive integer"}


def test_every_means_of_proof_keeps_what_it_found() -> None:
    x = sympy.Symbol("x", positive=True)
    with recorded() as kept:
        identity("i", (x + 1) ** 2, x**2 + 2 * x + 1)
        identity("false", x, 2 * x)
        positive("p", x**2 + 1 - x, {x: 1})
        nonnegative("n", -x, {x: 1})
        positive_on_box("b", lambda t: t * t + 1 - t, {"t": (-1, 1)})
        positive_on_box("outside", lambda t: t - 2, {"t": (-1, 1)})
        smaller("s", Real.of(1), Real.of(2).sqrt(), scope="")
        equal("e", Real.of(1), Real.of(2), scope="")
        rounds_to("r", Real.of(2).sqrt(), "1.414", scope="")
        every("v", [(1, 1), (1, 0)], lambda v: form_of([[2, 1], [1, 2]])(v) == Fraction(2, 3), over="v", cases=2)
    pieces = kept.pieces
    assert [piece["kind"] for piece in pieces] == [
        *("identity", "difference", "inequality", "failure", "boxes", "box failure"),
        *("comparison", "comparison", "rounding", "case", "inverse", "case", "inverse"),
    ]
    assert pieces[0]["sides"] == [["(x + 1)**2", "x**2 + 2*x + 1"]]
    assert pieces[2]["numerator"] == "t_x**2 + t_x + 1"
    assert pieces[6]["signs"] == ["<"]
    assert pieces[7]["holds"] is False
    assert pieces[10]["values"] == [[["1", "1"], "2/3"]]


def test_what_has_no_room_is_counted() -> None:
    with recorded(3) as kept:
        every("v", range(10), lambda v: v < 20, over="v", cases=10)
        smaller("s", Real.of(1), Real.of(2), scope="")
    assert [piece["kind"] for piece in kept.pieces] == ["case", "case", "case"]
    assert kept.left_out == 8


@pytest.mark.parametrize("box", [(0, 4), (-1, 1)])
def test_the_parts_of_a_box_have_its_length(box: tuple[int, int]) -> None:
    with recorded() as kept:
        positive_on_box("b", lambda t: (t * t - t).exp() - arb("0.5"), {"t": box})
    parts = [[Fraction(end) for end in flat] for flat, _ in kept.pieces[0]["parts"]]
    assert sum(high - low for low, high in parts) == box[1] - box[0]
    assert kept.pieces[0]["expression"].startswith("(exp(")


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
