"""Tests of counts: an event was seen k times in N trials, each of which has it with probability p.

Where the trials are independent the tail of the binomial law is exact. Where they are negatively associated, as the
records of a sample without replacement are, moments of exponentials are at most those of independent trials, and so
the bound of Chernoff holds (Joag-Dev and Proschan 1983; Hoeffding 1963, Theorem 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
import scipy

from dpverdict.audit.statistics.proportions import ROUNDED_OUTWARD, proportion_upper
from dpverdict.numerics.arrays import Array, Integers

SMALLEST_TAIL: Final = 1e-300
"""Smaller tails are given as this."""
MISSED: Final = 0.05
"""The probability with which the stated deviation may escape."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CountTest:
    """One count, or the most telling of several.

    Attributes:
        name: of the test.
        words: what was counted.
        observed: k.
        trials: N.
        probability: p; 0 for what the claim rules out.
        independent: whether the trials are; else they are negatively associated.
        tail: the two-sided p-value of this count alone.
        among: the counts of which it is the most telling.
    """

    name: str
    words: str
    observed: int
    trials: int
    probability: float
    independent: bool
    tail: float
    among: int = 1

    @property
    def p_value(self) -> float:
        """Of the whole test: that of the count, times how many there are."""
        return min(1.0, self.tail * self.among)


def tails(observed: Integers, trials: Integers, probability: Array, *, independent: bool = True) -> Array:
    """Two-sided p-values: twice the smaller tail, rounded up; the arguments broadcast.

    >>> [round(float(one), 6) for one in tails(np.array([0, 5]), np.array([10, 10]), np.array([0.5, 0.5]))]
    [0.001953, 1.0]
    """
    k, n, p = np.broadcast_arrays(observed.astype(np.float64), trials.astype(np.float64), probability)
    inner = (p > 0) & (p < 1) & (n > 0)
    found: Array = np.where((k == n * p), 1.0, 0.0)
    k, n, p = k[inner], n[inner], p[inner]
    if independent:
        below = np.where(k >= n, 1.0, scipy.special.betaincc(np.minimum(k, n - 1) + 1, np.maximum(n - k, 1), p))
        above = np.where(k <= 0, 1.0, scipy.special.betainc(np.maximum(k, 1), n - np.maximum(k, 1) + 1, p))
        tail = np.minimum(below, above)
    else:
        divergence = scipy.special.xlogy(k, k / (n * p)) + scipy.special.xlogy(n - k, (n - k) / (n * (1 - p)))
        tail = np.exp(-np.maximum(divergence * (1 - 1e-9) - 1e-9, 0))  # the subtraction loses digits, never more
    found[inner] = np.clip(2 * tail * (1 + ROUNDED_OUTWARD), SMALLEST_TAIL, 1.0)
    return found


def most_telling(
    name: str,
    words: str,
    observed: Integers,
    trials: Integers | int,
    probability: Array | float,
    *,
    independent: bool = True,
) -> CountTest:
    """The count with the smallest tail; ``{}`` in the words stands for its place."""
    k = np.atleast_1d(observed)
    n = np.broadcast_to(np.asarray(trials), k.shape)
    p = np.broadcast_to(np.asarray(probability, dtype=np.float64), k.shape)
    found = tails(k, n.astype(np.int64), p, independent=independent)
    place = int(np.argmin(found))
    return CountTest(
        name=name,
        words=words.format(place),
        observed=int(k[place]),
        trials=int(n[place]),
        probability=float(p[place]),
        independent=independent,
        tail=float(found[place]),
        among=len(k),
    )


def excluded(name: str, words: str, observed: int, trials: int) -> CountTest:
    """A count of what the claim rules out."""
    return CountTest(
        name=name,
        words=words,
        observed=observed,
        trials=trials,
        probability=0.0,
        independent=True,
        tail=0.0 if observed else 1.0,
    )


def detectable(trials: int, probability: float, level: float) -> float:
    """The smallest rate above p that a test of independent trials at this level finds with probability 0.95; at most 1.

    >>> 0.02 < detectable(1000, 0.01, 1e-6) < 0.06
    True
    """
    low, high = int(trials * probability), trials + 1  # the first count that rejects is in (low, high]
    while high - low > 1:
        middle = (low + high) // 2
        one = tails(np.array([middle]), np.array([trials]), np.array([probability]))[0]
        low, high = (low, middle) if one <= level else (middle, high)
    return 1.0 if high > trials else float(proportion_upper(high - 1, trials, MISSED))
