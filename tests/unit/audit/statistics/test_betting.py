"""Betting: block boundaries and saving change nothing, and bad states are refused."""

import json
import math

import numpy as np
import pytest

from dpverdict.audit.statistics.betting import Bettor, BettorMixture, betting_p_value
from dpverdict.errors import InvalidValue


def mixture() -> BettorMixture:
    return BettorMixture(weights=(0.5, 0.5), bettors=(Bettor(largest_loss=2.0), Bettor(largest_loss=3.0)))


def test_wealth_is_that_of_the_loop_in_the_definition() -> None:
    rng = np.random.default_rng(1)
    payoffs = rng.uniform(-1, 1.2, size=300)
    _, path = Bettor(largest_loss=2.0).bet(payoffs)
    wealth, total, squares = 1.0, 0.0, 10.0
    for i, payoff in enumerate(payoffs):
        wealth *= 1 + min(max(total / squares, 0), 1 / 4) * payoff
        total, squares = total + payoff, squares + payoff**2
        assert path[i] == pytest.approx(math.log(wealth), abs=1e-9)


def test_a_state_that_was_saved_goes_on_as_if_nothing_had_happened() -> None:
    rng = np.random.default_rng(2)
    first, second = (list(rng.uniform(-1, 1.5, size=(2, n))) for n in (120, 80))
    whole, _ = mixture().bet(first)
    saved = BettorMixture.from_dict(json.loads(json.dumps(whole.to_dict())))
    assert saved == whole
    assert saved.bet(second)[0] == whole.bet(second)[0]
    joined, _ = mixture().bet([np.concatenate(pair) for pair in zip(first, second, strict=True)])
    assert joined.log_now == pytest.approx(whole.bet(second)[0].log_now, rel=1e-9)


def test_the_first_crossing_is_told() -> None:
    payoffs = [np.ones(200), np.ones(200)]
    after, crossed = mixture().bet(payoffs, log_target=math.log(20))
    assert crossed is not None
    before, none = mixture().bet([own[: crossed - 1] for own in payoffs], log_target=math.log(20))
    assert none is None
    assert before.p_value > 1 / 20 >= after.p_value
    assert after.e_value > 20
    assert mixture().bet([np.empty(0), np.empty(0)]) == (mixture(), None)


def test_a_p_value_is_at_most_one() -> None:
    assert betting_p_value([np.empty(0)], 1.0) == 1.0
    assert betting_p_value([-np.ones(50)], 1.0) == 1.0


@pytest.mark.parametrize("weights", [(0.6, 0.6), (1.0,), (1.0, 0.0)])
def test_weights_that_are_no_weights_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(InvalidValue, match=r"^weights="):
        BettorMixture(weights=weights, bettors=(Bettor(largest_loss=2.0), Bettor(largest_loss=2.0)))


@pytest.mark.parametrize("state", [{}, {"weights": 1}, {"weights": [1.0], "bettors": [{"a": 1}]}])
def test_a_state_of_another_form_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match=r"^state="):
        BettorMixture.from_dict(state)


@pytest.mark.parametrize("loss", [0.0, -1.0, math.inf, math.nan])
def test_the_largest_loss_is_positive(loss: float) -> None:
    with pytest.raises(InvalidValue, match=r"^largest_loss="):
        Bettor(largest_loss=loss)
