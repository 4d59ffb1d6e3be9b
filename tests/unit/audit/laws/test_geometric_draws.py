"""Geometric variables, of one side and of two: exact draws, by digits and where the first 64 bits do not decide.

The chi-square tests reject a correct sampler with probability ERROR_PROBABILITY each (TESTS of them).
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from dpverdict.audit.laws.exact_samplers.geometric import BASE, GeometricDigit
from dpverdict.audit.laws.exact_samplers.random_words import Words, words_of
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.balls import Enclosure, ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise

ERROR_PROBABILITY = 1e-9
SAMPLES = 100_000
RATES = ["3", "1", "1/3", "0.05", "0.004"]


def statistic(values: NDArray[np.int64], law: TwoSidedGeometric) -> tuple[float, int]:
    """Pearson's statistic over cells of at least 20 expected values, and its degrees of freedom."""
    width = max(1, int(1 / float(law.rate)) // 4)
    cells = np.floor_divide(values, width)
    expected: dict[int, float] = {}
    cell = 0
    while True:
        mass = sum(law.probability(z).nearest() for z in range(cell * width, (cell + 1) * width)) * len(values)
        if mass < 20:
            break
        expected[cell] = mass
        mirrored = -cell - 1
        low = range(mirrored * width, (mirrored + 1) * width)
        expected[mirrored] = sum(law.probability(z).nearest() for z in low) * len(values)
        cell += 1
    found = {c: int((cells == c).sum()) for c in expected}
    rest, rest_expected = len(values) - sum(found.values()), len(values) - sum(expected.values())
    total = sum((found[c] - e) ** 2 / e for c, e in expected.items())
    return total + (rest - rest_expected) ** 2 / rest_expected, len(expected)


@pytest.mark.parametrize("rate", RATES)
def test_the_sample_has_the_stated_law_and_not_one_of_a_slightly_other_rate(rate: str, seed: int) -> None:
    law = TwoSidedGeometric(rate)
    values = law.draw_from_words(words_of(np.random.default_rng(seed)), SAMPLES)
    limit = chi2.isf(ERROR_PROBABILITY, statistic(values, law)[1])
    assert statistic(values, law)[0] < limit
    other = TwoSidedGeometric(law.rate * Fraction(13, 12))
    wrong, freedom = statistic(values, other)
    assert wrong > chi2.isf(ERROR_PROBABILITY, freedom)


def test_the_digits_of_a_large_scale_are_put_together(seed: int) -> None:
    rate = Fraction(1, 10**9)  # three digits
    values = TwoSidedGeometric(rate).draw_from_words(words_of(np.random.default_rng(seed)), SAMPLES)
    # |Z| rate is exponential with mean 1 up to 1e-9, with variance 1: six standard errors, probability 2e-9
    assert abs(np.abs(values).mean() * 1e-9 - 1) < 6 / SAMPLES**0.5
    low = values % BASE  # uniform up to 1e-5
    counts = np.bincount(low % 64, minlength=64)
    assert ((counts - SAMPLES / 64) ** 2 / (SAMPLES / 64)).sum() < chi2.isf(ERROR_PROBABILITY, 63)


def planted(*words: int) -> Words:
    """A source that gives these words, then zeros."""
    left = list(words)

    def take(n: int) -> NDArray[np.uint64]:
        taken, left[:] = left[:n], left[n:]
        return np.array(taken + [0] * (n - len(taken)), dtype=np.uint64)

    return take


@pytest.mark.parametrize(("rate", "bound"), [("0.2", None), ("7", None), ("1e-3", BASE), ("1e-9", BASE), ("90", None)])
def test_a_digit_is_the_inverse_of_its_distribution_function_to_the_last_bit(rate: str, bound: int | None) -> None:
    digit = GeometricDigit(Fraction(rate), bound)
    rng = np.random.default_rng(5)
    points = digit._points.tolist()
    chosen = sorted({*points[:3], points[len(points) // 2], points[-1], 0, 2**63, 2**64 - 1})
    chosen += rng.integers(0, 2**64 - 1, 20, dtype=np.uint64).tolist()
    for first in chosen:
        for second in (0, 1 << 63, (1 << 64) - 2, *rng.integers(0, 2**64 - 1, 3, dtype=np.uint64).tolist()):
            with mpmath.workprec(700):
                slope = mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator
                mass = 1 if bound is None else -mpmath.expm1(-slope * bound)
                uniform = mpmath.mpf((first << 64) + second) / 2**128
                exact = int(mpmath.floor(-mpmath.log(1 - mass * uniform) / slope))
            (value,) = digit.draw(planted(first, second), 1).tolist()
            assert value == exact


def test_further_bits_are_read_until_they_decide() -> None:
    digit = GeometricDigit(Fraction(1, 5), None)
    with precision(1000):
        words = int(((1 - (-ball("1/5")).exp()) * 2**192).floor().unique_fmpz())
    pieces = [words >> 128, words >> 64 & (1 << 64) - 1, words & (1 << 64) - 1]
    assert digit.draw(planted(*pieces, 0), 1).tolist() == [0]
    assert digit.draw(planted(*pieces, (1 << 64) - 1, (1 << 64) - 1), 1).tolist() in ([0], [1])
    assert digit.draw(planted(*pieces[:2], pieces[2] + 1), 1).tolist() == [1]
    assert digit.draw(planted(*pieces[:2], pieces[2] - 1), 1).tolist() == [0]


@pytest.mark.parametrize("rate", ["1e-12", "0.2", "3", "300"])
def test_variance_and_probabilities_are_those_of_the_law(rate: str) -> None:
    law = TwoSidedGeometric(rate)
    with mpmath.workprec(200):
        p = mpmath.exp(-mpmath.mpf(rate))
        variance, third = float(2 * p / (1 - p) ** 2), float((1 - p) / (1 + p) * p**3)
    assert abs(law.variance().nearest() / variance - 1) < 1e-14
    assert Enclosure.of(law.variance()).upper <= 2 / float(rate) ** 2 * (1 + 1e-15)
    assert abs(law.probability(-3).nearest() - third) <= 1e-15 * third


@pytest.mark.parametrize("rate", [0, -1, "nan", float("inf"), "1e-13", True, "x"])
def test_a_rate_out_of_range_is_refused(rate: object) -> None:
    with pytest.raises(InvalidValue, match="rate"):
        TwoSidedGeometric(rate).draw((1,), np.random.default_rng(0))  # type: ignore[arg-type]
    if rate == "1e-13":  # a law, of which the draws alone would leave 64-bit integers
        with pytest.raises(InvalidValue, match="rate"):
            DiscreteLaplaceNoise(size=1, rate=Fraction(rate))


def test_equal_seeds_give_equal_samples_and_blocks_do_not_overlap() -> None:
    law = TwoSidedGeometric("0.1")
    first = law.draw_from_words(words_of(np.random.default_rng(1)), 50)
    assert np.array_equal(first, law.draw_from_words(words_of(np.random.default_rng(1)), 50))
    words = words_of(np.random.default_rng(1))
    assert not np.array_equal(law.draw_from_words(words, 50), law.draw_from_words(words, 50))
