"""The step of the lattice on which losses are composed, when nobody says which."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpverdict.audit.loss_tails import Tails

CELLS = 512
"""How many cells make the spread of a typical factor: the bracket is about CELLS^-2 wide."""

_LEVEL = 0.3  # the spread: so much of P is further out; about one standard deviation of a normal law
_SMALLEST, _LARGEST = -28, 3  # exponents of 2 of the steps on which a lattice can be laid


def default_interval(tails_list: Sequence[tuple[Tails, int]]) -> float:
    """A power of 2 near the root mean square of the spreads of the factors, divided by `CELLS`.

    Splitting the cells of one factor adds about h^2/6 to the variance of its loss, so the bracket of the composition is
    about h^2/6 over the mean variance wide, however many factors there are.

    Args:
        tails_list: the tails of every distinct loss, with the number of times it is composed.
    """
    total = math.fsum(count * spread(tails) ** 2 for tails, count in tails_list)
    mean = math.sqrt(total / sum(count for _, count in tails_list)) / CELLS
    exponent = math.floor(math.log2(mean)) if mean > 0 else _SMALLEST
    return 2.0 ** min(max(exponent, _SMALLEST), _LARGEST)


def spread(tails: Tails) -> float:
    """The power of 2, in [2^-40, 2^12], beyond which on either side the loss has at most 0.3 of its mass under P."""
    low, high = -40, 12
    while high > low:
        middle = (low + high) // 2
        size = 2.0**middle
        ends = tails(np.array([-size, size]))
        if ends.p_below[0] + ends.p_above[1] <= _LEVEL:
            high = middle
        else:
            low = middle + 1
    return 2.0**low
