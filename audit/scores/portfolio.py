"""The scores of one audit: those that are known beforehand and those that are learned while exploring.

Boosted trees join them where the exploring trials show that they are better than the others. Trees that are no better
only cost: they would take the place of a score that needs fewer trials to be learned well. So they are grown on the
exploring trials that fit, compared on those that are held out, and left out unless they win clearly. Nothing of this
costs error probability: the trials that decide are drawn afterwards.

A learned score is scaled to the claim (`tuned_score`), and, once a refutation is certain, to the bound on epsilon
(`bounding_scale`). With L the true log-likelihood ratio, the event {L >= t} shows the epsilon of (epsilon, delta)-DP
where t is that epsilon; below it, at the claimed one, it shows more of a claim's falsehood and less of its extent. So
where exploring trials leave no doubt that the claim will be refuted, the threshold moves to the epsilon that they
suggest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from dpverdict.audit.scores.learned_scores import (
    MOST_COORDINATES,
    SPLINE,
    calibrated_name,
    fit_chained_score,
    fit_spline_score,
    scaled_score,
)
from dpverdict.audit.scores.outcome_score import OutcomeScore
from dpverdict.audit.scores.score import LINEAR, Score, fit_linear_score, likelihood_ratio
from dpverdict.audit.scores.summaries import SUMMARY, SummaryScore, fit_summary_score, summaries_apply
from dpverdict.audit.scores.trees import TREES, TreeScore, fit_tree_score, trees_apply
from dpverdict.audit.statistics.payoffs import CELLS, TAU_PER_MU, CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.audit.statistics.predicted_power import Line
from dpverdict.audit.trials.outcomes.batches import Batch, Layout
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.mechanisms.core.mechanism import HasLikelihoodRatio, HasLikelihoodScore
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above

SATURATED: Final = 1 - 1e-9
"""Of epsilon: a threshold this little below it takes in the whole set where a pure mechanism's ratio is largest."""
SURE: Final = 0.92
"""Of epsilon: the threshold for learned scores of a pure mechanism, whose estimated saturation may be lower."""
SCALES: Final = (0.25, 0.4, 0.6, 0.8, 1.0)
WIDER: Final = 0.95
"""Of epsilon: the threshold for delta > 0. A lower one refutes gross violations with fewer trials, and bounds worse."""

ALONG_THE_CURVE: Final = (0.0, 0.25, 0.6, 1.0, 1.5, 2.2, 3.2, 4.5)
"""Epsilons at which the event beside the payoff of a curve may be tested, in units of mu of a curve like it."""
FEWER_CELLS: Final = 512
"""Of the grid on a curve that is slow to compute: they allow 2e-6 too much, a thousandth of a million trials' error."""
CLEARLY: Final = 2.0
"""Standard errors of the difference in held-out loss by which trees must be better."""
MOST_SCREENED: Final = 10_000
"""Outputs per side on which trees are tried; those that win are grown again on all of them."""
CERTAIN: Final = 6.0
"""Standard errors by which the claim must be refuted on the fresh trials, as the exploring ones predict it."""
FEWEST_RARE: Final = 20
"""Exploring trials on the wrong side of the threshold, on which its epsilon is estimated."""
LARGEST: Final = 4.0
"""Of the threshold at the claim."""
STEPS: Final = 200


@final
@dataclass(frozen=True, slots=True, eq=False)
class StackedScores:
    """Several scores in one pass over the outputs: shape (trials, m) to shape (trials * scores,), row after row.

    Attributes:
        scores: of outputs, or of the columns of the layout.
        layout: from outcomes of any kind to columns; None for scores of arrays.
    """

    scores: tuple[Score, ...]
    layout: Layout | None = None

    @property
    def table(self) -> Callable[[Batch], Array] | None:
        """From outcomes to the columns that are scored; None for scores of arrays."""
        return None if self.layout is None else self.layout.table

    def __call__(self, outputs: Array) -> Array:
        """The scores of each output, one output after another."""
        return np.stack([score(outputs) for score in self.scores], axis=1).ravel()

    def only(self, names: Collection[str]) -> StackedScores:
        """Those with these names."""
        return replace(self, scores=tuple(score for score in self.scores if score.name in names))

    def described(self, name: str) -> dict[str, object]:
        """The score of this name as data."""
        score = next(one for one in self.scores if one.name == name)
        return (score if self.layout is None else OutcomeScore(layout=self.layout, inner=score)).describe()

    def unstack(self, values: Array) -> dict[str, Array]:
        """By name of the score, shape (trials,) each."""
        table = values.reshape(-1, len(self.scores))
        return {score.name: np.ascontiguousarray(table[:, i]) for i, score in enumerate(self.scores)}


