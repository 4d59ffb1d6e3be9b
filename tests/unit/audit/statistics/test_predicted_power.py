"""What explored scores promise: near what fresh trials show, and nothing where nothing is to be seen."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.statistics.joint_test import Order, signed_likelihood_root
from dpverdict.audit.statistics.payoffs import CurvePayoff, SymmetricPayoff
from dpverdict.audit.statistics.predicted_power import (
    LEAST_OF_EVENT,
    LEAST_OF_PAYOFF,
    SHARES,
    ExploredScores,
    best_event,
    cross_fitted_prediction,
    predicted_z_of_payoff,
    share_of_event,
    threshold_on_new_score,
)
from dpverdict.mechanisms.core.guarantees import GaussianDP

SEED = 8
LINE = ((1.0, 0.0),)


def test_an_event_promises_about_the_root_that_fresh_trials_show() -> None:
    """Of the mechanism without noise with probability 0.1: an output of 1 has probability 0.1 against 0."""
    rng, found = np.random.default_rng(SEED), []
    for _ in range(40):
        p, q = (rng.random((2, 400)) < np.array([[0.1], [0.01]])).astype(np.float64)
        event = best_event(ExploredScores(scores=(p, q)), LINE, 1000)
        assert event is not None
        found.append(
            (event.order, event.threshold, cross_fitted_prediction([ExploredScores(scores=(p, q))], LINE, 1000))
        )
    assert {order for order, _, _ in found} == {Order.DATASET_FIRST}
    assert {threshold for _, threshold, _ in found} == {0.5}
    true = float(signed_likelihood_root(100.0, 1000, 10.0, 1000, 1.0, 0.0))
    mean = float(np.mean([z for _, _, z in found]))
    print(f"promised {mean:.2f}, true {true:.2f}")
    assert abs(mean - true) < 0.25 * true


def test_an_event_in_the_other_order_is_a_lower_tail() -> None:
    rng = np.random.default_rng(SEED)
    p = rng.laplace(size=2000)
    q = np.where(rng.random(2000) < 0.1, -20 + rng.normal(size=2000), rng.laplace(size=2000))
    event = best_event(ExploredScores(scores=(p, q)), LINE, 1000)
    assert event is not None
    assert event.order is Order.NEIGHBOUR_FIRST
    assert -17 < event.threshold < -5
    assert event.share == pytest.approx(0.05, abs=0.01)
    # on another scale the same outputs are in the event
    again = threshold_on_new_score(event, np.exp(p / 10), np.exp(q / 10))
    assert math.exp(-1.7) < again < math.exp(-0.5)


@pytest.mark.parametrize("line", [LINE, ((0.5, 0.1),), tuple((e, float(GaussianDP(1).delta_upper(e))) for e in (0, 1))])
def test_nothing_is_promised_where_the_sides_are_the_same(line: tuple[tuple[float, float], ...]) -> None:
    rng = np.random.default_rng(SEED)
    pairs = [[(rng.normal(size=300), rng.normal(size=300)) for _ in range(3)] for _ in range(40)]
    assert (
        np.mean(
            [cross_fitted_prediction([ExploredScores(scores=one) for one in scores], line, 1000) for scores in pairs]
        )
        < 0.5
    )
    assert best_event(ExploredScores(scores=(np.zeros(50), np.zeros(50))), line, 100) is None
    assert cross_fitted_prediction([ExploredScores(scores=(np.zeros(50), np.zeros(50)))], line, 100) == 0.0


@pytest.mark.parametrize("payoff", [SymmetricPayoff(1.0, 0.0, 0.9), CurvePayoff.of_claim(GaussianDP(1))])
def test_a_payoff_promises_what_it_shows(payoff: SymmetricPayoff | CurvePayoff) -> None:
    rng = np.random.default_rng(SEED)
    p, q = 2 + 2 * rng.normal(size=(2, 200_000)) + np.array([[0.0], [-4.0]])
    x, y = payoff.of_dataset(p), payoff.of_neighbour(q)
    true = (x.mean() - y.mean() - payoff.allowed) / math.sqrt(x.var() + y.var()) * math.sqrt(5000)
    z = predicted_z_of_payoff(payoff, p, q, 5000)
    assert z == pytest.approx(true, rel=1e-3)  # one output more on each side
    assert predicted_z_of_payoff(payoff, p, q, 50) < 0.85 * z / 10  # decided by betting
    assert predicted_z_of_payoff(payoff, p * 0, q * 0, 50) == 0.0


def test_outputs_of_which_none_is_on_the_wrong_side_do_not_promise_certainty() -> None:
    payoff, scores = SymmetricPayoff(1.0, 0.0, 0.9), np.where(np.arange(40) < 4, 2.0, 0.0)
    x = payoff.of_dataset(scores)
    by_themselves = math.sqrt(2 * 1000) * x.mean() / x.std()
    assert 0 < predicted_z_of_payoff(payoff, scores, -scores, 1000) < by_themselves / 2


def test_what_chance_promises_is_taken_off_where_it_was_searched() -> None:
    scores = np.repeat([1.0, 0.0], [30, 970]), np.zeros(1000)
    few, many = (best_event(ExploredScores(scores=scores, luck=luck), ((1.0, 0.0),), 4000) for luck in (0.0, 1.0))
    assert few is not None
    assert many is not None
    assert few.beyond_luck == few.z == many.z == many.beyond_luck + 2


def test_past_a_gap_the_other_side_counts_as_none() -> None:
    rng = np.random.default_rng(SEED)
    q, hits = rng.laplace(size=993), np.linspace(40.0, 60.0, 7)
    far, near = np.concatenate([rng.laplace(size=993), hits]), np.concatenate([rng.laplace(size=993), hits / 8])
    for p, gains in ((far, True), (near, False)):
        with_gaps, without = (
            best_event(ExploredScores(scores=(p, q), gaps=gaps), LINE, 4000) for gaps in (True, False)
        )
        assert with_gaps is not None
        assert without is not None
        assert (with_gaps.z > without.z + 0.5) is gains
        assert not gains or q.max() < with_gaps.threshold < 40
        # the gap found the event, so that no luck of a search is taken off
        assert with_gaps.past_a_gap is gains
        assert (with_gaps.beyond_luck == with_gaps.z) is gains
        assert not without.past_a_gap


def test_the_share_follows_the_predictions_and_leaves_each_a_floor() -> None:
    shares = [share_of_event(3.0, z, explored=400, fresh=1600, error=0.05) for z in (-5.0, 0.0, 2.0, 4.0, 6.0, 14.0)]
    assert shares == sorted(shares)
    assert shares[0] == LEAST_OF_EVENT
    assert shares[-1] == 1 - LEAST_OF_PAYOFF
    assert 0 < min(SHARES) <= max(SHARES) < 1
    # the price of the floor, as a factor of the samples at 80 % power
    needed = [(stats.norm.isf(error) + stats.norm.ppf(0.8)) ** 2 for error in (0.05, 0.05 * (1 - LEAST_OF_EVENT))]
    assert needed[1] / needed[0] < 1.05
