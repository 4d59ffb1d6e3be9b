"""The building blocks of checks: identities, inequalities by coefficients, boxes, brute force."""

from fractions import Fraction

import mpmath
import pytest
import sympy
from flint import arb
from sympy import Integer, Matrix, Symbol, sqrt, symbols

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.boxes import equal, increasing_on_box, not_larger, positive_on_box, rounds_to, smaller
from dpverdict.proofs.checks.drawings import formula_svg
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.checks.vertices import binary_records, every, form_of, grid_records, shared_noise_covariance
from dpverdict.proofs.lebeda2024.notation import C, d, mu, released, s1, s2

x = Symbol("x")
p, q = symbols("p q", positive=True)


def test_an_identity_holds_and_its_neighbours_do_not() -> None:
    assert identity("square", (p + q) ** 2, p**2 + 2 * p * q + q**2).holds is True
    found = identity("square", (p + q) ** 2, p**2 + p * q + q**2)
    assert found.holds is False
    assert found.witness.startswith("p = 7/3, q = 13/11: ")
    assert identity("roots", sqrt(p) * sqrt(p), p).holds is True


def test_matrices_are_compared_entry_by_entry() -> None:
    assert identity("m", Matrix([[p, 1]]), Matrix([[p, 1]])).holds is True
    assert identity("m", Matrix([[p, 1]]), Matrix([[p, 2]])).holds is False
    with pytest.raises(ValueError, match="zip"):
        identity("m", Matrix([[p, 1]]), Matrix([[p]]))


def test_a_difference_beyond_all_points_tried_is_undecided_not_true(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverdict.proofs.checks import identities as identities

    roots = sympy.prod([x - Fraction(point) for point in identities._POINTS])
    found = identity("vanishes where it is looked at", x + roots, x)
    assert found.holds is None
    monkeypatch.setattr(identities, "_simplified", lambda expression: Integer(0))
    assert identity("a lying simplifier is caught by the points", p, 2 * p).holds is False


def test_positive_coefficients_decide_and_points_refute() -> None:
    assert positive("a", x**2 - x + 1, {x: 1}).holds is True
    assert positive("b", x - 1, {x: 1}).holds is False
    assert nonnegative("c", x - 1, {x: 1}).holds is True
    assert nonnegative("d", 100 - x, {x: 1}).holds is False
    assert positive("e", (x - 5) ** 2 + Fraction(1, 100), {x: 1}).holds is None  # true, but not by coefficients
    assert positive("f", x**2 - 2, {x: sqrt(2)}).holds is False
    assert nonnegative("g", x**2 - 2, {x: sqrt(2)}).holds is True
    assert nonnegative("h", 1 - sqrt(x), {x: 1}).holds is False  # not rational: a point decides
    with pytest.raises(InvalidValue, match="range of every symbol"):
        positive("i", x + p, {x: 1})


def test_boxes_decide_inequalities_and_say_where_they_fail() -> None:
    assert positive_on_box("a", lambda x, y: x * x + y * y + 1, {"x": (-3, 3), "y": (-3, 3)}).holds is True
    found = positive_on_box("b", lambda x: x - Fraction(1).numerator, {"x": ("1/2", 2)})
    assert found.holds is False
    assert positive_on_box("touches 0", lambda x: x * x, {"x": (-1, 1)}, most=500).holds is not True
    assert positive_on_box("too few balls", lambda x: x * x - x + arb("0.2501"), {"x": (0, 1)}, most=3).holds is None


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


def test_brute_force_looks_at_something() -> None:
    assert every("none", [], lambda item: True, scope="nothing").holds is None
    assert every("some", [1, 2, 3], lambda item: item < 3, scope="three").witness == "3"
    assert len(list(binary_records(4))) == 16
    assert len(list(binary_records(4, 2))) == 11
    assert len(list(grid_records(2, 3))) == 16


def test_dense_algebra_agrees_with_the_form_at_inner_points() -> None:
    vz, ve = Fraction(3, 2), Fraction(2, 5)
    form = form_of(shared_noise_covariance(3, vz, ve))
    symbolic = released(sympy.Rational(vz), sympy.Rational(ve)).subs(d, 3)
    for record in grid_records(3, 2):
        s1_value, s2_value = sum(record), sum(value**2 for value in record)
        value = symbolic.subs({s1: sympy.Rational(s1_value), s2: sympy.Rational(s2_value)})
        assert form((*record, 1)) == Fraction(str(value))
    with pytest.raises(ZeroDivisionError):
        form_of([[1, 1], [1, 1]])


@pytest.mark.parametrize("dim", [2, 3, 5, 7])
def test_theorem_3_1_by_a_second_library(dim: int) -> None:
    """mpmath and LU decomposition, at 60 digits, share nothing with the symbolic check, nor with the balls."""
    with mpmath.workdps(60):
        vz, ve = (dim + mpmath.sqrt(dim)) / 4, (mpmath.sqrt(dim) + 1) / 4
        covariance = mpmath.matrix(dim + 1)
        for i in range(dim + 1):
            for k in range(dim + 1):
                covariance[i, k] = (2 if i == dim else 1) * (2 if k == dim else 1) * ve + (vz if i == k < dim else 0)
        for record in binary_records(dim):
            v = mpmath.matrix([*record, 1])
            assert abs((v.T * mpmath.lu_solve(covariance, v))[0] - 1) < mpmath.mpf(10) ** -50


def test_every_formula_can_be_drawn() -> None:
    for found in statements():
        if found.formula:
            assert formula_svg(found.formula).startswith("<svg")
    assert str(C) == "C"
    assert mu.is_positive
