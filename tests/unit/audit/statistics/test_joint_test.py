"""The joint test and its bounds: monotone, finite at counts of 0, equal to independent formulas, and their errors."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import optimize, special, stats

from dpverdict.audit.statistics.joint_test import (
    Counts,
    PValueMethod,
    default_method,
    delta_lower,
    epsilon_lower,
    exact_p_value,
    joint_p_value,
    largest_rejected,
    mu_lower,
    signed_likelihood_root,
    touching_epsilon,
)
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.errors import InvalidValue


def log_likelihood(counts: tuple[int, int, int, int], p: float, q: float) -> float:
    kp, np_, kq, nq = counts
    parts = (
        special.xlogy(kp, p),
        special.xlogy(np_ - kp, 1 - p),
        special.xlogy(kq, q),
        special.xlogy(nq - kq, 1 - q),
    )
    return float(sum(parts))


@pytest.mark.parametrize("counts", [(40, 100, 8, 100), (9, 10, 0, 50), (30, 30, 2, 60), (5, 400, 0, 300)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.0, 0.01), (0.4, 0.005), (-0.3, 0.001)])
def test_the_root_is_that_of_a_direct_maximisation(
    counts: tuple[int, int, int, int], epsilon: float, delta: float
) -> None:
    kp, n_p, kq, n_q = counts
    most = min(1.0, (1 - delta) * math.exp(-epsilon))
    best = optimize.minimize_scalar(
        lambda q: -log_likelihood(counts, delta + math.exp(epsilon) * q, q),
        bounds=(1e-12, most - 1e-12),
        method="bounded",
        options={"xatol": 1e-12},
    )
    free = log_likelihood(counts, kp / n_p, kq / n_q)
    expected = math.copysign(math.sqrt(2 * (free + best.fun)), kp / n_p - math.exp(epsilon) * kq / n_q - delta)
    assert float(signed_likelihood_root(*counts, epsilon, delta)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.127), (1.0, 0.0), (3.0, 1e-5), (0.1, 1e-5), (0.0, 0.383)])
@pytest.mark.parametrize("sizes", [(30, 30), (17, 45)])
def test_the_root_is_monotone_in_both_counts_on_full_tables(
    sizes: tuple[int, int], epsilon: float, delta: float
) -> None:
    n_p, n_q = sizes
    table = signed_likelihood_root(np.arange(n_p + 1)[:, None], n_p, np.arange(n_q + 1)[None, :], n_q, epsilon, delta)
    assert np.isfinite(table).all()
    assert (np.diff(table, axis=0) >= -1e-9).all()
    assert (np.diff(table, axis=1) <= 1e-9).all()


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_exact_p_values_do_not_fall_in_epsilon_delta_or_the_second_count(delta: float) -> None:
    """What the inversions rest on."""
    n, epsilons = 7, np.linspace(0, 2.5, 11)
    for a in range(n + 1):
        for b in range(n + 1):
            p = [joint_p_value(Counts(a, n, b, n), epsilon=e, delta=delta, level=0.05) for e in epsilons]
            rejected = np.array(p) <= 0.05
            assert not (np.diff(rejected.astype(int)) > 0).any()


def test_the_exact_p_value_is_no_smaller_than_the_probability_at_every_q_of_the_interval() -> None:
    n, epsilon, delta = 60, 1.0, 0.05
    counts = Counts(33, n, 8, n)
    p = exact_p_value(counts, epsilon, delta, 1e-4, 0.25)
    k = np.arange(n + 1)
    z = signed_likelihood_root(k[:, None], n, k[None, :], n, epsilon, delta)
    extreme = z >= float(signed_likelihood_root(*counts.four, epsilon, delta))
    attained = [
        float(stats.binom.pmf(k, n, delta + math.e * q) @ extreme @ stats.binom.pmf(k, n, q))
        for q in np.linspace(float(proportion_lower(8, n, 5e-5)), float(proportion_upper(8, n, 5e-5)), 400)
    ]
    assert max(attained) + 1e-4 <= p <= 1.2 * max(attained) + 1e-4


def test_small_counts_are_tested_exactly_and_large_ones_are_not() -> None:
    assert default_method(Counts(6000, 20_000, 49, 20_000)) is PValueMethod.EXACT
    assert default_method(Counts(19_960, 20_000, 500, 20_000)) is PValueMethod.EXACT
    assert default_method(Counts(6000, 10_000, 500, 20_000)) is PValueMethod.EXACT
    assert default_method(Counts(6000, 20_000, 500, 20_000)) is PValueMethod.ASYMPTOTIC


def test_the_three_methods_agree_where_they_should() -> None:
    counts = Counts(4300, 10_000, 1290, 10_000)
    p = {m: joint_p_value(counts, epsilon=1.0, delta=0.05, level=0.003, method=m) for m in PValueMethod}
    assert p[PValueMethod.ASYMPTOTIC] < p[PValueMethod.EXACT] < 1.4 * p[PValueMethod.ASYMPTOTIC] + 1e-4
    assert p[PValueMethod.CLOPPER_PEARSON] > 3 * p[PValueMethod.EXACT]


def test_clopper_pearson_is_where_its_two_bounds_meet() -> None:
    counts = Counts(60, 100, 10, 100)
    p = joint_p_value(counts, epsilon=1.0, delta=0.1, level=0.05, method=PValueMethod.CLOPPER_PEARSON)
    lower, upper = stats.beta.ppf(p / 2, 60, 41), stats.beta.ppf(1 - p / 2, 11, 90)
    assert lower - math.e * upper == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (50, 0), (1000, 0), (1000, 1000), (1, 999), (1000, 999)])
def test_bounds_are_finite_at_every_extreme_count(first: int, second: int) -> None:
    counts = Counts(first, 1000, second, 1000)
    for level in (0.05, 1e-6):
        found = (
            epsilon_lower(counts, delta=0.01, level=level),
            delta_lower(counts, epsilon=0.5, level=level),
            mu_lower(counts, epsilon=0.0, level=level),
        )
        assert all(math.isfinite(bound) and bound >= 0 for bound in found)
        assert (found[0] > 2) == ((first, second) == (1000, 0) or (level == 0.05 and (first, second) == (50, 0)))


def test_a_bound_is_rejected_and_a_little_more_is_not() -> None:
    counts = Counts(420, 1000, 100, 1000)
    epsilon = epsilon_lower(counts, delta=0.05, level=0.05)
    assert joint_p_value(counts, epsilon=epsilon, delta=0.05, level=0.05) <= 0.05
    assert joint_p_value(counts, epsilon=epsilon + 2e-3, delta=0.05, level=0.05) > 0.05
    delta = delta_lower(counts, epsilon=1.0, level=0.05)
    assert joint_p_value(counts, epsilon=1.0, delta=delta, level=0.05) <= 0.05
    assert joint_p_value(counts, epsilon=1.0, delta=delta + 1e-3, level=0.05) > 0.05


def test_the_bound_on_mu_solves_the_profile() -> None:
    counts = Counts(700, 1000, 310, 1000)
    for epsilon in (0.0, 0.4):
        delta, mu = delta_lower(counts, epsilon=epsilon, level=0.05), mu_lower(counts, epsilon=epsilon, level=0.05)
        found = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        assert delta - 1e-9 < found <= delta


def test_the_touching_line_is_that_of_the_curve() -> None:
    mu, q = 1.3, 0.2
    p = float(stats.norm.cdf(stats.norm.ppf(q) + mu))
    slope = stats.norm.pdf(stats.norm.ppf(q) + mu) / stats.norm.pdf(stats.norm.ppf(q))
    assert touching_epsilon(p, q) == pytest.approx(math.log(slope))
    assert touching_epsilon(1.0, 0.2) == 0.0


def test_the_joint_test_needs_half_the_trials_of_two_bounds() -> None:
    """Expected counts of the event {L >= 0} at 0.9 of the noise of 1-GDP: when does each method reject them?"""
    p = float(stats.norm.cdf(0.5 / 0.9))

    def needed(method: PValueMethod) -> int:
        low, high = 100, 20_000
        while high > low * 1.02:
            n = (low + high) // 2
            counts = Counts(round(p * n), n, round((1 - p) * n), n)
            rejected = joint_p_value(counts, epsilon=0.0, delta=0.38292492254802624, level=0.05, method=method) <= 0.05
            low, high = (low, n) if rejected else (n, high)
        return high

    assert (
        2.5 < needed(PValueMethod.CLOPPER_PEARSON) / needed(PValueMethod.ASYMPTOTIC) < 3.1
    )  # at half power; 2.1 at 80 %


@pytest.mark.parametrize(
    ("arguments", "change", "name"),
    [
        ((-1, 10, 3, 10), {}, "first"),
        ((11, 10, 3, 10), {}, "first"),
        ((1, 10, 3, 0), {}, "second"),
        ((1.5, 10, 3, 10), {}, "first"),
        ((1, 10, 3, 10), {"delta": 1.0}, "delta"),
        ((1, 10, 3, 10), {"delta": math.nan}, "delta"),
        ((1, 10, 3, 10), {"epsilon": math.inf}, "epsilon"),
        ((1, 10, 3, 10), {"level": 0.0}, "level"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: Any, change: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}="):
        joint_p_value(Counts(*arguments), **({"epsilon": 1.0, "delta": 0.1, "level": 0.05} | change))


def test_the_largest_rejected_parameter_is_found_from_a_root_that_is_off() -> None:
    """The p-value is Phi(a - 3) or nearly so; the root that guides the search is 0.4 larger and bent."""

    def p_value(a: float) -> float:
        return float(special.ndtr(a - 3))

    def root(a: float) -> float:
        return 3.4 - a + 0.1 * a * (3.4 - a)

    for level in (0.05, 1e-3):
        solution = 3 + float(special.ndtri(level))
        assert max(solution, 0) - 0.03 <= largest_rejected(p_value, root, 3.4, level) <= max(solution, 0)
    assert largest_rejected(lambda a: 0.5, root, 3.4, 0.05) == 0.0
    assert largest_rejected(lambda a: 0.0, root, 3.4, 0.05) > 3