def claimed_score(mechanism: object, neighbours: object) -> Score | None:
    """The likelihood ratio of a mechanism that states its law, on a `NeighbourPair`; None for anything else."""
    if isinstance(neighbours, NeighbourPair) and isinstance(mechanism, HasLikelihoodRatio | HasLikelihoodScore):
        return likelihood_ratio(mechanism, neighbours)
    return None


def learn_scores(
    dataset_outputs: Array, neighbour_outputs: Array, given: Score | None, *, only: str | None = None
) -> list[Score]:
    """The learned scores of a portfolio: the user's, calibrated, if there is one; a linear one; an additive spline.

    Trees and summaries are learned where they are named only.

    Args:
        dataset_outputs: shape (n, m), exploring trials that nothing else will use.
        neighbour_outputs: the same of the neighbour.
        given: a user's score of unknown scale; None without one.
        only: the name of the one that is wanted; None for all.
    """
    learned: list[Score] = []
    if only == TREES:
        return [fit_tree_score(dataset_outputs, neighbour_outputs)]
    if only == SUMMARY:
        return [fit_summary_score(dataset_outputs, neighbour_outputs)]
    if given is not None and only in (None, calibrated_name(given)):
        learned.append(fit_chained_score(given, dataset_outputs, neighbour_outputs))
    if only in (None, LINEAR):
        learned.append(fit_linear_score([dataset_outputs], [neighbour_outputs]))
    if dataset_outputs.shape[1] <= MOST_COORDINATES and only in (None, SPLINE):
        learned.append(fit_spline_score(dataset_outputs, neighbour_outputs))
    return learned


def payoff_of_claim(claim: Guarantee) -> Payoff:
    """The whole curve of a claim that has one; both orders at one epsilon for pure and approximate DP."""
    if isinstance(claim, PureDP | ApproximateDP):
        delta = float_above(claim.delta) if isinstance(claim, ApproximateDP) else 0.0
        epsilon = min(float_above(claim.epsilon), 600.0)
        threshold = max(epsilon * (WIDER if delta > 0 else SATURATED), 1e-9)
        return SymmetricPayoff(epsilon, min(delta, 1.0), threshold)
    return CurvePayoff.of_claim(claim, cells=CELLS if isinstance(claim, GaussianDP) else FEWER_CELLS)


def lines_of_claim(claim: Guarantee) -> tuple[Line, ...]:
    """Points (epsilon, delta) of the claimed curve on which an event is tested: one, or a few along a whole curve.

    A rare event of which the other side has none is told at a large epsilon, where the curve allows little.
    """
    payoff = payoff_of_claim(claim)
    if isinstance(payoff, SymmetricPayoff):
        return ((payoff.epsilon, payoff.allowed),)
    assert isinstance(payoff, CurvePayoff)
    epsilons = np.array(ALONG_THE_CURVE) * payoff.tau / TAU_PER_MU
    deltas = np.asarray(claim.delta_upper(epsilons), dtype=np.float64)
    return tuple((float(e), float(d)) for e, d in zip(epsilons, deltas, strict=True) if e <= 600 and d < 1)


