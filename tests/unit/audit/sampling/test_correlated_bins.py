"""Correlated bins: against densities, moments against all choices, exact polynomials, and planted faults."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.mixtures.bin_moments import BinMoments, _roots_too_many
from dpverdict.audit.sampling.mixtures.correlated_bins import CorrelatedBins, _short_of_positive
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue

N = 200_000
KERNEL = (Fraction(1), Fraction(1, 2), Fraction(1, 5))


def circle(kernel, bins):
    """All inner products of bins on a circle."""
    distances = np.abs(np.subtract.outer(range(bins), range(bins)))
    distances = np.minimum(distances, bins - distances)
    values = np.array([float(value) for value in kernel] + [0.0] * bins)
    return values[distances]


def bins_of(kernel, bins):
    """Bins whose inner products are those of a circle."""
    gram = circle(kernel, bins)
    most = tuple(Fraction(float(gram[0, d])) for d in range(bins // 2 + 1))
    least = tuple(Fraction(float(np.diagonal(gram, d).min())) for d in range(bins))
    return CorrelatedBins(most=most, least=least, bins=bins)


def simulated(gram, epsilon, rng, *, remove):
    """E[(1 - e^(epsilon - loss))+] with its standard error, of the mixture of normal laws with these inner products."""
    values, vectors = np.linalg.eigh(gram)
    normal = (rng.standard_normal((N, len(gram))) * np.sqrt(np.maximum(values, 0))) @ vectors.T
    moved = normal + gram[rng.integers(len(gram), size=N)] if remove else normal
    loss = np.log(np.exp(moved - np.diagonal(gram) / 2).mean(axis=1)) * (1 if remove else -1)
    found = np.maximum(0.0, -np.expm1(epsilon - loss))
    return found.mean(), found.std() / math.sqrt(N)


# moments --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bins", "common"), [(7, Fraction(0)), (9, Fraction(1, 3))])
def test_moments_are_sums_over_all_choices(bins, common):
    made = BinMoments(bins=bins, kernel=KERNEL, common=common)
    gram = circle(KERNEL, bins) + float(common)
    for n in (2, 3, 4):
        choices = np.array(list(itertools.product(range(bins), repeat=n)))
        pairs = sum(gram[choices[:, i], choices[:, j]] for i, j in itertools.combinations(range(n), 2))
        assert float(made.moments[n]) == pytest.approx(np.exp(pairs).mean(), rel=1e-12)


def test_clusters_and_choices_are_one_number_and_a_row_is_another():
    """Planted: a row of bins in place of a circle."""
    made = BinMoments(bins=12, kernel=KERNEL)
    made.__dict__["orders"] = 5
    with precision(320):
        pairs = list(zip(made._by_clusters(), made._listed(), strict=True))
        assert all(one.overlaps(other) for one, other in pairs)
        row = made._stretches(12)[0]
        assert row[2] < pairs[2][0]


@pytest.mark.parametrize(
    ("polynomial", "shown"),
    [
        (("1e-9", "0", "1/4"), True),  # t^2/4 touches t - 1 at 2
        (("0", "0", "1/4"), False),
        (("1e-9", "0", "0.2499"), False),
        (("1e-9", "-1/100", "1/2"), False),  # negative between 0 and 1
        (("1", "1", "1", "-1e-9"), False),  # in the end
    ],
)
def test_a_polynomial_is_taken_where_it_is_nowhere_too_small(polynomial, shown):
    low, high = _roots_too_many([Fraction(c) for c in polynomial])
    assert (not low and not high) is shown


def test_polynomials_say_more_than_single_moments_and_no_more_than_is_true(seed):
    rng = np.random.default_rng(seed)
    made = BinMoments(bins=100, kernel=(Fraction("0.9302"), Fraction("0.503"), Fraction("0.3321"), Fraction("0.1954")))
    assert made.orders == 16
    for epsilon in ("0.3", "0.6"):
        bound = float(made.above(Fraction(epsilon)).upper())
        alone = math.exp(made.roughly(float(epsilon)))
        mean, error = simulated(circle(made.kernel, 100), float(epsilon), rng, remove=True)
        assert mean - 6 * error <= bound < 0.7 * alone


# both sides -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("kernel", "bins"), [(KERNEL, 8), (("0.3", "0.25", "0.2", "0.15", "0.1"), 8), (KERNEL, 40)])
def test_densities_are_between_the_bounds(kernel, bins, remove, seed):
    rng = np.random.default_rng(seed)
    made = bins_of([Fraction(value) for value in kernel], bins)
    assert _short_of_positive(made.most, bins) < 1e-12
    for epsilon in ("0.2", "0.8"):
        level = Fraction(epsilon)
        mean, error = simulated(circle(made.most, bins), float(level), rng, remove=remove)
        bound = made.removed_at_most(level) if remove else made.added_at_most(level)
        one = made.attained.remove if remove else made.attained.add
        curve = made.above.remove if remove else made.above.add
        assert one.certified_delta(level).lower - 6 * error <= mean <= float(bound.upper()) + 6 * error
        assert float(bound.upper()) <= curve.certified_delta(level).upper


def test_products_that_are_left_out_are_found(seed):
    """Planted: the bins as if their means were orthogonal."""
    rng = np.random.default_rng(seed)
    mean, error = simulated(circle(KERNEL, 40), 0.4, rng, remove=True)
    apart = bins_of(KERNEL[:1], 40)
    assert apart.above.remove.certified_delta("0.4").upper < mean - 6 * error
    assert float(apart.removed_at_most(Fraction("0.4")).upper()) < mean - 6 * error


def test_orthogonal_means_are_random_allocation_and_equal_ones_no_amplification():
    apart, one = bins_of(KERNEL[:1], 20), bins_of((1,) * 11, 20)
    exact = random_allocation(noise_multiplier=1, steps=20)
    for epsilon in ("0.5", "2"):
        for loss in (apart.above, apart.attained):
            assert loss.remove.delta(float(epsilon)) == pytest.approx(exact.remove.delta(float(epsilon)), rel=1e-9)
        assert one.above.remove.delta(float(epsilon)) == pytest.approx(one.attained.add.delta(float(epsilon)), rel=1e-9)


def test_what_is_no_covariance_is_made_one():
    """cos(pi) is the least of all: the eigenvalue 1 - 2 * 0.9 of the circle with neighbours 0.9."""
    short = _short_of_positive((Fraction(1), Fraction(9, 10)), 8)
    assert Fraction(4, 5) <= short < Fraction("0.8001")


@pytest.mark.parametrize("changed", [{"bins": 1}, {"most": (Fraction(1),)}, {"least": (Fraction(-1),) * 4}])
def test_what_is_out_of_range_is_refused(changed):
    given = {"most": (Fraction(1),) * 3, "least": (Fraction(0),) * 4, "bins": 4}
    with pytest.raises(InvalidValue):
        CorrelatedBins(**(given | changed))


def test_nothing_is_said_of_an_epsilon_below_zero():
    assert bins_of(KERNEL, 8).delta_at_most(Fraction(-1)) is None
