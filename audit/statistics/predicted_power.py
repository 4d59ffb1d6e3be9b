"""What explored scores promise of a test on fresh trials, and how the error is divided by it. Nothing here is a test.

Symbols: n_e explored scores per side, f fresh ones; (epsilon, delta) a point of the claimed curve; z a standard score.

An event is chosen by the z that it promises at the confirming size. The frequencies of an event that was searched for
among hundreds are too good, in the explored scores and nowhere else. So they are moved to the bad side before they are
trusted, and half of the prediction is honest: the event is chosen on one half of the explored scores and counted on the
other one, both ways round. Without that the best of a thousand events promises more than a payoff on noise alone.

All of this is a function of explored scores, so no choice in it can refute a claim that holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverdict.audit.statistics.joint_test import Order
from dpverdict.audit.statistics.payoffs import CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.numerics.arrays import Array

SPREAD: Final = 200
TOWARDS_THE_TAIL: Final = 100
IN_THE_TAIL: Final = 40
"""Thresholds that are tried: spread over all scores, spaced geometrically towards the tail, and the outermost ones."""
CAUTION: Final = 0.75
"""Standard errors by which the frequencies of an event are moved where it was searched for on them."""
HONEST_CAUTION: Final = 0.35
"""The same where it was searched for on other scores."""
PAYOFF_CAUTION: Final = 0.5
"""Standard errors by which the mean of a payoff is moved."""
FEWEST_PAIRS: Final = 100
FEWEST_RARE: Final = 30
"""Below these a payoff is decided by betting, see `means`."""
BETTING: Final = 0.72
BETTING_ON_A_CURVE: Final = 0.8
"""What betting makes of z."""
LEAST_SHARE: Final = 0.08
"""Of the error that payoff and event divide: what each of them gets at least, whatever is predicted."""
SHARES: Final = (LEAST_SHARE, 0.2, 0.35, 0.5, 0.65, 0.8, 1 - LEAST_SHARE)
"""Of the event."""
UNKNOWN: Final = 0.5
"""Standard deviation of a prediction, in units of sqrt(f/n_e)."""
_NODES: Final = 7

Line = tuple[float, float]
"""A point (epsilon, delta) of the claimed curve: p <= delta + e^epsilon q for every event."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """An event on one score, the line on which it would be tested, and the z that it promises.

    Attributes:
        order: {score >= threshold} of the dataset against the neighbour, or {score <= threshold} the other way round.
        threshold: of the score.
        share: of the explored scores of both sides together, as many of each, that are in the event.
        line: the point of the claimed curve.
        z: at the confirming size.
    """

    order: Order
    threshold: float
    share: float
    line: Line
    z: float


def promised_event(
    dataset_scores: Array, neighbour_scores: Array, lines: Sequence[Line], fresh: int
) -> Promised | None:
    """The event and the line that promise the largest z from ``fresh`` trials per side; None if the scores are all one.

    Args:
        dataset_scores: shape (n,), of explored outputs, from a score that was not learned from the same outputs.
        neighbour_scores: shape (m,).
        lines: of the claim.
        fresh: trials per side that will decide.
    """
    sides = dataset_scores, neighbour_scores
    halves = [tuple(side[start::2] for side in sides) for start in (0, 1)]
    best: Promised | None = None
    for order in Order:
        found = _best(*_turned(sides, order), lines, fresh, CAUTION)
        if found is None:
            continue
        threshold, i, z = found
        honest = []
        for chosen, counted in (halves, halves[::-1]):
            other = _best(*_turned((chosen[0], chosen[1]), order), lines, fresh, CAUTION)
            if other is None:
                honest.append(0.0)
                continue
            first, second = _turned((counted[0], counted[1]), order)
            shares = [np.array([np.count_nonzero(side >= other[0]) / len(side)]) for side in (first, second)]
            honest.append(
                float(_z(shares[0], len(first), shares[1], len(second), [lines[other[1]]], fresh, HONEST_CAUTION)[0, 0])
            )
        z = (z + sum(honest) / 2) / 2
        if best is None or z > best.z:
            first, second = _turned(sides, order)
            share = float(np.mean(first >= threshold) + np.mean(second >= threshold)) / 2
            turned = threshold if order is Order.DATASET_FIRST else -threshold
            best = Promised(order=order, threshold=turned, share=share, line=lines[i], z=z)
    return best


def carried_over(event: Promised, dataset_scores: Array, neighbour_scores: Array) -> float:
    """The threshold of the event for a score that was learned again, whose numbers may be on another scale.

    Between two scores that occur, so that the share of the explored scores in the event is nearest to what it was.
    """
    first, second = _turned((dataset_scores, neighbour_scores), event.order)
    a, b = np.sort(first), np.sort(second)
    pooled = np.unique(np.concatenate([a, b]))
    shares = (2 - np.searchsorted(a, pooled, "left") / len(a) - np.searchsorted(b, pooled, "left") / len(b)) / 2
    i = int(np.argmin(np.abs(shares - event.share)))
    threshold = float(pooled[i] if i == 0 else _between(pooled[i - 1 : i], pooled[i : i + 1])[0])
    return threshold if event.order is Order.DATASET_FIRST else -threshold


def promised_by_payoff(payoff: Payoff, dataset_scores: Array, neighbour_scores: Array, fresh: int) -> float:
    """The z that a payoff promises from ``fresh`` pairs."""
    x, y = payoff.of_dataset(dataset_scores), payoff.of_neighbour(neighbour_scores)
    spread = math.sqrt(float(x.var() + y.var()))
    if spread == 0:
        return 0.0
    # a symmetric payoff has delta in what it allows
    z = ((float(x.mean() - y.mean()) - payoff.allowed) / spread - PAYOFF_CAUTION / math.sqrt(len(x))) * math.sqrt(fresh)
    rare = math.inf
    if isinstance(payoff, SymmetricPayoff):
        wrong = np.mean(dataset_scores <= -payoff.threshold) + np.mean(neighbour_scores >= payoff.threshold)
        rare = float(wrong) * fresh
    if z > 0 and (fresh < FEWEST_PAIRS or rare < FEWEST_RARE):
        z *= BETTING_ON_A_CURVE if isinstance(payoff, CurvePayoff) else BETTING
    return z


def share_of_event(payoff: float, event: float, *, explored: int, fresh: int, error: float) -> float:
    """The part of the error, among `SHARES`, that an event gets beside a payoff, from the z that the two promise.

    The one under which a refutation is likeliest, if each prediction is wrong by a normal deviation of
    `UNKNOWN` sqrt(fresh/explored) and the two tests succeed or fail together. Ties go to the payoff.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    spread = UNKNOWN * math.sqrt(fresh / explored)
    best, chosen = -1.0, SHARES[0]
    for share in SHARES:
        of_payoff = special.ndtr(payoff + spread * nodes + special.ndtri((1 - share) * error))
        of_event = special.ndtr(event + spread * nodes + special.ndtri(share * error))
        power = float(weights @ np.maximum(of_payoff[:, np.newaxis], of_event) @ weights)
        if power > best + 1e-9:
            best, chosen = power, share
    return chosen


