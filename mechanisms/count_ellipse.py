"""The Count ellipse of Joseph and Yu: Gaussian noise shaped for records with at most k ones.

Quoted by Lebeda (2024, section 4.1) as JY24; formulas re-derived from one constraint p u + q w <= 1 with p = k^2/d,
q = k (d - k)/d, u and w the precisions along the all-ones line and on its complement (Cauchy-Schwarz). With
R = sqrt((d - 1) k (d - k)), the eigenvalues of the covariance are a1^2 = k (k + R)/d along the all-ones line and
a2^2 = R (k + R)/(d (d - 1)) on its complement, and the variance of a query is h(d, k) = (k + R)^2/d^2.

The ellipse is private, and optimal, for every k up to `largest_optimal_k`; beyond it the formula is not private, and
`ellipse_optimum` has the optimum. Both are released by `CountEllipse`, of `count_ellipse_mechanism`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce

from flint import arb

from dpverdict.mechanisms.quadratic_form import Number


def eigenvalues(d: int, k: int, root: Callable[[int], Number]) -> tuple[Number, Number]:
    """(a1^2, a2^2) for mu = 1 and d >= 2; ``root(m)`` is sqrt(m) in the field of the answer."""
    r = root((d - 1) * k * (d - k))
    return k * (k + r) / d, r * (k + r) / (d * (d - 1))


def shared_noise_variances(d: int, k: int, root: Callable[[int], Number]) -> tuple[Number, Number]:
    """The same covariance as "independent z plus shared eta": (vz, ve) = (a2^2, (a1^2 - a2^2)/d), for mu = 1."""
    along, across = eigenvalues(d, k, root)
    return across, (along - across) / d


def worst_layer_value(d: int, k: int, most: int, root: Callable[[int], Number]) -> Number | None:
    """max over 0 <= j <= most of u j^2/d + w (j - j^2/d): the true mu^2 for records of up to ``most`` ones.

    None when it is infinite.
    """
    if k == d:
        return None  # a2 = 0: the complement of the all-ones line carries no noise
    along, across = eigenvalues(d, k, root)
    u, w = 1 / along, 1 / across
    # Concave in j, since u <= w with equality at k = 1 alone: the maximum is next to the vertex, or at the end.
    vertex = math.inf if k == 1 else float(w / (w - u)) * d / 2
    near = {max(0, min(most, math.floor(min(vertex, most)) + shift)) for shift in (-1, 0, 1, 2)}
    return _largest((u * (j * j) + w * (j * (d - j))) / d for j in sorted(near | {most}))


def largest_optimal_k(d: int) -> int:
    """khat(d): the last k for which the Count ellipse is private, the integer nearest to (d + sqrt d)/2."""
    s = pair_root(d)
    if s is not None:
        return (d + s - 1) // 2  # (d + sqrt d)/2 rounded down
    n = math.isqrt(d)
    t = n if (n - d) % 2 == 0 else n + 1  # the integer of the parity of d with |t - sqrt d| < 1
    return (d + t) // 2


def pair_root(d: int) -> int | None:
    """The s >= 1 with d = s^2 + 1, or the s >= 2 with d = s^2 - 1; None for every other d. Integer decisions only."""
    n = math.isqrt(d)
    if d >= 2 and d == n * n + 1:
        return n
    return n + 1 if d >= 2 and d == (n + 1) ** 2 - 1 else None


def _largest(values: Iterable[Number]) -> Number:
    listed = list(values)
    if all(isinstance(value, Fraction | int) for value in listed):
        return max(listed)
    return reduce(arb.max, (arb(0) + value for value in listed))
