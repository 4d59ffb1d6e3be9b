"""The best dense factorisation A = L R under Gaussian noise: bounds on its error from both sides, for one horizon.

For weights v with sum 1 every factorisation has the error |L|_F^2 max_j |R e_j|^2/T >= nuc(A D^(1/2))^2/T, D = diag(v):
the largest squared column norm is at least the mean with these weights, and nuc(L R') <= |L|_F |R'|_F. The optimal
weights are the fixed point of v <- diag(S), S = (D^(1/2) A^T A D^(1/2))^(1/2), and make both sides equal. Any weights
give two true bounds, so these only have to be good, and are found in float64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat
from scipy.linalg import eigh_tridiagonal

from dpverdict.balls import float_down, float_up, precision
from dpverdict.numerics.arrays import Array

_POWER = 2.2  # of the correction of the weights: the plain fixed point converges half as fast
_SHORTEST, _STEPS = 32, {32: 14, 64: 5, 128: 5, 256: 6, 512: 4, 1024: 4}


class Bounds(NamedTuple):
    """Two bounds on the least error over all factorisations."""

    lower: float
    upper: float


class _Step(NamedTuple):
    bounds: Bounds
    former: Array
    weights: Array
    values: Array
    vectors: Array
    diagonal: Array


def _step(weights: Array) -> _Step:
    """Bounds in float64, and corrected weights, from V and s with S = V diag(s) V^T; the diagonal of S.

    The inverse of A^T A is tridiagonal, and so is that of D^(1/2) A^T A D^(1/2) = S^2. The upper bound is the error of
    R = S^(1/2) with its columns scaled to norm 1, for which |A R^-1|_F = |A diag(S_ii)^(1/2) V diag(s)^(-1/2)|_F.
    """
    horizon = len(weights)
    main = np.where(np.arange(horizon) == 0, 1.0, 2.0) / weights
    squares, vectors = eigh_tridiagonal(main, -1 / np.sqrt(weights[1:] * weights[:-1]))
    values = 1 / np.sqrt(squares)
    diagonal = (vectors**2 * values).sum(axis=1)
    sums = np.cumsum(np.sqrt(diagonal)[:, None] * vectors, axis=0)
    bounds = Bounds(float(values.sum() ** 2 / weights.sum() / horizon), float((sums**2 / values).sum() / horizon))
    corrected = weights * (diagonal / weights) ** _POWER
    return _Step(bounds, weights, corrected / corrected.sum(), values, vectors, diagonal)


def _doubled(weights: Array) -> Array:
    """Weights for twice the horizon: the logarithm is interpolated, and continued, over the log-odds of the place."""
    old, new = (_log_odds(size) for size in (len(weights), 2 * len(weights)))
    logs = np.log(weights)
    made = np.interp(new, old, logs)
    for inner, outer, edge in ((0, 1, new < old[0]), (-1, -2, new > old[-1])):
        slope = (logs[outer] - logs[inner]) / (old[outer] - old[inner])
        made[edge] = logs[inner] + (new[edge] - old[inner]) * slope
    doubled: Array = np.exp(made)
    doubled /= doubled.sum()
    return doubled


def _log_odds(size: int) -> Array:
    places = np.arange(size) + 0.5
    odds: Array = np.log(places / (size - places))
    return odds


@lru_cache(maxsize=16)
def _solved(horizon: int) -> _Step:
    """The last step for a horizon of 32 times a power of 2, up to 1024, from the weights of half of it."""
    weights = np.full(_SHORTEST, 1 / _SHORTEST) if horizon == _SHORTEST else _doubled(_solved(horizon // 2).weights)
    found = _step(weights)
    for _ in range(_STEPS[horizon] - 1):
        found = _step(found.weights)
    return found


def bounds_in_floats(horizon: int) -> Bounds:
    """The bounds in float64, whose rounding errors are about 1e-12 but are not enclosed."""
    return _solved(horizon).bounds


@lru_cache(maxsize=16)
def certified_bounds(horizon: int) -> Bounds:
    """The bounds in balls, with everything that float64 left out charged to them.

    Lower: nuc(M) >= <M, Q>/|Q| for any Q, with |Q|^2 <= 1 + |Q^T Q - I|_F. Upper: with E = I - R C for the approximate
    inverse C, R^-1 = C (I - E)^-1 and |A R^-1|_F <= |A C|_F/(1 - |E|_F).
    """
    found = _solved(horizon)
    with precision(80):
        vectors, values, diagonal = found.vectors, found.values, found.diagonal
        root = _matrix((vectors * np.sqrt(values)) @ vectors.T / np.sqrt(diagonal))
        inverse = _matrix((vectors / np.sqrt(values)) @ vectors.T * np.sqrt(diagonal)[:, None])
        scaled = np.tril(np.ones((horizon, horizon))) * np.sqrt(found.former)
        polar = _matrix(scaled @ (vectors / values) @ vectors.T)
        weights = [arb(float(w)) for w in found.former]
        one = _identity(horizon)
        inner = sum(
            (w.sqrt() * sum((polar[i, j] for i in range(j, horizon)), arb(0)) for j, w in enumerate(weights)), arb(0)
        )
        excess = _frobenius(polar.transpose() * polar - one)
        lower = inner**2 / (1 + excess) / sum(weights, arb(0)) / horizon
        defect = _frobenius(one - root * inverse)
        sums = _matrix(np.tril(np.ones((horizon, horizon)))) * inverse
        columns = (root.transpose() * root).table()
        largest = max((columns[j][j].upper() for j in range(horizon)), key=float)
        upper = largest * (_frobenius(sums) / (1 - defect)) ** 2 / horizon
        if not defect < 1:
            return Bounds(0.0, np.inf)
        return Bounds(float_down(lower), float_up(upper))


def _matrix(values: Array) -> arb_mat:
    rows, columns = values.shape
    made: arb_mat = arb_mat(rows, columns, [arb(float(x)) for x in values.ravel()])
    return made


def _identity(size: int) -> arb_mat:
    return _matrix(np.eye(size))


def _frobenius(matrix: arb_mat) -> arb:
    return sum((x * x for x in matrix.entries()), arb(0)).sqrt()
