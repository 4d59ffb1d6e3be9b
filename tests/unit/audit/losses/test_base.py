"""What every loss can be asked, with numbers, arrays and texts, and what a loss without tails says."""

from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.base import BallLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.errors import InvalidValue

LOSSES: list[PrivacyLoss] = [GaussianLoss("0.7"), LaplaceLoss(["0.5", "0.3"]), RandomisedResponseLoss(2, "0.3")]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_text_a_fraction_and_an_array_are_answered_alike(loss: PrivacyLoss) -> None:
    single = loss.delta("1/4")
    assert single == loss.delta(Fraction(1, 4)) == loss.delta(0.25)
    np.testing.assert_array_equal(loss.delta(np.array([0.25, 0.25])), [single, single])
    assert loss.delta(np.full((2, 1), 0.25)).shape == (2, 1)
    assert loss.certified_delta("1/4").lower <= single * (1 + 1e-9)
    assert loss.is_certified


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_curves_agree_with_each_other(loss: PrivacyLoss) -> None:
    assert loss.advantage() == pytest.approx(loss.delta(0), rel=1e-12)
    assert loss.log_delta(0.1) == pytest.approx(np.log(loss.delta(0.1)), rel=1e-12)
    delta = loss.delta(0.2)
    assert loss.epsilon(delta) == pytest.approx(0.2, abs=1e-6)
    assert loss.epsilon(1) == 0.0
    alpha = 0.3  # beta lies above every line 1 - delta - exp(epsilon) alpha
    lines = [1 - loss.delta(e) - np.exp(e) * alpha for e in np.linspace(-1, 1, 41)]
    assert loss.beta(alpha) >= max(lines) - 1e-12
    assert loss.certified_advantage().lower <= loss.advantage() * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_values_outside_of_a_domain_are_refused_by_name(loss: PrivacyLoss) -> None:
    for method, bad in (("delta", np.nan), ("epsilon", 2), ("beta", -0.1), ("renyi", 0)):
        for name in (method, f"certified_{method}"):
            with pytest.raises(InvalidValue):
                getattr(loss, name)(bad)


def test_a_loss_without_tails_says_so() -> None:
    loss = DisjointLoss()
    assert loss.delta(100) == 1.0
    with pytest.raises(InvalidValue):
        loss.to_pld(0.1)
    assert issubclass(LaplaceLoss, BallLoss)
    assert not issubclass(GaussianLoss, BallLoss)
