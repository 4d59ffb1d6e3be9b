"""The least mu of a loss and the regret of reporting it: proved ends, oracles, and ends that are wrong on purpose."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy.optimize import brentq
from scipy.stats import norm

from dpverdict.audit import FiniteLoss, bounded_range, gdp_mu, gdp_regret, poisson_sampled, random_allocation
from dpverdict.audit.exact import gdp
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, ball, precision
from dpverdict.errors import InvalidValue

ORACLE = json.loads((Path(__file__).parents[3] / "vectors/gdp_of_losses.json").read_text(encoding="utf-8"))
ALPHAS = np.linspace(0.001, 0.999, 400)


def loss_of(name: str, parameter: str) -> PrivacyLoss:
    if name == "laplace":
        return LaplaceLoss([parameter])
    return RandomisedResponseLoss(1, parameter) if name == "randomized_response" else bounded_range(parameter)


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: str(case["params"]))
def test_the_least_mu_of_closed_forms_is_enclosed(case: dict[str, Any]) -> None:
    found = gdp_mu(loss_of(case["params"]["loss"], case["params"]["parameter"]))
    assert found.contains(case["lower"])
    assert found.contains(case["upper"])
    assert found.upper - found.lower <= 1e-9 * found.upper


def test_of_gaussian_and_disjoint_losses_it_is_exact() -> None:
    assert gdp_mu(GaussianLoss("0.1")).contains("0.1")
    assert gdp_mu(GaussianLoss(2)).lower == gdp_mu(GaussianLoss(2)).upper == 2
    assert gdp_mu(DisjointLoss()).lower == np.inf


def test_an_asymmetric_pair_is_held_to_both_orders() -> None:
    loss = FiniteLoss(["0.7", "0.3"], ["0.4", "0.6"])
    one, other = gdp_mu(loss), gdp_mu(loss.reversed())
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)
    attained = norm.isf(0.4) - norm.isf(0.7)  # at alpha = 0.4, where the two laws have their vertex
    assert one.lower <= attained * (1 + 1e-12)
    assert one.upper >= attained * (1 - 1e-12)


def test_a_composition_is_between_one_point_and_the_sum_of_squares() -> None:
    found = gdp_mu(compose(GaussianLoss("0.5"), LaplaceLoss([1])))
    together = np.hypot(0.5, gdp_mu(LaplaceLoss([1])).upper)
    assert 0.5 < found.lower <= found.upper <= together * (1 + 1e-12)
    assert found.lower > 0.95 * together


@pytest.mark.parametrize(
    ("loss", "published"),
    [
        (LaplaceLoss([1]), 0.0370161112),
        (RandomisedResponseLoss(1, 1), 0.0575463867),
        (bounded_range(1), 0.0087722752),
    ],
    ids=repr,
)
def test_the_regret_is_enclosed_and_not_below_what_a_grid_shows(loss: PrivacyLoss, published: float) -> None:
    mu = gdp_mu(loss).lower
    found = gdp_regret(loss, mu)
    assert 0 < found.upper - found.lower < 1e-8
    assert found.upper >= published  # float64 bisection on a grid of levels: an under-estimate
    assert found.lower <= published + 1e-7
    k = found.upper
    levels = ALPHAS[ALPHAS + k <= 1]
    assert (loss.beta(levels + k) - k <= norm.sf(mu - norm.isf(levels)) + 1e-14).all()
    k = found.lower - 1e-6
    levels = np.linspace(0.001, 0.99 - k, 20_000)
    assert (loss.beta(levels + k) - k > norm.sf(mu - norm.isf(levels))).any()


def test_the_regret_of_a_gaussian_loss_is_0_at_its_mu_and_grows_below_it() -> None:
    loss = GaussianLoss(1)
    assert gdp_regret(loss, 1).lower == 0
    assert gdp_regret(loss, 1).upper < 1e-6
    assert gdp_regret(loss, "1.2").lower > 0.01  # a larger mu lies below the curve
    assert gdp_regret(loss, "0.8").upper < 1e-6  # a smaller one above it, which is no regret: it is false


def test_the_regret_of_a_gaussian_loss_is_that_of_the_search_over_every_epsilon() -> None:
    """An ulp above the mu of the loss it is no more than that, where the search stops at 1e-9."""
    for own, mu in ((1, "1.2"), (3, "8")):
        loss = GaussianLoss(own)
        found = gdp_regret(loss, mu)
        with precision(128):
            low, high = gdp._regret_ends(gdp._profile(loss), ball(Fraction(mu)), both=False)
        assert float(low) <= found.upper
        assert found.lower <= float(high)
        assert float(high) - float(low) < 1e-8
        assert found.upper - found.lower < 1e-15
    assert 0 < gdp_regret(GaussianLoss("0.3"), Fraction(math.nextafter(0.3, 1))).upper < 1e-16


def test_a_mu_that_is_too_small_is_not_shown() -> None:
    """Planted: what the proof of the upper end must refuse, on the cell that holds the supremum."""
    loss = LaplaceLoss([1])
    mu, delta = gdp_mu(loss), gdp._profile(loss)
    with precision(128):
        for factor, shown in (("0.999999999", False), ("1.000000001", True)):
            size = ball(Fraction(mu.upper) * Fraction(factor))
            assert gdp._is_gdp(delta, size, Fraction(0), Fraction(1, 1 << 20)) is shown


def test_a_regret_whose_cells_are_taken_for_constant_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the profile on a cell as at its left end, which is above it."""
    honest = gdp_regret(LaplaceLoss([1]), "1.0300639976244339")
    monkeypatch.setattr(gdp, "_slope", lambda *_: arb(0))
    assert gdp_regret(LaplaceLoss([1]), "1.0300639976244339").upper < honest.lower


