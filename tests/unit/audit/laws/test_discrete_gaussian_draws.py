"""The two exact samplers of the discrete Gaussian, against its probabilities and against each other.

Statistical tests: an error probability of at most ERROR for each test function.
"""

import math
import secrets
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.laws.exact_samplers import discrete_gaussian as module
from dpverdict.audit.laws.exact_samplers.discrete_gaussian import (
    DiscreteGaussianTable,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
)
from dpverdict.audit.laws.exact_samplers.random_words import UniformBelow
from dpverdict.errors import InvalidValue

ERROR = 1e-9


def probabilities(variance: Fraction, reach: int) -> dict[int, float]:
    with mpmath.workdps(40):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        total = mpmath.nsum(lambda y: mpmath.exp(-(y**2) / (2 * v)), [-mpmath.inf, mpmath.inf])
        return {y: float(mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * v)) / total) for y in range(-reach, reach + 1)}


def chi_square_p_value(samples: list[int], law: dict[int, float]) -> float:
    """Cells of at least 10 expected samples; everything else is one cell."""
    n, counts = len(samples), Counter(samples)
    cells = [y for y, p in law.items() if n * p >= 10]
    observed = [counts[y] for y in cells]
    expected = [n * law[y] for y in cells]
    rest, others = n - sum(expected), n - sum(observed)
    if rest >= 10:
        observed.append(others)
        expected.append(rest)
    else:
        observed[-1] += others
        expected[-1] += rest
    return float(stats.chisquare(observed, expected).pvalue)


def from_generator(seed: int) -> UniformBelow:
    rng = np.random.default_rng(seed)
    return lambda n: int(rng.integers(0, n))


@pytest.mark.parametrize("variance", ["0.25", "1", "7/3", "20"])
def test_the_rejection_sampler_has_the_law(variance: str, seed: int) -> None:
    below = from_generator(seed)
    samples = [discrete_gaussian(variance, below) for _ in range(6000)]
    assert chi_square_p_value(samples, probabilities(Fraction(variance), 40)) > ERROR


@pytest.mark.parametrize("word_bits", [4, 9, 64])
@pytest.mark.parametrize("variance", ["0.1", "0.25", "1", "7/3", "20"])
def test_the_table_has_the_law_also_where_more_bits_have_to_be_drawn(variance: str, word_bits: int, seed: int) -> None:
    table = DiscreteGaussianTable(variance, word_bits=word_bits)
    size = 4000 if word_bits < 64 else 200_000
    samples = table.sample((size,), np.random.default_rng([seed, word_bits]))
    assert chi_square_p_value(samples.tolist(), probabilities(Fraction(variance), 40)) > ERROR


def test_a_wrong_law_is_noticed(seed: int) -> None:
    samples = DiscreteGaussianTable("2.5").sample((200_000,), np.random.default_rng(seed)).tolist()
    assert chi_square_p_value(samples, probabilities(Fraction("2.4"), 40)) < ERROR
    shifted = [y + 1 if y == 0 else y for y in samples]
    assert chi_square_p_value(shifted, probabilities(Fraction("2.5"), 40)) < ERROR


@pytest.mark.parametrize("bits", [10, 64])
@pytest.mark.parametrize("variance", [Fraction(1, 7), Fraction(1), Fraction(33, 2)])
def test_the_cuts_are_the_distribution_function_rounded_down(variance: Fraction, bits: int) -> None:
    lowest, cuts = module._cuts(variance, bits)
    assert cuts[0] == 0
    assert cuts[-1] == 2**bits - 1
    with mpmath.workdps(60):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        weights = {y: mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * v)) for y in range(-400, 401)}
        total, below = mpmath.fsum(weights.values()), mpmath.mpf(0)
        for y in range(-400, lowest + len(cuts)):
            below += weights[y]
            if y >= lowest:
                assert int(mpmath.floor(below / total * 2**bits)) == cuts[y - lowest]


def test_large_scales(seed: int) -> None:
    table = DiscreteGaussianTable(Fraction(1000**2))
    samples = table.sample((500, 200), np.random.default_rng(seed))
    n = samples.size
    assert samples.dtype == np.int64
    assert stats.chi2.ppf(ERROR / 4, n) < (samples.astype(float) ** 2).sum() / 1e6 < stats.chi2.isf(ERROR / 4, n)
    assert abs(samples.mean()) < stats.norm.isf(ERROR / 4) * 1000 / math.sqrt(n)
    far = [discrete_gaussian(10**40, secrets.randbelow) for _ in range(50)]
    assert max(map(abs, far)) > 10**18  # with probability 1 - (0.08)^50 at least
    assert max(map(abs, far)) < 10**22


def test_the_coin_has_probability_exp(seed: int) -> None:
    below = from_generator(seed)
    n = 4000
    for exponent in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)):
        heads = sum(bernoulli_exp(exponent, below) for _ in range(n))
        p = math.exp(-float(exponent))
        assert stats.binomtest(heads, n, p).pvalue > ERROR / 4


def test_the_discrete_laplace_has_its_law(seed: int) -> None:
    below = from_generator(seed)
    for scale in (1, 3):
        q = math.exp(-1 / scale)
        law = {y: (1 - q) / (1 + q) * q ** abs(y) for y in range(-60, 61)}
        assert chi_square_p_value([discrete_laplace(scale, below) for _ in range(5000)], law) > ERROR / 2


def test_a_sampler_is_a_function_of_its_uniform_integers_and_asks_for_what_it_says() -> None:
    asked: list[int] = []

    def replay(values: Iterator[int]) -> UniformBelow:
        def below(n: int) -> int:
            asked.append(n)
            return next(values) % n

        return below

    draws = [secrets.randbelow(10**6) for _ in range(400)]
    first = discrete_gaussian("5/2", replay(iter(draws)))
    assert first == discrete_gaussian("5/2", replay(iter(draws)))
    assert all(isinstance(n, int) and n >= 1 for n in asked)


def test_the_same_seed_gives_the_same_samples() -> None:
    table = DiscreteGaussianTable(3)
    assert np.array_equal(
        table.sample((9, 2), np.random.default_rng(5)), table.sample((9, 2), np.random.default_rng(5))
    )


def test_opendp_samples_the_same_law() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    measurement = space >> dp.m.then_gaussian(scale=1.5)
    samples = [int(y) for y in measurement([0] * 20_000)]
    assert chi_square_p_value(samples, probabilities(Fraction(9, 4), 30)) > ERROR


@pytest.mark.parametrize("variance", [0, -1, float("nan"), "x", None, True])
def test_a_parameter_that_is_not_positive_is_refused_in_one_line(variance: object) -> None:
    for build in (lambda v: discrete_gaussian(v, secrets.randbelow), DiscreteGaussianTable):
        with pytest.raises(InvalidValue, match=r"^variance=[^\n]*$"):
            build(variance)


def test_a_table_too_large_is_refused() -> None:
    with pytest.raises(InvalidValue, match="sample with discrete_gaussian"):
        DiscreteGaussianTable(2**31)