def tuned_score(score: Score, payoff: Payoff, dataset_outputs: Array, neighbour_outputs: Array) -> Score:
    """The multiple of a learned score that suits a payoff; scores that cannot be multiplied are left as they are.

    A curve payoff has the smallest variance for its mean near the claim if the score spreads as the claimed one does:
    a standard deviation of mu within each side. What a mechanism tells more than the claim allows, and what a fit
    finds that is not there, make a score spread too far. A saturated set of a pure mechanism lies at epsilon exactly,
    where the estimate falls below it half of the time.

    Args:
        score: learned from the outputs.
        payoff: that it will be paid by.
        dataset_outputs: shape (n, m).
        neighbour_outputs: shape (n, m).
    """
    if isinstance(payoff, SymmetricPayoff):
        return scaled_score(score, 1 / SURE) if payoff.threshold > WIDER * payoff.epsilon else score
    assert isinstance(payoff, CurvePayoff)
    values = [np.clip(score(side), -3 * payoff.tau, 3 * payoff.tau) for side in (dataset_outputs, neighbour_outputs)]
    spread = math.sqrt(sum(float(side.var()) for side in values) / 2)
    return scaled_score(score, payoff.tau / TAU_PER_MU / spread) if spread * TAU_PER_MU > payoff.tau else score


def best_losses(dataset_scores: Array, neighbour_scores: Array) -> Array:
    """The logarithmic losses of the best of a few multiples, taken for a logit: of both sides, one after the other."""
    first, second = (np.clip(side, -700, 700) for side in (dataset_scores, neighbour_scores))
    both = [np.concatenate([np.logaddexp(0, -s * first), np.logaddexp(0, s * second)]) for s in SCALES]
    return min(both, key=lambda each: float(each.mean()))


def rank_scores(
    names: Sequence[str], held_out: tuple[dict[str, Array], dict[str, Array]], claim: Guarantee | None = None
) -> list[str]:
    """Scores by how well a multiple of them predicts, as a logit, which side a held-out exploring trial is from.

    By the mean logarithmic loss at the best of a few multiples: a score that was overfitted is too large, not useless.
    With few trials this tells scores apart far better than the statistic of the test does. The best is first; ties keep
    the given order. For a claim about Gaussian noise a linear score is first unless another is better by more than the
    standard error of the difference.
    """

    by_name = {name: best_losses(held_out[0][name], held_out[1][name]) for name in names}
    order = sorted(names, key=lambda name: float(by_name[name].mean()))
    if isinstance(claim, GaussianDP) and LINEAR in by_name:
        excess = by_name[LINEAR] - by_name[order[0]]
        if float(excess.mean()) <= float(excess.std()) / math.sqrt(max(len(excess), 1)):
            order = [LINEAR, *(name for name in order if name != LINEAR)]
    return order


def trees_if_better(
    fit: tuple[Array, Array], held_out: tuple[Array, Array], others: StackedScores, best: str
) -> TreeScore | None:
    """Trees grown on ``fit``, if they predict the side of ``held_out`` clearly better than the best of the others.

    None without scikit-learn, with a single coordinate, and with too few trials; linear and spline scores are tried by
    every audit.

    Args:
        fit: outputs on both sides, shape (n, m) each.
        held_out: other ones.
        others: the scores that were learned on ``fit``, or known.
        best: the name of the best of them.
    """
    if not trees_apply(fit[0]):
        return None
    few = fit[0][:MOST_SCREENED], fit[1][:MOST_SCREENED]
    trees = fit_tree_score(*few)
    if not is_clearly_better(trees, others, best, held_out):
        return None
    return trees if len(few[0]) == len(fit[0]) else fit_tree_score(*fit)


def summaries_if_better(
    fit: tuple[Array, Array], held_out: tuple[Array, Array], others: StackedScores, best: str
) -> SummaryScore | None:
    """The same of a spline of summaries, see `summaries`."""
    if not summaries_apply(fit[0]):
        return None
    few = fit[0][:MOST_SCREENED], fit[1][:MOST_SCREENED]
    found = fit_summary_score(*few)
    if not is_clearly_better(found, others, best, held_out):
        return None
    return found if len(few[0]) == len(fit[0]) else fit_summary_score(*fit)


def is_clearly_better(score: Score, others: StackedScores, best: str, held_out: tuple[Array, Array]) -> bool:
    """Whether a score predicts the side of held-out outputs better than the best of the others, by `best_losses`."""
    against: Callable[[Array], Array] = next(one for one in others.scores if one.name == best)
    gain = best_losses(*(against(side) for side in held_out)) - best_losses(*(score(side) for side in held_out))
    return float(gain.mean()) > CLEARLY * float(gain.std()) / math.sqrt(len(gain))


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
