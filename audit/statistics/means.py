"""Tests and bounds from the scores of fresh outputs: has a payoff of one draw from each side mean at most 0?

A payoff is x - y - b with x drawn from P, y from Q, independently. The mean test takes the statistic

    z = (mean of x - mean of y - b) / s,      s^2 = var(x)/N_P + var(y)/N_Q,

which has the normal tail only in the limit; the payoffs that refute privacy claims are skewed to the left, which makes
rejections too frequent: 5.5 % where 5 % are stated at 300 trials. The first term of the expansion of Edgeworth for the
studentised mean repairs that: P(z > t) = Phi(-t) - k (2 t^2 + 1) phi(t)/6 + O(1/N), k the skewness of s z (that of the
mean, so of order 1/sqrt(N)). It is applied where it makes p larger, never where it would make p smaller.

The mean test is powerful and asymptotic; `payoff_test` uses it for shares from 0.01 on, at least 100 pairs, little
skewness, and events that were seen often enough. Everything else is decided by betting, which is valid at every number
of pairs and every share, and nearly as powerful at small shares.

Reference: P. Hall, The Bootstrap and Edgeworth Expansion (1992), equation (2.46).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final, final

import numpy as np
import scipy

from dpverdict.audit.statistics.betting import betting_p_value
from dpverdict.audit.statistics.columns import Numbers, pairwise_sum, read, read_in_parts
from dpverdict.audit.statistics.joint_test import largest_rejected
from dpverdict.audit.statistics.payoffs import (
    CurvePayoff,
    DivergencePayoff,
    Payoff,
    SymmetricPayoff,
    weighted_profile_upper,
)
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import doubled

FEWEST_FOR_MEANS: Final = 100
"""Per side, below which the test is not used; its size was simulated from there on."""
LARGEST_SKEWNESS: Final = 0.15
"""Of the mean: beyond it the expansion is not relied on. At 0.15 the size at level 5 % was 5.2 %, at 0.3 6.5 %."""
SMALLEST_LEVEL: Final = 0.01
"""Levels below this need an exact test: the expansion says little about so far a tail. p is never reported smaller."""
FEWEST_EVENTS: Final = 25
"""The symmetric payoff weighs the rare events by exp(epsilon): the mean test wants this many of each."""
_NEAR: Final = 5e-3
"""In units of z: a bound with so little to spare is not sharpened further."""
ASYMPTOTIC: Final = "mean payoff, asymptotic with its skewness"
BETTING: Final = "mean payoff, betting"


@final
@dataclass(frozen=True, slots=True)
class PayoffMoments:
    """Number, mean, variance and third central moment of one side's payoffs."""

    trials: int
    mean: float
    variance: float
    third: float

    @staticmethod
    def of(values: Numbers, payoff: Callable[[Array], Array] = lambda scores: scores) -> PayoffMoments:
        """The moments of the payoffs of at least two scores, the variance with N - 1."""
        n = len(values)

        def paid(start: int, stop: int) -> Array:
            return payoff(read(values, start, stop))

        def cubed(start: int, stop: int) -> Array:
            centred = paid(start, stop) - mean
            return centred * centred * centred

        mean = pairwise_sum(n, paid) / n
        variance = pairwise_sum(n, lambda start, stop: (paid(start, stop) - mean) ** 2) / (n - 1)
        return PayoffMoments(n, mean, variance, pairwise_sum(n, cubed) / n)


@final
@dataclass(frozen=True, slots=True)
class MeanTest:
    """The statistic and its p-value, for H0: E x - E y <= b."""

    z: float
    skewness: float
    p_value: float


def mean_test(x: PayoffMoments, y: PayoffMoments, allowed: float) -> MeanTest:
    """Test E x - E y <= ``allowed``.

    A sample without variance gives p = 1: it is for an exact test to say what a constant sample shows.
    """
    of_x, of_y = x.variance / x.trials, y.variance / y.trials
    variance = of_x + of_y
    if variance <= 0:
        return MeanTest(0.0, 0.0, 1.0)
    spread = math.sqrt(variance)
    z = (x.mean - y.mean - allowed) / spread
    skewness = (x.third / x.trials**2 - y.third / y.trials**2) / (variance * spread)
    # The quantile of Student with the degrees of freedom of Welch, for the next term of the expansion.
    freedom = variance**2 / (of_x**2 / (x.trials - 1) + of_y**2 / (y.trials - 1))
    tail = float(scipy.special.stdtr(freedom, -z))
    if z > 0:
        tail += max(0.0, -skewness) * (2 * z * z + 1) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / 6
    return MeanTest(z, skewness, min(max(tail, SMALLEST_LEVEL), 1.0))


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


def payoff_test(payoff: Payoff, dataset_scores: Numbers, neighbour_scores: Numbers, share: float) -> PayoffResult:
    """Test that the payoff has mean at most 0.

    Args:
        payoff: fixed before the scores were drawn.
        dataset_scores: shape (n,), n >= 2.
        neighbour_scores: shape (n,).
        share: the level at which the p-value will be compared.
    """
    often = not isinstance(payoff, DivergencePayoff)  # whose largest values may be too rare to be seen
    if isinstance(payoff, SymmetricPayoff):
        often = _is_seen_often(payoff, dataset_scores, neighbour_scores)
    of_x, of_y = (
        PayoffMoments.of(dataset_scores, payoff.of_dataset),
        PayoffMoments.of(neighbour_scores, payoff.of_neighbour),
    )
    return _test_from_moments(payoff, of_x, of_y, (dataset_scores, neighbour_scores), share, often)


