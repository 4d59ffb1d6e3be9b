"""The scores of one audit: those that are known beforehand and those that are learned while exploring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.curve_payoff import CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.audit.learned_scores import MOST_COORDINATES, fit_chained_score, fit_spline_score
from dpverdict.audit.scores import (
    HasLikelihoodRatio,
    HasLikelihoodScore,
    Score,
    fit_linear_score,
    likelihood_ratio,
)
from dpverdict.mechanisms.guarantee import ApproximateDP, Guarantee, PureDP
from dpverdict.mechanisms.guarantee_curves import float_above
from dpverdict.mechanisms.neighbours import NeighbourPair

Array = NDArray[np.float64]

SATURATED: Final = 1 - 1e-9
"""Of epsilon: a threshold this little below it takes in the whole set where a pure mechanism's ratio is largest."""
SCALES: Final = (0.25, 0.4, 0.6, 0.8, 1.0)
WIDER: Final = 0.87
"""Of epsilon: the threshold for delta > 0, where the set just below epsilon is worth more than it costs."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """Several scores in one pass over the outputs: shape (trials, m) to shape (trials * scores,), row after row."""

    scores: tuple[Score, ...]

    def __call__(self, outputs: Array) -> Array:
        """The scores of each output, one output after another."""
        return np.stack([score(outputs) for score in self.scores], axis=1).ravel()

    def unstack(self, values: Array) -> dict[str, Array]:
        """By name of the score, shape (trials,) each."""
        table = values.reshape(-1, len(self.scores))
        return {score.name: np.ascontiguousarray(table[:, i]) for i, score in enumerate(self.scores)}


def claimed_score(mechanism: object, neighbours: object) -> Score | None:
    """The likelihood ratio of a mechanism that states its law, on a `NeighbourPair`; None for anything else."""
    if isinstance(neighbours, NeighbourPair) and isinstance(mechanism, HasLikelihoodRatio | HasLikelihoodScore):
        return likelihood_ratio(mechanism, neighbours)
    return None


def learn_scores(dataset_outputs: Array, neighbour_outputs: Array, given: Score | None) -> list[Score]:
    """The learned scores of a portfolio: the user's, calibrated, if there is one; a linear one; an additive spline.

    Args:
        dataset_outputs: shape (n, m), exploring trials that nothing else will use.
        neighbour_outputs: the same of the neighbour.
        given: a user's score of unknown scale; None without one.
    """
    learned: list[Score] = []
    if given is not None:
        learned.append(fit_chained_score(given, dataset_outputs, neighbour_outputs))
    learned.append(fit_linear_score([dataset_outputs], [neighbour_outputs]))
    if dataset_outputs.shape[1] <= MOST_COORDINATES:
        learned.append(fit_spline_score(dataset_outputs, neighbour_outputs))
    return learned


def payoff_of_claim(claim: Guarantee) -> Payoff:
    """The whole curve of a claim that has one; both orders at one epsilon for pure and approximate DP."""
    if isinstance(claim, PureDP | ApproximateDP):
        delta = float_above(claim.delta) if isinstance(claim, ApproximateDP) else 0.0
        epsilon = min(float_above(claim.epsilon), 600.0)
        threshold = max(epsilon * (WIDER if delta > 0 else SATURATED), 1e-9)
        return SymmetricPayoff(epsilon, min(delta, 1.0), threshold)
    return CurvePayoff.of_claim(claim)


def ranked(names: Sequence[str], held_out: tuple[dict[str, Array], dict[str, Array]]) -> list[str]:
    """Scores by how well a multiple of them predicts, as a logit, which side a held-out exploring trial is from.

    By the mean logarithmic loss at the best of a few multiples: a score that was overfitted is too large, not useless.
    With few trials this tells scores apart far better than the statistic of the test does. The best is first; ties keep
    the given order.
    """

    def loss(name: str) -> float:
        first, second = (np.clip(side[name], -700, 700) for side in held_out)
        return min(
            float(np.logaddexp(0, -scale * first).mean() + np.logaddexp(0, scale * second).mean()) for scale in SCALES
        )

    return sorted(names, key=loss)
