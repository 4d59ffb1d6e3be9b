"""The exact sum of a Laplace vector: to the bits that were asked for, and the same along every road."""

import math
from fractions import Fraction

import pytest
from flint import arb

from dpverdict.audit.losses.laplace.exact_sum import LaplaceSum
from dpverdict.audit.losses.laplace.terms import Kernel
from dpverdict.balls import precision

ONE = LaplaceSum(((Fraction(1), 1),))
FOUR = LaplaceSum(((Fraction(1, 2), 4),))


@pytest.mark.parametrize("epsilon", ["0", "1/4", "1/2", "99/100"])
def test_one_coordinate_has_the_closed_form(epsilon: str) -> None:
    """delta(eps) = 1 - exp((eps - s)/2) for a shift s."""
    with precision(200):
        truth = 1 - ((arb(Fraction(epsilon).numerator) / Fraction(epsilon).denominator - 1) / 2).exp()
        found = ONE.tail(Kernel.DELTA, Fraction(epsilon), 100)
        assert found.overlaps(truth)
        assert found.rel_accuracy_bits() >= 100


@pytest.mark.parametrize("bits", [20, 60, 400])
def test_as_many_bits_as_asked_for_and_the_same_number(bits: int) -> None:
    found = FOUR.tail(Kernel.DELTA, Fraction(1, 3), bits)
    assert found.rel_accuracy_bits() >= bits
    with precision(500):
        assert found.overlaps(FOUR.tail(Kernel.DELTA, Fraction(1, 3), 60))


def test_tails_fall_and_atoms_are_where_shifts_add_up() -> None:
    for kernel in (Kernel.DELTA, Kernel.P_TAIL):
        values = [float(FOUR.tail(kernel, Fraction(i, 10), 60)) for i in range(0, 20, 3)]
        assert values == sorted(values, reverse=True)
    assert FOUR.has_atom(Fraction(1, 2))
    assert not FOUR.has_atom(Fraction(1, 3))
    assert float(FOUR.weight(Fraction(1))) == math.comb(4, 2)
    assert FOUR.offsets(3) == [0, Fraction(1, 2), 1]
