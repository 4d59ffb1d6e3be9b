"""One payoff, the scores of fresh outputs, and a share of the error: a p-value by the method that is fit for them.

The mean test is powerful and asymptotic; it is used for shares from 0.01 on, at least 200 pairs, little skewness, and
events that were seen often enough. Everything else is decided by betting, which is valid at every number of pairs and
every share, and nearly as powerful at small shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.betting import betting_p
from dpverdict.audit.curve_payoff import CurvePayoff, Payoff, SymmetricPayoff, weighted_profile_upper
from dpverdict.audit.mean_test import FEWEST_TRIALS, LARGEST_SKEWNESS, SMALLEST_LEVEL, Moments, mean_test
from dpverdict.mechanisms.guarantee import GaussianDP

Array = NDArray[np.float64]

FEWEST_EVENTS: Final = 25
"""The symmetric payoff weighs the rare events by exp(epsilon): the mean test wants this many of each."""
ASYMPTOTIC: Final = "mean payoff, asymptotic with its skewness"
BETTING: Final = "mean payoff, betting"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PayoffResult:
    """What the scores say about a payoff.

    Attributes:
        method: `ASYMPTOTIC` or `BETTING`.
        p_value: of the hypothesis that its mean is at most 0.
        trials: pairs.
        dataset_mean: mean of x.
        neighbour_mean: mean of y.
        statistic: the z of the mean test.
    """

    method: str
    p_value: float
    trials: int
    dataset_mean: float
    neighbour_mean: float
    statistic: float

    def describe(self) -> dict[str, object]:
        """The numbers, ready for JSON."""
        return {
            "trials": self.trials,
            "dataset_mean": self.dataset_mean,
            "neighbour_mean": self.neighbour_mean,
            "statistic": self.statistic,
        }


def payoff_test(payoff: Payoff, dataset_scores: Array, neighbour_scores: Array, share: float) -> PayoffResult:
    """Test that the payoff has mean at most 0.

    Args:
        payoff: fixed before the scores were drawn.
        dataset_scores: shape (n,), n >= 2.
        neighbour_scores: shape (n,).
        share: the level at which the p-value will be compared.
    """
    x, y = payoff.of_dataset(dataset_scores), payoff.of_neighbour(neighbour_scores)
    of_x, of_y = Moments.of(x), Moments.of(y)
    found = mean_test(of_x, of_y, payoff.allowed)
    often = True
    if isinstance(payoff, SymmetricPayoff):
        rare = (
            np.count_nonzero(dataset_scores <= -payoff.threshold),
            np.count_nonzero(neighbour_scores >= payoff.threshold),
        )
        often = min(int(n) for n in rare) >= FEWEST_EVENTS
    enough = len(x) >= FEWEST_TRIALS and share >= SMALLEST_LEVEL
    if enough and often and abs(found.skewness) <= LARGEST_SKEWNESS:
        method, p = ASYMPTOTIC, found.p_value
    else:
        method, p = BETTING, betting_p(x - y - payoff.allowed, payoff.largest_loss)
    return PayoffResult(
        method=method,
        p_value=p,
        trials=len(x),
        dataset_mean=of_x.mean,
        neighbour_mean=of_y.mean,
        statistic=found.z,
    )


def symmetric_epsilon_lower(
    payoff: SymmetricPayoff, dataset_scores: Array, neighbour_scores: Array, share: float
) -> float:
    """The largest epsilon at which the payoff, with its events and its delta, is rejected; 0 says nothing.

    The payoff falls in epsilon everywhere, so the hypotheses are nested and one share pays for all of them.
    """

    def rejected(epsilon: float) -> bool:
        at = SymmetricPayoff(epsilon, payoff.allowed, payoff.threshold)
        return payoff_test(at, dataset_scores, neighbour_scores, share).p_value <= share

    return _largest(rejected, 2 * payoff.epsilon + 1)


def curve_mu_lower(payoff: CurvePayoff, dataset_scores: Array, neighbour_scores: Array, share: float) -> float:
    """The largest mu whose allowed mean, at the same tau, is rejected; 0 says nothing. Weak far from the claim."""

    def rejected(mu: float) -> bool:
        allowed = weighted_profile_upper(GaussianDP(Fraction(mu)), payoff.tau, cells=512)
        at = CurvePayoff(payoff.tau, allowed)
        return payoff_test(at, dataset_scores, neighbour_scores, share).p_value <= share

    return _largest(rejected, 2 * payoff.tau / 1.5 + 1)


def _largest(rejected: Callable[[float], bool], first: float) -> float:
    low, high = 0.0, first
    if not rejected(low):
        return 0.0
    while high < 64 and rejected(high):
        low, high = high, 2 * high
    while high - low > 1e-4 * max(1.0, math.sqrt(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
