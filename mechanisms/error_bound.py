"""How much error any additive noise must have to be (epsilon, delta)-DP: a sanity gate that needs no noise law."""

from __future__ import annotations

from fractions import Fraction

from dpverdict.balls import Exact, Real, ball
from dpverdict.mechanisms.guarantee import ApproximateDP
from dpverdict.mechanisms.mechanism import check_dim, check_positive


def universal_error_bound(*, dim: int, epsilon: Exact, delta: Exact, sensitivity: Exact) -> Real:
    """(1 - delta) M Delta^2/(2 (1 + e^epsilon)): every (epsilon, delta)-DP noise n in R^M has E|n|^2 at least this.

    The noise is added to a statistic that neighbours may move by Delta u, for every unit vector u. Proof: for u uniform
    on the sphere, E <n, u>^2 = E|n|^2/M, so by Chebyshev P[<n, u> >= Delta/2] and P[<n, u> <= -Delta/2] are each at
    most 2 E|n|^2/(M Delta^2) on average over u. For some u, the half-space between the two centres therefore shows
    delta >= 1 - (1 + e^epsilon) 2 E|n|^2/(M Delta^2).

    Args:
        dim: the dimension M >= 1 of the statistic.
        epsilon, delta: the guarantee.
        sensitivity: the l2-sensitivity Delta > 0, attained in every direction.

    Raises:
        InvalidValue: a parameter out of range.

    >>> round(universal_error_bound(dim=100, epsilon=1, delta="1e-5", sensitivity=1).nearest(), 4)
    13.4469
    """
    guarantee = ApproximateDP(epsilon, delta)
    squares = check_dim(dim) * check_positive(sensitivity, "sensitivity") ** 2
    if guarantee.epsilon == 0:
        return Real.of((1 - guarantee.delta) * squares / 4)
    half = (1 - guarantee.delta) * Fraction(squares) / 2
    return Real(lambda: ball(half) / (1 + ball(guarantee.epsilon).exp()))
