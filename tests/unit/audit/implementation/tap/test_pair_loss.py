"""The loss of what moved, against closed forms."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpverdict.audit.implementation.tap.pair_loss import NoisyValues, PairLoss, selection_probabilities
from dpverdict.audit.implementation.tap.tape import Choice
from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.geometric import Geometric
from dpverdict.audit.laws.gumbel import Gumbel
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.laws.two_sided_geometric import TwoSidedGeometric
from dpverdict.audit.laws.uniform import Uniform

LAPLACE, GAUSSIAN = Laplace(), Gaussian()


def loss_of(matrix, move, *laws) -> PairLoss:  # type: ignore[no-untyped-def]
    matrix = np.asarray(matrix, dtype=float)
    ids = np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape)
    rows = NoisyValues(np.asarray(move, dtype=float), np.zeros(len(move)), np.where(matrix == 0, -1, ids), matrix)
    found = PairLoss()
    found.add_rows(rows, lambda number: laws[number])
    found.close()
    return found


def test_independent_laplace_noise_adds_up_exactly() -> None:
    found = loss_of(np.diag([1.0, 2.0, 4.0]), [1, 1, 1], LAPLACE, LAPLACE, LAPLACE)
    assert found.epsilon == 1.75
    assert found.whole.certified_delta(1).lower > 0


def test_correlated_gaussian_noise_has_the_quadratic_form_of_its_covariance() -> None:
    rng = np.random.default_rng(3)
    matrix, move = rng.normal(size=(3, 5)), rng.normal(size=3)
    found = loss_of(matrix, move, *[GAUSSIAN] * 5)
    assert found.mu_squared == pytest.approx(move @ np.linalg.solve(matrix @ matrix.T, move))
    mu = math.sqrt(found.mu_squared)
    assert float(found.whole.delta(0.5)) == pytest.approx(
        ndtr(mu / 2 - 0.5 / mu) - math.exp(0.5) * ndtr(-mu / 2 - 0.5 / mu)
    )


def test_mixed_laplace_and_gaussian_noise_is_composed() -> None:
    found = loss_of([[1, 0], [1, 2]], [1, 3], LAPLACE, GAUSSIAN)  # s = (1, 1)
    assert (found.epsilon, found.mu_squared) == (math.inf, pytest.approx(1.0))
    assert len(found.losses) == 2
    low, high = found.whole.delta_bounds(np.array(1.0))
    assert 0 < float(low) <= float(high) < 1


def test_a_combination_without_noise_makes_the_loss_infinite() -> None:
    assert loss_of([[1], [1]], [1, 0], LAPLACE).infinite is not None
    assert loss_of([[1], [1]], [1, 1], LAPLACE).epsilon == pytest.approx(1.0)
    assert loss_of([[0.0]], [1], LAPLACE).infinite is not None


def test_sums_of_laplace_draws_are_as_private_as_their_largest() -> None:
    found = loss_of([[0.5, 10.0]], [1], LAPLACE, LAPLACE)
    assert (found.epsilon, found.approached) == (0.0, pytest.approx(0.1))
    x = np.linspace(-200, 200, 40001)  # the ratio of the densities of the sum, by convolution on a grid
    half = np.exp(-np.abs(np.linspace(-20, 20, 4001)) / 0.5)
    density = np.convolve(np.exp(-np.abs(x) / 10), half, mode="same")
    inner = slice(5000, -5000)
    ratio = np.abs(np.log(density[100:][inner] / density[:-100][inner]))
    assert 0.099 < ratio.max() < 0.1001


def test_the_difference_of_two_geometric_draws_is_two_sided() -> None:
    law = Geometric("1/3")
    assert loss_of([[1, -1]], [2], law, law).epsilon == pytest.approx(2 / 3)
    assert loss_of([[1.0]], [2], law).epsilon == math.inf


@pytest.mark.parametrize(
    ("law", "move", "epsilon", "delta"),
    [
        (Exponential(), 1.0, math.inf, 1 - math.exp(-1)),
        (Uniform(), 0.25, math.inf, 0.25),
        (TwoSidedGeometric(1), 3.0, 3.0, 0.0),
    ],
)
def test_other_laws(law: Law, move: float, epsilon: float, delta: float) -> None:
    found = loss_of([[1.0]], [move], law)
    assert found.epsilon == epsilon
    assert float(found.whole.delta(5)) == pytest.approx(delta)


@pytest.mark.slow
def test_a_gumbel_variable_that_is_released_is_not_pure() -> None:
    found = loss_of([[1.0]], [1.0], Gumbel())
    assert found.epsilon == math.inf
    assert float(found.whole.delta_bounds(np.array(0.5))[0]) > 0


def test_a_whole_number_moved_by_a_fraction_tells_everything() -> None:
    assert loss_of([[1.0]], [0.5], TwoSidedGeometric(1)).infinite is not None


def test_coins_and_choices_compare_their_probabilities() -> None:
    found = PairLoss()
    found.add_choice(Choice("coin", np.array([[0.75, 0.25]]), 0, ""), Choice("coin", np.array([[0.25, 0.75]]), 0, ""))
    assert found.epsilon == pytest.approx(math.log(3))


def test_selection_by_gumbel_noise_is_the_exponential_mechanism() -> None:
    scores = np.array([0.0, 1.0, 3.0])
    found = selection_probabilities(Gumbel(), scores, 2.0)
    assert found is not None
    assert np.allclose(found, np.exp(scores / 2) / np.exp(scores / 2).sum())
    assert selection_probabilities(Gaussian(), scores, 2.0) is None
