"""A payoff for claims about moments: rho-zCDP and Renyi DP bound the Kullback-Leibler divergence of both orders.

Symbols: x is an output on the dataset (law P), y one on the neighbour (law Q), s any score fixed beforehand, and
g = s times a scale, clipped to [-clip, clip]. Donsker and Varadhan: KL(P || Q) >= E_P g - log E_Q exp(g). The logarithm
is concave, log m <= m/c - 1 + log c for every c > 0, so with constants c_1, c_2 for the two orders

    E_P[(g - exp(-g)/c_2)/2] - E_Q[(g + exp(g)/c_1)/2] <= KL - 1 + (log c_1 + log c_2)/2,

KL the mean of both divergences. Every choice is valid; with g = log dP/dQ and c = 1 the two sides are equal. The curve
that such a claim implies is loose, so that for a tight mechanism this payoff tells what no event can.

References: Donsker and Varadhan 1983 (CPAM 36), Lemma 2.1; Bun and Steinke 2016 (arXiv:1605.02065), Definition 1.1: the
Renyi divergence does not decrease with its order, so the claim at an order above 1 bounds that of order 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.curve_payoff import ROUNDED_UP
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.guarantee import Guarantee, RenyiDP, ZeroConcentratedDP
from dpverdict.mechanisms.guarantee_curves import float_above

Array = NDArray[np.float64]

LARGEST_CLIP: Final = 20.0
CLIPS: Final = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
SCALES: Final = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
_PAD: Final = 1e-14
"""For the few rounded operations of what is allowed."""


def divergence_upper(claim: Guarantee) -> float | None:
    """The largest Kullback-Leibler divergence that a claim about moments allows, rounded up; None for other claims.

    >>> from dpverdict.mechanisms.guarantee import parse_guarantee
    >>> divergence_upper(parse_guarantee("rho=0.5")), divergence_upper(parse_guarantee("mu=1"))
    (0.5, None)
    """
    match claim:
        case ZeroConcentratedDP():
            return float_above(claim.rho)  # the limit of D_a <= a rho as a falls to 1
        case RenyiDP():
            return float_above(claim.epsilon)
        case _:
            return None


@final
@dataclass(frozen=True, slots=True)
class DivergencePayoff:
    """Both divergences of order 1 at once.

    Attributes:
        divergence: what the claim allows them to be, rounded up.
        scale: of the score.
        clip: of the scaled score.
        means: c_1 and c_2, about E_Q exp(g) and E_P exp(-g).

    Raises:
        InvalidValue: a number out of range.
    """

    divergence: float
    scale: float
    clip: float
    means: tuple[float, float]

    def __post_init__(self) -> None:
        if not (0 <= self.divergence < math.inf and 0 < self.clip <= LARGEST_CLIP and 0 < self.scale < math.inf):
            numbers = (self.divergence, self.scale, self.clip)
            raise InvalidValue("payoff", numbers, f"finite, with a clip in (0, {LARGEST_CLIP:g}]", "take another score")
        if not all(math.exp(-self.clip) <= c <= math.exp(self.clip) for c in self.means):
            raise InvalidValue("means", self.means, "two means of exp(g)", "estimate them on exploring trials")

    @property
    def allowed(self) -> float:
        """divergence - 1 + (log c_1 + log c_2)/2, rounded up."""
        logarithms = math.log(self.means[0]), math.log(self.means[1])
        size = 1 + self.divergence + abs(logarithms[0]) + abs(logarithms[1])
        return self.divergence - 1 + (logarithms[0] + logarithms[1]) / 2 + size * _PAD

    @property
    def largest_loss(self) -> float:
        """x is least at g = -clip, y is largest at g = clip; rounded up."""
        top = math.exp(self.clip)
        of_pair = self.clip + (top / self.means[0] + top / self.means[1]) / 2
        return max(of_pair + self.allowed, of_pair / 2) * ROUNDED_UP

    def of_dataset(self, scores: Array) -> Array:
        """(g - exp(-g)/c_2)/2."""
        g = self._clipped(scores)
        values: Array = (g - np.exp(-g) / self.means[1]) / 2
        return values

    def of_neighbour(self, scores: Array) -> Array:
        """(g + exp(g)/c_1)/2."""
        g = self._clipped(scores)
        values: Array = (g + np.exp(g) / self.means[0]) / 2
        return values

    def describe(self) -> dict[str, object]:
        """Kind and numbers."""
        numbers = {"scale": self.scale, "clip": self.clip, "means": list(self.means), "allowed": self.allowed}
        return {"kind": "divergence", **numbers}

    def _clipped(self, scores: Array) -> Array:
        values: Array = np.clip(scores * self.scale, -self.clip, self.clip)
        return values


def plan_divergence(divergence: float, dataset_scores: Array, neighbour_scores: Array) -> DivergencePayoff:
    """The payoff whose wealth would grow fastest on exploring scores, which nothing else may use.

    Args:
        divergence: what the claim allows, of `divergence_upper`.
        dataset_scores: shape (n,).
        neighbour_scores: shape (m,).
    """
    payoffs = [
        DivergencePayoff(divergence, scale, clip, _means(scale, clip, dataset_scores, neighbour_scores))
        for clip in CLIPS
        for scale in SCALES
    ]
    return max(payoffs, key=lambda payoff: _growth(payoff, dataset_scores, neighbour_scores))


def _means(scale: float, clip: float, dataset_scores: Array, neighbour_scores: Array) -> tuple[float, float]:
    g, h = (np.clip(scale * scores, -clip, clip) for scores in (neighbour_scores, -dataset_scores))
    largest = math.exp(clip)
    first, second = (min(max(float(np.exp(values).mean()), 1 / largest), largest) for values in (g, h))
    return first, second


def _growth(payoff: DivergencePayoff, dataset_scores: Array, neighbour_scores: Array) -> float:
    """Of the logarithm of the wealth per pair, by log(1 + t) >= t - t^2 from t = -1/2 on; the mean if nothing grows."""
    x, y = payoff.of_dataset(dataset_scores), payoff.of_neighbour(neighbour_scores)
    mean, variance = float(x.mean() - y.mean()) - payoff.allowed, float(x.var() + y.var())
    if mean <= 0:
        return mean
    squares = variance + mean**2
    stake = min(mean / (2 * squares), 1 / (2 * payoff.largest_loss))
    return stake * mean - stake**2 * squares
