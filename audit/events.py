"""Events: what they bound, how they are chosen on exploring trials, how they are counted on confirming ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpverdict.audit.clopper_pearson import proportion_lower, proportion_upper
from dpverdict.audit.distinguishing_test import Counts, CurveRegion, Event, LedgerRow, Order, Role

Array = NDArray[np.float64]
Bound = Callable[[ArrayLike, ArrayLike], Array]
"""From a lower bound on p and an upper bound on q to a lower bound on a privacy parameter; below 0 it says nothing."""

CANDIDATES: Final = 200
"""Thresholds tried in each order while exploring."""
REGION_POINTS: Final = 9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A privacy parameter that is bounded from below.

    Attributes:
        name: "mu_lower", or "epsilon_lower at delta=...".
        bound: the formula, for the event and its complement.
        promise: the formula for the event alone, by which the event is chosen: so its order is the one that tells.
        caution: standard errors by which an explored frequency is mistrusted when the event is chosen. It decides power
            alone. Rare events promise as much mu as common ones, so a low caution falls for noisy tails; epsilon is
            truly larger in the tails, so a high caution misses it. The two values below did best in simulations.
    """

    name: str
    bound: Bound
    promise: Bound
    caution: float


def mu_quantity() -> Quantity:
    """The parameter of Gaussian DP."""
    return Quantity(name="mu_lower", bound=mu_bound, promise=mu_bound, caution=3.0)


def epsilon_quantity(delta: float) -> Quantity:
    """The epsilon of (epsilon, delta)-DP at one delta."""
    return Quantity(
        name=f"epsilon_lower at delta={delta:g}",
        bound=partial(epsilon_bound, delta=delta),
        promise=partial(_epsilon_direct, delta=delta),
        caution=1.0,
    )


def mu_bound(probability_lower: ArrayLike, probability_upper: ArrayLike) -> Array:
    """mu-GDP forces p <= Phi(Phi^-1(q) + mu), so mu >= Phi^-1(p) - Phi^-1(q); rounded down."""
    above, below = special.ndtri(probability_lower), special.ndtri(probability_upper)
    # The quantile of SciPy is good to a few 1e-16 in relative terms; 2^-48 of each covers it and the subtraction.
    bound: Array = above - below - 2.0**-48 * (np.abs(above) + np.abs(below))
    return bound


def epsilon_bound(probability_lower: ArrayLike, probability_upper: ArrayLike, delta: float) -> Array:
    """(epsilon, delta)-DP forces p <= e^epsilon q + delta, and 1 - q <= e^epsilon (1 - p) + delta; rounded down."""
    p, q = np.asarray(probability_lower, dtype=np.float64), np.asarray(probability_upper, dtype=np.float64)
    # The complement in the swapped order costs nothing: it follows from the same two bounds.
    bound: Array = np.maximum(_epsilon_direct(p, q, delta), _epsilon_direct(1 - q, 1 - p, delta))
    return bound


def _epsilon_direct(above: ArrayLike, below: ArrayLike, delta: float) -> Array:
    """log((above - delta) / below), rounded down, also when each argument was rounded by up to 2^-54."""
    p, q = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    with np.errstate(divide="ignore"):
        # Of 1 - q the last bit may be lost, and the difference with delta may cancel down to it; 1 - p is exact, or
        # larger than 1/2 and good to a unit in the last place.
        top, bottom = np.log(np.maximum(p - delta - 2.0**-52, 0)), np.log(q)
    # The logarithm is good to 1e-15 in relative terms. Where the bound is positive, bottom is the larger of the two.
    bound: Array = top - bottom - 2.0**-48 * (1 + np.abs(np.maximum(bottom, -700)))
    return bound


def choose_event(
    dataset_scores: Array, neighbour_scores: Array, *, trials: int, error_probability: float, quantity: Quantity
) -> Event:
    """The event that promises the best bound from ``trials`` fresh trials per dataset.

    The promise: both frequencies are first moved ``quantity.caution`` standard errors to the bad side, for what
    exploration does not know, then as far as the confirmation will move them. Both moves are score intervals of
    Wilson, which need no special case at counts of 0 and n. Nothing here needs to be valid; it only decides the power.
    """
    above, below = (np.sort(dataset_scores), np.sort(neighbour_scores))
    pooled = np.unique(np.concatenate([above, below]))
    if len(pooled) == 1:
        return Event(order=Order.DATASET_FIRST, threshold=float(pooled[0]))
    cuts = _cuts(above, below, pooled)
    lower, upper = pooled[cuts], pooled[cuts + 1]
    # Between two scores that were seen lies the best guess of a boundary; where there is no room, the score itself.
    with np.errstate(invalid="ignore"):
        middle = lower / 2 + upper / 2
    inside = (lower < middle) & (middle < upper)
    at_least, at_most = np.where(inside, middle, upper), np.where(inside, middle, lower)
    z = -float(special.ndtri(error_probability / 2))
    best: tuple[float, Event] | None = None
    for order, thresholds, frequencies in (
        (Order.DATASET_FIRST, at_least, [1 - np.searchsorted(s, at_least, "left") / len(s) for s in (above, below)]),
        (Order.NEIGHBOUR_FIRST, at_most, [np.searchsorted(s, at_most, "right") / len(s) for s in (below, above)]),
    ):
        p = _wilson(_wilson(frequencies[0], len(above), -quantity.caution), trials, -z)
        q = _wilson(_wilson(frequencies[1], len(below), quantity.caution), trials, z)
        promised = quantity.promise(p, q)
        i = int(np.argmax(promised))
        if best is None or promised[i] > best[0]:
            best = float(promised[i]), Event(order=order, threshold=float(thresholds[i]))
    assert best is not None
    return best[1]


