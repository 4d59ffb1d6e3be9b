"""Inequalities on boxes and between numbers: decided, refuted with a point, or left open."""

import runpy
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb
from sympy import Symbol

from dpverdict.balls import Real
from dpverdict.proofs.checks import boxes
from dpverdict.proofs.checks.boxes import equal, increasing_on_box, not_larger, positive_on_box, rounds_to, smaller
from dpverdict.proofs.checks.evidence import recorded
from dpverdict.proofs.ledger.certificates import FORMAT, seal
from dpverdict.proofs.ledger.recheck import recheck

x = Symbol("x")
CHECKER = runpy.run_path(str(Path(__file__).parents[4] / "tests" / "certificate_checker.py"))


def test_boxes_decide_inequalities_and_say_where_they_fail() -> None:
    assert positive_on_box("a", lambda x, y: x * x + y * y + 1, {"x": (-3, 3), "y": (-3, 3)}).holds is True
    found = positive_on_box("b", lambda x: x - Fraction(1).numerator, {"x": ("1/2", 2)})
    assert found.holds is False
    assert positive_on_box("touches 0", lambda x: x * x, {"x": (-1, 1)}, most=500).holds is not True
    open_box = positive_on_box("too few balls", lambda x: x * x - x + arb("0.2501"), {"x": (0, 1)}, most=3)
    assert open_box.holds is None
    assert "undecided after 3 balls, on 0 <= x <= 0.5: [" in open_box.witness


def test_what_is_false_on_a_large_part_is_refuted_where_a_deep_search_comes_to_a_curve_of_zeros() -> None:
    """Undecided before, after 100 000 balls at one point of the curve: half of Proposition 3.3 of Bun and Steinke."""

    def half(alpha: arb, eps: arb) -> arb:
        u, v = (alpha - arb("0.5")) * eps, eps / 2
        return (u * u - v * v) / 4 - u.cosh().log() + v.cosh().log()

    found = positive_on_box("half", half, {"alpha": ("1.1", 4), "eps": ("0.1", 3)}, most=200)
    assert found.holds is False
    assert "eps = " in found.witness


def nearly_touching(x: arb) -> arb:
    """(x - 1)^2 + 1e-6, in a form in which balls lose."""
    return x * x - 2 * x + 1 + arb("1e-6")


def test_the_centred_form_decides_where_plain_balls_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    found = positive_on_box("near 0 at 1", nearly_touching, {"x": (0, 3)}, most=500)
    assert found.holds is True
    assert 0 < float(found.margin) <= 1e-6
    monkeypatch.setattr(boxes, "_centred", lambda function, part, plain: plain)
    assert positive_on_box("near 0 at 1", nearly_touching, {"x": (0, 3)}, most=500).holds is None


def test_the_centred_form_shows_nothing_that_is_false() -> None:
    below = positive_on_box("below 0 at 1", lambda x: nearly_touching(x) - arb("1.1e-6"), {"x": (0, 3)}, most=500)
    assert below.holds is not True
    two = positive_on_box("0 at x = y", lambda x, y: (x - y) * (x - y), {"x": (0, 1), "y": (0, 1)}, most=500)
    assert two.holds is not True
    kink = positive_on_box("no derivative", lambda x: abs(x - arb("1/3")) - arb("1e-9"), {"x": (0, 1)}, most=500)
    assert kink.holds is not True


def test_parts_that_the_centred_form_decided_are_read_again() -> None:
    with recorded(2000) as kept:
        assert positive_on_box("near 0 at 1", nearly_touching, {"x": (0, 3)}, most=500).holds
    condition = {"name": "near 0 at 1", "holds": True, "evidence": kept.pieces, "left_out": 0}
    made = {"format": FORMAT, "readings": [{"reading": "as printed", "conditions": [condition]}]}
    assert recheck({**made, "sha256": seal(made)}) == {"proved from the file": 1}
    assert CHECKER["check"](made, sealed=False) == {"proved": 1}


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
