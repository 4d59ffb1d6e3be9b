"""All half-lines of one number at once, on all trials: a test whose law under the claim is known before any output is.

What sits in a tail, beyond the other side's range or at one end of it, shows in an event {x > t}. Where t is an order
statistic of one side, nothing has to be explored, and the law of the count on the other side does not depend on the
laws of the two sides.

Symbols: X_1..X_n and Y_1..Y_m are independent outputs, one real number each, of laws P and Q; T_j is the j-th largest
of the Y, K_j the number of the X above T_j, and g(u) = min(1, e^epsilon u + delta).

Theorem. If P(x > t) <= e^epsilon Q(y > t) + delta for every t, then for every j in 1..m and every k

    P(K_j >= k) <= E P(Bin(n, g(U)) >= k),    U ~ Beta(j, m + 1 - j).

Proof. Let S(t) = Q(y > t), which falls and is continuous from the right, and G(v) = inf{t: S(t) <= v}, so that
S(G(v)) <= v. With V_i independent and uniform on (0, 1) the G(V_i) are distributed as the Y_i: take them for these. G
does not rise, so T_j = G(V_(j)) with V_(j) the j-th smallest of the V, which has the law of U; and S(T_j) <= V_(j).
Given the Y, K_j ~ Bin(n, P(x > T_j)), and P(x > T_j) <= min(1, e^epsilon S(T_j) + delta) <= g(V_(j)). The tail of a
binomial rises with its probability; the mean over the Y is the claim. QED. No law needs to be continuous: a value that
repeats only makes K_j smaller.

The test. Ranks j and weights are fixed by m, epsilon and delta alone; both orders of the pair and both ways round count
as well. Its p-value is the least of the bounds of the theorem, each divided by its weight: the weights sum to 1, so by
the union bound it is valid at every level, for any dependence. The event that was chosen is thereby paid for; a
replay on fresh outputs tests that event alone.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import scipy

from dpverdict.audit.statistics.joint_test import Counts, Order
from dpverdict.numerics.arrays import Array

MOST_OUTPUTS: Final = 2**22
"""Outputs per side that are looked at: the first ones."""
LARGEST_RANK: Final = 2**14
"""What is wrong with half-lines of more outputs, thousands on the other side, every other test sees."""
SMALLEST_RANK: Final = 0.25
"""Of the weight of one order and way round: for the rank 1, beyond all of the other side. The others share the rest."""
_CELLS: Final = 256
_OUTSIDE_OF_CELLS: Final = 1e-13
"""Probability of the law of U outside of the cells, on either side."""
_PAD: Final = 1e-9
"""Relative; the incomplete beta function of SciPy is far better than that wherever it was compared."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HalfLine:
    """The half-line that tells most, and the p-value of the whole test.

    Attributes:
        turned: whether the event is on the number with its sign changed.
        threshold: {x >= threshold} in the order dataset against neighbour, {x <= threshold} in the other one.
        counts: on the outputs that were looked at.
        p_value: of the hypothesis that no half-line breaks the line, in either order.
    """

    turned: bool
    threshold: float
    counts: Counts
    p_value: float


def check_half_lines(dataset: Array, neighbour: Array, *, epsilon: float, delta: float) -> HalfLine:
    """Test that no half-line {x > t} or {x < t} has p > e^epsilon q + delta, in either order of the pair.

    Args:
        dataset: outputs, shape (n,), not NaN; they may be infinite.
        neighbour: shape (m,), independent of them.
        epsilon: >= 0.
        delta: in [0, 1).
    """
    outputs = {Order.DATASET_FIRST: dataset[:MOST_OUTPUTS], Order.NEIGHBOUR_FIRST: neighbour[:MOST_OUTPUTS]}
    best: HalfLine | None = None
    for order, sign in itertools.product(Order, (1.0, -1.0)):
        of_p = sign * outputs[order]
        of_q = sign * outputs[Order.NEIGHBOUR_FIRST if order is Order.DATASET_FIRST else Order.DATASET_FIRST]
        n, m = len(of_p), len(of_q)
        planned = ranks_to_test(m, epsilon, delta)
        largest = planned[-1][0]
        tail = np.sort(np.partition(of_q, m - largest)[m - largest :])  # the outputs of these ranks, rising
        beyond = np.sort(of_p[of_p > tail[0]])
        for j, weight in planned:
            at = tail[largest - j]
            above = len(beyond) - int(np.searchsorted(beyond, at, "right"))
            p = min(1.0, tail_upper(above, n, j, m, epsilon, delta) / weight * (1 + _PAD))
            if best is None or p < best.p_value:
                others = largest - int(np.searchsorted(tail, at, "right"))
                first = order is Order.DATASET_FIRST
                threshold = float(np.nextafter(at, np.inf))
                best = HalfLine(
                    turned=(sign < 0) is first,
                    threshold=threshold if first else -threshold,
                    counts=Counts(above, n, others, m, order),
                    p_value=p,
                )
    assert best is not None
    return best


def ranks_to_test(trials: int, epsilon: float, delta: float) -> list[tuple[int, float]]:
    """Powers of two as far as the line allows less than everything, with weights whose sum over four is at most 1."""
    most = trials * (1 - delta) * math.exp(-epsilon)
    doubled = [1 << i for i in range(1, trials.bit_length()) if 1 << i < min(most, LARGEST_RANK + 1)]
    first = SMALLEST_RANK if doubled else 1.0
    return [(1, first / 4), *((j, (1 - first) / (4 * len(doubled)) * (1 - _PAD)) for j in doubled)]


def tail_upper(count: int, trials: int, rank: int, others: int, epsilon: float, delta: float) -> float:
    """At least E P(Bin(trials, g(U)) >= count), U ~ Beta(rank, others + 1 - rank); 1 where no excess is seen.

    U is put into cells and taken at the upper end of its own: the tail rises with it.
    """
    e = math.exp(epsilon)
    if count <= trials * min(1.0, e * rank / (others + 1) + delta):
        return 1.0
    a, b = rank, others + 1 - rank
    low, high = (
        float(scipy.special.betaincinv(a, b, _OUTSIDE_OF_CELLS)),
        float(scipy.special.betainccinv(a, b, _OUTSIDE_OF_CELLS)),
    )
    ends = np.concatenate([[0.0], np.linspace(low, high, _CELLS)])
    below, above = scipy.special.betainc(a, b, ends), scipy.special.betaincc(a, b, ends)
    mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    allowed = np.minimum(np.nextafter(e * ends[1:] + delta, 2), 1.0)
    tails = scipy.special.betainc(count, trials - count + 1, allowed)
    return float((mass * tails).sum() * (1 + _PAD) + above[-1])
