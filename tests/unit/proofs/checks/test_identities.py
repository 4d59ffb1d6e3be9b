"""Identities hold for all values or name a point; inequalities are decided by coefficients, and refuted by points."""

from fractions import Fraction

import pytest
import sympy
from sympy import Integer, Matrix, Symbol, sqrt, symbols

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.identities import identity, nonnegative, positive

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


def test_the_scope_of_an_inequality_names_no_symbol_that_is_not_in_it() -> None:
    s, t = sympy.symbols("s t", nonnegative=True)
    assert nonnegative("both", s + t, {s: 0, t: 1}, scope="a region").scope == "a region (s >= 0, t >= 1)"
    assert nonnegative("one", s + 1, {s: 0, t: 1}, scope="a region").scope == "a region (s >= 0)"


def test_an_inequality_shows_its_sides() -> None:
    s = sympy.Symbol("s", nonnegative=True)
    assert nonnegative("a square", s**2, {s: 0}).sides == (("s**2", ">=", "0"),)
    assert identity("two", s + s, 2 * s).sides == (("2*s", "=", "2*s"),)
