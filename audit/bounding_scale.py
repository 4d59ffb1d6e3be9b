"""The multiple of a learned score with which a symmetric payoff bounds epsilon best, once a refutation is certain.

With L the true log-likelihood ratio, the event {L >= t} shows the epsilon of (epsilon, delta)-DP where t is that
epsilon; below it, at the claimed one, it shows more of a claim's falsehood and less of its extent. So where exploring
trials leave no doubt that the claim will be refuted, the threshold moves to the epsilon that they suggest.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.curve_payoff import SymmetricPayoff

Array = NDArray[np.float64]

CERTAIN: Final = 6.0
"""Standard errors by which the claim must be refuted on the fresh trials, as the exploring ones predict it."""
FEWEST_RARE: Final = 20
"""Exploring trials on the wrong side of the threshold, on which its epsilon is estimated."""
LARGEST: Final = 4.0
"""Of the threshold at the claim."""
STEPS: Final = 200


def bounding_scale(payoff: SymmetricPayoff, dataset_scores: Array, neighbour_scores: Array, fresh: int) -> float:
    """What to multiply a learned score by; 1 where the claim is not clearly refuted. In (0, 1].

    Args:
        payoff: of the claim, with its threshold.
        dataset_scores: estimated log-likelihood ratios of exploring trials.
        neighbour_scores: the same of the neighbour.
        fresh: how many trials per side will decide.
    """
    own = np.sort(np.concatenate([dataset_scores, -neighbour_scores]))
    thresholds = payoff.threshold * np.linspace(1.0, LARGEST, STEPS)
    above = 1 - np.searchsorted(own, thresholds, "left") / len(own)
    rare = np.searchsorted(own, -thresholds, "right")
    below, seen = rare / len(own), rare >= FEWEST_RARE
    with np.errstate(divide="ignore", invalid="ignore"):
        suggested = np.log(np.maximum(above - payoff.allowed, 0) / below)
        weight = math.exp(payoff.epsilon)
        mean = above - weight * below - payoff.allowed
        variance = (above + weight**2 * below - (above - weight * below) ** 2) / (2 * fresh)
        certain = mean >= CERTAIN * np.sqrt(variance)
    # The first threshold that is not below the epsilon that it shows; before it, all must be usable.
    usable = np.logical_and.accumulate(seen & certain & (suggested > thresholds))
    return float(payoff.threshold / thresholds[int(usable.sum()) - 1]) if usable[0] else 1.0
