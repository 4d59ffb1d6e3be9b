"""The least Laplace noise that keeps (epsilon, delta)-DP, by the exact curve of its worst neighbours."""

from __future__ import annotations

from dp_accounting import NeighboringRelation

from dpverdict.audit.laplace_loss import LaplaceLoss
from dpverdict.balls import Exact, exactly
from dpverdict.mechanisms.guarantee import ApproximateDP
from dpverdict.mechanisms.guarantee_curves import float_below
from dpverdict.mechanisms.laplace_calibration import concentrated_scale, least_float
from dpverdict.mechanisms.laplace_mechanism import LaplaceMechanism
from dpverdict.mechanisms.mechanism import check_dim

_STEP = 2.0**-44


def exact_laplace_scale(dim: int, epsilon: Exact, delta: Exact) -> float:
    """The least scale, to 13 digits, at which d coordinates that each move by 1 are certainly (epsilon, delta)-DP.

    It is the exact requirement of sums of records in [0, 1]^d: the all-ones record moves every coordinate by 1, and the
    loss of a log-concave law grows with the shift. The enclosure of delta(epsilon) at the scale returned lies at or
    below delta.

    Args:
        dim: number of coordinates d >= 1.
        epsilon: > 0.
        delta: in (0, 1).

    Raises:
        InvalidValue: an argument is out of its domain.

    >>> round(exact_laplace_scale(1, 1, "0.01"), 6)
    0.980295
    """
    size, goal = check_dim(dim), float_below(exactly(delta, name="delta"))
    above = concentrated_scale(epsilon, delta, size, size)  # checks epsilon and delta, and is large enough

    def certainly(scale: float) -> bool:
        return LaplaceLoss.equal(size, 1 / exactly(scale)).certified_delta(epsilon).upper <= goal

    def roughly(scale: float) -> bool:
        return scale > above / 1e9 and LaplaceLoss.equal(size, 1 / exactly(scale)).delta(epsilon) <= goal

    scale, step = min(least_float(roughly, above), above), _STEP
    while not certainly(scale):
        scale, step = scale * (1 + step), 2 * step
    return scale


def exact_laplace(*, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation) -> LaplaceMechanism:
    """The Laplace mechanism with `exact_laplace_scale`, claiming (epsilon, delta)-DP.

    >>> from dpverdict.mechanisms.adjacency import REPLACE_ONE
    >>> exact_laplace(dim=4, epsilon=1, delta="1e-3", adjacency=REPLACE_ONE).calibration
    'exact curve'
    """
    return LaplaceMechanism.with_scale(
        dim=dim,
        scale=exact_laplace_scale(dim, epsilon, delta),
        claim=ApproximateDP(epsilon, delta),
        adjacency=adjacency,
        calibration="exact curve",
    )
