"""The least mu of a loss and the regret of reporting it: proved ends, oracles, and ends that are wrong on purpose."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpverdict.audit import FiniteLoss, bounded_range, gdp_mu, gdp_regret
from dpverdict.audit.exact import gdp
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import ball, precision
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


def test_a_mu_that_is_too_small_and_a_regret_that_is_too_small_are_not_shown() -> None:
    """Planted: what the two proofs must refuse."""
    loss = LaplaceLoss([1])
    mu, k = gdp_mu(loss), gdp_regret(loss, gdp_mu(loss).lower)
    delta, beta = gdp._profile(loss), gdp._trade_off(loss)
    with precision(128):
        for factor, shown in (("0.999999999", False), ("1.000000001", True)):
            size = ball(Fraction(mu.upper) * Fraction(factor))
            assert gdp._is_gdp(delta, size, Fraction(0), Fraction(1)) is shown
            assert gdp._within(beta, ball(Fraction(mu.lower)), Fraction(k.upper) * Fraction(factor) ** 10) is shown


def test_mu_is_positive() -> None:
    with pytest.raises(InvalidValue, match="mu"):
        gdp_regret(LaplaceLoss([1]), 0)