def _turned(sides: tuple[Array, Array], order: Order) -> tuple[Array, Array]:
    """Scores of the law under which the event is likely, and of the other one, such that the event is {score >= t}."""
    return sides if order is Order.DATASET_FIRST else (-sides[1], -sides[0])


def _best(
    first: Array, second: Array, lines: Sequence[Line], fresh: int, caution: float
) -> tuple[float, int, float] | None:
    """The best threshold, which line, and z."""
    a, b = np.sort(first), np.sort(second)
    pooled = np.unique(np.concatenate([a, b]))
    if len(pooled) < 2:
        return None
    cuts = _cuts(a, b, pooled)
    thresholds = _between(pooled[cuts], pooled[cuts + 1])
    p, q = (1 - np.searchsorted(side, thresholds, "left") / len(side) for side in (a, b))
    z = _z(p, len(a), q, len(b), lines, fresh, caution)
    line, i = np.unravel_index(int(np.argmax(z)), z.shape)
    return float(thresholds[i]), int(line), float(z[line, i])


def _between(lower: Array, upper: Array) -> Array:
    """The middle of two neighbouring scores; where there is no room, the upper one."""
    with np.errstate(invalid="ignore"):
        middle = lower / 2 + upper / 2
    thresholds: Array = np.where((lower < middle) & (middle < upper), middle, upper)
    return thresholds


def _cuts(a: Array, b: Array, pooled: Array) -> NDArray[np.int64]:
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


def _z(p: Array, of_p: int, q: Array, of_q: int, lines: Sequence[Line], fresh: int, caution: float) -> Array:
    """The z of the excess p - e^epsilon q - delta in ``fresh`` trials, shape (lines, thresholds).

    With the mean of its variance at p and q and of that on the line, which is near the likelihood root also for rare
    events.
    """
    p, q = _moved(p, of_p, -caution), _moved(q, of_q, caution)
    epsilon, delta = (np.array(part)[:, np.newaxis] for part in zip(*lines, strict=True))
    e = np.exp(epsilon)
    middle = np.clip((p - delta + q) / (1 + e), 0, 1)
    on_line = np.clip(delta + e * middle, 0, 1)
    variance = p * (1 - p) + e**2 * q * (1 - q) + on_line * (1 - on_line) + e**2 * middle * (1 - middle)
    z: Array = (p - e * q - delta) * np.sqrt(2 * fresh / np.maximum(variance, 1e-300))
    return z


def _moved(frequency: Array, trials: int, z: float) -> Array:
    """The end of the score interval of Wilson (1927) on the side of the sign of z."""
    centre = frequency + z * z / (2 * trials)
    half = z * np.sqrt(frequency * (1 - frequency) / trials + z * z / (4 * trials * trials))
    moved: Array = np.clip((centre + half) / (1 + z * z / trials), 0, 1)
    return moved