def promised_by(
    event: Event,
    dataset_scores: Array,
    neighbour_scores: Array,
    *,
    trials: int,
    error_probability: float,
    quantity: Quantity,
) -> float:
    """The bound that one event promises, as `choose_event` reckons it."""
    z = -float(special.ndtri(error_probability / 2))
    counts = count(event, dataset_scores, neighbour_scores)
    hits, of = (counts.dataset_count, counts.neighbour_count), (counts.dataset_trials, counts.neighbour_trials)
    first, second = (0, 1) if event.order is Order.DATASET_FIRST else (1, 0)
    p = _wilson(_wilson(np.array(hits[first] / of[first]), of[first], -quantity.caution), trials, -z)
    q = _wilson(_wilson(np.array(hits[second] / of[second]), of[second], quantity.caution), trials, z)
    return float(quantity.promise(p, q))


def _cuts(above: Array, below: Array, pooled: Array) -> NDArray[np.int64]:
    """Indices i for thresholds between the scores i and i + 1: evenly spread, and where the samples part best."""
    spread = np.linspace(0, len(pooled) - 2, CANDIDATES).round().astype(np.int64)
    gap = np.searchsorted(below, pooled, "right") / len(below) - np.searchsorted(above, pooled, "right") / len(above)
    # Below the lowest and above the highest score of each sample, where a count of 0 begins.
    ends = np.searchsorted(pooled, [above[0], below[0], above[-1], below[-1]]) - [1, 1, 0, 0]
    parting = np.array([np.argmax(gap), np.argmin(gap), *ends])
    cuts: NDArray[np.int64] = np.unique(np.clip(np.concatenate([spread, parting]), 0, len(pooled) - 2))
    return cuts


def count(event: Event, dataset_scores: Array, neighbour_scores: Array) -> Counts:
    """How often the event happened on each dataset."""
    hits = [
        s >= event.threshold if event.order is Order.DATASET_FIRST else s <= event.threshold
        for s in (dataset_scores, neighbour_scores)
    ]
    return Counts(
        dataset_count=int(np.count_nonzero(hits[0])),
        dataset_trials=len(dataset_scores),
        neighbour_count=int(np.count_nonzero(hits[1])),
        neighbour_trials=len(neighbour_scores),
    )


def region_thresholds(dataset_scores: Array, neighbour_scores: Array) -> Array:
    """The deciles of the exploring scores of both datasets, without repetition."""
    pooled = np.sort(np.concatenate([dataset_scores, neighbour_scores]))
    ranks = np.arange(1, REGION_POINTS + 1) * len(pooled) // (REGION_POINTS + 1)
    thresholds: Array = np.unique(pooled[ranks])
    return thresholds


def trade_off_region(
    thresholds: Array, dataset_scores: Array, neighbour_scores: Array, *, error_probability: float
) -> CurveRegion:
    """Rectangles for (alpha, beta) at thresholds that were fixed beforehand, all at once except with the error."""
    share = error_probability / (4 * len(thresholds))
    alarms = len(neighbour_scores) - np.searchsorted(np.sort(neighbour_scores), thresholds, "left")
    misses = np.searchsorted(np.sort(dataset_scores), thresholds, "left")
    return CurveRegion(
        thresholds=thresholds,
        alpha_lower=proportion_lower(alarms, len(neighbour_scores), share),
        alpha_upper=proportion_upper(alarms, len(neighbour_scores), share),
        beta_lower=proportion_lower(misses, len(dataset_scores), share),
        beta_upper=proportion_upper(misses, len(dataset_scores), share),
        error_probability=error_probability,
    )


def region_row(region: CurveRegion) -> LedgerRow:
    """The region in the ledger, beside the rows of the test."""
    return LedgerRow(
        what="trade-off region",
        role=Role.DESCRIPTIVE,
        event=None,
        method=f"{4 * len(region.thresholds)} one-sided Clopper-Pearson bounds, equal shares",
        error_share=region.error_probability,
        counts=None,
        probability_lower=None,
        probability_upper=None,
        bound=None,
        outcome=Role.DESCRIPTIVE.value,
    )


def _wilson(frequency: Array, trials: int, z: float) -> Array:
    """The end of the score interval of Wilson (1927) on the side of the sign of z."""
    centre = frequency + z * z / (2 * trials)
    half = z * np.sqrt(frequency * (1 - frequency) / trials + z * z / (4 * trials * trials))
    end: Array = np.clip((centre + half) / (1 + z * z / trials), 0, 1)
    return end
