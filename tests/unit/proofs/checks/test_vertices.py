"""Brute force over vertices, and dense algebra that agrees with the form at inner points."""

from fractions import Fraction

import pytest
import sympy

from dpverdict.proofs.checks.vertices import binary_records, every, form_of, grid_records, shared_noise_covariance
from dpverdict.proofs.lebeda2024.notation import d, released, s1, s2


def test_brute_force_looks_at_something() -> None:
    assert every("none", [], lambda item: True, scope="nothing").holds is None
    assert every("some", [1, 2, 3], lambda item: item < 3, scope="three").witness == "3"
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
