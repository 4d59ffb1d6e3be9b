"""The certified profile of the lattice mechanism agrees with another algorithm, also where float64 underflows."""

import runpy
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.balls import Enclosure, precision
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian

oracle = runpy.run_path(str(Path(__file__).parents[1] / "discrete_gaussian_oracle.py"))


@pytest.mark.parametrize(("dim", "rho"), [(1, "0.5"), (2, "2"), (7, "0.02"), (100, "0.5"), (1000, "1"), (10**6, "0.5")])
def test_two_algorithms_enclose_the_same_profile(dim: int, rho: str) -> None:
    worst = worst_case(DiscreteCorrelatedGaussian(dim=dim, rho=rho))
    other = oracle["DiscreteGaussianProfile"](worst.loss)
    for epsilon in (Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(3)):
        found, sharp = worst.loss.certified_delta(epsilon), other.delta(epsilon, 100)
        with precision(120):
            assert Enclosure.of_ball(sharp).lower <= found.upper
            assert found.lower <= Enclosure.of_ball(sharp).upper
            assert Enclosure.of_ball(sharp * (1 + sharp**0 / 10**12)).lower > found.upper  # a planted fault


def test_the_oracle_is_right_about_a_sum_of_two_by_definition() -> None:
    v, tail = Fraction(7, 3), oracle["DiscreteGaussianSum"](Fraction(7, 3), 2, 150)
    with mpmath.workdps(50):
        weights = {y: mpmath.exp(-mpmath.mpf(3 * y * y) / 14) for y in range(-70, 71)}
        total = mpmath.fsum(weights.values()) ** 2
        for k in (-3, 0, 1, 4, 30):
            direct = mpmath.fsum(a * b for x, a in weights.items() for y, b in weights.items() if x + y >= k) / total
            value = tail.tail(k)
            assert value.rel_accuracy_bits() > 100
            assert abs(mpmath.mpf(value.mid().str(45, radius=False)) / direct - 1) < mpmath.mpf(10) ** -38
    assert v == tail.variance
