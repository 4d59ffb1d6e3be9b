"""The terms of the exact sum: how many there are, what they weigh, and bounds that hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.laplace.terms import Kernel, TermSource, log_binomials, near, rows, saddle, size_on_circle

EQUAL = TermSource(((Fraction(1, 2), 4),))
MIXED = TermSource(((Fraction(1, 2), 2), (Fraction(1, 3), 1)))


def test_sums_of_shifts_are_counted() -> None:
    """Of four equal shifts, two can be chosen in six ways."""
    assert EQUAL.total == 2
    assert EQUAL.shifts_are_equal
    assert EQUAL.weight(Fraction(1)) == 6
    assert EQUAL.weight(Fraction(1, 4)) == 0
    assert EQUAL.offsets(10) == [0, Fraction(1, 2), 1]
    assert EQUAL.offsets(2) == []
    assert not MIXED.shifts_are_equal
    assert MIXED.weight(Fraction(1, 2)) == 2
    assert MIXED.weight(Fraction(1, 3)) == 1


@pytest.mark.parametrize("source", [EQUAL, MIXED])
def test_the_active_terms_are_those_below_the_gap(source: TermSource) -> None:
    epsilon = source.total / 3
    terms = source.active(epsilon)
    lowest, points, weights = terms.floats()
    assert (points > 0).all()
    assert (np.diff(lowest) <= 0).all()
    assert len(lowest) == len(terms.points()) == len(terms.weights())
    for ball, value in zip(terms.points(), points.tolist(), strict=True):
        assert float(ball) == pytest.approx(value)
    first = terms.part(0, 1)
    assert len(first.points()) == 1
    assert first.points()[0].overlaps(terms.points()[0])
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("kernel", list(Kernel))
def test_the_rows_are_the_coefficients_of_the_product(kernel: Kernel) -> None:
    m, length = 5, 4
    for c, row in zip(range(3, -1, -1), rows(kernel, m, 3, 0, length), strict=True):
        plus, minus = kernel.exponents(m, c)
        series = np.polynomial.Polynomial([1.0])
        one = np.zeros(length)
        for k in range(length):
            one[k] = math.comb(plus, k) if plus >= 0 else 0
        other = [(-1) ** k * math.comb(minus, k) if minus >= 0 else 1.0 for k in range(length)]
        expected = np.convolve(one, other)[:length]
        if kernel.leads:
            expected = np.concatenate([[0.0], 2 * expected])[:length]
        assert list(row)[:length] == pytest.approx(expected.tolist())
        assert series.degree() == 0


@pytest.mark.parametrize(("plus", "minus"), [(3, 2), (0, 5), (7, -1), (0, 0)])
def test_the_bound_on_a_circle_is_at_least_every_value_on_it(plus: int, minus: int) -> None:
    bound = size_on_circle(plus, minus, arb("0.4"))
    angles = np.linspace(0, 2 * np.pi, 1000)
    y = 0.4 * np.exp(1j * angles)
    largest = float((np.abs(1 + y) ** plus * np.abs(1 - y) ** minus).max())
    assert float(bound.upper()) >= largest * (1 - 1e-12)
    assert float(bound.upper()) <= largest * 2


def test_the_saddle_estimates_the_tail_and_floats_stay_in_range() -> None:
    """One coordinate of shift 1: delta(1/2) = 1 - exp(-1/4)."""
    found = saddle(np.array([1.0]), np.array([1]), 0.5, Kernel.DELTA)
    assert found.t > 0
    assert found.log_tail == pytest.approx(math.log(1 - math.exp(-0.25)), abs=1.0)
    assert near(Fraction(1, 10**400)) > 0
    assert math.isfinite(near(Fraction(10) ** 400))
    assert log_binomials(6, np.array([3.0]))[0] == pytest.approx(math.log(20))
