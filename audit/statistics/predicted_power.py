"""What explored scores promise of a test on fresh trials, and how the error is divided by it. Nothing here is a test.

Symbols: n_e explored scores per side, f fresh ones; (epsilon, delta) a point of the claimed curve; z a standard score.

An event is chosen by the z that it promises at the confirming size. The frequencies of an event that was searched for
among thousands are too good, in the explored scores and nowhere else: they are moved to the bad side before they are
compared. How much is promised is told by folds (`cross_fitted_prediction`): the whole search, over scores and
thresholds, on all folds but one, and the excess of what it found on the one that was left out. Without that the best of
a thousand events promises more than a payoff on noise alone.

All of this is a function of explored scores, so no choice in it can refute a claim that holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverdict.audit.statistics.joint_test import Order
from dpverdict.audit.statistics.payoffs import CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.audit.statistics.proportions import wilson_end
from dpverdict.numerics.arrays import Array, Integers

SPREAD: Final = 200
TOWARDS_THE_TAIL: Final = 100
IN_THE_TAIL: Final = 40
"""Thresholds that are tried: spread over all scores, spaced geometrically towards the tail, and the outermost ones."""
CAUTION: Final = 0.75
"""Standard errors by which the frequencies of an event are moved before it is compared with others."""
LARGEST_BY_LUCK: Final = 0.8
"""What the best of hundreds of thresholds promises by chance beyond `CAUTION`, in standard errors."""
OUTERMOST: Final = 10
BRIDGED: Final = 5.0
"""A threshold is past a gap if it is farther beyond the largest score of the other side than this many times the mean
by which its outermost scores exceed the next one: an exponential tail has e^-5 of a count there."""
FOLDS: Final = 4
FOLDS_OF_MANY: Final = 2
MANY: Final = 5_000
"""Explored scores per side from which on two folds are enough."""
FEWEST_PAIRS: Final = 100
FEWEST_RARE: Final = 30
"""Below these a payoff is decided by betting, see `means`."""
BETTING: Final = 0.72
BETTING_ON_A_CURVE: Final = 0.8
"""What betting makes of z."""
LEAST_OF_EVENT: Final = 0.05
LEAST_OF_PAYOFF: Final = 0.08
"""Of the error that payoff and event divide: what each of them gets at least, whatever is predicted."""
SHARES: Final = (LEAST_OF_EVENT, 0.12, 0.2, 0.35, 0.5, 0.65, 0.8, 1 - LEAST_OF_PAYOFF)
"""Of the event."""
UNKNOWN: Final = 1.0
"""Standard deviation of a prediction, in units of sqrt(f/n_e): that of a mean of n_e numbers, times sqrt(f)."""
HANDICAP: Final = 2.0
"""What an event has to promise more than a payoff to be its equal, in these units: most faults are smooth."""
_NODES: Final = 7

Line = tuple[float, float]
"""A point (epsilon, delta) of the claimed curve: p <= delta + e^epsilon q for every event."""


Scores = tuple[Array, Array]
"""Of explored outputs on the dataset and on the neighbour, from a score that was not learned from the same outputs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedEvent:
    """An event on one score, and the line on which it would be tested.

    Attributes:
        order: {score >= threshold} of the dataset against the neighbour, or {score <= threshold} the other way round.
        threshold: of the score.
        share: of the explored scores of both sides together, as many of each, that are in the event.
        line: the point of the claimed curve.
        z: at the confirming size, the frequencies moved to the bad side.
        spread: standard deviation of the excess p - e^epsilon q - delta in one pair of trials.
        beyond_luck: z without what the best threshold promises where nothing is: by it events are compared.
        past_a_gap: whether the other side counts as 0 there, see `BRIDGED`.
    """

    order: Order
    threshold: float
    share: float
    line: Line
    z: float
    spread: float
    beyond_luck: float
    past_a_gap: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredScores:
    """Explored scores among which an event is searched for.

    Attributes:
        scores: of both sides.
        luck: what chance promises, in standard errors: less than `LARGEST_BY_LUCK` where thresholds are few.
        gaps: whether the other side counts as 0 past a gap, see `BRIDGED`: where scores are no learned function that is
            flat beyond what it was learned from.
    """

    scores: Scores
    luck: float = LARGEST_BY_LUCK
    gaps: bool = False


def best_event(searched: ExploredScores, lines: Sequence[Line], fresh: int) -> PredictedEvent | None:
    """The event and the line with the largest z from ``fresh`` trials per side; None if the scores are all one.

    None as well of a claim without lines, which allows everything that float64 can tell, such as mu=1e400.
    """
    return _best_of_sorted(
        replace(searched, scores=(np.sort(searched.scores[0]), np.sort(searched.scores[1]))), lines, fresh
    )


def _best_of_sorted(searched: ExploredScores, lines: Sequence[Line], fresh: int) -> PredictedEvent | None:
    a, b = searched.scores
    pooled = _distinct_values(a, b)
    if len(pooled) < 2 or not lines:
        return None
    turned = replace(searched, scores=(-b[::-1], -a[::-1]))
    found = [
        _best_in_order(searched, pooled, lines, fresh, Order.DATASET_FIRST),
        _best_in_order(turned, -pooled[::-1], lines, fresh, Order.NEIGHBOUR_FIRST),
    ]
    return max(found, key=lambda event: event.beyond_luck)