SAMPLED = poisson_sampled(GaussianLoss(1), "0.1")


def mu_at(epsilon: float) -> float:
    """mu(epsilon, delta(epsilon)) of one sampled step, the larger of both orders, by bisection in SciPy."""
    logs = max(SAMPLED.remove.log_delta(epsilon), SAMPLED.add.log_delta(epsilon))

    def excess(mu: float) -> float:
        upper, lower = norm.logsf(epsilon / mu - mu / 2), epsilon + norm.logsf(epsilon / mu + mu / 2)
        return float(upper + np.log1p(-np.exp(lower - upper)) - logs)

    return float(brentq(excess, 0.05, 1.5, xtol=1e-13))


def test_of_sampled_gaussian_noise_it_is_that_of_the_noise_as_the_far_tail_shows() -> None:
    assert gdp_mu(SAMPLED).lower == gdp_mu(SAMPLED).upper == 1
    far = [mu_at(epsilon) for epsilon in (5.0, 50.0, 500.0)]
    assert far == sorted(far)
    assert 0.99 < far[-1] < 1


@pytest.mark.slow
def test_of_sampled_noise_that_is_composed_it_is_that_of_all_the_noise() -> None:
    many = gdp_mu(poisson_sampled(GaussianLoss("0.5"), "0.01", steps=100).add)
    assert many.lower == many.upper == 5
    assert gdp_mu(random_allocation(noise_multiplier=2, steps=50)).contains("0.5")
    mixed = compose(SAMPLED, poisson_sampled(GaussianLoss(2), "0.2"), GaussianLoss(2))
    assert gdp_mu(mixed).lower == gdp_mu(mixed).upper == 3


@pytest.mark.slow
def test_of_sampled_noise_beside_laplace_noise_it_is_between_the_two() -> None:
    with_laplace = gdp_mu(compose(SAMPLED, LaplaceLoss([1])))
    assert with_laplace.lower >= 1
    assert with_laplace.upper <= np.hypot(1, gdp_mu(LaplaceLoss([1])).upper) * (1 + 1e-15)


def test_what_is_less_likely_than_a_delta_is_left_aside() -> None:
    found, epsilon = gdp_mu(SAMPLED, "1e-6"), SAMPLED.epsilon("1e-6")
    assert found.upper - found.lower < 1e-8
    assert found.lower <= mu_at(epsilon * (1 + 1e-9))
    assert max(mu_at(at) for at in np.linspace(0.01, epsilon * (1 - 1e-9), 50)) <= found.upper
    assert gdp_mu(SAMPLED, "1e-10").lower > found.upper
    assert gdp_mu(SAMPLED, "0.5").upper == 0
    assert gdp_mu(GaussianLoss(2), "1e-6").upper == 2
    assert gdp_mu(GaussianLoss(2), "0.9").upper == 0


def test_the_regret_of_sampled_noise_is_what_lines_below_both_orders_show() -> None:
    found = gdp_regret(SAMPLED, "0.3")
    epsilons = np.linspace(0, 4, 400)
    rest = 1 - np.maximum(SAMPLED.remove.delta(epsilons), SAMPLED.add.delta(epsilons))

    def hull(alpha: float) -> float:
        lines = np.maximum(rest - np.exp(epsilons) * alpha, np.exp(-epsilons) * (rest - alpha))
        return max(float(lines.max()), 0.0)

    def missed(k: float) -> float:
        levels = np.linspace(1e-3, 1 - k, 400)
        return max(hull(level + k) - k - float(norm.sf(0.3 - norm.isf(level))) for level in levels)

    assert 0 < found.upper - found.lower < 1e-8
    assert missed(found.upper) <= 0
    assert missed(found.lower - 1e-4) > 0


@pytest.mark.slow  # some seconds each
@pytest.mark.parametrize(
    ("mu", "rate", "steps", "number", "regret"),
    [
        (1, "0.01", 1000, "0.439360", 0.006435),
        (1, "0.01", 10_000, "1.304445", 0.00289),
        ("1.25", "0.02", 2000, "1.705288", 0.01467),
        (2, "0.1", 50, "2.844085", 0.07870),
    ],
)
def test_the_regret_of_training_is_near_what_gdpnum_finds(
    mu: Exact, rate: str, steps: int, number: str, regret: float
) -> None:
    """Its mu is the largest on 10 000 levels, and it steps over as many for the regret: neither is certified.

    It leaves aside more than a delta of 1e-4, and less than one of 0.3.
    """
    loss = poisson_sampled(GaussianLoss(mu), rate, steps=steps)
    found = gdp_regret(loss, number)
    assert found.upper - found.lower < 1e-8
    assert found.contains(str(regret)) or abs(found.lower - regret) < 1e-4
    assert gdp_mu(loss, "1e-4").upper > float(number) > gdp_mu(loss, "0.3").lower


@pytest.mark.parametrize("floor", [-1, 1, 2])
def test_a_delta_to_leave_aside_is_below_1(floor: int) -> None:
    with pytest.raises(InvalidValue, match="down_to_delta"):
        gdp_mu(LaplaceLoss([1]), floor)


def test_mu_is_positive() -> None:
    with pytest.raises(InvalidValue, match="mu"):
        gdp_regret(LaplaceLoss([1]), 0)
