"""One-sided Clopper-Pearson bounds for the probability of an event that was counted.

The bounds are exact in the sense of statistics: whatever the probability is, the bound is on the wrong side of it with
a probability of at most the error probability, at every number of trials.

Reference: C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of the
binomial, Biometrika 26 (1934), 404-413.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

SMALLEST_ERROR: Final = 1e-100
"""The smallest error probability that is accepted: below it the quantiles of SciPy are no longer dependable."""

ROUNDED_OUTWARD: Final = 2.0**-32
"""Relative step outward. The quantiles of SciPy were found up to 4e-12 from the truth in relative terms, far more than
a few units in the last place; the step covers that many times over, and is nothing beside the width of any interval."""

_LOOSENINGS: Final = 1100
"""Halvings after which even the smallest positive float64 is 0."""


def proportion_lower(successes: ArrayLike, trials: ArrayLike, error_probability: ArrayLike) -> NDArray[np.float64]:
    """Lower confidence bound on a binomial proportion.

    The p at which P(Bin(n, p) >= k) = error probability, and 0 if k = 0, rounded down.

    Args:
        successes: k, integers, 0 <= k <= n.
        trials: n, integers, n >= 1.
        error_probability: in [1e-100, 1). The three arguments broadcast.

    Returns:
        A bound that exceeds the proportion with at most the error probability; an array of the common shape.

    Raises:
        InvalidValue: a count that is not an integer in its range, or an error probability out of its range.

    >>> float(proportion_lower(0, 10, 0.05)), round(float(proportion_lower(10, 10, 0.05)), 6)
    (0.0, 0.741134)
    """
    k, n, error = _checked_counts(successes, trials, error_probability)
    lower = np.zeros(k.shape)
    inner = k > 0
    a, b, e = k[inner], n[inner] - k[inner] + 1, error[inner]
    guess = np.nan_to_num(scipy.special.betaincinv(a, b, e), nan=0.5)
    bound = np.nextafter(guess - ROUNDED_OUTWARD * np.minimum(guess, 1 - guess), 0)
    # The guess is believed only once the tail itself says so; otherwise the bound is loosened until it does.
    for _ in range(_LOOSENINGS):
        wrong = ~(scipy.special.betainc(a, b, bound) <= e)
        if not wrong.any():
            break
        bound[wrong] /= 2
    lower[inner] = bound
    return lower


def proportion_upper(successes: ArrayLike, trials: ArrayLike, error_probability: ArrayLike) -> NDArray[np.float64]:
    """Upper confidence bound on a binomial proportion.

    The p at which P(Bin(n, p) <= k) = error probability, and 1 if k = n, rounded up.

    Args:
        successes: k, integers, 0 <= k <= n.
        trials: n, integers, n >= 1.
        error_probability: in [1e-100, 1). The three arguments broadcast.

    Returns:
        A bound that falls below the proportion with at most the error probability; an array of the common shape.

    Raises:
        InvalidValue: a count that is not an integer in its range, or an error probability out of its range.

    >>> float(proportion_upper(10, 10, 0.05)), round(float(proportion_upper(0, 10, 0.05)), 6)
    (1.0, 0.258866)
    """
    k, n, error = _checked_counts(successes, trials, error_probability)
    upper = np.ones(k.shape)
    inner = k < n
    a, b, e = k[inner] + 1, n[inner] - k[inner], error[inner]
    guess = np.nan_to_num(scipy.special.betainccinv(a, b, e), nan=0.5)
    bound = np.minimum(np.nextafter(guess + ROUNDED_OUTWARD * np.minimum(guess, 1 - guess), 2), 1)
    for _ in range(_LOOSENINGS):
        wrong = ~(scipy.special.betaincc(a, b, bound) <= e)
        if not wrong.any():
            break
        bound[wrong] = 1 - (1 - bound[wrong]) / 2
    upper[inner] = bound
    return upper


def _checked_counts(
    successes: ArrayLike, trials: ArrayLike, error_probability: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The arguments as float64 arrays of one shape, each in its range."""
    k, n, error = np.asarray(successes), np.asarray(trials), np.asarray(error_probability)
    for name, value in (("successes", k), ("trials", n)):
        if value.dtype.kind not in "iu":
            raise InvalidValue(name, value, "integers", "count the trials in which the event happened")
    if error.dtype.kind not in "fiu" or not np.all((error >= SMALLEST_ERROR) & (error < 1)):
        remedy = "state the probability with which the bound may be wrong, such as 0.05 or 1e-6"
        raise InvalidValue("error_probability", error_probability, f"in [{SMALLEST_ERROR}, 1)", remedy)
    if not np.all((n >= 1) & (n < 2**53)):
        raise InvalidValue("trials", trials, "in 1..2**53 - 1", "run at least one trial")
    if not np.all((k >= 0) & (k <= n)):
        raise InvalidValue(
            "successes", successes, "between 0 and the number of trials", "check which counts belong together"
        )
    k, n, error = np.broadcast_arrays(k.astype(np.float64), n.astype(np.float64), error.astype(np.float64))
    return k, n, error


def unequal_halves_p_value(early: int, half: int, count: int, n: int) -> float:
    """Fisher's exact test, two-sided: whether ``half`` of n draws of one law hold ``early`` of its ``count`` hits.

    >>> unequal_halves_p_value(5, 10, 10, 20), round(unequal_halves_p_value(10, 10, 10, 20) * 92378)
    (1.0, 1)
    """

    def ways(k: int) -> int:
        return math.comb(count, k) * math.comb(n - count, half - k)

    own, most = ways(early), min(half, count)
    total = sum(one for k in range(max(0, half - (n - count)), most + 1) if (one := ways(k)) <= own)
    return total / math.comb(n, half)


def wilson_end(frequency: Array, trials: int, z: float) -> Array:
    """The end of the score interval of Wilson (1927) for a frequency in so many trials: the lower one where z < 0."""
    centre = frequency + z * z / (2 * trials)
    half = z * np.sqrt(frequency * (1 - frequency) / trials + z * z / (4 * trials * trials))
    end: Array = np.clip((centre + half) / (1 + z * z / trials), 0, 1)
    return end
