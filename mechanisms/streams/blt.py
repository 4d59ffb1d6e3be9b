"""Buffered linear Toeplitz (BLT) factorisations: their errors in closed form, and their best parameters.

The prefix sums are A = L R with R = Toeplitz(w), where w has the generating function

    W(x) = prod_i (1 - y_i x)/prod_i (1 - z_i x),      1 > z_1 > y_1 > z_2 > y_2 > ... > z_q > y_q > 0,

so w_0 = 1 and w_j = sum_i omega_i z_i^(j-1). Noise L z then needs q numbers of memory and O(q) operations per step. The
coefficients of L are b_j = b + sum_i beta_i y_i^j. All sums over time are geometric: an error costs O(q^2) operations.

Each formula is written once, for floats (the search for parameters) and balls (the errors of given ones).

Reference: Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024, "Efficient and near-optimal noise generation for
streaming differential privacy" (arXiv:2404.16706).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from dpverdict.balls import Exact, Real, ball, exactly
from dpverdict.checks import check_dim
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.errors import CounterError
from dpverdict.numerics.arrays import Array

LONGEST = 1 << 40
"""Beyond it the largest pole is too close to 1 for the search in float64."""

_NONE = 1e6  # the logarithm of the error of parameters that are none

Number = Any  # a float or a ball: what is done with either is +, -, *, / and whole powers


def blt_error(horizon: int, poles: Sequence[Exact], zeros: Sequence[Exact]) -> CounterError:
    """The error under Gaussian noise of the factorisation with given z_i and y_i, which are taken exactly.

    Args:
        horizon: T >= 1.
        poles, zeros: z_1 > z_2 > ... and y_1 > y_2 > ..., in (0, 1) and interlaced.

    Raises:
        InvalidValue: an argument is out of range.

    >>> error = blt_error(1024, ["0.99", "0.7"], ["0.95", "0.3"])
    >>> round(error.mean.nearest(), 4)
    13.0059
    """
    n = check_dim(horizon, "horizon")
    z, y = [exactly(value, name="poles") for value in poles], [exactly(value, name="zeros") for value in zeros]
    order = [value for pair in zip(z, y, strict=False) for value in pair]
    if not z or len(z) != len(y) or not _is_interlaced(order):
        remedy = "give as many zeros as poles, with 1 > z_1 > y_1 > z_2 > y_2 > ... > 0"
        raise InvalidValue("poles", [str(value) for value in poles], "interlaced with the zeros", remedy)

    def balls() -> tuple[list[Number], list[Number]]:
        return [ball(value) for value in z], [ball(value) for value in y]

    def at(t: int) -> Real:
        return Real(lambda: sensitivity_squared(n, *balls()) * row_squared(t, *balls()))

    return CounterError(
        name=f"BLT q={len(z)}",
        noise="gaussian",
        mean=Real(lambda: sensitivity_squared(n, *balls()) * mean_row_squared(n, *balls())),
        largest=at(n),
        variance=at,
    )


def best_blt(horizon: int, buffers: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Poles and zeros of about the least mean squared error for a horizon, by numerical minimisation.

    The numbers are good, not optimal for certain; what they cost exactly, `blt_error` says. Up to 5 buffers are of use:
    more of them lie too close to be told apart in float64.

    Args:
        horizon: T, from 2 to 2^40.
        buffers: q, from 1 to 5.

    Raises:
        InvalidValue: an argument is out of range.
    """
    n, q = check_dim(horizon, "horizon"), check_dim(buffers, "buffers")
    if not 2 <= n <= LONGEST:
        raise InvalidValue("horizon", horizon, "from 2 to 2^40", "take the square-root factorisation or a tree")
    if q > 5:
        raise InvalidValue(
            "buffers", buffers, "from 1 to 5", "the square-root factorisation is no better than 5 buffers"
        )

    def error(steps: Array) -> float:
        z, y = _interlaced_numbers(steps)
        if not _is_interlaced([value for pair in zip(z, y, strict=True) for value in pair]):
            return _NONE
        with np.errstate(all="ignore"):
            try:
                value = sensitivity_squared(n, z, y) * mean_row_squared(n, z, y)
            except (ZeroDivisionError, OverflowError):
                return _NONE
        return math.log(value) if 0 < value < math.inf else _NONE

    spread = math.log(2.0 * n) / (2 * q)
    steps = np.array([-math.log(2.0 * n), *[math.log(spread)] * (2 * q - 1)])
    for _ in range(4):
        steps = scipy.optimize.minimize(
            error, steps, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12, "maxfev": 4000 * q}
        ).x
    z, y = _interlaced_numbers(steps)
    return tuple(z), tuple(y)