def cross_fitted_prediction(candidates: Sequence[ExploredScores], lines: Sequence[Line], fresh: int) -> float:
    """The z of the event that a search over these scores finds, counted on scores that it did not see.

    Args:
        candidates: explored scores of every candidate.
        lines: of the claim.
        fresh: trials per side that will decide.
    """
    most = max(min(map(len, one.scores)) for one in candidates)
    folds = FOLDS if most < MANY else FOLDS_OF_MANY
    found = []
    in_order = [[(side[order], order % folds) for side, order in _sort_sides(one.scores)] for one in candidates]
    for fold in range(folds):
        best: tuple[float, float] | None = None
        for one, sides in zip(candidates, in_order, strict=True):
            kept, left = ([side[(folded == fold) == own] for side, folded in sides] for own in (False, True))
            event = _best_of_sorted(replace(one, scores=(kept[0], kept[1])), lines, fresh)
            if event is not None and min(map(len, left)) > 0 and (best is None or event.beyond_luck > best[0]):
                first, second = _oriented_scores((left[0], left[1]), event.order)
                at = event.threshold if event.order is Order.DATASET_FIRST else -event.threshold
                epsilon, delta = event.line
                excess = float(np.mean(first >= at)) - math.exp(epsilon) * float(np.mean(second >= at)) - delta
                best = event.beyond_luck, excess / event.spread
        found.append(0.0 if best is None else best[1])
    return math.sqrt(fresh) * sum(found) / folds


def threshold_on_new_score(event: PredictedEvent, dataset_scores: Array, neighbour_scores: Array) -> float:
    """The threshold of the event for a score that was learned again, whose numbers may be on another scale.

    Between two scores that occur, so that the share of the explored scores in the event is nearest to what it was.
    """
    first, second = _oriented_scores((dataset_scores, neighbour_scores), event.order)
    a, b = np.sort(first), np.sort(second)
    pooled = _distinct_values(a, b)
    shares = (2 - np.searchsorted(a, pooled, "left") / len(a) - np.searchsorted(b, pooled, "left") / len(b)) / 2
    i = int(np.argmin(np.abs(shares - event.share)))
    threshold = float(pooled[i] if i == 0 else _midpoint(pooled[i - 1 : i], pooled[i : i + 1])[0])
    return threshold if event.order is Order.DATASET_FIRST else -threshold


def predicted_z_of_payoff(payoff: Payoff, dataset_scores: Array, neighbour_scores: Array, fresh: int) -> float:
    """The z that a payoff promises from ``fresh`` pairs.

    Of a single epsilon each side has one output more, the worst one: a few explored outputs may show no wrong side, and
    then promise with certainty.
    """
    x, y = payoff.of_dataset(dataset_scores), payoff.of_neighbour(neighbour_scores)
    if x.std() + y.std() < 1e-9:
        return 0.0
    if isinstance(payoff, SymmetricPayoff):
        worst = np.array([-payoff.threshold])
        x, y = np.append(x, payoff.of_dataset(worst)), np.append(y, payoff.of_neighbour(-worst))
    spread = math.sqrt(float(x.var() + y.var()))
    z = (float(x.mean() - y.mean()) - payoff.allowed) / spread * math.sqrt(fresh)
    rare = math.inf
    if isinstance(payoff, SymmetricPayoff):
        wrong = np.mean(dataset_scores <= -payoff.threshold) + np.mean(neighbour_scores >= payoff.threshold)
        rare = float(wrong) * fresh
    if z > 0 and (fresh < FEWEST_PAIRS or rare < FEWEST_RARE):
        z *= BETTING_ON_A_CURVE if isinstance(payoff, CurvePayoff) else BETTING
    return z


