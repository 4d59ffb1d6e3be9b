"""Contours of a Laplace vector: the same numbers as the exact sum, or None where the atoms weigh too much."""

from fractions import Fraction

import pytest

from dpverdict.audit.losses.laplace.contour import LaplaceContour
from dpverdict.audit.losses.laplace.exact_sum import LaplaceSum
from dpverdict.audit.losses.laplace.terms import Kernel
from dpverdict.balls import precision

GROUPS = ((Fraction(1, 30), 1000),)
MANY = LaplaceContour(GROUPS)
EXACT = LaplaceSum(GROUPS)


@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(1, 2), Fraction(1)])
def test_the_contour_meets_the_exact_sum(epsilon: Fraction) -> None:
    found = MANY.delta(epsilon, 20)
    assert found is not None
    assert found.rel_accuracy_bits() >= 20
    with precision(200):
        assert found.overlaps(EXACT.tail(Kernel.DELTA, epsilon, 80))
        complement = MANY.complement(epsilon, 20)
        assert complement is not None
        assert (found + complement).contains(1)


def test_heavy_atoms_are_left_to_other_routes() -> None:
    assert LaplaceContour(((Fraction(1), 2),)).delta(Fraction(1, 2), 60) is None


def test_the_chernoff_bound_is_above_and_the_saddle_near() -> None:
    epsilon = Fraction(1)
    complement = MANY.complement(epsilon, 20)
    assert complement is not None
    assert MANY.complement_upper(epsilon) >= complement
    estimate = MANY.saddle(epsilon)
    found = MANY.delta(epsilon, 20)
    assert found is not None
    assert estimate.log_tail == pytest.approx(float(found.log()), abs=1.0)
