"""The long sums of the errors of counters: enclosed as their terms are, far beyond where terms can be added up."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from dpverdict.balls import precision
from dpverdict.mechanisms.streams import toeplitz as counter_sums
from dpverdict.mechanisms.streams.toeplitz import landau_sum, nuclear_sum


def exact_landau(n: int) -> Fraction:
    total, term = Fraction(1), Fraction(1)
    for j in range(1, n + 1):
        term *= Fraction(2 * j - 1, 2 * j)
        total += term * term
    return total


def added_landau(n: int) -> arb:
    total, term = arb(1), arb(1)
    for j in range(1, n + 1):
        term = term * (2 * j - 1) / (2 * j)
        total += term * term
    return total


@pytest.mark.parametrize("bits", [64, 130, 260])
@pytest.mark.parametrize("n", [1000, 16384, 16385, 20000])
def test_the_sum_of_squares_is_that_of_its_terms(bits: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter_sums, "SHORT", 0)  # the formula, wherever it applies
    with precision(bits):
        found = landau_sum(n)
        assert found.rel_accuracy_bits() >= bits - 20
    with precision(bits + 60):
        assert found.overlaps(added_landau(n))


@pytest.mark.parametrize("n", [0, 1, 5, 60])
def test_short_sums_are_exact_rationals(n: int) -> None:
    value = exact_landau(n)
    with precision(200):
        assert landau_sum(n).contains(arb(fmpq(value.numerator, value.denominator)))


@pytest.mark.parametrize("n", [2**20, 2**30, 2**40, 10**18])
def test_the_asymptotic_series_lies_in_the_enclosure(n: int) -> None:
    """pi G_n = ln m + gamma + 4 ln 2 + 11/(192 m^2) - 1541/(122880 m^4) + ..., m = n + 3/4 (Watson 1930)."""
    with precision(120):
        m = arb(n) + arb("0.75")
        series = m.log() + arb.const_euler() + 4 * arb(2).log() + arb(11) / (192 * m**2) - arb(1541) / (122880 * m**4)
        found = landau_sum(n)
        assert found.rel_accuracy_bits() > 95
        assert abs(arb.pi() * found - series) < arb("1e-27")


@pytest.mark.parametrize("horizon", [1, 2, 3, 50, 400])
def test_the_nuclear_sum_is_that_of_the_singular_values(horizon: int) -> None:
    dense = np.linalg.svd(np.tril(np.ones((horizon, horizon))), compute_uv=False).sum()
    assert float(nuclear_sum(horizon)) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("bits", [64, 150])
@pytest.mark.parametrize("horizon", [500, 3000])
def test_the_nuclear_sum_is_that_of_its_terms(bits: int, horizon: int) -> None:
    with precision(bits):
        found = nuclear_sum(horizon)
        assert found.rel_accuracy_bits() >= bits - 20
    with precision(bits + 60):
        step = arb.pi() / (4 * horizon + 2)
        assert found.overlaps(sum((1 / (2 * ((2 * i - 1) * step).sin()) for i in range(1, horizon + 1)), arb(0)))


def test_a_wrong_bernoulli_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the test of the sums would fail with it."""
    right = counter_sums._bernoulli_number
    monkeypatch.setattr(counter_sums, "SHORT", 0)
    monkeypatch.setattr(counter_sums, "_bernoulli_number", lambda k: right(k) * (2 if k == 4 else 1))
    with precision(130):
        wrong = landau_sum(5000), nuclear_sum(5000)
        step = arb.pi() / 20002
        assert not wrong[0].overlaps(added_landau(5000))
        assert not wrong[1].overlaps(sum((1 / (2 * ((2 * i - 1) * step).sin()) for i in range(1, 5001)), arb(0)))
