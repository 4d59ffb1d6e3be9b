"""Clopper-Pearson bounds: exact coverage, edges, monotonicity, rejection of bad counts."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.statistics.proportions import SMALLEST_ERROR, proportion_lower, proportion_upper
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue

ERRORS = (0.5, 0.05, 1e-3, 1e-6, 1e-12)


def tail(k: int, n: int, p: arb) -> arb:
    """P(Bin(n, p) >= k) as a ball: the terms of the shorter side, by their ratios."""
    first, last, shorter_above = (k, n, True) if 2 * k > n else (0, k - 1, False)
    term = arb(n).bin(first) * p**first * (1 - p) ** (n - first)
    total = term
    for j in range(first, last):
        term = term * (n - j) / (j + 1) * p / (1 - p)
        total += term
    return total if shorter_above else 1 - total


def mass(j: int, n: int, p: Fraction) -> Fraction:
    return comb(n, j) * p**j * (1 - p) ** (n - j)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_each_bound_is_wrong_with_at_most_the_error_probability_on_a_grid(n: int, error: float) -> None:
    lower = [Fraction(float(x)) for x in proportion_lower(np.arange(n + 1), n, error)]
    upper = [Fraction(float(x)) for x in proportion_upper(np.arange(n + 1), n, error)]
    for p in (Fraction(i, 97) for i in range(98)):
        assert sum(mass(k, n, p) for k in range(n + 1) if lower[k] > p) <= Fraction(error)
        assert sum(mass(k, n, p) for k in range(n + 1) if upper[k] < p) <= Fraction(error)


@pytest.mark.parametrize("error", [*ERRORS, SMALLEST_ERROR])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_the_tail_at_each_bound_is_at_most_the_error_probability_exactly(n: int, error: float) -> None:
    # The coverage of every p at once: the tail is monotone in p, so its value at the bound is the worst.
    for k in range(n + 1):
        low = Fraction(float(proportion_lower(k, n, error)))
        high = Fraction(float(proportion_upper(k, n, error)))
        assert k == 0 or sum(mass(j, n, low) for j in range(k, n + 1)) <= Fraction(error)
        assert k == n or sum(mass(j, n, high) for j in range(k + 1)) <= Fraction(error)


@pytest.mark.parametrize("error", [0.5, 0.05, 1e-6, 1e-50])
@pytest.mark.parametrize(("k", "n"), [(1, 1000), (2, 10**6), (333, 1000), (5000, 10**4), (999_998, 10**6)])
def test_the_tail_at_each_bound_of_many_trials_is_below_the_error_probability_in_balls(
    k: int, n: int, error: float
) -> None:
    low, high = float(proportion_lower(k, n, error)), float(proportion_upper(k, n, error))
    with precision(400):
        assert tail(k, n, arb(low)) <= arb(error)
        assert tail(n - k, n, 1 - arb(high)) <= arb(error)


def test_the_bounds_are_sharp() -> None:
    # Accuracy, not soundness: a bound moved inward by 1e-6 of itself would be wrong too often.
    for k, n in ((1, 5), (3, 5), (20, 40), (333, 1000)):
        for error in (0.5, 0.05, 1e-6):
            low, high = float(proportion_lower(k, n, error)), float(proportion_upper(k, n, error))
            with precision(400):
                assert tail(k, n, arb(low * (1 + 1e-6))) > arb(error)
                assert tail(n - k, n, 1 - arb(high * (1 - 1e-6))) > arb(error)


def test_no_success_gives_zero_and_only_successes_give_one() -> None:
    assert proportion_lower(0, [1, 10, 10**6], 0.05).tolist() == [0.0, 0.0, 0.0]
    assert proportion_upper([1, 10, 10**6], [1, 10, 10**6], 0.05).tolist() == [1.0, 1.0, 1.0]
    assert float(proportion_lower(10, 10, 0.05)) <= 0.05**0.1
    assert float(proportion_upper(0, 10, 0.05)) >= 1 - 0.05**0.1


@pytest.mark.parametrize("n", [10, 1000])
def test_bounds_grow_with_the_count_and_widen_with_confidence(n: int) -> None:
    k = np.arange(n + 1)
    assert np.all(np.diff(proportion_lower(k, n, 1e-3)) > 0)
    assert np.all(np.diff(proportion_upper(k, n, 1e-3)) > 0)
    assert np.all(proportion_lower(k, n, 1e-6) <= proportion_lower(k, n, 1e-3))
    assert np.all(proportion_upper(k, n, 1e-6) >= proportion_upper(k, n, 1e-3))
    assert np.all(proportion_lower(k, n, 0.5) <= np.minimum(k / n + 1e-3, 1))


def test_arguments_broadcast() -> None:
    assert proportion_lower(np.arange(3)[:, None], [10, 20], 0.05).shape == (3, 2)


@pytest.mark.parametrize("bound", [proportion_lower, proportion_upper])
@pytest.mark.parametrize(
    ("successes", "trials", "error", "name"),
    [
        (-1, 10, 0.05, "successes"),
        (11, 10, 0.05, "successes"),
        (2.0, 10, 0.05, "successes"),
        (True, 10, 0.05, "successes"),
        (0, 0, 0.05, "trials"),
        (1, 10.5, 0.05, "trials"),
        (1, 10, 0.0, "error_probability"),
        (1, 10, 1.0, "error_probability"),
        (1, 10, float("nan"), "error_probability"),
    ],
)
def test_bad_counts_are_refused(bound, successes, trials, error, name) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidValue, match=rf"^{name}="):
        bound(successes, trials, error)
