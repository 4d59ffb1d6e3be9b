"""Brute force over vertices, and dense algebra that agrees with the form at inner points."""

from fractions import Fraction

import pytest
import sympy

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.vertices import (
    binary_records,
    every,
    form_of,
    grid_records,
    ranges,
    shared_noise_covariance,
)
from dpverdict.proofs.lebeda2024.notation import d, released, s1, s2


def test_brute_force_looks_at_something() -> None:
    assert every("none", [], lambda item: True, over="n", cases=0).holds is None
    assert every("some", [1, 2, 3], lambda item: item < 3, over="n", cases=3).witness == "n = 3"
    assert len(list(binary_records(4))) == 16
    assert len(list(binary_records(4, 2))) == 11
    assert len(list(grid_records(2, 3))) == 16


def test_dense_algebra_agrees_with_the_form_at_inner_points() -> None:
    vz, ve = Fraction(3, 2), Fraction(2, 5)
    form = form_of(shared_noise_covariance(3, vz, ve, 2))
    symbolic = released(sympy.Rational(vz), sympy.Rational(ve)).subs(d, 3)
    for record in grid_records(3, 2):
        s1_value, s2_value = sum(record), sum(value**2 for value in record)
        value = symbolic.subs({s1: sympy.Rational(s1_value), s2: sympy.Rational(s2_value)})
        assert form((*record, 1)) == Fraction(str(value))
    with pytest.raises(ZeroDivisionError):
        form_of([[1, 1], [1, 1]])


@pytest.mark.parametrize(
    ("over", "ran", "scope"),
    [
        ("d", range(1, 7), "d = 1..6 (6 cases)"),
        ("d", range(1, 4), "d = 1..3 (3 cases)"),
        ("k", range(3, 20, 2), "k = 3, 5, ..., 19 (9 cases)"),
        ("T: full trees", [1, 127, 1024], "T = 1, 127, 1024 (3 cases): full trees"),
        ("k, w", [(2, 1), (2, 2), (3, 1)], "k = 2, 3, w = 1, 2 (3 cases)"),
        ("eps, delta", [("0.1", "1e-5"), ("1", "1e-5")], "eps = 0.1, 1, delta = 1e-5 (2 cases)"),
        ("v", [Fraction(n * n, 8) for n in range(1, 12)], "v = 11 values from 1/8 to 121/8 (11 cases)"),
        ("d", [4], "d = 4 (1 case)"),
        ("laws on 3 points", [((1,), (2,))], "1 cases of laws on 3 points"),
        ("k, w", [(2, 1), (2,)], "2 cases of k, w"),
    ],
)
def test_the_scope_is_that_of_the_items_that_ran(over: str, ran: list[object], scope: str) -> None:
    assert ranges(over, ran) == scope


@pytest.mark.parametrize("most", [1, 7, 9])
def test_another_number_of_cases_than_declared_decides_nothing(most: int) -> None:
    found = every("squares", range(most), lambda n: n < 50, over="n", cases=8)
    assert found.holds is None
    assert found.witness == f"{most} of 8 cases ran"
    assert found.cases == most


def test_what_is_undecided_or_false_is_shown_at_its_item() -> None:
    assert every("open", [1, 2], lambda n: None, over="n", cases=2).witness == "n = 1"
    found = every("false", [1, 2], lambda n: n < 2, over="n", cases=3)
    assert (found.holds, found.witness) == (False, "n = 2")


def test_a_finite_scope_says_neither_all_nor_every() -> None:
    with pytest.raises(InvalidValue, match="scope"):
        every("n", [1], lambda n: True, over="n: all of them", cases=1)