def share_of_event(
    payoff: float, event: float, *, explored: int, fresh: int, error: float, handicap: float = HANDICAP
) -> float:
    """The part of the error, among `SHARES`, that an event gets beside a payoff, from the z that the two promise.

    The one under which a refutation is likeliest, if each prediction is wrong by a normal deviation of
    `UNKNOWN` sqrt(fresh/explored) and the two tests succeed or fail together. Ties go to the payoff.

    Args:
        payoff: its z.
        event: its z, see `cross_fitted_prediction`.
        explored: scores per side that predicted.
        fresh: trials per side that will decide.
        error: that both have together.
        handicap: what the event has to promise more to be the payoff's equal, in units of sqrt(fresh/explored).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    unit = math.sqrt(fresh / explored)
    spread, event = UNKNOWN * unit, event - handicap * unit
    best, chosen = -1.0, SHARES[0]
    for share in SHARES:
        of_payoff = scipy.special.ndtr(payoff + spread * nodes + scipy.special.ndtri((1 - share) * error))
        of_event = scipy.special.ndtr(event + spread * nodes + scipy.special.ndtri(share * error))
        power = float(weights @ np.maximum(of_payoff[:, np.newaxis], of_event) @ weights)
        if power > best + 1e-9:
            best, chosen = power, share
    return chosen


def _oriented_scores(sides: tuple[Array, Array], order: Order) -> tuple[Array, Array]:
    """Scores of the law under which the event is likely, and of the other one, such that the event is {score >= t}."""
    return sides if order is Order.DATASET_FIRST else (-sides[1], -sides[0])


def _sort_sides(scores: Scores) -> list[tuple[Array, Integers]]:
    """Each side with the places of its scores in increasing order."""
    return [(side, np.argsort(side, kind="stable")) for side in scores]


def _distinct_values(a: Array, b: Array) -> Array:
    """The values of two sorted arrays, increasing; a stable sort merges two runs in one pass."""
    both = np.sort(np.concatenate([a, b]), kind="stable")
    distinct: Array = both[np.append(True, both[1:] != both[:-1])]
    return distinct


def _best_in_order(
    searched: ExploredScores, pooled: Array, lines: Sequence[Line], fresh: int, order: Order
) -> PredictedEvent:
    """The best {score >= t} of sorted scores, turned so that the first law is that under which it is likely."""
    a, b = searched.scores
    cuts = _candidate_cuts(a, b, pooled)
    thresholds = _midpoint(pooled[cuts], pooled[cuts + 1])
    p, q = (1 - np.searchsorted(side, thresholds, "left") / len(side) for side in (a, b))
    moved = wilson_end(p, len(a), -CAUTION), wilson_end(q, len(b), CAUTION)
    past = _past_a_gap(b, thresholds) if searched.gaps else np.zeros(len(thresholds), dtype=np.bool_)
    moved = moved[0], np.where(past, 0.0, moved[1])
    # what is past a gap was found by the gap, and by no search over thresholds
    luck = np.where(past, 0.0, searched.luck * math.sqrt(fresh / min(len(a), len(b))))
    z, spread = _predicted_z(*moved, lines, fresh)
    line, i = np.unravel_index(int(np.argmax(z - luck)), z.shape)
    threshold = float(thresholds[i])
    return PredictedEvent(
        order=order,
        threshold=threshold if order is Order.DATASET_FIRST else -threshold,
        share=float(p[i] + q[i]) / 2,
        line=lines[int(line)],
        z=float(z[line, i]),
        spread=float(spread[line, i]),
        beyond_luck=float(z[line, i] - luck[i]),
        past_a_gap=bool(past[i]),
    )


def _past_a_gap(b: Array, thresholds: Array) -> NDArray[np.bool_]:
    """Whether no exponential tail of the sorted scores would reach a threshold."""
    with np.errstate(invalid="ignore", over="ignore"):  # of scores near the largest float64
        excess = float(np.mean(b[-OUTERMOST:] - b[-min(OUTERMOST + 1, len(b))]))
        past: NDArray[np.bool_] = thresholds - b[-1] > BRIDGED * excess
    return past


def _midpoint(lower: Array, upper: Array) -> Array:
    """The middle of two neighbouring scores; where there is no room, the upper one."""
    with np.errstate(invalid="ignore"):
        middle = lower / 2 + upper / 2
    thresholds: Array = np.where((lower < middle) & (middle < upper), middle, upper)
    return thresholds


def _candidate_cuts(a: Array, b: Array, pooled: Array) -> NDArray[np.int64]:
    """Indices i for thresholds between the scores i and i + 1."""
    last = len(pooled) - 2
    spread = np.linspace(0, last, SPREAD)
    tail = last - np.geomspace(1, last + 1, TOWARDS_THE_TAIL) + 1
    outermost = np.searchsorted(pooled, a[-IN_THE_TAIL:], "left") - 1
    beyond = np.searchsorted(pooled, b[-1:], "right") - 1
    cuts: NDArray[np.int64] = np.unique(
        np.clip(np.concatenate([spread, tail, outermost, beyond]).round(), 0, last).astype(np.int64)
    )
    return cuts


def _predicted_z(p: Array, q: Array, lines: Sequence[Line], fresh: int) -> tuple[Array, Array]:
    """The z of the excess p - e^epsilon q - delta in ``fresh`` trials and its spread in one: shape (lines, thresholds).

    With the mean of its variance at p and q and of that on the line, which is near the likelihood root also for rare
    events.
    """
    epsilon, delta = (np.array(part)[:, np.newaxis] for part in zip(*lines, strict=True))
    e = np.exp(np.minimum(epsilon, 300.0))  # a larger one has no square, and is predicted to be as far from refuted
    middle = np.clip((p - delta + q) / (1 + e), 0, 1)
    on_line = np.clip(delta + e * middle, 0, 1)
    variance = p * (1 - p) + e**2 * q * (1 - q) + on_line * (1 - on_line) + e**2 * middle * (1 - middle)
    spread = np.sqrt(np.maximum(variance / 2, 1e-300))
    z: Array = (p - e * q - delta) / spread * math.sqrt(fresh)
    return z, spread