def _is_seen_often(payoff: SymmetricPayoff, dataset_scores: Numbers, neighbour_scores: Numbers) -> bool:
    rare = (
        _count_between(dataset_scores, -np.inf, -payoff.threshold),
        _count_between(neighbour_scores, payoff.threshold, np.inf),
    )
    return min(rare) >= FEWEST_EVENTS


def _count_between(column: Numbers, low: float, high: float) -> int:
    """How many numbers are in [low, high]."""
    return sum(int(np.count_nonzero((low <= part) & (part <= high))) for (part,) in read_in_parts(column))


def _test_from_moments(
    payoff: Payoff, of_x: PayoffMoments, of_y: PayoffMoments, scores: tuple[Numbers, Numbers], share: float, often: bool
) -> PayoffResult:
    """The test from the moments of both sides; the scores are looked at only where it must be by betting."""
    found = mean_test(of_x, of_y, payoff.allowed)
    enough = of_x.trials >= FEWEST_FOR_MEANS and share >= SMALLEST_LEVEL
    if enough and often and abs(found.skewness) <= LARGEST_SKEWNESS:
        method, p = ASYMPTOTIC, found.p_value
    else:
        paid = (payoff.of_dataset(x) - payoff.of_neighbour(y) - payoff.allowed for x, y in read_in_parts(*scores))
        method, p = BETTING, betting_p_value(paid, payoff.largest_loss)
    return PayoffResult(
        method=method,
        p_value=p,
        trials=of_x.trials,
        dataset_mean=of_x.mean,
        neighbour_mean=of_y.mean,
        statistic=found.z,
    )


def symmetric_epsilon_lower(
    payoff: SymmetricPayoff, dataset_scores: Numbers, neighbour_scores: Numbers, share: float
) -> float:
    """The largest epsilon at which the payoff, with its events and its delta, is rejected; 0 says nothing.

    The payoff falls in epsilon everywhere, so the hypotheses are nested and one share pays for all of them.
    """

    n, often = len(dataset_scores), _is_seen_often(payoff, dataset_scores, neighbour_scores)
    above, below = (payoff.threshold, np.inf), (-np.inf, -payoff.threshold)
    counts = [
        (_count_between(dataset_scores, *above), _count_between(dataset_scores, *below)),
        (_count_between(neighbour_scores, *below), _count_between(neighbour_scores, *above)),
    ]

    def moments(epsilon: float) -> tuple[PayoffMoments, PayoffMoments]:
        of_x, minus_y = (_moments_of_three_values(math.exp(epsilon), *both, n) for both in counts)
        return of_x, PayoffMoments(n, -minus_y.mean, minus_y.variance, -minus_y.third)

    def p_value(epsilon: float) -> float:
        at = SymmetricPayoff(epsilon, payoff.allowed, payoff.threshold)
        return _test_from_moments(at, *moments(epsilon), (dataset_scores, neighbour_scores), share, often).p_value

    def root(epsilon: float) -> float:
        return mean_test(*moments(epsilon), payoff.allowed).z

    return _largest_rejected(p_value, root, 2 * payoff.epsilon + 1, share)


def curve_mu_lower(payoff: CurvePayoff, dataset_scores: Numbers, neighbour_scores: Numbers, share: float) -> float:
    """The largest mu whose allowed mean, at the same tau, is rejected; 0 says nothing. Weak far beyond the claim."""

    of_x, of_y = (
        PayoffMoments.of(dataset_scores, payoff.of_dataset),
        PayoffMoments.of(neighbour_scores, payoff.of_neighbour),
    )

    @cache
    def allowed(mu: float) -> float:
        return weighted_profile_upper(GaussianDP(Fraction(mu)), payoff.tau, cells=512)

    def p_value(mu: float) -> float:
        at = CurvePayoff(payoff.tau, allowed(mu))
        return _test_from_moments(at, of_x, of_y, (dataset_scores, neighbour_scores), share, True).p_value

    def root(mu: float) -> float:
        return mean_test(of_x, of_y, allowed(mu)).z

    return _largest_rejected(p_value, root, 2 * payoff.tau / 1.5 + 1, share)


def _moments_of_three_values(weight: float, above: int, below: int, n: int) -> PayoffMoments:
    """The moments of ``above`` times 1/2, ``below`` times -weight/2 and 0 otherwise, n values in all."""
    values = ((above, 0.5), (below, -weight / 2), (n - above - below, 0.0))
    mean = sum(count * value for count, value in values) / n
    squares = sum(count * (value - mean) ** 2 for count, value in values)
    return PayoffMoments(n, mean, squares / (n - 1), sum(count * (value - mean) ** 3 for count, value in values) / n)


def _largest_rejected(
    p_value: Callable[[float], float], root: Callable[[float], float], first: float, share: float
) -> float:
    """The largest parameter, up to 64 and about, whose p-value is at most ``share``; 0, which says nothing, if none."""
    if root(0.0) <= 0:
        return 0.0
    most = doubled(lambda parameter: root(parameter) > 0, 0.0, first, most=64)[1]
    return largest_rejected(p_value, root, most, share, near=_NEAR)
