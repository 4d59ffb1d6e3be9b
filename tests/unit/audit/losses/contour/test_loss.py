"""Gaussian and Laplace noise together: every curve between those of the parts and of their sum."""

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.contour.loss import RELATIVE_ERROR, ComposedLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss

GAUSSIAN, LAPLACE = GaussianLoss("0.5"), LaplaceLoss(["0.5", "0.3"])
BOTH = ComposedLoss(GAUSSIAN, LAPLACE)


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.4, 2.0])
def test_two_releases_tell_more_than_either_and_no_more_than_their_epsilons_together(epsilon: float) -> None:
    """The Laplace part alone has the loss 0.8 at most."""
    found = BOTH.certified_delta(epsilon)
    for part in (GAUSSIAN, LAPLACE):
        assert found.lower >= part.certified_delta(epsilon).upper - 1e-15
    assert found.upper <= GAUSSIAN.certified_delta(epsilon - 0.8).upper


def test_compose_gives_this_loss_and_says_how() -> None:
    made = compose(LAPLACE, GAUSSIAN)
    assert isinstance(made, ComposedLoss)
    assert made.delta(0.3) == pytest.approx(BOTH.delta(0.3), rel=1e-13)
    assert "contour" in made.route
    assert "0.5" in made.explain()


def test_arrays_are_within_the_documented_error_of_the_certified_curve() -> None:
    epsilons = np.linspace(0, 3, 20)
    truth = BOTH.certified_delta(epsilons)
    values = BOTH.delta(epsilons)
    assert (values >= truth.lower * (1 - RELATIVE_ERROR)).all()
    assert (values <= truth.upper * (1 + RELATIVE_ERROR)).all()


def test_the_curves_agree_with_each_other() -> None:
    tails = BOTH.tails(np.array([0.4]))
    difference = tails.p_above[0] - np.exp(0.4) * tails.q_above[0]
    assert difference == pytest.approx(BOTH.delta(0.4), rel=1e-9)
    assert tails.relative_error <= RELATIVE_ERROR
    lower, upper = BOTH.beta_bounds(np.array([0.2]))
    assert lower[0] <= BOTH.beta(0.2) <= upper[0]
    divergence = GAUSSIAN.renyi(2) + LAPLACE.renyi(2)
    assert BOTH.renyi(2) == pytest.approx(divergence, rel=1e-12)
