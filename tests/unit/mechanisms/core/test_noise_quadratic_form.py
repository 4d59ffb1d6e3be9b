"""The structured quadratic forms equal the dense ones, over rationals, balls and symbols."""

import itertools
from fractions import Fraction
from typing import Any

import pytest
import sympy
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import ball, precision
from dpverdict.mechanisms.core import noise as quadratic_form
from dpverdict.mechanisms.core.noise import (
    SymmetricForm,
    maximise_over_integers,
    queries_only_form,
    shared_noise_form,
)

positive = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=60)
entries = st.fractions(min_value=-3, max_value=3, max_denominator=16)


def rational(number: Any) -> fmpq:  # an int or a Fraction; flint ships no types
    value = Fraction(number)
    return fmpq(value.numerator, value.denominator)


def dense(vz: Fraction, ve: Fraction, dim: int, loading: int | None, vw: Fraction) -> list[list[Fraction]]:
    """The covariance of (eta + z_1, ..., eta + z_d[, loading eta + w]), entry by entry."""
    loads = [1] * dim + ([] if loading is None else [loading])
    own = [vz] * dim + ([] if loading is None else [vw])
    return [[a * b * ve + (own[i] if i == j else 0) for j, b in enumerate(loads)] for i, a in enumerate(loads)]


def dense_value(covariance: list[list[Fraction]], v: list[Fraction]) -> Fraction:
    matrix = fmpq_mat(len(v), len(v), [rational(entry) for row in covariance for entry in row])
    column = fmpq_mat(len(v), 1, [rational(entry) for entry in v])
    value = (column.transpose() * matrix.solve(column))[0, 0]
    return Fraction(int(value.p), int(value.q))


def at_record(form: SymmetricForm, x: list[Fraction], t: Fraction) -> Fraction:
    value: Fraction = form.at(sum(x, Fraction(0)), sum((e * e for e in x), Fraction(0)), t)
    return value


@given(st.data(), positive, positive, st.sampled_from([-2, -1, 1, 2, 3]), st.one_of(st.just(Fraction(0)), positive))
def test_the_form_with_a_count_equals_the_dense_solve_exactly(
    data: st.DataObject, vz: Fraction, ve: Fraction, loading: int, vw: Fraction
) -> None:
    x = data.draw(st.lists(entries, min_size=1, max_size=8))
    t = data.draw(entries)
    form = shared_noise_form(dim=len(x), vz=vz, ve=ve, loading=loading, vw=vw)
    assert at_record(form, x, t) == dense_value(dense(vz, ve, len(x), loading, vw), [*x, t])


@given(st.data(), positive, positive)
def test_the_form_of_a_count_with_noise_of_its_own_equals_the_dense_solve(
    data: st.DataObject, vz: Fraction, vw: Fraction
) -> None:
    x, t, ve = data.draw(st.lists(entries, min_size=1, max_size=8)), data.draw(entries), data.draw(positive)
    form = shared_noise_form(dim=len(x), vz=vz, ve=ve, loading=0, vw=vw)
    assert at_record(form, x, t) == dense_value(dense(vz, ve, len(x), 0, vw), [*x, t])


@given(st.data(), positive, st.one_of(st.just(Fraction(0)), positive))
def test_the_form_without_a_count_equals_the_dense_solve_exactly(
    data: st.DataObject, vz: Fraction, ve: Fraction
) -> None:
    x = data.draw(st.lists(entries, min_size=1, max_size=8))
    form = queries_only_form(dim=len(x), vz=vz, ve=ve)
    assert at_record(form, x, Fraction(1)) == dense_value(dense(vz, ve, len(x), None, Fraction(0)), x)


def test_the_printed_form_f1_is_the_general_one_for_all_d() -> None:
    d, vz, ve, s1, s2, t = sympy.symbols("d vz ve s1 s2 t", positive=True)
    form = shared_noise_form(dim=d, vz=vz, ve=ve, loading=2, vw=0)
    printed = (s2 - s1 * t + d * t**2 / 4) / vz + t**2 / (4 * ve)
    assert sympy.simplify(form.at(s1, s2, t) - printed) == 0


def test_a_form_over_balls_encloses_the_form_over_rationals() -> None:
    vz, ve = Fraction(1, 3), Fraction(2, 7)
    exact = shared_noise_form(dim=3, vz=vz, ve=ve, loading=2, vw=Fraction(1, 5)).at(Fraction(1, 9), Fraction(1), 1)
    with precision(80):
        balls = shared_noise_form(dim=3, vz=ball(vz), ve=ball(ve), loading=2, vw=ball(Fraction(1, 5)))
        assert balls.at(ball(Fraction(1, 9)), ball(1), 1).contains(rational(exact))


coefficients = st.fractions(min_value=-10, max_value=10, max_denominator=12)


@given(coefficients, coefficients, coefficients, st.integers(0, 30))
def test_the_maximum_over_integers_is_that_of_all_of_them(a: Fraction, b: Fraction, c: Fraction, last: int) -> None:
    values = [a * j * j + b * j + c for j in range(last + 1)]
    best, value = maximise_over_integers(a, b, c, last)
    assert value == max(values) == values[best]
    assert best == max(j for j, other in enumerate(values) if other == value)


@pytest.mark.parametrize("last", [0, 1, 10**9])
def test_a_vertex_between_two_integers_takes_the_larger(last: int) -> None:
    best, _ = maximise_over_integers(Fraction(-1), Fraction(2 * last + 1), Fraction(0), last + 1)
    assert best == last + 1


def halved_cross_term(**parts: Any) -> SymmetricForm:  # the planted fault: a factor 2 lost in the cross term
    form = shared_noise_form(**parts)
    return SymmetricForm(square=form.square, sum_squared=form.sum_squared, cross=form.cross / 2, count=form.count)


def test_a_lost_factor_in_the_cross_term_differs_from_the_dense_solve() -> None:
    x, t = [Fraction(1), Fraction(0)], Fraction(1)
    wrong = halved_cross_term(dim=2, vz=Fraction(1), ve=Fraction(1), loading=2, vw=Fraction(0))
    assert at_record(wrong, x, t) != dense_value(dense(Fraction(1), Fraction(1), 2, 2, Fraction(0)), [*x, t])


def test_a_maximiser_that_forgets_the_vertex_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends_only(a: Fraction, b: Fraction, c: Fraction, last: int) -> tuple[int, Fraction]:
        best = max((0, last), key=lambda j: a * j * j + b * j + c)
        return best, a * best * best + b * best + c

    monkeypatch.setattr(quadratic_form, "maximise_over_integers", ends_only)
    found = 0
    for a, b, last in itertools.product((-1, 0, 1), (-3, 0, 3, 7), (1, 5)):
        values = [a * j * j + b * j for j in range(last + 1)]
        got = quadratic_form.maximise_over_integers(Fraction(a), Fraction(b), Fraction(0), last)[1]
        found += got != max(values)
    assert found
