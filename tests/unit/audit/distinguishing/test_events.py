"""The event for a bound on mu: that of the total variation, unless exploring trials clearly promise more elsewhere."""

from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.distinguishing.events import EventTest, choose_event, mu_quantity, plan_mu_event, predicted_bound
from dpverdict.audit.distinguishing.result import Event
from dpverdict.audit.statistics.joint_test import Order


def gaussian(mu: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood ratios of N(mu, 1) against N(0, 1)."""
    rng = np.random.default_rng(seed)
    return mu * rng.normal(size=n) + mu**2 / 2, mu * rng.normal(size=n) - mu**2 / 2


def planned(p: np.ndarray, q: np.ndarray) -> EventTest:
    return plan_mu_event(p, q, trials=100_000, share=0.001, score="ratio")


def test_for_gaussian_noise_it_is_the_total_variation(seed: int) -> None:
    rows = [planned(*gaussian(1.1, 1000, seed + i)) for i in range(20)]
    middle = [row.event == Event(order=Order.DATASET_FIRST, threshold=0.0) and row.epsilon == 0 for row in rows]
    assert sum(middle) >= 12  # 9 of 10 are; fewer than 12 of 20 have a probability below 1e-6


def test_a_rare_event_that_one_dataset_alone_produces_is_preferred(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(2, 4000))
    row = planned(np.where(rng.random(4000) < 0.05, 9.0, noise[0]), noise[1])
    assert row.event.threshold > 2


def test_an_event_promises_what_it_promised_when_it_was_chosen(seed: int) -> None:
    p, q = gaussian(1.1, 1000, seed)
    arguments = {"trials": 10_000, "error_probability": 0.01, "quantity": mu_quantity()}
    best = choose_event(p, q, **arguments)  # type: ignore[arg-type]  # of several types
    others = (Event(order=order, threshold=t) for order in Order for t in (-1.0, -0.5, 0.0, 0.5, 1.0))
    most = predicted_bound(best, p, q, **arguments)  # type: ignore[arg-type]
    # Only thresholds between two scores are candidates, so another one may promise a little more.
    assert all(predicted_bound(one, p, q, **arguments) <= most + 0.02 for one in others)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mu", "trials", "far"), [(1.5, 10_000, True), (1.5, 30, False), (0.9, 10**6, False)])
def test_the_share_goes_to_the_event_only_where_it_shows_most_of_the_excess(
    mu: float, trials: int, far: bool, seed: int
) -> None:
    p, q = gaussian(mu, 4000, seed)
    row = EventTest(name="mu", event=Event(order=Order.DATASET_FIRST, threshold=0.0), score="ratio", share=0.001)
    assert row.shows_most_of(Fraction(1), p, q, trials, 0.0465) is far
    assert not row.shows_most_of(Fraction(1), p + 99, q + 99, trials, 0.0465)