def _is_interlaced(order: Sequence[float | Fraction]) -> bool:
    """Whether 1 > z_1 > y_1 > z_2 > ... > 0."""
    return all(a > b for a, b in itertools.pairwise([1, *order, 0]))


def _interlaced_numbers(steps: Array) -> tuple[list[float], list[float]]:
    """z and y from free parameters: -ln of the numbers in turn is exp(s_1), exp(s_1 + e^(s_2)), ..."""
    levels = np.cumsum([steps[0], *np.exp(np.clip(steps[1:], -30.0, 4.0))])
    values = np.exp(-np.exp(np.clip(levels, -60.0, 6.0))).tolist()
    return values[::2], values[1::2]


def sensitivity_squared(horizon: int, z: Sequence[Number], y: Sequence[Number]) -> Number:
    """The squared l2 norm of the first column of R: 1 + sum of w_j^2 over 1 <= j < T."""
    omega = _residues(z, y)
    pairs = [(omega[i] * omega[k], z[i] * z[k]) for i in range(len(z)) for k in range(len(z))]
    return 1 + sum(weight * _geometric(rate, horizon - 1) for weight, rate in pairs)


def row_squared(time: int, z: Sequence[Number], y: Sequence[Number]) -> Number:
    """The squared l2 norm of row t of L: the sum of b_j^2 over j < t."""
    constant, beta = _prefix_weights(z, y)
    return constant**2 * time + sum(weight * _geometric(rate, time) for weight, rate in _products(constant, beta, y))


def mean_row_squared(horizon: int, z: Sequence[Number], y: Sequence[Number]) -> Number:
    """The mean of `row_squared` over t = 1..T: with 1 - r far from 0, the mean of a geometric sum is closed too."""
    constant, beta = _prefix_weights(z, y)
    total = constant**2 * (horizon + 1) / 2
    for weight, rate in _products(constant, beta, y):
        total = total + weight * (1 - rate * _geometric(rate, horizon) / horizon) / (1 - rate)
    return total


def _residues(z: Sequence[Number], y: Sequence[Number]) -> list[Number]:
    """omega_i = prod_j (z_i - y_j)/prod_(j != i) (z_i - z_j)."""
    found = []
    for i, pole in enumerate(z):
        value = pole - y[i]
        for j in range(len(z)):
            if j != i:
                value = value * (pole - y[j]) / (pole - z[j])
        found.append(value)
    return found


def _prefix_weights(z: Sequence[Number], y: Sequence[Number]) -> tuple[Number, list[Number]]:
    """b and beta_i: the coefficients of 1/((1 - x) W(x)) in partial fractions."""
    beta = [-residue / (1 - zero) for residue, zero in zip(_residues(y, z), y, strict=True)]
    return 1 - sum(beta), beta


def _products(constant: Number, beta: Sequence[Number], y: Sequence[Number]) -> list[tuple[Number, Number]]:
    """The terms of b_j^2 that decay: their weights and their rates."""
    mixed = [(2 * constant * beta[i], y[i]) for i in range(len(y))]
    return mixed + [(beta[i] * beta[k], y[i] * y[k]) for i in range(len(y)) for k in range(len(y))]


def _geometric(rate: Number, count: int) -> Number:
    """1 + rate + ... + rate^(count-1)."""
    return (1 - rate**count) / (1 - rate)
