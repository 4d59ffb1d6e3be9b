"""Compositions on a lattice: every curve between its two bounds, the ledger small, and nonsense refused.

That the bounds hold is shown in tests/soundness; here they are close, ordered and defined at the ends.
"""

import math

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.lattice.bounds import METHOD, LatticeBounds, compose_on_lattice
from dpverdict.errors import InvalidValue


@pytest.fixture(scope="module")
def four() -> LatticeBounds:
    """Four Gaussian losses of mu = 1/2: one of mu = 1."""
    return compose_on_lattice([(GaussianLoss("0.5").tails, 4)], 2.0**-6)


TRUTH = GaussianLoss(1)


@pytest.mark.parametrize("epsilon", [-1, 0, 1, 4])
def test_delta_is_between_bounds_that_are_close(four: LatticeBounds, epsilon: float) -> None:
    truth = TRUTH.certified_delta(epsilon)
    assert four.delta_lower(epsilon) <= truth.lower
    assert truth.upper <= four.delta_upper(epsilon)
    assert four.delta_upper(epsilon) / four.delta_lower(epsilon) < 1.02
    assert four.log_delta_upper(epsilon) == pytest.approx(math.log(four.delta_upper(epsilon)), abs=1e-9)
    upper, lower = four.ledgers(epsilon)
    for ledger in (upper, lower):
        assert 0 <= ledger.transform + ledger.outside + ledger.rounding + ledger.truncation < 1e-6


@pytest.mark.parametrize("delta", ["1e-20", "1e-6", "0.1"])
def test_epsilon_is_between_bounds_that_are_close(four: LatticeBounds, delta: str) -> None:
    truth = TRUTH.certified_epsilon(delta)
    assert four.epsilon_lower(delta) <= truth.upper
    assert truth.lower <= four.epsilon_upper(delta)
    assert four.epsilon_upper(delta) - four.epsilon_lower(delta) < 0.02
    assert four.epsilon_upper("0.9") == 0.0


def test_beta_is_between_bounds_at_every_level(four: LatticeBounds) -> None:
    alphas = np.array([0.0, 1e-9, 0.01, 0.5, 0.99, 1.0])
    lower, upper = four.beta_lower(alphas), four.beta_upper(alphas)
    truth = TRUTH.beta(alphas)
    assert (lower <= truth + 1e-12).all()
    assert (truth <= upper + 1e-12).all()
    assert (upper - lower < 0.01).all()
    assert (lower[-1], upper[0]) == (0.0, 1.0)


def test_the_method_does_not_call_itself_certified(four: LatticeBounds) -> None:
    assert METHOD in four.method
    assert "certified" not in four.method


@pytest.mark.parametrize("parts", [[], [(TRUTH.tails, 0)], [(TRUTH.tails, -1)]])
def test_a_composition_of_nothing_is_refused(parts: list) -> None:
    with pytest.raises(InvalidValue):
        compose_on_lattice(parts, 0.1)
    with pytest.raises(InvalidValue):
        compose_on_lattice([(TRUTH.tails, 1)], 0.0)
